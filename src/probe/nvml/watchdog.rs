//! Notices when a worker has not answered for too long. NVML calls can hang in the driver for minutes.

use crate::units::{Nanos, Stamp};

/// Silence that counts as a stall.
pub const STALL: Nanos = Nanos::millis(5_000);

/// When each worker was last heard.
#[derive(Debug)]
pub struct Watchdog<const N: usize> {
    heard: [Stamp; N],
    /// Whole seconds of silence that have been told; 0 if it is not stalled.
    told: [u64; N],
}

/// A worker that has not answered for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Which.
    pub worker: usize,
    /// Whole seconds since it was heard.
    pub seconds: u64,
    /// Whether it is told for the first time.
    pub new: bool,
}

impl<const N: usize> Watchdog<N> {
    /// All are deemed heard at `now`.
    pub fn new(now: Stamp) -> Self {
        Self { heard: [now; N], told: [0; N] }
    }

    /// A worker answered; whether that ended a stall.
    pub fn heard(&mut self, worker: usize, now: Stamp) -> bool {
        self.heard[worker] = now;
        std::mem::take(&mut self.told[worker]) > 0
    }

    /// The workers that have been silent for too long; each is named again with every further second.
    pub fn check(&mut self, now: Stamp) -> Vec<Silence> {
        let mut found = Vec::new();
        for worker in 0..N {
            let silent = now.since(self.heard[worker]);
            let seconds = silent.0 / 1_000_000_000;
            if silent >= STALL && seconds > self.told[worker] {
                found.push(Silence { worker, seconds, new: self.told[worker] == 0 });
                self.told[worker] = seconds;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_with_every_second_and_so_is_its_end() {
        let s = |n: u64| Stamp(n * 1_000_000_000);
        let silence = |worker, seconds, new| Silence { worker, seconds, new };
        let mut dog = Watchdog::<2>::new(s(0));
        assert!(!dog.heard(0, s(3)));
        assert!(dog.check(s(4)).is_empty());
        assert_eq!(dog.check(s(5)), [silence(1, 5, true)]);
        assert!(dog.check(s(5).plus(Nanos::millis(900))).is_empty());
        assert_eq!(dog.check(s(6)), [silence(1, 6, false)]);
        assert_eq!(dog.check(s(8)), [silence(0, 5, true), silence(1, 8, false)]);
        assert!(dog.heard(1, s(9)));
        assert!(!dog.heard(1, s(9)));
        assert_eq!(dog.check(s(14)), [silence(0, 11, false), silence(1, 5, true)]);
    }
}
