//! Another process as the source: its address spaces are found, traced while they are there, and let go.

mod command;
mod output;
mod spaces;
#[cfg(test)]
mod tests;

pub use command::{Command, CommandError};

use super::pace::Pace;
use super::sink::Sink;
use crate::clock::Clock;
use crate::event::{Body, Control, Event, Header, Level, Notice, Subject, TraceLevel, Watched};
use crate::probe::SpaceTracer;
use crate::probe::process::{Credentials, PidFd, ProcFs, user};
use crate::units::{Nanos, Stamp};
use output::Output;
use spaces::{News, Spaces};
use std::io;

/// Between two looks whether the subject has ended: until then the driver keeps its memory for us.
const TURN: Nanos = Nanos::millis(20);
/// Between two looks for a context that must come soon, as a command of ours has just begun.
const HUNT: Nanos = Nanos::millis(2);
/// A command is hunted for this long; then a turn is soon enough.
const HUNT_LASTS: Nanos = Nanos::millis(60_000);
/// Between two looks for further address spaces, and for those that were closed.
const LOOK: Nanos = Nanos::millis(500);
/// Between two looks at the output's file.
const READ: Nanos = Nanos::millis(100);

/// What is watched.
pub enum Target {
    /// A process that runs already.
    Process(PidFd),
    /// A command that umtop has started.
    Command(Command),
}

impl Target {
    /// Its number.
    pub fn pid(&self) -> u32 {
        match self {
            Target::Process(process) => process.pid(),
            Target::Command(command) => command.pid(),
        }
    }
}

/// What is found out when an address space is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The process that it belongs to.
    pub pid: u32,
    /// Every process with a watched address space.
    pub pids: Vec<u32>,
    /// UUIDs of the GPUs that the address space knows; empty if the driver does not tell.
    pub gpus: Vec<String>,
}

/// Watches a process.
pub struct Watch {
    /// What is watched.
    pub target: Target,
    /// Where processes are looked up.
    pub proc: ProcFs,
    /// The session's clock.
    pub clock: Clock,
    /// When umtop has started the target, if it has.
    pub started: Option<Stamp>,
    /// Traces what is found.
    pub tracer: Box<dyn SpaceTracer>,
    /// Asks the driver which GPUs an address space knows.
    pub gpus: fn(std::os::fd::BorrowedFd<'_>) -> Vec<String>,
    /// Told of each address space that is watched, and of each that is let go (then without GPUs).
    pub found: Box<dyn FnMut(&Found) + Send>,
}

/// How a session over a watched process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// The subject has ended, with this exit code if umtop is its parent.
    Ended(Option<u8>),
    /// Time was up, or the user wanted it.
    Stopped,
}

impl Watch {
    /// Watches until the subject ends, until `until`, or until the user stops it. Gives the target back: a command may run
    /// on, and be waited for.
    pub fn run(self, header: Header, until: Option<Stamp>, sink: Sink, pace: Pace) -> (WatchEnd, Target) {
        let Watch { target, proc, clock, started, tracer, gpus, found } = self;
        let output = match &target {
            Target::Command(command) => Output::open(command.output()),
            Target::Process(_) => None,
        };
        let spaces = Spaces::new(proc.clone(), gpus, started);
        let mut worker = Worker { target, proc, clock, tracer, found, sink, pace, spaces, output, subject: None };
        worker.emit(Body::Header(Box::new(header)));
        let end = worker.watch(until);
        worker.finish(&end);
        (end, worker.target)
    }
}

struct Worker {
    target: Target,
    proc: ProcFs,
    clock: Clock,
    tracer: Box<dyn SpaceTracer>,
    found: Box<dyn FnMut(&Found) + Send>,
    sink: Sink,
    pace: Pace,
    spaces: Spaces,
    output: Option<Output>,
    subject: Option<Subject>,
}

impl Worker {
    fn watch(&mut self, until: Option<Stamp>) -> WatchEnd {
        let mut looked = None;
        let mut read = Stamp(0);
        self.introduce();
        self.emit(Body::Watched(Box::new(Watched::Level(self.tracer.level()))));
        loop {
            let now = self.clock.now();
            if let Some(code) = self.ended() {
                return WatchEnd::Ended(code);
            }
            if until.is_some_and(|until| now >= until) {
                return WatchEnd::Stopped;
            }
            let hunting = self.spaces.none();
            if hunting || looked.is_none_or(|looked| now.since(looked) >= LOOK) {
                if looked.is_none_or(|looked| now.since(looked) >= LOOK) {
                    self.introduce();
                    looked = Some(now);
                }
                self.look(now);
            }
            if now.since(read) >= READ {
                self.read_output();
                read = now;
            }
            if !self.wait(now, until, hunting) {
                return WatchEnd::Stopped;
            }
        }
    }

    /// `Some` once the subject has ended, with its exit code if that can be known.
    fn ended(&mut self) -> Option<Option<u8>> {
        match &mut self.target {
            Target::Process(process) => process.ended().then_some(None),
            Target::Command(command) => command.ended().map(Some),
        }
    }

    /// Says who is watched, once and whenever it has become another program.
    fn introduce(&mut self) {
        let Ok(mut process) = self.proc.process(self.target.pid()) else { return };
        let output = match &self.target {
            Target::Command(command) => Some(command.output().display().to_string()),
            Target::Process(_) => None,
        };
        // A process that has ended has no command line left: what it was called before still holds.
        if process.command.starts_with('[') {
            match (&self.subject, &self.target) {
                (Some(known), _) => process.command.clone_from(&known.command),
                (None, Target::Command(command)) => process.command = command.words().to_owned(),
                (None, Target::Process(_)) => {}
            }
        }
        let subject = Subject { pid: process.pid, user: user(process.uid), command: process.command, output };
        if self.subject.as_ref() != Some(&subject) {
            self.subject = Some(subject.clone());
            self.tell(Watched::Subject(subject));
        }
    }

    fn look(&mut self, now: Stamp) {
        for news in self.spaces.look(self.target.pid(), now, self.tracer.as_mut()) {
            match news {
                News::Attached { found, missed } => {
                    (self.found)(&found);
                    self.tell(Watched::Attached { pid: found.pid, spaces: self.spaces.count(), missed });
                }
                News::Released { pid, pids, why } => {
                    (self.found)(&Found { pid, pids, gpus: Vec::new() });
                    self.tell(Watched::Released { pid, spaces: self.spaces.count(), why });
                }
                News::Refused { pid, error } => {
                    let owner = self.proc.process(pid).ok().map(|process| process.uid);
                    let text = Credentials::own(&self.proc).explain(pid, owner, &error).to_string();
                    self.say(Level::Error, text);
                }
                News::Failed(why) => self.say(Level::Error, why.to_string()),
            }
        }
    }

    fn read_output(&mut self) {
        if let Some((lines, skipped)) = self.output.as_mut().and_then(Output::read) {
            self.tell(Watched::Output { lines, skipped });
        }
    }

    /// Waits for the next turn and does what the user wants meanwhile; `false` to stop.
    fn wait(&mut self, now: Stamp, until: Option<Stamp>, hunting: bool) -> bool {
        let command = matches!(self.target, Target::Command(_));
        let turn = if hunting && command && now.0 < HUNT_LASTS.0 { HUNT } else { TURN };
        let due = now.plus(turn).min(until.unwrap_or(Stamp(u64::MAX)));
        // The pace counts from now: a look that took long must not make the next wait longer.
        self.pace.restart(self.clock.now());
        self.pace.wait_or_control(due);
        while let Some(control) = self.pace.next_control() {
            match control {
                Control::Stop => return false,
                Control::Trace(level) => self.set_level(level),
                Control::Record(Some(path)) => {
                    if let Err(error) = self.sink.record(&path) {
                        self.say_as("recording", Level::Error, error.to_string());
                    } else {
                        self.say_as("recording", Level::Info, format!("recording to {}", path.display()));
                    }
                }
                Control::Record(None) => {
                    if let Err(error) = self.sink.stop_recording() {
                        self.say_as("recording", Level::Error, error.to_string());
                    }
                }
                Control::Run(_)
                | Control::Pause(_)
                | Control::Speed(_)
                | Control::ProbeLink
                | Control::CompareLevels { .. }
                | Control::Seek(_) => {}
            }
        }
        true
    }

    fn set_level(&mut self, level: TraceLevel) {
        // Why a lower one is in force is told by the tracer itself.
        let (reached, _) = self.tracer.set_level(level);
        self.tell(Watched::Level(reached));
        if let Some(cost) = cost(reached) {
            self.say(Level::Info, format!("trace {reached}: {cost}"));
        }
    }

    /// Lets everything go, so that the target is as it was.
    fn finish(&mut self, end: &WatchEnd) {
        let why = if matches!(end, WatchEnd::Ended(_)) { "the process has ended" } else { "umtop detached" };
        for (pid, left) in self.spaces.release_all(self.tracer.as_mut()) {
            self.tell(Watched::Released { pid, spaces: left, why: why.to_owned() });
        }
        self.read_output();
        if let WatchEnd::Ended(code) = end {
            self.tell(Watched::Ended { code: *code });
        }
    }

    fn tell(&mut self, watched: Watched) {
        self.emit(Body::Watched(Box::new(watched)));
    }

    fn say(&mut self, level: Level, text: String) {
        self.say_as("watch", level, text);
    }

    fn say_as(&mut self, source: &str, level: Level, text: String) {
        self.emit(Body::Notice(Notice { level, source: source.to_owned(), text }));
    }

    fn emit(&mut self, body: Body) {
        self.sink.send(Event { at: self.clock.now(), body });
    }
}

/// What a level costs the target, as measured on an H200 (docs/watch.md).
fn cost(level: TraceLevel) -> Option<&'static str> {
    match level {
        TraceLevel::Off | TraceLevel::Counters => None,
        TraceLevel::Faults => Some("fault-bound GPU code stays within its own spread, the CPU's faults get slower"),
        TraceLevel::Full => Some("slows the target: about 2 times on fault-bound GPU code; press t to go back"),
    }
}

/// Opens a running process and tries whether it may be watched, before anything is shown. The error is for
/// [`Credentials::explain`].
pub fn try_process(proc: &ProcFs, pid: u32) -> io::Result<PidFd> {
    let process = PidFd::open(pid)?;
    if process.ended() {
        return Err(io::ErrorKind::NotFound.into());
    }
    // Any file will do: what is asked is the right to have one.
    if let Some(number) = proc.any_fd(pid)? {
        match process.duplicate(number) {
            // Closed meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            other => drop(other?),
        }
    }
    Ok(process)
}
