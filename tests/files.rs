//! Files that are odd, in the way, or do not fit: one clear line, nothing half-written, nothing lost that was there.
#![allow(clippy::unwrap_used, clippy::panic)]

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use umtop::device::Device;
use umtop::event::TraceLevel;
use umtop::recording::Reader;
use umtop::workload::{Workload, plan};

const DEMO: &str = "assets/recordings/ping-pong.umr";

fn umtop(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    command.args(args).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// A line of a shell in a folder of its own, with `$U` as the program and `$R` as a recording.
fn shell(line: &str) -> (assert_cmd::assert::Assert, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", line]).current_dir(dir.path()).env("XDG_CONFIG_HOME", "/nonexistent");
    bash.env("U", assert_cmd::cargo::cargo_bin("umtop")).env("R", fs::canonicalize(DEMO).unwrap());
    (bash.assert(), dir)
}

fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| text.trim_end().lines().count() == 1 && text.starts_with("umtop: "))
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Commands that write, each with what stands for the file.
const WRITERS: [&str; 4] = [
    "$U export $R --format csv -o FILE",
    "$U export $R --format perfetto -o FILE",
    "$U render $R --format png -o FILE",
    "$U render $R --format svg --force -o FILE",
];

#[test]
fn a_limit_on_sizes_leaves_nothing_half_written() {
    for writer in WRITERS {
        let (ended, dir) = shell(&format!("ulimit -f 1; {}", writer.replace("FILE", "out")));
        ended.code(1).stderr(one_line().and(contains("cannot write out")));
        assert!(names(dir.path()).is_empty(), "{writer}: {:?}", names(dir.path()));
    }
    let (ended, dir) = shell("echo kept >out; ulimit -f 1; $U export $R --format csv --force -o out");
    ended.code(1).stderr(contains("cannot write out"));
    assert_eq!(fs::read_to_string(dir.path().join("out")).unwrap(), "kept\n", "what was there is still there");
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn a_full_disk_is_told() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for writer in WRITERS {
        let line = format!("{} --force", writer.replace("FILE", "/dev/full").replace(" --force", ""));
        shell(&line).0.code(1).stderr(one_line().and(contains("cannot write /dev/full")));
        assert!(Path::new("/dev/full").metadata().unwrap().len() == 0, "the device is still one");
    }
    for line in ["$U workloads >/dev/full", "$U bench --device sim sequential --size 4MiB --runs 1 >/dev/full"] {
        shell(line).0.code(1).stderr(one_line().and(contains("cannot write to standard output")));
    }
}

#[test]
fn what_is_in_the_way_is_not_touched() {
    for writer in WRITERS {
        let here = |setup: &str, file: &str| {
            let (ended, dir) = shell(&format!("{setup}; {}", writer.replace("FILE", file)));
            (ended.stderr(one_line().and(contains(file))).code(predicate::in_iter([1, 2])), dir)
        };
        here("mkdir out", "out");
        here("true", "nowhere/out");
        here("touch file", "file/out");
        here("ln -s loop loop", "loop");
        if !writer.contains("--force") {
            let (_, dir) = here("echo kept >real; ln -s real link", "link");
            assert_eq!(fs::read_to_string(dir.path().join("real")).unwrap(), "kept\n");
            let (_, dir) = here("ln -s missing link", "link");
            assert_eq!(names(dir.path()), ["link"], "nothing is made where a link points to");
        }
    }
    let (ended, dir) = shell("echo old >real; ln -s real link; $U render $R --format svg --force -o link");
    ended.success();
    assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink(), "the link is kept");
    assert!(fs::read_to_string(dir.path().join("real")).unwrap().starts_with("<svg"));
}

#[test]
fn recordings_are_never_written_over_and_what_was_recorded_stays_readable() {
    let bench = "$U bench --device sim sequential --size 4MiB --runs 1 --record";
    for (setup, file) in
        [("mkdir a.umr", "a.umr"), ("ln -s x a.umr", "a.umr"), ("true", "no/a.umr"), ("true", "/proc/a.umr")]
    {
        let (ended, _dir) = shell(&format!("{setup}; {bench} {file}"));
        ended.code(1).stderr(one_line().and(contains(file)));
    }
    // The limit is met in the middle: the frames before it are whole.
    let line = "ulimit -f 16; $U bench --device sim sequential --size 64MiB --trace full --runs 300 --record a.umr";
    let (ended, dir) = shell(line);
    ended.code(1).stdout(contains("64 MiB managed").and(contains("recording stopped: cannot write a.umr")));
    let mut reader = Reader::open(&dir.path().join("a.umr")).unwrap();
    let events = std::iter::from_fn(|| reader.next_event().unwrap()).count();
    assert!(events > 100 && reader.cut(), "{events}");
}

#[test]
fn a_report_that_cannot_be_written_is_told_after_the_figures() {
    let line = "ulimit -f 8; $U bench --device sim sequential --size 4MiB --runs 2 --report r";
    let (ended, dir) = shell(line);
    ended.code(1).stdout(contains("4 MiB managed")).stderr(one_line().and(contains("cannot write r/")));
    let left = names(&dir.path().join("r"));
    assert!(left.iter().all(|name| !name.ends_with(".part")), "{left:?}");
}

#[test]
fn nobody_who_reads_is_no_failure() {
    for args in [
        "workloads",
        "doctor",
        "demo",
        "export $R --format csv -o -",
        "bench --device sim sequential --size 4MiB --runs 1",
    ] {
        let (ended, _dir) = shell(&format!("set -o pipefail; $U {args} | true; exit 0"));
        ended.success().stderr(predicate::function(|err: &str| !err.contains("panicked")));
    }
    // Standard error is gone as well: a failure's code is what is left of it.
    let (ended, _dir) = shell("$U replay nowhere.umr 2>&1 | true; exit ${PIPESTATUS[0]}");
    ended.code(1);
    shell("$U replay nowhere.umr 2>&-").0.code(1);
    shell("$U workloads >&-").0.code(predicate::in_iter([0, 1]));
    shell("$U bench --device sim sequential --size 4MiB --runs 1 | head -1 >/dev/null; exit ${PIPESTATUS[0]}")
        .0
        .code(0);
}

#[test]
fn files_that_are_no_workloads_are_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let real = fs::read_to_string("workloads/random.toml").unwrap();
    let deep = format!("name = {}", "[".repeat(100_000));
    for (path, says) in [
        (file("empty.toml", b""), "name"),
        (file("binary.toml", &[0xFF, 0xFE, 0, 1]), "UTF-8"),
        (file("deep.toml", deep.as_bytes()), "deep.toml"),
        (file("nul.toml", b"name = \"a\0b\""), "nul.toml"),
        (file("huge-size.toml", real.replace("256MiB", "99999999999999999999GiB").as_bytes()), "huge-size.toml"),
        (
            file("huge-rounds.toml", real.replace("[pass]", "[pass]\nrounds = 99999999999").as_bytes()),
            "huge-rounds.toml",
        ),
        (file("negative.toml", real.replace("[pass]", "[pass]\nrounds = -1").as_bytes()), "negative.toml"),
        (file("not-a-number.toml", real.replace("0.000244140625", "nan").as_bytes()), "not-a-number.toml"),
        (file("infinite.toml", real.replace("0.000244140625", "inf").as_bytes()), "infinite.toml"),
        (file("twice.toml", format!("{real}\nname = \"random\"\n").as_bytes()), "twice.toml"),
        (dir.path().display().to_string(), "directory"),
        ("/nonexistent/x.toml".to_owned(), "No such file"),
    ] {
        umtop(&["workloads", "check", &path]).assert().code(1).stderr(contains(says).and(contains("panicked").not()));
    }
}

/// Ways to spoil a workload file that often leave it a TOML file.
fn spoilt() -> impl Strategy<Value = String> {
    let files: Vec<PathBuf> = {
        let mut files: Vec<PathBuf> = fs::read_dir("workloads").unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files
    };
    let values = prop::sample::select(vec![
        "0",
        "-1",
        "1",
        "nan",
        "inf",
        "-0.0",
        "1e308",
        "0.5",
        "true",
        "\"\"",
        "\"0B\"",
        "\"1B\"",
        "\"16EiB\"",
        "\"4KiB\"",
        "[]",
        "[0, 1]",
        "[1.0, 0.0]",
        "{}",
        "4294967295",
        "9223372036854775807",
        "\"gpu:1\"",
        "\"cpu\"",
        "\"random\"",
    ]);
    (prop::sample::select(files), prop::collection::vec((any::<prop::sample::Index>(), values, 0..4u8), 1..6)).prop_map(
        |(file, edits)| {
            let text = fs::read_to_string(file).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for (at, value, what) in edits {
                let i = at.index(lines.len());
                match what {
                    0 => drop(lines.remove(i)),
                    1 => lines.insert(i, lines[i].clone()),
                    _ => {
                        if let Some((key, _)) = lines[i].split_once('=') {
                            lines[i] = format!("{key}= {value}");
                        }
                    }
                }
                if lines.is_empty() {
                    break;
                }
            }
            lines.join("\n")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn a_spoilt_workload_is_refused_in_words_or_planned(text in spoilt()) {
        match Workload::parse("mine.toml", &text) {
            Err(error) => prop_assert!(error.to_string().starts_with("mine.toml: ")),
            Ok(workload) => {
                let machine = umtop::sim::open("pcie3-16gb").unwrap();
                for variant in workload.variants() {
                    let settings = workload.settings(variant, workload.memory.size, TraceLevel::Off);
                    match plan(&workload, &settings, machine.device.caps()) {
                        Err(reasons) => prop_assert!(reasons.iter().all(|reason| !reason.is_empty())),
                        Ok(plan) => {
                            let inside = |end: u64| end <= plan.elements();
                            let whole = plan.steps().take(10_000).all(|step| {
                                let end = step.part.first.checked_add(step.part.elements);
                                end.is_some_and(inside) && step.count > 0
                            });
                            prop_assert!(whole);
                        }
                    }
                }
            }
        }
    }
}
