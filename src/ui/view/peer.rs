//! What goes from GPU to GPU, each way, and what carries it: the driver does not say that, so NVML was asked at the start.

use super::context::{Context, Plot};
use super::pcie::{axis_rate, now};
use crate::event::{Carrier, Metric, TraceLevel};
use crate::session::{Session, UvmPoint};
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::gb_per_s;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Why there is no figure below level full.
const NEEDS_FULL: &str = "n/a: needs trace full (t), no counter has the bytes between GPUs";

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let [up, down] = [0, 1].map(|way| move |point: &UvmPoint| rate(point, way));
    let mut title = vec![cx.span(Role::Title, "GPU to GPU")];
    title.extend(carrier(cx));
    title.push(cx.span(Role::Dim, " GB/s"));
    let full = cx.level() == TraceLevel::Full;
    let mut parts = Vec::new();
    if full {
        let now = |value: Option<f64>| format!("{:>5}", value.map_or_else(|| "?".to_owned(), gb_per_s));
        let names = names(cx);
        parts.push(cx.figure(Role::Gpu, &names[0], &now(cx.uvm_now(up))));
        parts.push(cx.figure(Role::Peer, &names[1], &now(cx.uvm_now(down))));
        let both = |point: &UvmPoint| Some(rate(point, 0)? + rate(point, 1)?);
        parts.extend(cx.peak_and_mean(&both, &gb_per_s));
    }
    parts.extend(nvlink(cx));
    cx.rule(rule, cx.corners(false), Line::from(title), &parts, buf);
    let curves = vec![(Role::Gpu, cx.uvm(up)), (Role::Peer, cx.uvm(down))];
    let nothing = curves.iter().all(|(_, values)| values.iter().all(Option::is_none));
    if nothing && !full {
        return cx.instead(area, NEEDS_FULL, buf);
    }
    cx.plot(area, &Plot { curves, together: Together::Overlaid, floor: 1e8, ceiling: None, label: &axis_rate }, buf);
    let without = || cx.session.metric(Metric::NvLinkRx)?.absent.as_ref();
    let remark = match (full, known_carrier(cx.session)) {
        (false, _) => Some(NEEDS_FULL.to_owned()),
        (true, Some(Carrier::Unknown(why))) => Some(format!("carrier n/a: {why}")),
        (true, Some(Carrier::NvLink)) => without().map(|why| format!("NVLink n/a: {why}")),
        (true, Some(Carrier::Pcie) | None) => None,
    };
    if let Some(remark) = remark {
        cx.remark(area, &remark, buf);
    }
}

/// What NVLink itself counts, beside what the driver says it moved: a kernel that works on the other's memory is in it too.
fn nvlink(cx: &Context) -> Vec<Line<'static>> {
    let shown = [("NVLink in", Metric::NvLinkRx), ("out", Metric::NvLinkTx)];
    let known = shown.into_iter().filter_map(|(name, metric)| Some((name, cx.session.metric(metric)?)));
    let known = known.filter(|(_, sampled)| sampled.absent.is_none());
    known.map(|(name, sampled)| cx.figure(Role::Dim, name, &now(cx, Some(sampled)))).collect()
}

fn known_carrier(session: &Session) -> Option<&Carrier> {
    session.header.as_ref()?.second_gpu.as_ref().map(|second| &second.carrier)
}

/// What carries it, for the title; the reason where that is not known stands in the panel and on the Machine screen.
fn carrier(cx: &Context) -> Option<Span<'static>> {
    match known_carrier(cx.session) {
        Some(Carrier::Unknown(_)) => Some(cx.span(Role::Dim, " carrier n/a")),
        Some(known) => Some(cx.span(Role::Peer, format!(" {known}"))),
        None if cx.narrow() => None,
        None => Some(cx.span(Role::Dim, " carrier not recorded")),
    }
}

/// Bytes per second to a GPU with a higher number (0) or with a lower one (1).
fn rate(point: &UvmPoint, way: usize) -> Option<f64> {
    point.per_second(point.events.as_ref()?.between_gpus?[way])
}

/// The two ways: by the numbers of the GPUs where there are two.
fn names(cx: &Context) -> [String; 2] {
    let to = cx.theme.pick("→", ">");
    match pair(cx.session) {
        Some((low, high)) => [format!("GPU {low}{to}{high}"), format!("GPU {high}{to}{low}")],
        None => ["to higher numbers".to_owned(), "to lower".to_owned()],
    }
}

/// The only two GPUs between which pages went in this run; the workload's own before any did.
fn pair(session: &Session) -> Option<(u16, u16)> {
    let mut pairs: Vec<(u16, u16)> =
        session.uvm.run.between_gpus().into_keys().map(|(a, b)| (a.min(b), a.max(b))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    match pairs[..] {
        [] => Some((0, 1)),
        [only] => Some(only),
        _ => None,
    }
}
