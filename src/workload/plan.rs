//! From a workload and settings to the steps of a pass, or the reasons why this machine cannot.

use super::file::{PatternName, Side, Step, Workload};
use crate::device::{Access, Pattern};
use crate::event::{Advice, Caps, MemoryKind, Moved, Phase, Proc, Settings};
use crate::units::{Bytes, PAGE};

/// Size of an element: `u32`.
const ELEMENT: u64 = 4;
/// From this size on a turn takes far longer than the 500 µs within which the driver sees thrashing.
const CERTAIN_FROM: Bytes = Bytes::mib(16);

/// What one pass does.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The settings it was made from.
    pub settings: Settings,
    /// Steps before the rounds.
    pub before: Vec<PlanStep>,
    /// Steps of a round.
    pub round: Vec<PlanStep>,
    /// How many rounds.
    pub rounds: u32,
    /// Steps after the rounds.
    pub after: Vec<PlanStep>,
    /// Whether each pass needs managed memory that nobody has touched yet.
    pub fresh: bool,
    /// Phases that count as the pass's time.
    pub timed: Vec<Phase>,
    /// Passes at the start of a run that do not count.
    pub warmups: u32,
    /// What must cross the link in a pass, where that is known.
    pub expected: Option<Moved>,
}

/// One touch, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanStep {
    /// Who.
    pub on: Proc,
    /// What.
    pub access: Access,
    /// In which order.
    pub pattern: Pattern,
    /// Length of the range in elements of 4 bytes.
    pub elements: u64,
    /// Elements visited.
    pub count: u64,
}

impl PlanStep {
    /// The phase that its time belongs to.
    pub fn phase(&self) -> Phase {
        match (self.on, self.access) {
            (Proc::Gpu(_), _) => Phase::Kernel,
            (Proc::Cpu, Access::Write) => Phase::CpuWrite,
            (Proc::Cpu, Access::ReadWrite) => Phase::CpuUpdate,
            (Proc::Cpu, Access::Read) => Phase::CpuRead,
        }
    }
}

/// Makes the plan. The error lists every reason, each a line for the menu.
pub fn plan(workload: &Workload, settings: &Settings, caps: &Caps) -> Result<Plan, Vec<String>> {
    let mut reasons = Vec::new();
    size_reasons(workload, settings.size, &mut reasons);
    memory_reasons(workload, settings, caps, &mut reasons);
    let elements = settings.size.0 / ELEMENT;
    let mut resolve = |steps: &[Step]| -> Vec<PlanStep> {
        let planned = |s| step(s, elements).map_err(|r| reasons.push(r)).ok().map(|p| (p, s.repeat));
        steps.iter().filter_map(planned).flat_map(|(step, times)| (0..times).map(move |_| step)).collect()
    };
    let (before, round, after) =
        (resolve(&workload.pass.before), resolve(&workload.pass.round), resolve(&workload.pass.after));
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let mut plan = Plan {
        settings: settings.clone(),
        before,
        round,
        rounds: workload.pass.rounds,
        after,
        fresh: workload.memory.fresh,
        timed: workload.pass.timed.clone(),
        warmups: workload.pass.warmups,
        expected: None,
    };
    plan.expected = expected(&plan);
    Ok(plan)
}

fn size_reasons(workload: &Workload, size: Bytes, reasons: &mut Vec<String>) {
    let memory = &workload.memory;
    if size < memory.min {
        reasons.push(format!("size {size} is below the {} that {} needs at least", memory.min, workload.name));
    }
    if let Some(max) = memory.max.filter(|max| size > *max) {
        reasons.push(format!("size {size} is above the {max} that {} uses at most", workload.name));
    }
}

fn memory_reasons(workload: &Workload, settings: &Settings, caps: &Caps, reasons: &mut Vec<String>) {
    let kind = settings.memory;
    if !workload.memory.kinds.contains(&kind) {
        let kinds: Vec<&str> = workload.memory.kinds.iter().map(|k| k.name()).collect();
        reasons.push(format!("{} does not run over {kind} memory, only over {}", workload.name, kinds.join(", ")));
    }
    let needed = match kind {
        MemoryKind::Managed => &caps.managed,
        MemoryKind::ZeroCopy => &caps.zero_copy,
        MemoryKind::Explicit | MemoryKind::Pageable => return,
    };
    reasons.extend(needed.reason().map(|why| format!("{kind} memory: {why}")));
    if kind == MemoryKind::Managed && settings.prefetch {
        reasons.extend(caps.prefetch.reason().map(|why| format!("prefetch: {why}")));
    }
    if kind == MemoryKind::Managed && settings.advice != Advice::None {
        reasons.extend(caps.advise.reason().map(|why| format!("advice: {why}")));
    }
}

fn step(step: &Step, elements: u64) -> Result<PlanStep, String> {
    let pattern = match step.pattern {
        PatternName::Sequential => Pattern::Sequential,
        PatternName::Block => Pattern::Block,
        PatternName::OneWarp => Pattern::OneWarp,
        PatternName::Random => Pattern::Random { seed: step.seed },
        PatternName::Strided => {
            let stride_bytes = step.stride.map_or(ELEMENT, |s| s.0);
            if stride_bytes == 0 || !(elements * ELEMENT).is_multiple_of(stride_bytes) {
                return Err(format!("the stride of {} must divide the size", Bytes(stride_bytes)));
            }
            Pattern::Strided { stride_bytes }
        }
    };
    let count = if step.share < 1.0 { ((elements as f64 * step.share) as u64).max(1) } else { elements };
    let on = match step.on {
        Side::Cpu => Proc::Cpu,
        Side::Gpu => Proc::Gpu(0),
    };
    Ok(PlanStep { on, access: step.access, pattern, elements, count })
}

/// The bytes of a pass are known when every step visits all of plain managed memory: then each page travels when the
/// other side had it, and the pass must find it where every pass does. In smaller memory the sides take turns so quickly
/// that the driver may call it thrashing, and keep pages where they are.
fn expected(plan: &Plan) -> Option<Moved> {
    let settings = &plan.settings;
    let plain = settings.memory == MemoryKind::Managed && settings.advice == Advice::None;
    if !plain || settings.size < CERTAIN_FROM {
        return None;
    }
    let rounds = (0..plan.rounds).flat_map(|_| &plan.round);
    let steps = || plan.before.iter().chain(rounds.clone()).chain(&plan.after);
    let (first, last) = (steps().next()?.on, steps().last()?.on);
    let alike = plan.fresh || first == last;
    if !alike || !steps().all(|s| s.count == s.elements) {
        return None;
    }
    let mut home = first;
    let (mut to_gpu, mut to_cpu) = (0, 0);
    for step in steps().filter(|s| s.on != std::mem::replace(&mut home, s.on)) {
        *(if step.on == Proc::Cpu { &mut to_cpu } else { &mut to_gpu }) += 1;
    }
    let bytes = settings.size.0.div_ceil(PAGE) * PAGE;
    Some(Moved { htod: Bytes(to_gpu * bytes), dtoh: Bytes(to_cpu * bytes) })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::{Can, TraceLevel};
    use crate::workload::Library;

    pub fn caps() -> Caps {
        let no = || Can::No("not on this machine".into());
        Caps {
            managed: Can::Yes,
            concurrent: Can::Yes,
            prefetch: Can::Yes,
            advise: Can::Yes,
            pageable: no(),
            host_page_tables: no(),
            zero_copy: Can::Yes,
            trace: Can::Yes,
            gpus: 1,
        }
    }

    pub fn settings(workload: &str, size: &str) -> Settings {
        Settings {
            workload: workload.into(),
            memory: MemoryKind::Managed,
            prefetch: false,
            advice: Advice::None,
            size: size.parse().unwrap(),
            trace: TraceLevel::Off,
        }
    }

    fn planned(settings: &Settings, caps: &Caps) -> Result<Plan, Vec<String>> {
        let library = Library::bundled().unwrap();
        plan(library.find(&settings.workload).unwrap(), settings, caps)
    }

    #[test]
    fn the_bytes_of_a_managed_sweep_are_known_and_of_a_sample_are_not() {
        let sweep = planned(&settings("sequential", "256MiB"), &caps()).unwrap();
        assert_eq!(sweep.expected, Some(Moved { htod: Bytes::mib(256), dtoh: Bytes::mib(256) }));
        assert_eq!(planned(&settings("random", "256MiB"), &caps()).unwrap().expected, None);
        assert_eq!(planned(&settings("ping-pong", "4KiB"), &caps()).unwrap().expected, None);
        let advised = Settings { advice: Advice::ReadMostly, ..settings("sequential", "256MiB") };
        assert_eq!(planned(&advised, &caps()).unwrap().expected, None);
    }

    #[test]
    fn pages_travel_when_the_other_side_had_them() {
        let moved = |htod: u64, dtoh: u64| Some(Moved { htod: Bytes::mib(htod), dtoh: Bytes::mib(dtoh) });
        for (workload, bytes) in [
            ("first-touch-gpu", moved(0, 64)),
            ("first-touch-cpu", moved(64, 64)),
            ("iterative-reuse", moved(64, 64)),
            ("read-mostly", moved(256, 256)),
        ] {
            let plain = Settings { advice: Advice::None, ..settings(workload, "64MiB") };
            assert_eq!(planned(&plain, &caps()).unwrap().expected, bytes, "{workload}");
        }
        let small = planned(&settings("sequential", "1MiB"), &caps()).unwrap();
        assert_eq!(small.expected, None, "the driver may pin what is fought over");
    }

    #[test]
    fn a_repeated_step_is_that_many_steps() {
        let plan = planned(&settings("iterative-reuse", "64MiB"), &caps()).unwrap();
        assert_eq!(plan.round.len(), 10);
        assert!(plan.round.iter().all(|s| *s == plan.round[0]));
    }

    #[test]
    fn every_reason_is_given_at_once() {
        let mut caps = caps();
        caps.prefetch = Can::No("needs concurrent access".into());
        let wanted = Settings { prefetch: true, ..settings("ping-pong", "1GiB") };
        let reasons = planned(&wanted, &caps).unwrap_err();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[0].contains("above the 2 MiB") && reasons[1].contains("needs concurrent access"));
    }

    #[test]
    fn a_sample_counts_its_share() {
        let plan = planned(&settings("random", "256MiB"), &caps()).unwrap();
        assert_eq!((plan.round[0].elements, plan.round[0].count), (64 << 20, 16_384));
    }
}
