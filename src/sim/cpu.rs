//! A loop on the CPU that meets managed memory: one fault at a time.

use super::home::Home;
use super::order::Order;
use super::side::Side;
use super::windows::Load;
use super::world::{BlockId, World};
use crate::device::{Access, ELEMENT, Touch};
use crate::event::AccessType;
use crate::probe::uvm::Record;
use crate::units::{BLOCK, PAGE};

const PER_BLOCK: u32 = (BLOCK / PAGE) as u32;

/// Attempts at one page before the loop goes on without it: far above what throttling can cause.
const STUCK: u32 = 64;

impl World {
    /// What the loop itself takes, µs.
    pub fn cpu_work_us(&self, touch: &Touch) -> f64 {
        let cost = self.profile.cpu_cost;
        let fits = touch.elements * ELEMENT <= cost.cache_mib << 20;
        touch.count as f64 * ELEMENT as f64 / if fits { cost.cached_gb_s } else { cost.access_gb_s } / 1e3
    }

    /// A loop over a managed buffer. Its own work goes on between the faults.
    pub fn cpu_touch_managed(&mut self, buffer: u32, order: &Order, touch: &Touch) {
        let Home { range, first } = self.home(buffer);
        let each = self.cpu_work_us(touch) / order.pages.len().max(1) as f64;
        let write = touch.access != Access::Read;
        let mut work = 0.0;
        for page in order.pages.iter().map(|page| first + page) {
            let id = BlockId { range, index: (page / PER_BLOCK) as usize };
            let page = (page % PER_BLOCK) as usize;
            if !self.cpu_may(id, page, write) {
                self.spend(std::mem::take(&mut work), Load::default());
                self.cpu_fault(id, page, write);
            }
            work += each + if write { self.first_write_us(id, page) } else { 0.0 };
        }
        self.spend(work, Load::default());
    }

    /// What the processor takes to set the dirty bit of a page that it has not written since it was mapped, µs.
    fn first_write_us(&mut self, id: BlockId, page: usize) -> f64 {
        let block = self.ranges.get_mut(&id.range).and_then(|r| r.blocks.get_mut(id.index));
        let Some(block) = block.filter(|b| b.on.get(Side::CPU).write.contains(page)) else { return 0.0 };
        if block.dirtied.contains(page) {
            return 0.0;
        }
        block.dirtied.insert(page);
        self.profile.cpu_cost.first_write_us
    }

    fn cpu_may(&self, id: BlockId, page: usize, write: bool) -> bool {
        let block = self.ranges.get(&id.range).and_then(|r| r.blocks.get(id.index));
        block.is_none_or(|block| block.allows(Side::CPU, page, write))
    }

    fn cpu_fault(&mut self, id: BlockId, page: usize, write: bool) {
        self.expire_pins();
        self.trace.count(|c| c.cpu_faults += 1);
        let (address, time) = (self.address(id, page), self.now());
        let access = if write { AccessType::Write } else { AccessType::Read };
        self.trace.add(&Record::CpuFault { access, address, time, pid: 1, tid: 1, pc: 0 });
        self.spend(self.profile.cpu_cost.fault_us, Load::default());
        for _ in 0..STUCK {
            let Some(until) = self.serve(id, Side::CPU, &[(page, write)]).wait else { return };
            // The driver sleeps for between one and one and a half times the rest of the nap.
            let nap = until.saturating_sub(self.now());
            let late = (nap as f64 * 0.25 * (1.0 + self.rng.swing())) as u64;
            self.pass_until(until + late, Load::default());
        }
    }
}
