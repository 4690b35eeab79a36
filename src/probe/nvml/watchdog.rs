//! Notices when a worker has not answered for too long. NVML calls can hang in the driver for minutes.

use crate::units::{Nanos, Stamp};

/// Silence that counts as a stall.
pub const STALL: Nanos = Nanos::millis(5_000);

/// When each worker was last heard.
#[derive(Debug)]
pub struct Watchdog<const N: usize> {
    heard: [Stamp; N],
    stalled: [bool; N],
}

impl<const N: usize> Watchdog<N> {
    /// All are deemed heard at `now`.
    pub fn new(now: Stamp) -> Self {
        Self { heard: [now; N], stalled: [false; N] }
    }

    /// A worker answered; whether that ended a stall.
    pub fn heard(&mut self, worker: usize, now: Stamp) -> bool {
        self.heard[worker] = now;
        std::mem::take(&mut self.stalled[worker])
    }

    /// The workers that have just been silent for too long; each is named once a stall.
    pub fn check(&mut self, now: Stamp) -> Vec<usize> {
        let new: Vec<usize> = (0..N).filter(|&i| !self.stalled[i] && now.since(self.heard[i]) >= STALL).collect();
        new.iter().for_each(|&i| self.stalled[i] = true);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_once_and_so_is_its_end() {
        let s = |n: u64| Stamp(n * 1_000_000_000);
        let mut dog = Watchdog::<2>::new(s(0));
        assert!(!dog.heard(0, s(3)));
        assert!(dog.check(s(4)).is_empty());
        assert_eq!(dog.check(s(5)), [1]);
        assert!(dog.check(s(6)).is_empty());
        assert_eq!(dog.check(s(8)), [0]);
        assert!(dog.heard(1, s(9)));
        assert!(!dog.heard(1, s(9)));
        assert_eq!(dog.check(s(14)), [1]);
    }
}
