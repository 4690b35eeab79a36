//! Rules about who works on what from where: thrashing, duplicates, remote access, or none of it.

use super::moving::{bytes, number, time};
use super::{Insight, Rule, Seen};
use crate::event::{Advice, MemoryKind, Phase, RemoteCause};
use crate::units::{count, gb_per_s};

/// Faults fewer and bytes less than this a pass do not hold a run up.
const FEW: f64 = 16.0;
/// Share of a pass's time below which moving its bytes does not matter.
const SLIGHT: f64 = 0.02;

/// Both sides want the same pages, and the driver has pinned them.
pub(super) fn thrashing_pinned(seen: &Seen) -> Option<Insight> {
    let events = seen.facts.events.filter(|e| seen.managed() && e.thrashing >= 1.0 && e.remote_maps > 0.0)?;
    Some(Insight {
        rule: Rule::ThrashingPinned,
        sentence: format!(
            "Both sides want the same pages: after {} thrash events a pass the driver pinned them and mapped them \
             remotely ({} remote maps)",
            number(events.thrashing),
            number(events.remote_maps)
        ),
        evidence: thrash_evidence(seen),
        suggestion: "let one side finish before the other begins, or give each side pages of its own",
    })
}

/// Both sides want the same pages, and they move back and forth.
pub(super) fn thrashing(seen: &Seen) -> Option<Insight> {
    let events = seen.facts.events.filter(|e| seen.managed() && e.thrashing >= 1.0 && e.remote_maps == 0.0)?;
    let moved = seen.facts.counters.map(|c| format!(", {} a pass go back and forth", bytes(c.htod + c.dtoh)));
    Some(Insight {
        rule: Rule::Thrashing,
        sentence: format!(
            "Both sides want the same pages: {} thrash events a pass and none pinned{}",
            number(events.thrashing),
            moved.unwrap_or_default()
        ),
        evidence: thrash_evidence(seen),
        suggestion: "let one side finish before the other begins, or set a preferred location",
    })
}

fn thrash_evidence(seen: &Seen) -> Vec<(&'static str, String)> {
    let mut evidence = Vec::new();
    if let Some(events) = seen.facts.events {
        evidence.extend([
            ("thrash events", number(events.thrashing)),
            ("throttles", number(events.throttled)),
            ("remote maps", number(events.remote_maps)),
        ]);
    }
    if let Some(counters) = seen.facts.counters {
        evidence.extend([("moved to the GPU", bytes(counters.htod)), ("moved to the CPU", bytes(counters.dtoh))]);
    }
    evidence
}

/// Writes break duplicates, each by a fault.
pub(super) fn read_mostly_written(seen: &Seen) -> Option<Insight> {
    let broken = seen.tally.read_invalidates;
    if !seen.managed() || seen.advice() != Advice::ReadMostly || broken == 0 {
        return None;
    }
    let mut evidence = vec![
        ("duplicates dropped, run", count(broken as f64)),
        ("duplicates made, run", count(seen.tally.read_duplicates as f64)),
    ];
    evidence.extend(seen.facts.counters.map(|c| ("CPU faults", number(c.cpu_faults))));
    evidence.extend(seen.facts.counters.map(|c| ("GPU faults", number(c.gpu_faults))));
    evidence.extend(seen.facts.phase(Phase::CpuWrite).map(|ns| ("CPU write", time(ns))));
    Some(Insight {
        rule: Rule::ReadMostlyWritten,
        sentence: format!(
            "Read-mostly data is written: {} duplicates were dropped in this run, page by page, by a fault each",
            count(broken as f64)
        ),
        evidence,
        suggestion: "set read-mostly after the last write only, and unset it before the next",
    })
}

/// The GPU works on host memory over the link.
pub(super) fn zero_copy(seen: &Seen) -> Option<Insight> {
    let kernel = seen.facts.phase(Phase::Kernel)?;
    let size = seen.run.start.settings.size;
    if seen.run.start.settings.memory == MemoryKind::ZeroCopy {
        return Some(Insight {
            rule: Rule::ZeroCopy,
            sentence: format!("The kernel works on {size} of host memory over the link in {}", time(kernel)),
            evidence: vec![("kernel", time(kernel)), ("footprint", size.to_string())],
            suggestion: "right for data that is used once; what is used again should move (m)",
        });
    }
    let counters = seen.facts.counters.filter(|c| seen.managed() && c.htod == 0.0 && c.gpu_faults == 0.0)?;
    let remote: u64 =
        seen.tally.remote.iter().filter(|(cause, _)| **cause != RemoteCause::Thrashing).map(|(_, n)| n).sum();
    if remote == 0 {
        return None;
    }
    let causes = seen.tally.remote.iter().map(|(cause, n)| format!("{n} by {}", name(*cause)));
    Some(Insight {
        rule: Rule::ZeroCopy,
        sentence: format!(
            "Nothing migrates: the GPU maps host memory and works over the link, {} a pass",
            time(kernel)
        ),
        evidence: vec![
            ("remote maps, run", causes.collect::<Vec<_>>().join(", ")),
            ("moved to the GPU", bytes(counters.htod)),
            ("kernel", time(kernel)),
        ],
        suggestion: "right for data that is used once; what is used again should move: leave the advice out (a)",
    })
}

fn name(cause: RemoteCause) -> &'static str {
    match cause {
        RemoteCause::Coherence => "coherence",
        RemoteCause::Thrashing => "thrashing",
        RemoteCause::Policy => "policy",
        RemoteCause::OutOfMemory => "lack of memory",
        RemoteCause::Eviction => "eviction",
        RemoteCause::Unknown => "another cause",
    }
}

/// Nothing faults and nothing moves that would take time.
pub(super) fn not_bound(seen: &Seen) -> Option<Insight> {
    let counters = seen.facts.counters.filter(|_| seen.managed())?;
    let link = seen.link?;
    let moved = counters.htod + counters.dtoh;
    let carrying = moved / link.bytes_per_second * 1e9;
    let faults = counters.gpu_faults + counters.cpu_faults;
    // Each copy takes time of its own, however little it carries.
    let copies = seen.facts.migrated.as_ref().map(|all| all.iter().map(|m| m.copies).sum::<f64>());
    let busy = moved > 0.0 && copies.is_none_or(|n| n >= FEW);
    let remote = seen.tally.remote_maps > 0 || busy;
    let watched = seen.tally.with_events > 0;
    if faults >= FEW || carrying > SLIGHT * seen.facts.timed_ns || remote || !watched || may_be_remote(seen.advice()) {
        return None;
    }
    Some(Insight {
        rule: Rule::NotBound,
        sentence: format!(
            "Unified memory is not what this waits for: {} faults and {} moved in a pass of {}",
            number(faults),
            bytes(moved),
            time(seen.facts.timed_ns)
        ),
        evidence: vec![
            ("faults of both sides", number(faults)),
            ("moved both ways", bytes(moved)),
            ("link at best", format!("{} GB/s", gb_per_s(link.bytes_per_second))),
            ("pass", time(seen.facts.timed_ns)),
        ],
        suggestion: "look at the kernel itself: neither prefetch nor advice can help here",
    })
}

/// Advice under which the GPU may work over the link without an event that says so.
fn may_be_remote(advice: Advice) -> bool {
    !matches!(advice, Advice::None | Advice::ReadMostly | Advice::PreferredGpu)
}
