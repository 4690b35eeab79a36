//! What every dashboard shares: the screen, the worker behind it, the way out; and the one over a recording.

use super::desk::desk;
use super::{Failure, ended_by, leave_behind, tell};
use crate::cli::{EXIT_FAILED, EXIT_NO_TERMINAL, ReplayArgs, ThemeChoice};
use crate::event::{Control, Event};
use crate::recording::Stored;
use crate::source::{Pace, Replay, Sink};
use crate::ui::{Depth, Desk, ExitReason, Glyphs, Guard, Mode, Palette, Setup, Theme, run};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

/// Events that may wait for the screen: seconds of the densest storm.
pub(super) const QUEUE: usize = 65_536;
/// How long a worker may take to end after `q`. A longer driver call is left behind: the process ends anyway.
pub(super) const GRACE: Duration = Duration::from_secs(2);

pub(super) fn replay(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    match args.format {
        Some(format) => super::replay::totals(args, format),
        None => play(&Stored::file(&args.file), args.speed.unwrap_or(1.0), args.theme),
    }
}

/// Plays a recording in the dashboard.
pub(super) fn play(stored: &Stored, speed: f64, wanted: Option<ThemeChoice>) -> Result<ExitCode, Failure> {
    let replay = Replay::open(stored).map_err(Failure::failed)?;
    require_terminal()?;
    let (sink, events) = Sink::new(QUEUE);
    let (control, wishes) = unbounded();
    let setup = Setup { speed, ..Setup::idle(Mode::Replay, theme(wanted)) };
    let desk = desk(None)?;
    let guard = take_terminal()?;
    let worker = worker(move || {
        replay.browse(&sink, Pace::at_speed(speed, wishes));
        Ok(())
    })?;
    show(guard, events, control, setup, desk, worker, None)
}

/// Runs the UI, then sees the worker off and the terminal restored.
pub(super) fn show(
    guard: Guard,
    events: Receiver<Event>,
    control: Sender<Control>,
    setup: Setup,
    desk: Desk,
    worker: Worker,
    recorded: Option<&Sink>,
) -> Result<ExitCode, Failure> {
    Ok(ExitCode::from(code_of(shown(guard, events, control, setup, desk, worker, recorded)?)))
}

/// As [`show`]: why the UI ended.
pub(super) fn shown(
    guard: Guard,
    events: Receiver<Event>,
    control: Sender<Control>,
    setup: Setup,
    desk: Desk,
    worker: Worker,
    recorded: Option<&Sink>,
) -> Result<ExitReason, Failure> {
    // A panic must not keep the worker from giving its memory back.
    let shown = catch_unwind(AssertUnwindSafe(|| run(&guard, events, control.clone(), setup, desk)));
    drop(guard);
    // The UI does not read any more, so the worker must not wait for it: its channel is closed with `events`.
    let ended = worker.stop(&control);
    let left_behind = ended.is_none();
    if left_behind {
        tell("a call into the driver has not returned: leaving it behind; the driver takes the memory back");
    }
    let recorded = recorded.map_or(Ok(()), Sink::stop_recording);
    let shown = shown.unwrap_or_else(|panic| resume_unwind(panic));
    if left_behind {
        for failed in [shown.as_ref().err().map(ToString::to_string), recorded.err().map(|e| e.to_string())] {
            failed.iter().for_each(|line| tell(line));
        }
        leave_behind(shown.map_or(EXIT_FAILED, code_of));
    }
    ended.transpose()?;
    let reason = shown.map_err(Failure::failed)?;
    recorded.map_err(Failure::failed)?;
    Ok(reason)
}

/// The exit code of a dashboard that ended so.
pub(super) fn code_of(reason: ExitReason) -> u8 {
    match reason {
        ExitReason::Quit => 0,
        ExitReason::Signal(number) => ended_by(number),
        ExitReason::InputClosed | ExitReason::Panicked | ExitReason::NotOpened => EXIT_FAILED,
    }
}

pub(super) fn take_terminal() -> Result<Guard, Failure> {
    Guard::enter().map_err(|e| Failure::new(EXIT_NO_TERMINAL, e))
}

pub(super) struct Worker {
    thread: JoinHandle<Result<(), Failure>>,
    ended: Receiver<()>,
}

impl Worker {
    /// Asks it to end and waits in measure: how it ended, `None` if a call of it has not returned.
    pub(super) fn stop(self, control: &Sender<Control>) -> Option<Result<(), Failure>> {
        let _ = control.send(Control::Stop);
        // The sender is dropped at the thread's end, also by a panic.
        let ended = self.ended.recv_timeout(GRACE) != Err(RecvTimeoutError::Timeout);
        ended.then(|| self.thread.join().unwrap_or(Ok(())))
    }

    /// Why it ended before it had anything to show.
    pub(super) fn failure(self) -> Failure {
        let panicked = || Failure::failed("the worker thread panicked: its message is above");
        self.thread.join().ok().and_then(Result::err).unwrap_or_else(panicked)
    }
}

pub(super) fn worker(work: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<Worker, Failure> {
    let (end, ended) = bounded::<()>(0);
    let thread = std::thread::Builder::new()
        .name("umtop-worker".to_owned())
        .spawn(move || {
            let _end = end;
            work()
        })
        .map_err(|e| Failure::failed(format!("cannot start the worker thread: {e}")))?;
    Ok(Worker { thread, ended })
}

/// What was asked for, else what the environment says.
pub(super) fn theme(wanted: Option<ThemeChoice>) -> Theme {
    let found = Theme::detect(variable);
    let palette = |palette| Theme { palette, ..found };
    match wanted {
        None => found,
        Some(ThemeChoice::Dark) => palette(Palette::Dark),
        Some(ThemeChoice::Light) => palette(Palette::Light),
        Some(ThemeChoice::ColourBlind) => palette(Palette::ColourBlind),
        Some(ThemeChoice::Mono) => Theme { depth: Depth::Mono, ..found },
        Some(ThemeChoice::Ascii) => Theme { glyphs: Glyphs::Ascii, ..found },
    }
}

pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Said before the device is opened, which takes a moment.
pub(super) fn require_terminal() -> Result<(), Failure> {
    use std::io::IsTerminal;
    if variable("TERM").is_some_and(|term| term == "dumb") {
        let line = "TERM=dumb has no screen to draw on; use 'umtop bench', or set TERM to what the terminal is";
        return Err(Failure::new(EXIT_NO_TERMINAL, line));
    }
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let line = "the dashboard needs a terminal; without one, use 'umtop bench' or 'umtop doctor'";
    Err(Failure::new(EXIT_NO_TERMINAL, line))
}
