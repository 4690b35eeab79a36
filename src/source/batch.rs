//! Members to be measured against each other, in interleaved order.

use crate::event::Settings;

/// Settings to measure: each gets `warmups` passes that do not count and `passes` that do.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// What to run.
    pub members: Vec<Settings>,
    /// Passes at the start that do not count.
    pub warmups: u32,
    /// Passes that count.
    pub passes: u32,
}

impl Batch {
    /// The batch of each workload, in order.
    pub fn by_workload(&self) -> impl Iterator<Item = Batch> {
        let parts = self.members.chunk_by(|a, b| a.workload == b.workload);
        parts.map(|members| Batch { members: members.to_vec(), ..*self })
    }

    /// `(member, warm-up)` in order: one pass of each member per round, every other round backwards, so that drift
    /// falls on all members alike.
    pub fn order(&self) -> impl Iterator<Item = (usize, bool)> + use<> {
        let (n, warmups) = (self.members.len(), self.warmups);
        (0..warmups + self.passes)
            .flat_map(move |round| (0..n).map(move |i| (if round % 2 == 0 { i } else { n - 1 - i }, round < warmups)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::plan_tests::settings;

    #[test]
    fn members_alternate_forwards_and_backwards() {
        let member = settings("sequential", "1MiB");
        let batch = Batch { members: vec![member.clone(), member], warmups: 1, passes: 2 };
        let order: Vec<(usize, bool)> = batch.order().collect();
        assert_eq!(order, [(0, true), (1, true), (1, false), (0, false), (0, false), (1, false)]);
    }
}
