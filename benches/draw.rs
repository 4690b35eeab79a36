//! What a frame costs: drawing, comparing with the frame before and writing what differs, for each screen and size:
//! `cargo bench --bench draw`. The session is ten minutes of a recording of an H200 at level full, played on from frame to
//! frame at 30 a second.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use support::{events, percentiles};
use umtop::clock::Clock;
use umtop::event::{Body, Event, MemoryKind, RunEvent, RunId};
use umtop::ui::{Mode, Model, Msg, Screen, Theme, draw, update};
use umtop::units::{Nanos, Stamp};

const SIZES: [(u16, u16); 3] = [(80, 24), (160, 48), (200, 60)];
const FRAMES: usize = 300;
const FRAME: Nanos = Nanos::millis(33);
const HISTORY: Nanos = Nanos::millis(600_000);

/// Says what is so already.
const NOTHING: Body = Body::Run(RunEvent::Paused(false));

/// A recording over and over, as one long session: each round's memory is freed, and its runs get new numbers.
struct Endless {
    once: Vec<Event>,
    length: u64,
    next: usize,
    round: u64,
}

impl Endless {
    fn new(name: &str) -> Self {
        let once = events(name);
        let length = once.last().unwrap().at.0 + 1_000_000;
        Self { once, length, next: 0, round: 0 }
    }

    fn renumbered(&self, run: &mut RunId) {
        run.0 += (self.round * 1_000) as u32;
    }
}

impl Iterator for Endless {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut event = self.once[self.next].clone();
        event.at.0 += self.round * self.length;
        match &mut event.body {
            // One session has one header, and the same memory from its first round on.
            Body::Header(_) | Body::Allocated(_) if self.round > 0 => event.body = NOTHING,
            Body::Freed { .. } => event.body = NOTHING,
            Body::Run(RunEvent::Started(start)) => self.renumbered(&mut start.run),
            Body::Run(RunEvent::PassBegan { run, .. } | RunEvent::Ended { run, .. }) => self.renumbered(run),
            Body::Run(RunEvent::PassEnded(pass)) => self.renumbered(&mut pass.run),
            _ => {}
        }
        self.next += 1;
        if self.next == self.once.len() {
            (self.next, self.round) = (0, self.round + 1);
        }
        Some(event)
    }
}

/// A terminal that only counts.
struct Counted(Rc<Cell<usize>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() {
    let clock = Clock::start();
    let mut source = Endless::new("sequential").peekable();
    let theme = Theme::detect(|name| (name == "COLORTERM").then(|| "truecolor".to_owned()));
    let mut model = Model::new(umtop::ui::Setup::idle(Mode::Replay, theme));
    let mut play = |model: &mut Model, to: Stamp| {
        while let Some(event) = source.next_if(|event| event.at <= to) {
            update(model, Msg::Event(Box::new(event)));
        }
        to
    };
    let mut now = play(&mut model, Stamp(HISTORY.0));
    assert!(model.session.ranges.iter().any(|range| range.memory == MemoryKind::Managed));
    for (width, height) in SIZES {
        for screen in Screen::ALL {
            model.ui.screen = screen;
            model.ui.size = (width, height);
            let area = Rect::new(0, 0, width, height);
            let options = TerminalOptions { viewport: Viewport::Fixed(area) };
            let written = Rc::new(Cell::new(0));
            let backend = CrosstermBackend::new(Counted(Rc::clone(&written)));
            let mut terminal = Terminal::with_options(backend, options).unwrap();
            let mut times = Vec::new();
            for _ in 0..FRAMES {
                now = play(&mut model, now.plus(FRAME));
                let begun = clock.now();
                terminal.draw(|frame| draw(&model, frame)).unwrap();
                times.push(clock.now().since(begun));
            }
            let what = format!(
                "{width}×{height} {}, {:.1} kB a frame",
                screen.title(),
                written.get() as f64 / 1e3 / FRAMES as f64
            );
            percentiles(&what, times);
        }
    }
}
