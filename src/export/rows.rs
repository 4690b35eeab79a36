//! Events in long form: one row a number.

use crate::event::{
    Body, Count, Event, Notice, Outcome, Pass, Reading, RunEvent, RunStart, Sample, TraceLevel, UvmEvents, UvmTick,
};
use crate::units::{Nanos, Stamp};

/// A number of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An exact count.
    Count(u64),
    /// A measured value.
    Real(f64),
    /// There is none; the row's note says why.
    Absent,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// When it became true; for a window, its end.
    pub at: Stamp,
    /// Name, from the catalogues where it is in one.
    pub metric: &'static str,
    /// How much.
    pub value: Number,
    /// Of what.
    pub unit: &'static str,
    /// Who says so.
    pub source: String,
    /// The time over which it is a sum or a mean.
    pub window: Option<Nanos>,
    /// What it is a part of: direction, cause, phase, run.
    pub labels: Vec<(&'static str, String)>,
    /// Why there is no value, or the text of a notice.
    pub note: String,
}

/// Takes an event apart.
pub fn rows(event: &Event) -> Vec<Row> {
    let at = event.at;
    match &event.body {
        Body::Sample(sample) => sampled(at, sample),
        Body::Uvm(tick) => counted(at, tick),
        Body::Run(run) => ran(at, run),
        Body::Notice(notice) => vec![noticed(at, notice)],
        Body::Allocated(range) => {
            let labels = vec![("memory", range.memory.to_string()), ("label", range.label.clone())];
            vec![row(at, "allocated_bytes", Number::Count(range.bytes.0), "bytes", "workload", labels)]
        }
        Body::Watched(watched) => {
            let note = serde_json::to_string(watched).unwrap_or_default();
            vec![Row { note, ..row(at, "watched", Number::Absent, "", "watch", Vec::new()) }]
        }
        Body::Header(_) | Body::Mapped(_) | Body::Freed { .. } => Vec::new(),
    }
}

fn row(
    at: Stamp,
    metric: &'static str,
    value: Number,
    unit: &'static str,
    source: &str,
    labels: Vec<(&'static str, String)>,
) -> Row {
    Row { at, metric, value, unit, source: source.to_owned(), window: None, labels, note: String::new() }
}

fn sampled(at: Stamp, sample: &Sample) -> Vec<Row> {
    let one = |(metric, reading): &(crate::event::Metric, Reading)| {
        let info = metric.info();
        let (value, note) = match reading {
            Reading::Value(value) => (Number::Real(*value), String::new()),
            Reading::Absent(why) => (Number::Absent, why.to_string()),
        };
        let row = row(at, info.name, value, info.unit.name(), &sample.source, Vec::new());
        Row { window: sample.window, note, ..row }
    };
    sample.readings.iter().map(one).collect()
}

/// The driver's sums of one window; what the level does not give has no row.
fn counted(at: Stamp, tick: &UvmTick) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |count: Count, n: u64, labels| {
        let info = count.info();
        let row = row(at, info.name, Number::Count(n), info.unit, "uvm", labels);
        rows.push(Row { window: Some(tick.window), ..row });
    };
    if let Some(c) = &tick.counters {
        add(Count::BytesHtod, c.bytes_htod, Vec::new());
        add(Count::BytesDtoh, c.bytes_dtoh, Vec::new());
        add(Count::GpuFaults, c.gpu_faults, Vec::new());
        add(Count::CpuFaults, c.cpu_faults, Vec::new());
    }
    let nothing = UvmEvents::default();
    if tick.level >= TraceLevel::Faults {
        // A window in which nothing happened has no events, and that is known: zeros.
        let e = tick.events.as_deref().unwrap_or(&nothing);
        add(Count::GpuFaultsRaw, e.gpu_faults.iter().map(|(_, n)| n).sum(), Vec::new());
        add(Count::Batches, e.batches, Vec::new());
        add(Count::Thrashing, e.thrashing, Vec::new());
        add(Count::Throttled, e.throttled, Vec::new());
        add(Count::RemoteMaps, e.remote_maps.iter().map(|(_, n)| n).sum(), Vec::new());
        add(Count::FatalFaults, e.fatal, Vec::new());
        add(Count::LostEvents, e.lost.iter().map(|(_, n)| n).sum(), Vec::new());
        if tick.level == TraceLevel::Full {
            add(Count::ReadDuplicates, e.read_duplicates, Vec::new());
            add(Count::ReadInvalidates, e.read_invalidates, Vec::new());
        }
        for m in &e.migrated {
            let labels = || vec![("src", m.src.name()), ("dst", m.dst.name()), ("cause", m.cause.name().to_owned())];
            add(Count::MigratedBytes, m.bytes, labels());
            add(Count::Migrations, m.copies, labels());
        }
    }
    rows
}

fn ran(at: Stamp, run: &RunEvent) -> Vec<Row> {
    let of = |metric, value, unit, labels| row(at, metric, value, unit, "workload", labels);
    match run {
        RunEvent::Started(start) => vec![of("run_started", Number::Count(start.run.0.into()), "", settings(start))],
        RunEvent::PassEnded(pass) => passed(at, pass),
        RunEvent::PassBegan { run, index } => {
            let labels = vec![("run", run.0.to_string()), ("pass", index.to_string())];
            vec![of("pass_began", Number::Count((*index).into()), "", labels)]
        }
        RunEvent::Paused(paused) => vec![of("paused", Number::Count((*paused).into()), "", Vec::new())],
        RunEvent::Ended { run, outcome } => {
            let note = match outcome {
                Outcome::Done => String::new(),
                Outcome::Failed(why) => format!("failed: {why}"),
            };
            vec![Row { note, ..of("run_ended", Number::Count(run.0.into()), "", Vec::new()) }]
        }
    }
}

/// A run's settings as labels.
pub fn settings(start: &RunStart) -> Vec<(&'static str, String)> {
    let s = &start.settings;
    let mut labels = vec![
        ("run", start.run.0.to_string()),
        ("workload", s.workload.clone()),
        ("memory", s.memory.to_string()),
        ("prefetch", s.prefetch.to_string()),
        ("advice", s.advice.to_string()),
        ("size_bytes", s.size.0.to_string()),
        ("trace", start.trace.to_string()),
    ];
    if !s.shape.is_plain() {
        labels.push(("shape", s.shape.to_string()));
    }
    labels
}

fn passed(at: Stamp, pass: &Pass) -> Vec<Row> {
    let labels = |phase: Option<&'static str>| {
        let mut labels = vec![("run", pass.run.0.to_string()), ("pass", pass.index.to_string())];
        labels.push(("warmup", pass.warmup.to_string()));
        labels.extend(phase.map(|phase| ("phase", phase.to_owned())));
        labels
    };
    let ns = |metric, time: Nanos, phase| row(at, metric, Number::Count(time.0), "ns", "workload", labels(phase));
    let mut rows = vec![ns("pass_time", pass.timed, None)];
    for phase in &pass.phases {
        let name = Some(phase.phase.name());
        rows.push(ns("phase_host_time", phase.host, name));
        rows.extend(phase.gpu.map(|gpu| ns("phase_gpu_time", gpu, name)));
    }
    if let Some(check) = &pass.check {
        rows.push(row(at, "wrong_elements", Number::Count(check.wrong), "elements", "workload", labels(None)));
    }
    rows
}

fn noticed(at: Stamp, notice: &Notice) -> Row {
    let labels = vec![("level", format!("{:?}", notice.level).to_lowercase())];
    Row { note: notice.text.clone(), ..row(at, "notice", Number::Absent, "", &notice.source, labels) }
}
