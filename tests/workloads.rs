//! Every workload file, on every simulated machine and on memory that really holds what was written.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use crossbeam_channel::unbounded;
use support::{Flaw, HostDevice};
use umtop::device::Device;
use umtop::event::{Caps, Header, MemoryKind, Migrated, Outcome, Proc, Settings, TraceLevel};
use umtop::session::{Run, Session};
use umtop::sim;
use umtop::source::{Batch, Live, Pace, Sink, Work};
use umtop::units::Bytes;
use umtop::workload::{Choice, Library, Workload};

const PASSES: u32 = 2;

/// A size that keeps the suite quick.
fn scaled(workload: &Workload, most: Bytes) -> Bytes {
    workload.memory.size.min(most).max(workload.memory.min)
}

fn measure(live: Live, header: Header, members: Vec<Settings>) -> Vec<Run> {
    let (sink, events) = Sink::new(1 << 20);
    let (_control, wishes) = unbounded();
    let reader = std::thread::spawn(move || {
        let mut session = Session::default();
        events.iter().for_each(|event| session.apply(&event));
        session
    });
    live.run(header, Work::Batch(Batch { members, warmups: 1, passes: PASSES }), sink, Pace::unpaced(wishes));
    let session = reader.join().unwrap();
    assert!(session.ranges.is_empty(), "memory was not given back: {:?}", session.ranges);
    session.runs.runs.into_iter().collect()
}

fn simulated(profile: &str, members: Vec<Settings>) -> Vec<Run> {
    let (live, header) = umtop::run::simulated(sim::open(profile).unwrap(), "a test", Library::bundled().unwrap());
    measure(live, header, members)
}

/// Runs over host memory, with a flaw or without.
fn on_host(flaw: Option<Flaw>, members: Vec<Settings>) -> Vec<Run> {
    let (live, header) = umtop::run::simulated(sim::open("h200").unwrap(), "a test", Library::bundled().unwrap());
    let caps = Caps { gpus: 2, ..header.caps.clone() };
    let device = Box::new(HostDevice::new(caps, flaw));
    let live = Live { device, tracer: None, stepped: Vec::new(), ..live };
    measure(live, header, members)
}

#[test]
fn every_workload_runs_on_every_simulated_machine_and_no_byte_is_lost() {
    let library = Library::bundled().unwrap();
    for profile in sim::names() {
        let gpus = sim::open(profile).unwrap().device.caps().gpus;
        for workload in library.iter().filter(|w| gpus > 1 || w.name != "peer") {
            let size = scaled(workload, Bytes::mib(16));
            let members: Vec<Settings> =
                workload.variants().into_iter().map(|v| workload.settings(v, size, TraceLevel::Full)).collect();
            let runs = simulated(profile, members.clone());
            assert_eq!(runs.len(), members.len(), "{profile} {}", workload.name);
            for run in &runs {
                conserves(run, &format!("{profile} {:?}", run.start.settings));
            }
        }
    }
}

fn conserves(run: &Run, name: &str) {
    assert_eq!(run.outcome, Some(Outcome::Done), "{name}");
    assert_eq!(run.counted().count(), PASSES as usize, "{name}");
    for pass in run.counted() {
        assert!(pass.timed.0 > 0, "{name}");
        let uvm = pass.uvm.as_ref().unwrap();
        let events = uvm.events.as_ref().unwrap();
        // What goes from one GPU to another does not cross the host's link.
        let sum = |crosses: fn(&Migrated) -> bool| -> u64 {
            let all = events.migrated.as_deref().unwrap_or_default();
            all.iter().filter(|m| crosses(m)).map(|m| m.bytes).sum()
        };
        let crossed = (sum(|m| m.src == Proc::Cpu), sum(|m| m.dst == Proc::Cpu));
        assert_eq!((uvm.counters.bytes_htod, uvm.counters.bytes_dtoh), crossed, "{name}");
        assert_eq!(events.lost, 0, "{name}");
        if let Some(expected) = run.start.expected {
            let moved = (uvm.counters.bytes_htod, uvm.counters.bytes_dtoh);
            assert_eq!(moved, (expected.htod.0, expected.dtoh.0), "{name}");
        }
        if run.start.settings.memory != MemoryKind::Managed {
            assert_eq!((uvm.counters.bytes_htod, uvm.counters.gpu_faults), (0, 0), "{name}");
        }
    }
}

/// Every workload over every kind of memory that it allows.
fn over_every_kind() -> Vec<Settings> {
    let library = Library::bundled().unwrap();
    let kinds = |w: &Workload| {
        let size = scaled(w, Bytes::kib(64));
        let settings = |kind: &MemoryKind| {
            let choice = Choice { memory: Some(*kind), ..Choice::default() };
            w.settings(w.variant(choice), size, TraceLevel::Off)
        };
        w.memory.kinds.iter().map(settings).collect::<Vec<_>>()
    };
    library.iter().flat_map(kinds).collect()
}

#[test]
fn every_workload_leaves_in_memory_what_its_checks_look_for() {
    let members = over_every_kind();
    let runs = on_host(None, members.clone());
    assert_eq!(runs.len(), members.len());
    for run in &runs {
        let name = format!("{:?}", run.start.settings);
        assert_eq!(run.outcome, Some(Outcome::Done), "{name}");
        assert!(run.counted().all(|p| p.check.is_some_and(|c| c.elements > 0 && c.wrong == 0)), "{name}");
    }
}

#[test]
fn what_moves_is_not_promised_where_the_driver_evicts() {
    let library = Library::bundled().unwrap();
    let profile = sim::open("h200").unwrap().device.memory().unwrap();
    let workload = library.find("iterative-reuse").unwrap();
    let members = [Bytes::mib(64), Bytes(profile.vram_total.0 / (2 << 20) * (2 << 20))]
        .map(|size| workload.settings(workload.variant(Choice::default()), size, TraceLevel::Counters));
    // The large one is only begun: the first pass of it would take seconds.
    let expected: Vec<bool> = members
        .iter()
        .map(|settings| {
            let (sink, events) = Sink::new(1 << 16);
            let (control, wishes) = unbounded();
            control.send(umtop::event::Control::Stop).unwrap();
            let (mut live, header) = umtop::run::simulated(sim::open("h200").unwrap(), "a test", library.clone());
            live.allow_oversubscription = true;
            let batch = Batch { members: vec![settings.clone()], warmups: 0, passes: 1 };
            live.run(header, Work::Batch(batch), sink, Pace::unpaced(wishes));
            let mut session = Session::default();
            events.iter().for_each(|event| session.apply(&event));
            session.runs.runs[0].start.expected.is_some()
        })
        .collect();
    assert_eq!(expected, [true, false]);
}

#[test]
fn the_example_in_the_docs_is_a_workload() {
    let page = std::fs::read_to_string("docs/workloads.md").unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let workload = Workload::parse("docs/workloads.md", example).unwrap();
    assert_eq!(workload.variants().len(), 3);
}

#[test]
fn a_wrong_result_is_a_failed_run_and_no_number() {
    for flaw in [Flaw::MissesOne, Flaw::TouchesOneTwice] {
        let members = over_every_kind();
        let runs = on_host(Some(flaw), members.clone());
        assert_eq!(runs.len(), members.len());
        // A plain write that comes twice leaves the same value as one that comes once.
        let idempotent = ["first-touch-gpu", "vector-add"];
        // And what lies outside the part that is read is not looked at.
        let unread = ["partial-read"];
        let noticed = |run: &&Run| {
            let name = run.start.settings.workload.as_str();
            !(flaw == Flaw::TouchesOneTwice && idempotent.contains(&name)
                || flaw == Flaw::MissesOne && unread.contains(&name))
        };
        for run in runs.iter().filter(noticed) {
            let name = format!("{flaw:?} {:?}", run.start.settings);
            assert!(
                matches!(&run.outcome, Some(Outcome::Failed(why)) if why.contains("wrong result")),
                "{name}: {:?}",
                run.outcome
            );
            assert!(run.times_ns().is_empty(), "{name}");
        }
    }
}
