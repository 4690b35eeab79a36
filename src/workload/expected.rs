//! What must move in a pass, where that is certain.

use super::plan::{Plan, PlanStep};
use crate::event::{Advice, BetweenGpus, MemoryKind, Moved, Proc};
use crate::units::{Bytes, PAGE};

/// From this size on a turn takes far longer than the 500 µs within which the driver sees thrashing.
const CERTAIN_FROM: Bytes = Bytes::mib(16);

/// The bytes of a pass are known when every step visits all of plain managed memory, one side at a time: then each page
/// travels when the other side had it, and the pass must find it where every pass does. In smaller memory the sides take
/// turns so quickly that the driver may call it thrashing, and keep pages where they are. What goes from one GPU to
/// another that it can reach does not cross the host's link.
pub(super) fn expected(plan: &Plan) -> Option<Moved> {
    let settings = &plan.settings;
    let plain = settings.memory == MemoryKind::Managed && settings.advice == Advice::None;
    if !plain || plan.buffer_bytes < CERTAIN_FROM || !plan.steps().all(|s| s.count == plan.elements()) {
        return None;
    }
    if plan.groups().any(|group| shares(plan, group)) {
        return None;
    }
    let bytes = plan.buffer_bytes.0.div_ceil(PAGE) * PAGE;
    let moves = (0..plan.buffers).map(|buffer| moves(plan, buffer)).collect::<Option<Vec<_>>>()?;
    let sum = |of: fn(&Moves) -> u64| Bytes(moves.iter().map(of).sum::<u64>() * bytes);
    let between = BetweenGpus { gpu0_to_gpu1: sum(|m| m.to_peer), gpu1_to_gpu0: sum(|m| m.from_peer) };
    let between_gpus = (plan.gpus() > 1).then_some(between);
    Some(Moved { htod: sum(|m| m.to_gpu), dtoh: sum(|m| m.to_cpu), between_gpus })
}

/// Whether steps that run at the same time meet in a buffer.
fn shares(plan: &Plan, group: &[PlanStep]) -> bool {
    if group.len() < 2 {
        return false;
    }
    let mut seen = vec![0; plan.buffers];
    group.iter().flat_map(|step| step.buffers(plan.buffers)).for_each(|buffer| seen[buffer] += 1);
    seen.iter().any(|times| *times > 1)
}

/// How often a buffer goes which way in a pass.
struct Moves {
    to_gpu: u64,
    to_cpu: u64,
    to_peer: u64,
    from_peer: u64,
}

/// The moves of a buffer; `None` if it does not end a pass where it began.
fn moves(plan: &Plan, buffer: usize) -> Option<Moves> {
    let reads = |s: &PlanStep| s.addends.is_some_and(|addends| addends.contains(&buffer));
    let sides: Vec<Proc> =
        plan.steps().filter(|s| s.buffers(plan.buffers).contains(&buffer) || reads(s)).map(|s| s.on).collect();
    let (first, last) = (*sides.first()?, *sides.last()?);
    if !plan.fresh && first != last {
        return None;
    }
    let count = |found: fn(Proc, Proc) -> bool| sides.windows(2).filter(|w| found(w[0], w[1])).count() as u64;
    Some(Moves {
        to_gpu: count(|from, to| from == Proc::Cpu && to != Proc::Cpu),
        to_cpu: count(|from, to| from != Proc::Cpu && to == Proc::Cpu),
        to_peer: count(|from, to| (from, to) == (Proc::Gpu(0), Proc::Gpu(1))),
        from_peer: count(|from, to| (from, to) == (Proc::Gpu(1), Proc::Gpu(0))),
    })
}
