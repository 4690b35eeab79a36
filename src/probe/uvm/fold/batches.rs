//! Fault batches that wait for their replay.

use crate::event::Proc;
use std::collections::VecDeque;

/// Batches kept waiting. One takes 50–150 µs and the driver is flushed every 10 ms, so that 200 wait at most; more only
/// wait if replays were lost.
const MAX_PENDING: usize = 1024;

/// Ended batches that are remembered, so that a fault that comes after its batch's replay does not begin the batch anew.
const MAX_ENDED: usize = 16;

/// A batch that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Raw faults of our own in it.
    pub faults: u64,
    /// From its earliest fault to its replay on the GPU's clock, ns; `None` if no replay was seen.
    pub latency: Option<u64>,
}

/// What a fault did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// It is the first of its batch.
    pub new: bool,
    /// The oldest batch, if it had to give way.
    pub pushed_out: Option<Ended>,
}

type Id = (Proc, u32);

#[derive(Clone, Copy, Debug)]
struct Pending {
    id: Id,
    faults: u64,
    earliest: u64,
}

/// The batches between their first fault and their replay, oldest first.
#[derive(Clone, Debug)]
pub struct Batches {
    pending: VecDeque<Pending>,
    ended: VecDeque<Id>,
}

impl Default for Batches {
    fn default() -> Self {
        Self { pending: VecDeque::with_capacity(MAX_PENDING), ended: VecDeque::with_capacity(MAX_ENDED) }
    }
}

impl Batches {
    /// A raw fault of our own. Nearly always it belongs to the newest batch.
    pub fn fault(&mut self, gpu: Proc, batch: u32, gpu_time: u64) -> Seen {
        let id = (gpu, batch);
        if let Some(pending) = self.pending.iter_mut().rev().find(|p| p.id == id) {
            pending.faults += 1;
            pending.earliest = pending.earliest.min(gpu_time);
            return Seen { new: false, pushed_out: None };
        }
        if self.ended.contains(&id) {
            return Seen { new: false, pushed_out: None };
        }
        let pushed_out = if self.pending.len() == MAX_PENDING {
            self.pending.pop_front().map(|old| Ended { faults: old.faults, latency: None })
        } else {
            None
        };
        self.pending.push_back(Pending { id, faults: 1, earliest: gpu_time });
        Seen { new: true, pushed_out }
    }

    /// A replay. Replays are broadcast to every process on the GPU: `None` if the batch held no fault of ours, or was
    /// already replayed.
    pub fn replay(&mut self, gpu: Proc, batch: u32, gpu_time: u64) -> Option<Ended> {
        let id = (gpu, batch);
        let at = self.pending.iter().position(|p| p.id == id)?;
        let batch = self.pending.remove(at)?;
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
        Some(Ended { faults: batch.faults, latency: Some(two_digits(gpu_time.saturating_sub(batch.earliest))) })
    }
}

/// Rounds to two significant decimal digits, so that a window holds few distinct latencies.
fn two_digits(n: u64) -> u64 {
    let mut scale = 1u64;
    while n / scale >= 100 {
        scale *= 10;
    }
    let down = n / scale * scale;
    if n - down >= scale.div_ceil(2) && scale > 1 { down.saturating_add(scale) } else { down }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Proc = Proc::Gpu(0);

    #[test]
    fn latency_is_from_the_earliest_fault_to_the_first_replay() {
        let mut batches = Batches::default();
        assert!(batches.fault(GPU, 7, 2_000).new);
        assert!(!batches.fault(GPU, 7, 1_000).new);
        assert_eq!(batches.replay(GPU, 7, 76_400), Some(Ended { faults: 2, latency: Some(75_000) }));
        assert_eq!(batches.replay(GPU, 7, 90_000), None);
    }

    #[test]
    fn replays_of_others_and_of_other_gpus_end_nothing() {
        let mut batches = Batches::default();
        batches.fault(GPU, 7, 0);
        assert_eq!(batches.replay(GPU, 8, 10), None);
        assert_eq!(batches.replay(Proc::Gpu(1), 7, 10), None);
    }

    #[test]
    fn a_fault_after_its_replay_does_not_begin_the_batch_anew() {
        let mut batches = Batches::default();
        batches.fault(GPU, 7, 0);
        batches.replay(GPU, 7, 10);
        assert_eq!(batches.fault(GPU, 7, 5), Seen { new: false, pushed_out: None });
        assert_eq!(batches.replay(GPU, 7, 20), None);
    }

    #[test]
    fn waiting_batches_are_bounded_and_the_oldest_gives_way_without_a_latency() {
        let mut batches = Batches::default();
        for id in 0..MAX_PENDING as u32 {
            assert_eq!(batches.fault(GPU, id, 0).pushed_out, None);
        }
        let pushed_out = batches.fault(GPU, u32::MAX, 0).pushed_out;
        assert_eq!(pushed_out, Some(Ended { faults: 1, latency: None }));
        assert_eq!(batches.replay(GPU, 0, 10), None);
    }

    #[test]
    fn two_significant_digits_remain() {
        for (from, to) in [(0, 0), (9, 9), (75, 75), (104, 100), (105, 110), (999, 1_000), (76_499, 76_000)] {
            assert_eq!(two_digits(from), to, "{from}");
        }
        assert_eq!(two_digits(u64::MAX), 18_000_000_000_000_000_000);
    }
}
