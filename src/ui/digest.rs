//! Estimates over runs, remade a few times a second: a bootstrap is too dear for every frame.

use super::state::UiState;
use crate::event::RunId;
use crate::session::{Comparison, Insight, Observer, Run, Session, UvmPoint, compare, insights, observer};
use crate::stats::Estimate;
use crate::units::{Nanos, Stamp};

/// Least time between two estimates of the same run.
const PERIOD: Nanos = Nanos::millis(250);

/// Estimates of the run under way and of the one before it, and what they mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// The run that `now` is of.
    pub run: Option<RunId>,
    /// Pass time of the current run; `None` before the first pass that counts.
    pub now: Option<Estimate>,
    /// Pass time of the run of the same workload before it, and what changed since, in words.
    pub before: Option<(Estimate, String)>,
    /// What stays of the baseline on the charts.
    pub ghost: Option<Ghost>,
    /// The compared run against the baseline, or why not; `None` without a baseline.
    pub comparison: Option<Result<Comparison, String>>,
    /// What the present run's figures mean, the weightiest first.
    pub insights: Vec<Insight>,
    /// What each trace level costs, by the newest comparison of them.
    pub observer: Option<Observer>,
    made: Stamp,
}

/// Means of the baseline, for lines on the charts.
#[derive(Clone, Debug, PartialEq)]
pub struct Ghost {
    /// The baseline.
    pub run: RunId,
    /// Its median pass time, ns.
    pub pass_ns: Option<f64>,
    /// Bytes that the driver moved per second, both ways, while it ran.
    pub migrated: Option<f64>,
    /// Counted GPU faults per second while it ran.
    pub gpu_faults: Option<f64>,
}

impl Digest {
    /// Takes a pass that has ended into account.
    pub fn refresh(&mut self, session: &Session, ui: &UiState) {
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
        self.insights = insights(session);
        self.compare(session, ui);
        self.observe(session, run);
    }

    /// The comparison that the run belongs to; else the one before, to its end.
    fn observe(&mut self, session: &Session, run: &Run) {
        let unfinished = self.observer.as_ref().filter(|known| !known.ended).map(|known| known.off);
        let found = observer(session, run.start.run).or_else(|| observer(session, unfinished?));
        self.observer = found.or_else(|| self.observer.take());
    }

    /// Compares with the baseline.
    pub fn compare(&mut self, session: &Session, ui: &UiState) {
        let baseline = ui.baseline.and_then(|id| session.runs.find(id));
        let other = ui.compared.and_then(|id| session.runs.find(id)).or_else(|| session.runs.current());
        self.ghost = baseline.map(|run| ghost(session, run));
        self.comparison = baseline.zip(other).map(|(baseline, other)| compare(baseline, other));
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

fn ghost(session: &Session, run: &Run) -> Ghost {
    let next = session.runs.runs.iter().find(|other| other.start.run > run.start.run);
    let end = next.map_or(session.now, |next| next.at);
    let mean =
        |of: &dyn Fn(&UvmPoint) -> Option<f64>| session.uvm.points.means(run.at, end, 1, of).first().copied().flatten();
    Ghost {
        run: run.start.run,
        pass_ns: run.estimate().map(|estimate| estimate.median),
        migrated: mean(&|p| p.per_second(p.counters?.bytes_htod + p.counters?.bytes_dtoh)),
        gpu_faults: mean(&|p| p.per_second(p.counters?.gpu_faults)),
    }
}
