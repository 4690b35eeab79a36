//! Going through the screens: arrows, mouse, baseline, colours.

use super::*;

fn live() -> Model {
    let mut model = model_of(Mode::Live, &events(TraceLevel::Full));
    model.ui.size = (120, 36);
    model
}

#[test]
fn the_cursor_of_the_map_moves_and_chooses_no_workload() {
    let mut model = live();
    press(&mut model, KeyCode::F(2));
    assert!(text(&model, 120, 36).contains("Block 1 of 128"));
    for (code, block) in [(KeyCode::Right, 1), (KeyCode::Right, 2), (KeyCode::Left, 1), (KeyCode::Up, 1)] {
        press(&mut model, code);
        assert_eq!((model.ui.block, model.ui.selected), (block, 0), "{code:?}");
    }
    press(&mut model, KeyCode::Down);
    let row = model.ui.block - 1;
    assert!(row >= 8 && row.is_multiple_of(8), "a row of the map: {row}");
    for _ in 0..200 {
        press(&mut model, KeyCode::Right);
    }
    assert!(text(&model, 120, 36).contains("Block 128 of 128"));
    assert_eq!(press(&mut model, KeyCode::Enter), None, "runs nothing");
}

#[test]
fn the_mouse_finds_tabs_and_cells() {
    let mut model = live();
    let shown = text(&model, 120, 36);
    let tabs = shown.lines().position(|line| line.contains("F2 Memory")).unwrap() as u16;
    let line: String = shown.lines().nth(usize::from(tabs)).unwrap().trim_start_matches('"').to_owned();
    let column = line.find("Memory").unwrap() as u16;
    update(&mut model, Msg::Click { column, row: tabs });
    assert_eq!(model.ui.screen, Screen::Memory);
    // The second cell of the map's first row.
    let first = view::hit(&model, 2, tabs + 3);
    assert_eq!(first, Some(keys::Action::Block(0)));
    let second =
        (3..12).find_map(|column| view::hit(&model, column, tabs + 3).filter(|found| *found != keys::Action::Block(0)));
    assert_eq!(second, Some(keys::Action::Block(1)));
    model.ui.screen = Screen::Live;
    let row = text(&model, 120, 36).lines().position(|line| line.contains("Residency")).unwrap() as u16 + 1;
    let hit = (30..60).find_map(|column| view::hit(&model, column, row));
    assert_eq!(hit, Some(keys::Action::Block(0)), "the strip leads to the map");
}

#[test]
fn a_baseline_is_pinned_compared_and_let_go() {
    let mut model = live();
    press(&mut model, KeyCode::F(4));
    assert!(text(&model, 120, 36).contains("press g to pin it"));
    press(&mut model, KeyCode::Up);
    assert_eq!(model.ui.compared, Some(RunId(1)));
    press(&mut model, KeyCode::Char('g'));
    assert_eq!(model.ui.baseline, Some(RunId(1)));
    press(&mut model, KeyCode::Down);
    assert_eq!(model.ui.compared, None, "the newest run is followed");
    let shown = text(&model, 120, 36);
    assert!(shown.contains("#2 against baseline #1") && shown.contains("prefetch: off → on"), "{shown}");
    assert!(shown.contains("faster"), "{shown}");
    press(&mut model, KeyCode::F(1));
    let ghost = model.digest.ghost.clone().unwrap();
    assert!(ghost.pass_ns.is_some() && ghost.gpu_faults.is_some() && ghost.migrated.is_some(), "{ghost:?}");
    press(&mut model, KeyCode::F(4));
    press(&mut model, KeyCode::Up);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.ui.baseline, None);
    assert!(model.digest.ghost.is_none() && model.digest.comparison.is_none());
}

#[test]
fn what_cannot_be_compared_is_refused_on_the_screen() {
    let mut all = events(TraceLevel::Full);
    all.push(started(24_100, 3, Settings { workload: "random".to_owned(), ..settings() }));
    all.push(pass(24_200, 3, 1, 30.0));
    let mut model = model_of(Mode::Live, &all);
    model.ui.baseline = Some(RunId(1));
    press(&mut model, KeyCode::F(4));
    model.compare_again();
    assert!(text(&model, 120, 36).contains("Not comparable: sequential and random"), "{}", text(&model, 120, 36));
}

#[test]
fn the_link_is_probed_where_something_runs() {
    assert_eq!(press(&mut live(), KeyCode::Char('k')), Some(Control::ProbeLink));
    let mut replay = model_of(Mode::Replay, &events(TraceLevel::Full));
    assert_eq!(press(&mut replay, KeyCode::Char('k')), None);
    let mut all = events(TraceLevel::Full);
    let readings = vec![(Metric::LinkHtoD, Reading::Value(55.3e9)), (Metric::LinkDtoH, Reading::Value(55.1e9))];
    all.push(at(24_001, Body::Sample(Sample { source: "link probe".to_owned(), window: None, readings })));
    let mut model = model_of(Mode::Live, &all);
    assert!(text(&model, 200, 60).contains("measured link 55.3"));
    press(&mut model, KeyCode::F(5));
    assert!(text(&model, 120, 36).contains("HtoD 55.3 GB/s, DtoH 55.1 GB/s"));
}

#[test]
fn colours_change_by_key_and_mono_stays_without() {
    let mut model = live();
    model.ui.depth = Depth::True;
    model.setup.theme.depth = Depth::True;
    let mut names = Vec::new();
    for _ in 0..4 {
        press(&mut model, KeyCode::Char('c'));
        names.push(model.setup.theme.name());
    }
    assert_eq!(names, ["light", "colour-blind", "mono", "dark"]);
}

#[test]
fn a_newcomer_is_told_of_the_keys_until_one_is_pressed() {
    let few: Vec<Event> = events(TraceLevel::Full).into_iter().filter(|event| event.at.seconds() < 3.0).collect();
    let mut model = model_of(Mode::Live, &few);
    assert!(text(&model, 120, 36).contains("New here?"));
    press(&mut model, KeyCode::Char('l'));
    assert!(!text(&model, 120, 36).contains("New here?"));
    assert!(!text(&model_of(Mode::Live, &events(TraceLevel::Full)), 120, 36).contains("New here?"));
}

#[test]
fn long_screens_scroll_to_their_end_and_no_further() {
    let mut model = live();
    press(&mut model, KeyCode::F(5));
    model.ui.size = (80, 24);
    let top = text(&model, 80, 24);
    for _ in 0..500 {
        press(&mut model, KeyCode::Down);
    }
    let end = text(&model, 80, 24);
    assert!(
        top.contains("unified memory") && !end.contains("unified memory") && end.contains("live parameters"),
        "{end}"
    );
    let scroll = model.ui.scroll;
    press(&mut model, KeyCode::Down);
    assert_eq!(model.ui.scroll, scroll);
    press(&mut model, KeyCode::F(6));
    assert_eq!(model.ui.scroll, 0);
}
