//! The fold of the driver's windows: their history, and their sums.

use super::series::{Point, Series};
use super::tally::{Tally, add_counters, quantile_of};
use crate::event::{Cause, Counters, Migrated, Proc, TraceLevel, UvmEvents, UvmTick};
use crate::units::{Nanos, Stamp};
use std::ops::Deref;

/// One window of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct UvmPoint {
    /// End of the window.
    pub at: Stamp,
    /// Length of the window.
    pub window: Nanos,
    /// Level in force.
    pub level: TraceLevel,
    /// Exact counts, where the level has them.
    pub counters: Option<Counters>,
    /// Counts of the event queue, where the level has them.
    pub events: Option<EventPoint>,
}

/// What of the queue's events the charts show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPoint {
    /// Raw GPU faults.
    pub gpu_faults_raw: u64,
    /// Batches.
    pub batches: u64,
    /// Median batch latency of the window, ns; the highest of the medians once windows were merged.
    pub batch_latency_p50: Option<u64>,
    /// Thrashing detections, throttles and remote maps.
    pub thrashing: u64,
    /// Throttling periods.
    pub throttled: u64,
    /// Remote mappings.
    pub remote_maps: u64,
    /// Bytes by cause, [`CAUSES`] order, all directions; `None` below level full.
    pub by_cause: Option<[u64; 6]>,
    /// Bytes from a GPU to one with a higher number, and to one with a lower; `None` below level full.
    pub between_gpus: Option<[u64; 2]>,
    /// Events lost.
    pub lost: u64,
}

/// The order of [`EventPoint::by_cause`].
pub const CAUSES: [Cause; 6] =
    [Cause::Fault, Cause::Prefetch, Cause::User, Cause::Eviction, Cause::AccessCounters, Cause::Unknown];

impl UvmPoint {
    /// Per second over the window.
    pub fn per_second(&self, amount: u64) -> Option<f64> {
        (self.window.0 > 0).then(|| amount as f64 / self.window.seconds())
    }
}

impl Point for UvmPoint {
    fn at(&self) -> Stamp {
        self.at
    }

    fn window(&self) -> Nanos {
        self.window
    }

    fn merge(&mut self, next: &Self) {
        self.window = Nanos(self.window.0 + next.at.since(self.at).0);
        self.at = next.at;
        self.level = next.level;
        if let Some(b) = &next.counters {
            add_counters(self.counters.get_or_insert_default(), b);
        }
        if let Some(b) = &next.events {
            let a = self.events.get_or_insert_default();
            a.gpu_faults_raw += b.gpu_faults_raw;
            a.batches += b.batches;
            a.batch_latency_p50 = a.batch_latency_p50.max(b.batch_latency_p50);
            a.thrashing += b.thrashing;
            a.throttled += b.throttled;
            a.remote_maps += b.remote_maps;
            a.lost += b.lost;
            if let Some(theirs) = &b.by_cause {
                let ours = a.by_cause.get_or_insert_default();
                ours.iter_mut().zip(theirs).for_each(|(x, y)| *x += y);
            }
            if let Some(theirs) = &b.between_gpus {
                let ours = a.between_gpus.get_or_insert_default();
                ours.iter_mut().zip(theirs).for_each(|(x, y)| *x += y);
            }
        }
    }
}

/// Everything the driver told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UvmHistory {
    /// Windows over time.
    pub points: Series<UvmPoint>,
    /// Sums of the session.
    pub total: Tally,
    /// Sums since the present run began. The window in which it began is counted to it whole.
    pub run: Tally,
}

/// The session's sums are what most readers want: `history.batches`.
impl Deref for UvmHistory {
    type Target = Tally;

    fn deref(&self) -> &Tally {
        &self.total
    }
}

impl UvmHistory {
    /// Takes in one window.
    pub fn apply(&mut self, at: Stamp, tick: &UvmTick) {
        self.total.add(tick);
        self.run.add(tick);
        let events = tick.events.as_deref().map(|e| event_point(e, tick.level));
        let events = events.or_else(|| (tick.level >= TraceLevel::Faults).then(|| empty_point(tick.level)));
        self.points.push(UvmPoint { at, window: tick.window, level: tick.level, counters: tick.counters, events });
    }

    /// A run begins.
    pub fn run_began(&mut self) {
        self.run = Tally::default();
    }
}

fn raw(e: &UvmEvents) -> u64 {
    e.gpu_faults.iter().map(|(_, n)| n).sum()
}

fn remote(e: &UvmEvents) -> u64 {
    e.remote_maps.iter().map(|(_, n)| n).sum()
}

fn empty_point(level: TraceLevel) -> EventPoint {
    let full = level == TraceLevel::Full;
    EventPoint { by_cause: full.then_some([0; 6]), between_gpus: full.then_some([0; 2]), ..EventPoint::default() }
}

fn event_point(e: &UvmEvents, level: TraceLevel) -> EventPoint {
    let latencies: u64 = e.batch_latency_ns.iter().map(|(_, n)| n).sum();
    EventPoint {
        gpu_faults_raw: raw(e),
        batches: e.batches,
        batch_latency_p50: quantile_of(e.batch_latency_ns.iter().copied(), latencies, 0.5),
        thrashing: e.thrashing,
        throttled: e.throttled,
        remote_maps: remote(e),
        by_cause: (level == TraceLevel::Full).then(|| by_cause(&e.migrated)),
        between_gpus: (level == TraceLevel::Full).then(|| between_gpus(&e.migrated)),
        lost: e.lost.iter().map(|(_, n)| n).sum(),
    }
}

fn by_cause(migrated: &[Migrated]) -> [u64; 6] {
    CAUSES.map(|cause| migrated.iter().filter(|m| m.cause == cause).map(|m| m.bytes).sum())
}

fn between_gpus(migrated: &[Migrated]) -> [u64; 2] {
    let way = |same: fn(&u16, &u16) -> bool| {
        let between =
            migrated.iter().filter(|m| matches!((m.src, m.dst), (Proc::Gpu(a), Proc::Gpu(b)) if same(&a, &b)));
        between.map(|m| m.bytes).sum()
    };
    [way(u16::lt), way(u16::gt)]
}
