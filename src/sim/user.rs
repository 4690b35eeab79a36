//! What the program itself asks of managed memory: prefetch and advice.

use super::block::Block;
use super::copy::CopyCost;
use super::home::Home;
use super::pages::PageSet;
use super::side::{Side, Topology};
use super::windows::Load;
use super::world::{BlockId, World};
use crate::device::{Buffer, ELEMENT, Part};
use crate::event::{Advice, Cause};
use crate::units::{BLOCK, PAGE};

impl World {
    fn ids(&self, range: u32) -> Vec<BlockId> {
        let blocks = self.ranges.get(&range).map_or(0, |r| r.blocks.len());
        (0..blocks).map(|index| BlockId { range, index }).collect()
    }

    /// The blocks that a part of a buffer meets, each with the pages of it.
    fn blocks_of(&self, buffer: u32, part: Part) -> Vec<(BlockId, PageSet)> {
        let Home { range, first } = self.home(buffer);
        let before = u64::from(first) * PAGE;
        let (begin, end) = (before + part.first * ELEMENT, before + (part.first + part.elements) * ELEMENT);
        let blocks = self.ranges.get(&range).map_or(0, |r| r.blocks.len());
        let of = |index: usize| {
            let base = index as u64 * BLOCK;
            let from = begin.saturating_sub(base) / PAGE;
            let to = end.saturating_sub(base).min(BLOCK).div_ceil(PAGE);
            (BlockId { range, index }, PageSet::range(from as usize..to as usize))
        };
        let first = (begin / BLOCK) as usize;
        let last = (end.div_ceil(BLOCK) as usize).min(blocks);
        (first..last).map(of).collect()
    }

    /// Moves the pages of a part of a buffer to a processor, block by block, without the density tree.
    pub fn prefetch(&mut self, buffer: u32, part: Part, to: Side) {
        self.expire_pins();
        self.spend(self.profile.cpu_cost.prefetch_us, Load::default());
        for (id, pages) in self.blocks_of(buffer, part) {
            self.prefetch_block(id, pages, to);
        }
    }

    fn prefetch_block(&mut self, id: BlockId, pages: PageSet, to: Side) {
        let mut block = self.take(id);
        let policy = self.policy(id);
        let pages = pages & block.all();
        let coming = pages - block.on.get(to).resident;
        if !coming.is_empty() {
            self.spend(self.profile.cpu_cost.prefetch_block_us, Load::default());
            self.back(id, &mut block, to, coming);
        }
        let moving = coming & block.elsewhere(to);
        let mut left = moving;
        for from in self.sources(to) {
            let here = left & block.on.get(from).resident;
            left -= here;
            let cost = CopyCost { base_us: 0.0, gb_s: self.prefetch_rate(from, to) };
            for run in here.runs() {
                self.transfer_run(id, (from, to), run, Cause::User, cost, false);
            }
        }
        let duplicate = if policy.read_mostly { pages } else { PageSet::EMPTY };
        self.take_over(id, &mut block, to, pages, duplicate, moving);
        let writable = if policy.read_mostly { PageSet::EMPTY } else { pages - block.duplicated() };
        for side in self.topology.sides() {
            if side == to || (policy.mapped.contains(side) && self.topology.reaches(side, to)) {
                let part = block.on.of(side);
                part.read |= pages;
                part.write |= writable;
            }
        }
        block.thrash.forget(pages);
        self.put(id, block);
    }

    fn prefetch_rate(&self, from: Side, to: Side) -> f64 {
        let link = self.profile.link;
        match self.profile.peer {
            Some(peer) if !from.is_cpu() && !to.is_cpu() => peer.gb_s,
            _ if to.is_cpu() => link.prefetch_to_cpu_gb_s,
            _ => link.prefetch_to_gpu_gb_s,
        }
    }

    /// Sets or unsets advice over a buffer, where it names a GPU for `gpu`. Nothing moves, except that unsetting
    /// read-mostly keeps one copy of each page.
    pub fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool, gpu: Side) {
        let range = self.own_range(buffer.id, buffer.bytes.0);
        let Some(policy) = self.ranges.get_mut(&range).map(|r| &mut r.policy) else { return };
        let home = |side| if set { Some(side) } else { None };
        match advice {
            Advice::None => return,
            Advice::ReadMostly => policy.read_mostly = set,
            Advice::PreferredGpu | Advice::PreferredSecondGpu => policy.preferred = home(gpu),
            Advice::PreferredCpu => policy.preferred = home(Side::CPU),
            Advice::AccessedByGpu | Advice::AccessedBySecondGpu => policy.mapped.set(gpu, set),
            Advice::PreferredCpuAccessedBy => {
                policy.preferred = home(Side::CPU);
                policy.mapped.set(gpu, set);
            }
        }
        let policy = *policy;
        for id in self.ids(range) {
            let mut block = self.take(id);
            block.thrash.forget(block.all());
            if !policy.read_mostly {
                self.collapse(id, &mut block, policy.preferred.unwrap_or(Side::CPU));
            }
            for side in self.topology.sides().filter(|side| !side.is_cpu()) {
                if policy.mapped.contains(side) {
                    block.map_remotely(self.topology, side, policy.read_mostly);
                } else {
                    block.unmap_remotely(side);
                }
            }
            self.put(id, block);
        }
    }

    /// Keeps one copy of each page: that of `keep` where it has one.
    fn collapse(&mut self, id: BlockId, block: &mut Block, keep: Side) {
        let order = std::iter::once(keep).chain(self.topology.sides().filter(move |side| *side != keep));
        for side in order {
            let twice = block.duplicated() & block.on.get(side).resident;
            if !twice.is_empty() {
                self.take_over(id, block, side, twice, PageSet::EMPTY, PageSet::EMPTY);
            }
        }
    }
}

impl Block {
    /// Maps for a processor what lives elsewhere in its reach.
    fn map_remotely(&mut self, topology: Topology, who: Side, read_only: bool) {
        let places = topology.sides().filter(|place| *place != who && topology.reaches(who, *place));
        let there = places.fold(PageSet::EMPTY, |all, place| all | self.on.get(place).resident);
        let remote = there - self.on.get(who).resident;
        let writable = if read_only { PageSet::EMPTY } else { remote - self.duplicated() };
        let part = self.on.of(who);
        part.read |= remote;
        part.write |= writable;
    }

    /// Takes away a processor's mappings of what does not live there.
    fn unmap_remotely(&mut self, who: Side) {
        let part = self.on.of(who);
        part.read &= part.resident;
        part.write &= part.resident;
    }
}
