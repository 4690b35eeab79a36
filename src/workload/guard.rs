//! The memory guard: a footprint is checked before anything is allocated.

use crate::device::MemoryFree;
use crate::event::MemoryKind;
use crate::units::Bytes;

/// Kept free on the card and the host for the driver, the context and everybody else.
const RESERVE: Bytes = Bytes::mib(512);

/// Why a footprint is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// More than the card has free, and only managed memory may be more.
    #[error("{size} of {kind} memory does not fit: the GPU has {free} free; choose a smaller --size")]
    Vram {
        /// Asked for.
        size: Bytes,
        /// Kind.
        kind: MemoryKind,
        /// Free on the card, less the reserve.
        free: Bytes,
    },
    /// Managed memory above the card's free memory, which was not allowed.
    #[error(
        "{size} of managed memory is more than the {free} that the GPU has free: that oversubscribes the card; \
         choose a smaller --size, or start with --allow-oversubscription if that is what you want to see"
    )]
    Oversubscription {
        /// Asked for.
        size: Bytes,
        /// Free on the card, less the reserve.
        free: Bytes,
    },
    /// More than the host can give: the machine would hang or kill processes.
    #[error("{size} does not fit: the host has {free} available (memory and cgroup limit); choose a smaller --size")]
    Host {
        /// Asked for.
        size: Bytes,
        /// Available, less the reserve.
        free: Bytes,
    },
}

/// How much of the card's memory a footprint may take without oversubscribing it.
pub fn vram_room(free: &MemoryFree) -> Bytes {
    less_reserve(free.vram_free)
}

fn less_reserve(free: Bytes) -> Bytes {
    Bytes(free.0.saturating_sub(RESERVE.0))
}

/// Checks `size` of `kind` against what is free. Every kind needs the host's memory (managed pages live there too);
/// all but zero-copy need the card's.
pub fn check_footprint(
    size: Bytes,
    kind: MemoryKind,
    free: &MemoryFree,
    allow_oversubscription: bool,
) -> Result<(), GuardError> {
    let host = less_reserve(free.host_available);
    if size > host {
        return Err(GuardError::Host { size, free: host });
    }
    let vram = vram_room(free);
    match kind {
        MemoryKind::ZeroCopy => Ok(()),
        _ if size <= vram => Ok(()),
        MemoryKind::Managed if allow_oversubscription => Ok(()),
        MemoryKind::Managed => Err(GuardError::Oversubscription { size, free: vram }),
        MemoryKind::Explicit | MemoryKind::Pageable => Err(GuardError::Vram { size, kind, free: vram }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: MemoryFree =
        MemoryFree { vram_free: Bytes(16 << 30), vram_total: Bytes(16 << 30), host_available: Bytes(64 << 30) };

    fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    #[test]
    fn oversubscription_is_never_the_default() {
        assert_eq!(check_footprint(gib(8), MemoryKind::Managed, &FREE, false), Ok(()));
        let error = check_footprint(gib(20), MemoryKind::Managed, &FREE, false).unwrap_err();
        assert!(error.to_string().contains("--allow-oversubscription"), "{error}");
        assert_eq!(check_footprint(gib(20), MemoryKind::Managed, &FREE, true), Ok(()));
    }

    #[test]
    fn device_memory_cannot_be_oversubscribed_at_all() {
        for kind in [MemoryKind::Explicit, MemoryKind::Pageable] {
            assert!(matches!(check_footprint(gib(20), kind, &FREE, true), Err(GuardError::Vram { .. })));
        }
        assert_eq!(check_footprint(gib(20), MemoryKind::ZeroCopy, &FREE, false), Ok(()));
    }

    #[test]
    fn the_host_is_guarded_whatever_is_allowed() {
        for kind in MemoryKind::ALL {
            assert!(matches!(check_footprint(gib(64), *kind, &FREE, true), Err(GuardError::Host { .. })));
        }
    }
}
