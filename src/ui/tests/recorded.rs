//! Every screen over recordings of a real card.

use super::*;
use crate::recording::Reader;

/// A recording's session after its first `seconds`, as a replay shows it.
fn model(name: &str, seconds: u64) -> Model {
    let path = std::path::Path::new("assets/recordings").join(name).with_extension("umr");
    let mut reader = Reader::open(&path).unwrap();
    let mut model = Model::new(setup(Mode::Replay));
    while let Some(event) = reader.next_event().unwrap().filter(|event| event.at.seconds() < seconds as f64) {
        update(&mut model, Msg::Event(Box::new(event)));
    }
    model
}

/// What each screen shows best: a recording, a moment in it.
const BEST: [(Screen, &str, u64); 6] = [
    (Screen::Live, "prefetch-switched-on", 5),
    (Screen::Memory, "sequential", 3),
    (Screen::Faults, "ping-pong-block", 4),
    (Screen::Compare, "explicit-vs-managed", 12),
    (Screen::Machine, "sequential", 3),
    (Screen::Insights, "read-mostly-trap", 9),
];

#[test]
fn every_screen_at_the_usual_sizes() {
    for (screen, name, seconds) in BEST {
        let mut model = model(name, seconds);
        press(&mut model, KeyCode::F(screen.number() as u8 + 1));
        if screen == Screen::Compare {
            model.ui.baseline = Some(RunId(1));
            model.compare_again();
        }
        for (width, height) in [(80, 24), (120, 36), (200, 60)] {
            model.ui.size = (width, height);
            let title = screen.title().to_lowercase();
            insta::assert_snapshot!(format!("{title}_recorded_{width}x{height}"), text(&model, width, height));
        }
    }
}

#[test]
fn no_screen_panics_at_any_size() {
    let sizes = (1..=400u16).step_by(80).flat_map(|w| (1..=100u16).step_by(16).map(move |h| (w, h)));
    let more = [(1, 1), (59, 18), (60, 18), (61, 19), (75, 21), (80, 24), (96, 22), (104, 30), (110, 26), (400, 100)];
    let sizes: Vec<(u16, u16)> = sizes.chain(more).collect();
    for (_, name, seconds) in BEST {
        for mode in [Mode::Live, Mode::Replay] {
            let mut model = model(name, seconds);
            model.setup.mode = mode;
            model.ui.baseline = Some(RunId(1));
            for screen in Screen::ALL {
                model.ui.screen = screen;
                for (width, height) in &sizes {
                    model.ui.size = (*width, *height);
                    for code in [KeyCode::Down, KeyCode::Right, KeyCode::Up, KeyCode::Left] {
                        press(&mut model, code);
                    }
                    text(&model, *width, *height);
                    for at in [(0, 0), (width - 1, height - 1), (width / 2, height / 2), (3, 4)] {
                        view::hit(&model, at.0, at.1);
                    }
                }
            }
        }
    }
}

#[test]
fn ascii_screens_are_ascii() {
    for (screen, name, seconds) in BEST {
        let mut model = model(name, seconds);
        model.ui.screen = screen;
        model.setup.theme.glyphs = Glyphs::Ascii;
        let shown = text(&model, 140, 44);
        assert!(shown.is_ascii(), "{shown}");
    }
}
