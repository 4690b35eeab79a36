//! Two GPUs on the screens: who holds a block, what goes between them.

use super::*;
use crate::event::{Carrier, SecondGpu, Why};
use crate::recording::Reader;
use crate::session::{Holder, Session};
use crate::source::{Batch, Pace, Sink, Work};
use crate::workload::{Choice, Library};

/// The first moment of `events` at which block 61 has just come to GPU 1 from GPU 0, and GPU 1 holds it.
fn until_handed(events: impl Iterator<Item = Event>) -> Model {
    let mut model = Model::new(setup(Mode::Replay));
    for event in events {
        update(&mut model, Msg::Event(Box::new(event)));
        if handed(&model.session) {
            break;
        }
    }
    assert!(handed(&model.session));
    model.ui.block = BLOCK;
    model
}

const BLOCK: usize = 61;

fn handed(session: &Session) -> bool {
    let Some(map) = session.residency.maps.first() else { return false };
    let way = map.blocks[BLOCK].recent.back().and_then(|lately| lately.way);
    way == Some((Proc::Gpu(0), Proc::Gpu(1))) && session.residency.holder(map, BLOCK) == Some(Holder::One(1))
}

fn recorded() -> Model {
    let mut reader = Reader::open(std::path::Path::new("assets/recordings/peer.umr")).unwrap();
    until_handed(std::iter::from_fn(move || reader.next_event().unwrap()))
}

fn simulated(level: TraceLevel) -> Vec<Event> {
    let library = Library::bundled().unwrap();
    let workload = library.find("peer").unwrap();
    let members = vec![workload.settings(workload.variant(Choice::default()), Bytes::mib(256), level)];
    let (live, header) = crate::run::simulated(crate::sim::open("h200-x2").unwrap(), "a test", library.clone());
    let (sink, events) = Sink::new(1 << 20);
    let (_control, wishes) = crossbeam_channel::unbounded();
    let reader = std::thread::spawn(move || events.iter().collect());
    live.run(header, Work::Batch(Batch { members, warmups: 0, passes: 1 }), sink, Pace::unpaced(wishes));
    reader.join().unwrap()
}

fn shown(model: &mut Model, screen: Screen, (width, height): (u16, u16)) -> String {
    model.ui.screen = screen;
    model.ui.size = (width, height);
    text(model, width, height)
}

#[test]
fn the_gpu_that_holds_a_block_is_named_on_every_screen() {
    let simulated = until_handed(simulated(TraceLevel::Full).into_iter());
    for (name, mut model) in [("recorded", recorded()), ("simulated", simulated)] {
        for screen in [Screen::Live, Screen::Memory, Screen::Faults] {
            let drawn = shown(&mut model, screen, (120, 36));
            let title = screen.title().to_lowercase();
            insta::assert_snapshot!(format!("{title}_two_gpus_{name}_120x36"), drawn);
        }
        let drawn = shown(&mut model, Screen::Memory, (120, 36));
        for says in ["lives    on GPU 1", "◆ GPU 1", "GPU 0 → GPU 1"] {
            assert!(drawn.contains(says), "{name}: {says}: {drawn}");
        }
    }
}

#[test]
fn the_holder_is_told_without_colour_and_in_ascii() {
    let mut model = recorded();
    model.setup.theme.glyphs = Glyphs::Ascii;
    let drawn = shown(&mut model, Screen::Memory, (120, 36));
    assert!(drawn.is_ascii() && drawn.contains("1 GPU 1") && drawn.contains("GPU 0 > GPU 1"), "{drawn}");
    for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
        for palette in [Palette::Dark, Palette::Light, Palette::ColourBlind] {
            model.setup.theme = Theme { depth, palette, glyphs: Glyphs::Unicode };
            let drawn = shown(&mut model, Screen::Live, (120, 36));
            assert!(drawn.contains("◆ GPU 1") && drawn.contains("GPU 0→1"), "{depth:?} {palette:?}: {drawn}");
        }
    }
}

#[test]
fn what_goes_between_gpus_is_not_claimed_below_level_full() {
    for (level, says) in [(TraceLevel::Full, "GPU 0→1"), (TraceLevel::Faults, "n/a: needs trace full")] {
        let mut model = model_of(Mode::Replay, &simulated(level));
        let live = shown(&mut model, Screen::Live, (120, 36));
        assert!(live.contains("GPU to GPU") && live.contains(says), "{live}");
        for size in [(60, 18), (80, 24), (200, 60)] {
            for screen in [Screen::Live, Screen::Memory, Screen::Faults] {
                shown(&mut model, screen, size);
            }
        }
        let faults = shown(&mut model, Screen::Faults, (120, 36));
        let says = if level == TraceLevel::Full { "GPU 1→0" } else { "from GPU to GPU and by" };
        assert!(faults.contains(says), "{faults}");
    }
    let mut whole = model_of(Mode::Replay, &simulated(TraceLevel::Full));
    let narrow = shown(&mut whole, Screen::Faults, (80, 24));
    assert!(narrow.contains("GPU 0→1") && narrow.contains("GPU 1→0"), "a row each: {narrow}");
}

#[test]
fn what_carries_the_bytes_is_named_or_the_reason_is() {
    let events = simulated(TraceLevel::Full);
    let why = Carrier::Unknown(Why::Denied("it needs rights".to_owned()));
    let said = [
        (Some(Carrier::NvLink), "GPU to GPU NVLink", "NVLink"),
        (Some(Carrier::Pcie), "GPU to GPU PCIe", "PCIe"),
        (Some(why), "carrier n/a: denied: it needs rights", "n/a: denied: it needs rights"),
        (None, "GPU to GPU carrier not recorded", "not recorded"),
    ];
    for (carrier, live, machine) in said {
        let mut events = events.clone();
        let header = events.iter_mut().find_map(|event| match &mut event.body {
            Body::Header(header) => Some(header),
            _ => None,
        });
        let header = header.unwrap();
        let second = header.second_gpu.take().unwrap();
        assert_ne!(second.uuid, header.gpu.as_ref().unwrap().uuid);
        header.second_gpu = carrier.map(|carrier| SecondGpu { carrier, ..second });
        let mut model = model_of(Mode::Replay, &events);
        for (screen, says) in [(Screen::Live, live), (Screen::Machine, machine)] {
            let drawn = shown(&mut model, screen, (120, 36));
            assert!(drawn.contains(says), "{says}: {drawn}");
        }
        for width in [60, 80] {
            assert!(shown(&mut model, Screen::Live, (width, 36)).contains("GPU to GPU"), "{width}");
        }
    }
}

#[test]
fn a_recorded_pair_names_its_link_and_where_on_demand_data_comes_from() {
    let mut reader = Reader::open(std::path::Path::new("assets/recordings/peer-preferred.umr")).unwrap();
    let mut model = Model::new(setup(Mode::Replay));
    let without = |model: &Model| {
        let current = model.session.runs.current();
        current.is_some_and(|run| run.counted().count() > 0 && run.start.settings == first_settings(&model.session))
    };
    while !without(&model) {
        update(&mut model, Msg::Event(Box::new(reader.next_event().unwrap().unwrap())));
    }
    let live = shown(&mut model, Screen::Live, (160, 48));
    assert!(live.contains("GPU to GPU NVLink"), "{live}");
    // The counter page alone has an eighth of it: seven of eight arrivals are from the other GPU.
    let insights = shown(&mut model, Screen::Insights, (160, 48));
    assert!(insights.contains("88 % of it from the other GPU") && !insights.contains("of the link's"), "{insights}");
}

fn first_settings(session: &Session) -> Settings {
    session.runs.runs.front().map(|run| run.start.settings.clone()).unwrap()
}

#[test]
fn one_gpu_has_no_panel_and_no_number() {
    let model = model_of(Mode::Live, &events(TraceLevel::Full));
    let drawn = text(&model, 120, 36);
    assert!(!drawn.contains("GPU to GPU") && !drawn.contains("GPU 0"), "{drawn}");
}
