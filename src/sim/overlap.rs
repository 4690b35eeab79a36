//! Work that runs at the same time.
//!
//! Virtual time is one line, so work that overlaps is simulated one operation after the other, each lane's next in turn.
//! A trial on a copy of the world says how long each takes by itself; a schedule in which each engine (the link each way,
//! each GPU, the CPU) does one thing at a time says how long all of it takes together; then the operations run with their
//! times scaled to that. Bytes, faults and their order are those of the operations; only their times are shared out.

use super::world::World;
use crate::device::{Buffer, DeviceError, ELEMENT, Lane, Op, Span, Touch, Touched};
use crate::event::{MemoryKind, Proc};
use crate::units::{PAGE, Stamp};
use std::collections::BTreeMap;

/// Into how many slices a touch is cut whose buffer another side touches at the same time.
const SLICES: u64 = 8;
/// Elements of the smallest slice: a page.
const LEAST_SLICE: u64 = PAGE / ELEMENT;

/// What does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Engine {
    Cpu,
    Gpu(u16),
    ToGpu(u16),
    ToCpu,
}

fn engine(op: &Op) -> Engine {
    match *op {
        Op::Touch { on: Proc::Cpu, .. } => Engine::Cpu,
        Op::Touch { on: Proc::Gpu(n), .. } => Engine::Gpu(n),
        Op::Transfer { to: Proc::Cpu, .. } => Engine::ToCpu,
        Op::Transfer { to: Proc::Gpu(n), .. } => Engine::ToGpu(n),
    }
}

impl World {
    /// Runs lanes at the same time.
    pub fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        if lanes.iter().filter(|lane| lane.iter().any(|op| engine(op) == Engine::Cpu)).count() > 1 {
            return Err(DeviceError::Misuse("at most one lane is the CPU's".to_owned()));
        }
        let lanes: Vec<Lane> = lanes.iter().map(|lane| sliced(lane, lanes)).collect();
        let mut trial = self.clone();
        let mut clock = Schedule::default();
        let mut alone = 0;
        for (lane, op) in in_turn(&lanes) {
            let took = trial.operate(op)?.host().0;
            clock.add(lane, engine(op), took);
            alone += took;
        }
        let begin = Stamp(self.now());
        self.together = if alone == 0 { 1.0 } else { clock.end() as f64 / alone as f64 };
        let done = in_turn(&lanes).into_iter().try_for_each(|(_, op)| self.operate(op).map(drop));
        self.together = 1.0;
        done?;
        let on_gpu = lanes.iter().flatten().any(|op| engine(op) != Engine::Cpu);
        let gpu = on_gpu.then(|| self.gpu_time(begin));
        // The simulator holds no data, so there is nothing that it could claim to have checked.
        Ok(Touched { span: Span { begin, end: Stamp(self.now()), gpu }, check: None })
    }

    fn operate(&mut self, op: &Op) -> Result<Span, DeviceError> {
        match op {
            Op::Transfer { buffer, part, how, to } => self.transfer(*buffer, *part, *how, *to),
            Op::Touch { buffer, on, touch } => self.touch(*buffer, *on, touch).map(|touched| touched.span),
        }
    }
}

/// When each lane and each engine is free again, ns from the beginning.
#[derive(Default)]
struct Schedule {
    lanes: BTreeMap<usize, u64>,
    engines: BTreeMap<Engine, u64>,
}

impl Schedule {
    fn add(&mut self, lane: usize, engine: Engine, took: u64) {
        let lane = self.lanes.entry(lane).or_default();
        let engine = self.engines.entry(engine).or_default();
        let end = (*lane).max(*engine) + took;
        (*lane, *engine) = (end, end);
    }

    fn end(&self) -> u64 {
        self.lanes.values().copied().max().unwrap_or(0)
    }
}

/// Every operation with its lane: the first of each lane, then the second of each, and so on.
fn in_turn(lanes: &[Lane]) -> Vec<(usize, &Op)> {
    let longest = lanes.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| lanes.iter().enumerate().filter_map(move |(i, l)| Some((i, l.get(turn)?)))).collect()
}

/// Touches of managed memory that another side touches too come in slices, so that the two meet in the middle of it.
fn sliced(lane: &Lane, lanes: &[Lane]) -> Lane {
    let contested = |buffer: Buffer, by: Proc| {
        let touched = |op: &Op| matches!(*op, Op::Touch { buffer: other, on, .. } if other == buffer && on != by);
        buffer.kind == MemoryKind::Managed && lanes.iter().flatten().any(touched)
    };
    let cut = |op: &Op| match *op {
        Op::Touch { buffer, on, touch } if contested(buffer, on) && touch.count == touch.elements => {
            slices(&touch).map(|touch| Op::Touch { buffer, on, touch }).collect()
        }
        op => vec![op],
    };
    lane.iter().flat_map(cut).collect()
}

fn slices(touch: &Touch) -> impl Iterator<Item = Touch> + use<> {
    let touch = *touch;
    let size = touch.elements.div_ceil(SLICES).max(LEAST_SLICE);
    let end = touch.first + touch.elements;
    (touch.first..end).step_by(size as usize).map(move |first| {
        let elements = size.min(end - first);
        Touch { first, elements, count: elements, ..touch }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_do_one_thing_at_a_time_and_lanes_go_in_order() {
        let mut schedule = Schedule::default();
        // Two streams, each a copy and a kernel: the second copy runs beside the first kernel.
        for (lane, engine, took) in
            [(0, Engine::ToGpu(0), 10), (1, Engine::ToGpu(0), 10), (0, Engine::Gpu(0), 10), (1, Engine::Gpu(0), 10)]
        {
            schedule.add(lane, engine, took);
        }
        assert_eq!(schedule.end(), 30);
    }
}
