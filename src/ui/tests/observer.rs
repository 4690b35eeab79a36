//! What watching costs: the key, the overlay, and the tool's own figures.

use super::*;

/// Runs 3 to 6, one at each level, in turns; level full takes twice as long.
fn in_turns(from_ms: u64, ended: bool) -> Vec<Event> {
    let mut all = Vec::new();
    let levels = || (3u32..).zip(TraceLevel::ALL);
    all.extend(levels().map(|(run, level)| started(from_ms, run, Settings { trace: *level, ..settings() })));
    for round in 0..7 {
        for (run, level) in levels() {
            let time = if *level == TraceLevel::Full { 40.0 } else { 20.0 };
            let ms = from_ms + 1 + u64::from(round * 4 + run) * 50;
            all.push(pass(ms, run, round, time + f64::from(round % 3) * 0.1));
        }
    }
    let end = from_ms + 2_000;
    if ended {
        let over = |run| at(end, Body::Run(RunEvent::Ended { run: RunId(run), outcome: Outcome::Done }));
        all.extend((3..7).map(over));
        all.push(started(end, 7, settings()));
    }
    all
}

fn told(model: &mut Model, events: Vec<Event>) {
    for event in events {
        update(model, Msg::Event(Box::new(event)));
    }
}

#[test]
fn the_key_asks_for_all_levels_and_the_overlay_shows_what_came_of_it() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Faults));
    let asked = press(&mut model, KeyCode::Char('o'));
    assert_eq!(asked, Some(Control::CompareLevels { warmups: 1, passes: 10 }));
    assert!(text(&model, 120, 36).contains("runs at every trace level"), "{}", text(&model, 120, 36));
    told(&mut model, in_turns(24_100, false));
    let shown = text(&model, 120, 36);
    assert!(shown.contains("Measuring: ") && shown.contains("of 10 passes"), "{shown}");
    assert_eq!(press(&mut model, KeyCode::Char('o')), None, "it is under way");
    told(&mut model, in_turns(24_100, true).split_off(4 + 28));
    for (width, height) in [(80, 24), (120, 36)] {
        insta::assert_snapshot!(format!("observer_{width}x{height}"), text(&model, width, height));
    }
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.ui.overlay, Overlay::None);
    assert!(!text(&model, 120, 36).contains("What watching costs"));
    assert!(press(&mut model, KeyCode::Char('o')).is_some(), "measured anew");
}

#[test]
fn a_simulated_cost_is_not_taken_for_a_measured_one() {
    let mut all = events(TraceLevel::Faults);
    all[0] = header(Origin::Simulated { profile: "h200".to_owned(), reason: "asked for".to_owned() });
    let mut model = model_of(Mode::Live, &all);
    press(&mut model, KeyCode::Char('o'));
    told(&mut model, in_turns(24_100, true));
    assert!(text(&model, 80, 24).contains("SIMULATED: what the model"), "{}", text(&model, 80, 24));
}

#[test]
fn where_nothing_can_be_compared_the_key_says_why() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Off));
    if let Some(header) = &mut model.session.header {
        header.caps.trace = Can::No("the node is missing".to_owned());
    }
    assert_eq!(press(&mut model, KeyCode::Char('o')), None);
    assert_eq!(model.ui.overlay, Overlay::None);
    assert!(text(&model, 120, 36).contains("no level to compare with off: the node is missing"));
    let mut paused = model_of(Mode::Live, &events(TraceLevel::Off));
    press(&mut paused, KeyCode::Char(' '));
    assert_eq!(press(&mut paused, KeyCode::Char('o')), None);
    let mut replay = model_of(Mode::Replay, &events(TraceLevel::Off));
    assert_eq!(press(&mut replay, KeyCode::Char('o')), None);
}

#[test]
fn the_machine_screen_tells_the_tool_s_own_cost_from_the_workload_s() {
    let mut all = events(TraceLevel::Full);
    let none = Reading::Absent(crate::event::Why::NotSupported("no driver's queue is read here".to_owned()));
    let readings = vec![
        (Metric::OwnCpu, Reading::Value(61.24)),
        (Metric::OwnMemory, Reading::Value(31.0 * 1024.0 * 1024.0)),
        (Metric::ScreenCpu, Reading::Value(2.13)),
        (Metric::DriverCpu, none),
        (Metric::ProbesCpu, Reading::Value(0.32)),
    ];
    let window = Some(Nanos::millis(1_000));
    all.push(at(24_001, Body::Sample(Sample { source: "host".to_owned(), window, readings })));
    let mut model = model_of(Mode::Live, &all);
    model.ui.load = Some(Load { events: 12_345.0, frames: 29.8, longest: Nanos(1_234_567) });
    press(&mut model, KeyCode::F(5));
    let shown = text(&model, 200, 60);
    for part in [
        "CPU 61.2 % of a core, memory 31 MiB, its workload included",
        "screen 2.1 %, the driver's events n/a (not supported",
        "other probes 0.3 %",
        "12.3 k events/s, 30 frames/s, 1.23 ms a frame at most",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
