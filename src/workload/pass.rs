//! Running one pass of a plan on a device, and knowing what the memory must hold afterwards.

use super::plan::{Plan, PlanStep};
use super::tally::Tally;
use crate::device::{Access, Affine, Buffer, Device, DeviceError, Expect, Lane, Op, Part, Touch, Transfer};
use crate::event::{Check, MemoryKind, Phase, PhaseTime, Proc};
use crate::units::Nanos;

/// What a read-write does to each element: the constants of Numerical Recipes' generator, odd factor.
const STEP: Affine = Affine { mul: 1_664_525, add: 1_013_904_223 };
/// Factor of what a CPU write puts there: Knuth's multiplicative hash, odd.
const WRITE_MUL: u32 = 2_654_435_761;
/// Streams over which pieces alternate: while one works, the other moves.
const STREAMS: usize = 2;

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

/// A buffer, what it holds and who had the last turn.
#[derive(Debug)]
struct Slot {
    buffer: Buffer,
    host: Option<Expect>,
    device: Option<Expect>,
    last: Option<Proc>,
}

/// Runs passes over the buffers of a plan.
#[derive(Debug)]
pub struct Runner {
    slots: Vec<Slot>,
    passes: u32,
}

/// A pass under way.
struct Course<'a, 'b> {
    device: &'a mut dyn Device,
    plan: &'a Plan,
    observe: &'a mut Observe<'b>,
    tally: Tally,
}

impl Runner {
    /// For fresh buffers, all of one kind and size.
    pub fn new(buffers: Vec<Buffer>) -> Self {
        let slot = |buffer| Slot { buffer, host: None, device: None, last: None };
        Self { slots: buffers.into_iter().map(slot).collect(), passes: 0 }
    }

    /// Whether a pass has begun over them.
    pub fn used(&self) -> bool {
        self.passes > 0
    }

    /// The buffers.
    pub fn buffers(&self) -> impl Iterator<Item = Buffer> + '_ {
        self.slots.iter().map(|slot| slot.buffer)
    }

    /// Runs one pass.
    pub fn pass(
        &mut self,
        device: &mut dyn Device,
        plan: &Plan,
        observe: &mut Observe<'_>,
    ) -> Result<PassResult, PassError> {
        self.passes = self.passes.wrapping_add(1);
        let mut course = Course { device, plan, observe, tally: Tally::default() };
        for group in plan.groups() {
            match group {
                [step] if step.pipelined => self.pipeline(&mut course, step)?,
                [step] => self.step(&mut course, step)?,
                together => self.together(&mut course, together)?,
            }
        }
        Ok(course.tally.result())
    }

    /// A step by itself: for each of its buffers the data arrives, then it is touched.
    fn step(&mut self, course: &mut Course<'_, '_>, step: &PlanStep) -> Result<(), PassError> {
        for index in step.buffers(self.slots.len()) {
            for addend in step.addends.into_iter().flatten() {
                self.arrive(course, addend, &PlanStep { access: Access::Read, addends: None, ..*step })?;
            }
            self.arrive(course, index, step)?;
            for _ in 0..step.repeat {
                let touch = self.touch(index, step);
                let touched = course.device.touch(self.slots[index].buffer, step.on, &touch)?;
                self.has_touched(index, step.on, &touch);
                course.tally.add(step.phase(), touched.span, touched.check);
                course.go_on()?;
            }
        }
        Ok(())
    }

    /// Piece by piece: each arrives and is touched on its stream, while the other stream is at the next one.
    fn pipeline(&mut self, course: &mut Course<'_, '_>, step: &PlanStep) -> Result<(), PassError> {
        let mut lanes: Vec<Lane> = vec![Lane::new(); STREAMS];
        for index in step.buffers(self.slots.len()) {
            let how = self.due(course.plan, index, step);
            let (buffer, touch) = (self.slots[index].buffer, self.touch(index, step));
            for (i, part) in pieces(step.part, course.plan.piece).enumerate() {
                let lane = &mut lanes[i % STREAMS];
                lane.extend(how.map(|how| Op::Transfer { buffer, part, how, to: step.on }));
                let Part { first, elements } = part;
                lane.push(Op::Touch {
                    buffer,
                    on: step.on,
                    touch: Touch { first, elements, count: elements, ..touch },
                });
            }
            self.has_arrived(index, step.on, how);
            self.has_touched(index, step.on, &touch);
        }
        self.overlap(course, lanes)
    }

    /// Steps that run at the same time, each in a lane of its own.
    fn together(&mut self, course: &mut Course<'_, '_>, steps: &[PlanStep]) -> Result<(), PassError> {
        let mut lanes = Vec::new();
        // What the CPU needs must be there before: a host thread cannot wait in the middle of its loop.
        for step in steps.iter().filter(|step| step.on == Proc::Cpu) {
            step.buffers(self.slots.len()).try_for_each(|index| self.arrive(course, index, step))?;
        }
        for step in steps {
            let mut lane = Lane::new();
            for index in step.buffers(self.slots.len()) {
                let buffer = self.slots[index].buffer;
                if step.on != Proc::Cpu {
                    let how = self.due(course.plan, index, step);
                    for part in pieces(step.part, course.plan.piece) {
                        lane.extend(how.map(|how| Op::Transfer { buffer, part, how, to: step.on }));
                    }
                    self.has_arrived(index, step.on, how);
                }
                for _ in 0..step.repeat {
                    let touch = self.touch(index, step);
                    lane.push(Op::Touch { buffer, on: step.on, touch });
                    self.has_touched(index, step.on, &touch);
                }
            }
            lanes.push(lane);
        }
        self.overlap(course, lanes)
    }

    fn overlap(&mut self, course: &mut Course<'_, '_>, mut lanes: Vec<Lane>) -> Result<(), PassError> {
        lanes.retain(|lane| !lane.is_empty());
        let touched = course.device.overlap(&lanes)?;
        course.tally.add(Phase::Overlapped, touched.span, touched.check);
        course.go_on()
    }

    /// Brings a buffer to the side whose turn it is: by copy where the memory has two parts, by prefetch where asked.
    fn arrive(&mut self, course: &mut Course<'_, '_>, index: usize, step: &PlanStep) -> Result<(), PassError> {
        let how = self.due(course.plan, index, step);
        if let Some(how) = how {
            let phase = if step.on == Proc::Cpu { Phase::MoveToCpu } else { Phase::MoveToGpu };
            for part in pieces(step.part, course.plan.piece) {
                let span = course.device.transfer(self.slots[index].buffer, part, how, step.on)?;
                course.tally.add(phase, span, None);
                course.go_on()?;
            }
        }
        self.has_arrived(index, step.on, how);
        Ok(())
    }

    /// How a buffer must move before the step, if it must.
    fn due(&self, plan: &Plan, index: usize, step: &PlanStep) -> Option<Transfer> {
        let Slot { buffer, last, .. } = &self.slots[index];
        let how = match buffer.kind {
            // What is overwritten whole need not be brought.
            MemoryKind::Explicit | MemoryKind::Pageable if !step.overwrites(plan.elements()) => Transfer::Copy,
            MemoryKind::Managed if plan.settings.prefetch => Transfer::Prefetch,
            _ => return None,
        };
        // Memory that nobody has touched holds nothing to copy, but a prefetch makes its pages on the GPU.
        let due = match last {
            Some(last) => *last != step.on,
            None => how == Transfer::Prefetch && step.on != Proc::Cpu,
        };
        due.then_some(how)
    }

    fn has_arrived(&mut self, index: usize, on: Proc, how: Option<Transfer>) {
        let slot = &mut self.slots[index];
        slot.last = Some(on);
        match (how, on) {
            (None, _) => {}
            (Some(_), Proc::Cpu) => slot.host = slot.device,
            (Some(_), Proc::Gpu(_)) => slot.device = slot.host,
        }
    }

    /// The touch of one buffer by a step.
    fn touch(&self, index: usize, step: &PlanStep) -> Touch {
        let content = |index: usize| self.slots[index].content(step.on);
        let value = match step.access {
            Access::Read | Access::ReadWrite => STEP,
            Access::Write => Affine { mul: WRITE_MUL, add: self.passes.wrapping_mul(STEP.add) ^ index as u32 },
            // What the sum must be, if both addends hold one function each.
            Access::Add => sum(step.addends.map(|[a, b]| [content(a), content(b)])),
        };
        let expect = if step.access == Access::Read { content(index) } else { None };
        Touch {
            access: step.access,
            pattern: step.pattern,
            first: step.part.first,
            elements: step.part.elements,
            count: step.count,
            value,
            work: step.work,
            expect: expect.map(|e| e.within(step.part, self.slots[index].buffer.elements())),
            addends: step.addends.map(|[a, b]| [self.slots[a].buffer, self.slots[b].buffer]),
        }
    }

    fn has_touched(&mut self, index: usize, on: Proc, touch: &Touch) {
        let slot = &mut self.slots[index];
        let content = after(slot.content(on), touch);
        slot.set_content(on, content);
    }
}

impl Slot {
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

impl Course<'_, '_> {
    fn go_on(&mut self) -> Result<(), PassError> {
        if (self.observe)(self.device) { Ok(()) } else { Err(PassError::Stopped) }
    }
}

/// A range in pieces of `piece` elements; in one if there is no such size.
fn pieces(whole: Part, piece: Option<u64>) -> impl Iterator<Item = Part> {
    let size = piece.unwrap_or(whole.elements).max(1);
    let end = whole.first + whole.elements;
    let starts = (whole.first..end).step_by(usize::try_from(size).unwrap_or(usize::MAX));
    starts.map(move |first| Part { first, elements: size.min(end - first) })
}

fn sum(addends: Option<[Option<Expect>; 2]>) -> Affine {
    match addends {
        Some([Some(a), Some(b)]) => a.touched.plus(b.touched),
        _ => STEP,
    }
}

/// What memory holds after a touch of what it held before; `None` is unknown. Samples of a pass are all the same one
/// (`Workload::parse` sees to it), so a second sampled step meets the elements of the first.
fn after(before: Option<Expect>, touch: &Touch) -> Option<Expect> {
    let whole = touch.count == touch.elements;
    let step = touch.value.repeated(if touch.access == Access::ReadWrite { touch.work } else { 1 });
    match (touch.access, whole) {
        (Access::Read, _) => before,
        (Access::Write | Access::Add, true) => {
            Some(Expect { touched: touch.value, untouched: touch.value, count: touch.elements })
        }
        (Access::Write | Access::Add, false) => {
            before.map(|b| Expect { touched: touch.value, untouched: b.untouched, count: touch.count })
        }
        (Access::ReadWrite, true) => {
            before.map(|b| Expect { touched: b.touched.then(step), untouched: b.untouched.then(step), ..b })
        }
        (Access::ReadWrite, false) => {
            before.map(|b| Expect { touched: b.touched.then(step), untouched: b.untouched, count: touch.count })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Pattern;

    fn touch(access: Access, count: u64, value: Affine) -> Touch {
        Touch {
            access,
            pattern: Pattern::Random { seed: 1 },
            first: 0,
            elements: 100,
            count,
            value,
            work: 1,
            expect: None,
            addends: None,
        }
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
        let worked = after(written, &Touch { work: 3, ..touch(Access::ReadWrite, 100, STEP) }).unwrap();
        assert_eq!(worked.touched, write.then(STEP).then(STEP).then(STEP));
    }

    #[test]
    fn pieces_cover_a_range_once() {
        let whole = Part { first: 5, elements: 23 };
        let all: Vec<(u64, u64)> = pieces(whole, Some(10)).map(|p| (p.first, p.elements)).collect();
        assert_eq!(all, [(5, 10), (15, 10), (25, 3)]);
        assert_eq!(pieces(whole, None).collect::<Vec<_>>(), [whole]);
    }
}
