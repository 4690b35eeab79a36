//! Which pages of our managed ranges the CPU maps: `/proc/self/pagemap`, bit 63. Needs no privilege.
//!
//! Told of ranges and of the driver's windows by whoever passes events on, it reads again only what may have changed:
//! blocks named in a window, else every block once bytes have moved or pages have faulted, else (where nothing is traced)
//! every block at each period. It uses at most [`BUDGET`] of each [`PERIOD`]; what is left over waits for the next.
//! Mapped is not resident: the session decides what it proves.

use super::Emit;
use crate::clock::Clock;
use crate::event::{Body, Event, Mapped, MemoryKind, ProbeInfo, Range, TraceLevel, UvmTick};
use crate::units::{BLOCK, Nanos, PAGE, Stamp};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Period of looking.
const PERIOD: Nanos = Nanos::millis(50);
/// Time of a period that may go into reading: 4 % of one core. 1 GiB takes 2.1–4.4 ms on the machine of the recordings.
const BUDGET: Nanos = Nanos::millis(2);
/// Bit of a pagemap entry that says that the page is present in the CPU's page table.
const PRESENT: u64 = 1 << 63;
/// Bytes of a pagemap entry.
const ENTRY: u64 = 8;
/// Ranges above this are not looked at: 256 GiB would be 512 MiB of entries.
const MAX_BLOCKS: u64 = 131_072;

/// How the page tables are read, for the list of probes.
pub fn info() -> ProbeInfo {
    ProbeInfo {
        name: "pagemap".to_owned(),
        method: "/proc/self/pagemap, bit 63, of blocks that may have changed".to_owned(),
        period: PERIOD,
        note: "mapped by the CPU, which is not the same as resident".to_owned(),
        cost: format!("at most {} of {}, 4.4 ms a GiB", BUDGET, PERIOD),
    }
}

/// What is to be looked at.
#[derive(Debug)]
struct Watched {
    address: u64,
    bytes: u64,
    pages: Vec<u16>,
    /// Blocks that may have changed since they were read.
    stale: Vec<bool>,
    /// Something was read again since the last event.
    news: bool,
}

#[derive(Debug, Default)]
struct Shared {
    ranges: Vec<Watched>,
    /// Whether the driver's windows tell of changes.
    traced: bool,
}

/// Takes in what may change page tables. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Arc<Mutex<Shared>>);

impl Ranges {
    /// Takes note of a range that comes or goes, of a window of the driver, of a run's level; others are ignored.
    pub fn note(&self, body: &Body) {
        match body {
            Body::Allocated(range) => self.allocated(range),
            Body::Freed { address } => self.lock().ranges.retain(|known| known.address != *address),
            Body::Uvm(tick) => self.tick(tick),
            Body::Run(crate::event::RunEvent::Started(start)) => {
                self.lock().traced = start.trace > TraceLevel::Off;
            }
            _ => {}
        }
    }

    /// An emitter that takes note of what passes it.
    pub fn tap(&self, mut emit: Emit) -> Emit {
        let ranges = self.clone();
        Box::new(move |event| {
            ranges.note(&event.body);
            emit(event);
        })
    }

    fn allocated(&self, range: &Range) {
        let (address, bytes) = (range.address, range.bytes.0);
        let Some(end) = address.checked_add(bytes) else { return };
        let blocks = (end - (address - address % BLOCK)).div_ceil(BLOCK);
        if range.memory != MemoryKind::Managed || bytes == 0 || blocks > MAX_BLOCKS {
            return;
        }
        let blocks = blocks as usize;
        let watched = Watched { address, bytes, pages: vec![0; blocks], stale: vec![true; blocks], news: true };
        self.lock().ranges.push(watched);
    }

    fn tick(&self, tick: &UvmTick) {
        let moved = tick.counters.is_some_and(|c| c.bytes_htod + c.bytes_dtoh + c.cpu_faults + c.gpu_faults > 0);
        let named = tick.events.as_ref().map_or(&[][..], |events| &events.blocks);
        let mut shared = self.lock();
        // Below level full a prefetch moves pages that no event names.
        if moved && tick.level < TraceLevel::Full {
            shared.ranges.iter_mut().for_each(|range| range.stale.fill(true));
            return;
        }
        for range in &mut shared.ranges {
            let first = range.address / BLOCK;
            for activity in named {
                let index = activity.block.checked_sub(first).map(|i| i as usize);
                if let Some(stale) = index.and_then(|i| range.stale.get_mut(i)) {
                    *stale = true;
                }
            }
        }
    }

    /// Reads stale blocks until the budget is spent, then gives what is new of each range.
    fn look(&self, pagemap: &File, clock: &Clock, out: &mut Vec<Event>) {
        let began = clock.now();
        let mut shared = self.lock();
        let Shared { ranges, traced } = &mut *shared;
        for range in ranges {
            if !*traced && !range.stale.contains(&true) {
                range.stale.fill(true);
            }
            // What is read may be as old as the beginning of reading.
            let at = clock.now();
            range.look(pagemap, clock, began);
            if std::mem::take(&mut range.news) {
                let mapped = Mapped { address: range.address, pages: range.pages.clone() };
                out.push(Event { at, body: Body::Mapped(mapped) });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Reads stale blocks while the budget lasts.
    fn look(&mut self, pagemap: &File, clock: &Clock, began: Stamp) {
        for i in 0..self.stale.len() {
            if !self.stale[i] {
                continue;
            }
            if clock.now().since(began) >= BUDGET {
                return;
            }
            self.stale[i] = false;
            // A range that is just going away cannot be read: it is no news.
            if let Ok(mapped) = self.count(pagemap, i as u64) {
                self.news = true;
                self.pages[i] = mapped;
            }
        }
    }

    /// Pages of a block that the CPU maps.
    fn count(&self, pagemap: &File, block: u64) -> io::Result<u16> {
        let first = self.address - self.address % BLOCK + block * BLOCK;
        let (from, to) = (first.max(self.address), first.saturating_add(BLOCK).min(self.address + self.bytes));
        let mut entries = [0u8; (BLOCK / PAGE * ENTRY) as usize];
        let pages = (to - from).div_ceil(PAGE) as usize;
        let wanted = &mut entries[..pages * ENTRY as usize];
        pagemap.read_exact_at(wanted, from / PAGE * ENTRY)?;
        let (wanted, _) = wanted.as_chunks::<{ ENTRY as usize }>();
        Ok(wanted.iter().filter(|entry| u64::from_le_bytes(**entry) & PRESENT != 0).count() as u16)
    }
}

/// The thread that looks; it ends when this is dropped.
pub struct PagemapProbe {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PagemapProbe {
    /// Starts the thread `umtop-pagemap`.
    ///
    /// # Errors
    /// If the process may not read its own page map, or no thread can be had.
    pub fn start(ranges: Ranges, clock: Clock, mut emit: Emit) -> io::Result<Self> {
        let pagemap = File::open("/proc/self/pagemap")?;
        let (stop, stopped) = bounded::<()>(0);
        let period = Duration::from_nanos(PERIOD.0);
        let thread = std::thread::Builder::new().name("umtop-pagemap".to_owned()).spawn(move || {
            let mut events = Vec::new();
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                ranges.look(&pagemap, &clock, &mut events);
                events.drain(..).for_each(&mut emit);
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for PagemapProbe {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic was told by the panic hook.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
