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
        let more = if cx.session.on_several_gpus() { "from GPU to GPU and " } else { "" };
        let text = format!(
            "HtoD {}, DtoH {}; {more}by cause: n/a, needs trace full (t)",
            Bytes(c.bytes_htod),
            Bytes(c.bytes_dtoh)
        );
        let text = if cx.level() == TraceLevel::Off { cx.untraced().to_owned() } else { text };
        cx.words(inner, Role::Dim, &text, buf);
        return;
    }
    let pairs = run.between_gpus();
    // Ways from GPU to GPU have columns where there is room for them, else a row each.
    let beside = usize::from(inner.width) + 1 >= NAME + (2 + pairs.len()) * WAY;
    let mut ways = vec![("HtoD".to_owned(), Way::HtoD), ("DtoH".to_owned(), Way::DtoH)];
    if beside {
        ways.extend(pairs.keys().map(|(from, to)| (between(cx, *from, *to), Way::Between(*from, *to))));
    }
    let (wide, copies) = if ways.len() == 2 { (10, 9) } else { (9, 8) };
    let with_copies = usize::from(inner.width) + 2 >= NAME + ways.len() * (wide + copies + 2) - 1;
    let row = |cells: Vec<(String, String)>| {
        let cell = |(bytes, n): (String, String)| match with_copies {
            true => format!("{bytes:>wide$} {n:>copies$}"),
            false => format!("{bytes:>9}"),
        };
        cells.into_iter().map(cell).collect::<Vec<_>>().join(" ")
    };
    let head = row(ways.iter().map(|(name, _)| (name.clone(), "copies".to_owned())).collect());
    line(inner, 0, vec![cx.span(Role::Dim, format!("{:<NAME$}{head}", ""))], buf);
    let mut y = 1;
    for (cause, role, name) in CAUSES {
        let sums: Vec<(u64, u64)> = ways.iter().map(|(_, way)| sum(run, cause, *way)).collect();
        // Where ways need rows, what never happened makes room for them.
        let rare = matches!(cause, Cause::AccessCounters | Cause::Unknown) || (!beside && cause == Cause::Eviction);
        if rare && sums.iter().all(|(_, copies)| *copies == 0) {
            continue;
        }
        let text = row(sums.into_iter().map(amounts).collect());
        line(inner, y, vec![cx.span(role, format!("{name:<NAME$}")), cx.span(Role::Text, text)], buf);
        y += 1;
    }
    for ((from, to), sums) in pairs.into_iter().filter(|_| !beside) {
        let text = row(vec![amounts(sums)]);
        line(
            inner,
            y,
            vec![cx.span(Role::Peer, format!("{:<NAME$}", between(cx, from, to))), cx.span(Role::Text, text)],
            buf,
        );
        y += 1;
    }
}

/// Columns of a cause's name, and of a way's bytes with the blank before them.
const NAME: usize = 15;
const WAY: usize = 10;

/// From where to where.
#[derive(Clone, Copy)]
enum Way {
    HtoD,
    DtoH,
    Between(u16, u16),
}

fn between(cx: &Context, from: u16, to: u16) -> String {
    format!("GPU {from}{}{to}", cx.theme.pick("→", ">"))
}

fn amounts((bytes, copies): (u64, u64)) -> (String, String) {
    match copies {
        0 => ("-".to_owned(), "-".to_owned()),
        _ => (Bytes(bytes).to_string(), count(copies as f64)),
    }
}

/// Bytes and copies of a cause that went a way.
fn sum(run: &Tally, cause: Cause, way: Way) -> (u64, u64) {
    let goes = |src: Proc, dst: Proc| match way {
        // What goes from GPU to GPU is neither.
        Way::HtoD => src == Proc::Cpu,
        Way::DtoH => dst == Proc::Cpu,
        Way::Between(from, to) => (src, dst) == (Proc::Gpu(from), Proc::Gpu(to)),
    };
    let same = run.migrated.iter().filter(|((src, dst, of), _)| *of == cause && goes(*src, *dst));
    same.fold((0, 0), |sum, (_, m)| (sum.0 + m.0, sum.1 + m.1))
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
    // Where blocks tell which GPU faulted there is a column for it, and the others are narrower.
    let told = hot.iter().any(|(map, index)| cx.session.residency.faulted_by(&map.blocks[*index].totals).is_some());
    let (number, faults, by) = if told { (6, 7, "  by") } else { (7, 8, "") };
    let head = format!("  {:>number$}{:>faults$}{:>faults$}{by}", "block", "GPU", "CPU");
    line(inner, 0, vec![cx.span(Role::Dim, head)], buf);
    for (y, (map, index)) in hot.into_iter().enumerate() {
        let totals = &map.blocks[index].totals;
        let (mark, role) = cells::mark(cx, map.place(index), cells::holder(cx.session, map, index));
        let spans = vec![
            cx.span(role, format!("{mark} ")),
            cx.span(Role::Text, format!("{:>number$}", index + 1)),
            cx.span(Role::Gpu, format!("{:>faults$}", count(totals.gpu_faults as f64))),
            cx.span(Role::Cpu, format!("{:>faults$}", count(totals.cpu_faults as f64))),
            cx.span(Role::Peer, faulters(cx, cx.session.residency.faulted_by(totals))),
        ];
        line(inner, y as u16 + 1, spans, buf);
    }
}

/// The numbers of the GPUs that faulted; there is room for two.
fn faulters(cx: &Context, gpus: Option<Vec<u16>>) -> String {
    match gpus.unwrap_or_default()[..] {
        [] => String::new(),
        [one] => format!("{one:>4}"),
        [one, other] => format!(" {one},{other}"),
        [one, ..] => format!(" {one},{}", cx.theme.pick("…", ".")),
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
