//! Exports hold what the session holds, to the byte.
#![allow(clippy::unwrap_used, clippy::panic)]

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use umtop::event::{Cause, Proc};
use umtop::recording::Reader;
use umtop::session::Session;

const RECORDING: &str = "assets/recordings/prefetch-switched-on.umr";

fn umtop(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    command.args(args).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn exported(format: &str) -> String {
    let args = ["export", RECORDING, "--format", format, "-o", "-"];
    String::from_utf8(umtop(&args).assert().success().get_output().stdout.clone()).unwrap()
}

fn session() -> Session {
    let mut reader = Reader::open(Path::new(RECORDING)).unwrap();
    let mut session = Session::default();
    while let Some(event) = reader.next_event().unwrap() {
        session.apply(&event);
    }
    session
}

fn proc(proc: Proc) -> String {
    match proc {
        Proc::Cpu => "cpu".to_owned(),
        Proc::Gpu(n) => format!("gpu{n}"),
    }
}

/// Bytes by `src to dst, cause`, as the session has them.
fn migrated(session: &Session) -> BTreeMap<String, u64> {
    let name = |cause: Cause| serde_json::to_value(cause).unwrap().as_str().unwrap().to_owned();
    let sums = session.uvm.migrated.iter();
    sums.map(|((a, b, c), (bytes, _))| (format!("{} to {}, {}", proc(*a), proc(*b), name(*c)), *bytes)).collect()
}

#[test]
fn the_csv_sums_to_the_session() {
    let text = exported("csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().next(), Some("time_s"));
    let (mut sums, mut moved) = (BTreeMap::new(), BTreeMap::new());
    for record in reader.records() {
        let record = record.unwrap();
        let (metric, value, unit, source, labels) = (&record[1], &record[2], &record[3], &record[4], &record[6]);
        assert!(!source.is_empty() && record[0].parse::<f64>().is_ok());
        if metric.starts_with("uvm_") {
            let value: u64 = value.parse().unwrap();
            *sums.entry(metric.to_owned()).or_insert(0) += value;
            if metric == "uvm_migrated_bytes" {
                assert_eq!(unit, "bytes");
                let part = |i: usize| labels.split(';').nth(i).unwrap().split_once('=').unwrap().1.to_owned();
                *moved.entry(format!("{} to {}, {}", part(0), part(1), part(2))).or_insert(0) += value;
            }
        }
    }
    let session = session();
    assert!(session.uvm.counters.bytes_htod > 1 << 30);
    assert_eq!(sums["uvm_htod_bytes"], session.uvm.counters.bytes_htod);
    assert_eq!(sums["uvm_dtoh_bytes"], session.uvm.counters.bytes_dtoh);
    assert_eq!(sums["uvm_gpu_faults"], session.uvm.counters.gpu_faults);
    assert_eq!(sums["uvm_gpu_faults_raw"], session.uvm.gpu_faults_raw);
    assert_eq!(sums["uvm_fault_batches"], session.uvm.batches);
    assert_eq!(moved, migrated(&session));
}

#[test]
fn json_lines_are_the_rows_of_the_csv() {
    let (csv, json) = (exported("csv"), exported("json"));
    let mut records = csv::Reader::from_reader(csv.as_bytes());
    let mut lines = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for record in records.records() {
        let (record, row) = (record.unwrap(), lines.next().unwrap());
        assert_eq!(row["metric"], record[1]);
        let value = &row["value"];
        assert_eq!(value.is_null(), record[2].is_empty());
        assert!(value.is_null() || value.as_f64() == record[2].parse().ok());
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn the_trace_sums_to_the_session_and_follows_the_format() {
    let trace: Value = serde_json::from_str(&exported("perfetto")).unwrap();
    assert_eq!(trace["otherData"]["origin"], "measured");
    let events = trace["traceEvents"].as_array().unwrap();
    let mut tracks = BTreeMap::new();
    for event in events {
        // The phases of the format that are used, each with what it must have.
        let has = |fields: &[&str]| fields.iter().all(|field| !event[field].is_null());
        let whole = match event["ph"].as_str().unwrap() {
            "M" => has(&["pid", "name", "args"]),
            "X" => has(&["pid", "tid", "name", "ts", "dur", "args"]) && event["dur"].as_f64().unwrap() >= 0.0,
            "C" => has(&["pid", "name", "ts"]) && event["args"]["value"].is_number(),
            "b" | "e" => has(&["pid", "cat", "id", "name", "ts", "args"]),
            "i" => has(&["pid", "tid", "name", "ts", "s"]),
            other => panic!("{other}"),
        };
        assert!(whole, "{event}");
        if event["name"] == "thread_name" {
            tracks.insert(event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap().to_owned());
        }
    }
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut slices: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let track = tracks[&event["tid"].as_u64().unwrap()].as_str();
        *sums.entry(track).or_default() += event["args"]["bytes"].as_u64().unwrap_or(0);
        *slices.entry(track).or_default() += 1;
    }
    let session = session();
    assert_eq!(sums["moved HtoD (counter page)"], session.uvm.counters.bytes_htod);
    assert_eq!(sums["moved DtoH (counter page)"], session.uvm.counters.bytes_dtoh);
    for (way, bytes) in migrated(&session) {
        assert_eq!(sums[format!("copies {way}").as_str()], bytes, "{way}");
    }
    let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!((count("b"), count("e")), (session.runs.runs.len(), session.runs.runs.len()));
    assert_eq!(slices["passes"], session.runs.runs.iter().map(|run| run.passes.len()).sum::<usize>());
    let counters = events.iter().filter(|e| e["ph"] == "C" && e["name"] == "pcie_htod_bytes_per_second").count();
    assert!(counters > 50, "{counters}");
}

#[test]
fn slices_of_a_track_never_overlap_in_part() {
    let trace: Value = serde_json::from_str(&exported("perfetto")).unwrap();
    let mut by_track: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let (ts, dur) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        by_track.entry(event["tid"].as_u64().unwrap()).or_default().push((ts, ts + dur));
    }
    for (track, mut slices) in by_track {
        slices.sort_by(|a, b| a.partial_cmp(b).unwrap());
        // A nanosecond for the rounding of two sums in microseconds.
        assert!(slices.windows(2).all(|w| w[0].1 <= w[1].0 + 0.002), "track {track}");
    }
}

#[test]
fn the_ending_chooses_the_format_and_files_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (name, begins) in [("a.csv", "time_s,"), ("a.jsonl", "{\""), ("a.json", "{\"displayTimeUnit\"")] {
        umtop(&["export", RECORDING, "-o", &out(name)]).assert().success();
        assert!(std::fs::read_to_string(out(name)).unwrap().starts_with(begins), "{name}");
    }
    umtop(&["export", RECORDING, "-o", &out("a.csv")]).assert().code(2).stderr(contains("exists"));
    umtop(&["export", RECORDING, "-o", &out("a.xml")]).assert().code(2).stderr(contains("csv, json or perfetto"));
}

#[test]
fn a_bench_as_csv_has_a_row_a_pass_and_as_markdown_a_table() {
    let bench = ["bench", "--device", "sim", "sequential", "--size", "8MiB", "--prefetch=both", "--runs", "3"];
    let run = |format: &str| {
        let all = [&bench[..], &["--warmups", "1", "--format", format]].concat();
        String::from_utf8(umtop(&all).assert().success().get_output().stdout.clone()).unwrap()
    };
    let text = run("csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 * 4);
    assert_eq!(rows.iter().filter(|row| &row[column("warmup")] == "true").count(), 2);
    assert!(rows.iter().all(|row| row[column("bytes_htod")] == (8u64 << 20).to_string()));
    assert!(rows.iter().all(|row| row[column("wrong")].is_empty()), "the simulator checks nothing: that is not 0");

    let text = run("markdown");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let cells = |line: &str| line.matches(" | ").count();
    assert!(text.starts_with("**SIMULATED (h200)") && table.len() == 4);
    assert!(table.iter().all(|line| cells(line) == cells(table[0])), "{text}");
}

#[test]
fn a_report_is_a_folder_with_pictures_that_exist() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("report");
    let folder = folder.to_str().unwrap();
    let bench = ["bench", "--device", "sim", "sequential", "--size", "8MiB", "--runs", "2", "--report", folder];
    umtop(&bench).assert().success();
    let text = std::fs::read_to_string(format!("{folder}/report.md")).unwrap();
    assert!(text.contains("SIMULATED") && text.contains("| sequential 8 MiB"), "{text}");
    let files: Vec<&str> = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(!files.is_empty());
    for file in files {
        assert!(std::fs::metadata(format!("{folder}/{file}")).unwrap().len() > 1_000, "{file}");
    }
    umtop(&bench).assert().code(2).stderr(contains("not empty"));
}
