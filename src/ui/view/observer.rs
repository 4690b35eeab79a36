//! What watching costs: each trace level against off, measured in turns.

use super::context::Context;
use super::overlay::plain;
use crate::event::{Origin, Settings};
use crate::session::{LevelCost, Observer};
use crate::ui::theme::Role;
use crate::ui::update::OBSERVER_PASSES;
use crate::units::count;
use ratatui::text::Line;

/// The lines of the overlay, at most `width` columns wide.
pub fn lines(cx: &Context, width: u16) -> Vec<Line<'static>> {
    let Some(observer) = &cx.model.estimates().observer else {
        return plain(cx, "After this pass the workload runs at every trace level, pass by pass in turns.", width);
    };
    let mut lines = vec![Line::from(cx.span(Role::Value, what(&observer.settings))), Line::default()];
    let head = row(["level", "n", "time", "over off [95 %]", "CPU reads back", "moved", "lost"]);
    lines.push(Line::from(cx.span(Role::Dim, head)));
    lines.extend(observer.levels.iter().map(|level| Line::from(cx.span(Role::Text, level_row(level)))));
    lines.push(Line::default());
    lines.extend(plain(cx, &remark(observer), width));
    if let Some(Origin::Simulated { .. }) = cx.session.header.as_ref().map(|header| &header.origin) {
        let line = "SIMULATED: what the model of the driver charges for a level, not what this machine would.";
        lines.push(Line::from(cx.span(Role::Warning, line)));
    }
    lines
}

fn what(settings: &Settings) -> String {
    let prefetch = if settings.prefetch { ", prefetch" } else { "" };
    let advice = if settings.advice.name() == "none" { String::new() } else { format!(", {}", settings.advice) };
    format!("{} {}, {}{prefetch}{advice}", settings.workload, settings.size, settings.memory)
}

fn row([level, n, time, ratio, read, moved, lost]: [&str; 7]) -> String {
    format!("{level:<9}{n:>3} {time:>8}  {ratio:<17} {read:<17} {moved:<8}{lost:>4}").trim_end().to_owned()
}

fn level_row(level: &LevelCost) -> String {
    // The direction that is further off says what is to be said.
    let worse = |(a, b): (f64, f64)| if (a - 1.0).abs() > (b - 1.0).abs() { a } else { b };
    row([
        level.level.name(),
        &level.passes.to_string(),
        &level.time.to_string(),
        &level.shown(level.ratio.as_ref()),
        &level.shown(level.read_back.as_ref()),
        &level.accounted.map_or_else(|| "n/a".to_owned(), |both| format!("{:.4}", worse(both))),
        &level.lost.map_or_else(|| "n/a".to_owned(), |lost| count(lost as f64)),
    ])
}

fn remark(observer: &Observer) -> String {
    let least = observer.levels.iter().map(|level| level.passes).min().unwrap_or(0);
    let state = match observer.ended {
        false => format!(
            "Measuring: {least} of {OBSERVER_PASSES} passes of each level. A key that changes anything ends it. "
        ),
        true => String::new(),
    };
    format!(
        "{state}Time is that of the phases that the workload times; moved is the driver's bytes over what must move. \
         An interval that holds 1 shows no cost."
    )
}
