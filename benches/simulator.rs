//! How fast the simulator is: `cargo bench --bench simulator`. Page accesses a second on one core, at level counters (false) and
//! full (true).
#![allow(clippy::unwrap_used, clippy::panic)]

use divan::counter::ItemsCount;
use umtop::device::{Access, Affine, Device, Pattern, Touch};
use umtop::event::{MemoryKind, Proc, TraceLevel};
use umtop::probe::Tracer;
use umtop::sim;
use umtop::units::{Bytes, PAGE};

const SIZE: Bytes = Bytes::mib(1024);

fn touch(access: Access, pattern: Pattern, count: u64) -> Touch {
    let value = Affine { mul: 1, add: 1 };
    Touch { access, pattern, first: 0, elements: SIZE.0 / 4, count, value, work: 1, expect: None, addends: None }
}

const PATTERNS: [(&str, Pattern, u64); 4] = [
    ("sequential", Pattern::Sequential, SIZE.0 / 4),
    ("block", Pattern::Block, SIZE.0 / 4),
    ("strided 64 KiB", Pattern::Strided { stride_bytes: 65_536 }, SIZE.0 / 4),
    ("random sample", Pattern::Random { seed: 1 }, 65_536),
];

fn main() {
    divan::main();
}

/// Sweeps of both sides over 1 GiB.
#[divan::bench(args = PATTERNS.map(|(name, ..)| name), consts = [false, true], sample_count = 5, sample_size = 1)]
fn sweep<const FULL: bool>(bencher: divan::Bencher, name: &str) {
    let (_, pattern, count) = *PATTERNS.iter().find(|(known, ..)| *known == name).unwrap();
    let mut simulation = sim::open("h200").unwrap();
    simulation.tracer.set_level(if FULL { TraceLevel::Full } else { TraceLevel::Counters });
    let buffer = simulation.device.alloc(MemoryKind::Managed, SIZE).unwrap();
    bencher.counter(ItemsCount::new(2 * SIZE.0 / PAGE)).bench_local(|| {
        simulation.device.touch(buffer, Proc::Cpu, &touch(Access::Write, Pattern::Sequential, SIZE.0 / 4)).unwrap();
        simulation.device.touch(buffer, Proc::Gpu(0), &touch(Access::ReadWrite, pattern, count)).unwrap();
        let now = simulation.device.now();
        simulation.probes.iter_mut().for_each(|probe| probe.poll(now, &mut Vec::new()));
    });
}
