//! The tables of the faults screen: causes by direction, faults by access, the hottest blocks.

use super::of_run;
use crate::event::{AccessType, Cause, Proc, TraceLevel};
use crate::session::Tally;
use crate::ui::keys::Action;
use crate::ui::theme::Role;
use crate::ui::view::cells;
use crate::ui::view::context::Context;
use crate::units::{Bytes, count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::collections::BTreeMap;

const CAUSES: [(Cause, Role, &str); 6] = [
    (Cause::Fault, Role::ByFault, "fault"),
    (Cause::Prefetch, Role::ByPrefetch, "driver prefetch"),
    (Cause::User, Role::ByUser, "yours"),
    (Cause::Eviction, Role::ByEviction, "eviction"),
    (Cause::AccessCounters, Role::ByOther, "access counters"),
    (Cause::Unknown, Role::ByOther, "unknown"),
];

/// Bytes and copies by cause and direction.
pub fn causes(cx: &Context, area: Rect, buf: &mut Buffer) {
    let inner = cx.boxed(area, "Migrated", &of_run(cx), buf);
    let run = &cx.session.uvm.run;
    if run.at_full == 0 {
        let c = &run.counters;
        let text =
            format!("HtoD {}, DtoH {}; by cause: n/a, needs trace full (t)", Bytes(c.bytes_htod), Bytes(c.bytes_dtoh));
        let text = if cx.level() == TraceLevel::Off { cx.untraced().to_owned() } else { text };
        cx.words(inner, Role::Dim, &text, buf);
        return;
    }
    let columns = |cells: [String; 4]| {
        let [a, b, c, d] = cells;
        if inner.width >= 54 { format!("{a:>10} {b:>9} {c:>10} {d:>9}") } else { format!("{a:>9} {c:>9}") }
    };
    let head = columns(["HtoD".into(), "copies".into(), "DtoH".into(), "copies".into()]);
    line(inner, 0, vec![cx.span(Role::Dim, format!("{:<15}{head}", ""))], buf);
    let mut y = 1;
    for (cause, role, name) in CAUSES {
        let [htod, dtoh] = [true, false].map(|to_gpu| sum(run, cause, to_gpu));
        let rare = matches!(cause, Cause::AccessCounters | Cause::Unknown);
        if rare && htod.1 + dtoh.1 == 0 {
            continue;
        }
        let bytes = |n: u64| if n == 0 { "-".to_owned() } else { Bytes(n).to_string() };
        let copies = |n: u64| if n == 0 { "-".to_owned() } else { count(n as f64) };
        let text = columns([bytes(htod.0), copies(htod.1), bytes(dtoh.0), copies(dtoh.1)]);
        line(inner, y, vec![cx.span(role, format!("{name:<15}")), cx.span(Role::Text, text)], buf);
        y += 1;
    }
    for ((src, dst), (bytes, copies)) in between_gpus(run) {
        let way = format!("{src} {} {dst}", cx.theme.pick("→", ">"));
        let text = columns([Bytes(bytes).to_string(), count(copies as f64), String::new(), String::new()]);
        line(inner, y, vec![cx.span(Role::Gpu, format!("{way:<15}")), cx.span(Role::Text, text)], buf);
        y += 1;
    }
}

/// Bytes and copies from one GPU to another, whatever the cause: they are in no counter.
fn between_gpus(run: &Tally) -> BTreeMap<(Proc, Proc), (u64, u64)> {
    let mut sums: BTreeMap<(Proc, Proc), (u64, u64)> = BTreeMap::new();
    for ((src, dst, _), (bytes, copies)) in &run.migrated {
        if *src != Proc::Cpu && *dst != Proc::Cpu {
            let sum = sums.entry((*src, *dst)).or_default();
            *sum = (sum.0 + bytes, sum.1 + copies);
        }
    }
    sums
}

fn sum(run: &Tally, cause: Cause, to_gpu: bool) -> (u64, u64) {
    // What goes from GPU to GPU is neither.
    let same = |(src, dst, of): &(Proc, Proc, Cause)| *of == cause && if to_gpu { *src } else { *dst } == Proc::Cpu;
    run.migrated.iter().filter(|(key, _)| same(key)).fold((0, 0), |sum, (_, m)| (sum.0 + m.0, sum.1 + m.1))
}

fn line(area: Rect, y: u16, spans: Vec<Span<'static>>, buf: &mut Buffer) {
    if y < area.height {
        buf.set_line(area.x, area.y + y, &Line::from(spans), area.width);
    }
}

/// Raw against counted faults, access types, batches, duplicates, losses.
pub fn faults(cx: &Context, area: Rect, buf: &mut Buffer) {
    let inner = cx.boxed(area, "Faults", &of_run(cx), buf);
    let run = &cx.session.uvm.run;
    if cx.level() == TraceLevel::Off && run.counters == Default::default() {
        cx.words(inner, Role::Dim, cx.untraced(), buf);
        return;
    }
    let number = |n: u64| count(n as f64);
    let traced = run.with_events > 0;
    let or_level = |text: String| if traced { text } else { "n/a: trace faults (t)".to_owned() };
    let label = |text: &str| cx.span(Role::Dim, format!("{text:<9}"));
    let times = cx.theme.pick("×", "x");
    let more = run.duplication().map_or_else(String::new, |ratio| format!(", {ratio:.2}{times}"));
    let raw = or_level(format!("raw {}{more}", number(run.gpu_faults_raw)));
    let rows = [
        vec![
            label("GPU"),
            cx.span(Role::Gpu, format!("{} ", number(run.counters.gpu_faults))),
            cx.span(Role::Text, raw),
        ],
        vec![label("CPU"), cx.span(Role::Cpu, number(run.counters.cpu_faults))],
        vec![label("access"), cx.span(Role::Text, or_level(access(run)))],
        vec![label("batches"), cx.span(Role::Text, or_level(batches(run)))],
        vec![label("doubles"), cx.span(Role::Text, duplicates(run))],
        vec![label("remote"), cx.span(Role::Remote, or_level(remote(run)))],
    ];
    for (y, spans) in rows.into_iter().enumerate() {
        line(inner, y as u16, spans, buf);
    }
}

fn access(run: &Tally) -> String {
    let all = run.gpu_faults_raw.max(1);
    let name = |access: AccessType| match access {
        AccessType::Read => "read",
        AccessType::Write => "write",
        AccessType::Atomic => "atomic",
        AccessType::Prefetch => "prefetch",
        AccessType::Unknown => "unknown",
    };
    let parts = run.access.iter().map(|(kind, n)| format!("{} {:.0} %", name(*kind), 100.0 * *n as f64 / all as f64));
    let text = parts.collect::<Vec<_>>().join("  ");
    if text.is_empty() { "-".to_owned() } else { text }
}

fn batches(run: &Tally) -> String {
    let mean = run.batch_faults.sum() as f64 / run.batch_faults.count().max(1) as f64;
    format!("{}, {mean:.0} raw each", count(run.batches as f64))
}

fn duplicates(run: &Tally) -> String {
    if run.at_full == 0 {
        return "n/a: trace full (t)".to_owned();
    }
    format!("{} made, {} dropped", count(run.read_duplicates as f64), count(run.read_invalidates as f64))
}

fn remote(run: &Tally) -> String {
    use crate::event::RemoteCause as R;
    let name = |cause: R| match cause {
        R::Coherence => "coherence",
        R::Thrashing => "thrashing",
        R::Policy => "policy",
        R::OutOfMemory => "no memory",
        R::Eviction => "eviction",
        R::Unknown => "unknown",
    };
    let parts = run.remote.iter().map(|(cause, n)| format!("{} {}", name(*cause), count(*n as f64)));
    let text = parts.collect::<Vec<_>>().join("  ");
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The blocks with the most faults of the session.
pub fn hottest(cx: &Context, area: Rect, buf: &mut Buffer) {
    let inner = cx.boxed(area, "Hottest blocks", &[], buf);
    let hot = cx.session.residency.hottest(usize::from(inner.height.saturating_sub(1)));
    if hot.is_empty() {
        let text = if cx.level() < TraceLevel::Faults { "n/a: needs trace faults (t)" } else { "no block has faulted" };
        cx.words(inner, Role::Dim, text, buf);
        return;
    }
    line(inner, 0, vec![cx.span(Role::Dim, "    block     GPU     CPU")], buf);
    for (y, (map, index)) in hot.into_iter().enumerate() {
        let totals = &map.blocks[index].totals;
        let place = map.place(index);
        let spans = vec![
            cx.span(cells::role(place), format!("{} ", cells::mark(cx, place))),
            cx.span(Role::Text, format!("{:>7}", index + 1)),
            cx.span(Role::Gpu, format!("{:>8}", count(totals.gpu_faults as f64))),
            cx.span(Role::Cpu, format!("{:>8}", count(totals.cpu_faults as f64))),
        ];
        line(inner, y as u16 + 1, spans, buf);
    }
}

/// The hot block at a position, on the memory map.
pub fn hot_block_at(cx: &Context, area: Rect, at: (u16, u16)) -> Option<Action> {
    let inside = area.x < at.0 && at.0 + 1 < area.right() && at.1 + 1 < area.bottom();
    let n = usize::from(at.1.checked_sub(area.y + 2).filter(|_| inside)?);
    let (wanted, index) = *cx.session.residency.hottest(n + 1).get(n)?;
    let before = cx.session.residency.maps.iter().take_while(|map| map.range.address != wanted.range.address);
    Some(Action::Block(before.map(|map| map.blocks.len()).sum::<usize>() + index))
}
