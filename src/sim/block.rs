//! One 2 MiB block: where its pages live and who maps them.

use super::pages::PageSet;
use super::side::{Both, Side};
use super::thrash::BlockThrash;

/// What one side has of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Pages whose data lives on this side.
    pub resident: PageSet,
    /// Pages that this side may read, wherever they live.
    pub read: PageSet,
    /// Pages that this side may write.
    pub write: PageSet,
}

/// A block of a managed range; the last of a range may be shorter than 2 MiB.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Number of pages.
    pub len: usize,
    /// Both sides' view.
    pub on: Both<Part>,
    /// Pages for which the host has memory, whether the data lives there or not: it is kept after a migration.
    pub host_backed: PageSet,
    /// The block's place in the order of eviction, if it has memory on the GPU.
    pub chunk: Option<u64>,
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
    /// The GPU is kept mapped.
    pub gpu_mapped: bool,
}

/// Where a faulted page is to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The side.
    pub side: Side,
    /// Whether the other side keeps its copy.
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
        self.on.cpu.resident | self.on.gpu.resident
    }

    /// Whether the side may do that to the page without a fault.
    pub fn allows(&self, side: Side, page: usize, write: bool) -> bool {
        let part = self.on.get(side);
        if write { part.write.contains(page) } else { part.read.contains(page) }
    }

    /// Where the driver puts a page that `who` faulted on; `pin` is what thrashing mitigation says.
    pub fn target(&self, policy: Policy, who: Side, page: usize, write: bool, pin: Option<Side>) -> Target {
        let at = |side| Target { side, duplicate: false };
        if policy.read_mostly && pin.is_none() {
            return Target { side: who, duplicate: !write };
        }
        let home = policy.preferred.filter(|&home| who.reaches(home));
        if home == Some(who) {
            return at(who);
        }
        if let Some(side) = pin {
            return at(side);
        }
        if !self.resident().contains(page) {
            return at(home.unwrap_or(who));
        }
        if who == Side::Gpu && policy.gpu_mapped && self.on.cpu.resident.contains(page) {
            return at(Side::Cpu);
        }
        if !self.on.get(who).resident.contains(page) {
            return at(home.unwrap_or(who));
        }
        at(who)
    }

    /// Says what is wrong with the block's state, if anything: the rules that hold between any two steps.
    #[cfg(test)]
    pub fn fault_in_state(&self, policy: Policy) -> Option<&'static str> {
        let (cpu, gpu) = (&self.on.cpu, &self.on.gpu);
        let twice = cpu.resident & gpu.resident;
        let rules = [
            (!policy.read_mostly && !twice.is_empty(), "a page lives twice without being read-mostly"),
            (!((cpu.write | gpu.write) & twice).is_empty(), "a duplicated page can be written"),
            (!(cpu.read - cpu.resident).is_empty(), "the CPU maps what does not live there"),
            (!(gpu.read - self.resident()).is_empty(), "the GPU maps what lives nowhere"),
            (!(cpu.write - cpu.read).is_empty() || !(gpu.write - gpu.read).is_empty(), "writable but not readable"),
            (gpu.resident.is_empty() != self.chunk.is_none(), "GPU memory and residency disagree"),
            (!(cpu.resident - self.host_backed).is_empty(), "host residency without host memory"),
            (!((self.resident() | self.thrash.thrashing) - self.all()).is_empty(), "a page beyond the block's end"),
        ];
        rules.iter().find(|(broken, _)| *broken).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_follows_the_drivers_order_of_rules() {
        let mut block = Block::new(512);
        block.on.cpu.resident = PageSet::one(1);
        let plain = Policy::default();
        let read_mostly = Policy { read_mostly: true, ..plain };
        let host = Policy { preferred: Some(Side::Cpu), ..plain };
        let card = Policy { preferred: Some(Side::Gpu), ..plain };
        let mapped = Policy { gpu_mapped: true, ..plain };
        let (cpu, gpu) = (Side::Cpu, Side::Gpu);
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
            ("accessed-by maps what lives on the host", mapped, gpu, 1, true, None, (cpu, false)),
            ("accessed-by does not steer first touches", mapped, gpu, 0, true, None, (gpu, false)),
        ];
        for (what, policy, who, page, write, pin, (side, duplicate)) in cases {
            assert_eq!(block.target(policy, who, page, write, pin), Target { side, duplicate }, "{what}");
        }
    }
}
