//! Changing one setting: what the machine cannot do is skipped with a reason, and what does not fit is asked about.

use super::setup::Mode;
use super::state::{Model, Overlay};
use crate::event::{AccessPattern, Can, Control, MemoryKind, Piece, Settings, Shape, TraceLevel};
use crate::units::Bytes;

/// Pieces that a key walks through.
const PIECES: [Piece; 5] = [
    Piece::Whole,
    Piece::Size(Bytes::kib(4)),
    Piece::Size(Bytes::kib(64)),
    Piece::Size(Bytes::mib(1)),
    Piece::Size(Bytes::mib(16)),
];
/// Most rounds: a pass should not take hours.
const MOST_ROUNDS: u32 = 1_000_000;

/// Runs the `n`-th workload of the menu: another than the present one with its own settings, the same with those asked for.
pub fn run(model: &mut Model, n: usize) -> Option<Control> {
    let entry = model.setup.workloads.get(n)?;
    model.ui.selected = n;
    if let Can::No(why) = &entry.available {
        return refuse(model, format!("{}: {why}", entry.title));
    }
    let wanted = &model.ui.wanted;
    let same = entry.name == wanted.workload;
    let settings = if same { wanted.clone() } else { Settings { trace: wanted.trace, ..entry.settings.clone() } };
    ask(model, settings)
}

/// Prefetch on or off.
pub fn prefetch(model: &mut Model) -> Option<Control> {
    if let Some(why) = not_managed(model, "prefetch").or_else(|| cannot(model, |caps| &caps.prefetch, "prefetch")) {
        return refuse(model, why);
    }
    let settings = Settings { prefetch: !model.ui.wanted.prefetch, ..model.ui.wanted.clone() };
    ask(model, settings)
}

/// The next advice; what names a second GPU where there is one only is passed over, and said so.
pub fn advice(model: &mut Model) -> Option<Control> {
    if let Some(why) = not_managed(model, "advice").or_else(|| cannot(model, |caps| &caps.advise, "advice")) {
        return refuse(model, why);
    }
    let gpus = model.session.header.as_ref().map_or(1, |header| header.caps.gpus);
    let mut advice = model.ui.wanted.advice.next();
    while let Some(why) = advice.lacks(gpus) {
        model.ui.hint = Some(format!("{advice} is left out: {why}"));
        advice = advice.next();
    }
    ask(model, Settings { advice, ..model.ui.wanted.clone() })
}

/// The next kind of memory that the machine has.
pub fn memory(model: &mut Model) -> Option<Control> {
    let mut kind = model.ui.wanted.memory.next();
    while kind != model.ui.wanted.memory && !has(model, kind) {
        kind = kind.next();
    }
    ask(model, Settings { memory: kind, ..model.ui.wanted.clone() })
}

/// The next trace level.
pub fn trace(model: &mut Model) -> Option<Control> {
    if let Some(why) = cannot(model, |caps| &caps.trace, "trace") {
        return refuse(model, why);
    }
    let trace: TraceLevel = model.ui.wanted.trace.next();
    if model.setup.mode == Mode::Watch {
        model.ui.wanted.trace = trace;
        return Some(Control::Trace(trace));
    }
    ask(model, Settings { trace, ..model.ui.wanted.clone() })
}

/// The next larger or smaller power of two.
pub fn resize(model: &mut Model, larger: bool) -> Option<Control> {
    let size = model.ui.wanted.size.0;
    let next =
        if larger { (size + 1).checked_next_power_of_two()? } else { 1 << size.saturating_sub(1).checked_ilog2()? };
    let bounds = model.setup.entry(&model.ui.wanted.workload).map(|entry| entry.size);
    let (least, most) = bounds.unwrap_or((Bytes::mib(2), Bytes(u64::MAX)));
    if next < least.0 || next > most.0 {
        let limit = if larger { most } else { least };
        return refuse(model, format!("{limit} is the {} for this workload", if larger { "most" } else { "least" }));
    }
    ask(model, Settings { size: Bytes(next), ..model.ui.wanted.clone() })
}

/// The next order of the GPU's visits; after the last one that of the file.
pub fn pattern(model: &mut Model) -> Option<Control> {
    let shape = model.ui.wanted.shape;
    let all = AccessPattern::ALL;
    let pattern = match shape.pattern {
        None => all.first().copied(),
        Some(pattern) => all.iter().position(|p| *p == pattern).and_then(|at| all.get(at + 1)).copied(),
    };
    reshape(model, Shape { pattern, ..shape })
}

/// The next size of the pieces in which data moves; after the largest that of the file.
pub fn piece(model: &mut Model) -> Option<Control> {
    let shape = model.ui.wanted.shape;
    let at = PIECES.iter().position(|piece| Some(*piece) == shape.piece);
    let piece = match (shape.piece, at) {
        (None, _) => PIECES.first().copied(),
        (Some(_), Some(at)) => PIECES.get(at + 1).copied(),
        (Some(_), None) => None,
    };
    reshape(model, Shape { piece, ..shape })
}

/// Twice or half as many rounds in a pass.
pub fn rounds(model: &mut Model, more: bool) -> Option<Control> {
    let shape = model.ui.wanted.shape;
    let by_file = model.setup.entry(&model.ui.wanted.workload).map_or(1, |entry| entry.rounds);
    let rounds = shape.rounds.unwrap_or(by_file);
    let next = if more { rounds.saturating_mul(2) } else { rounds / 2 };
    if !(1..=MOST_ROUNDS).contains(&next) {
        return refuse(model, format!("a pass has 1 to {MOST_ROUNDS} rounds"));
    }
    reshape(model, Shape { rounds: Some(next).filter(|next| *next != by_file), ..shape })
}

fn reshape(model: &mut Model, shape: Shape) -> Option<Control> {
    model.ui.hint = Some(match shape.is_plain() {
        true => "as the workload's file says".to_owned(),
        false => shape.to_string(),
    });
    ask(model, Settings { shape, ..model.ui.wanted.clone() })
}

/// Requests settings, unless they would oversubscribe the card: then the user is asked, or told what would allow it.
fn ask(model: &mut Model, settings: Settings) -> Option<Control> {
    let over = model.setup.vram_free.filter(|_| model.setup.oversubscribes(&settings));
    match over {
        Some(free) if !model.setup.oversubscription => {
            let text = format!(
                "{} is more than the {free} free on the GPU: start umtop with --allow-oversubscription",
                settings.size
            );
            refuse(model, text)
        }
        Some(_) if settings.memory != MemoryKind::Managed => {
            let text = format!(
                "{} of {} memory does not fit on the GPU: only managed memory may exceed it",
                settings.size, settings.memory
            );
            refuse(model, text)
        }
        // The same footprint was allowed before, by the flag or by an answer.
        Some(_) if settings.size != model.ui.wanted.size || model.ui.wanted.memory != settings.memory => {
            model.ui.overlay = Overlay::Confirm(Box::new(settings));
            None
        }
        _ => {
            model.ui.wanted = settings.clone();
            Some(Control::Run(settings))
        }
    }
}

fn refuse(model: &mut Model, why: String) -> Option<Control> {
    model.ui.hint = Some(why);
    None
}

fn not_managed(model: &Model, what: &str) -> Option<String> {
    let kind = model.ui.wanted.memory;
    (kind != MemoryKind::Managed).then(|| format!("{what} is for managed memory; this is {kind} (press m)"))
}

fn cannot(model: &Model, which: impl Fn(&crate::event::Caps) -> &Can, what: &str) -> Option<String> {
    let why = which(&model.session.header.as_ref()?.caps).reason()?;
    Some(format!("{what}: {why}"))
}

fn has(model: &Model, kind: MemoryKind) -> bool {
    let Some(header) = &model.session.header else { return true };
    match kind {
        MemoryKind::Managed => header.caps.managed.yes(),
        MemoryKind::ZeroCopy => header.caps.zero_copy.yes(),
        MemoryKind::Explicit | MemoryKind::Pageable => true,
    }
}
