//! What the driver moved: by cause where it tells, else by direction.

use super::context::{Context, Plot};
use super::pcie::axis_rate;
use crate::event::{Cause, TraceLevel};
use crate::session::{CAUSES, UvmPoint};
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::gb_per_s;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let level = cx.level();
    let mut title = vec![cx.span(Role::Title, "Migrated"), cx.span(Role::Dim, " GB/s")];
    let (mut parts, curves) = match level {
        TraceLevel::Off => (Vec::new(), Vec::new()),
        TraceLevel::Full => {
            title.extend((!cx.narrow()).then(|| cx.span(Role::Dim, " by cause")));
            by_cause(cx)
        }
        TraceLevel::Counters | TraceLevel::Faults => by_direction(cx),
    };
    if level > TraceLevel::Off {
        parts.extend(cx.peak_and_mean(&|point| point.per_second(moved(point)?), &gb_per_s));
    }
    cx.rule(rule, cx.corners(false), Line::from(title), &parts, buf);
    if level == TraceLevel::Off || cx.awaited() {
        return cx.instead(area, cx.untraced(), buf);
    }
    let ceiling = cx.model.estimates().ghost.as_ref().and_then(|ghost| ghost.migrated);
    cx.plot(area, &Plot { curves, together: Together::Stacked, floor: 1e8, ceiling, label: &axis_rate }, buf);
    if level != TraceLevel::Full {
        cx.remark(area, "by cause needs trace full: press t", buf);
    }
}

/// A figure of a window per second.
type Rate = fn(&UvmPoint) -> Option<f64>;
/// Figures for the title, and curves.
type Drawn = (Vec<Line<'static>>, Vec<(Role, Vec<Option<f64>>)>);

/// Bytes both ways.
fn moved(point: &UvmPoint) -> Option<u64> {
    point.counters.map(|counters| counters.bytes_htod + counters.bytes_dtoh)
}

fn by_direction(cx: &Context) -> Drawn {
    let directions: [(Role, &str, Rate); 2] = [
        (Role::HtoD, "HtoD", |point| point.per_second(point.counters?.bytes_htod)),
        (Role::DtoH, "DtoH", |point| point.per_second(point.counters?.bytes_dtoh)),
    ];
    let parts = directions
        .iter()
        .map(|(role, name, of)| cx.figure(*role, name, &format!("{:>5}", rate(cx.uvm_now(of)))))
        .collect();
    (parts, directions.iter().map(|(role, _, of)| (*role, cx.uvm(of))).collect())
}

/// Causes in the order of the stack, from the foot, with a longer and a shorter name.
const SHOWN: [(Cause, Role, &str, &str); 5] = [
    (Cause::Fault, Role::ByFault, "fault", "fault"),
    (Cause::Prefetch, Role::ByPrefetch, "driver prefetch", "driver"),
    (Cause::User, Role::ByUser, "yours", "yours"),
    (Cause::Eviction, Role::ByEviction, "evicted", "evict"),
    (Cause::Unknown, Role::ByOther, "other", "other"),
];

fn by_cause(cx: &Context) -> Drawn {
    let mut parts = Vec::new();
    let mut curves = Vec::new();
    for (cause, role, long, short) in SHOWN {
        let of = |point: &UvmPoint| point.per_second(bytes(point, cause)?);
        let now = cx.uvm_now(of);
        if cause != Cause::Unknown || now.is_some_and(|rate| rate > 0.0) {
            parts.push(cx.figure(role, if cx.narrow() { short } else { long }, &rate(now)));
        }
        curves.push((role, cx.uvm(of)));
    }
    (parts, curves)
}

/// Bytes by a cause; "other" takes every cause without a curve of its own, and all bytes of windows not split by cause.
fn bytes(point: &UvmPoint, cause: Cause) -> Option<u64> {
    let Some(split) = point.events.as_ref().and_then(|events| events.by_cause.as_ref()) else {
        let whole = point.counters?;
        return Some(if cause == Cause::Unknown { whole.bytes_htod + whole.bytes_dtoh } else { 0 });
    };
    let own = |cause: &Cause| SHOWN.iter().any(|(shown, ..)| shown == cause && *shown != Cause::Unknown);
    let takes = |of: &Cause| if cause == Cause::Unknown { !own(of) } else { *of == cause };
    Some(CAUSES.iter().zip(split).filter(|(of, _)| takes(of)).map(|(_, bytes)| bytes).sum())
}

fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_owned(), gb_per_s)
}
