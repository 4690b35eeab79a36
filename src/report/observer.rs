//! What watching cost, where a session has measured workloads at several trace levels in turns.

use crate::event::Settings;
use crate::session::{LevelCost, Observer, Session, observers};
use serde_json::{Value, json};

/// A line for each workload that was compared.
pub(super) fn lines(session: &Session) -> Vec<String> {
    observers(session).iter().map(line).collect()
}

fn line(observer: &Observer) -> String {
    let Settings { workload, size, memory, prefetch, .. } = &observer.settings;
    let prefetch = if *prefetch { " +prefetch" } else { "" };
    let n = observer.levels.iter().map(|level| level.passes).min().unwrap_or(0);
    let against: Vec<String> = observer.levels.iter().skip(1).map(one).collect();
    format!(
        "{workload} {size} {memory}{prefetch}: watching costs, over trace off, in turns, n = {n}: {}",
        against.join("; ")
    )
}

fn one(level: &LevelCost) -> String {
    let mut text = format!("{} {}", level.level, level.shown(level.ratio.as_ref()));
    if let Some(read) = &level.read_back {
        text.push_str(&format!(" (the CPU's reading back {})", level.shown(Some(read))));
    }
    text
}

/// The same for programs.
pub(super) fn json(session: &Session) -> Vec<Value> {
    let ratio = |of: &Option<crate::stats::Estimate>| of.map(|e| json!({"ratio": e.median, "interval": e.interval}));
    let level = |level: &LevelCost| {
        json!({
            "trace": level.level,
            "passes": level.passes,
            "median_ns": level.time,
            "over_off": ratio(&level.ratio),
            "cpu_read_over_off": ratio(&level.read_back),
            "accounted": level.accounted.map(|(htod, dtoh)| json!({"htod": htod, "dtoh": dtoh})),
            "lost": level.lost,
        })
    };
    let one = |observer: &Observer| {
        let Settings { workload, size, memory, prefetch, advice, .. } = &observer.settings;
        json!({
            "workload": workload, "memory": memory, "prefetch": prefetch, "advice": advice, "size_bytes": size,
            "levels": observer.levels.iter().map(level).collect::<Vec<_>>(),
        })
    };
    observers(session).iter().map(one).collect()
}
