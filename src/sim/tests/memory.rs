//! Where pages go: first touch, fault, duplication, eviction; and what is refused.

use super::*;
use crate::device::{DeviceError, Recovery, Transfer};
use crate::event::{Advice, Cause};
use crate::sim::side::Side;
use crate::units::BLOCK;

fn moved(events: &EventTotals, cause: Cause, dst: Proc) -> u64 {
    events.migrated.iter().flatten().filter(|m| (m.cause, m.dst) == (cause, dst)).map(|m| m.bytes).sum()
}

#[test]
fn one_float_moves_64_kib_in_two_copies() {
    let mut bench = Bench::managed(16);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.since();
    bench.touch(GPU, Access::Read, Pattern::OneWarp, 1);
    let (counters, events) = bench.since();
    assert_eq!((counters.bytes_htod, counters.gpu_faults), (64 << 10, 1));
    assert_eq!((moved(&events, Cause::Fault, GPU), moved(&events, Cause::Prefetch, GPU)), (4 << 10, 60 << 10));
}

#[test]
fn first_touch_moves_nothing_on_either_side() {
    for side in [Proc::Cpu, GPU] {
        let mut bench = Bench::managed(16);
        bench.sweep(side, Access::Write);
        let (counters, events) = bench.since();
        assert_eq!((counters.bytes_htod, counters.bytes_dtoh), (0, 0), "{side}");
        assert!(counters.cpu_faults + counters.gpu_faults > 0);
        assert_eq!(events.migrated, Some(vec![]));
    }
}

#[test]
fn read_mostly_data_is_copied_once_and_a_write_leaves_one_copy() {
    let mut bench = Bench::managed(4);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.sim.device.advise(bench.buffer, Advice::ReadMostly, true).unwrap();
    bench.sweep(GPU, Access::Read);
    assert_eq!(bench.since().0.bytes_htod, 4 << 20);
    bench.sweep(Proc::Cpu, Access::Read);
    bench.sweep(GPU, Access::Read);
    let (counters, _) = bench.since();
    assert_eq!((counters.bytes_dtoh, counters.bytes_htod), (0, 0), "both sides have their copy");
    assert_eq!((counters.cpu_faults, counters.gpu_faults), (0, 0));
    bench.sweep(GPU, Access::Write);
    bench.sweep(Proc::Cpu, Access::Read);
    let (counters, _) = bench.since();
    assert_eq!(counters.bytes_htod, 0, "the GPU had the data and only dropped the host's copy");
    assert_eq!(counters.bytes_dtoh, 4 << 20);
}

#[test]
fn a_write_to_data_that_is_also_elsewhere_faults() {
    let mut bench = Bench::managed(4);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.sim.device.advise(bench.buffer, Advice::ReadMostly, true).unwrap();
    bench.sweep(GPU, Access::Read);
    bench.since();
    bench.sweep(Proc::Cpu, Access::Write);
    assert_eq!(bench.since().0.cpu_faults, 1024, "each page: the copy on the GPU must go first");
    bench.sweep(GPU, Access::Read);
    assert_eq!(bench.since().0.bytes_htod, 4 << 20, "the GPU's copy is gone");
}

#[test]
fn a_preferred_host_keeps_its_pages_and_the_gpu_maps_them() {
    let mut bench = Bench::managed(4);
    bench.sweep(Proc::Cpu, Access::Write);
    bench.sim.device.advise(bench.buffer, Advice::PreferredCpu, true).unwrap();
    bench.sweep(GPU, Access::ReadWrite);
    let (counters, events) = bench.since();
    assert_eq!(counters.bytes_htod, 0);
    assert!(counters.gpu_faults > 0 && events.remote_maps > 0);
    bench.sweep(GPU, Access::ReadWrite);
    assert_eq!(bench.since().0.gpu_faults, 0, "mapped once, mapped for good");
    bench.sim.device.advise(bench.buffer, Advice::PreferredCpu, false).unwrap();
    bench.sweep(GPU, Access::ReadWrite);
    assert_eq!(bench.since().0.bytes_htod, 4 << 20, "without the advice the pages move");
}

#[test]
fn a_full_card_evicts_what_came_first() {
    let mut bench = Bench::cramped("h200", 32, Bytes::mib(48));
    bench.sweep(Proc::Cpu, Access::Write);
    bench.since();
    bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, GPU).unwrap();
    let (counters, events) = bench.since();
    assert_eq!(counters.bytes_htod, 48 << 20);
    assert_eq!(moved(&events, Cause::Eviction, Proc::Cpu), 16 << 20);
    let world = bench.sim.device.world.lock();
    let blocks = &world.ranges[&bench.buffer.id].blocks;
    let here: Vec<bool> = blocks.iter().map(|b| b.chunk.get(Side::GPU).is_some()).collect();
    assert_eq!(here, [vec![false; 8], vec![true; 16]].concat());
    assert_eq!(world.vram_used(Side::GPU), 16 * BLOCK);
}

#[test]
fn memory_adds_up_and_comes_back() {
    let mut bench = Bench::managed(16);
    let before = bench.sim.device.memory().unwrap();
    let explicit = bench.sim.device.alloc(MemoryKind::Explicit, Bytes::mib(100)).unwrap();
    bench.touch(GPU, Access::Write, Pattern::OneWarp, 1);
    let during = bench.sim.device.memory().unwrap();
    assert_eq!(before.vram_free.0 - during.vram_free.0, (100 << 20) + BLOCK, "one touched page takes a whole block");
    assert_eq!(before.host_available.0 - during.host_available.0, 100 << 20);
    bench.sim.device.free(explicit).unwrap();
    bench.sim.device.free(bench.buffer).unwrap();
    let after = bench.sim.device.memory().unwrap();
    assert_eq!(after.vram_free, before.vram_free);
    assert!(matches!(bench.sim.device.free(explicit), Err(DeviceError::Misuse(_))));
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let mut bench = Bench::managed(4);
    let pinned = bench.sim.device.alloc(MemoryKind::ZeroCopy, Bytes::mib(4)).unwrap();
    let device = &mut bench.sim.device;
    let buffer = bench.buffer;
    let value = Affine { mul: 1, add: 0 };
    let touch = |pattern, elements, count| Touch {
        access: Access::Read,
        pattern,
        first: 0,
        elements,
        count,
        value,
        work: 1,
        expect: None,
        addends: None,
    };
    let n = buffer.bytes.0 / 4;
    let refused = [
        device.transfer(buffer, buffer.whole(), Transfer::Copy, GPU).err(),
        device.transfer(pinned, pinned.whole(), Transfer::Prefetch, GPU).err(),
        device.transfer(pinned, pinned.whole(), Transfer::Copy, GPU).err(),
        device.transfer(buffer, buffer.whole(), Transfer::Prefetch, Proc::Gpu(1)).err(),
        device.advise(pinned, Advice::ReadMostly, true).err(),
        device.touch(buffer, GPU, &touch(Pattern::Sequential, n + 1, 1)).err(),
        device.touch(buffer, GPU, &touch(Pattern::Sequential, n, n + 1)).err(),
        device.touch(buffer, GPU, &touch(Pattern::Strided { stride_bytes: 6 }, n, n)).err(),
        device.touch(buffer, GPU, &touch(Pattern::Strided { stride_bytes: 12 }, n, n)).err(),
        device.touch(buffer, GPU, &touch(Pattern::Random { seed: 1 }, 0, 0)).err(),
        device.touch(buffer, GPU, &Touch { first: u64::MAX, ..touch(Pattern::Sequential, n, n) }).err(),
        device.alloc(MemoryKind::Managed, Bytes(0)).err(),
    ];
    for (i, error) in refused.iter().enumerate() {
        assert!(matches!(error, Some(DeviceError::Misuse(_))), "{i}: {error:?}");
    }
    let too_much = device.alloc(MemoryKind::Explicit, Bytes(1 << 40));
    assert!(matches!(too_much, Err(DeviceError::NoRoom { .. })));
    assert_eq!(device.recover(), Ok(Recovery::Verified));
    assert!(device.touch(buffer, GPU, &touch(Pattern::Sequential, n, n)).is_err(), "all buffers are gone");
}

#[test]
fn every_byte_of_explicit_memory_crosses_the_link_as_the_probe_sees_it() {
    let mut bench = Bench::new(MemoryKind::Explicit, Bytes::mib(1024), TraceLevel::Faults);
    bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Copy, GPU).unwrap();
    bench.sim.device.advance_to(crate::units::Stamp(100_000_000));
    let mut events = Vec::new();
    let now = bench.sim.device.now();
    bench.sim.probes.iter_mut().for_each(|p| p.poll(now, &mut events));
    let rates: Vec<f64> = events
        .iter()
        .filter_map(|e| match &e.body {
            crate::event::Body::Sample(s) => s.readings.iter().find(|(m, _)| *m == crate::event::Metric::PcieHtoD),
            _ => None,
        })
        .filter_map(|(_, reading)| reading.value())
        .collect();
    assert_eq!(rates.len(), 1);
    assert!((rates[0] - 1_073_741_824.0 * 10.0).abs() < 1.0, "{rates:?}");
}

#[test]
fn small_buffers_share_blocks_and_faults_and_advice_takes_one_out() {
    let mut bench = Bench::beside("h200", Bytes::mib(1), Bytes(64 << 10));
    let mut buffers = vec![bench.buffer];
    buffers.extend((1..16).map(|_| bench.sim.device.alloc(MemoryKind::Managed, Bytes(64 << 10)).unwrap()));
    let large = bench.sim.device.alloc(MemoryKind::Managed, Bytes::mib(2)).unwrap();
    for pair in buffers.windows(2) {
        assert_eq!(pair[1].address - pair[0].address, 64 << 10, "side by side");
    }
    assert!(large.address.is_multiple_of(BLOCK) && !buffers[0].address.is_multiple_of(BLOCK));
    let each = |bench: &mut Bench, on, access| {
        for buffer in &buffers {
            bench.buffer = *buffer;
            bench.sweep(on, access);
        }
        bench.since().0
    };
    each(&mut bench, Proc::Cpu, Access::Write);
    assert_eq!(each(&mut bench, GPU, Access::ReadWrite).bytes_htod, 1 << 20);
    let back = each(&mut bench, Proc::Cpu, Access::Read);
    assert_eq!((back.bytes_dtoh, back.cpu_faults), (1 << 20, 5), "64, 64, 128, 256 and 512 KiB: as over one buffer");
    bench.buffer = buffers[3];
    bench.sim.device.advise(buffers[3], Advice::PreferredCpuAccessedBy, true).unwrap();
    assert_eq!(each(&mut bench, GPU, Access::ReadWrite).bytes_htod, 15 << 16, "one stays, the others do not");
    buffers.iter().for_each(|buffer| bench.sim.device.free(*buffer).unwrap());
    let left = bench.sim.device.world.lock().ranges.len();
    assert_eq!(left, 2, "the first one still lives in its block, and the large one");
}
