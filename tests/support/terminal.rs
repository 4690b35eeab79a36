//! A program in a pseudo-terminal.
#![allow(dead_code, reason = "each test uses its part")]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Longest wait for anything to appear: generous, for slow machines; nothing is measured.
const PATIENCE: Duration = Duration::from_secs(30);

/// A shell in a pseudo-terminal that runs one command between two prints of the terminal's settings.
pub struct Terminal {
    master: Option<Box<dyn MasterPty + Send>>,
    /// Whoever holds it keeps the terminal from reading.
    gate: Arc<Mutex<()>>,
    gone: Arc<Mutex<bool>>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    pub dir: TempDir,
}

impl Terminal {
    pub fn run(command: &str, columns: u16, rows: u16) -> Self {
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
        let (shown, gate) = (Arc::clone(&screen), Arc::new(Mutex::new(())));
        let open = Arc::clone(&gate);
        let gone = Arc::new(Mutex::new(false));
        let left = Arc::clone(&gone);
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                drop(open.lock().unwrap());
                if *left.lock().unwrap() {
                    return;
                }
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        Self { master: Some(pair.master), gate, gone, child, keys, screen, dir }
    }

    pub fn umtop(args: &str) -> Self {
        Self::run(&format!("{} {args}", assert_cmd::cargo::cargo_bin("umtop").display()), 120, 36)
    }

    pub fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Changes the terminal's size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.as_ref().unwrap().resize(size).unwrap();
        let (rows, columns) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        self.screen.lock().unwrap().screen_mut().set_size(rows, columns);
    }

    /// Nothing of the output is read while `during` runs.
    pub fn stalled(&mut self, during: impl FnOnce(&mut Self)) {
        let gate = Arc::clone(&self.gate);
        let _shut = gate.lock().unwrap();
        during(self);
    }

    /// Whether the program under the shell has ended.
    pub fn ended(&self) -> bool {
        !std::fs::read_to_string(self.dir.path().join("code")).unwrap_or_default().is_empty()
    }

    /// How many cells have a colour of their own.
    pub fn coloured(&self) -> usize {
        let screen = self.screen.lock().unwrap();
        let (rows, columns) = screen.screen().size();
        let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        let plain = vt100::Color::Default;
        cells
            .filter_map(|(row, column)| screen.screen().cell(row, column))
            .filter(|cell| cell.fgcolor() != plain || cell.bgcolor() != plain)
            .count()
    }

    /// Takes the terminal away. (The thread that reads it holds a copy, so that it must be told to go.)
    pub fn hang_up(&mut self) {
        self.master = None;
        self.keys = Box::new(std::io::sink());
        *self.gone.lock().unwrap() = true;
    }

    /// State of the program's process, as `/proc/PID/stat` has it: `T` is stopped.
    pub fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap()
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen holds the text.
    pub fn expect(&self, wanted: &str) {
        self.until(wanted, || self.text().contains(wanted));
    }

    pub fn until(&self, what: &str, done: impl Fn() -> bool) {
        for _ in 0..PATIENCE.as_millis() / 20 {
            if done() {
                return;
            }
            pause(20);
        }
        panic!("waited in vain for {what}; the screen:\n{}", self.text());
    }

    /// Process number of the program under the shell.
    pub fn pid(&self) -> i32 {
        let shell = self.child.process_id().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().last().unwrap().parse().unwrap()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end; checks that the terminal is as it was before; returns the exit code.
    pub fn restored(mut self) -> i32 {
        let file = |name: &str| std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        self.until("the end", || !file("after").is_empty());
        self.child.wait().unwrap();
        assert_eq!(file("after"), file("before"), "stty -a differs");
        // The thread that reads the program's output may be behind: what is right comes, what is wrong stays.
        let back = |screen: &vt100::Screen| !screen.alternate_screen() && !screen.hide_cursor();
        self.until("the screen that was before", || back(self.screen.lock().unwrap().screen()));
        let held = self.screen.lock().unwrap();
        let screen = held.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is still on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is still captured");
        drop(held);
        self.code()
    }

    /// The exit code of a program that has ended.
    pub fn code(&self) -> i32 {
        let code = std::fs::read_to_string(self.dir.path().join("code")).unwrap();
        code.trim().strip_prefix("code ").unwrap().parse().unwrap()
    }
}

pub fn pause(ms: u64) {
    // Polling a pseudo-terminal for output has no event to wait on.
    #[expect(clippy::disallowed_methods, reason = "a test that polls another process")]
    std::thread::sleep(Duration::from_millis(ms));
}
