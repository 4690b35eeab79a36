//! Where a managed buffer lies. Small ones share a block of 2 MiB, as on a real card, so that one fault moves neighbours.

use super::block::{Block, Part, Policy};
use super::pages::{PAGES, PageSet};
use super::world::{BlockId, Managed, World};
use crate::units::{BLOCK, PAGE};

/// Largest allocation that shares a block, bytes: on an H200 (driver 580) those of 4 KiB, 64 KiB and 1 MiB lie side by
/// side, larger ones begin at a multiple of 2 MiB.
const SHARES: u64 = 1 << 20;

/// A buffer's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Number of the range.
    pub range: u32,
    /// Its first page within the range.
    pub first: u32,
}

/// The range that takes the next small buffers.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    range: u32,
    /// Bytes taken, from its beginning.
    used: u64,
}

impl World {
    /// Where a buffer lies; an empty range if it is not a managed one.
    pub fn home(&self, buffer: u32) -> Home {
        self.homes.get(&buffer).copied().unwrap_or_default()
    }

    /// Finds a place for a buffer; says its address.
    pub(super) fn move_in(&mut self, buffer: u32, bytes: u64) -> u64 {
        let room = bytes.div_ceil(PAGE) * PAGE;
        if bytes > SHARES {
            let address = self.new_range(buffer, room);
            self.homes.insert(buffer, Home { range: buffer, first: 0 });
            return address;
        }
        let shared = match self.shared.filter(|shared| shared.used + room <= BLOCK) {
            Some(shared) => shared,
            None => {
                let range = self.new_id();
                self.new_range(range, BLOCK);
                Shared { range, used: 0 }
            }
        };
        self.homes.insert(buffer, Home { range: shared.range, first: (shared.used / PAGE) as u32 });
        self.shared = Some(Shared { used: shared.used + room, ..shared });
        self.ranges.get(&shared.range).map_or(0, |range| range.address) + shared.used
    }

    /// Gives up a buffer's place. A shared range goes with its last buffer.
    pub(super) fn move_out(&mut self, buffer: u32) {
        let Some(Home { range, .. }) = self.homes.remove(&buffer) else { return };
        if self.homes.values().any(|home| home.range == range) {
            return;
        }
        self.shared = self.shared.filter(|shared| shared.range != range);
        for block in self.ranges.remove(&range).iter().flat_map(|range| &range.blocks) {
            for (gpu, chunk) in block.chunk.iter() {
                chunk.map(|chunk| self.chunks.of(gpu).remove(&chunk));
            }
        }
    }

    fn new_range(&mut self, id: u32, bytes: u64) -> u64 {
        let pages = (bytes / PAGE) as usize;
        let blocks = (0..pages).step_by(PAGES).map(|first| Block::new((pages - first).min(PAGES))).collect();
        let address = self.new_address(bytes);
        self.ranges.insert(id, Managed { address, policy: Policy::default(), blocks });
        address
    }

    /// Gives a buffer that shares a range one of its own, as advice needs: the driver splits the range there. Says which.
    pub(super) fn own_range(&mut self, buffer: u32, bytes: u64) -> u32 {
        let home = self.home(buffer);
        let alone = home.range == buffer;
        let Some(shared) = self.ranges.get(&home.range).filter(|_| !alone) else { return home.range };
        let (policy, address) = (shared.policy, shared.address + u64::from(home.first) * PAGE);
        let id = BlockId { range: home.range, index: 0 };
        let (mut block, first) = (self.take(id), home.first as usize);
        let mut own = block.split_off(first..first + bytes.div_ceil(PAGE) as usize);
        self.drop_empty_chunks(&mut block);
        self.put(id, block);
        for gpu in self.topology.sides().filter(|side| !side.is_cpu()) {
            if !own.on.get(gpu).resident.is_empty() {
                self.use_chunk(BlockId { range: buffer, index: 0 }, &mut own, gpu);
            }
        }
        self.ranges.insert(buffer, Managed { address, policy, blocks: vec![own] });
        // The shared range stays with those that are left in it, and takes no others where this one was.
        self.homes.insert(buffer, Home { range: buffer, first: 0 });
        if !self.homes.values().any(|other| other.range == home.range) {
            self.ranges.remove(&home.range);
            self.shared = self.shared.filter(|shared| shared.range != home.range);
        }
        buffer
    }
}

impl Block {
    /// Takes some pages out into a block of their own; here they are left as if nobody had touched them.
    fn split_off(&mut self, pages: std::ops::Range<usize>) -> Self {
        let cut = |set: &mut PageSet| {
            let gone = *set & PageSet::range(pages.clone());
            *set -= gone;
            let mut moved = PageSet::EMPTY;
            gone.iter().for_each(|page| moved.insert(page - pages.start));
            moved
        };
        let mut own = Self::new(pages.len());
        own.host_backed = cut(&mut self.host_backed);
        own.dirtied = cut(&mut self.dirtied);
        self.thrash.forget(self.all());
        for side in super::side::Side::all() {
            let part = self.on.of(side);
            let (resident, read, write) = (cut(&mut part.resident), cut(&mut part.read), cut(&mut part.write));
            *own.on.of(side) = Part { resident, read, write };
        }
        own
    }
}
