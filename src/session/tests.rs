use super::*;
use crate::event::{
    Advice, Cause, Counters, Level, MemoryKind, Migrated, Moved, Outcome, Pass, Phase, PhaseTime, Proc, RunId,
    RunStart, Settings, Shape, TraceLevel, UvmEvents, UvmTick, UvmTotals,
};
use crate::units::Bytes;

pub(super) fn at(ms: u64) -> Stamp {
    Stamp(ms * 1_000_000)
}

pub(super) fn settings() -> Settings {
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

pub(super) fn start(run: u32, settings: Settings) -> RunStart {
    let trace = settings.trace;
    let moved = Moved { htod: settings.size, dtoh: settings.size, between_gpus: None };
    RunStart {
        run: RunId(run),
        settings,
        label: None,
        trace,
        timed: vec![Phase::MoveToGpu, Phase::Kernel],
        expected: Some(moved),
        gpus: 1,
    }
}

pub(super) fn pass(run: u32, index: u32, ms: u64) -> Pass {
    let host = Nanos::millis(ms);
    let kernel = PhaseTime { phase: Phase::Kernel, host, gpu: Some(host), turns: 1, turn_p50: host, turn_max: host };
    let counters = Counters { bytes_htod: 256 << 20, bytes_dtoh: 256 << 20, cpu_faults: 768, gpu_faults: 15_400 };
    let uvm = Some(UvmTotals { counters, events: None });
    Pass { run: RunId(run), index, warmup: index == 0, phases: vec![kernel], timed: host, uvm, check: None }
}

pub(super) fn fold(events: Vec<(u64, Body)>) -> Session {
    let mut session = Session::default();
    for (ms, body) in events {
        session.apply(&Event { at: at(ms), body });
    }
    session
}

#[test]
fn an_absent_reading_is_a_gap_with_its_reason_and_never_a_zero() {
    let sample = |reading| {
        Body::Sample(Sample {
            source: "nvml gpm".into(),
            window: Some(Nanos::millis(100)),
            readings: vec![(Metric::PcieHtoD, reading)],
        })
    };
    let why = Why::Stalled("no answer for 5 s".into());
    let session =
        fold(vec![(100, sample(event::Reading::Value(6e9))), (200, sample(event::Reading::Absent(why.clone())))]);
    let known = session.metric(Metric::PcieHtoD).unwrap();
    assert_eq!(known.absent, Some(why));
    assert_eq!(known.value(), None);
    assert_eq!(known.series.means(at(0), at(200), 2, |r| r.value), vec![Some(6e9), None]);
    assert!(session.metric(Metric::PcieDtoH).is_none());
}

#[test]
fn changed_settings_leave_a_marker_that_says_what_changed() {
    let changed = Settings { prefetch: true, size: Bytes::mib(512), ..settings() };
    let session = fold(vec![
        (0, Body::Run(RunEvent::Started(start(1, settings())))),
        (900, Body::Run(RunEvent::Started(start(2, changed)))),
    ]);
    let marker = session.runs.markers.back().unwrap();
    assert_eq!((marker.at, marker.text.as_str()), (at(900), "size 512 MiB, prefetch on"));
}

#[test]
fn warm_ups_are_kept_but_do_not_count() {
    let mut events = vec![(0, Body::Run(RunEvent::Started(start(1, settings()))))];
    for i in 0..6u32 {
        let took = if i == 0 { 900 } else { 40 + u64::from(i) };
        events.push((100 * u64::from(i) + 1, Body::Run(RunEvent::PassBegan { run: RunId(1), index: i })));
        events.push((100 * u64::from(i) + 99, Body::Run(RunEvent::PassEnded(Box::new(pass(1, i, took))))));
    }
    let session = fold(events);
    let run = session.runs.current().unwrap();
    let estimate = run.estimate().unwrap();
    assert_eq!((run.passes.len(), estimate.n, estimate.median), (6, 5, 43e6));
    assert!(estimate.interval.is_some());
    assert_eq!(run.accounted(), Some(Accounted { htod: 1.0, dtoh: 1.0, between_gpus: None }));
    assert_eq!(session.runs.under_way, None);
}

#[test]
fn the_driver_counts_add_up_and_loss_is_kept_by_type() {
    let tick = |lost: u64| {
        let events = UvmEvents {
            batches: 2,
            batch_faults: vec![(100, 1), (256, 1)],
            batch_latency_ns: vec![(70_000, 1), (90_000, 1)],
            migrated: vec![Migrated {
                src: Proc::Cpu,
                dst: Proc::Gpu(0),
                cause: Cause::Fault,
                bytes: 65_536,
                copies: 2,
            }],
            lost: if lost > 0 { vec![(3, lost)] } else { Vec::new() },
            ..UvmEvents::default()
        };
        Body::Uvm(Box::new(UvmTick {
            window: Nanos::millis(10),
            level: TraceLevel::Full,
            counters: Some(Counters { bytes_htod: 65_536, ..Counters::default() }),
            events: Some(Box::new(events)),
        }))
    };
    let session = fold(vec![(10, tick(0)), (20, tick(7))]);
    let (uvm, total) = (&session.uvm, &session.uvm.total);
    assert_eq!((total.counters.bytes_htod, total.batches, total.lost_total()), (131_072, 4, 7));
    assert_eq!(total.migrated[&(Proc::Cpu, Proc::Gpu(0), Cause::Fault)], (131_072, 4));
    assert_eq!(total.batch_latency_ns.quantile(0.5), Some(70_000));
    let rate = uvm.points.means(at(0), at(20), 1, |p| p.per_second(p.counters?.bytes_htod))[0].unwrap();
    assert!((rate - 131_072.0 / 0.02).abs() < 1.0, "{rate}");
}

#[test]
fn a_failed_run_becomes_a_notice() {
    let outcome = Outcome::Failed("no room".into());
    let session = fold(vec![
        (0, Body::Run(RunEvent::Started(start(1, settings())))),
        (5, Body::Run(RunEvent::Ended { run: RunId(1), outcome: outcome.clone() })),
    ]);
    assert_eq!(session.runs.current().unwrap().outcome, Some(outcome));
    let (_, notice) = session.last_notice().unwrap();
    assert_eq!((notice.level, notice.text.as_str()), (Level::Error, "no room"));
}

#[test]
fn the_story_names_the_pass_s_own_figures() {
    let session = fold(vec![
        (0, Body::Run(RunEvent::Started(start(1, settings())))),
        (50, Body::Run(RunEvent::PassEnded(Box::new(pass(1, 0, 40))))),
    ]);
    let text = story(&session).unwrap();
    assert!(text.contains("15.4 k GPU page faults") && text.contains("256 MiB at 6.71 GB/s"), "{text}");
}

#[test]
fn freed_ranges_are_gone() {
    let range = Range { address: 0x7000_0000, bytes: Bytes::mib(4), memory: MemoryKind::Managed, label: "b".into() };
    let session = fold(vec![
        (0, Body::Allocated(range)),
        (1, Body::Mapped(Mapped { address: 0x7000_0000, pages: vec![512, 0] })),
        (2, Body::Freed { address: 0x7000_0000 }),
    ]);
    assert!(session.ranges.is_empty() && session.mapped.is_empty());
}

#[test]
fn the_page_tables_of_very_many_ranges_are_bounded_and_that_is_said() {
    let address = |i: usize| (i as u64 + 1) << 21;
    let mut session = Session::default();
    let mut tell = |body| session.apply(&Event { at: at(1), body });
    let range = |i| Range { address: address(i), bytes: Bytes::mib(2), memory: MemoryKind::Managed, label: "x".into() };
    tell(Body::Allocated(range(MAX_MAPPED)));
    let looked = |i| Body::Mapped(Mapped { address: address(i), pages: vec![256] });
    tell(looked(MAX_MAPPED));
    assert_eq!(session.mapped[&address(MAX_MAPPED)], CpuMapped { mapped: 256, pages: 512 });
    // As though so many had been told: the search for each among all would take minutes.
    session.mapped.extend((0..MAX_MAPPED - 1).map(|i| (address(i), CpuMapped::default())));
    assert!(!session.mapped_capped);
    let more = MAX_MAPPED + 1;
    session.apply(&Event { at: at(2), body: Body::Allocated(range(more)) });
    session.apply(&Event { at: at(2), body: looked(more) });
    session.apply(&Event { at: at(3), body: Body::Mapped(Mapped { address: address(MAX_MAPPED), pages: vec![512] }) });
    assert!(session.mapped_capped && session.mapped.len() == MAX_MAPPED);
    assert_eq!(session.mapped[&address(MAX_MAPPED)].mapped, 512, "a range that is known stays up to date");
    let freed: Vec<u64> = session.mapped.keys().copied().collect();
    freed.iter().for_each(|address| session.apply(&Event { at: at(4), body: Body::Freed { address: *address } }));
    assert!(session.mapped.is_empty() && !session.mapped_capped);
}
