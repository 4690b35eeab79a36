//! `umtop bench`: a table for people.

use super::{Verdict, between_gpus, checked, failed, lost, origin_line, per_pass_uvm};
use crate::event::{BetweenGpus, Level, Settings};
use crate::session::{Accounted, Run, Session};
use crate::stats::{self, Estimate};
use crate::units::{Bytes, Nanos, count};
use std::fmt::Write as _;

const COLUMNS: [&str; 11] =
    ["", "time", "95 % interval", "n", "ratio", "HtoD", "DtoH", "GPU faults", "raw", "CPU faults", "batches"];

/// Only where two GPUs work.
const BETWEEN_GPUS: [&str; 2] = ["GPU 0→1", "GPU 1→0"];

/// The columns of a session's table.
pub(super) fn columns(session: &Session) -> Vec<String> {
    let more = if on_two_gpus(session) { &BETWEEN_GPUS[..] } else { &[] };
    COLUMNS.iter().chain(more).map(|name| (*name).to_owned()).collect()
}

fn on_two_gpus(session: &Session) -> bool {
    session.runs.runs.iter().any(Run::on_two_gpus)
}

/// The report of a bench: one row per member, ratios against the fastest of the same workload and size.
pub fn table(session: &Session, verdicts: &[Verdict]) -> String {
    let mut text = match origin_line(session) {
        line if line.is_empty() => line,
        line => format!("{line}\n\n"),
    };
    let mut rows = vec![columns(session)];
    rows.extend(session.runs.runs.iter().map(|run| row(session, run)));
    text.push_str(&aligned(&rows));
    text.push('\n');
    for run in &session.runs.runs {
        text.push_str(&remarks(run));
    }
    super::observer::lines(session).iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    if !verdicts.is_empty() {
        let held = verdicts.iter().filter(|v| v.held == Some(true)).count();
        let judged = verdicts.iter().filter(|v| v.held.is_some()).count();
        let _ = writeln!(text, "\npredictions: {held} of {judged} held");
        verdicts.iter().for_each(|verdict| {
            let _ = writeln!(text, "{}", verdict.line());
        });
    }
    for (_, notice) in session.notices.iter().filter(|(_, n)| n.level != Level::Info) {
        let _ = writeln!(text, "{}: {}", notice.source, notice.text);
    }
    text
}

pub(super) fn row(session: &Session, run: &Run) -> Vec<String> {
    let fastest = fastest_like(session, run);
    let estimate = stats::estimate(&run.times_ns());
    let bytes = |b: Option<u64>| b.map_or_else(na, |b| Bytes(b).to_string());
    let number = |n: Option<u64>| n.map_or_else(na, |n| count(n as f64));
    let events = |value: fn(&crate::event::EventTotals) -> u64| per_pass_uvm(run, |u| u.events.as_ref().map(value));
    let mut row = vec![
        name(run),
        estimate.map_or_else(na, |e| Nanos(e.median as u64).to_string()),
        estimate
            .and_then(|e| e.interval)
            .map_or_else(na, |(a, b)| format!("{} – {}", Nanos(a as u64), Nanos(b as u64))),
        estimate.map_or(0, |e| e.n).to_string(),
        fastest.map_or_else(na, |fastest| ratio(run, fastest)),
        bytes(per_pass_uvm(run, |u| Some(u.counters.bytes_htod))),
        bytes(per_pass_uvm(run, |u| Some(u.counters.bytes_dtoh))),
        number(per_pass_uvm(run, |u| Some(u.counters.gpu_faults))),
        number(events(|e| e.gpu_faults_raw)),
        number(per_pass_uvm(run, |u| Some(u.counters.cpu_faults))),
        number(events(|e| e.batches)),
    ];
    if on_two_gpus(session) {
        let between = between_gpus(run);
        row.extend([bytes(between.map(|b| b.gpu0_to_gpu1)), bytes(between.map(|b| b.gpu1_to_gpu0))]);
    }
    row
}

fn na() -> String {
    "n/a".to_owned()
}

/// What the workload's file calls it; else its settings.
fn name(run: &Run) -> String {
    let Settings { workload, memory, prefetch, advice, size, shape, .. } = &run.start.settings;
    let mut name = format!("{workload} {size}");
    match &run.start.label {
        Some(label) => {
            let _ = write!(name, ": {label}");
        }
        None => {
            let _ = write!(name, " {memory}");
            if *prefetch {
                name.push_str(" +prefetch");
            }
            if advice.name() != "none" {
                let _ = write!(name, " +{advice}");
            }
            if !shape.is_plain() {
                let _ = write!(name, ", {shape}");
            }
        }
    }
    let _ = write!(name, ", trace {}", run.start.trace);
    name
}

fn fastest_like<'a>(session: &'a Session, run: &Run) -> Option<&'a Run> {
    let alike = |other: &&Run| {
        let (a, b) = (&other.start.settings, &run.start.settings);
        (&a.workload, a.size) == (&b.workload, b.size)
    };
    let median = |r: &Run| stats::median(&r.times_ns());
    session
        .runs
        .runs
        .iter()
        .filter(alike)
        .filter(|r| median(r).is_some())
        .min_by(|a, b| median(a).unwrap_or(f64::MAX).total_cmp(&median(b).unwrap_or(f64::MAX)))
}

fn ratio(run: &Run, fastest: &Run) -> String {
    if run.start.run == fastest.start.run {
        return "1".to_owned();
    }
    match stats::ratio(&run.times_ns(), &fastest.times_ns()) {
        Some(Estimate { median, interval: Some((low, high)), .. }) => format!("{median:.2} [{low:.2}–{high:.2}]"),
        Some(Estimate { median, interval: None, .. }) => format!("{median:.2}"),
        None => na(),
    }
}

pub(super) fn remarks(run: &Run) -> String {
    let mut text = String::new();
    let name = name(run);
    if let Some(why) = failed(run) {
        let _ = writeln!(text, "{name}: FAILED: {why}");
    }
    if let Some(Accounted { htod, dtoh, between_gpus }) = run.accounted() {
        let between = between_gpus.map(shares_between).unwrap_or_default();
        let _ = writeln!(text, "{name}: bytes accounted / moved: HtoD {htod:.6}, DtoH {dtoh:.6}{between}");
    }
    if let Some((elements, wrong)) = checked(run) {
        let _ = writeln!(text, "{name}: {elements} results checked on the host, {wrong} wrong");
    }
    match lost(run) {
        Some(0) | None => {}
        Some(n) => {
            let _ = writeln!(text, "{name}: {n} driver events LOST: counts of raw faults and batches are too low");
        }
    }
    let outliers = stats::outliers(&run.times_ns());
    if !outliers.is_empty() {
        let _ = writeln!(text, "{name}: {} outlier(s), kept in the figures", outliers.len());
    }
    text
}

/// What of the bytes between GPUs was accounted, or why that is not known.
fn shares_between(of: BetweenGpus<Option<f64>>) -> String {
    let [there, back] = BETWEEN_GPUS;
    let share = |share: Option<f64>| share.map_or_else(na, |share| format!("{share:.6}"));
    match (of.gpu0_to_gpu1, of.gpu1_to_gpu0) {
        (None, None) => format!(", {there} and {back} n/a: needs trace level full"),
        (to, from) => format!(", {there} {}, {back} {}", share(to), share(from)),
    }
}

/// Columns padded to their widest cell; the first to the left, numbers to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(i, cell)| {
                let w = width(i);
                if i == 0 { format!("{cell:<w$}") } else { format!("{cell:>w$}") }
            })
            .collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}
