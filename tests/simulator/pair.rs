//! Two simulated H200s against two real ones: the table of the pair in docs/simulator.md.

use super::{WITHIN, figure, median, section, simulate};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use umtop::event::{Advice, Cause, Migrated, Pass, Proc, TraceLevel};
use umtop::units::Bytes;
use umtop::workload::Choice;

const REAL: &str = include_str!("../../assets/calibration/h200-x2.toml");

/// What is known to miss, and by how much it may: the page says why. The test fails when a line is no longer needed.
const KNOWN: [(&str, &str, f64); 24] = [
    ("peer 256 MiB, preferred-gpu, level faults", "gpu faults raw", 0.20),
    ("peer 256 MiB, preferred-gpu, level faults", "batches", 0.20),
    ("peer 256 MiB, preferred-gpu, level full", "gpu faults raw", 0.17),
    ("peer 256 MiB, preferred-gpu, level full", "batches", 0.18),
    ("peer 256 MiB, preferred-gpu:1, level full", "time", 0.17),
    ("peer 256 MiB, preferred-gpu:1, level full", "gpu faults", 0.19),
    ("peer 256 MiB, preferred-gpu:1, level full", "remote maps", 0.22),
    ("peer 256 MiB, preferred-gpu:1, level full", "CPU to GPU 1, bytes by fault", 0.26),
    ("peer 256 MiB, accessed-by, level full", "gpu faults raw", 0.20),
    ("peer 256 MiB, accessed-by, level full", "batches", 0.20),
    ("peer 256 MiB, accessed-by, level full", "remote maps", 0.24),
    ("peer 256 MiB, accessed-by-gpu:1, level full", "gpu faults raw", 0.18),
    ("peer 256 MiB, accessed-by-gpu:1, level full", "batches", 0.21),
    ("peer 256 MiB, accessed-by-gpu:1, level full", "remote maps", 0.24),
    ("peer-preferred 64 MiB, preferred-gpu, level full", "batches", 0.21),
    ("peer-read-mostly 64 MiB, on demand, level full", "CPU to GPU 0, copies by fault", 0.21),
    ("peer-read-mostly 64 MiB, on demand, level full", "CPU to GPU 0, copies by prefetch", 0.18),
    ("peer-read-mostly 64 MiB, on demand, level full", "GPU 0 to GPU 1, copies by fault", 0.17),
    ("peer-read-mostly 64 MiB, on demand, level full", "GPU 1 to GPU 0, copies by fault", 0.17),
    ("peer-read-mostly 64 MiB, read-mostly, level full", "CPU to GPU 0, copies by fault", 0.23),
    ("peer-read-mostly 64 MiB, read-mostly, level full", "CPU to GPU 0, copies by prefetch", 0.19),
    ("peer-read-mostly 64 MiB, read-mostly, level full", "GPU 0 to GPU 1, copies by fault", 0.19),
    ("peer-ping-pong 2 MiB, on demand, level full", "gpu faults raw", 0.34),
    ("peer-ping-pong 2 MiB, preferred-gpu, level full", "gpu faults raw", 0.28),
];

#[derive(Deserialize)]
struct Real {
    row: Vec<Row>,
}

/// A member of a workload at a level; a median for each run on the cards.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(default = "peer")]
    workload: String,
    #[serde(default = "size")]
    size_kib: u64,
    rounds: Option<u32>,
    #[serde(default = "none")]
    advice: Advice,
    prefetch: bool,
    level: TraceLevel,
    time_ms: Vec<f64>,
    gpu_faults: Vec<f64>,
    /// Empty below level faults, as are batches.
    #[serde(default)]
    gpu_faults_raw: Vec<f64>,
    #[serde(default)]
    batches: Vec<f64>,
    cpu_faults: Vec<f64>,
    #[serde(default = "nothing")]
    remote_maps: Vec<f64>,
    #[serde(default = "nothing")]
    thrashing: Vec<f64>,
    /// By way and cause: MiB and copies.
    #[serde(default)]
    copies: BTreeMap<String, BTreeMap<Cause, [f64; 2]>>,
}

fn peer() -> String {
    "peer".to_owned()
}

fn size() -> u64 {
    256 << 10
}

fn none() -> Advice {
    Advice::None
}

fn nothing() -> Vec<f64> {
    vec![0.0]
}

impl Row {
    fn name(&self) -> String {
        let member = match (self.prefetch, self.advice) {
            (true, _) => "prefetch",
            (_, Advice::None) => "on demand",
            (_, advice) => advice.name(),
        };
        format!("{} {}, {member}, level {}", self.workload, Bytes(self.size_kib << 10), self.level)
    }
}

const WAYS: [(&str, Proc, Proc); 6] = [
    ("CPU to GPU 0", Proc::Cpu, Proc::Gpu(0)),
    ("CPU to GPU 1", Proc::Cpu, Proc::Gpu(1)),
    ("GPU 0 to GPU 1", Proc::Gpu(0), Proc::Gpu(1)),
    ("GPU 1 to GPU 0", Proc::Gpu(1), Proc::Gpu(0)),
    ("GPU 0 to CPU", Proc::Gpu(0), Proc::Cpu),
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
    let choice =
        Choice { prefetch: Some(row.prefetch), advice: Some(row.advice), rounds: row.rounds, ..Choice::default() };
    let (passes, _) = simulate("h200-x2", &row.workload, choice, row.size_kib << 10, row.level);
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
    let mut lines = vec![time, count("gpu_faults", &row.gpu_faults), count("cpu_faults", &row.cpu_faults)];
    if row.level < TraceLevel::Faults {
        return lines;
    }
    lines.push(count("gpu_faults_raw", &row.gpu_faults_raw));
    lines.push(count("batches", &row.batches));
    for (what, real) in [("remote_maps", &row.remote_maps), ("thrashing", &row.thrashing)] {
        // Of what neither has nothing is said.
        lines.extend(Some(count(what, real)).filter(|line| line.sim != 0.0 || line.real != [0.0]));
    }
    if row.level < TraceLevel::Full {
        return lines;
    }
    for (way, src, dst) in WAYS {
        let sum = |cause: Option<Cause>, of: fn(&Migrated) -> u64| {
            let here = |m: &&Migrated| (m.src, m.dst) == (src, dst) && cause.is_none_or(|cause| m.cause == cause);
            median(passes.iter().map(|pass| migrated(pass).iter().filter(here).map(of).sum::<u64>() as f64).collect())
        };
        let mib = |cause| sum(cause, |m| m.bytes) / f64::from(1 << 20);
        let Some(real) = row.copies.get(way) else {
            assert_eq!(mib(None), 0.0, "{}: {way} is another way than the cards'", row.name());
            continue;
        };
        // Whole pages, in MiB: what the causes were rounded to must not show.
        let all = (real.values().map(|[mib, _]| mib).sum::<f64>() * 256.0).round() / 256.0;
        let places = if all < 10.0 { 3 } else { 0 };
        lines.push(Line { what: way.to_owned(), real: vec![all], sim: mib(None), unit: (places, " MiB"), exact: true });
        for (cause, [bytes, copies]) in real {
            let name = |what| format!("{way}, {} by {}", what, cause.name());
            let (bytes, copies) = (vec![*bytes], vec![*copies]);
            let exact = *cause == Cause::User;
            if real.len() > 1 {
                let unit = (if all < 10.0 { 3 } else { 1 }, " MiB");
                lines.push(Line { what: name("bytes"), real: bytes, sim: mib(Some(*cause)), unit, exact });
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
    let mut text = String::from("| workload | figure | real, run by run | simulated | off |\n|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    let mut needed = vec![false; KNOWN.len()];
    for row in &real.row {
        let name = row.name();
        let mut first = name.clone();
        for line in lines(row) {
            let number = |value: f64| format!("{value:.*}{}", line.unit.0, line.unit.1);
            let runs: Vec<String> = line.real.iter().map(|value| number(*value)).collect();
            let off = if line.off() == 0.0 { "=".to_owned() } else { format!("{:+.0} %", line.off() * 100.0) };
            let missed = if line.wrong() { " **missed**" } else { "" };
            writeln!(text, "| {first} | {} | {} | {} | {off}{missed} |", line.what, runs.join(", "), number(line.sim))
                .unwrap();
            let known = KNOWN.iter().position(|(row, what, _)| *row == name && *what == line.what);
            known.into_iter().for_each(|at| needed[at] |= line.wrong());
            if line.wrong() && known.is_none_or(|at| line.off().abs() > KNOWN[at].2) {
                wrong.push(format!("(\"{name}\", \"{}\", {:.2}),", line.what, line.off().abs()));
            }
            first.clear();
        }
    }
    section("pair", &text);
    let idle: Vec<_> = KNOWN.iter().zip(&needed).filter(|(_, needed)| !**needed).collect();
    assert!(
        wrong.is_empty() && idle.is_empty(),
        "too far from the real cards:\n{}\nnear enough by now, to be dropped from the list: {idle:?}",
        wrong.join("\n")
    );
}
