//! The dashboard in terminals that misbehave: sizes, signals, stalls, poor ones. What is left behind must be a terminal as it
//! was before.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/terminal.rs"]
mod terminal;

use terminal::{Terminal, pause};

const SIM: &str = "--device sim --size 16MiB";

fn umtop(environment: &str, args: &str, columns: u16, rows: u16) -> Terminal {
    Terminal::run(&format!("{environment} {} {args}", assert_cmd::cargo::cargo_bin("umtop").display()), columns, rows)
}

#[test]
fn a_storm_of_sizes_is_survived_and_the_last_one_is_drawn() {
    let mut terminal = umtop("", SIM, 120, 36);
    terminal.expect("Time per pass");
    let mut seed = 1u32;
    for _ in 0..300 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        terminal.resize(1 + (seed >> 8) as u16 % 400, 1 + (seed >> 20) as u16 % 100);
        pause(3);
    }
    terminal.resize(120, 36);
    terminal.expect("Time per pass");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_key_that_comes_with_a_change_of_size_is_obeyed() {
    let mut terminal = umtop("", SIM, 120, 36);
    terminal.expect("Time per pass");
    for round in 0..60u16 {
        let (key, shown) = if round % 2 == 0 { ("\u{1b}OQ", "Memory map") } else { ("\u{1b}OP", "Time per pass") };
        for width in 0..5 {
            terminal.resize(110 + width + round % 3, 36);
        }
        terminal.press(key);
        terminal.expect(shown);
    }
    terminal.resize(120, 36);
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn one_cell_is_enough_to_start_and_to_leave() {
    let mut terminal = umtop("", SIM, 1, 1);
    terminal.until("a start", || std::fs::read_dir(terminal.dir.path()).unwrap().count() > 0);
    pause(500);
    terminal.resize(100, 30);
    terminal.expect("Time per pass");
    terminal.resize(1, 1);
    pause(200);
    terminal.press("q");
    terminal.until("the end", || terminal.ended());
    assert_eq!(terminal.restored(), 0);
}

/// The terminal reads nothing; the program's output piles up until its writes wait.
fn stalled(leave: impl FnOnce(&mut Terminal)) -> Terminal {
    let mut terminal = umtop("", SIM, 200, 60);
    terminal.expect("Time per pass");
    terminal.stalled(|terminal| {
        // New screens every time, until no more of them can be taken.
        for _ in 0..60 {
            terminal.press("\u{1b}OQ\u{1b}OR\u{1b}OP");
            pause(40);
        }
        leave(terminal);
        terminal.until("the end in spite of the stall", || terminal.ended());
    });
    terminal
}

#[test]
fn a_terminal_that_does_not_read_can_be_left_by_key() {
    assert_eq!(stalled(|terminal| terminal.press("q")).restored(), 0);
}

#[test]
fn a_terminal_that_does_not_read_can_be_left_by_signal() {
    assert_eq!(stalled(|terminal| terminal.signal("TERM")).restored(), 128 + 15);
    // After a crash there is nobody who could wait for the terminal: the process ends, the screen may stay as it is.
    assert_eq!(stalled(|terminal| terminal.signal("SEGV")).code(), 128 + 11);
}

#[test]
fn a_stop_gives_the_terminal_back_and_going_on_draws_it_again() {
    let mut terminal = umtop("", SIM, 120, 36);
    terminal.expect("Time per pass");
    for _ in 0..2 {
        terminal.signal("TSTP");
        terminal.until("the stop", || terminal.state() == 'T');
        terminal.until("the screen that was before", || !terminal.text().contains("Time per pass"));
        terminal.signal("CONT");
        terminal.expect("Time per pass");
    }
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn whatever_signal_ends_it_the_terminal_is_restored() {
    let signals = [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ILL", 4),
        ("TRAP", 5),
        ("ABRT", 6),
        ("BUS", 7),
        ("FPE", 8),
        ("USR1", 10),
        ("SEGV", 11),
        ("USR2", 12),
        ("ALRM", 14),
        ("TERM", 15),
        ("STKFLT", 16),
        ("XCPU", 24),
        ("VTALRM", 26),
        ("PROF", 27),
        ("POLL", 29),
        ("PWR", 30),
        ("SYS", 31),
    ];
    for (name, number) in signals {
        let terminal = umtop("ulimit -c 0;", SIM, 80, 24);
        terminal.expect("Time per pass");
        terminal.signal(name);
        assert_eq!(terminal.restored(), 128 + number, "{name}");
    }
}

#[test]
fn signals_that_mean_nothing_are_ignored() {
    let mut terminal = umtop("", SIM, 80, 24);
    terminal.expect("Time per pass");
    for name in ["PIPE", "XFSZ", "URG", "CHLD", "WINCH"] {
        terminal.signal(name);
    }
    pause(200);
    assert!(!terminal.ended());
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_terminal_that_is_gone_ends_the_program() {
    let mut terminal = umtop("", SIM, 80, 24);
    terminal.expect("Time per pass");
    let pid = terminal.pid();
    terminal.hang_up();
    terminal.until("the end", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn poor_terminals_show_what_they_can() {
    for environment in ["LC_ALL=C LANG=C", "TERM=screen", "TERM=tmux-256color COLORTERM=", "TERM=vt100 COLORTERM="] {
        let mut terminal = umtop(environment, SIM, 120, 36);
        terminal.expect("Time per pass");
        terminal.expect("SIMULATED");
        if environment.starts_with("LC_ALL") {
            let text = terminal.text();
            assert!(text.is_ascii(), "{environment}:\n{text}");
        }
        terminal.press("q");
        assert_eq!(terminal.restored(), 0, "{environment}");
    }
}

#[test]
fn no_color_means_none() {
    let mut terminal = umtop("NO_COLOR=1", SIM, 120, 36);
    terminal.expect("Time per pass");
    let coloured = terminal.coloured();
    assert_eq!(coloured, 0, "cells with a colour of their own");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
    let mut terminal = umtop("", SIM, 120, 36);
    terminal.expect("Time per pass");
    assert!(terminal.coloured() > 0, "else the count above says nothing");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}
