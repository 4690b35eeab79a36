//! One 2 MiB block: where its pages live, who maps them, and where a faulted page is to live.

use super::pages::PageSet;
use super::side::{Each, Side, Sides, Topology};
use super::thrash::BlockThrash;

/// What one processor has of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Pages whose data lives there.
    pub resident: PageSet,
    /// Pages that it may read, wherever they live.
    pub read: PageSet,
    /// Pages that it may write.
    pub write: PageSet,
}

/// A block of a managed range; the last of a range may be shorter than 2 MiB.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Number of pages.
    pub len: usize,
    /// Each processor's view.
    pub on: Each<Part>,
    /// Pages for which the host has memory, whether the data lives there or not: it is kept after a migration.
    pub host_backed: PageSet,
    /// Pages that the CPU has written since it mapped them.
    pub dirtied: PageSet,
    /// The block's place in each GPU's order of eviction, if it has memory there.
    pub chunk: Each<Option<u64>>,
    /// Thrashing.
    pub thrash: BlockThrash,
}

/// Policy of a range, from the user's advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Reads duplicate.
    pub read_mostly: bool,
    /// Preferred location.
    pub preferred: Option<Side>,
    /// GPUs that are kept mapped.
    pub mapped: Sides,
}

/// Where a faulted page is to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The processor.
    pub side: Side,
    /// Whether others keep their copies.
    pub duplicate: bool,
}

impl Block {
    /// A block of `len` pages that nobody has touched.
    pub fn new(len: usize) -> Self {
        Self { len, ..Self::default() }
    }

    /// All of its pages.
    pub fn all(&self) -> PageSet {
        PageSet::range(0..self.len)
    }

    /// Pages that live anywhere.
    pub fn resident(&self) -> PageSet {
        self.on.iter().fold(PageSet::EMPTY, |all, (_, part)| all | part.resident)
    }

    /// Pages that live on a processor other than `side`.
    pub fn elsewhere(&self, side: Side) -> PageSet {
        let others = self.on.iter().filter(|(other, _)| *other != side);
        others.fold(PageSet::EMPTY, |all, (_, part)| all | part.resident)
    }

    /// Pages that live in two places at least.
    pub fn duplicated(&self) -> PageSet {
        let (mut once, mut twice) = (PageSet::EMPTY, PageSet::EMPTY);
        for (_, part) in self.on.iter() {
            twice |= once & part.resident;
            once |= part.resident;
        }
        twice
    }

    /// Whether the processor may do that to the page without a fault.
    pub fn allows(&self, side: Side, page: usize, write: bool) -> bool {
        let part = self.on.get(side);
        if write { part.write.contains(page) } else { part.read.contains(page) }
    }

    /// The copy of a page that `who` reaches best: its own, a peer GPU's, the host's, any other.
    pub fn closest(&self, topology: Topology, who: Side, page: usize) -> Option<Side> {
        let lives = |side: &Side| self.on.get(*side).resident.contains(page);
        let rank = |side: &Side| match *side {
            own if own == who => 0,
            peer if !peer.is_cpu() && topology.reaches(who, peer) => 1,
            host if host.is_cpu() => 2,
            _ => 3,
        };
        topology.sides().filter(lives).min_by_key(rank)
    }

    /// Where the driver puts a page that `who` faulted on; `pin` is what thrashing mitigation says. The rules stand in
    /// the driver's order.
    pub fn target(
        &self,
        topology: Topology,
        policy: Policy,
        who: Side,
        page: usize,
        write: bool,
        pin: Option<Side>,
    ) -> Target {
        let at = |side| Target { side, duplicate: false };
        if policy.read_mostly && pin.is_none() {
            return Target { side: who, duplicate: !write };
        }
        let home = policy.preferred.filter(|&home| topology.reaches(who, home));
        if home == Some(who) {
            return at(who);
        }
        if let Some(side) = pin {
            return at(side);
        }
        let Some(closest) = self.closest(topology, who, page) else { return at(home.unwrap_or(who)) };
        if policy.mapped.contains(who) && topology.reaches(who, closest) {
            return at(closest);
        }
        if closest != who {
            return at(home.unwrap_or(who));
        }
        at(who)
    }

    /// Says what is wrong with the block's state, if anything: the rules that hold between any two steps.
    #[cfg(test)]
    pub fn fault_in_state(&self, topology: Topology, policy: Policy) -> Option<&'static str> {
        let (twice, resident) = (self.duplicated(), self.resident());
        let cpu = self.on.get(Side::CPU);
        let mut rules = vec![
            (!policy.read_mostly && !twice.is_empty(), "a page lives twice without being read-mostly"),
            (!(cpu.read - cpu.resident).is_empty(), "the CPU maps what does not live there"),
            (!(cpu.resident - self.host_backed).is_empty(), "host residency without host memory"),
            (!(self.dirtied - cpu.resident).is_empty(), "written by the CPU but not there"),
            (!((resident | self.thrash.thrashing) - self.all()).is_empty(), "a page beyond the block's end"),
        ];
        for (side, part) in self.on.iter() {
            let reachable = topology.sides().filter(|place| topology.reaches(side, *place));
            let reachable = reachable.fold(PageSet::EMPTY, |all, place| all | self.on.get(place).resident);
            rules.push((!(part.write & twice).is_empty(), "a duplicated page can be written"));
            rules.push((!(part.read - reachable).is_empty(), "a mapping of what lives nowhere in reach"));
            rules.push((!(part.write - part.read).is_empty(), "writable but not readable"));
            let chunk = !side.is_cpu() && part.resident.is_empty() != self.chunk.get(side).is_none();
            rules.push((chunk, "GPU memory and residency disagree"));
        }
        rules.iter().find(|(broken, _)| *broken).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Proc;

    const ONE: Topology = Topology { gpus: 1, peers: false };
    const TWO: Topology = Topology { gpus: 2, peers: true };

    fn mapped(side: Side) -> Sides {
        let mut sides = Sides::default();
        sides.set(side, true);
        sides
    }

    #[test]
    fn the_target_follows_the_drivers_order_of_rules() {
        let mut block = Block::new(512);
        block.on.of(Side::CPU).resident = PageSet::one(1);
        let plain = Policy::default();
        let read_mostly = Policy { read_mostly: true, ..plain };
        let host = Policy { preferred: Some(Side::CPU), ..plain };
        let card = Policy { preferred: Some(Side::GPU), ..plain };
        let by_gpu = Policy { mapped: mapped(Side::GPU), ..plain };
        let (cpu, gpu) = (Side::CPU, Side::GPU);
        let cases = [
            ("first touch stays with the toucher", plain, gpu, 0, false, None, (gpu, false)),
            ("a fault moves the page", plain, gpu, 1, false, None, (gpu, false)),
            ("a read-mostly read copies", read_mostly, gpu, 1, false, None, (gpu, true)),
            ("a read-mostly write moves", read_mostly, gpu, 1, true, None, (gpu, false)),
            ("a pin beats read-mostly", read_mostly, gpu, 1, false, Some(cpu), (cpu, false)),
            ("the preferred host keeps the page", host, gpu, 1, false, None, (cpu, false)),
            ("the preferred host gets first touches", host, gpu, 0, true, None, (cpu, false)),
            ("the CPU cannot reach the preferred GPU", card, cpu, 0, false, None, (cpu, false)),
            ("the preferred GPU beats a pin", card, gpu, 1, false, Some(cpu), (gpu, false)),
            ("accessed-by maps what lives on the host", by_gpu, gpu, 1, true, None, (cpu, false)),
            ("accessed-by does not steer first touches", by_gpu, gpu, 0, true, None, (gpu, false)),
        ];
        for (what, policy, who, page, write, pin, (side, duplicate)) in cases {
            assert_eq!(block.target(ONE, policy, who, page, write, pin), Target { side, duplicate }, "{what}");
        }
    }

    #[test]
    fn peers_map_each_other_where_advice_says_so_and_take_pages_where_not() {
        let mut block = Block::new(512);
        let second = Side::of(Proc::Gpu(1)).unwrap();
        block.on.of(second).resident = PageSet::one(1);
        let target = |topology, policy| block.target(topology, policy, Side::GPU, 1, true, None).side;
        let by_first = Policy { mapped: mapped(Side::GPU), ..Policy::default() };
        assert_eq!(target(TWO, Policy::default()), Side::GPU);
        assert_eq!(target(TWO, by_first), second, "accessed-by over NVLink");
        assert_eq!(target(Topology { peers: false, ..TWO }, by_first), Side::GPU, "no link, no mapping");
        let home = Policy { preferred: Some(second), ..Policy::default() };
        assert_eq!(target(TWO, home), second, "the preferred peer keeps the page");
    }
}
