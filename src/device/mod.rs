//! Commanding a device: allocate, advise, move, touch. Observing it is the business of [`crate::probe`].
//!
//! One worker thread owns the device. Every call that does work returns when the work is done, with its measured span.

pub mod cuda;
mod error;
mod faulty;
mod host_memory;
mod survey;
mod touch;
mod watchdog;

pub use error::{DeviceError, Recovery};
pub use faulty::{Faulty, Rule, ScriptError};
pub use host_memory::host_available;
pub use survey::{GpuSurvey, Survey};
pub use touch::{Access, Affine, Expect, Pattern, Touch, permute};
pub use watchdog::{DRIVER_HANGS, Overdue, SOURCE as WATCHDOG, STILL_SIMULATES, Watchdog};

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

/// Size of an element: `u32`.
pub const ELEMENT: u64 = 4;

/// A range of elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First element.
    pub first: u64,
    /// How many.
    pub elements: u64,
}

impl Buffer {
    /// Number of whole elements.
    pub fn elements(&self) -> u64 {
        self.bytes.0 / ELEMENT
    }

    /// All of it.
    pub fn whole(&self) -> Part {
        Part { first: 0, elements: self.elements() }
    }

    /// An error unless the part has elements and lies within the buffer.
    pub fn has(&self, part: Part) -> Result<(), DeviceError> {
        let end = part.first.checked_add(part.elements);
        if part.elements == 0 || end.is_none_or(|end| end > self.elements()) {
            let Part { first, elements } = part;
            return Err(DeviceError::Misuse(format!("elements {first}+{elements} are not within {}", self.bytes)));
        }
        Ok(())
    }
}

/// One piece of work in a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// As [`Device::transfer`].
    Transfer {
        /// What moves.
        buffer: Buffer,
        /// Which part of it.
        part: Part,
        /// How.
        how: Transfer,
        /// Where to.
        to: Proc,
    },
    /// As [`Device::touch`].
    Touch {
        /// What is touched.
        buffer: Buffer,
        /// By whom.
        on: Proc,
        /// How.
        touch: Touch,
    },
}

/// Work that runs one after the other. A lane of touches by the CPU is a host thread's; any other is a stream of a GPU.
pub type Lane = Vec<Op>;

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

/// What a touch, or lanes that ran at the same time, gave.
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

    /// Sets or unsets advice over the whole (managed) buffer, for the GPU that it names ([`Advice::gpu`]).
    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError>;

    /// Moves a part of the buffer to a side and waits for it.
    fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError>;

    /// Touches the buffer from a side and waits for it: a kernel on a GPU, a loop on the CPU.
    /// On the CPU, memory kinds with two parts touch the host part.
    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError>;

    /// Runs lanes at the same time and waits for all of them. At most one lane is the CPU's. The check is of the CPU's
    /// reads; reads by a GPU are not checked here.
    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError>;

    /// After an error that [`DeviceError::sticky`] calls sticky: resets the primary context and verifies it with a
    /// known kernel. All buffers are gone afterwards.
    fn recover(&mut self) -> Result<Recovery, DeviceError>;
}
