//! The processors of a simulated machine and who can map whose memory.

use crate::event::Proc;

/// Processors that a simulated machine has at most: its CPU and four GPUs.
pub const SIDES: usize = 5;

/// A processor of the simulated machine, numbered as the driver does: 0 is the CPU, 1 and up the GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side(u8);

impl Side {
    /// The host.
    pub const CPU: Self = Self(0);
    /// The first GPU, which runs the workloads.
    pub const GPU: Self = Self(1);

    /// All that a machine can have, the CPU first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SIDES as u8).map(Self)
    }

    /// As events name it; `None` beyond what a machine can have.
    pub fn of(proc: Proc) -> Option<Self> {
        match proc {
            Proc::Cpu => Some(Self::CPU),
            Proc::Gpu(n) if usize::from(n) + 1 < SIDES => Some(Self(n as u8 + 1)),
            Proc::Gpu(_) => None,
        }
    }

    /// Whether it is the host.
    pub fn is_cpu(self) -> bool {
        self == Self::CPU
    }

    /// Its place in an [`Each`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// As events name it.
    pub fn proc(self) -> Proc {
        if self.is_cpu() { Proc::Cpu } else { Proc::Gpu(u16::from(self.0) - 1) }
    }
}

/// A set of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides(u8);

impl Sides {
    /// Adds or removes one.
    pub fn set(&mut self, side: Side, within: bool) {
        let bit = 1 << side.0;
        self.0 = if within { self.0 | bit } else { self.0 & !bit };
    }

    /// Whether it is in it.
    pub fn contains(self, side: Side) -> bool {
        self.0 >> side.0 & 1 == 1
    }

    /// Whether it holds none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, ascending.
    pub fn iter(self) -> impl Iterator<Item = Side> {
        Side::all().filter(move |side| self.contains(*side))
    }
}

/// One of something for each processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each<T>([T; SIDES]);

impl<T> Each<T> {
    /// That of a processor.
    pub fn get(&self, side: Side) -> &T {
        &self.0[side.index()]
    }

    /// That of a processor, to change.
    pub fn of(&mut self, side: Side) -> &mut T {
        &mut self.0[side.index()]
    }

    /// All, with their processors.
    pub fn iter(&self) -> impl Iterator<Item = (Side, &T)> {
        self.0.iter().enumerate().map(|(index, each)| (Side(index as u8), each))
    }
}

/// Which processors there are and who can map whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Number of GPUs.
    pub gpus: u8,
    /// Whether GPUs map each other's memory.
    pub peers: bool,
}

impl Topology {
    /// All processors, the CPU first.
    pub fn sides(self) -> impl Iterator<Item = Side> {
        (0..=self.gpus).map(Side)
    }

    /// Whether there is such a processor.
    pub fn has(self, side: Side) -> bool {
        side.0 <= self.gpus
    }

    /// Whether `who` can map memory that lives at `place`: a GPU can map the host's over PCIe and, as a peer, another
    /// GPU's; the CPU cannot map a GPU's.
    pub fn reaches(self, who: Side, place: Side) -> bool {
        who == place || (!who.is_cpu() && (place.is_cpu() || self.peers))
    }

    /// Whether `who` can use atomics on memory at `place` as on its own: peers over NVLink.
    pub fn native_atomics(self, who: Side, place: Side) -> bool {
        who == place || (self.peers && !who.is_cpu() && !place.is_cpu())
    }
}
