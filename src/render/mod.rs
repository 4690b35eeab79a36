//! Pictures of a screen without a terminal: SVG, PNG, ANSI, text, GIF and asciicast.
//!
//! A ratatui buffer becomes a [`Picture`] (cells with plain colours, and a line below that says what it is a picture of); every
//! format is written from that. Blocks, braille, octants and box lines are drawn as geometry, which tiles without seams.

mod caption;
mod cast;
mod colour;
mod gif;
mod glyph;
mod lines;
mod picture;
mod png;
mod raster;
mod scene;
mod svg;
mod tape;
mod text;

pub use caption::caption;
pub use cast::Cast;
pub use gif::gif;
pub use picture::{Cell, Picture, Rgb};
pub use png::png;
pub use svg::svg;
pub use tape::{Tape, pictured};
pub use text::{ansi, txt};

use crate::recording::ReadError;
use crate::ui::{Model, Screen};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The moment lies outside of the recording.
    #[error("the recording runs from {first:.3} s to {last:.3} s: {asked:.3} s is not in it")]
    Outside {
        /// First moment, seconds since the session's start.
        first: f64,
        /// Last moment.
        last: f64,
        /// What was asked for.
        asked: f64,
    },
    /// The embedded font or an encoder failed.
    #[error("the picture could not be encoded: {0}")]
    Encode(String),
}

/// The picture of a screen of the model as a terminal of this many columns and rows shows it.
pub fn shot(model: &mut Model, screen: Screen, (columns, rows): (u16, u16)) -> Picture {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    model.ui.screen = screen;
    model.ui.size = (columns, rows);
    crate::ui::render(model, area, &mut buffer);
    Picture::new(&buffer, caption(model.shown(), model.setup.mode))
}
