//! The GPU's fault buffer and how the driver empties it: batches, duplicates, flush.

use super::front::{Arrivals, Entry};
use super::params::Params;

/// The buffer between a GPU and the driver.
#[derive(Debug)]
pub struct FaultBuffer {
    /// What an earlier flush did not drop, oldest first.
    left: Vec<Entry>,
    /// Whether the driver waits for an interrupt.
    asleep: bool,
    batches: u64,
    throttled: u64,
}

/// A batch as fetched.
#[derive(Debug)]
pub struct Batch {
    /// Faults in the order of their arrival.
    pub faults: Vec<Entry>,
    /// Raw entries.
    pub raw: u64,
    /// What arrives while the batch is served.
    late: Vec<Entry>,
    /// Entries that the driver saw but did not take.
    seen: Vec<Entry>,
    duplicates: u64,
    /// Whether an interrupt had to wake the driver first.
    pub woken: bool,
}

impl FaultBuffer {
    /// An empty one; the driver sleeps.
    pub fn new() -> Self {
        Self { left: Vec::new(), asleep: true, batches: 0, throttled: 0 }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Fetches a batch. A driver that an interrupt must wake finds all that arrives; one that is awake finds what is there
    /// so soon after the replay.
    pub fn fetch(&mut self, arrivals: Arrivals, params: &Params) -> Batch {
        let Arrivals { mut entries, early, woken: all } = arrivals;
        let woken = self.asleep;
        let early = if woken { all.min(entries.len()) } else { early };
        let late = entries.split_off(early);
        let mut visible = std::mem::take(&mut self.left);
        visible.append(&mut entries);
        let mut raw = 0;
        let mut faults = Faults::default();
        let mut taken = 0;
        for entry in &visible {
            let room = params.fault_batch_count - raw;
            if room == 0 {
                break;
            }
            let part = u64::from(entry.raw).min(room);
            raw += part;
            taken += 1;
            if params.fault_coalesce == 1 {
                faults.coalesce(Entry { raw: part as u32, ..*entry });
            } else {
                (0..part).for_each(|_| faults.list.push(Entry { raw: 1, ..*entry }));
            }
        }
        let faults = faults.list;
        let seen = visible.split_off(taken);
        Batch { duplicates: duplicates(&faults), faults, raw, late, seen, woken }
    }

    /// Clears the buffer after a batch and says whether the driver goes on without an interrupt. What had arrived when the
    /// driver last looked is dropped; what came later only if duplicates were many.
    pub fn flush(&mut self, batch: Batch, throttled: bool, params: &Params) {
        let many = batch.duplicates * 100 > batch.raw * params.fault_replay_update_put_ratio;
        self.left = match params.fault_replay_policy {
            2 if many => Vec::new(),
            2 => batch.late,
            _ => [batch.seen, batch.late].concat(),
        };
        self.batches += 1;
        self.throttled += u64::from(throttled);
        self.asleep = self.batches >= params.fault_max_batches_per_service
            || self.throttled >= params.fault_max_throttle_per_service;
        if self.asleep {
            (self.batches, self.throttled) = (0, 0);
        }
    }
}

/// Faults of a batch as the driver takes entries together.
#[derive(Default)]
struct Faults {
    list: Vec<Entry>,
    /// The last fault of each µTLB that has one.
    last: Vec<Option<usize>>,
}

impl Faults {
    /// Entries belong to the last fault of their µTLB if it is on the same page, else to the last of all if that is.
    fn coalesce(&mut self, entry: Entry) {
        let Some(tlb) = entry.tlb.map(usize::from) else { return self.list.push(entry) };
        if tlb >= self.last.len() {
            self.last.resize(tlb + 1, None);
        }
        let same = |at: &usize| self.list.get(*at).is_some_and(|fault| fault.page == entry.page);
        let of_all = self.list.len().checked_sub(1);
        let at = self.last[tlb].filter(same).or(of_all.filter(same)).unwrap_or(self.list.len());
        match self.list.get_mut(at) {
            Some(fault) => fault.raw += entry.raw,
            None => self.list.push(entry),
        }
        self.last[tlb] = Some(at);
    }
}

/// Raw entries that tell nothing new: all but the first one for each page.
fn duplicates(faults: &[Entry]) -> u64 {
    let raw: u64 = faults.iter().map(|entry| u64::from(entry.raw)).sum();
    let mut pages: Vec<u32> = faults.iter().map(|entry| entry.page).collect();
    pages.sort_unstable();
    pages.dedup();
    raw.saturating_sub(pages.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(n: u32, raw: u32, early: usize) -> Arrivals {
        Arrivals {
            entries: (0..n).map(|page| Entry { page, raw, tlb: Some(page as u16 % 66) }).collect(),
            early,
            woken: n as usize,
        }
    }

    #[test]
    fn a_batch_holds_256_raw_entries_and_an_awake_driver_finds_few() {
        let params = Params::default();
        let mut buffer = FaultBuffer::new();
        let batch = buffer.fetch(arrivals(1000, 3, 40), &params);
        assert!(batch.woken);
        assert_eq!((batch.raw, batch.faults.len()), (256, 86), "the last fault is cut");
        buffer.flush(batch, false, &params);
        let batch = buffer.fetch(arrivals(1000, 3, 40), &params);
        assert_eq!((batch.raw, batch.faults.len(), batch.woken), (120, 40, false));
    }

    #[test]
    fn few_duplicates_leave_late_entries_for_the_next_batch() {
        let params = Params::default();
        let mut buffer = FaultBuffer::new();
        for _ in 0..2 {
            let batch = buffer.fetch(arrivals(1000, 1, 300), &params);
            buffer.flush(batch, false, &params);
        }
        assert_eq!(buffer.left.len(), 700);
        let batch = buffer.fetch(arrivals(1000, 1, 300), &params);
        assert_eq!(batch.faults.first().map(|entry| entry.page), Some(300), "the oldest come first");
        let never = Params { fault_replay_update_put_ratio: 100, ..params };
        let mut buffer = FaultBuffer::new();
        buffer.asleep = false;
        let batch = buffer.fetch(arrivals(1000, 3, 40), &never);
        buffer.flush(batch, false, &never);
        assert_eq!(buffer.left.len(), 960, "a ratio of 100 % is never passed");
    }

    #[test]
    fn the_driver_sleeps_after_twenty_batches_and_after_five_with_throttled_faults() {
        let params = Params::default();
        for (throttled, expected) in [(false, 20), (true, 5)] {
            let mut buffer = FaultBuffer::new();
            let turns = (1..).find(|_| {
                let batch = buffer.fetch(arrivals(1, 2, 1), &params);
                buffer.flush(batch, throttled, &params);
                buffer.asleep
            });
            assert_eq!(turns, Some(expected));
        }
    }

    #[test]
    fn a_fault_takes_in_what_its_tlb_sends_next_and_what_comes_next_of_all() {
        let params = Params::default();
        let entries = [(7, 0), (8, 1), (7, 0), (9, 0), (7, 0), (7, 2)];
        let entries: Vec<Entry> = entries.map(|(page, tlb)| Entry { page, raw: 2, tlb: Some(tlb) }).to_vec();
        let woken = entries.len();
        let batch = FaultBuffer::new().fetch(Arrivals { entries, early: 0, woken }, &params);
        let faults: Vec<(u32, u32)> = batch.faults.iter().map(|fault| (fault.page, fault.raw)).collect();
        assert_eq!(faults, [(7, 4), (8, 2), (9, 2), (7, 4)]);
    }

    #[test]
    fn without_coalescing_every_entry_is_a_fault() {
        let params = Params { fault_coalesce: 0, ..Params::default() };
        let batch = FaultBuffer::new().fetch(arrivals(10, 2, 10), &params);
        assert_eq!((batch.faults.len(), batch.raw), (20, 20));
    }
}
