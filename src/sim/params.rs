//! The UVM driver's module parameters that the simulated driver follows, by the names that the driver gives them, and one of
//! umtop's own.

use super::SimError;
use std::collections::BTreeMap;

/// Values of all parameters. The defaults are those of driver 580, in which a real H200 had them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Whether the density prefetcher runs.
    pub prefetch_enable: u64,
    /// Per cent of a region that must be present, strictly exceeded, for the region to be fetched.
    pub prefetch_threshold: u64,
    /// Faults in a block below which nothing is fetched.
    pub prefetch_min_faults: u64,
    /// Raw entries that a batch holds at most.
    pub fault_batch_count: u64,
    /// When stalled accesses are replayed: 0 after each block, 1 after a batch, 2 after a batch and a flush, 3 once all
    /// is served.
    pub fault_replay_policy: u64,
    /// Per cent of duplicates in a batch above which a flush drops all that has arrived.
    pub fault_replay_update_put_ratio: u64,
    /// Batches after which the driver goes back to wait for an interrupt.
    pub fault_max_batches_per_service: u64,
    /// Batches with throttled faults after which it does.
    pub fault_max_throttle_per_service: u64,
    /// Whether neighbouring entries for one page count as one fault.
    pub fault_coalesce: u64,
    /// Whether thrashing is mitigated.
    pub thrashing_enable: u64,
    /// Events within the lapse that make a page thrash.
    pub thrashing_threshold: u64,
    /// Throttles after which a page is pinned.
    pub thrashing_pin_threshold: u64,
    /// Longest pause between two events of a bouncing page, µs.
    pub thrashing_lapse_usec: u64,
    /// How long a throttled processor waits, in lapses.
    pub thrashing_nap: u64,
    /// Quiet time after which a block is forgiven, in lapses.
    pub thrashing_epoch: u64,
    /// How long a page stays pinned, in lapses; 0 is for ever.
    pub thrashing_pin: u64,
    /// How often a block is forgiven.
    pub thrashing_max_resets: u64,
    /// Entries of the ring through which the driver tells of events.
    pub ring_entries: u64,
}

/// A parameter: its name, its default, the least and the greatest value that the driver takes, where it is kept.
struct Row(&'static str, u64, u64, u64, fn(&mut Params) -> &mut u64);

/// All of them. The last is umtop's: what it asks a real driver for. The others' defaults and limits are those of `kernel-open/nvidia-uvm` in NVIDIA's published driver 580.
const ROWS: [Row; 18] = [
    Row("uvm_perf_prefetch_enable", 1, 0, 1, |p| &mut p.prefetch_enable),
    Row("uvm_perf_prefetch_threshold", 51, 0, 100, |p| &mut p.prefetch_threshold),
    Row("uvm_perf_prefetch_min_faults", 1, 1, 20, |p| &mut p.prefetch_min_faults),
    Row("uvm_perf_fault_batch_count", 256, 1, 6144, |p| &mut p.fault_batch_count),
    Row("uvm_perf_fault_replay_policy", 2, 0, 3, |p| &mut p.fault_replay_policy),
    Row("uvm_perf_fault_replay_update_put_ratio", 50, 0, 100, |p| &mut p.fault_replay_update_put_ratio),
    Row("uvm_perf_fault_max_batches_per_service", 20, 1, 1000, |p| &mut p.fault_max_batches_per_service),
    Row("uvm_perf_fault_max_throttle_per_service", 5, 1, 1000, |p| &mut p.fault_max_throttle_per_service),
    Row("uvm_perf_fault_coalesce", 1, 0, 1, |p| &mut p.fault_coalesce),
    Row("uvm_perf_thrashing_enable", 1, 0, 1, |p| &mut p.thrashing_enable),
    Row("uvm_perf_thrashing_threshold", 3, 1, 7, |p| &mut p.thrashing_threshold),
    Row("uvm_perf_thrashing_pin_threshold", 10, 1, 255, |p| &mut p.thrashing_pin_threshold),
    Row("uvm_perf_thrashing_lapse_usec", 500, 5, 500_000, |p| &mut p.thrashing_lapse_usec),
    Row("uvm_perf_thrashing_nap", 1, 1, 100, |p| &mut p.thrashing_nap),
    Row("uvm_perf_thrashing_epoch", 2000, 1, 1_000_000, |p| &mut p.thrashing_epoch),
    Row("uvm_perf_thrashing_pin", 300, 0, 1_000_000, |p| &mut p.thrashing_pin),
    Row("uvm_perf_thrashing_max_resets", 4, 0, 255, |p| &mut p.thrashing_max_resets),
    Row("umtop_ring_entries", 1 << 20, 2, 1 << 20, |p| &mut p.ring_entries),
];

impl Default for Params {
    fn default() -> Self {
        let mut params = Self {
            prefetch_enable: 0,
            prefetch_threshold: 0,
            prefetch_min_faults: 0,
            fault_batch_count: 0,
            fault_replay_policy: 0,
            fault_replay_update_put_ratio: 0,
            fault_max_batches_per_service: 0,
            fault_max_throttle_per_service: 0,
            fault_coalesce: 0,
            thrashing_enable: 0,
            thrashing_threshold: 0,
            thrashing_pin_threshold: 0,
            thrashing_lapse_usec: 0,
            thrashing_nap: 0,
            thrashing_epoch: 0,
            thrashing_pin: 0,
            thrashing_max_resets: 0,
            ring_entries: 0,
        };
        for Row(_, default, _, _, at) in ROWS {
            *at(&mut params) = default;
        }
        params
    }
}

impl Params {
    /// Sets one by a text `NAME=VALUE`.
    ///
    /// # Errors
    /// One line that says what is allowed: the names, or the values of that name.
    pub fn set(&mut self, text: &str) -> Result<(), SimError> {
        let refused = |why: String| SimError::Parameter { text: text.to_owned(), why };
        let names = || ROWS.map(|row| row.0).join(", ");
        let (name, value) = text.split_once('=').ok_or_else(|| refused("write NAME=VALUE".to_owned()))?;
        let row = ROWS.iter().find(|row| row.0 == name.trim());
        let Row(_, _, least, most, at) =
            row.ok_or_else(|| refused(format!("the simulated driver follows {}", names())))?;
        let value = value.trim().parse::<u64>().ok().filter(|value| (least..=most).contains(&value));
        *at(self) = value.ok_or_else(|| refused(format!("choose a whole number from {least} to {most}")))?;
        Ok(())
    }

    /// All of the driver's by name, as it lists them under `/sys/module/nvidia_uvm/parameters`, and umtop's own if it was
    /// set.
    pub fn list(mut self) -> BTreeMap<String, String> {
        let value = |Row(name, default, _, _, at): &Row| ((*name).to_owned(), *at(&mut self), *default);
        let values = ROWS.iter().map(value).filter(|(name, now, default)| name.starts_with("uvm_") || now != default);
        values.map(|(name, now, _)| (name, now.to_string())).collect()
    }

    /// Longest pause between two events of a bouncing page, ns.
    pub fn lapse_ns(&self) -> u64 {
        self.thrashing_lapse_usec * 1000
    }

    /// How long a throttled processor waits, ns.
    pub fn nap_ns(&self) -> u64 {
        self.thrashing_nap * self.lapse_ns()
    }

    /// Quiet time after which a block is forgiven, ns.
    pub fn epoch_ns(&self) -> u64 {
        self.thrashing_epoch * self.lapse_ns()
    }

    /// How long a page stays pinned, ns.
    pub fn pin_ns(&self) -> u64 {
        match self.thrashing_pin {
            0 => u64::MAX / 4,
            lapses => lapses * self.lapse_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_lie_within_their_limits_and_names_are_the_drivers() {
        for Row(name, default, least, most, _) in ROWS {
            assert!((least..=most).contains(&default), "{name}");
            assert!(name.starts_with("uvm_perf_") || name.starts_with("umtop_"), "{name}");
        }
        let mut params = Params::default();
        ROWS.iter().zip(1000..).for_each(|(Row(.., at), value)| *at(&mut params) = value);
        let kept: std::collections::BTreeSet<String> = params.list().into_values().collect();
        assert_eq!(kept.len(), ROWS.len(), "each name stands for a field of its own");
        assert_eq!((Params::default().nap_ns(), Params::default().pin_ns()), (500_000, 150_000_000));
    }

    #[test]
    fn a_parameter_is_set_by_its_name_or_refused_with_what_is_allowed() {
        let mut params = Params::default();
        params.set("uvm_perf_prefetch_threshold=75").unwrap();
        assert_eq!(params.prefetch_threshold, 75);
        assert_eq!(params.list()["uvm_perf_prefetch_threshold"], "75");
        for (text, says) in [
            ("uvm_perf_prefetch_treshold=75", "uvm_perf_prefetch_threshold"),
            ("uvm_perf_prefetch_threshold=101", "0 to 100"),
            ("uvm_perf_prefetch_threshold=-1", "0 to 100"),
            ("uvm_perf_prefetch_threshold", "NAME=VALUE"),
        ] {
            let error = params.set(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains(text) && !error.contains('\n'), "{error}");
        }
    }
}
