//! From a workload and settings to the steps of a pass, or the reasons why this machine cannot.

use super::file::{PatternName, Side, Step, Workload};
use crate::device::{Access, Pattern};
use crate::event::{Advice, Caps, MemoryKind, Moved, Phase, Proc, Settings};
use crate::units::{Bytes, PAGE};

/// Size of an element: `u32`.
const ELEMENT: u64 = 4;

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
        steps.iter().filter_map(|s| step(s, elements).map_err(|r| reasons.push(r)).ok()).collect()
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

/// The bytes of a pass are known when everything is written on the CPU, visited once on the GPU, and read back
/// on the CPU, over plain managed memory: each page must come and go exactly once.
fn expected(plan: &Plan) -> Option<Moved> {
    let settings = &plan.settings;
    let plain = settings.memory == MemoryKind::Managed && settings.advice == Advice::None && plan.rounds == 1;
    let whole = |steps: &[PlanStep], on_cpu: bool| {
        !steps.is_empty() && steps.iter().all(|s| (s.on == Proc::Cpu) == on_cpu && s.count == s.elements)
    };
    (plain && whole(&plan.before, true) && whole(&plan.round, false) && whole(&plan.after, true)).then(|| {
        let bytes = Bytes(settings.size.0.div_ceil(PAGE) * PAGE);
        Moved { htod: bytes, dtoh: bytes }
    })
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
