//! A watched program: who it is and how it stands, where its CPU code faults, what it prints.

use super::context::Context;
use crate::event::{Counters, MemoryKind, SiteName, TraceLevel};
use crate::session::{Site, UvmPoint, WatchState, site_name};
use crate::ui::setup::Mode;
use crate::ui::theme::Role;
use crate::units::{Bytes, Nanos, PAGE, Stamp, bytes_per_second, count, gb_per_s};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Silence that is worth a sentence.
const STILL: Nanos = Nanos::millis(5_000);
/// Managed memory that the driver keeps for itself in every program with a context.
const OWN: u64 = 2 << 20;
/// Time at a level after which its rate means something.
const ENOUGH: Nanos = Nanos::millis(2_000);
/// From this width on the output stands beside the sites.
const BESIDE_FROM: u16 = 100;

/// Whether a program is watched, live or in a recording.
pub fn shown(cx: &Context) -> bool {
    cx.model.setup.mode == Mode::Watch || cx.session.watch.subject.is_some()
}

/// Draws who is watched and how it stands, in one row.
pub fn strip(cx: &Context, row: Rect, buf: &mut Buffer) {
    let mut spans = vec![Span::raw(" ")];
    match &cx.session.watch.subject {
        None => spans.push(cx.span(Role::Dim, "looking for the process")),
        Some(subject) => {
            let dot = cx.theme.pick(" · ", " - ");
            let (role, state) = state(cx);
            let (bytes, ranges) = managed(cx);
            let held = format!("{dot}{} managed in {ranges} ranges", Bytes(bytes));
            let who = format!("{} {} ", subject.pid, subject.user);
            let around = who.len() + dot.chars().count() + state.chars().count() + held.chars().count() + 2;
            let room = usize::from(row.width).saturating_sub(around);
            spans.push(cx.span(Role::Value, who));
            spans.push(cx.span(Role::Text, cx.fit(&subject.command, room.max(8))));
            spans.push(cx.span(role, format!("{dot}{state}")));
            spans.push(cx.span(Role::Dim, held));
        }
    }
    buf.set_line(row.x, row.y, &Line::from(spans), row.width);
}

/// How the program stands, in a few words.
fn state(cx: &Context) -> (Role, String) {
    let watch = &cx.session.watch;
    match (&watch.ended, watch.attached) {
        (Some((_, Some(code))), _) => {
            (if *code == 0 { Role::Good } else { Role::Error }, format!("ended with code {code}"))
        }
        (Some((_, None)), _) => (Role::Warning, "ended".to_owned()),
        (None, Some(since)) => {
            let seconds = cx.session.now.since(since).0 / 1_000_000_000;
            let more = if watch.spaces > 1 { format!(", {} address spaces", watch.spaces) } else { String::new() };
            (Role::Good, format!("attached {seconds} s{more}"))
        }
        (None, None) => (Role::Warning, "no CUDA context".to_owned()),
    }
}

/// Managed bytes and ranges that the program has.
fn managed(cx: &Context) -> (u64, usize) {
    let ranges = cx.session.ranges.iter().filter(|range| range.memory == MemoryKind::Managed);
    ranges.fold((0, 0), |(bytes, n), range| (bytes + range.bytes.0, n + 1))
}

/// The sentence at the foot: what is waited for, what is worth knowing, or the totals.
pub fn sentence(cx: &Context) -> (Role, String) {
    let watch = &cx.session.watch;
    let pid = watch.subject.as_ref().map_or(0, |subject| subject.pid);
    if let Some((_, code)) = &watch.ended {
        let code = code.map(|code| format!(" with exit code {code}, which will be umtop's")).unwrap_or_default();
        return (Role::Value, format!("The program has ended{code}: {}", totals(cx)));
    }
    if watch.attached.is_none() {
        let cannot = cx.session.header.as_ref().and_then(|header| header.caps.trace.reason());
        return match (&watch.released, cannot) {
            (Some(why), _) => (Role::Warning, format!("waiting for a CUDA context again: {why}")),
            (None, Some(why)) => (Role::Warning, format!("waiting for a CUDA context in {pid}, but: {why}")),
            (None, None) => (Role::Value, format!("waiting for a CUDA context in {pid} or its children")),
        };
    }
    if let Some(text) = still(cx) {
        return (Role::Value, text);
    }
    if let Some(text) = cost(watch, cx.level()) {
        return (Role::Warning, text);
    }
    (Role::Value, totals(cx))
}

/// What has moved so far.
fn totals(cx: &Context) -> String {
    let watch = &cx.session.watch;
    let counters = &cx.session.uvm.counters;
    if watch.first.is_none() {
        return "it made no CUDA context".to_owned();
    }
    let missed = match watch.first.flatten() {
        Some(missed) => format!(" (attached at most {missed} after the first context)"),
        None => " (since umtop attached)".to_owned(),
    };
    format!(
        "{} to the GPU and {} back in {:.0} s, {} GPU faults, {} CPU faults{missed}",
        Bytes(counters.bytes_htod),
        Bytes(counters.bytes_dtoh),
        watch.watched().seconds(),
        count(counters.gpu_faults as f64),
        count(counters.cpu_faults as f64),
    )
}

/// Nothing has moved for a while: that is the truth, and why it may be so.
fn still(cx: &Context) -> Option<String> {
    let watch = &cx.session.watch;
    let now = cx.session.now;
    let since = Stamp(now.0.saturating_sub(STILL.0));
    let moved = |point: &UvmPoint| point.counters.is_some_and(|counters| counters != Counters::default());
    let known = cx.session.uvm.points.since(since).any(|point| point.counters.is_some());
    let quiet = watch.attached.is_some_and(|attached| attached < since) && known;
    if !quiet || cx.session.uvm.points.since(since).any(moved) {
        return None;
    }
    let (bytes, _) = managed(cx);
    let ever = cx.session.uvm.counters != Counters::default();
    let seconds = STILL.0 / 1_000_000_000;
    Some(if ever {
        format!("Nothing has migrated or faulted for {seconds} s; before that: {}", totals(cx))
    } else if bytes <= OWN {
        "Nothing migrates: the program has no managed memory. It would take cudaMallocManaged (CuPy: malloc_managed; JAX: \
         TF_FORCE_UNIFIED_MEMORY=1; PyTorch: a pluggable allocator)"
            .to_owned()
    } else {
        format!(
            "Nothing migrates: {} are managed, but only one side touches them, or explicit copies move the data",
            Bytes(bytes)
        )
    })
}

/// What the level costs the program: measured by what moved at this level and at counters, else in general.
fn cost(watch: &WatchState, level: TraceLevel) -> Option<String> {
    if level < TraceLevel::Faults {
        return None;
    }
    let rate = |level| {
        let at = watch.by_level.get(&level).filter(|at| at.watched >= ENOUGH && at.bytes > 0)?;
        bytes_per_second(Bytes(at.bytes), at.watched)
    };
    if let (Some(before), Some(now)) = (rate(TraceLevel::Counters), rate(level)) {
        let (before, now) = (gb_per_s(before), gb_per_s(now));
        return Some(format!("trace {level}: it moved {now} GB/s at this level, {before} GB/s at counters (press t)"));
    }
    (level == TraceLevel::Full).then(|| {
        "trace full slows the program, about 2 times where it is bound by faults: press t to go back".to_owned()
    })
}

/// Draws the panel below its rule: sites, and beside them output or ranges.
pub fn draw(cx: &Context, rule: Rect, area: Rect, buf: &mut Buffer) {
    let watch = &cx.session.watch;
    let beside = area.width >= BESIDE_FROM;
    let width = if beside { area.width / 2 } else { area.width };
    let left = Rect { width, ..area };
    let right = Rect { x: area.x + width + 1, width: area.width.saturating_sub(width + 1), ..area };
    let mut title = vec![cx.span(Role::Title, "CPU fault sites")];
    let output = watch.subject.as_ref().is_some_and(|subject| subject.output.is_some());
    let part = match (beside, output) {
        (false, _) => None,
        (true, true) => Some("Output"),
        (true, false) => Some("Managed ranges"),
    };
    if watch.elsewhere > 0 {
        title.push(cx.span(Role::Dim, format!(" and {} elsewhere", count(watch.elsewhere as f64))));
    }
    cx.rule(rule, cx.corners(false), Line::from(title), &[], buf);
    sites(cx, left, buf);
    if let Some(part) = part {
        let line = Line::from(vec![Span::raw(" "), cx.span(Role::Title, part), Span::raw(" ")]);
        let wide = line.width() as u16;
        buf.set_line(right.x, rule.y, &line, wide.min(right.width));
        if output { lines(cx, right, buf) } else { ranges(cx, right, buf) }
    }
}

fn sites(cx: &Context, area: Rect, buf: &mut Buffer) {
    let watch = &cx.session.watch;
    if watch.sites.is_empty() {
        let text = match (watch.attached, cx.level()) {
            (None, _) => "known once the program has a CUDA context, at trace faults",
            (_, TraceLevel::Off | TraceLevel::Counters) => "press t: needs trace faults",
            _ => "no CPU fault yet",
        };
        return cx.instead(area, text, buf);
    }
    for (i, (key, site)) in watch.top().into_iter().take(usize::from(area.height)).enumerate() {
        let name = watch.names.get(key);
        let thread = thread(watch, key.0, site);
        let faults = format!("{:>7}", count(site.faults as f64));
        let text = name.map_or_else(|| format!("{:#x}", key.1), short);
        let room = usize::from(area.width).saturating_sub(faults.len() + thread.chars().count() + 4);
        let line = Line::from(vec![
            cx.span(Role::Cpu, faults),
            Span::raw("  "),
            cx.span(Role::Text, format!("{:room$}", cx.fit(&text, room))),
            cx.span(Role::Dim, format!(" {thread}")),
        ]);
        buf.set_line(area.x, area.y + i as u16, &line, area.width);
    }
}

/// The thread that faults there most.
fn thread(watch: &WatchState, pid: u32, site: &Site) -> String {
    let Some((tid, _)) = site.threads.iter().max_by_key(|(_, faults)| **faults) else { return String::new() };
    let name = watch.threads.get(&(pid, *tid)).cloned().unwrap_or_else(|| tid.to_string());
    match site.threads.len() {
        1 => name,
        more => format!("{name} +{}", more - 1),
    }
}

/// The name with the file's own name only: folders are long and alike.
fn short(name: &SiteName) -> String {
    let place = name.place.as_ref().map(|place| place.rsplit('/').next().unwrap_or(place).to_owned());
    site_name(&SiteName { place, ..name.clone() })
}

fn lines(cx: &Context, area: Rect, buf: &mut Buffer) {
    let output = &cx.session.watch.output;
    if output.is_empty() {
        return cx.instead(area, "the program has printed nothing yet", buf);
    }
    let first = output.len().saturating_sub(usize::from(area.height));
    for (i, line) in output.iter().skip(first).enumerate() {
        let room = usize::from(area.width);
        buf.set_stringn(area.x, area.y + i as u16, cx.fit(line, room), room, cx.theme.style(Role::Text));
    }
}

fn ranges(cx: &Context, area: Rect, buf: &mut Buffer) {
    let mut all: Vec<_> = cx.session.ranges.iter().filter(|range| range.memory == MemoryKind::Managed).collect();
    if all.is_empty() {
        return cx.instead(area, "none seen yet", buf);
    }
    all.sort_by_key(|range| (std::cmp::Reverse(range.bytes), range.address));
    for (i, range) in all.into_iter().take(usize::from(area.height)).enumerate() {
        let unknown = if cx.session.mapped_capped { "n/a: too many ranges" } else { "n/a" };
        let share = cx.session.mapped.get(&range.address).map_or_else(
            || unknown.to_owned(),
            |known| format!("{:.0} %", 100.0 * (known.mapped * PAGE) as f64 / range.bytes.0.max(1) as f64),
        );
        let line = Line::from(vec![
            cx.span(Role::Value, format!("{:>9}", range.bytes.to_string())),
            cx.span(Role::Dim, format!("  {:#x}  CPU maps ", range.address)),
            cx.span(Role::Text, share),
        ]);
        buf.set_line(area.x, area.y + i as u16, &line, area.width);
    }
}
