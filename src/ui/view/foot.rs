//! What stands below the charts: the time axis, the sentence, the footer.

use super::context::Context;
use super::watch;
use crate::event::Level;
use crate::session::story;
use crate::ui::keys::{self, Action, Footer, Row};
use crate::ui::theme::Role;
use crate::ui::widget::chart::DOTS_X;
use crate::units::{Nanos, Stamp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// A notice is shown for this long, then the story goes on.
const NOTICE_LASTS: Nanos = Nanos::millis(10_000);
/// A pass that is silent for longer than this is spoken of.
const SILENCE: Nanos = Nanos::millis(5_000);

/// Who has pressed no key so far is told which there are, for this long.
const HINT_LASTS: Stamp = Stamp(6_000_000_000);
/// What is said until the source is open.
const OPENING: &str =
    "CUDA is being initialised, which takes a moment; if this stays, the driver does not answer: q leaves";
/// What they are told.
const FIRST: &str = "New here? Press p for prefetch and watch the line bend, F1–F6 for the screens, ? for all keys";

/// Draws the labels of the time axis: the newest moment, what changed at the markers, and times where there is room.
pub fn axis(cx: &Context, row: Rect, buf: &mut Buffer) {
    let plot = Context::plot_area(row);
    let mut taken: Vec<Rect> = Vec::new();
    let mut put = |x: u16, text: &str, role: Role| {
        let place = Rect { x, width: text.chars().count() as u16, height: 1, ..plot };
        let free = place.right() <= plot.right() && taken.iter().all(|other| other.intersection(place).is_empty());
        if free {
            buf.set_stringn(x, plot.y, text, usize::from(place.width), cx.theme.style(role));
            taken.push(Rect { x: x.saturating_sub(1), width: place.width + 2, ..place });
        }
        free
    };
    let now = if cx.model.frozen.is_some() { "frozen" } else { "now" };
    put(plot.right().saturating_sub(now.len() as u16), now, Role::Dim);
    for marker in cx.session.runs.markers.iter().rev() {
        let Some(column) = cx.axis.column(marker.at) else { continue };
        let x = plot.x + (column / DOTS_X) as u16;
        if !put(x, &format!("{} {}", cx.theme.pick("└", "'"), marker.text), Role::Marker) {
            let before = format!("{} {}", marker.text, cx.theme.pick("┘", "'"));
            if let Some(x) = (x + 1).checked_sub(before.chars().count() as u16).filter(|x| *x >= plot.x) {
                put(x, &before, Role::Marker);
            }
        }
    }
    let window = cx.model.window().seconds();
    for quarter in 0..4u16 {
        let text = format!("{}{} s", cx.theme.pick("−", "-"), window * f64::from(4 - quarter) / 4.0);
        put(plot.x + (u32::from(plot.width) * u32::from(quarter) / 4) as u16, &text, Role::Dim);
    }
}

/// The sentence at the foot of the charts: silence, an answer to a key, a fresh notice, or what the newest pass shows.
pub fn sentence(cx: &Context) -> (Role, String) {
    if let Some(silent) = cx.model.silence().filter(|silent| *silent > SILENCE) {
        let pass = cx.session.runs.under_way.map_or(0, |(_, index, _)| index + 1);
        let seconds = silent.0 / 1_000_000_000;
        return (Role::Error, format!("no sign of the driver for {seconds} s: pass {pass} is still under way"));
    }
    if let Some(hint) = &cx.model.ui.hint {
        return (Role::Key, hint.clone());
    }
    if cx.model.setup.opening {
        return (Role::Text, OPENING.to_owned());
    }
    if let Some((at, notice)) = cx.session.last_notice()
        && cx.session.now.since(*at) < NOTICE_LASTS
    {
        let role = match notice.level {
            Level::Info => Role::Text,
            Level::Warning => Role::Warning,
            Level::Error => Role::Error,
        };
        return (role, format!("{}: {}", notice.source, notice.text));
    }
    if !cx.model.ui.pressed && cx.session.now < HINT_LASTS && cx.model.setup.mode == crate::ui::setup::Mode::Live {
        return (Role::Key, FIRST.to_owned());
    }
    if watch::shown(cx) {
        return watch::sentence(cx);
    }
    let question = || cx.model.setup.entry(&cx.model.ui.wanted.workload).map(|entry| entry.question.clone());
    let meant = cx.model.estimates().insights.first().map(|insight| insight.sentence.clone());
    (Role::Value, meant.or_else(|| story(cx.session)).or_else(question).unwrap_or_default())
}

/// Columns that the sentence can have at most: the screen's width, less the frame.
pub fn room(cx: &Context) -> usize {
    usize::from(cx.screen.width.saturating_sub(5))
}

/// The foot of the charts' frame with the sentence, which reaches over the workload column where it is long.
pub fn rule(cx: &Context, row: Rect, buf: &mut Buffer) {
    let (role, text) = sentence(cx);
    let corners = if cx.theme.ascii() { ("+", "+") } else { ("└", "┘") };
    let long = text.chars().count() + 5 > usize::from(row.width);
    let row = if long { Rect { x: cx.screen.x, width: cx.screen.width, ..row } } else { row };
    cx.rule(row, corners, Line::from(cx.span(role, cx.fit(&text, room(cx)))), &[], buf);
}

/// The sentence in a row of its own.
pub fn line(cx: &Context, row: Rect, buf: &mut Buffer) {
    let (role, text) = sentence(cx);
    let room = usize::from(row.width.saturating_sub(2));
    buf.set_stringn(row.x + 1, row.y, cx.fit(&text, room), room, cx.theme.style(role));
}

/// The footer's rows that fit, each with its column: those that must be there, the others while there is room.
fn fitting(cx: &Context, width: u16) -> Vec<(u16, &'static Row)> {
    let (mode, screen) = (cx.model.setup.mode, cx.model.ui.screen);
    let shown_here = |row: &&Row| row.footer != Footer::Never && keys::belongs(row, mode, screen);
    let rows: Vec<&Row> = keys::rows(mode).filter(shown_here).collect();
    let wide = |row: &Row| (shown(cx, row).chars().count() + row.label.len() + 3) as u16;
    let mut room = width.saturating_sub(1);
    for row in rows.iter().filter(|row| row.footer == Footer::Always) {
        room = room.saturating_sub(wide(row));
    }
    let mut x = 1;
    let mut placed = Vec::new();
    for row in rows {
        let width = wide(row);
        if row.footer == Footer::IfRoom {
            if width > room {
                continue;
            }
            room -= width;
        }
        placed.push((x, row));
        x += width;
    }
    placed
}

/// Draws the footer.
pub fn footer(cx: &Context, area: Rect, buf: &mut Buffer) {
    for (x, row) in fitting(cx, area.width) {
        let line = Line::from(vec![cx.span(Role::Key, shown(cx, row)), cx.span(Role::Dim, format!(" {}", row.label))]);
        let x = area.x.saturating_add(x);
        buf.set_line(x, area.y, &line, area.right().saturating_sub(x));
    }
}

/// What a click into the footer does: the row's first key.
pub fn at(cx: &Context, area: Rect, column: u16) -> Option<Action> {
    let placed = fitting(cx, area.width);
    let (_, row) = placed.iter().rev().find(|(x, _)| area.x + x <= column)?;
    row.keys.first().map(|(_, action)| *action)
}

fn shown(cx: &Context, row: &Row) -> &'static str {
    if cx.theme.ascii() { row.ascii } else { row.shown }
}
