//! Differences of cumulative counters that wrap, and rates over windows.

use crate::units::{Nanos, Stamp};

/// A cumulative counter's reading and how wide the counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// 32 bits: at 55 GB/s a byte counter wraps every 78 ms.
    Narrow(u32),
    /// 64 bits.
    Wide(u64),
}

impl Count {
    /// What was counted since `before`, modulo the width; `None` if the width changed. More than one wrap between the two
    /// cannot be seen: read often enough.
    pub fn since(self, before: Count) -> Option<u64> {
        match (before, self) {
            (Count::Narrow(a), Count::Narrow(b)) => Some(u64::from(b.wrapping_sub(a))),
            (Count::Wide(a), Count::Wide(b)) => Some(b.wrapping_sub(a)),
            _ => None,
        }
    }
}

/// The fastest link for which a reading is believed: PCIe 7.0 x16 carries 242 GB/s each way.
const FASTEST: f64 = 300e9;

/// Turns two counters, read together at a short period, into rates over windows of at least `length`.
#[derive(Debug)]
pub struct RateWindow {
    length: Nanos,
    longest_gap: Nanos,
    last: Option<(Stamp, [Count; 2])>,
    begun: Stamp,
    sums: [u64; 2],
}

/// A finished window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Its length.
    pub window: Nanos,
    /// Means over it, per second.
    pub per_second: [f64; 2],
}

/// Why a window gave no rates, with the time between the two readings that spoiled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsure {
    /// Readings were too far apart to exclude a second wrap.
    TooLate(Nanos),
    /// The counter changed its width or jumped further than any link carries.
    Jumped(Nanos),
}

impl RateWindow {
    /// Windows of at least `length`; readings of a narrow counter further apart than `longest_gap` are not believed.
    pub fn new(length: Nanos, longest_gap: Nanos) -> Self {
        Self { length, longest_gap, last: None, begun: Stamp(0), sums: [0; 2] }
    }

    /// Adds a reading; gives the rates when it ends a window, and begins the next.
    pub fn add(&mut self, at: Stamp, counts: [Count; 2]) -> Option<Result<Rates, Unsure>> {
        let Some((last_at, last)) = self.last.replace((at, counts)) else {
            self.restart(at);
            return None;
        };
        let gap = at.since(last_at);
        let wide = matches!(counts, [Count::Wide(_), Count::Wide(_)]);
        if gap > self.longest_gap && !wide {
            self.restart(at);
            return Some(Err(Unsure::TooLate(gap)));
        }
        for i in 0..2 {
            match counts[i].since(last[i]) {
                Some(more) if more as f64 <= FASTEST * gap.seconds().max(1e-3) => self.sums[i] += more,
                _ => {
                    self.restart(at);
                    return Some(Err(Unsure::Jumped(gap)));
                }
            }
        }
        let window = at.since(self.begun);
        if window < self.length || window == Nanos(0) {
            return None;
        }
        let per_second = self.sums.map(|sum| sum as f64 / window.seconds());
        self.restart(at);
        Some(Ok(Rates { window, per_second }))
    }

    fn restart(&mut self, at: Stamp) {
        self.begun = at;
        self.sums = [0; 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Stamp {
        Stamp(n * 1_000_000)
    }

    fn window() -> RateWindow {
        RateWindow::new(Nanos::millis(100), Nanos::millis(40))
    }

    #[test]
    fn a_narrow_counter_wraps_and_a_changed_width_is_no_difference() {
        assert_eq!(Count::Narrow(5).since(Count::Narrow(u32::MAX - 4)), Some(10));
        assert_eq!(Count::Wide(5).since(Count::Wide(u64::MAX)), Some(6));
        assert_eq!(Count::Wide(5).since(Count::Narrow(1)), None);
    }

    #[test]
    fn a_late_reading_of_a_narrow_counter_is_not_believed() {
        let mut window = window();
        window.add(ms(0), [Count::Narrow(0); 2]);
        assert_eq!(window.add(ms(90), [Count::Narrow(7); 2]), Some(Err(Unsure::TooLate(Nanos::millis(90)))));
        assert_eq!(window.add(ms(100), [Count::Narrow(9); 2]), None);
    }

    #[test]
    fn a_late_reading_of_a_wide_counter_is() {
        let mut window = window();
        window.add(ms(0), [Count::Wide(0); 2]);
        let rates = window.add(ms(200), [Count::Wide(2_000), Count::Wide(0)]);
        assert_eq!(rates, Some(Ok(Rates { window: Nanos::millis(200), per_second: [10_000.0, 0.0] })));
    }

    #[test]
    fn a_reset_counter_is_no_traffic() {
        let mut window = window();
        window.add(ms(0), [Count::Wide(1 << 40); 2]);
        assert_eq!(window.add(ms(10), [Count::Wide(0); 2]), Some(Err(Unsure::Jumped(Nanos::millis(10)))));
    }

    proptest! {
        #[test]
        fn rates_are_the_bytes_whatever_the_width(
            start: u32,
            steps in prop::collection::vec((5u64..20, 0u64..1_100_000_000), 1..60),
        ) {
            let (mut narrow, mut wide) = (window(), window());
            let (mut at, mut total) = (0, u64::from(start));
            let counts = |n: u64| ([Count::Narrow(n as u32); 2], [Count::Wide(n); 2]);
            let (a, b) = counts(total);
            prop_assert_eq!(narrow.add(ms(0), a), None);
            prop_assert_eq!(wide.add(ms(0), b), None);
            for (gap, bytes) in steps {
                at += gap;
                total += bytes;
                let (a, b) = counts(total);
                prop_assert_eq!(narrow.add(ms(at), a), wide.add(ms(at), b));
            }
        }
    }
}
