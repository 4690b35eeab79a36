//! Buffers that are alive: what they hold and which advice is in force on them.

use crate::device::{Buffer, Device, DeviceError};
use crate::event::{Advice, Counters, EventTotals, MemoryKind, Migrated, UvmTotals};
use crate::workload::{Observe, PassError, PassResult, Plan, Runner};

pub(super) struct Lane {
    runner: Runner,
    advice: Advice,
    /// Whether the footprint was more than the card had free: then the driver evicts, and what moves is not known.
    pub(super) crowded: bool,
}

impl Lane {
    pub(super) fn new(buffers: Vec<Buffer>) -> Self {
        Self { runner: Runner::new(buffers), advice: Advice::None, crowded: false }
    }

    pub(super) fn buffers(&self) -> Vec<Buffer> {
        self.runner.buffers().collect()
    }

    /// Whether a pass has begun over the buffer.
    pub(super) fn used(&self) -> bool {
        self.runner.used()
    }

    /// Whether a plan can run over these buffers: hints may differ, memory may not.
    pub(super) fn fits(&self, plan: &Plan) -> bool {
        let (kind, bytes) = (plan.settings.memory, plan.buffer_bytes);
        let mut number = 0;
        let alike = self.runner.buffers().inspect(|_| number += 1).all(|b| b.kind == kind && b.bytes == bytes);
        alike && number == plan.buffers
    }

    /// Whether it can, and finds them as another member of a batch with the same advice left them: what advice did to the
    /// mappings outlives it, so members with different advice must not share buffers.
    pub(super) fn fits_exactly(&self, plan: &Plan) -> bool {
        self.fits(plan) && self.advice == plan.settings.advice
    }

    /// Puts advice in force; leaving one unsets it.
    pub(super) fn advise(&mut self, device: &mut dyn Device, advice: Advice) -> Result<(), DeviceError> {
        let buffers = self.buffers();
        if self.advice == advice || buffers.iter().any(|b| b.kind != MemoryKind::Managed) {
            return Ok(());
        }
        if self.advice != Advice::None {
            buffers.iter().try_for_each(|buffer| device.advise(*buffer, self.advice, false))?;
        }
        self.advice = Advice::None;
        if advice != Advice::None {
            buffers.iter().try_for_each(|buffer| device.advise(*buffer, advice, true))?;
        }
        self.advice = advice;
        Ok(())
    }

    pub(super) fn pass(
        &mut self,
        device: &mut dyn Device,
        plan: &Plan,
        observe: &mut Observe<'_>,
    ) -> Result<PassResult, PassError> {
        self.runner.pass(device, plan, observe)
    }
}

/// What happened between two readings of the running totals.
pub(super) fn totals_between(before: &UvmTotals, after: &UvmTotals) -> UvmTotals {
    let (a, b) = (&before.counters, &after.counters);
    let counters = Counters {
        bytes_htod: b.bytes_htod.saturating_sub(a.bytes_htod),
        bytes_dtoh: b.bytes_dtoh.saturating_sub(a.bytes_dtoh),
        cpu_faults: b.cpu_faults.saturating_sub(a.cpu_faults),
        gpu_faults: b.gpu_faults.saturating_sub(a.gpu_faults),
    };
    let events = before.events.as_ref().zip(after.events.as_ref()).map(|(a, b)| EventTotals {
        gpu_faults_raw: b.gpu_faults_raw.saturating_sub(a.gpu_faults_raw),
        batches: b.batches.saturating_sub(a.batches),
        thrashing: b.thrashing.saturating_sub(a.thrashing),
        throttled: b.throttled.saturating_sub(a.throttled),
        remote_maps: b.remote_maps.saturating_sub(a.remote_maps),
        migrated: b.migrated.as_ref().map(|b| migrated_between(a.migrated.as_deref().unwrap_or_default(), b)),
        lost: b.lost.saturating_sub(a.lost),
    });
    UvmTotals { counters, events }
}

fn migrated_between(before: &[Migrated], after: &[Migrated]) -> Vec<Migrated> {
    let same = |a: &Migrated, b: &Migrated| (a.src, a.dst, a.cause) == (b.src, b.dst, b.cause);
    let mut moved: Vec<Migrated> = after
        .iter()
        .map(|b| {
            let earlier = before.iter().find(|a| same(a, b));
            let (bytes, copies) = earlier.map_or((0, 0), |a| (a.bytes, a.copies));
            Migrated { bytes: b.bytes.saturating_sub(bytes), copies: b.copies.saturating_sub(copies), ..*b }
        })
        .collect();
    moved.retain(|m| m.copies > 0);
    moved
}
