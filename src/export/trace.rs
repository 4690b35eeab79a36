//! A trace in Chrome's trace event format (JSON object form), which ui.perfetto.dev and chrome://tracing open.
//!
//! Slices carry exact sums in their arguments; counters are rates and gauges. A counter cannot have a gap there: why one has
//! no value stands on the track "not available".

use super::ExportError;
use super::rows::settings;
use crate::event::{
    Body, Event, Header, Metric, Origin, Pass, Phase, Proc, Reading, RunEvent, RunId, TraceLevel, UvmEvents, UvmTick,
};
use crate::recording::Reader;
use crate::session::CAUSES;
use crate::units::{Nanos, Stamp};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Category of names of processes and tracks, as Chrome has it.
const META: &str = "__metadata";
/// Category of everything else but runs.
const UMTOP: &str = "umtop";

/// The one process of the trace.
const PID: u32 = 1;

/// Tracks that are always there, in order from the top; those of migrations follow.
const TRACKS: [&str; 8] = [
    "passes",
    "phases (measured durations, laid end to end)",
    "notices and allocations",
    "not available",
    "moved HtoD (counter page)",
    "moved DtoH (counter page)",
    "GPU faults and batches",
    "CPU faults",
];
const PASSES: u32 = 1;
const PHASES: u32 = 2;
const NOTICES: u32 = 3;
const ABSENT: u32 = 4;
const HTOD: u32 = 5;
const DTOH: u32 = 6;
const GPU_FAULTS: u32 = 7;
const CPU_FAULTS: u32 = 8;

/// Writes the whole recording as one trace.
pub fn trace(reader: &mut Reader, mut out: impl Write) -> Result<(), ExportError> {
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let mut trace = Trace {
        out: &mut out,
        first: true,
        open: BTreeMap::new(),
        under_way: None,
        tracks: BTreeMap::new(),
        absent: BTreeSet::new(),
    };
    for (i, name) in TRACKS.iter().enumerate() {
        trace.track(i as u32 + 1, name)?;
    }
    let mut last = Stamp(0);
    let mut header = None;
    let read = loop {
        let event = match reader.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        last = last.max(event.at);
        if let Body::Header(h) = &event.body {
            header.get_or_insert_with(|| (**h).clone());
        }
        trace.event(&event)?;
    };
    trace.end_runs(last)?;
    let about = header.as_ref().map_or(Value::Null, about);
    // Also after an error: what was read is a whole trace.
    write!(out, "\n],\"otherData\":{about}}}\n")?;
    out.flush()?;
    read.map_err(ExportError::from)
}

fn about(header: &Header) -> Value {
    let gpu = header.gpu.as_ref();
    json!({
        "umtop": header.umtop,
        "origin": header.origin,
        "started": header.started,
        "gpu": gpu.map(|g| &g.name),
        "driver": gpu.map(|g| &g.driver),
        "cpu": header.host.cpu,
        "kernel": header.host.kernel,
    })
}

struct Trace<'a, W> {
    out: &'a mut W,
    first: bool,
    /// Runs under way by name.
    open: BTreeMap<RunId, String>,
    /// The pass under way, and since when.
    under_way: Option<(RunId, u32, Stamp)>,
    /// Tracks of migrations.
    tracks: BTreeMap<(Proc, Proc, usize), u32>,
    /// Metrics without a value now.
    absent: BTreeSet<Metric>,
}

impl<W: Write> Trace<'_, W> {
    /// Every event has a category: some readers do not do without.
    fn put(&mut self, category: &str, mut event: Value) -> io::Result<()> {
        event["cat"] = json!(category);
        let comma = if std::mem::take(&mut self.first) { "" } else { ",\n" };
        write!(self.out, "{comma}{event}")
    }

    fn track(&mut self, tid: u32, name: &str) -> io::Result<()> {
        let meta = |what: &str, args: Value| json!({"ph": "M", "pid": PID, "tid": tid, "name": what, "args": args});
        self.put(META, meta("thread_name", json!({"name": name})))?;
        self.put(META, meta("thread_sort_index", json!({"sort_index": tid})))
    }

    fn slice(&mut self, tid: u32, name: &str, from: Stamp, length: Nanos, args: &Value) -> io::Result<()> {
        let (ts, dur) = (micros(from.0), micros(length.0));
        self.put(UMTOP, json!({"ph": "X", "pid": PID, "tid": tid, "name": name, "ts": ts, "dur": dur, "args": args}))
    }

    fn instant(&mut self, tid: u32, name: &str, at: Stamp, args: &Value) -> io::Result<()> {
        let ts = micros(at.0);
        self.put(UMTOP, json!({"ph": "i", "s": "t", "pid": PID, "tid": tid, "name": name, "ts": ts, "args": args}))
    }

    fn counter(&mut self, name: &str, at: Stamp, value: f64) -> io::Result<()> {
        self.put(UMTOP, json!({"ph": "C", "pid": PID, "name": name, "ts": micros(at.0), "args": {"value": value}}))
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let at = event.at;
        match &event.body {
            Body::Header(header) => self.process(header),
            Body::Sample(sample) => {
                for (metric, reading) in &sample.readings {
                    self.sampled(at, sample.window, *metric, reading)?;
                }
                Ok(())
            }
            Body::Uvm(tick) => self.tick(at, tick),
            Body::Run(run) => self.ran(at, run),
            Body::Notice(n) => self.instant(NOTICES, &n.text, at, &json!({"source": n.source, "level": n.level})),
            Body::Allocated(r) => self.instant(NOTICES, "allocated", at, &json!({"bytes": r.bytes, "label": r.label})),
            Body::Freed { .. } => self.instant(NOTICES, "freed", at, &json!({})),
            Body::Watched(watched) => self.instant(NOTICES, "watched", at, &json!(watched)),
            Body::Mapped(_) => Ok(()),
        }
    }

    fn process(&mut self, header: &Header) -> io::Result<()> {
        let origin = match &header.origin {
            Origin::Measured => "MEASURED".to_owned(),
            Origin::Simulated { profile, .. } => format!("SIMULATED {profile}"),
        };
        let gpu = header.gpu.as_ref().map_or("no GPU", |gpu| &gpu.name);
        let name = format!("umtop: {origin}, {gpu}");
        self.put(META, json!({"ph": "M", "pid": PID, "name": "process_name", "args": {"name": name}}))
    }

    fn sampled(&mut self, at: Stamp, window: Option<Nanos>, metric: Metric, reading: &Reading) -> io::Result<()> {
        let info = metric.info();
        match reading {
            Reading::Value(value) => {
                self.absent.remove(&metric);
                // A mean holds from its window's beginning on.
                let from = Stamp(at.0.saturating_sub(window.map_or(0, |window| window.0)));
                self.counter(info.name, from, *value)
            }
            Reading::Absent(why) if self.absent.insert(metric) => {
                self.instant(ABSENT, &format!("{}: {why}", info.name), at, &json!({}))
            }
            Reading::Absent(_) => Ok(()),
        }
    }

    fn tick(&mut self, at: Stamp, tick: &UvmTick) -> io::Result<()> {
        let from = Stamp(at.0.saturating_sub(tick.window.0));
        let rate = |n: u64| if tick.window.0 > 0 { Some(n as f64 / tick.window.seconds()) } else { None };
        let nothing = UvmEvents::default();
        let events = tick.events.as_deref().or((tick.level >= TraceLevel::Faults).then_some(&nothing));
        if let Some(c) = &tick.counters {
            for (tid, name, bytes) in [(HTOD, "HtoD", c.bytes_htod), (DTOH, "DtoH", c.bytes_dtoh)] {
                if bytes > 0 {
                    self.slice(tid, name, from, tick.window, &json!({"bytes": bytes}))?;
                }
            }
            if c.cpu_faults > 0 {
                self.slice(CPU_FAULTS, "CPU faults", from, tick.window, &json!({"faults": c.cpu_faults}))?;
            }
            let rates = [
                ("moved HtoD bytes/s", c.bytes_htod),
                ("moved DtoH bytes/s", c.bytes_dtoh),
                ("GPU faults/s", c.gpu_faults),
                ("CPU faults/s", c.cpu_faults),
            ];
            for (name, n) in rates {
                if let Some(rate) = rate(n) {
                    self.counter(name, from, rate)?;
                }
            }
        }
        let counted = tick.counters.map(|c| c.gpu_faults);
        let raw: Option<u64> = events.map(|e| e.gpu_faults.iter().map(|(_, n)| n).sum());
        if counted.unwrap_or(0) > 0 || raw.unwrap_or(0) > 0 {
            let batches = events.map(|e| e.batches);
            let args = json!({"faults": counted, "raw": raw, "batches": batches});
            self.slice(GPU_FAULTS, "GPU faults", from, tick.window, &args)?;
        }
        for m in events.iter().flat_map(|e| &e.migrated) {
            let cause = CAUSES.iter().position(|cause| *cause == m.cause).unwrap_or(CAUSES.len());
            let tid = match self.tracks.get(&(m.src, m.dst, cause)) {
                Some(tid) => *tid,
                None => {
                    let tid = (TRACKS.len() + 1 + self.tracks.len()) as u32;
                    self.tracks.insert((m.src, m.dst, cause), tid);
                    self.track(tid, &format!("copies {} to {}, {}", m.src.name(), m.dst.name(), m.cause.name()))?;
                    tid
                }
            };
            self.slice(tid, m.cause.name(), from, tick.window, &json!({"bytes": m.bytes, "copies": m.copies}))?;
        }
        Ok(())
    }

    fn ran(&mut self, at: Stamp, run: &RunEvent) -> io::Result<()> {
        match run {
            RunEvent::Started(start) => {
                let args: Map<String, Value> =
                    settings(start).into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect();
                let name = format!("{} {}", start.run, start.settings.workload);
                self.run("b", start.run, &name, at, &Value::Object(args))?;
                self.open.insert(start.run, name);
                Ok(())
            }
            RunEvent::PassBegan { run, index } => {
                self.under_way = Some((*run, *index, at));
                Ok(())
            }
            RunEvent::PassEnded(pass) => self.passed(at, pass),
            RunEvent::Paused(paused) => {
                self.instant(NOTICES, if *paused { "paused" } else { "goes on" }, at, &json!({}))
            }
            RunEvent::Ended { run, outcome } => match self.open.remove(run) {
                Some(name) => self.run("e", *run, &name, at, &json!({"outcome": outcome})),
                None => Ok(()),
            },
        }
    }

    /// Runs of a bench are interleaved: async events may overlap, slices of a track may not.
    fn run(&mut self, phase: &str, run: RunId, name: &str, at: Stamp, args: &Value) -> io::Result<()> {
        let (id, ts) = (run.0, micros(at.0));
        self.put(
            "run",
            json!({
                "ph": phase, "id": id, "pid": PID, "tid": PASSES, "name": name, "ts": ts, "args": args,
            }),
        )
    }

    fn end_runs(&mut self, at: Stamp) -> io::Result<()> {
        for (run, name) in std::mem::take(&mut self.open) {
            self.run("e", run, &name, at, &json!({"outcome": null}))?;
        }
        Ok(())
    }

    fn passed(&mut self, at: Stamp, pass: &Pass) -> io::Result<()> {
        let began = self.under_way.take().filter(|(run, index, _)| (*run, *index) == (pass.run, pass.index));
        // A recording that was begun in mid-pass does not know when that began.
        let Some((_, _, began)) = began else { return Ok(()) };
        let name = format!("pass {}{}", pass.index, if pass.warmup { " (warm-up)" } else { "" });
        let args = json!({"run": pass.run, "timed_ns": pass.timed, "uvm": pass.uvm, "check": pass.check});
        self.slice(PASSES, &name, began, at.since(began), &args)?;
        let mut from = began;
        for time in &pass.phases {
            let args = json!({"host_ns": time.host, "gpu_ns": time.gpu, "turns": time.turns});
            self.slice(PHASES, Phase::name(time.phase), from, time.host, &args)?;
            from = from.plus(time.host);
        }
        Ok(())
    }
}

/// The format's times are microseconds; three decimals keep the nanoseconds.
fn micros(ns: u64) -> Value {
    json!(ns as f64 / 1e3)
}
