//! What holds after any sequence of steps.

use super::*;
use crate::device::Transfer;
use crate::event::{Advice, Body, Event};
use crate::sim::side::Side;
use crate::units::{Nanos, PAGE};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Touch(u16, Access, Pattern, u64),
    Prefetch(u16),
    Advise(Advice, bool, u16),
    Level(TraceLevel),
    Idle(u64),
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::ReadWrite)]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Block),
        Just(Pattern::OneWarp),
        prop_oneof![Just(64u64), Just(4096), Just(8192), Just(1 << 17)]
            .prop_map(|stride_bytes| Pattern::Strided { stride_bytes }),
        any::<u32>().prop_map(|seed| Pattern::Random { seed }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3u16, access(), pattern(), 1..=100u64).prop_map(|(s, a, p, n)| Step::Touch(s, a, p, n)),
        1 => (0..3u16).prop_map(Step::Prefetch),
        3 => (prop::sample::select(Advice::ALL), any::<bool>(), 1..3u16).prop_map(|(a, set, g)| Step::Advise(a, set, g)),
        1 => prop::sample::select(TraceLevel::ALL).prop_map(Step::Level),
        1 => (0..200u64).prop_map(Step::Idle),
    ]
}

/// A processor by number; the second GPU is the first one where a machine has no more.
fn side(bench: &Bench, number: u16) -> Proc {
    let gpus = bench.sim.device.world.lock().topology.gpus;
    match number.min(u16::from(gpus)) {
        0 => Proc::Cpu,
        gpu => Proc::Gpu(gpu - 1),
    }
}

fn run(bench: &mut Bench, step: &Step) {
    match *step {
        Step::Touch(on, access, pattern, percent) => {
            let count = (bench.buffer.bytes.0 / 4 * percent / 100).max(1);
            bench.touch(side(bench, on), access, pattern, count);
        }
        Step::Prefetch(to) => {
            let to = side(bench, to);
            bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, to).unwrap();
        }
        Step::Advise(advice, set, gpu) => {
            let gpu = Side::of(side(bench, gpu)).unwrap();
            bench.sim.device.world.lock().advise(bench.buffer, advice, set, gpu);
        }
        Step::Level(level) => {
            bench.sim.tracer.set_level(level);
        }
        Step::Idle(ms) => {
            let to = bench.sim.device.now().plus(Nanos::millis(ms));
            bench.sim.device.advance_to(to);
        }
    }
}

fn poll(bench: &mut Bench) -> Vec<Vec<Event>> {
    let now = bench.sim.device.now();
    let each = bench.sim.probes.iter_mut().map(|probe| {
        let mut out = Vec::new();
        probe.poll(now, &mut out);
        out
    });
    each.collect()
}

fn sound(bench: &Bench) -> Result<(), TestCaseError> {
    let world = bench.sim.device.world.lock();
    for (number, range) in &world.ranges {
        for (index, block) in range.blocks.iter().enumerate() {
            let wrong = block.fault_in_state(world.topology, range.policy);
            prop_assert!(wrong.is_none(), "range {}, block {}: {}", number, index, wrong.unwrap_or_default());
        }
    }
    for gpu in world.topology.sides().filter(|side| !side.is_cpu()) {
        prop_assert!(world.vram_used(gpu) <= world.vram_total());
    }
    Ok(())
}

/// Machines with room for everything and machines that must evict; with one GPU, with two, linked and not. The last block
/// is short. In the last machine the buffer shares its block.
fn benches() -> [Bench; 5] {
    let bytes = Bytes(Bytes::mib(5).0 + 5 * PAGE);
    let roomy = Bench::new(MemoryKind::Managed, bytes, TraceLevel::Full);
    let shared = Bench::beside("h200-x2", Bytes(3 * PAGE), Bytes(Bytes::mib(1).0 - 7 * PAGE));
    [roomy, Bench::cramped("h200", 4, bytes), Bench::cramped("h200-x2", 4, bytes), Bench::unlinked(bytes), shared]
}

/// One with room and one GPU, and one with two and too little room.
fn two() -> [Bench; 2] {
    let [roomy, _, cramped, _, _] = benches();
    [roomy, cramped]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pages_live_in_one_place_and_every_byte_is_accounted_for(steps in prop::collection::vec(step(), 1..14)) {
        for mut bench in benches() {
            let steps = steps.iter().filter(|s| !matches!(s, Step::Level(_)));
            for step in steps {
                run(&mut bench, step);
                sound(&bench)?;
            }
            let (counters, events) = bench.since();
            let sum = |which: fn(&Migrated) -> bool| {
                events.migrated.iter().flatten().filter(|m| which(m)).map(|m| m.bytes).sum::<u64>()
            };
            let crossed = (sum(|m| m.src == Proc::Cpu), sum(|m| m.dst == Proc::Cpu));
            prop_assert_eq!((counters.bytes_htod, counters.bytes_dtoh), crossed);
        }
    }

    #[test]
    fn windows_ascend_without_overlap_and_add_up_to_the_totals(steps in prop::collection::vec(step(), 1..14)) {
        for mut bench in two() {
            let mut last = [0, 0];
            let mut sum = Counters::default();
            for step in &steps {
                run(&mut bench, step);
                bench.sim.tracer.settle();
                let now = bench.sim.device.now();
                for (end, events) in last.iter_mut().zip(poll(&mut bench)) {
                    for event in events {
                        let (window, counters) = match &event.body {
                            Body::Uvm(tick) => (tick.window.0, tick.counters.unwrap_or_default()),
                            Body::Sample(sample) => (sample.window.unwrap_or_default().0, Counters::default()),
                            other => panic!("{other:?}"),
                        };
                        prop_assert!(event.at <= now);
                        prop_assert!(event.at.0 - window >= *end, "{} overlaps {}", event.at.0 - window, end);
                        *end = event.at.0;
                        sum.bytes_htod += counters.bytes_htod;
                        sum.bytes_dtoh += counters.bytes_dtoh;
                        sum.cpu_faults += counters.cpu_faults;
                        sum.gpu_faults += counters.gpu_faults;
                    }
                }
            }
            bench.sim.tracer.set_level(TraceLevel::Counters);
            prop_assert_eq!(sum, bench.sim.tracer.settle().unwrap().counters);
        }
    }

    #[test]
    fn the_same_steps_give_the_same_events(steps in prop::collection::vec(step(), 1..10)) {
        let stream = || two().map(|mut bench| {
            let seen: Vec<_> = steps.iter().map(|step| {
                run(&mut bench, step);
                poll(&mut bench)
            }).collect();
            (seen, bench.sim.device.now(), bench.sim.tracer.settle())
        });
        prop_assert_eq!(stream(), stream());
    }
}

/// Where the blocks of a kernel's faults do not fit side by side, each evicts another before its threads come back to it.
#[test]
fn a_kernel_that_evicts_its_own_read_mostly_pages_ends() {
    for mut bench in benches() {
        run(&mut bench, &Step::Advise(Advice::ReadMostly, true, 1));
        run(&mut bench, &Step::Touch(1, Access::ReadWrite, Pattern::Random { seed: 371_247_848 }, 4));
        sound(&bench).unwrap();
    }
}
