//! Names of the instructions at which a watched process faults: function, file and line, where its files have them.
//!
//! The work is done on the thread `umtop-symbols`, since debug information can be large; what it finds is an event.

mod image;
mod process;

#[doc(hidden)] // for tests that bring files of their own
pub use image::Image;

use crate::clock::Clock;
use crate::event::{Body, Event, UvmTick, Watched};
use crate::probe::Emit;
use crate::probe::process::ProcFs;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use process::Processes;
use std::collections::BTreeSet;
use std::io;

/// Instructions and threads that are named in a session; there is a line on the screen for few of them.
const MAX_NAMED: usize = 4_096;
/// Requests that may wait. What finds no room is asked for again by its next window.
const WAITING: usize = 256;

enum Request {
    /// Read the mappings while the process lives.
    Meet(u32),
    Site(u32, u64),
    Thread(u32, u32),
}

/// Asks for the names of what windows tell of. Dropping every clone ends the thread.
#[derive(Clone, Debug)]
pub struct Namer {
    requests: Sender<Request>,
    sites: BTreeSet<(u32, u64)>,
    threads: BTreeSet<(u32, u32)>,
}

impl Namer {
    /// Starts the thread, whose names go to `emit`.
    pub fn start(proc: ProcFs, clock: Clock, emit: Emit) -> io::Result<Self> {
        let (requests, inbox) = bounded(WAITING);
        std::thread::Builder::new()
            .name("umtop-symbols".to_owned())
            .spawn(move || answer(proc, clock, &inbox, emit))?;
        Ok(Self { requests, sites: BTreeSet::new(), threads: BTreeSet::new() })
    }

    /// A process is watched from now on: its mappings are read, as it may end before its instructions are asked for.
    pub fn meet(&self, pid: u32) {
        let _ = self.requests.try_send(Request::Meet(pid));
    }

    /// Asks for the names of everything new in a window. Never waits.
    pub fn see(&mut self, tick: &UvmTick) {
        let Some(events) = &tick.events else { return };
        for site in &events.cpu_sites {
            let (at, by) = ((site.pid, site.pc), (site.pid, site.tid));
            if self.sites.len() < MAX_NAMED && !self.sites.contains(&at) && self.ask(Request::Site(site.pid, site.pc)) {
                self.sites.insert(at);
            }
            if self.threads.len() < MAX_NAMED && !self.threads.contains(&by) && self.ask(Request::Thread(by.0, by.1)) {
                self.threads.insert(by);
            }
        }
    }

    /// Whether there was room for it, or nobody left to ask.
    fn ask(&self, request: Request) -> bool {
        !matches!(self.requests.try_send(request), Err(TrySendError::Full(_)))
    }
}

fn answer(proc: ProcFs, clock: Clock, inbox: &Receiver<Request>, mut emit: Emit) {
    let mut processes = Processes::new(proc.clone());
    for request in inbox {
        let watched = match request {
            Request::Meet(pid) => {
                processes.meet(pid);
                continue;
            }
            Request::Site(pid, pc) => Watched::Site(processes.name(pid, pc)),
            Request::Thread(pid, tid) => match proc.thread_name(pid, tid) {
                Some(name) => Watched::Thread { pid, tid, name },
                None => continue,
            },
        };
        emit(Event { at: clock.now(), body: Body::Watched(Box::new(watched)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CpuSite, TraceLevel, UvmEvents};
    use crate::units::Nanos;
    use crossbeam_channel::unbounded;

    #[inline(never)]
    fn a_function_of_this_test() -> u64 {
        std::hint::black_box(17)
    }

    fn window(pc: u64) -> UvmTick {
        let pid = std::process::id();
        let cpu_sites = vec![CpuSite { pid, tid: pid, pc, faults: 2 }];
        let events = Some(Box::new(UvmEvents { cpu_sites, ..UvmEvents::default() }));
        UvmTick { window: Nanos::millis(10), level: TraceLevel::Faults, counters: None, events }
    }

    #[test]
    fn an_instruction_of_this_test_is_named_once_with_function_and_line() {
        a_function_of_this_test();
        let (out, events) = unbounded();
        let mut namer =
            Namer::start(ProcFs::default(), Clock::start(), Box::new(move |event| drop(out.send(event)))).unwrap();
        namer.meet(std::process::id());
        let tick = window(a_function_of_this_test as fn() -> u64 as usize as u64);
        (0..3).for_each(|_| namer.see(&tick));
        drop(namer);
        let named: Vec<Watched> = events
            .iter()
            .map(|event: Event| match event.body {
                Body::Watched(watched) => *watched,
                other => panic!("{other:?}"),
            })
            .collect();
        let [Watched::Site(site), Watched::Thread { name, .. }] = named.as_slice() else { panic!("{named:?}") };
        assert!(site.function.as_ref().is_some_and(|f| f.contains("a_function_of_this_test")), "{site:?}");
        assert!(site.place.as_ref().is_some_and(|place| place.contains("symbols/mod.rs:")), "{site:?}");
        assert!(!name.is_empty() && !site.module.is_empty());
    }
}
