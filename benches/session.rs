//! What a session of a day costs: `cargo bench --bench session`. Folding it, and copying it, which the dashboard does on the UI
//! thread when a picture is frozen or a report is asked for.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;
use umtop::clock::Clock;
use umtop::event::{
    Advice, Body, CATALOGUE, Cause, Counters, Event, EventTotals, MemoryKind, Migrated, Pass, Phase, PhaseTime, Proc,
    Range, Reading, RunEvent, RunId, RunStart, Sample, Settings, Shape, TraceLevel, UvmEvents, UvmTick, UvmTotals,
};
use umtop::session::Session;
use umtop::units::{Bytes, Nanos, Stamp};

/// A day of windows of 10 ms.
const WINDOWS: u64 = 24 * 3_600 * 100;
/// Windows in a pass, and passes in a run: runs come to 4 320 passes each, more than are kept.
const PASS: u64 = 4;
const RUN: u64 = 4_320;

fn settings() -> Settings {
    Settings {
        workload: "sequential".into(),
        memory: MemoryKind::Managed,
        prefetch: false,
        advice: Advice::None,
        size: Bytes::mib(256),
        trace: TraceLevel::Full,
        shape: Shape::default(),
    }
}

fn migrated() -> Vec<Migrated> {
    let way = |src, dst| Migrated { src, dst, cause: Cause::Fault, bytes: 1 << 20, copies: 16 };
    vec![way(Proc::Cpu, Proc::Gpu(0)), way(Proc::Gpu(0), Proc::Cpu)]
}

fn window(counters: Counters) -> UvmTick {
    let events = UvmEvents { batches: 4, migrated: migrated(), ..UvmEvents::default() };
    UvmTick {
        window: Nanos::millis(10),
        level: TraceLevel::Full,
        counters: Some(counters),
        events: Some(Box::new(events)),
    }
}

fn ended(run: RunId, index: u32, counters: Counters) -> Box<Pass> {
    let [turn_p50, turn_max, host] = [Nanos::millis(10); 3];
    let time = |phase| PhaseTime { phase, host, gpu: Some(host), turns: 1, turn_p50, turn_max };
    let totals = EventTotals { migrated: Some(migrated()), ..EventTotals::default() };
    Box::new(Pass {
        run,
        index,
        warmup: index < 2,
        phases: [Phase::CpuWrite, Phase::Kernel, Phase::CpuRead].map(time).to_vec(),
        timed: host,
        uvm: Some(UvmTotals { counters, events: Some(totals) }),
        check: None,
    })
}

/// The events of a window: what NVML reads ten times a second, the driver's sums, passes and runs as they come.
fn events(i: u64, out: &mut Vec<Event>) {
    let at = Stamp((i + 1) * 10_000_000);
    let (pass, run) = (i / PASS, i / PASS / RUN);
    let id = RunId(run as u32 + 1);
    let mut push = |body| out.push(Event { at, body });
    if i.is_multiple_of(PASS * RUN) {
        let (settings, timed) = (settings(), vec![Phase::Kernel]);
        let start =
            RunStart { run: id, settings, label: None, trace: TraceLevel::Full, timed, expected: None, gpus: 1 };
        push(Body::Run(RunEvent::Started(start)));
    }
    let counters = Counters { bytes_htod: 1 << 20, bytes_dtoh: 1 << 20, cpu_faults: 3, gpu_faults: 256 };
    push(Body::Uvm(Box::new(window(counters))));
    if i.is_multiple_of(10) {
        let value = Reading::Value(i as f64);
        let readings = CATALOGUE.iter().map(|row| (row.metric, value.clone())).collect();
        push(Body::Sample(Sample { source: "nvml gpm".into(), window: Some(Nanos::millis(100)), readings }));
    }
    if i % PASS == PASS - 1 {
        push(Body::Run(RunEvent::PassEnded(ended(id, (pass % RUN) as u32, counters))));
    }
}

/// A day's session, folded once, and how fast that went.
static DAY: LazyLock<Session> = LazyLock::new(|| {
    let clock = Clock::start();
    let mut session = Session::lasting();
    let range = Range { address: 1 << 40, bytes: Bytes::mib(10_240), memory: MemoryKind::Managed, label: "b".into() };
    session.apply(&Event { at: Stamp(0), body: Body::Allocated(range) });
    let (mut some, mut folded, mut spent) = (Vec::new(), 0, 0.0);
    for i in 0..WINDOWS {
        events(i, &mut some);
        let begin = clock.now();
        some.iter().for_each(|event| session.apply(event));
        spent += clock.now().since(begin).seconds();
        folded += some.len();
        some.clear();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("n/a").trim();
    println!("a day: {folded} events folded, {:.2} M a second, then {resident} resident", folded as f64 / spent / 1e6);
    session
});

fn main() {
    LazyLock::force(&DAY);
    divan::main();
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn a_copy_of_a_day() -> Session {
    DAY.clone()
}

/// Whatever is shared must be parted when the session goes on.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn the_first_window_after_a_copy(bencher: divan::Bencher) {
    let mut some = Vec::new();
    events(WINDOWS, &mut some);
    bencher.with_inputs(|| DAY.clone()).bench_local_refs(|session| some.iter().for_each(|event| session.apply(event)));
}
