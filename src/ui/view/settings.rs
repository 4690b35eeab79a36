//! The settings: what is asked for, and a mark where something else is in force still.

use super::context::Context;
use super::layout::SETTINGS;
use super::watch;
use crate::event::{MemoryKind, Settings};
use crate::ui::keys::Action;
use crate::ui::setup::Mode;
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Key, label, and what a click does, in the order shown.
const ROWS: [(&str, &str, Action); SETTINGS as usize] = [
    ("m", "memory", Action::Memory),
    ("p", "prefetch", Action::Prefetch),
    ("a", "advice", Action::Advice),
    ("±", "size", Action::Bigger),
    ("t", "trace", Action::Trace),
];

/// What a click at a position in the column does.
pub fn at(column: Rect, row: u16) -> Option<Action> {
    let first = column.bottom().checked_sub(SETTINGS + 1)?;
    ROWS.get(usize::from(row.checked_sub(first)?)).map(|(_, _, action)| *action)
}

/// Draws the lower part of the column: rule, settings, foot.
pub fn draw(cx: &Context, column: Rect, buf: &mut Buffer) {
    let foot = column.bottom().saturating_sub(1);
    let first = foot.saturating_sub(SETTINGS);
    let row = |y: u16| Rect { y, height: 1, ..column };
    cx.rule(row(first - 1), cx.corners(false), Line::from(cx.span(Role::Title, "Settings")), &[], buf);
    let wanted = &cx.model.ui.wanted;
    let values = values(wanted);
    let running = cx.session.runs.current().map(|run| &run.start);
    let actual = running.map(|start| self::values(&Settings { trace: start.trace, ..start.settings.clone() }));
    for (i, (key, label, _)) in ROWS.iter().enumerate() {
        let y = first + i as u16;
        let key = if cx.theme.ascii() && *key == "±" { "+" } else { key };
        buf.set_stringn(column.x + 2, y, key, 1, cx.theme.style(Role::Key));
        buf.set_stringn(column.x + 4, y, label, 9, cx.theme.style(Role::Dim));
        let differs = actual.as_ref().is_some_and(|actual| actual[i] != values[i]);
        let (role, value) = if differs {
            (Role::Warning, format!("{} {}", values[i], cx.theme.pick("…", "...")))
        } else {
            (role(wanted, i), values[i].clone())
        };
        let room = usize::from(column.width.saturating_sub(14));
        buf.set_stringn(column.x + 13, y, cx.fit(&value, room), room, cx.theme.style(role));
    }
    let corners = if cx.theme.ascii() { ("+", "+") } else { ("└", "┘") };
    cx.rule(row(foot), corners, Line::default(), &[], buf);
}

/// The settings in one row, where there is no column: those asked for, or in a replay those of the run.
pub fn strip(cx: &Context, row: Rect, buf: &mut Buffer) {
    let replayed = cx.session.runs.current().map(|run| &run.start.settings);
    let settings = match cx.model.setup.mode {
        Mode::Live => &cx.model.ui.wanted,
        Mode::Replay | Mode::Watch => replayed.unwrap_or(&cx.model.ui.wanted),
    };
    if watch::shown(cx) {
        return watch::strip(cx, row, buf);
    }
    let mut spans = vec![Span::raw(" ")];
    let chosen = cx.model.setup.workloads.get(cx.model.ui.selected).filter(|_| cx.model.setup.mode == Mode::Live);
    if let Some(entry) = chosen.filter(|entry| entry.name != settings.workload) {
        let arrow = cx.theme.pick("▸", ">");
        spans.push(cx.span(Role::Key, format!("{arrow} {} {} ", entry.title, cx.theme.pick("⏎", "(enter)"))));
    }
    spans.push(cx.span(Role::Value, settings.workload.clone()));
    let [memory, prefetch, advice, size, _] = values(settings);
    for (label, value) in [("", size), ("", memory), ("prefetch ", prefetch), ("advice ", advice)] {
        spans.push(cx.span(Role::Dim, format!("{}{label}", cx.theme.pick(" · ", " - "))));
        spans.push(cx.span(Role::Text, value));
    }
    buf.set_line(row.x, row.y, &Line::from(spans), row.width);
}

fn values(settings: &Settings) -> [String; SETTINGS as usize] {
    [
        settings.memory.to_string(),
        if settings.prefetch { "on" } else { "off" }.to_owned(),
        settings.advice.to_string(),
        size(settings),
        settings.trace.to_string(),
    ]
}

/// The footprint, and what of the pass is not as the workload's file says.
fn size(settings: &Settings) -> String {
    let Settings { size, shape, .. } = settings;
    if shape.is_plain() { size.to_string() } else { format!("{size}, {shape}") }
}

/// Prefetch and advice mean nothing for memory that is not managed.
fn role(wanted: &Settings, row: usize) -> Role {
    let idle = wanted.memory != MemoryKind::Managed && matches!(ROWS[row].2, Action::Prefetch | Action::Advice);
    if idle { Role::Dim } else { Role::Value }
}
