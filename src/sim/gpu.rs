//! A kernel that meets managed memory: faults in batches, each served and replayed.

use super::buffer::{Batch, FaultBuffer};
use super::front::{Arrivals, Front};
use super::home::Home;
use super::lanes::Lanes;
use super::service::GPU_CLOCK;
use super::side::Side;
use super::windows::Load;
use super::world::{BlockId, Managed, World};
use crate::device::Access;
use crate::event::AccessType;
use crate::probe::uvm::Record;
use crate::units::{BLOCK, PAGE};
use std::collections::HashSet;

const PER_BLOCK: u32 = (BLOCK / PAGE) as u32;

/// Batches in a row that serve nothing before the kernel is taken to be through: far above what throttling can cause.
const STUCK: u32 = 10_000;

const BUSY: Load = Load { htod: 0, dtoh: 0, peer_in: 0, peer_out: 0, busy: true };

/// A kernel over a managed buffer.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// On which GPU.
    pub on: Side,
    /// Where the buffer lies. Pages are counted from the beginning of its range.
    pub home: Home,
    /// What it does with each element.
    pub access: Access,
}

fn place(range: u32, page: u32) -> (BlockId, usize) {
    (BlockId { range, index: (page / PER_BLOCK) as usize }, (page % PER_BLOCK) as usize)
}

impl Managed {
    /// Whether a processor may access a page of the range without a fault.
    fn allows(&self, who: Side, page: u32, write: bool) -> bool {
        let block = self.blocks.get((page / PER_BLOCK) as usize);
        block.is_none_or(|block| block.allows(who, (page % PER_BLOCK) as usize, write))
    }

    /// Whether it may access all of it.
    fn allows_all(&self, who: Side, write: bool) -> bool {
        self.blocks.iter().all(|block| {
            let part = block.on.get(who);
            (block.all() - if write { part.write } else { part.read }).is_empty()
        })
    }
}

impl World {
    /// Faults of a kernel until every page has been met.
    pub fn gpu_faults(&mut self, kernel: Kernel, lanes: &Lanes) {
        let mut front = Front::new(lanes, self.profile.arrival, kernel.home.first);
        let mut buffer = FaultBuffer::new();
        let (mut stale, mut read) = (HashSet::new(), HashSet::new());
        let mut idle = 0;
        // Only service lets a thread go on, so that after the first time those on other blocks need not be asked.
        let mut changed = front.blocks();
        while idle < STUCK {
            self.expire_pins();
            self.advance(kernel, &mut front, &changed, (&stale, &mut read));
            if front.done() && buffer.is_empty() {
                break;
            }
            let arrivals = if front.done() {
                Arrivals::default()
            } else {
                front.arrivals(self.params.fault_batch_count, &mut self.rng)
            };
            let batch = buffer.fetch(arrivals, &self.params);
            let served = self.batch(kernel, &batch, front.done(), &mut stale, &read);
            idle = if served.worked { 0 } else { idle + 1 };
            changed = served.blocks;
            buffer.flush(batch, served.throttled, &self.params);
        }
    }

    /// Pages that threads could read but not write yet are noted in `read`: the read is done, whatever becomes of the page.
    fn advance(
        &mut self,
        kernel: Kernel,
        front: &mut Front,
        changed: &[u32],
        (stale, read): (&HashSet<u32>, &mut HashSet<u32>),
    ) {
        let Kernel { on, home: Home { range, .. }, access } = kernel;
        let Some(managed) = self.ranges.get(&range) else { return front.finish() };
        let write = access != Access::Read;
        if stale.is_empty() && managed.allows_all(on, write) {
            return front.finish();
        }
        front.advance(changed, |page| {
            let may = managed.allows(on, page, write) && !stale.contains(&page);
            if !may && access == Access::ReadWrite && managed.allows(on, page, false) {
                read.insert(page);
            }
            may
        });
    }

    /// One batch: fetched, served block by block, replayed. Faults of a kernel that is `over` take none of its time.
    fn batch(
        &mut self,
        kernel: Kernel,
        batch: &Batch,
        over: bool,
        stale: &mut HashSet<u32>,
        read: &HashSet<u32>,
    ) -> Outcome {
        self.batch = self.batch.wrapping_add(1);
        let begin = self.now();
        if !over {
            let swing = 1.0 + self.profile.jitter.batch * self.rng.swing();
            let cost = self.profile.gpu_cost;
            let wake = if batch.woken { cost.wake_us } else { 0.0 };
            let each = cost.raw_us * batch.raw as f64 + cost.page_us * batch.faults.len() as f64;
            self.spend((wake + cost.batch_us + each) * swing, BUSY);
        }
        let faults = self.report(kernel, batch, begin, read);
        self.upgrade(kernel, &faults, stale);
        let mut outcome = Outcome::default();
        for block in faults.chunk_by(|a, b| a.0 / PER_BLOCK == b.0 / PER_BLOCK) {
            let (id, _) = place(kernel.home.range, block[0].0);
            outcome.blocks.push(block[0].0 / PER_BLOCK);
            let within: Vec<(usize, bool)> = block.iter().map(|&(page, write)| (place(0, page).1, write)).collect();
            let served = self.serve(id, kernel.on, &within);
            outcome.worked |= served.worked;
            outcome.throttled |= served.wait.is_some();
            if self.params.fault_replay_policy == 0 && outcome.blocks.len() > 1 {
                self.spend(self.profile.gpu_cost.replay_us, BUSY);
            }
        }
        let (gpu, time) = (kernel.on.proc(), self.now());
        self.trace.add(&Record::Replay { gpu, batch: self.batch, time, gpu_time: GPU_CLOCK + time });
        outcome
    }

    /// A page that the GPU could read and now may write is met through stale entries of the µTLB for some more faults.
    fn upgrade(&mut self, kernel: Kernel, faults: &[(u32, bool)], stale: &mut HashSet<u32>) {
        let Some(managed) = self.ranges.get(&kernel.home.range) else { return };
        for &(page, _) in faults.iter().filter(|(_, write)| *write) {
            let once_more = self.rng.unit() < self.profile.arrival.stale_share;
            if managed.allows(kernel.on, page, true) {
                if !once_more {
                    stale.remove(&page);
                }
            } else if managed.allows(kernel.on, page, false) && once_more {
                stale.insert(page);
            }
        }
    }

    /// Tells of a batch's faults: one record for each raw entry, one count for each fault. Gives its pages in order, each
    /// once, with whether they are wanted for writing.
    fn report(&mut self, kernel: Kernel, batch: &Batch, begin: u64, read: &HashSet<u32>) -> Vec<(u32, bool)> {
        let Kernel { on, home: Home { range, .. }, access } = kernel;
        let time = self.now();
        let clusters = u32::from(self.profile.gpu.clusters.max(1));
        let mut pages: Vec<(u32, bool)> = Vec::with_capacity(batch.faults.len());
        for fault in &batch.faults {
            // A read-write kernel reads first: a page that it may not even read faults as a read, unless that was done
            // before the page was taken away.
            let readable = read.contains(&fault.page)
                || self.ranges.get(&range).is_some_and(|managed| managed.allows(on, fault.page, false));
            let write = matches!(access, Access::Write | Access::Add) || (access == Access::ReadWrite && readable);
            pages.push((fault.page, write));
            let (id, within) = place(range, fault.page);
            let record = Record::GpuFault {
                access: if write { AccessType::Write } else { AccessType::Read },
                gpu: on.proc(),
                gpc: (fault.page % clusters) as u16,
                address: self.address(id, within),
                time,
                gpu_time: GPU_CLOCK + begin,
                batch: self.batch,
            };
            (0..fault.raw).for_each(|_| self.trace.add(&record));
        }
        self.trace.count(|c| c.gpu_faults += batch.faults.len() as u64);
        pages.sort_unstable();
        pages.dedup();
        pages
    }
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// Blocks that it named, ascending.
    blocks: Vec<u32>,
    worked: bool,
    throttled: bool,
}
