//! Where the pages of each 2 MiB block live, as far as there is evidence, and what has happened to them.
//!
//! Evidence, the newest counts: migrations block by block (trace level full); the CPU's page tables (*mapped* is more than
//! resident only where the CPU can map the GPU's memory, so on such machines they say nothing); a finished pass of our
//! own over plain managed memory whose traffic is known in advance. Where pages have moved and none of these told
//! where to, the block is unknown.

mod block;
mod holder;

pub use block::{Block, Lately, Place, Totals};
pub use holder::{Holder, Way};

use super::Run;
use crate::event::{Advice, Mapped, MemoryKind, Pass, Proc, Range, Settings, TraceLevel, UvmEvents, UvmTick};
use crate::units::{BLOCK, PAGE, Stamp};
use std::collections::BTreeSet;

/// Ranges of more blocks than this are not followed: 256 GiB.
const MAX_BLOCKS: u64 = 131_072;

/// What the claims about a range rest on, newest of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Migrations, block by block.
    pub migrations: Option<Stamp>,
    /// The CPU's page tables.
    pub mapped: Option<Stamp>,
    /// A finished pass.
    pub pass: Option<Stamp>,
    /// Pages moved and nobody told which.
    pub unseen: Option<Stamp>,
}

/// A managed range, block by block.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeMap {
    /// The range.
    pub range: Range,
    /// Its blocks by address; the first and the last may be shorter.
    pub blocks: Vec<Block>,
    /// What the claims rest on.
    pub evidence: Evidence,
    read_mostly: bool,
    /// Whether everything since the allocation was seen: a recording may begin in the middle.
    followed: bool,
}

/// Number of a block, in all ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAt {
    /// Address of the range's first byte.
    pub range: u64,
    /// From 0 within the range.
    pub index: usize,
}

/// Every managed range that is alive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residency {
    /// By the time of their allocation.
    pub maps: Vec<RangeMap>,
    /// GPUs that pages went to or came from.
    pub gpus: BTreeSet<u16>,
    /// Blocks tell which GPU faulted on them: of a fault of before one did, it was GPU 0.
    told: bool,
    /// The CPU's mappings do not tell where pages live: the machine is coherent.
    coherent: bool,
    advice: Option<Advice>,
}

impl Residency {
    /// On a coherent machine the CPU maps the GPU's memory too.
    pub fn coherent(&mut self, coherent: bool) {
        self.coherent = coherent;
    }

    /// A range came to be. Where it is `ours` nobody has touched it yet; another program's is found when it has been used.
    pub fn allocated(&mut self, range: &Range, ours: bool) {
        let Some(end) = range.address.checked_add(range.bytes.0) else { return };
        let blocks = (end - (range.address - range.address % BLOCK)).div_ceil(BLOCK);
        if range.memory != MemoryKind::Managed || blocks == 0 || blocks > MAX_BLOCKS {
            return;
        }
        let first = range.address - range.address % BLOCK;
        let pages = |i: u64| {
            let from = (first + i * BLOCK).max(range.address);
            let to = (first + i * BLOCK).saturating_add(BLOCK).min(end);
            (to.saturating_sub(from)).div_ceil(PAGE) as u16
        };
        let blocks = (0..blocks).map(|i| Block::untouched(pages(i))).collect();
        let read_mostly = self.advice == Some(Advice::ReadMostly);
        let range = range.clone();
        let mut map = RangeMap { range, blocks, evidence: Evidence::default(), read_mostly, followed: false };
        if !ours {
            map.may_be_touched();
        }
        self.maps.push(map);
    }

    /// A range is gone.
    pub fn freed(&mut self, address: u64) {
        self.maps.retain(|map| map.range.address != address);
    }

    /// Other settings are in force.
    pub fn started(&mut self, settings: &Settings) {
        self.advice = Some(settings.advice);
        for map in &mut self.maps {
            map.read_mostly |= settings.advice == Advice::ReadMostly;
        }
    }

    /// A pass begins: what nobody has touched yet may be touched unseen. `first` is the first of its run.
    pub fn pass_began(&mut self, level: TraceLevel, prefetch: bool, first: bool) {
        if level < TraceLevel::Full {
            self.unwatched();
        }
        for map in &mut self.maps {
            if level < TraceLevel::Faults || prefetch || !(map.followed || first) {
                map.may_be_touched();
            }
            map.followed = true;
        }
    }

    /// A pass has ended. Where the plan says what must cross the link, it says where everything lies at the end.
    pub fn pass_ended(&mut self, at: Stamp, run: &Run, pass: &Pass) {
        let settings = &run.start.settings;
        let plain = settings.memory == MemoryKind::Managed && settings.advice == Advice::None;
        let calm = pass
            .uvm
            .as_ref()
            .and_then(|uvm| uvm.events.as_ref())
            .is_none_or(|events| events.thrashing == 0 && events.remote_maps == 0);
        let wrong = pass.check.is_some_and(|check| check.wrong > 0);
        let Some(moved) = run.start.expected.filter(|_| plain && calm && !wrong) else { return };
        let whole = |map: &&mut RangeMap| !map.read_mostly && map.range.bytes == settings.size;
        for map in self.maps.iter_mut().filter(whole) {
            let size = map.range.bytes;
            let on_gpu = match (moved.htod >= size, moved.dtoh >= size) {
                (_, true) => false,
                (true, false) => true,
                (false, false) => continue,
            };
            map.evidence.pass = Some(at);
            // Recordings of before runs told their GPUs have 1 for two as well.
            let handed = pass.uvm.as_ref().and_then(|uvm| uvm.between_gpus()).unwrap_or_default();
            let only = (run.start.gpus == 1 && handed == Default::default()).then_some(0);
            map.blocks.iter_mut().for_each(|block| block.pass_left(at, on_gpu.then_some(only)));
        }
    }

    /// The CPU's page tables were read.
    pub fn mapped(&mut self, at: Stamp, mapped: &Mapped) {
        let coherent = self.coherent;
        let Some(map) = self.maps.iter_mut().find(|map| map.range.address == mapped.address) else { return };
        if !coherent {
            map.evidence.mapped = Some(at);
        }
        for (block, pages) in map.blocks.iter_mut().zip(&mapped.pages) {
            block.mapped(at, *pages, map.read_mostly, coherent);
        }
    }

    /// The driver told what happened in a window.
    pub fn tick(&mut self, at: Stamp, tick: &UvmTick) {
        let began = Stamp(at.0.saturating_sub(tick.window.0));
        let moved = tick.counters.is_some_and(|c| c.bytes_htod + c.bytes_dtoh > 0);
        let lost = tick.events.as_ref().is_some_and(|e| e.lost.iter().any(|(_, n)| *n > 0));
        let itemised = tick.level == TraceLevel::Full && !lost;
        if moved && !itemised {
            for map in &mut self.maps {
                map.evidence.unseen = Some(began);
            }
        }
        let busy = moved || tick.events.as_ref().is_some_and(|events| !events.blocks.is_empty());
        self.maps.iter_mut().filter(|map| busy && !map.followed).for_each(RangeMap::may_be_touched);
        if !itemised {
            self.unwatched();
        }
        let Some(events) = &tick.events else { return };
        self.meet(events);
        let ways = holder::Ways::of(events);
        let hints = block::Hints {
            // Recordings of before blocks told their own: the window's sums say it where only one block can be meant.
            remote: events.remote_maps.iter().any(|(_, n)| *n > 0)
                && (events.blocks.iter().filter(|b| b.thrash > 0).count() == 1
                    || (events.thrashing == 0 && events.throttled == 0)),
            unplaced_copies: (events.read_duplicates > 0 || events.read_invalidates > 0)
                && events.blocks.iter().all(|b| b.duplicated == 0 && b.invalidated == 0),
            itemised,
            ways,
            way: ways.only().filter(|_| self.gpus.len() > 1),
        };
        self.told |= events.blocks.iter().any(|block| block.faulted_by != 0);
        for activity in &events.blocks {
            let Some((map, index)) = self.find(activity.block) else { continue };
            if activity.to_gpu_pages > 0 || activity.to_cpu_pages > 0 {
                map.evidence.migrations = Some(at);
            }
            map.blocks[index].happened(at, activity, hints);
        }
    }

    fn meet(&mut self, events: &UvmEvents) {
        let sides = events.migrated.iter().flat_map(|m| [m.src, m.dst]);
        self.gpus.extend(sides.filter_map(|side| match side {
            Proc::Gpu(n) => Some(n),
            Proc::Cpu => None,
        }));
    }

    /// Pages may go from GPU to GPU, and no counter tells of it.
    fn unwatched(&mut self) {
        if self.gpus.len() > 1 {
            self.maps.iter_mut().flat_map(|map| &mut map.blocks).for_each(Block::unwatched);
        }
    }

    /// Which of several GPUs holds what a block has on a GPU; `None` if it has nothing there, or pages have been on one GPU only.
    pub fn holder(&self, map: &RangeMap, index: usize) -> Option<Holder> {
        map.blocks.get(index).and_then(Block::holder).filter(|_| self.gpus.len() > 1)
    }

    /// The GPUs that faulted on a block; `None` where that is not told, or all is one GPU's.
    pub fn faulted_by(&self, totals: &Totals) -> Option<Vec<u16>> {
        let gpus = totals.faulted_by | u32::from(totals.of_untold_gpu > 0);
        self.told.then(|| (0..32).filter(|n| gpus >> n & 1 == 1).collect())
    }

    fn find(&mut self, block: u64) -> Option<(&mut RangeMap, usize)> {
        self.maps.iter_mut().find_map(|map| {
            let index = block.checked_sub(map.range.address / BLOCK)? as usize;
            (index < map.blocks.len()).then_some((map, index))
        })
    }

    /// Every block with its range, in order.
    pub fn blocks(&self) -> impl Iterator<Item = (&RangeMap, usize)> {
        self.maps.iter().flat_map(|map| (0..map.blocks.len()).map(move |index| (map, index)))
    }

    /// The blocks with the most faults, at most `n`, most first; blocks without a fault are left out.
    pub fn hottest(&self, n: usize) -> Vec<(&RangeMap, usize)> {
        let faults = |(map, index): &(&RangeMap, usize)| map.blocks[*index].totals.faults();
        let mut all: Vec<_> = self.blocks().filter(|at| faults(at) > 0).collect();
        all.sort_by_key(|at| std::cmp::Reverse(faults(at)));
        all.truncate(n);
        all
    }
}

impl RangeMap {
    fn may_be_touched(&mut self) {
        self.blocks.iter_mut().for_each(Block::may_be_touched);
        self.followed = true;
    }

    /// Where a block's pages live.
    pub fn place(&self, index: usize) -> Place {
        self.blocks.get(index).map_or(Place::Unknown, |block| block.place(self.evidence.unseen))
    }

    /// Address of a block's first byte in the range.
    pub fn address(&self, index: usize) -> u64 {
        let first = self.range.address - self.range.address % BLOCK;
        (first + index as u64 * BLOCK).max(self.range.address)
    }

    /// The share of the pages of known blocks that this GPU alone holds, block by block.
    pub fn share_of(&self, gpu: u16) -> f64 {
        let (mut held, mut all) = (0u64, 0u64);
        let known = self.blocks.iter().enumerate().filter(|(i, _)| self.place(*i) != Place::Unknown);
        for (_, block) in known {
            let here = block.holder() == Some(Holder::One(gpu));
            held += if here { u64::from(block.gpu_pages()) } else { 0 };
            all += u64::from(block.pages);
        }
        if all > 0 { held as f64 / all as f64 } else { 0.0 }
    }

    /// Pages that live on the GPU and on the CPU by the evidence, of those of known blocks, in that order; duplicated ones
    /// count on both sides. `None` while no block is known.
    pub fn shares(&self) -> Option<(f64, f64)> {
        let known = |i: &usize| !matches!(self.place(*i), Place::Unknown);
        let (mut gpu, mut cpu, mut all) = (0u64, 0u64, 0u64);
        for i in (0..self.blocks.len()).filter(known) {
            let (on_gpu, on_cpu) = self.blocks[i].pages_by_side();
            gpu += u64::from(on_gpu);
            cpu += u64::from(on_cpu);
            all += u64::from(self.blocks[i].pages);
        }
        (all > 0).then(|| (gpu as f64 / all as f64, cpu as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests;
