//! The workload's side of the story: runs and passes.

use super::{Settings, TraceLevel, UvmTotals};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a run within the session, from 1. A change of any setting starts a new run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);

/// Part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The CPU writes the data.
    CpuWrite,
    /// Copy or prefetch to the GPU.
    MoveToGpu,
    /// The kernel (all of the pass's kernels together).
    Kernel,
    /// The CPU changes the data in turn with the GPU.
    CpuUpdate,
    /// Copy or prefetch to the host.
    MoveToCpu,
    /// The CPU reads the data and checks it.
    CpuRead,
    /// Moves, kernels and the CPU's work that run at the same time.
    Overlapped,
}

impl Phase {
    /// Every phase in the order of a pass.
    pub const ALL: [Phase; 7] = [
        Phase::CpuWrite,
        Phase::MoveToGpu,
        Phase::Kernel,
        Phase::Overlapped,
        Phase::CpuUpdate,
        Phase::MoveToCpu,
        Phase::CpuRead,
    ];

    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::CpuWrite => "cpu_write",
            Phase::MoveToGpu => "move_to_gpu",
            Phase::Kernel => "kernel",
            Phase::CpuUpdate => "cpu_update",
            Phase::MoveToCpu => "move_to_cpu",
            Phase::CpuRead => "cpu_read",
            Phase::Overlapped => "overlapped",
        }
    }
}

/// How long a phase took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Which.
    pub phase: Phase,
    /// By the host's monotonic clock, from the call to the return of the synchronisation.
    pub host: Nanos,
    /// By CUDA events on the GPU's own clock; `None` where the GPU does nothing.
    pub gpu: Option<Nanos>,
    /// How many turns make up the sums above: 1, or the rounds of a ping-pong.
    pub turns: u32,
    /// Median host time of a turn.
    pub turn_p50: Nanos,
    /// Longest host time of a turn.
    pub turn_max: Nanos,
}

/// Bytes that the plan says must move in a pass; `None` where the driver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Host to device, whichever GPU.
    pub htod: Bytes,
    /// Device to host.
    pub dtoh: Bytes,
    /// Between the two GPUs; `None` where one GPU works alone, and in recordings of before this was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_gpus: Option<BetweenGpus<Bytes>>,
}

/// Something for each way between the workload's own GPU and the second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BetweenGpus<T> {
    /// From GPU 0 to GPU 1.
    pub gpu0_to_gpu1: T,
    /// From GPU 1 to GPU 0.
    pub gpu1_to_gpu0: T,
}

impl<T> BetweenGpus<T> {
    /// Something else for each way.
    pub fn map<U>(self, of: impl Fn(T) -> U) -> BetweenGpus<U> {
        BetweenGpus { gpu0_to_gpu1: of(self.gpu0_to_gpu1), gpu1_to_gpu0: of(self.gpu1_to_gpu0) }
    }
}

/// Outcome of checking the arithmetic on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Elements looked at.
    pub elements: u64,
    /// Elements with a wrong value.
    pub wrong: u64,
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// Which.
    pub run: RunId,
    /// With what.
    pub settings: Settings,
    /// What the workload's file calls these settings, if it compares them with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Trace level in force; below the one asked for if that could not be had.
    pub trace: TraceLevel,
    /// Phases that count as the pass's time.
    pub timed: Vec<Phase>,
    /// What must move in each pass, where that is known.
    pub expected: Option<Moved>,
    /// GPUs that its steps run on. Recordings of before this was told have 1, and their migrations tell of others.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub gpus: u32,
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

/// One finished pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Of which run.
    pub run: RunId,
    /// Number within the run, from 0.
    pub index: u32,
    /// Warm-ups are shown but not counted.
    pub warmup: bool,
    /// The phases that took place, in order.
    pub phases: Vec<PhaseTime>,
    /// Host time of the timed phases together: `times_ns`.
    pub timed: Nanos,
    /// Differences of the driver's counts over the pass; `None` at trace level off.
    pub uvm: Option<UvmTotals>,
    /// The check of the results; `None` if the workload has none or the device holds no data (the simulator).
    pub check: Option<Check>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All passes done, or superseded by other settings, or stopped.
    Done,
    /// Could not start or go on; the line says why and what to do.
    Failed(String),
}

/// Something about the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// A run begins.
    Started(RunStart),
    /// A pass begins.
    PassBegan {
        /// Of which run.
        run: RunId,
        /// Number within the run.
        index: u32,
    },
    /// A pass ended.
    PassEnded(Box<Pass>),
    /// Paused, or going on.
    Paused(bool),
    /// A run ended.
    Ended {
        /// Which.
        run: RunId,
        /// How.
        outcome: Outcome,
    },
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
