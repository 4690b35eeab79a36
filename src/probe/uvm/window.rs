//! When windows end: every 10 ms while something happens, every 100 ms while nothing does, without a gap.

use crate::event::{Counters, TraceLevel, UvmEvents, UvmTick};
use crate::units::{Nanos, Stamp};

/// Longest window in which nothing happened.
const QUIET: Nanos = Nanos::millis(100);

/// Turns the ends of windows into ticks that lie edge to edge.
#[derive(Debug)]
pub struct Windows {
    told: Stamp,
    begun: Stamp,
}

impl Windows {
    /// The first window begins at `now`.
    pub fn new(now: Stamp) -> Self {
        Self { told: now, begun: now }
    }

    /// Beginning of the present window.
    pub fn begun(&self) -> Stamp {
        self.begun
    }

    /// Ends the present window. When something happened after a quiet time, the quiet time gets a tick of its own first,
    /// so that what happened is not spread over it.
    pub fn end(
        &mut self,
        now: Stamp,
        level: TraceLevel,
        counters: Option<Counters>,
        events: Option<UvmEvents>,
    ) -> [Option<(Stamp, UvmTick)>; 2] {
        let begun = std::mem::replace(&mut self.begun, now);
        if level == TraceLevel::Off {
            self.told = now;
            return [None, None];
        }
        let quiet = |window| UvmTick {
            window,
            level,
            counters: counters.map(|_| Counters::default()),
            events: (level >= TraceLevel::Faults).then(Box::default),
        };
        if events.is_none() && counters.unwrap_or_default() == Counters::default() {
            let window = now.since(self.told);
            if window < QUIET {
                return [None, None];
            }
            self.told = now;
            return [Some((now, quiet(window))), None];
        }
        let before = begun.since(self.told);
        let first = (before > Nanos(0)).then(|| (begun, quiet(before)));
        self.told = now;
        let events = events.map(Box::new).or_else(|| (level >= TraceLevel::Faults).then(Box::default));
        [first, Some((now, UvmTick { window: now.since(begun), level, counters, events }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TraceLevel::{Counters as ByCounters, Faults, Off};

    fn at(ms: u64) -> Stamp {
        Stamp(ms * 1_000_000)
    }

    fn bytes(n: u64) -> Option<Counters> {
        Some(Counters { bytes_htod: n, ..Counters::default() })
    }

    fn ends(ticks: &[Option<(Stamp, UvmTick)>; 2]) -> Vec<(u64, u64)> {
        ticks.iter().flatten().map(|(at, tick)| (at.0 / 1_000_000, tick.window.0 / 1_000_000)).collect()
    }

    #[test]
    fn quiet_windows_are_joined_to_100_ms() {
        let mut windows = Windows::new(at(0));
        for ms in (10..100).step_by(10) {
            assert!(ends(&windows.end(at(ms), ByCounters, bytes(0), None)).is_empty());
        }
        assert_eq!(ends(&windows.end(at(100), ByCounters, bytes(0), None)), [(100, 100)]);
    }

    #[test]
    fn a_busy_window_is_not_spread_over_the_quiet_before_it() {
        let mut windows = Windows::new(at(0));
        windows.end(at(10), ByCounters, bytes(0), None);
        windows.end(at(20), ByCounters, bytes(0), None);
        let ticks = windows.end(at(30), ByCounters, bytes(4096), None);
        assert_eq!(ends(&ticks), [(20, 20), (30, 10)]);
        let tick = |i: usize| ticks[i].clone().unwrap().1;
        assert_eq!((tick(0).counters, tick(1).counters), (bytes(0), bytes(4096)));
        assert_eq!(ends(&windows.end(at(40), ByCounters, bytes(4096), None)), [(40, 10)]);
    }

    #[test]
    fn what_a_level_does_not_give_is_absent() {
        let mut windows = Windows::new(at(0));
        let busy = |ticks: [Option<(Stamp, UvmTick)>; 2]| ticks[1].clone().unwrap().1;
        assert_eq!(busy(windows.end(at(10), ByCounters, bytes(1), None)).events, None);
        assert_eq!(busy(windows.end(at(20), Faults, bytes(1), None)).events, Some(Box::default()));
        assert!(ends(&windows.end(at(500), Off, None, None)).is_empty());
        assert_eq!(ends(&windows.end(at(510), ByCounters, bytes(1), None)), [(510, 10)]);
    }
}
