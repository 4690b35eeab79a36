//! Rules over sessions made by hand; those over real recordings are in `tests/insights.rs`.

use super::super::tests::{fold, pass, settings, start};
use super::*;
use crate::event::{
    Body, Cause, Counters, EventTotals, Metric, Migrated, Pass, Phase, PhaseTime, Proc, Reading, RunEvent, Sample,
    Settings, TraceLevel, UvmTick, UvmTotals,
};
use crate::units::Nanos;

fn link() -> (u64, Body) {
    let readings = vec![(Metric::LinkHtoD, Reading::Value(55e9))];
    (1, Body::Sample(Sample { source: "link probe".into(), window: None, readings }))
}

/// The rules that hold after three passes of one run.
fn rules(settings: Settings, made: impl Fn(&mut Pass)) -> Vec<Rule> {
    let (level, mut events) = (settings.trace, vec![link(), (2, Body::Run(RunEvent::Started(start(1, settings))))]);
    events.extend(passes(1, level, made));
    insights(&fold(events)).into_iter().map(|insight| insight.rule).collect()
}

fn passes(run: u32, level: TraceLevel, made: impl Fn(&mut Pass)) -> Vec<(u64, Body)> {
    let watched = UvmTick { window: Nanos::millis(10), level, counters: None, events: None };
    let mut events = vec![(u64::from(run) * 1_000, Body::Uvm(Box::new(watched)))];
    for i in 0..4 {
        let mut pass = pass(run, i, 40);
        made(&mut pass);
        events.push((u64::from(run) * 1_000 + 50 * u64::from(i), Body::Run(RunEvent::PassEnded(Box::new(pass)))));
    }
    events
}

fn totals(counters: Counters, migrated: Vec<Migrated>) -> Option<UvmTotals> {
    let events = EventTotals { migrated: Some(migrated), ..EventTotals::default() };
    Some(UvmTotals { counters, events: Some(events) })
}

fn copies(to_gpu: bool, cause: Cause, mib: u64) -> Migrated {
    let (src, dst) = if to_gpu { (Proc::Cpu, Proc::Gpu(0)) } else { (Proc::Gpu(0), Proc::Cpu) };
    Migrated { src, dst, cause, bytes: mib << 20, copies: mib.div_ceil(2) }
}

fn counted(htod_mib: u64, dtoh_mib: u64, gpu_faults: u64, cpu_faults: u64) -> Counters {
    Counters { bytes_htod: htod_mib << 20, bytes_dtoh: dtoh_mib << 20, cpu_faults, gpu_faults }
}

#[test]
fn nothing_known_nothing_said() {
    assert!(insights(&Session::default()).is_empty());
    let off = Settings { trace: TraceLevel::Off, ..settings() };
    assert_eq!(rules(off, |pass| pass.uvm = None), []);
    let lost = |pass: &mut Pass| {
        let mut known = totals(counted(0, 0, 0, 0), Vec::new()).unwrap();
        known.events.as_mut().unwrap().lost = 9;
        known.events.as_mut().unwrap().thrashing = 50;
        pass.uvm = Some(known);
    };
    assert!(!rules(settings(), lost).contains(&Rule::Thrashing), "counts with losses are no evidence");
}

#[test]
fn warm_ups_alone_are_no_evidence() {
    let events = vec![(1, Body::Run(RunEvent::Started(start(1, settings())))), link()];
    let warmup = (50, Body::Run(RunEvent::PassEnded(Box::new(pass(1, 0, 40)))));
    assert!(insights(&fold(events.into_iter().chain([warmup]).collect())).is_empty());
}

#[test]
fn eviction_is_told_by_its_cause_only() {
    let evicting = |pass: &mut Pass| {
        let moved = vec![copies(true, Cause::User, 512), copies(false, Cause::Eviction, 512)];
        pass.uvm = totals(counted(512, 512, 0, 0), moved);
    };
    assert_eq!(rules(settings(), evicting), [Rule::Eviction]);
}

#[test]
fn a_prefetch_that_misses_is_found_and_one_that_works_is_not() {
    let on = Settings { prefetch: true, ..settings() };
    let late = |pass: &mut Pass| {
        let moved = vec![copies(true, Cause::User, 64), copies(true, Cause::Fault, 192)];
        pass.uvm = totals(counted(256, 0, 9_000, 0), moved);
    };
    assert!(rules(on.clone(), late).contains(&Rule::PrefetchMissed));
    let wrong = |pass: &mut Pass| {
        let moved = vec![copies(false, Cause::User, 256), copies(true, Cause::Fault, 256)];
        pass.uvm = totals(counted(256, 256, 9_000, 0), moved);
    };
    let mut events = vec![link(), (2, Body::Run(RunEvent::Started(start(1, on.clone()))))];
    events.extend(passes(1, TraceLevel::Full, wrong));
    let found = insights(&fold(events));
    assert!(found.iter().any(|i| i.rule == Rule::PrefetchMissed && i.sentence.contains("wrong way")), "{found:?}");
    let works = |pass: &mut Pass| pass.uvm = totals(counted(256, 0, 0, 0), vec![copies(true, Cause::User, 256)]);
    assert_eq!(rules(on, works), []);
}

#[test]
fn prefetch_is_credited_only_against_a_run_that_differs_in_nothing_else() {
    let off = |pass: &mut Pass| pass.uvm = totals(counted(256, 0, 15_400, 0), vec![copies(true, Cause::Fault, 256)]);
    let on = |pass: &mut Pass| {
        pass.timed = Nanos::millis(5);
        pass.uvm = totals(counted(256, 0, 0, 0), vec![copies(true, Cause::User, 256)]);
    };
    let second = |settings: Settings| {
        let mut events = vec![link(), (2, Body::Run(RunEvent::Started(start(1, super::super::tests::settings()))))];
        events.extend(passes(1, TraceLevel::Full, off));
        events.push((1_900, Body::Run(RunEvent::Started(start(2, settings)))));
        events.extend(passes(2, TraceLevel::Full, on));
        insights(&fold(events))
    };
    let found = second(Settings { prefetch: true, ..settings() });
    assert_eq!(found[0].rule, Rule::PrefetchRemoved);
    assert!(found[0].sentence.contains("100 %") && found[0].sentence.contains("8.0× faster"), "{found:?}");
    let also = Settings { prefetch: true, advice: Advice::PreferredGpu, ..settings() };
    assert!(second(also).iter().all(|insight| insight.rule != Rule::PrefetchRemoved));
}

#[test]
fn a_kernel_over_resident_data_is_not_bound_by_unified_memory() {
    let quiet = |pass: &mut Pass| pass.uvm = totals(counted(0, 0, 0, 0), Vec::new());
    assert_eq!(rules(settings(), quiet), [Rule::NotBound]);
    let remote = Settings { advice: Advice::PreferredCpuAccessedBy, ..settings() };
    assert_eq!(rules(remote, quiet), [], "the GPU may work over the link: nothing tells");
    let other = Settings { memory: MemoryKind::Explicit, ..settings() };
    assert_eq!(rules(other, quiet), []);
}

#[test]
fn every_insight_carries_evidence_and_a_suggestion() {
    let busy = |pass: &mut Pass| {
        pass.phases.push(PhaseTime {
            phase: Phase::CpuRead,
            host: Nanos::millis(40),
            gpu: None,
            turns: 1,
            turn_p50: Nanos::millis(40),
            turn_max: Nanos::millis(40),
        });
        let mut small = copies(true, Cause::Fault, 256);
        small.copies = 10_000;
        pass.uvm = totals(counted(256, 256, 15_400, 768), vec![small, copies(false, Cause::Fault, 256)]);
    };
    let mut events = vec![link(), (2, Body::Run(RunEvent::Started(start(1, settings()))))];
    events.extend(passes(1, TraceLevel::Full, busy));
    let found = insights(&fold(events));
    let rules: Vec<Rule> = found.iter().map(|insight| insight.rule).collect();
    assert_eq!(rules, [Rule::OnDemand, Rule::CpuBringsBack], "the weightiest first; no copy sizes, no small copies");
    assert!(found.iter().all(|i| i.evidence.len() >= 2 && !i.suggestion.is_empty()));
}
