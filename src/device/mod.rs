//! Commanding a device: allocate, advise, move, touch. Observing it is the business of [`crate::probe`].
//!
//! One worker thread owns the device. Every call that does work returns when the work is done, with its measured span.

pub mod cuda;
mod error;
mod host_memory;
mod survey;
mod touch;

pub use error::{DeviceError, Recovery};
pub use host_memory::host_available;
pub use survey::{GpuSurvey, Survey};
pub use touch::{Access, Affine, Expect, Pattern, Touch, permute};

use crate::event::{Advice, Caps, Check, MemoryKind, Proc};
use crate::units::{Bytes, Nanos, Stamp};

/// A piece of memory that both sides can work on, whatever its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Handle, unique within the device.
    pub id: u32,
    /// First byte as the GPU sees it; for managed memory the one address of both sides.
    pub address: u64,
    /// Length as asked for.
    pub bytes: Bytes,
    /// Kind of memory.
    pub kind: MemoryKind,
}

/// Time that a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Just before the first driver call.
    pub begin: Stamp,
    /// Just after the synchronisation returned.
    pub end: Stamp,
    /// Time between CUDA events around the work, on the GPU's clock; `None` if the GPU had no part.
    pub gpu: Option<Nanos>,
}

impl Span {
    /// Host time.
    pub fn host(&self) -> Nanos {
        self.end.since(self.begin)
    }
}

/// What a touch gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// How long it took.
    pub span: Span,
    /// Result of the check, for a CPU read with an expectation.
    pub check: Option<Check>,
}

/// How data gets to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// An explicit copy between the host part and the device part (explicit and pageable memory).
    Copy,
    /// A prefetch (managed memory).
    Prefetch,
}

/// Memory that can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFree {
    /// Free memory of the card.
    pub vram_free: Bytes,
    /// All memory of the card.
    pub vram_total: Bytes,
    /// What the host can still give: the lower of `MemAvailable` and the cgroup's rest.
    pub host_available: Bytes,
}

/// A device that can be commanded.
pub trait Device: Send {
    /// What it can do. Constant.
    fn caps(&self) -> &Caps;

    /// The present moment on the session's clock.
    fn now(&self) -> Stamp;

    /// Memory that can be had now.
    fn memory(&mut self) -> Result<MemoryFree, DeviceError>;

    /// Allocates. The caller has checked the footprint against [`Device::memory`].
    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError>;

    /// Gives memory back. Unknown buffers are an error.
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError>;

    /// Sets or unsets advice over the whole (managed) buffer, for the workload's GPU.
    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError>;

    /// Moves the whole buffer to a side and waits for it.
    fn transfer(&mut self, buffer: Buffer, how: Transfer, to: Proc) -> Result<Span, DeviceError>;

    /// Touches the buffer from a side and waits for it: a kernel on a GPU, a loop on the CPU.
    /// On the CPU, memory kinds with two parts touch the host part.
    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError>;

    /// After an error that [`DeviceError::sticky`] calls sticky: resets the primary context and verifies it with a
    /// known kernel. All buffers are gone afterwards.
    fn recover(&mut self) -> Result<Recovery, DeviceError>;
}
