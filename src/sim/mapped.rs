//! What `/proc/self/pagemap` would tell of the simulated process: which pages its CPU maps.

use super::block::Block;
use super::device::Shared;
use super::pages::PAGES;
use super::side::Side;
use super::world::World;
use crate::device::Buffer;
use crate::event::{Body, Event, Mapped, MemoryKind, ProbeInfo};
use crate::probe::Probe;
use crate::units::{Nanos, PAGE, Stamp};
use std::collections::BTreeMap;

/// Least virtual time between two looks.
const PERIOD: Nanos = Nanos::millis(10);

/// Looks at the CPU's page table after the device's calls, and tells of ranges whose mappings changed.
pub(super) struct MappedProbe {
    world: Shared,
    looked: Option<Stamp>,
    /// What was told last, by the buffer's address.
    told: BTreeMap<u64, Vec<u16>>,
}

impl MappedProbe {
    pub(super) fn new(world: Shared) -> Self {
        Self { world, looked: None, told: BTreeMap::new() }
    }
}

impl World {
    /// How many pages the CPU maps of each block of a managed buffer.
    fn mapped(&self, buffer: &Buffer) -> Vec<u16> {
        let home = self.home(buffer.id);
        let Some(range) = self.ranges.get(&home.range) else { return Vec::new() };
        let first = home.first as usize;
        let end = first + buffer.bytes.0.div_ceil(PAGE) as usize;
        let of = |(index, block): (usize, &Block)| {
            let base = index * PAGES;
            let pages = first.saturating_sub(base)..end.saturating_sub(base).min(PAGES);
            block.on.get(Side::CPU).read.count_in(pages) as u16
        };
        range.blocks.iter().enumerate().map(of).collect()
    }
}

impl Probe for MappedProbe {
    fn info(&self) -> ProbeInfo {
        ProbeInfo {
            name: "sim pagemap".to_owned(),
            method: "the simulated CPU's page table, after each step".to_owned(),
            period: PERIOD,
            note: "mapped by the CPU, which is not the same as resident".to_owned(),
            cost: String::new(),
        }
    }

    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>) {
        if self.looked.is_some_and(|looked| now.since(looked) < PERIOD) {
            return;
        }
        self.looked = Some(now);
        let seen: BTreeMap<u64, Vec<u16>> = {
            let world = self.world.lock();
            let managed = world.buffers().filter(|buffer| buffer.kind == MemoryKind::Managed);
            managed.map(|buffer| (buffer.address, world.mapped(buffer))).collect()
        };
        for (address, pages) in &seen {
            if self.told.get(address) != Some(pages) {
                let mapped = Mapped { address: *address, pages: pages.clone() };
                out.push(Event { at: now, body: Body::Mapped(mapped) });
            }
        }
        self.told = seen;
    }
}
