//! The program in a pseudo-terminal, whose output is taken in with its times.

use crossbeam_channel::{Receiver, unbounded};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::time::Duration;
use umtop::clock::Clock;
use umtop::units::{Nanos, Stamp};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running dashboard.
pub struct Dashboard {
    _master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<(Stamp, Vec<u8>)>,
    screen: vt100::Parser,
    clock: Clock,
    begun: Stamp,
}

impl Dashboard {
    /// Starts the program with arguments in a terminal of 200×60.
    pub fn start(args: &str) -> Self {
        let clock = Clock::start();
        let pair =
            native_pty_system().openpty(PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_umtop"));
        command.args(args.split_whitespace());
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LANG", "C.UTF-8");
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        let mut from = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let begun = clock.now();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let (to, output) = unbounded();
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                let _ = to.send((clock.now(), bytes[..n].to_vec()));
            }
        });
        let side = |n| NonZeroU16::new(n).unwrap();
        let screen = vt100::Parser::new(side(60), side(200), 0);
        Self { _master: pair.master, child, keys, output, screen, clock, begun }
    }

    /// Takes output in until the screen is as wanted; the time of the bytes that made it so, since the start or the key.
    pub fn until(&mut self, wanted: impl Fn(&str) -> bool) -> Nanos {
        loop {
            let Ok((at, bytes)) = self.output.recv_timeout(PATIENCE) else {
                panic!("waited in vain; the screen:\n{}", self.screen.screen().contents())
            };
            self.screen.process(&bytes);
            if wanted(&self.screen.screen().contents()) {
                return at.since(self.begun);
            }
        }
    }

    /// Takes output in for so long.
    pub fn rest(&mut self, time: Duration) {
        let end = self.clock.now().plus(Nanos(time.as_nanos() as u64));
        loop {
            let left = Duration::from_nanos(end.since(self.clock.now()).0);
            match self.output.recv_timeout(left) {
                Ok((_, bytes)) => self.screen.process(&bytes),
                Err(_) => return,
            }
        }
    }

    /// Presses a key; times count from now on.
    pub fn press(&mut self, key: &str) {
        self.begun = self.clock.now();
        self.keys.write_all(key.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// The present time.
    pub fn now(&self) -> Stamp {
        self.clock.now()
    }

    /// Processor time of all threads so far, user and system, in ticks of 10 ms; resident memory in KiB.
    pub fn cost(&self) -> (u64, u64) {
        let pid = self.child.process_id().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split_whitespace().collect();
        let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        (ticks, rss.split_whitespace().next().unwrap().parse().unwrap())
    }

    /// Leaves by `q`.
    pub fn quit(mut self) {
        self.press("q");
        self.rest(Duration::from_millis(100));
        self.child.wait().unwrap();
    }
}
