//! The simulated H200 against a real one: the table of docs/simulator.md, computed without a GPU.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "simulator/pair.rs"]
mod pair;

use crossbeam_channel::unbounded;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use umtop::device::{Access, Affine, Device, Pattern, Touch};
use umtop::event::{Advice, Body, Cause, Event, MemoryKind, Migrated, Pass, Phase, Proc, Settings, TraceLevel};
use umtop::probe::Tracer;
use umtop::session::Session;
use umtop::sim;
use umtop::source::{Batch, Pace, Sink, Work};
use umtop::units::Bytes;
use umtop::workload::{Choice, Library};

const REAL: &str = include_str!("../assets/calibration/h200.toml");
const PAGE: &str = "docs/simulator.md";
const PASSES: u32 = 6;
/// Share by which the simulator may miss a median.
const WITHIN: f64 = 0.15;

/// What is known to miss, and by how much it may: the page says why. A test below fails when a line is no longer needed.
const KNOWN: [(&str, &str, f64); 55] = [
    ("sequential 64 MiB, on demand", "HtoD copies by fault", 0.22),
    ("random 256 MiB, on demand", "batches", 0.20),
    ("strided 256 MiB, on demand", "cpu_read_us", 0.20),
    ("strided 256 MiB, on demand", "time_us", 0.17),
    ("prefetch-both-ways 256 MiB, prefetch", "move_to_cpu_us", 0.26),
    ("ping-pong 4 KiB, on demand", "thrashing", 0.20),
    ("ping-pong 4 KiB, on demand", "HtoD bytes by fault", 0.17),
    ("ping-pong 4 KiB, on demand", "HtoD copies by fault", 0.17),
    ("ping-pong 4 KiB, on demand", "DtoH bytes by fault", 0.17),
    ("ping-pong 4 KiB, on demand", "DtoH copies by fault", 0.17),
    ("ping-pong-block 1 MiB, on demand", "bytes_htod", 0.27),
    ("ping-pong-block 1 MiB, on demand", "bytes_dtoh", 0.27),
    ("ping-pong-block 1 MiB, on demand", "cpu_faults", 1.88),
    ("ping-pong-block 1 MiB, on demand", "gpu_faults_raw", 0.40),
    ("ping-pong-block 1 MiB, on demand", "batches", 0.44),
    ("ping-pong-block 1 MiB, on demand", "thrashing", 1.13),
    ("ping-pong-block 1 MiB, on demand", "HtoD copies by fault", 1.49),
    ("ping-pong-block 1 MiB, on demand", "HtoD bytes by driver prefetch", 0.21),
    ("ping-pong-block 1 MiB, on demand", "HtoD copies by driver prefetch", 1.68),
    ("ping-pong-block 1 MiB, on demand", "DtoH bytes by fault", 0.22),
    ("ping-pong-block 1 MiB, on demand", "DtoH copies by fault", 0.22),
    ("ping-pong-block 1 MiB, on demand", "DtoH bytes by driver prefetch", 0.18),
    ("ping-pong-block 1 MiB, on demand", "DtoH copies by driver prefetch", 0.27),
    ("ping-pong-block 2 MiB, on demand", "cpu_write_us", 0.19),
    ("ping-pong-block 2 MiB, on demand", "cpu_faults", 0.78),
    ("ping-pong-block 2 MiB, on demand", "gpu_faults_raw", 0.31),
    ("ping-pong-block 2 MiB, on demand", "batches", 0.58),
    ("ping-pong-block 2 MiB, on demand", "thrashing", 0.71),
    ("ping-pong-block 2 MiB, on demand", "HtoD copies by fault", 1.57),
    ("ping-pong-block 2 MiB, on demand", "HtoD copies by driver prefetch", 1.02),
    ("ping-pong-block 2 MiB, on demand", "DtoH bytes by fault", 0.64),
    ("ping-pong-block 2 MiB, on demand", "DtoH copies by fault", 0.64),
    ("ping-pong-block 2 MiB, on demand", "DtoH copies by driver prefetch", 0.30),
    ("read-mostly 64 MiB, on demand", "gpu_faults", 0.24),
    ("read-mostly 64 MiB, on demand", "gpu_faults_raw", 0.26),
    ("read-mostly 64 MiB, on demand", "batches", 0.20),
    ("read-mostly 64 MiB, on demand", "HtoD copies by fault", 0.19),
    ("read-mostly 64 MiB, read-mostly", "gpu_faults", 0.24),
    ("read-mostly 64 MiB, read-mostly", "gpu_faults_raw", 0.26),
    ("read-mostly 64 MiB, read-mostly", "batches", 0.27),
    ("read-mostly 64 MiB, read-mostly", "HtoD copies by fault", 0.29),
    ("read-mostly 64 MiB, read-mostly", "HtoD copies by driver prefetch", 0.23),
    ("read-mostly-trap 64 MiB, read-mostly", "cpu_read_us", 0.40),
    ("read-mostly-trap 64 MiB, read-mostly", "gpu_faults", 0.19),
    ("read-mostly-trap 64 MiB, read-mostly", "batches", 0.24),
    ("read-mostly-trap 64 MiB, read-mostly", "HtoD bytes by fault", 0.42),
    ("read-mostly-trap 64 MiB, read-mostly", "HtoD copies by fault", 0.24),
    ("read-mostly-trap 64 MiB, read-mostly", "HtoD copies by driver prefetch", 0.19),
    ("read-mostly-trap 64 MiB, read-mostly", "DtoH copies by driver prefetch", 2.40),
    ("sequential 256 MiB, accessed-by", "cpu_read_us", 0.17),
    ("sequential 256 MiB, preferred-gpu", "cpu_read_us", 0.29),
    ("first-touch-gpu 256 MiB, on demand", "cpu_read_us", 0.22),
    ("first-touch-gpu 256 MiB, prefetch", "move_to_cpu_us", 0.20),
    ("first-touch-cpu 256 MiB, prefetch", "move_to_cpu_us", 0.26),
    ("ping-pong-block 2 MiB", "share of copies", 0.91),
];

/// Median, least and greatest of a card's passes.
type Spread = [f64; 3];

#[derive(Deserialize)]
struct Real {
    row: Vec<Row>,
    copies: Vec<Copies>,
}

#[derive(Deserialize)]
struct Row {
    workload: String,
    memory: MemoryKind,
    advice: Advice,
    prefetch: bool,
    size_bytes: u64,
    #[serde(flatten)]
    figures: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct Copies {
    workload: String,
    advice: Advice,
    size_bytes: u64,
    up_to_4_16_64_256_kib: [f64; 4],
}

impl Row {
    fn name(&self) -> String {
        let hints = match (self.memory, self.prefetch, self.advice) {
            (MemoryKind::Managed, false, Advice::None) => "on demand".to_owned(),
            (MemoryKind::Managed, true, Advice::None) => "prefetch".to_owned(),
            (MemoryKind::Managed, _, advice) => advice.name().to_owned(),
            (kind, ..) => kind.name().to_owned(),
        };
        format!("{} {}, {hints}", self.workload, Bytes(self.size_bytes))
    }

    fn spread(&self, name: &str) -> Option<Spread> {
        let list = self.figures.get(name)?.as_array()?;
        let number = |v: &toml::Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
        list.iter().map(number).collect::<Option<Vec<f64>>>()?.try_into().ok()
    }

    fn copies(&self, name: &str) -> Option<(f64, f64)> {
        let list = self.figures.get(name)?.as_array()?;
        let number = |v: &toml::Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
        Some((number(list.first()?)?, number(list.get(1)?)?))
    }

    fn choice(&self) -> Choice {
        Choice {
            memory: Some(self.memory),
            prefetch: Some(self.prefetch),
            advice: Some(self.advice),
            ..Choice::default()
        }
    }
}

/// Passes of one workload on a simulated machine, without its warm-up, and all events.
fn simulate(machine: &str, workload: &str, choice: Choice, size: u64, level: TraceLevel) -> (Vec<Pass>, Vec<Event>) {
    let library = Library::bundled().unwrap();
    let workload = library.find(workload).unwrap();
    let settings: Settings = workload.settings(workload.variant(choice), Bytes(size), level);
    let (live, header) = umtop::run::simulated(sim::open(machine).unwrap(), "a test", library);
    let (sink, events) = Sink::new(1 << 20);
    let (_control, wishes) = unbounded();
    let reader = std::thread::spawn(move || events.iter().collect::<Vec<Event>>());
    let batch = Batch { members: vec![settings], warmups: 1, passes: PASSES };
    live.run(header, Work::Batch(batch), sink, Pace::unpaced(wishes));
    let events = reader.join().unwrap();
    let mut session = Session::default();
    events.iter().for_each(|event| session.apply(event));
    let run = session.runs.runs.iter().next().unwrap();
    let passes: Vec<Pass> = run.counted().cloned().collect();
    assert_eq!(passes.len(), PASSES as usize, "{:?}", session.notices);
    (passes, events)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// One comparison: what, real, simulated.
struct Pair {
    row: String,
    what: &'static str,
    real: Spread,
    sim: f64,
}

impl Pair {
    fn off(&self) -> f64 {
        if self.real[0] == self.sim { 0.0 } else { self.sim / self.real[0] - 1.0 }
    }

    /// Whether the real figure never differed, so that the simulated one must not either.
    fn exact(&self) -> bool {
        matches!(self.what, "bytes_htod" | "bytes_dtoh" | "cpu_faults") && self.real[1] == self.real[2]
    }
}

fn phase_us(pass: &Pass, phase: Phase) -> f64 {
    pass.phases.iter().filter(|p| p.phase == phase).map(|p| p.host.0 as f64 / 1e3).sum()
}

fn figure(pass: &Pass, what: &str) -> f64 {
    let uvm = pass.uvm.as_ref().unwrap();
    let events = || uvm.events.as_ref().unwrap();
    match what {
        "time_us" => pass.timed.0 as f64 / 1e3,
        "cpu_write_us" => phase_us(pass, Phase::CpuWrite),
        "cpu_read_us" => phase_us(pass, Phase::CpuRead),
        "move_to_cpu_us" => phase_us(pass, Phase::MoveToCpu),
        "bytes_htod" => uvm.counters.bytes_htod as f64,
        "bytes_dtoh" => uvm.counters.bytes_dtoh as f64,
        "cpu_faults" => uvm.counters.cpu_faults as f64,
        "gpu_faults" => uvm.counters.gpu_faults as f64,
        "gpu_faults_raw" => events().gpu_faults_raw as f64,
        "batches" => events().batches as f64,
        "thrashing" => events().thrashing as f64,
        "remote_maps" => events().remote_maps as f64,
        other => panic!("{other}"),
    }
}

const FIGURES: [&str; 11] = [
    "time_us",
    "cpu_write_us",
    "cpu_read_us",
    "move_to_cpu_us",
    "bytes_htod",
    "bytes_dtoh",
    "cpu_faults",
    "gpu_faults",
    "gpu_faults_raw",
    "batches",
    "thrashing",
];

/// Copies by way and cause: the key in the data, the cause, whether they go to the GPU.
const CAUSES: [(&str, Cause, bool); 6] = [
    ("htod_fault", Cause::Fault, true),
    ("htod_prefetch", Cause::Prefetch, true),
    ("htod_user", Cause::User, true),
    ("dtoh_fault", Cause::Fault, false),
    ("dtoh_prefetch", Cause::Prefetch, false),
    ("dtoh_user", Cause::User, false),
];

fn compare(row: &Row) -> Vec<Pair> {
    let (passes, _) = simulate("h200", &row.workload, row.choice(), row.size_bytes, TraceLevel::Faults);
    let mut pairs: Vec<Pair> = FIGURES
        .iter()
        .filter_map(|what| {
            let real = row.spread(what)?;
            let sim = median(passes.iter().map(|pass| figure(pass, what)).collect());
            // Phases below 50 µs are a handful of cache misses.
            let shown =
                real[0] > if what.ends_with("_us") { 50.0 } else { 0.0 } || (sim > 0.0 && !what.ends_with("_us"));
            shown.then(|| Pair { row: row.name(), what, real, sim })
        })
        .collect();
    if CAUSES.iter().any(|(key, ..)| row.copies(key).is_some()) {
        let (passes, _) = simulate("h200", &row.workload, row.choice(), row.size_bytes, TraceLevel::Full);
        for (key, cause, to_gpu) in CAUSES {
            let Some((bytes, copies)) = row.copies(key) else { continue };
            let sum = |of: fn(&umtop::event::Migrated) -> u64| {
                let here = |pass: &Pass| -> f64 {
                    let events = pass.uvm.as_ref().unwrap().events.as_ref().unwrap();
                    let rows = events.migrated.as_deref().unwrap_or_default();
                    let of_kind = rows.iter().filter(|m| m.cause == cause && (m.dst != Proc::Cpu) == to_gpu);
                    of_kind.map(of).sum::<u64>() as f64
                };
                median(passes.iter().map(here).collect())
            };
            let name = |what: &'static str| Pair { row: row.name(), what, real: [0.0; 3], sim: 0.0 };
            let (in_bytes, in_copies) = CELLS.iter().find(|(k, ..)| *k == key).map(|(_, b, c)| (*b, *c)).unwrap();
            pairs.push(Pair { real: [bytes; 3], sim: sum(|m| m.bytes), ..name(in_bytes) });
            pairs.push(Pair { real: [copies; 3], sim: sum(|m| m.copies), ..name(in_copies) });
        }
    }
    pairs
}

/// How bytes and copies of a cause are called in the table.
const CELLS: [(&str, &str, &str); 6] = [
    ("htod_fault", "HtoD bytes by fault", "HtoD copies by fault"),
    ("htod_prefetch", "HtoD bytes by driver prefetch", "HtoD copies by driver prefetch"),
    ("htod_user", "HtoD bytes by user", "HtoD copies by user"),
    ("dtoh_fault", "DtoH bytes by fault", "DtoH copies by fault"),
    ("dtoh_prefetch", "DtoH bytes by driver prefetch", "DtoH copies by driver prefetch"),
    ("dtoh_user", "DtoH bytes by user", "DtoH copies by user"),
];

fn number(what: &str, value: f64) -> String {
    match what {
        w if w.ends_with("_us") => format!("{:.2} ms", value / 1e3),
        w if w.contains("bytes") => format!("{:.2} MiB", value / f64::from(1 << 20)),
        _ => format!("{value:.0}"),
    }
}

fn table(pairs: &[Pair]) -> String {
    let mut text = String::from(
        "| workload | figure | real: median (least–greatest) | simulated | off |\n|---|---|---|---|---|\n",
    );
    let mut last = "";
    for pair in pairs {
        let row = if pair.row == last { "" } else { &pair.row };
        last = &pair.row;
        let what = pair.what.trim_end_matches("_us").replace('_', " ").replace("htod", "HtoD").replace("dtoh", "DtoH");
        let [mid, least, most] = pair.real;
        let real = if least == most {
            number(pair.what, mid)
        } else {
            format!("{} ({}–{})", number(pair.what, mid), number(pair.what, least), number(pair.what, most))
        };
        let off = if pair.off() == 0.0 { "=".to_owned() } else { format!("{:+.0} %", pair.off() * 100.0) };
        let missed = if pair.off().abs() > WITHIN { " **missed**" } else { "" };
        writeln!(text, "| {row} | {what} | {real} | {} | {off}{missed} |", number(pair.what, pair.sim)).unwrap();
    }
    text
}

fn sizes(real: &[Copies]) -> (String, Vec<Pair>) {
    let mut text = String::from("| workload | real: up to 4, 16, 64, 256 KiB | simulated |\n|---|---|---|\n");
    let mut pairs = Vec::new();
    for copies in real {
        let choice = Choice {
            memory: Some(MemoryKind::Managed),
            prefetch: Some(false),
            advice: Some(copies.advice),
            ..Choice::default()
        };
        let (_, events) = simulate("h200", &copies.workload, choice, copies.size_bytes, TraceLevel::Full);
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for event in &events {
            let Body::Uvm(tick) = &event.body else { continue };
            for (size, count) in tick.events.iter().flat_map(|e| &e.copy_bytes) {
                *counts.entry(*size).or_default() += count;
            }
        }
        let total: u64 = counts.values().sum();
        let share = |limit: u64| counts.range(..=limit).map(|(_, n)| n).sum::<u64>() as f64 / total as f64;
        let sim = [4096, 16_384, 65_536, 262_144].map(share);
        let list = |shares: [f64; 4]| shares.map(|s| format!("{:.0} %", s * 100.0)).join(", ");
        let name = format!("{} {}", copies.workload, Bytes(copies.size_bytes));
        writeln!(text, "| {name} | {} | {} |", list(copies.up_to_4_16_64_256_kib), list(sim)).unwrap();
        for (real, sim) in copies.up_to_4_16_64_256_kib.into_iter().zip(sim) {
            pairs.push(Pair { row: name.clone(), what: "share of copies", real: [real; 3], sim });
        }
    }
    (text, pairs)
}

/// Ten sweeps over a card of which a ballast leaves 256 MiB: seconds, and bytes by cause.
fn sweeps(percent: u64, level: TraceLevel) -> (f64, Vec<Migrated>) {
    let mut simulation = sim::open("pcie3-16gb").unwrap();
    let device = &mut simulation.device;
    let ballast = device.memory().unwrap().vram_free.0 - ROOM.0;
    device.alloc(MemoryKind::Explicit, Bytes(ballast)).unwrap();
    let buffer = device.alloc(MemoryKind::Managed, Bytes(ROOM.0 * percent / 100)).unwrap();
    let elements = buffer.elements();
    let sweep = |access| Touch {
        access,
        pattern: Pattern::Sequential,
        first: 0,
        elements,
        count: elements,
        value: Affine { mul: 1, add: 1 },
        work: 1,
        expect: None,
        addends: None,
    };
    device.touch(buffer, Proc::Cpu, &sweep(Access::Write)).unwrap();
    simulation.tracer.set_level(level);
    let begin = device.now();
    for _ in 0..10 {
        device.touch(buffer, Proc::Gpu(0), &sweep(Access::ReadWrite)).unwrap();
    }
    let seconds = device.now().since(begin).seconds();
    let migrated = simulation.tracer.settle().and_then(|totals| totals.events).and_then(|events| events.migrated);
    (seconds, migrated.unwrap_or_default())
}

const ROOM: Bytes = Bytes::mib(256);

#[test]
fn beyond_the_cards_memory_time_falls_off_a_cliff_and_the_page_says_how_far() {
    let mut text = String::from(
        "| footprint | of the card | ten sweeps | a sweep's rate | by fault | by driver prefetch | evicted |\n|---|---|---|---|---|---|---|\n",
    );
    let mut rates = Vec::new();
    for percent in [80, 100, 125, 150] {
        let (seconds, _) = sweeps(percent, TraceLevel::Faults);
        let (_, migrated) = sweeps(percent, TraceLevel::Full);
        let by = |cause| Bytes(migrated.iter().filter(|m| m.cause == cause).map(|m| m.bytes).sum());
        let bytes = Bytes(ROOM.0 * percent / 100);
        let rate = bytes.0 as f64 * 10.0 / seconds / 1e9;
        let (fault, fetch, evicted) = (by(Cause::Fault), by(Cause::Prefetch), by(Cause::Eviction));
        let share = percent as f64 / 100.0;
        writeln!(
            text,
            "| {bytes} | {share:.2} | {:.0} ms | {rate:.1} GB/s | {fault} | {fetch} | {evicted} |",
            seconds * 1e3
        )
        .unwrap();
        assert_eq!(evicted.0 > 0, percent > 100, "{percent} %");
        rates.push(rate);
    }
    section("cliff", &text);
    assert!(rates[1] > 5.0 * rates[2], "{rates:?}");
}

/// The text between two marks of the page, which this test writes if UMTOP_BLESS is set.
fn section(mark: &str, text: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (found, after) = rest.split_once(&end).unwrap();
    if std::env::var_os("UMTOP_BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{begin}{text}{end}{after}")).unwrap();
        return;
    }
    assert!(
        found == text,
        "{PAGE} is not what the simulator gives: UMTOP_BLESS=1 cargo test --test simulator writes it"
    );
}

fn umtop(args: &[&str]) -> (bool, String) {
    let out = assert_cmd::Command::cargo_bin("umtop").unwrap().args(args).output().unwrap();
    (out.status.success(), String::from_utf8(if out.status.success() { out.stdout } else { out.stderr }).unwrap())
}

#[test]
fn the_simulated_drivers_parameters_are_set_by_hand_and_the_report_says_so() {
    let bench = ["bench", "sequential", "--size", "4MiB", "--runs", "1", "--memory", "managed", "--prefetch=off"];
    let with = |more: &[&str]| umtop(&[&bench, more].concat());
    let (done, said) = with(&["--device", "sim", "--sim-param", "uvm_perf_prefetch_threshold=75"]);
    assert!(done && said.contains("uvm_perf_prefetch_threshold=75"), "{said}");
    for (more, says) in [
        (&["--device", "sim", "--sim-param", "uvm_perf_treshold=1"][..], "uvm_perf_prefetch_threshold"),
        (&["--device", "cuda", "--sim-param", "uvm_perf_prefetch_threshold=75"], "--device sim"),
    ] {
        let (done, said) = with(more);
        assert!(!done && said.contains(says) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn the_simulated_h200_is_near_the_real_one_and_the_page_says_how_near() {
    let real: Real = toml::from_str(REAL).unwrap();
    let pairs: Vec<Pair> = real.row.iter().flat_map(compare).collect();
    let (size_table, size_pairs) = sizes(&real.copies);
    section("table", &table(&pairs));
    section("sizes", &size_table);
    let mut wrong = Vec::new();
    let mut needed = vec![false; KNOWN.len()];
    for pair in pairs.iter().chain(&size_pairs) {
        let known = KNOWN.iter().position(|(row, what, _)| *row == pair.row && *what == pair.what);
        let limit = if pair.exact() { 0.0 } else { known.map_or(WITHIN, |at| KNOWN[at].2) };
        if let Some(at) = known {
            needed[at] |= pair.off().abs() > WITHIN;
        }
        if pair.off().abs() > limit {
            wrong.push(format!("(\"{}\", \"{}\", {:.2}),", pair.row, pair.what, pair.off().abs()));
        }
    }
    let idle: Vec<_> = KNOWN.iter().zip(&needed).filter(|(_, needed)| !**needed).collect();
    assert!(
        wrong.is_empty() && idle.is_empty(),
        "too far from the real card:\n{}\nnear enough by now, to be dropped from the list: {idle:?}",
        wrong.join("\n")
    );
}
