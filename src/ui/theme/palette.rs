//! The colours of each theme, as true colour, as the nearest of 256, or as the nearest of 16.

use ratatui::style::Color;

/// A set of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// Okabe and Ito's, on a dark background: told apart with the usual kinds of colour blindness.
    ColourBlind,
}

/// A colour in three depths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hue {
    /// 24 bits.
    pub rgb: (u8, u8, u8),
    /// Of the fixed 256.
    pub indexed: u8,
    /// Of the terminal's own 16.
    pub ansi: Color,
}

/// The colours that roles are made of, by their name in the dark palette.
#[derive(Debug)]
pub struct Hues {
    pub orange: Hue,
    pub sky: Hue,
    pub green: Hue,
    pub lime: Hue,
    pub yellow: Hue,
    pub blue: Hue,
    pub red: Hue,
    pub purple: Hue,
    pub grey: Hue,
    pub frame: Hue,
    /// Text on a badge.
    pub on_badge: Color,
    /// Backgrounds of the heat of faults, cool first: true colour and of 256.
    pub heat: [(Color, u8); 3],
}

const fn hue(rgb: (u8, u8, u8), indexed: u8, ansi: Color) -> Hue {
    Hue { rgb, indexed, ansi }
}

const DARK: Hues = Hues {
    orange: hue((255, 158, 87), 215, Color::Yellow),
    sky: hue((88, 190, 255), 75, Color::LightCyan),
    green: hue((86, 211, 140), 78, Color::Green),
    lime: hue((196, 240, 120), 192, Color::LightGreen),
    yellow: hue((242, 213, 96), 221, Color::LightYellow),
    blue: hue((112, 140, 250), 69, Color::LightBlue),
    red: hue((255, 98, 94), 203, Color::LightRed),
    purple: hue((198, 132, 252), 177, Color::LightMagenta),
    grey: hue((140, 147, 164), 245, Color::DarkGray),
    frame: hue((78, 86, 105), 240, Color::DarkGray),
    on_badge: Color::Black,
    heat: [(Color::Rgb(58, 22, 24), 52), (Color::Rgb(104, 28, 28), 88), (Color::Rgb(160, 38, 34), 124)],
};

const LIGHT: Hues = Hues {
    orange: hue((186, 88, 0), 130, Color::Yellow),
    sky: hue((0, 105, 190), 25, Color::Blue),
    green: hue((0, 122, 72), 29, Color::Green),
    lime: hue((84, 112, 0), 64, Color::LightGreen),
    yellow: hue((140, 105, 0), 94, Color::Yellow),
    blue: hue((52, 74, 190), 62, Color::Blue),
    red: hue((196, 36, 22), 160, Color::Red),
    purple: hue((132, 50, 160), 91, Color::Magenta),
    grey: hue((104, 110, 122), 242, Color::DarkGray),
    frame: hue((168, 174, 186), 249, Color::Gray),
    on_badge: Color::White,
    heat: [(Color::Rgb(255, 228, 220), 224), (Color::Rgb(255, 196, 180), 217), (Color::Rgb(255, 158, 134), 216)],
};

const COLOUR_BLIND: Hues = Hues {
    orange: hue((230, 159, 0), 214, Color::Yellow),
    sky: hue((86, 180, 233), 74, Color::LightCyan),
    green: hue((0, 178, 130), 36, Color::Green),
    lime: hue((206, 236, 196), 194, Color::LightGreen),
    yellow: hue((240, 228, 66), 227, Color::LightYellow),
    blue: hue((70, 130, 220), 68, Color::LightBlue),
    red: hue((226, 92, 22), 166, Color::LightRed),
    purple: hue((204, 121, 167), 175, Color::LightMagenta),
    grey: hue((136, 142, 154), 245, Color::DarkGray),
    frame: hue((84, 92, 108), 240, Color::DarkGray),
    on_badge: Color::Black,
    heat: [(Color::Rgb(52, 30, 8), 52), (Color::Rgb(98, 50, 10), 94), (Color::Rgb(150, 70, 10), 130)],
};

impl Palette {
    /// Its colours.
    pub const fn hues(self) -> &'static Hues {
        match self {
            Palette::Dark => &DARK,
            Palette::Light => &LIGHT,
            Palette::ColourBlind => &COLOUR_BLIND,
        }
    }
}
