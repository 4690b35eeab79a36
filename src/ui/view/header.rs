//! The first row: what this is, on which machine, how closely watched, what was lost.

use super::context::Context;
use crate::event::{GpuInfo, Metric, Origin};
use crate::ui::setup::Mode;
use crate::ui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws the row.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let right = right(cx);
    let room = area.width.saturating_sub(right.width() as u16 + 1);
    let mut left = badges(cx);
    let origin = cx.session.header.as_ref().map(|header| &header.origin);
    if let Some(Origin::Simulated { profile, reason }) = origin {
        let rest = usize::from(room).saturating_sub(left.iter().map(Span::width).sum());
        let whole = format!("{profile}: {reason}");
        let said = if whole.chars().count() <= rest { whole } else { cx.fit(reason, rest) };
        left.push(cx.span(Role::Warning, said));
    }
    match cx.session.header.as_ref().map(|header| &header.gpu) {
        Some(Some(gpu)) => machine(cx, gpu, usize::from(room), &mut left),
        Some(None) if super::watch::shown(cx) => left.push(cx.span(Role::Dim, "  its GPU is not known yet")),
        Some(None) => left.push(cx.span(Role::Dim, "  no GPU")),
        None if cx.model.setup.opening => left.push(cx.span(Role::Dim, "  opening the GPU")),
        None => left.push(cx.span(Role::Dim, "  starting")),
    }
    buf.set_line(area.x, area.y, &Line::from(left), room);
    buf.set_line(area.right().saturating_sub(right.width() as u16), area.y, &right, right.width() as u16);
}

fn badges(cx: &Context) -> Vec<Span<'static>> {
    let ascii = cx.theme.ascii();
    let mut spans = vec![cx.span(Role::Title, " umtop ")];
    let mut badge = |role, text: String| {
        spans.push(cx.span(role, text));
        spans.push(Span::raw(" "));
    };
    let simulated = matches!(cx.session.header.as_ref().map(|h| &h.origin), Some(Origin::Simulated { .. }));
    match cx.model.setup.mode {
        Mode::Replay => {
            let state = if cx.model.ended { "ended".to_owned() } else { format!("{}×", cx.model.ui.speed) };
            badge(Role::Badge, format!(" {} REPLAY {state} ", if ascii { ">" } else { "▶" }))
        }
        Mode::Watch => badge(Role::Live, format!(" {} WATCHING ", if ascii { "*" } else { "●" })),
        // Not before it is known what it is.
        Mode::Live if cx.model.setup.opening => {}
        Mode::Live if !simulated => badge(Role::Live, format!(" {} LIVE ", if ascii { "*" } else { "●" })),
        Mode::Live => {}
    }
    if simulated {
        badge(Role::Simulated, " SIMULATED ".to_owned());
    }
    if cx.model.frozen.is_some() {
        badge(Role::Badge, " FROZEN ".to_owned());
    }
    if cx.model.paused() {
        badge(Role::Badge, " PAUSED ".to_owned());
    }
    spans
}

/// The card, and of its particulars those that fit.
fn machine(cx: &Context, gpu: &GpuInfo, room: usize, spans: &mut Vec<Span<'static>>) {
    let dot = cx.theme.pick(" · ", " - ");
    spans.extend([Span::raw(" "), cx.span(Role::Value, gpu.name.clone())]);
    let mut used: usize = spans.iter().map(Span::width).sum();
    let mut add = |text: String| {
        let span = cx.span(Role::Dim, format!("{dot}{text}"));
        used += span.width();
        spans.extend((used <= room).then_some(span));
    };
    if !gpu.driver.is_empty() {
        add(format!("driver {}", gpu.driver));
    }
    if let Some(link) = link(cx, gpu) {
        add(link);
    }
    if let Some(header) = &cx.session.header.as_ref().filter(|_| !super::watch::shown(cx)) {
        add(if header.caps.concurrent.yes() { "concurrent paging" } else { "no concurrent paging" }.to_owned());
    }
}

/// The link now, and at best where that is more (an idle link slows down).
fn link(cx: &Context, gpu: &GpuInfo) -> Option<String> {
    let read = |metric| cx.session.metric(metric).and_then(|sampled| sampled.value()).map(|value| value as u32);
    let now = read(Metric::PcieGeneration).zip(read(Metric::PcieWidth));
    Some(match (now, gpu.link_max) {
        (Some((generation, lanes)), Some(best)) if (generation, lanes) != best => {
            format!("PCIe {}.0 x{} (now {generation}.0 x{lanes})", best.0, best.1)
        }
        (_, Some((generation, lanes))) | (Some((generation, lanes)), None) => format!("PCIe {generation}.0 x{lanes}"),
        (None, None) => return None,
    })
}

fn right(cx: &Context) -> Line<'static> {
    let dot = || cx.span(Role::Dim, cx.theme.pick(" · ", " - "));
    let lost = cx.session.uvm.total.lost_total();
    let mut spans = vec![cx.span(Role::Dim, "trace "), cx.span(Role::Value, cx.level().name()), dot()];
    let role = if lost > 0 { Role::Error } else { Role::Dim };
    spans.push(cx.span(role, format!("lost {}", crate::units::count(lost as f64))));
    if let Some(since) = cx.model.ui.recording {
        let seconds = cx.model.session.now.since(since).0 / 1_000_000_000;
        spans.push(dot());
        spans.push(cx.span(Role::Error, format!("REC {:02}:{:02}", seconds / 60, seconds % 60)));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}
