//! What is on the screen.

use super::*;

#[test]
fn the_live_screen_at_the_usual_sizes() {
    let model = model_of(Mode::Live, &events(TraceLevel::Full));
    for (width, height) in [(60, 18), (80, 24), (120, 36), (200, 60)] {
        insta::assert_snapshot!(format!("live_{width}x{height}"), text(&model, width, height));
    }
}

#[test]
fn a_simulated_session_says_so_with_its_reason() {
    let mut all = events(TraceLevel::Counters);
    all[0] =
        header(Origin::Simulated { profile: "h200".to_owned(), reason: "no NVIDIA driver on this machine".to_owned() });
    let model = model_of(Mode::Live, &all);
    for (width, height) in [(60, 18), (120, 36)] {
        let shown = text(&model, width, height);
        assert!(shown.contains("SIMULATED") && shown.contains("no NVIDIA"), "{shown}");
        assert!(!shown.contains("LIVE"), "{shown}");
    }
}

#[test]
fn lower_trace_levels_say_what_they_lack() {
    let counters = text(&model_of(Mode::Live, &events(TraceLevel::Counters)), 120, 36);
    assert!(counters.contains("by cause needs trace full: press t"), "{counters}");
    assert!(!counters.contains("batch p50") && !counters.contains("driver prefetch"), "{counters}");
    let off = text(&model_of(Mode::Live, &events(TraceLevel::Off)), 120, 36);
    assert_eq!(off.matches("press t: needs trace counters").count(), 2, "{off}");
}

#[test]
fn a_reading_that_is_missing_now_is_told_beside_what_was_read_before() {
    let all = events(TraceLevel::Full);
    let until = |ms: u64| all.iter().filter(|event| event.at.0 <= ms * MS).cloned().collect::<Vec<_>>();
    assert!(!text(&model_of(Mode::Live, &until(5_900)), 120, 36).contains("stalled: no answer"));
    let shown = text(&model_of(Mode::Live, &until(7_900)), 120, 36);
    assert!(shown.contains("stalled: no answer"), "{shown}");
    assert!(!text(&model_of(Mode::Live, &until(9_000)), 120, 36).contains("stalled: no answer"));
}

#[test]
fn a_link_that_reads_0_is_doubted_only_while_the_driver_moves_data() {
    let shown = |rate: f64, htod: u64| {
        let mut all = vec![header(Origin::Measured)];
        for ms in (100..=6_000).step_by(100) {
            all.push(link(ms, Reading::Value(rate), Reading::Value(0.0)));
            all.push(tick(ms, TraceLevel::Counters, htod, 0));
        }
        text(&model_of(Mode::Live, &all), 120, 36)
    };
    let doubted = shown(0.0, 8 << 20);
    assert!(doubted.contains("suspect: reads 0 while the driver moved"), "{doubted}");
    for (rate, htod) in [(0.0, 0), (0.0, 1 << 20), (1e9, 8 << 20)] {
        let shown = shown(rate, htod);
        assert!(!shown.contains("suspect"), "{shown}");
    }
}

#[test]
fn no_size_panics_in_any_mode_or_overlay() {
    let all = events(TraceLevel::Full);
    for mode in [Mode::Live, Mode::Watch, Mode::Replay] {
        let models = [Model::new(setup(mode)), model_of(mode, &all), model_of(mode, &[])];
        for mut model in models {
            for (width, height) in [
                (1, 1),
                (2, 3),
                (20, 5),
                (59, 18),
                (60, 17),
                (60, 18),
                (75, 19),
                (76, 18),
                (80, 24),
                (133, 21),
                (400, 100),
            ] {
                let overlays = [
                    Overlay::None,
                    Overlay::Help(9),
                    Overlay::Observer,
                    Overlay::Confirm(Box::new(settings())),
                    Overlay::Error("out of memory ".repeat(40)),
                ];
                for overlay in overlays {
                    model.ui.overlay = overlay;
                    model.ui.size = (width, height);
                    text(&model, width, height);
                    for (column, row) in [(0, 0), (width - 1, height - 1), (width / 2, height / 2)] {
                        view::hit(&model, column, row);
                    }
                }
            }
        }
    }
    let small = text(&model_of(Mode::Live, &[]), 59, 18);
    assert!(small.contains("terminal too small: 60×18 needed"), "{small}");
}

#[test]
fn ascii_draws_nothing_else() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    for overlay in [Overlay::None, Overlay::Help(0), Overlay::Observer, Overlay::Confirm(Box::new(settings()))] {
        model.ui.overlay = overlay;
        model.setup.theme.glyphs = Glyphs::Unicode;
        let questions = text(&model, 160, 48).matches('?').count();
        model.setup.theme.glyphs = Glyphs::Ascii;
        let plain = text(&model, 160, 48);
        assert!(plain.is_ascii(), "{plain}");
        assert_eq!(plain.matches('?').count(), questions, "a glyph without an ASCII form: {plain}");
    }
}

#[test]
fn a_silent_driver_is_named() {
    let mut all = events(TraceLevel::Full);
    all.push(at(24_001, Body::Run(RunEvent::PassBegan { run: RunId(2), index: 80 })));
    all.push(vram(30_000, 0.6));
    let mut model = model_of(Mode::Live, &all);
    model.ui.hint = Some("the answer to a key that was pressed long ago".to_owned());
    assert!(text(&model, 120, 36).contains("no sign of the driver for 5 s: pass 81 is still under way"));
    all.push(tick(30_050, TraceLevel::Full, 1 << 20, 0));
    assert!(!text(&model_of(Mode::Live, &all), 120, 36).contains("no sign of the driver"));
}

#[test]
fn lost_events_are_counted_in_the_header() {
    let mut all = events(TraceLevel::Full);
    if let Some(Body::Uvm(tick)) = all.iter_mut().map(|event| &mut event.body).find(|body| matches!(body, Body::Uvm(_)))
        && let Some(events) = &mut tick.events
    {
        events.lost = vec![(3, 17)];
    }
    assert!(text(&model_of(Mode::Live, &all), 120, 36).contains("lost 17"));
}

#[test]
fn a_menu_longer_than_the_screen_scrolls_with_the_choice() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    model.setup.workloads = (1..=20).map(|n| entry(&format!("w{n}"), &format!("workload no. {n}"), "Why?")).collect();
    for (width, height) in [(80, 24), (120, 36)] {
        model.ui.selected = 0;
        for n in 1..=20 {
            let shown = text(&model, width, height);
            let chosen = format!("workload no. {n} ");
            assert!(shown.lines().any(|line| line.contains('▸') && line.contains(&chosen)), "{n}: {shown}");
            press(&mut model, KeyCode::Down);
        }
        assert_eq!(model.ui.selected, 19, "the last stays the last");
    }
}
