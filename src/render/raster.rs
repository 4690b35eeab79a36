//! From a scene to pixels: rectangles by coverage, letters by the embedded font.

use super::RenderError;
use super::colour::{BACKGROUND, mix};
use super::glyph::{Area, WIDE};
use super::picture::Rgb;
use super::scene::{DOT, DOT_STEP, Scene, Word};
use super::svg::BASELINE;
use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use std::collections::HashMap;

const REGULAR: &[u8] = include_bytes!("../../assets/font/DejaVuSansMono.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/font/DejaVuSansMono-Bold.ttf");

/// Units to a pixel.
const UNITS: u32 = 2;
/// What stands for a character that the font does not have.
const MISSING: char = '\u{fffd}';

/// Pixels, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raster {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green, blue.
    pub pixels: Vec<Rgb>,
}

/// How much of each pixel a letter covers.
struct Letter {
    left: i32,
    top: i32,
    width: usize,
    cover: Vec<f32>,
}

/// Draws scenes; letters are kept, so that the frames of an animation cost little.
pub struct Painter {
    fonts: [FontRef<'static>; 2],
    letters: HashMap<(char, bool), Letter>,
}

impl Painter {
    /// Loads the embedded fonts.
    pub fn new() -> Result<Self, RenderError> {
        let load = |bytes| FontRef::try_from_slice(bytes).map_err(|e| RenderError::Encode(e.to_string()));
        Ok(Self { fonts: [load(REGULAR)?, load(BOLD)?], letters: HashMap::new() })
    }

    /// Draws a scene.
    pub fn paint(&mut self, scene: &Scene) -> Raster {
        let (width, height) = (scene.width.div_ceil(UNITS), scene.height.div_ceil(UNITS));
        let pixels = vec![BACKGROUND; width as usize * height as usize];
        let mut raster = Raster { width, height, pixels };
        for (ink, areas) in scene.papers.iter().chain(&scene.areas) {
            areas.iter().for_each(|area| raster.fill(*area, *ink));
        }
        for (ink, runs) in &scene.dots {
            for run in runs {
                for i in 0..run.n {
                    raster.fill(Area { x: run.x + i * DOT_STEP, y: run.y, w: DOT, h: DOT }, *ink);
                }
            }
        }
        for word in &scene.words {
            self.write(&mut raster, word);
        }
        raster
    }

    fn write(&mut self, raster: &mut Raster, word: &Word) {
        let mut x = word.x;
        // A cell may hold several characters (accents): they go over one another.
        let step = |n: usize| if n <= word.cells as usize { WIDE } else { 0 };
        let advance = step(word.text.chars().count());
        for c in word.text.chars() {
            let letter = self.letter(c, word.bold);
            raster.stamp(letter, (x / UNITS) as i32, ((word.y + BASELINE) / UNITS) as i32, word.ink);
            x += advance;
        }
    }

    fn letter(&mut self, c: char, bold: bool) -> &Letter {
        let font = &self.fonts[usize::from(bold)];
        self.letters.entry((c, bold)).or_insert_with(|| letter(font, c))
    }
}

fn letter(font: &FontRef, c: char) -> Letter {
    let id = match font.glyph_id(c) {
        id if id.0 == 0 => font.glyph_id(MISSING),
        id => id,
    };
    let advance = font.h_advance_unscaled(font.glyph_id('0')).max(1.0);
    let scale = PxScale::from((WIDE / UNITS) as f32 / advance * font.height_unscaled());
    let glyph = id.with_scale(font.as_scaled(scale).scale());
    let Some(outline) = font.outline_glyph(glyph) else {
        return Letter { left: 0, top: 0, width: 0, cover: Vec::new() };
    };
    let bounds = outline.px_bounds();
    let (width, height) = (bounds.width().ceil() as usize, bounds.height().ceil() as usize);
    let mut cover = vec![0.0; width * height];
    outline.draw(|x, y, share| {
        if let Some(pixel) = cover.get_mut(y as usize * width + x as usize) {
            *pixel = share;
        }
    });
    Letter { left: bounds.min.x.floor() as i32, top: bounds.min.y.floor() as i32, width, cover }
}

impl Raster {
    /// Fills a rectangle; a pixel that it covers in part gets that part.
    fn fill(&mut self, area: Area, ink: Rgb) {
        let covered = |start: u32, length: u32, pixel: u32| {
            let (low, high) = (start.max(pixel * UNITS), (start + length).min((pixel + 1) * UNITS));
            high.saturating_sub(low) as f32 / UNITS as f32
        };
        for y in area.y / UNITS..(area.y + area.h).div_ceil(UNITS).min(self.height) {
            let rows = covered(area.y, area.h, y);
            for x in area.x / UNITS..(area.x + area.w).div_ceil(UNITS).min(self.width) {
                self.blend(x, y, ink, rows * covered(area.x, area.w, x));
            }
        }
    }

    fn stamp(&mut self, letter: &Letter, x: i32, y: i32, ink: Rgb) {
        for (i, share) in letter.cover.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let (px, py) = (x + letter.left + (i % letter.width) as i32, y + letter.top + (i / letter.width) as i32);
            if let (Ok(px), Ok(py)) = (u32::try_from(px), u32::try_from(py)) {
                self.blend(px, py, ink, share.min(1.0));
            }
        }
    }

    fn blend(&mut self, x: u32, y: u32, ink: Rgb, share: f32) {
        if x < self.width
            && let Some(pixel) = self.pixels.get_mut(y as usize * self.width as usize + x as usize)
        {
            *pixel = if share >= 1.0 { ink } else { mix(ink, *pixel, share) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Picture;
    use crate::render::scene::BORDER;
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Style};

    const INK: Rgb = Rgb(250, 200, 10);

    fn painted(line: &str) -> Raster {
        let mut buffer = Buffer::with_lines([line]);
        buffer.set_style(buffer.area, Style::new().fg(Color::Rgb(INK.0, INK.1, INK.2)));
        Painter::new().unwrap().paint(&Scene::of(&Picture::new(&buffer, Vec::new())))
    }

    fn row(raster: &Raster, y: u32, from: u32, to: u32) -> &[Rgb] {
        let start = y as usize * raster.width as usize;
        &raster.pixels[start + from as usize..start + to as usize]
    }

    #[test]
    fn full_blocks_and_lines_leave_no_seam_between_cells() {
        let (left, top) = (BORDER / 2, BORDER / 2);
        let blocks = painted("███");
        for y in top..top + 24 {
            assert!(row(&blocks, y, left, left + 36).iter().all(|p| *p == INK), "{y}");
        }
        let line = painted("───");
        let inked = (top..top + 24).filter(|y| row(&line, *y, left, left + 36).iter().all(|p| *p == INK)).count();
        assert_eq!(inked, 2);
    }

    /// Whatever a screen shows has a letter in the font or is drawn as geometry: no box with a question mark.
    #[test]
    fn every_character_of_the_screens_can_be_drawn() {
        let fonts = Painter::new().unwrap().fonts;
        let mut missing = std::collections::BTreeSet::new();
        for file in std::fs::read_dir("src/ui/tests/snapshots").unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let geometry =
                |c: char| crate::render::glyph::glyph(c).is_some() || crate::render::lines::lines(c).is_some();
            let letters = text.chars().filter(|c| !c.is_ascii() && !geometry(*c));
            missing.extend(letters.filter(|c| fonts.iter().any(|font| font.glyph_id(*c).0 == 0)));
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn text_is_drawn_within_its_cells() {
        let raster = painted("Hg");
        let inked = |from, to| (0..raster.height).any(|y| row(&raster, y, from, to).iter().any(|p| *p != BACKGROUND));
        let left = BORDER / 2;
        assert!(inked(left, left + 12) && inked(left + 12, left + 24));
        assert!(!inked(0, left - 1) && !inked(left + 25, raster.width));
    }
}
