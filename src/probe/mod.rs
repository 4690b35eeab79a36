//! Observing: everything here reads, nothing commands.

pub mod counter;
pub mod host;
pub mod nvml;
pub mod pagemap;
pub mod process;
mod sampler;
pub mod symbols;
mod threads;
pub mod uvm;

pub use sampler::Sampler;

use crate::event::{Event, ProbeInfo, TraceLevel, UvmTotals, Why};
use crate::units::Stamp;
use std::os::fd::OwnedFd;

/// Where a probe's events go. Called from the probe's thread.
pub type Emit = Box<dyn FnMut(Event) + Send>;

/// Something that is read at a period. A metric that fails becomes an absent reading; nothing here may panic.
pub trait Probe: Send {
    /// What it reads, how, how often.
    fn info(&self) -> ProbeInfo;

    /// Reads once and appends what was found, stamped with `now` or with the end of its own window.
    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>);
}

/// The workload's handle on the tracing of its own memory.
pub trait Tracer: Send {
    /// Level in force.
    fn level(&self) -> TraceLevel;

    /// Asks for a level; returns the one that is in force afterwards, and why if it is a lower one.
    fn set_level(&mut self, level: TraceLevel) -> (TraceLevel, Option<Why>);

    /// Makes the driver deliver everything that has happened so far, and returns the totals since the tracer
    /// began. `None` at level off or if the tracer does not answer within its deadline.
    fn settle(&mut self) -> Option<UvmTotals>;

    /// After the context was reset: watches the new one, from zero, at the level in force.
    fn reattach(&mut self) -> Result<(), Why> {
        Ok(())
    }
}

/// An address space that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// Why an address space is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// The file is no address space, or not one yet: CUDA holds a second file that never is, and the other becomes one
    /// with the context.
    NotYet,
    /// It cannot be.
    Failed(Why),
}

/// The handle on the tracing of other processes, whose address spaces come and go. What all of them tell is one stream.
pub trait SpaceTracer: Tracer {
    /// Watches the address space of `uvm`, our duplicate of a UVM file of process `pid`, at the level in force.
    fn add(&mut self, uvm: OwnedFd, pid: u32) -> Result<SpaceId, NotAdded>;

    /// Tells what the address space has left to tell, and lets it go. Until then the driver keeps it, even if its process
    /// has ended.
    fn remove(&mut self, space: SpaceId);
}
