//! The managed ranges of watched processes, and what of them the CPU maps.

use super::maps::of_node;
use super::{Mapping, ProcFs, mapped_pages};
use crate::clock::Clock;
use crate::event::{Body, Event, Level, Mapped, MemoryKind, Notice, ProbeInfo, Range};
use crate::probe::Probe;
use crate::units::{Bytes, Nanos, Stamp};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// Period of looking.
const PERIOD: Nanos = Nanos::millis(1_000);
/// A look that took time t is followed by 19 t of rest: 5 % of a core at most.
const REST: u64 = 19;
/// Ranges told of. A program that allocates piece by piece has thousands; the largest are kept.
const MAX_RANGES: usize = 256;

/// The processes to look at, shared with whoever finds them.
#[derive(Clone, Debug, Default)]
pub struct Watchlist(Arc<Mutex<Vec<u32>>>);

impl Watchlist {
    /// These and no others from now on.
    pub fn set(&self, pids: Vec<u32>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pids;
    }

    /// The processes.
    pub fn get(&self) -> Vec<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tells of ranges that come, go, and are mapped otherwise than before.
pub struct RangesProbe {
    proc: ProcFs,
    clock: Clock,
    watched: Watchlist,
    /// Ranges told of by address: process, end, newest presence.
    known: BTreeMap<u64, (u32, u64, Vec<u16>)>,
    not_before: Stamp,
    refused: bool,
}

impl RangesProbe {
    /// Looks at the processes of the list.
    pub fn new(proc: ProcFs, clock: Clock, watched: Watchlist) -> Self {
        Self { proc, clock, watched, known: BTreeMap::new(), not_before: Stamp(0), refused: false }
    }

    /// The ranges that there are now by address: process and end. Where two processes have one address, the first counts.
    fn found(&self) -> BTreeMap<u64, (u32, u64)> {
        let mut all: Vec<(u32, Mapping)> = Vec::new();
        for pid in self.watched.get() {
            let maps = self.proc.maps(pid).unwrap_or_default();
            all.extend(of_node(&maps, &self.proc.node).map(|mapping| (pid, mapping.clone())));
        }
        all.sort_by_key(|(_, mapping)| std::cmp::Reverse(mapping.end - mapping.start));
        all.truncate(MAX_RANGES);
        let mut found = BTreeMap::new();
        for (pid, mapping) in all {
            found.entry(mapping.start).or_insert((pid, mapping.end));
        }
        found
    }

    fn presence(&mut self, now: Stamp, out: &mut Vec<Event>) {
        let mut files: BTreeMap<u32, std::io::Result<File>> = BTreeMap::new();
        for (address, (pid, end, before)) in &mut self.known {
            let file = files.entry(*pid).or_insert_with(|| File::open(self.proc.path(*pid, "pagemap")));
            let read = file.as_ref().map_err(ToString::to_string);
            let read = read.and_then(|file| mapped_pages(file, *address, *end).map_err(|error| error.to_string()));
            match read {
                Ok(pages) if pages != *before => {
                    before.clone_from(&pages);
                    out.push(Event { at: now, body: Body::Mapped(Mapped { address: *address, pages }) });
                }
                Ok(_) => {}
                // A process that is ending has none; one that may not be read is told of once.
                Err(error) if !std::mem::replace(&mut self.refused, true) => {
                    let text = format!("which pages the CPU maps is not known: /proc/{pid}/pagemap: {error}");
                    let notice = Notice { level: Level::Info, source: "ranges".to_owned(), text };
                    out.push(Event { at: now, body: Body::Notice(notice) });
                }
                Err(_) => {}
            }
        }
    }
}

impl Probe for RangesProbe {
    fn info(&self) -> ProbeInfo {
        ProbeInfo {
            name: "ranges".to_owned(),
            method: "/proc/PID/maps and pagemap of the watched process".to_owned(),
            period: PERIOD,
            note: "seldomer where there is much memory".to_owned(),
            cost: "5 % of a core at most".to_owned(),
        }
    }

    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>) {
        if now < self.not_before {
            return;
        }
        let found = self.found();
        let gone: Vec<u64> = self
            .known
            .iter()
            .filter(|(at, (pid, end, _))| found.get(at) != Some(&(*pid, *end)))
            .map(|(at, _)| *at)
            .collect();
        for address in gone {
            self.known.remove(&address);
            out.push(Event { at: now, body: Body::Freed { address } });
        }
        for (address, (pid, end)) in found {
            if let std::collections::btree_map::Entry::Vacant(new) = self.known.entry(address) {
                new.insert((pid, end, Vec::new()));
                let label = format!("managed range of {pid}");
                let range = Range { address, bytes: Bytes(end - address), memory: MemoryKind::Managed, label };
                out.push(Event { at: now, body: Body::Allocated(range) });
            }
        }
        self.presence(now, out);
        let took = self.clock.now().since(now);
        self.not_before = now.plus(Nanos(took.0 * (1 + REST)));
    }
}
