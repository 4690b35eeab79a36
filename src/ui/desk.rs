//! What the UI hands to others, so that it never waits: pictures, reports, and a look at the session for whoever publishes it.

use super::setup::{Mode, Setup};
use super::state::Model;
use crate::session::Session;
use crossbeam_channel::{Receiver, Sender, never};
use ratatui::buffer::Buffer;

/// Something that takes longer than a frame may.
#[derive(Debug)]
pub enum Errand {
    /// Save what is on the screen.
    Picture(Box<Shot>),
    /// Save a report of the session.
    Report(Box<Model>),
}

/// What was on the screen.
#[derive(Clone, Debug)]
pub struct Shot {
    /// The cells.
    pub cells: Buffer,
    /// Of what session: its header and its newest moment are enough.
    pub session: Session,
    /// What the events came from.
    pub mode: Mode,
}

/// Takes a look at the session now and then.
pub type Watcher = Box<dyn FnMut(&Session)>;

/// Who does what the UI does not do itself.
pub struct Desk {
    /// Where errands go; it must not be unbounded, and nothing waits when it is full.
    pub errands: Option<Sender<Errand>>,
    /// Lines that say what became of them.
    pub answers: Receiver<String>,
    /// Sees the session after each batch of events.
    pub watcher: Option<Watcher>,
    /// Tells once what the source turned out to be, where the dashboard was shown before that ([`Setup::opening`]). If it
    /// closes without, the source could not be opened.
    pub opened: Receiver<Setup>,
}

impl Default for Desk {
    /// Nobody.
    fn default() -> Self {
        Self { errands: None, answers: never(), watcher: None, opened: never() }
    }
}
