//! The dashboard over a live source or a recording.

use super::desk::desk;
use super::library::library;
use super::metrics::Published;
use super::open::{Opened, open};
use super::settings::first;
use super::{Failure, ended_by, leave_behind, tell};
use crate::cli::{Dashboard, EXIT_FAILED, EXIT_NO_TERMINAL, EXIT_USAGE, ReplayArgs, ThemeChoice};
use crate::event::{Can, Caps, Control, Event, Origin, Settings, TraceLevel};
use crate::probe::Probe;
use crate::probe::host::HostProbe;
use crate::recording::Stored;
use crate::source::{Pace, Replay, Sink, Work};
use crate::ui::{Depth, Desk, Entry, ExitReason, Glyphs, Guard, Mode, Palette, Setup, Theme, run};
use crate::units::Bytes;
use crate::workload::{Choice, Library, Workload, check_footprint, plan, vram_room};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

/// Events that may wait for the screen: seconds of the densest storm.
pub(super) const QUEUE: usize = 65_536;
/// How long a worker may take to end after `q`. A longer driver call is left behind: the process ends anyway.
pub(super) const GRACE: Duration = Duration::from_secs(2);

pub(super) fn live(mut args: Dashboard) -> Result<ExitCode, Failure> {
    let library = library(std::slice::from_mut(&mut args.workload))?;
    // What makes no sense is said before a device is opened; sizes may depend on the device.
    first(&library, &args)?;
    require_terminal()?;
    let (sink, events) = Sink::new(QUEUE);
    let mut opened = open(&args.device, library, &sink)?;
    let library = opened.live.library.clone();
    let settings = first(&library, &args)?;
    let simulated = matches!(opened.header.origin, Origin::Simulated { .. });
    if simulated {
        // The host is real, and virtual time is held to the wall here, so its figures mean something.
        let host = HostProbe::new();
        opened.header.probes.push(host.info());
        opened.live.stepped.push(Box::new(host));
    }
    startable(&library, &settings, &opened, args.device.allow_oversubscription)?;
    let desk = desk(Published::start(args.metrics.metrics)?)?;
    // The terminal is taken before anything runs that would have to be ended if that failed.
    let guard = take_terminal()?;
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let setup = Setup {
        mode: Mode::Live,
        workloads: library.iter().map(|w| entry(w, &opened.header.caps)).collect(),
        settings: settings.clone(),
        vram_free: opened.free.as_ref().map(vram_room),
        oversubscription: args.device.allow_oversubscription,
        speed: 1.0,
        recording: args.record.is_some(),
        theme: theme(args.theme),
    };
    // What oversubscribes the card waits until the user has confirmed it on the screen.
    let work = if setup.oversubscribes(&settings) { Work::OnRequest(settings) } else { Work::Interactive(settings) };
    let (control, wishes) = unbounded();
    let worker_sink = sink.clone();
    let worker = worker(move || {
        // Real time passes by itself; virtual time must be held to the wall.
        let pace = if simulated { Pace::at_speed(1.0, wishes) } else { Pace::unpaced(wishes) };
        opened.live.run(opened.header, work, worker_sink, pace);
        drop(opened.samplers);
    })?;
    show(guard, events, control, setup, desk, worker, Some(&sink))
}

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
    let worker = worker(move || replay.browse(&sink, Pace::at_speed(speed, wishes)))?;
    show(guard, events, control, setup, desk, worker, None)
}

/// Runs the UI, then sees the worker off and the terminal restored.
fn show(
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
    let _ = control.send(Control::Stop);
    let left_behind = !worker.ended_within(GRACE);
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
    let reason = shown.map_err(Failure::failed)?;
    recorded.map_err(Failure::failed)?;
    Ok(reason)
}

/// The exit code of a dashboard that ended so.
pub(super) fn code_of(reason: ExitReason) -> u8 {
    match reason {
        ExitReason::Quit => 0,
        ExitReason::Signal(number) => ended_by(number),
        ExitReason::InputClosed | ExitReason::Panicked => EXIT_FAILED,
    }
}

pub(super) fn take_terminal() -> Result<Guard, Failure> {
    Guard::enter().map_err(|e| Failure::new(EXIT_NO_TERMINAL, e))
}

pub(super) struct Worker {
    thread: JoinHandle<()>,
    ended: Receiver<()>,
}

impl Worker {
    fn ended_within(self, grace: Duration) -> bool {
        // The sender is dropped at the thread's end, also by a panic.
        let ended = self.ended.recv_timeout(grace) != Err(crossbeam_channel::RecvTimeoutError::Timeout);
        if ended {
            let _ = self.thread.join();
        }
        ended
    }
}

pub(super) fn worker(work: impl FnOnce() + Send + 'static) -> Result<Worker, Failure> {
    let (end, ended) = bounded::<()>(0);
    let thread = std::thread::Builder::new()
        .name("umtop-worker".to_owned())
        .spawn(move || {
            let _end = end;
            work();
        })
        .map_err(|e| Failure::failed(format!("cannot start the worker thread: {e}")))?;
    Ok(Worker { thread, ended })
}

fn entry(workload: &Workload, caps: &Caps) -> Entry {
    let default = workload.variant(Choice::default());
    let settings = workload.settings(default, workload.memory.size, TraceLevel::Off);
    let available = match plan(workload, &settings, caps) {
        Ok(_) => Can::Yes,
        Err(reasons) => Can::No(reasons.join("; ")),
    };
    Entry {
        name: workload.name.clone(),
        title: workload.title.clone(),
        question: workload.question.clone(),
        available,
        settings,
        size: (workload.memory.min, workload.memory.max.unwrap_or(Bytes(1 << 40))),
        rounds: workload.pass.rounds,
    }
}

/// Flags that cannot work on this machine are bad usage, said before the screen is taken.
fn startable(library: &Library, settings: &Settings, opened: &Opened, allow: bool) -> Result<(), Failure> {
    let usage = |line: String| Failure::new(EXIT_USAGE, line);
    let workload = library.find(&settings.workload).map_err(usage)?;
    plan(workload, settings, &opened.header.caps).map_err(|reasons| usage(reasons.join("; ")))?;
    let Some(free) = &opened.free else { return Ok(()) };
    check_footprint(settings.size, settings.memory, free, allow).map_err(|e| usage(e.to_string()))
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
