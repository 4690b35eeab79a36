//! What the program itself asks of managed memory: prefetch and advice.

use super::block::Block;
use super::pages::PageSet;
use super::side::Side;
use super::windows::Load;
use super::world::{BlockId, World};
use crate::device::{ELEMENT, Part};
use crate::event::{Advice, Cause};
use crate::units::{BLOCK, PAGE};

impl World {
    fn ids(&self, range: u32) -> Vec<BlockId> {
        let blocks = self.ranges.get(&range).map_or(0, |r| r.blocks.len());
        (0..blocks).map(|index| BlockId { range, index }).collect()
    }

    /// The blocks that a part of a range meets, each with the pages of it.
    fn blocks_of(&self, range: u32, part: Part) -> Vec<(BlockId, PageSet)> {
        let (begin, end) = (part.first * ELEMENT, (part.first + part.elements) * ELEMENT);
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

    /// Moves the pages of a part of a range to a side, block by block, without the density tree.
    pub fn prefetch(&mut self, range: u32, part: Part, to: Side) {
        let link = self.profile.link;
        let rate = if to == Side::Gpu { link.prefetch_to_gpu_gb_s } else { link.prefetch_to_cpu_gb_s };
        self.expire_pins();
        self.spend(self.profile.cpu_cost.prefetch_us, Load::default());
        for (id, wanted) in self.blocks_of(range, part) {
            let mut block = self.take(id);
            let policy = self.policy(id);
            let pages = block.all() & wanted;
            let coming = pages - block.on.get(to).resident;
            if !coming.is_empty() {
                self.spend(self.profile.cpu_cost.prefetch_block_us, Load::default());
                self.back(id, &mut block, to, coming);
            }
            let moving = coming & block.on.get(to.other()).resident;
            for run in moving.runs() {
                self.transfer_run(id, to.other(), run, Cause::User, (0.0, rate), false);
            }
            let duplicate = if policy.read_mostly { pages } else { PageSet::EMPTY };
            self.take_over(id, &mut block, to, pages, duplicate, moving);
            let twice = block.on.cpu.resident & block.on.gpu.resident;
            let part = block.on.of(to);
            part.read |= pages;
            part.write |= if policy.read_mostly { PageSet::EMPTY } else { pages - twice };
            if to == Side::Cpu && policy.gpu_mapped {
                block.map_gpu_to_host(policy.read_mostly);
            }
            block.thrash.forget(pages);
            self.put(id, block);
        }
    }

    /// Sets or unsets advice over a range. Nothing moves, except that unsetting read-mostly keeps one copy of each page.
    pub fn advise(&mut self, range: u32, advice: Advice, set: bool) {
        let Some(policy) = self.ranges.get_mut(&range).map(|r| &mut r.policy) else { return };
        let home = |side| if set { Some(side) } else { None };
        match advice {
            Advice::None => return,
            Advice::ReadMostly => policy.read_mostly = set,
            Advice::PreferredGpu => policy.preferred = home(Side::Gpu),
            Advice::PreferredCpu => policy.preferred = home(Side::Cpu),
            Advice::AccessedByGpu => policy.gpu_mapped = set,
            Advice::PreferredCpuAccessedBy => {
                policy.preferred = home(Side::Cpu);
                policy.gpu_mapped = set;
            }
        }
        let policy = *policy;
        for id in self.ids(range) {
            let mut block = self.take(id);
            block.thrash.forget(block.all());
            if !policy.read_mostly {
                self.collapse(id, &mut block, policy.preferred.unwrap_or(Side::Cpu));
            }
            if policy.gpu_mapped {
                block.map_gpu_to_host(policy.read_mostly);
            } else {
                block.unmap_gpu_from_host();
            }
            self.put(id, block);
        }
    }

    fn collapse(&mut self, id: BlockId, block: &mut Block, keep: Side) {
        let twice = block.on.cpu.resident & block.on.gpu.resident;
        if !twice.is_empty() {
            self.take_over(id, block, keep, twice, PageSet::EMPTY, twice);
        }
    }
}

impl Block {
    /// Maps what lives on the host alone for the GPU.
    fn map_gpu_to_host(&mut self, read_only: bool) {
        let remote = self.on.cpu.resident - self.on.gpu.resident;
        self.on.gpu.read |= remote;
        if !read_only {
            self.on.gpu.write |= remote;
        }
    }

    /// Takes away the GPU's mappings of what lives on the host.
    fn unmap_gpu_from_host(&mut self) {
        let remote = self.on.cpu.resident - self.on.gpu.resident;
        self.on.gpu.read -= remote;
        self.on.gpu.write -= remote;
    }
}
