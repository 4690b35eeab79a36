//! A recording folds to the session that was live.
#![allow(clippy::unwrap_used)]

use crossbeam_channel::unbounded;
use std::path::Path;
use umtop::event::{Advice, Event, MemoryKind, Settings, Shape, TraceLevel};
use umtop::recording::Stored;
use umtop::session::Session;
use umtop::source::{Batch, Pace, Replay, Sink, Work};
use umtop::units::Bytes;
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
    assert!(live.uvm.counters.bytes_htod > 0 && !live.metrics.is_empty());
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
        assert!(session.runs.current().is_some_and(|r| !r.passes.is_empty()), "{name}");
        assert_eq!(session.uvm.lost_total(), 0, "{name}");
        assert!(session.notices.iter().all(|(_, n)| n.source != "recording"), "{name}: {:?}", session.notices);
    }
}
