//! How long each pass took, where its time went, and how that compares with before.

use super::context::{Axis, Context, Plot};
use crate::event::{Pass, Phase};
use crate::session::{Run, phase_ns};
use crate::stats::Estimate;
use crate::ui::theme::Role;
use crate::ui::widget::chart::Together;
use crate::units::{Nanos, Stamp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the panel below its rule.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let mut parts = Vec::new();
    if let Some(now) = &cx.model.estimates().now {
        parts.push(cx.figure(
            Role::Pass,
            if cx.narrow() { "" } else { "median" },
            &estimate(now, cx.theme.pick("–", "-")),
        ));
        parts.extend(compared(cx));
    }
    if let Some(pass) = cx.session.runs.last_pass() {
        parts.extend(phases(cx, pass));
    }
    let title = Line::from(vec![cx.span(Role::Title, "Time per pass")]);
    cx.rule(rule, cx.corners(false), title, &parts, buf);
    let curves = vec![(Role::Pass, history(cx, false)), (Role::Warmup, history(cx, true))];
    if curves.iter().all(|(_, values)| values.iter().all(Option::is_none)) {
        return cx.instead(area, "no pass has ended yet", buf);
    }
    let label = |value: f64| Nanos(value as u64).to_string().replace(".00", "").replace(".0 ", " ");
    cx.plot(area, &Plot { curves, together: Together::Overlaid, floor: 1e3, ceiling: before(cx), label: &label }, buf);
}

fn estimate(estimate: &Estimate, dash: &str) -> String {
    let time = |ns: f64| Nanos(ns.max(0.0) as u64).to_string();
    let median = time(estimate.median);
    let Some((low, high)) = estimate.interval.map(|(low, high)| (time(low), time(high))) else {
        return format!("{median} n {}", estimate.n);
    };
    let unit = |text: &str| text.split(' ').nth(1).map(str::to_owned);
    let low = if unit(&low) == unit(&high) { low.split(' ').next().unwrap_or_default() } else { &low };
    format!("{median} [{low}{dash}{high}] n {}", estimate.n)
}

/// The baseline's median, or that of the run before.
fn before(cx: &Context) -> Option<f64> {
    let digest = cx.model.estimates();
    match &digest.ghost {
        Some(ghost) => ghost.pass_ns,
        None => digest.before.as_ref().map(|(estimate, _)| estimate.median),
    }
}

/// The median against the baseline or the run before, in words; nothing is claimed within 5 %.
fn compared(cx: &Context) -> Option<Line<'static>> {
    let digest = cx.model.estimates();
    let ratio = match &digest.ghost {
        Some(ghost) if digest.run == Some(ghost.run) => return Some(Line::from(cx.span(Role::Ceiling, "baseline"))),
        Some(ghost) => digest.now?.median / ghost.pass_ns.filter(|ns| *ns > 0.0)?,
        None => digest.ratio()?,
    };
    let times = cx.theme.pick("×", "x");
    let (role, text) = match ratio {
        r if r > 1.05 => (Role::Error, format!("{r:.1}{times} slower")),
        r if r < 1.0 / 1.05 => (Role::Good, format!("{:.1}{times} faster", 1.0 / r)),
        _ => (Role::Dim, "as before".to_owned()),
    };
    Some(Line::from(vec![cx.span(role, text)]))
}

/// Where the pass's time went: what the GPU waits for first, then the CPU's part, as far as there is room.
fn phases(cx: &Context, pass: &Pass) -> Vec<Line<'static>> {
    let mut order = Phase::ALL;
    order.sort_by_key(|phase| !matches!(phase, Phase::Kernel | Phase::MoveToGpu | Phase::Overlapped));
    let took = order.into_iter().filter_map(|phase| Some((phase, phase_ns(pass, phase)?)));
    took.map(|(phase, ns)| cx.figure(Role::Dim, name(phase), &Nanos(ns).to_string())).collect()
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::CpuWrite => "CPU write",
        Phase::CpuUpdate => "CPU update",
        Phase::MoveToGpu => "move to GPU",
        Phase::Kernel => "kernel",
        Phase::MoveToCpu => "move to CPU",
        Phase::CpuRead => "CPU read",
        Phase::Overlapped => "overlapped",
    }
}

/// The newest pass in each column; a pass fills the columns of its whole duration.
fn history(cx: &Context, warmups: bool) -> Vec<Option<f64>> {
    let axis = &cx.axis;
    let mut columns = vec![None; axis.columns];
    for run in cx.session.runs.runs.iter().rev() {
        fill(axis, run, warmups, &mut columns);
        if run.at < axis.from {
            break;
        }
    }
    columns
}

fn fill(axis: &Axis, run: &Run, warmups: bool, columns: &mut [Option<f64>]) {
    for (end, pass) in run.passes.iter().rev().take_while(|(end, _)| *end >= axis.from) {
        let lasted: u64 = pass.phases.iter().map(|phase| phase.host.0).sum();
        let began = Stamp(end.0.saturating_sub(lasted)).max(axis.from);
        let (Some(first), Some(last)) = (axis.column(began), axis.column(*end).or_else(|| axis.columns.checked_sub(1)))
        else {
            continue;
        };
        if pass.warmup == warmups {
            for column in columns.iter_mut().take(last + 1).skip(first).filter(|column| column.is_none()) {
                *column = Some(pass.timed.0 as f64);
            }
        }
    }
}
