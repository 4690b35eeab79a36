//! Page faults of both sides.

use super::context::{Context, Plot};
use crate::event::TraceLevel;
use crate::session::{EventPoint, UvmPoint};
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::{Nanos, count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let level = cx.level();
    let title = Line::from(vec![cx.span(Role::Title, "Faults"), cx.span(Role::Dim, " /s")]);
    if level == TraceLevel::Off || cx.awaited() {
        cx.rule(rule, cx.corners(false), title, &[], buf);
        return cx.instead(area, cx.untraced(), buf);
    }
    let gpu = |point: &UvmPoint| point.per_second(point.counters?.gpu_faults);
    let cpu = |point: &UvmPoint| point.per_second(point.counters?.cpu_faults);
    let mut parts = vec![
        cx.figure(Role::Gpu, "GPU", &format!("{:>6}", number(cx.uvm_now(gpu)))),
        cx.figure(Role::Cpu, "CPU", &format!("{:>6}", number(cx.uvm_now(cpu)))),
    ];
    if level >= TraceLevel::Faults {
        parts.extend(details(cx));
    }
    parts.extend(cx.peak_and_mean(&gpu, &count));
    cx.rule(rule, cx.corners(false), title, &parts, buf);
    let ceiling = cx.model.estimates().ghost.as_ref().and_then(|ghost| ghost.gpu_faults);
    let curves = vec![(Role::Gpu, cx.uvm(gpu)), (Role::Cpu, cx.uvm(cpu))];
    let label = |value: f64| format!("{}/s", count(value).replace(' ', "").replace(".00", "").replace(".0", ""));
    cx.plot(area, &Plot { curves, together: Together::Overlaid, floor: 100.0, ceiling, label: &label }, buf);
}

/// What only the event queue tells.
fn details(cx: &Context) -> Vec<Line<'static>> {
    let per_second = |of: fn(&EventPoint) -> u64| {
        number(cx.uvm_now(|point: &UvmPoint| point.per_second(of(point.events.as_ref()?))))
    };
    let latency = cx.uvm_now(|point: &UvmPoint| Some(point.events.as_ref()?.batch_latency_p50? as f64));
    let thrash = cx.session.uvm.total.thrashing;
    vec![
        cx.figure(Role::Dim, "batches", &per_second(|events| events.batches)),
        cx.figure(Role::Dim, "batch p50", &latency.map_or_else(|| "-".to_owned(), |ns| Nanos(ns as u64).to_string())),
        cx.figure(if thrash > 0 { Role::Warning } else { Role::Dim }, "thrash", &count(thrash as f64)),
        cx.figure(Role::Dim, "raw", &per_second(|events| events.gpu_faults_raw)),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_owned(), count)
}
