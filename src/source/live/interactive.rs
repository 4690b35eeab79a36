//! Running what the user chooses, until the user chooses something else.

use super::Worker;
use super::lane::Lane;
use crate::event::{Body, Control, Level, Outcome, RunEvent, Settings};

/// What came of a run or of a wait.
enum Next {
    /// Run the settings (which may have changed).
    Run,
    /// Something failed: wait for other settings.
    Wait,
    /// End.
    Stop,
}

impl Worker {
    pub(super) fn interact(&mut self, mut settings: Settings, at_once: bool) {
        let mut next = if at_once { Next::Run } else { Next::Wait };
        loop {
            next = match next {
                Next::Run => self.run(&mut settings),
                Next::Wait => self.wait(&mut settings),
                Next::Stop => return,
            };
        }
    }

    /// Passes over passes with one set of settings.
    fn run(&mut self, settings: &mut Settings) -> Next {
        let ready = self.plan(settings).and_then(|plan| {
            if !self.lanes.iter().all(|lane| lane.fits(&plan)) {
                self.drop_lanes();
            }
            Ok((self.prepare(&plan, Lane::fits)?, plan))
        });
        let (lane, plan) = match ready {
            Ok(ready) => ready,
            Err(unready) => {
                if unready.sticky() {
                    self.recover();
                }
                // Last, so that this is the line that stays on the screen.
                self.say(Level::Error, "workload", unready.to_string());
                return Next::Wait;
            }
        };
        let start = self.start_run(&plan, lane);
        let mut index = 0;
        let (outcome, next) = loop {
            match self.pass(lane, &plan, &start, index, index < plan.warmups) {
                Ok(()) => {}
                Err(failure) if failure.stopped() => break (Outcome::Done, Next::Stop),
                Err(failure) => {
                    let usable = !failure.sticky() || self.recover();
                    let text = if usable { failure.to_string() } else { format!("{failure}: restart umtop") };
                    break (Outcome::Failed(text), Next::Wait);
                }
            }
            index += 1;
            match self.between_passes(settings) {
                Some(next) => break (Outcome::Done, next),
                None => continue,
            }
        };
        self.emit(Body::Run(RunEvent::Ended { run: start.run, outcome }));
        next
    }

    /// Does what the user asked for meanwhile; `None` to go on with the run.
    fn between_passes(&mut self, settings: &mut Settings) -> Option<Next> {
        let before = settings.clone();
        while let Some(control) = self.pace.next_control() {
            if let Control::Pause(true) = control {
                self.emit(Body::Run(RunEvent::Paused(true)));
                if let Next::Stop = self.paused(settings) {
                    return Some(Next::Stop);
                }
            } else if !self.obey(control, settings) {
                return Some(Next::Stop);
            }
        }
        (*settings != before).then_some(Next::Run)
    }

    /// Until the user goes on, or chooses anew (which goes on too).
    fn paused(&mut self, settings: &mut Settings) -> Next {
        let before = settings.clone();
        loop {
            let control = self.pace.await_control();
            let resumed = control == Control::Pause(false);
            if !self.obey(control, settings) {
                return Next::Stop;
            }
            if resumed || *settings != before {
                let now = self.live.device.now();
                self.pace.restart(now);
                self.emit(Body::Run(RunEvent::Paused(false)));
                return Next::Run;
            }
        }
    }

    /// After a failure: until the user chooses something (the same again is a choice too).
    fn wait(&mut self, settings: &mut Settings) -> Next {
        loop {
            let control = self.pace.await_control();
            let chosen = matches!(control, Control::Run(_) | Control::Trace(_));
            if !self.obey(control, settings) {
                return Next::Stop;
            }
            if chosen {
                let now = self.live.device.now();
                self.pace.restart(now);
                return Next::Run;
            }
        }
    }

    /// Takes a control in; `false` to end.
    fn obey(&mut self, control: Control, settings: &mut Settings) -> bool {
        match control {
            Control::Stop => return false,
            Control::Run(wanted) => *settings = wanted,
            Control::Trace(level) => settings.trace = level,
            Control::Record(Some(path)) => match self.sink.record(&path) {
                Ok(()) => self.say(Level::Info, "recording", format!("recording to {}", path.display())),
                Err(error) => self.say(Level::Error, "recording", error.to_string()),
            },
            Control::Record(None) => match self.sink.stop_recording() {
                Ok(()) => self.say(Level::Info, "recording", "recording ended".to_owned()),
                Err(error) => self.say(Level::Error, "recording", error.to_string()),
            },
            Control::ProbeLink => self.probe_link(),
            Control::Pause(_) | Control::Speed(_) | Control::Seek(_) => {}
        }
        true
    }
}
