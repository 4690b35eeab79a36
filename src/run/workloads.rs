//! `umtop workloads`: what can be run, and checking files.

use super::{Failure, print};
use crate::cli::{EXIT_FAILED, WorkloadsArgs, WorkloadsCommand};
use crate::workload::{Library, Workload};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) fn workloads(args: &WorkloadsArgs) -> Result<ExitCode, Failure> {
    if let Some(WorkloadsCommand::Check { files }) = &args.check {
        return check(files);
    }
    let library = Library::bundled().map_err(Failure::failed)?;
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
        let _ = writeln!(text, "  memory    {} by default; {}\n", w.memory.size, kinds.join(", "));
    }
    text
}

fn as_json(library: &Library) -> String {
    let rows: Vec<_> = library
        .iter()
        .map(|w| {
            json!({
                "name": w.name, "title": w.title, "question": w.question, "predict": w.predict, "why": w.why,
                "size_bytes": w.memory.size, "min_bytes": w.memory.min, "max_bytes": w.memory.max,
                "memory": w.memory.kinds,
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
        eprintln!("{line}");
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
}
