//! Figures of a real card that the simulated one must come near to.

use super::*;
use crate::device::Transfer;
use crate::event::Advice;
use crate::units::PAGE;

const MIB: u64 = 1 << 20;

/// One row: what, simulated, real.
struct Row(&'static str, f64, f64);

#[track_caller]
fn near(rows: &[Row]) {
    let far: Vec<String> = rows
        .iter()
        .inspect(|Row(what, sim, real)| println!("{what}: {sim:.2}, real {real:.2}"))
        .filter(|Row(_, sim, real)| (sim / real - 1.0).abs() > 0.15)
        .map(|Row(what, sim, real)| format!("{what}: {sim:.2} is not within 15 % of {real:.2}"))
        .collect();
    assert!(far.is_empty(), "{}", far.join("\n"));
}

fn ms(span: Span) -> f64 {
    span.host().seconds() * 1e3
}

fn copies(events: &crate::event::EventTotals) -> f64 {
    events.migrated.iter().flatten().map(|m| m.copies).sum::<u64>() as f64
}

#[test]
fn sweeps_on_demand() {
    let mut bench = Bench::new(MemoryKind::Managed, Bytes::mib(256), TraceLevel::Faults);
    let init = bench.sweep(Proc::Cpu, Access::Write);
    let (first_touch, _) = bench.since();
    let cold = bench.sweep(GPU, Access::ReadWrite);
    let (counters, events) = bench.since();
    let warm = bench.sweep(GPU, Access::ReadWrite);
    let pages = bench.buffer.bytes.0 / PAGE;
    let back = bench.touch(Proc::Cpu, Access::Read, Pattern::Strided { stride_bytes: PAGE }, pages);
    let (returned, _) = bench.since();
    assert_eq!((first_touch.cpu_faults, first_touch.bytes_htod), (768, 0));
    assert_eq!((counters.bytes_htod, returned.bytes_dtoh, returned.cpu_faults), (256 * MIB, 256 * MIB, 768));
    near(&[
        Row("CPU first touch, ms", ms(init), 256.0 * 1.048_576 / 1.9),
        Row("GPU cold, ms", ms(cold), 36.0),
        Row("batches", events.batches as f64, 330.0),
        Row("counted faults", counters.gpu_faults as f64, 15_400.0),
        Row("raw faults", events.gpu_faults_raw as f64, 40_000.0),
        Row("GPU warm, ms", ms(warm), 0.22),
        Row("CPU back, ms", ms(back), 256.0 * 1.048_576 / 6.7),
    ]);
}

#[test]
fn a_gibibyte() {
    let mut bench = Bench::new(MemoryKind::Managed, Bytes::mib(1024), TraceLevel::Off);
    bench.sweep(Proc::Cpu, Access::Write);
    let cold = bench.sweep(GPU, Access::ReadWrite);
    let warm = bench.sweep(GPU, Access::ReadWrite);
    near(&[Row("GPU cold, ms", ms(cold), 170.0), Row("GPU warm, ms", ms(warm), 0.85)]);
}

#[test]
fn watching_at_level_full_doubles_a_sweep_and_lower_levels_cost_nothing() {
    let cold = |level| {
        let mut bench = Bench::new(MemoryKind::Managed, Bytes::mib(256), level);
        bench.sweep(Proc::Cpu, Access::Write);
        let span = ms(bench.sweep(GPU, Access::ReadWrite));
        (span, bench.sim.tracer.settle().and_then(|t| t.events).unwrap_or_default())
    };
    let (bare, _) = cold(TraceLevel::Off);
    let (full, events) = cold(TraceLevel::Full);
    near(&[
        Row("counters, ms", cold(TraceLevel::Counters).0, bare),
        Row("faults, ms", cold(TraceLevel::Faults).0, bare),
        Row("full, ms", full, 58.0),
        Row("copies", copies(&events), 10_000.0),
    ]);
    let by_fault = events.migrated.iter().flatten().find(|m| m.cause == crate::event::Cause::Fault).unwrap().copies;
    near(&[Row("share of copies by fault", by_fault as f64 / copies(&events), 0.5)]);
}

#[test]
fn transfers() {
    let mut bench = Bench::managed(1024);
    bench.sweep(Proc::Cpu, Access::Write);
    let there = bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, GPU).unwrap();
    let (_, events) = bench.since();
    let back = bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, Proc::Cpu).unwrap();
    let copy = |kind| {
        let mut bench = Bench::new(kind, Bytes::mib(1024), TraceLevel::Off);
        ms(bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Copy, GPU).unwrap())
    };
    assert_eq!((copies(&events), events.gpu_faults_raw), (512.0, 0));
    near(&[
        Row("prefetch there, ms", ms(there), 21.4),
        Row("prefetch back, ms", ms(back), 75.0),
        Row("pinned, ms", copy(MemoryKind::Explicit), 19.4),
        Row("pageable, ms", copy(MemoryKind::Pageable), 142.0),
    ]);
}

#[test]
fn scattered_touches() {
    let mut bench = Bench::new(MemoryKind::Managed, Bytes::mib(256), TraceLevel::Faults);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.since();
    let random = bench.touch(GPU, Access::ReadWrite, Pattern::Random { seed: 5 }, 16_384);
    let (counters, events) = bench.since();
    near(&[
        Row("time, ms", ms(random), 35.0),
        Row("raw faults", events.gpu_faults_raw as f64, 3_650.0),
        Row("batches", events.batches as f64, 16.0),
        Row("MiB moved", (counters.bytes_htod / MIB) as f64, 256.0),
    ]);
}

#[test]
fn advice() {
    let mut remote = Bench::managed(256);
    remote.sim.device.advise(remote.buffer, Advice::PreferredCpuAccessedBy, true).unwrap();
    remote.sweep(Proc::Cpu, Access::Write);
    let mapped = remote.sweep(GPU, Access::ReadWrite);
    let (counters, _) = remote.since();
    assert_eq!((counters.bytes_htod, counters.gpu_faults), (0, 0));
    let mut copies = Bench::new(MemoryKind::Managed, Bytes::mib(256), TraceLevel::Faults);
    copies.sweep(Proc::Cpu, Access::Write);
    copies.sim.device.advise(copies.buffer, Advice::ReadMostly, true).unwrap();
    let written = copies.sweep(GPU, Access::ReadWrite);
    near(&[Row("remote sweep, ms", ms(mapped), 6.4), Row("read-mostly written, ms", ms(written), 700.0)]);
}

#[test]
fn one_page_bounces_until_it_is_pinned() {
    let mut bench = Bench::new(MemoryKind::Managed, Bytes::kib(64), TraceLevel::Full);
    bench.touch(Proc::Cpu, Access::Write, Pattern::OneWarp, 1024);
    let (mut turns, mut last_move) = (Vec::new(), 0.0);
    let mut moved = 0;
    for _ in 0..500 {
        turns.push(bench.touch(GPU, Access::ReadWrite, Pattern::OneWarp, 1024).host().0);
        bench.touch(Proc::Cpu, Access::Read, Pattern::OneWarp, 1);
        let now = bench.sim.tracer.settle().unwrap().counters.bytes_htod;
        if now != moved {
            (moved, last_move) = (now, bench.sim.device.now().seconds() * 1e3);
        }
    }
    let (counters, events) = bench.since();
    turns.sort_unstable();
    near(&[
        Row("median turn, µs", turns[250] as f64 / 1e3, 10.9),
        Row("thrash events", events.thrashing as f64, 23.0),
        Row("throttles", events.throttled as f64, 10.0),
    ]);
    assert!((400_000..1_100_000).contains(&turns[499]), "the longest turn is a throttle: {} ns", turns[499]);
    assert!((10..=30).contains(&counters.cpu_faults), "{counters:?}");
    assert!(last_move < 10.0, "pinned after a few ms, not {last_move} ms");
    assert_eq!(events.remote_maps, 1);
}

#[test]
fn a_pinned_page_bounces_again_after_its_time() {
    let mut bench = Bench::new(MemoryKind::Managed, Bytes::kib(64), TraceLevel::Full);
    bench.touch(Proc::Cpu, Access::Write, Pattern::OneWarp, 1024);
    let mut bounce = |rounds| {
        for _ in 0..rounds {
            bench.touch(GPU, Access::ReadWrite, Pattern::OneWarp, 1024);
            bench.touch(Proc::Cpu, Access::Read, Pattern::OneWarp, 1);
        }
        let moved = bench.since().0.bytes_htod;
        let later = bench.sim.device.now().plus(crate::units::Nanos::millis(160));
        bench.sim.device.advance_to(later);
        moved
    };
    assert!(bounce(500) > 0);
    assert!(bounce(10) > 0, "the pin has run out");
}
