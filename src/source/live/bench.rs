//! Measuring members against each other.

use super::lane::Lane;
use super::{PassFailure, Worker};
use crate::event::{Body, Level, Outcome, RunEvent, RunStart};
use crate::source::Batch;
use crate::workload::Plan;

/// A member that takes part.
struct Member {
    plan: Plan,
    lane: usize,
    start: RunStart,
    passes: u32,
    outcome: Option<Outcome>,
}

impl Worker {
    /// Measures one workload after the other, so that no more than one needs memory at a time.
    pub(super) fn measure_all(&mut self, batch: &Batch) {
        for part in batch.by_workload() {
            if !self.measure(&part) {
                return;
            }
            self.drop_lanes();
        }
    }

    /// Runs the members of one workload. A member that cannot run is said so and left out; the others go on.
    /// `false` if nothing can or shall come after it.
    fn measure(&mut self, batch: &Batch) -> bool {
        let mut usable = true;
        let mut members: Vec<Option<Member>> = Vec::new();
        for settings in &batch.members {
            let ready = self.plan(settings).and_then(|plan| Ok((self.prepare(&plan, Lane::fits_exactly)?, plan)));
            members.push(match ready {
                Ok((lane, plan)) => {
                    let start = self.start_run(&plan, lane);
                    Some(Member { plan, lane, start, passes: 0, outcome: None })
                }
                Err(line) => {
                    self.say(Level::Error, "workload", line);
                    None
                }
            });
        }
        for (i, warmup) in batch.order() {
            if self.pace.stopping() {
                break;
            }
            let Some(member) = members[i].as_mut().filter(|m| m.outcome.is_none()) else { continue };
            self.set_trace(member.start.trace);
            let result = self.pass(member.lane, &member.plan, &member.start, member.passes, warmup);
            member.passes += 1;
            match result {
                Ok(()) => {}
                Err(failure) if failure.stopped() => break,
                Err(failure) => {
                    member.outcome = Some(Outcome::Failed(failure.to_string()));
                    usable = self.after_failure(&failure, &mut members);
                    if !usable {
                        break;
                    }
                }
            }
        }
        for member in members.into_iter().flatten() {
            let outcome = member.outcome.unwrap_or(Outcome::Done);
            self.emit(Body::Run(RunEvent::Ended { run: member.start.run, outcome }));
        }
        usable && !self.pace.stopping()
    }

    /// After a sticky error every buffer is gone, so every member gets a new one; `false` if the device is lost.
    fn after_failure(&mut self, failure: &PassFailure, members: &mut [Option<Member>]) -> bool {
        if !failure.sticky() {
            return true;
        }
        if !self.recover() {
            return false;
        }
        for member in members.iter_mut().flatten().filter(|m| m.outcome.is_none()) {
            match self.prepare(&member.plan, Lane::fits_exactly) {
                Ok(lane) => member.lane = lane,
                Err(line) => member.outcome = Some(Outcome::Failed(line)),
            }
        }
        true
    }
}
