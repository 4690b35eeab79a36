//! `umtop watch` on a machine with a GPU, over umtop itself as the program that is watched: what it moves is known. Below 1 GiB
//! of managed memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SIZE: u64 = 64 << 20;

fn umtop() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("umtop"));
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn bench(runs: &str) -> Vec<String> {
    let line = "bench sequential --device cuda --size 64MiB --memory managed --prefetch=off --trace off --warmups 2 --format json";
    line.split(' ').chain(["--runs", runs]).map(str::to_owned).collect()
}

fn totals(args: &[&str]) -> (Value, i32) {
    let output = umtop().arg("watch").args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {output:?}"));
    (json, output.status.code().unwrap())
}

#[test]
#[ignore = "needs a GPU"]
fn totals_of_a_command_are_what_it_moves_at_every_level() {
    let dir = tempfile::tempdir().unwrap();
    let (program, bench) = (assert_cmd::cargo::cargo_bin("umtop"), bench("6"));
    for level in ["counters", "faults", "full"] {
        let out = dir.path().join(level);
        let mut args = vec!["--trace", level, "--format", "json", "--output", out.to_str().unwrap(), "--"];
        args.push(program.to_str().unwrap());
        args.extend(bench.iter().map(String::as_str));
        let (seen, code) = totals(&args);
        assert_eq!(code, 0, "{}", std::fs::read_to_string(&out).unwrap());
        // Eight passes, each of which faults all of it to the GPU and all of it back.
        assert_eq!(seen["bytes_htod"].as_u64(), Some(8 * SIZE), "{level}: {seen:#}");
        assert_eq!(seen["bytes_dtoh"].as_u64(), Some(8 * SIZE), "{level}: {seen:#}");
        if level != "counters" {
            assert_eq!(seen["lost"].as_u64(), Some(0), "{level}");
            let at_sites: u64 =
                seen["cpu_sites"].as_array().unwrap().iter().map(|s| s["faults"].as_u64().unwrap()).sum();
            let all = at_sites + seen["cpu_faults_elsewhere"].as_u64().unwrap();
            assert_eq!(Some(all), seen["cpu_faults"].as_u64(), "{level}: every CPU fault has a site: {seen:#}");
        }
    }
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).unwrap().count()
}

/// Waits until the process is one that may be watched, and some more until its context works.
fn until_it_has_a_context(pid: u32) -> bool {
    let listed = || {
        pause(Duration::from_millis(20));
        let (list, _) = totals(&["--format", "json"]);
        list["processes"].as_array().unwrap().iter().any(|row| row["pid"] == pid && row["may_watch"] == true)
    };
    let found = (0..500).any(|_| listed());
    pause(Duration::from_secs(2));
    found
}

fn pause(time: Duration) {
    #[expect(clippy::disallowed_methods, reason = "a test that polls another process")]
    std::thread::sleep(time);
}

#[test]
#[ignore = "needs a GPU"]
fn a_running_process_is_attached_to_and_left_as_it_was() {
    let mut child: Child = umtop().args(bench("3000")).stdout(Stdio::null()).spawn().unwrap();
    let found = until_it_has_a_context(child.id());
    if !found {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the bench never had a UVM file");
    }
    let (pid, before) = (child.id(), descriptors(child.id()));
    for _ in 0..5 {
        let (seen, code) = totals(&[&pid.to_string(), "--for", "2s", "--trace", "full", "--format", "json"]);
        assert_eq!((code, seen["attached"].as_bool()), (0, Some(true)), "{seen:#}");
        assert!(seen["bytes_htod"].as_u64().is_some_and(|bytes| bytes > 0), "{seen:#}");
        assert!(seen["missed_at_most_ns"].is_null(), "it ran before");
        assert!(seen["device"]["name"].is_string(), "which GPU it uses is known: {seen:#}");
        assert_eq!(descriptors(pid), before);
    }
    assert!(child.try_wait().unwrap().is_none(), "it runs on");
    child.kill().unwrap();
    child.wait().unwrap();
}
