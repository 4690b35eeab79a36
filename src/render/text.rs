//! Text, plain and with colours.

use super::picture::{Cell, Picture, Rgb};
use std::fmt::Write as _;

/// The screen as plain text, blanks at line ends cut off, and the line below it.
pub fn txt(picture: &Picture) -> String {
    let mut out = String::new();
    for row in picture.rows() {
        let line: String = row.iter().map(|cell| cell.symbol.as_str()).collect();
        let _ = writeln!(out, "{}", clean(line.trim_end()));
    }
    let _ = writeln!(out, "{}", clean(&picture.caption.join(" · ")));
    out
}

/// The screen with 24-bit colours for a terminal (`cat` shows it), and the line below it.
pub fn ansi(picture: &Picture) -> String {
    let mut out = String::new();
    for row in picture.rows().map(<[Cell]>::to_vec).chain([picture.caption_cells()]) {
        let mut pen = Pen::default();
        for cell in &row {
            pen.write(cell, &mut out);
        }
        pen.end(&mut out);
        out.push('\n');
    }
    out
}

/// The style that was written last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    ink: Option<Rgb>,
    paper: Option<Rgb>,
    bold: bool,
    underlined: bool,
}

impl Pen {
    /// Writes a cell, after a change of style if it has another one.
    pub fn write(&mut self, cell: &Cell, out: &mut String) {
        let wanted = Pen { ink: cell.ink, paper: cell.paper, bold: cell.bold, underlined: cell.underlined };
        if *self != wanted {
            out.push_str("\x1b[0");
            out.push_str(if wanted.bold { ";1" } else { "" });
            out.push_str(if wanted.underlined { ";4" } else { "" });
            for (code, colour) in [(38, wanted.ink), (48, wanted.paper)] {
                if let Some(Rgb(r, g, b)) = colour {
                    let _ = write!(out, ";{code};2;{r};{g};{b}");
                }
            }
            out.push('m');
            *self = wanted;
        }
        out.push_str(&clean(&cell.symbol));
    }

    /// Back to the terminal's own style.
    pub fn end(&mut self, out: &mut String) {
        if *self != Pen::default() {
            out.push_str("\x1b[0m");
            *self = Pen::default();
        }
    }
}

/// A recording's texts must not command the terminal that shows them.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Style};

    #[test]
    fn a_terminal_shows_the_ansi_text_as_the_picture_has_it() {
        let mut buffer = Buffer::with_lines(["ab│⣿", "cd ▀"]);
        buffer[(1, 0)].set_style(Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Rgb(4, 5, 6)));
        let picture = Picture::new(&buffer, vec!["M".to_owned()]);
        let size = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut terminal = vt100::Parser::new(size(3), size(4), 0);
        terminal.process(ansi(&picture).trim_end().replace('\n', "\r\n").as_bytes());
        let screen = terminal.screen();
        assert_eq!(screen.contents(), "ab│⣿\ncd ▀\n M");
        let cell = screen.cell(0, 1).unwrap();
        assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Rgb(1, 2, 3), vt100::Color::Rgb(4, 5, 6)));
        assert_eq!(screen.cell(0, 2).unwrap().fgcolor(), vt100::Color::Default);
        assert_eq!(txt(&picture), "ab│⣿\ncd ▀\nM\n");
    }

    #[test]
    fn texts_cannot_command_the_terminal() {
        let picture = Picture { columns: 0, cells: Vec::new(), caption: vec!["\x1b[2J".to_owned()] };
        assert!(!txt(&picture).contains('\x1b'));
    }
}
