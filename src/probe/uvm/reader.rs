//! What the reading thread does between waits: levels, draining, ticks, totals.

use super::abi::ENTRY_BYTES;
use super::decode::decode;
use super::error::UvmError;
use super::numbers::Numbers;
use super::space::Space;
use super::tracker::CounterTracker;
use super::{Record, TickFold};
use crate::event::{Counters, TraceLevel, UvmEvents, UvmTotals};
use crate::probe::SpaceId;
use std::os::fd::OwnedFd;

/// Senseless entries in a row of checks that prove another interface: this many, and one in a hundred.
const SENSELESS: u64 = 100;

/// Events that no driver loses between two looks, some milliseconds apart.
const IMPOSSIBLE: u64 = 1 << 32;

/// The trackers of the address spaces that are watched, and what they have told together.
#[derive(Debug)]
pub struct Reader {
    spaces: Vec<(SpaceId, Space)>,
    /// Whether address spaces come and go, so that none is no error.
    awaits: bool,
    next: u32,
    level: TraceLevel,
    fold: TickFold,
    counted: Counters,
    seen: Seen,
    numbers: Numbers,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    entries: u64,
    malformed: u64,
}

impl Reader {
    /// Reads nothing yet; level off.
    pub fn detached() -> Self {
        Self {
            spaces: Vec::new(),
            awaits: false,
            next: 1,
            level: TraceLevel::Off,
            fold: TickFold::default(),
            counted: Counters::default(),
            seen: Seen::default(),
            numbers: Numbers::default(),
        }
    }

    /// Reads the address space of `uvm`, whose counter page is open already; level counters.
    pub fn new(uvm: OwnedFd, counters: CounterTracker) -> Self {
        let space = Space::new(uvm, counters, None);
        Self { spaces: vec![(SpaceId(0), space)], level: TraceLevel::Counters, ..Self::detached() }
    }

    /// Reads address spaces that are added later, at the level in force then.
    pub fn awaiting() -> Self {
        Self { awaits: true, ..Self::detached() }
    }

    /// At level full over a ring that a test fills, without counters.
    #[cfg(test)]
    pub fn over(ring: super::ring::Ring) -> Self {
        Self { spaces: vec![(SpaceId(0), Space::over(ring))], level: TraceLevel::Full, ..Self::detached() }
    }

    /// Numbers GPUs as the session does: the first of `uuids` is GPU 0.
    pub fn name_gpus(&mut self, uuids: Vec<String>) {
        self.numbers.name(uuids);
        self.learn_gpus();
    }

    /// The GPUs that the session named.
    pub fn names(&self) -> Vec<String> {
        self.numbers.named().to_vec()
    }

    /// Asks the driver anew which GPU has which index: an address space knows a GPU only from its first use on.
    pub fn learn_gpus(&mut self) {
        let table = self.spaces.iter().find_map(|(_, space)| space.gpus()).unwrap_or_default();
        self.numbers.learn(&table);
    }

    /// Level in force.
    pub fn level(&self) -> TraceLevel {
        self.level
    }

    /// Whether nothing is watched now.
    pub fn idle(&self) -> bool {
        self.awaits && self.spaces.is_empty()
    }

    /// Watches one more address space at the level in force. The second part of the answer says why, if the level had to
    /// be lowered for that.
    pub fn add(&mut self, uvm: OwnedFd, counters: CounterTracker, pid: u32) -> (SpaceId, Result<(), UvmError>) {
        let id = SpaceId(self.next);
        self.next += 1;
        self.spaces.push((id, Space::new(uvm, counters, Some(pid))));
        (id, self.set_level(self.level))
    }

    /// Closes the trackers of an address space, and our file of it.
    pub fn remove(&mut self, id: SpaceId) {
        self.spaces.retain(|(space, _)| *space != id);
    }

    /// Goes to a level, or to the best one below it that every address space can have, with the error that kept it from
    /// more.
    pub fn set_level(&mut self, wanted: TraceLevel) -> Result<(), UvmError> {
        let reached = self.reach(wanted);
        self.level = match &reached {
            Ok(()) => wanted,
            Err(_) if !self.spaces.is_empty() && self.spaces.iter().all(|(_, space)| space.counters.is_some()) => {
                TraceLevel::Counters
            }
            Err(_) => TraceLevel::Off,
        };
        if self.level < TraceLevel::Faults {
            // What was seen speaks of these queues only: the next ones are judged anew.
            self.seen = Seen::default();
        }
        self.spaces.iter_mut().for_each(|(_, space)| space.shed(self.level));
        self.fold.set_level(self.level);
        self.learn_gpus();
        reached
    }

    fn reach(&mut self, wanted: TraceLevel) -> Result<(), UvmError> {
        if self.spaces.is_empty() && !self.awaits && wanted > TraceLevel::Off {
            return Err(UvmError::NotInitialised);
        }
        self.spaces.iter_mut().try_for_each(|(_, space)| space.reach(wanted))
    }

    /// Entries of the smallest queue, if one had to be made smaller than wished.
    pub fn shrunk_to(&self) -> Option<usize> {
        self.spaces.iter().filter_map(|(_, space)| space.queue.as_ref()?.shrunk_to).min()
    }

    /// Makes the driver deliver what has happened so far.
    pub fn flush(&self) -> Result<(), UvmError> {
        if self.level == TraceLevel::Off {
            return Ok(());
        }
        self.spaces.iter().try_for_each(|(_, space)| space.flush())
    }

    /// Folds everything that the queues hold.
    pub fn drain(&mut self) {
        let (fold, seen, numbers) = (&mut self.fold, &mut self.seen, &self.numbers);
        for (_, space) in &mut self.spaces {
            let Some(queue) = &mut space.queue else { continue };
            let pid = space.pid;
            queue.ring.drain(|entry| take(fold, seen, numbers, pid, entry));
            queue.ring.dropped(|kind, lost| match lost {
                0..IMPOSSIBLE => fold.lost(kind, lost),
                _ => {
                    // No driver loses so many between two looks: the page is laid out in another way.
                    seen.malformed += SENSELESS;
                    fold.malformed();
                }
            });
        }
    }

    /// Whether so many entries made no sense that the driver's interface must be another one.
    pub fn senseless(&self) -> Option<UvmError> {
        let Seen { entries, malformed } = self.seen;
        (malformed >= SENSELESS && malformed * 100 >= entries)
            .then(|| UvmError::OtherInterface(format!("{malformed} of {entries} events made no sense")))
    }

    /// Ends the window. The counters are those of all address spaces together; `None` without any.
    pub fn take(&mut self) -> (Option<Counters>, Option<UvmEvents>) {
        let differences = self.spaces.iter_mut().filter_map(|(_, space)| space.counters.as_mut());
        let counters = differences.map(CounterTracker::difference).reduce(sum);
        self.counted = sum(self.counted, counters.unwrap_or_default());
        (counters, self.fold.take())
    }

    /// Sums since the reader began, up to the last [`Reader::take`]; `None` at level off.
    pub fn totals(&self) -> Option<UvmTotals> {
        (self.level > TraceLevel::Off).then(|| UvmTotals {
            counters: self.counted,
            events: (self.level >= TraceLevel::Faults).then(|| self.fold.totals()),
        })
    }
}

fn sum(a: Counters, b: Counters) -> Counters {
    Counters {
        bytes_htod: a.bytes_htod + b.bytes_htod,
        bytes_dtoh: a.bytes_dtoh + b.bytes_dtoh,
        cpu_faults: a.cpu_faults + b.cpu_faults,
        gpu_faults: a.gpu_faults + b.gpu_faults,
    }
}

/// Decodes an entry and folds it; `owner` is the process where that is not our own.
pub(super) fn take(
    fold: &mut TickFold,
    seen: &mut Seen,
    numbers: &Numbers,
    owner: Option<u32>,
    entry: &[u8; ENTRY_BYTES],
) {
    seen.entries += 1;
    match decode(entry, numbers).filter(Record::plausible) {
        Some(record) => {
            // Of our own process the sites are known. The driver numbers processes as the outermost namespace does; what
            // is looked up later is in ours.
            if let (Record::CpuFault { tid, pc, .. }, Some(owner)) = (&record, owner) {
                fold.cpu_site(owner, *tid, *pc);
            }
            fold.add(&record);
        }
        None => {
            seen.malformed += 1;
            fold.malformed();
        }
    }
}

#[cfg(test)]
mod tests;
