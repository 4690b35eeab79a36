//! Serving faults in one block: decide, fetch around, copy, map. GPU and CPU faults share it.

use super::block::{Block, Policy};
use super::pages::PageSet;
use super::prefetch::Prefetch;
use super::side::{Each, Side};
use super::thrash::{Ask, Hint};
use super::windows::Load;
use super::world::{BlockId, World};
use crate::event::{Cause, RemoteCause};
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

/// What the faults of one block ask for.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    /// Pages by where they are to live.
    to: Each<PageSet>,
    /// Pages of which others keep their copies.
    duplicate: PageSet,
    /// Pages that are to be written.
    write: PageSet,
    /// Pages that thrashing mitigation holds at their place.
    pinned: PageSet,
}

/// Pages on their way to one processor.
struct Move {
    to: Side,
    /// Pages that faulted.
    faulted: PageSet,
    /// Pages that the prefetcher adds.
    fetched: PageSet,
    wanted: Wanted,
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
        let (wanted, wait) = self.decide(id, &mut block, who, faults);
        let asked = wanted.to.iter().filter(|(_, pages)| !pages.is_empty()).count();
        if asked > 0 && !who.is_cpu() {
            self.spend(self.profile.gpu_cost.block_us, Load { busy: true, ..Load::default() });
        }
        for to in self.topology.sides() {
            let faulted = *wanted.to.get(to);
            if !faulted.is_empty() {
                let fetched = if asked == 1 { self.fetch(&block, policy, (who, to), faulted) } else { PageSet::EMPTY };
                let mut wanted = wanted;
                if policy.read_mostly && to == who {
                    wanted.duplicate |= fetched;
                }
                self.settle(id, &mut block, who, &Move { to, faulted, fetched, wanted });
            }
        }
        self.put(id, block);
        Served { worked: asked > 0, wait }
    }

    fn decide(&mut self, id: BlockId, block: &mut Block, who: Side, faults: &[(usize, bool)]) -> (Wanted, Option<u64>) {
        let policy = self.policy(id);
        let (mut wanted, mut wait) = (Wanted::default(), None);
        for &(page, wants_write) in faults {
            if block.allows(who, page, wants_write) {
                continue;
            }
            let pin = match self.ask(id, block, policy, who, page) {
                Hint::Throttle(until) => {
                    wait = wait.max(Some(until));
                    continue;
                }
                Hint::Pin(side) => Some(side),
                Hint::None => None,
            };
            let target = block.target(self.topology, policy, who, page, wants_write, pin);
            wanted.to.of(target.side).insert(page);
            for (set, add) in [
                (&mut wanted.duplicate, target.duplicate),
                (&mut wanted.write, wants_write),
                (&mut wanted.pinned, pin.is_some()),
            ] {
                if add {
                    set.insert(page);
                }
            }
        }
        (wanted, wait)
    }

    /// Asks thrashing mitigation and tells what it did.
    fn ask(&mut self, id: BlockId, block: &mut Block, policy: Policy, who: Side, page: usize) -> Hint {
        let now = self.now();
        let lives = block.closest(self.topology, who, page);
        let (params, topology, preferred) = (&self.params, self.topology, policy.preferred);
        let answer = block.thrash.hint(&Ask { params, topology, at: page, who, preferred, lives, now });
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

    /// Pages that come along with faulted ones. What lives there already comes along to be mapped: a GPU that faults on
    /// its peer's block, or on its own that was filled for its peer, maps more than half of it at once.
    fn fetch(&self, block: &Block, policy: Policy, (who, to): (Side, Side), faulted: PageSet) -> PageSet {
        if block.resident().is_empty() && policy.preferred == Some(to) {
            return block.all() - faulted;
        }
        let rule = Prefetch::from(&self.params);
        let there = block.on.get(to).resident;
        let done = if to.is_cpu() { there } else { there & block.on.get(who).read };
        rule.expand(block.len, there, faulted, block.thrash.thrashing) - done
    }

    /// Makes the pages live where they are to live, and maps them.
    fn settle(&mut self, id: BlockId, block: &mut Block, who: Side, step: &Move) {
        let policy = self.policy(id);
        let (busy, before) = (!who.is_cpu(), block.on.get(step.to).resident);
        self.back(id, block, step.to, step.pages());
        let moving = (step.pages() - before) & block.elsewhere(step.to);
        self.unmap(block, step.to, who, moving);
        self.copy(
            id,
            block,
            step.to,
            &[(moving & step.faulted, Cause::Fault), (moving & step.fetched, Cause::Prefetch)],
            busy,
        );
        let loser = self.topology.sides().find(|side| *side != step.to && !block.on.get(*side).resident.is_empty());
        let dropped = self.take_over(id, block, step.to, step.pages(), step.wanted.duplicate, moving);
        self.map(id, block, policy, who, step);
        self.note_moves(id, block, policy, step, moving, (dropped, loser.unwrap_or(step.to)));
    }

    /// Time to take pages out of the page tables of where they were.
    fn unmap(&mut self, block: &Block, to: Side, who: Side, moving: PageSet) {
        if moving.is_empty() {
            return;
        }
        let load = Load { busy: !who.is_cpu(), ..Load::default() };
        let cpu = block.on.get(Side::CPU);
        if !to.is_cpu() && !(moving & cpu.read).is_empty() {
            self.spend(self.profile.gpu_cost.cpu_unmap_us, load);
        }
        if !(moving - cpu.resident).is_empty() {
            self.spend(self.profile.cpu_cost.gpu_unmap_us, load);
        }
    }

    /// Tells thrashing detection what happened: data that moved, or mappings that were taken away for a write.
    fn note_moves(
        &mut self,
        id: BlockId,
        block: &mut Block,
        policy: Policy,
        step: &Move,
        moving: PageSet,
        (dropped, dropped_from): (PageSet, Side),
    ) {
        let now = self.now();
        let found = if policy.read_mostly {
            block.thrash.forget(moving);
            // The driver's event names the whole span of the batch's pages, of which those in one place only are past it.
            let span = PageSet::range(dropped.span()) & (block.duplicated() | dropped);
            block.thrash.revoked(&self.params, span, dropped_from, now)
        } else if moving.is_empty() {
            PageSet::EMPTY
        } else {
            block.thrash.moved(&self.params, moving, step.to, now)
        };
        for page in found.iter() {
            self.trace.add(&Record::Thrashing { address: self.address(id, page), bytes: PAGE, time: now });
        }
    }

    /// Gives pages memory on a processor.
    pub fn back(&mut self, id: BlockId, block: &mut Block, to: Side, pages: PageSet) {
        if to.is_cpu() {
            let fresh = pages - block.host_backed;
            let empty = (fresh - block.resident()).count();
            block.host_backed |= pages;
            let cost = self.profile.cpu_cost;
            let zeroed = (empty as u64 * PAGE) as f64 / cost.populate_gb_s / 1e3;
            self.spend(zeroed + cost.alloc_us * (fresh.count() - empty) as f64, Load::default());
        } else {
            let fresh = block.chunk.get(to).is_none();
            self.use_chunk(id, block, to);
            if fresh {
                // What lives nowhere is zeroed; the rest is copied over.
                let empty = (block.all() - block.resident()).count() as f64 / block.len.max(1) as f64;
                self.spend(self.profile.gpu_cost.chunk_us * empty, Load { busy: true, ..Load::default() });
            }
        }
    }

    /// Residency after a move: the others lose what is not duplicated. Gives the pages of which copies were dropped.
    pub fn take_over(
        &mut self,
        id: BlockId,
        block: &mut Block,
        to: Side,
        pages: PageSet,
        duplicate: PageSet,
        moved: PageSet,
    ) -> PageSet {
        let had = block.on.get(to).resident;
        let mut all_lost = PageSet::EMPTY;
        let mut copies = PageSet::EMPTY;
        for other in self.topology.sides().filter(|other| *other != to) {
            let part = block.on.of(other);
            let lost = (pages - duplicate) & part.resident;
            part.resident -= lost;
            all_lost |= lost;
            copies |= duplicate & part.resident;
        }
        // Mappings of what has left go with it; those of a duplicated page stay for reading.
        for side in self.topology.sides() {
            let part = block.on.of(side);
            if side != to {
                part.read -= all_lost;
                part.write -= all_lost;
            }
            part.write -= copies;
        }
        block.on.of(to).resident |= pages;
        block.dirtied -= all_lost | copies;
        self.drop_empty_chunks(block);
        let time = self.now();
        for page in (moved & copies).iter() {
            self.trace.add(&Record::ReadDuplicate { address: self.address(id, page), bytes: PAGE, time });
        }
        let dropped = (all_lost & had) - moved;
        for page in dropped.iter() {
            self.trace.add(&Record::ReadInvalidate { address: self.address(id, page), bytes: PAGE, time });
        }
        if !dropped.is_empty() {
            let cost = self.profile.gpu_cost;
            self.spend(cost.revoke_us + cost.invalidate_us * dropped.count() as f64, Load::default());
        }
        dropped
    }

    /// Maps the pages for the processor that faulted and for those that are kept mapped.
    fn map(&mut self, id: BlockId, block: &mut Block, policy: Policy, who: Side, step: &Move) {
        let pages = step.pages();
        // A read-mostly page stays read-only until it is written, so that it can be duplicated.
        let writable = (if policy.read_mostly { step.wanted.write & step.faulted } else { pages }) - block.duplicated();
        let reached = self.topology.reaches(who, step.to);
        let thrashing = step.wanted.pinned & pages;
        let topology = self.topology;
        for side in topology.sides().filter(|side| topology.reaches(*side, step.to)) {
            let kept = match () {
                () if side == who || policy.mapped.contains(side) => pages,
                () if !side.is_cpu() => thrashing,
                () => PageSet::EMPTY,
            };
            let part = block.on.of(side);
            let new = if side == who { kept } else { kept - part.read };
            part.read |= kept;
            part.write |= kept & writable;
            if side != step.to {
                self.tell_remote(id, side, step.to, new, thrashing);
            }
        }
        if who.is_cpu() && reached {
            self.spend(self.profile.cpu_cost.map_us * pages.count() as f64, Load::default());
        }
    }

    fn tell_remote(&mut self, id: BlockId, who: Side, place: Side, new: PageSet, thrashing: PageSet) {
        for (set, cause) in [(new & thrashing, RemoteCause::Thrashing), (new - thrashing, RemoteCause::Policy)] {
            for run in set.runs() {
                let (src, dst) = (who.proc(), place.proc());
                let (address, bytes, time) = (self.address(id, run.start), run.len() as u64 * PAGE, self.now());
                self.trace.add(&Record::RemoteMap { src, dst, cause, address, bytes, time });
            }
        }
    }

    /// Ends the pins that have run out: their remote mappings go, and the game begins anew.
    pub fn expire_pins(&mut self) {
        let now = self.now();
        while let Some((_, id)) = self.pins.pop_front_if(|(until, _)| *until <= now) {
            let mut block = self.take(id);
            let policy = self.policy(id);
            let expired = block.thrash.expire(now);
            for side in self.topology.sides().filter(|side| !policy.mapped.contains(*side)) {
                let part = block.on.of(side);
                let gone = expired - part.resident;
                part.read -= gone;
                part.write -= gone;
            }
            self.put(id, block);
        }
    }
}
