//! The workload menu: what can be run, what runs, and the question that the chosen one answers.

use super::context::Context;
use super::foot;
use super::layout::SETTINGS;
use crate::ui::setup::Entry;
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// Rows at which the question is worth its place below the list.
const QUESTION: u16 = 5;

/// The list's rows within the column's frame, and the row of the first entry shown.
pub fn list(column: Rect, entries: usize, selected: usize) -> (Rect, usize) {
    let inner = Rect {
        x: column.x + 1,
        y: column.y + 1,
        width: column.width.saturating_sub(2),
        height: column.height.saturating_sub(SETTINGS + 3),
    };
    let spare = inner.height.saturating_sub(entries as u16);
    let height = if spare >= QUESTION { entries as u16 } else { inner.height };
    let first = (selected + 1).saturating_sub(usize::from(height));
    (Rect { height, ..inner }, first)
}

/// The entry at a position, for the mouse.
pub fn at(column: Rect, entries: usize, selected: usize, position: (u16, u16)) -> Option<usize> {
    let (rows, first) = list(column, entries, selected);
    let inside = rows.contains(position.into());
    let entry = first + usize::from(position.1.saturating_sub(rows.y));
    (inside && entry < entries).then_some(entry)
}

/// Draws the menu into the column's frame, settings left out.
pub fn draw(cx: &Context, column: Rect, buf: &mut Buffer) {
    let entries = &cx.model.setup.workloads;
    let selected = cx.model.ui.selected;
    cx.rule(Rect { height: 1, ..column }, cx.corners(true), Line::from(cx.span(Role::Title, "Workload")), &[], buf);
    let (rows, first) = list(column, entries.len(), selected);
    let running = cx.session.runs.current().filter(|run| run.outcome.is_none());
    let running = running.map(|run| run.start.settings.workload.as_str());
    for (i, entry) in entries.iter().enumerate().skip(first).take(usize::from(rows.height)) {
        let y = rows.y + (i - first) as u16;
        line(cx, Rect { y, height: 1, ..rows }, (i, entry), running == Some(entry.name.as_str()), buf);
    }
    let below = Rect {
        x: rows.x + 1,
        y: rows.bottom() + 1,
        width: rows.width.saturating_sub(2),
        height: column.bottom().saturating_sub(SETTINGS + 2).saturating_sub(rows.bottom() + 1),
    };
    if let Some(entry) = entries.get(selected).filter(|_| below.height >= QUESTION - 1) {
        let (said, sentence) = foot::sentence(cx);
        let (role, text) = match entry.available.reason() {
            Some(why) => (Role::Warning, why),
            None if sentence.chars().count() > foot::room(cx) => (said, sentence.as_str()),
            None => (Role::Dim, entry.question.as_str()),
        };
        Paragraph::new(text).style(cx.theme.style(role)).wrap(Wrap { trim: true }).render(below, buf);
    }
}

fn line(cx: &Context, row: Rect, (i, entry): (usize, &Entry), running: bool, buf: &mut Buffer) {
    let chosen = i == cx.model.ui.selected;
    let mark = if chosen { cx.theme.pick("▸", ">") } else { " " };
    let number = if i < 9 { (i + 1).to_string() } else { " ".to_owned() };
    let width = usize::from(row.width);
    let role = match (chosen, entry.available.yes(), running) {
        (_, false, _) => Role::Dim,
        (true, ..) => Role::Value,
        (false, _, true) => Role::Good,
        _ => Role::Text,
    };
    let state = match (running, cx.session.runs.paused) {
        (true, true) => "paused",
        (true, false) => "running",
        _ if !entry.available.yes() => "n/a",
        _ => "",
    };
    let room = width.saturating_sub(3 + if state.is_empty() { 0 } else { state.len() + 1 });
    buf.set_stringn(row.x, row.y, mark, 1, cx.theme.style(Role::Key));
    buf.set_stringn(row.x + 1, row.y, number, 1, cx.theme.style(Role::Key));
    buf.set_stringn(row.x + 3, row.y, cx.fit(&entry.title, room), room, cx.theme.style(role));
    let x = row.right().saturating_sub(state.len() as u16);
    buf.set_stringn(x, row.y, state, state.len(), cx.theme.style(if running { Role::Good } else { Role::Dim }));
}
