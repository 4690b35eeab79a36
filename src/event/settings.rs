//! What the user chooses for a run.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A name that is not one of the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': choose one of {allowed}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    allowed: String,
}

macro_rules! named {
    ($(#[$meta:meta])* $what:literal $type:ident { $($(#[$vmeta:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$vmeta])* #[serde(rename = $name)] $variant),+
        }

        impl $type {
            /// Every value, in menu order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used in flags, files and on the screen.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The next value in menu order, the first after the last.
            pub fn next(self) -> Self {
                let at = Self::ALL.iter().position(|v| *v == self).unwrap_or(0);
                Self::ALL[(at + 1) % Self::ALL.len()]
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|v| v.name() == text).ok_or_else(|| UnknownName {
                    what: $what,
                    name: text.to_owned(),
                    allowed: Self::ALL.iter().map(|v| v.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

named! {
    /// The kind of memory a workload runs over.
    "memory kind" MemoryKind {
        /// `cuMemAllocManaged`: one pointer, pages migrate.
        Managed = "managed",
        /// Pinned host memory, device memory and explicit copies.
        Explicit = "explicit",
        /// Ordinary host memory, device memory and explicit copies.
        Pageable = "pageable",
        /// Pinned host memory that the GPU maps and reads over the link.
        ZeroCopy = "zero-copy",
    }
}

named! {
    /// Advice given to the driver about managed memory. "Own" is the GPU that runs the workload.
    "advice" Advice {
        /// None.
        None = "none",
        /// Reads make copies, a write leaves one.
        ReadMostly = "read-mostly",
        /// The GPU's memory is the preferred location.
        PreferredGpu = "preferred-gpu",
        /// Host memory is the preferred location.
        PreferredCpu = "preferred-cpu",
        /// The GPU gets mappings instead of faulting.
        AccessedByGpu = "accessed-by",
        /// Host memory preferred and mapped by the GPU: remote access over the link, no migration.
        PreferredCpuAccessedBy = "preferred-cpu+accessed-by",
    }
}

named! {
    /// How closely the UVM driver is watched.
    "trace level" TraceLevel {
        /// Nothing.
        Off = "off",
        /// The counter page only: exact bytes each way and counted faults.
        Counters = "counters",
        /// Also every fault, batch, thrash, throttle and remote map.
        Faults = "faults",
        /// Also every migration with its cause; slows a fault-bound sweep.
        Full = "full",
    }
}

/// Everything that a user can set about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Name of the workload.
    pub workload: String,
    /// Kind of memory.
    pub memory: MemoryKind,
    /// Whether each side's turn is preceded by a prefetch to it.
    pub prefetch: bool,
    /// Advice.
    pub advice: Advice,
    /// Footprint.
    pub size: Bytes,
    /// Trace level asked for.
    pub trace: TraceLevel,
}
