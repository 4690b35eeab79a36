//! What must cross the link in a pass, where that is certain.

use super::plan::{Plan, PlanStep};
use crate::event::{Advice, MemoryKind, Moved, Proc};
use crate::units::{Bytes, PAGE};

/// From this size on a turn takes far longer than the 500 µs within which the driver sees thrashing.
const CERTAIN_FROM: Bytes = Bytes::mib(16);

/// The bytes of a pass are known when every step visits all of plain managed memory, one side at a time: then each page
/// travels when the other side had it, and the pass must find it where every pass does. In smaller memory the sides take
/// turns so quickly that the driver may call it thrashing, and keep pages where they are. What goes from one GPU to
/// another does not cross the host's link.
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
    let sum = |of: fn(&(u64, u64)) -> u64| Bytes(moves.iter().map(of).sum::<u64>() * bytes);
    Some(Moved { htod: sum(|m| m.0), dtoh: sum(|m| m.1) })
}

/// Whether steps that run at the same time meet in a buffer.
fn shares(plan: &Plan, group: &[PlanStep]) -> bool {
    let mut seen = vec![0; plan.buffers];
    group.iter().flat_map(|step| step.buffers(plan.buffers)).for_each(|buffer| seen[buffer] += 1);
    group.len() > 1 && seen.iter().any(|times| *times > 1)
}

/// How often a buffer goes to a GPU and how often back; `None` if it does not end a pass where it began.
fn moves(plan: &Plan, buffer: usize) -> Option<(u64, u64)> {
    let reads = |s: &PlanStep| s.addends.is_some_and(|addends| addends.contains(&buffer));
    let sides: Vec<Proc> =
        plan.steps().filter(|s| s.buffers(plan.buffers).contains(&buffer) || reads(s)).map(|s| s.on).collect();
    let (first, last) = (*sides.first()?, *sides.last()?);
    if !plan.fresh && first != last {
        return None;
    }
    let count = |found: fn(Proc, Proc) -> bool| sides.windows(2).filter(|w| found(w[0], w[1])).count() as u64;
    let to_gpu = count(|from, to| from == Proc::Cpu && to != Proc::Cpu);
    let to_cpu = count(|from, to| from != Proc::Cpu && to == Proc::Cpu);
    Some((to_gpu, to_cpu))
}
