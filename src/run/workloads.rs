//! `umtop workloads`: what can be run, and checking files.

use super::library::library;
use super::{Failure, print};
use crate::cli::{EXIT_FAILED, WorkloadsArgs, WorkloadsCommand};
use crate::event::Advice;
use crate::workload::{Choice, Library, Member, Variant, Workload};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) fn workloads(args: &WorkloadsArgs) -> Result<ExitCode, Failure> {
    if let Some(WorkloadsCommand::Check { files }) = &args.check {
        return check(files);
    }
    let library = library(&mut [])?;
    print(&if args.json { as_json(&library) } else { as_text(&library) })?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(library: &Library) -> String {
    let mut text = String::new();
    for w in library.iter() {
        let kinds: Vec<&str> = w.memory.kinds.iter().map(|k| k.name()).collect();
        let _ = writeln!(text, "{} — {}", w.name, w.title);
        let _ = writeln!(text, "  asks      {}", w.question);
        let _ = writeln!(text, "  predict   {}", w.predict);
        let _ = writeln!(text, "  why       {}", w.why);
        let _ = writeln!(text, "  memory    {} by default; {}", w.memory.size, kinds.join(", "));
        let _ = writeln!(text, "  default   {}", in_words(w.variant(Choice::default())));
        for member in &w.compare {
            let _ = writeln!(text, "  compares  {}: {}", member.name, in_words(w.variant(member.choice())));
        }
        text.push('\n');
    }
    text
}

/// `managed, prefetch, read-mostly`.
fn in_words(variant: Variant) -> String {
    let mut words = vec![variant.memory.name()];
    words.extend(variant.prefetch.then_some("prefetch"));
    words.extend((variant.advice != Advice::None).then_some(variant.advice.name()));
    words.join(", ")
}

fn as_value(variant: Variant) -> Value {
    json!({"memory": variant.memory, "prefetch": variant.prefetch, "advice": variant.advice})
}

fn as_json(library: &Library) -> String {
    let rows: Vec<_> = library
        .iter()
        .map(|w| {
            let variant = |m: &Member| json!({"name": m.name, "variant": as_value(w.variant(m.choice()))});
            let compare: Vec<Value> = w.compare.iter().map(variant).collect();
            json!({
                "name": w.name, "title": w.title, "question": w.question, "predict": w.predict, "why": w.why,
                "size_bytes": w.memory.size, "min_bytes": w.memory.min, "max_bytes": w.memory.max,
                "memory": w.memory.kinds, "default": as_value(w.variant(Choice::default())), "compare": compare,
            })
        })
        .collect();
    format!("{:#}\n", json!({"schema": "umtop-workloads/1", "workloads": rows}))
}

fn check(files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let mut bad = 0;
    for path in files {
        let name = path.display().to_string();
        let line = match std::fs::read_to_string(path) {
            Err(error) => format!("{name}: {error}"),
            Ok(text) => match Workload::parse(&name, &text) {
                Err(error) => error.to_string(),
                Ok(workload) => {
                    print(&format!("{name}: ok, {}\n", workload.name))?;
                    continue;
                }
            },
        };
        bad += 1;
        // Where nobody can read it, the exit code still tells.
        let _ = writeln!(io::stderr(), "{line}");
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
}
