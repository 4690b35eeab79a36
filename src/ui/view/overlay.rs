//! What may lie over the screen: the keys, a question, what watching costs, an error.

use super::context::Context;
use super::observer;
use crate::event::Settings;
use crate::ui::keys::{self, Group};
use crate::ui::setup::Mode;
use crate::ui::state::Overlay;
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Widget};

/// Widest overlay.
const WIDEST: u16 = 76;

/// What oversubscription does.
const EVICTION: &str = "The driver will evict pages to make room. Other programs on this GPU will slow down, and on a shared \
                        or busy machine the GPU may hang until the work is done.";

/// Draws the overlay that is open, if one is.
pub fn draw(cx: &Context, screen: Rect, buf: &mut Buffer) {
    let width = WIDEST.min(screen.width.saturating_sub(4));
    let text = width.saturating_sub(4);
    let place = |height: usize| {
        let height = (height as u16 + 2).min(screen.height.saturating_sub(2));
        let (x, y) = (screen.x + (screen.width - width) / 2, screen.y + (screen.height - height) / 2);
        Rect { x, y, width, height }
    };
    let mut show = |title, remark, lines: Vec<Line<'static>>, first| {
        window(cx, place(lines.len()), (title, remark), (lines, first), buf);
    };
    match &cx.model.ui.overlay {
        Overlay::None => {}
        Overlay::Help(first) => show("Keys", "Esc closes", help(cx), *first),
        Overlay::Confirm(settings) => show("More than the GPU has free", "", confirm(cx, settings, text), 0),
        Overlay::Observer => show("What watching costs", "Esc closes", observer::lines(cx, text), 0),
        Overlay::Error(why) => show("The run failed", "Esc closes", plain(cx, why, text), 0),
    }
}

/// Lines of the help in a mode, for scrolling.
pub fn help_lines(mode: Mode) -> u16 {
    (keys::rows(mode).count() + 2 * Group::ALL.len()) as u16
}

fn help(cx: &Context) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        let rows: Vec<_> = keys::rows(cx.model.setup.mode).filter(|row| row.group == group).collect();
        if rows.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(cx.span(Role::Title, group.title())));
        for row in rows {
            let shown = if cx.theme.ascii() { row.ascii } else { row.shown };
            lines.push(Line::from(vec![cx.span(Role::Key, format!("  {shown:<8}")), cx.span(Role::Text, row.help)]));
        }
    }
    lines
}

fn confirm(cx: &Context, settings: &Settings, width: u16) -> Vec<Line<'static>> {
    let free = cx.model.setup.vram_free.map(|free| format!(" of {free} free")).unwrap_or_default();
    let text = format!("{} wants {}{free}.\n\n{EVICTION}\n", settings.workload, settings.size);
    let mut lines = plain(cx, &text, width);
    lines.extend([
        Line::default(),
        Line::from(vec![
            cx.span(Role::Key, cx.theme.pick("⏎", "enter")),
            cx.span(Role::Text, " run it all the same   "),
            cx.span(Role::Key, "Esc"),
            cx.span(Role::Text, " leave it"),
        ]),
    ]);
    lines
}

/// Text in lines of at most `width` columns, broken between words.
pub(super) fn plain(cx: &Context, text: &str, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > usize::from(width) {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.into_iter().map(|line| Line::from(cx.span(Role::Text, line))).collect()
}

fn window(
    cx: &Context,
    area: Rect,
    (title, remark): (&'static str, &'static str),
    (lines, first): (Vec<Line<'static>>, u16),
    buf: &mut Buffer,
) {
    Clear.render(area, buf);
    cx.sides(area, buf);
    let top = Rect { height: 1, ..area };
    let foot = Rect { y: area.bottom().saturating_sub(1), ..top };
    cx.rule(top, cx.corners(true), Line::from(cx.span(Role::Title, title)), &[], buf);
    let corners = if cx.theme.ascii() { ("+", "+") } else { ("└", "┘") };
    let remark = (!remark.is_empty()).then(|| Line::from(cx.span(Role::Dim, remark)));
    cx.rule(foot, corners, Line::default(), remark.as_slice(), buf);
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    let last = (lines.len() as u16).saturating_sub(inner.height);
    Paragraph::new(lines).scroll((first.min(last), 0)).render(inner, buf);
}
