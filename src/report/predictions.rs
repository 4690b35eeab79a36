//! Whether what the workload files predict came out so.

use super::per_pass_uvm;
use crate::event::{BetweenGpus, Figure, Prediction, TraceLevel};
use crate::session::{Run, Session};
use crate::stats;
use crate::units::Bytes;
use serde::Serialize;

/// What a workload's file predicts, for its default size.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Name of the workload.
    pub workload: String,
    /// The size for which it is said.
    pub size: Bytes,
    /// The predictions.
    pub expect: Vec<Prediction>,
}

/// A prediction and the figure that it met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the workload.
    pub workload: String,
    /// Trace level in force.
    pub trace: TraceLevel,
    /// The prediction in words.
    pub text: String,
    /// The figure; `None` if it was not measured.
    pub value: Option<f64>,
    /// Whether it holds; `None` without a figure.
    pub held: Option<bool>,
}

/// Judges the predictions of every workload that was run at its default size, once for each trace level.
pub fn judge(session: &Session, predicted: &[Predicted]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for Predicted { workload, size, expect } in predicted {
        let runs: Vec<&Run> = session.runs.runs.iter().filter(|r| of(r, workload, *size)).collect();
        let mut levels: Vec<TraceLevel> = runs.iter().map(|r| r.start.trace).collect();
        levels.sort_unstable();
        levels.dedup();
        for trace in levels {
            let at_level: Vec<&Run> = runs.iter().copied().filter(|r| r.start.trace == trace).collect();
            verdicts.extend(expect.iter().map(|prediction| {
                let value = value(&at_level, prediction, *size);
                let held = value.map(|value| prediction.holds(value));
                Verdict { workload: workload.clone(), trace, text: prediction.to_string(), value, held }
            }));
        }
    }
    verdicts
}

fn of(run: &Run, workload: &str, size: Bytes) -> bool {
    let settings = &run.start.settings;
    settings.workload == workload && settings.size == size
}

fn value(runs: &[&Run], prediction: &Prediction, size: Bytes) -> Option<f64> {
    // Settings that the file has no name for are another experiment.
    let find = |name: &Option<String>| match name {
        Some(_) => runs.iter().find(|r| r.start.label == *name),
        None => runs.iter().find(|r| r.start.label.is_none() && r.start.settings.shape.is_plain()),
    };
    let mine = figure(find(&prediction.of)?, prediction.what)?;
    match &prediction.over {
        Some(_) => {
            let other = figure(find(&prediction.over)?, prediction.what)?;
            (other > 0.0).then(|| mine / other)
        }
        None if prediction.what.is_bytes() => Some(mine / size.0 as f64),
        None => Some(mine),
    }
}

fn figure(run: &Run, what: Figure) -> Option<f64> {
    let counted = |n: Option<u64>| n.map(|n| n as f64);
    match what {
        Figure::Time => stats::median(&run.times_ns()),
        Figure::BytesHtod => counted(per_pass_uvm(run, |u| Some(u.counters.bytes_htod))),
        Figure::BytesDtoh => counted(per_pass_uvm(run, |u| Some(u.counters.bytes_dtoh))),
        Figure::BytesBetweenGpus => {
            let both = |b: BetweenGpus<u64>| b.gpu0_to_gpu1.saturating_add(b.gpu1_to_gpu0);
            counted(per_pass_uvm(run, |u| u.between_gpus().map(both)))
        }
        Figure::GpuFaults => counted(per_pass_uvm(run, |u| Some(u.counters.gpu_faults))),
        Figure::CpuFaults => counted(per_pass_uvm(run, |u| Some(u.counters.cpu_faults))),
        Figure::Thrash => {
            counted(per_pass_uvm(run, |u| u.events.as_ref().map(|e| e.thrashing + e.throttled + e.remote_maps)))
        }
    }
}

impl Verdict {
    /// One line for people.
    pub fn line(&self) -> String {
        let found = match (self.value, self.held) {
            (Some(value), Some(true)) => format!("HELD  {}", short(value)),
            (Some(value), _) => format!("DID NOT HOLD  {}", short(value)),
            (None, _) => "n/a (not measured in this bench)".to_owned(),
        };
        format!("{}: {}: {found}", self.workload, self.text)
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        n if n >= 100.0 => format!("{value:.0}"),
        n if n >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
