//! Numbers that no session can have. Files come from anywhere, and sums over what they hold must not overflow.

use crate::event::{Body, Event, Outcome, RunEvent, UvmEvents, UvmTick, UvmTotals};

/// Latest moment, and longest time: 36 years in nanoseconds.
const MAX_NS: u64 = 1 << 60;
/// Most of anything within one window: a terabyte or a million million faults in 10 ms. A session sums windows, and
/// 16 million of the fullest (46 hours) fit into 64 bits.
const MAX_IN_WINDOW: u64 = 1 << 40;
/// Most of anything within one pass; a session sums a few thousand passes.
const MAX_IN_PASS: u64 = 1 << 50;
/// Largest range of memory, and its last address: 64 TiB below the end of a 57-bit address space.
const MAX_ADDRESS: u64 = 1 << 57;
/// See [`MAX_ADDRESS`].
const MAX_RANGE: u64 = 1 << 46;

/// Longest text, in bytes: a session keeps hundreds of notices and a million labels.
const MAX_TEXT: usize = 64 << 10;
/// Longest name or label, in bytes.
const MAX_NAME: usize = 1 << 10;

/// What is wrong with an event, if anything is.
pub fn plausible(event: &Event) -> Result<(), &'static str> {
    let within = |value: u64, most: u64, what: &'static str| if value < most { Ok(()) } else { Err(what) };
    let short = |text: &str, most: usize| if text.len() <= most { Ok(()) } else { Err("a text is too long") };
    within(event.at.0, MAX_NS, "the time is beyond any session")?;
    match &event.body {
        Body::Sample(sample) => {
            short(&sample.source, MAX_NAME)?;
            within(sample.window.map_or(0, |window| window.0), MAX_NS, "the window is longer than any session")?;
            let finite = sample.readings.iter().all(|(_, reading)| reading.value().is_none_or(f64::is_finite));
            if finite { Ok(()) } else { Err("a reading is no number") }
        }
        Body::Uvm(tick) => {
            within(tick.window.0, MAX_NS, "the window is longer than any session")?;
            within(largest(tick), MAX_IN_WINDOW, "a count is larger than a window can hold")
        }
        Body::Mapped(mapped) => within(mapped.address, MAX_ADDRESS, "the address is beyond any address space"),
        Body::Allocated(range) => {
            short(&range.label, MAX_NAME)?;
            within(range.address, MAX_ADDRESS, "the address is beyond any address space")?;
            within(range.bytes.0, MAX_RANGE, "the range is larger than any memory")
        }
        Body::Run(RunEvent::Started(start)) => {
            short(&start.settings.workload, MAX_NAME)?;
            short(start.label.as_deref().unwrap_or_default(), MAX_NAME)?;
            within(start.settings.size.0, MAX_RANGE, "the footprint is larger than any memory")?;
            let between = start.expected.and_then(|moved| moved.between_gpus).unwrap_or_default();
            let between = between.gpu0_to_gpu1.0.max(between.gpu1_to_gpu0.0);
            let moved = start.expected.map_or(0, |moved| moved.htod.0.max(moved.dtoh.0));
            within(moved.max(between), MAX_IN_PASS, "more bytes are expected than a pass can move")
        }
        Body::Run(RunEvent::PassEnded(pass)) => {
            let times = pass.phases.iter().flat_map(|p| [p.host, p.gpu.unwrap_or_default(), p.turn_p50, p.turn_max]);
            let longest = times.map(|time| time.0).chain([pass.timed.0]).max().unwrap_or(0);
            within(longest, MAX_NS, "a phase is longer than any session")?;
            let checked = pass.check.map_or(0, |check| check.elements.max(check.wrong));
            let counted = pass.uvm.as_ref().map_or(0, largest_total);
            within(checked.max(counted), MAX_IN_PASS, "a count is larger than a pass can hold")
        }
        Body::Notice(notice) => short(&notice.source, MAX_NAME).and_then(|()| short(&notice.text, MAX_TEXT)),
        Body::Run(RunEvent::Ended { outcome: Outcome::Failed(why), .. }) => short(why, MAX_TEXT),
        _ => Ok(()),
    }
}

/// The largest number of a window; its distributions count as the sums that they stand for.
fn largest(tick: &UvmTick) -> u64 {
    let counters = tick.counters.unwrap_or_default();
    let counted = [counters.bytes_htod, counters.bytes_dtoh, counters.cpu_faults, counters.gpu_faults];
    let events = tick.events.as_deref().map_or(0, largest_event);
    counted.into_iter().fold(events, u64::max)
}

fn largest_event(e: &UvmEvents) -> u64 {
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    [
        e.cpu_faults,
        e.batches,
        e.thrashing,
        e.throttled,
        e.read_duplicates,
        e.read_invalidates,
        e.fatal,
        e.malformed,
        e.cpu_sites_elsewhere,
        sum(&mut e.cpu_sites.iter().map(|site| site.faults)),
        sum(&mut e.gpu_faults.iter().map(|(_, n)| *n)),
        sum(&mut e.batch_faults.iter().map(|(value, n)| value.saturating_mul(*n))),
        sum(&mut e.batch_faults.iter().map(|(_, n)| *n)),
        sum(&mut e.batch_latency_ns.iter().map(|(value, n)| value.saturating_mul(*n))),
        sum(&mut e.batch_latency_ns.iter().map(|(_, n)| *n)),
        sum(&mut e.copy_bytes.iter().map(|(value, n)| value.saturating_mul(*n))),
        sum(&mut e.copy_bytes.iter().map(|(_, n)| *n)),
        sum(&mut e.migrated.iter().map(|m| m.bytes)),
        sum(&mut e.migrated.iter().map(|m| m.copies)),
        sum(&mut e.remote_maps.iter().map(|(_, n)| *n)),
        sum(&mut e.lost.iter().map(|(_, n)| *n)),
    ]
    .into_iter()
    .fold(0, u64::max)
}

fn largest_total(totals: &UvmTotals) -> u64 {
    let c = &totals.counters;
    let mut largest = [c.bytes_htod, c.bytes_dtoh, c.cpu_faults, c.gpu_faults].into_iter().fold(0, u64::max);
    if let Some(e) = &totals.events {
        let counts = [e.gpu_faults_raw, e.batches, e.thrashing, e.throttled, e.remote_maps, e.lost];
        let moved = e.migrated.iter().flatten().flat_map(|m| [m.bytes, m.copies]);
        largest = counts.into_iter().chain(moved).fold(largest, u64::max);
    }
    largest
}
