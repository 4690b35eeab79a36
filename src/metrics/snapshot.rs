//! What is published of a session: plain numbers, each with its name.

use crate::event::{Count, Metric, Origin, TraceLevel};
use crate::session::Session;

/// Values of one moment. What is not known is left out, never 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Machine and origin, as labels.
    pub about: Vec<(String, String)>,
    /// The run under way, as labels; empty if there is none.
    pub run: Vec<(String, String)>,
    /// Sampled metrics that have a value, with probe and method.
    pub gauges: Vec<(Metric, String, f64)>,
    /// The driver's counts since the session's start, as far as the trace level in force gives them.
    pub counts: Vec<(Count, u64)>,
    /// Bytes and copies by source, destination and cause.
    pub migrated: Vec<([String; 3], u64, u64)>,
    /// Passes of the run under way that ended.
    pub passes: Option<u64>,
    /// Time of the newest pass, seconds.
    pub pass_seconds: Option<f64>,
    /// Nanoseconds since the session's start.
    pub now_ns: u64,
}

impl Snapshot {
    /// Takes what is known of a session.
    pub fn of(session: &Session) -> Self {
        let level = session.uvm.points.last().map_or(TraceLevel::Off, |point| point.level);
        let run = session.runs.current();
        let gauge = |(metric, sampled): (&Metric, &crate::session::Sampled)| {
            Some((*metric, sampled.source.clone(), sampled.value()?))
        };
        let counts = counts(session).into_iter().filter(|(count, _)| count.info().level <= level).collect();
        let migrated = session.uvm.migrated.iter().filter(|_| level == TraceLevel::Full);
        Self {
            about: about(session),
            run: run.map(labels).unwrap_or_default(),
            gauges: session.metrics.iter().filter_map(gauge).collect(),
            counts,
            migrated: migrated
                .map(|((src, dst, cause), (bytes, copies))| {
                    ([src.name(), dst.name(), cause.name().to_owned()], *bytes, *copies)
                })
                .collect(),
            passes: run.map(|run| run.forgotten + run.passes.len() as u64),
            pass_seconds: session.runs.last_pass().map(|pass| pass.timed.seconds()),
            now_ns: session.now.0,
        }
    }
}

fn counts(session: &Session) -> [(Count, u64); 13] {
    let uvm = &session.uvm;
    [
        (Count::BytesHtod, uvm.counters.bytes_htod),
        (Count::BytesDtoh, uvm.counters.bytes_dtoh),
        (Count::GpuFaults, uvm.counters.gpu_faults),
        (Count::CpuFaults, uvm.counters.cpu_faults),
        (Count::GpuFaultsRaw, uvm.gpu_faults_raw),
        (Count::Batches, uvm.batches),
        (Count::Thrashing, uvm.thrashing),
        (Count::Throttled, uvm.throttled),
        (Count::RemoteMaps, uvm.remote_maps),
        (Count::ReadDuplicates, uvm.read_duplicates),
        (Count::ReadInvalidates, uvm.read_invalidates),
        (Count::FatalFaults, uvm.fatal),
        (Count::LostEvents, uvm.lost_total()),
    ]
}

fn about(session: &Session) -> Vec<(String, String)> {
    let Some(header) = &session.header else { return Vec::new() };
    let origin = match header.origin {
        Origin::Measured => "measured",
        Origin::Simulated { .. } => "simulated",
    };
    let gpu = |of: fn(&crate::event::GpuInfo) -> &str| header.gpu.as_ref().map_or("", of);
    [
        ("origin", origin),
        ("gpu", gpu(|g| &g.name)),
        ("uuid", gpu(|g| &g.uuid)),
        ("driver", gpu(|g| &g.driver)),
        ("version", &header.umtop),
        ("started", &header.started),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn labels(run: &crate::session::Run) -> Vec<(String, String)> {
    let s = &run.start.settings;
    [
        ("workload", s.workload.clone()),
        ("memory", s.memory.to_string()),
        ("prefetch", s.prefetch.to_string()),
        ("advice", s.advice.to_string()),
        ("size_bytes", s.size.0.to_string()),
        ("trace", run.start.trace.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
