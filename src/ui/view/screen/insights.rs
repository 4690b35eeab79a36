//! What the present run's figures mean: every rule that holds, with its evidence and what to try.

use crate::ui::theme::Role;
use crate::ui::view::context::{Context, wrapped};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the screen.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let run = cx.session.runs.current();
    let of = run
        .map(|run| Line::from(cx.span(Role::Dim, format!("run {}: {}", run.start.run, run.start.settings.workload))));
    let inner = cx.boxed(area, "Insights", of.as_slice(), buf);
    let lines = lines(cx, inner.width);
    let first = cx.model.ui.scroll.min((lines.len() as u16).saturating_sub(inner.height));
    for (y, line) in (inner.top()..inner.bottom()).zip(lines.iter().skip(usize::from(first))) {
        buf.set_line(inner.x, y, line, inner.width);
    }
}

/// Lines that do not fit.
pub fn scrollable(cx: &Context, area: Rect) -> u16 {
    (lines(cx, area.width.saturating_sub(4)).len() as u16).saturating_sub(area.height.saturating_sub(2))
}

fn lines(cx: &Context, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let insights = &cx.model.estimates().insights;
    let part = |role: Role, indent: &'static str, text: &str| -> Vec<Line<'static>> {
        let rows = wrapped(text, width.saturating_sub(indent.chars().count()));
        let blank = " ".repeat(indent.chars().count());
        let line = |(i, row): (usize, String)| {
            Line::from(vec![
                cx.span(Role::Key, if i == 0 { indent.to_owned() } else { blank.clone() }),
                cx.span(role, row),
            ])
        };
        rows.into_iter().enumerate().map(line).collect()
    };
    if insights.is_empty() {
        let text = "No rule holds for this run so far. A rule needs passes that count and a trace level that gives its \
                    figures: none fires on what is not known.";
        return part(Role::Dim, "", text);
    }
    let mut lines = Vec::new();
    for insight in insights {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        let evidence: Vec<String> = insight.evidence.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines.extend(part(Role::Value, cx.theme.pick("▸ ", "> "), &insight.sentence));
        lines.extend(part(Role::Dim, "  seen  ", &evidence.join(cx.theme.pick(" · ", ", "))));
        lines.extend(part(Role::Good, "  try   ", insight.suggestion));
    }
    lines
}
