//! The input thread: a blocking read of the terminal, as messages.

use super::update::Msg;
use crossbeam_channel::{Receiver, bounded};
use ratatui::crossterm::event::{self, Event, KeyEventKind, MouseButton, MouseEventKind};
use std::io;

/// Keys that may wait: a held key must not outrun the screen for long.
const WAITING: usize = 64;

/// Starts the thread. The channel closes when the terminal can no longer be read.
pub fn listen() -> io::Result<Receiver<Msg>> {
    let (sender, receiver) = bounded(WAITING);
    let read = move || {
        while let Ok(event) = event::read() {
            if let Some(msg) = message(&event)
                && sender.send(msg).is_err()
            {
                return;
            }
        }
    };
    std::thread::Builder::new().name("umtop-input".to_owned()).spawn(read)?;
    Ok(receiver)
}

fn message(event: &Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(*key)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click { column: mouse.column, row: mouse.row }),
            MouseEventKind::ScrollUp => Some(Msg::Scroll(-1)),
            MouseEventKind::ScrollDown => Some(Msg::Scroll(1)),
            _ => None,
        },
        Event::Resize(..) => Some(Msg::Resized),
        _ => None,
    }
}
