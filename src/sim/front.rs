//! Where a kernel's threads stand, and in which order their faults reach the driver.

use super::lanes::Lanes;
use super::profile::Arrival;
use super::rng::Rng;

/// A place that is through.
const NONE: u32 = u32::MAX;

/// Warps of a thread block.
const WARPS_PER_BLOCK: usize = 8;

/// Raw entries after which no more need be imagined: far more than a batch and what is left of it hold.
const ENOUGH: u32 = 6144;

/// A fault in the buffer: one page, asked for by one µTLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Page within the buffer of the touch.
    pub page: u32,
    /// Raw entries, which the driver takes as one where it coalesces.
    pub raw: u32,
}

/// The places of a running kernel.
#[derive(Debug)]
pub struct Front<'a> {
    lanes: &'a Lanes,
    arrival: Arrival,
    page: Vec<u32>,
    step: Vec<u32>,
    waiting: usize,
}

/// Faults that arrive after a replay, in their order.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// All that arrive until the next replay.
    pub entries: Vec<Entry>,
    /// How many of them are there when a driver that is awake looks.
    pub early: usize,
}

impl<'a> Front<'a> {
    /// A kernel that begins.
    pub fn new(lanes: &'a Lanes, arrival: Arrival) -> Self {
        let page: Vec<u32> = (0..lanes.places).map(|place| lanes.page(place, 0).unwrap_or(NONE)).collect();
        let waiting = page.iter().filter(|page| **page != NONE).count();
        Self { lanes, arrival, step: vec![0; page.len()], page, waiting }
    }

    /// Whether all threads are through.
    pub fn done(&self) -> bool {
        self.waiting == 0
    }

    /// Lets every place go on as far as it may: `may` says whether it may use a page.
    pub fn advance(&mut self, mut may: impl FnMut(u32) -> bool) {
        for (place, (page, step)) in self.page.iter_mut().zip(&mut self.step).enumerate() {
            while *page != NONE && may(*page) {
                *step = self.lanes.next(place, *step);
                *page = self.lanes.page(place, *step).unwrap_or(NONE);
                self.waiting -= usize::from(*page == NONE);
            }
        }
    }

    /// Ends the kernel: every page that is still to come may be used.
    pub fn finish(&mut self) {
        self.page.fill(NONE);
        self.waiting = 0;
    }

    /// The faults that come after a replay. Each µTLB sends those of its warps one page after the other, and all µTLBs
    /// send at once.
    pub fn arrivals(&self, rng: &mut Rng) -> Arrivals {
        let tlbs = self.arrival.multiprocessors.div_ceil(self.arrival.per_tlb).max(1);
        let mut first = 0;
        let mut queues: Vec<Vec<u32>> = Vec::new();
        for tlb in 0..tlbs {
            let (queue, of_first_warp) = self.queue(tlb, rng);
            first += of_first_warp;
            if !queue.is_empty() {
                queues.push(queue);
            }
        }
        let mut arrivals = Arrivals::default();
        let (mut sent, mut raw, mut at_first) = (0, 0, 0);
        // Once each page has been asked for, the other warps on it ask too.
        let most = if self.lanes.shared { WARPS_PER_BLOCK } else { 1 };
        for round in 0.. {
            shuffle(&mut queues, rng);
            queues.retain(|queue| queue.len() * most > round);
            if queues.is_empty() || raw >= ENOUGH {
                break;
            }
            for queue in &queues {
                raw += self.send(queue[round % queue.len()], rng, &mut arrivals.entries);
                sent += 1;
                if sent <= first {
                    at_first = arrivals.entries.len();
                }
            }
        }
        let share = self.arrival.polled_share * (1.0 + 0.15 * rng.swing());
        let drift = self.drift();
        let late = self.lanes.shared
            && rng.unit() < self.arrival.late_at_start * (1.0 - drift) + self.arrival.late_share * drift;
        let all = arrivals.entries.len();
        arrivals.early = if late { all } else { ((at_first as f64 * share).round() as usize).max(1).min(all) };
        arrivals
    }

    /// How far the thread blocks have drifted apart: 0 at the start, 1 once their order is as loose as it gets.
    fn drift(&self) -> f64 {
        let Arrival { among, drift_steps, .. } = self.arrival;
        let steps = self.page.iter().zip(&self.step).filter(|(page, _)| **page != NONE).map(|(_, step)| *step);
        let progress = f64::from(steps.min().unwrap_or(0));
        (progress / (drift_steps * among.saturating_sub(2)).max(1) as f64).min(1.0)
    }

    /// Sends the entries of one access; says how many raw ones.
    fn send(&self, page: u32, rng: &mut Rng, entries: &mut Vec<Entry>) -> u32 {
        let requests = if self.lanes.coalesced { self.arrival.requests } else { 1 };
        let twice = self.lanes.shared && rng.unit() < self.arrival.twice_share;
        let again = self.lanes.shared && rng.unit() < self.arrival.again_share;
        let raw = if twice { 2 * requests } else { requests };
        match entries.last_mut().filter(|last| last.page == page) {
            Some(last) => last.raw += raw,
            None => entries.push(Entry { page, raw }),
        }
        if again {
            entries.push(Entry { page, raw: requests });
        }
        raw + if again { requests } else { 0 }
    }

    /// The pages that the warps behind one µTLB ask for, as many as it can have outstanding, and how many of them the
    /// first warp asks for.
    fn queue(&self, tlb: usize, rng: &mut Rng) -> (Vec<u32>, usize) {
        let Arrival { multiprocessors, per_tlb, outstanding, among, drift_steps, .. } = self.arrival;
        let blocks = self.page.len().div_ceil(self.lanes.per_block);
        // Thread blocks go to one multiprocessor behind each µTLB first, then to the next.
        let sms = (tlb..multiprocessors).step_by(multiprocessors.div_ceil(per_tlb).max(1));
        let mut warps: Vec<std::ops::Range<usize>> = Vec::new();
        for block in sms.flat_map(|sm| (sm..blocks).step_by(multiprocessors)) {
            let begin = block * self.lanes.per_block;
            let end = (begin + self.lanes.per_block).min(self.page.len());
            if self.page[begin..end].iter().any(|page| *page != NONE) {
                warps.push(begin..end);
            }
        }
        warps.sort_by_key(|warp| self.step[warp.start]);
        // Thread blocks are launched in order and drift apart later.
        let progress = warps.first().map_or(0, |warp| self.step[warp.start] as usize);
        let among = (2 + progress / drift_steps.max(1)).min(among);
        mix(&mut warps, among, rng);
        let mut queue = Vec::new();
        let mut of_first_warp = 0;
        while queue.len() < outstanding && !warps.is_empty() {
            warps.retain_mut(|rest| {
                let Some(warp) = self.next_warp(rest, rng) else { return false };
                let pages = self.page[warp].iter().filter(|page| **page != NONE);
                if queue.len() < outstanding {
                    queue.extend(pages);
                }
                if of_first_warp == 0 {
                    of_first_warp = queue.len();
                }
                true
            });
        }
        queue.truncate(outstanding);
        (queue, of_first_warp.min(outstanding))
    }

    /// Takes the next warp that stands still out of the rest of a thread block; at times the one after it is quicker.
    fn next_warp(&self, rest: &mut std::ops::Range<usize>, rng: &mut Rng) -> Option<std::ops::Range<usize>> {
        let width = self.lanes.per_warp;
        let (begin, end) = (rest.start, rest.end);
        let stands = |at: &usize| self.page[*at..(at + width).min(end)].iter().any(|page| *page != NONE);
        let mut standing = (begin..end).step_by(width).filter(stands);
        let (first, second) = (standing.next()?, standing.next());
        let at = second.filter(|_| rng.below(2) == 0).unwrap_or(first);
        let warp = at..(at + width).min(rest.end);
        rest.start = warp.end;
        Some(warp)
    }
}

/// Lets every entry of a list change places with those near to it: each next one is any of the first `among`.
fn mix<T>(list: &mut [T], among: usize, rng: &mut Rng) {
    for i in 0..list.len() {
        let near = among.min(list.len() - i);
        let other = i + rng.below(near as u64) as usize;
        list.swap(i, other);
    }
}

fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for i in (1..list.len()).rev() {
        list.swap(i, rng.below(i as u64 + 1) as usize);
    }
}
