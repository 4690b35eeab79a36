//! Observing: everything here reads, nothing commands.

pub mod counter;
pub mod host;
pub mod nvml;
pub mod pagemap;
mod sampler;
pub mod uvm;

pub use sampler::Sampler;

use crate::event::{Event, ProbeInfo, TraceLevel, UvmTotals, Why};
use crate::units::Stamp;

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
