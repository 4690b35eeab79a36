//! The one key table: it dispatches keys, and the footer and the help overlay are written from it.

use super::setup::Mode;
use super::state::Screen;
use crate::event::Seek;
use crate::units::Nanos;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Choose the workload, block or run above; scroll up.
    Previous,
    /// Choose the workload, block or run below; scroll down.
    Next,
    /// The block to the left.
    Left,
    /// The block to the right.
    Right,
    /// The n-th block of all ranges, from 0.
    Block(usize),
    /// The n-th run of the session, from 0.
    Choose(usize),
    /// Run what is chosen; in an overlay: yes.
    Enter,
    /// Run the n-th workload, from 0.
    RunNumber(usize),
    /// Pause, or go on.
    Pause,
    /// Prefetch on or off.
    Prefetch,
    /// The next advice.
    Advice,
    /// The next kind of memory.
    Memory,
    /// The next trace level.
    Trace,
    /// The next order of the GPU's visits.
    Pattern,
    /// The next size of the pieces in which data moves.
    Piece,
    /// More rounds in a pass.
    MoreRounds,
    /// Fewer rounds in a pass.
    FewerRounds,
    /// A larger footprint.
    Bigger,
    /// A smaller footprint.
    Smaller,
    /// Stop the picture, or let it go on.
    Freeze,
    /// Start or end a recording.
    Record,
    /// Logarithmic or linear scales.
    LogScale,
    /// A shorter time window.
    ZoomIn,
    /// A longer time window.
    ZoomOut,
    /// Forget the peaks.
    ResetPeaks,
    /// Play a recording slower.
    Slower,
    /// Play a recording faster.
    Faster,
    /// Go to another moment of a recording.
    Seek(Seek),
    /// Save a picture of the screen.
    Picture,
    /// Save a report of the session.
    Report,
    /// Show a screen.
    Show(Screen),
    /// Show the next screen.
    NextScreen,
    /// Show the screen before.
    PreviousScreen,
    /// Make a run the baseline, or let go of it.
    Baseline,
    /// Measure the link's ceiling.
    ProbeLink,
    /// Measure what each trace level costs.
    Observer,
    /// The next colours.
    Colours,
    /// The list of keys.
    Help,
    /// Draw everything anew.
    Redraw,
    /// Stop the process, as the shell's Ctrl-Z does.
    Suspend,
    /// Close the overlay, or quit if there is none.
    Back,
    /// End, whatever is open.
    Quit,
}

/// Heading in the help overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What runs.
    Workload,
    /// One thing changed at a time.
    Settings,
    /// What is seen.
    Picture,
    /// The program.
    Program,
}

impl Group {
    /// Every group, in the order of the help.
    pub const ALL: [Group; 4] = [Group::Workload, Group::Settings, Group::Picture, Group::Program];

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Group::Workload => "Workload",
            Group::Settings => "Settings",
            Group::Picture => "Picture",
            Group::Program => "Program",
        }
    }
}

/// How a row gets into the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footer {
    /// Always.
    Always,
    /// While there is room.
    IfRoom,
    /// Never.
    Never,
}

/// A key with its modifiers.
pub type Chord = (KeyCode, KeyModifiers);

/// One row: keys that belong together.
#[derive(Debug)]
pub struct Row {
    /// Each key and what it asks for.
    pub keys: &'static [(Chord, Action)],
    /// How the keys are written.
    pub shown: &'static str,
    /// How they are written in ASCII.
    pub ascii: &'static str,
    /// A word or two for the footer.
    pub label: &'static str,
    /// A line for the help.
    pub help: &'static str,
    /// Its heading.
    pub group: Group,
    /// Whether the footer shows it.
    pub footer: Footer,
    /// Where it does something.
    pub modes: &'static [Mode],
}

const fn plain(c: char) -> Chord {
    (KeyCode::Char(c), KeyModifiers::NONE)
}

const fn ctrl(c: char) -> Chord {
    (KeyCode::Char(c), KeyModifiers::CONTROL)
}

const fn code(code: KeyCode) -> Chord {
    (code, KeyModifiers::NONE)
}

/// How far a key jumps in a recording.
const JUMP: Nanos = Nanos::millis(5_000);
/// What ← asks for.
pub const BACK: Seek = Seek::Back(JUMP);
/// What → asks for.
pub const FORWARD: Seek = Seek::Forward(JUMP);

const LIVE: &[Mode] = &[Mode::Live];
const REPLAY: &[Mode] = &[Mode::Replay];
const SOURCES: &[Mode] = &[Mode::Live, Mode::Watch];
const RUNNING: &[Mode] = &[Mode::Live, Mode::Replay];
const ALL: &[Mode] = &[Mode::Live, Mode::Watch, Mode::Replay];

macro_rules! rows {
    ($($group:ident $footer:ident $modes:ident $shown:literal $ascii:literal $label:literal $help:literal
        $([$chord:expr => $action:expr])+;)+) => {
        &[$(Row {
            keys: &[$(($chord, $action)),+],
            shown: $shown,
            ascii: $ascii,
            label: $label,
            help: $help,
            group: Group::$group,
            footer: Footer::$footer,
            modes: $modes,
        }),+]
    };
}

/// Every key, in the order of the footer and of the help.
pub const TABLE: &[Row] = rows! {
    Workload IfRoom ALL "↑↓" "up/dn" "choose" "choose a workload, a block, a run; scroll what is longer"
        [code(KeyCode::Up) => Action::Previous] [code(KeyCode::Down) => Action::Next];
    Workload Never ALL "←→" "lf/rt" "block" "move the cursor of the memory map"
        [code(KeyCode::Left) => Action::Left] [code(KeyCode::Right) => Action::Right];
    Workload IfRoom LIVE "⏎" "enter" "run" "run the chosen workload (in a question: yes)"
        [code(KeyCode::Enter) => Action::Enter];
    Workload Never LIVE "1–9" "1-9" "run" "run a workload by its number"
        [plain('1') => Action::RunNumber(0)] [plain('2') => Action::RunNumber(1)] [plain('3') => Action::RunNumber(2)]
        [plain('4') => Action::RunNumber(3)] [plain('5') => Action::RunNumber(4)] [plain('6') => Action::RunNumber(5)]
        [plain('7') => Action::RunNumber(6)] [plain('8') => Action::RunNumber(7)] [plain('9') => Action::RunNumber(8)];
    Workload IfRoom RUNNING "␣" "space" "pause" "pause after this pass (a replay: at once), or go on"
        [plain(' ') => Action::Pause];
    Workload IfRoom REPLAY "< >" "< >" "speed" "play slower or faster"
        [plain('<') => Action::Slower] [plain('>') => Action::Faster];
    Workload IfRoom REPLAY "← →" "lf/rt" "5 s" "back or on by 5 s (with PgUp and PgDn on every screen)"
        [code(KeyCode::PageUp) => Action::Seek(BACK)] [code(KeyCode::PageDown) => Action::Seek(FORWARD)];
    Workload Never REPLAY "Home End" "Home End" "ends" "to the recording's start, to its end"
        [code(KeyCode::Home) => Action::Seek(Seek::Start)] [code(KeyCode::End) => Action::Seek(Seek::End)];
    Workload IfRoom REPLAY "." "." "step" "pause after the driver's next window"
        [plain('.') => Action::Seek(Seek::Step)];
    Workload IfRoom REPLAY "n" "n" "next run" "to the next run, where a setting changes"
        [plain('n') => Action::Seek(Seek::NextRun)];
    Settings IfRoom LIVE "p" "p" "prefetch" "prefetch before each side's turn, or not"
        [plain('p') => Action::Prefetch];
    Settings IfRoom LIVE "a" "a" "advice" "the next advice to the driver; with two GPUs it may prefer the second"
        [plain('a') => Action::Advice];
    Settings IfRoom LIVE "m" "m" "memory" "the next kind of memory"
        [plain('m') => Action::Memory];
    Settings IfRoom SOURCES "t" "t" "trace" "watch the driver less or more closely"
        [plain('t') => Action::Trace];
    Settings IfRoom LIVE "+ -" "+ -" "size" "double or halve the footprint"
        [plain('+') => Action::Bigger] [plain('=') => Action::Bigger] [plain('-') => Action::Smaller];
    Settings Never LIVE "v" "v" "visits" "the next order in which the GPU visits memory"
        [plain('v') => Action::Pattern];
    Settings Never LIVE "i" "i" "pieces" "the next size of the pieces in which data is copied or prefetched"
        [plain('i') => Action::Piece];
    Settings Never LIVE "( )" "( )" "rounds" "halve or double the rounds of a pass"
        [plain('(') => Action::FewerRounds] [plain(')') => Action::MoreRounds];
    Picture IfRoom ALL "f" "f" "freeze" "stop the picture; collecting goes on"
        [plain('f') => Action::Freeze];
    Picture IfRoom ALL "[ ]" "[ ]" "zoom" "a shorter or longer time window, 5 s to 5 min"
        [plain('[') => Action::ZoomIn] [plain(']') => Action::ZoomOut];
    Picture IfRoom ALL "l" "l" "log" "logarithmic or linear scales"
        [plain('l') => Action::LogScale];
    Picture Never ALL "x" "x" "peaks" "reset the peaks"
        [plain('x') => Action::ResetPeaks];
    Picture IfRoom RUNNING "g" "g" "baseline" "pin the run as the baseline; its ghost stays on the charts"
        [plain('g') => Action::Baseline];
    Picture Never ALL "F1–F6" "F1-F6" "screen" "Live, Memory, Faults, Compare, Machine, Insights (Tab: the next)"
        [code(KeyCode::F(1)) => Action::Show(Screen::Live)] [code(KeyCode::F(2)) => Action::Show(Screen::Memory)]
        [code(KeyCode::F(3)) => Action::Show(Screen::Faults)] [code(KeyCode::F(4)) => Action::Show(Screen::Compare)]
        [code(KeyCode::F(5)) => Action::Show(Screen::Machine)] [code(KeyCode::F(6)) => Action::Show(Screen::Insights)]
        [code(KeyCode::Tab) => Action::NextScreen] [code(KeyCode::BackTab) => Action::PreviousScreen];
    Picture Never ALL "c" "c" "colours" "dark, light, colour-blind or no colours"
        [plain('c') => Action::Colours];
    Picture Never LIVE "k" "k" "link" "measure what the link carries: explicit copies for a second"
        [plain('k') => Action::ProbeLink];
    Picture Never LIVE "o" "o" "observer" "measure what each trace level costs: this workload at every level, in turns"
        [plain('o') => Action::Observer];
    Picture IfRoom ALL "s" "s" "picture" "save what is on the screen (.svg and .png)"
        [plain('s') => Action::Picture];
    Picture Never ALL "R" "R" "report" "save a report of the session with pictures (a folder)"
        [plain('R') => Action::Report];
    Picture IfRoom SOURCES "r" "r" "record" "start or end a recording (.umr)"
        [plain('r') => Action::Record];
    Program Never ALL "Ctrl-L" "Ctrl-L" "redraw" "draw everything anew"
        [ctrl('l') => Action::Redraw];
    Program Never ALL "Ctrl-Z" "Ctrl-Z" "suspend" "back to the shell; fg returns"
        [ctrl('z') => Action::Suspend];
    Program Always ALL "?" "?" "help" "this list"
        [plain('?') => Action::Help] [plain('h') => Action::Help];
    Program Always ALL "q" "q" "quit" "quit (Ctrl-C too; Esc closes what is open, else quits)"
        [plain('q') => Action::Quit] [ctrl('c') => Action::Quit] [code(KeyCode::Esc) => Action::Back];
};

/// What a key press asks for. Shift is not looked at for characters: it is in the character already.
pub fn action(key: &KeyEvent) -> Option<Action> {
    let modifiers = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
    let wanted = (key.code, modifiers);
    TABLE.iter().flat_map(|row| row.keys).find(|(chord, _)| *chord == wanted).map(|(_, action)| *action)
}

/// Whether the footer of a screen shows a row that works in the mode: arrows choose where there is something to choose,
/// and settings are changed where their effect is seen.
pub fn belongs(row: &Row, mode: Mode, screen: Screen) -> bool {
    let does = |action: Action| row.keys.iter().any(|(_, other)| *other == action);
    match screen {
        // There, arrows move the cursor.
        Screen::Memory if does(Action::Seek(BACK)) => false,
        Screen::Live => mode == Mode::Live || !does(Action::Previous),
        _ if does(Action::Enter) => false,
        _ => !does(Action::ZoomIn) && !does(Action::LogScale) || screen == Screen::Faults,
    }
}

/// Rows that do something in a mode.
pub fn rows(mode: Mode) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |row| row.modes.contains(&mode))
}

/// Whether an action does something in a mode. Enter and Back answer overlays, which every mode has.
pub fn works(action: Action, mode: Mode) -> bool {
    matches!(action, Action::Enter | Action::Back)
        || rows(mode).any(|row| row.keys.iter().any(|(_, other)| *other == action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chord_is_bound_twice() {
        let chords: Vec<Chord> = TABLE.iter().flat_map(|row| row.keys).map(|(chord, _)| *chord).collect();
        for (i, chord) in chords.iter().enumerate() {
            assert!(!chords[i + 1..].contains(chord), "{chord:?}");
        }
    }

    #[test]
    fn every_row_can_be_explained_in_both_alphabets() {
        for row in TABLE {
            assert!(!row.label.is_empty() && !row.help.is_empty() && !row.modes.is_empty());
            assert!(row.ascii.is_ascii(), "{}", row.ascii);
        }
    }

    #[test]
    fn shifted_characters_are_found() {
        let shifted = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT);
        assert_eq!(action(&shifted), Some(Action::Help));
        assert_eq!(action(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::Quit));
        assert_eq!(action(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)), Some(Action::Colours));
    }

    #[test]
    fn a_replay_has_speed_and_no_settings() {
        assert!(works(Action::Faster, Mode::Replay) && !works(Action::Faster, Mode::Live));
        assert!(works(Action::Prefetch, Mode::Live) && !works(Action::Prefetch, Mode::Replay));
        assert!(works(Action::Trace, Mode::Watch));
    }
}
