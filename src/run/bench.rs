//! `umtop bench`: the same line of data, with a report instead of a screen at its end.

use super::library::library;
use super::metrics::Published;
use super::open::{Opened, Probing, open, warn};
use super::report::{new_folder, write_report};
use super::settings::members;
use super::{Failure, ended_by, leave_behind, print, tell};
use crate::cli::{BenchArgs, BenchFormat, EXIT_FAILED};
use crate::device::WATCHDOG;
use crate::event::{Body, Control, Event, Level, Outcome, Settings};
use crate::render;
use crate::report::{self, Predicted, Verdict};
use crate::session::Session;
use crate::source::{Batch, Pace, Sink, Work};
use crate::ui::Mode;
use crate::workload::{Library, Workload, check_footprint, plan};
use crossbeam_channel::{Sender, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Events that may wait for the fold.
const QUEUE: usize = 65_536;

pub(super) fn bench(mut args: BenchArgs) -> Result<ExitCode, Failure> {
    let library = library(&mut args.workloads)?;
    // What makes no sense is said before a device is opened; sizes may depend on the device.
    members(&library, &args)?;
    if let Some(folder) = &args.report {
        new_folder(folder)?;
    }
    let mut publish = Published::start(args.metrics.metrics)?.map(Published::watcher);
    let (sink, events) = Sink::new(QUEUE);
    let looked_at = args.record.is_some() || args.report.is_some() || publish.is_some();
    let probing = if looked_at { Probing::All } else { Probing::Driver };
    let opened = open(&args.device, probing, library, &sink)?;
    let library = opened.live.library.clone();
    let mut members = members(&library, &args)?;
    if args.workloads.is_empty() {
        leave_out(&mut members, &opened, &sink);
    }
    let batch = Batch { members, warmups: args.warmups, passes: args.runs };
    let wanted = batch.members.len();
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let overdue = opened.overdue.clone();
    let (control, wishes) = bounded(1);
    let signal = stop_on_signals(control)?;
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
    // A call that does not return cannot be waited for once somebody wants to leave.
    let left_behind = || overdue.is_so() && signal.load(Ordering::Relaxed) != 0;
    // The worker's end does not close the channel while the sink here can still record: fold until it has ended.
    while !(worker.is_finished() || left_behind()) || !events.is_empty() {
        if let Ok(event) = events.recv_timeout(std::time::Duration::from_millis(50)) {
            session.apply(&event);
            if let Some(line) = overdue_line(&event) {
                tell(line);
            }
            if let Some(publish) = &mut publish {
                publish(&session);
            }
        }
    }
    let left_behind = !worker.is_finished();
    if !left_behind && worker.join().is_err() {
        return Err(Failure::failed("the worker thread panicked: its message is above"));
    }
    let recorded = stop.stop_recording();
    let predictions = report::judge(&session, &predicted(&library));
    print(&match args.format {
        BenchFormat::Table => report::table(&session, &predictions),
        BenchFormat::Json => format!("{:#}\n", report::json(&session, &predictions)),
        BenchFormat::Csv => report::csv(&session).map_err(Failure::failed)?,
        BenchFormat::Markdown => report::markdown(&session, &predictions),
    })?;
    let session = match &args.report {
        Some(folder) => reported(folder, session, &predictions)?,
        None => session,
    };
    if left_behind {
        leave_behind(ended_by(signal.load(Ordering::Relaxed)));
    }
    // Only now, so that a disk that is full does not cost the figures.
    recorded.map_err(Failure::failed)?;
    let runs = &session.runs.runs;
    let whole = runs.len() == wanted && runs.iter().all(|r| r.outcome == Some(Outcome::Done));
    let said_no_error = session.notices.iter().all(|(_, notice)| notice.level != Level::Error);
    let measured = whole && said_no_error && runs.iter().all(|r| r.counted().count() == args.runs as usize);
    let code = match signal.load(Ordering::Relaxed) {
        0 => EXIT_FAILED,
        number => ended_by(number),
    };
    Ok(if measured { ExitCode::SUCCESS } else { ExitCode::from(code) })
}

/// What the watchdog says cannot wait for the report.
fn overdue_line(event: &Event) -> Option<&str> {
    match &event.body {
        Body::Notice(notice) if notice.source == WATCHDOG => Some(&notice.text),
        _ => None,
    }
}

/// Writes the report. A bench has no screen; its pictures are what a dashboard would have shown at its end.
fn reported(folder: &Path, session: Session, verdicts: &[Verdict]) -> Result<Session, Failure> {
    let mut model = render::pictured();
    model.setup.mode = Mode::Live;
    model.session = session;
    write_report(folder, &mut model, verdicts)?;
    Ok(model.session)
}

/// Of all workloads, those that this machine cannot run are left out with a line; one that was named would be an error.
fn leave_out(members: &mut Vec<Settings>, opened: &Opened, sink: &Sink) {
    let cannot = |settings: &Settings| -> Option<String> {
        let workload = opened.live.library.find(&settings.workload).ok()?;
        if let Err(reasons) = plan(workload, settings, &opened.header.caps) {
            return Some(reasons.join("; "));
        }
        let allowed = opened.live.allow_oversubscription;
        let free = opened.free.as_ref()?;
        check_footprint(settings.size, settings.memory, free, allowed).err().map(|error| error.to_string())
    };
    members.retain(|settings| match cannot(settings) {
        None => true,
        Some(why) => {
            warn(sink, "workload", format!("{} was left out: {why}", settings.workload));
            false
        }
    });
}

fn predicted(library: &Library) -> Vec<Predicted> {
    let of = |w: &Workload| Predicted { workload: w.name.clone(), size: w.memory.size, expect: w.expect.clone() };
    library.iter().map(of).collect()
}

/// The first Ctrl-C or the like ends the batch after the present step; what was measured until then is printed. The second
/// ends the process at once: a call into the driver may hang. Gives the signal's number; 0 while there is none.
fn stop_on_signals(control: Sender<Control>) -> Result<Arc<AtomicI32>, Failure> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::failed(format!("cannot watch for signals: {e}")))?;
    let signal = Arc::new(AtomicI32::new(0));
    let seen = Arc::clone(&signal);
    std::thread::Builder::new()
        .name("umtop-signals".to_owned())
        .spawn(move || {
            for number in signals.forever() {
                if seen.swap(number, Ordering::Relaxed) != 0 {
                    signal_hook::low_level::exit(i32::from(ended_by(number)));
                }
                // Nobody to stop: the batch is over.
                let _ = control.try_send(Control::Stop);
            }
        })
        .map(|_| signal)
        .map_err(|e| Failure::failed(format!("cannot start the signal thread: {e}")))
}
