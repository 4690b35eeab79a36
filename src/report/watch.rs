//! `umtop watch` without a terminal: totals of a watched program. Absent values are null, or n/a.

use super::json::notices;
use super::totals::migrated;
use crate::event::{Cause, Level, TraceLevel};
use crate::session::{Session, Site, site_name};
use crate::units::{Bytes, bytes_per_second, count, gb_per_s};
use serde_json::{Value, json};
use std::fmt::Write;

/// Version of the form; a new major when a field changes its meaning or goes.
pub const SCHEMA: &str = "umtop-watch/1";
/// Sites that a report tells of.
const SITES: usize = 20;

/// The report for programs. `level` is the trace level that was asked for.
pub fn json(session: &Session, level: TraceLevel) -> Value {
    let watch = &session.watch;
    let header = session.header.as_ref();
    let known = Known::of(session);
    let counters = |value: fn(&crate::event::Counters) -> u64| known.counters.then(|| value(&session.uvm.counters));
    let events = |value: u64| known.events.then_some(value);
    json!({
        "schema": SCHEMA,
        "umtop": env!("CARGO_PKG_VERSION"),
        "origin": "measured",
        "started": header.map(|h| &h.started),
        "device": header.and_then(|h| h.gpu.as_ref()),
        "host": header.map(|h| &h.host),
        "process": watch.subject,
        "exit_code": watch.ended.and_then(|(_, code)| code),
        "ended": watch.ended.is_some(),
        "trace": level,
        "levels_seen": watch.by_level.keys().collect::<Vec<_>>(),
        "attached": watch.first.is_some(),
        "missed_at_most_ns": watch.first.flatten(),
        "session_ns": session.now.0,
        "watched_ns": watch.watched(),
        "bytes_htod": counters(|c| c.bytes_htod),
        "bytes_dtoh": counters(|c| c.bytes_dtoh),
        "gpu_faults": counters(|c| c.gpu_faults),
        "cpu_faults": counters(|c| c.cpu_faults),
        "gpu_faults_raw": events(session.uvm.gpu_faults_raw),
        "batches": events(session.uvm.batches),
        "thrashing": events(session.uvm.thrashing),
        "throttled": events(session.uvm.throttled),
        "remote_maps": events(session.uvm.remote_maps),
        "batch_latency_p50_ns": session.uvm.batch_latency_ns.quantile(0.5),
        "by_cause": known.causes.then(|| migrated(session)),
        "lost": events(session.uvm.lost_total()),
        "lost_by_type": known.events.then_some(&session.uvm.lost),
        "malformed": events(session.uvm.malformed),
        "cpu_sites": known.events.then(|| sites(session)),
        "cpu_faults_elsewhere": events(watch.elsewhere),
        "ranges": session.ranges,
        "notices": notices(session),
    })
}

/// What the levels of the session gave at all.
struct Known {
    counters: bool,
    events: bool,
    causes: bool,
}

impl Known {
    fn of(session: &Session) -> Self {
        let seen = |level| session.watch.by_level.range(level..).next().is_some();
        Self { counters: seen(TraceLevel::Counters), events: seen(TraceLevel::Faults), causes: seen(TraceLevel::Full) }
    }
}

fn sites(session: &Session) -> Vec<Value> {
    let watch = &session.watch;
    let row = |(key, site): &(&(u32, u64), &Site)| {
        let name = watch.names.get(*key);
        let threads: Vec<Value> = site
            .threads
            .iter()
            .map(|(tid, faults)| json!({"tid": tid, "name": watch.threads.get(&(key.0, *tid)), "faults": faults}))
            .collect();
        json!({
            "pid": key.0,
            "pc": format!("{:#x}", key.1),
            "module": name.map(|n| &n.module),
            "function": name.and_then(|n| n.function.as_ref()),
            "place": name.and_then(|n| n.place.as_ref()),
            "faults": site.faults,
            "threads": threads,
        })
    };
    watch.top().iter().take(SITES).map(row).collect()
}

/// The report for people.
pub fn table(session: &Session, level: TraceLevel) -> String {
    let watch = &session.watch;
    let known = Known::of(session);
    let mut text = String::new();
    if let Some(subject) = &watch.subject {
        let _ = writeln!(text, "Watched process {} of {}: {}", subject.pid, subject.user, subject.command);
    }
    if let Some(gpu) = session.header.as_ref().and_then(|h| h.gpu.as_ref()) {
        let _ = writeln!(text, "GPU          {}, driver {}", gpu.name, gpu.driver);
    }
    let seconds = watch.watched().seconds();
    let _ = writeln!(text, "watched      {seconds:.3} s at trace level {level}{}", missed(session));
    let moved = |bytes: u64| {
        let rate = bytes_per_second(Bytes(bytes), watch.watched()).map(gb_per_s).unwrap_or_default();
        if known.counters { format!("{bytes} bytes ({}, {rate} GB/s)", Bytes(bytes)) } else { na() }
    };
    let number = |there: bool, n: u64| if there { count(n as f64) } else { na() };
    let counters = &session.uvm.counters;
    let _ = writeln!(text, "HtoD         {}", moved(counters.bytes_htod));
    let _ = writeln!(text, "DtoH         {}", moved(counters.bytes_dtoh));
    let raw = number(known.events, session.uvm.gpu_faults_raw);
    let batches = number(known.events, session.uvm.batches);
    let _ =
        writeln!(text, "GPU faults   {} (raw {raw}, batches {batches})", number(known.counters, counters.gpu_faults));
    let _ = writeln!(text, "CPU faults   {}", number(known.counters, counters.cpu_faults));
    let _ = writeln!(text, "lost         {}", number(known.events, session.uvm.lost_total()));
    for m in migrated(session) {
        let copies = count(m.copies as f64);
        let _ = writeln!(text, "  {:4} {} → {}  {} in {copies} copies", cause(m.cause), m.src, m.dst, Bytes(m.bytes));
    }
    for (key, site) in watch.top().iter().take(SITES) {
        let name = watch.names.get(*key).map_or_else(|| format!("{:#x}", key.1), site_name);
        let _ = writeln!(text, "  {:>8} CPU faults  {name}", count(site.faults as f64));
    }
    for (_, notice) in session.notices.iter().filter(|(_, n)| n.level != Level::Info) {
        let _ = writeln!(text, "{}: {}", notice.source, notice.text);
    }
    text
}

fn missed(session: &Session) -> String {
    match session.watch.first {
        None => ", and never attached: the program made no CUDA context".to_owned(),
        Some(None) => ", attached to a program that ran already".to_owned(),
        Some(Some(missed)) => format!(", attached at most {missed} after the first context"),
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::User => "user",
        Cause::Fault => "fault",
        Cause::Prefetch => "driver prefetch",
        Cause::Eviction => "eviction",
        Cause::AccessCounters => "access counters",
        Cause::Unknown => "unknown",
    }
}

fn na() -> String {
    "n/a".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{
        Body, Counters, CpuSite, Event, Migrated, Proc, SiteName, Subject, UvmEvents, UvmTick, Watched,
    };
    use crate::units::{Nanos, Stamp};

    fn session(level: TraceLevel) -> Session {
        let mut session = Session::default();
        let mut tell = |ms: u64, body| session.apply(&Event { at: Stamp(ms * 1_000_000), body });
        let subject = Subject { pid: 7, user: "ann".to_owned(), command: "prog x".to_owned(), output: None };
        tell(0, Body::Watched(Box::new(Watched::Subject(subject))));
        tell(1, Body::Watched(Box::new(Watched::Attached { pid: 7, spaces: 1, missed: Some(Nanos::millis(2)) })));
        let migrated = |src, dst, bytes| Migrated { src, dst, cause: Cause::Fault, bytes, copies: 2 };
        let events = UvmEvents {
            batches: 3,
            cpu_faults: 5,
            cpu_sites: vec![CpuSite { pid: 7, tid: 8, pc: 0x10, faults: 5 }],
            lost: vec![(2, 9)],
            migrated: vec![migrated(Proc::Cpu, Proc::Gpu(0), 4096)],
            ..UvmEvents::default()
        };
        let counters = Counters { bytes_htod: 1 << 20, bytes_dtoh: 4096, cpu_faults: 5, gpu_faults: 6 };
        let events = (level >= TraceLevel::Faults).then(|| Box::new(events));
        let tick = UvmTick { window: Nanos::millis(500), level, counters: Some(counters), events };
        tell(600, Body::Uvm(Box::new(tick)));
        let place = Some("/src/prog.cpp:12".to_owned());
        let name = SiteName { pid: 7, pc: 0x10, module: "prog".to_owned(), function: Some("fill".to_owned()), place };
        tell(601, Body::Watched(Box::new(Watched::Site(name))));
        tell(700, Body::Watched(Box::new(Watched::Ended { code: Some(3) })));
        session
    }

    #[test]
    fn totals_are_what_was_seen() {
        let json = json(&session(TraceLevel::Full), TraceLevel::Full);
        assert_eq!(json["bytes_htod"], 1 << 20);
        assert_eq!(
            (json["watched_ns"].as_u64(), json["missed_at_most_ns"].as_u64()),
            (Some(500_000_000), Some(2_000_000))
        );
        assert_eq!((json["lost"].as_u64(), json["exit_code"].as_u64()), (Some(9), Some(3)));
        assert_eq!(json["by_cause"][0]["bytes"], 4096);
        assert_eq!(json["by_cause"][0]["dst"], serde_json::json!({"gpu": 0}));
        assert_eq!(json["cpu_sites"][0]["place"], "/src/prog.cpp:12");
        let table = table(&session(TraceLevel::Full), TraceLevel::Full);
        for text in
            ["prog x", "1048576 bytes (1 MiB", "CPU → GPU 0", "/src/prog.cpp:12  fill  prog", "at most 2.00 ms after"]
        {
            assert!(table.contains(text), "{text}: {table}");
        }
    }

    #[test]
    fn what_the_level_does_not_give_is_null() {
        let json = json(&session(TraceLevel::Counters), TraceLevel::Counters);
        assert_eq!(json["gpu_faults"], 6);
        for key in ["gpu_faults_raw", "batches", "by_cause", "lost", "cpu_sites", "batch_latency_p50_ns"] {
            assert!(json[key].is_null(), "{key}");
        }
        let table = table(&session(TraceLevel::Counters), TraceLevel::Counters);
        assert!(table.contains("lost         n/a") && table.contains("raw n/a, batches n/a"), "{table}");
    }
}
