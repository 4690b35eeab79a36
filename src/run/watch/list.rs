//! `umtop watch` alone: who holds UVM files.

use crate::cli::WatchFormat;
use crate::probe::process::{Credentials, PidFd, ProcFs, Process, cards, user};
use crate::run::{Failure, print};
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::ExitCode;

/// A process that holds UVM files.
struct Holder {
    process: Process,
    gpus: Vec<String>,
    /// Whether it may be watched, else why not.
    access: Result<(), String>,
}

pub fn list(proc: &ProcFs, format: Option<WatchFormat>) -> Result<ExitCode, Failure> {
    let (holders, hidden) = holders(proc);
    print(&match format {
        Some(WatchFormat::Json) => format!("{:#}\n", as_json(&holders, hidden)),
        _ => as_text(&holders, hidden),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The holders, and how many processes cannot be looked into.
fn holders(proc: &ProcFs) -> (Vec<Holder>, usize) {
    let own = Credentials::own(proc);
    let cards = cards(proc);
    let mut hidden = 0;
    let mut holders = Vec::new();
    for pid in proc.pids().into_iter().filter(|pid| *pid != std::process::id()) {
        let numbers = match proc.uvm_fds(pid) {
            Ok(numbers) => numbers,
            Err(error) => {
                hidden += usize::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                continue;
            }
        };
        let (Some(number), Ok(process)) = (numbers.first(), proc.process(pid)) else { continue };
        let tried = PidFd::open(pid).and_then(|handle| handle.duplicate(*number)).map(drop);
        let access = tried.map_err(|error| own.explain(pid, Some(process.uid), &error).to_string());
        let minors = proc.gpu_minors(pid).unwrap_or_default();
        let gpu = |minor: &u32| match cards.iter().find(|card| card.minor == *minor) {
            Some(card) => format!("{minor} {}", card.model),
            None => minor.to_string(),
        };
        holders.push(Holder { process, gpus: minors.iter().map(gpu).collect(), access });
    }
    (holders, hidden)
}

fn as_text(holders: &[Holder], hidden: usize) -> String {
    let mut text = String::new();
    if holders.is_empty() {
        text.push_str("no process that can be looked into uses unified memory (holds /dev/nvidia-uvm open)\n");
    } else {
        let _ = writeln!(text, "{:>8}  {:10}  {:22}  {:5}  COMMAND", "PID", "USER", "GPU", "WATCH");
    }
    for holder in holders {
        let Holder { process, gpus, access } = holder;
        let gpu = if gpus.is_empty() { "n/a".to_owned() } else { gpus.join(", ") };
        let may = if access.is_ok() { "yes" } else { "no" };
        let command: String = process.command.chars().take(120).collect();
        let user = user(process.uid);
        let _ = writeln!(text, "{:>8}  {user:10}  {gpu:22}  {may:5}  {command}", process.pid);
    }
    for why in holders.iter().filter_map(|holder| holder.access.as_ref().err()) {
        let _ = writeln!(text, "{why}");
    }
    if hidden > 0 {
        let _ = writeln!(text, "{hidden} processes of other users cannot be looked into: sudo umtop watch shows them");
    }
    text
}

fn as_json(holders: &[Holder], hidden: usize) -> Value {
    let row = |holder: &Holder| {
        json!({
            "pid": holder.process.pid,
            "user": user(holder.process.uid),
            "command": holder.process.command,
            "gpus": holder.gpus,
            "may_watch": holder.access.is_ok(),
            "why_not": holder.access.as_ref().err(),
        })
    };
    json!({
        "schema": "umtop-watch-list/1",
        "processes": holders.iter().map(row).collect::<Vec<_>>(),
        "hidden": hidden,
    })
}
