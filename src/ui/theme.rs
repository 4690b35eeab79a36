//! Roles → styles and glyphs. Views ask for a role, never for a colour.
//!
//! Colours are those of Okabe and Ito's palette, which people with the usual kinds of colour blindness can tell apart, as
//! true colour, as the nearest of 256, or as the nearest of 16.

use ratatui::style::{Color, Modifier, Style};

/// How many colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// None: bold, dim and reverse only (`NO_COLOR`, `TERM=dumb`).
    Mono,
    /// The 16 of the terminal's own palette.
    Ansi16,
    /// The fixed 256.
    Ansi256,
    /// 24 bits.
    True,
}

/// What a piece of text or a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// A number that matters.
    Value,
    /// Labels, units, what cannot be chosen.
    Dim,
    /// Frames, axes.
    Border,
    /// Panel titles.
    Title,
    /// A key to press.
    Key,
    /// The chosen line.
    Selected,
    /// Things are as they should be.
    Good,
    /// Something is missing or slow.
    Warning,
    /// Something failed or was lost.
    Error,
    /// Badge of a live session.
    Live,
    /// Badge of a simulated session.
    Simulated,
    /// Badge of a replay, of frozen and of paused.
    Badge,
    /// Host to device.
    HtoD,
    /// Device to host.
    DtoH,
    /// The GPU's faults and memory.
    Gpu,
    /// The CPU's faults.
    Cpu,
    /// Moved because of a fault.
    ByFault,
    /// Moved by the driver's own prefetcher.
    ByPrefetch,
    /// Moved because the program asked.
    ByUser,
    /// Moved to make room.
    ByEviction,
    /// Moved for another reason.
    ByOther,
    /// A pass's time.
    Pass,
    /// A warm-up's time.
    Warmup,
    /// The line where a setting changed.
    Marker,
    /// The line of what is possible.
    Ceiling,
}

/// Characters to draw with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Box drawing, braille, arrows.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Colours and glyphs of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// How many colours.
    pub depth: Depth,
    /// Which characters.
    pub glyphs: Glyphs,
}

const ORANGE: Hue = Hue { rgb: (230, 159, 0), indexed: 214, ansi: Color::Yellow };
const SKY: Hue = Hue { rgb: (86, 180, 233), indexed: 74, ansi: Color::LightCyan };
const GREEN: Hue = Hue { rgb: (0, 178, 130), indexed: 36, ansi: Color::Green };
const YELLOW: Hue = Hue { rgb: (240, 228, 66), indexed: 227, ansi: Color::LightYellow };
const BLUE: Hue = Hue { rgb: (70, 130, 220), indexed: 68, ansi: Color::LightBlue };
const VERMILION: Hue = Hue { rgb: (226, 92, 22), indexed: 166, ansi: Color::LightRed };
const PURPLE: Hue = Hue { rgb: (204, 121, 167), indexed: 175, ansi: Color::LightMagenta };
const GREY: Hue = Hue { rgb: (136, 142, 154), indexed: 245, ansi: Color::DarkGray };
const FRAME: Hue = Hue { rgb: (84, 92, 108), indexed: 240, ansi: Color::DarkGray };

struct Hue {
    rgb: (u8, u8, u8),
    indexed: u8,
    ansi: Color,
}

impl Theme {
    /// The theme for an environment: `NO_COLOR` (any value but the empty one) and `TERM=dumb` give mono, `COLORTERM` and
    /// `TERM` the number of colours, and a locale that is not UTF-8 gives ASCII.
    pub fn detect(var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        let depth = if set("NO_COLOR").is_some() || term == "dumb" {
            Depth::Mono
        } else if set("COLORTERM").is_some_and(|value| value.contains("truecolor") || value.contains("24bit")) {
            Depth::True
        } else if term.contains("256") {
            Depth::Ansi256
        } else {
            Depth::Ansi16
        };
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        Self { depth, glyphs: if utf8 { Glyphs::Unicode } else { Glyphs::Ascii } }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        match role {
            Role::Text => plain,
            Role::Value | Role::Title => plain.add_modifier(Modifier::BOLD),
            Role::Dim => self.ink(plain.add_modifier(self.mono(Modifier::DIM)), &GREY),
            Role::Border => self.ink(plain.add_modifier(self.mono(Modifier::DIM)), &FRAME),
            Role::Key => self.ink(plain.add_modifier(Modifier::BOLD), &SKY),
            Role::Selected => plain.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Role::Good | Role::ByPrefetch => self.ink(plain, &GREEN),
            Role::Warning => self.ink(plain.add_modifier(Modifier::BOLD), &YELLOW),
            Role::Error => self.ink(plain.add_modifier(Modifier::BOLD), &VERMILION),
            Role::Live => self.badge(&GREEN),
            Role::Simulated => self.badge(&YELLOW),
            Role::Badge => self.badge(&SKY),
            Role::HtoD | Role::ByUser => self.ink(plain, &SKY),
            Role::DtoH => self.ink(plain, &ORANGE),
            Role::Gpu => self.ink(plain, &GREEN),
            Role::Cpu | Role::ByEviction => self.ink(plain, &PURPLE),
            Role::ByFault => self.ink(plain, &VERMILION),
            Role::ByOther | Role::Warmup => self.ink(plain.add_modifier(self.mono(Modifier::DIM)), &GREY),
            Role::Pass => self.ink(plain, &YELLOW),
            Role::Marker => self.ink(plain.add_modifier(self.mono(Modifier::DIM)), &BLUE),
            Role::Ceiling => self.ink(plain.add_modifier(self.mono(Modifier::DIM)), &GREY),
        }
    }

    /// Whether only ASCII may be drawn.
    pub fn ascii(&self) -> bool {
        self.glyphs == Glyphs::Ascii
    }

    /// `unicode`, or `ascii` where only that may be drawn.
    pub fn pick<'a>(&self, unicode: &'a str, ascii: &'a str) -> &'a str {
        if self.ascii() { ascii } else { unicode }
    }

    fn mono(&self, modifier: Modifier) -> Modifier {
        if self.depth == Depth::Mono { modifier } else { Modifier::empty() }
    }

    fn colour(&self, hue: &Hue) -> Option<Color> {
        match self.depth {
            Depth::Mono => None,
            Depth::Ansi16 => Some(hue.ansi),
            Depth::Ansi256 => Some(Color::Indexed(hue.indexed)),
            Depth::True => Some(Color::Rgb(hue.rgb.0, hue.rgb.1, hue.rgb.2)),
        }
    }

    fn ink(&self, style: Style, hue: &Hue) -> Style {
        self.colour(hue).map_or(style, |colour| style.fg(colour))
    }

    fn badge(&self, hue: &Hue) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match self.colour(hue) {
            Some(colour) => bold.fg(Color::Black).bg(colour),
            None => bold.add_modifier(Modifier::REVERSED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(vars: &[(&str, &str)]) -> Theme {
        Theme::detect(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_environment_decides() {
        let rich = detect(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("LANG", "de_DE.UTF-8")]);
        assert_eq!(rich, Theme { depth: Depth::True, glyphs: Glyphs::Unicode });
        let silent = detect(&[("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]);
        assert_eq!(silent, Theme { depth: Depth::Mono, glyphs: Glyphs::Ascii });
        assert_eq!(detect(&[("TERM", "xterm"), ("NO_COLOR", "")]).depth, Depth::Ansi16);
    }

    #[test]
    fn mono_has_no_colour_at_all() {
        let mono = Theme { depth: Depth::Mono, glyphs: Glyphs::Ascii };
        for role in [Role::Live, Role::Simulated, Role::HtoD, Role::Error, Role::Dim, Role::Selected] {
            let style = mono.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        assert_ne!(mono.style(Role::Simulated), mono.style(Role::Text));
    }
}
