//! From a session to text: what `umtop bench`, `umtop watch` and `umtop replay` print.

mod csv;
mod json;
mod markdown;
mod observer;
mod predictions;
mod table;
mod totals;
mod watch;

pub use csv::csv;
pub use json::json;
pub use markdown::{markdown, session_report};
pub use predictions::{Predicted, Verdict, judge};
pub use table::table;
pub use totals::totals;
pub use watch::{json as watch_json, table as watch_table};

use crate::event::{BetweenGpus, Origin, Outcome, Pass, UvmTotals};
use crate::session::{Run, Session};
use crate::stats;

/// Median over the passes that count of something that each may have.
fn per_pass(run: &Run, value: impl Fn(&Pass) -> Option<u64>) -> Option<u64> {
    let values: Option<Vec<f64>> = run.counted().map(|p| value(p).map(|v| v as f64)).collect();
    stats::median(&values?).map(|m| m.round() as u64)
}

/// Median over the passes that count of one of the driver's counts.
fn per_pass_uvm(run: &Run, value: impl Fn(&UvmTotals) -> Option<u64>) -> Option<u64> {
    per_pass(run, |p| p.uvm.as_ref().and_then(&value))
}

/// Median over the passes that count of the bytes between the two GPUs, each way; `None` where one works alone and below
/// trace level full.
fn between_gpus(run: &Run) -> Option<BetweenGpus<u64>> {
    let way = |of: fn(BetweenGpus<u64>) -> u64| per_pass_uvm(run, |uvm| uvm.between_gpus().map(of));
    let two = run.on_two_gpus();
    let both = || Some(BetweenGpus { gpu0_to_gpu1: way(|b| b.gpu0_to_gpu1)?, gpu1_to_gpu0: way(|b| b.gpu1_to_gpu0)? });
    two.then(both).flatten()
}

/// Events lost over all passes; `None` below trace level faults.
fn lost(run: &Run) -> Option<u64> {
    run.passes.iter().map(|(_, p)| Some(p.uvm.as_ref()?.events.as_ref()?.lost)).sum()
}

/// Elements checked and wrong, over all passes.
fn checked(run: &Run) -> Option<(u64, u64)> {
    let checks: Vec<_> = run.passes.iter().filter_map(|(_, p)| p.check).collect();
    (!checks.is_empty()).then(|| checks.iter().fold((0, 0), |sum, c| (sum.0 + c.elements, sum.1 + c.wrong)))
}

fn failed(run: &Run) -> Option<&str> {
    match &run.outcome {
        Some(Outcome::Failed(text)) => Some(text),
        _ => None,
    }
}

/// Whether figures were measured, and on what; empty without a header.
fn origin_line(session: &Session) -> String {
    let Some(header) = &session.header else { return String::new() };
    let gpu = header.gpu.as_ref().map(|g| format!("{}, driver {}", g.name, g.driver)).unwrap_or_default();
    match &header.origin {
        Origin::Measured => format!("Measured on {gpu}"),
        Origin::Simulated { profile, reason } => format!("SIMULATED ({profile}): {reason}"),
    }
}
