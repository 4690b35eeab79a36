//! Terminal colours as red, green and blue. A terminal's own palette differs from user to user; a picture needs one.

use super::picture::Rgb;
use ratatui::style::Color;

/// What text is drawn on.
pub const BACKGROUND: Rgb = Rgb(0x12, 0x15, 0x1b);
/// Text without a colour.
pub const FOREGROUND: Rgb = Rgb(0xd8, 0xdc, 0xe4);

/// The 16 colours, in the order of their ANSI numbers.
const PALETTE: [Rgb; 16] = [
    Rgb(0x0a, 0x0c, 0x10),
    Rgb(0xc2, 0x3b, 0x22),
    Rgb(0x00, 0xa0, 0x74),
    Rgb(0xe6, 0x9f, 0x00),
    Rgb(0x2f, 0x6f, 0xc4),
    Rgb(0xb4, 0x5f, 0x92),
    Rgb(0x2b, 0x9f, 0xb8),
    Rgb(0xc4, 0xc9, 0xd2),
    Rgb(0x88, 0x8e, 0x9a),
    Rgb(0xe2, 0x5c, 0x16),
    Rgb(0x00, 0xc4, 0x8f),
    Rgb(0xf0, 0xe4, 0x42),
    Rgb(0x56, 0x98, 0xe8),
    Rgb(0xcc, 0x79, 0xa7),
    Rgb(0x56, 0xb4, 0xe9),
    Rgb(0xff, 0xff, 0xff),
];

/// The colour, `None` for the terminal's default.
pub fn rgb(colour: Color) -> Option<Rgb> {
    Some(match colour {
        Color::Reset => return None,
        Color::Black => PALETTE[0],
        Color::Red => PALETTE[1],
        Color::Green => PALETTE[2],
        Color::Yellow => PALETTE[3],
        Color::Blue => PALETTE[4],
        Color::Magenta => PALETTE[5],
        Color::Cyan => PALETTE[6],
        Color::Gray => PALETTE[7],
        Color::DarkGray => PALETTE[8],
        Color::LightRed => PALETTE[9],
        Color::LightGreen => PALETTE[10],
        Color::LightYellow => PALETTE[11],
        Color::LightBlue => PALETTE[12],
        Color::LightMagenta => PALETTE[13],
        Color::LightCyan => PALETTE[14],
        Color::White => PALETTE[15],
        Color::Rgb(r, g, b) => Rgb(r, g, b),
        Color::Indexed(n) => indexed(n),
    })
}

/// xterm's 256: the palette, a cube of 6×6×6, 24 greys.
fn indexed(n: u8) -> Rgb {
    let level = |i: u8| if i == 0 { 0 } else { 55 + 40 * i };
    match n {
        0..16 => PALETTE[usize::from(n)],
        16..232 => {
            let n = n - 16;
            Rgb(level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        _ => {
            let grey = 8 + 10 * (n - 232);
            Rgb(grey, grey, grey)
        }
    }
}

/// `share` (0–1) of `over`, the rest of `under`.
pub fn mix(over: Rgb, under: Rgb, share: f32) -> Rgb {
    let channel = |a: u8, b: u8| (f32::from(a) * share + f32::from(b) * (1.0 - share)).round() as u8;
    Rgb(channel(over.0, under.0), channel(over.1, under.1), channel(over.2, under.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_and_the_greys_are_xterms() {
        assert_eq!(rgb(Color::Indexed(214)), Some(Rgb(255, 175, 0)));
        assert_eq!(rgb(Color::Indexed(240)), Some(Rgb(88, 88, 88)));
        assert_eq!(rgb(Color::Reset), None);
    }
}
