//! Cells with plain colours.

use super::colour::{BACKGROUND, FOREGROUND, mix, rgb};
use ratatui::buffer::Buffer;
use ratatui::style::Modifier;

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// One character cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What stands in it; empty behind a wide character.
    pub symbol: String,
    /// Its colour; `None` for the terminal's default.
    pub ink: Option<Rgb>,
    /// Behind it; `None` for the terminal's default.
    pub paper: Option<Rgb>,
    /// Bold.
    pub bold: bool,
    /// Underlined.
    pub underlined: bool,
}

impl Cell {
    /// Its colour in a picture.
    pub fn ink_rgb(&self) -> Rgb {
        self.ink.unwrap_or(FOREGROUND)
    }

    /// What is behind it in a picture.
    pub fn paper_rgb(&self) -> Rgb {
        self.paper.unwrap_or(BACKGROUND)
    }
}

/// A screen and the line below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Cells in a row.
    pub columns: usize,
    /// Row by row.
    pub cells: Vec<Cell>,
    /// What it is a picture of: origin first, then machine and time.
    pub caption: Vec<String>,
}

impl Picture {
    /// Takes over a buffer: reversed and dim colours are resolved, hidden text is left out.
    pub fn new(buffer: &Buffer, caption: Vec<String>) -> Self {
        Self { columns: usize::from(buffer.area.width), cells: buffer.content.iter().map(cell).collect(), caption }
    }

    /// Rows of the screen, without the line below it.
    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks(self.columns.max(1))
    }

    /// The line below the screen in cells, cut to the screen's width: the origin stands out, the rest is dim.
    pub fn caption_cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (i, part) in self.caption.iter().enumerate() {
            let origin = i == 0;
            let text = if origin { format!(" {part}") } else { format!(" · {part}") };
            let ink = if origin { FOREGROUND } else { mix(FOREGROUND, BACKGROUND, 0.6) };
            cells.extend(text.chars().map(|c| plain(c, ink, origin)));
        }
        if cells.len() > self.columns {
            cells.truncate(self.columns);
            if let Some(last) = cells.last_mut() {
                last.symbol = "…".to_owned();
            }
        }
        cells
    }
}

fn plain(c: char, ink: Rgb, bold: bool) -> Cell {
    Cell { symbol: c.to_string(), ink: Some(ink), paper: None, bold, underlined: false }
}

fn cell(cell: &ratatui::buffer::Cell) -> Cell {
    let has = |modifier| cell.modifier.contains(modifier);
    let (mut ink, mut paper) = (rgb(cell.fg), rgb(cell.bg));
    if has(Modifier::REVERSED) {
        (ink, paper) = (Some(paper.unwrap_or(BACKGROUND)), Some(ink.unwrap_or(FOREGROUND)));
    }
    if has(Modifier::DIM) {
        ink = Some(mix(ink.unwrap_or(FOREGROUND), paper.unwrap_or(BACKGROUND), 0.6));
    }
    let symbol = if has(Modifier::HIDDEN) { " " } else { cell.symbol() };
    Cell { symbol: symbol.to_owned(), ink, paper, bold: has(Modifier::BOLD), underlined: has(Modifier::UNDERLINED) }
}
