//! Serving faults in one block: decide, fetch around, copy, map. GPU and CPU faults share it.

use super::block::{Block, Policy};
use super::pages::PageSet;
use super::side::{Both, Side};
use super::thrash::Hint;
use super::windows::Load;
use super::world::{BlockId, World};
use crate::event::{Cause, RemoteCause, TraceLevel};
use crate::probe::uvm::Record;
use crate::units::PAGE;

/// The GPU's own clock started long before the session.
pub const GPU_CLOCK: u64 = 1_700_000_000_000_000_000;

/// What became of the faults of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The driver had to do something besides throttling.
    pub worked: bool,
    /// Faults were put off until this time, ns.
    pub wait: Option<u64>,
}

/// Pages on their way to one side.
struct Move {
    to: Side,
    /// Pages that faulted.
    faulted: PageSet,
    /// Pages that the prefetcher adds.
    fetched: PageSet,
    /// Pages of which the other side keeps a copy.
    duplicate: PageSet,
    /// Pages that the faults want to write.
    write: PageSet,
    /// Pages that thrashing mitigation holds at their place.
    pinned: PageSet,
}

impl Move {
    fn pages(&self) -> PageSet {
        self.faulted | self.fetched
    }
}

impl World {
    /// Serves faults of `who`, given as page and whether it wants to write.
    pub fn serve(&mut self, id: BlockId, who: Side, faults: &[(usize, bool)]) -> Served {
        let mut block = self.take(id);
        let policy = self.policy(id);
        let mut served = Served::default();
        let mut to: Both<PageSet> = Both::default();
        let mut plan = [PageSet::EMPTY; 3];
        let [duplicate, write, pinned] = &mut plan;
        for &(page, wants_write) in faults {
            if block.allows(who, page, wants_write) {
                continue;
            }
            let pin = match self.ask(id, &mut block, policy, who, page) {
                Hint::Throttle(until) => {
                    served.wait = served.wait.max(Some(until));
                    continue;
                }
                Hint::Pin(side) => Some(side),
                Hint::None => None,
            };
            let target = block.target(policy, who, page, wants_write, pin);
            to.of(target.side).insert(page);
            for (set, add) in [(&mut *duplicate, target.duplicate), (&mut *write, wants_write), (&mut *pinned, pin.is_some())] {
                if add {
                    set.insert(page);
                }
            }
        }
        served.worked = !(to.cpu | to.gpu).is_empty();
        if served.worked && who == Side::Gpu {
            self.spend(self.profile.gpu_cost.block_us, Load { busy: true, ..Load::default() });
        }
        let single = to.cpu.is_empty() != to.gpu.is_empty();
        for side in Side::ALL {
            let faulted = *to.get(side);
            if !faulted.is_empty() {
                let fetched = if single { self.fetch(&block, policy, side, faulted) } else { PageSet::EMPTY };
                let [mut duplicate, write, pinned] = plan;
                if policy.read_mostly && side == who {
                    duplicate |= fetched;
                }
                self.settle(id, &mut block, policy, who, &Move { to: side, faulted, fetched, duplicate, write, pinned });
            }
        }
        self.put(id, block);
        served
    }

    /// Asks thrashing mitigation and tells what it did.
    fn ask(&mut self, id: BlockId, block: &mut Block, policy: Policy, who: Side, page: usize) -> Hint {
        let now = self.now();
        let answer = block.thrash.hint(&self.profile.thrashing, page, who, policy.preferred, now);
        let (processor, address, time) = (who.proc(), self.address(id, page), now);
        if answer.ended {
            self.trace.add(&Record::ThrottleEnd { processor, address, time });
        }
        if answer.began {
            self.trace.add(&Record::ThrottleStart { processor, address, time });
        }
        if let Some(until) = answer.pinned {
            self.pins.push_back((until, id));
        }
        answer.hint
    }

    fn fetch(&self, block: &Block, policy: Policy, to: Side, faulted: PageSet) -> PageSet {
        if block.resident().is_empty() && policy.preferred == Some(to) {
            return block.all() - faulted;
        }
        self.profile.prefetch.expand(block.len, block.on.get(to).resident, faulted, block.thrash.thrashing)
    }

    /// Makes the pages live where they are to live, and maps them.
    fn settle(&mut self, id: BlockId, block: &mut Block, policy: Policy, who: Side, step: &Move) {
        let from = step.to.other();
        self.back(id, block, step.to, step.pages());
        let moving = (step.pages() - block.on.get(step.to).resident) & block.on.get(from).resident;
        let busy = who == Side::Gpu;
        if from == Side::Gpu && !moving.is_empty() {
            self.spend(self.profile.cpu_cost.gpu_unmap_us, Load { busy, ..Load::default() });
        }
        self.copy(id, from, &[(moving & step.faulted, Cause::Fault), (moving & step.fetched, Cause::Prefetch)], busy);
        self.take_over(id, block, step.to, step.pages(), step.duplicate, moving);
        self.map(id, block, policy, who, step);
        if policy.read_mostly {
            block.thrash.forget(step.pages());
        } else if !moving.is_empty() {
            let (now, rule) = (self.now(), self.profile.thrashing);
            for page in block.thrash.moved(&rule, moving, step.to, now).iter() {
                self.trace.add(&Record::Thrashing { address: self.address(id, page), bytes: PAGE, time: now });
            }
        }
    }

    /// Gives pages memory on a side.
    pub fn back(&mut self, id: BlockId, block: &mut Block, to: Side, pages: PageSet) {
        match to {
            Side::Gpu => self.use_chunk(id, block),
            Side::Cpu => {
                let fresh = (pages - block.host_backed).count() as f64 * PAGE as f64;
                block.host_backed |= pages;
                self.spend(fresh / self.profile.cpu_cost.populate_gb_s / 1e3, Load::default());
            }
        }
    }

    /// Copies pages away from a side: one copy for each run of neighbours with the same cause.
    fn copy(&mut self, id: BlockId, from: Side, parts: &[(PageSet, Cause)], busy: bool) {
        let mut runs: Vec<_> = parts.iter().flat_map(|(set, cause)| set.runs().map(move |run| (run, *cause))).collect();
        runs.sort_unstable_by_key(|(run, _)| run.start);
        let full = self.trace.level() == TraceLevel::Full;
        let base = self.profile.gpu_cost.copy_us + if full { self.profile.trace.full_copy_us } else { 0.0 };
        let rate = self.profile.link.pinned_gb_s;
        for (run, cause) in runs {
            self.transfer_run(id, from, run, cause, (base, rate), busy);
        }
    }

    /// One copy between the sides: `cost` is a base in µs and a rate in GB/s.
    pub fn transfer_run(
        &mut self,
        id: BlockId,
        from: Side,
        run: std::ops::Range<usize>,
        cause: Cause,
        cost: (f64, f64),
        busy: bool,
    ) {
        let bytes = run.len() as u64 * PAGE;
        let begin = self.now();
        let (htod, dtoh) = if from == Side::Cpu { (bytes, 0) } else { (0, bytes) };
        self.spend(cost.0 + bytes as f64 / cost.1 / 1e3, Load { htod, dtoh, busy });
        self.trace.count(|c| {
            c.bytes_htod += htod;
            c.bytes_dtoh += dtoh;
        });
        let end = self.now();
        self.trace.add(&Record::Migration {
            cause,
            src: from.proc(),
            dst: from.other().proc(),
            address: self.address(id, run.start),
            bytes,
            time: end,
            gpu_begin: GPU_CLOCK + begin,
            gpu_end: GPU_CLOCK + end,
        });
    }

    /// Residency after a move: the other side loses what is not duplicated.
    pub fn take_over(
        &mut self,
        id: BlockId,
        block: &mut Block,
        to: Side,
        pages: PageSet,
        duplicate: PageSet,
        moved: PageSet,
    ) {
        let other = block.on.of(to.other());
        let lost = (pages - duplicate) & other.resident;
        other.resident -= lost;
        other.read -= lost;
        other.write -= lost;
        let copies = duplicate & other.resident;
        other.write -= copies;
        let part = block.on.of(to);
        part.resident |= pages;
        part.write -= copies;
        self.drop_chunk_if_empty(block);
        let time = self.now();
        for page in (moved & copies).iter() {
            self.trace.add(&Record::ReadDuplicate { address: self.address(id, page), bytes: PAGE, time });
        }
        let dropped = lost - moved;
        if !dropped.is_empty() {
            self.spend(self.profile.gpu_cost.invalidate_us * dropped.count() as f64, Load::default());
        }
        for page in dropped.iter() {
            self.trace.add(&Record::ReadInvalidate { address: self.address(id, page), bytes: PAGE, time });
        }
    }

    /// Maps the pages for the side that faulted and for those that are kept mapped.
    fn map(&mut self, id: BlockId, block: &mut Block, policy: Policy, who: Side, step: &Move) {
        let pages = step.pages();
        let twice = block.on.cpu.resident & block.on.gpu.resident;
        // A read-mostly page stays read-only until it is written, so that it can be duplicated.
        let writable = (if policy.read_mostly { step.write & step.faulted } else { pages }) - twice;
        let part = block.on.of(who);
        part.read |= pages;
        part.write |= writable;
        if step.to != Side::Cpu {
            return;
        }
        let thrashing = step.pinned & pages;
        let kept = if policy.gpu_mapped || who == Side::Gpu { pages } else { thrashing };
        let gpu = &mut block.on.gpu;
        let new = kept - (gpu.read - if who == Side::Gpu { kept } else { PageSet::EMPTY });
        gpu.read |= kept;
        gpu.write |= kept & writable;
        for (set, cause) in [(new & thrashing, RemoteCause::Thrashing), (new - thrashing, RemoteCause::Policy)] {
            for run in set.runs() {
                let (src, dst) = (Side::Gpu.proc(), Side::Cpu.proc());
                let (address, bytes, time) = (self.address(id, run.start), run.len() as u64 * PAGE, self.now());
                self.trace.add(&Record::RemoteMap { src, dst, cause, address, bytes, time });
            }
        }
    }

    /// Makes a block's GPU memory free: what lives there only goes to the host, unmapped.
    pub fn evict(&mut self, id: BlockId) {
        let mut block = self.take(id);
        let pages = block.on.gpu.resident;
        let alone = pages - block.on.cpu.resident;
        self.back(id, &mut block, Side::Cpu, alone);
        self.copy(id, Side::Gpu, &[(alone, Cause::Eviction)], true);
        self.take_over(id, &mut block, Side::Cpu, pages, PageSet::EMPTY, pages);
        block.on.gpu.read -= pages;
        block.on.gpu.write -= pages;
        self.put(id, block);
    }

    /// Ends the pins that have run out: their remote mappings go, and the game begins anew.
    pub fn expire_pins(&mut self) {
        let now = self.now();
        while let Some((_, id)) = self.pins.pop_front_if(|(until, _)| *until <= now) {
            let mut block = self.take(id);
            let gone = block.thrash.expire(now) - block.on.gpu.resident;
            if !self.policy(id).gpu_mapped {
                block.on.gpu.read -= gone;
                block.on.gpu.write -= gone;
            }
            self.put(id, block);
        }
    }
}
