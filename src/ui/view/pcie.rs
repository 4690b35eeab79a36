//! Traffic of the link, by direction.

use super::context::{Context, FIGURE, Plot};
use crate::event::Metric;
use crate::session::{Sampled, link_ceiling};
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::{Bytes, Nanos, Stamp, gb_per_s};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// How long a link must read 0 to be doubted.
const DOUBT: Nanos = Nanos::millis(4_000);
/// What must have been moved meanwhile.
const MOVED: Bytes = Bytes::mib(64);

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let (down, up) = (cx.session.metric(Metric::PcieHtoD), cx.session.metric(Metric::PcieDtoH));
    let ceiling = link_ceiling(cx.session);
    let mut parts = vec![
        cx.figure(Role::HtoD, "HtoD", &format!("{:>5}", now(cx, down))),
        cx.figure(Role::DtoH, "DtoH", &format!("{:>5}", now(cx, up))),
    ];
    if let Some(peak) = peak(cx, [down, up]) {
        parts.push(cx.figure(Role::Dim, "peak", &gb_per_s(peak)));
    }
    if let Some(ceiling) = ceiling {
        let name = if ceiling.measured { "measured link" } else { "link" };
        parts.push(cx.figure(Role::Dim, name, &gb_per_s(ceiling.bytes_per_second)));
    }
    if let Some(mean) = mean(cx, [down, up]) {
        parts.push(cx.figure(Role::Dim, "mean", &gb_per_s(mean)));
    }
    let ceiling = ceiling.map(|ceiling| ceiling.bytes_per_second);
    cx.rule(rule, cx.corners(true), title(cx, down), &parts, buf);
    if down.or(up).is_none() {
        let nothing = cx.said_by("nvml").unwrap_or("no probe has read the link yet");
        return cx.instead(area, nothing, buf);
    }
    let curves = vec![(Role::HtoD, history(cx, down)), (Role::DtoH, history(cx, up))];
    let silent = curves.iter().all(|(_, values)| values.iter().all(Option::is_none));
    if let Some(why) = down.and_then(|sampled| sampled.absent.as_ref()).filter(|_| silent) {
        return cx.instead(area, &why.to_string(), buf);
    }
    let plot = Plot { curves, together: Together::Overlaid, floor: 1e8, ceiling, label: &axis_rate };
    cx.plot(area, &plot, buf);
    let missing = down.and_then(|sampled| sampled.absent.as_ref()).map(ToString::to_string);
    if let Some(doubt) = missing.or_else(|| stuck(cx, [down?, up?])) {
        cx.remark(area, &doubt, buf);
    }
}

/// A link that reads 0 while the driver moves data over it is not believed.
fn stuck(cx: &Context, directions: [&Sampled; 2]) -> Option<String> {
    let now = cx.session.now;
    let ago = |time: Nanos| Stamp(now.0.saturating_sub(time.0));
    let silent = |sampled: &Sampled| {
        let values = sampled.series.since(ago(DOUBT)).filter_map(|reading| reading.value);
        values.reduce(f64::max) == Some(0.0)
    };
    // The newest second may not have reached the link's reading yet.
    let moved = cx.session.uvm.points.since(ago(DOUBT)).filter(|point| point.at <= ago(FIGURE));
    let moved = moved.filter_map(|point| point.counters.as_ref()).map(|c| c.bytes_htod + c.bytes_dtoh).sum::<u64>();
    (directions.into_iter().all(silent) && moved >= MOVED.0)
        .then(|| format!("suspect: reads 0 while the driver moved {}", Bytes(moved)))
}

/// A rate for an axis's end, which is a round number.
pub fn axis_rate(bytes_per_second: f64) -> String {
    let (value, unit) = match bytes_per_second {
        rate if rate >= 0.999e9 => (rate / 1e9, "GB/s"),
        rate if rate >= 0.999e6 => (rate / 1e6, "MB/s"),
        rate => (rate / 1e3, "kB/s"),
    };
    let round = value >= 10.0 || (value - value.round()).abs() < 1e-6;
    if round { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

fn title(cx: &Context, sampled: Option<&Sampled>) -> Line<'static> {
    let mut title = vec![cx.span(Role::Title, "PCIe"), cx.span(Role::Dim, " GB/s")];
    if let Some(sampled) = sampled {
        let window = sampled.window.map(|w| format!(", {} ms", w.0 / 1_000_000)).unwrap_or_default();
        title.push(cx.span(Role::Dim, format!(" ({}{window})", sampled.source)));
    }
    Line::from(title)
}

fn history(cx: &Context, sampled: Option<&Sampled>) -> Vec<Option<f64>> {
    let axis = &cx.axis;
    let Some(sampled) = sampled else { return axis.padded(Vec::new()) };
    axis.padded(sampled.series.means(axis.from, axis.to, axis.filled(), |reading| reading.value))
}

/// The figure of this moment, for a title.
pub fn now(cx: &Context, sampled: Option<&Sampled>) -> String {
    let mean = sampled.and_then(|sampled| {
        let (from, to) = cx.newest();
        sampled.series.means(from, to, 1, |reading| reading.value).first().copied().flatten()
    });
    mean.map_or_else(|| cx.theme.pick("–", "-").to_owned(), gb_per_s)
}

fn peak(cx: &Context, directions: [Option<&Sampled>; 2]) -> Option<f64> {
    let since: Stamp = cx.model.ui.peaks_from;
    let readings = directions.into_iter().flatten().flat_map(|sampled| sampled.series.since(since));
    readings.filter_map(|reading| reading.value).reduce(f64::max)
}

/// The mean over the time axis, of the busier direction.
fn mean(cx: &Context, directions: [Option<&Sampled>; 2]) -> Option<f64> {
    let of = |sampled: &Sampled| sampled.series.means(cx.axis.from, cx.axis.to, 1, |reading| reading.value)[0];
    directions.into_iter().flatten().filter_map(of).reduce(f64::max)
}
