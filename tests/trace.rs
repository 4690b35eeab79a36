//! The trace of every recording follows the published Trace Event Format, and its slices sum to the session.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use umtop::recording::Reader;
use umtop::session::Session;

fn recordings() -> Vec<PathBuf> {
    let files: Vec<_> = std::fs::read_dir("assets/recordings").unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 6);
    files
}

fn trace(path: &Path) -> Vec<Value> {
    let mut out = Vec::new();
    umtop::export::trace(&mut Reader::open(path).unwrap(), &mut out).unwrap();
    let mut whole: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(whole["displayTimeUnit"], "ms");
    let Value::Array(events) = whole["traceEvents"].take() else { panic!("{}", path.display()) };
    events
}

/// A field that the format gives this type.
fn is(event: &Value, field: &str) -> bool {
    let value = &event[field];
    match field {
        "ts" | "dur" => value.as_f64().is_some_and(|micros| micros >= 0.0),
        "pid" | "tid" => value.is_u64(),
        "id" => value.is_u64() || value.is_string(),
        "args" => value.is_object(),
        _ => value.is_string(),
    }
}

#[test]
fn every_event_has_what_its_phase_needs() {
    for path in recordings() {
        let events = trace(&path);
        for event in &events {
            // The sections "Complete", "Counter", "Async", "Instant" and "Metadata Events" of the format.
            let needs: &[&str] = match event["ph"].as_str().unwrap() {
                "X" => &["name", "cat", "pid", "tid", "ts", "dur"],
                "C" => &["name", "cat", "pid", "ts", "args"],
                "b" | "e" => &["name", "cat", "pid", "tid", "ts", "id"],
                "i" => &["name", "cat", "pid", "tid", "ts", "s"],
                "M" => &["name", "pid", "args"],
                other => panic!("{}: phase {other}", path.display()),
            };
            assert!(needs.iter().all(|field| is(event, field)), "{}: {event}", path.display());
            match event["ph"].as_str().unwrap() {
                "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number), "{event}"),
                "i" => assert!(["g", "p", "t"].contains(&event["s"].as_str().unwrap()), "{event}"),
                "M" => assert!(
                    ["process_name", "thread_name", "thread_sort_index"].contains(&event["name"].as_str().unwrap())
                ),
                _ => {}
            }
        }
        let named: Vec<u64> =
            events.iter().filter(|e| e["name"] == "thread_name").map(|e| e["tid"].as_u64().unwrap()).collect();
        let tracks = events.iter().filter(|e| e["ph"] == "X" || e["ph"] == "i").map(|e| e["tid"].as_u64().unwrap());
        tracks.for_each(|tid| assert!(named.contains(&tid), "{}: track {tid} has no name", path.display()));
    }
}

#[test]
fn times_go_on_along_every_track_and_every_counter() {
    for path in recordings() {
        let mut newest: BTreeMap<String, f64> = BTreeMap::new();
        let (mut slices, mut values) = (0, 0);
        for event in trace(&path) {
            let line = match event["ph"].as_str().unwrap() {
                "X" => format!("track {}", event["tid"]),
                "C" => format!("counter {}", event["name"]),
                _ => continue,
            };
            slices += usize::from(line.starts_with("track"));
            values += usize::from(line.starts_with("counter"));
            let at = event["ts"].as_f64().unwrap();
            let before = newest.insert(line.clone(), at).unwrap_or(0.0);
            assert!(before <= at, "{}: {line} goes from {before} back to {at} µs", path.display());
        }
        assert!(slices > 10 && values > 100, "{}: {slices} slices, {values} values", path.display());
    }
}

#[test]
fn what_begins_ends_once_and_later() {
    for path in recordings() {
        let mut open: BTreeMap<String, f64> = BTreeMap::new();
        let mut seen = 0;
        for event in trace(&path) {
            let (key, at) = (format!("{} {} {}", event["cat"], event["id"], event["name"]), event["ts"].as_f64());
            match event["ph"].as_str().unwrap() {
                "b" => assert_eq!(open.insert(key, at.unwrap()), None, "{}: begins twice", path.display()),
                "e" => {
                    let began = open.remove(&key).unwrap_or_else(|| panic!("{}: {key} never began", path.display()));
                    assert!(began <= at.unwrap(), "{}: {key}", path.display());
                    seen += 1;
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{}: {open:?}", path.display());
        let runs = session(&path).runs.runs.len();
        assert_eq!(seen, runs, "{}", path.display());
    }
}

fn session(path: &Path) -> Session {
    let mut reader = Reader::open(path).unwrap();
    let mut session = Session::default();
    while let Some(event) = reader.next_event().unwrap() {
        session.apply(&event);
    }
    session
}

#[test]
fn slices_sum_to_the_session_on_every_track() {
    for path in recordings() {
        let events = trace(&path);
        let named = events.iter().filter(|event| event["name"] == "thread_name");
        let names: BTreeMap<u64, &str> =
            named.map(|e| (e["tid"].as_u64().unwrap(), e["args"]["name"].as_str().unwrap())).collect();
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let bytes = event["args"]["bytes"].as_u64().unwrap_or(0);
            *sums.entry(names[&event["tid"].as_u64().unwrap()].to_owned()).or_default() += bytes;
        }
        sums.retain(|_, bytes| *bytes > 0);
        let uvm = session(&path).uvm.total;
        let mut ours: BTreeMap<String, u64> = BTreeMap::new();
        ours.insert("moved HtoD (counter page)".into(), uvm.counters.bytes_htod);
        ours.insert("moved DtoH (counter page)".into(), uvm.counters.bytes_dtoh);
        for ((src, dst, cause), (bytes, _)) in &uvm.migrated {
            ours.insert(format!("copies {} to {}, {}", src.name(), dst.name(), cause.name()), *bytes);
        }
        ours.retain(|_, bytes| *bytes > 0);
        assert_eq!(sums, ours, "{}", path.display());
    }
}
