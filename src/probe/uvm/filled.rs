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

    /// Says, as the driver does, that up to `wanted` more entries have come, as many as there is room for; returns how many.
    pub fn put(&mut self, wanted: u32) -> u32 {
        let control = self.ring.control_address() as *mut ControlPage;
        // SAFETY: the ring keeps the control page alive; the fields are accessed atomically on both sides, and the entries are
        // there already.
        unsafe {
            let get = AtomicU32::from_ptr(&raw mut (*control).get_behind).load(Ordering::Acquire);
            let behind = AtomicU32::from_ptr(&raw mut (*control).put_behind);
            let put = behind.load(Ordering::Relaxed);
            let come = wanted.min(self.mask - (put.wrapping_sub(get) & self.mask));
            behind.store(put.wrapping_add(come) & self.mask, Ordering::Release);
            come
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_room_for_comes_and_is_folded() {
        let mut fault = [0u8; ENTRY_BYTES];
        fault[0] = 1;
        let mut ring = FilledRing::new(4, &[fault]).unwrap();
        for _ in 0..3 {
            assert_eq!([ring.put(10), ring.put(10)], [10, 5]);
            ring.drain();
            let events = ring.take().unwrap();
            assert_eq!((events.cpu_faults, events.malformed, events.lost.len()), (15, 0, 0));
            assert_eq!(ring.put(3), 3);
            ring.drain();
            assert_eq!(ring.take().unwrap().cpu_faults, 3);
        }
        ring.drain();
        assert_eq!(ring.take(), None, "nothing waits");
    }
}
