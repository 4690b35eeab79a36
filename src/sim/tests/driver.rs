//! What the driver's rules give in situations of their own: several GPUs, its parameters, a card that is too small.

use super::*;
use crate::device::{DeviceError, Transfer};
use crate::event::{Advice, Body, Cause, Metric};
use crate::sim::side::Side;
use crate::units::Stamp;

const SECOND: Proc = Proc::Gpu(1);

fn moved(events: &EventTotals, src: Proc, dst: Proc) -> u64 {
    let rows = events.migrated.iter().flatten();
    rows.filter(|m| (m.src, m.dst) == (src, dst)).map(|m| m.bytes).sum()
}

#[test]
fn linked_gpus_fault_pages_from_each_other_and_unlinked_ones_by_way_of_the_host() {
    let mut linked = Bench::set("h200-x2", &[], Bytes::mib(8));
    let mut unlinked = Bench::unlinked(Bytes::mib(8));
    for (bench, direct) in [(&mut linked, true), (&mut unlinked, false)] {
        bench.sweep(GPU, Access::Write);
        bench.since();
        bench.sweep(SECOND, Access::ReadWrite);
        let (counters, events) = bench.since();
        let all = 8 << 20;
        let expected = if direct { (all, 0, 0) } else { (0, all, all) };
        let seen = (moved(&events, GPU, SECOND), moved(&events, GPU, Proc::Cpu), moved(&events, Proc::Cpu, SECOND));
        assert_eq!(seen, expected);
        assert_eq!((counters.bytes_dtoh, counters.bytes_htod), (expected.1, expected.2));
    }
}

#[test]
fn accessed_by_maps_a_peer_and_read_mostly_copies_to_every_gpu() {
    let mut bench = Bench::set("h200-x2", &[], Bytes::mib(4));
    bench.sweep(GPU, Access::Write);
    bench.since();
    let second = Side::of(SECOND).unwrap();
    bench.sim.device.world.lock().advise(bench.buffer, Advice::AccessedByGpu, true, second);
    bench.sweep(SECOND, Access::ReadWrite);
    let (counters, events) = bench.since();
    assert_eq!((counters.gpu_faults, moved(&events, GPU, SECOND)), (0, 0), "NVLink carries the access");
    bench.sim.device.world.lock().advise(bench.buffer, Advice::AccessedByGpu, false, second);
    bench.sim.device.advise(bench.buffer, Advice::ReadMostly, true).unwrap();
    bench.sweep(SECOND, Access::Read);
    assert_eq!(moved(&bench.since().1, GPU, SECOND), 4 << 20);
    bench.sweep(GPU, Access::Read);
    assert_eq!(bench.since().0.gpu_faults, 0, "both have their copy");
}

/// What the card's probe has seen of a metric in 100 ms, bytes; `None` if it does not tell.
fn carried(bench: &mut Bench, metric: Metric) -> Option<f64> {
    let mut events = Vec::new();
    bench.sim.device.advance_to(Stamp(100_000_000));
    let now = bench.sim.device.now();
    bench.sim.probes.iter_mut().for_each(|probe| probe.poll(now, &mut events));
    let samples = events.iter().filter_map(|event| match &event.body {
        Body::Sample(sample) => Some(sample),
        _ => None,
    });
    let found = samples.flat_map(|sample| &sample.readings).find(|(of, _)| *of == metric);
    found.and_then(|(_, reading)| reading.value()).map(|rate| (rate * 0.1).round())
}

#[test]
fn nvlink_carries_copies_and_accesses_between_gpus_and_pcie_does_not() {
    let all = f64::from(4u32 << 20);
    let mut copied = Bench::set("h200-x2", &[], Bytes::mib(4));
    copied.sweep(GPU, Access::Write);
    copied.sweep(SECOND, Access::Read);
    assert_eq!(carried(&mut copied, Metric::NvLinkTx), Some(all));

    let mut mapped = Bench::set("h200-x2", &[], Bytes::mib(4));
    mapped.sim.device.advise(mapped.buffer, Advice::PreferredGpu, true).unwrap();
    mapped.sweep(GPU, Access::Write);
    mapped.sweep(SECOND, Access::Read);
    let events = mapped.since().1;
    assert_eq!(moved(&events, GPU, SECOND), 0);
    assert_eq!(carried(&mut mapped, Metric::NvLinkTx), Some(all), "a kernel that works on the other's memory");

    let mut host = Bench::set("h200-x2", &[], Bytes::mib(4));
    host.sim.device.advise(host.buffer, Advice::PreferredGpu, true).unwrap();
    host.sweep(GPU, Access::Write);
    host.sweep(SECOND, Access::Write);
    assert_eq!(carried(&mut host, Metric::PcieHtoD), Some(0.0));
    let mut alone = Bench::set("h200", &[], Bytes::mib(4));
    alone.sweep(GPU, Access::Write);
    assert_eq!(carried(&mut alone, Metric::NvLinkTx), None, "one GPU");
}

#[test]
fn the_second_gpu_may_be_the_preferred_location() {
    let mut bench = Bench::set("h200-x2", &[], Bytes::mib(4));
    bench.sim.device.advise(bench.buffer, Advice::PreferredSecondGpu, true).unwrap();
    bench.sweep(SECOND, Access::Write);
    bench.since();
    bench.sweep(GPU, Access::ReadWrite);
    let (_, events) = bench.since();
    assert_eq!(moved(&events, SECOND, GPU), 0, "the first works over the link");
    bench.sim.device.advise(bench.buffer, Advice::PreferredSecondGpu, false).unwrap();
    bench.sim.device.advise(bench.buffer, Advice::PreferredGpu, true).unwrap();
    bench.sweep(GPU, Access::ReadWrite);
    assert_eq!(moved(&bench.since().1, SECOND, GPU), 4 << 20, "home is the first");
    bench.sweep(Proc::Cpu, Access::ReadWrite);
    bench.sweep(SECOND, Access::ReadWrite);
    let (_, events) = bench.since();
    assert_eq!((moved(&events, Proc::Cpu, GPU), moved(&events, Proc::Cpu, SECOND)), (4 << 20, 0), "from the host, too");

    let mut alone = Bench::set("h200", &[], Bytes::mib(4));
    let refused = alone.sim.device.advise(alone.buffer, Advice::PreferredSecondGpu, true);
    assert!(matches!(refused, Err(DeviceError::Misuse(_))), "{refused:?}");
}

#[test]
fn a_gpu_maps_more_than_half_of_a_block_at_home_at_once() {
    for (home, other, advice) in [(GPU, SECOND, Advice::PreferredGpu), (SECOND, GPU, Advice::PreferredSecondGpu)] {
        let mut bench = Bench::set("h200-x2", &[], Bytes::mib(16));
        bench.sim.device.advise(bench.buffer, advice, true).unwrap();
        bench.sweep(home, Access::Write);
        bench.since();
        bench.sweep(other, Access::ReadWrite);
        assert_eq!(bench.since().1.remote_maps, 8, "one for each block");
        bench.sweep(Proc::Cpu, Access::Write);
        bench.sweep(other, Access::ReadWrite);
        let filled = bench.since().0.gpu_faults;
        bench.sweep(home, Access::ReadWrite);
        let (own, events) = bench.since();
        assert!(own.gpu_faults > 0 && own.gpu_faults * 4 < filled * 3, "its own, as yet unmapped: {own:?}, {filled}");
        assert_eq!(events.remote_maps, 0);
    }
}

#[test]
fn a_lone_warp_waits_for_each_page_and_longer_for_its_peers() {
    let mut bench = Bench::set("h200-x2", &[], Bytes::mib(2));
    bench.sim.device.advise(bench.buffer, Advice::PreferredGpu, true).unwrap();
    bench.sweep(GPU, Access::Write);
    bench.sweep(SECOND, Access::Write);
    let mut time = |on| {
        let span = bench.touch(on, Access::ReadWrite, Pattern::OneWarp, 1 << 19);
        span.end.since(span.begin).0 / 1000
    };
    let (at_home, over_the_link) = (time(GPU), time(SECOND));
    assert!((800..1000).contains(&at_home) && (3300..4100).contains(&over_the_link), "{at_home} {over_the_link} µs");
}

#[test]
fn prefetch_names_a_gpu_and_one_that_is_not_there_is_refused() {
    let mut bench = Bench::set("h200-x2", &[], Bytes::mib(4));
    bench.sweep(Proc::Cpu, Access::Write);
    bench.since();
    bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, SECOND).unwrap();
    let (_, events) = bench.since();
    assert_eq!(moved(&events, Proc::Cpu, SECOND), 4 << 20);
    assert!(events.migrated.iter().flatten().all(|m| m.cause == Cause::User && m.copies == 2));
    let error = bench
        .sim
        .device
        .transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, Proc::Gpu(2))
        .unwrap_err()
        .to_string();
    assert!(error.contains("2 GPU"), "{error}");
}

#[test]
fn parameters_change_what_the_driver_does() {
    let faults = |params: &[&str]| {
        let mut bench = Bench::set("h200", params, Bytes::mib(16));
        bench.sweep(Proc::Cpu, Access::Write);
        bench.since().0.cpu_faults
    };
    assert_eq!(faults(&[]), 8 * 6);
    assert_eq!(faults(&["uvm_perf_prefetch_threshold=0"]), 8);
    assert_eq!(faults(&["uvm_perf_prefetch_enable=0"]), 8 * 512);
    let batches = |params: &[&str]| {
        let mut bench = Bench::set("h200", params, Bytes::mib(64));
        bench.touch(Proc::Cpu, Access::Write, Pattern::Sequential, 1 << 24);
        bench.since();
        bench.touch(GPU, Access::ReadWrite, Pattern::Random { seed: 3 }, 4096);
        bench.since().1.batches
    };
    let (few, many) = (batches(&["uvm_perf_fault_batch_count=1024"]), batches(&["uvm_perf_fault_batch_count=64"]));
    assert!(few < batches(&[]) && batches(&[]) < many, "{few} {many}");
}

#[test]
fn a_page_that_bounces_is_pinned_and_let_go_again() {
    let mut bench = Bench::set("h200", &[], Bytes::kib(64));
    let mut bounce = |rounds| {
        for _ in 0..rounds {
            bench.touch(GPU, Access::ReadWrite, Pattern::OneWarp, 1024);
            bench.touch(Proc::Cpu, Access::ReadWrite, Pattern::OneWarp, 1024);
        }
        let (counters, events) = bench.since();
        let later = bench.sim.device.now().plus(crate::units::Nanos::millis(160));
        bench.sim.device.advance_to(later);
        (counters.bytes_htod, events)
    };
    let (first, events) = bounce(1000);
    assert!(first > 0 && events.thrashing > 0 && events.throttled >= 10, "{events:?}");
    assert_eq!(events.remote_maps, 1, "pinned once within 150 ms");
    let (second, _) = bounce(5);
    assert!(second > 0, "the pin has run out");
    let mut off = Bench::set("h200", &["uvm_perf_thrashing_enable=0"], Bytes::kib(64));
    for _ in 0..100 {
        off.touch(GPU, Access::ReadWrite, Pattern::OneWarp, 1024);
        off.touch(Proc::Cpu, Access::ReadWrite, Pattern::OneWarp, 1024);
    }
    let (counters, events) = off.since();
    assert_eq!((counters.cpu_faults, events.thrashing), (101 - 1, 0), "without mitigation it moves every time");
}

/// Ten sweeps over a card of 256 MiB: time and bytes evicted, by how much of the card they want.
fn sweeps(percent: u64) -> (f64, u64) {
    let bytes = Bytes(Bytes::mib(256).0 * percent / 100);
    let mut bench = Bench::cramped("pcie3-16gb", 256, bytes);
    bench.sim.tracer.set_level(TraceLevel::Faults);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.sim.tracer.set_level(TraceLevel::Full);
    bench.since();
    let begin = bench.sim.device.now();
    (0..10).for_each(|_| {
        bench.sweep(GPU, Access::ReadWrite);
    });
    let time = bench.sim.device.now().since(begin).seconds();
    let (_, events) = bench.since();
    let evicted = events.migrated.iter().flatten().filter(|m| m.cause == Cause::Eviction).map(|m| m.bytes).sum();
    (time / bytes.0 as f64, evicted)
}

#[test]
fn beyond_the_cards_memory_repeated_sweeps_fall_off_a_cliff() {
    let [below, full, over, far] = [80, 100, 125, 150].map(sweeps);
    assert_eq!((below.1, full.1), (0, 0), "what fits is never evicted");
    assert!((full.0 / below.0 - 1.0).abs() < 0.1, "{} {}", full.0, below.0);
    assert!(over.0 > 5.0 * full.0, "the oldest block is always the one that is wanted next: {} {}", over.0, full.0);
    assert!(over.1 > 2 << 30 && far.1 > over.1, "{} {}", over.1, far.1);
}
