//! The source over real processes, whose "UVM file" is an ordinary file of the test, and a tracer that only keeps a log.

use super::*;
use crate::event::{Can, Caps, HostInfo, Origin, UvmTotals, Why};
use crate::probe::{NotAdded, SpaceId, Tracer};
use crate::units::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::ffi::OsString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, PartialEq)]
enum Done {
    Added(u32),
    Removed,
}

/// Answers "not yet" for a while, like a file before its context, and then takes everything.
struct FakeTracer {
    level: TraceLevel,
    not_yet: u32,
    done: Arc<Mutex<Vec<Done>>>,
    refuses: bool,
}

impl Tracer for FakeTracer {
    fn level(&self) -> TraceLevel {
        self.level
    }

    fn set_level(&mut self, level: TraceLevel) -> (TraceLevel, Option<Why>) {
        self.level = level;
        (level, None)
    }

    fn settle(&mut self) -> Option<UvmTotals> {
        None
    }
}

impl SpaceTracer for FakeTracer {
    fn add(&mut self, _uvm: OwnedFd, pid: u32) -> Result<SpaceId, NotAdded> {
        if self.refuses {
            return Err(NotAdded::Failed(Why::NotSupported("no node".to_owned())));
        }
        if self.not_yet > 0 {
            self.not_yet -= 1;
            return Err(NotAdded::NotYet);
        }
        let mut done = self.done.lock().unwrap();
        done.push(Done::Added(pid));
        Ok(SpaceId(done.len() as u32))
    }

    fn remove(&mut self, _space: SpaceId) {
        self.done.lock().unwrap().push(Done::Removed);
    }
}

fn header() -> Header {
    let no = || Can::No(String::new());
    Header {
        umtop: String::new(),
        started: String::new(),
        origin: Origin::Measured,
        gpu: None,
        second_gpu: None,
        host: HostInfo { kernel: String::new(), cpu: String::new(), cores: 1, memory: Bytes(1) },
        caps: Caps {
            managed: no(),
            concurrent: no(),
            prefetch: no(),
            advise: no(),
            pageable: no(),
            host_page_tables: no(),
            zero_copy: no(),
            trace: Can::Yes,
            gpus: 0,
        },
        uvm_params: Default::default(),
        probes: Vec::new(),
    }
}

fn no_gpus(_: BorrowedFd<'_>) -> Vec<String> {
    vec!["GPU-1".to_owned()]
}

/// A session over a shell script that sees `$uvm`, `$dir`, and waits for files by `attend NAME`.
struct Scene {
    dir: tempfile::TempDir,
    events: Receiver<Event>,
    control: Sender<Control>,
    done: Arc<Mutex<Vec<Done>>>,
    thread: std::thread::JoinHandle<(WatchEnd, Target)>,
}

impl Scene {
    fn play(script: &str, not_yet: u32, refuses: bool, until: Option<Stamp>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let uvm = dir.path().join("uvm");
        std::fs::write(&uvm, "").unwrap();
        let text = format!(
            "attend() {{ n=0; while [ ! -e \"$dir/$1\" ] && [ $n -lt 6000 ]; do sleep 0.01; n=$((n+1)); done; }}\ndir={}\nuvm=$dir/uvm\n{script}",
            dir.path().display()
        );
        let words: Vec<OsString> = ["sh", "-c", &text].map(OsString::from).to_vec();
        let clock = Clock::start();
        let command = Command::start(&words, Some(&dir.path().join("out"))).unwrap();
        let done = Arc::default();
        let tracer = FakeTracer { level: TraceLevel::Counters, not_yet, done: Arc::clone(&done), refuses };
        let (sink, events) = Sink::new(10_000);
        let (control, wishes) = unbounded();
        let watch = Watch {
            target: Target::Command(command),
            proc: ProcFs { node: uvm, ..ProcFs::default() },
            clock,
            started: Some(Stamp(0)),
            tracer: Box::new(tracer),
            gpus: no_gpus,
            found: Box::new(|_| {}),
        };
        let thread = std::thread::spawn(move || watch.run(header(), until, sink, Pace::at_speed(1.0, wishes)));
        Self { dir, events, control, done, thread }
    }

    fn make(&self, name: &str) {
        std::fs::write(self.dir.path().join(name), "").unwrap();
    }

    /// The next thing about the process that `wanted` picks out.
    fn next<T>(&self, wanted: impl Fn(&Watched) -> Option<T>) -> T {
        loop {
            let event = self.events.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
            if let Body::Watched(watched) = &event.body
                && let Some(found) = wanted(watched)
            {
                return found;
            }
        }
    }

    fn end(self) -> (WatchEnd, Vec<Done>, Vec<Body>) {
        let (end, _target) = self.thread.join().unwrap();
        let done = self.done.lock().unwrap().clone();
        (end, done, self.events.try_iter().map(|event| event.body).collect())
    }
}

fn attached(watched: &Watched) -> Option<(u32, u32, Option<Nanos>)> {
    match watched {
        Watched::Attached { pid, spaces, missed } => Some((*pid, *spaces, *missed)),
        _ => None,
    }
}

fn released(watched: &Watched) -> Option<String> {
    match watched {
        Watched::Released { why, .. } => Some(why.clone()),
        _ => None,
    }
}

#[test]
fn a_context_is_awaited_watched_and_let_go_when_it_is_closed() {
    let scene = Scene::play("echo hello; exec 3<$uvm; attend close; exec 3<&-; attend end; exit 7", 3, false, None);
    let (pid, spaces, missed) = scene.next(attached);
    assert_eq!(spaces, 1);
    assert!(missed.is_some(), "a command of ours was not there before us");
    scene.make("close");
    assert!(scene.next(released).contains("closed"));
    scene.make("end");
    let (end, done, bodies) = scene.end();
    assert_eq!(end, WatchEnd::Ended(Some(7)));
    assert_eq!(done, [Done::Added(pid), Done::Removed], "the shell's children share its file: once is enough");
    assert!(bodies.contains(&Body::Watched(Box::new(Watched::Ended { code: Some(7) }))));
}

#[test]
fn a_child_of_the_command_is_found() {
    let scene = Scene::play("(exec 3<$uvm; attend end) & wait; exit 0", 0, false, None);
    let (pid, ..) = scene.next(attached);
    let subject = scene.done.lock().unwrap().clone();
    assert_eq!(subject, [Done::Added(pid)]);
    scene.make("end");
    let (end, ..) = scene.end();
    assert_eq!(end, WatchEnd::Ended(Some(0)));
}

#[test]
fn another_program_in_its_place_is_waited_for_and_told_of() {
    let scene = Scene::play(
        "exec 3<$uvm; attend go; exec 3<&- sh -c 'while [ ! -e $0/end ]; do sleep 0.01; done' $dir",
        0,
        false,
        None,
    );
    let subject = |watched: &Watched| match watched {
        Watched::Subject(subject) => Some(subject.command.clone()),
        _ => None,
    };
    let first = scene.next(subject);
    scene.next(attached);
    scene.make("go");
    assert!(scene.next(subject) != first);
    scene.make("end");
    let (end, done, _) = scene.end();
    assert_eq!((end, done.last()), (WatchEnd::Ended(Some(0)), Some(&Done::Removed)));
}

#[test]
fn what_is_watched_is_let_go_when_the_user_leaves() {
    let scene = Scene::play("exec 3<$uvm; attend end", 0, false, None);
    scene.next(attached);
    scene.control.send(Control::Trace(TraceLevel::Full)).unwrap();
    let level = |watched: &Watched| match watched {
        Watched::Level(level) => Some(*level),
        _ => None,
    };
    assert_eq!(scene.next(level), TraceLevel::Full);
    scene.control.send(Control::Stop).unwrap();
    assert!(scene.next(released).contains("detached"));
    scene.make("end");
    let (end, done, bodies) = scene.end();
    assert_eq!((end, done.last()), (WatchEnd::Stopped, Some(&Done::Removed)));
    assert!(!bodies.iter().any(|body| matches!(body, Body::Watched(w) if matches!(**w, Watched::Ended { .. }))));
}

#[test]
fn a_refusal_of_the_driver_is_told_once() {
    let scene = Scene::play("exec 3<$uvm; attend end", 0, true, Some(Stamp(1_200_000_000)));
    let dir = scene.dir.path().to_owned();
    let events = scene.events.clone();
    let (end, _) = scene.thread.join().unwrap();
    std::fs::write(dir.join("end"), "").unwrap();
    assert_eq!(end, WatchEnd::Stopped);
    let told = events.try_iter().filter(|e| matches!(&e.body, Body::Notice(n) if n.text.contains("no node"))).count();
    assert_eq!(told, 1);
}

#[test]
fn output_comes_in_lines_and_all_of_it_before_the_end() {
    let scene = Scene::play("echo one; echo two >&2; exit 3", 0, false, None);
    let (end, _, bodies) = scene.end();
    assert_eq!(end, WatchEnd::Ended(Some(3)));
    let lines: Vec<&String> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::Watched(watched) => match &**watched {
                Watched::Output { lines, .. } => Some(lines),
                _ => None,
            },
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(lines, ["one", "two"]);
}

/// Between its end and being reaped a process has no command line: that is no other program.
#[test]
fn a_command_that_has_just_ended_keeps_its_name() {
    let words = ["sh", "-c", "exit 3"].map(OsString::from);
    let command = Command::start(&words, None).unwrap();
    let proc = ProcFs::default();
    let (sink, events) = Sink::new(10);
    let (_control, wishes) = unbounded();
    let mut worker = Worker {
        tracer: Box::new(FakeTracer { level: TraceLevel::Off, not_yet: 0, done: Arc::default(), refuses: false }),
        found: Box::new(|_| {}),
        sink,
        clock: Clock::start(),
        pace: Pace::at_speed(1.0, wishes),
        spaces: Spaces::new(proc.clone(), no_gpus, None),
        output: None,
        subject: None,
        target: Target::Command(command),
        proc,
    };
    worker.emit(Body::Header(Box::new(header())));
    worker.introduce();
    while !worker.proc.process(worker.target.pid()).unwrap().command.starts_with('[') {
        std::thread::yield_now();
    }
    worker.introduce();
    let commands: Vec<String> = events
        .try_iter()
        .filter_map(|event| match event.body {
            Body::Watched(watched) => match *watched {
                Watched::Subject(subject) => Some(subject.command),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(commands, ["sh -c exit 3"]);
}

#[test]
fn a_signal_is_an_exit_code_too() {
    let scene = Scene::play("kill -TERM $$", 0, false, None);
    assert_eq!(scene.end().0, WatchEnd::Ended(Some(143)));
}

#[test]
fn a_program_that_is_not_there_is_told_and_leaves_no_file() {
    let words = [OsString::from("/nonexistent/program")];
    let error = Command::start(&words, None).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/program") && error.contains("No such file"), "{error}");
    let mine = format!("umtop-program-{}", std::process::id());
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&mine)));
}

#[test]
fn a_process_is_tried_before_it_is_watched() {
    let proc = ProcFs::default();
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    assert!(try_process(&proc, child.id()).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(try_process(&proc, child.id()).map(|p| p.pid()).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(Path::new("/proc/self/fd").exists());
}
