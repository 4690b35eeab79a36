//! The screen of a watched program.

use super::*;
use crate::event::{CpuSite, SiteName, Subject, Watched};

fn told(ms: u64, watched: Watched) -> Event {
    at(ms, Body::Watched(Box::new(watched)))
}

fn subject(output: Option<&str>) -> Event {
    let command = "python train.py --epochs 3".to_owned();
    told(1, Watched::Subject(Subject { pid: 4711, user: "ann".to_owned(), command, output: output.map(str::to_owned) }))
}

fn attached(ms: u64) -> Event {
    told(ms, Watched::Attached { pid: 4711, spaces: 1, missed: Some(Nanos::millis(3)) })
}

fn range(mib: u64) -> Event {
    let memory = MemoryKind::Managed;
    at(
        30,
        Body::Allocated(Range { address: 1 << 40, bytes: Bytes::mib(mib), memory, label: "managed range".to_owned() }),
    )
}

/// A window in which the program faulted at two instructions.
fn faulting(ms: u64) -> Event {
    let mut event = tick(ms, TraceLevel::Faults, 64 << 20, 32 << 20);
    let site = |tid, pc, faults| CpuSite { pid: 4711, tid, pc, faults };
    if let Body::Uvm(tick) = &mut event.body
        && let Some(events) = &mut tick.events
    {
        events.cpu_sites = vec![site(4711, 0x1000, 700), site(4712, 0x2000, 68)];
    }
    event
}

fn named() -> Event {
    told(
        150,
        Watched::Site(SiteName {
            pid: 4711,
            pc: 0x1000,
            module: "train".to_owned(),
            function: Some("fill_on_cpu".to_owned()),
            place: Some("/home/ann/src/fill.cpp:57".to_owned()),
        }),
    )
}

fn no_gpu() -> Event {
    let mut event = header(Origin::Measured);
    if let Body::Header(header) = &mut event.body {
        header.gpu = None;
    }
    event
}

fn shown(events: &[Event]) -> String {
    text(&model_of(Mode::Watch, events), 160, 48)
}

#[test]
fn what_is_waited_for_is_said_and_nothing_is_claimed() {
    let screen = shown(&[no_gpu(), subject(None), told(2, Watched::Level(TraceLevel::Counters))]);
    for text in ["WATCHING", "4711 ann", "train.py", "waiting for a CUDA context in 4711", "trace counters"] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    assert!(screen.contains("known once the program has a CUDA context") && !screen.contains("concurrent"), "{screen}");
}

#[test]
fn sites_have_names_counts_and_threads() {
    let mut events = vec![header(Origin::Measured), subject(None), attached(20), range(768), faulting(120), named()];
    events.push(told(160, Watched::Thread { pid: 4711, tid: 4712, name: "loader".to_owned() }));
    let screen = shown(&events);
    for text in
        ["fill.cpp:57  fill_on_cpu", "0x2000", "loader", "768 MiB managed in 1 ranges", "Managed ranges", "attached"]
    {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    assert!(!screen.contains("/home/ann"), "folders are left out: {screen}");
    assert!(screen.contains("64.0 MiB to the GPU") || screen.contains("64 MiB to the GPU"), "{screen}");
}

#[test]
fn a_program_in_which_nothing_moves_is_told_so_in_words() {
    let quiet = |ms| tick(ms, TraceLevel::Counters, 0, 0);
    let events = |mib| {
        let mut events = vec![header(Origin::Measured), subject(None), attached(20), range(mib)];
        events.extend((1..=80).map(|n| quiet(n * 100)));
        events
    };
    assert!(shown(&events(2)).contains("no managed memory. It would take cudaMallocManaged"));
    assert!(shown(&events(512)).contains("512 MiB are managed, but only one side touches them"));
    let mut once = events(512);
    once.insert(5, tick(50, TraceLevel::Counters, 4 << 20, 0));
    assert!(shown(&once).contains("Nothing has migrated or faulted for 5 s; before that: 4 MiB to the GPU"));
}

#[test]
fn the_end_shows_the_exit_code_and_the_output() {
    let lines = vec!["epoch 1".to_owned(), "epoch 2 — loss 0.1".to_owned()];
    let mut events = vec![header(Origin::Measured), subject(Some("/tmp/out.log")), attached(20), faulting(120)];
    events.push(told(130, Watched::Output { lines, skipped: 4 }));
    events.push(told(140, Watched::Released { pid: 4711, spaces: 0, why: "the process has ended".to_owned() }));
    events.push(told(141, Watched::Ended { code: Some(3) }));
    let screen = shown(&events);
    for text in
        ["ended with code 3", "exit code 3, which will be umtop's", "Output", "epoch 2 — loss 0.1", "4 lines are in"]
    {
        assert!(screen.contains(text), "{text}: {screen}");
    }
}

#[test]
fn the_cost_of_a_level_is_said_and_measured_where_it_can_be() {
    let mut events =
        vec![header(Origin::Measured), subject(None), attached(20), told(21, Watched::Level(TraceLevel::Full))];
    events.push(tick(100, TraceLevel::Full, 1 << 20, 0));
    assert!(shown(&events).contains("slows the program"));
    let windows = |from: u64, level, bytes| (0..30).map(move |n| tick(from + n * 100, level, bytes, 0));
    let mut events = vec![header(Origin::Measured), subject(None), attached(20)];
    events.extend(windows(100, TraceLevel::Counters, 400_000_000));
    events.extend(windows(3_100, TraceLevel::Full, 200_000_000));
    let screen = shown(&events);
    assert!(screen.contains("trace full: it moved 2.00 GB/s at this level, 4.00 GB/s at counters"), "{screen}");
}

#[test]
fn a_recording_of_a_watch_looks_the_same() {
    let events = [header(Origin::Measured), subject(None), attached(20), faulting(120), named()];
    let screen = text(&model_of(Mode::Replay, &events), 160, 48);
    assert!(screen.contains("REPLAY") && screen.contains("fill_on_cpu") && screen.contains("4711 ann"), "{screen}");
}

#[test]
fn every_size_and_the_ascii_form_are_drawn() {
    let mut events = vec![header(Origin::Measured), subject(Some("o")), attached(20), faulting(120), named()];
    events.push(told(130, Watched::Output { lines: vec!["größer …".to_owned()], skipped: 1 }));
    let mut model = model_of(Mode::Watch, &events);
    for (width, height) in [(60, 18), (76, 20), (100, 24), (101, 30), (200, 60), (400, 100)] {
        model.ui.size = (width, height);
        assert!(text(&model, width, height).contains("4711"), "{width}x{height}");
    }
    model.setup.theme.glyphs = Glyphs::Ascii;
    assert!(text(&model, 160, 48).is_ascii());
}
