//! The one place that every event passes: to the session, and to the recorder if one runs.

use crate::event::{Body, Event, Level, Notice, RunEvent, Watched};
use crate::recording::{WriteError, Writer};
use crate::units::Stamp;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Events that may wait for the recorder: minutes of normal work.
const RECORDER_QUEUE: usize = 65_536;

/// Takes events from every thread, in one order for the session and for the recorder, so that a recording folds to the
/// same session.
#[derive(Clone)]
pub struct Sink {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    events: Sender<Event>,
    /// What came before the header, which is always first: probes start before everything about them is known.
    early: Option<Vec<Event>>,
    recorder: Option<Recorder>,
    opening: Opening,
}

struct Recorder {
    queue: Sender<Event>,
    thread: JoinHandle<Result<(), WriteError>>,
}

/// What a recording that starts in mid-session must begin with to make sense: header, ranges, the present run.
#[derive(Default)]
struct Opening {
    header: Option<Event>,
    ranges: Vec<Event>,
    /// The run's start, and whether it is paused or has ended.
    run: Vec<Event>,
    /// Who is watched, what was named of it, and where it stands.
    watched: Vec<Event>,
}

impl Sink {
    /// A sink and the session's end of the channel. When `capacity` events wait, senders wait too.
    pub fn new(capacity: usize) -> (Self, Receiver<Event>) {
        let (events, receiver) = bounded(capacity);
        let shared = Shared { events, early: Some(Vec::new()), recorder: None, opening: Opening::default() };
        (Self { shared: Arc::new(Mutex::new(shared)) }, receiver)
    }

    /// Passes an event on; `false` if nobody listens any more. Events before the header wait for it.
    pub fn send(&self, event: Event) -> bool {
        let mut shared = self.lock();
        match &mut shared.early {
            Some(early) if !matches!(event.body, Body::Header(_)) => {
                early.push(event);
                true
            }
            early => {
                let early = early.take().unwrap_or_default();
                std::iter::once(event).chain(early).all(|e| shared.pass(e))
            }
        }
    }

    /// A function for a probe's thread.
    pub fn emitter(&self) -> crate::probe::Emit {
        let sink = self.clone();
        Box::new(move |event| {
            sink.send(event);
        })
    }

    /// Starts recording to a new file, beginning with what is already known of the session.
    pub fn record(&self, path: &Path) -> Result<(), WriteError> {
        let mut writer = Writer::create(path)?;
        let mut shared = self.lock();
        shared.opening.iter().try_for_each(|e| writer.write(e))?;
        let (queue, events) = bounded(RECORDER_QUEUE);
        let thread = std::thread::Builder::new()
            .name("umtop-recorder".to_owned())
            .spawn(move || record(writer, &events))
            .map_err(|error| WriteError::Io { path: path.to_owned(), error })?;
        shared.recorder = Some(Recorder { queue, thread });
        Ok(())
    }

    /// Ends the recording, if one runs: everything sent so far is in the file when this returns.
    pub fn stop_recording(&self) -> Result<(), WriteError> {
        let recorder = self.lock().recorder.take();
        recorder.map_or(Ok(()), Recorder::finish)
    }

    /// Whether a recording runs.
    pub fn recording(&self) -> bool {
        self.lock().recorder.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn pass(&mut self, event: Event) -> bool {
        self.opening.note(&event);
        if let Some(recorder) = &self.recorder
            && recorder.queue.send(event.clone()).is_err()
        {
            self.stop_recording(event.at);
        }
        self.events.send(event).is_ok()
    }

    /// The recorder has given up (disk full, file gone): say so once and go on without it.
    fn stop_recording(&mut self, at: Stamp) {
        let Some(Err(error)) = self.recorder.take().map(Recorder::finish) else { return };
        let text = format!("recording stopped: {error}");
        let body = Body::Notice(Notice { level: Level::Error, source: "recording".to_owned(), text });
        // Nobody listening is found out by the caller's own send.
        let _ = self.events.send(Event { at, body });
    }
}

impl Recorder {
    fn finish(self) -> Result<(), WriteError> {
        drop(self.queue);
        self.thread.join().unwrap_or(Ok(()))
    }
}

fn record(mut writer: Writer, events: &Receiver<Event>) -> Result<(), WriteError> {
    events.iter().try_for_each(|event| writer.write(&event))?;
    writer.finish()
}

impl Opening {
    fn note(&mut self, event: &Event) {
        match &event.body {
            Body::Header(_) => self.header = Some(event.clone()),
            Body::Allocated(_) => self.ranges.push(event.clone()),
            Body::Freed { address } => {
                self.ranges.retain(|e| !matches!(&e.body, Body::Allocated(range) if range.address == *address))
            }
            Body::Watched(watched) => self.note_watched(watched, event),
            Body::Run(RunEvent::Started(_)) => self.run = vec![event.clone()],
            Body::Run(RunEvent::Ended { .. }) => self.run.push(event.clone()),
            Body::Run(RunEvent::Paused(_)) => {
                self.run.retain(|e| !matches!(e.body, Body::Run(RunEvent::Paused(_))));
                self.run.push(event.clone());
            }
            _ => {}
        }
    }

    /// Of each kind the newest counts, of names each one (there are 4 096 at most); output that has gone by is gone.
    fn note_watched(&mut self, watched: &Watched, event: &Event) {
        let kind = std::mem::discriminant(watched);
        match watched {
            Watched::Output { .. } => return,
            Watched::Site(_) | Watched::Thread { .. } => {}
            _ => self
                .watched
                .retain(|e| !matches!(&e.body, Body::Watched(old) if std::mem::discriminant(&**old) == kind)),
        }
        self.watched.push(event.clone());
    }

    fn iter(&self) -> impl Iterator<Item = &Event> {
        self.header.iter().chain(&self.watched).chain(&self.ranges).chain(&self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Outcome, Range, RunId, RunStart};
    use crate::recording::Reader;
    use crate::units::Bytes;

    fn notice(at: u64) -> Event {
        let notice = Notice { level: Level::Info, source: "t".into(), text: String::new() };
        Event { at: Stamp(at), body: Body::Notice(notice) }
    }

    fn allocated(address: u64) -> Event {
        let memory = crate::event::MemoryKind::Managed;
        Event { at: Stamp(1), body: Body::Allocated(Range { address, bytes: Bytes(1), memory, label: String::new() }) }
    }

    fn header() -> Event {
        let header = crate::event::Header {
            umtop: String::new(),
            started: String::new(),
            origin: crate::event::Origin::Measured,
            gpu: None,
            second_gpu: None,
            host: crate::event::HostInfo { kernel: String::new(), cpu: String::new(), cores: 1, memory: Bytes(1) },
            caps: crate::workload::plan_tests::caps(),
            uvm_params: Default::default(),
            probes: Vec::new(),
        };
        Event { at: Stamp(0), body: Body::Header(Box::new(header)) }
    }

    #[test]
    fn the_header_is_first_whatever_the_probes_say_before_it() {
        let (sink, receiver) = Sink::new(8);
        [notice(1), notice(2), header(), notice(3)].into_iter().for_each(|e| assert!(sink.send(e)));
        drop(sink);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), vec![header(), notice(1), notice(2), notice(3)]);
    }

    #[test]
    fn a_recording_begun_in_a_pause_or_after_a_failure_says_so() {
        let run = |event| Event { at: Stamp(1), body: Body::Run(event) };
        let settings = crate::workload::plan_tests::settings("sequential", "1MiB");
        let trace = settings.trace;
        let start =
            RunStart { run: RunId(1), settings, label: None, trace, timed: Vec::new(), expected: None, gpus: 1 };
        let failed = RunEvent::Ended { run: RunId(1), outcome: Outcome::Failed("no".into()) };
        let mut opening = Opening::default();
        let mut opens = |event: RunEvent| {
            opening.note(&run(event));
            opening.iter().cloned().collect::<Vec<_>>()
        };
        let started = RunEvent::Started(start);
        assert_eq!(opens(started.clone()), [run(started.clone())]);
        opens(RunEvent::Paused(true));
        opens(RunEvent::Paused(false));
        assert_eq!(opens(RunEvent::Paused(true)), [run(started.clone()), run(RunEvent::Paused(true))]);
        assert_eq!(opens(started.clone()), [run(started.clone())]);
        assert_eq!(opens(failed.clone()), [run(started), run(failed)]);
    }

    #[test]
    fn a_recording_begun_late_opens_with_what_is_alive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("late.umr");
        let (sink, receiver) = Sink::new(64);
        for event in
            [header(), allocated(1), allocated(2), Event { at: Stamp(2), body: Body::Freed { address: 1 } }, notice(3)]
        {
            assert!(sink.send(event));
        }
        sink.record(&path).unwrap();
        sink.send(notice(4));
        sink.stop_recording().unwrap();
        sink.send(notice(5));
        let mut reader = Reader::open(&path).unwrap();
        let read: Vec<Event> = std::iter::from_fn(|| reader.next_event().unwrap()).collect();
        assert_eq!(read, vec![header(), allocated(2), notice(4)]);
        drop(sink);
        assert_eq!(receiver.iter().count(), 7);
    }
}
