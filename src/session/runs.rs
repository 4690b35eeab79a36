//! The fold of runs and passes.

use crate::event::{BetweenGpus, Outcome, Pass, Phase, RunEvent, RunId, RunStart};
use crate::stats::{Estimate, estimate};
use crate::units::Stamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// Passes kept per run; older ones are dropped and counted.
pub const MAX_PASSES: usize = 4_096;
/// Runs kept; older ones are dropped.
pub const MAX_RUNS: usize = 512;
/// Passes kept of all runs together in a session that lasts ([`Runs::lasting`]): some 10 MB.
pub const MAX_LASTING: usize = 20_000;
/// What such a session leaves an old run: enough for a median and its interval.
const LEFT: usize = 32;

// The oldest runs can always give way.
const _: () = assert!(MAX_RUNS * LEFT < MAX_LASTING);

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it began.
    pub start: RunStart,
    /// When.
    pub at: Stamp,
    /// Its passes with their end times, oldest first. A copy of the session shares them.
    pub passes: Arc<VecDeque<(Stamp, Arc<Pass>)>>,
    /// Passes that were dropped because there were too many.
    pub forgotten: u64,
    /// How it ended; `None` while it runs.
    pub outcome: Option<Outcome>,
}

impl Run {
    /// Passes that count: no warm-ups, and none with a wrong result, whose time means nothing.
    pub fn counted(&self) -> impl Iterator<Item = &Pass> {
        self.passes.iter().map(|(_, p)| &**p).filter(|p| counts(p))
    }

    /// Timed nanoseconds of the passes that count.
    pub fn times_ns(&self) -> Vec<f64> {
        self.counted().map(|p| p.timed.0 as f64).collect()
    }

    /// Timed nanoseconds of the newest 200 passes that count, oldest first.
    pub fn newest_ns(&self) -> Vec<f64> {
        let newest = self.passes.iter().rev().map(|(_, pass)| &**pass).filter(|pass| counts(pass));
        let mut times: Vec<f64> = newest.take(200).map(|pass| pass.timed.0 as f64).collect();
        times.reverse();
        times
    }

    /// Median pass time with interval, over the newest 200 passes that count.
    pub fn estimate(&self) -> Option<Estimate> {
        estimate(&self.newest_ns())
    }

    /// Bytes that the driver accounted over bytes that the plan must move, over the passes that count; `None` where either
    /// is not known.
    pub fn accounted(&self) -> Option<Accounted> {
        let expected = self.start.expected?;
        let mut sums = (0u64, 0u64, 0u64);
        for uvm in self.counted().filter_map(|p| p.uvm.as_ref()) {
            sums.0 += uvm.counters.bytes_htod;
            sums.1 += uvm.counters.bytes_dtoh;
            sums.2 += 1;
        }
        let share = |got: u64, each: u64| (sums.2 > 0 && each > 0).then(|| got as f64 / (each * sums.2) as f64);
        let each = expected.between_gpus.map(|between| between.map(|bytes| bytes.0));
        let each = each.filter(|each| each.gpu0_to_gpu1 > 0 || each.gpu1_to_gpu0 > 0);
        Some(Accounted {
            htod: share(sums.0, expected.htod.0)?,
            dtoh: share(sums.1, expected.dtoh.0)?,
            between_gpus: each.map(|each| self.accounted_between(each)),
        })
    }

    /// The same for what goes from GPU to GPU, which only the migration events tell: every pass must have them.
    fn accounted_between(&self, each: BetweenGpus<u64>) -> BetweenGpus<Option<f64>> {
        let told: Option<Vec<_>> = self.counted().map(|p| p.uvm.as_ref()?.between_gpus()).collect();
        let share = |of: fn(&BetweenGpus<u64>) -> u64| {
            let told = told.as_ref().filter(|told| !told.is_empty() && of(&each) > 0)?;
            let got: f64 = told.iter().map(|pass| of(pass) as f64).sum();
            Some(got / (of(&each) as f64 * told.len() as f64))
        };
        BetweenGpus { gpu0_to_gpu1: share(|b| b.gpu0_to_gpu1), gpu1_to_gpu0: share(|b| b.gpu1_to_gpu0) }
    }

    /// Whether two GPUs work in it, by its plan or by what migrated.
    pub fn on_two_gpus(&self) -> bool {
        let migrated = |pass: &Pass| pass.uvm.as_ref().and_then(|uvm| uvm.between_gpus());
        let any = |b: BetweenGpus<u64>| b.gpu0_to_gpu1 > 0 || b.gpu1_to_gpu0 > 0;
        self.start.gpus > 1 || self.passes.iter().filter_map(|(_, pass)| migrated(pass)).any(any)
    }
}

/// Bytes that the driver accounted over bytes that had to move: 1 if it saw all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accounted {
    /// Host to device.
    pub htod: f64,
    /// Device to host.
    pub dtoh: f64,
    /// Between the two GPUs, each way `None` below trace level full; `None` where one GPU works alone.
    pub between_gpus: Option<BetweenGpus<Option<f64>>>,
}

fn counts(pass: &Pass) -> bool {
    !pass.warmup && pass.check.is_none_or(|check| check.wrong == 0)
}

/// A change of settings, for a mark on the time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// When.
    pub at: Stamp,
    /// What changed: `prefetch on`.
    pub text: String,
}

/// The runs of the session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// Oldest first.
    pub runs: VecDeque<Run>,
    /// Settings changes, oldest first.
    pub markers: VecDeque<Marker>,
    /// The pass that is under way, and since when.
    pub under_way: Option<(RunId, u32, Stamp)>,
    /// Whether the workload is paused.
    pub paused: bool,
    /// Whether old runs keep few passes, so that a session of days stays small. A report of raw times wants all.
    pub lasting: bool,
    current: Option<RunId>,
}

impl Runs {
    /// Takes in one event.
    pub fn apply(&mut self, at: Stamp, event: &RunEvent) {
        match event {
            RunEvent::Started(start) => self.start(at, start),
            RunEvent::PassBegan { run, index } => {
                self.current = Some(*run);
                self.under_way = Some((*run, *index, at));
            }
            RunEvent::PassEnded(pass) => self.end_pass(at, pass),
            RunEvent::Paused(paused) => self.paused = *paused,
            RunEvent::Ended { run, outcome } => {
                self.under_way = None;
                if let Some(run) = self.find_mut(*run) {
                    run.outcome = Some(outcome.clone());
                }
            }
        }
    }

    /// The run that started last or had the last pass.
    pub fn current(&self) -> Option<&Run> {
        self.find(self.current?)
    }

    /// The newest pass of the current run.
    pub fn last_pass(&self) -> Option<&Pass> {
        self.current()?.passes.back().map(|(_, p)| &**p)
    }

    fn start(&mut self, at: Stamp, start: &RunStart) {
        if let Some(text) = self.current().map(|before| difference(&before.start, start)).filter(|t| !t.is_empty()) {
            self.markers.push_back(Marker { at, text });
            if self.markers.len() > MAX_RUNS {
                self.markers.pop_front();
            }
        }
        self.current = Some(start.run);
        if self.runs.len() == MAX_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(Run { start: start.clone(), at, passes: Arc::default(), forgotten: 0, outcome: None });
    }

    fn end_pass(&mut self, at: Stamp, pass: &Pass) {
        self.under_way = None;
        self.current = Some(pass.run);
        let Some(run) = self.find_mut(pass.run) else { return };
        let passes = Arc::make_mut(&mut run.passes);
        if passes.len() == MAX_PASSES {
            passes.pop_front();
            run.forgotten += 1;
        }
        passes.push_back((at, Arc::new(pass.clone())));
        if self.lasting {
            self.thin();
        }
    }

    /// Takes passes from the oldest runs while there are too many of all.
    fn thin(&mut self) {
        let mut kept: usize = self.runs.iter().map(|run| run.passes.len()).sum();
        while kept > MAX_LASTING {
            let Some(oldest) = self.runs.iter_mut().find(|run| run.passes.len() > LEFT) else { return };
            let passes = Arc::make_mut(&mut oldest.passes);
            let gone = passes.len() - LEFT;
            passes.drain(..gone);
            passes.shrink_to_fit();
            oldest.forgotten += gone as u64;
            kept -= gone;
        }
    }

    /// A run by its number.
    pub fn find(&self, id: RunId) -> Option<&Run> {
        self.runs.iter().rev().find(|r| r.start.run == id)
    }

    fn find_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|r| r.start.run == id)
    }
}

/// What differs between two runs' settings, in words.
pub fn difference(before: &RunStart, after: &RunStart) -> String {
    let parts = changes(before, after).into_iter().map(|(name, _, now)| match name {
        "workload" => now,
        _ => format!("{name} {now}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What differs between two runs' settings, each as `name: before → after`.
pub fn differences(before: &RunStart, after: &RunStart) -> Vec<String> {
    changes(before, after).into_iter().map(|(name, was, now)| format!("{name}: {was} → {now}")).collect()
}

fn changes(before: &RunStart, after: &RunStart) -> Vec<(&'static str, String, String)> {
    let (a, b) = (&before.settings, &after.settings);
    let on = |prefetch: bool| if prefetch { "on" } else { "off" }.to_owned();
    let all = [
        ("workload", a.workload.clone(), b.workload.clone()),
        ("memory", a.memory.to_string(), b.memory.to_string()),
        ("size", a.size.to_string(), b.size.to_string()),
        ("prefetch", on(a.prefetch), on(b.prefetch)),
        ("advice", a.advice.to_string(), b.advice.to_string()),
        ("trace", before.trace.to_string(), after.trace.to_string()),
        ("shape", shape(before), shape(after)),
    ];
    all.into_iter().filter(|(_, was, now)| was != now).collect()
}

fn shape(start: &RunStart) -> String {
    let shape = &start.settings.shape;
    if shape.is_plain() { "as in the file".to_owned() } else { shape.to_string().trim().to_owned() }
}

/// Host time of a phase in a pass, if it took place.
pub fn phase_ns(pass: &Pass, phase: Phase) -> Option<u64> {
    pass.phases.iter().find(|p| p.phase == phase).map(|p| p.host.0)
}
