//! What the session costs: `cargo bench --bench session`. Events folded a second, and a copy of a session of a day, which the
//! dashboard makes on the UI thread when a picture is frozen or a report is asked for. Best of five. On 2026-11-30, 2 cores that
//! were shared: 1 108 ms before copies shared the history, 0.56 ms since; 0.008 ms for the first window after it.
#![allow(clippy::unwrap_used)]

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
const ROUNDS: u64 = 5;

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

fn main() {
    let clock = Clock::start();
    let mut session = Session::default();
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
    println!("fold: {folded} events, {:.2} M events/s", folded as f64 / spent / 1e6);
    let (mut copy, mut after) = (f64::MAX, f64::MAX);
    for i in 0..ROUNDS {
        let begin = clock.now();
        let other = session.clone();
        copy = copy.min(clock.now().since(begin).seconds());
        // Whatever is shared must be parted when the session goes on.
        events(WINDOWS + i, &mut some);
        let begin = clock.now();
        some.iter().for_each(|event| session.apply(event));
        after = after.min(clock.now().since(begin).seconds());
        some.clear();
        drop(other);
    }
    println!("a copy: {:.3} ms; the first window after it: {:.3} ms", copy * 1e3, after * 1e3);
}
