//! The vocabulary: everything that is ever observed is one of these, owned and serialisable, with no logic.
//!
//! Facts flow one way, source → sink → session → view. What is recorded is exactly what is folded.

mod caps;
mod control;
mod count;
mod header;
mod metric;
mod params;
mod prediction;
mod reading;
mod run;
mod settings;
mod uvm;
mod watch;

pub use caps::{Can, Caps};
pub use control::{Control, Seek};
pub use count::{COUNTS, Count, CountInfo};
pub use header::{Carrier, GpuInfo, Header, HostInfo, Origin, ProbeInfo, SecondGpu};
pub use metric::{CATALOGUE, Metric, MetricInfo, MetricKind, Unit};
pub use params::parameter_meaning;
pub use prediction::{Figure, Prediction};
pub use reading::{Reading, Why};
pub use run::{BetweenGpus, Check, Moved, Outcome, Pass, Phase, PhaseTime, RunEvent, RunId, RunStart};
pub use settings::{AccessPattern, Advice, MemoryKind, Piece, Settings, Shape, TraceLevel, UnknownName};
pub use uvm::{
    AccessType, BlockActivity, Cause, Counters, CpuSite, EventTotals, LastMove, Migrated, Proc, RemoteCause, UvmEvents,
    UvmTick, UvmTotals,
};
pub use watch::{SiteName, Subject, Watched};

use crate::units::{Bytes, Nanos, Stamp};
use serde::{Deserialize, Serialize};

/// One fact and when it became true (for a window: its end).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Stamp,
    /// What.
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Who, where, with what: the first event of every session.
    Header(Box<Header>),
    /// Readings of one probe.
    Sample(Sample),
    /// What the driver's UVM tools device told in one window.
    Uvm(Box<UvmTick>),
    /// Which pages of a range the CPU maps.
    Mapped(Mapped),
    /// A managed range came to be.
    Allocated(Range),
    /// The range that starts at this address is gone.
    Freed {
        /// First byte of the range.
        address: u64,
    },
    /// Something about the workload's run.
    Run(RunEvent),
    /// A line for the user.
    Notice(Notice),
    /// Something about the process that is watched.
    Watched(Box<Watched>),
}

/// Readings taken together by one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The probe's name and method, for example `nvml gpm`.
    pub source: String,
    /// The time over which rates in it are means; `None` for values of the moment.
    pub window: Option<Nanos>,
    /// The values, or why there is none.
    pub readings: Vec<(Metric, Reading)>,
}

/// A range of managed (or other) memory that the workload uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// First byte.
    pub address: u64,
    /// Length.
    pub bytes: Bytes,
    /// Kind of memory.
    pub memory: MemoryKind,
    /// What it is, for people: `workload buffer`.
    pub label: String,
}

/// Page-table presence on the CPU side, from pagemap: *mapped*, which is not the same as resident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapped {
    /// First byte of the range.
    pub address: u64,
    /// For each 2 MiB block: how many of its 4 KiB pages the CPU maps (0–512).
    pub pages: Vec<u16>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something is missing or slower than it should be.
    Warning,
    /// Something failed.
    Error,
}

/// The source of the notice with which a replay says that it has come to the recording's end. It is no fact of the session.
pub const REPLAY: &str = "replay";

/// One clear line that says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// Who says so: `uvm`, `nvml`, `workload`, `cuda`.
    pub source: String,
    /// The line.
    pub text: String,
}
