//! Two simulated H200s against two real ones: the table of the pair in docs/simulator.md.

use super::{WITHIN, figure, median, section, simulate};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use umtop::event::{Cause, Migrated, Pass, Proc, TraceLevel};
use umtop::workload::Choice;

const REAL: &str = include_str!("../../assets/calibration/h200-x2.toml");
const SIZE: u64 = 256 << 20;

#[derive(Deserialize)]
struct Real {
    row: Vec<Row>,
}

/// A member of the workload at a level; a median for each run on the cards.
#[derive(Deserialize)]
struct Row {
    prefetch: bool,
    level: TraceLevel,
    time_ms: Vec<f64>,
    gpu_faults: Vec<f64>,
    gpu_faults_raw: Vec<f64>,
    batches: Vec<f64>,
    cpu_faults: Vec<f64>,
    /// By way and cause: MiB and copies.
    #[serde(default)]
    copies: BTreeMap<String, BTreeMap<Cause, [f64; 2]>>,
}

/// The ways, in the order of a pass.
const WAYS: [(&str, Proc, Proc); 4] = [
    ("CPU to GPU 0", Proc::Cpu, Proc::Gpu(0)),
    ("GPU 0 to GPU 1", Proc::Gpu(0), Proc::Gpu(1)),
    ("GPU 1 to GPU 0", Proc::Gpu(1), Proc::Gpu(0)),
    ("GPU 1 to CPU", Proc::Gpu(1), Proc::Cpu),
];

/// One line of the table.
struct Line {
    what: String,
    real: Vec<f64>,
    sim: f64,
    /// Places behind the point, and the unit.
    unit: (usize, &'static str),
    /// It never differs on the cards, so it must not here.
    exact: bool,
}

impl Line {
    /// How far it is from the nearest run: they differ among each other.
    fn off(&self) -> f64 {
        let from = |real: &f64| if *real == self.sim { 0.0 } else { self.sim / real - 1.0 };
        self.real.iter().map(from).min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap()
    }

    fn wrong(&self) -> bool {
        self.off().abs() > if self.exact { 0.0 } else { WITHIN }
    }
}

fn migrated(pass: &Pass) -> &[Migrated] {
    let events = pass.uvm.as_ref().and_then(|uvm| uvm.events.as_ref());
    events.and_then(|events| events.migrated.as_deref()).unwrap_or_default()
}

fn lines(row: &Row) -> Vec<Line> {
    let choice = Choice { prefetch: Some(row.prefetch), ..Choice::default() };
    let (passes, _) = simulate("h200-x2", "peer", choice, SIZE, row.level);
    let of = |what: &str, scale: f64| median(passes.iter().map(|pass| figure(pass, what) * scale).collect());
    let count = |what: &str, real: &[f64]| Line {
        what: what.replace('_', " "),
        real: real.to_vec(),
        sim: of(what, 1.0),
        unit: (0, ""),
        exact: what == "cpu_faults" || row.prefetch,
    };
    let time = Line {
        what: "time".to_owned(),
        real: row.time_ms.clone(),
        sim: of("time_us", 1e-3),
        unit: (1, " ms"),
        exact: false,
    };
    let mut lines = vec![
        time,
        count("gpu_faults", &row.gpu_faults),
        count("gpu_faults_raw", &row.gpu_faults_raw),
        count("batches", &row.batches),
        count("cpu_faults", &row.cpu_faults),
    ];
    if row.level < TraceLevel::Full {
        return lines;
    }
    let ways: Vec<(Proc, Proc)> = WAYS.iter().map(|(_, src, dst)| (*src, *dst)).collect();
    assert!(passes.iter().flat_map(migrated).all(|m| ways.contains(&(m.src, m.dst))), "another way than the cards'");
    for (way, src, dst) in WAYS {
        let real = &row.copies[way];
        let sum = |cause: Option<Cause>, of: fn(&Migrated) -> u64| {
            let here = |m: &&Migrated| (m.src, m.dst) == (src, dst) && cause.is_none_or(|cause| m.cause == cause);
            median(passes.iter().map(|pass| migrated(pass).iter().filter(here).map(of).sum::<u64>() as f64).collect())
        };
        let mib = |cause| sum(cause, |m| m.bytes) / f64::from(1 << 20);
        let all = real.values().map(|[mib, _]| mib).sum::<f64>().round();
        lines.push(Line { what: way.to_owned(), real: vec![all], sim: mib(None), unit: (0, " MiB"), exact: true });
        for (cause, [bytes, copies]) in real {
            let name = |what| format!("{way}, {} by {}", what, cause.name());
            let (bytes, copies) = (vec![*bytes], vec![*copies]);
            let exact = *cause == Cause::User;
            if real.len() > 1 {
                lines.push(Line { what: name("bytes"), real: bytes, sim: mib(Some(*cause)), unit: (1, " MiB"), exact });
            }
            let sim = sum(Some(*cause), |m| m.copies);
            lines.push(Line { what: name("copies"), real: copies, sim, unit: (0, ""), exact });
        }
    }
    lines
}

#[test]
fn the_simulated_pair_is_near_the_real_one_and_the_page_says_how_near() {
    let real: Real = toml::from_str(REAL).unwrap();
    let mut text =
        String::from("| peer 256 MiB | figure | real, run by run | simulated | off |\n|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for row in &real.row {
        let member = if row.prefetch { "prefetch" } else { "on demand" };
        let mut name = format!("{member}, level {}", row.level);
        for line in lines(row) {
            let number = |value: f64| format!("{value:.*}{}", line.unit.0, line.unit.1);
            let runs: Vec<String> = line.real.iter().map(|value| number(*value)).collect();
            let off = if line.off() == 0.0 { "=".to_owned() } else { format!("{:+.0} %", line.off() * 100.0) };
            let missed = if line.wrong() { " **missed**" } else { "" };
            writeln!(text, "| {name} | {} | {} | {} | {off}{missed} |", line.what, runs.join(", "), number(line.sim))
                .unwrap();
            if line.wrong() {
                wrong.push(format!("{member}, {}, {}: {:+.2}", row.level, line.what, line.off()));
            }
            name.clear();
        }
    }
    section("pair", &text);
    assert!(wrong.is_empty(), "too far from the real cards:\n{}", wrong.join("\n"));
}
