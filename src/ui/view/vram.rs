//! Memory of the card, and what of the managed memory the CPU maps.

use super::context::{Context, Plot};
use crate::event::{MemoryKind, Metric};
use crate::session::Reading;
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::Bytes;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Bytes of a GiB: the axis ends at a round number of them.
const GIB: f64 = (1u64 << 30) as f64;

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let used = cx.session.metric(Metric::VramUsed);
    let mut parts = Vec::new();
    if let Some(bytes) = used.and_then(|sampled| sampled.value()) {
        let total = cx.session.metric(Metric::VramTotal).and_then(|sampled| sampled.value());
        let of = total.map(|total| format!(" of {}", Bytes(total as u64))).unwrap_or_default();
        parts.push(cx.figure(Role::Gpu, "used", &format!("{}{of}", Bytes(bytes as u64))));
    }
    parts.extend(managed(cx));
    let source = used.map(|sampled| format!(" ({})", sampled.source)).unwrap_or_default();
    let title = Line::from(vec![cx.span(Role::Title, "VRAM"), cx.span(Role::Dim, source)]);
    cx.rule(rule, cx.corners(false), title, &parts, buf);
    let Some(used) = used else {
        return cx.instead(area, cx.said_by("nvml").unwrap_or("no probe has read the card's memory yet"), buf);
    };
    let gib = |reading: &Reading| Some(reading.value? / GIB);
    let values = used.series.means(cx.axis.from, cx.axis.to, cx.axis.filled(), gib);
    if let Some(why) = used.absent.as_ref().filter(|_| values.iter().all(Option::is_none)) {
        return cx.instead(area, &why.to_string(), buf);
    }
    let curves = vec![(Role::Gpu, cx.axis.padded(values))];
    let label = |value: f64| format!("{value} GiB");
    cx.plot(area, &Plot { curves, together: Together::Overlaid, floor: 1.0, ceiling: None, label: &label }, buf);
    if let Some(why) = &used.absent {
        cx.remark(area, &why.to_string(), buf);
    }
}

/// The managed ranges: how much, and the share that the CPU's page tables map (which is not the same as where it lives).
fn managed(cx: &Context) -> Option<Line<'static>> {
    let ranges = cx.session.ranges.iter().filter(|range| range.memory == MemoryKind::Managed);
    let (mut bytes, mut mapped, mut pages) = (0, 0, 0);
    for range in ranges {
        bytes += range.bytes.0;
        if let Some(known) = cx.session.mapped.get(&range.address) {
            mapped += known.mapped;
            pages += known.pages;
        }
    }
    // Of a part it must not be read as of all.
    let of = if cx.session.mapped_capped { format!(" of {} ranges", cx.session.mapped.len()) } else { String::new() };
    let share = (pages > 0).then(|| format!(", CPU maps {:.0} %{of}", 100.0 * mapped as f64 / pages as f64));
    (bytes > 0).then(|| cx.figure(Role::Dim, "managed", &format!("{}{}", Bytes(bytes), share.unwrap_or_default())))
}
