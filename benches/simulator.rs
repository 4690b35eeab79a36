//! How fast the simulator is: `cargo bench --bench simulator`. Page accesses a second on one core, best of five.
#![allow(clippy::unwrap_used)]

use umtop::clock::Clock;
use umtop::device::{Access, Affine, Device, Pattern, Touch};
use umtop::event::{MemoryKind, Proc, TraceLevel};
use umtop::probe::Tracer;
use umtop::sim;
use umtop::units::{Bytes, PAGE};

const SIZE: Bytes = Bytes::mib(1024);
const ROUNDS: u64 = 5;

fn touch(access: Access, pattern: Pattern, count: u64) -> Touch {
    let value = Affine { mul: 1, add: 1 };
    Touch { access, pattern, first: 0, elements: SIZE.0 / 4, count, value, work: 1, expect: None, addends: None }
}

/// Sweeps of both sides over 1 GiB at a level; page accesses a second.
fn sweeps(pattern: Pattern, count: u64, level: TraceLevel) -> f64 {
    let clock = Clock::start();
    let mut simulation = sim::open("h200").unwrap();
    simulation.tracer.set_level(level);
    let buffer = simulation.device.alloc(MemoryKind::Managed, SIZE).unwrap();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begin = clock.now();
        simulation.device.touch(buffer, Proc::Cpu, &touch(Access::Write, Pattern::Sequential, SIZE.0 / 4)).unwrap();
        simulation.device.touch(buffer, Proc::Gpu(0), &touch(Access::ReadWrite, pattern, count)).unwrap();
        best = best.min(clock.now().since(begin).seconds());
        let now = simulation.device.now();
        simulation.probes.iter_mut().for_each(|probe| probe.poll(now, &mut Vec::new()));
    }
    2.0 * (SIZE.0 / PAGE) as f64 / best
}

fn main() {
    for (name, pattern, count) in [
        ("sequential", Pattern::Sequential, SIZE.0 / 4),
        ("block", Pattern::Block, SIZE.0 / 4),
        ("strided 64 KiB", Pattern::Strided { stride_bytes: 65_536 }, SIZE.0 / 4),
        ("random sample", Pattern::Random { seed: 1 }, 65_536),
    ] {
        for level in [TraceLevel::Counters, TraceLevel::Full] {
            println!("{name:>14} {level:>8}: {:6.1} M page accesses/s", sweeps(pattern, count, level) / 1e6);
        }
    }
}
