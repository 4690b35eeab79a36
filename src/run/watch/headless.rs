//! Watching without a terminal: totals at the end.

use super::{open, running, signal};
use crate::cli::{EXIT_FAILED, WatchArgs, WatchFormat};
use crate::event::{Body, Control, Event, Level, Notice};
use crate::report;
use crate::run::dashboard::QUEUE;
use crate::run::metrics::Published;
use crate::run::{Failure, ended_by, print, tell};
use crate::session::Session;
use crate::source::watch::{Target, WatchEnd};
use crate::source::{Pace, Sink};
use crate::units::Stamp;
use crossbeam_channel::{Sender, unbounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Between two looks whether a command that is not watched any more has ended.
const POLL: Duration = Duration::from_millis(20);

/// Watches for the time asked for, or until the program ends, and prints what was seen.
pub fn totals(args: &WatchArgs) -> Result<ExitCode, Failure> {
    let running = running(args)?;
    let mut publish = Published::start(args.metrics.metrics)?.map(Published::watcher);
    let (sink, events) = Sink::new(QUEUE);
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let (opened, header) = open(args, running, &sink)?;
    if let Some(why) = header.caps.trace.reason() {
        let notice = Notice { level: Level::Warning, source: "uvm".to_owned(), text: why.to_owned() };
        sink.send(Event { at: Stamp(0), body: Body::Notice(notice) });
    }
    let command = match &opened.watch.target {
        Target::Command(command) => Some((command.pid(), command.output().to_owned())),
        Target::Process(_) => None,
    };
    let until = args.time.map(|time| Stamp(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
    let (control, wishes) = unbounded();
    let signalled = on_signals(control, command.as_ref().map(|(pid, _)| *pid))?;
    let worker_sink = sink.clone();
    let worker = std::thread::Builder::new()
        .name("umtop-worker".to_owned())
        .spawn(move || {
            let ended = opened.watch.run(header, until, worker_sink, Pace::at_speed(1.0, wishes));
            drop(opened.equipment);
            ended
        })
        .map_err(|e| Failure::failed(format!("cannot start the worker thread: {e}")))?;
    let mut session = Session::default();
    while !worker.is_finished() || !events.is_empty() {
        if let Ok(event) = events.recv_timeout(Duration::from_millis(50)) {
            session.apply(&event);
            if let Some(publish) = &mut publish {
                publish(&session);
            }
        }
    }
    let Ok((end, target)) = worker.join() else {
        return Err(Failure::failed("the worker thread panicked: its message is above"));
    };
    let recorded = sink.stop_recording();
    print(&match args.format.unwrap_or(WatchFormat::Table) {
        WatchFormat::Table => report::watch_table(&session, args.trace),
        WatchFormat::Json => format!("{:#}\n", report::watch_json(&session, args.trace)),
    })?;
    if let Some((_, output)) = &command {
        tell(&format!("the command's output is in {}", output.display()));
    }
    recorded.map_err(Failure::failed)?;
    Ok(ExitCode::from(match (end, target) {
        (WatchEnd::Ended(Some(code)), _) => code,
        (WatchEnd::Stopped, Target::Command(mut command)) => {
            tell(&format!("not watched any more; waiting for process {} to end", command.pid()));
            await_end(&mut command)
        }
        _ if signalled.load(Ordering::Relaxed) != 0 => ended_by(signalled.load(Ordering::Relaxed)),
        _ if session.watch.first.is_none() => EXIT_FAILED,
        _ => 0,
    }))
}

fn await_end(command: &mut crate::source::watch::Command) -> u8 {
    let (_never, silence) = crossbeam_channel::bounded::<()>(0);
    loop {
        if let Some(code) = command.ended() {
            return code;
        }
        let _ = silence.recv_timeout(POLL);
    }
}

/// A signal goes on to the command, whose end ends the watching; without one it ends the watching. The second one ends
/// umtop at once. Gives the first one's number; 0 while there is none.
fn on_signals(control: Sender<Control>, command: Option<u32>) -> Result<Arc<AtomicI32>, Failure> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::failed(format!("cannot watch for signals: {e}")))?;
    let first = Arc::new(AtomicI32::new(0));
    let seen = Arc::clone(&first);
    let watch = move || {
        for number in signals.forever() {
            if seen.swap(number, Ordering::Relaxed) != 0 {
                std::process::exit(i32::from(ended_by(number)));
            }
            match command {
                Some(pid) => signal(pid, number),
                None => drop(control.send(Control::Stop)),
            }
        }
        drop(control);
    };
    std::thread::Builder::new()
        .name("umtop-signals".to_owned())
        .spawn(watch)
        .map(|_| first)
        .map_err(|e| Failure::failed(format!("cannot start the signal thread: {e}")))
}
