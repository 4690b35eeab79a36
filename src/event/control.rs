//! What the user asks of a source: the only thing that flows back.

use super::{Settings, TraceLevel};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A request to the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// Run with these settings from the next pass on (allocating anew if needed).
    Run(Settings),
    /// Pause or go on after the present pass; a replay pauses at once.
    Pause(bool),
    /// Change the trace level only (watching another process).
    Trace(TraceLevel),
    /// Measure after the present pass what the link carries: explicit copies for about a second.
    ProbeLink,
    /// Run the present settings at every trace level, pass by pass in turns, and then go on: what watching costs. Any other
    /// request ends it.
    CompareLevels {
        /// Passes of each level at the start that do not count.
        warmups: u32,
        /// Passes of each level that count.
        passes: u32,
    },
    /// Play a recording at this many times real time.
    Speed(f64),
    /// Go to another moment of a recording.
    Seek(Seek),
    /// Start recording to this path, or stop.
    Record(Option<std::path::PathBuf>),
    /// End.
    Stop,
}

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seek {
    /// To its start.
    Start,
    /// Back by so much.
    Back(Nanos),
    /// On by so much.
    Forward(Nanos),
    /// To its end.
    End,
    /// To the end of the driver's next window, and pause there.
    Step,
    /// To the next run: a change of settings.
    NextRun,
}
