//! One block: where it lives, and what happened to it.

use crate::event::{BlockActivity, Proc, TraceLevel};
use crate::session::{Block, Holder, Lately, Place, RangeMap, Totals, Way};
use crate::ui::theme::Role;
use crate::ui::view::cells;
use crate::ui::view::context::Context;
use crate::units::{Bytes, PAGE, count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns of the labels.
const LABEL: usize = 9;

/// Draws the block with this number, counted through all ranges.
pub fn draw(cx: &Context, area: Rect, number: usize, buf: &mut Buffer) {
    let Some((map, index)) = cx.session.residency.blocks().nth(number) else {
        cx.boxed(area, "Block", &[], buf);
        return;
    };
    let title = format!("Block {} of {}", index + 1, map.blocks.len());
    let inner = cx.boxed(area, &title, &[], buf);
    let block = &map.blocks[index];
    let state = state(cx, map, index, block);
    let sums = sums(cx, block);
    let history = history(cx, block);
    // Below the map there is width instead of height: three columns.
    if inner.height < state.len() as u16 + sums.len() as u16 + 2 && inner.width >= 72 {
        let mut x = inner.x;
        for (lines, width) in [(state, 24), (sums, 27), (history, inner.width - 51)] {
            put(Rect { x, width: width - 1, ..inner }, &lines, buf);
            x += width;
        }
    } else {
        let lines: Vec<Line> = state.into_iter().chain(sums).chain([Line::default()]).chain(history).collect();
        put(inner, &lines, buf);
    }
}

fn put(area: Rect, lines: &[Line], buf: &mut Buffer) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buf.set_line(area.x, y, line, area.width);
    }
}

fn row(cx: &Context, label: &str, value: Vec<Span<'static>>) -> Line<'static> {
    let mut spans = vec![cx.span(Role::Dim, format!("{label:<LABEL$}"))];
    spans.extend(value);
    Line::from(spans)
}

fn plain(cx: &Context, label: &str, role: Role, value: String) -> Line<'static> {
    row(cx, label, vec![cx.span(role, value)])
}

fn state(cx: &Context, map: &RangeMap, index: usize, block: &Block) -> Vec<Line<'static>> {
    let place = map.place(index);
    let holder = cells::holder(cx.session, map, index);
    let words = match place {
        Place::Gpu => on_gpu(holder),
        Place::Cpu => "on the CPU".to_owned(),
        Place::Both => "on both sides".to_owned(),
        Place::Split => format!("{}/{} on GPU", block.gpu_pages(), block.pages),
        Place::Remote => "mapped remotely".to_owned(),
        Place::Untouched => "untouched".to_owned(),
        Place::Unknown => "unknown".to_owned(),
    };
    let mapped = match block.cpu_mapped {
        Some(pages) => format!("{pages}/{} pages", block.pages),
        None => "n/a: not read".to_owned(),
    };
    vec![
        plain(cx, "lives", cells::mark(cx, place, holder).1, words),
        plain(cx, "CPU maps", Role::Text, mapped),
        plain(cx, "address", Role::Text, format!("{:#x}", map.address(index))),
        plain(cx, "size", Role::Text, Bytes(u64::from(block.pages) * PAGE).to_string()),
    ]
}

fn on_gpu(holder: Option<Holder>) -> String {
    match holder {
        None => "on the GPU".to_owned(),
        Some(Holder::One(n)) => format!("on GPU {n}"),
        Some(Holder::Several) => "on several GPUs".to_owned(),
        Some(Holder::Untold) => "on a GPU, not told which".to_owned(),
    }
}

fn sums(cx: &Context, block: &Block) -> Vec<Line<'static>> {
    let t = &block.totals;
    let bytes = |pages: u64| Bytes(pages * PAGE).to_string();
    let number = |n: u64| count(n as f64);
    let faults = match cx.session.uvm.total.with_events {
        0 => vec![cx.span(Role::Dim, "n/a: needs trace faults (t)")],
        _ => vec![
            cx.span(Role::Gpu, format!("GPU {}", number(t.gpu_faults))),
            cx.span(Role::Cpu, format!("  CPU {}", number(t.cpu_faults))),
        ],
    };
    let moved = match cx.session.uvm.total.at_full {
        0 => vec![cx.span(Role::Dim, "n/a: needs trace full (t)")],
        _ => vec![
            cx.span(Role::HtoD, format!("{}{}", cx.theme.pick("»", ">"), bytes(t.to_gpu_pages))),
            cx.span(Role::DtoH, format!("  {}{}", cx.theme.pick("«", "<"), bytes(t.to_cpu_pages))),
        ],
    };
    let mut lines = vec![row(cx, "faults", faults), row(cx, "copied", moved)];
    if cx.session.uvm.total.at_full > 0 {
        lines.push(row(cx, "because", causes(cx, t)));
    }
    let role = if t.thrash > 0 { Role::Warning } else { Role::Text };
    lines.push(plain(cx, "thrash", role, format!("{}, remote {}", number(t.thrash), number(t.remote_maps))));
    lines.push(plain(cx, "touched", Role::Text, touched_by(t, cx.session.residency.faulted_by(t))));
    lines
}

/// Shares by cause; recordings of before blocks told it have none.
fn causes(cx: &Context, t: &Totals) -> Vec<Span<'static>> {
    if t.by_cause.iter().all(|n| *n == 0) && t.to_gpu_pages + t.to_cpu_pages > 0 {
        return vec![cx.span(Role::Dim, "n/a: older file")];
    }
    let names =
        [(Role::ByFault, "fault"), (Role::ByPrefetch, "driver"), (Role::ByUser, "yours"), (Role::ByEviction, "evict")];
    let all = (t.to_gpu_pages + t.to_cpu_pages).max(1) as f64;
    let shown = names.into_iter().zip(t.by_cause).filter(|(_, pages)| *pages > 0);
    let share = |pages: u64| format!("{:.0} %", 100.0 * pages as f64 / all);
    let mut spans: Vec<Span> =
        shown.map(|((role, name), pages)| cx.span(role, format!("{name} {} ", share(pages)))).collect();
    if spans.is_empty() {
        spans.push(cx.span(Role::Dim, "-"));
    }
    spans
}

/// Who faulted; `gpus` are their numbers where blocks tell them.
fn touched_by(t: &Totals, gpus: Option<Vec<u16>>) -> String {
    let numbers = gpus.map(|gpus| gpus.iter().map(u16::to_string).collect::<Vec<_>>().join(", "));
    let words = match (numbers.filter(|numbers| !numbers.is_empty()), t.gpu_faults > 0, t.cpu_faults > 0) {
        (Some(numbers), true, true) => return format!("GPU {numbers} and CPU"),
        (Some(numbers), true, false) => return format!("GPU {numbers}"),
        (None, true, true) => "both sides",
        (None, true, false) => "the GPU",
        (_, false, true) => "the CPU",
        (_, false, false) => "nobody, with a fault",
    };
    words.to_owned()
}

/// What happened lately, newest first.
fn history(cx: &Context, block: &Block) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![cx.span(Role::Title, "lately"), cx.span(Role::Dim, "  faults, copies")])];
    if block.recent.is_empty() {
        let needs = if cx.level() < TraceLevel::Faults { "n/a: needs trace faults (t)" } else { "nothing" };
        lines.push(Line::from(cx.span(Role::Dim, needs)));
    }
    for Lately { at, sum, way } in block.recent.iter().rev() {
        let ago = cx.session.now.since(*at).seconds();
        let ago = format!("{}{ago:.1}", cx.theme.pick("−", "-"));
        let mut spans = vec![cx.span(Role::Dim, format!("{ago:>5} s "))];
        spans.extend(way.map(|way| went(cx, way, sum)));
        spans.extend(happened(cx, sum, way.is_some()));
        lines.push(Line::from(spans));
    }
    lines
}

/// From where to where the pages went, how many, and why: `GPU 0 → GPU 1 2 MiB by fault`.
fn went(cx: &Context, (from, to): Way, a: &BlockActivity) -> Span<'static> {
    let role = match (from, to) {
        (_, Proc::Cpu) => Role::DtoH,
        (Proc::Cpu, _) => Role::HtoD,
        _ => Role::Peer,
    };
    // The driver's own prefetch comes with a fault.
    let why =
        [(a.by_fault.saturating_add(a.by_prefetch), " by fault"), (a.by_user, ", yours"), (a.by_eviction, ", evicted")];
    let why = why.iter().max_by_key(|(pages, _)| *pages).filter(|(pages, _)| *pages > 0).map_or("", |(_, why)| why);
    let bytes = Bytes(u64::from(a.to_gpu_pages.saturating_add(a.to_cpu_pages)) * PAGE);
    cx.span(role, format!("{from} {} {to} {bytes}{why} ", cx.theme.pick("→", ">")))
}

/// Faults and copies; of copies whose way is told nothing more.
fn happened(cx: &Context, a: &BlockActivity, told: bool) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let (to_gpu, to_cpu) = (cx.theme.pick("»", ">"), cx.theme.pick("«", "<"));
    let bytes = |pages: u32| Bytes(u64::from(pages) * PAGE).to_string();
    for (n, role, text) in [
        (a.gpu_faults, Role::Gpu, format!("GPU {}", a.gpu_faults)),
        (a.cpu_faults, Role::Cpu, format!("CPU {}", a.cpu_faults)),
        (a.to_gpu_pages, Role::HtoD, format!("{to_gpu}{}", bytes(a.to_gpu_pages))),
        (a.to_cpu_pages, Role::DtoH, format!("{to_cpu}{}", bytes(a.to_cpu_pages))),
        (a.thrash, Role::Warning, format!("thrash {}", a.thrash)),
    ] {
        if n > 0 && !(told && matches!(role, Role::HtoD | Role::DtoH)) {
            spans.push(cx.span(role, format!("{text} ")));
        }
    }
    if let Some(last) = a.last.filter(|_| !told) {
        spans.push(cx.span(Role::Peer, format!("last {} {} ", cx.theme.pick("→", ">"), last.dst)));
    }
    spans
}
