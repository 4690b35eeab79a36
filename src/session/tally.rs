//! Sums and distributions of what the driver told, over the session or over a run.

use crate::event::{AccessType, Cause, Counters, Proc, RemoteCause, UvmEvents, UvmTick};
use std::collections::BTreeMap;

/// Values that a distribution tells apart: more than the driver's numbers have, which are sizes of copies, faults a batch and
/// latencies of two digits.
const MAX_VALUES: usize = 4_096;
/// Leading binary digits that are kept of further values.
const DIGITS: u32 = 6;

/// Counts of values, ascending: of exact ones, and once there are [`MAX_VALUES`] of those rounded down to 6 binary digits, so
/// that memory is bounded whatever comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution(BTreeMap<u64, u64>);

impl Distribution {
    /// Adds `(value, count)` pairs.
    pub fn add(&mut self, pairs: &[(u64, u64)]) {
        for (value, count) in pairs {
            let full = self.0.len() >= MAX_VALUES && !self.0.contains_key(value);
            *self.0.entry(if full { rounded(*value) } else { *value }).or_default() += count;
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Sum of the values.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(value, count)| value * count).sum()
    }

    /// The least value at or below which a share `q` of all lies; `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        quantile_of(self.0.iter().map(|(v, c)| (*v, *c)), self.count(), q)
    }

    /// Pairs, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(v, c)| (*v, *c))
    }

    /// Bins that double, from the least value's to the greatest's: the bin's lower edge (a power of two, or 0) and how
    /// many values lie from there to below the next.
    pub fn log_bins(&self) -> Vec<(u64, u64)> {
        let edge = |value: u64| value.checked_ilog2().map_or(0, |bit| 1u64 << bit);
        let (Some((least, _)), Some((most, _))) = (self.0.first_key_value(), self.0.last_key_value()) else {
            return Vec::new();
        };
        let mut bins = Vec::new();
        let mut low = edge(*least);
        loop {
            let last = low + low.saturating_sub(1);
            bins.push((low, self.0.range(low..=last).map(|(_, count)| count).sum()));
            if low >= edge(*most) {
                return bins;
            }
            low = last + 1;
        }
    }
}

fn rounded(value: u64) -> u64 {
    let dropped = (u64::BITS - value.leading_zeros()).saturating_sub(DIGITS);
    value >> dropped << dropped
}

pub(super) fn quantile_of(pairs: impl Iterator<Item = (u64, u64)>, total: u64, q: f64) -> Option<u64> {
    let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).max(1);
    let mut below = 0;
    pairs.into_iter().find_map(|(value, count)| {
        below += count;
        (below >= rank).then_some(value)
    })
}

/// Sums over windows. What a window's level does not give adds nothing; `with_events` says over how much the events go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The counter page.
    pub counters: Counters,
    /// Counted GPU faults of the windows that had events too: what raw faults are to be compared with.
    pub counted_with_raw: u64,
    /// Windows with a level that gives events.
    pub with_events: u64,
    /// Windows at level full.
    pub at_full: u64,
    /// Raw GPU faults.
    pub gpu_faults_raw: u64,
    /// The same by access type.
    pub access: BTreeMap<AccessType, u64>,
    /// Batches.
    pub batches: u64,
    /// Thrashing detections.
    pub thrashing: u64,
    /// Throttling periods.
    pub throttled: u64,
    /// Remote mappings.
    pub remote_maps: u64,
    /// The same by cause.
    pub remote: BTreeMap<RemoteCause, u64>,
    /// Pages duplicated for reading.
    pub read_duplicates: u64,
    /// Duplicates dropped because of a write.
    pub read_invalidates: u64,
    /// Faults that killed a context.
    pub fatal: u64,
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

impl Tally {
    /// Adds a window.
    pub fn add(&mut self, tick: &UvmTick) {
        if let Some(counters) = &tick.counters {
            add_counters(&mut self.counters, counters);
        }
        if tick.level >= crate::event::TraceLevel::Faults {
            self.with_events += 1;
            self.counted_with_raw += tick.counters.map_or(0, |counters| counters.gpu_faults);
        }
        self.at_full += u64::from(tick.level == crate::event::TraceLevel::Full);
        if let Some(events) = tick.events.as_deref() {
            self.add_events(events);
        }
    }

    fn add_events(&mut self, e: &UvmEvents) {
        for (access, n) in &e.gpu_faults {
            self.gpu_faults_raw += n;
            *self.access.entry(*access).or_default() += n;
        }
        for (cause, n) in &e.remote_maps {
            self.remote_maps += n;
            *self.remote.entry(*cause).or_default() += n;
        }
        e.lost.iter().for_each(|(kind, n)| *self.lost.entry(*kind).or_default() += n);
        self.batches += e.batches;
        self.thrashing += e.thrashing;
        self.throttled += e.throttled;
        self.read_duplicates += e.read_duplicates;
        self.read_invalidates += e.read_invalidates;
        self.fatal += e.fatal;
        self.malformed += e.malformed;
        for m in &e.migrated {
            let sum = self.migrated.entry((m.src, m.dst, m.cause)).or_default();
            sum.0 += m.bytes;
            sum.1 += m.copies;
        }
        self.batch_faults.add(&e.batch_faults);
        self.batch_latency_ns.add(&e.batch_latency_ns);
        self.copy_bytes.add(&e.copy_bytes);
    }

    /// Raw faults for each counted one, over the windows that had both; `None` without either.
    pub fn duplication(&self) -> Option<f64> {
        let raw = self.gpu_faults_raw;
        (raw > 0 && self.counted_with_raw > 0).then(|| raw as f64 / self.counted_with_raw as f64)
    }

    /// Events lost in all.
    pub fn lost_total(&self) -> u64 {
        self.lost.values().sum()
    }
}

pub(super) fn add_counters(sum: &mut Counters, more: &Counters) {
    sum.bytes_htod += more.bytes_htod;
    sum.bytes_dtoh += more.bytes_dtoh;
    sum.cpu_faults += more.cpu_faults;
    sum.gpu_faults += more.gpu_faults;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_number_are_rounded_and_every_one_is_counted() {
        let mut all = Distribution::default();
        (0..1_000_000u64).for_each(|n| all.add(&[(n * n, 1)]));
        assert_eq!(all.count(), 1_000_000);
        assert!(all.0.len() <= MAX_VALUES + 64 * 32, "{}", all.0.len());
        let (median, right) = (all.quantile(0.5).unwrap() as f64, 500_000f64.powi(2));
        assert!((median / right - 1.0).abs() < 0.04, "{median}");
        assert_eq!((rounded(0), rounded(63), rounded(65), rounded(u64::MAX)), (0, 63, 64, 63 << 58));
    }

    #[test]
    fn bins_double_and_hold_every_value() {
        let mut copies = Distribution::default();
        copies.add(&[(0, 1), (4096, 5), (8191, 1), (8192, 2), (65_536, 3)]);
        let bins = copies.log_bins();
        assert_eq!(bins.iter().map(|(_, n)| n).sum::<u64>(), copies.count());
        assert_eq!(bins[0], (0, 1));
        let at = |edge| bins.iter().find(|(low, _)| *low == edge).map(|(_, n)| *n);
        assert_eq!((at(4096), at(8192), at(16_384), at(65_536)), (Some(6), Some(2), Some(0), Some(3)));
        assert!(Distribution::default().log_bins().is_empty());
        let mut wide = Distribution::default();
        wide.add(&[(u64::MAX, 1), (1, 1)]);
        let bins = wide.log_bins();
        assert_eq!((bins.len(), bins[0], bins[63]), (64, (1, 1), (1 << 63, 1)));
    }
}
