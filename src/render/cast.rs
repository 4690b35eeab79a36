//! asciicast version 2 (<https://docs.asciinema.org/manual/asciicast/v2/>): what a terminal would have been sent.

use super::picture::{Cell, Picture};
use super::text::Pen;
use serde_json::json;

/// Collects frames. After the first one, only cells that changed are written.
#[derive(Debug, Default)]
pub struct Cast {
    lines: String,
    before: Vec<Vec<Cell>>,
}

impl Cast {
    /// A cast of this many columns and rows (the line below the screen is one row more); `title` says what it shows.
    pub fn new((columns, rows): (u16, u16), title: &str) -> Self {
        let first = json!({"version": 2, "width": columns, "height": u32::from(rows) + 1, "title": title});
        Self { lines: format!("{first}\n"), before: Vec::new() }
    }

    /// Appends a frame at a moment, in seconds since the beginning.
    pub fn frame(&mut self, seconds: f64, picture: &Picture) {
        let mut rows: Vec<Vec<Cell>> = picture.rows().map(<[Cell]>::to_vec).collect();
        rows.push(picture.caption_cells());
        let mut out = String::new();
        if self.before.is_empty() {
            out.push_str("\x1b[?25l\x1b[0m\x1b[2J");
        }
        for (y, row) in rows.iter().enumerate() {
            let before = self.before.get(y);
            if before.is_some_and(|before| before == row) {
                continue;
            }
            let mut pen = Pen::default();
            let mut at = None;
            for (x, cell) in row.iter().enumerate() {
                if before.and_then(|row| row.get(x)).is_some_and(|old| old == cell) {
                    continue;
                }
                if at != Some(x) {
                    out.push_str(&format!("\x1b[{};{}H", y + 1, x + 1));
                }
                pen.write(cell, &mut out);
                at = Some(x + 1);
            }
            pen.end(&mut out);
            if before.is_some_and(|before| before.len() > row.len()) {
                out.push_str(&format!("\x1b[{};{}H\x1b[K", y + 1, row.len() + 1));
            }
        }
        self.before = rows;
        self.lines.push_str(&format!("{}\n", json!([(seconds * 1e6).round() / 1e6, "o", out])));
    }

    /// The file.
    pub fn finish(self) -> String {
        self.lines
    }
}
