//! What the driver told over a whole session. What no window's trace level gave is null.

use crate::event::Migrated;
use crate::session::{Session, UvmPoint};
use serde_json::{Value, json};

/// The session's sums, for programs.
pub fn totals(session: &Session) -> Value {
    let uvm = &session.uvm;
    let counted = uvm.points.iter().any(|point: &UvmPoint| point.counters.is_some());
    let counter = |n: u64| counted.then_some(n);
    let event = |n: u64| (uvm.with_events > 0).then_some(n);
    json!({
        "session_ns": session.now.0,
        "bytes_htod": counter(uvm.counters.bytes_htod),
        "bytes_dtoh": counter(uvm.counters.bytes_dtoh),
        "gpu_faults": counter(uvm.counters.gpu_faults),
        "cpu_faults": counter(uvm.counters.cpu_faults),
        "gpu_faults_raw": event(uvm.gpu_faults_raw),
        "batches": event(uvm.batches),
        "thrashing": event(uvm.thrashing),
        "throttled": event(uvm.throttled),
        "remote_maps": event(uvm.remote_maps),
        "lost": event(uvm.lost_total()),
        "by_cause": (uvm.at_full > 0).then(|| migrated(session)),
    })
}

/// Bytes and copies by direction and cause.
pub(super) fn migrated(session: &Session) -> Vec<Migrated> {
    let sums = session.uvm.migrated.iter();
    let one = |((src, dst, cause), (bytes, copies)): (&(_, _, _), &(u64, u64))| Migrated {
        src: *src,
        dst: *dst,
        cause: *cause,
        bytes: *bytes,
        copies: *copies,
    };
    sums.map(one).collect()
}
