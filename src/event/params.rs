//! The UVM module's parameters: names as under `/sys/module/nvidia_uvm/parameters`, and what they mean.

/// What a parameter does, for those that decide what a user sees.
pub fn parameter_meaning(name: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

const MEANINGS: &[(&str, &str)] = &[
    ("uvm_perf_prefetch_enable", "1: a fault also brings pages around it, inside its 2 MiB block"),
    ("uvm_perf_prefetch_threshold", "per cent of a region that must be wanted before the rest of it is brought too"),
    ("uvm_perf_prefetch_min_faults", "faults in a block before the driver prefetches in it"),
    ("uvm_perf_fault_batch_count", "raw faults that the driver takes at once, at most"),
    ("uvm_perf_fault_replay_policy", "when the GPU tries again: 0 a block, 1 a batch, 2 a batch and flush, 3 once"),
    ("uvm_perf_fault_max_batches_per_service", "batches that the driver serves before it lets go"),
    ("uvm_perf_fault_coalesce", "1: duplicates of a fault within a batch are merged"),
    ("uvm_perf_thrashing_enable", "1: pages that bounce between processors are detected"),
    ("uvm_perf_thrashing_threshold", "moves within the lapse that make a page a thrashing one"),
    ("uvm_perf_thrashing_lapse_usec", "µs within which moves count towards thrashing"),
    ("uvm_perf_thrashing_nap", "how long a throttled processor waits, in lapses"),
    ("uvm_perf_thrashing_epoch", "after how many quiet lapses a page counts as calm again"),
    ("uvm_perf_thrashing_pin_threshold", "throttles after which the page is pinned and mapped remotely"),
    ("uvm_perf_thrashing_pin", "for how many lapses it stays pinned; 0: for ever"),
    ("uvm_perf_access_counter_migration_enable", "1: hot remote pages migrate; -1: only on coherent systems"),
    ("uvm_perf_access_counter_threshold", "remote accesses that make a page hot"),
    ("uvm_global_oversubscription", "1: managed memory may exceed the GPU's memory"),
    ("uvm_disable_hmm", "Y: the GPU cannot touch ordinary malloc memory"),
    ("uvm_ats_mode", "1: the GPU uses the host's page tables where the machine can"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_matter_have_a_meaning_and_no_name_has_two() {
        assert!(parameter_meaning("uvm_perf_prefetch_threshold").is_some());
        assert_eq!(parameter_meaning("uvm_no_such_parameter"), None);
        for (i, (name, _)) in MEANINGS.iter().enumerate() {
            assert!(MEANINGS[i + 1..].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
