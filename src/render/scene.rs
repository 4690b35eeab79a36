//! A picture as things to draw, in order: rectangles, braille dots, words. SVG and PNG are both written from this.

use super::colour::mix;
use super::glyph::{Area, Glyph, HIGH, WIDE, glyph};
use super::picture::{Cell, Picture, Rgb};
use std::collections::BTreeMap;

/// Empty border around the picture, in units.
pub const BORDER: u32 = 24;
/// Side of a braille dot in units; dots stand 12 units apart.
pub const DOT: u32 = 8;
/// Distance of two braille dots, in units: the same across cells.
pub const DOT_STEP: u32 = 12;

/// A run of characters of one style without blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Left edge in units.
    pub x: u32,
    /// Upper edge of the cell in units.
    pub y: u32,
    /// The characters.
    pub text: String,
    /// Cells that it takes.
    pub cells: u32,
    /// Colour.
    pub ink: Rgb,
    /// Bold.
    pub bold: bool,
}

/// A row of neighbouring braille dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dots {
    /// Left edge of the first dot, in units.
    pub x: u32,
    /// Upper edge, in units.
    pub y: u32,
    /// How many.
    pub n: u32,
}

/// What to draw, in units; later lists lie over earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Backgrounds by colour.
    pub papers: BTreeMap<Rgb, Vec<Area>>,
    /// Shapes by colour.
    pub areas: BTreeMap<Rgb, Vec<Area>>,
    /// Braille by colour.
    pub dots: BTreeMap<Rgb, Vec<Dots>>,
    /// Text.
    pub words: Vec<Word>,
}

impl Scene {
    /// What a picture consists of: its screen and the line below it.
    pub fn of(picture: &Picture) -> Self {
        let rows = picture.rows().count() as u32;
        let mut scene = Self {
            width: picture.columns as u32 * WIDE + 2 * BORDER,
            // Half a row between the screen and its caption.
            height: rows * HIGH + HIGH / 2 + HIGH + 2 * BORDER,
            ..Self::default()
        };
        for (i, row) in picture.rows().enumerate() {
            scene.row(row, BORDER + i as u32 * HIGH);
        }
        scene.row(&picture.caption_cells(), BORDER + rows * HIGH + HIGH / 2);
        for areas in scene.papers.values_mut().chain(scene.areas.values_mut()) {
            join(areas);
        }
        scene
    }

    fn row(&mut self, cells: &[Cell], y: u32) {
        let mut word: Option<Word> = None;
        let mut dots = DotRows::default();
        for (i, cell) in cells.iter().enumerate() {
            let x = BORDER + i as u32 * WIDE;
            if let Some(paper) = cell.paper {
                self.papers.entry(paper).or_default().push(Area { x, y, w: WIDE, h: HIGH });
            }
            if cell.underlined {
                self.areas.entry(cell.ink_rgb()).or_default().push(Area { x, y: y + HIGH - 5, w: WIDE, h: 2 });
            }
            // Behind a wide character.
            if cell.symbol.is_empty() {
                continue;
            }
            let mut chars = cell.symbol.chars();
            let only = chars.next().filter(|_| chars.next().is_none());
            match only.and_then(glyph) {
                Some(shape) => {
                    self.words.extend(word.take());
                    self.shape(&shape, cell, (x, y), &mut dots);
                }
                None if cell.symbol == " " => self.words.extend(word.take()),
                None => {
                    let ink = cell.ink_rgb();
                    match &mut word {
                        Some(w) if w.ink == ink && w.bold == cell.bold && w.x + w.cells * WIDE == x => {
                            w.text.push_str(&cell.symbol);
                            w.cells += 1;
                        }
                        _ => {
                            let fresh = Word { x, y, text: cell.symbol.clone(), cells: 1, ink, bold: cell.bold };
                            self.words.extend(word.replace(fresh));
                        }
                    }
                }
            }
        }
        self.words.extend(word);
        dots.end(&mut self.dots);
    }

    fn shape(&mut self, shape: &Glyph, cell: &Cell, (x, y): (u32, u32), dots: &mut DotRows) {
        let ink = cell.ink_rgb();
        match shape {
            Glyph::Areas(areas) => {
                let placed = areas.iter().map(|a| Area { x: x + a.x, y: y + a.y, ..*a });
                self.areas.entry(ink).or_default().extend(placed);
            }
            Glyph::Shade(share) => {
                let shade = mix(ink, cell.paper_rgb(), *share);
                self.areas.entry(shade).or_default().push(Area { x, y, w: WIDE, h: HIGH });
            }
            Glyph::Dots(mask) => {
                for bit in (0..8).filter(|bit| mask >> bit & 1 == 1) {
                    let lead = (DOT_STEP - DOT) / 2;
                    let at = Dots { x: x + bit % 2 * DOT_STEP + lead, y: y + bit / 2 * DOT_STEP + lead, n: 1 };
                    dots.add(bit / 2, ink, at, &mut self.dots);
                }
            }
        }
    }
}

/// The run of dots that is being built in each of the four rows of dots of a row of cells.
#[derive(Default)]
struct DotRows([Option<(Rgb, Dots)>; 4]);

impl DotRows {
    fn add(&mut self, row: u32, ink: Rgb, dot: Dots, done: &mut BTreeMap<Rgb, Vec<Dots>>) {
        let run = &mut self.0[row as usize];
        match run {
            Some((colour, dots)) if *colour == ink && dots.x + dots.n * DOT_STEP == dot.x => dots.n += 1,
            _ => {
                if let Some((colour, dots)) = run.replace((ink, dot)) {
                    done.entry(colour).or_default().push(dots);
                }
            }
        }
    }

    fn end(self, done: &mut BTreeMap<Rgb, Vec<Dots>>) {
        for (colour, dots) in self.0.into_iter().flatten() {
            done.entry(colour).or_default().push(dots);
        }
    }
}

/// Rectangles of the same height side by side, or over one another in part, become one.
fn join(areas: &mut Vec<Area>) {
    areas.sort_by_key(|a| (a.y, a.h, a.x));
    areas.dedup_by(|next, last| {
        let adjoins = (last.y, last.h) == (next.y, next.h) && next.x <= last.x + last.w;
        if adjoins {
            last.w = last.w.max(next.x + next.w - last.x);
        }
        adjoins
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Style};

    fn scene(lines: &[&str], style: Style) -> Scene {
        let mut buffer = Buffer::with_lines(lines.to_vec());
        buffer.set_style(buffer.area, style);
        Scene::of(&Picture::new(&buffer, vec!["T".to_owned()]))
    }

    #[test]
    fn neighbours_join_without_a_seam() {
        let scene = scene(&["████", "──┐ "], Style::new());
        let areas: Vec<&Area> = scene.areas.values().flatten().collect();
        assert_eq!(*areas[0], Area { x: BORDER, y: BORDER, w: 4 * WIDE, h: HIGH });
        assert!(areas[1].w > 2 * WIDE && areas[1].x == BORDER, "{areas:?}");
    }

    #[test]
    fn braille_dots_are_one_even_grid_over_cells() {
        let scene = scene(&["⣿⣿", "⣿⣿"], Style::new());
        let dots: Vec<&Dots> = scene.dots.values().flatten().collect();
        assert_eq!((dots.len(), dots[0].n), (8, 4));
        let mut rows: Vec<u32> = dots.iter().map(|d| d.y).collect();
        rows.sort_unstable();
        assert!(rows.windows(2).all(|w| w[1] - w[0] == DOT_STEP));
    }

    #[test]
    fn words_end_at_blanks_and_where_the_style_changes() {
        let mut buffer = Buffer::with_lines(["ab cd"]);
        buffer[(4, 0)].set_style(Style::new().fg(Color::Red));
        let scene = Scene::of(&Picture::new(&buffer, Vec::new()));
        let words: Vec<&str> = scene.words.iter().map(|w| w.text.as_str()).collect();
        assert_eq!(words, ["ab", "c", "d"]);
    }

    #[test]
    fn reversed_cells_have_their_ink_as_paper() {
        let scene = scene(&["x"], Style::new().fg(Color::Rgb(1, 2, 3)).reversed());
        assert!(scene.papers.contains_key(&Rgb(1, 2, 3)));
    }
}
