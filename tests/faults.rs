//! Hardware that fails, by script: what umtop says, how it ends, and that it gives memory back on every path.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/terminal.rs"]
mod terminal;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use terminal::Terminal;

/// A bench on a device with faults, with the ledger on standard error.
fn bench(faults: &str, args: &str) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    command.args(["bench", "--device", "sim", "--fault", &format!("ledger,{faults}")]).args(args.split_whitespace());
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// What the ledger says: allocated, freed, lost in a recovery, held at the end.
fn ledger(err: &str) -> [u64; 4] {
    let line = err.lines().find(|line| line.starts_with("ledger: ")).unwrap_or_else(|| panic!("no ledger in {err:?}"));
    let numbers: Vec<u64> = line.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    numbers.try_into().unwrap()
}

/// Something was allocated, and nothing is held.
fn all_given_back() -> impl Predicate<str> {
    predicate::function(|err: &str| {
        let [allocated, freed, lost, held] = ledger(err);
        held == 0 && allocated == freed + lost
    })
}

/// Each fault, the bench it meets, and what must be said of it.
#[test]
fn every_fault_is_told_in_one_line_and_memory_is_given_back() {
    let small = "--size 4MiB --runs 3";
    for (faults, workloads, says) in [
        ("alloc@1=2", "sequential", &["CUDA_ERROR_OUT_OF_MEMORY (2)", "choose a smaller --size"][..]),
        // The second workload's: the first one's figures are there.
        ("alloc@2=2", "sequential random", &["sequential 4 MiB", "CUDA_ERROR_OUT_OF_MEMORY"]),
        // The second buffer of three.
        ("alloc@2=2", "vector-add", &["CUDA_ERROR_OUT_OF_MEMORY"]),
        ("memory@1=full", "sequential", &["the 0 B that the GPU has free", "choose a smaller --size"]),
        ("memory@1=999", "sequential", &["cuMemGetInfo_v2 failed with CUDA_ERROR_UNKNOWN (999)"]),
        ("kernel@2=701", "sequential", &["CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"]),
        ("kernel@2=123456", "sequential", &["123456", "no name"]),
        ("kernel@2=700", "sequential random", &["CUDA_ERROR_ILLEGAL_ADDRESS (700)", "dmesg", "random 4 MiB"]),
        ("kernel@2=719,recover@1=restart", "sequential", &["CUDA_ERROR_LAUNCH_FAILED (719)", "restart umtop"]),
        ("kernel@2=719,recover@1=999", "sequential", &["could not be reset", "restart umtop"]),
        ("kernel@2=214", "sequential", &["CUDA_ERROR_ECC_UNCORRECTABLE (214)", "nvidia-smi -q -d ECC"]),
        ("host@2=700", "sequential random", &["CUDA_ERROR_ILLEGAL_ADDRESS", "random 4 MiB"]),
        // A lost context shows at whatever comes next.
        ("alloc@1=700", "sequential random", &["CUDA_ERROR_ILLEGAL_ADDRESS", "random 4 MiB"]),
        ("memory@1=700", "sequential random", &["CUDA_ERROR_ILLEGAL_ADDRESS", "random 4 MiB"]),
        ("memory@1=700,recover@1=restart", "sequential random", &["CUDA_ERROR_ILLEGAL_ADDRESS", "restart umtop"]),
        ("advise@1=999", "read-mostly", &["cuMemAdvise failed"]),
        ("transfer@1=999", "sequential --prefetch=both", &["cuMemPrefetchAsync failed", "sequential 4 MiB"]),
        ("overlap@1=700", "overlap", &["CUDA_ERROR_ILLEGAL_ADDRESS"]),
        ("kernel@2=wrong", "sequential", &["wrong result: 1 of"]),
        ("overlap@1=wrong", "overlap", &["wrong result: 1 of"]),
    ] {
        let size = if workloads.starts_with("overlap") { "--runs 3" } else { small };
        println!("{faults}: {workloads}");
        let mut check = bench(faults, &format!("{workloads} {size}")).assert().code(1).stderr(all_given_back());
        for says in says {
            check = check.stdout(contains(*says));
        }
    }
}

#[test]
fn memory_that_cannot_be_freed_is_told() {
    bench("free@1=999", "sequential --size 4MiB --runs 2").assert().stdout(contains("giving back 4 MiB: cuMemFree_v2"));
}

#[test]
fn without_managed_memory_what_needs_it_is_refused_with_the_reason() {
    let reason = contains("managedMemory is 0 on this GPU");
    bench("no-managed", "sequential --memory managed --size 4MiB").assert().code(1).stdout(reason.clone());
    bench("no-managed", "sequential --memory explicit --size 4MiB --runs 1").assert().success();
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let terminal = Terminal::run(&format!("{} --device sim --fault no-managed", umtop.display()), 120, 36);
    terminal.expect("managedMemory is 0");
    assert_eq!(terminal.restored(), 2);
}

#[test]
fn without_concurrent_access_hints_are_refused_and_the_host_never_works_beside_a_kernel() {
    let hints = contains("concurrentManagedAccess is 0 here").and(contains("takes no hints"));
    bench("no-concurrent", "sequential --prefetch=on --size 4MiB").assert().code(1).stdout(hints);
    // All workloads: what cannot run there is left out with a reason, and what runs never breaks the rule.
    bench("no-concurrent", "--runs 1 --warmups 0")
        .timeout(std::time::Duration::from_secs(300))
        .assert()
        .success()
        .stdout(contains("was left out: ").and(contains("the CPU touched managed memory").not()))
        .stderr(all_given_back());
}

fn dashboard(faults: &str, more: &str) -> Terminal {
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let fault = if faults.is_empty() { "ledger".to_owned() } else { format!("ledger,{faults}") };
    let line = format!("{} --device sim --size 16MiB --fault {fault} {more} 2>err", umtop.display());
    Terminal::run(&line, 120, 36)
}

fn err(terminal: &Terminal) -> String {
    let path = terminal.dir.path().join("err");
    terminal.until("the end", || terminal.ended());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_dashboard_goes_on_after_a_lost_context() {
    let mut terminal = dashboard("kernel@3=700", "");
    terminal.expect("CUDA_ERROR_ILLEGAL_ADDRESS");
    terminal.press("p");
    terminal.expect("Prefetch removed");
    terminal.press("q");
    assert!(all_given_back().eval(&err(&terminal)));
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn the_dashboard_recovers_where_an_allocation_finds_the_context_lost() {
    let mut terminal = dashboard("memory@1=700", "");
    terminal.expect("CUDA_ERROR_ILLEGAL_ADDRESS");
    terminal.press("p");
    terminal.expect("GB/s");
    terminal.press("q");
    assert!(all_given_back().eval(&err(&terminal)));
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn the_dashboard_says_restart_where_the_card_does_not_come_back() {
    let mut terminal = dashboard("kernel@3=719,recover@1=restart", "");
    // The line is broken there.
    terminal.expect("Xid lines: restart");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_kernel_that_never_ends_is_told_and_can_be_left() {
    let mut terminal = dashboard("kernel@3=hang", "--watchdog 200ms --record a.umr");
    terminal.expect("a kernel has not returned for 200 ms");
    terminal.expect("it is still being simulated");
    terminal.press("q");
    let said = err(&terminal);
    assert!(said.contains("has not returned: leaving it behind"), "{said}");
    let kept = umtop::recording::Reader::open(&terminal.dir.path().join("a.umr")).map(|_| ());
    assert!(kept.is_ok(), "{kept:?}");
    assert_eq!(terminal.restored(), 0);
    let terminal = dashboard("kernel@3=hang", "--watchdog 200ms");
    terminal.expect("a kernel has not returned");
    terminal.signal("TERM");
    assert_eq!(terminal.restored(), 128 + 15);
}

#[test]
fn a_bench_that_hangs_says_so_at_once_and_ends_at_the_first_signal() {
    let dir = tempfile::tempdir().unwrap();
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let line = format!(
        "{} bench --device sim --fault kernel@20=hang --watchdog 200ms sequential --size 4MiB --runs 50 >out 2>err & \
         until grep -q 'has not returned' err; do sleep 0.05; done; kill -TERM $!; wait $!",
        umtop.display()
    );
    Command::new("bash").args(["-c", &line]).current_dir(dir.path()).assert().code(128 + 15);
    let out = std::fs::read_to_string(dir.path().join("out")).unwrap();
    assert!(out.contains("sequential 4 MiB"), "what was measured before: {out}");
}

#[test]
fn memory_is_given_back_on_every_way_out() {
    for (name, code) in [("TERM", 128 + 15), ("HUP", 128 + 1), ("INT", 128 + 2)] {
        let terminal = dashboard("", "");
        terminal.expect("Time per pass");
        terminal.signal(name);
        assert!(all_given_back().eval(&err(&terminal)), "{name}");
        assert_eq!(terminal.restored(), code, "{name}");
    }
    // A panic of the worker: its device gives back what was held, as it goes.
    let terminal = dashboard("kernel@3=panic", "");
    let said = err(&terminal);
    assert!(said.contains("scripted: kernel call 3") && ledger(&said)[0] == 1, "{said}");
    assert_eq!(terminal.restored(), 1);
}

#[test]
fn a_panic_in_a_bench_is_one_failure_and_no_figures() {
    bench("kernel@3=panic", "sequential --size 4MiB").assert().code(1).stderr(contains("the worker thread panicked"));
}

#[test]
fn a_script_that_makes_no_sense_is_bad_usage() {
    bench("dance@1=700", "sequential").assert().code(2).stderr(contains("'dance@1=700' is no fault"));
    let mut cuda = Command::cargo_bin("umtop").unwrap();
    cuda.args(["bench", "--fault", "ledger"]).assert().code(2).stderr(contains("add --device sim"));
}
