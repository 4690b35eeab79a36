//! The screen and the update function, over a session made by hand.

mod observer;
mod peer;
mod recorded;
mod screens;
mod updates;
mod walk;
mod watch;

use super::*;
use crate::event::{
    Advice, Body, Can, Caps, Cause, Counters, Event, EventTotals, GpuInfo, Header, HostInfo, Level, MemoryKind, Metric,
    Migrated, Notice, Origin, Outcome, Pass, Phase, PhaseTime, Proc, Range, Reading, RunEvent, RunId, RunStart, Sample,
    Settings, Shape, TraceLevel, UvmEvents, UvmTick, UvmTotals,
};
use crate::units::{Bytes, Nanos, Stamp};
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const MS: u64 = 1_000_000;

fn settings() -> Settings {
    Settings {
        workload: "sequential".to_owned(),
        memory: MemoryKind::Managed,
        prefetch: false,
        advice: Advice::None,
        size: Bytes::mib(256),
        trace: TraceLevel::Full,
        shape: Shape::default(),
    }
}

fn entry(name: &str, title: &str, question: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        title: title.to_owned(),
        question: question.to_owned(),
        available: Can::Yes,
        settings: Settings { workload: name.to_owned(), trace: TraceLevel::Off, ..settings() },
        size: (Bytes::mib(2), Bytes::mib(4096)),
        rounds: 1,
    }
}

fn setup(mode: Mode) -> Setup {
    let mut two_gpus = entry("two-gpus", "two GPUs", "Who owns a page that two GPUs write?");
    two_gpus.available = Can::No("needs two GPUs; this machine has one".to_owned());
    Setup {
        mode,
        workloads: vec![
            entry("sequential", "sequential", "What does the first touch of each page by the GPU cost?"),
            entry("random", "random", "Does the driver's prefetcher help scattered accesses?"),
            entry("ping-pong", "ping-pong", "What if both sides want the same page?"),
            entry("explicit-vs-managed", "explicit vs managed", "What does one pointer for both sides cost?"),
            two_gpus,
        ],
        settings: settings(),
        vram_free: Some(Bytes::mib(2048)),
        oversubscription: false,
        speed: 1.0,
        recording: false,
        opening: false,
        theme: Theme { depth: Depth::Mono, glyphs: Glyphs::Unicode, palette: Palette::Dark },
    }
}

fn caps() -> Caps {
    Caps {
        managed: Can::Yes,
        concurrent: Can::Yes,
        prefetch: Can::Yes,
        advise: Can::Yes,
        pageable: Can::No("not on this card".to_owned()),
        host_page_tables: Can::No("not on this card".to_owned()),
        zero_copy: Can::Yes,
        trace: Can::Yes,
        gpus: 1,
    }
}

fn header(origin: Origin) -> Event {
    let gpu = GpuInfo {
        name: "NVIDIA H200".to_owned(),
        uuid: "GPU-0".to_owned(),
        pci: "0000:65:00.0".to_owned(),
        driver: "580.159".to_owned(),
        cuda: "13.0".to_owned(),
        compute: "9.0".to_owned(),
        vram: Bytes::mib(143_155),
        link_max: Some((5, 16)),
    };
    let host = HostInfo { kernel: "Linux".to_owned(), cpu: "CPU".to_owned(), cores: 2, memory: Bytes::mib(65_536) };
    at(
        0,
        Body::Header(Box::new(Header {
            umtop: "0.1.0".to_owned(),
            started: "2026-11-30T08:00:00Z".to_owned(),
            origin,
            gpu: Some(gpu),
            second_gpu: None,
            host,
            caps: caps(),
            uvm_params: Default::default(),
            probes: Vec::new(),
        })),
    )
}

fn at(ms: u64, body: Body) -> Event {
    Event { at: Stamp(ms * MS), body }
}

fn started(ms: u64, run: u32, settings: Settings) -> Event {
    let trace = settings.trace;
    let timed = vec![Phase::MoveToGpu, Phase::Kernel];
    at(
        ms,
        Body::Run(RunEvent::Started(RunStart {
            run: RunId(run),
            settings,
            trace,
            timed,
            label: None,
            expected: None,
            gpus: 1,
        })),
    )
}

fn pass(ms: u64, run: u32, index: u32, kernel_ms: f64) -> Event {
    let time = |phase, ms: f64| PhaseTime {
        phase,
        host: Nanos((ms * MS as f64) as u64),
        gpu: None,
        turns: 1,
        turn_p50: Nanos((ms * MS as f64) as u64),
        turn_max: Nanos((ms * MS as f64) as u64),
    };
    let uvm = UvmTotals {
        counters: Counters { bytes_htod: 256 << 20, bytes_dtoh: 256 << 20, cpu_faults: 768, gpu_faults: 15_400 },
        events: Some(EventTotals { gpu_faults_raw: 40_000, batches: 452, ..EventTotals::default() }),
    };
    at(
        ms,
        Body::Run(RunEvent::PassEnded(Box::new(Pass {
            run: RunId(run),
            index,
            warmup: index == 0,
            phases: vec![time(Phase::CpuWrite, 130.0), time(Phase::Kernel, kernel_ms), time(Phase::CpuRead, 38.0)],
            timed: Nanos((kernel_ms * MS as f64) as u64),
            uvm: Some(uvm),
            check: None,
        }))),
    )
}

fn tick(ms: u64, level: TraceLevel, htod: u64, dtoh: u64) -> Event {
    let counters = Counters { bytes_htod: htod, bytes_dtoh: dtoh, cpu_faults: dtoh >> 16, gpu_faults: htod >> 14 };
    let migrated = |src, dst, cause, bytes| Migrated { src, dst, cause, bytes, copies: bytes >> 14 };
    let (cpu, gpu) = (Proc::Cpu, Proc::Gpu(0));
    let events = UvmEvents {
        gpu_faults: vec![(crate::event::AccessType::Read, htod >> 13)],
        batches: htod >> 19,
        batch_latency_ns: vec![(75_000, 3)],
        migrated: vec![
            migrated(cpu, gpu, Cause::Fault, htod / 2),
            migrated(cpu, gpu, Cause::Prefetch, htod / 2),
            migrated(gpu, cpu, Cause::Fault, dtoh),
        ],
        ..UvmEvents::default()
    };
    at(
        ms,
        Body::Uvm(Box::new(UvmTick {
            window: Nanos::millis(100),
            level,
            counters: (level > TraceLevel::Off).then_some(counters),
            events: (level >= TraceLevel::Faults).then(|| Box::new(events)),
        })),
    )
}

fn link(ms: u64, htod: Reading, dtoh: Reading) -> Event {
    let readings = vec![(Metric::PcieHtoD, htod), (Metric::PcieDtoH, dtoh)];
    at(ms, Body::Sample(Sample { source: "GPM".to_owned(), window: Some(Nanos::millis(100)), readings }))
}

fn vram(ms: u64, gib: f64) -> Event {
    let bytes = |gib: f64| Reading::Value(gib * f64::from(1u32 << 30));
    let readings = vec![(Metric::VramUsed, bytes(gib)), (Metric::VramTotal, bytes(139.8))];
    at(ms, Body::Sample(Sample { source: "NVML".to_owned(), window: None, readings }))
}

/// Twenty seconds of a fault-bound run, then of a run with prefetch; the link's probe fails for two seconds.
fn events(level: TraceLevel) -> Vec<Event> {
    let mut events = vec![header(Origin::Measured)];
    let range = Range { address: 1 << 40, bytes: Bytes::mib(256), memory: MemoryKind::Managed, label: "b".to_owned() };
    events.push(at(1, Body::Allocated(range)));
    events.push(started(2, 1, Settings { trace: level, ..settings() }));
    for i in 1..=240u64 {
        let ms = i * 100;
        let prefetched = ms > 14_000;
        if ms == 14_100 {
            events.push(started(ms, 2, Settings { prefetch: true, trace: level, ..settings() }));
        }
        let wave = 1.0 + 0.4 * (i as f64 / 6.0).sin() + 0.2 * (i as f64 / 2.3).cos();
        let rate = wave * if prefetched { 26e9 } else { 4.2e9 };
        let back = 2.1e9 * wave;
        let reading = |rate: f64| match ms {
            6_000..8_000 => Reading::Absent(crate::event::Why::Stalled("no answer".to_owned())),
            _ => Reading::Value(rate),
        };
        events.push(link(ms, reading(rate), reading(back)));
        events.push(tick(ms, level, (rate * 0.09) as u64, (back * 0.09) as u64));
        if i % 10 == 0 {
            events.push(vram(ms, 0.6 + 0.25 * wave));
        }
        if i % 3 == 0 {
            let run = if prefetched { 2 } else { 1 };
            let time = if prefetched { 5.4 } else { 41.2 };
            events.push(pass(ms, run, (i / 3) as u32 - 1, time * (0.95 + 0.08 * wave)));
        }
    }
    events
}

fn model_of(mode: Mode, events: &[Event]) -> Model {
    let mut model = Model::new(setup(mode));
    for event in events {
        update(&mut model, Msg::Event(Box::new(event.clone())));
    }
    model
}

fn screen(model: &Model, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    terminal
}

fn text(model: &Model, width: u16, height: u16) -> String {
    screen(model, width, height).backend().to_string()
}

fn press(model: &mut Model, code: KeyCode) -> Option<Control> {
    update(model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}
