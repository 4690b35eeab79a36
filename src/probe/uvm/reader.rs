//! What the reading thread does between waits: levels, draining, ticks, totals.

use super::TickFold;
use super::abi::{ENTRY_BYTES, event};
use super::decode::decode;
use super::error::UvmError;
use super::tracker::{CounterTracker, QueueTracker, flush};
use crate::event::{Counters, TraceLevel, UvmEvents, UvmTotals};
use std::os::fd::{AsFd, OwnedFd};

/// Senseless entries in a row of checks that prove another interface: this many, and one in a hundred.
const SENSELESS: u64 = 100;

/// Both trackers of one address space, and what they have told.
#[derive(Debug)]
pub struct Reader {
    // Trackers go before the UVM file that they watch.
    counters: Option<CounterTracker>,
    queue: Option<QueueTracker>,
    uvm: Option<OwnedFd>,
    level: TraceLevel,
    fold: TickFold,
    counted: Counters,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    entries: u64,
    malformed: u64,
}

impl Reader {
    /// Reads nothing yet; level off.
    pub fn detached() -> Self {
        Self {
            counters: None,
            queue: None,
            uvm: None,
            level: TraceLevel::Off,
            fold: TickFold::default(),
            counted: Counters::default(),
            seen: Seen::default(),
        }
    }

    /// Reads the address space of `uvm`, whose counter page is open already; level counters.
    pub fn new(uvm: OwnedFd, counters: CounterTracker) -> Self {
        Self { uvm: Some(uvm), counters: Some(counters), level: TraceLevel::Counters, ..Self::detached() }
    }

    /// At level full over a ring that a test fills, without counters.
    #[cfg(test)]
    pub fn over(ring: super::ring::Ring) -> Self {
        Self { queue: Some(QueueTracker::over(ring)), level: TraceLevel::Full, ..Self::detached() }
    }

    /// Level in force.
    pub fn level(&self) -> TraceLevel {
        self.level
    }

    /// Goes to a level, or to the best one below it, with the error that kept it from more.
    pub fn set_level(&mut self, wanted: TraceLevel) -> Result<(), UvmError> {
        let reached = self.reach(wanted);
        self.level = match (&reached, &self.counters) {
            (Ok(()), _) => wanted,
            (Err(_), Some(_)) => TraceLevel::Counters,
            (Err(_), None) => TraceLevel::Off,
        };
        if self.level < TraceLevel::Faults {
            // What was seen speaks of this queue only: the next one is judged anew.
            (self.queue, self.seen) = (None, Seen::default());
        }
        self.fold.set_level(self.level);
        reached
    }

    fn reach(&mut self, wanted: TraceLevel) -> Result<(), UvmError> {
        if wanted == TraceLevel::Off {
            self.counters = None;
            return Ok(());
        }
        let uvm = self.uvm.as_ref().ok_or(UvmError::NotInitialised)?.as_fd();
        if self.counters.is_none() {
            self.counters = Some(CounterTracker::open(uvm)?);
        }
        if wanted < TraceLevel::Faults {
            return Ok(());
        }
        let queue = match &mut self.queue {
            Some(queue) => queue,
            None => self.queue.insert(QueueTracker::open(uvm)?),
        };
        queue.select(events_of(wanted))
    }

    /// Entries of the queue, if it had to be made smaller than wished.
    pub fn shrunk_to(&self) -> Option<usize> {
        self.queue.as_ref().and_then(|queue| queue.shrunk_to)
    }

    /// Makes the driver deliver what has happened so far.
    pub fn flush(&self) -> Result<(), UvmError> {
        match &self.uvm {
            Some(uvm) if self.level > TraceLevel::Off => flush(uvm.as_fd()),
            _ => Ok(()),
        }
    }

    /// Folds everything that the queue holds.
    pub fn drain(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        let (fold, seen) = (&mut self.fold, &mut self.seen);
        queue.ring.drain(|entry| take(fold, seen, entry));
        queue.ring.dropped(|kind, lost| fold.lost(kind, lost));
    }

    /// Whether so many entries made no sense that the driver's interface must be another one.
    pub fn senseless(&self) -> Option<UvmError> {
        let Seen { entries, malformed } = self.seen;
        (malformed >= SENSELESS && malformed * 100 >= entries)
            .then(|| UvmError::OtherInterface(format!("{malformed} of {entries} events made no sense")))
    }

    /// Ends the window.
    pub fn take(&mut self) -> (Option<Counters>, Option<UvmEvents>) {
        let counters = self.counters.as_mut().map(CounterTracker::difference);
        if let Some(now) = counters {
            self.counted.bytes_htod += now.bytes_htod;
            self.counted.bytes_dtoh += now.bytes_dtoh;
            self.counted.cpu_faults += now.cpu_faults;
            self.counted.gpu_faults += now.gpu_faults;
        }
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

fn take(fold: &mut TickFold, seen: &mut Seen, entry: &[u8; ENTRY_BYTES]) {
    seen.entries += 1;
    match decode(entry) {
        Some(record) => fold.add(&record),
        None => {
            seen.malformed += 1;
            fold.malformed();
        }
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
    use crate::probe::uvm::ring::Ring;

    #[test]
    fn a_senseless_queue_is_given_up_once() {
        let ring = Ring::new(8).unwrap();
        let driver = ring.producer();
        let mut reader = Reader::over(ring);
        let put = |n| (0..n).for_each(|_| assert!(driver.put(&[0xEE; ENTRY_BYTES])));
        put(SENSELESS - 1);
        reader.drain();
        assert!(reader.senseless().is_none());
        put(1);
        reader.drain();
        assert!(matches!(reader.senseless(), Some(UvmError::OtherInterface(_))));
        assert_eq!(reader.take().1.map(|events| events.malformed), Some(SENSELESS));
        // Without an address space there are no counters to fall back to, so the level is off.
        assert!(reader.set_level(TraceLevel::Counters).is_err());
        assert_eq!(reader.level(), TraceLevel::Off);
        assert!(reader.senseless().is_none(), "told at every tick");
    }

    #[test]
    fn levels_select_the_documented_events() {
        let types = |level| (0..64).filter(|n| events_of(level) >> n & 1 == 1).collect::<Vec<u32>>();
        assert!(types(TraceLevel::Counters).is_empty());
        assert_eq!(types(TraceLevel::Faults), [1, 3, 4, 6, 10, 11, 12, 13]);
        assert_eq!(types(TraceLevel::Full), [1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13]);
    }
}
