//! A recording folds to the session that was live.
#![allow(clippy::unwrap_used, clippy::panic)]

use crossbeam_channel::unbounded;
use std::path::Path;
use umtop::event::{Advice, Body, Control, Event, MemoryKind, REPLAY, RunEvent, Seek, Settings, Shape, TraceLevel};
use umtop::recording::{Reader, Stored};
use umtop::session::Session;
use umtop::source::{Batch, Pace, Replay, Sink, Work};
use umtop::ui::{Model, Msg, update};
use umtop::units::{Bytes, Nanos, Stamp};
use umtop::workload::Library;

fn fold(events: impl IntoIterator<Item = Event>) -> Session {
    let mut session = Session::default();
    events.into_iter().for_each(|e| session.apply(&e));
    session
}

fn settings(workload: &str, size: Bytes, prefetch: bool) -> Settings {
    Settings {
        workload: workload.into(),
        memory: MemoryKind::Managed,
        prefetch,
        advice: Advice::None,
        size,
        trace: TraceLevel::Full,
        shape: Shape::default(),
    }
}

fn replayed(path: &Path) -> Session {
    let (sink, events) = Sink::new(1 << 20);
    let (_control, wishes) = unbounded();
    Replay::open(&Stored::file(path)).unwrap().run(&sink, Pace::unpaced(wishes));
    drop(sink);
    fold(events)
}

#[test]
fn a_replayed_session_equals_the_live_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("live.umr");
    let (sink, events) = Sink::new(1 << 20);
    sink.record(&path).unwrap();
    let simulation = umtop::sim::open("h200").unwrap();
    let (live, header) = umtop::run::simulated(simulation, "a test", Library::bundled().unwrap());
    let members = vec![
        settings("sequential", Bytes::mib(32), false),
        settings("sequential", Bytes::mib(32), true),
        settings("random", Bytes::mib(16), false),
        settings("ping-pong", Bytes::kib(4), false),
    ];
    let (_control, wishes) = unbounded();
    let work = Work::Batch(Batch { members, warmups: 1, passes: 3 });
    live.run(header, work, sink.clone(), Pace::unpaced(wishes));
    sink.stop_recording().unwrap();
    drop(sink);
    let live = fold(events);
    assert_eq!(live.runs.runs.len(), 4);
    assert!(live.uvm.total.counters.bytes_htod > 0 && !live.metrics.is_empty());
    assert!(replayed(&path) == live, "the replayed session differs from the live one");
}

#[test]
fn every_recording_in_assets_reads_to_its_end_and_lost_nothing() {
    let files: Vec<_> = std::fs::read_dir("assets/recordings").unwrap().map(|f| f.unwrap().path()).collect();
    assert!(files.len() >= 6, "each workload, prefetch off and on: {files:?}");
    for path in files {
        let session = replayed(&path);
        let name = path.display();
        assert!(session.header.is_some(), "{name}");
        // A watched program has no passes of ours.
        let watched = session.watch.subject.is_some();
        assert!(watched || session.runs.current().is_some_and(|r| !r.passes.is_empty()), "{name}");
        assert_eq!(session.uvm.total.lost_total(), 0, "{name}");
        assert!(session.notices.iter().all(|(_, n)| n.source != "recording"), "{name}: {:?}", session.notices);
    }
}

/// Events of a recording in the file's order.
fn read(path: &Path) -> Vec<Event> {
    let mut reader = Reader::open(path).unwrap();
    std::iter::from_fn(|| reader.next_event().unwrap()).collect()
}

/// How long a thread may take to answer: generous, for slow machines; nothing is measured.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

#[test]
fn going_back_stepping_and_jumping_send_what_the_file_has() {
    let path = Path::new("assets/recordings/prefetch-switched-on.umr");
    let all = read(path);
    let (sink, events) = Sink::new(1 << 20);
    let (control, wishes) = unbounded();
    let replay = Replay::open(&Stored::file(path)).unwrap();
    let player = std::thread::spawn(move || replay.browse(&sink, Pace::unpaced(wishes)));
    let next = || events.recv_timeout(PATIENCE).unwrap();
    let ended = |event: &Event| matches!(&event.body, Body::Notice(notice) if notice.source == REPLAY);
    let take = |n: usize| (0..n).map(|_| next()).collect::<Vec<Event>>();

    assert!(take(all.len()) == all && ended(&next()), "played through, then waiting");

    // Back by five seconds, in a pause: the header again, then everything up to there and not an event more.
    control.send(Control::Pause(true)).unwrap();
    control.send(Control::Seek(Seek::Back(Nanos::millis(5_000)))).unwrap();
    let last = all.iter().map(|event| event.at).max().unwrap();
    let to = Stamp(last.0 - 5_000_000_000);
    let landed = all.iter().skip(1).position(|event| event.at > to).unwrap() + 1;
    assert!(take(landed) == all[..landed] && landed < all.len() - 50);

    // A step ends with the driver's next window.
    control.send(Control::Seek(Seek::Step)).unwrap();
    let stepped = landed + all[landed..].iter().position(|event| matches!(event.body, Body::Uvm(_))).unwrap() + 1;
    assert!(take(stepped - landed) == all[landed..stepped]);

    // The next run is where prefetch was switched on.
    control.send(Control::Seek(Seek::NextRun)).unwrap();
    let started = |event: &Event| matches!(event.body, Body::Run(RunEvent::Started(_)));
    let run = stepped + all[stepped..].iter().position(started).unwrap() + 1;
    assert!(take(run - stepped) == all[stepped..run]);

    control.send(Control::Seek(Seek::End)).unwrap();
    assert!(take(all.len() - run) == all[run..] && ended(&next()));

    control.send(Control::Seek(Seek::Start)).unwrap();
    assert!(next() == all[0], "the header begins the session anew");
    control.send(Control::Stop).unwrap();
    player.join().unwrap();
}

#[test]
fn a_model_that_was_sent_back_equals_one_that_never_went_on() {
    let all = read(Path::new("assets/recordings/prefetch-switched-on.umr"));
    let fed = |model: &mut Model, events: &[Event]| {
        events.iter().for_each(|event| drop(update(model, Msg::Event(Box::new(event.clone())))));
    };
    let (mut once, mut back) = (umtop::render::pictured(), umtop::render::pictured());
    fed(&mut once, &all[..200]);
    fed(&mut back, &all);
    fed(&mut back, &all[..200]);
    assert!(once.session == back.session && once.digest == back.digest && !back.ended);
}

fn headless(args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = assert_cmd::Command::cargo_bin("umtop").unwrap();
    command.arg("replay").args(args).env("XDG_CONFIG_HOME", "/nonexistent").assert()
}

#[test]
fn without_a_terminal_a_replay_prints_the_sessions_totals() {
    for file in ["assets/recordings/sequential.umr", "assets/recordings/watch-cuda.umr"] {
        let done = headless(&[file, "--format", "json"]).success();
        let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
        let session = replayed(Path::new(file));
        let counters = session.uvm.total.counters;
        assert_eq!(report["replay"], file);
        assert_eq!(report["totals"]["bytes_htod"], counters.bytes_htod);
        assert_eq!(report["totals"]["bytes_dtoh"], counters.bytes_dtoh);
        let by_cause = report["totals"]["by_cause"].as_array().unwrap().iter();
        let bytes: u64 = by_cause.map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, session.uvm.total.migrated.values().map(|(bytes, _)| bytes).sum::<u64>());
        let told = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(told.contains(&format!("{} events", read(Path::new(file)).len())), "{told}");
    }
    let table = headless(&["assets/recordings/sequential.umr", "--format", "table"]).success();
    let text = String::from_utf8(table.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("REPLAY of assets/recordings/sequential.umr\nMeasured on NVIDIA H200"), "{text}");
    headless(&["Cargo.toml", "--format", "table"]).code(1);
}
