//! What the warps behind one µTLB ask for, as far as somebody looks.

use super::front::NONE;
use super::lanes::Lanes;
use super::profile::Arrival;
use super::rng::Rng;
use std::ops::Range;

/// The threads of a kernel where they stand.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Their ways.
    pub lanes: &'a Lanes,
    /// How faults arrive.
    pub arrival: &'a Arrival,
    /// The page of each place.
    pub page: &'a [u32],
    /// The step of each place.
    pub step: &'a [u32],
}

/// The pages that the warps behind one µTLB ask for, at most as many as it can have outstanding. They are made as they are
/// looked at: a batch holds far fewer than all.
#[derive(Debug)]
pub struct TlbQueue {
    /// Which.
    pub tlb: usize,
    /// What is left of each thread block, in the order in which they get their turns.
    blocks: Vec<Range<usize>>,
    /// Whose turn it is.
    turn: usize,
    pages: Vec<u32>,
    outstanding: usize,
    /// Pages that the first warp asks for.
    pub first_warp: usize,
}

impl TlbQueue {
    /// That of a µTLB; `standing` counts the places of each thread block that are not through.
    pub fn new(tlb: usize, threads: Standing<'_>, standing: &[u32], rng: &mut Rng) -> Self {
        let Arrival { multiprocessors, per_tlb, outstanding, among, drift_steps, .. } = *threads.arrival;
        let per_block = threads.lanes.per_block;
        // Thread blocks go to one multiprocessor behind each µTLB first, then to the next.
        let sms = (tlb..multiprocessors).step_by(multiprocessors.div_ceil(per_tlb).max(1));
        let mut blocks: Vec<Range<usize>> = sms
            .flat_map(|sm| (sm..standing.len()).step_by(multiprocessors))
            .filter(|block| standing[*block] > 0)
            .map(|block| block * per_block..((block + 1) * per_block).min(threads.page.len()))
            .collect();
        blocks.sort_by_key(|block| threads.step[block.start]);
        // Thread blocks are launched in order and drift apart later.
        let progress = blocks.first().map_or(0, |block| threads.step[block.start] as usize);
        let among = (2 + progress / drift_steps.max(1)).min(among);
        mix(&mut blocks, among, rng);
        let mut queue = Self { tlb, blocks, turn: 0, pages: Vec::new(), outstanding, first_warp: 0 };
        queue.more(threads, rng);
        queue.first_warp = queue.pages.len();
        queue
    }

    /// Whether it has anything to send in a round, if each of its pages is sent `most` times at most.
    pub fn reaches(&mut self, round: usize, most: usize, threads: Standing<'_>, rng: &mut Rng) -> bool {
        while self.pages.len() <= round && self.more(threads, rng) {}
        self.pages.len() * most > round
    }

    /// What it sends in a round that it reaches: once all is sent, it begins anew.
    pub fn page(&self, round: usize) -> u32 {
        self.pages[round % self.pages.len()]
    }

    /// Whether all of its warps stand on one page, as far as it has been made.
    pub fn has_one_page(&self) -> bool {
        self.blocks.len() <= 1 && self.pages.len() == 1
    }

    /// Lets one more warp ask; `false` if there is none, or no room.
    fn more(&mut self, threads: Standing<'_>, rng: &mut Rng) -> bool {
        while self.pages.len() < self.outstanding && !self.blocks.is_empty() {
            if self.turn >= self.blocks.len() {
                self.turn = 0;
            }
            if let Some(warp) = next_warp(&mut self.blocks[self.turn], threads, rng) {
                self.turn += 1;
                let room = self.outstanding - self.pages.len();
                self.pages.extend(threads.page[warp].iter().filter(|page| **page != NONE).take(room));
                return true;
            }
            self.blocks.remove(self.turn);
        }
        false
    }
}

/// Takes the next warp that stands still out of the rest of a thread block; at times the one after it is quicker.
fn next_warp(rest: &mut Range<usize>, threads: Standing<'_>, rng: &mut Rng) -> Option<Range<usize>> {
    let width = threads.lanes.per_warp;
    let (begin, end) = (rest.start, rest.end);
    let stands = |at: &usize| threads.page[*at..(at + width).min(end)].iter().any(|page| *page != NONE);
    let mut standing = (begin..end).step_by(width).filter(stands);
    let (first, second) = (standing.next()?, standing.next());
    let at = second.filter(|_| rng.below(2) == 0).unwrap_or(first);
    let warp = at..(at + width).min(rest.end);
    rest.start = warp.end;
    Some(warp)
}

/// Lets every entry of a list change places with those near to it: each next one is any of the first `among`.
fn mix<T>(list: &mut [T], among: usize, rng: &mut Rng) {
    for i in 0..list.len() {
        let near = among.min(list.len() - i);
        let other = i + rng.below(near as u64) as usize;
        list.swap(i, other);
    }
}

/// Puts a list into any order.
pub fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for i in (1..list.len()).rev() {
        list.swap(i, rng.below(i as u64 + 1) as usize);
    }
}
