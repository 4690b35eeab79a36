//! Where a process's own code faults: a bounded table of program counters.

use crate::event::CpuSite;
use std::collections::HashMap;

/// Sites that a window tells of. A loop over managed memory has a few; a window of a program that has more tells of the
/// most frequent.
pub const MAX_TOLD: usize = 32;
/// Sites that are counted apart within a window; faults of further ones are counted together.
const MAX_COUNTED: usize = 1_024;

/// Faults of a window by process, thread and program counter.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    counts: HashMap<(u32, u32, u64), u64>,
    elsewhere: u64,
}

impl Sites {
    /// One fault.
    pub fn add(&mut self, pid: u32, tid: u32, pc: u64) {
        let key = (pid, tid, pc);
        if self.counts.len() < MAX_COUNTED || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_insert(0) += 1;
        } else {
            self.elsewhere += 1;
        }
    }

    /// Empties it, keeping its memory: the most frequent sites, and the faults of all others together.
    pub fn take(&mut self) -> (Vec<CpuSite>, u64) {
        let all = self.counts.drain();
        let mut sites: Vec<_> = all.map(|((pid, tid, pc), faults)| CpuSite { pid, tid, pc, faults }).collect();
        sites.sort_unstable_by_key(|site| (std::cmp::Reverse(site.faults), site.pc, site.pid, site.tid));
        let untold: u64 = sites.iter().skip(MAX_TOLD).map(|site| site.faults).sum();
        sites.truncate(MAX_TOLD);
        (sites, untold + std::mem::take(&mut self.elsewhere))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_bounded_and_no_fault_is_forgotten() {
        let mut sites = Sites::default();
        for pc in 0..5_000u64 {
            sites.add(1, 2, pc);
        }
        (0..10).for_each(|_| sites.add(1, 3, 7));
        let (told, elsewhere) = sites.take();
        assert_eq!(told.len(), MAX_TOLD);
        assert_eq!(told.iter().map(|site| site.faults).sum::<u64>() + elsewhere, 5_010);
        assert_eq!(sites.take(), (Vec::new(), 0));
    }

    #[test]
    fn the_most_frequent_come_first() {
        let mut sites = Sites::default();
        [10u64, 20, 20, 30, 30, 30].into_iter().for_each(|pc| sites.add(1, 1, pc));
        let told: Vec<_> = sites.take().0.iter().map(|site| (site.pc, site.faults)).collect();
        assert_eq!(told, [(30, 3), (20, 2), (10, 1)]);
    }
}
