//! Drawing: pure functions of the model. One file a panel.

mod cells;
mod context;
mod faults;
mod foot;
mod header;
mod layout;
mod migrated;
mod observer;
mod overlay;
mod passes;
mod pcie;
mod peer;
mod residency;
mod screen;
mod settings;
mod tabs;
mod vram;
mod watch;
mod workloads;

pub use overlay::help_lines;

use super::keys::Action;
use super::state::{Model, Screen};
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
    let Some(layout) = divided(model, area, model.ui.screen) else {
        let text = format!("terminal too small: {}{}{} needed", LEAST.0, model.setup.theme.pick("×", "x"), LEAST.1);
        buf.set_stringn(area.x, area.y, text, usize::from(area.width), ratatui::style::Style::new());
        return;
    };
    let cx = context(model, &layout, area);
    header::draw(&cx, layout.header, buf);
    if let Some(tabs) = layout.tabs {
        tabs::draw(&cx, tabs, buf);
    }
    match screen::of(model.ui.screen) {
        None => live(&cx, &layout, buf),
        Some(screen) => (screen.draw)(&cx, layout.charts, buf),
    }
    if let Some(row) = layout.sentence {
        foot::line(&cx, row, buf);
    }
    foot::footer(&cx, layout.footer, buf);
    overlay::draw(&cx, area, buf);
}

fn live(cx: &Context, layout: &Layout, buf: &mut Buffer) {
    if let Some(column) = layout.column {
        cx.sides(column, buf);
        workloads::draw(cx, column, buf);
        settings::draw(cx, column, buf);
    }
    if let Some(strip) = layout.strip {
        settings::strip(cx, strip, buf);
    }
    cx.sides(layout.charts, buf);
    for (panel, content) in &layout.panels {
        let rule = Rect { y: content.y - 1, height: 1, ..layout.charts };
        match panel {
            Panel::Pcie => pcie::draw(cx, rule, *content, buf),
            Panel::Peer => peer::draw(cx, rule, *content, buf),
            Panel::Migrated => migrated::draw(cx, rule, *content, buf),
            Panel::Faults => faults::draw(cx, rule, *content, buf),
            Panel::Vram => vram::draw(cx, rule, *content, buf),
            // A watched program has no passes of ours.
            Panel::Passes if watch::shown(cx) => watch::draw(cx, rule, *content, buf),
            Panel::Passes => passes::draw(cx, rule, *content, buf),
            Panel::Residency => residency::draw(cx, rule, *content, buf),
        }
    }
    if let Some(axis) = layout.axis {
        foot::axis(cx, axis, buf);
    }
    foot::rule(cx, Rect { y: layout.charts.bottom() - 1, height: 1, ..layout.charts }, buf);
}

/// What a click at a position asks for.
pub fn hit(model: &Model, column: u16, row: u16) -> Option<Action> {
    let screen = size(model);
    let layout = divided(model, screen, model.ui.screen)?;
    let cx = context(model, &layout, screen);
    let at = (column, row);
    if layout.footer.contains(at.into()) {
        return foot::at(&cx, layout.footer, column);
    }
    if let Some(tabs) = layout.tabs.filter(|tabs| tabs.contains(at.into())) {
        return tabs::at(tabs, column);
    }
    match screen::of(model.ui.screen) {
        None => live_hit(&cx, &layout, at),
        Some(screen) => (screen.at)(&cx, layout.charts, at),
    }
}

fn live_hit(cx: &Context, layout: &Layout, at: (u16, u16)) -> Option<Action> {
    if let Some((_, area)) = layout.panels.iter().find(|(panel, _)| *panel == Panel::Residency)
        && area.contains(at.into())
    {
        return residency::at(cx, *area, at);
    }
    let menu = layout.column.filter(|menu| menu.contains(at.into()))?;
    let entries = cx.model.setup.workloads.len();
    let entry = workloads::at(menu, entries, cx.model.ui.selected, at);
    entry.map(Action::RunNumber).or_else(|| settings::at(menu, at.1))
}

/// The block that the cursor of the memory map goes to.
pub fn block_after(model: &Model, action: Action) -> usize {
    let screen = size(model);
    let Some(layout) = divided(model, screen, Screen::Memory) else { return model.ui.block };
    screen::memory::block_after(&context(model, &layout, screen), layout.charts, action)
}

/// Lines by which the present screen can be scrolled.
pub fn scrollable(model: &Model) -> u16 {
    let screen = size(model);
    let Some(layout) = divided(model, screen, model.ui.screen) else { return 0 };
    let cx = context(model, &layout, screen);
    screen::of(model.ui.screen).map_or(0, |screen| (screen.scrollable)(&cx, layout.charts))
}

fn divided(model: &Model, area: Rect, screen: Screen) -> Option<Layout> {
    layout::layout(area, model.setup.mode, screen, model.shown().on_several_gpus())
}

fn size(model: &Model) -> Rect {
    let (width, height) = model.ui.size;
    Rect::new(0, 0, width, height)
}

fn context<'a>(model: &'a Model, layout: &Layout, screen: Rect) -> Context<'a> {
    let session = model.shown();
    let plot = Context::plot_area(Rect { width: layout.charts.width.saturating_sub(2), ..layout.charts });
    let axis = Axis::new(session.now, model.window(), plot.width);
    Context { model, session, theme: model.setup.theme, axis, screen }
}
