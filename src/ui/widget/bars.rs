//! A histogram of horizontal bars, one a row: label, bar, count.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Eighths of a cell, from the left.
const EIGHTHS: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

/// Bars with their labels and counts.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// Label, length, and what is written at the end, from the top.
    pub rows: &'a [(String, f64, String)],
    /// Style of labels and ends.
    pub quiet: Style,
    /// Style of the bars.
    pub bar: Style,
    /// ASCII only.
    pub ascii: bool,
}

impl Bars<'_> {
    /// Draws as many rows as fit; bars share one scale, and whatever is above zero is seen.
    pub fn render(&self, area: Rect, buf: &mut Buffer) {
        let widest = |of: &dyn Fn(&(String, f64, String)) -> usize| self.rows.iter().map(of).max().unwrap_or(0);
        let label = widest(&|row| row.0.chars().count());
        let end = widest(&|row| row.2.chars().count());
        let Some(room) = usize::from(area.width).checked_sub(label + end + 2).filter(|room| *room > 0) else { return };
        let most = self.rows.iter().map(|row| row.1).fold(0.0, f64::max);
        for (y, (name, length, text)) in (area.top()..area.bottom()).zip(self.rows) {
            buf.set_stringn(area.x, y, format!("{name:>label$}"), label, self.quiet);
            let share = if most > 0.0 { (length / most).clamp(0.0, 1.0) } else { 0.0 };
            buf.set_stringn(area.x + label as u16 + 1, y, self.bar(share, room), room, self.bar);
            let x = area.right() - end as u16;
            buf.set_stringn(x, y, format!("{text:>end$}"), end, self.quiet);
        }
    }

    fn bar(&self, share: f64, room: usize) -> String {
        if share <= 0.0 {
            return String::new();
        }
        if self.ascii {
            return "#".repeat(((share * room as f64).round() as usize).max(1));
        }
        let eighths = ((share * room as f64 * 8.0).round() as usize).max(1);
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[(String, f64, String)], width: u16, ascii: bool) -> Vec<String> {
        let area = Rect::new(0, 0, width, rows.len() as u16);
        let mut buf = Buffer::empty(area);
        Bars { rows, quiet: Style::new(), bar: Style::new(), ascii }.render(area, &mut buf);
        (0..area.height).map(|y| (0..width).map(|x| buf[(x, y)].symbol()).collect()).collect()
    }

    fn row(label: &str, length: f64) -> (String, f64, String) {
        (label.to_owned(), length, format!("{length}"))
    }

    #[test]
    fn bars_share_a_scale_and_a_little_is_seen() {
        let rows = [row("4 KiB", 8.0), row("1 MiB", 4.0), row("2 MiB", 0.001), row("4 MiB", 0.0)];
        let lines = drawn(&rows, 21, true);
        assert_eq!(lines[0], "4 KiB #########     8");
        assert_eq!(lines[1], "1 MiB #####         4");
        assert_eq!(lines[2], "2 MiB #         0.001");
        assert_eq!(lines[3], "4 MiB               0");
        assert!(drawn(&rows, 21, false)[2].contains('▏'));
        assert!(drawn(&rows, 3, false).iter().all(|line| line.trim().is_empty()));
    }
}
