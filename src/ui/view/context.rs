//! What every panel is drawn from, and what all panels share: styles, the time axis, frames with titles.

use crate::event::TraceLevel;
use crate::session::{Session, UvmPoint};
use crate::ui::state::Model;
use crate::ui::theme::{Role, Theme};
use crate::ui::widget::chart::{Curve, DOTS_X, TimeChart, Together};
use crate::ui::widget::scale::{DECADES, Scale, highest};
use crate::units::{Nanos, Stamp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// Columns left of each plot for the labels of its axis.
pub const GUTTER: u16 = 9;
/// Below this many columns of dots titles are short.
const NARROW: usize = 130;
/// Figures in titles are means over this long.
pub const FIGURE: Nanos = Nanos::millis(1_000);

/// The time axis that all charts share. Its edges lie at whole columns, so that a curve moves and does not shimmer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Left edge, or the session's start if that is later.
    pub from: Stamp,
    /// Right edge: the end of the last column that the newest event has completed.
    pub to: Stamp,
    /// Time that a column of dots stands for.
    pub step: Nanos,
    /// Columns of dots.
    pub columns: usize,
}

impl Axis {
    /// The axis of `window` up to `now` over a plot of this width.
    pub fn new(now: Stamp, window: Nanos, width: u16) -> Self {
        let columns = usize::from(width.max(1)) * DOTS_X;
        let step = (window.0 / columns as u64).max(1);
        // A column that time has only begun to fill would show the rate of a moment as that of the column.
        let to = (now.0 / step).max(1) * step;
        Self { from: Stamp(to.saturating_sub(step * columns as u64)), to: Stamp(to), step: Nanos(step), columns }
    }

    /// Columns between `from` and `to`: fewer than all while the session is younger than the window.
    pub fn filled(&self) -> usize {
        ((self.to.since(self.from).0 / self.step.0) as usize).min(self.columns)
    }

    /// Values of the filled columns, with nothing before them.
    pub fn padded(&self, values: Vec<Option<f64>>) -> Vec<Option<f64>> {
        let mut all = vec![None; self.columns.saturating_sub(values.len())];
        all.extend(values);
        all
    }

    /// The column of a moment; `None` if it is not on the axis.
    pub fn column(&self, at: Stamp) -> Option<usize> {
        let column = (at.0.checked_sub(self.from.0)? / self.step.0) as usize;
        (column < self.filled()).then(|| self.columns - self.filled() + column)
    }
}

/// What a panel is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Everything.
    pub model: &'a Model,
    /// The session to draw: the live one, or the frozen one.
    pub session: &'a Session,
    /// Styles and glyphs.
    pub theme: Theme,
    /// The common time axis.
    pub axis: Axis,
    /// The whole screen.
    pub screen: Rect,
}

/// One chart, before it is placed.
pub struct Plot<'a> {
    /// Curves.
    pub curves: Vec<(Role, Vec<Option<f64>>)>,
    /// How they share the plot.
    pub together: Together,
    /// Least end of the value axis.
    pub floor: f64,
    /// A value to draw a line at.
    pub ceiling: Option<f64>,
    /// Writes a value of the axis.
    pub label: &'a dyn Fn(f64) -> String,
}

impl<'a> Context<'a> {
    /// Text in a role.
    pub fn span(&self, role: Role, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.theme.style(role))
    }

    /// A label and its figure, for a title: `HtoD  6.1`.
    pub fn figure(&self, role: Role, label: &str, value: &str) -> Line<'static> {
        let label = if label.is_empty() { String::new() } else { format!("{label} ") };
        Line::from(vec![self.span(role, label), self.span(Role::Value, value)])
    }

    /// Whether titles must be short.
    pub fn narrow(&self) -> bool {
        self.axis.columns < NARROW
    }

    /// A horizontal part of a frame with a title at its left and as many of `parts` as fit at its right.
    pub fn rule(&self, row: Rect, corners: (&str, &str), title: Line, parts: &[Line], buf: &mut Buffer) {
        let border = self.theme.style(Role::Border);
        let width = usize::from(row.width);
        buf.set_stringn(row.x, row.y, self.theme.pick("─", "-").repeat(width), width, border);
        buf.set_stringn(row.x, row.y, corners.0, 1, border);
        buf.set_stringn(row.right().saturating_sub(1), row.y, corners.1, 1, border);
        let room = width.saturating_sub(4);
        let title_width = title.width().min(room);
        let mut used = title_width;
        let fitting: Vec<&Line> = parts
            .iter()
            .take_while(|part| {
                used += part.width() + 2;
                used < room
            })
            .collect();
        if title_width > 0 {
            write_over(&title, row.x + 1, row.y, row.right() - 1, buf);
        }
        let wide: usize = fitting.iter().map(|part| part.width() + 2).sum();
        let mut x = row.right().saturating_sub(1 + wide as u16);
        for part in fitting {
            x = write_over(part, x, row.y, row.right(), buf);
        }
    }

    /// Text cut to `room` columns, with a sign that it was cut.
    pub fn fit(&self, text: &str, room: usize) -> String {
        if text.chars().count() <= room {
            return text.to_owned();
        }
        let kept: String = text.chars().take(room.saturating_sub(1)).collect();
        format!("{}{}", kept.trim_end(), if room > 0 { self.theme.pick("…", "~") } else { "" })
    }

    /// The corners of a rule: `top`, else one between panels.
    pub fn corners(&self, top: bool) -> (&'static str, &'static str) {
        match (self.theme.ascii(), top) {
            (true, _) => ("+", "+"),
            (false, true) => ("┌", "┐"),
            (false, false) => ("├", "┤"),
        }
    }

    /// The sides of a frame, all rows.
    pub fn sides(&self, area: Rect, buf: &mut Buffer) {
        let border = self.theme.style(Role::Border);
        for y in area.top()..area.bottom() {
            for x in [area.left(), area.right().saturating_sub(1)] {
                buf.set_stringn(x, y, self.theme.pick("│", "|"), 1, border);
            }
        }
    }

    /// A frame with a title, and what is inside: a column of blank at each side.
    pub fn boxed(&self, area: Rect, title: &str, parts: &[Line], buf: &mut Buffer) -> Rect {
        if area.width < 4 || area.height < 2 {
            return Rect { width: 0, height: 0, ..area };
        }
        self.sides(area, buf);
        let top = Rect { height: 1, ..area };
        self.rule(top, self.corners(true), Line::from(self.span(Role::Title, title)), parts, buf);
        let foot = Rect { y: area.bottom() - 1, ..top };
        self.rule(foot, if self.theme.ascii() { ("+", "+") } else { ("└", "┘") }, Line::default(), &[], buf);
        Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
    }

    /// Words on as many rows as they need, from the top of an area; returns the rows used.
    pub fn words(&self, area: Rect, role: Role, text: &str, buf: &mut Buffer) -> u16 {
        let lines = wrapped(text, usize::from(area.width));
        for (i, line) in lines.iter().enumerate().take(usize::from(area.height)) {
            buf.set_stringn(area.x, area.y + i as u16, line, usize::from(area.width), self.theme.style(role));
        }
        (lines.len() as u16).min(area.height)
    }

    /// The same over a time axis of its own, for a plot area of this width.
    pub fn over(&self, width: u16) -> Self {
        let plot = Context::plot_area(Rect { width, ..self.screen });
        Self { axis: Axis::new(self.session.now, self.model.window(), plot.width), ..*self }
    }

    /// A chart with its labels, over the common time axis.
    pub fn plot(&self, area: Rect, plot: &Plot, buf: &mut Buffer) {
        let top = match plot.together {
            Together::Overlaid => highest(plot.curves.iter().map(|(_, values)| values.as_slice())),
            Together::Stacked => (0..self.axis.columns)
                .map(|i| plot.curves.iter().filter_map(|(_, values)| values.get(i).copied().flatten()).sum())
                .fold(0.0, f64::max),
        };
        let scale = Scale::fitting(top, plot.floor, self.model.ui.log);
        let markers = self.markers();
        let chart = TimeChart {
            curves: plot.curves.iter().map(|(role, values)| Curve { values, style: self.theme.style(*role) }).collect(),
            together: plot.together,
            scale,
            markers: &markers,
            marker_style: self.theme.style(Role::Marker),
            ceiling: plot.ceiling,
            quiet_style: self.theme.style(Role::Border),
            ascii: self.theme.ascii(),
        };
        let foot = if scale.log { (plot.label)(scale.max / 10f64.powf(DECADES)) } else { "0".to_owned() };
        self.gutter(area, &(plot.label)(scale.max), &foot, buf);
        chart.render(Context::plot_area(area), buf);
    }

    /// A panel's content right of the labels.
    pub fn plot_area(area: Rect) -> Rect {
        Rect { x: area.x + GUTTER.min(area.width), width: area.width.saturating_sub(GUTTER), ..area }
    }

    /// Words instead of a chart that cannot be drawn, on as many lines as they need.
    pub fn instead(&self, area: Rect, text: &str, buf: &mut Buffer) {
        let plot = Context::plot_area(area);
        let words = Paragraph::new(text).style(self.theme.style(Role::Dim)).wrap(Wrap { trim: true });
        // Words that do not break evenly may need a line more than their letters.
        let lines = match text.chars().count().div_ceil(usize::from(plot.width.max(1))) {
            0 | 1 => 1,
            more => u16::try_from(more + 1).unwrap_or(u16::MAX).min(area.height),
        };
        let y = area.y + area.height.saturating_sub(lines) / 2;
        let place = Rect { x: plot.x, y, width: plot.width, height: lines };
        words.render(place.intersection(area), buf);
    }

    /// Why there is nothing from the driver: it cannot be had, was not asked for, or is waited for.
    pub fn untraced(&self) -> &str {
        let reason = self.session.header.as_ref().and_then(|header| header.caps.trace.reason());
        let nothing =
            if self.awaited() { "known once the program has a CUDA context" } else { "press t: needs trace counters" };
        reason.unwrap_or(nothing)
    }

    /// Whether a watched program has not made its first context yet, so that no level tells anything.
    pub fn awaited(&self) -> bool {
        self.session.watch.subject.is_some() && self.session.watch.first.is_none()
    }

    /// The newest notice of a source, such as `nvml`.
    pub fn said_by(&self, source: &str) -> Option<&str> {
        let notices = self.session.notices.iter().rev();
        notices.map(|(_, notice)| notice).find(|notice| notice.source == source).map(|notice| notice.text.as_str())
    }

    /// A remark in the upper right corner of a chart, where there is room for one.
    pub fn remark(&self, area: Rect, text: &str, buf: &mut Buffer) {
        let width = text.chars().count() as u16;
        if width + 2 <= area.width.saturating_sub(GUTTER) {
            let x = area.right() - width;
            buf.set_stringn(x, area.y, text, usize::from(width), self.theme.style(Role::Dim));
        }
    }

    /// The trace level in force: the newest window's, or the run's if that began later (at level off there are no windows).
    pub fn level(&self) -> TraceLevel {
        let told = self.session.uvm.points.last().map(|point| (point.at, point.level));
        let run = self.session.runs.current().map(|run| (run.at, run.start.trace));
        let run = run.or(self.session.watch.level);
        told.into_iter().chain(run).max_by_key(|(at, _)| *at).map_or(TraceLevel::Off, |(_, level)| level)
    }

    /// A figure of the driver's windows over the time axis.
    pub fn uvm(&self, of: impl Fn(&UvmPoint) -> Option<f64>) -> Vec<Option<f64>> {
        self.axis.padded(self.session.uvm.points.means(self.axis.from, self.axis.to, self.axis.filled(), of))
    }

    /// The mean of a figure of the driver's windows over the newest [`FIGURE`].
    pub fn uvm_now(&self, of: impl Fn(&UvmPoint) -> Option<f64>) -> Option<f64> {
        let (from, to) = self.newest();
        self.session.uvm.points.means(from, to, 1, of).first().copied().flatten()
    }

    /// Peak of a figure of the driver's windows since the peaks were reset, over columns of the axis so that a window of
    /// a few milliseconds does not count for more than is drawn, and its mean over the time axis; for titles.
    pub fn peak_and_mean(
        &self,
        of: &dyn Fn(&UvmPoint) -> Option<f64>,
        write: &dyn Fn(f64) -> String,
    ) -> Vec<Line<'static>> {
        let axis = &self.axis;
        let from = axis.from.max(self.model.ui.peaks_from);
        let columns = (axis.to.since(from).0 / axis.step.0) as usize;
        let values = self.session.uvm.points.means(from, axis.to, columns, of);
        let peak = values.into_iter().flatten().reduce(f64::max);
        let mean = self.session.uvm.points.means(axis.from, axis.to, 1, of).first().copied().flatten();
        let figure = |name, value: Option<f64>| value.map(|value| self.figure(Role::Dim, name, &write(value)));
        figure("peak", peak).into_iter().chain(figure("mean", mean)).collect()
    }

    /// The newest [`FIGURE`] of time.
    pub fn newest(&self) -> (Stamp, Stamp) {
        let to = self.session.now;
        (Stamp(to.0.saturating_sub(FIGURE.0)), to)
    }

    /// Columns at which settings changed.
    pub fn markers(&self) -> Vec<usize> {
        self.session.runs.markers.iter().filter_map(|marker| self.axis.column(marker.at)).collect()
    }

    fn gutter(&self, area: Rect, top: &str, foot: &str, buf: &mut Buffer) {
        let dim = self.theme.style(Role::Dim);
        let width = usize::from(GUTTER.min(area.width).saturating_sub(1));
        buf.set_stringn(area.x, area.y, format!("{top:>width$}"), width, dim);
        if area.height > 1 {
            buf.set_stringn(area.x, area.bottom() - 1, format!("{foot:>width$}"), width, dim);
        }
    }
}

/// Text in lines of at most `width` columns, broken between words; a word that is longer is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let long = line.chars().count() + 1 + word.chars().count() > width;
        if !line.is_empty() && long {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(width.max(1)));
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Writes a line with a blank at each end over what is there, styles included; returns the column after it.
fn write_over(line: &Line, x: u16, y: u16, right: u16, buf: &mut Buffer) -> u16 {
    let mut padded = line.clone();
    padded.spans.insert(0, Span::raw(" "));
    padded.spans.push(Span::raw(" "));
    let width = (padded.width() as u16).min(right.saturating_sub(x));
    buf.set_style(Rect { x, y, width, height: 1 }, Style::reset());
    buf.set_line(x, y, &padded, width);
    x + width
}
