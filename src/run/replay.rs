//! `umtop replay --format`: a recording without a terminal. The same line of data as in the dashboard, with totals at its end.

use super::dashboard::QUEUE;
use super::{Failure, print};
use crate::cli::{ReplayArgs, WatchFormat};
use crate::clock::Clock;
use crate::event::TraceLevel;
use crate::recording::Stored;
use crate::report;
use crate::session::Session;
use crate::source::{Pace, Replay, Sink};
use crossbeam_channel::unbounded;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Folds the recording, at the speed asked for or as fast as it goes, and prints what bench or watch would have printed. How
/// fast that was goes to standard error.
pub(super) fn totals(args: &ReplayArgs, format: WatchFormat) -> Result<ExitCode, Failure> {
    let replay = Replay::open(&Stored::file(&args.file)).map_err(Failure::failed)?;
    let clock = Clock::start();
    let (sink, events) = Sink::new(QUEUE);
    // Held to the end: without anybody to control it, a replay stops.
    let (_control, wishes) = unbounded();
    let pace = args.speed.map_or_else(|| Pace::unpaced(wishes.clone()), |speed| Pace::at_speed(speed, wishes.clone()));
    let worker = std::thread::Builder::new()
        .name("umtop-worker".to_owned())
        .spawn(move || replay.run(&sink, pace))
        .map_err(|e| Failure::failed(format!("cannot start the worker thread: {e}")))?;
    let mut session = Session::default();
    let (mut count, mut first) = (0u64, None);
    for event in events {
        first.get_or_insert(event.at);
        session.apply(&event);
        count += 1;
    }
    if worker.join().is_err() {
        return Err(Failure::failed("the worker thread panicked: its message is above"));
    }
    let (took, spans) = (clock.now().seconds(), session.now.since(first.unwrap_or_default()).seconds());
    print(&text(&session, &args.file, format))?;
    let rate = count as f64 / took;
    eprintln!("umtop: {count} events that span {spans:.3} s in {took:.3} s: {rate:.0} events/s");
    Ok(match session.notices.iter().any(|(_, notice)| notice.source == "recording") {
        true => ExitCode::from(crate::cli::EXIT_FAILED),
        false => ExitCode::SUCCESS,
    })
}

fn text(session: &Session, file: &Path, format: WatchFormat) -> String {
    // A watched program has no passes of ours.
    let watched = session.watch.subject.is_some();
    let level = session.watch.level.map_or(TraceLevel::Counters, |(_, level)| level);
    match format {
        WatchFormat::Table if watched => {
            format!("REPLAY of {}\n{}", file.display(), report::watch_table(session, level))
        }
        WatchFormat::Table => format!("REPLAY of {}\n{}", file.display(), report::table(session, &[])),
        WatchFormat::Json => {
            let mut object: Value =
                if watched { report::watch_json(session, level) } else { report::json(session, &[]) };
            object["replay"] = json!(file.display().to_string());
            object["totals"] = report::totals(session);
            format!("{object:#}\n")
        }
    }
}
