//! Rules over the present run: what its figures mean, each with its evidence and what to try. No rule fires on what is
//! not known.

mod access;
mod moving;

use super::facts::Facts;
use super::{LinkCeiling, Run, Session, Tally, differences, link_ceiling};
use crate::event::{Advice, MemoryKind};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The driver pinned thrashing pages and mapped them remotely.
    ThrashingPinned,
    /// Pages go back and forth, and the driver has not pinned them.
    Thrashing,
    /// Read-mostly data is written.
    ReadMostlyWritten,
    /// Pages are evicted to make room.
    Eviction,
    /// Prefetch is on, and the kernel faults all the same.
    PrefetchMissed,
    /// Prefetch removed faults.
    PrefetchRemoved,
    /// The kernel waits for faults.
    OnDemand,
    /// The GPU works on host memory over the link.
    ZeroCopy,
    /// Neither faults nor migrations are what it waits for.
    NotBound,
    /// CPU touches bring pages back by faults.
    CpuBringsBack,
    /// Data moves in small copies.
    SmallCopies,
}

impl Rule {
    /// Every rule, the weightiest first: what explains most of a run's time, then what explains less.
    pub const ALL: [Rule; 11] = [
        Rule::ThrashingPinned,
        Rule::Thrashing,
        Rule::ReadMostlyWritten,
        Rule::Eviction,
        Rule::PrefetchMissed,
        Rule::PrefetchRemoved,
        Rule::OnDemand,
        Rule::ZeroCopy,
        Rule::NotBound,
        Rule::CpuBringsBack,
        Rule::SmallCopies,
    ];

    fn holds(self, seen: &Seen) -> Option<Insight> {
        match self {
            Rule::ThrashingPinned => access::thrashing_pinned(seen),
            Rule::Thrashing => access::thrashing(seen),
            Rule::ReadMostlyWritten => access::read_mostly_written(seen),
            Rule::ZeroCopy => access::zero_copy(seen),
            Rule::NotBound => access::not_bound(seen),
            Rule::Eviction => moving::eviction(seen),
            Rule::PrefetchMissed => moving::prefetch_missed(seen),
            Rule::PrefetchRemoved => moving::prefetch_removed(seen),
            Rule::OnDemand => moving::on_demand(seen),
            Rule::CpuBringsBack => moving::cpu_brings_back(seen),
            Rule::SmallCopies => moving::small_copies(seen),
        }
    }
}

/// A rule that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    /// Which.
    pub rule: Rule,
    /// What it means, in one sentence with its figures.
    pub sentence: String,
    /// The figures that it rests on, means per pass unless they say otherwise.
    pub evidence: Vec<(&'static str, String)>,
    /// What to try.
    pub suggestion: &'static str,
}

/// What the rules look at.
struct Seen<'a> {
    run: &'a Run,
    facts: Facts,
    /// Sums since the run began.
    tally: &'a Tally,
    link: Option<LinkCeiling>,
    /// The newest earlier run that differs in nothing but that it had no prefetch.
    without_prefetch: Option<Facts>,
}

impl Seen<'_> {
    fn managed(&self) -> bool {
        self.run.start.settings.memory == MemoryKind::Managed
    }

    fn prefetch(&self) -> bool {
        self.managed() && self.run.start.settings.prefetch
    }

    fn advice(&self) -> Advice {
        self.run.start.settings.advice
    }

    /// Whether two GPUs work. A recording of before that was told has migrations that tell of the second.
    fn two_gpus(&self) -> bool {
        self.run.start.gpus > 1 || self.facts.between_gpus.is_some_and(|bytes| bytes > 0.0)
    }

    /// Whether pages are known to thrash.
    fn thrashes(&self) -> bool {
        self.facts.events.is_some_and(|events| events.thrashing >= 1.0)
    }
}

/// Every rule that holds for the present run, the weightiest first.
pub fn insights(session: &Session) -> Vec<Insight> {
    let Some(run) = session.runs.current() else { return Vec::new() };
    let Some(facts) = Facts::of(run) else { return Vec::new() };
    let without_prefetch = without_prefetch(session, run);
    let seen = Seen { run, facts, tally: &session.uvm.run, link: link_ceiling(session), without_prefetch };
    Rule::ALL.into_iter().filter_map(|rule| rule.holds(&seen)).collect()
}

fn without_prefetch(session: &Session, run: &Run) -> Option<Facts> {
    if !run.start.settings.prefetch {
        return None;
    }
    let alike = |other: &&Run| {
        other.start.run < run.start.run
            && !other.start.settings.prefetch
            && differences(&other.start, &run.start).len() == 1
    };
    session.runs.runs.iter().rev().filter(alike).find_map(Facts::of)
}

#[cfg(test)]
mod tests;
