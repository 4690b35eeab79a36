//! What `/proc/self/pagemap` would tell of the simulated process: which pages its CPU maps.

use super::device::Shared;
use super::side::Side;
use crate::event::{Body, Event, Mapped, ProbeInfo};
use crate::probe::Probe;
use crate::units::{Nanos, Stamp};
use std::collections::BTreeMap;

/// Least virtual time between two looks.
const PERIOD: Nanos = Nanos::millis(10);

/// Looks at the CPU's page table after the device's calls, and tells of ranges whose mappings changed.
pub(super) struct MappedProbe {
    world: Shared,
    looked: Option<Stamp>,
    /// What was told last, by the range's address.
    told: BTreeMap<u64, Vec<u16>>,
}

impl MappedProbe {
    pub(super) fn new(world: Shared) -> Self {
        Self { world, looked: None, told: BTreeMap::new() }
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
            let pages = |range: &super::world::Managed| {
                range.blocks.iter().map(|block| block.on.get(Side::CPU).read.count() as u16).collect()
            };
            world.ranges.values().map(|range| (range.address, pages(range))).collect()
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
