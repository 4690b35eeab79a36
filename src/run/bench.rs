//! `umtop bench`: the same line of data, with a report instead of a screen at its end.

use super::open::open;
use super::settings::members;
use super::{Failure, print};
use crate::cli::{BenchArgs, BenchFormat, EXIT_FAILED};
use crate::event::{Control, Outcome};
use crate::report;
use crate::session::Session;
use crate::source::{Batch, Pace, Sink, Work};
use crate::workload::Library;
use crossbeam_channel::{Sender, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;

/// Events that may wait for the fold.
const QUEUE: usize = 65_536;

pub(super) fn bench(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let library = Library::bundled().map_err(Failure::failed)?;
    let batch = Batch { members: members(&library, args)?, warmups: args.warmups, passes: args.runs };
    let wanted = batch.members.len();
    let (sink, events) = Sink::new(QUEUE);
    let opened = open(&args.device, library, &sink)?;
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let (control, wishes) = bounded(16);
    stop_on_signals(control)?;
    let worker_sink = sink.clone();
    let worker = std::thread::Builder::new()
        .name("umtop-worker".to_owned())
        .spawn(move || {
            opened.live.run(opened.header, Work::Batch(batch), worker_sink, Pace::unpaced(wishes));
            drop(opened.samplers);
        })
        .map_err(|e| Failure::failed(format!("cannot start the worker thread: {e}")))?;
    let stop = sink.clone();
    drop(sink);
    let mut session = Session::default();
    // The worker's end does not close the channel while the sink here can still record: fold until it has ended.
    while !worker.is_finished() || !events.is_empty() {
        if let Ok(event) = events.recv_timeout(std::time::Duration::from_millis(50)) {
            session.apply(&event);
        }
    }
    if worker.join().is_err() {
        return Err(Failure::failed("the worker thread panicked: its message is above"));
    }
    stop.stop_recording().map_err(Failure::failed)?;
    print(&match args.format {
        BenchFormat::Table => report::table(&session),
        BenchFormat::Json => format!("{:#}\n", report::json(&session)),
    })?;
    let runs = &session.runs.runs;
    let whole = runs.len() == wanted && runs.iter().all(|r| r.outcome == Some(Outcome::Done));
    let measured = whole && runs.iter().all(|r| r.counted().count() == args.runs as usize);
    Ok(if measured { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
}

/// Ctrl-C and friends end the batch after the present step; what was measured until then is printed.
fn stop_on_signals(control: Sender<Control>) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::failed(format!("cannot watch for signals: {e}")))?;
    std::thread::Builder::new()
        .name("umtop-signals".to_owned())
        .spawn(move || {
            for _ in signals.forever() {
                if control.try_send(Control::Stop).is_err() {
                    return;
                }
            }
        })
        .map(|_| ())
        .map_err(|e| Failure::failed(format!("cannot start the signal thread: {e}")))
}
