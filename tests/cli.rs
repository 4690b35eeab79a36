//! The program from outside, without a terminal and without a GPU.
#![allow(clippy::unwrap_used, clippy::panic)]

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// The program on the simulator's side of the world: no GPU is looked for unless a test says so.
fn umtop(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    // No workload files of whoever runs the tests.
    command.args(args).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| text.trim_end().lines().count() == 1 && text.starts_with("umtop: "))
}

#[test]
fn without_a_terminal_the_dashboard_says_what_to_use_instead() {
    umtop(&["--device", "sim"]).assert().code(4).stderr(one_line().and(contains("umtop bench")));
}

#[test]
fn bad_usage_is_told_in_words_with_code_2() {
    for (args, says) in [
        (&["--size", "0"][..], "above zero"),
        (&["--size=-1GiB"], "above zero"),
        (&["--size", "plenty"], "not a size"),
        (&["--trace", "loud"], "off, counters, faults, full"),
        (&["--device", "quantum"], "auto, cuda, sim"),
        (&["bench", "--device", "sim:abacus"], "h200"),
        (&["bench", "--device", "sim", "bogosort"], "sequential, random, ping-pong"),
        (&["bench", "--gpu", "the-red-one"], "names no GPU"),
        (&["bench", "--runs", "0"], "runs"),
        (&["bench", "--runs", "5000"], "3000"),
        (&["frobnicate"], "frobnicate"),
    ] {
        umtop(args).assert().code(2).stderr(contains(says));
    }
}

#[test]
fn a_footprint_that_does_not_fit_is_refused_before_anything_happens() {
    let args = ["bench", "--device", "sim", "sequential", "--size", "900GiB", "--runs", "1"];
    umtop(&args).assert().code(1).stdout(contains("choose a smaller --size"));
}

#[test]
fn asking_for_the_gpu_where_there_is_none_is_one_line_with_code_3() {
    // Where a GPU is, this runs on it instead.
    let survey = umtop::device::cuda::survey();
    if survey.gpus.is_empty() {
        umtop(&["bench", "--device", "cuda"]).assert().code(3).stderr(one_line());
        umtop(&["bench", "--gpu", "0"]).assert().code(3).stderr(one_line());
    } else {
        umtop(&["bench", "--device", "cuda", "--gpu", "99"])
            .assert()
            .code(3)
            .stderr(one_line().and(contains("not here")));
    }
}

fn bench(args: &[&str]) -> Value {
    let all = [&["bench", "--device", "sim", "--format", "json"], args].concat();
    let output = umtop(&all).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn bench_json_accounts_for_every_byte_of_a_managed_sweep() {
    let report =
        bench(&["sequential", "--size", "64MiB", "--prefetch=both", "--trace", "counters,full", "--runs", "6"]);
    assert_eq!((&report["schema"], &report["origin"]), (&"umtop-bench/1".into(), &"simulated".into()));
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert_eq!(result["times_ns"].as_array().unwrap().len(), 6);
        assert_eq!(result["bytes_htod"], 64 << 20);
        assert_eq!(result["bytes_dtoh"], 64 << 20);
        assert_eq!(result["accounted"], serde_json::json!({"htod": 1.0, "dtoh": 1.0}));
        assert!(result["interval_ns"][0].as_f64() <= result["median_ns"].as_f64());
        assert!(result["checked"].is_null(), "the simulator holds no data that it could check");
        let full = result["variant"]["trace"] == "full";
        assert_eq!(result["lost"].is_null(), !full, "lost is known only where the queue is read");
        assert_eq!(result["batches"].is_null(), !full);
        let faults = result["gpu_faults"].as_u64().unwrap();
        assert_eq!(faults == 0, result["variant"]["prefetch"] == true, "prefetch leaves no fault");
    }
}

#[test]
fn bench_without_tracing_has_nulls_not_zeros() {
    let report = bench(&["sequential", "--size", "16MiB", "--trace", "off", "--runs", "2"]);
    let result = &report["results"][0];
    for field in ["bytes_htod", "gpu_faults", "gpu_faults_raw", "cpu_faults", "batches", "lost", "interval_ns"] {
        assert!(result[field].is_null(), "{field}");
    }
    assert!(result["median_ns"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_simulator_is_deterministic() {
    let run = || bench(&["random", "ping-pong", "--runs", "3"])["results"].clone();
    assert_eq!(run(), run());
}

#[test]
fn the_table_names_the_origin_and_every_member() {
    umtop(&[
        "bench",
        "--device",
        "sim",
        "sequential",
        "--size",
        "16MiB",
        "--memory",
        "managed,explicit",
        "--runs",
        "5",
    ])
    .assert()
    .success()
    .stdout(contains("SIMULATED (").and(contains("16 MiB managed")).and(contains("16 MiB explicit")));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let line = format!("{} workloads | true; echo ${{PIPESTATUS[0]}}", umtop.display());
    Command::new("bash").args(["-c", &line]).assert().success().stdout("0\n").stderr("");
}

#[test]
fn workloads_are_listed_and_checked() {
    umtop(&["workloads"]).assert().success().stdout(contains("ping-pong").and(contains("asks")));
    let listed = umtop(&["workloads", "--json"]).assert().success().get_output().stdout.clone();
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    let files = std::fs::read_dir("workloads").unwrap().count();
    assert_eq!(listed["workloads"].as_array().unwrap().len(), files);
    umtop(&["workloads", "check", "workloads/random.toml"]).assert().success().stdout(contains("ok, random"));
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.toml");
    std::fs::write(&bad, "name = \"x\"\ncolour = 3\n").unwrap();
    umtop(&["workloads", "check", bad.to_str().unwrap()])
        .assert()
        .code(1)
        .stderr(contains("bad.toml").and(contains("line 2")).and(contains("colour")));
}

#[test]
fn doctor_gives_findings_and_a_code_that_fits_them() {
    let output = umtop(&["doctor", "--json"]).output().unwrap();
    let code = output.status.code().unwrap();
    assert!((0..=2).contains(&code), "{code}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let survey = umtop::device::cuda::survey();
    if survey.gpus.is_empty() {
        assert_eq!(code, 2);
        umtop(&["doctor"]).assert().code(2).stdout(contains("libcuda"));
    }
}

#[test]
fn replay_of_what_is_no_recording_is_one_line() {
    umtop(&["replay", "Cargo.toml"]).assert().code(1).stderr(one_line().and(contains("not a umtop recording")));
    umtop(&["replay", "nowhere.umr"]).assert().code(1).stderr(one_line().and(contains("cannot read")));
}

#[test]
fn a_recording_without_a_header_is_one_line_and_not_an_empty_screen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty.umr");
    umtop::recording::Writer::create(&path).unwrap().finish().unwrap();
    umtop(&["replay", path.to_str().unwrap()])
        .assert()
        .code(1)
        .stderr(one_line().and(contains("not a umtop recording")));
}

/// A bench by a shell, in a folder of its own; the shell's lines around it are given.
fn bench_by_shell(before: &str, args: &str, after: &str) -> assert_cmd::assert::Assert {
    let dir = tempfile::tempdir().unwrap();
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let line = format!("{before} {} bench --device sim sequential --record a.umr {args} {after}", umtop.display());
    Command::new("bash").args(["-c", &line]).current_dir(dir.path()).assert()
}

#[test]
fn a_recording_that_fails_does_not_cost_the_figures() {
    // A file size limit of 1 KiB stands in for a full disk.
    bench_by_shell("trap '' XFSZ; ulimit -f 1;", "--size 16MiB --runs 5", "")
        .code(1)
        .stdout(contains("16 MiB managed"))
        .stderr(one_line().and(contains("cannot write a.umr")));
    bench_by_shell("trap '' XFSZ; ulimit -f 1;", "--size 64MiB --runs 100", "")
        .code(1)
        .stdout(contains("64 MiB managed").and(contains("recording stopped: cannot write a.umr")));
}

#[test]
fn a_signal_ends_a_bench_with_its_number_and_what_was_measured() {
    let after = "& until [ -s a.umr ]; do sleep 0.05; done; kill -TERM $!; wait $!";
    bench_by_shell("", "--size 64MiB --runs 3000", after).code(128 + 15).stdout(contains("64 MiB managed"));
}

#[test]
fn a_recording_is_not_overwritten() {
    let args = ["bench", "--device", "sim", "sequential", "--record", "Cargo.toml"];
    umtop(&args).assert().code(1).stderr(one_line().and(contains("exists")));
}

#[test]
fn own_workload_files_are_found_in_the_folder_and_by_path() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("umtop/workloads");
    std::fs::create_dir_all(&folder).unwrap();
    let strided = std::fs::read_to_string("workloads/strided.toml").unwrap();
    let mine = strided.replace("name = \"strided\"", "name = \"mine\"");
    std::fs::write(folder.join("mine.toml"), &mine).unwrap();
    std::fs::write(folder.join("broken.toml"), "name = 1").unwrap();
    std::fs::write(folder.join("taken.toml"), &strided).unwrap();
    let left_out = contains("left out").and(contains("broken.toml")).and(contains("taken.toml"));
    let args = ["bench", "--device", "sim", "mine", "--size", "16MiB", "--runs", "1"];
    umtop(&args).env("XDG_CONFIG_HOME", dir.path()).assert().success().stdout(contains("mine 16 MiB")).stderr(left_out);
    let path = folder.join("mine.toml").display().to_string();
    let args = ["bench", "--device", "sim", &path, "--size", "16MiB", "--runs", "1"];
    umtop(&args).assert().success().stdout(contains("mine 16 MiB")).stderr("");
    umtop(&args[..3])
        .args(["nowhere.toml"])
        .assert()
        .code(2)
        .stderr(one_line().and(contains("cannot read nowhere.toml")));
}

#[test]
fn the_demos_are_listed_and_an_unknown_one_is_bad_usage() {
    umtop(&["demo"]).assert().success().stdout(contains("prefetch-switched-on").and(contains("NVIDIA H200")));
    umtop(&["demo", "nothing"]).assert().code(2).stderr(one_line().and(contains("ping-pong")));
}

#[test]
fn metrics_that_cannot_be_served_are_told_before_anything_runs() {
    let bench = |address: &str| {
        umtop(&["bench", "--device", "sim", "sequential", "--size", "4MiB", "--runs", "1", "--metrics", address])
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bench(&address).assert().code(1).stderr(one_line().and(contains(address.as_str())));
    bench("0").assert().success();
    bench("nowhere").assert().code(2).stderr(contains("0.0.0.0:9400"));
}
