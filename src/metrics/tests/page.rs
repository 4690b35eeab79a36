//! What is published, against who reads about it or asks for it: docs/metrics.md, the Grafana dashboard, and promtool.

use crate::event::{
    Advice, Body, CATALOGUE, COUNTS, Cause, Count, Counters, Event, Header, HostInfo, MemoryKind, MetricKind, Migrated,
    Origin, Pass, Proc, Reading, RunEvent, RunId, RunStart, Sample, Settings, Shape, TraceLevel, UvmEvents, UvmTick,
};
use crate::metrics::text::{OWN, named};
use crate::metrics::{Snapshot, classic, text};
use crate::session::Session;
use crate::units::{Bytes, Nanos, Stamp};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

const PAGE: &str = "docs/metrics.md";

/// A session that has a value for everything.
fn everything() -> Session {
    let header = Header {
        umtop: "0.1.0".into(),
        started: "2026-11-30T08:00:00Z".into(),
        origin: Origin::Measured,
        gpu: None,
        second_gpu: None,
        host: HostInfo { kernel: String::new(), cpu: String::new(), cores: 1, memory: Bytes(1) },
        caps: crate::workload::plan_tests::caps(),
        uvm_params: Default::default(),
        probes: Vec::new(),
    };
    let readings = CATALOGUE.iter().map(|row| (row.metric, Reading::Value(0.5))).collect();
    let moved = Migrated { src: Proc::Cpu, dst: Proc::Gpu(0), cause: Cause::Fault, bytes: 4096, copies: 1 };
    let tick = UvmTick {
        window: Nanos::millis(10),
        level: TraceLevel::Full,
        counters: Some(Counters::default()),
        events: Some(Box::new(UvmEvents { migrated: vec![moved], ..UvmEvents::default() })),
    };
    let settings = Settings {
        workload: "sequential".into(),
        memory: MemoryKind::Managed,
        prefetch: false,
        advice: Advice::None,
        size: Bytes::mib(1),
        trace: TraceLevel::Full,
        shape: Shape::default(),
    };
    let (run, trace) = (RunId(1), TraceLevel::Full);
    let start = RunStart { run, settings, label: None, trace, timed: Vec::new(), expected: None, gpus: 1 };
    let (timed, phases) = (Nanos::millis(1), Vec::new());
    let pass = Pass { run, index: 0, warmup: false, phases, timed, uvm: None, check: None };
    let mut session = Session::default();
    for body in [
        Body::Header(Box::new(header)),
        Body::Sample(Sample { source: "a".into(), window: None, readings }),
        Body::Uvm(Box::new(tick)),
        Body::Run(RunEvent::Started(start)),
        Body::Run(RunEvent::PassEnded(Box::new(pass))),
    ] {
        session.apply(&Event { at: Stamp(1), body });
    }
    session
}

/// Families of an exposition with their kinds.
fn families(text: &str) -> BTreeSet<(String, String)> {
    let of = |line: &str| line.strip_prefix("# TYPE ")?.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.lines().filter_map(of).collect()
}

/// Samples' names, as a query needs them.
fn samples(text: &str) -> BTreeSet<&str> {
    let plain = text.lines().filter(|line| !line.starts_with('#'));
    plain.filter_map(|line| line.split(['{', ' ']).next()).collect()
}

/// The page's table.
fn table() -> String {
    let mut out = String::from("| name | kind | unit | from | meaning |\n|---|---|---|---|---|\n");
    let mut row = |name: &str, kind: &str, unit: &str, from: &str, help: &str| {
        let _ = writeln!(out, "| `{name}` | {kind} | {unit} | {from} | {help} |");
    };
    let kinds = families(&text(&Snapshot::of(&everything())).unwrap());
    for own in &OWN {
        let kind = kinds.iter().find(|(name, _)| name == own.name).map(|(_, kind)| kind.as_str()).unwrap();
        let suffix = if kind == "info" { "_info" } else { "" };
        let unit = if own.name.ends_with("_seconds") { "seconds" } else { "" };
        row(&format!("{}{suffix}", own.name), kind, unit, "umtop", own.help);
    }
    for info in CATALOGUE {
        let kind = match info.kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Rate => "gauge (mean over the probe's window)",
        };
        row(&named(info.name), kind, info.unit.name(), info.origin, info.help);
    }
    for info in COUNTS {
        let labels = match info.count {
            Count::MigratedBytes | Count::Migrations => "; labels `src`, `dst`, `cause`",
            _ => "",
        };
        let from = format!("UVM driver, trace level {}", info.level);
        row(&format!("{}_total", named(info.name)), "counter", info.unit, &from, &format!("{}{labels}", info.help));
    }
    out
}

#[test]
fn the_page_lists_what_is_published() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (begin, end) = ("<!-- catalogue -->\n", "<!-- end of catalogue -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    let table = table();
    if std::env::var_os("UMTOP_BLESS").is_some() {
        return std::fs::write(PAGE, format!("{before}{begin}{table}{end}{after}")).unwrap();
    }
    assert!(found == table, "{PAGE} is not what is published: UMTOP_BLESS=1 cargo test --lib metrics writes it");
    let names: BTreeSet<&str> = found.lines().filter_map(|line| line.split('`').nth(1)).collect();
    let text = text(&Snapshot::of(&everything())).unwrap();
    assert_eq!(samples(&text), names);
}

#[test]
fn the_older_text_has_the_same_samples_under_names_that_its_kinds_have() {
    let open = text(&Snapshot::of(&everything())).unwrap();
    let older = classic(&open);
    let lines = |text: &str| text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&open), lines(&older));
    let kinds = families(&older);
    assert_eq!(kinds.len(), families(&open).len());
    let names = samples(&older);
    for (name, kind) in &kinds {
        assert!(names.contains(name.as_str()) && ["counter", "gauge"].contains(&kind.as_str()), "{name} {kind}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        assert!(older.contains(&format!("# HELP {name} ")), "{name} has no help");
    }
}

#[test]
fn every_expression_of_the_grafana_dashboard_asks_for_what_is_published() {
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../assets/grafana/umtop.json")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array());
    let mut asked: Vec<String> = targets.flatten().map(|t| t["expr"].as_str().unwrap().to_owned()).collect();
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    asked.extend(variables.filter_map(|v| v["query"].as_str()).filter(|q| q.contains('(')).map(str::to_owned));
    assert!(asked.len() > 10);
    let text = text(&Snapshot::of(&everything())).unwrap();
    let published = samples(&text);
    for expression in asked {
        let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names: Vec<&str> = words.filter(|word| word.starts_with("umtop_")).collect();
        assert!(!names.is_empty(), "{expression} asks for nothing of ours");
        names.iter().for_each(|name| assert!(published.contains(name), "{name} in {expression}"));
        // A rate is of a counter, and a counter without one says nothing on a time axis.
        assert!(!expression.starts_with("rate(") || names[0].ends_with("_total"), "{expression}");
    }
}

/// A second opinion where Prometheus is installed: `promtool check metrics` names nothing.
#[test]
fn promtool_finds_nothing_to_say() {
    let spawned = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = spawned else {
        return eprintln!("promtool is not installed: not checked by it");
    };
    let text = classic(&text(&Snapshot::of(&everything())).unwrap());
    std::io::Write::write_all(&mut promtool.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let out = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{said}\n{text}");
}
