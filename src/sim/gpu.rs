//! A kernel that meets managed memory: faults in batches, each served and replayed.

use super::order::Order;
use super::profile::Arrival;
use super::rng::Rng;
use super::service::GPU_CLOCK;
use super::side::Side;
use super::windows::Load;
use super::world::{BlockId, World};
use crate::device::Access;
use crate::event::AccessType;
use crate::probe::uvm::Record;
use crate::units::{BLOCK, PAGE};

const PER_BLOCK: u32 = (BLOCK / PAGE) as u32;

/// Batches in a row that serve nothing before the kernel is taken to be through: far above what throttling can cause.
const STUCK: u32 = 10_000;

const BUSY: Load = Load { htod: 0, dtoh: 0, busy: true };

/// The pages on which running threads wait.
struct Front<'a> {
    order: &'a Order,
    next: usize,
    waiting: Vec<u32>,
}

impl Front<'_> {
    /// The pages that fault in the next batch, ascending; `ready` says which need not.
    fn batch(&mut self, rng: &mut Rng, ready: impl Fn(u32) -> bool) -> Vec<u32> {
        let Arrival { picks, pages, .. } = self.order.arrival;
        let mut faulted = Vec::new();
        let mut places = 0;
        while places < picks {
            self.refill(&ready);
            if self.waiting.is_empty() {
                break;
            }
            let few = self.waiting.len() <= picks;
            let at = if few { places } else { rng.below(self.waiting.len() as u64) as usize };
            let Some(&page) = self.waiting.get(at) else { break };
            if ready(page) {
                self.waiting.swap_remove(at);
                continue;
            }
            places += 1;
            faulted.push(page);
            // Half of the places fault on one page, as half of a real sweep's copies are single pages.
            if pages > 1 && rng.below(2) == 0 {
                let end = self.order.pages[self.next - 1];
                let length = 2 + rng.below(u64::from(pages) - 1) as u32;
                let neighbours = page + 1..(page + length).min(end + 1);
                faulted.extend(neighbours.filter(|&p| !ready(p)));
            }
        }
        faulted.sort_unstable();
        faulted.dedup();
        faulted
    }

    fn refill(&mut self, ready: impl Fn(u32) -> bool) {
        while self.waiting.len() < self.order.window
            && let Some(&page) = self.order.pages.get(self.next)
        {
            self.next += 1;
            if !ready(page) {
                self.waiting.push(page);
            }
        }
    }

    /// Lets threads go on whose page has come.
    fn advance(&mut self, ready: impl Fn(u32) -> bool) {
        self.waiting.retain(|&page| !ready(page));
    }
}

fn place(range: u32, page: u32) -> (BlockId, usize) {
    (BlockId { range, index: (page / PER_BLOCK) as usize }, (page % PER_BLOCK) as usize)
}

impl World {
    /// Faults of a kernel over a managed range, until every page of the order has been met.
    pub fn gpu_faults(&mut self, range: u32, order: &Order, access: Access) {
        let mut front = Front { order, next: 0, waiting: Vec::new() };
        let mut idle = 0;
        let mut served_since = 0;
        while idle < STUCK {
            self.expire_pins();
            let mut rng = self.rng.clone();
            let pages = front.batch(&mut rng, |page| self.gpu_may(range, page, access != Access::Read));
            self.rng = rng;
            if pages.is_empty() {
                break;
            }
            let worked = self.batch(range, &pages, order.arrival.raw_per_page, access);
            idle = if worked { 0 } else { idle + 1 };
            served_since += pages.len();
            if served_since * 4 >= front.waiting.len() {
                served_since = 0;
                front.advance(|page| self.gpu_may(range, page, access != Access::Read));
            }
        }
    }

    /// Whether the GPU may access the page without a fault.
    fn gpu_may(&self, range: u32, page: u32, write: bool) -> bool {
        let (id, page) = place(range, page);
        let block = self.ranges.get(&range).and_then(|r| r.blocks.get(id.index));
        block.is_none_or(|block| block.allows(Side::Gpu, page, write))
    }

    /// One batch: fetch, serve block by block, replay. Says whether any page came.
    fn batch(&mut self, range: u32, pages: &[u32], raw_per_page: f64, access: Access) -> bool {
        self.batch = self.batch.wrapping_add(1);
        let begin = self.now();
        let swing = 1.0 + self.profile.jitter.batch * self.rng.swing();
        let cost = self.profile.gpu_cost;
        self.spend((cost.batch_us + cost.page_us * pages.len() as f64) * swing, BUSY);
        // A read-write kernel reads first: a page that it may not even read faults as a read.
        let wants_write = |world: &World, page| match access {
            Access::Read => false,
            Access::Write | Access::Add => true,
            Access::ReadWrite => world.gpu_may(range, page, false),
        };
        let faults: Vec<(u32, bool)> = pages.iter().map(|&page| (page, wants_write(self, page))).collect();
        self.report(range, &faults, raw_per_page, begin);
        let mut worked = false;
        for block in faults.chunk_by(|a, b| a.0 / PER_BLOCK == b.0 / PER_BLOCK) {
            let within: Vec<(usize, bool)> = block.iter().map(|&(page, write)| (place(range, page).1, write)).collect();
            worked |= self.serve(place(range, block[0].0).0, Side::Gpu, &within).worked;
        }
        let (gpu, time) = (Side::Gpu.proc(), self.now());
        self.trace.add(&Record::Replay { gpu, batch: self.batch, time, gpu_time: GPU_CLOCK + time });
        worked
    }

    /// Tells of a batch's faults: one record for each raw entry, one count for each page.
    fn report(&mut self, range: u32, faults: &[(u32, bool)], raw_per_page: f64, begin: u64) {
        let time = self.now();
        let mut room = self.profile.arrival.batch_raw;
        for (left, &(page, write)) in (0..faults.len() as u64).rev().zip(faults) {
            let extra = ((raw_per_page - 1.0) * (1.0 + self.rng.swing())).max(0.0);
            let fraction = self.rng.swing().abs();
            let entries = (1 + (extra + fraction) as u64).min(room.saturating_sub(left).max(1));
            room = room.saturating_sub(entries);
            let (id, within) = place(range, page);
            let record = Record::GpuFault {
                access: if write { AccessType::Write } else { AccessType::Read },
                gpu: Side::Gpu.proc(),
                gpc: (page % u32::from(self.profile.gpu.clusters.max(1))) as u16,
                address: self.address(id, within),
                time,
                gpu_time: GPU_CLOCK + begin,
                batch: self.batch,
            };
            (0..entries).for_each(|_| self.trace.add(&record));
        }
        self.trace.count(|c| c.gpu_faults += faults.len() as u64);
    }
}
