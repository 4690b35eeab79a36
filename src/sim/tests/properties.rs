//! What holds after any sequence of steps.

use super::*;
use crate::device::Transfer;
use crate::event::{Advice, Body, Event};
use crate::units::{Nanos, PAGE};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Touch(bool, Access, Pattern, u64),
    Prefetch(bool),
    Advise(Advice, bool),
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
        6 => (any::<bool>(), access(), pattern(), 1..=100u64).prop_map(|(g, a, p, n)| Step::Touch(g, a, p, n)),
        1 => any::<bool>().prop_map(Step::Prefetch),
        3 => (prop::sample::select(Advice::ALL), any::<bool>()).prop_map(|(a, set)| Step::Advise(a, set)),
        1 => prop::sample::select(TraceLevel::ALL).prop_map(Step::Level),
        1 => (0..200u64).prop_map(Step::Idle),
    ]
}

fn side(gpu: bool) -> Proc {
    if gpu { GPU } else { Proc::Cpu }
}

fn run(bench: &mut Bench, step: &Step) {
    match *step {
        Step::Touch(gpu, access, pattern, percent) => {
            let count = (bench.buffer.bytes.0 / 4 * percent / 100).max(1);
            bench.touch(side(gpu), access, pattern, count);
        }
        Step::Prefetch(gpu) => {
            bench.sim.device.transfer(bench.buffer, bench.buffer.whole(), Transfer::Prefetch, side(gpu)).unwrap();
        }
        Step::Advise(advice, set) => bench.sim.device.advise(bench.buffer, advice, set).unwrap(),
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
    for (index, block) in world.ranges[&bench.buffer.id].blocks.iter().enumerate() {
        let wrong = block.fault_in_state(world.ranges[&bench.buffer.id].policy);
        prop_assert!(wrong.is_none(), "block {}: {}", index, wrong.unwrap_or_default());
    }
    prop_assert!(world.vram_used() <= world.vram_total());
    Ok(())
}

/// Two machines: one with room for everything, one that must evict. The last block is short.
fn benches() -> [Bench; 2] {
    let bytes = Bytes(Bytes::mib(9).0 + 5 * PAGE);
    let roomy = Bench::new(MemoryKind::Managed, bytes, TraceLevel::Full);
    [roomy, Bench::cramped(6, bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn pages_live_in_one_place_and_every_byte_is_accounted_for(steps in prop::collection::vec(step(), 1..14)) {
        for mut bench in benches() {
            let steps = steps.iter().filter(|s| !matches!(s, Step::Level(_)));
            for step in steps {
                run(&mut bench, step);
                sound(&bench)?;
            }
            let (counters, events) = bench.since();
            let sum = |to| events.migrated.iter().flatten().filter(|m| m.dst == to).map(|m| m.bytes).sum::<u64>();
            prop_assert_eq!((counters.bytes_htod, counters.bytes_dtoh), (sum(GPU), sum(Proc::Cpu)));
        }
    }

    #[test]
    fn windows_ascend_without_overlap_and_add_up_to_the_totals(steps in prop::collection::vec(step(), 1..14)) {
        for mut bench in benches() {
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
        let stream = || benches().map(|mut bench| {
            let seen: Vec<_> = steps.iter().map(|step| {
                run(&mut bench, step);
                poll(&mut bench)
            }).collect();
            (seen, bench.sim.device.now(), bench.sim.tracer.settle())
        });
        prop_assert_eq!(stream(), stream());
    }
}
