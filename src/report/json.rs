//! `umtop bench --format json`: raw numbers of every pass. Absent values are null.

use super::{Verdict, between_gpus, checked, failed, lost, per_pass_uvm};
use crate::event::{Origin, Pass, Phase};
use crate::session::{Accounted, Run, Session, phase_ns};
use crate::stats;
use serde_json::{Map, Value, json};

/// Version of the form; a new major when a field changes its meaning or goes.
pub const SCHEMA: &str = "umtop-bench/1";

/// The report of a bench.
pub fn json(session: &Session, verdicts: &[Verdict]) -> Value {
    let header = session.header.as_ref();
    let origin = header.map(|h| match h.origin {
        Origin::Measured => "measured",
        Origin::Simulated { .. } => "simulated",
    });
    json!({
        "schema": SCHEMA,
        "umtop": env!("CARGO_PKG_VERSION"),
        "origin": origin,
        "started": header.map(|h| &h.started),
        "device": header.and_then(|h| h.gpu.as_ref()),
        "second_gpu": header.and_then(|h| h.second_gpu.as_ref()),
        "host": header.map(|h| &h.host),
        "notices": notices(session),
        "predictions": verdicts,
        "observer": super::observer::json(session),
        "results": session.runs.runs.iter().map(result).collect::<Vec<_>>(),
    })
}

/// What was said, with its time.
pub(super) fn notices(session: &Session) -> Vec<Value> {
    let said = session.notices.iter();
    said.map(|(at, n)| json!({"at_ns": at.0, "level": n.level, "source": n.source, "text": n.text})).collect()
}

fn result(run: &Run) -> Value {
    let settings = &run.start.settings;
    let times = run.times_ns();
    let estimate = stats::estimate(&times);
    let events = |value: fn(&crate::event::EventTotals) -> u64| per_pass_uvm(run, |u| u.events.as_ref().map(value));
    json!({
        "workload": settings.workload,
        "variant": {
            "memory": settings.memory,
            "prefetch": settings.prefetch,
            "advice": settings.advice,
            "size_bytes": settings.size,
            "trace": settings.trace,
            "label": run.start.label,
            "pattern": settings.shape.pattern,
            "piece": settings.shape.piece.map(|piece| piece.to_string()),
            "rounds": settings.shape.rounds,
            "allocations": settings.shape.allocations,
        },
        "trace_in_force": run.start.trace,
        "timed_phases": run.start.timed,
        "failed": failed(run),
        "times_ns": times,
        "median_ns": estimate.map(|e| e.median),
        "interval_ns": estimate.and_then(|e| e.interval).map(|(low, high)| [low, high]),
        "outliers": stats::outliers(&times),
        "warmups": run.passes.iter().filter(|(_, p)| p.warmup).count(),
        "phases": phases(run),
        "bytes_htod": per_pass_uvm(run, |u| Some(u.counters.bytes_htod)),
        "bytes_dtoh": per_pass_uvm(run, |u| Some(u.counters.bytes_dtoh)),
        "bytes_between_gpus": between_gpus(run),
        "gpu_faults": per_pass_uvm(run, |u| Some(u.counters.gpu_faults)),
        "gpu_faults_raw": events(|e| e.gpu_faults_raw),
        "cpu_faults": per_pass_uvm(run, |u| Some(u.counters.cpu_faults)),
        "batches": events(|e| e.batches),
        "thrashing": events(|e| e.thrashing),
        "throttled": events(|e| e.throttled),
        "remote_maps": events(|e| e.remote_maps),
        "lost": lost(run),
        "expected_bytes": run.start.expected,
        "accounted": run.accounted().map(accounted),
        "checked": checked(run).map(|(elements, wrong)| json!({"elements": elements, "wrong": wrong})),
        "passes": run.counted().map(pass).collect::<Vec<_>>(),
    })
}

/// Shares by direction; those between GPUs only where two of them work.
fn accounted(of: Accounted) -> Value {
    let mut shares = Map::from_iter([("htod".to_owned(), json!(of.htod)), ("dtoh".to_owned(), json!(of.dtoh))]);
    if let Some(between) = of.between_gpus {
        shares.insert("gpu0_to_gpu1".to_owned(), json!(between.gpu0_to_gpu1));
        shares.insert("gpu1_to_gpu0".to_owned(), json!(between.gpu1_to_gpu0));
    }
    Value::Object(shares)
}

fn phases(run: &Run) -> Value {
    let mut all = Map::new();
    for phase in Phase::ALL {
        let host: Vec<u64> = run.counted().filter_map(|p| phase_ns(p, phase)).collect();
        if host.is_empty() {
            continue;
        }
        let times = || run.counted().filter_map(|p| p.phases.iter().find(|t| t.phase == phase));
        let gpu: Option<Vec<u64>> = times().map(|t| t.gpu.map(|n| n.0)).collect();
        let turns = times().next().map_or(0, |t| t.turns);
        let turn_p50: Vec<u64> = times().map(|t| t.turn_p50.0).collect();
        let row = json!({"host_ns": host, "gpu_ns": gpu, "turns": turns, "turn_p50_ns": turn_p50});
        all.insert(phase.name().to_owned(), row);
    }
    Value::Object(all)
}

fn pass(pass: &Pass) -> Value {
    json!({"time_ns": pass.timed, "uvm": pass.uvm, "check": pass.check})
}
