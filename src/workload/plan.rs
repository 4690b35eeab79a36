//! From a workload and settings to the steps of a pass, or the reasons why this machine cannot.

use super::expected::expected;
use super::file::Workload;
use super::step::{Side, Step};
use crate::device::{Access, ELEMENT, Part, Pattern};
use crate::event::{AccessPattern, Advice, Caps, MemoryKind, Moved, Phase, Piece, Proc, Settings};
use crate::units::{Bytes, PAGE};

/// Distance of visits where the user asks for a strided pattern that the file does not have.
const DEFAULT_STRIDE: u64 = 64 << 10;

/// What one pass does.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The settings it was made from.
    pub settings: Settings,
    /// In how many buffers the footprint is had.
    pub buffers: usize,
    /// Size of each.
    pub buffer_bytes: Bytes,
    /// Elements of a piece, if data moves in pieces.
    pub piece: Option<u64>,
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

/// One step, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanStep {
    /// Who.
    pub on: Proc,
    /// What.
    pub access: Access,
    /// In which order.
    pub pattern: Pattern,
    /// The range of each buffer.
    pub part: Part,
    /// Elements visited in each.
    pub count: u64,
    /// How many times in a row.
    pub repeat: u32,
    /// How often a kernel does its arithmetic on each element.
    pub work: u32,
    /// Which buffer; none for each of them in turn.
    pub buffer: Option<usize>,
    /// The buffers that an addition reads.
    pub addends: Option<[usize; 2]>,
    /// Whether it comes piece by piece on two streams.
    pub pipelined: bool,
    /// Whether it runs at the same time as the step before it.
    pub at_once: bool,
}

impl PlanStep {
    /// The phase that its time belongs to.
    pub fn phase(&self) -> Phase {
        match (self.on, self.access) {
            _ if self.pipelined => Phase::Overlapped,
            (Proc::Gpu(_), _) => Phase::Kernel,
            (Proc::Cpu, Access::Write | Access::Add) => Phase::CpuWrite,
            (Proc::Cpu, Access::ReadWrite) => Phase::CpuUpdate,
            (Proc::Cpu, Access::Read) => Phase::CpuRead,
        }
    }

    /// Whether what was there before does not matter, in a buffer of `elements`.
    pub fn overwrites(&self, elements: u64) -> bool {
        matches!(self.access, Access::Write | Access::Add) && self.count == elements
    }

    /// The buffers that it touches, of `buffers`; an addition's addends are not among them.
    pub fn buffers(&self, buffers: usize) -> std::ops::Range<usize> {
        self.buffer.map_or(0..buffers, |only| only..only + 1)
    }
}

impl Plan {
    /// Every step of a pass, in order.
    pub fn steps(&self) -> impl Iterator<Item = &PlanStep> {
        let rounds = (0..self.rounds).flat_map(|_| &self.round);
        self.before.iter().chain(rounds).chain(&self.after)
    }

    /// Every step of a pass in order, those together that run at the same time.
    pub fn groups(&self) -> impl Iterator<Item = &[PlanStep]> {
        fn split(steps: &[PlanStep]) -> impl Iterator<Item = &[PlanStep]> {
            steps.chunk_by(|_, next| next.at_once)
        }
        let rounds = (0..self.rounds).flat_map(|_| split(&self.round));
        split(&self.before).chain(rounds).chain(split(&self.after))
    }

    /// GPUs that the steps run on, the own one counted always.
    pub fn gpus(&self) -> u32 {
        if self.steps().any(|step| step.on == Proc::Gpu(1)) { 2 } else { 1 }
    }

    /// Elements of each buffer.
    pub fn elements(&self) -> u64 {
        self.buffer_bytes.0 / ELEMENT
    }
}

/// Makes the plan. The error lists every reason, each a line for the menu.
pub fn plan(workload: &Workload, settings: &Settings, caps: &Caps) -> Result<Plan, Vec<String>> {
    let mut reasons = Vec::new();
    size_reasons(workload, settings.size, &mut reasons);
    memory_reasons(workload, settings, caps, &mut reasons);
    side_reasons(workload, settings, caps, &mut reasons);
    let (buffers, buffer_bytes) = division(workload, settings, &mut reasons);
    let elements = buffer_bytes.0 / ELEMENT;
    let mut resolve = |steps: &[Step]| -> Vec<PlanStep> {
        let planned = |s| step(s, workload, settings.shape.pattern, elements).map_err(|r| reasons.push(r)).ok();
        steps.iter().filter_map(planned).collect()
    };
    let (before, round, after) =
        (resolve(&workload.pass.before), resolve(&workload.pass.round), resolve(&workload.pass.after));
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let piece = match settings.shape.piece {
        Some(Piece::Size(piece)) if piece < buffer_bytes => Some(piece.0 / ELEMENT),
        _ => None,
    };
    let mut plan = Plan {
        settings: settings.clone(),
        buffers,
        buffer_bytes,
        piece,
        before,
        round,
        rounds: settings.shape.rounds.unwrap_or(workload.pass.rounds),
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
        reasons.extend(settings.advice.lacks(caps.gpus).map(|why| format!("advice {}: {why}", settings.advice)));
    }
}

/// Reasons in who takes part: a second GPU, or both sides of managed memory at the same time.
fn side_reasons(workload: &Workload, settings: &Settings, caps: &Caps, reasons: &mut Vec<String>) {
    let pass = &workload.pass;
    let steps = || pass.before.iter().chain(&pass.round).chain(&pass.after);
    if caps.gpus < 2 && steps().any(|s| s.on == Side::Peer) {
        reasons.push(format!("{} needs a second GPU, and there is only one", workload.name));
    }
    if settings.memory == MemoryKind::Managed && steps().any(|s| s.at_once) {
        let why = caps.concurrent.reason();
        reasons.extend(why.map(|why| format!("CPU and GPU cannot use managed memory at the same time: {why}")));
    }
}

/// How many buffers of which size; more than one are whole pages each.
fn division(workload: &Workload, settings: &Settings, reasons: &mut Vec<String>) -> (usize, Bytes) {
    let memory = &workload.memory;
    let buffers = match settings.shape.allocations {
        _ if !memory.arrays.is_empty() => memory.arrays.len() as u64,
        Some(asked) => u64::from(asked).max(1),
        None => u64::from(memory.allocations),
    };
    if buffers == 1 {
        return (1, settings.size);
    }
    let bytes = settings.size.0 / buffers / PAGE * PAGE;
    if bytes == 0 {
        reasons.push(format!("{} in {buffers} allocations is less than a page of 4 KiB each", settings.size));
    }
    (buffers as usize, Bytes(bytes))
}

fn step(step: &Step, workload: &Workload, asked: Option<AccessPattern>, elements: u64) -> Result<PlanStep, String> {
    // A sample is of a permutation, an addition or much work goes in order, and the CPU's order is not what is studied.
    let fixed = step.on == Side::Cpu || step.share < 1.0 || step.access == Access::Add || step.work > 1;
    let pattern = match asked.filter(|_| !fixed).unwrap_or(step.pattern) {
        AccessPattern::Sequential => Pattern::Sequential,
        AccessPattern::Block => Pattern::Block,
        AccessPattern::OneWarp => Pattern::OneWarp,
        AccessPattern::Random => Pattern::Random { seed: step.seed },
        AccessPattern::Strided => {
            let stride_bytes = step.stride.map_or(DEFAULT_STRIDE, |s| s.0);
            if stride_bytes == 0 || !(elements * ELEMENT).is_multiple_of(stride_bytes) {
                return Err(format!("the stride of {} must divide the size", Bytes(stride_bytes)));
            }
            Pattern::Strided { stride_bytes }
        }
    };
    let part = match step.part {
        None => Part { first: 0, elements },
        Some([from, to]) => {
            let (from, to) = ((elements as f64 * from) as u64, (elements as f64 * to) as u64);
            Part { first: from.min(elements.saturating_sub(1)), elements: (to - from).max(1) }
        }
    };
    let count = if step.share < 1.0 { ((elements as f64 * step.share) as u64).max(1) } else { part.elements };
    let index = |name: &String| workload.memory.arrays.iter().position(|array| array == name);
    let addends = step.from.as_ref().and_then(|[a, b]| Some([index(a)?, index(b)?]));
    Ok(PlanStep {
        on: step.on.proc(),
        access: step.access,
        pattern,
        part,
        count,
        repeat: step.repeat,
        work: step.work,
        buffer: step.array.as_ref().and_then(index),
        addends,
        pipelined: step.pipelined,
        at_once: step.at_once,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::{BetweenGpus, Can, Shape, TraceLevel};
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
            shape: Shape::default(),
        }
    }

    fn planned(settings: &Settings, caps: &Caps) -> Result<Plan, Vec<String>> {
        let library = Library::bundled().unwrap();
        plan(library.find(&settings.workload).unwrap(), settings, caps)
    }

    #[test]
    fn the_bytes_of_a_managed_sweep_are_known_and_of_a_sample_are_not() {
        let sweep = planned(&settings("sequential", "256MiB"), &caps()).unwrap();
        assert_eq!(sweep.expected, Some(Moved { htod: Bytes::mib(256), dtoh: Bytes::mib(256), between_gpus: None }));
        assert_eq!(planned(&settings("random", "256MiB"), &caps()).unwrap().expected, None);
        assert_eq!(planned(&settings("ping-pong", "4KiB"), &caps()).unwrap().expected, None);
        let advised = Settings { advice: Advice::ReadMostly, ..settings("sequential", "256MiB") };
        assert_eq!(planned(&advised, &caps()).unwrap().expected, None);
    }

    #[test]
    fn pages_travel_when_the_other_side_had_them() {
        let moved =
            |htod: u64, dtoh: u64| Some(Moved { htod: Bytes::mib(htod), dtoh: Bytes::mib(dtoh), between_gpus: None });
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
    fn advice_that_names_a_second_gpu_needs_one() {
        let advised = Settings { advice: Advice::PreferredSecondGpu, ..settings("sequential", "64MiB") };
        let reasons = planned(&advised, &caps()).unwrap_err();
        assert_eq!(reasons, ["advice preferred-gpu:1: it names a second GPU, and there is only one"]);
        assert!(planned(&advised, &Caps { gpus: 2, ..caps() }).is_ok());
    }

    #[test]
    fn what_two_gpus_hand_each_other_is_known_per_way() {
        let two = Caps { gpus: 2, ..caps() };
        let peer = planned(&settings("peer", "64MiB"), &two).unwrap();
        let between = BetweenGpus { gpu0_to_gpu1: Bytes::mib(4 * 64), gpu1_to_gpu0: Bytes::mib(3 * 64) };
        let moved = Moved { htod: Bytes::mib(64), dtoh: Bytes::mib(64), between_gpus: Some(between) };
        assert_eq!((peer.expected, peer.gpus()), (Some(moved), 2));
        assert_eq!(planned(&settings("sequential", "64MiB"), &two).unwrap().gpus(), 1);
    }

    #[test]
    fn what_the_user_says_of_the_shape_goes_before_the_file() {
        let shape = Shape {
            pattern: Some(AccessPattern::Strided),
            piece: Some(Piece::Size(Bytes::mib(16))),
            rounds: Some(3),
            allocations: Some(2),
        };
        let plan = planned(&Settings { shape, ..settings("sequential", "256MiB") }, &caps()).unwrap();
        assert_eq!((plan.buffers, plan.buffer_bytes, plan.rounds), (2, Bytes::mib(128), 3));
        assert_eq!(plan.piece, Some(4 << 20));
        assert_eq!(plan.round[0].pattern, Pattern::Strided { stride_bytes: 64 << 10 });
        assert_eq!(plan.after[0].pattern, Pattern::Sequential, "the CPU goes in order");
        let many = Shape { allocations: Some(65_536), ..Shape::default() };
        let reasons = planned(&Settings { shape: many, ..settings("sequential", "1MiB") }, &caps()).unwrap_err();
        assert!(reasons[0].contains("less than a page"), "{reasons:?}");
    }

    #[test]
    fn a_second_gpu_that_is_not_there_is_a_reason() {
        let reasons = planned(&settings("peer", "64MiB"), &caps()).unwrap_err();
        assert!(reasons[0].contains("needs a second GPU"), "{reasons:?}");
        assert!(planned(&settings("peer", "64MiB"), &Caps { gpus: 2, ..caps() }).is_ok());
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
        assert_eq!((plan.round[0].part.elements, plan.round[0].count), (64 << 20, 16_384));
    }
}
