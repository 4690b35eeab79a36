//! The consumer's side of the event queue.
#![allow(unsafe_code)]

use super::abi::{ControlPage, ENTRY_BYTES, EVENT_TYPES};
use super::memory::Mapping;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A queue of 64-byte entries that the driver fills and this side empties. The driver keeps one slot free and, when the
/// ring is full, counts the event as dropped.
#[derive(Debug)]
pub struct Ring {
    entries: Mapping,
    control: Mapping,
    mask: u32,
    get: u32,
    dropped: [u64; EVENT_TYPES],
}

impl Ring {
    /// A ring of `2^power` entries.
    pub fn new(power: u32) -> io::Result<Self> {
        let count = 1usize << power;
        Ok(Self {
            entries: Mapping::new(count * ENTRY_BYTES)?,
            control: Mapping::new(size_of::<ControlPage>())?,
            mask: (count - 1) as u32,
            get: 0,
            dropped: [0; EVENT_TYPES],
        })
    }

    /// Address of the entries.
    pub fn queue_address(&self) -> u64 {
        self.entries.address()
    }

    /// Address of the control page.
    pub fn control_address(&self) -> u64 {
        self.control.address()
    }

    /// Hands every finished entry to `each` and frees its slot; returns how many there were. Entries that arrive
    /// meanwhile wait for the next call, so that it ends.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8; ENTRY_BYTES])) -> u32 {
        let control = self.control.cast::<ControlPage>();
        // SAFETY: the field lies in the control mapping, is aligned, and the driver only accesses it atomically.
        let put = unsafe { AtomicU32::from_ptr(&raw mut (*control).put_behind) }.load(Ordering::Acquire) & self.mask;
        let count = put.wrapping_sub(self.get) & self.mask;
        for _ in 0..count {
            // SAFETY: `get` is masked, so the slot lies in the mapping; the driver finished it before it moved
            // `put_behind` and does not touch it again before `get_behind` passes it.
            let entry = unsafe { self.entries.cast::<[u8; ENTRY_BYTES]>().add(self.get as usize).read_volatile() };
            each(&entry);
            self.get = (self.get + 1) & self.mask;
        }
        if count > 0 {
            // SAFETY: as for `put_behind`; only this side writes these two.
            unsafe {
                AtomicU32::from_ptr(&raw mut (*control).get_ahead).store(self.get, Ordering::Release);
                AtomicU32::from_ptr(&raw mut (*control).get_behind).store(self.get, Ordering::Release);
            }
        }
        count
    }

    /// Calls `each` with every event type that the full ring has dropped since the call before, and how many.
    pub fn dropped(&mut self, mut each: impl FnMut(u8, u64)) {
        let control = self.control.cast::<ControlPage>();
        for (kind, before) in self.dropped.iter_mut().enumerate() {
            // SAFETY: the element lies in the control mapping, is aligned, and is accessed atomically by both sides.
            let now = unsafe { AtomicU64::from_ptr(&raw mut (*control).dropped[kind]) }.load(Ordering::Relaxed);
            let lost = now.wrapping_sub(*before);
            *before = now;
            if lost > 0 {
                each(kind as u8, lost);
            }
        }
    }

    /// The driver's side, to be played on another thread while the ring lives.
    #[cfg(test)]
    pub fn producer(&self) -> Producer {
        Producer { entries: self.entries.address(), control: self.control.address(), mask: self.mask }
    }
}

/// The driver's side of a ring.
#[cfg(test)]
pub struct Producer {
    entries: u64,
    control: u64,
    mask: u32,
}

#[cfg(test)]
impl Producer {
    /// Puts an entry, or counts it as dropped.
    pub fn put(&self, entry: &[u8; ENTRY_BYTES]) -> bool {
        let control = self.control as *mut ControlPage;
        // SAFETY: tests keep the ring alive; the fields are accessed atomically on both sides.
        unsafe {
            let put_behind = AtomicU32::from_ptr(&raw mut (*control).put_behind);
            let get_behind = AtomicU32::from_ptr(&raw mut (*control).get_behind);
            let put = put_behind.load(Ordering::Relaxed);
            let next = (put + 1) & self.mask;
            if next == get_behind.load(Ordering::Acquire) {
                let dropped = &raw mut (*control).dropped[usize::from(entry[0]) % EVENT_TYPES];
                AtomicU64::from_ptr(dropped).fetch_add(1, Ordering::Relaxed);
                return false;
            }
            (self.entries as *mut [u8; ENTRY_BYTES]).add(put as usize).write_volatile(*entry);
            put_behind.store(next, Ordering::Release);
        }
        true
    }

    /// Says that so many events of a type were dropped.
    pub fn claim_dropped(&self, kind: usize, count: u64) {
        let control = self.control as *mut ControlPage;
        // SAFETY: as in `put`.
        unsafe { AtomicU64::from_ptr(&raw mut (*control).dropped[kind]) }.store(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(kind: u8, n: u64) -> [u8; ENTRY_BYTES] {
        let mut entry = [0; ENTRY_BYTES];
        entry[0] = kind;
        entry[8..16].copy_from_slice(&n.to_ne_bytes());
        entry
    }

    fn number(entry: &[u8; ENTRY_BYTES]) -> u64 {
        u64::from_ne_bytes(entry[8..16].try_into().unwrap())
    }

    #[test]
    fn entries_come_in_order_across_the_wrap() {
        let mut ring = Ring::new(3).unwrap();
        let mut got = Vec::new();
        for round in 0..5 {
            for i in 0..6 {
                ring.producer().put(&numbered(1, round * 6 + i));
            }
            assert_eq!(ring.drain(|e| got.push(number(e))), 6);
        }
        assert_eq!(got, (0..30).collect::<Vec<_>>());
        assert_eq!(ring.drain(|_| panic!("empty")), 0);
    }

    #[test]
    fn what_a_full_ring_loses_is_reported_once_by_type() {
        let mut ring = Ring::new(2).unwrap();
        for i in 0..5 {
            ring.producer().put(&numbered(3, i));
        }
        ring.producer().put(&numbered(2, 9));
        let mut lost = Vec::new();
        ring.dropped(|kind, n| lost.push((kind, n)));
        assert_eq!(lost, [(2, 1), (3, 2)]);
        ring.dropped(|kind, n| panic!("{n} of type {kind} twice"));
        assert_eq!(ring.drain(|_| ()), 3);
    }

    #[test]
    fn nothing_is_torn_or_lost_between_two_threads() {
        let mut ring = Ring::new(6).unwrap();
        let producer = ring.producer();
        let total = 200_000;
        let driver = std::thread::spawn(move || {
            for n in 0..total {
                while !producer.put(&numbered(1, n)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut next = 0;
        while next < total {
            let before = next;
            ring.drain(|entry| {
                assert_eq!(number(entry), next);
                next += 1;
            });
            if next == before {
                std::thread::yield_now();
            }
        }
        driver.join().unwrap();
    }
}
