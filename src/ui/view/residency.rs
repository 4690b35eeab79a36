//! The strip on Live: where the blocks of all managed ranges live, as many a cell as must be.

use super::cells::{self, Cell};
use super::context::{Context, GUTTER};
use crate::ui::keys::Action;
use crate::ui::theme::Role;
use crate::units::{BLOCK, Bytes};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let maps = &cx.session.residency.maps;
    if maps.is_empty() {
        cx.rule(rule, cx.corners(false), Line::from(cx.span(Role::Title, "Residency")), &[], buf);
        return cx.instead(area, &cells::nothing(cx.session), buf);
    }
    let per = per(cx, area);
    let mut title = vec![cx.span(Role::Title, "Residency")];
    if !cx.narrow() {
        title.push(cx.span(Role::Dim, format!(" {} a cell", Bytes(per as u64 * BLOCK))));
    }
    cx.rule(rule, cx.corners(false), Line::from(title), &cells::legend(cx), buf);
    let plot = Context::plot_area(area);
    let label =
        format!("{:>width$}", Bytes(maps.iter().map(|map| map.range.bytes.0).sum()), width = usize::from(GUTTER - 1));
    buf.set_stringn(area.x, area.y, label, usize::from(GUTTER - 1), cx.theme.style(Role::Dim));
    for (cell, (x, y)) in placed(cx, plot, per) {
        let (glyph, style) = cells::glyph(cx, &cell);
        buf.set_stringn(x, y, glyph, 1, style);
    }
}

/// The block under a position, for the mouse.
pub fn at(cx: &Context, area: Rect, at: (u16, u16)) -> Option<Action> {
    let found = placed(cx, Context::plot_area(area), per(cx, area)).into_iter().find(|(_, place)| *place == at);
    found.map(|(cell, _)| Action::Block(cell.first))
}

/// Blocks a cell: the fewest with which everything fits.
fn per(cx: &Context, area: Rect) -> usize {
    let plot = Context::plot_area(area);
    let room = usize::from(plot.width) * usize::from(plot.height);
    let maps = &cx.session.residency.maps;
    let needed = |per: usize| maps.iter().map(|map| map.blocks.len().div_ceil(per) + 1).sum::<usize>();
    let all: usize = maps.iter().map(|map| map.blocks.len()).sum();
    let mut per = all.div_ceil(room.max(1)).max(1);
    while needed(per) > room + 1 && per < all {
        per += 1;
    }
    per
}

/// Every cell with its position, ranges apart by a blank; those that do not fit are left out.
fn placed(cx: &Context, plot: Rect, per: usize) -> Vec<(Cell, (u16, u16))> {
    let (mut first, mut at) = (0, 0);
    let width = usize::from(plot.width.max(1));
    let mut placed = Vec::new();
    for map in &cx.session.residency.maps {
        for cell in cells::cells(cx.session, map, first, per) {
            let (x, y) = ((at % width) as u16, (at / width) as u16);
            if y < plot.height && x < plot.width {
                placed.push((cell, (plot.x + x, plot.y + y)));
            }
            at += 1;
        }
        at += 1;
        first += map.blocks.len();
    }
    placed
}
