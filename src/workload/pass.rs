//! Running one pass of a plan on a device, and knowing what the memory must hold afterwards.

use super::plan::{Plan, PlanStep};
use crate::device::{Access, Affine, Buffer, Device, DeviceError, Expect, Span, Touch, Transfer};
use crate::event::{Check, MemoryKind, Phase, PhaseTime, Proc};
use crate::units::Nanos;

/// What a read-write does to each element: the constants of Numerical Recipes' generator, odd factor.
const STEP: Affine = Affine { mul: 1_664_525, add: 1_013_904_223 };
/// Factor of what a CPU write puts there: Knuth's multiplicative hash, odd.
const WRITE_MUL: u32 = 2_654_435_761;

/// Why a pass did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The user wants to stop.
    #[error("stopped")]
    Stopped,
}

/// What a pass gave.
#[derive(Clone, Debug, PartialEq)]
pub struct PassResult {
    /// Phases in the order of their first turn.
    pub phases: Vec<PhaseTime>,
    /// All checks together; `None` if nothing was checked.
    pub check: Option<Check>,
}

impl PassResult {
    /// Host time of the given phases together.
    pub fn time_of(&self, phases: &[Phase]) -> Nanos {
        Nanos(self.phases.iter().filter(|p| phases.contains(&p.phase)).map(|p| p.host.0).sum())
    }
}

/// Called after every device call; `false` ends the pass.
pub type Observe<'a> = dyn FnMut(&mut dyn Device) -> bool + 'a;

/// Runs passes over one buffer and remembers what it holds and who had the last turn.
#[derive(Debug)]
pub struct Runner {
    buffer: Buffer,
    host: Option<Expect>,
    device: Option<Expect>,
    last: Option<Proc>,
    passes: u32,
}

impl Runner {
    /// For a fresh buffer.
    pub fn new(buffer: Buffer) -> Self {
        Self { buffer, host: None, device: None, last: None, passes: 0 }
    }

    /// Whether a pass has begun over it.
    pub fn used(&self) -> bool {
        self.passes > 0
    }

    /// The buffer.
    pub fn buffer(&self) -> Buffer {
        self.buffer
    }

    /// Runs one pass.
    pub fn pass(
        &mut self,
        device: &mut dyn Device,
        plan: &Plan,
        observe: &mut Observe<'_>,
    ) -> Result<PassResult, PassError> {
        let mut tally = Tally::default();
        self.passes = self.passes.wrapping_add(1);
        let rounds = (0..plan.rounds).flat_map(|_| &plan.round);
        for step in plan.before.iter().chain(rounds).chain(&plan.after) {
            self.arrive(device, plan, step.on, &mut tally, observe)?;
            self.touch(device, step, &mut tally, observe)?;
        }
        Ok(tally.result())
    }

    /// Brings the data to the side whose turn it is: by copy where the memory has two parts, by prefetch where asked.
    fn arrive(
        &mut self,
        device: &mut dyn Device,
        plan: &Plan,
        on: Proc,
        tally: &mut Tally,
        observe: &mut Observe<'_>,
    ) -> Result<(), PassError> {
        let last = self.last.replace(on);
        let how = match self.buffer.kind {
            MemoryKind::Explicit | MemoryKind::Pageable => Transfer::Copy,
            MemoryKind::Managed if plan.settings.prefetch => Transfer::Prefetch,
            MemoryKind::Managed | MemoryKind::ZeroCopy => return Ok(()),
        };
        // Memory that nobody has touched holds nothing to copy, but a prefetch makes its pages on the GPU.
        let due = match last {
            Some(last) => last != on,
            None => how == Transfer::Prefetch && on != Proc::Cpu,
        };
        if !due {
            return Ok(());
        }
        let span = device.transfer(self.buffer, how, on)?;
        match on {
            Proc::Cpu => self.host = self.device,
            Proc::Gpu(_) => self.device = self.host,
        }
        let phase = if on == Proc::Cpu { Phase::MoveToCpu } else { Phase::MoveToGpu };
        tally.add(phase, span, None);
        go_on(observe(device))
    }

    fn touch(
        &mut self,
        device: &mut dyn Device,
        step: &PlanStep,
        tally: &mut Tally,
        observe: &mut Observe<'_>,
    ) -> Result<(), PassError> {
        let write = Affine { mul: WRITE_MUL, add: self.passes.wrapping_mul(STEP.add) };
        let value = if step.access == Access::Write { write } else { STEP };
        let content = self.content(step.on);
        let expect = if step.access == Access::Read { content } else { None };
        let touch = Touch {
            access: step.access,
            pattern: step.pattern,
            first: 0,
            elements: step.elements,
            count: step.count,
            value,
            expect,
        };
        let touched = device.touch(self.buffer, step.on, &touch)?;
        self.set_content(step.on, after(content, &touch));
        tally.add(step.phase(), touched.span, touched.check);
        go_on(observe(device))
    }

    fn one_part(&self) -> bool {
        matches!(self.buffer.kind, MemoryKind::Managed | MemoryKind::ZeroCopy)
    }

    fn content(&self, on: Proc) -> Option<Expect> {
        if on == Proc::Cpu { self.host } else { self.device }
    }

    fn set_content(&mut self, on: Proc, content: Option<Expect>) {
        if on == Proc::Cpu || self.one_part() {
            self.host = content;
        }
        if on != Proc::Cpu || self.one_part() {
            self.device = content;
        }
    }
}

fn go_on(go_on: bool) -> Result<(), PassError> {
    if go_on { Ok(()) } else { Err(PassError::Stopped) }
}

/// What memory holds after a touch of what it held before; `None` is unknown. Samples of a pass are all the same one
/// (`Workload::parse` sees to it), so a second sampled step meets the elements of the first.
fn after(before: Option<Expect>, touch: &Touch) -> Option<Expect> {
    let whole = touch.count == touch.elements;
    match (touch.access, whole) {
        (Access::Read, _) => before,
        (Access::Write, true) => Some(Expect { touched: touch.value, untouched: touch.value, count: touch.elements }),
        (Access::Write, false) => {
            before.map(|b| Expect { touched: touch.value, untouched: b.untouched, count: touch.count })
        }
        (Access::ReadWrite, true) => before.map(|b| Expect {
            touched: b.touched.then(touch.value),
            untouched: b.untouched.then(touch.value),
            ..b
        }),
        (Access::ReadWrite, false) => {
            before.map(|b| Expect { touched: b.touched.then(touch.value), untouched: b.untouched, count: touch.count })
        }
    }
}

#[derive(Default)]
struct Tally {
    spans: Vec<(Phase, Span)>,
    check: Option<Check>,
}

impl Tally {
    fn add(&mut self, phase: Phase, span: Span, check: Option<Check>) {
        self.spans.push((phase, span));
        if let Some(check) = check {
            let sum = self.check.get_or_insert_default();
            sum.elements += check.elements;
            sum.wrong += check.wrong;
        }
    }

    fn result(self) -> PassResult {
        let mut order: Vec<Phase> = Vec::new();
        for (phase, _) in &self.spans {
            if !order.contains(phase) {
                order.push(*phase);
            }
        }
        PassResult { phases: order.into_iter().map(|phase| self.phase(phase)).collect(), check: self.check }
    }

    fn phase(&self, phase: Phase) -> PhaseTime {
        let spans = || self.spans.iter().filter(move |(p, _)| *p == phase).map(|(_, s)| s);
        let mut turns: Vec<u64> = spans().map(|s| s.host().0).collect();
        turns.sort_unstable();
        let gpu: Option<Vec<u64>> = spans().map(|s| s.gpu.map(|n| n.0)).collect();
        PhaseTime {
            phase,
            host: Nanos(turns.iter().sum()),
            gpu: gpu.map(|g| Nanos(g.iter().sum())),
            turns: turns.len() as u32,
            turn_p50: Nanos(turns.get(turns.len() / 2).copied().unwrap_or(0)),
            turn_max: Nanos(turns.last().copied().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Pattern;

    fn touch(access: Access, count: u64, value: Affine) -> Touch {
        Touch { access, pattern: Pattern::Random { seed: 1 }, first: 0, elements: 100, count, value, expect: None }
    }

    #[test]
    fn content_follows_the_touches() {
        let write = Affine { mul: 3, add: 1 };
        let written = after(None, &touch(Access::Write, 100, write));
        assert_eq!(written, Some(Expect { touched: write, untouched: write, count: 100 }));
        let sampled = after(written, &touch(Access::ReadWrite, 10, STEP)).unwrap();
        assert_eq!(sampled, Expect { touched: write.then(STEP), untouched: write, count: 10 });
        let twice = after(Some(sampled), &touch(Access::ReadWrite, 10, STEP)).unwrap();
        assert_eq!(twice.touched, write.then(STEP).then(STEP));
        assert_eq!(after(None, &touch(Access::ReadWrite, 100, STEP)), None);
    }
}
