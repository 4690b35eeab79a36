//! What becomes of a process that is watched.

use super::TraceLevel;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The process that is watched, descendants included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its number.
    pub pid: u32,
    /// Its owner's name, or number.
    pub user: String,
    /// Its command line.
    pub command: String,
    /// Where its output goes, if umtop started it.
    pub output: Option<String>,
}

/// An instruction that faulted, named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteName {
    /// Process.
    pub pid: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// File that the code comes from, such as `libc.so.6`; or what is known instead.
    pub module: String,
    /// Function, demangled; `None` if the file has no symbols.
    pub function: Option<String>,
    /// `file:line`; `None` without debug information.
    pub place: Option<String>,
}

/// Something about the process that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watched {
    /// Who it is: before everything else about it.
    Subject(Subject),
    /// The trace level that is in force from now on.
    Level(TraceLevel),
    /// An address space is watched from now on.
    Attached {
        /// Process that it belongs to: the subject or a descendant.
        pid: u32,
        /// Address spaces watched now.
        spaces: u32,
        /// The address space was not there this long ago: nothing older than that was missed. `None` if it was there from
        /// the first look on, so that everything before was missed.
        missed: Option<Nanos>,
    },
    /// An address space is let go.
    Released {
        /// Process that it belonged to.
        pid: u32,
        /// Address spaces watched still.
        spaces: u32,
        /// Why.
        why: String,
    },
    /// An instruction has a name.
    Site(SiteName),
    /// A thread has a name.
    Thread {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// Its name.
        name: String,
    },
    /// Newest lines of the output of a command that umtop started.
    Output {
        /// Lines, oldest first.
        lines: Vec<String>,
        /// Lines before them that are in the file only.
        skipped: u64,
    },
    /// The subject has ended.
    Ended {
        /// Its exit code, 128+N for signal N; `None` if umtop is not its parent and cannot know.
        code: Option<u8>,
    },
}
