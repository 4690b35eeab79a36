//! Roles → styles and glyphs. Views ask for a role, never for a colour.

mod palette;

pub use palette::Palette;

use palette::Hue;
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
    /// What a second GPU holds and sends.
    Peer,
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
    /// The line of what is possible, and the baseline's ghost.
    Ceiling,
    /// Pages that live on both sides.
    Both,
    /// Pages that the GPU works on over the link.
    Remote,
    /// Pages that nothing is known of.
    Unknown,
    /// A fault of this moment.
    Faulting,
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
    /// Which colours.
    pub palette: Palette,
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
        // Terminals that set it say "foreground;background": 7 and 15 are the white ones.
        let light = set("COLORFGBG").is_some_and(|value| matches!(value.rsplit(';').next(), Some("7" | "15")));
        let palette = if light { Palette::Light } else { Palette::Dark };
        Self { depth, glyphs: if utf8 { Glyphs::Unicode } else { Glyphs::Ascii }, palette }
    }

    /// The next theme for a key: the palettes, then no colour, then the palettes again.
    pub fn next(self, depth: Depth) -> Self {
        let (palette, depth) = match (self.depth, self.palette) {
            (Depth::Mono, _) => (Palette::Dark, depth),
            (_, Palette::Dark) => (Palette::Light, depth),
            (_, Palette::Light) => (Palette::ColourBlind, depth),
            (_, Palette::ColourBlind) => (Palette::Dark, Depth::Mono),
        };
        Self { depth, palette, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match (self.depth, self.palette) {
            (Depth::Mono, _) => "mono",
            (_, Palette::Dark) => "dark",
            (_, Palette::Light) => "light",
            (_, Palette::ColourBlind) => "colour-blind",
        }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(self.mono(Modifier::DIM));
        let hues = self.palette.hues();
        match role {
            Role::Text => plain,
            Role::Value | Role::Title => bold,
            Role::Dim | Role::Ceiling | Role::ByOther | Role::Warmup | Role::Unknown => self.ink(dim, &hues.grey),
            Role::Border => self.ink(dim, &hues.frame),
            Role::Key => self.ink(bold, &hues.sky),
            Role::Selected => bold.add_modifier(Modifier::REVERSED),
            Role::Good | Role::ByPrefetch | Role::Gpu => self.ink(plain, &hues.green),
            Role::Warning => self.ink(bold, &hues.yellow),
            Role::Error | Role::Faulting => self.ink(bold, &hues.red),
            Role::Live => self.badge(&hues.green),
            Role::Simulated => self.badge(&hues.yellow),
            Role::Badge => self.badge(&hues.sky),
            Role::HtoD | Role::ByUser => self.ink(plain, &hues.sky),
            Role::DtoH => self.ink(plain, &hues.orange),
            Role::Cpu | Role::ByEviction => self.ink(plain, &hues.purple),
            Role::ByFault => self.ink(plain, &hues.red),
            Role::Pass => self.ink(plain, &hues.yellow),
            Role::Marker => self.ink(dim, &hues.blue),
            Role::Both => self.ink(plain, &hues.blue),
            Role::Peer => self.ink(plain, &hues.lime),
            Role::Remote => self.ink(plain, &hues.yellow),
        }
    }

    /// The background for a heat of 0 (none) to 3; `None` where the terminal has too few colours for it.
    pub fn heat(&self, heat: usize) -> Option<Color> {
        let (rgb, indexed) = self.palette.hues().heat.get(heat.checked_sub(1)?).copied()?;
        match self.depth {
            Depth::True => Some(rgb),
            Depth::Ansi256 => Some(Color::Indexed(indexed)),
            Depth::Ansi16 | Depth::Mono => None,
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
            Some(colour) => bold.fg(self.palette.hues().on_badge).bg(colour),
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
        assert_eq!(rich, Theme { depth: Depth::True, glyphs: Glyphs::Unicode, palette: Palette::Dark });
        let silent = detect(&[("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]);
        assert_eq!(silent, Theme { depth: Depth::Mono, glyphs: Glyphs::Ascii, palette: Palette::Dark });
        assert_eq!(detect(&[("TERM", "xterm"), ("NO_COLOR", "")]).depth, Depth::Ansi16);
        assert_eq!(detect(&[("TERM", "xterm"), ("COLORFGBG", "0;15")]).palette, Palette::Light);
    }

    #[test]
    fn mono_has_no_colour_at_all() {
        let mono = Theme { depth: Depth::Mono, glyphs: Glyphs::Ascii, palette: Palette::Dark };
        for role in [Role::Live, Role::Simulated, Role::HtoD, Role::Error, Role::Dim, Role::Selected] {
            let style = mono.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        assert_ne!(mono.style(Role::Simulated), mono.style(Role::Text));
    }
    #[test]
    fn the_key_goes_through_every_theme_and_back() {
        let first = detect(&[("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]);
        let mut names = vec![first.name()];
        let mut theme = first.next(first.depth);
        while theme != first {
            names.push(theme.name());
            theme = theme.next(first.depth);
        }
        assert_eq!(names, ["dark", "light", "colour-blind", "mono"]);
    }

    #[test]
    fn places_and_directions_differ_in_every_palette() {
        for palette in [Palette::Dark, Palette::Light, Palette::ColourBlind] {
            let theme = Theme { depth: Depth::Ansi256, glyphs: Glyphs::Unicode, palette };
            let roles =
                [Role::Gpu, Role::Peer, Role::Cpu, Role::Both, Role::Remote, Role::HtoD, Role::DtoH, Role::ByFault];
            let colours: Vec<_> = roles.map(|role| theme.style(role).fg).into_iter().collect();
            for (i, colour) in colours.iter().enumerate() {
                assert!(!colours[i + 1..].contains(colour), "{palette:?} {:?}", roles[i]);
            }
        }
    }
}
