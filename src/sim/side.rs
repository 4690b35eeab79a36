//! The two sides of a simulated machine: its CPU and its one GPU.

use crate::event::Proc;

/// A processor of the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host.
    Cpu,
    /// The GPU.
    Gpu,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::Cpu, Side::Gpu];

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Side::Cpu => Side::Gpu,
            Side::Gpu => Side::Cpu,
        }
    }

    /// Whether this side can map memory that lives at `place`: over PCIe the CPU cannot map the GPU's.
    pub fn reaches(self, place: Side) -> bool {
        self == place || self == Side::Gpu
    }

    /// As events name it.
    pub fn proc(self) -> Proc {
        match self {
            Side::Cpu => Proc::Cpu,
            Side::Gpu => Proc::Gpu(0),
        }
    }
}

/// One of something for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// The CPU's.
    pub cpu: T,
    /// The GPU's.
    pub gpu: T,
}

impl<T> Both<T> {
    /// That of a side.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Cpu => &self.cpu,
            Side::Gpu => &self.gpu,
        }
    }

    /// That of a side, to change.
    pub fn of(&mut self, side: Side) -> &mut T {
        match side {
            Side::Cpu => &mut self.cpu,
            Side::Gpu => &mut self.gpu,
        }
    }
}
