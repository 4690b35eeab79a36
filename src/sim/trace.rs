//! What the simulated driver tells about its work, at the level asked for.

use crate::event::{Body, Counters, Event, TraceLevel, UvmEvents, UvmTick, UvmTotals};
use crate::probe::uvm::{Record, TickFold};
use crate::units::{Nanos, Stamp};
use std::collections::VecDeque;

/// Length of a tick, ns.
const TICK: u64 = 10_000_000;
/// Longest window into which idle ticks are merged, ns.
const IDLE: u64 = 100_000_000;
/// Ticks kept for a probe that does not come; after that the last one grows instead.
const KEPT: usize = 4096;

/// The driver's counters and event queue.
#[derive(Clone, Debug)]
pub struct Trace {
    level: TraceLevel,
    /// Entries that the ring between driver and reader holds.
    ring: u64,
    /// Entries in it. The reader empties it at the end of each tick, and whenever it is asked for totals.
    queued: u64,
    fold: TickFold,
    counters: Counters,
    /// The counters at the end of the last finished tick.
    told: Counters,
    /// End of the last finished window.
    start: u64,
    /// Start of the running tick; between the two nothing happened.
    tick: u64,
    /// Up to when the running tick has grown because the probe did not come.
    grown: Option<u64>,
    finished: VecDeque<Event>,
}

impl Trace {
    /// A trace at level off, through a ring of so many entries.
    pub fn new(ring: u64) -> Self {
        Self {
            level: TraceLevel::Off,
            ring,
            queued: 0,
            fold: TickFold::default(),
            counters: Counters::default(),
            told: Counters::default(),
            start: 0,
            tick: 0,
            grown: None,
            finished: VecDeque::new(),
        }
    }

    /// The level in force.
    pub fn level(&self) -> TraceLevel {
        self.level
    }

    /// Changes the level from `now` on.
    pub fn set_level(&mut self, level: TraceLevel, now: u64) {
        self.deliver(now);
        if self.level == TraceLevel::Off {
            (self.start, self.tick) = (now, now);
        }
        self.level = level;
        self.fold.set_level(level);
    }

    /// Counts something on the counter page.
    pub fn count(&mut self, change: impl FnOnce(&mut Counters)) {
        if self.level != TraceLevel::Off {
            change(&mut self.counters);
        }
    }

    /// Puts a record into the ring if the level has its kind. A full ring drops it and counts the loss.
    pub fn add(&mut self, record: &Record) {
        let full_only =
            matches!(record, Record::Migration { .. } | Record::ReadDuplicate { .. } | Record::ReadInvalidate { .. });
        if self.level == TraceLevel::Full || (self.level == TraceLevel::Faults && !full_only) {
            if self.queued < self.ring {
                self.queued += 1;
                self.fold.add(record);
            } else {
                self.fold.lost(record.event_type(), 1);
            }
        }
    }

    /// Lets time pass: finishes the ticks that end by `to`.
    pub fn pass(&mut self, to: u64) {
        if self.level == TraceLevel::Off {
            return;
        }
        let room = self.finished.len() < KEPT;
        if let Some(end) = self.grown.take_if(|_| room) {
            self.end_tick(end);
            self.tick = end;
        }
        while to >= self.tick + TICK && self.finished.len() < KEPT {
            let end = self.tick + TICK;
            self.end_tick(end);
            if end - self.start >= IDLE {
                self.finish(end, Counters::default(), None);
            }
            self.tick = end;
        }
        if to >= self.tick + TICK {
            self.grown = Some(to);
        }
    }

    /// Finishes the running tick early if anything happened in it.
    pub fn deliver(&mut self, now: u64) {
        if self.level != TraceLevel::Off && now > self.tick {
            self.end_tick(now);
            self.tick = self.start.max(self.tick);
            self.grown = self.grown.filter(|&end| end > self.tick);
        }
    }

    fn end_tick(&mut self, end: u64) {
        self.queued = 0;
        let since = self.counters.since(&self.told);
        let events = self.fold.take();
        if since == Counters::default() && events.is_none() {
            return;
        }
        if self.tick > self.start {
            self.finish(self.tick, Counters::default(), None);
        }
        self.told = self.counters;
        self.finish(end, since, events);
    }

    fn finish(&mut self, end: u64, counters: Counters, events: Option<UvmEvents>) {
        let has_events = matches!(self.level, TraceLevel::Faults | TraceLevel::Full);
        let tick = UvmTick {
            window: Nanos(end - self.start),
            level: self.level,
            counters: Some(counters),
            events: has_events.then(|| Box::new(events.unwrap_or_default())),
        };
        self.start = end;
        self.finished.push_back(Event { at: Stamp(end), body: Body::Uvm(Box::new(tick)) });
    }

    /// Takes the ticks that ended by `now`, oldest first.
    pub fn take(&mut self, now: Stamp) -> impl Iterator<Item = Event> + '_ {
        let ended = self.finished.iter().take_while(|e| e.at <= now).count();
        self.finished.drain(..ended)
    }

    /// Totals since the beginning; `None` at level off.
    pub fn totals(&self) -> Option<UvmTotals> {
        let events = matches!(self.level, TraceLevel::Faults | TraceLevel::Full).then(|| self.fold.totals());
        (self.level != TraceLevel::Off).then_some(UvmTotals { counters: self.counters, events })
    }
}

trait Since {
    fn since(&self, earlier: &Self) -> Self;
}

impl Since for Counters {
    fn since(&self, earlier: &Self) -> Self {
        Counters {
            bytes_htod: self.bytes_htod - earlier.bytes_htod,
            bytes_dtoh: self.bytes_dtoh - earlier.bytes_dtoh,
            cpu_faults: self.cpu_faults - earlier.cpu_faults,
            gpu_faults: self.gpu_faults - earlier.gpu_faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Proc;

    fn windows(trace: &mut Trace) -> Vec<(u64, u64, u64)> {
        let take = trace.take(Stamp(u64::MAX)).map(|e| match e.body {
            Body::Uvm(tick) => (e.at.0 / 1_000_000, tick.window.0 / 1_000_000, tick.counters.unwrap().cpu_faults),
            other => panic!("{other:?}"),
        });
        take.collect()
    }

    #[test]
    fn idle_time_is_merged_and_windows_leave_no_hole() {
        let mut trace = Trace::new(u64::MAX);
        trace.set_level(TraceLevel::Counters, 0);
        trace.pass(33_000_000);
        trace.count(|c| c.cpu_faults += 2);
        trace.pass(165_000_000);
        trace.count(|c| c.cpu_faults += 3);
        trace.deliver(166_000_000);
        trace.pass(280_000_000);
        assert_eq!(
            windows(&mut trace),
            [(30, 30, 0), (40, 10, 2), (140, 100, 0), (160, 20, 0), (166, 6, 3), (266, 100, 0)]
        );
    }

    #[test]
    fn off_says_nothing_and_the_time_spent_off_is_in_no_window() {
        let mut trace = Trace::new(u64::MAX);
        trace.count(|c| c.cpu_faults += 1);
        trace.pass(500_000_000);
        assert_eq!(windows(&mut trace), []);
        assert_eq!(trace.totals(), None);
        trace.set_level(TraceLevel::Counters, 500_000_000);
        trace.count(|c| c.cpu_faults += 1);
        trace.pass(510_000_000);
        assert_eq!(windows(&mut trace), [(510, 10, 1)]);
    }

    #[test]
    fn a_full_ring_drops_and_counts_by_type_until_it_is_emptied() {
        let mut trace = Trace::new(3);
        trace.set_level(TraceLevel::Full, 0);
        let throttle = Record::ThrottleEnd { processor: Proc::Cpu, address: 0, time: 1 };
        let thrash = Record::Thrashing { address: 0, bytes: 4096, time: 1 };
        [throttle, throttle, thrash, thrash, thrash, throttle].iter().for_each(|record| trace.add(record));
        trace.pass(10_000_000);
        trace.add(&thrash);
        trace.deliver(12_000_000);
        let seen = trace.totals().and_then(|totals| totals.events).map(|all| (all.lost, all.thrashing));
        assert_eq!(seen, Some((3, 2)));
        let lost = trace.take(Stamp(u64::MAX)).find_map(|event| match event.body {
            Body::Uvm(tick) => tick.events.map(|events| events.lost),
            _ => None,
        });
        assert_eq!(lost, Some(vec![(10, 2), (12, 1)]));
    }

    #[test]
    fn an_absent_probe_costs_bounded_memory() {
        let mut trace = Trace::new(u64::MAX);
        trace.set_level(TraceLevel::Counters, 0);
        trace.pass(u64::MAX / 2);
        assert_eq!(trace.finished.len(), KEPT);
    }
}
