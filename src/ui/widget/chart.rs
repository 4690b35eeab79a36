//! A time chart in braille: areas over slices of `Option<f64>`, two columns and four rows of dots a character.
//!
//! A value of zero draws the foot line; no value draws nothing, so a gap is seen as a gap.

use super::scale::Scale;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// Columns of dots in a character.
pub const DOTS_X: usize = 2;
/// Rows of dots in a character.
pub const DOTS_Y: usize = 4;

/// The braille bit of a dot, by row from the top and by column.
const BITS: [[u8; DOTS_X]; DOTS_Y] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// One curve.
#[derive(Clone, Copy, Debug)]
pub struct Curve<'a> {
    /// One value per column of dots, oldest first; the last stands at the right edge.
    pub values: &'a [Option<f64>],
    /// Its colour.
    pub style: Style,
}

/// How several curves share the plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Each from zero, the lower in front of the higher.
    Overlaid,
    /// Each on top of the one before.
    Stacked,
}

/// A chart with one time axis and one value axis.
#[derive(Clone, Debug)]
pub struct TimeChart<'a> {
    /// The curves.
    pub curves: Vec<Curve<'a>>,
    /// How they share the plot.
    pub together: Together,
    /// The value axis.
    pub scale: Scale,
    /// Columns of dots at which something changed.
    pub markers: &'a [usize],
    /// Style of the markers' lines.
    pub marker_style: Style,
    /// A value to draw a dashed line at, if it is on the axis.
    pub ceiling: Option<f64>,
    /// Style of the dashed line and of the foot line where everything is zero.
    pub quiet_style: Style,
    /// ASCII only.
    pub ascii: bool,
}

/// The tops of a column's curves in dots, lowest first, and which curve ends there.
type Tops = Vec<(usize, Option<usize>)>;

impl TimeChart<'_> {
    /// Puts the tops of a column into `tops`, which is used over and over: a screen has thousands of cells.
    fn tops(&self, column: usize, rows: usize, tops: &mut Tops) {
        tops.clear();
        let mut sum = 0.0;
        let mut known = false;
        for (i, curve) in self.curves.iter().enumerate() {
            let Some(value) = curve.values.get(column).copied().flatten() else { continue };
            known = true;
            if value <= 0.0 {
                continue;
            }
            sum = if self.together == Together::Stacked { sum + value } else { value };
            let height = (self.scale.share(sum) * rows as f64).round() as usize;
            tops.push((height.max(1), Some(i)));
        }
        if known && tops.is_empty() {
            tops.push((1, None));
        }
        tops.sort_by_key(|(height, _)| *height);
    }

    /// A cell that has dots; `owners` is room to count in.
    fn cell(&self, columns: &[Tops; DOTS_X], row_from_foot: usize, owners: &mut Vec<usize>) -> Option<(char, Style)> {
        let mut bits = 0u8;
        owners.clear();
        owners.resize(self.curves.len() + 1, 0);
        for (x, tops) in columns.iter().enumerate() {
            for y in 0..DOTS_Y {
                let dot = row_from_foot * DOTS_Y + y;
                if let Some((_, owner)) = tops.iter().find(|(height, _)| *height > dot) {
                    bits |= BITS[DOTS_Y - 1 - y][x];
                    owners[owner.map_or(0, |i| i + 1)] += 1;
                }
            }
        }
        let most = owners.iter().enumerate().max_by_key(|(i, dots)| (**dots, *i)).map_or(0, |(i, _)| i);
        let style = most.checked_sub(1).and_then(|i| self.curves.get(i)).map_or(self.quiet_style, |c| c.style);
        let glyph = if self.ascii { ascii(bits.count_ones()) } else { braille(bits) };
        (bits != 0).then_some((glyph, style))
    }

    fn draw_ceiling(&self, area: Rect, buf: &mut Buffer) {
        let Some(value) = self.ceiling.filter(|v| *v > 0.0 && *v <= self.scale.max) else { return };
        let rows = usize::from(area.height) * DOTS_Y;
        let dot = ((self.scale.share(value) * rows as f64).round() as usize).clamp(1, rows) - 1;
        let y = area.bottom() - 1 - (dot / DOTS_Y) as u16;
        for x in area.left()..area.right() {
            buf[(x, y)].set_char(if self.ascii { '-' } else { '┄' }).set_style(self.quiet_style);
        }
    }

    fn draw_markers(&self, area: Rect, buf: &mut Buffer) {
        for column in self.markers {
            let x = area.left() as usize + column / DOTS_X;
            if x < area.right() as usize {
                for y in area.top()..area.bottom() {
                    buf[(x as u16, y)].set_char(if self.ascii { ':' } else { '┊' }).set_style(self.marker_style);
                }
            }
        }
    }
}

impl Widget for &TimeChart<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        self.draw_ceiling(area, buf);
        let rows = usize::from(area.height) * DOTS_Y;
        let mut columns = [Tops::new(), Tops::new()];
        let mut owners = Vec::new();
        for x in 0..area.width {
            for (dot, tops) in columns.iter_mut().enumerate() {
                self.tops(usize::from(x) * DOTS_X + dot, rows, tops);
            }
            let highest = columns.iter().filter_map(|tops| tops.last()).map(|(height, _)| *height).max().unwrap_or(0);
            for row in 0..area.height.min(highest.div_ceil(DOTS_Y) as u16) {
                if let Some((glyph, style)) = self.cell(&columns, usize::from(row), &mut owners) {
                    buf[(area.left() + x, area.bottom() - 1 - row)].set_char(glyph).set_style(style);
                }
            }
        }
        self.draw_markers(area, buf);
    }
}

fn braille(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

fn ascii(dots: u32) -> char {
    match dots {
        0 => ' ',
        1..=2 => '.',
        3..=5 => ':',
        _ => '#',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    fn drawn(chart: &TimeChart, width: u16, height: u16) -> (Vec<String>, Buffer) {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        chart.render(area, &mut buf);
        let lines = (0..height).map(|y| (0..width).map(|x| buf[(x, y)].symbol()).collect()).collect();
        (lines, buf)
    }

    fn chart<'a>(curves: Vec<Curve<'a>>, together: Together) -> TimeChart<'a> {
        TimeChart {
            curves,
            together,
            scale: Scale { max: 8.0, log: false },
            markers: &[],
            marker_style: Style::new(),
            ceiling: None,
            quiet_style: Style::new().fg(Color::DarkGray),
            ascii: false,
        }
    }

    fn curve(values: &[Option<f64>], colour: Color) -> Curve<'_> {
        Curve { values, style: Style::new().fg(colour) }
    }

    #[test]
    fn a_gap_is_blank_and_a_zero_is_a_foot_line() {
        let values = [Some(8.0), Some(8.0), None, None, Some(0.0), Some(0.0), Some(4.0), None];
        let (lines, buf) = drawn(&chart(vec![curve(&values, Color::Red)], Together::Overlaid), 4, 2);
        assert_eq!(lines, ["⣿   ", "⣿ ⣀⡇"]);
        assert_eq!(buf[(0, 0)].fg, Color::Red);
        assert_eq!(buf[(2, 1)].fg, Color::DarkGray);
    }

    #[test]
    fn stacked_curves_add_up_and_keep_their_colours() {
        let (low, high) = ([Some(4.0); 2], [Some(4.0); 2]);
        let curves = vec![curve(&low, Color::Red), curve(&high, Color::Blue)];
        let (lines, buf) = drawn(&chart(curves, Together::Stacked), 1, 2);
        assert_eq!(lines, ["⣿", "⣿"]);
        assert_eq!((buf[(0, 1)].fg, buf[(0, 0)].fg), (Color::Red, Color::Blue));
    }

    #[test]
    fn overlaid_curves_show_the_lower_in_front() {
        let (high, low) = ([Some(8.0); 2], [Some(4.0); 2]);
        let curves = vec![curve(&high, Color::Red), curve(&low, Color::Blue)];
        let (_, buf) = drawn(&chart(curves, Together::Overlaid), 1, 2);
        assert_eq!((buf[(0, 1)].fg, buf[(0, 0)].fg), (Color::Blue, Color::Red));
    }

    #[test]
    fn a_small_value_is_never_invisible_and_nothing_overflows() {
        let values = [Some(1e-9), Some(1e12), Some(f64::NAN), Some(-3.0)];
        let (lines, _) = drawn(&chart(vec![curve(&values, Color::Red)], Together::Overlaid), 2, 1);
        assert_eq!(lines, ["⣸⣀"]);
    }

    #[test]
    fn markers_and_the_ceiling_are_seen() {
        let values = [Some(0.0); 6];
        let mut chart = chart(vec![curve(&values, Color::Red)], Together::Overlaid);
        chart.markers = &[2, 99];
        chart.ceiling = Some(8.0);
        assert_eq!(drawn(&chart, 3, 2).0, ["┄┊┄", "⣀┊⣀"]);
        chart.ceiling = Some(9.0);
        chart.ascii = true;
        assert_eq!(drawn(&chart, 3, 2).0, [" : ", ".:."]);
    }
}
