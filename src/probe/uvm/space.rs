//! One address space with its trackers.

use super::abi::event;
use super::error::UvmError;
use super::tracker::{CounterTracker, QueueTracker, flush, gpu_uuids};
use crate::event::TraceLevel;
use std::os::fd::{AsFd, OwnedFd};

/// Both trackers of one address space.
#[derive(Debug)]
pub struct Space {
    // Trackers go before the UVM file that they watch.
    pub counters: Option<CounterTracker>,
    pub queue: Option<QueueTracker>,
    uvm: Option<OwnedFd>,
    /// The process that it belongs to, as /proc here numbers it; `None` for our own.
    pub pid: Option<u32>,
}

impl Space {
    /// The address space of `uvm`, whose counter page is open already.
    pub fn new(uvm: OwnedFd, counters: CounterTracker, pid: Option<u32>) -> Self {
        Self { uvm: Some(uvm), counters: Some(counters), queue: None, pid }
    }

    /// A ring that a test fills, without a UVM file and without counters.
    #[cfg(test)]
    pub fn over(ring: super::ring::Ring) -> Self {
        Self { uvm: None, counters: None, queue: Some(QueueTracker::over(ring)), pid: Some(7) }
    }

    /// UUIDs of the GPUs that it knows, by the driver's index less 1; `None` without a file.
    pub fn gpus(&self) -> Option<Vec<Option<String>>> {
        self.uvm.as_ref().map(|uvm| gpu_uuids(uvm.as_fd()))
    }

    /// Opens what a level needs. What a lower one does not need is left: see [`Space::shed`].
    pub fn reach(&mut self, level: TraceLevel) -> Result<(), UvmError> {
        if level == TraceLevel::Off {
            return Ok(());
        }
        let uvm = self.uvm.as_ref().ok_or(UvmError::NotInitialised)?.as_fd();
        if self.counters.is_none() {
            self.counters = Some(CounterTracker::open(uvm)?);
        }
        if level < TraceLevel::Faults {
            return Ok(());
        }
        let queue = match &mut self.queue {
            Some(queue) => queue,
            None => self.queue.insert(QueueTracker::open(uvm)?),
        };
        queue.select(events_of(level))
    }

    /// Closes what a level does not need.
    pub fn shed(&mut self, level: TraceLevel) {
        if level < TraceLevel::Faults {
            self.queue = None;
        }
        if level == TraceLevel::Off {
            self.counters = None;
        }
    }

    /// Makes the driver deliver what has happened so far.
    pub fn flush(&self) -> Result<(), UvmError> {
        self.uvm.as_ref().map_or(Ok(()), |uvm| flush(uvm.as_fd()))
    }
}

/// The events that a level needs. Migrations and read duplication are what makes level full costly.
fn events_of(level: TraceLevel) -> u64 {
    let mask = |types: &[u8]| types.iter().fold(0u64, |mask, kind| mask | 1 << kind);
    let faults = mask(&[
        event::CPU_FAULT,
        event::GPU_FAULT,
        event::REPLAY,
        event::FATAL,
        event::THRASHING,
        event::THROTTLE_START,
        event::THROTTLE_END,
        event::REMOTE_MAP,
    ]);
    match level {
        TraceLevel::Off | TraceLevel::Counters => 0,
        TraceLevel::Faults => faults,
        TraceLevel::Full => faults | mask(&[event::MIGRATION, event::READ_DUPLICATE, event::READ_INVALIDATE]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_select_the_documented_events() {
        let types = |level| (0..64).filter(|n| events_of(level) >> n & 1 == 1).collect::<Vec<u32>>();
        assert!(types(TraceLevel::Counters).is_empty());
        assert_eq!(types(TraceLevel::Faults), [1, 3, 4, 6, 10, 11, 12, 13]);
        assert_eq!(types(TraceLevel::Full), [1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13]);
    }
}
