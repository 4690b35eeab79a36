//! The thread `umtop-uvm` and the handle on it.

use super::error::{ILLEGAL_ACTION, UvmError};
use super::reader::Reader;
use super::tracker::{CounterTracker, choose, own_uvm_fds};
use super::window::Windows;
use crate::clock::Clock;
use crate::event::{Body, Counters, Event, Level, Notice, TraceLevel, UvmTotals, Why};
use crate::probe::{Emit, NotAdded, SpaceId, SpaceTracer, Tracer};
use crate::units::{Nanos, Stamp};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the queue: a 0.5 ms poll never found more than 12 114 entries.
const DRAIN_PERIOD: Duration = Duration::from_millis(1);
/// Length of a window in which something happens.
const TICK: Nanos = Nanos::millis(10);
/// After this long without anything told, the queue is looked at once a window, and flushed once a [`RESTING_FLUSH`]: on an
/// H200 a thousand looks a second cost 2.4 % of a core, all the time.
const RESTS_AFTER: Nanos = Nanos::millis(200);
/// Between two flushes while nothing is told: some events (of a prefetch) come by a flush alone.
const RESTING_FLUSH: Nanos = Nanos::millis(50);
/// How long the handle waits for an answer.
const DEADLINE: Duration = Duration::from_secs(2);

enum Request {
    /// GPUs by UUID, in the session's order.
    Name(Vec<String>),
    Level(TraceLevel, Sender<(TraceLevel, Option<Why>)>),
    Settle(Sender<(TraceLevel, Option<UvmTotals>)>),
    Reattach(Sender<Result<(), UvmError>>),
    Add(OwnedFd, u32, Sender<Result<SpaceId, UvmError>>),
    Remove(SpaceId, Sender<()>),
}

/// Watches the Unified Memory of a process. Dropping it ends its thread.
pub struct UvmTracer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    ended: Receiver<()>,
    level: TraceLevel,
}

/// Watches this process, which has a CUDA context, at the level or the best one below it (a notice says so).
pub fn attach(clock: Clock, level: TraceLevel, emit: Emit) -> Result<UvmTracer, UvmError> {
    attach_to(own_uvm_fds(), clock, level, emit)
}

/// Watches the process that the `/dev/nvidia-uvm` files belong to: the first that is an address space.
pub fn attach_to(candidates: Vec<OwnedFd>, clock: Clock, level: TraceLevel, emit: Emit) -> Result<UvmTracer, UvmError> {
    let (uvm, counters) = choose(candidates)?;
    let mut tracer = start(Reader::new(uvm, counters), clock, emit)?;
    tracer.set_level(level);
    Ok(tracer)
}

/// Watches address spaces that are added later, at the level.
pub fn await_spaces(clock: Clock, level: TraceLevel, emit: Emit) -> Result<UvmTracer, UvmError> {
    let mut tracer = start(Reader::awaiting(), clock, emit)?;
    tracer.set_level(level);
    Ok(tracer)
}

fn start(reader: Reader, clock: Clock, emit: Emit) -> Result<UvmTracer, UvmError> {
    let (requests, inbox) = unbounded();
    let (end, ended) = bounded(0);
    let level = reader.level();
    let now = clock.now();
    let watch =
        Watch { reader, windows: Windows::new(now), clock, emit, flush_failed: false, heard: now, flushed: now };
    let thread = std::thread::Builder::new()
        .name("umtop-uvm".to_owned())
        .spawn(move || {
            watch.run(&inbox);
            drop(end);
        })
        .map_err(UvmError::Thread)?;
    Ok(UvmTracer { requests: Some(requests), thread: Some(thread), ended, level })
}

impl UvmTracer {
    /// Finds this process's own address space anew, after its context was reset. The level stays if it can, and totals
    /// begin at zero. After an error the level is off.
    pub fn reattach(&mut self) -> Result<(), UvmError> {
        let attached = self.ask(Request::Reattach).unwrap_or(Err(UvmError::Stalled));
        let level = if attached.is_ok() { self.level } else { TraceLevel::Off };
        self.set_level(level);
        attached
    }

    /// Numbers GPUs as the session does: the first of `uuids` is GPU 0, and so on.
    pub fn name_gpus(&self, uuids: Vec<String>) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(Request::Name(uuids));
        }
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = bounded(1);
        self.requests.as_ref()?.send(request(answer)).ok()?;
        answered.recv_timeout(DEADLINE).ok()
    }
}

impl Tracer for UvmTracer {
    fn level(&self) -> TraceLevel {
        self.level
    }

    fn set_level(&mut self, level: TraceLevel) -> (TraceLevel, Option<Why>) {
        let answer = self.ask(|answer| Request::Level(level, answer));
        let (reached, why) = answer.unwrap_or_else(|| (self.level, Some(UvmError::Stalled.why())));
        self.level = reached;
        (reached, why)
    }

    fn settle(&mut self) -> Option<UvmTotals> {
        let (level, totals) = self.ask(Request::Settle)?;
        // The thread goes to a lower level by itself when the queue makes no sense.
        self.level = level;
        totals
    }

    fn reattach(&mut self) -> Result<(), Why> {
        UvmTracer::reattach(self).map_err(|error| error.why())
    }
}

impl SpaceTracer for UvmTracer {
    fn add(&mut self, uvm: OwnedFd, pid: u32) -> Result<SpaceId, NotAdded> {
        let added = self.ask(|answer| Request::Add(uvm, pid, answer)).unwrap_or(Err(UvmError::Stalled));
        added.map_err(|error| match error {
            UvmError::Refused { status: ILLEGAL_ACTION, .. } => NotAdded::NotYet,
            error => NotAdded::Failed(error.why()),
        })
    }

    fn remove(&mut self, space: SpaceId) {
        let _ = self.ask(|answer| Request::Remove(space, answer));
    }
}

impl Drop for UvmTracer {
    fn drop(&mut self) {
        self.requests = None;
        // A call into the driver that hangs must not hang the program: then the thread is left to end with the process.
        let in_time = self.ended.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Disconnected);
        if let Some(thread) = self.thread.take().filter(|_| in_time) {
            let _ = thread.join();
        }
    }
}

struct Watch {
    reader: Reader,
    windows: Windows,
    clock: Clock,
    emit: Emit,
    flush_failed: bool,
    /// When the driver last told something of ours.
    heard: Stamp,
    /// When it was last made to deliver what it holds.
    flushed: Stamp,
}

impl Watch {
    fn run(mut self, inbox: &Receiver<Request>) {
        loop {
            let wait = match self.reader.level() {
                TraceLevel::Off => Duration::from_millis(100),
                _ if self.reader.idle() => Duration::from_millis(100),
                _ if self.rests() => Duration::from_nanos(TICK.0),
                TraceLevel::Counters => Duration::from_nanos(TICK.0),
                TraceLevel::Faults | TraceLevel::Full => DRAIN_PERIOD,
            };
            match inbox.recv_timeout(wait) {
                Ok(request) => self.answer(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.tick(),
            }
            self.reader.drain();
            let now = self.clock.now();
            if now.since(self.windows.begun()) >= TICK {
                if !self.rests() || now.since(self.flushed) >= RESTING_FLUSH {
                    self.flush();
                }
                self.end_window();
            }
        }
    }

    /// Whether nothing has been told for so long that looking seldom loses nothing: a queue of the full size holds a second.
    fn rests(&self) -> bool {
        self.clock.now().since(self.heard) >= RESTS_AFTER && self.reader.shrunk_to().is_none()
    }

    fn flush(&mut self) {
        self.flushed = self.clock.now();
        if let Err(error) = self.reader.flush()
            && !std::mem::replace(&mut self.flush_failed, true)
        {
            self.notice(Level::Warning, format!("{error}: counts may come late"));
        }
        self.reader.drain();
    }

    fn answer(&mut self, request: Request) {
        match request {
            Request::Level(level, answer) => {
                self.tick();
                let why = self.set_level(level).err().map(|error| error.why());
                let _ = answer.send((self.reader.level(), why));
            }
            Request::Name(uuids) => self.reader.name_gpus(uuids),
            Request::Settle(answer) => {
                self.tick();
                self.reader.learn_gpus();
                let _ = answer.send((self.reader.level(), self.reader.totals()));
            }
            Request::Reattach(answer) => {
                self.tick();
                // The old file must be gone before the search, or it would be found again.
                let names = self.reader.names();
                self.reader = Reader::detached();
                self.windows = Windows::new(self.clock.now());
                self.flush_failed = false;
                let attached = choose(own_uvm_fds()).map(|(uvm, counters)| self.reader = Reader::new(uvm, counters));
                self.reader.name_gpus(names);
                let _ = answer.send(attached);
            }
            Request::Add(uvm, pid, answer) => {
                let _ = answer.send(self.add(uvm, pid));
            }
            Request::Remove(space, answer) => {
                // The process may have ended, so that its file answers no request: what it told counts all the same.
                let told = std::mem::replace(&mut self.flush_failed, true);
                self.tick();
                self.flush_failed = told;
                self.reader.remove(space);
                let _ = answer.send(());
            }
        }
    }

    fn add(&mut self, uvm: OwnedFd, pid: u32) -> Result<SpaceId, UvmError> {
        let counters = CounterTracker::open(uvm.as_fd())?;
        self.tick();
        if self.reader.idle() {
            self.windows = Windows::new(self.clock.now());
        }
        let wanted = self.reader.level();
        let shrunk_before = self.reader.shrunk_to();
        let (id, reached) = self.reader.add(uvm, counters, pid);
        self.tell(wanted, &reached, shrunk_before);
        Ok(id)
    }

    fn set_level(&mut self, level: TraceLevel) -> Result<(), UvmError> {
        let shrunk_before = self.reader.shrunk_to();
        let reached = self.reader.set_level(level);
        self.tell(level, &reached, shrunk_before);
        reached
    }

    /// Says what could not be had as wished.
    fn tell(&mut self, level: TraceLevel, reached: &Result<(), UvmError>, shrunk_before: Option<usize>) {
        if let Err(error) = reached {
            let text = format!("trace level {} instead of {level}: {error}", self.reader.level());
            self.notice(Level::Warning, text);
        }
        if let Some(entries) = self.reader.shrunk_to().filter(|_| shrunk_before.is_none()) {
            let text = format!("the driver could pin only {entries} queue entries: events may be lost under load");
            self.notice(Level::Warning, text);
        }
    }

    /// Has everything delivered and ends the window.
    fn tick(&mut self) {
        if !self.reader.idle() {
            self.flush();
        }
        self.end_window();
    }

    fn end_window(&mut self) {
        if self.reader.idle() {
            // Nothing is watched, which is not the same as nothing happening: there is no window to tell of.
            self.windows = Windows::new(self.clock.now());
            return;
        }
        let (counters, events) = self.reader.take();
        let now = self.clock.now();
        // Replays of other processes come to everybody: they are no reason to stay awake.
        if events.is_some() || counters.unwrap_or_default() != Counters::default() {
            self.heard = now;
        }
        for (at, tick) in self.windows.end(now, self.reader.level(), counters, events).into_iter().flatten() {
            (self.emit)(Event { at, body: Body::Uvm(Box::new(tick)) });
        }
        if let Some(error) = self.reader.senseless() {
            let _ = self.reader.set_level(TraceLevel::Counters);
            self.notice(Level::Error, format!("trace level {} from now on: {error}", self.reader.level()));
        }
    }

    fn notice(&mut self, level: Level, text: String) {
        let body = Body::Notice(Notice { level, source: "uvm".to_owned(), text });
        (self.emit)(Event { at: self.clock.now(), body });
    }
}

#[cfg(test)]
mod tests;
