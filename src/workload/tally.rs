//! Adding up what the calls of a pass gave.

use super::pass::PassResult;
use crate::device::Span;
use crate::event::{Check, Phase, PhaseTime};
use crate::units::Nanos;

#[derive(Default)]
pub(super) struct Tally {
    spans: Vec<(Phase, Span)>,
    check: Option<Check>,
}

impl Tally {
    /// Adds one call.
    pub(super) fn add(&mut self, phase: Phase, span: Span, check: Option<Check>) {
        self.spans.push((phase, span));
        if let Some(check) = check {
            let sum = self.check.get_or_insert_default();
            sum.elements += check.elements;
            sum.wrong += check.wrong;
        }
    }

    /// Sums by phase.
    pub(super) fn result(self) -> PassResult {
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
