//! What faults, what moves and why, how it is served, and what thrashes: sums of the present run, and a time line.

mod tables;

use crate::event::TraceLevel;
use crate::session::{Distribution, UvmPoint};
use crate::ui::keys::Action;
use crate::ui::theme::Role;
use crate::ui::view::context::{Context, Plot};
use crate::ui::widget::bars::Bars;
use crate::ui::widget::chart::Together;
use crate::units::{Bytes, Nanos, count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Rows of the table of causes with its frame, and of the time line.
const CAUSES: u16 = 8;
/// From this height on the time line is drawn.
const TIMELINE_FROM: u16 = 26;
/// From this width on the hottest blocks get more room.
const WIDE_FROM: u16 = 96;
/// From this width on all histograms stand side by side, else two.
const ALL_FROM: u16 = 72;

/// The screen, divided.
struct Parts {
    causes: Rect,
    faults: Rect,
    histograms: Rect,
    hottest: Rect,
    timeline: Option<Rect>,
}

fn divide(area: Rect) -> Parts {
    let top = Rect { height: CAUSES.min(area.height), ..area };
    let split = area.width / 2;
    let causes = Rect { width: split, ..top };
    let faults = Rect { x: area.x + split, width: area.width - split, ..top };
    let rest = Rect { y: top.bottom(), height: area.height - top.height, ..area };
    let timeline = (area.height >= TIMELINE_FROM).then(|| Rect {
        y: rest.bottom() - rest.height / 3,
        height: rest.height / 3,
        ..rest
    });
    let rest = Rect { height: rest.height - timeline.map_or(0, |t| t.height), ..rest };
    let hot = if area.width >= WIDE_FROM { (area.width / 4).clamp(29, 40) } else { 29 };
    let histograms = Rect { width: area.width - hot, ..rest };
    let hottest = Rect { x: histograms.right(), width: hot, ..rest };
    Parts { causes, faults, histograms, hottest, timeline }
}

/// Draws the screen.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let parts = divide(area);
    tables::causes(cx, parts.causes, buf);
    tables::faults(cx, parts.faults, buf);
    histograms(cx, parts.histograms, buf);
    tables::hottest(cx, parts.hottest, buf);
    if let Some(timeline) = parts.timeline {
        draw_timeline(cx, timeline, buf);
    }
}

/// How often an arrow shows another histogram, where not all fit.
pub fn scrollable(_: &Context, area: Rect) -> u16 {
    if divide(area).histograms.width >= ALL_FROM { 0 } else { 2 }
}

/// A click on a hot block shows it on the memory map.
pub fn at(cx: &Context, area: Rect, at: (u16, u16)) -> Option<Action> {
    tables::hot_block_at(cx, divide(area).hottest, at)
}

/// A distribution with its title, and how its bins are written.
type Histogram<'a> = (&'a str, &'a Distribution, Role, fn(u64) -> String, &'a str);

fn histograms(cx: &Context, area: Rect, buf: &mut Buffer) {
    let run = &cx.session.uvm.run;
    let all: [Histogram; 3] = [
        (
            "Batch latency",
            &run.batch_latency_ns,
            Role::Gpu,
            |ns| Nanos(ns).to_string().replace(".00", "").replace(".0 ", " "),
            "faults",
        ),
        ("Copy size", &run.copy_bytes, Role::HtoD, |bytes| Bytes(bytes).to_string(), "full"),
        ("Batch size", &run.batch_faults, Role::ByFault, |n| n.to_string(), "faults"),
    ];
    let shown = if area.width >= ALL_FROM { 3 } else { 2 };
    let width = area.width / shown;
    // Where not all fit, the arrows go through them.
    let first = if shown == 3 { 0 } else { usize::from(cx.model.ui.scroll) };
    for (i, histogram) in all.iter().cycle().skip(first).take(usize::from(shown)).enumerate() {
        let x = area.x + width * i as u16;
        let width = if i as u16 + 1 == shown { area.right() - x } else { width };
        draw_histogram(cx, Rect { x, width, ..area }, histogram, buf);
    }
}

fn draw_histogram(cx: &Context, area: Rect, (title, values, role, write, level): &Histogram, buf: &mut Buffer) {
    let quantile = |q: f64| values.quantile(q).map_or_else(|| "-".to_owned(), write);
    let parts = [cx.figure(Role::Dim, "p50", &quantile(0.5)), cx.figure(Role::Dim, "p99", &quantile(0.99))];
    let inner = cx.boxed(area, title, &parts, buf);
    let bins = values.log_bins();
    if bins.is_empty() {
        let needed: TraceLevel = level.parse().unwrap_or(TraceLevel::Full);
        let text = if cx.level() < needed {
            format!("n/a: needs trace {level} (t)")
        } else {
            "nothing in this run".to_owned()
        };
        cx.words(inner, Role::Dim, &text, buf);
        return;
    }
    // Bins double; where there are more than rows, neighbours go together.
    let together = bins.len().div_ceil(usize::from(inner.height.max(1)));
    let rows: Vec<(String, f64, String)> = bins
        .chunks(together)
        .map(|chunk| {
            let n: u64 = chunk.iter().map(|(_, n)| n).sum();
            (write(chunk[0].0), n as f64, count(n as f64))
        })
        .collect();
    let bars =
        Bars { rows: &rows, quiet: cx.theme.style(Role::Dim), bar: cx.theme.style(*role), ascii: cx.theme.ascii() };
    bars.render(inner, buf);
}

fn draw_timeline(cx: &Context, area: Rect, buf: &mut Buffer) {
    let cx = &cx.over(area.width.saturating_sub(4));
    let run = &cx.session.uvm.run;
    let figure = |role, name: &str, n: u64| cx.figure(role, name, &count(n as f64));
    let parts = [
        figure(Role::Warning, "thrash", run.thrashing),
        figure(Role::ByEviction, "throttle", run.throttled),
        figure(Role::Remote, "remote map", run.remote_maps),
    ];
    let inner = cx.boxed(area, "Thrashing /s", &parts, buf);
    if cx.level() < TraceLevel::Faults && run.with_events == 0 {
        cx.words(inner, Role::Dim, "n/a: needs trace faults (t)", buf);
        return;
    }
    let rate = |of: fn(&crate::session::EventPoint) -> u64| {
        cx.uvm(|point: &UvmPoint| point.per_second(of(point.events.as_ref()?)))
    };
    let curves = vec![
        (Role::Warning, rate(|e| e.thrashing)),
        (Role::ByEviction, rate(|e| e.throttled)),
        (Role::Remote, rate(|e| e.remote_maps)),
    ];
    let label = |value: f64| format!("{}/s", count(value).replace(' ', ""));
    let area = Rect { x: inner.x.saturating_sub(1), width: inner.width + 1, ..inner };
    cx.plot(area, &Plot { curves, together: Together::Overlaid, floor: 100.0, ceiling: None, label: &label }, buf);
}

/// A title's remark with the run that the sums are of.
fn of_run(cx: &Context) -> Vec<Line<'static>> {
    let run = cx.session.runs.current();
    run.map(|run| Line::from(cx.span(Role::Dim, format!("run {}", run.start.run)))).into_iter().collect()
}
