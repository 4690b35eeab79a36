//! Where a kernel's threads stand, and in which order their faults reach the driver.

use super::lanes::Lanes;
use super::profile::Arrival;
use super::queue::{Standing, TlbQueue, shuffle};
use super::rng::Rng;
use crate::units::{BLOCK, PAGE};

/// A place that is through.
pub(super) const NONE: u32 = u32::MAX;

const PER_BLOCK: u32 = (BLOCK / PAGE) as u32;

/// Warps of a thread block.
const WARPS_PER_BLOCK: usize = 8;

/// Accesses that a µTLB has sent by the time that a driver looks whom the first of them woke. Measured: a kernel over 16
/// pages, each behind a µTLB of its own, leaves 7.1 raw entries a page.
const WOKEN_ROUNDS: usize = 3;

/// Entries in the buffer: one access of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Page within the range.
    pub page: u32,
    /// Raw entries.
    pub raw: u32,
    /// The µTLB that sent them; `None` if so much came in between that nothing can be taken together with them.
    pub tlb: Option<u16>,
}

/// The places of a running kernel.
#[derive(Debug)]
pub struct Front<'a> {
    lanes: &'a Lanes,
    /// First page of the buffer.
    first: u32,
    arrival: Arrival,
    page: Vec<u32>,
    step: Vec<u32>,
    /// Places by the 2 MiB block on which they stand, so that only those are looked at for which something changed.
    in_block: Vec<Vec<u32>>,
    /// Places of each thread block that are not through.
    standing: Vec<u32>,
    waiting: usize,
}

/// Faults that arrive after a replay, in their order.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// Those that arrive until the next replay; of many only as many as the driver can take in this batch and the next.
    pub entries: Vec<Entry>,
    /// How many of them are there when a driver that is awake looks.
    pub early: usize,
    /// How many of them are there when a driver looks that had to be woken.
    pub woken: usize,
}

impl<'a> Front<'a> {
    /// A kernel that begins, over a buffer whose pages count from `first`.
    pub fn new(lanes: &'a Lanes, arrival: Arrival, first: u32) -> Self {
        let begin = |place| lanes.page(place, 0).map_or(NONE, |page| first + page);
        let page: Vec<u32> = (0..lanes.places).map(begin).collect();
        let mut front = Self {
            lanes,
            first,
            arrival,
            step: vec![0; page.len()],
            in_block: Vec::new(),
            standing: vec![0; page.len().div_ceil(lanes.per_block.max(1))],
            waiting: 0,
            page,
        };
        for place in 0..front.page.len() {
            if front.page[place] != NONE {
                front.waiting += 1;
                front.standing[place / lanes.per_block] += 1;
                front.stand(place);
            }
        }
        front
    }

    /// Whether all threads are through.
    pub fn done(&self) -> bool {
        self.waiting == 0
    }

    /// Notes the block on which a place has come to stand.
    fn stand(&mut self, place: usize) {
        let block = (self.page[place] / PER_BLOCK) as usize;
        if block >= self.in_block.len() {
            self.in_block.resize_with(block + 1, Vec::new);
        }
        self.in_block[block].push(place as u32);
    }

    /// Blocks on which places stand.
    pub fn blocks(&self) -> Vec<u32> {
        let occupied = self.in_block.iter().enumerate().filter(|(_, places)| !places.is_empty());
        occupied.map(|(block, _)| block as u32).collect()
    }

    /// Lets every place that stands on one of `blocks` go on as far as it may: `may` says whether it may use a page.
    pub fn advance(&mut self, blocks: &[u32], mut may: impl FnMut(u32) -> bool) {
        for &block in blocks {
            let Some(places) = self.in_block.get_mut(block as usize).map(std::mem::take) else { continue };
            for place in places.iter().map(|place| *place as usize) {
                while self.page[place] != NONE && may(self.page[place]) {
                    self.step[place] = self.lanes.next(place, self.step[place]);
                    self.page[place] = self.lanes.page(place, self.step[place]).map_or(NONE, |page| self.first + page);
                }
                if self.page[place] == NONE {
                    self.waiting -= 1;
                    self.standing[place / self.lanes.per_block] -= 1;
                } else {
                    self.stand(place);
                }
            }
        }
    }

    /// Ends the kernel: every page that is still to come may be used.
    pub fn finish(&mut self) {
        self.page.fill(NONE);
        self.in_block.clear();
        self.standing.fill(0);
        self.waiting = 0;
    }

    /// The faults that come after a replay. Each µTLB sends those of its warps one page after the other, and all µTLBs
    /// send at once. `batch` is the number of raw entries that the driver takes at once.
    pub fn arrivals(&self, batch: u64, rng: &mut Rng) -> Arrivals {
        let Arrival { multiprocessors, per_tlb, polled_share, .. } = self.arrival;
        let threads = Standing { lanes: self.lanes, arrival: &self.arrival, page: &self.page, step: &self.step };
        let mut queues: Vec<TlbQueue> = (0..multiprocessors.div_ceil(per_tlb).max(1))
            .map(|tlb| TlbQueue::new(tlb, threads, &self.standing, rng))
            .filter(|queue| queue.first_warp > 0)
            .collect();
        let first: usize = queues.iter().map(|queue| queue.first_warp).sum();
        let mut arrivals = Arrivals::default();
        let (mut sent, mut at_first) = (0, 0);
        let (mut raw, mut enough) = (0, u64::MAX);
        // Once each page has been asked for, the other warps on it ask too.
        let most = if self.lanes.shared { WARPS_PER_BLOCK } else { 1 };
        'sending: for round in 0.. {
            shuffle(&mut queues, rng);
            queues.retain_mut(|queue| queue.reaches(round, most, threads, rng));
            if round <= WOKEN_ROUNDS || !self.lanes.coalesced {
                arrivals.woken = arrivals.entries.len();
            }
            if queues.is_empty() {
                break;
            }
            for queue in &queues {
                raw += u64::from(self.send(queue, round, rng, &mut arrivals.entries));
                sent += 1;
                if sent == first {
                    at_first = arrivals.entries.len();
                    // The rest of this batch and, if they are not flushed, all of the next.
                    enough = raw + 2 * batch;
                }
                if raw >= enough {
                    arrivals.woken = if self.lanes.coalesced { arrivals.woken } else { arrivals.entries.len() };
                    break 'sending;
                }
            }
        }
        let share = polled_share * (1.0 + 0.15 * rng.swing());
        let all = arrivals.entries.len();
        let late = self.lanes.shared && rng.unit() < self.late_share();
        arrivals.early = if late { all } else { ((at_first as f64 * share).round() as usize).max(1).min(all) };
        arrivals
    }

    /// How often a driver that is awake comes so late that it finds all.
    fn late_share(&self) -> f64 {
        let drift = self.drift();
        self.arrival.late_at_start * (1.0 - drift) + self.arrival.late_share * drift
    }

    /// How far the thread blocks have drifted apart: 0 at the start, 1 once their order is as loose as it gets.
    fn drift(&self) -> f64 {
        let Arrival { among, drift_steps, .. } = self.arrival;
        let steps = self.page.iter().zip(&self.step).filter(|(page, _)| **page != NONE).map(|(_, step)| *step);
        let progress = f64::from(steps.min().unwrap_or(0));
        (progress / (drift_steps * among.saturating_sub(2)).max(1) as f64).min(1.0)
    }

    /// Sends the entries of one access; says how many raw ones.
    fn send(&self, queue: &TlbQueue, round: usize, rng: &mut Rng, entries: &mut Vec<Entry>) -> u32 {
        let (page, tlb) = (queue.page(round), Some(queue.tlb as u16));
        let requests = if self.lanes.coalesced { self.arrival.requests } else { 1 };
        let twice = self.lanes.shared && rng.unit() < self.arrival.twice_share;
        let again = self.lanes.shared && rng.unit() < self.arrival.again_share;
        let raw = if twice { 2 * requests } else { requests };
        entries.push(Entry { page, raw, tlb });
        if !again {
            return raw;
        }
        // Another warp asks, after a warp on another page if there is one.
        entries.push(Entry { page, raw: requests, tlb: tlb.filter(|_| queue.has_one_page()) });
        raw + requests
    }
}
