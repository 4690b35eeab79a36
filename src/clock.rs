//! The session's clock on a real machine.

use crate::units::Stamp;
use rustix::time::{ClockId, clock_gettime};

/// Reads `CLOCK_MONOTONIC_RAW`, the clock with which the UVM driver stamps its events
/// (`std::time::Instant` reads `CLOCK_MONOTONIC`, which drifts against it).
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self { start_ns: raw_ns() }
    }

    /// The present moment.
    pub fn now(&self) -> Stamp {
        self.stamp(raw_ns())
    }

    /// The moment of a raw `CLOCK_MONOTONIC_RAW` reading, such as an event's time stamp; before the start reads as zero.
    pub fn stamp(&self, raw_ns: u64) -> Stamp {
        Stamp(raw_ns.saturating_sub(self.start_ns))
    }
}

fn raw_ns() -> u64 {
    let t = clock_gettime(ClockId::MonotonicRaw);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
