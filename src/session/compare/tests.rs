use super::super::tests::{fold, pass, settings, start};
use super::*;
use crate::event::{Body, MemoryKind, RunEvent, RunId, Settings};
use crate::session::Session;

/// A run without and a run with prefetch, each of `n` passes that count.
fn session(n: u32, other: Settings) -> Session {
    let mut events = Vec::new();
    for (run, settings, ms) in [(1, settings(), 40), (2, other, 5)] {
        events.push((u64::from(run) * 1_000, Body::Run(RunEvent::Started(start(run, settings.clone())))));
        for i in 0..=n {
            let mut pass = pass(run, i, ms + u64::from(i % 2));
            if settings.prefetch {
                let uvm = pass.uvm.as_mut().unwrap();
                uvm.counters.gpu_faults = 0;
            }
            events.push((u64::from(run) * 1_000 + 10 * u64::from(i), Body::Run(RunEvent::PassEnded(Box::new(pass)))));
        }
    }
    fold(events)
}

fn compared(session: &Session) -> Result<Comparison, String> {
    compare(session.runs.find(RunId(1)).unwrap(), session.runs.find(RunId(2)).unwrap())
}

#[test]
fn a_comparison_says_how_much_and_why() {
    let with = Settings { prefetch: true, ..settings() };
    let found = compared(&session(8, with)).unwrap();
    assert_eq!(found.changed, ["prefetch: off → on"]);
    assert!((0.1..0.15).contains(&found.ratio.median), "{:?}", found.ratio);
    let (low, high) = found.ratio.interval.unwrap();
    assert!(low <= found.ratio.median && found.ratio.median <= high);
    assert!(found.verdict.contains("faster") && found.verdict.contains("from 15.4 k to 0"), "{}", found.verdict);
    assert!(found.caveat.is_empty());
}

#[test]
fn few_passes_give_no_interval_and_say_so() {
    let found = compared(&session(2, Settings { prefetch: true, ..settings() })).unwrap();
    assert_eq!(found.ratio.interval, None);
    assert!(found.caveat.contains("too few") && found.verdict.contains("too few passes"), "{found:?}");
}

#[test]
fn what_is_not_comparable_is_refused_with_the_reason() {
    let cases = [
        (Settings { workload: "random".into(), ..settings() }, "different work"),
        (Settings { size: Bytes::mib(512), ..settings() }, "512 MiB"),
        (Settings { trace: TraceLevel::Faults, ..settings() }, "level full"),
    ];
    for (other, why) in cases {
        let refused = compared(&session(8, other)).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let empty = session(0, Settings { memory: MemoryKind::Explicit, ..settings() });
    assert!(compared(&empty).unwrap_err().contains("no pass that counts"));
    let run = empty.runs.find(RunId(1)).unwrap();
    assert!(compare(run, run).unwrap_err().contains("baseline"));
}

#[test]
fn equal_runs_differ_in_nothing() {
    let mut same = session(8, settings());
    same.runs.runs[1].passes = same.runs.runs[0].passes.clone();
    let found = compared(&same).unwrap();
    assert!(found.verdict.starts_with("No difference") && found.changed.is_empty(), "{found:?}");
}
