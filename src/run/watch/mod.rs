//! `umtop watch`: another program's unified memory, on the screen, as totals, or who uses it at all.

mod equip;
mod headless;
mod list;

use super::dashboard::{QUEUE, code_of, require_terminal, shown, take_terminal, theme, worker};
use super::desk::desk;
use super::metrics::Published;
use super::{Failure, header, print};
use crate::cli::{EXIT_NO_DEVICE, EXIT_USAGE, WatchArgs};
use crate::clock::Clock;
use crate::event::{Can, Caps, Header, Settings};
use crate::probe::process::{Credentials, ProcFs};
use crate::probe::uvm;
use crate::source::watch::{Command, Target, Watch, WatchEnd, try_process};
use crate::source::{Pace, Sink};
use crate::ui::{ExitReason, Mode, Setup};
use crossbeam_channel::{bounded, unbounded};
use equip::Equipment;
use rustix::process::{Pid, Signal, kill_process};
use std::process::ExitCode;

pub(super) fn watch(args: WatchArgs) -> Result<ExitCode, Failure> {
    let nothing = args.pid.is_none() && args.command.is_empty();
    if nothing && (args.time.is_some() || args.record.is_some()) {
        let line = "name what to watch: umtop watch PID, or umtop watch -- COMMAND; 'umtop watch' lists who can be";
        return Err(Failure::new(EXIT_USAGE, line));
    }
    if args.output.is_some() && args.command.is_empty() {
        let line = "--output is for the output of a command that umtop starts: umtop watch --output FILE -- COMMAND";
        return Err(Failure::new(EXIT_USAGE, line));
    }
    if nothing {
        return list::list(&ProcFs::default(), args.format);
    }
    if args.time.is_some() || args.format.is_some() {
        return headless::totals(&args);
    }
    screen(&args)
}

fn screen(args: &WatchArgs) -> Result<ExitCode, Failure> {
    // A process that may not be watched is told of before the screen is taken; a command is started after.
    let running = running(args)?;
    let instead = "watching on the screen needs a terminal; without one, use --for TIME or --format table|json";
    require_terminal().map_err(|failure| Failure::new(failure.code, instead))?;
    let desk = desk(Published::start(args.metrics.metrics)?)?;
    let (sink, events) = Sink::new(QUEUE);
    let guard = take_terminal()?;
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let (opened, header) = open(args, running, &sink)?;
    let pid = opened.watch.target.pid();
    let setup = setup(args);
    let (control, wishes) = unbounded();
    let (tell, told) = bounded(1);
    let worker_sink = sink.clone();
    let worker = worker(move || {
        let ended = opened.watch.run(header, None, worker_sink, Pace::at_speed(1.0, wishes));
        drop(opened.equipment);
        let _ = tell.send(ended);
        Ok(())
    })?;
    let reason = shown(guard, events, control, setup, desk, worker, Some(&sink))?;
    let Ok((end, target)) = told.try_recv() else { return Ok(ExitCode::from(code_of(reason))) };
    match (reason, end, target) {
        (ExitReason::Quit, WatchEnd::Ended(code), _) => Ok(ExitCode::from(code.unwrap_or(0))),
        (ExitReason::Signal(number), WatchEnd::Stopped, Target::Command(_)) => {
            // Whoever ends umtop so, such as a terminal that is closed, means its command, too.
            signal(pid, number);
            Ok(ExitCode::from(code_of(reason)))
        }
        (reason, WatchEnd::Stopped, Target::Command(command)) => {
            print(&format!("umtop: process {pid} goes on; its output is in {}\n", command.output().display()))?;
            Ok(ExitCode::from(code_of(reason)))
        }
        (reason, ..) => Ok(ExitCode::from(code_of(reason))),
    }
}

fn setup(args: &WatchArgs) -> Setup {
    let idle = Setup::idle(Mode::Watch, theme(args.theme));
    let settings = Settings { trace: args.trace, ..idle.settings };
    Setup { settings, recording: args.record.is_some(), ..idle }
}

/// The process to watch, if it is one that runs already and may be watched.
fn running(args: &WatchArgs) -> Result<Option<Target>, Failure> {
    let Some(pid) = args.pid else { return Ok(None) };
    let proc = ProcFs::default();
    let opened = try_process(&proc, pid);
    opened.map(|process| Some(Target::Process(process))).map_err(|error| {
        let owner = proc.process(pid).ok().map(|process| process.uid);
        Failure::failed(Credentials::own(&proc).explain(pid, owner, &error))
    })
}

/// What is ready to run.
struct Opened {
    watch: Watch,
    /// Probes, which end when this is dropped.
    equipment: Equipment,
}

/// Opens the tracer and the probes, and starts the command if there is one.
fn open(args: &WatchArgs, running: Option<Target>, sink: &Sink) -> Result<(Opened, Header), Failure> {
    let clock = Clock::start();
    let proc = ProcFs::default();
    let node = uvm::node_status();
    let caps = caps(match &node {
        Ok(()) => Can::Yes,
        Err(error) => Can::No(error.to_string()),
    });
    let mut equipment = Equipment::start(&proc, clock, sink);
    let header = header::watching(caps, equipment.info());
    let tracer = uvm::await_spaces(clock, args.trace, equipment.traced(sink))
        .map_err(|error| Failure::new(EXIT_NO_DEVICE, error))?;
    let found = equipment.finder(header.clone());
    let (target, started) = match running {
        Some(target) => (target, None),
        None => {
            let started = clock.now();
            let command = Command::start(&args.command, args.output.as_deref()).map_err(Failure::failed)?;
            (Target::Command(command), Some(started))
        }
    };
    let watch = Watch { target, proc, clock, started, tracer: Box::new(tracer), gpus: known_gpus, found };
    Ok((Opened { watch, equipment }, header))
}

fn known_gpus(uvm: std::os::fd::BorrowedFd<'_>) -> Vec<String> {
    uvm::gpu_uuids(uvm).into_iter().flatten().collect()
}

/// Nothing of ours runs on the GPU, so that what it can do is not looked at.
fn caps(trace: Can) -> Caps {
    let unasked = || Can::No("not looked at: another program is watched".to_owned());
    Caps {
        managed: unasked(),
        concurrent: unasked(),
        prefetch: unasked(),
        advise: unasked(),
        pageable: unasked(),
        host_page_tables: unasked(),
        zero_copy: unasked(),
        trace,
        gpus: 0,
    }
}

fn signal(pid: u32, number: i32) {
    let named = Pid::from_raw(pid.cast_signed()).zip(Signal::from_named_raw(number));
    if let Some((pid, signal)) = named {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}
