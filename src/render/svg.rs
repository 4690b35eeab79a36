//! SVG: the same bytes for the same picture. The font is embedded, so that it looks alike everywhere.

use super::colour::BACKGROUND;
use super::glyph::{Area, HIGH, WIDE};
use super::picture::{Picture, Rgb};
use super::scene::{DOT, DOT_STEP, Dots, Scene, Word};
use std::fmt::Write as _;

const REGULAR: &[u8] = include_bytes!("../../assets/font/DejaVuSansMono.woff2");
const BOLD: &[u8] = include_bytes!("../../assets/font/DejaVuSansMono-Bold.woff2");

/// DejaVu Sans Mono advances by 1233 of 2048 units of its em: this size fills cells of 12 pixels.
const FONT_PIXELS: f64 = 12.0 * 2048.0 / 1233.0;
/// Baseline below the upper edge of a cell, in units.
pub const BASELINE: u32 = 36;

/// The picture as an SVG document, one user unit a pixel at twice 6×12.
pub fn svg(picture: &Picture) -> String {
    let scene = Scene::of(picture);
    let (width, height) = (pixels(scene.width), pixels(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&picture.caption.join(" · ")));
    let _ = writeln!(out, "<style>{}", face(400, REGULAR));
    let _ = writeln!(out, "{}", face(700, BOLD));
    let _ = writeln!(
        out,
        "text{{font-family:'umtop mono','DejaVu Sans Mono',ui-monospace,monospace;font-size:{FONT_PIXELS:.3}px}}\n\
         .b{{font-weight:700}}</style>"
    );
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", hex(BACKGROUND));
    out.push_str("<g shape-rendering=\"crispEdges\">\n");
    for (ink, areas) in scene.papers.iter().chain(&scene.areas) {
        let path: String = areas.iter().map(area).collect();
        let _ = writeln!(out, "<path fill=\"{}\" d=\"{path}\"/>", hex(*ink));
    }
    for (ink, dots) in &scene.dots {
        let path: String = dots.iter().map(run).collect();
        // Each row of neighbouring dots is one dashed line: a dot a dash.
        let _ = writeln!(
            out,
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{} {}\" d=\"{path}\"/>",
            hex(*ink),
            pixels(DOT),
            pixels(DOT),
            pixels(DOT_STEP - DOT)
        );
    }
    out.push_str("</g>\n");
    scene.words.iter().for_each(|word| out.push_str(&text(word)));
    out.push_str("</svg>\n");
    out
}

fn face(weight: u32, font: &[u8]) -> String {
    format!(
        "@font-face{{font-family:'umtop mono';font-weight:{weight};src:url(data:font/woff2;base64,{}) format('woff2')}}",
        base64(font)
    )
}

/// Units are half pixels.
fn pixels(units: u32) -> String {
    if units.is_multiple_of(2) { (units / 2).to_string() } else { format!("{}.5", units / 2) }
}

fn hex(Rgb(r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn area(a: &Area) -> String {
    let (x, y, w, h) = (pixels(a.x), pixels(a.y), pixels(a.w), pixels(a.h));
    format!("M{x} {y}h{w}v{h}h-{w}z")
}

fn run(d: &Dots) -> String {
    format!("M{} {}h{}", pixels(d.x), pixels(d.y + DOT / 2), pixels(d.n * DOT_STEP - (DOT_STEP - DOT)))
}

fn text(word: &Word) -> String {
    let (x, y) = (pixels(word.x), pixels(word.y + BASELINE));
    let class = if word.bold { " class=\"b\"" } else { "" };
    // Where the embedded font is not allowed, another one must still keep to the cells.
    let length = if word.cells > 1 {
        format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", pixels(word.cells * WIDE))
    } else {
        String::new()
    };
    format!("<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{class}{length}>{}</text>\n", hex(word.ink), escaped(&word.text))
}

/// Text for XML; control characters, which it cannot hold, become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let part = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let group = part(0) << 16 | part(1) << 8 | part(2);
        for i in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

const _: () = assert!(BASELINE < HIGH);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, code) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escaped("a<b>&\"\u{1b}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}
