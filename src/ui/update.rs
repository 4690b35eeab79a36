//! The only place where the model changes: a message in, perhaps a request to the source out.

use super::digest::Digest;
use super::keys::{self, Action};
use super::settings;
use super::setup::{Mode, Setup};
use super::state::{Model, Overlay, SPEEDS, Screen, UiState, WINDOWS};
use super::view;
use crate::event::{Body, Can, Control, Event, Level, Outcome, REPLAY, RunEvent, Seek};
use crate::session::Session;
use ratatui::crossterm::event::KeyEvent;
use std::path::PathBuf;

/// Lines that a turn of the wheel or an arrow moves the help by.
const HELP_STEP: u16 = 1;

/// Passes of each trace level that the observer's cost rests on: enough for an interval, and half a minute at most.
pub const OBSERVER_PASSES: u32 = 10;
/// Passes of each level before them, which do not count.
const OBSERVER_WARMUPS: u32 = 1;

/// Something happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A fact arrived.
    Event(Box<Event>),
    /// The source has been opened; what it turned out to be.
    Opened(Box<Setup>),
    /// The source has ended: nothing will come any more.
    Ended,
    /// A key was pressed.
    Key(KeyEvent),
    /// The left button was pressed.
    Click {
        /// Column, from 0.
        column: u16,
        /// Row, from 0.
        row: u16,
    },
    /// The wheel turned: negative is up.
    Scroll(i32),
    /// The terminal has another size.
    Resized,
}

/// Takes in one message. `Control::Stop` means that the user wants to leave.
pub fn update(model: &mut Model, msg: Msg) -> Option<Control> {
    match msg {
        Msg::Event(event) => {
            take_in(model, &event);
            None
        }
        Msg::Opened(setup) => {
            opened(model, *setup);
            None
        }
        Msg::Ended => {
            model.ended = true;
            None
        }
        Msg::Key(key) => keys::action(&key).and_then(|action| act(model, action)),
        Msg::Click { column, row } => click(model, column, row),
        Msg::Scroll(by) => act(model, if by < 0 { Action::Previous } else { Action::Next }),
        Msg::Resized => None,
    }
}

/// What can be asked for is known from now on; what was chosen to be seen stays.
fn opened(model: &mut Model, setup: Setup) {
    let setup = Setup { theme: model.setup.theme, ..setup };
    let fresh = Model::new(setup);
    let seen = std::mem::replace(model, fresh).ui;
    let UiState { screen, window, log, scroll, pressed, size, load, .. } = seen;
    let overlay = match &model.ui.overlay {
        Overlay::None => seen.overlay,
        asked => asked.clone(),
    };
    model.ui = UiState { screen, window, log, scroll, pressed, size, load, overlay, ..model.ui.clone() };
}

fn take_in(model: &mut Model, event: &Event) {
    match &event.body {
        // A replay that goes back begins anew. A later header only says more: the GPU of a watched process, once it has one.
        Body::Header(_) if model.begun.is_none_or(|begun| event.at <= begun) => {
            model.begun = Some(event.at);
            model.session = Session::lasting();
            model.digest = Digest::default();
            model.ui.peaks_from = model.ui.peaks_from.min(event.at);
            model.ended = false;
        }
        // It waits there; nothing of the session has happened.
        Body::Notice(notice) if notice.source == REPLAY => {
            model.ended = true;
            return;
        }
        _ => {}
    }
    model.session.apply(event);
    match &event.body {
        Body::Run(RunEvent::PassEnded(_) | RunEvent::Started(_)) => model.digest.refresh(&model.session, &model.ui),
        Body::Run(RunEvent::Ended { outcome: Outcome::Failed(why), .. }) => {
            model.ui.overlay = Overlay::Error(why.clone());
        }
        // It could not be begun, or had to be given up.
        Body::Notice(notice) if notice.source == "recording" && notice.level == Level::Error => {
            model.ui.recording = None;
        }
        _ => {}
    }
    // A workload also goes on by itself, when other settings are asked for; what a recording says of pauses is past.
    if model.setup.mode == Mode::Live {
        match &event.body {
            Body::Run(RunEvent::Paused(paused)) => model.ui.paused = *paused,
            Body::Run(RunEvent::Started(_)) => model.ui.paused = false,
            _ => {}
        }
    }
}

fn click(model: &mut Model, column: u16, row: u16) -> Option<Control> {
    if model.ui.overlay != Overlay::None {
        return None;
    }
    view::hit(model, column, row).and_then(|action| act(model, action))
}

/// Does what a key or a click asks for.
pub fn act(model: &mut Model, action: Action) -> Option<Control> {
    model.ui.hint = None;
    model.ui.pressed = true;
    if action == Action::Quit {
        return Some(Control::Stop);
    }
    match std::mem::replace(&mut model.ui.overlay, Overlay::None) {
        Overlay::None => {}
        Overlay::Help(line) => return help(model, action, line),
        Overlay::Confirm(settings) => return confirm(model, action, settings),
        Overlay::Error(_) | Overlay::Observer if matches!(action, Action::Enter | Action::Back | Action::Help) => {
            return None;
        }
        Overlay::Error(_) | Overlay::Observer => {}
    }
    if !keys::works(action, model.setup.mode) {
        return None;
    }
    if model.setup.opening {
        return before_opened(model, action);
    }
    match action {
        Action::Pause => {
            model.ui.paused = !model.ui.paused;
            Some(Control::Pause(model.ui.paused))
        }
        Action::Previous | Action::Next if model.ui.screen != Screen::Live => step(model, action),
        Action::Previous => choose(model, model.ui.selected.saturating_sub(1)),
        Action::Next => choose(model, model.ui.selected + 1),
        Action::Enter if model.ui.screen == Screen::Compare => look(model, Action::Baseline),
        Action::Enter if model.ui.screen != Screen::Live => None,
        Action::Enter => settings::run(model, model.ui.selected),
        Action::RunNumber(n) => settings::run(model, n),
        Action::Prefetch => settings::prefetch(model),
        Action::Advice => settings::advice(model),
        Action::Memory => settings::memory(model),
        Action::Pattern => settings::pattern(model),
        Action::Piece => settings::piece(model),
        Action::MoreRounds => settings::rounds(model, true),
        Action::FewerRounds => settings::rounds(model, false),
        Action::Trace => settings::trace(model),
        Action::Bigger => settings::resize(model, true),
        Action::Smaller => settings::resize(model, false),
        Action::Slower => speed(model, false),
        Action::Faster => speed(model, true),
        // On the map, arrows move its cursor.
        Action::Left | Action::Right if model.setup.mode == Mode::Replay && model.ui.screen != Screen::Memory => {
            Some(Control::Seek(if action == Action::Left { keys::BACK } else { keys::FORWARD }))
        }
        Action::Seek(seek) => {
            // A step pauses by itself.
            model.ui.paused |= seek == Seek::Step;
            Some(Control::Seek(seek))
        }
        Action::Record => record(model),
        Action::ProbeLink => {
            model.ui.hint = Some("the link is measured after this pass, for about a second: see F5".to_owned());
            Some(Control::ProbeLink)
        }
        Action::Observer => observe(model),
        Action::Back => Some(Control::Stop),
        other => look(model, other),
    }
}

/// Nothing can be asked of a source that is not open yet.
fn before_opened(model: &mut Model, action: Action) -> Option<Control> {
    match action {
        Action::Back => Some(Control::Stop),
        Action::LogScale | Action::ZoomIn | Action::ZoomOut | Action::Help | Action::Colours => look(model, action),
        Action::Show(_) | Action::NextScreen | Action::PreviousScreen => look(model, action),
        _ => {
            model.ui.hint = Some("not before the GPU is open".to_owned());
            None
        }
    }
}

/// Actions that change only what is seen.
fn look(model: &mut Model, action: Action) -> Option<Control> {
    let ui = &mut model.ui;
    match action {
        Action::Freeze => {
            model.frozen = match model.frozen {
                None => Some(Box::new((model.session.clone(), model.digest.clone()))),
                Some(_) => None,
            };
        }
        Action::LogScale => ui.log = !ui.log,
        Action::ZoomIn => ui.window = ui.window.saturating_sub(1),
        Action::ZoomOut => ui.window = (ui.window + 1).min(WINDOWS.len() - 1),
        Action::ResetPeaks => ui.peaks_from = model.session.now,
        Action::Show(screen) => show(model, screen),
        Action::NextScreen => show(model, model.ui.screen.next()),
        Action::PreviousScreen => show(model, model.ui.screen.previous()),
        Action::Help => ui.overlay = Overlay::Help(0),
        Action::Left | Action::Right => return step(model, action),
        Action::Block(block) => {
            ui.block = block;
            show(model, Screen::Memory);
        }
        Action::Choose(n) => {
            model.ui.compared = model.shown().runs.runs.get(n).map(|run| run.start.run);
            model.compare_again();
        }
        Action::Baseline => baseline(model),
        Action::Colours => {
            let theme = model.setup.theme.next(model.ui.depth);
            model.setup.theme = theme;
            model.ui.hint = Some(format!("colours: {}", theme.name()));
        }
        _ => {}
    }
    None
}

fn show(model: &mut Model, screen: Screen) {
    if model.ui.screen != screen {
        model.ui.screen = screen;
        model.ui.scroll = 0;
    }
}

/// Asks for the present workload at every trace level, and shows what comes of it. Where a comparison is under way, the
/// request shows it again.
fn observe(model: &mut Model) -> Option<Control> {
    let trace = model.session.header.as_ref().map(|header| header.caps.trace.clone());
    model.ui.hint = match trace {
        None => Some("nothing runs yet".to_owned()),
        Some(Can::No(why)) => Some(format!("there is no level to compare with off: {why}")),
        Some(Can::Yes) if model.ui.paused => Some("the workload is paused: space lets it go on".to_owned()),
        Some(Can::Yes) => None,
    };
    if model.ui.hint.is_some() {
        return None;
    }
    model.ui.overlay = Overlay::Observer;
    let under_way = model.digest.observer.as_ref().is_some_and(|observer| !observer.ended);
    (!under_way).then(|| {
        model.digest.observer = None;
        Control::CompareLevels { warmups: OBSERVER_WARMUPS, passes: OBSERVER_PASSES }
    })
}

/// Makes the run that is compared, or the present one, the baseline; the baseline itself stops being it.
fn baseline(model: &mut Model) {
    let Some(run) = model.compared().map(|run| run.start.run) else {
        model.ui.hint = Some("no run has begun yet".to_owned());
        return;
    };
    let pinned = model.ui.baseline == Some(run);
    model.ui.baseline = (!pinned).then_some(run);
    model.ui.hint = Some(match pinned {
        true => "no baseline any more".to_owned(),
        false => format!("run {run} is the baseline: change one thing, and F4 says what it did"),
    });
    model.compare_again();
}

/// An arrow on a screen without a menu.
fn step(model: &mut Model, action: Action) -> Option<Control> {
    let back = matches!(action, Action::Previous | Action::Left);
    match model.ui.screen {
        Screen::Memory => model.ui.block = view::block_after(model, action),
        Screen::Compare if matches!(action, Action::Previous | Action::Next) => {
            let runs = &model.shown().runs.runs;
            let present = model.compared().map(|run| run.start.run);
            let at = runs.iter().position(|run| Some(run.start.run) == present).unwrap_or(0);
            let next = if back { at.saturating_sub(1) } else { (at + 1).min(runs.len().saturating_sub(1)) };
            // The newest is followed as it changes.
            let newest = next + 1 == runs.len();
            model.ui.compared = runs.get(next).filter(|_| !newest).map(|run| run.start.run);
            model.compare_again();
        }
        Screen::Live | Screen::Compare => {}
        _ => {
            let most = view::scrollable(model);
            model.ui.scroll =
                if back { model.ui.scroll.saturating_sub(1) } else { model.ui.scroll.saturating_add(1).min(most) };
        }
    }
    None
}

fn choose(model: &mut Model, at: usize) -> Option<Control> {
    model.ui.selected = at.min(model.setup.workloads.len().saturating_sub(1));
    None
}

fn help(model: &mut Model, action: Action, line: u16) -> Option<Control> {
    model.ui.overlay = match action {
        Action::Previous => Overlay::Help(line.saturating_sub(HELP_STEP)),
        Action::Next => Overlay::Help((line + HELP_STEP).min(view::help_lines(model.setup.mode))),
        Action::Back | Action::Help | Action::Enter => Overlay::None,
        _ => Overlay::Help(line),
    };
    None
}

fn confirm(model: &mut Model, action: Action, settings: Box<crate::event::Settings>) -> Option<Control> {
    match action {
        Action::Enter => {
            model.ui.wanted = (*settings).clone();
            Some(Control::Run(*settings))
        }
        Action::Back => None,
        _ => {
            model.ui.overlay = Overlay::Confirm(settings);
            None
        }
    }
}

fn speed(model: &mut Model, faster: bool) -> Option<Control> {
    let next = if faster {
        SPEEDS.iter().copied().find(|s| *s > model.ui.speed * 1.001)
    } else {
        SPEEDS.iter().rev().copied().find(|s| *s < model.ui.speed * 0.999)
    };
    model.ui.speed = next?;
    Some(Control::Speed(model.ui.speed))
}

/// Starts a recording named after the session's start and the moment within it, or ends the one under way.
fn record(model: &mut Model) -> Option<Control> {
    if model.setup.mode == Mode::Replay {
        return None;
    }
    if model.ui.recording.take().is_some() {
        return Some(Control::Record(None));
    }
    let now = model.session.now;
    let started = model.session.header.as_ref().map_or("session", |h| h.started.as_str());
    let safe: String = started.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' }).collect();
    let path = PathBuf::from(format!("umtop-{safe}+{:.0}s.umr", now.seconds()));
    model.ui.recording = Some(now);
    Some(Control::Record(Some(path)))
}
