//! Means over the passes of a run: what rules and comparisons are made of. What not every pass has is `None`.

use super::{Run, phase_ns};
use crate::event::{Cause, Pass, Phase, Proc};

/// Newest passes that are looked at.
const PASSES: usize = 50;

/// Means per pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Passes that are in the means: counted ones, the newest.
    pub passes: usize,
    /// Timed time, ns.
    pub timed_ns: f64,
    /// The counter page's figures.
    pub counters: Option<CounterMeans>,
    /// The event queue's figures.
    pub events: Option<EventMeans>,
    /// Bytes and copies by direction and cause, between the host and a GPU.
    pub migrated: Option<Vec<Migration>>,
    /// Bytes from GPU to GPU; `None` below trace level full.
    pub between_gpus: Option<f64>,
    phases: Vec<(Phase, f64)>,
}

/// Means of the counter page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterMeans {
    /// Bytes host to device.
    pub htod: f64,
    /// Bytes device to host.
    pub dtoh: f64,
    /// CPU faults.
    pub cpu_faults: f64,
    /// Counted GPU faults.
    pub gpu_faults: f64,
}

/// Means of the event queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventMeans {
    /// Raw GPU faults.
    pub raw: f64,
    /// Batches.
    pub batches: f64,
    /// Thrashing detections.
    pub thrashing: f64,
    /// Throttling periods.
    pub throttled: f64,
    /// Remote mappings.
    pub remote_maps: f64,
}

/// Mean migrations of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Migration {
    /// Whether to a GPU.
    pub to_gpu: bool,
    /// Why.
    pub cause: Cause,
    /// Bytes.
    pub bytes: f64,
    /// Copies.
    pub copies: f64,
}

impl Facts {
    /// Of a run; `None` before its first pass that counts.
    pub fn of(run: &Run) -> Option<Self> {
        let mut passes: Vec<&Pass> = run.counted().collect();
        let passes = passes.split_off(passes.len().saturating_sub(PASSES));
        let n = passes.len();
        if n == 0 {
            return None;
        }
        let mean = |of: &dyn Fn(&Pass) -> f64| passes.iter().map(|p| of(p)).sum::<f64>() / n as f64;
        let every = |of: &dyn Fn(&Pass) -> Option<f64>| {
            passes.iter().map(|p| of(p)).sum::<Option<f64>>().map(|sum| sum / n as f64)
        };
        let phase = |phase| every(&|p| phase_ns(p, phase).map(|ns| ns as f64)).map(|ns| (phase, ns));
        Some(Self {
            passes: n,
            timed_ns: mean(&|p| p.timed.0 as f64),
            counters: counters(&every),
            events: events(&every),
            migrated: migrated(&passes),
            between_gpus: every(&|p| {
                let between = p.uvm.as_ref()?.between_gpus()?;
                Some((between.gpu0_to_gpu1 + between.gpu1_to_gpu0) as f64)
            }),
            phases: Phase::ALL.into_iter().filter_map(phase).collect(),
        })
    }

    /// Mean host time of a phase, ns; `None` unless every pass has it.
    pub fn phase(&self, phase: Phase) -> Option<f64> {
        self.phases.iter().find(|(known, _)| *known == phase).map(|(_, ns)| *ns)
    }

    /// Mean bytes of a direction and of these causes; `None` below trace level full.
    pub fn moved(&self, to_gpu: bool, causes: &[Cause]) -> Option<f64> {
        let all = self.migrated.as_ref()?;
        Some(all.iter().filter(|m| m.to_gpu == to_gpu && causes.contains(&m.cause)).map(|m| m.bytes).sum())
    }
}

type Every<'a> = dyn Fn(&dyn Fn(&Pass) -> Option<f64>) -> Option<f64> + 'a;

fn counters(every: &Every<'_>) -> Option<CounterMeans> {
    Some(CounterMeans {
        htod: every(&|p| Some(p.uvm.as_ref()?.counters.bytes_htod as f64))?,
        dtoh: every(&|p| Some(p.uvm.as_ref()?.counters.bytes_dtoh as f64))?,
        cpu_faults: every(&|p| Some(p.uvm.as_ref()?.counters.cpu_faults as f64))?,
        gpu_faults: every(&|p| Some(p.uvm.as_ref()?.counters.gpu_faults as f64))?,
    })
}

/// Passes that lost events give no means: their counts are too low.
fn events(every: &Every<'_>) -> Option<EventMeans> {
    let of = |get: fn(&crate::event::EventTotals) -> u64| {
        every(&move |p| {
            let events = p.uvm.as_ref()?.events.as_ref().filter(|events| events.lost == 0)?;
            Some(get(events) as f64)
        })
    };
    Some(EventMeans {
        raw: of(|e| e.gpu_faults_raw)?,
        batches: of(|e| e.batches)?,
        thrashing: of(|e| e.thrashing)?,
        throttled: of(|e| e.throttled)?,
        remote_maps: of(|e| e.remote_maps)?,
    })
}

fn migrated(passes: &[&Pass]) -> Option<Vec<Migration>> {
    let mut sums: Vec<Migration> = Vec::new();
    for pass in passes {
        let events = pass.uvm.as_ref()?.events.as_ref().filter(|events| events.lost == 0)?;
        for m in events.migrated.as_ref()? {
            if m.src != Proc::Cpu && m.dst != Proc::Cpu {
                // From GPU to GPU: not over the host's link.
                continue;
            }
            let to_gpu = m.dst != Proc::Cpu;
            let (bytes, copies) = (m.bytes as f64, m.copies as f64);
            match sums.iter_mut().find(|sum| (sum.to_gpu, sum.cause) == (to_gpu, m.cause)) {
                Some(sum) => {
                    sum.bytes += bytes;
                    sum.copies += copies;
                }
                None => sums.push(Migration { to_gpu, cause: m.cause, bytes, copies }),
            }
        }
    }
    for sum in &mut sums {
        sum.bytes /= passes.len() as f64;
        sum.copies /= passes.len() as f64;
    }
    Some(sums)
}
