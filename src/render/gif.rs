//! GIF: frames of at most 256 colours, each only where it differs from the one before.

use super::RenderError;
use super::picture::{Picture, Rgb};
use super::raster::{Painter, Raster};
use super::scene::Scene;
use gif::{DisposalMethod, Encoder, Frame, Repeat};
use std::collections::HashMap;
use std::io::Write;

/// Colours of a GIF.
const COLOURS: usize = 256;
/// How long the last frame stays before the animation begins anew, in hundredths of a second.
const LAST_STAYS: u16 = 200;

/// Writes frames, each shown for `delay` hundredths of a second, as an endless animation. All frames have the size of the
/// first. The palette is the commonest colours of a sample of the frames.
pub fn gif(out: impl Write, frames: &[Picture], delay: u16) -> Result<(), RenderError> {
    let mut painter = Painter::new()?;
    let Some(first) = frames.first() else { return Ok(()) };
    let mut palette = Palette::of(&mut painter, frames);
    let size = painter.paint(&Scene::of(first));
    let side = |n: u32| u16::try_from(n).map_err(|_| RenderError::Encode(format!("{n} pixels are too many for a GIF")));
    let (width, height) = (side(size.width)?, side(size.height)?);
    let failed = |e: gif::EncodingError| RenderError::Encode(e.to_string());
    let mut encoder = Encoder::new(out, width, height, &palette.bytes()).map_err(failed)?;
    encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
    let mut before: Option<Raster> = None;
    for (i, picture) in frames.iter().enumerate() {
        let raster = painter.paint(&Scene::of(picture));
        let (left, top, wide, high) = changed(before.as_ref(), &raster);
        let mut buffer = Vec::with_capacity(wide * high);
        for y in top..top + high {
            let row = &raster.pixels[y * raster.width as usize + left..][..wide];
            buffer.extend(row.iter().map(|pixel| palette.index(*pixel)));
        }
        let frame = Frame {
            delay: if i + 1 == frames.len() { LAST_STAYS.max(delay) } else { delay },
            dispose: DisposalMethod::Keep,
            left: left as u16,
            top: top as u16,
            width: wide as u16,
            height: high as u16,
            buffer: buffer.into(),
            ..Frame::default()
        };
        encoder.write_frame(&frame).map_err(failed)?;
        before = Some(raster);
    }
    Ok(())
}

/// Left, top, width and height of what differs; one pixel if nothing does.
fn changed(before: Option<&Raster>, now: &Raster) -> (usize, usize, usize, usize) {
    let width = now.width as usize;
    let Some(before) = before.filter(|b| (b.width, b.height) == (now.width, now.height)) else {
        return (0, 0, width, now.height as usize);
    };
    let mut bounds: Option<(usize, usize, usize, usize)> = None;
    for (i, _) in now.pixels.iter().zip(&before.pixels).enumerate().filter(|(_, (a, b))| a != b) {
        let (x, y) = (i % width, i / width);
        let (l, t, r, b) = bounds.unwrap_or((x, y, x, y));
        bounds = Some((l.min(x), t.min(y), r.max(x), b.max(y)));
    }
    bounds.map_or((0, 0, 1, 1), |(l, t, r, b)| (l, t, r - l + 1, b - t + 1))
}

struct Palette {
    colours: Vec<Rgb>,
    known: HashMap<Rgb, u8>,
}

impl Palette {
    /// The commonest colours of the first, the middle and the last frame.
    fn of(painter: &mut Painter, frames: &[Picture]) -> Self {
        let mut counts: HashMap<Rgb, u64> = HashMap::new();
        for i in [0, frames.len() / 2, frames.len() - 1] {
            for pixel in painter.paint(&Scene::of(&frames[i])).pixels {
                *counts.entry(pixel).or_default() += 1;
            }
        }
        let mut ranked: Vec<(Rgb, u64)> = counts.into_iter().collect();
        ranked.sort_by_key(|(colour, n)| (std::cmp::Reverse(*n), *colour));
        let colours: Vec<Rgb> = ranked.into_iter().take(COLOURS).map(|(colour, _)| colour).collect();
        let known = colours.iter().enumerate().map(|(i, colour)| (*colour, i as u8)).collect();
        Self { colours, known }
    }

    fn bytes(&self) -> Vec<u8> {
        self.colours.iter().flat_map(|c| [c.0, c.1, c.2]).collect()
    }

    /// The nearest colour's index.
    fn index(&mut self, pixel: Rgb) -> u8 {
        let colours = &self.colours;
        *self.known.entry(pixel).or_insert_with(|| {
            let distance = |c: &Rgb| {
                let d = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
                d(c.0, pixel.0) + d(c.1, pixel.1) + d(c.2, pixel.2)
            };
            let nearest = colours.iter().enumerate().min_by_key(|(_, c)| distance(c));
            nearest.map_or(0, |(i, _)| i as u8)
        })
    }
}
