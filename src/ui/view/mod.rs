//! Drawing: pure functions of the model. One file a panel.

mod context;
mod faults;
mod foot;
mod header;
mod layout;
mod migrated;
mod overlay;
mod passes;
mod pcie;
mod settings;
mod vram;
mod watch;
mod workloads;

pub use overlay::help_lines;

use super::keys::Action;
use super::state::Model;
use context::{Axis, Context};
use layout::{LEAST, Layout, Panel};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Draws the model.
pub fn draw(model: &Model, frame: &mut Frame) {
    let area = frame.area();
    render(model, area, frame.buffer_mut());
}

/// Draws the model into a part of a buffer.
pub fn render(model: &Model, area: Rect, buf: &mut Buffer) {
    paint(model, area, buf);
    if model.setup.theme.ascii() {
        to_ascii(area, buf);
    }
}

/// Replaces what came with texts that the theme did not choose, such as `µ` of a unit or an accent of a title.
fn to_ascii(area: Rect, buf: &mut Buffer) {
    for position in area.intersection(buf.area).positions() {
        let cell = &mut buf[position];
        if !cell.symbol().is_ascii() {
            let plain = match cell.symbol() {
                "µ" => 'u',
                "×" => 'x',
                "–" | "−" | "—" => '-',
                "…" => '~',
                _ => '?',
            };
            cell.set_char(plain);
        }
    }
}

fn paint(model: &Model, area: Rect, buf: &mut Buffer) {
    let Some(layout) = layout::layout(area, model.setup.mode) else {
        let text = format!("terminal too small: {}{}{} needed", LEAST.0, model.setup.theme.pick("×", "x"), LEAST.1);
        buf.set_stringn(area.x, area.y, text, usize::from(area.width), ratatui::style::Style::new());
        return;
    };
    let cx = context(model, &layout, area);
    header::draw(&cx, layout.header, buf);
    if let Some(column) = layout.column {
        cx.sides(column, buf);
        workloads::draw(&cx, column, buf);
        settings::draw(&cx, column, buf);
    }
    if let Some(strip) = layout.strip {
        settings::strip(&cx, strip, buf);
    }
    cx.sides(layout.charts, buf);
    for (panel, content) in &layout.panels {
        let rule = Rect { y: content.y - 1, height: 1, ..layout.charts };
        match panel {
            Panel::Pcie => pcie::draw(&cx, rule, *content, buf),
            Panel::Migrated => migrated::draw(&cx, rule, *content, buf),
            Panel::Faults => faults::draw(&cx, rule, *content, buf),
            Panel::Vram => vram::draw(&cx, rule, *content, buf),
            // A watched program has no passes of ours.
            Panel::Passes if watch::shown(&cx) => watch::draw(&cx, rule, *content, buf),
            Panel::Passes => passes::draw(&cx, rule, *content, buf),
        }
    }
    if let Some(axis) = layout.axis {
        foot::axis(&cx, axis, buf);
    }
    foot::rule(&cx, Rect { y: layout.charts.bottom() - 1, height: 1, ..layout.charts }, buf);
    foot::footer(&cx, layout.footer, buf);
    overlay::draw(&cx, area, buf);
}

/// What a click at a position asks for.
pub fn hit(model: &Model, column: u16, row: u16) -> Option<Action> {
    let (width, height) = model.ui.size;
    let screen = Rect::new(0, 0, width, height);
    let layout = layout::layout(screen, model.setup.mode)?;
    if layout.footer.contains((column, row).into()) {
        return foot::at(&context(model, &layout, screen), layout.footer, column);
    }
    let menu = layout.column.filter(|menu| menu.contains((column, row).into()))?;
    let entries = model.setup.workloads.len();
    let entry = workloads::at(menu, entries, model.ui.selected, (column, row));
    entry.map(Action::RunNumber).or_else(|| settings::at(menu, row))
}

fn context<'a>(model: &'a Model, layout: &Layout, screen: Rect) -> Context<'a> {
    let session = model.shown();
    let plot = Context::plot_area(Rect { width: layout.charts.width.saturating_sub(2), ..layout.charts });
    let axis = Axis::new(session.now, model.window(), plot.width);
    Context { model, session, theme: model.setup.theme, axis, screen }
}
