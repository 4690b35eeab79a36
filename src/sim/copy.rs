//! Copies between processors: over PCIe, between peers, or by way of the host; and eviction, which is one of them.

use super::block::Block;
use super::pages::PageSet;
use super::service::GPU_CLOCK;
use super::side::Side;
use super::windows::Load;
use super::world::{BlockId, World};
use crate::event::{Cause, TraceLevel};
use crate::probe::uvm::Record;
use crate::units::PAGE;
use std::ops::Range;

/// What a copy takes.
#[derive(Clone, Copy, Debug)]
pub struct CopyCost {
    /// Besides its bytes, µs.
    pub base_us: f64,
    /// Of its bytes, GB/s.
    pub gb_s: f64,
}

impl World {
    /// Copies pages to a processor from wherever they live: one copy for each run of neighbours with the same cause.
    pub fn copy(&mut self, id: BlockId, block: &Block, to: Side, parts: &[(PageSet, Cause)], busy: bool) {
        let full = self.trace.level() == TraceLevel::Full;
        let base_us = self.profile.gpu_cost.copy_us + if full { self.profile.trace.full_copy_us } else { 0.0 };
        let mut left = parts.iter().fold(PageSet::EMPTY, |all, (pages, _)| all | *pages);
        for from in self.sources(to) {
            let here = left & block.on.get(from).resident;
            left -= here;
            let runs = |(pages, cause): &(PageSet, Cause)| {
                let (pages, cause) = (*pages & here, *cause);
                pages.runs().map(|run| (run, cause)).collect::<Vec<_>>()
            };
            let mut runs: Vec<_> = parts.iter().flat_map(runs).collect();
            runs.sort_unstable_by_key(|(run, _)| run.start);
            for (run, cause) in runs {
                let gb_s = self.rate(from, to);
                self.transfer_run(id, (from, to), run, cause, CopyCost { base_us, gb_s }, busy);
            }
        }
    }

    /// Where a page that `to` wants is taken from, best first: peers, then the host, then other GPUs.
    pub fn sources(&self, to: Side) -> Vec<Side> {
        let topology = self.topology;
        let mut sides: Vec<Side> = topology.sides().filter(|side| *side != to).collect();
        sides.sort_by_key(|side| {
            if side.is_cpu() {
                1
            } else if topology.peers && !to.is_cpu() {
                0
            } else {
                2
            }
        });
        sides
    }

    /// Rate of the fault path between two processors, GB/s.
    fn rate(&self, from: Side, to: Side) -> f64 {
        match self.profile.peer {
            Some(peer) if !from.is_cpu() && !to.is_cpu() => peer.gb_s,
            _ => self.profile.link.pinned_gb_s,
        }
    }

    /// One copy. Between GPUs without a link it goes by way of the host, as two.
    pub fn transfer_run(
        &mut self,
        id: BlockId,
        (from, to): (Side, Side),
        run: Range<usize>,
        cause: Cause,
        cost: CopyCost,
        busy: bool,
    ) {
        let between_gpus = !from.is_cpu() && !to.is_cpu();
        if between_gpus && !self.topology.peers {
            self.hop(id, (from, Side::CPU), run.clone(), cause, cost, busy);
            self.hop(id, (Side::CPU, to), run, cause, cost, busy);
        } else {
            self.hop(id, (from, to), run, cause, cost, busy);
        }
    }

    fn hop(
        &mut self,
        id: BlockId,
        (from, to): (Side, Side),
        run: Range<usize>,
        cause: Cause,
        cost: CopyCost,
        busy: bool,
    ) {
        let bytes = run.len() as u64 * PAGE;
        let begin = self.now();
        let (htod, dtoh) = (if from.is_cpu() { bytes } else { 0 }, if to.is_cpu() { bytes } else { 0 });
        let (peer_in, peer_out) = between_gpus(from, to, bytes);
        self.spend(cost.base_us + bytes as f64 / cost.gb_s / 1e3, Load { htod, dtoh, peer_in, peer_out, busy });
        self.trace.count(|c| {
            c.bytes_htod += htod;
            c.bytes_dtoh += dtoh;
        });
        let end = self.now();
        self.trace.add(&Record::Migration {
            cause,
            src: from.proc(),
            dst: to.proc(),
            address: self.address(id, run.start),
            bytes,
            time: end,
            gpu_begin: GPU_CLOCK + begin,
            gpu_end: GPU_CLOCK + end,
        });
    }

    /// Makes a block's memory on one GPU free: what lives only there goes to the host, unmapped.
    pub fn evict(&mut self, id: BlockId, from: Side) {
        let mut block = self.take(id);
        let pages = block.on.get(from).resident;
        let alone = pages - block.elsewhere(from);
        self.spend(self.profile.gpu_cost.evict_us, Load { busy: true, ..Load::default() });
        self.back(id, &mut block, Side::CPU, alone);
        for run in alone.runs() {
            let cost = CopyCost { base_us: self.profile.gpu_cost.copy_us, gb_s: self.profile.link.pinned_gb_s };
            self.transfer_run(id, (from, Side::CPU), run, Cause::Eviction, cost, true);
        }
        let part = block.on.of(from);
        part.resident -= pages;
        part.read -= pages;
        part.write -= pages;
        block.on.of(Side::CPU).resident |= alone;
        // Remote mappings of what has left go with it.
        for side in self.topology.sides() {
            let part = block.on.of(side);
            part.read -= alone;
            part.write -= alone;
        }
        self.drop_empty_chunks(&mut block);
        self.put(id, block);
    }
}

/// Of bytes that go from one processor to another, those that enter and leave the first GPU by its link to others.
pub(super) fn between_gpus(from: Side, to: Side, bytes: u64) -> (u64, u64) {
    let both = !from.is_cpu() && !to.is_cpu();
    let through = |side| if both && side == Side::GPU { bytes } else { 0 };
    (through(to), through(from))
}
