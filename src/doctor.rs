//! `umtop doctor`: what this machine can do, and the reason for each thing that it cannot.

mod checks;
mod machine;
#[cfg(test)]
mod tests;

use crate::device::Survey;
use serde::Serialize;
use std::fmt::Write;

/// Version of the JSON form; a new major when a field changes its meaning or goes.
pub const SCHEMA: &str = "umtop-doctor/1";

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Something will be missing.
    Limited,
    /// Nothing can be measured here.
    Bad,
    /// Could not be found out.
    Unknown,
}

impl Status {
    /// The word on the screen and in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Limited => "limited",
            Status::Bad => "bad",
            Status::Unknown => "unknown",
        }
    }
}

/// One check and what came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at; stable, for scripts.
    pub name: String,
    /// How it is.
    pub status: Status,
    /// What was found, one line.
    pub detail: String,
    /// What to do, if something can be done.
    pub remedy: Option<String>,
}

/// Examines the machine. NVML is given 3 s; every other check reads a few files.
pub fn examine(survey: &Survey) -> Vec<Finding> {
    checks::judge(survey, &machine::look(survey))
}

/// 0: everything works. 1: something is limited or unknown. 2: no CUDA device that can run managed memory.
pub fn exit_code(findings: &[Finding]) -> i32 {
    let any = |status| findings.iter().any(|finding| finding.status == status);
    match () {
        () if any(Status::Bad) => 2,
        () if any(Status::Limited) || any(Status::Unknown) => 1,
        () => 0,
    }
}

/// The findings as a table, a remedy under each that has one, and a last line that sums up.
pub fn to_text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { name, status, detail, remedy } in findings {
        let _ = writeln!(text, "{:<8} {name:<width$}  {detail}", status.name());
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "{:<8} {:<width$}  -> {remedy}", "", "");
        }
    }
    let verdict = match exit_code(findings) {
        0 => "Everything works here.",
        1 => "umtop works here, with the limits above.",
        _ => "No managed memory can run here; `umtop --device sim` shows a simulated GPU.",
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}

/// The findings as JSON.
pub fn to_json(findings: &[Finding]) -> serde_json::Value {
    serde_json::json!({
        "schema": SCHEMA,
        "umtop": env!("CARGO_PKG_VERSION"),
        "exit_code": exit_code(findings),
        "findings": findings,
    })
}
