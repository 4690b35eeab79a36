//! What watching costs: runs that differ in nothing but their trace level and were measured in turns.

use super::{Run, Session, phase_ns};
use crate::event::{Phase, RunId, Settings, TraceLevel};
use crate::stats::{Estimate, median, ratio};
use crate::units::Nanos;

/// One workload at several trace levels, pass by pass in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Observer {
    /// The run at level off, which the others are held against.
    pub off: RunId,
    /// What ran, at level off.
    pub settings: Settings,
    /// Each level, off first.
    pub levels: Vec<LevelCost>,
    /// Whether every run of it has ended.
    pub ended: bool,
}

/// What a trace level cost.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCost {
    /// The level that was in force.
    pub level: TraceLevel,
    /// Passes that count.
    pub passes: usize,
    /// Median time of a pass, by the phases that the workload times.
    pub time: Nanos,
    /// That over the one at level off, with its interval: above 1 is slower.
    pub ratio: Option<Estimate>,
    /// The same for the CPU's reading back, which is where the counters are paid for; `None` if the workload has none.
    pub read_back: Option<Estimate>,
    /// Bytes that the driver accounted over those that must move, HtoD and DtoH; `None` where either is not known.
    pub accounted: Option<(f64, f64)>,
    /// Driver events lost; `None` below level faults.
    pub lost: Option<u64>,
}

/// Every such comparison of the session, oldest first.
pub fn observers(session: &Session) -> Vec<Observer> {
    let off = session.runs.runs.iter().filter(|run| run.start.trace == TraceLevel::Off);
    off.filter_map(|run| observer(session, run.start.run)).collect()
}

/// The comparison that a run belongs to; `None` if it was not measured in turns with one at level off.
pub fn observer(session: &Session, run: RunId) -> Option<Observer> {
    let one = session.runs.find(run)?;
    let mut runs: Vec<&Run> = session.runs.runs.iter().filter(|other| in_turns(one, other)).collect();
    runs.sort_by_key(|run| run.start.trace);
    runs.dedup_by_key(|run| run.start.trace);
    let (off, levels) = (*runs.first()?, runs.as_slice());
    if off.start.trace != TraceLevel::Off || levels.len() < 2 {
        return None;
    }
    Some(Observer {
        off: off.start.run,
        settings: off.start.settings.clone(),
        levels: levels.iter().map(|run| cost(run, off)).collect::<Option<_>>()?,
        ended: levels.iter().all(|run| run.outcome.is_some()),
    })
}

/// Whether two runs did the same and each began before the other had ended a pass, which only members of one batch do.
fn in_turns(a: &Run, b: &Run) -> bool {
    let first = |run: &Run| run.passes.front().map(|(at, _)| *at);
    let (Some(end_a), Some(end_b)) = (first(a), first(b)) else { return false };
    let alike = || {
        let (a, b) = (&a.start.settings, &b.start.settings);
        *a == Settings { trace: a.trace, ..b.clone() }
    };
    a.at.max(b.at) <= end_a.min(end_b) && alike()
}

fn cost(run: &Run, off: &Run) -> Option<LevelCost> {
    let times = run.times_ns();
    let read = |run: &Run| -> Vec<f64> {
        run.counted().filter_map(|pass| phase_ns(pass, Phase::CpuRead)).map(|ns| ns as f64).collect()
    };
    Some(LevelCost {
        level: run.start.trace,
        passes: times.len(),
        time: Nanos(median(&times)? as u64),
        ratio: ratio(&times, &off.times_ns()),
        read_back: ratio(&read(run), &read(off)),
        accounted: run.accounted().map(|of| (of.htod, of.dtoh)),
        lost: run.passes.iter().map(|(_, pass)| Some(pass.uvm.as_ref()?.events.as_ref()?.lost)).sum(),
    })
}

impl LevelCost {
    /// A ratio for people: `1.83 [1.75–1.92]`; 1 at level off, which is held against itself.
    pub fn shown(&self, ratio: Option<&Estimate>) -> String {
        match ratio {
            Some(_) if self.level == TraceLevel::Off => "1".to_owned(),
            Some(Estimate { median, interval: Some((low, high)), .. }) => format!("{median:.2} [{low:.2}–{high:.2}]"),
            Some(Estimate { median, interval: None, .. }) => format!("{median:.2}"),
            None => "n/a".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, Event, Outcome, Pass, PhaseTime, RunEvent, RunStart};
    use crate::units::Stamp;
    use crate::workload::plan_tests::settings;

    fn told(session: &mut Session, ms: u64, event: RunEvent) {
        session.apply(&Event { at: Stamp(ms * 1_000_000), body: Body::Run(event) });
    }

    fn started(session: &mut Session, ms: u64, run: u32, trace: TraceLevel) {
        let settings = Settings { trace, ..settings("sequential", "64MiB") };
        let timed = vec![Phase::Kernel];
        let start = RunStart { run: RunId(run), settings, label: None, trace, timed, expected: None, gpus: 1 };
        told(session, ms, RunEvent::Started(start));
    }

    fn pass(session: &mut Session, ms: u64, run: u32, index: u32, [kernel, read]: [u64; 2]) {
        let time = |phase, ms| {
            let host = Nanos::millis(ms);
            PhaseTime { phase, host, gpu: None, turns: 1, turn_p50: host, turn_max: host }
        };
        let phases = vec![time(Phase::Kernel, kernel), time(Phase::CpuRead, read)];
        let (run, timed) = (RunId(run), Nanos::millis(kernel));
        let pass = Pass { run, index, warmup: index == 0, phases, timed, uvm: None, check: None };
        told(session, ms, RunEvent::PassEnded(Box::new(pass)));
    }

    /// Runs 1 (alone, off), 2 off and 3 full in turns, 4 (alone, full).
    fn session() -> Session {
        let mut session = Session::default();
        started(&mut session, 0, 1, TraceLevel::Off);
        pass(&mut session, 10, 1, 1, [99, 99]);
        started(&mut session, 20, 2, TraceLevel::Off);
        started(&mut session, 20, 3, TraceLevel::Full);
        for round in 0..6 {
            let ms = 30 + u64::from(round) * 50;
            pass(&mut session, ms, 2, round, [20, 10]);
            pass(&mut session, ms + 20, 3, round, [40, 13]);
        }
        session
    }

    #[test]
    fn levels_that_were_measured_in_turns_are_held_against_off() {
        let mut session = session();
        let found = observers(&session);
        let [observer] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((observer.off, observer.ended), (RunId(2), false));
        let [off, full] = observer.levels.as_slice() else { panic!("{observer:?}") };
        assert_eq!((off.level, off.passes, full.level, full.passes), (TraceLevel::Off, 5, TraceLevel::Full, 5));
        let medians = (full.ratio.map(|r| r.median), full.read_back.map(|r| r.median));
        assert_eq!(medians, (Some(2.0), Some(1.3)));
        assert_eq!((full.accounted, full.lost), (None, None), "not known, which is not 0");
        assert_eq!(full.shown(full.ratio.as_ref()), "2.00 [2.00–2.00]");
        assert_eq!(off.shown(off.ratio.as_ref()), "1");
        for run in [2, 3] {
            told(&mut session, 400, RunEvent::Ended { run: RunId(run), outcome: Outcome::Done });
        }
        assert!(observers(&session)[0].ended);
    }

    #[test]
    fn what_came_one_after_the_other_is_no_comparison_of_levels() {
        let mut session = session();
        started(&mut session, 500, 4, TraceLevel::Full);
        pass(&mut session, 550, 4, 1, [40, 13]);
        for alone in [1, 4] {
            assert_eq!(observer(&session, RunId(alone)), None, "run {alone}");
        }
        assert_eq!(observer(&session, RunId(3)).map(|found| found.off), Some(RunId(2)));
    }
}
