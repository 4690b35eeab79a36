//! Measuring members against each other.

use super::Worker;
use super::lane::Lane;
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
            if !usable {
                break;
            }
            let ready = self.plan(settings).and_then(|plan| Ok((self.prepare(&plan, Lane::fits_exactly)?, plan)));
            match ready {
                Ok((lane, plan)) => {
                    let start = self.start_run(&plan, lane);
                    members.push(Some(Member { plan, lane, start, passes: 0, outcome: None }));
                }
                Err(unready) => {
                    self.say(Level::Error, "workload", format!("{}: {unready}", settings.workload));
                    usable = self.after_failure(unready.sticky(), &mut members);
                    members.push(None);
                }
            }
        }
        for (i, warmup) in batch.order() {
            if !usable || self.pace.stopping() {
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
                    usable = self.after_failure(failure.sticky(), &mut members);
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
    fn after_failure(&mut self, sticky: bool, members: &mut [Option<Member>]) -> bool {
        if !sticky {
            return true;
        }
        if !self.recover() {
            return false;
        }
        for member in members.iter_mut().flatten().filter(|m| m.outcome.is_none()) {
            match self.prepare(&member.plan, Lane::fits_exactly) {
                Ok(lane) => member.lane = lane,
                Err(unready) => member.outcome = Some(Outcome::Failed(unready.to_string())),
            }
        }
        true
    }
}
