//! What the UVM driver tells, folded into windows.

use super::{BetweenGpus, TraceLevel};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proc {
    /// The host.
    Cpu,
    /// A GPU. The session's own is 0, the second that a workload uses 1; in a watched process as the driver numbers them.
    Gpu(u16),
}

impl Proc {
    /// The name used in exports: `cpu`, `gpu0`.
    pub fn name(self) -> String {
        match self {
            Proc::Cpu => "cpu".to_owned(),
            Proc::Gpu(n) => format!("gpu{n}"),
        }
    }
}

impl fmt::Display for Proc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proc::Cpu => f.write_str("CPU"),
            Proc::Gpu(n) => write!(f, "GPU {n}"),
        }
    }
}

/// Why bytes migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The program asked (prefetch, advice).
    User,
    /// A page fault.
    Fault,
    /// The driver's own prefetcher, around a fault.
    Prefetch,
    /// Made room.
    Eviction,
    /// The GPU's access counters.
    AccessCounters,
    /// A code that this version does not know.
    Unknown,
}

impl Cause {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::User => "user",
            Cause::Fault => "fault",
            Cause::Prefetch => "prefetch",
            Cause::Eviction => "eviction",
            Cause::AccessCounters => "access_counters",
            Cause::Unknown => "unknown",
        }
    }
}

/// Why a page was mapped remotely instead of migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteCause {
    /// Coherence.
    Coherence,
    /// Thrashing mitigation.
    Thrashing,
    /// Advice.
    Policy,
    /// Out of memory.
    OutOfMemory,
    /// Eviction.
    Eviction,
    /// A code that this version does not know.
    Unknown,
}

/// What a faulting access wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessType {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Atomic.
    Atomic,
    /// Prefetch instruction.
    Prefetch,
    /// A code that this version does not know.
    Unknown,
}

/// Differences of the driver's counter page: exact, whatever the event queue loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes host to device.
    pub bytes_htod: u64,
    /// Bytes device to host.
    pub bytes_dtoh: u64,
    /// CPU page faults.
    pub cpu_faults: u64,
    /// GPU page faults after the driver's de-duplication.
    pub gpu_faults: u64,
}

/// Migrations of one kind within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// From.
    pub src: Proc,
    /// To.
    pub dst: Proc,
    /// Why.
    pub cause: Cause,
    /// How much.
    pub bytes: u64,
    /// In how many copies.
    pub copies: u64,
}

/// What happened in one 2 MiB block within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockActivity {
    /// Address divided by 2 MiB.
    pub block: u64,
    /// Raw GPU faults.
    #[serde(default, skip_serializing_if = "zero")]
    pub gpu_faults: u32,
    /// CPU faults.
    #[serde(default, skip_serializing_if = "zero")]
    pub cpu_faults: u32,
    /// Pages of 4 KiB migrated to a GPU (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub to_gpu_pages: u32,
    /// Pages of 4 KiB migrated to the CPU (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub to_cpu_pages: u32,
    /// Thrashing, throttling and remote-map events.
    #[serde(default, skip_serializing_if = "zero")]
    pub thrash: u32,
    /// Remote mappings made, also counted in `thrash`. Recordings of before this was told have 0 in this and in all below.
    #[serde(default, skip_serializing_if = "zero")]
    pub remote_maps: u32,
    /// Pages migrated because of a fault (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub by_fault: u32,
    /// Pages migrated by the driver's own prefetcher (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub by_prefetch: u32,
    /// Pages migrated because the program asked (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub by_user: u32,
    /// Pages migrated to make room (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub by_eviction: u32,
    /// Pages that came to live on both sides (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub duplicated: u32,
    /// Pages whose other copies went because one side wrote (level full).
    #[serde(default, skip_serializing_if = "zero")]
    pub invalidated: u32,
    /// Where its pages went last (level full). Told from the first record of another GPU than 0 on, so that it is not in
    /// recordings of one GPU, nor in those of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastMove>,
    /// GPUs that faulted: bit n for GPU n below 32. Told as `last` is, else 0.
    #[serde(default, skip_serializing_if = "zero")]
    pub faulted_by: u32,
}

/// The last copies of a block in a window that all went to one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMove {
    /// From; `None` if from several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Proc>,
    /// To.
    pub dst: Proc,
    /// Pages of 4 KiB.
    pub pages: u32,
}

/// CPU faults of one instruction in one thread of a watched process within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSite {
    /// Process, as /proc numbers it.
    pub pid: u32,
    /// Thread, as the driver numbers it: in a container that need not be /proc's number.
    pub tid: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Faults.
    pub faults: u64,
}

fn zero(n: &u32) -> bool {
    *n == 0
}

fn none(n: &u64) -> bool {
    *n == 0
}

/// One window (10 ms unless nothing happened) of what the driver told. What the level does not give is `None` or empty,
/// and `level` says which that is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UvmTick {
    /// Length of the window, which ends at the event's stamp.
    pub window: Nanos,
    /// Level in force.
    pub level: TraceLevel,
    /// From the counter page.
    pub counters: Option<Counters>,
    /// From the event queue: level faults and up.
    pub events: Option<Box<UvmEvents>>,
}

impl UvmTick {
    /// Whether the driver had nothing to tell.
    pub fn quiet(&self) -> bool {
        let nothing = self.events.as_ref().is_none_or(|events| **events == UvmEvents::default());
        nothing && self.counters.unwrap_or_default() == Counters::default()
    }
}

/// Sums over the queue's events within a window. Distributions are `(value, count)` pairs, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UvmEvents {
    /// Raw GPU fault records, duplicates included, by access type.
    pub gpu_faults: Vec<(AccessType, u64)>,
    /// CPU fault records.
    pub cpu_faults: u64,
    /// Batches that held a fault of ours.
    pub batches: u64,
    /// Raw faults of ours per batch.
    pub batch_faults: Vec<(u64, u64)>,
    /// From the earliest fault of ours in a batch to its replay, GPU clock, ns, two significant digits.
    pub batch_latency_ns: Vec<(u64, u64)>,
    /// Migrations by direction and cause (level full).
    pub migrated: Vec<Migrated>,
    /// Bytes per copy (level full).
    pub copy_bytes: Vec<(u64, u64)>,
    /// Thrashing detected.
    pub thrashing: u64,
    /// Throttling periods begun.
    pub throttled: u64,
    /// Remote mappings made, by cause.
    pub remote_maps: Vec<(RemoteCause, u64)>,
    /// Read duplications (level full).
    pub read_duplicates: u64,
    /// Read duplicates invalidated (level full).
    pub read_invalidates: u64,
    /// Faults that killed a context.
    pub fatal: u64,
    /// Per 2 MiB block.
    pub blocks: Vec<BlockActivity>,
    /// Events that the full ring lost, by event type number.
    pub lost: Vec<(u8, u64)>,
    /// Entries that made no sense (unknown type or processor).
    pub malformed: u64,
    /// Where a watched process faults on the CPU, most frequent first, at most 32; empty for our own workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_sites: Vec<CpuSite>,
    /// CPU faults of a watched process at other sites.
    #[serde(skip_serializing_if = "none")]
    pub cpu_sites_elsewhere: u64,
}

/// Running totals of everything above, or the difference of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UvmTotals {
    /// The counter page.
    pub counters: Counters,
    /// The queue's events; `None` below level faults.
    pub events: Option<EventTotals>,
}

impl UvmTotals {
    /// Bytes between the workload's two GPUs; `None` below level full: no counter has them.
    pub fn between_gpus(&self) -> Option<BetweenGpus<u64>> {
        let migrated = self.events.as_ref()?.migrated.as_ref()?;
        let way = |from, to| {
            let same = migrated.iter().filter(|m| (m.src, m.dst) == (Proc::Gpu(from), Proc::Gpu(to)));
            same.map(|m| m.bytes).sum()
        };
        Some(BetweenGpus { gpu0_to_gpu1: way(0, 1), gpu1_to_gpu0: way(1, 0) })
    }
}

/// Totals of the queue's events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventTotals {
    /// Raw GPU fault records.
    pub gpu_faults_raw: u64,
    /// Batches that held a fault of ours.
    pub batches: u64,
    /// Thrashing events.
    pub thrashing: u64,
    /// Throttling periods.
    pub throttled: u64,
    /// Remote mappings.
    pub remote_maps: u64,
    /// Migrations by direction and cause; `None` below level full.
    pub migrated: Option<Vec<Migrated>>,
    /// Events lost.
    pub lost: u64,
}
