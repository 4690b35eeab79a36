//! `umtop watch` from outside, on machines without a GPU: what is waited for, what is said, and that a command's exit code
//! and output come through.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/terminal.rs"]
mod terminal;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use terminal::Terminal;

fn umtop(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    command.arg("watch").args(args);
    command
}

fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| text.trim_end().lines().count() == 1 && text.starts_with("umtop: "))
}

fn watch_in(terminal_size: (u16, u16), args: &str) -> Terminal {
    let program = assert_cmd::cargo::cargo_bin("umtop");
    Terminal::run(&format!("{} watch {args}", program.display()), terminal_size.0, terminal_size.1)
}

#[test]
fn a_command_without_cuda_is_waited_for_shown_and_its_exit_code_is_ours() {
    let script = "echo it works; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let mut terminal = watch_in((120, 36), &format!("--output out -- sh -c '{script}'"));
    for text in
        ["WATCHING", "no CUDA context", "it works", "waiting for a CUDA context", "sh -c echo it works", "q quit"]
    {
        terminal.expect(text);
    }
    std::fs::write(terminal.dir.path().join("go"), "").unwrap();
    terminal.expect("ended with code 7");
    assert_eq!(std::fs::read_to_string(terminal.dir.path().join("out")).unwrap(), "it works\n");
    terminal.press("q");
    assert_eq!(terminal.restored(), 7);
}

#[test]
fn a_command_outlives_the_dashboard_and_its_output_is_kept() {
    let script = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done; touch ended";
    let mut terminal = watch_in((100, 30), &format!("--output out -- sh -c '{script}'"));
    terminal.expect("begun");
    terminal.press("q");
    terminal.expect("goes on; its output is in out");
    let dir = terminal.dir.path().to_owned();
    std::fs::write(dir.join("go"), "").unwrap();
    terminal.until("the command's own end", || dir.join("ended").exists());
    assert_eq!(std::fs::read_to_string(dir.join("out")).unwrap(), "begun\ndone\n");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_running_process_is_waited_for_by_its_number_and_its_end_is_told() {
    let program = assert_cmd::cargo::cargo_bin("umtop");
    let command = format!("sleep 1000 >/dev/null & echo $! >pid; {} watch $!", program.display());
    let mut terminal = Terminal::run(&command, 120, 36);
    terminal.expect("sleep 1000");
    terminal.expect("waiting for a CUDA context");
    kill(&terminal.dir.path().join("pid"));
    terminal.expect("The program has ended");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

/// Ends the process whose number is in the file.
fn kill(file: &Path) {
    let pid = std::fs::read_to_string(file).unwrap();
    assert!(std::process::Command::new("kill").arg(pid.trim()).status().unwrap().success());
}

#[test]
fn the_trace_level_can_be_changed_and_is_shown() {
    let mut terminal = watch_in((120, 36), "--output out -- sh -c 'sleep 1000 & echo $! >pid; wait'");
    terminal.expect("trace counters");
    terminal.expect("no CUDA context");
    terminal.press("t");
    terminal.expect(if Path::new("/dev/nvidia-uvm-tools").exists() {
        "trace faults"
    } else {
        "trace: /dev/nvidia-uvm-tools"
    });
    terminal.press("q");
    let pid = terminal.dir.path().join("pid");
    terminal.until("the number of its child", || pid.exists());
    kill(&pid);
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_signal_ends_the_command_too_and_restores_the_terminal() {
    let terminal = watch_in(
        (120, 36),
        "--output out -- sh -c 'trap \"echo got it; exit 3\" TERM; echo set; while :; do sleep 0.05; done'",
    );
    terminal.expect("set");
    terminal.signal("TERM");
    let out = terminal.dir.path().join("out");
    terminal.until("the command's answer", || std::fs::read_to_string(&out).unwrap().contains("got it"));
    assert_eq!(terminal.restored(), 143);
}

#[test]
fn a_recording_of_a_watch_can_be_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("w.umr");
    let out = dir.path().join("out");
    umtop(&[
        "--format",
        "table",
        "--record",
        recording.to_str().unwrap(),
        "--output",
        out.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "echo kept; sleep 0.3; exit 4",
    ])
    .assert()
    .code(4);
    let program = assert_cmd::cargo::cargo_bin("umtop");
    let mut terminal = Terminal::run(&format!("{} replay {}", program.display(), recording.display()), 120, 36);
    for text in ["REPLAY", "kept", "ended with code 4"] {
        terminal.expect(text);
    }
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn without_a_terminal_the_totals_are_absent_and_the_exit_code_is_the_commands() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let output =
        umtop(&["--format", "json", "--output", out.to_str().unwrap(), "--", "sh", "-c", "echo hello; exit 9"])
            .assert()
            .code(9)
            .stderr(contains("the command's output is in"))
            .get_output()
            .stdout
            .clone();
    let json: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(json["schema"], "umtop-watch/1");
    assert_eq!((json["exit_code"].as_u64(), json["attached"].as_bool()), (Some(9), Some(false)));
    assert_eq!(json["process"]["command"], "sh -c echo hello; exit 9");
    for key in ["bytes_htod", "gpu_faults", "cpu_faults", "lost", "by_cause", "cpu_sites"] {
        assert!(json[key].is_null(), "{key}: what was not watched is not 0");
    }
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "hello\n");
}

#[test]
fn a_command_goes_on_when_the_time_is_up_and_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    umtop(&["--for", "100ms", "--output", out.to_str().unwrap(), "--", "sh", "-c", "sleep 0.6; echo late; exit 5"])
        .assert()
        .code(5)
        .stdout(contains("never attached").and(contains("n/a")))
        .stderr(contains("not watched any more"));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "late\n");
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    umtop(&["4194305"]).assert().code(2);
    umtop(&["0"]).assert().code(2);
    umtop(&["4194300"]).assert().code(1).stderr(one_line().and(contains("no process 4194300")));
    umtop(&["--", "/nonexistent/program"]).assert().code(4).stderr(one_line().and(contains("--for TIME")));
    umtop(&["--format", "json", "--", "/nonexistent/program"])
        .assert()
        .code(1)
        .stderr(one_line().and(contains("cannot start /nonexistent/program")));
    umtop(&["--for", "1s"]).assert().code(2).stderr(one_line().and(contains("umtop watch PID")));
    umtop(&["1", "--", "true"]).assert().code(2);
    umtop(&["1", "--output", "x"]).assert().code(2).stderr(one_line().and(contains("-- COMMAND")));
    umtop(&["--for", "soon", "1"]).assert().code(2);
}

#[test]
fn the_list_is_there_for_people_and_for_programs() {
    umtop(&[]).assert().success().stdout(contains("PID").or(contains("no process")));
    let output = umtop(&["--format", "json"]).assert().success().get_output().stdout.clone();
    let json: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(json["schema"], "umtop-watch-list/1");
    assert!(json["processes"].is_array() && json["hidden"].is_u64());
}
