//! One sentence about the newest pass, made of its own figures.

use super::{Session, phase_ns};
use crate::event::{MemoryKind, Pass, Phase, RunStart, UvmTotals};
use crate::units::{Bytes, Nanos, bytes_per_second, count, gb_per_s};

/// What the newest pass shows, or `None` before the first.
pub fn story(session: &Session) -> Option<String> {
    let run = session.runs.current()?;
    let pass = session.runs.last_pass()?;
    Some(match run.start.settings.memory {
        MemoryKind::Managed => managed(&run.start, pass),
        MemoryKind::Explicit | MemoryKind::Pageable => copied(&run.start, pass),
        MemoryKind::ZeroCopy => zero_copy(&run.start, pass),
    })
}

fn managed(start: &RunStart, pass: &Pass) -> String {
    let kernel = phase_ns(pass, Phase::Kernel).map(Nanos);
    let Some(uvm) = &pass.uvm else {
        return format!("Pass took {}; the driver's counts need trace counters (press t)", pass.timed);
    };
    if let Some(text) = thrash(uvm) {
        return text;
    }
    let moved = Bytes(uvm.counters.bytes_htod);
    if uvm.counters.gpu_faults == 0 && moved.0 > 0 {
        let time = phase_ns(pass, Phase::MoveToGpu).map(Nanos);
        let rate = time.and_then(|t| bytes_per_second(moved, t)).map(gb_per_s);
        return match (start.settings.prefetch, rate) {
            (true, Some(rate)) => {
                format!("Prefetch moved {moved} at {rate} GB/s before the kernel, which did not fault once")
            }
            _ => format!("{moved} moved to the GPU without a fault"),
        };
    }
    if uvm.counters.gpu_faults == 0 {
        return format!("Nothing migrated to the GPU: the kernel took {}", kernel.unwrap_or_default());
    }
    let faults = count(uvm.counters.gpu_faults as f64);
    let batches = uvm.events.as_ref().map(|e| format!(" in {} batches", count(e.batches as f64))).unwrap_or_default();
    let rate = kernel.and_then(|t| bytes_per_second(moved, t)).map(|r| format!(" at {} GB/s", gb_per_s(r)));
    format!("The kernel waited for {faults} GPU page faults{batches} that moved {moved}{}", rate.unwrap_or_default())
}

fn thrash(uvm: &UvmTotals) -> Option<String> {
    let events = uvm.events.as_ref().filter(|e| e.thrashing > 0 && e.remote_maps > 0)?;
    Some(format!(
        "Both sides fought over the same pages ({} thrash events): the driver pinned them, mapped them remotely \
         ({} remote maps), and they stopped migrating",
        count(events.thrashing as f64),
        count(events.remote_maps as f64)
    ))
}

fn copied(start: &RunStart, pass: &Pass) -> String {
    let size = start.settings.size;
    let rate = phase_ns(pass, Phase::MoveToGpu).and_then(|t| bytes_per_second(size, Nanos(t))).map(gb_per_s);
    let host = if start.settings.memory == MemoryKind::Explicit { "pinned" } else { "pageable" };
    match rate {
        Some(rate) => format!("One explicit copy from {host} memory moved {size} at {rate} GB/s; no page can fault"),
        None => format!("Pass took {}", pass.timed),
    }
}

fn zero_copy(start: &RunStart, pass: &Pass) -> String {
    match phase_ns(pass, Phase::Kernel) {
        Some(t) => format!("The kernel worked on {} of host memory over the link in {}", start.settings.size, Nanos(t)),
        None => format!("Pass took {}", pass.timed),
    }
}
