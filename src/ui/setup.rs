//! What the composition root tells the terminal UI: plain data, no facts about the running session.

use super::theme::Theme;
use crate::event::{Advice, Can, MemoryKind, Settings, Shape, TraceLevel};
use crate::units::Bytes;

/// What the events come from, which decides what keys can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A workload of ours runs, on a real or a simulated device.
    Live,
    /// Another process is watched: there is no workload to choose, only a trace level.
    Watch,
    /// A recording is played.
    Replay,
}

/// One line of the workload menu.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name as in [`Settings::workload`].
    pub name: String,
    /// Short title for the list.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// Whether this machine can run it, else why not.
    pub available: Can,
    /// What it runs with when it is chosen; the trace level stays as it is.
    pub settings: Settings,
    /// Smallest and largest footprint that + and − may ask for.
    pub size: (Bytes, Bytes),
    /// Rounds of a pass, as its file says.
    pub rounds: u32,
}

/// Everything that the UI is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the events come from.
    pub mode: Mode,
    /// The menu, in order; empty when there is nothing to choose.
    pub workloads: Vec<Entry>,
    /// The settings that the source was started with.
    pub settings: Settings,
    /// What the GPU had free at the start, less the guard's reserve: a larger footprint oversubscribes it. `None` if unknown.
    pub vram_free: Option<Bytes>,
    /// Whether a footprint above `vram_free` may be asked for, after a confirmation.
    pub oversubscription: bool,
    /// Times real time at which a replay starts.
    pub speed: f64,
    /// Whether a recording runs from the start.
    pub recording: bool,
    /// Colours and glyphs.
    pub theme: Theme,
    /// Whether the source is still being opened: nothing can be asked of it, and what only it knows is not known.
    pub opening: bool,
}

impl Setup {
    /// What a dashboard is started with that runs no workload: nothing to choose and nothing to set.
    pub fn idle(mode: Mode, theme: Theme) -> Self {
        Self {
            mode,
            workloads: Vec::new(),
            settings: Settings {
                workload: String::new(),
                memory: MemoryKind::Managed,
                prefetch: false,
                advice: Advice::None,
                size: Bytes(0),
                trace: TraceLevel::Off,
                shape: Shape::default(),
            },
            vram_free: None,
            oversubscription: false,
            speed: 1.0,
            recording: false,
            theme,
            opening: false,
        }
    }

    /// Whether these settings ask for more than the GPU has free, as far as is known.
    pub fn oversubscribes(&self, settings: &Settings) -> bool {
        settings.memory != MemoryKind::ZeroCopy && self.vram_free.is_some_and(|free| settings.size > free)
    }

    /// The menu entry of a workload.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.workloads.iter().find(|entry| entry.name == name)
    }
}
