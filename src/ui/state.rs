//! What the user has chosen to see and to do. Facts are the session's.

use super::digest::Digest;
use super::load::Load;
use super::setup::{Mode, Setup};
use super::theme::Depth;
use crate::event::{Counters, RunId, Settings};
use crate::session::{Run, Session, UvmPoint};
use crate::units::{Nanos, Stamp};

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Everything on one time axis.
    Live,
    /// Where every block lives, and a block's history.
    Memory,
    /// What faults, moves and thrashes.
    Faults,
    /// Runs of the session against a baseline.
    Compare,
    /// Which unified memory this is, and what watches it.
    Machine,
    /// What it means.
    Insights,
}

impl Screen {
    /// Every screen, in the order of Tab.
    pub const ALL: [Screen; 6] =
        [Screen::Live, Screen::Memory, Screen::Faults, Screen::Compare, Screen::Machine, Screen::Insights];

    /// The screen after this one.
    pub fn next(self) -> Self {
        Self::ALL[(self.number() + 1) % Self::ALL.len()]
    }

    /// The screen before this one.
    pub fn previous(self) -> Self {
        Self::ALL[(self.number() + Self::ALL.len() - 1) % Self::ALL.len()]
    }

    /// Its name on the tab.
    pub const fn title(self) -> &'static str {
        match self {
            Screen::Live => "Live",
            Screen::Memory => "Memory",
            Screen::Faults => "Faults",
            Screen::Compare => "Compare",
            Screen::Machine => "Machine",
            Screen::Insights => "Insights",
        }
    }

    /// Its number, from 0.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|screen| *screen == self).unwrap_or(0)
    }
}

/// What lies over the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// Nothing.
    None,
    /// The keys, from this line on.
    Help(u16),
    /// A footprint above free GPU memory: run it all the same?
    Confirm(Box<Settings>),
    /// What each trace level costs, as far as it has been measured.
    Observer,
    /// Something failed; the line says what and what to do.
    Error(String),
}

/// Lengths of the time window that can be chosen, seconds.
pub const WINDOWS: [u64; 6] = [5, 10, 30, 60, 120, 300];
/// Index of the window at the start.
const FIRST_WINDOW: usize = 2;

/// Times real time at which a recording can be played.
pub const SPEEDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// Choices.
#[derive(Clone, Debug, PartialEq)]
pub struct UiState {
    /// The screen.
    pub screen: Screen,
    /// What lies over it.
    pub overlay: Overlay,
    /// The chosen line of the workload menu.
    pub selected: usize,
    /// Settings asked for; those in force are the session's.
    pub wanted: Settings,
    /// Index into [`WINDOWS`].
    pub window: usize,
    /// Logarithmic scales.
    pub log: bool,
    /// Peaks count from here.
    pub peaks_from: Stamp,
    /// The block under the cursor of the memory map, counted through all ranges.
    pub block: usize,
    /// The run that others are compared with.
    pub baseline: Option<RunId>,
    /// The run that is compared; `None` is the present one.
    pub compared: Option<RunId>,
    /// First line shown of a screen that is longer than the terminal.
    pub scroll: u16,
    /// How many colours the terminal has, for the key that goes through the themes.
    pub depth: Depth,
    /// Whether a key was pressed: then nobody needs to be told that there are keys.
    pub pressed: bool,
    /// Speed of a replay.
    pub speed: f64,
    /// Whether a pause was asked for. A workload pauses later, after its pass; a replay does not say that it pauses.
    pub paused: bool,
    /// Since when a recording was asked for; `None` if none is.
    pub recording: Option<Stamp>,
    /// An answer to the last key that could not do what it says.
    pub hint: Option<String>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// What this screen took in and cost in its last second; `None` before that, and in pictures of recordings.
    pub load: Option<Load>,
}

/// All that a frame is drawn from.
#[derive(Clone, Debug)]
pub struct Model {
    /// Stamp of the session's first header.
    pub begun: Option<Stamp>,
    /// The facts.
    pub session: Session,
    /// The facts and estimates as they were when the picture was frozen; `None` while it moves.
    pub frozen: Option<Box<(Session, Digest)>>,
    /// Estimates over the runs, made now and then instead of for each frame.
    pub digest: Digest,
    /// Choices.
    pub ui: UiState,
    /// What the program was started with.
    pub setup: Setup,
    /// Whether the source has ended, so that nothing will come any more.
    pub ended: bool,
}

impl Model {
    /// The model at the start.
    pub fn new(setup: Setup) -> Self {
        let selected = setup.workloads.iter().position(|e| e.name == setup.settings.workload).unwrap_or(0);
        let overlay = match setup.mode {
            Mode::Live if setup.oversubscribes(&setup.settings) => Overlay::Confirm(Box::new(setup.settings.clone())),
            _ => Overlay::None,
        };
        let ui = UiState {
            screen: Screen::Live,
            overlay,
            selected,
            wanted: setup.settings.clone(),
            window: FIRST_WINDOW,
            log: false,
            peaks_from: Stamp(0),
            block: 0,
            baseline: None,
            compared: None,
            scroll: 0,
            depth: setup.theme.depth,
            pressed: false,
            speed: setup.speed,
            paused: false,
            recording: setup.recording.then_some(Stamp(0)),
            hint: None,
            size: (0, 0),
            load: None,
        };
        Self {
            session: Session::lasting(),
            begun: None,
            frozen: None,
            digest: Digest::default(),
            ui,
            setup,
            ended: false,
        }
    }

    /// The session that is to be drawn.
    pub fn shown(&self) -> &Session {
        self.frozen.as_ref().map_or(&self.session, |frozen| &frozen.0)
    }

    /// The estimates that are to be drawn.
    pub fn estimates(&self) -> &Digest {
        self.frozen.as_ref().map_or(&self.digest, |frozen| &frozen.1)
    }

    /// Makes the estimates anew that depend on what is chosen.
    pub fn compare_again(&mut self) {
        match &mut self.frozen {
            Some(frozen) => frozen.1.compare(&frozen.0, &self.ui),
            None => self.digest.compare(&self.session, &self.ui),
        }
    }

    /// The run that is compared with the baseline.
    pub fn compared(&self) -> Option<&Run> {
        let runs = &self.shown().runs;
        self.ui.compared.and_then(|id| runs.find(id)).or_else(|| runs.current())
    }

    /// Whether nothing goes on: the replay is paused, or the workload is (or was, where a replay has come to).
    pub fn paused(&self) -> bool {
        self.shown().runs.paused || (self.setup.mode == Mode::Replay && self.ui.paused)
    }

    /// Length of the time window.
    pub fn window(&self) -> Nanos {
        Nanos(WINDOWS.get(self.ui.window).copied().unwrap_or(30) * 1_000_000_000)
    }

    /// For how long neither the pass under way nor the driver's counts have moved, by the other events' time; `None` if no
    /// pass is under way.
    pub fn silence(&self) -> Option<Nanos> {
        let (_, _, began) = self.session.runs.under_way?;
        let moved = |point: &&UvmPoint| point.counters.is_some_and(|counters| counters != Counters::default());
        let sign = self.session.uvm.points.since(began).filter(moved).last().map_or(began, |point| point.at);
        Some(self.session.now.since(sign))
    }
}
