//! The simulated machine as a whole.

mod driver;
mod memory;
mod properties;

use super::*;
use crate::device::{Access, Affine, Buffer, Device, Expect, Pattern, Span, Touch};
use crate::event::{Counters, EventTotals, Migrated};
use crate::event::{MemoryKind, Proc, TraceLevel, UvmTotals};
use crate::probe::Tracer;
use crate::units::Bytes;

pub const GPU: Proc = Proc::Gpu(0);

/// A machine with one buffer.
pub struct Bench {
    pub sim: Simulation,
    pub buffer: Buffer,
    before: UvmTotals,
}

impl Bench {
    pub fn new(kind: MemoryKind, bytes: Bytes, level: TraceLevel) -> Self {
        Self::with(open("h200").unwrap(), kind, bytes, level)
    }

    /// On cards of so little memory that blocks are evicted.
    pub fn cramped(name: &str, vram_mib: u64, bytes: Bytes) -> Self {
        let mut profile = profile::Profile::bundled(name).unwrap();
        (profile.gpu.vram_mib, profile.gpu.reserved_mib) = (vram_mib, 0);
        Self::with(assemble("cramped", profile, Params::default()), MemoryKind::Managed, bytes, TraceLevel::Full)
    }

    /// On two GPUs that reach each other only by way of the host.
    pub fn unlinked(bytes: Bytes) -> Self {
        let mut profile = profile::Profile::bundled("h200-x2").unwrap();
        profile.peer = None;
        Self::with(assemble("unlinked", profile, Params::default()), MemoryKind::Managed, bytes, TraceLevel::Full)
    }

    /// On a machine where a buffer of `before` bytes came first.
    pub fn beside(name: &str, before: Bytes, bytes: Bytes) -> Self {
        let mut sim = open(name).unwrap();
        sim.device.alloc(MemoryKind::Managed, before).unwrap();
        Self::with(sim, MemoryKind::Managed, bytes, TraceLevel::Full)
    }

    /// On a bundled machine with some parameters set.
    pub fn set(name: &str, params: &[&str], bytes: Bytes) -> Self {
        let params: Vec<String> = params.iter().map(|text| (*text).to_owned()).collect();
        Self::with(open_with(name, &params).unwrap(), MemoryKind::Managed, bytes, TraceLevel::Full)
    }

    fn with(mut sim: Simulation, kind: MemoryKind, bytes: Bytes, level: TraceLevel) -> Self {
        sim.tracer.set_level(level);
        let buffer = sim.device.alloc(kind, bytes).unwrap();
        Self { sim, buffer, before: UvmTotals::default() }
    }

    pub fn managed(mib: u64) -> Self {
        Self::new(MemoryKind::Managed, Bytes::mib(mib), TraceLevel::Full)
    }

    pub fn touch(&mut self, on: Proc, access: Access, pattern: Pattern, count: u64) -> Span {
        let all = self.buffer.bytes.0 / 4;
        let elements = match pattern {
            Pattern::Strided { stride_bytes } => all - all % (stride_bytes / 4),
            _ => all,
        };
        let count = count.min(elements);
        let value = Affine { mul: 1, add: 1 };
        let expect = Expect { touched: value, untouched: value, count };
        let touch =
            Touch { access, pattern, first: 0, elements, count, value, work: 1, expect: Some(expect), addends: None };
        self.sim.device.touch(self.buffer, on, &touch).unwrap().span
    }

    /// Touches every element in order.
    pub fn sweep(&mut self, on: Proc, access: Access) -> Span {
        self.touch(on, access, Pattern::Sequential, self.buffer.bytes.0 / 4)
    }

    /// Totals since the last call.
    pub fn since(&mut self) -> (Counters, EventTotals) {
        let now = self.sim.tracer.settle().unwrap();
        let before = std::mem::replace(&mut self.before, now.clone());
        let (a, b) = (now.counters, before.counters);
        let counters = Counters {
            bytes_htod: a.bytes_htod - b.bytes_htod,
            bytes_dtoh: a.bytes_dtoh - b.bytes_dtoh,
            cpu_faults: a.cpu_faults - b.cpu_faults,
            gpu_faults: a.gpu_faults - b.gpu_faults,
        };
        let (mut events, before) = (now.events.unwrap_or_default(), before.events.unwrap_or_default());
        events.gpu_faults_raw -= before.gpu_faults_raw;
        events.batches -= before.batches;
        events.thrashing -= before.thrashing;
        events.throttled -= before.throttled;
        events.remote_maps -= before.remote_maps;
        for row in events.migrated.iter_mut().flatten() {
            let same = |m: &&Migrated| (m.src, m.dst, m.cause) == (row.src, row.dst, row.cause);
            if let Some(old) = before.migrated.iter().flatten().find(same) {
                row.bytes -= old.bytes;
                row.copies -= old.copies;
            }
        }
        (counters, events)
    }
}
