//! The fold of the driver's windows: history, totals, distributions, losses.

use super::series::{Point, Series};
use crate::event::{Cause, Counters, Migrated, Proc, TraceLevel, UvmEvents, UvmTick};
use crate::units::{Nanos, Stamp};
use std::collections::BTreeMap;

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
        }
    }
}

/// Counts of exact values, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution(BTreeMap<u64, u64>);

impl Distribution {
    /// Adds `(value, count)` pairs.
    pub fn add(&mut self, pairs: &[(u64, u64)]) {
        for (value, count) in pairs {
            *self.0.entry(*value).or_default() += count;
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The least value at or below which a share `q` of all lies; `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        quantile_of(self.0.iter().map(|(v, c)| (*v, *c)), self.count(), q)
    }

    /// Pairs, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(v, c)| (*v, *c))
    }
}

fn quantile_of(pairs: impl Iterator<Item = (u64, u64)>, total: u64, q: f64) -> Option<u64> {
    let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).max(1);
    let mut below = 0;
    pairs.into_iter().find_map(|(value, count)| {
        below += count;
        (below >= rank).then_some(value)
    })
}

/// Everything the driver told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UvmHistory {
    /// Windows over time.
    pub points: Series<UvmPoint>,
    /// Counter totals of the session.
    pub counters: Counters,
    /// Raw GPU faults of the session.
    pub gpu_faults_raw: u64,
    /// Batches of the session.
    pub batches: u64,
    /// Thrashing detections of the session.
    pub thrashing: u64,
    /// Throttling periods of the session.
    pub throttled: u64,
    /// Remote mappings of the session.
    pub remote_maps: u64,
    /// Migrated bytes and copies by direction and cause.
    pub migrated: BTreeMap<(Proc, Proc, Cause), (u64, u64)>,
    /// Raw faults per batch.
    pub batch_faults: Distribution,
    /// Batch latency, ns.
    pub batch_latency_ns: Distribution,
    /// Bytes per copy.
    pub copy_bytes: Distribution,
    /// Lost events by type number.
    pub lost: BTreeMap<u8, u64>,
    /// Entries that made no sense.
    pub malformed: u64,
}

impl UvmHistory {
    /// Takes in one window.
    pub fn apply(&mut self, at: Stamp, tick: &UvmTick) {
        if let Some(counters) = &tick.counters {
            add_counters(&mut self.counters, counters);
        }
        let events = tick.events.as_deref().map(|e| {
            self.add_events(e);
            event_point(e, tick.level)
        });
        let events = events.or_else(|| (tick.level >= TraceLevel::Faults).then(|| empty_point(tick.level)));
        self.points.push(UvmPoint { at, window: tick.window, level: tick.level, counters: tick.counters, events });
    }

    fn add_events(&mut self, e: &UvmEvents) {
        self.gpu_faults_raw += raw(e);
        self.batches += e.batches;
        self.thrashing += e.thrashing;
        self.throttled += e.throttled;
        self.remote_maps += remote(e);
        self.malformed += e.malformed;
        for m in &e.migrated {
            let sum = self.migrated.entry((m.src, m.dst, m.cause)).or_default();
            sum.0 += m.bytes;
            sum.1 += m.copies;
        }
        self.batch_faults.add(&e.batch_faults);
        self.batch_latency_ns.add(&e.batch_latency_ns);
        self.copy_bytes.add(&e.copy_bytes);
        for (kind, n) in &e.lost {
            *self.lost.entry(*kind).or_default() += n;
        }
    }

    /// Events lost in all.
    pub fn lost_total(&self) -> u64 {
        self.lost.values().sum()
    }
}

fn raw(e: &UvmEvents) -> u64 {
    e.gpu_faults.iter().map(|(_, n)| n).sum()
}

fn remote(e: &UvmEvents) -> u64 {
    e.remote_maps.iter().map(|(_, n)| n).sum()
}

fn empty_point(level: TraceLevel) -> EventPoint {
    EventPoint { by_cause: (level == TraceLevel::Full).then_some([0; 6]), ..EventPoint::default() }
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
        lost: e.lost.iter().map(|(_, n)| n).sum(),
    }
}

fn by_cause(migrated: &[Migrated]) -> [u64; 6] {
    CAUSES.map(|cause| migrated.iter().filter(|m| m.cause == cause).map(|m| m.bytes).sum())
}

fn add_counters(sum: &mut Counters, more: &Counters) {
    sum.bytes_htod += more.bytes_htod;
    sum.bytes_dtoh += more.bytes_dtoh;
    sum.cpu_faults += more.cpu_faults;
    sum.gpu_faults += more.gpu_faults;
}
