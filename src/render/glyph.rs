//! Characters that are geometry: drawn as rectangles they tile without seams, and no font needs to have them.
//!
//! A cell is 24 units wide and 48 high (2 units are a pixel of a PNG): divisible by 2, 3, 4 and 8 in both directions.

use super::lines;
use ratatui::symbols::braille::BRAILLE;
use ratatui::symbols::pixel::{OCTANTS, QUADRANTS, SEXTANTS};

/// Width of a cell in units.
pub const WIDE: u32 = 24;
/// Height of a cell in units.
pub const HIGH: u32 = 48;

/// A rectangle in units, within a cell or a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Area {
    /// Left edge.
    pub x: u32,
    /// Upper edge.
    pub y: u32,
    /// Width.
    pub w: u32,
    /// Height.
    pub h: u32,
}

/// What a character looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Glyph {
    /// Filled rectangles.
    Areas(Vec<Area>),
    /// The whole cell, this share of the ink over the paper.
    Shade(f32),
    /// Braille: bit `2·row + column` of 2 × 4 dots.
    Dots(u8),
}

/// The geometry of a character; `None` if a font has to draw it.
pub fn glyph(c: char) -> Option<Glyph> {
    match c {
        '\u{2500}'..='\u{257f}' => lines::lines(c).map(Glyph::Areas),
        '\u{2580}'..='\u{259f}' => block(c),
        '\u{2800}'..='\u{28ff}' => mask(&BRAILLE, c).map(|dots| Glyph::Dots(dots as u8)),
        // Legacy computing blocks: sextants, octants, and quarters that both tables share.
        '\u{1cd00}'..='\u{1ceff}' | '\u{1fb00}'..='\u{1fbff}' => {
            let grid_of = |table: &[char], rows| mask(table, c).map(|bits| Glyph::Areas(grid(bits, rows)));
            grid_of(&SEXTANTS, 3).or_else(|| grid_of(&OCTANTS, 4))
        }
        _ => None,
    }
}

/// Index of a character in a table of all masks: bit `2·row + column`.
fn mask(table: &[char], c: char) -> Option<usize> {
    table.iter().position(|other| *other == c)
}

/// The cell divided into 2 columns and so many rows, of which the mask's are filled.
fn grid(bits: usize, rows: u32) -> Vec<Area> {
    let (w, h) = (WIDE / 2, HIGH / rows);
    let at = |i: u32| Area { x: i % 2 * w, y: i / 2 * h, w, h };
    (0..2 * rows).filter(|i| bits >> i & 1 == 1).map(at).collect()
}

fn block(c: char) -> Option<Glyph> {
    let code = c as u32;
    let area = |x, y, w, h| Some(Glyph::Areas(vec![Area { x, y, w, h }]));
    match code {
        0x2580 => area(0, 0, WIDE, HIGH / 2),
        // Lower one eighth to full.
        0x2581..=0x2588 => {
            let h = (code - 0x2580) * HIGH / 8;
            area(0, HIGH - h, WIDE, h)
        }
        // Left seven eighths to one eighth.
        0x2589..=0x258f => area(0, 0, (0x2590 - code) * WIDE / 8, HIGH),
        0x2590 => area(WIDE / 2, 0, WIDE / 2, HIGH),
        0x2591..=0x2593 => Some(Glyph::Shade((code - 0x2590) as f32 / 4.0)),
        0x2594 => area(0, 0, WIDE, HIGH / 8),
        0x2595 => area(WIDE - WIDE / 8, 0, WIDE / 8, HIGH),
        _ => mask(&QUADRANTS, c).map(|bits| Glyph::Areas(grid(bits, 2))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units of a cell that a glyph fills.
    fn filled(c: char) -> Option<u32> {
        match glyph(c)? {
            Glyph::Areas(areas) => Some(areas.iter().map(|a| a.w * a.h).sum()),
            _ => None,
        }
    }

    #[test]
    fn blocks_fill_the_share_that_their_names_say() {
        for (c, eighths) in [('▀', 4), ('▁', 1), ('▃', 3), ('█', 8), ('▉', 7), ('▏', 1), ('▐', 4), ('▔', 1), ('▕', 1)]
        {
            assert_eq!(filled(c), Some(WIDE * HIGH * eighths / 8), "{c}");
        }
        for (c, quarters) in [('▖', 1), ('▚', 2), ('▛', 3)] {
            assert_eq!(filled(c), Some(WIDE * HIGH * quarters / 4), "{c}");
        }
        assert_eq!(glyph('▒'), Some(Glyph::Shade(0.5)));
    }

    #[test]
    fn every_octant_sextant_quadrant_and_braille_pattern_is_geometry() {
        for (table, rows) in [(&OCTANTS[1..], 4), (&SEXTANTS[1..], 3), (&QUADRANTS[1..], 2)] {
            for (i, c) in table.iter().enumerate() {
                let parts = (i as u32 + 1).count_ones();
                assert_eq!(filled(*c), Some(WIDE * HIGH * parts / (2 * rows)), "{c} {:x}", *c as u32);
            }
        }
        for (i, c) in BRAILLE.iter().enumerate() {
            assert_eq!(glyph(*c), Some(Glyph::Dots(i as u8)));
        }
    }

    #[test]
    fn unicode_numbers_braille_dots_in_columns() {
        // Dots 1 and 8 (U+2881): upper left and lower right.
        assert_eq!(glyph('\u{2881}'), Some(Glyph::Dots(0b1000_0001)));
        // Dot 4 (U+2808) is upper right, dot 7 (U+2840) lower left.
        assert_eq!((glyph('\u{2808}'), glyph('\u{2840}')), (Some(Glyph::Dots(2)), Some(Glyph::Dots(64))));
    }
}
