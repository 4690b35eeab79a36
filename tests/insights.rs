//! Labelled recordings from a real card: which rules hold at their end, and that no other does.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use umtop::recording::Reader;
use umtop::session::{Rule, Session, insights};

fn session(name: &str) -> Session {
    let mut reader = Reader::open(&Path::new("assets/recordings").join(name).with_extension("umr")).unwrap();
    let mut session = Session::default();
    while let Some(event) = reader.next_event().unwrap() {
        session.apply(&event);
    }
    session
}

const LABELS: [(&str, &[Rule]); 19] = [
    ("sequential", &[Rule::OnDemand, Rule::CpuBringsBack, Rule::SmallCopies]),
    ("sequential-prefetch", &[]),
    ("prefetch-switched-on", &[Rule::PrefetchRemoved]),
    ("random", &[Rule::OnDemand, Rule::CpuBringsBack]),
    ("random-prefetch", &[]),
    ("ping-pong", &[Rule::ThrashingPinned]),
    ("ping-pong-prefetch", &[]),
    ("ping-pong-block", &[Rule::Thrashing, Rule::SmallCopies]),
    ("read-mostly", &[Rule::ReadMostlyWritten, Rule::OnDemand, Rule::SmallCopies]),
    ("read-mostly-trap", &[Rule::Thrashing, Rule::ReadMostlyWritten, Rule::SmallCopies]),
    ("zero-copy", &[Rule::ZeroCopy]),
    ("accessed-by", &[Rule::ZeroCopy]),
    ("explicit-vs-managed", &[Rule::ZeroCopy]),
    ("overlap", &[]),
    ("data-loader", &[Rule::CpuBringsBack, Rule::SmallCopies]),
    ("peer", &[Rule::PrefetchRemoved]),
    ("peer-preferred", &[Rule::PrefetchRemoved]),
    ("watch-cuda", &[]),
    ("watch-cupy", &[]),
];

#[test]
fn each_rule_holds_where_it_must_and_nowhere_else() {
    let mut wrong = Vec::new();
    for (name, expected) in LABELS {
        let found = insights(&session(name));
        let rules: Vec<Rule> = found.iter().map(|insight| insight.rule).collect();
        if rules != expected {
            let sentences: Vec<&str> = found.iter().map(|insight| insight.sentence.as_str()).collect();
            wrong.push(format!("{name}: {expected:?} expected, {rules:?} found: {sentences:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recording_has_a_label() {
    for file in std::fs::read_dir("assets/recordings").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(LABELS.iter().any(|(label, _)| *label == name), "{name}");
    }
}
