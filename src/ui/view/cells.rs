//! Blocks as cells of a map: one or more blocks a cell, each with a glyph for where its pages live.

use super::context::Context;
use crate::event::{MemoryKind, Proc, TraceLevel};
use crate::session::{Holder, Place, RangeMap, Session};
use crate::ui::theme::Role;
use crate::units::{Nanos, Stamp};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::collections::BTreeMap;

/// A copy or a fault is seen in its cell for this long: more than a frame, less than a sweep.
const FLASH: Nanos = Nanos::millis(40);

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The first block, counted through all ranges.
    pub first: usize,
    /// How many blocks.
    pub blocks: usize,
    /// Where most of it lives.
    pub place: Place,
    /// Which of several GPUs holds it, if it lives on a GPU.
    pub holder: Option<Holder>,
    /// Faults lately, per block.
    pub heat: f64,
    /// A copy of this moment: whether to a GPU.
    pub copying: Option<bool>,
    /// A fault of this moment.
    pub faulting: bool,
}

/// A range's cells of `per` blocks; `first` is its first block's number through all ranges.
pub fn cells(session: &Session, map: &RangeMap, first: usize, per: usize) -> Vec<Cell> {
    let now = session.now;
    let lately = |at: Option<Stamp>| at.is_some_and(|at| now.since(at) < FLASH);
    let cell = |from: usize| {
        let blocks = &map.blocks[from..(from + per).min(map.blocks.len())];
        let copied = blocks.iter().filter_map(|block| block.copied).max_by_key(|(at, _)| *at);
        let place = together((from..from + blocks.len()).map(|i| map.place(i)));
        let there = (from..from + blocks.len()).filter(|i| map.place(*i) == place);
        Cell {
            first: first + from,
            blocks: blocks.len(),
            place,
            holder: one_holder(there.map(|i| holder(session, map, i))),
            heat: blocks.iter().map(|block| block.heat(now)).sum::<f64>() / blocks.len().max(1) as f64,
            copying: copied.filter(|(at, _)| lately(Some(*at))).map(|(_, to)| to != Proc::Cpu),
            faulting: blocks.iter().any(|block| lately(block.faulted)),
        }
    };
    (0..map.blocks.len()).step_by(per.max(1)).map(cell).collect()
}

/// Where several blocks live: what holds for three quarters of them; else both sides, if both are among them.
fn together(places: impl Iterator<Item = Place>) -> Place {
    let mut counts = Place::ALL.map(|place| (place, 0usize));
    let mut all = 0;
    for place in places {
        all += 1;
        counts.iter_mut().filter(|(known, _)| *known == place).for_each(|(_, n)| *n += 1);
    }
    let most = counts.iter().copied().max_by_key(|(_, n)| *n).unwrap_or((Place::Unknown, 0));
    let has = |place| counts.iter().any(|(known, n)| *known == place && *n > 0);
    if most.1 * 4 < all * 3 && has(Place::Cpu) && (has(Place::Gpu) || has(Place::Both) || has(Place::Split)) {
        Place::Split
    } else {
        most.0
    }
}

/// Who holds a block that lives on a GPU, where there are several.
pub fn holder(session: &Session, map: &RangeMap, index: usize) -> Option<Holder> {
    session.residency.holder(map, index).filter(|_| map.place(index) == Place::Gpu)
}

/// The holder of several blocks: the one that all have, else several GPUs, or none that is told.
fn one_holder(mut all: impl Iterator<Item = Option<Holder>>) -> Option<Holder> {
    let first = all.next()??;
    let same = |sum: Holder, next: Holder| match (sum, next) {
        (a, b) if a == b => a,
        (Holder::Untold, _) | (_, Holder::Untold) => Holder::Untold,
        _ => Holder::Several,
    };
    Some(all.flatten().fold(first, same))
}

/// Glyph and style of a cell.
pub fn glyph(cx: &Context, cell: &Cell) -> (&'static str, Style) {
    let (text, role) = match cell.copying {
        Some(true) => (cx.theme.pick("»", ">"), Role::HtoD),
        Some(false) => (cx.theme.pick("«", "<"), Role::DtoH),
        None if cell.faulting => (cx.theme.pick("✦", "*"), Role::Faulting),
        None => mark(cx, cell.place, cell.holder),
    };
    let heat = match cell.heat {
        h if h >= 200.0 => 3,
        h if h >= 20.0 => 2,
        h if h >= 1.0 => 1,
        _ => 0,
    };
    let style = cx.theme.style(role);
    (text, cx.theme.heat(heat).map_or(style, |colour| style.bg(colour)))
}

/// The mark of a place and its colour; where there are several GPUs, of the one that holds it.
pub fn mark(cx: &Context, place: Place, holder: Option<Holder>) -> (&'static str, Role) {
    match holder {
        Some(holder) => held(cx, holder),
        None => (plain(cx, place), role(place)),
    }
}

/// The GPU with the least number has the mark of the only one. Programs rarely use more than four.
fn held(cx: &Context, holder: Holder) -> (&'static str, Role) {
    let gpus = &cx.session.residency.gpus;
    match holder {
        Holder::One(n) => match gpus.iter().position(|gpu| *gpu == n) {
            Some(0) => (cx.theme.pick("■", "0"), Role::Gpu),
            Some(1) => (cx.theme.pick("◆", "1"), Role::Peer),
            Some(2) => (cx.theme.pick("▲", "2"), Role::Peer),
            Some(3) => (cx.theme.pick("▼", "3"), Role::Peer),
            _ => (cx.theme.pick("●", "+"), Role::Peer),
        },
        Holder::Several => (cx.theme.pick("◈", "&"), Role::Both),
        Holder::Untold => (cx.theme.pick("◇", "g"), Role::Dim),
    }
}

/// A holder in words.
pub fn held_by(holder: Holder) -> String {
    match holder {
        Holder::One(n) => format!("GPU {n}"),
        Holder::Several => "several GPUs".to_owned(),
        Holder::Untold => "a GPU, not told".to_owned(),
    }
}

fn plain(cx: &Context, place: Place) -> &'static str {
    match place {
        Place::Gpu => cx.theme.pick("■", "G"),
        Place::Cpu => cx.theme.pick("□", "c"),
        Place::Both => cx.theme.pick("▣", "B"),
        Place::Split => cx.theme.pick("◧", "/"),
        Place::Remote => cx.theme.pick("▒", "r"),
        Place::Untouched => cx.theme.pick("·", "."),
        Place::Unknown => "?",
    }
}

/// The colour of a place.
pub fn role(place: Place) -> Role {
    match place {
        Place::Gpu => Role::Gpu,
        Place::Cpu => Role::Cpu,
        Place::Both | Place::Split => Role::Both,
        Place::Remote => Role::Remote,
        Place::Untouched => Role::Border,
        Place::Unknown => Role::Unknown,
    }
}

/// A place in a word.
pub fn name(place: Place) -> &'static str {
    match place {
        Place::Gpu => "GPU",
        Place::Cpu => "CPU",
        Place::Both => "both",
        Place::Split => "split",
        Place::Remote => "remote",
        Place::Untouched => "untouched",
        Place::Unknown => "unknown",
    }
}

/// Marks, names and shares of the places and holders that there are, in the order of the places.
pub fn legend(cx: &Context) -> Vec<Line<'static>> {
    let mut counts: BTreeMap<(usize, Option<Holder>), usize> = BTreeMap::new();
    for (map, index) in cx.session.residency.blocks() {
        let place = map.place(index);
        let order = Place::ALL.iter().position(|known| *known == place).unwrap_or(0);
        *counts.entry((order, holder(cx.session, map, index))).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    counts
        .into_iter()
        .map(|((order, holder), n)| {
            let place = Place::ALL[order];
            let (mark, role) = mark(cx, place, holder);
            let name = holder.map_or_else(|| name(place).to_owned(), held_by);
            let percent = 100.0 * n as f64 / all.max(1) as f64;
            let percent = if n > 0 && percent < 0.5 { "<1".to_owned() } else { format!("{percent:.0}") };
            Line::from(vec![cx.span(role, format!("{mark} {name} ")), cx.span(Role::Value, format!("{percent} %"))])
        })
        .collect()
}

/// The marks of what goes on.
pub fn moving(cx: &Context) -> Line<'static> {
    let mut spans: Vec<Span> = Vec::new();
    for (mark, role, name) in [
        (cx.theme.pick("»", ">"), Role::HtoD, "to GPU"),
        (cx.theme.pick("«", "<"), Role::DtoH, "to CPU"),
        (cx.theme.pick("✦", "*"), Role::Faulting, "faulting"),
    ] {
        spans.push(cx.span(role, format!("{mark} ")));
        spans.push(cx.span(Role::Dim, format!("{name}  ")));
    }
    if cx.theme.heat(1).is_some() {
        for heat in 1..=3 {
            let style = Style::new().bg(cx.theme.heat(heat).unwrap_or_default());
            spans.push(Span::styled(" ", style));
        }
        spans.push(cx.span(Role::Dim, " heat of faults"));
    }
    Line::from(spans)
}

/// Why there is no map.
pub fn nothing(session: &Session) -> String {
    match session.runs.current().map(|run| run.start.settings.memory) {
        Some(MemoryKind::Explicit | MemoryKind::Pageable) => {
            "no managed memory: the program copies by itself, no page moves".to_owned()
        }
        Some(MemoryKind::ZeroCopy) => {
            "no managed memory: pinned host memory that the GPU maps, nothing moves".to_owned()
        }
        Some(MemoryKind::Managed) | None => "no managed range is allocated".to_owned(),
    }
}

/// What the map rests on, in words.
pub fn rests_on(cx: &Context) -> String {
    let maps = &cx.session.residency.maps;
    let newest = |of: &dyn Fn(&RangeMap) -> Option<Stamp>| maps.iter().filter_map(of).max();
    let mut parts = Vec::new();
    if newest(&|map| map.evidence.migrations).is_some() {
        parts.push("migrations by block");
    }
    if newest(&|map| map.evidence.mapped).is_some() {
        parts.push("the CPU's page table");
    }
    if newest(&|map| map.evidence.pass).is_some() {
        parts.push("finished passes");
    }
    let unseen = newest(&|map| map.evidence.unseen);
    let mut text = match parts.is_empty() {
        true => "nothing tells yet where pages live".to_owned(),
        false => format!("rests on {}", parts.join(cx.theme.pick(" · ", ", "))),
    };
    if cx.level() < TraceLevel::Full && unseen.is_some() {
        text.push_str("; t: trace full shows what moves");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_several_blocks_says_what_most_of_them_are() {
        let of = |places: &[Place]| together(places.iter().copied());
        assert_eq!(of(&[Place::Gpu; 4]), Place::Gpu);
        assert_eq!(of(&[Place::Gpu, Place::Gpu, Place::Gpu, Place::Cpu]), Place::Gpu);
        assert_eq!(of(&[Place::Gpu, Place::Cpu]), Place::Split);
        assert_eq!(of(&[Place::Unknown, Place::Unknown, Place::Gpu]), Place::Unknown);
        assert_eq!(of(&[]), Place::Unknown);
    }
}
