//! The runs of the session against a baseline.

use crate::event::Outcome;
use crate::session::{Comparison, Run};
use crate::ui::keys::Action;
use crate::ui::theme::Role;
use crate::ui::view::context::Context;
use crate::units::Nanos;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// From this width on the comparison stands beside the list.
const BESIDE_FROM: u16 = 110;
/// Rows of the comparison below the list.
const BELOW: u16 = 10;

fn divide(area: Rect) -> (Rect, Rect) {
    if area.width >= BESIDE_FROM {
        let list = Rect { width: area.width * 11 / 20, ..area };
        (list, Rect { x: list.right(), width: area.width - list.width, ..area })
    } else {
        let below = BELOW.min(area.height / 2 + 2);
        let list = Rect { height: area.height - below, ..area };
        (list, Rect { y: list.bottom(), height: below, ..area })
    }
}

/// Draws the screen.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let (list, beside) = divide(area);
    let inner = cx.boxed(list, "Runs", &[Line::from(cx.span(Role::Dim, "g pins the baseline"))], buf);
    runs(cx, inner, buf);
    verdict(cx, beside, buf);
}

/// What a click does.
pub fn at(cx: &Context, area: Rect, at: (u16, u16)) -> Option<Action> {
    let list = divide(area).0;
    let rows = usize::from(list.height.saturating_sub(3));
    let inside = list.x < at.0 && at.0 + 1 < list.right() && at.1 + 1 < list.bottom();
    let row = usize::from(at.1.checked_sub(list.y + 2).filter(|_| inside)?);
    let n = first(cx, rows) + row;
    (n < cx.session.runs.runs.len()).then_some(Action::Choose(n))
}

/// Number of the first run shown: the chosen one is always among them.
fn first(cx: &Context, rows: usize) -> usize {
    let runs = &cx.session.runs.runs;
    let id = chosen(cx).map(|run| run.start.run);
    let at = runs.iter().position(|run| Some(run.start.run) == id).unwrap_or(0);
    (at + 1).saturating_sub(rows)
}

fn chosen<'a>(cx: &Context<'a>) -> Option<&'a Run> {
    cx.model.compared()
}

fn runs(cx: &Context, area: Rect, buf: &mut Buffer) {
    if cx.session.runs.runs.is_empty() {
        cx.words(area, Role::Dim, "no run has begun yet", buf);
        return;
    }
    let name = name_width(cx);
    let head = format!("{:>6} {:<name$}{:>10}{:>8}{:>6}  set", "run", "workload", "median", "ratio", "n");
    put(area, 0, vec![cx.span(Role::Dim, head)], buf);
    let rows = usize::from(area.height.saturating_sub(1));
    let from = first(cx, rows);
    let disagreements = disagreements(cx);
    for (i, run) in cx.session.runs.runs.iter().enumerate().skip(from).take(rows) {
        put(area, (i - from + 1) as u16, line(cx, run, disagreements, usize::from(area.width)), buf);
    }
}

/// The settings in which not all runs of the list agree. Found once a frame: a session may have hundreds of runs.
fn disagreements(cx: &Context) -> [bool; 6] {
    let runs = &cx.session.runs.runs;
    let differ = |of: &dyn Fn(&Run, &Run) -> bool| runs.front().is_some_and(|first| runs.iter().any(|r| of(first, r)));
    [
        differ(&|a, b| a.start.settings.memory != b.start.settings.memory),
        differ(&|a, b| a.start.settings.prefetch != b.start.settings.prefetch),
        differ(&|a, b| a.start.settings.advice != b.start.settings.advice),
        differ(&|a, b| a.start.settings.size != b.start.settings.size),
        differ(&|a, b| a.start.trace != b.start.trace),
        differ(&|a, b| a.start.settings.shape != b.start.settings.shape),
    ]
}

/// Of a run's settings those that tell it from others; what a workload's file calls them comes first.
fn distinguishing(run: &Run, disagreements: [bool; 6]) -> Vec<String> {
    let (settings, trace) = (&run.start.settings, run.start.trace);
    let values = [
        settings.memory.to_string(),
        if settings.prefetch { "prefetch" } else { "no prefetch" }.to_owned(),
        format!("advice {}", settings.advice),
        settings.size.to_string(),
        format!("trace {trace}"),
        settings.shape.to_string().trim().to_owned(),
    ];
    let set = values.into_iter().zip(disagreements).filter(|(text, differs)| *differs && !text.is_empty());
    run.start.label.iter().cloned().chain(set.map(|(text, _)| text)).collect()
}

/// Columns of the longest workload's name, within reason.
fn name_width(cx: &Context) -> usize {
    let longest = cx.session.runs.runs.iter().map(|run| run.start.settings.workload.chars().count()).max();
    longest.unwrap_or(0).clamp(8, 20)
}

/// Median pass time, ns, of the newest passes, as on Live; `None` before the first pass that counts.
fn median(run: &Run) -> Option<f64> {
    crate::stats::median(&run.newest_ns())
}

fn line(cx: &Context, run: &Run, disagreements: [bool; 6], width: usize) -> Vec<Span<'static>> {
    let id = run.start.run;
    let here = chosen(cx).is_some_and(|chosen| chosen.start.run == id);
    let base = cx.model.ui.baseline == Some(id);
    let mark = if here { cx.theme.pick("▸", ">") } else { " " };
    let pin = if base { cx.theme.pick("◆", "*") } else { " " };
    let own = median(run);
    let baseline = cx.model.ui.baseline.and_then(|id| cx.session.runs.find(id));
    let alike = baseline.filter(|baseline| crate::session::comparable(baseline, run).is_ok());
    let ratio = alike.and_then(median).filter(|ns| *ns > 0.0).zip(own).map(|(base, own)| own / base);
    let ratio = ratio.map_or_else(|| if base { "1" } else { "" }.to_owned(), |r| format!("{r:.3}"));
    let failed = matches!(run.outcome, Some(Outcome::Failed(_)));
    let time = own.map_or_else(|| "n/a".to_owned(), |ns| Nanos(ns as u64).to_string());
    let time = if failed { "failed".to_owned() } else { time };
    let settings = &run.start.settings;
    let set = distinguishing(run, disagreements);
    let role = if here { Role::Value } else { Role::Text };
    let name = name_width(cx);
    let counted = run.counted().count();
    let room = width.saturating_sub(name + 33);
    vec![
        cx.span(Role::Key, mark),
        cx.span(Role::Warning, pin),
        cx.span(Role::Dim, format!("{:>4} ", id.to_string())),
        cx.span(role, format!("{:<name$.name$}", settings.workload)),
        cx.span(if failed { Role::Error } else { Role::Pass }, format!("{time:>10}")),
        cx.span(Role::Text, format!("{ratio:>8}")),
        cx.span(Role::Dim, format!("{counted:>6}  ")),
        cx.span(Role::Dim, cx.fit(&set.join(cx.theme.pick(" · ", " - ")), room)),
    ]
}

fn put(area: Rect, y: u16, spans: Vec<Span<'static>>, buf: &mut Buffer) {
    if y < area.height {
        buf.set_line(area.x, area.y + y, &Line::from(spans), area.width);
    }
}

fn verdict(cx: &Context, area: Rect, buf: &mut Buffer) {
    let title = match (cx.model.ui.baseline, chosen(cx)) {
        (Some(baseline), Some(run)) => format!("{} against baseline {baseline}", run.start.run),
        _ => "Comparison".to_owned(),
    };
    let inner = cx.boxed(area, &title, &[], buf);
    match &cx.model.estimates().comparison {
        None => {
            let text = "Choose a run with the arrows and press g to pin it as the baseline. Then change one thing: \
                        every other run is held against it here, and its ghost stays on the charts.";
            cx.words(inner, Role::Dim, text, buf);
        }
        Some(Err(why)) => {
            cx.words(inner, Role::Warning, &format!("Not comparable: {why}"), buf);
        }
        Some(Ok(found)) => outcome(cx, inner, found, buf),
    }
}

fn outcome(cx: &Context, area: Rect, found: &Comparison, buf: &mut Buffer) {
    let r = found.ratio.median;
    let role = match found.ratio.interval {
        Some((low, high)) if low > 1.0 || high < 1.0 => {
            if r < 1.0 {
                Role::Good
            } else {
                Role::Error
            }
        }
        _ => Role::Dim,
    };
    let dash = cx.theme.pick("–", "-");
    let interval = found.ratio.interval.map(|(low, high)| format!("  [{low:.3}{dash}{high:.3}]")).unwrap_or_default();
    let head = vec![
        cx.span(Role::Dim, "time "),
        cx.span(Role::Value, format!("{r:.3}{}", cx.theme.pick("×", "x"))),
        cx.span(Role::Text, interval),
        cx.span(Role::Dim, format!("  medians, n {}", found.ratio.n)),
    ];
    put(area, 0, head, buf);
    let changed = if found.changed.is_empty() { "nothing was changed".to_owned() } else { found.changed.join(", ") };
    let changed = changed.replace('→', cx.theme.pick("→", "->"));
    put(area, 1, vec![cx.span(Role::Dim, "changed "), cx.span(Role::Marker, changed)], buf);
    let mut y = 2;
    let below = |y: u16| Rect { y: area.y + y.min(area.height), height: area.height.saturating_sub(y), ..area };
    y += cx.words(below(y), role, &found.verdict, buf);
    if !found.caveat.is_empty() {
        y += cx.words(below(y), Role::Warning, &found.caveat, buf);
    }
    y += u16::from(area.height > y + 10);
    measures(cx, below(y), found, buf);
}

fn measures(cx: &Context, area: Rect, found: &Comparison, buf: &mut Buffer) {
    let known: Vec<_> = found.measures.iter().filter(|m| m.before.is_some() || m.after.is_some()).collect();
    put(area, 0, vec![cx.span(Role::Dim, format!("{:<16}{:>12}{:>12}", "per pass", "baseline", "this"))], buf);
    for (i, measure) in known.iter().enumerate() {
        let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "n/a".to_owned());
        let (before, after) = (value(&measure.before), value(&measure.after));
        let role = if before == after { Role::Dim } else { Role::Value };
        let spans = vec![
            cx.span(Role::Dim, format!("{:<16}", measure.name)),
            cx.span(Role::Text, format!("{before:>12}")),
            cx.span(role, format!("{after:>12}")),
        ];
        put(area, i as u16 + 1, spans, buf);
    }
}
