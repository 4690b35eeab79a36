//! The dashboard in a pseudo-terminal: what is on the screen, what keys do, and that the terminal is restored on every
//! way out.
#![allow(clippy::unwrap_used)]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Longest wait for anything to appear: generous, for slow machines; nothing is measured.
const PATIENCE: Duration = Duration::from_secs(30);

/// A shell in a pseudo-terminal that runs one command between two prints of the terminal's settings.
struct Terminal {
    _master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    dir: TempDir,
}

impl Terminal {
    fn run(command: &str, columns: u16, rows: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let script = format!("stty -a >before; {command}; echo \"code $?\" >code; stty -a >after");
        let mut shell = CommandBuilder::new("/bin/bash");
        shell.args(["--norc", "--noprofile", "-c", &script]);
        shell.cwd(dir.path());
        shell.env("TERM", "xterm-256color");
        shell.env("COLORTERM", "truecolor");
        shell.env("LANG", "C.UTF-8");
        shell.env_remove("NO_COLOR");
        // No workload files of whoever runs the tests.
        shell.env("XDG_CONFIG_HOME", "/nonexistent");
        let child = pair.slave.spawn_command(shell).unwrap();
        drop(pair.slave);
        let (rows, columns) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut output = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        Self { _master: pair.master, child, keys, screen, dir }
    }

    fn umtop(args: &str) -> Self {
        Self::run(&format!("{} {args}", assert_cmd::cargo::cargo_bin("umtop").display()), 120, 36)
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen holds the text.
    fn expect(&self, wanted: &str) {
        self.until(wanted, || self.text().contains(wanted));
    }

    fn until(&self, what: &str, done: impl Fn() -> bool) {
        for _ in 0..PATIENCE.as_millis() / 20 {
            if done() {
                return;
            }
            pause(20);
        }
        panic!("waited in vain for {what}; the screen:\n{}", self.text());
    }

    /// Process number of the program under the shell.
    fn pid(&self) -> i32 {
        let shell = self.child.process_id().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().last().unwrap().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end; checks that the terminal is as it was before; returns the exit code.
    fn restored(mut self) -> i32 {
        let file = |name: &str| std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        self.until("the end", || !file("after").is_empty());
        self.child.wait().unwrap();
        assert_eq!(file("after"), file("before"), "stty -a differs");
        // The thread that reads the program's output may be behind: what is right comes, what is wrong stays.
        let back = |screen: &vt100::Screen| !screen.alternate_screen() && !screen.hide_cursor();
        self.until("the screen that was before", || back(self.screen.lock().unwrap().screen()));
        let screen = self.screen.lock().unwrap();
        let screen = screen.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is still on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is still captured");
        file("code").trim().strip_prefix("code ").unwrap().parse().unwrap()
    }
}

fn pause(ms: u64) {
    // Polling a pseudo-terminal for output has no event to wait on.
    #[expect(clippy::disallowed_methods, reason = "a test that polls another process")]
    std::thread::sleep(Duration::from_millis(ms));
}

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
    terminal.expect("Prefetch moved 16 MiB");
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
