//! One event of the driver's queue, decoded.

use super::abi::event;
use crate::event::{AccessType, Cause, Proc, RemoteCause};

/// A decoded event. `time` is raw `CLOCK_MONOTONIC_RAW` ns (virtual ns in the simulator), `gpu_time` the GPU's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The CPU faulted.
    CpuFault {
        /// What it wanted.
        access: AccessType,
        /// Where.
        address: u64,
        /// When.
        time: u64,
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// Program counter of the access.
        pc: u64,
    },
    /// Bytes moved.
    Migration {
        /// Why.
        cause: Cause,
        /// From.
        src: Proc,
        /// To.
        dst: Proc,
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
        /// Host clock at the end.
        time: u64,
        /// GPU clock at the beginning.
        gpu_begin: u64,
        /// GPU clock at the end.
        gpu_end: u64,
    },
    /// The GPU faulted; one raw record, duplicates included.
    GpuFault {
        /// What it wanted.
        access: AccessType,
        /// Which GPU.
        gpu: Proc,
        /// Graphics processing cluster.
        gpc: u16,
        /// Where.
        address: u64,
        /// When.
        time: u64,
        /// When, on the GPU's clock.
        gpu_time: u64,
        /// Number of the batch that serviced it.
        batch: u32,
    },
    /// A batch was replayed. Broadcast to every process on the GPU.
    Replay {
        /// Which GPU.
        gpu: Proc,
        /// Number of the batch.
        batch: u32,
        /// When.
        time: u64,
        /// When, on the GPU's clock.
        gpu_time: u64,
    },
    /// A fault that killed the context.
    Fatal {
        /// Whose.
        processor: Proc,
        /// Where.
        address: u64,
        /// When.
        time: u64,
    },
    /// A page was duplicated for reading.
    ReadDuplicate {
        /// Where.
        address: u64,
        /// Length.
        bytes: u64,
        /// When.
        time: u64,
    },
    /// Duplicates were dropped because of a write.
    ReadInvalidate {
        /// Where.
        address: u64,
        /// Length.
        bytes: u64,
        /// When.
        time: u64,
    },
    /// Thrashing was detected.
    Thrashing {
        /// Where.
        address: u64,
        /// Length.
        bytes: u64,
        /// When.
        time: u64,
    },
    /// A processor is made to wait for a thrashing page.
    ThrottleStart {
        /// Which.
        processor: Proc,
        /// Where.
        address: u64,
        /// When.
        time: u64,
    },
    /// It need not wait any more.
    ThrottleEnd {
        /// Which.
        processor: Proc,
        /// Where.
        address: u64,
        /// When.
        time: u64,
    },
    /// A page was mapped remotely instead of migrated.
    RemoteMap {
        /// Who maps.
        src: Proc,
        /// Where it stays.
        dst: Proc,
        /// Why.
        cause: RemoteCause,
        /// Where.
        address: u64,
        /// Length.
        bytes: u64,
        /// When.
        time: u64,
    },
}

/// Longest copy that is believed: the driver's stay within a block of 2 MiB.
const MAX_BYTES: u64 = 1 << 30;
/// No address of either side lies beyond (57 bits, 5-level page tables).
const ADDRESS_END: u64 = 1 << 57;

impl Record {
    /// The driver's number of its type, by which losses are counted.
    pub fn event_type(&self) -> u8 {
        match self {
            Record::CpuFault { .. } => event::CPU_FAULT,
            Record::Migration { .. } => event::MIGRATION,
            Record::GpuFault { .. } => event::GPU_FAULT,
            Record::Replay { .. } => event::REPLAY,
            Record::Fatal { .. } => event::FATAL,
            Record::ReadDuplicate { .. } => event::READ_DUPLICATE,
            Record::ReadInvalidate { .. } => event::READ_INVALIDATE,
            Record::Thrashing { .. } => event::THRASHING,
            Record::ThrottleStart { .. } => event::THROTTLE_START,
            Record::ThrottleEnd { .. } => event::THROTTLE_END,
            Record::RemoteMap { .. } => event::REMOTE_MAP,
        }
    }

    /// Whether the numbers can be: what an entry of another layout holds is mostly none of these.
    pub fn plausible(&self) -> bool {
        let (address, bytes) = match *self {
            Record::CpuFault { address, .. }
            | Record::GpuFault { address, .. }
            | Record::Fatal { address, .. }
            | Record::ThrottleStart { address, .. }
            | Record::ThrottleEnd { address, .. } => (address, 0),
            Record::Migration { address, bytes, .. }
            | Record::ReadDuplicate { address, bytes, .. }
            | Record::ReadInvalidate { address, bytes, .. }
            | Record::Thrashing { address, bytes, .. }
            | Record::RemoteMap { address, bytes, .. } => (address, bytes),
            Record::Replay { .. } => return true,
        };
        address < ADDRESS_END && bytes <= MAX_BYTES
    }
}
