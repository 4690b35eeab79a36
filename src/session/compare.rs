//! Two runs of the session against each other, or the reason why they cannot be.

use super::facts::Facts;
use super::{Run, differences};
use crate::event::{Outcome, TraceLevel};
use crate::stats::{Estimate, MIN_FOR_INTERVAL, ratio};
use crate::units::{Bytes, Nanos, count};

/// Newest passes of each run that are compared.
const PASSES: usize = 200;

/// One figure of both runs, per pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// What it is.
    pub name: &'static str,
    /// The baseline's; `None` if it is not known.
    pub before: Option<String>,
    /// The other's.
    pub after: Option<String>,
}

/// A baseline and another run.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Median pass time of the other over that of the baseline: below 1 the other is faster.
    pub ratio: Estimate,
    /// What differs in the settings, as `name: baseline → other`; empty if nothing does.
    pub changed: Vec<String>,
    /// Figures per pass, side by side.
    pub measures: Vec<Measure>,
    /// What came of it, with its evidence.
    pub verdict: String,
    /// What a reader must know besides; empty if nothing.
    pub caveat: String,
}

/// Compares a run with a baseline. The error says why that would mean nothing.
pub fn compare(baseline: &Run, other: &Run) -> Result<Comparison, String> {
    comparable(baseline, other)?;
    let (before, after) = (times(baseline), times(other));
    let ratio = ratio(&after, &before).ok_or("a pass of the baseline took no time at all")?;
    let facts = (
        Facts::of(baseline).ok_or_else(|| no_pass("the baseline", baseline))?,
        Facts::of(other).ok_or_else(|| no_pass("the run", other))?,
    );
    Ok(Comparison {
        ratio,
        changed: differences(&baseline.start, &other.start),
        measures: measures(&facts.0, &facts.1),
        verdict: verdict(&ratio, &facts.0, &facts.1),
        caveat: caveat(baseline, other),
    })
}

fn times(run: &Run) -> Vec<f64> {
    let mut times = run.times_ns();
    times.split_off(times.len().saturating_sub(PASSES))
}

fn no_pass(what: &str, run: &Run) -> String {
    format!("{what} {} has no pass that counts yet", run.start.run)
}

/// Whether a comparison means anything; the error says why not.
pub fn comparable(baseline: &Run, other: &Run) -> Result<(), String> {
    let (a, b) = (&baseline.start, &other.start);
    if a.run == b.run {
        return Err("this is the baseline: choose another run".to_owned());
    }
    if a.settings.workload != b.settings.workload {
        return Err(format!(
            "{} and {} do different work: only runs of one workload can be compared",
            a.settings.workload, b.settings.workload
        ));
    }
    if a.settings.size != b.settings.size {
        return Err(format!("a pass works on {} in one and on {} in the other", a.settings.size, b.settings.size));
    }
    if a.settings.shape.rounds != b.settings.shape.rounds {
        return Err("a pass has other numbers of rounds in one than in the other".to_owned());
    }
    if a.timed != b.timed {
        return Err("different phases are timed".to_owned());
    }
    if (a.trace == TraceLevel::Full) != (b.trace == TraceLevel::Full) {
        return Err(
            "only one is traced at level full, which slows faults down: it would be a comparison of levels".into()
        );
    }
    for (what, run) in [("the baseline", baseline), ("the run", other)] {
        if run.counted().next().is_none() {
            return Err(match &run.outcome {
                Some(Outcome::Failed(why)) => format!("{what} {} failed: {why}", run.start.run),
                _ => no_pass(what, run),
            });
        }
    }
    Ok(())
}

fn caveat(baseline: &Run, other: &Run) -> String {
    let (a, b) = (baseline.start.trace, other.start.trace);
    let n = baseline.counted().count().min(other.counted().count());
    if n < MIN_FOR_INTERVAL {
        format!("{n} passes are too few for an interval: {MIN_FOR_INTERVAL} are needed")
    } else if a != b {
        format!("the trace levels differ ({a}, {b}): a CPU that reads back migrated pages pays for more than off")
    } else {
        String::new()
    }
}

fn verdict(ratio: &Estimate, before: &Facts, after: &Facts) -> String {
    let r = ratio.median;
    let unsure = ratio.interval.is_some_and(|(low, high)| low <= 1.0 && high >= 1.0);
    if unsure {
        return "No difference that these passes can show: the interval holds 1".to_owned();
    }
    let times = |x: f64| if x >= 9.95 { format!("{x:.0}×") } else { format!("{x:.2}×") };
    let what = if r < 1.0 { format!("{} faster", times(1.0 / r)) } else { format!("{} slower", times(r)) };
    let sure = if ratio.interval.is_none() { " (too few passes to be sure)" } else { "" };
    match reason(before, after) {
        Some(why) => format!("{what}{sure}: {why}"),
        None => format!("{what}{sure}; faults and migrated bytes do not say why"),
    }
}

/// The figure that changed most with the time, in words.
fn reason(before: &Facts, after: &Facts) -> Option<String> {
    let (a, b) = (before.counters?, after.counters?);
    let faults = |n: f64| count(n.round());
    let bytes = |n: f64| Bytes(n as u64).to_string();
    let halved = |x: f64, y: f64| x.max(y) > 2.0 * x.min(y);
    if halved(a.gpu_faults, b.gpu_faults) && a.gpu_faults.max(b.gpu_faults) >= 16.0 {
        let went = if b.gpu_faults < a.gpu_faults { "fell" } else { "rose" };
        return Some(format!("GPU faults a pass {went} from {} to {}", faults(a.gpu_faults), faults(b.gpu_faults)));
    }
    let (x, y) = (a.htod + a.dtoh, b.htod + b.dtoh);
    if halved(x, y) && x.max(y) >= 65_536.0 {
        return Some(format!("migrated bytes a pass went from {} to {}", bytes(x), bytes(y)));
    }
    if halved(a.cpu_faults, b.cpu_faults) && a.cpu_faults.max(b.cpu_faults) >= 16.0 {
        return Some(format!("CPU faults a pass went from {} to {}", faults(a.cpu_faults), faults(b.cpu_faults)));
    }
    None
}

fn measures(before: &Facts, after: &Facts) -> Vec<Measure> {
    let both = |name, of: &dyn Fn(&Facts) -> Option<String>| Measure { name, before: of(before), after: of(after) };
    let time = |ns: f64| Nanos(ns.max(0.0) as u64).to_string();
    let bytes = |n: f64| Bytes(n as u64).to_string();
    let number = |n: f64| count(n.round());
    vec![
        both("mean pass time", &|f| Some(time(f.timed_ns))),
        both("kernel", &|f| f.phase(crate::event::Phase::Kernel).map(time)),
        both("GPU faults", &|f| f.counters.map(|c| number(c.gpu_faults))),
        both("raw faults", &|f| f.events.map(|e| number(e.raw))),
        both("CPU faults", &|f| f.counters.map(|c| number(c.cpu_faults))),
        both("batches", &|f| f.events.map(|e| number(e.batches))),
        both("HtoD", &|f| f.counters.map(|c| bytes(c.htod))),
        both("DtoH", &|f| f.counters.map(|c| bytes(c.dtoh))),
        both("thrash events", &|f| f.events.map(|e| number(e.thrashing))),
    ]
}

#[cfg(test)]
mod tests;
