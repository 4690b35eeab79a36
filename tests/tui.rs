//! The dashboard in a pseudo-terminal: what is on the screen, what keys do, and that the terminal is restored on every
//! way out.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/terminal.rs"]
mod terminal;

use std::path::Path;
use terminal::Terminal;

const SIM: &str = "--device sim --size 16MiB";

#[test]
fn the_simulator_is_unmistakable_and_the_picture_moves() {
    let mut terminal = Terminal::umtop(SIM);
    for text in ["SIMULATED", "PCIe", "Faults", "VRAM", "Time per pass", "Sequential sweep", "prefetch", "q quit"] {
        terminal.expect(text);
    }
    let first = terminal.text();
    terminal.until("a change", || terminal.text() != first);
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn keys_change_one_thing_at_a_time() {
    let mut terminal = Terminal::umtop(SIM);
    terminal.expect("GB/s");
    terminal.press("p");
    terminal.until("the effect", || {
        ["Prefetch moved 16 MiB", "Prefetch removed"].iter().any(|t| terminal.text().contains(t))
    });
    terminal.press("m");
    terminal.expect("explicit copy from pinned memory");
    terminal.press("3");
    terminal.expect("ping-pong");
    terminal.press("?");
    terminal.expect("freeze");
    terminal.press("\u{3}");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn every_screen_shows_something_of_its_own() {
    let mut terminal = Terminal::umtop(SIM);
    terminal.expect("Residency");
    for (key, texts) in [
        ("\u{1b}OQ", ["Memory map", "Block 1 of 8"]),
        ("\u{1b}OR", ["Batch latency", "Hottest blocks"]),
        ("\u{1b}OS", ["Runs", "Comparison"]),
        ("\u{1b}[15~", ["managed memory only", "sim pagemap"]),
        ("\u{1b}[17~", ["Insights", "page faults"]),
    ] {
        terminal.press(key);
        for text in texts {
            terminal.expect(text);
        }
    }
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn the_link_s_ceiling_is_measured_on_a_key() {
    let mut terminal = Terminal::umtop(SIM);
    terminal.expect("GB/s");
    terminal.press("\u{1b}[15~k");
    terminal.expect("measured by explicit copies");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn what_watching_costs_is_measured_on_a_key_and_stands_in_the_report() {
    let mut terminal = Terminal::umtop("--device sim --size 4MiB");
    terminal.expect("GB/s");
    terminal.press("o");
    terminal.expect("What watching costs");
    terminal.until("the end", || terminal.text().contains("over off") && !terminal.text().contains("Measuring"));
    let shown = terminal.text();
    for text in ["SIMULATED: what the model", "off       10", "counters  10", "faults    10", "full      10"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    terminal.press("\r");
    terminal.until("the overlay to go", || !terminal.text().contains("What watching costs"));
    terminal.press("R");
    let found = || -> Option<String> {
        let mut names = std::fs::read_dir(terminal.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let folder = names.find(|path| path.is_dir())?;
        std::fs::read_to_string(folder.join("report.md")).ok()
    };
    terminal.until("the report", || found().is_some_and(|report| report.contains("watching costs, over trace off")));
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn the_tool_s_own_cost_is_on_the_machine_screen() {
    let mut terminal = Terminal::umtop(SIM);
    terminal.expect("GB/s");
    terminal.press("\u{1b}[15~");
    terminal.until("the figures", || {
        let shown = terminal.text();
        ["its workload included", "frames/s"].iter().all(|text| shown.contains(text))
    });
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_dumb_terminal_is_refused_politely() {
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let terminal = Terminal::run(&format!("TERM=dumb {} {SIM}", umtop.display()), 80, 24);
    terminal.expect("TERM=dumb has no screen");
    assert_eq!(terminal.restored(), 4);
}

#[test]
fn a_session_can_be_recorded_and_replayed() {
    let mut terminal = Terminal::umtop(&format!("{SIM} --record a.umr"));
    terminal.expect("REC");
    terminal.expect("page faults");
    terminal.press("q");
    let dir = terminal.dir.path().to_owned();
    terminal.until("the end", || dir.join("after").exists());
    let kept = tempfile::tempdir().unwrap();
    let recording = kept.path().join("a.umr");
    std::fs::copy(dir.join("a.umr"), &recording).unwrap();
    assert_eq!(terminal.restored(), 0);
    let mut terminal = Terminal::umtop(&format!("replay {} --speed 5", recording.display()));
    terminal.expect("REPLAY");
    terminal.expect("page faults");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn signals_restore_the_terminal_and_keep_their_meaning() {
    for (name, number) in [("TERM", 15), ("HUP", 1), ("INT", 2)] {
        let terminal = Terminal::umtop(SIM);
        terminal.expect("Time per pass");
        terminal.signal(name);
        assert_eq!(terminal.restored(), 128 + number, "{name}");
    }
}

#[test]
fn crashes_restore_the_terminal_and_keep_their_signal() {
    for (name, number) in [("SEGV", 11), ("BUS", 7)] {
        let terminal = Terminal::umtop(SIM);
        terminal.expect("Time per pass");
        terminal.signal(name);
        assert_eq!(terminal.restored(), 128 + number, "{name}");
    }
}

/// Runs one of the ignored tests below as the program in the terminal.
fn rerun(test: &str) -> Terminal {
    let me = std::env::current_exe().unwrap();
    Terminal::run(&format!("{} --exact {test} --ignored --nocapture >/dev/tty 2>err", me.display()), 80, 24)
}

#[test]
fn a_panic_in_any_thread_restores_the_terminal_and_is_told() {
    for test in ["helper_panic_in_main", "helper_panic_in_thread"] {
        let terminal = rerun(test);
        let err = terminal.dir.path().join("err");
        terminal.until("the message", || read(&err).contains("deliberate"));
        assert_ne!(terminal.restored(), 0, "{test}");
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
#[ignore = "run in a pseudo-terminal by a_panic_in_any_thread_restores_the_terminal_and_is_told"]
fn helper_panic_in_main() {
    let _guard = umtop::ui::Guard::enter().unwrap();
    panic!("deliberate");
}

#[test]
#[ignore = "run in a pseudo-terminal by a_panic_in_any_thread_restores_the_terminal_and_is_told"]
fn helper_panic_in_thread() {
    let guard = umtop::ui::Guard::enter().unwrap();
    assert!(std::thread::spawn(|| panic!("deliberate")).join().is_err());
    assert!(guard.panicked());
    std::process::exit(1);
}

#[test]
fn a_tiny_terminal_is_told_and_survived() {
    let mut terminal = Terminal::run(&format!("{} {SIM}", assert_cmd::cargo::cargo_bin("umtop").display()), 30, 5);
    terminal.expect("60");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn s_saves_the_screen_and_the_hint_says_where() {
    let mut terminal = Terminal::umtop(SIM);
    terminal.expect("Migrated");
    terminal.press("s");
    terminal.expect("saved ./umtop-");
    let files = |extension: &str| {
        let names = std::fs::read_dir(terminal.dir.path()).unwrap().map(|f| f.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|e| e == extension)).collect::<Vec<_>>()
    };
    assert_eq!(files("png").len(), 1);
    let svg = read(&files("svg")[0]);
    assert!(svg.contains(">Migrated</text>") && svg.contains("<title>SIMULATED h200"));
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_demo_plays_to_its_end_and_goes_back() {
    let mut terminal = Terminal::umtop("demo sequential-prefetch --speed 1000");
    terminal.expect("REPLAY ended");
    terminal.press(" \x1b[H");
    terminal.until("the start", || !terminal.text().contains("REPLAY ended"));
    terminal.press("\x1b[F");
    terminal.expect("REPLAY ended");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}
