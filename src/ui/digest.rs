//! Estimates over runs, remade a few times a second: a bootstrap is too dear for every frame.

use crate::event::RunId;
use crate::session::{Run, Session};
use crate::stats::Estimate;
use crate::units::{Nanos, Stamp};

/// Least time between two estimates of the same run.
const PERIOD: Nanos = Nanos::millis(250);

/// Estimates of the run under way and of the one before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// The run that `now` is of.
    pub run: Option<RunId>,
    /// Pass time of the current run; `None` before the first pass that counts.
    pub now: Option<Estimate>,
    /// Pass time of the run of the same workload before it, and what changed since, in words.
    pub before: Option<(Estimate, String)>,
    made: Stamp,
}

impl Digest {
    /// Takes a pass that has ended into account.
    pub fn refresh(&mut self, session: &Session) {
        let Some(run) = session.runs.current() else { return };
        let fresh = self.run != Some(run.start.run);
        if !fresh && self.now.is_some_and(|e| e.n >= 8) && session.now.since(self.made) < PERIOD {
            return;
        }
        if fresh {
            self.run = Some(run.start.run);
            self.before = before(session, run);
        }
        self.now = run.estimate();
        self.made = session.now;
    }

    /// How many times as long a pass takes as before; above 1 is slower.
    pub fn ratio(&self) -> Option<f64> {
        let before = self.before.as_ref().map(|(estimate, _)| estimate.median).filter(|m| *m > 0.0)?;
        Some(self.now?.median / before)
    }
}

fn before(session: &Session, run: &Run) -> Option<(Estimate, String)> {
    let same =
        |other: &&Run| other.start.run < run.start.run && other.start.settings.workload == run.start.settings.workload;
    let earlier = session.runs.runs.iter().rev().filter(same).find(|other| other.counted().next().is_some())?;
    Some((earlier.estimate()?, crate::session::difference(&earlier.start, &run.start)))
}
