//! The names of the screens.

use super::context::Context;
use crate::ui::keys::Action;
use crate::ui::state::Screen;
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Columns of a tab: key, name, and blanks around.
fn placed() -> impl Iterator<Item = (u16, u16, Screen)> {
    let mut x = 1;
    Screen::ALL.into_iter().map(move |screen| {
        let width = screen.title().len() as u16 + 5;
        let at = x;
        x += width + 1;
        (at, width, screen)
    })
}

/// Draws the tabs.
pub fn draw(cx: &Context, row: Rect, buf: &mut Buffer) {
    for (x, width, screen) in placed() {
        let key = format!(" F{} ", screen.number() + 1);
        let line = if cx.model.ui.screen == screen {
            Line::from(cx.span(Role::Selected, format!("{key}{} ", screen.title())))
        } else {
            Line::from(vec![cx.span(Role::Key, key), cx.span(Role::Dim, screen.title())])
        };
        let room = row.width.saturating_sub(x).min(width);
        buf.set_line(row.x + x, row.y, &line, room);
    }
}

/// What a click does.
pub fn at(row: Rect, column: u16) -> Option<Action> {
    let column = column.checked_sub(row.x)?;
    placed().find(|(x, width, _)| (*x..x + width).contains(&column)).map(|(_, _, screen)| Action::Show(screen))
}
