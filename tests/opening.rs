//! The dashboard while its GPU is being opened: over a made-up driver (`tests/fake_nvml`) that takes its time, refuses, or
//! never answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "fake_nvml/bed.rs"]
mod bed;
#[path = "support/terminal.rs"]
mod terminal;

use bed::{Bed, Library};
use terminal::Terminal;

fn dashboard(bed: &Bed, args: &str) -> Terminal {
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let folder = bed.folder().display();
    Terminal::run(&format!("LD_LIBRARY_PATH={folder} {} --device cuda {args}", umtop.display()), 140, 40)
}

#[test]
fn the_screen_is_there_before_the_driver_and_what_was_chosen_meanwhile_stays() {
    let bed = Bed::new(Library::Fake, "cuInit * delay 2000");
    let mut terminal = dashboard(&bed, "--size 1MiB");
    terminal.expect("opening the GPU");
    terminal.expect("CUDA is being initialised");
    // The menu is known before the machine is.
    terminal.expect("Sequential sweep");
    assert!(!terminal.text().contains("LIVE") && !terminal.text().contains("SIMULATED"), "{}", terminal.text());
    terminal.press("p");
    terminal.expect("not before the GPU is open");
    terminal.press("\u{1b}[15~");
    terminal.until("another screen", || !terminal.text().contains("Sequential sweep"));
    assert!(terminal.text().contains("opening the GPU"), "{}", terminal.text());
    terminal.expect("● LIVE");
    terminal.expect("Fake GPU");
    assert!(terminal.text().contains("Driver and probes"), "{}", terminal.text());
    terminal.press("\u{1b}OP");
    terminal.expect("prefetch off");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_driver_that_never_answers_can_be_left() {
    let bed = Bed::new(Library::Fake, "cuInit * hang");
    let mut terminal = dashboard(&bed, "");
    terminal.expect("the driver does not answer: q leaves");
    terminal.press("q");
    terminal.until("the end", || terminal.ended());
    assert!(terminal.text().contains("leaving it behind"), "{}", terminal.text());
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn what_cannot_be_opened_late_is_told_when_the_terminal_is_back() {
    let cases = [
        ("cuDriverGetVersion * delay 700\ncuInit * return 100", "", 3, "no GPU is visible"),
        ("cuDeviceGetCount * delay 700", "--size 100TiB", 2, "does not fit"),
        ("cuDeviceGetCount * delay 700", "--record /nonexistent/a.umr", 1, "/nonexistent/a.umr"),
    ];
    for (script, args, code, line) in cases {
        let bed = Bed::new(Library::Fake, script);
        let terminal = dashboard(&bed, args);
        terminal.until("the end", || terminal.ended());
        assert!(terminal.text().contains(line), "{script} {args}: {}", terminal.text());
        assert_eq!(terminal.restored(), code, "{script} {args}");
    }
}

#[test]
fn a_signal_ends_it_while_the_driver_hangs() {
    let bed = Bed::new(Library::Fake, "cuInit * hang");
    let terminal = dashboard(&bed, "");
    terminal.expect("opening the GPU");
    terminal.signal("TERM");
    assert_eq!(terminal.restored(), 143);
}
