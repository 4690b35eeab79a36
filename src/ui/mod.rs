//! The terminal UI: a loop that takes in events and keys, and draws the model at most 30 times a second.

mod desk;
mod digest;
mod guard;
mod input;
mod keys;
mod load;
mod settings;
mod setup;
mod signals;
mod state;
mod theme;
mod update;
mod view;
mod widget;
mod writer;

pub use desk::{Desk, Errand, Shot, Watcher};
pub use guard::{Guard, GuardError};
pub use keys::{Footer, Group, TABLE as KEYS};
pub use load::Load;
pub use setup::{Entry, Mode, Setup};
pub use state::{Model, Overlay, Screen, UiState};
pub use theme::{Depth, Glyphs, Palette, Theme};
pub use update::{Msg, update};
pub use view::{draw, render};

use crate::clock::Clock;
use crate::event::{Body, Control, Event};
use crate::session::Session;
use crate::units::{Nanos, Stamp};
use crossbeam_channel::{Receiver, Sender, TryRecvError, never, select_biased};
use keys::Action;
use load::Meter;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::queue;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::Rect;
use signals::Signal;
use std::io::{self, Write};
use std::time::Duration;

/// Longest wait for anything: a panic of another thread has no channel.
const TURN: Duration = Duration::from_millis(100);
/// Events taken in before keys are looked at again.
const BATCH: usize = 4_096;

/// Why the UI ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user left.
    Quit,
    /// A signal asked for it; the number is the signal's.
    Signal(i32),
    /// The terminal is gone.
    InputClosed,
    /// A thread panicked; its message is on standard error.
    Panicked,
    /// The source could not be opened; who was to open it knows why.
    NotOpened,
}

/// What can go wrong with a terminal that was taken.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// Reading or writing it failed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
}

/// What a frame would be drawn for, the least urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// Nothing: the picture is made of the model alone, so it would be the same one, and only a terminal that was written over
    /// by somebody else gains.
    Still,
    /// What probes tell all the time, whether something happens or not.
    Routine,
    /// Something that happened.
    Event,
    /// A key or the like: who pressed it waits for the picture.
    Asked,
}

impl Due {
    /// Least time from the last frame to this one. A paste must not draw a frame for each character.
    const fn least(self) -> Nanos {
        Nanos::millis(match self {
            Self::Still => 1_000,
            Self::Routine => 100,
            Self::Event => 33,
            Self::Asked => 8,
        })
    }

    fn of(body: &Body) -> Self {
        match body {
            Body::Sample(_) => Self::Routine,
            Body::Uvm(tick) if tick.quiet() => Self::Routine,
            _ => Self::Event,
        }
    }
}

type Screenful = Terminal<CrosstermBackend<guard::Screen>>;

/// Shows what `events` tell until the user leaves. Requests go to `control`; neither a full nor a closed channel stops the
/// UI, and it never waits for the source: the caller joins that with a grace period. What takes longer than a frame goes to
/// the desk.
pub fn run(
    guard: &Guard,
    events: Receiver<Event>,
    control: Sender<Control>,
    setup: Setup,
    desk: Desk,
) -> Result<ExitReason, UiError> {
    let screen = Terminal::new(CrosstermBackend::new(guard::Screen::default()))?;
    let input = input::listen()?;
    let clock = Clock::start();
    let meter = Meter::new(clock.now());
    let model = Model::new(setup);
    let mut ui = Loop { guard, screen, model, control, desk, clock, meter, drawn: None, due: Due::Event };
    ui.turn(events, input)
}

struct Loop<'a> {
    guard: &'a Guard,
    screen: Screenful,
    model: Model,
    control: Sender<Control>,
    desk: Desk,
    clock: Clock,
    meter: Meter,
    drawn: Option<Stamp>,
    /// The most urgent of what came since the last frame.
    due: Due,
}

impl Loop<'_> {
    fn turn(&mut self, mut events: Receiver<Event>, input: Receiver<Msg>) -> Result<ExitReason, UiError> {
        loop {
            if self.guard.panicked() {
                return Ok(ExitReason::Panicked);
            }
            if let Err(error) = self.draw_if_due() {
                return self.terminal_failed(error);
            }
            select_biased! {
                recv(input) -> msg => {
                    let Ok(msg) = msg else { return Ok(ExitReason::InputClosed) };
                    if let Some(reason) = self.handle(msg)? {
                        return Ok(reason);
                    }
                }
                recv(self.guard.signals()) -> signal => match signal {
                    Ok(Signal::End(number)) => return Ok(ExitReason::Signal(number)),
                    Ok(Signal::Suspend) => self.suspend()?,
                    Ok(Signal::Continued) => {
                        self.guard.resume()?;
                        self.anew()?;
                    }
                    Err(_) => return Ok(ExitReason::Signal(0)),
                },
                recv(self.desk.answers) -> line => match line {
                    Ok(line) => {
                        self.model.ui.hint = Some(line);
                        self.due = self.due.max(Due::Event);
                    }
                    Err(_) => self.desk.answers = never(),
                },
                // Before the events, which are of the source that was opened.
                recv(self.desk.opened) -> setup => {
                    match setup {
                        Ok(setup) => self.opened(setup),
                        Err(_) if self.model.setup.opening => return Ok(ExitReason::NotOpened),
                        Err(_) => {}
                    }
                    self.desk.opened = never();
                }
                recv(events) -> event => match event {
                    Ok(event) => {
                        self.take_in(event);
                        if !self.drain(&events) {
                            events = self.ended();
                        }
                        if let Some(watcher) = &mut self.desk.watcher {
                            watcher(&self.model.session);
                        }
                    }
                    Err(_) => events = self.ended(),
                },
                default(self.until_due()) => {}
            }
        }
    }

    /// A terminal that went away has sent a signal, too, which says more than the failure.
    fn terminal_failed(&self, error: io::Error) -> Result<ExitReason, UiError> {
        match self.guard.signals().recv_timeout(Duration::from_millis(200)) {
            Ok(Signal::End(number)) => Ok(ExitReason::Signal(number)),
            _ => Err(error.into()),
        }
    }

    /// Takes in what has piled up; false if the channel is closed.
    fn drain(&mut self, events: &Receiver<Event>) -> bool {
        for _ in 0..BATCH {
            match events.try_recv() {
                Ok(event) => self.take_in(event),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    fn take_in(&mut self, event: Event) {
        self.due = self.due.max(Due::of(&event.body));
        self.meter.event();
        update(&mut self.model, Msg::Event(Box::new(event)));
    }

    fn opened(&mut self, setup: Setup) {
        self.due = self.due.max(Due::Event);
        update(&mut self.model, Msg::Opened(Box::new(setup)));
    }

    /// Nothing will come any more; what is left is to look at it.
    fn ended(&mut self) -> Receiver<Event> {
        self.due = self.due.max(Due::Event);
        update(&mut self.model, Msg::Ended);
        never()
    }

    fn handle(&mut self, msg: Msg) -> io::Result<Option<ExitReason>> {
        self.due = Due::Asked;
        if let Msg::Key(key) = &msg {
            match keys::action(key) {
                Some(Action::Suspend) => return self.suspend().map(|()| None),
                Some(Action::Redraw) => return self.anew().map(|()| None),
                Some(Action::Picture) => return Ok(self.errand(Self::shot)),
                Some(Action::Report) => return Ok(self.errand(|model, _| Errand::Report(Box::new(model.clone())))),
                _ => {}
            }
        }
        let Some(request) = update(&mut self.model, msg) else { return Ok(None) };
        let leaving = request == Control::Stop;
        if self.control.try_send(request).is_err() && !leaving {
            self.model.ui.hint = Some("the source does not take requests now".to_owned());
        }
        Ok(leaving.then_some(ExitReason::Quit))
    }

    /// Hands something over; the answer comes later, as a hint.
    fn errand(&mut self, errand: impl Fn(&Model, Rect) -> Errand) -> Option<ExitReason> {
        self.model.ui.hint = None;
        let (width, height) = self.model.ui.size;
        let errand = errand(&self.model, Rect::new(0, 0, width, height));
        let sent = self.desk.errands.as_ref().map(|errands| errands.try_send(errand));
        self.model.ui.hint = match sent {
            Some(Ok(())) => Some("saving…".to_owned()),
            Some(Err(_)) => Some("still busy with the picture before".to_owned()),
            None => Some("pictures cannot be saved here".to_owned()),
        };
        None
    }

    /// The screen as the next frame would show it.
    fn shot(model: &Model, area: Rect) -> Errand {
        let mut cells = Buffer::empty(area);
        render(model, area, &mut cells);
        let shown = model.shown();
        let session = Session { header: shown.header.clone(), now: shown.now, ..Session::default() };
        Errand::Picture(Box::new(Shot { cells, session, mode: model.setup.mode }))
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.guard.suspend()?;
        self.anew()
    }

    /// Everything is drawn again at the next frame, as after somebody else has used the terminal. (`Terminal::clear` would
    /// ask the terminal where its cursor is, and the answer would go to the input thread.)
    fn anew(&mut self) -> io::Result<()> {
        self.drawn = None;
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let wait = self.due.least();
        if self.drawn.is_some_and(|drawn| now.since(drawn) < wait) {
            return Ok(());
        }
        if !writer::idle() {
            // The terminal does not keep up: this frame is left out, and what it would have shown is in the next one.
            self.drawn = Some(now);
            return Ok(());
        }
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        let model = &mut self.model;
        self.screen.draw(|frame| {
            model.ui.size = (frame.area().width, frame.area().height);
            draw(model, frame);
        })?;
        queue!(self.screen.backend_mut(), EndSynchronizedUpdate)?;
        Write::flush(self.screen.backend_mut())?;
        self.drawn = Some(now);
        self.due = Due::Still;
        if let Some(load) = self.meter.frame(now, self.clock.now()) {
            self.model.ui.load = Some(load);
        }
        Ok(())
    }

    fn until_due(&self) -> Duration {
        let wait = self.due.least();
        let passed = self.drawn.map_or(wait, |drawn| self.clock.now().since(drawn));
        Duration::from_nanos(wait.0.saturating_sub(passed.0)).min(TURN)
    }
}

#[cfg(test)]
mod tests;
