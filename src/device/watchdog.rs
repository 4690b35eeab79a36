//! Says so when a call into the driver does not return. It cannot be ended, but whoever waits must know.

use super::{Buffer, Device, DeviceError, Lane, MemoryFree, Part, Recovery, Span, Touch, Touched, Transfer};
use crate::clock::Clock;
use crate::event::{Advice, Body, Caps, Event, Level, MemoryKind, Notice, Proc};
use crate::units::{Bytes, Nanos, Stamp};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the notices of the watchdog say that they come from.
pub const SOURCE: &str = "watchdog";

/// What it may mean that a call into a real driver does not return, and what to do.
pub const DRIVER_HANGS: &str = "it still works, or the GPU hangs (see dmesg for Xid lines); q or Ctrl-C leaves, and the driver takes \
                                the memory back";
/// The same of the simulator, which computes large footprints slower than a card works.
pub const STILL_SIMULATES: &str =
    "it is still being simulated; wait, choose a smaller --size, or leave with q or Ctrl-C";

/// A device whose calls are watched.
pub struct Watchdog {
    inner: Box<dyn Device>,
    clock: Clock,
    under_way: Overdue,
    /// Its end ends the thread.
    _alive: Sender<()>,
}

/// Whether a call is overdue.
#[derive(Clone, Debug, Default)]
pub struct Overdue(Arc<Mutex<Option<UnderWay>>>);

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    what: &'static str,
    /// When it began, on the watchdog's clock.
    since: Stamp,
    /// When it began, on the device's.
    at: Stamp,
    told: bool,
}

impl Overdue {
    /// Whether a call has been told to be overdue and has not returned.
    pub fn is_so(&self) -> bool {
        self.lock().is_some_and(|call| call.told)
    }

    fn lock(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Told once for each call.
    fn tell(&self, now: Stamp, patience: Nanos, meaning: &str, emit: &mut dyn FnMut(Event)) {
        let mut under_way = self.lock();
        let Some(call) = under_way.as_mut().filter(|call| !call.told && now.since(call.since) >= patience) else {
            return;
        };
        call.told = true;
        let text = format!("{} has not returned for {patience}: {meaning}", call.what);
        let event = notice(call.at, Level::Error, text);
        // The lock is not held where somebody may wait.
        drop(under_way);
        emit(event);
    }
}

fn notice(at: Stamp, level: Level, text: String) -> Event {
    Event { at, body: Body::Notice(Notice { level, source: SOURCE.to_owned(), text }) }
}

impl Watchdog {
    /// Watches the calls of a device; `emit` is told when one takes longer than `patience` of real time, and what that means.
    ///
    /// # Errors
    /// If the thread that watches cannot be started.
    pub fn new(
        inner: Box<dyn Device>,
        patience: Duration,
        meaning: &'static str,
        mut emit: Box<dyn FnMut(Event) + Send>,
    ) -> std::io::Result<(Self, Overdue)> {
        let (alive, ended) = bounded::<()>(0);
        let under_way = Overdue::default();
        let (clock, watched) = (Clock::start(), under_way.clone());
        let nanos = Nanos(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        let look = move || {
            // Looked at four times within the patience: late by a quarter at most.
            while ended.recv_timeout(patience / 4) == Err(RecvTimeoutError::Timeout) {
                watched.tell(clock.now(), nanos, meaning, &mut *emit);
            }
        };
        std::thread::Builder::new().name("umtop-watchdog".to_owned()).spawn(look)?;
        Ok((Self { inner, clock, under_way: under_way.clone(), _alive: alive }, under_way))
    }

    fn watch<R>(&mut self, what: &'static str, call: impl FnOnce(&mut dyn Device) -> R) -> R {
        let (since, at) = (self.clock.now(), self.inner.now());
        *self.under_way.lock() = Some(UnderWay { what, since, at, told: false });
        let result = call(self.inner.as_mut());
        *self.under_way.lock() = None;
        result
    }
}

impl Device for Watchdog {
    fn caps(&self) -> &Caps {
        self.inner.caps()
    }

    fn now(&self) -> Stamp {
        self.inner.now()
    }

    fn memory(&mut self) -> Result<MemoryFree, DeviceError> {
        self.watch("asking for free memory", |device| device.memory())
    }

    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        self.watch("an allocation", |device| device.alloc(kind, bytes))
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.watch("giving memory back", |device| device.free(buffer))
    }

    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError> {
        self.watch("advice", |device| device.advise(buffer, advice, set))
    }

    fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        self.watch("a copy or prefetch", |device| device.transfer(buffer, part, how, to))
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        let what = if on == Proc::Cpu { "the CPU's touch" } else { "a kernel" };
        self.watch(what, |device| device.touch(buffer, on, touch))
    }

    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        self.watch("overlapped work", |device| device.overlap(lanes))
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        self.watch("the reset of the context", |device| device.recover())
    }
}
