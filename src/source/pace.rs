//! Making session time pass at the speed of the wall: the only waiting of the sources, always open to the user's wishes.

use crate::clock::Clock;
use crate::event::Control;
use crate::units::{Nanos, Stamp};
use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use std::collections::VecDeque;
use std::time::Duration;

/// Maps session time to wall time. Controls that arrive while waiting are kept, in order.
pub struct Pace {
    clock: Clock,
    control: Receiver<Control>,
    waiting: VecDeque<Control>,
    /// Session time and wall time that belong together, or `None` if nothing is to be waited for.
    anchor: Option<(Stamp, Stamp)>,
    speed: f64,
    hung_up: bool,
}

/// When session time falls behind the wall by more than this, the pace starts anew from there instead of racing.
const MAX_LAG: Nanos = Nanos::millis(250);

impl Pace {
    /// Session time passes `speed` times as fast as the wall's.
    pub fn at_speed(speed: f64, control: Receiver<Control>) -> Self {
        let clock = Clock::start();
        let anchor = Some((Stamp(0), clock.now()));
        Self { clock, control, waiting: VecDeque::new(), anchor, speed, hung_up: false }
    }

    /// Session time passes as fast as it can.
    pub fn unpaced(control: Receiver<Control>) -> Self {
        let clock = Clock::start();
        Self { clock, control, waiting: VecDeque::new(), anchor: None, speed: 1.0, hung_up: false }
    }

    /// Changes the speed from session time `at` on.
    pub fn set_speed(&mut self, speed: f64, at: Stamp) {
        self.speed = speed.clamp(0.01, 10_000.0);
        self.restart(at);
    }

    /// Session time `at` is now: after a pause.
    pub fn restart(&mut self, at: Stamp) {
        if self.anchor.is_some() {
            self.anchor = Some((at, self.clock.now()));
        }
    }

    /// Waits until session time `due`, unless the user wants to stop: then `false`.
    pub fn wait(&mut self, due: Stamp) -> bool {
        self.wait_unless(due, Self::stopping)
    }

    /// Waits until session time `due`, unless any control comes: then `false`.
    pub fn wait_or_control(&mut self, due: Stamp) -> bool {
        self.wait_unless(due, Self::asked)
    }

    fn wait_unless(&mut self, due: Stamp, broken: impl Fn(&mut Self) -> bool) -> bool {
        loop {
            if broken(self) {
                return false;
            }
            let Some(left) = self.left(due) else { return true };
            match self.control.recv_timeout(left) {
                Ok(control) => self.waiting.push_back(control),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => self.hung_up = true,
            }
        }
    }

    /// The next control that has arrived, without waiting. When nobody is left to control, that is a stop.
    pub fn next_control(&mut self) -> Option<Control> {
        self.collect();
        self.waiting.pop_front().or_else(|| self.hung_up.then_some(Control::Stop))
    }

    /// Waits for a control.
    pub fn await_control(&mut self) -> Control {
        self.next_control().unwrap_or_else(|| self.control.recv().unwrap_or(Control::Stop))
    }

    /// Whether the user wants to end.
    pub fn stopping(&mut self) -> bool {
        self.collect();
        self.hung_up || self.waiting.contains(&Control::Stop)
    }

    /// Whether the user wants anything.
    pub fn asked(&mut self) -> bool {
        self.collect() || self.hung_up
    }

    /// Takes in what has arrived; whether anything waits to be obeyed.
    fn collect(&mut self) -> bool {
        loop {
            match self.control.try_recv() {
                Ok(control) => self.waiting.push_back(control),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.hung_up = true;
                    break;
                }
            }
        }
        !self.waiting.is_empty()
    }

    /// Wall time left until session time `due`; `None` if it has come.
    fn left(&mut self, due: Stamp) -> Option<Duration> {
        let (session, wall) = self.anchor?;
        let offset = Nanos((due.since(session).0 as f64 / self.speed) as u64);
        let at = wall.plus(offset);
        let now = self.clock.now();
        if now.since(at) > MAX_LAG {
            self.anchor = Some((due, now));
        }
        let left = at.since(now);
        (left.0 > 0).then(|| Duration::from_nanos(left.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    #[test]
    fn unpaced_never_waits() {
        let (_keep, control) = unbounded();
        assert!(Pace::unpaced(control).wait(Stamp(u64::MAX)));
    }

    #[test]
    fn a_stop_ends_a_long_wait_and_is_still_there_to_be_read() {
        let (send, control) = unbounded();
        let mut pace = Pace::at_speed(1.0, control);
        send.send(Control::Stop).unwrap();
        assert!(!pace.wait(Stamp(3_600_000_000_000)));
        assert!(pace.stopping());
        assert_eq!(pace.next_control(), Some(Control::Stop));
    }

    #[test]
    fn time_passes_at_the_speed_asked_for() {
        let (_keep, control) = unbounded();
        let clock = Clock::start();
        let mut pace = Pace::at_speed(10.0, control);
        assert!(pace.wait(Stamp(200_000_000)));
        assert!(clock.now().0 >= 19_000_000);
    }

    #[test]
    fn nobody_left_to_control_is_a_stop() {
        let (send, control) = unbounded();
        drop(send);
        let mut pace = Pace::at_speed(1.0, control);
        assert!(!pace.wait(Stamp(3_600_000_000_000)));
        assert_eq!(pace.next_control(), Some(Control::Stop));
    }
}
