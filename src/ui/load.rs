//! What the screen itself takes in and costs.

use crate::units::{Nanos, Stamp};

/// Over this long.
const PERIOD: Nanos = Nanos::millis(1_000);

/// What the UI did in its last second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Events folded per second.
    pub events: f64,
    /// Frames drawn per second.
    pub frames: f64,
    /// Time to draw a frame and hand it to the terminal, the longest.
    pub longest: Nanos,
}

/// Counts up to a [`Load`] a second.
#[derive(Debug)]
pub struct Meter {
    since: Stamp,
    events: u64,
    frames: u64,
    longest: Nanos,
}

impl Meter {
    /// Counts from `now` on.
    pub fn new(now: Stamp) -> Self {
        Self { since: now, events: 0, frames: 0, longest: Nanos(0) }
    }

    /// An event was folded.
    pub fn event(&mut self) {
        self.events += 1;
    }

    /// A frame was begun and ended. Once a second, what came together until then.
    pub fn frame(&mut self, begun: Stamp, ended: Stamp) -> Option<Load> {
        self.frames += 1;
        self.longest = self.longest.max(ended.since(begun));
        let over = ended.since(self.since);
        if over < PERIOD {
            return None;
        }
        let Self { events, frames, longest, .. } = std::mem::replace(self, Self::new(ended));
        let rate = |n: u64| n as f64 / over.seconds();
        Some(Load { events: rate(events), frames: rate(frames), longest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_makes_a_figure_and_the_next_begins_at_nothing() {
        let at = |ms: u64| Stamp(ms * 1_000_000);
        let mut meter = Meter::new(at(0));
        (0..500).for_each(|_| meter.event());
        assert_eq!(meter.frame(at(100), at(103)), None);
        let load = meter.frame(at(1_999), at(2_000)).unwrap();
        assert_eq!(load, Load { events: 250.0, frames: 1.0, longest: Nanos::millis(3) });
        let next = meter.frame(at(2_999), at(3_000)).unwrap();
        assert_eq!(next, Load { events: 0.0, frames: 1.0, longest: Nanos::millis(1) });
    }
}
