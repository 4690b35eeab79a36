//! What keys and events do to the model, and what they ask of the source.

use super::*;

#[test]
fn the_choice_is_seen_where_there_is_no_list() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    assert!(!text(&model, 70, 20).contains("▸"));
    press(&mut model, KeyCode::Down);
    assert!(text(&model, 70, 20).contains("▸ random ⏎"));
    assert!(text(&model, 120, 36).contains("▸2 random"));
}

#[test]
fn freezing_stops_the_picture_and_not_the_collection() {
    let all = events(TraceLevel::Full);
    let (first, rest) = all.split_at(all.len() / 2);
    let mut model = model_of(Mode::Live, first);
    assert_eq!(press(&mut model, KeyCode::Char('f')), None);
    let frozen = text(&model, 120, 36);
    assert!(frozen.contains("FROZEN"));
    for event in rest {
        update(&mut model, Msg::Event(Box::new(event.clone())));
    }
    assert_eq!(text(&model, 120, 36), frozen);
    press(&mut model, KeyCode::Char('f'));
    assert_eq!(text(&model, 120, 36), text(&model_of(Mode::Live, &all), 120, 36));
}

#[test]
fn settings_become_requests_to_run() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    let asked = |control: Option<Control>| match control {
        Some(Control::Run(settings)) => settings,
        other => panic!("not a run: {other:?}"),
    };
    assert!(asked(press(&mut model, KeyCode::Char('p'))).prefetch);
    assert_eq!(asked(press(&mut model, KeyCode::Char('a'))).advice, Advice::ReadMostly);
    assert_eq!(asked(press(&mut model, KeyCode::Char('+'))).size, Bytes::mib(512));
    assert_eq!(asked(press(&mut model, KeyCode::Char('-'))).size, Bytes::mib(256));
    assert_eq!(asked(press(&mut model, KeyCode::Char('m'))).memory, MemoryKind::Explicit);
    assert_eq!(press(&mut model, KeyCode::Char('p')), None);
    assert!(model.ui.hint.as_ref().is_some_and(|hint| hint.contains("managed")));
    let again = asked(press(&mut model, KeyCode::Char('1')));
    assert_eq!(
        (again.prefetch, again.memory),
        (true, MemoryKind::Explicit),
        "the same workload keeps what was changed"
    );
    model.setup.workloads[2].settings.advice = Advice::PreferredCpu;
    model.setup.workloads[2].settings.size = Bytes::kib(4);
    let other = asked(press(&mut model, KeyCode::Char('3')));
    let own = Settings { trace: TraceLevel::Full, ..model.setup.workloads[2].settings.clone() };
    assert_eq!(other, own, "another workload starts with its own settings");
    assert_eq!(press(&mut model, KeyCode::Char('5')), None);
    assert!(model.ui.hint.as_ref().is_some_and(|hint| hint.contains("needs two GPUs")));
}

#[test]
fn the_second_gpu_is_preferred_by_a_key_where_there_is_one() {
    let walk = |gpus: u32| {
        let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
        model.session.header.as_mut().unwrap().caps.gpus = gpus;
        let mut said = Vec::new();
        let mut seen = Vec::new();
        for _ in 0..Advice::ALL.len() {
            let Some(Control::Run(settings)) = press(&mut model, KeyCode::Char('a')) else { panic!("not a run") };
            seen.push(settings.advice);
            said.extend(model.ui.hint.take());
        }
        (seen, said.join("\n"))
    };
    let (one, said) = walk(1);
    assert!(!one.contains(&Advice::PreferredSecondGpu) && !one.contains(&Advice::AccessedBySecondGpu), "{one:?}");
    assert!(said.contains("it names a second GPU, and there is only one"), "{said}");
    let (two, said) = walk(2);
    assert!(two.contains(&Advice::PreferredSecondGpu) && two.contains(&Advice::AccessedBySecondGpu), "{two:?}");
    assert!(!said.contains("left out"), "{said}");
}

#[test]
fn sizes_stay_within_the_bounds_and_on_powers_of_two() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    model.ui.wanted.size = Bytes::mib(300);
    press(&mut model, KeyCode::Char('-'));
    assert_eq!(model.ui.wanted.size, Bytes::mib(256));
    for _ in 0..40 {
        press(&mut model, KeyCode::Char('-'));
    }
    assert_eq!(model.ui.wanted.size, Bytes::mib(2));
}

#[test]
fn oversubscription_is_refused_or_confirmed() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    model.ui.wanted.size = Bytes::mib(2048);
    assert_eq!(press(&mut model, KeyCode::Char('+')), None);
    assert!(model.ui.hint.as_ref().is_some_and(|hint| hint.contains("--allow-oversubscription")));
    model.setup.oversubscription = true;
    assert_eq!(press(&mut model, KeyCode::Char('+')), None);
    assert!(matches!(model.ui.overlay, Overlay::Confirm(_)));
    assert_eq!(press(&mut model, KeyCode::Esc), None);
    assert_eq!((&model.ui.overlay, model.ui.wanted.size), (&Overlay::None, Bytes::mib(2048)));
    press(&mut model, KeyCode::Char('+'));
    assert!(matches!(press(&mut model, KeyCode::Enter), Some(Control::Run(s)) if s.size == Bytes::mib(4096)));
    assert!(matches!(press(&mut model, KeyCode::Char('p')), Some(Control::Run(s)) if s.prefetch), "asked again");
}

#[test]
fn escape_closes_first_and_quits_then() {
    let mut model = model_of(Mode::Replay, &[]);
    press(&mut model, KeyCode::Char('?'));
    assert_eq!(press(&mut model, KeyCode::Esc), None);
    assert_eq!(press(&mut model, KeyCode::Esc), Some(Control::Stop));
    press(&mut model, KeyCode::Char('?'));
    assert_eq!(press(&mut model, KeyCode::Char('q')), Some(Control::Stop));
}

#[test]
fn a_replay_can_be_paced_and_changes_no_settings() {
    let mut model = model_of(Mode::Replay, &events(TraceLevel::Full));
    assert_eq!(press(&mut model, KeyCode::Char('>')), Some(Control::Speed(2.0)));
    assert_eq!(press(&mut model, KeyCode::Char('<')), Some(Control::Speed(1.0)));
    assert_eq!(press(&mut model, KeyCode::Char(' ')), Some(Control::Pause(true)));
    assert!(text(&model, 120, 36).contains("PAUSED"));
    assert_eq!(press(&mut model, KeyCode::Char(' ')), Some(Control::Pause(false)));
    assert!(!text(&model, 120, 36).contains("PAUSED"));
    assert_eq!(press(&mut model, KeyCode::Char('p')), None);
    assert_eq!(model.ui.wanted, settings());
}

#[test]
fn a_replay_shows_the_speed_it_was_started_with() {
    let model = Model::new(Setup { speed: 0.25, ..setup(Mode::Replay) });
    assert!(text(&model, 120, 36).contains("REPLAY 0.25×"));
}

#[test]
fn a_pause_can_be_taken_back_before_the_pass_has_ended() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    assert_eq!(press(&mut model, KeyCode::Char(' ')), Some(Control::Pause(true)));
    assert_eq!(press(&mut model, KeyCode::Char(' ')), Some(Control::Pause(false)));
    // Other settings end a pause too, and the source says so.
    press(&mut model, KeyCode::Char(' '));
    for paused in [true, false] {
        update(&mut model, Msg::Event(Box::new(at(24_001, Body::Run(RunEvent::Paused(paused))))));
        assert_eq!(text(&model, 120, 36).contains("PAUSED"), paused);
    }
    assert_eq!(press(&mut model, KeyCode::Char(' ')), Some(Control::Pause(true)));
}

#[test]
fn a_recording_that_failed_is_not_shown_as_running() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    press(&mut model, KeyCode::Char('r'));
    let notice = Notice { level: Level::Error, source: "recording".to_owned(), text: "a.umr exists".to_owned() };
    update(&mut model, Msg::Event(Box::new(at(24_001, Body::Notice(notice)))));
    let shown = text(&model, 120, 36);
    assert!(shown.contains("a.umr exists") && !shown.contains("REC"), "{shown}");
    assert!(matches!(press(&mut model, KeyCode::Char('r')), Some(Control::Record(Some(_)))));
}

#[test]
fn a_recording_is_named_after_the_session_and_ended_by_the_same_key() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    let path = std::path::PathBuf::from("umtop-2026-11-30T08.00.00Z+24s.umr");
    assert_eq!(press(&mut model, KeyCode::Char('r')), Some(Control::Record(Some(path))));
    assert!(text(&model, 120, 36).contains("REC 00:00"));
    assert_eq!(press(&mut model, KeyCode::Char('r')), Some(Control::Record(None)));
}

#[test]
fn a_failed_run_is_put_before_the_user() {
    let mut all = events(TraceLevel::Full);
    let outcome = Outcome::Failed("256 MiB does not fit: 12 MiB free".to_owned());
    all.push(at(24_001, Body::Run(RunEvent::Ended { run: RunId(2), outcome })));
    let mut model = model_of(Mode::Live, &all);
    assert!(text(&model, 80, 24).contains("does not fit: 12 MiB free"));
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.ui.overlay, Overlay::None);
}

#[test]
fn the_mouse_runs_what_it_points_at() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    model.ui.size = (120, 36);
    let shown = text(&model, 120, 36);
    let row = shown.lines().position(|line| line.contains("ping-pong")).unwrap() as u16;
    let clicked = update(&mut model, Msg::Click { column: 5, row });
    assert!(matches!(clicked, Some(Control::Run(settings)) if settings.workload == "ping-pong"));
    let foot = shown.lines().last().unwrap().trim_start_matches('"');
    let column = foot.chars().collect::<String>().find("quit").map(|byte| foot[..byte].chars().count()).unwrap() as u16;
    assert_eq!(update(&mut model, Msg::Click { column, row: 35 }), Some(Control::Stop));
    assert_eq!(update(&mut model, Msg::Click { column: 60, row: 10 }), None);
}

#[test]
fn a_start_above_the_card_s_memory_waits_for_an_answer() {
    let wanted = Settings { size: Bytes(64 << 30), ..settings() };
    let setup = Setup {
        vram_free: Some(Bytes(16 << 30)),
        oversubscription: true,
        settings: wanted.clone(),
        ..setup(Mode::Live)
    };
    let mut model = Model::new(setup);
    assert_eq!(model.ui.overlay, Overlay::Confirm(Box::new(wanted.clone())));
    assert_eq!(press(&mut model, KeyCode::Enter), Some(Control::Run(wanted)));
}

#[test]
fn the_end_of_a_recording_is_told() {
    let mut model = Model::new(setup(Mode::Replay));
    update(&mut model, Msg::Ended);
    assert!(text(&model, 120, 36).contains("REPLAY ended"));
}

#[test]
fn the_shape_of_a_pass_is_walked_through_and_back_to_the_file() {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    let press = |model: &mut Model, key: char| super::press(model, KeyCode::Char(key));
    let shape = |model: &Model| model.ui.wanted.shape;
    press(&mut model, ')');
    assert_eq!(shape(&model).rounds, Some(2));
    press(&mut model, '(');
    assert!(shape(&model).is_plain(), "as many as the file says");
    assert!(press(&mut model, '(').is_none(), "less than one round");
    for _ in 0..crate::event::AccessPattern::ALL.len() {
        assert!(matches!(press(&mut model, 'v'), Some(Control::Run(wanted)) if wanted.shape.pattern.is_some()));
    }
    press(&mut model, 'v');
    assert!(shape(&model).is_plain());
    press(&mut model, 'i');
    assert_eq!(shape(&model).piece, Some(crate::event::Piece::Whole));
    (0..5).for_each(|_| drop(press(&mut model, 'i')));
    assert!(shape(&model).is_plain());
}

#[test]
fn frames_wait_longest_for_what_probes_tell_all_the_time() {
    use crate::ui::Due;
    use std::collections::BTreeSet;
    let all = events(TraceLevel::Full);
    let due: BTreeSet<Due> = all.iter().map(|event| Due::of(&event.body)).collect();
    assert_eq!(due, BTreeSet::from([Due::Routine, Due::Event]));
    for event in &all {
        match &event.body {
            Body::Run(_) | Body::Header(_) => assert_eq!(Due::of(&event.body), Due::Event),
            Body::Sample(_) => assert_eq!(Due::of(&event.body), Due::Routine),
            _ => {}
        }
    }
    let least = [Due::Asked, Due::Event, Due::Routine, Due::Still].map(Due::least);
    assert!(least.is_sorted() && least[0] > Nanos(0), "{least:?}");
}

#[test]
fn what_a_late_source_turns_out_to_be_replaces_what_was_guessed_and_keeps_what_was_chosen_to_be_seen() {
    let mut model = Model::new(Setup { opening: true, ..setup(Mode::Live) });
    assert!(text(&model, 120, 36).contains("opening the GPU"));
    assert_eq!(press(&mut model, KeyCode::Char('p')), None);
    assert!(model.ui.hint.is_some() && !model.ui.wanted.prefetch);
    press(&mut model, KeyCode::Char('l'));
    press(&mut model, KeyCode::Char(']'));
    let window = model.ui.window;
    let mut found = setup(Mode::Live);
    found.settings.size = Bytes::mib(7);
    update(&mut model, Msg::Opened(Box::new(found)));
    assert_eq!((model.ui.log, model.ui.window, model.ui.wanted.size), (true, window, Bytes::mib(7)));
    assert!(!model.setup.opening && !text(&model, 120, 36).contains("opening the GPU"));
    assert!(matches!(press(&mut model, KeyCode::Char('p')), Some(Control::Run(_))));
    assert_eq!(
        press(&mut Model::new(Setup { opening: true, ..setup(Mode::Live) }), KeyCode::Char('q')),
        Some(Control::Stop)
    );
}
