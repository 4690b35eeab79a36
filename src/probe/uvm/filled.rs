//! A queue that is filled by hand, so that the real reader can be measured without a GPU.
#![allow(unsafe_code)]

use super::TickFold;
use super::abi::{ControlPage, ENTRY_BYTES};
use super::numbers::Numbers;
use super::reader::{Seen, take};
use super::ring::Ring;
use crate::event::{TraceLevel, UvmEvents};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the reader does at level full, over a queue whose entries are there already. For benches only: a driver needs a GPU.
pub struct FilledRing {
    ring: Ring,
    fold: TickFold,
    seen: Seen,
    numbers: Numbers,
    mask: u32,
}

impl FilledRing {
    /// A queue of `2^power` entries: those given, over and over.
    pub fn new(power: u32, entries: &[[u8; ENTRY_BYTES]]) -> io::Result<Self> {
        let ring = Ring::new(power)?;
        let count = 1usize << power;
        let first = ring.queue_address() as *mut [u8; ENTRY_BYTES];
        for (slot, entry) in entries.iter().cycle().take(count).enumerate() {
            // SAFETY: the ring's mapping has `count` slots, and nothing reads it before `put_behind` moves.
            unsafe { first.add(slot).write(*entry) };
        }
        let mut fold = TickFold::default();
        fold.set_level(TraceLevel::Full);
        Ok(Self { ring, fold, seen: Seen::default(), numbers: Numbers::default(), mask: (count - 1) as u32 })
    }

    /// Says, as the driver does, that the queue is full; returns how many entries wait.
    pub fn refill(&mut self) -> u32 {
        let control = self.ring.control_address() as *mut ControlPage;
        // SAFETY: the ring keeps the control page alive; the fields are accessed atomically on both sides.
        unsafe {
            let get = AtomicU32::from_ptr(&raw mut (*control).get_behind).load(Ordering::Acquire);
            let put = get.wrapping_add(self.mask) & self.mask;
            AtomicU32::from_ptr(&raw mut (*control).put_behind).store(put, Ordering::Release);
        }
        self.mask
    }

    /// The driver's part, for another thread: it must not outlive the ring.
    pub fn driver(&self) -> Driver {
        Driver { control: self.ring.control_address(), mask: self.mask }
    }

    /// Drains, decodes and folds what waits.
    pub fn drain(&mut self) {
        let Self { ring, fold, seen, numbers, .. } = self;
        ring.drain(|entry| take(fold, seen, numbers, None, entry));
        ring.dropped(|kind, lost| fold.lost(kind, lost));
    }

    /// Ends the window.
    pub fn take(&mut self) -> Option<UvmEvents> {
        self.fold.take()
    }
}

/// Says that entries have come.
pub struct Driver {
    control: u64,
    mask: u32,
}

impl Driver {
    /// Has up to `wanted` entries come, as many as there is room for; returns how many did.
    pub fn put(&mut self, wanted: u32) -> u32 {
        let control = self.control as *mut ControlPage;
        // SAFETY: the ring outlives its driver; the fields are accessed atomically on both sides, and the entries are there.
        unsafe {
            let get = AtomicU32::from_ptr(&raw mut (*control).get_behind).load(Ordering::Acquire);
            let behind = AtomicU32::from_ptr(&raw mut (*control).put_behind);
            let put = behind.load(Ordering::Relaxed);
            let room = self.mask - (put.wrapping_sub(get) & self.mask);
            let come = wanted.min(room);
            behind.store(put.wrapping_add(come) & self.mask, Ordering::Release);
            come
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refill_brings_all_entries_but_the_free_slot() {
        let mut fault = [0u8; ENTRY_BYTES];
        fault[0] = 1;
        let mut ring = FilledRing::new(4, &[fault]).unwrap();
        for _ in 0..3 {
            assert_eq!(ring.refill(), 15);
            ring.drain();
            let events = ring.take().unwrap();
            assert_eq!((events.cpu_faults, events.malformed, events.lost.len()), (15, 0, 0));
        }
        ring.drain();
        assert_eq!(ring.take(), None, "nothing waits");
    }

    #[test]
    fn the_driver_puts_what_there_is_room_for() {
        let mut fault = [0u8; ENTRY_BYTES];
        fault[0] = 1;
        let mut ring = FilledRing::new(4, &[fault]).unwrap();
        let mut driver = ring.driver();
        assert_eq!([driver.put(10), driver.put(10)], [10, 5]);
        ring.drain();
        assert_eq!(ring.take().unwrap().cpu_faults, 15);
        assert_eq!(driver.put(3), 3);
        ring.drain();
        assert_eq!(ring.take().unwrap().cpu_faults, 3);
    }
}
