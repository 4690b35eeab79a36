//! Rules about data that moves: on demand, by prefetch, back, to make room.

use super::{Insight, Rule, Seen};
use crate::event::{Cause, Phase};
use crate::units::{BLOCK, Bytes, Nanos, PAGE, count, gb_per_s};

/// Fewer faults a pass than this are noise.
const FEW: f64 = 16.0;
/// Copies of less than this, on average, are small: they take longer to set up than to carry.
const SMALL: f64 = 65_536.0;

pub(super) fn bytes(n: f64) -> String {
    Bytes(n.max(0.0).round() as u64).to_string()
}

pub(super) fn number(n: f64) -> String {
    if n > 0.0 && n < 10.0 && n.fract() > 0.05 { format!("{n:.1}") } else { count(n.round()) }
}

pub(super) fn time(ns: f64) -> String {
    Nanos(ns.max(0.0).round() as u64).to_string()
}

/// The kernel waits for faults: their service takes much of it, or its data comes far slower than the link carries.
pub(super) fn on_demand(seen: &Seen) -> Option<Insight> {
    let counters = seen.facts.counters.filter(|c| seen.managed() && c.gpu_faults >= FEW && c.htod >= BLOCK as f64)?;
    let kernel = seen.facts.phase(Phase::Kernel).filter(|ns| *ns > 0.0)?;
    if seen.thrashes() {
        return None;
    }
    // The counter page has nothing of what goes from GPU to GPU; the queue has at level full.
    let between = seen.facts.between_gpus.filter(|_| seen.two_gpus());
    let arrived = if seen.two_gpus() { between.map(|bytes| bytes + counters.htod) } else { Some(counters.htod) };
    let rate = arrived.map(|bytes| bytes / (kernel / 1e9));
    let latency = seen.tally.batch_latency_ns.quantile(0.5).map(|ns| ns as f64);
    let service = seen.facts.events.zip(latency).map(|(events, ns)| events.batches * ns / kernel);
    let slow = seen.link.zip(rate).is_some_and(|(link, rate)| rate * 2.0 < link.bytes_per_second);
    if !slow && service.is_none_or(|share| share < 0.4) {
        return None;
    }
    let mut evidence = vec![
        ("GPU faults", number(counters.gpu_faults)),
        ("moved to the GPU", bytes(counters.htod)),
        ("kernel", time(kernel)),
    ];
    evidence.extend(between.map(|between| ("moved from GPU to GPU", bytes(between))));
    evidence.extend(rate.map(|rate| ("rate in the kernel", format!("{} GB/s", gb_per_s(rate)))));
    evidence.extend(seen.facts.events.map(|events| ("batches", number(events.batches))));
    evidence.extend(latency.map(|ns| ("batch latency, median", time(ns))));
    evidence.extend(seen.link.map(|link| ("link at best", format!("{} GB/s", gb_per_s(link.bytes_per_second)))));
    let of = match (between.zip(arrived), seen.link) {
        (Some((between, arrived)), _) => {
            format!(", {:.0} % of it from the other GPU", between / arrived.max(1.0) * 100.0)
        }
        (None, Some(link)) => format!(" of the link's {}", gb_per_s(link.bytes_per_second)),
        (None, None) => String::new(),
    };
    let comes = rate.map(|rate| format!(", its data comes at {} GB/s{of}", gb_per_s(rate))).unwrap_or_default();
    let faults = number(counters.gpu_faults);
    Some(Insight {
        rule: Rule::OnDemand,
        sentence: format!("On demand: the kernel waits for {faults} GPU page faults a pass{comes}"),
        evidence,
        suggestion: "prefetch before the kernel (p): the same bytes in large copies, without a fault",
    })
}

/// Prefetch against the run without it.
pub(super) fn prefetch_removed(seen: &Seen) -> Option<Insight> {
    let before = seen.without_prefetch.as_ref().filter(|_| seen.prefetch())?;
    let (was, now) = (before.counters?.gpu_faults, seen.facts.counters?.gpu_faults);
    if was < FEW || now > was / 2.0 || seen.facts.timed_ns <= 0.0 {
        return None;
    }
    let ratio = before.timed_ns / seen.facts.timed_ns;
    let came = match ratio {
        r if r > 1.05 => format!("{r:.1}× faster"),
        r if r < 0.95 => format!("and yet {:.1}× slower", 1.0 / r),
        _ => "no faster".to_owned(),
    };
    Some(Insight {
        rule: Rule::PrefetchRemoved,
        sentence: format!(
            "Prefetch removed {:.0} % of the GPU page faults ({} → {} a pass): {came}",
            (1.0 - now / was) * 100.0,
            number(was),
            number(now)
        ),
        evidence: vec![
            ("GPU faults without", number(was)),
            ("GPU faults with", number(now)),
            ("pass without", time(before.timed_ns)),
            ("pass with", time(seen.facts.timed_ns)),
        ],
        suggestion: if ratio > 1.05 {
            "keep it; overlap it with other work and its time disappears too"
        } else {
            "the kernel was not waiting for faults: leave prefetch out"
        },
    })
}

/// Prefetch is on, and faults bring what it should have brought.
pub(super) fn prefetch_missed(seen: &Seen) -> Option<Insight> {
    let counters = seen.facts.counters.filter(|c| seen.prefetch() && c.gpu_faults >= FEW)?;
    let by_fault = seen.facts.moved(true, &[Cause::Fault, Cause::Prefetch]);
    let late = by_fault.unwrap_or(counters.gpu_faults * PAGE as f64);
    if late < 0.1 * counters.htod.max(PAGE as f64) {
        return None;
    }
    let away = seen.facts.moved(false, &[Cause::User]).unwrap_or(0.0);
    let wrong_way = away >= 0.5 * late && by_fault.is_some() && seen.facts.moved(true, &[Cause::User]) == Some(0.0);
    let how = if wrong_way { "it goes the wrong way" } else { "it comes too late, or for other pages" };
    let mut evidence = vec![("GPU faults", number(counters.gpu_faults)), ("moved to the GPU", bytes(counters.htod))];
    evidence.extend(by_fault.map(|n| ("of it by faults", bytes(n))));
    if away > 0.0 {
        evidence.push(("prefetched to the CPU", bytes(away)));
    }
    Some(Insight {
        rule: Rule::PrefetchMissed,
        sentence: format!(
            "Prefetch is on, and the kernel faults all the same ({} page faults a pass): {how}",
            number(counters.gpu_faults)
        ),
        evidence,
        suggestion: "prefetch to the GPU, the whole range, on the kernel's stream and before it",
    })
}

/// The CPU's touches bring pages back.
pub(super) fn cpu_brings_back(seen: &Seen) -> Option<Insight> {
    let counters = seen.facts.counters.filter(|c| seen.managed() && c.cpu_faults >= 1.0 && c.dtoh >= BLOCK as f64)?;
    let by_touch = seen.facts.moved(false, &[Cause::Fault, Cause::Prefetch]);
    let mostly = by_touch.map_or(!seen.prefetch(), |n| n >= counters.dtoh / 2.0);
    if !mostly || seen.thrashes() {
        return None;
    }
    let mut evidence = vec![("moved to the CPU", bytes(counters.dtoh)), ("CPU faults", number(counters.cpu_faults))];
    let read = seen.facts.phase(Phase::CpuRead).filter(|ns| *ns > 0.0);
    evidence.extend(read.map(|ns| ("CPU read", time(ns))));
    evidence.extend(by_touch.map(|n| ("of it by touch", bytes(n))));
    let rate = read.map(|ns| format!(", at {} GB/s at best", gb_per_s(counters.dtoh / (ns / 1e9)))).unwrap_or_default();
    Some(Insight {
        rule: Rule::CpuBringsBack,
        sentence: format!("CPU touches bring {} a pass back{rate}", bytes(counters.dtoh)),
        evidence,
        suggestion: "prefetch to the host before the CPU reads, or leave results where the next kernel wants them",
    })
}

/// Pages are evicted to make room.
pub(super) fn eviction(seen: &Seen) -> Option<Insight> {
    let evicted = seen.facts.moved(false, &[Cause::Eviction]).filter(|n| *n > 0.0)?;
    let htod = seen.facts.counters?.htod;
    Some(Insight {
        rule: Rule::Eviction,
        sentence: format!("Over the edge: {} a pass leave the GPU's memory to make room", bytes(evicted)),
        evidence: vec![
            ("evicted", bytes(evicted)),
            ("moved to the GPU", bytes(htod)),
            ("footprint", seen.run.start.settings.size.to_string()),
        ],
        suggestion: "work in tiles that fit, or leave what is used once on the host (preferred-cpu + accessed-by)",
    })
}

/// Faults move data in small copies.
pub(super) fn small_copies(seen: &Seen) -> Option<Insight> {
    let by_touch = seen.facts.migrated.as_ref()?.iter().filter(|m| matches!(m.cause, Cause::Fault | Cause::Prefetch));
    let (moved, copies) = by_touch.fold((0.0, 0.0), |sum, m| (sum.0 + m.bytes, sum.1 + m.copies));
    if copies < 256.0 || moved / copies >= SMALL {
        return None;
    }
    let median = seen.tally.copy_bytes.quantile(0.5)?;
    Some(Insight {
        rule: Rule::SmallCopies,
        sentence: format!(
            "Small copies: {} a pass of {} on average, half of them {} or less",
            number(copies),
            bytes(moved / copies),
            Bytes(median)
        ),
        evidence: vec![
            ("copies", number(copies)),
            ("moved both ways", bytes(moved)),
            ("median copy of the run", Bytes(median).to_string()),
        ],
        suggestion: "touch pages in order and densely, or prefetch: whole 2 MiB blocks move in one copy",
    })
}
