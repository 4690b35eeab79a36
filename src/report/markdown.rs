//! Markdown: a bench's table for an issue, and the report of a session.

use super::table::{columns, remarks, row};
use super::{Verdict, origin_line};
use crate::event::Level;
use crate::session::{Session, story};
use std::fmt::Write as _;

/// The report of a bench as Markdown: the same rows and remarks as the table for people.
pub fn markdown(session: &Session, verdicts: &[Verdict]) -> String {
    let mut text = format!("**{}**\n\n", escaped(origin_line(session).trim()));
    text.push_str(&runs(session));
    let remarks: String = session.runs.runs.iter().map(remarks).collect();
    let mut items: Vec<String> = remarks.lines().map(str::to_owned).collect();
    items.extend(super::observer::lines(session));
    items.extend(verdicts.iter().map(|verdict| format!("prediction: {}", verdict.line())));
    let warnings = session.notices.iter().filter(|(_, notice)| notice.level != Level::Info);
    items.extend(warnings.map(|(_, notice)| format!("{}: {}", notice.source, notice.text)));
    if !items.is_empty() {
        text.push('\n');
        items.iter().for_each(|item| {
            let _ = writeln!(text, "- {}", escaped(item));
        });
    }
    text
}

/// The report of a session: machine, runs, what the newest pass shows, and pictures by title and file name.
pub fn session_report(session: &Session, verdicts: &[Verdict], pictures: &[(String, String)]) -> String {
    let mut text = String::from("# umtop session report\n\n");
    if let Some(header) = &session.header {
        let _ = writeln!(text, "| | |\n|---|---|");
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "| {name} | {} |", escaped(value));
        };
        line("started", &header.started);
        line("length", &format!("{:.1} s", session.now.seconds()));
        if let Some(gpu) = &header.gpu {
            let memory = if gpu.vram.0 > 0 { gpu.vram.to_string() } else { "memory n/a".to_owned() };
            line("GPU", &format!("{}, {memory}", gpu.name));
            line("driver", &format!("{}, CUDA {}", gpu.driver, gpu.cuda));
        }
        line("host", &format!("{}, {} cores, {}", header.host.cpu, header.host.cores, header.host.memory));
        line("kernel", &header.host.kernel);
        line("umtop", &header.umtop);
        line("driver events lost", &session.uvm.total.lost_total().to_string());
        text.push('\n');
    }
    text.push_str(&markdown(session, verdicts));
    if let Some(story) = story(session) {
        let _ = writeln!(text, "\n{}", escaped(&story));
    }
    for (title, file) in pictures {
        let _ = writeln!(text, "\n## {title}\n\n![{title}]({file})");
    }
    text
}

fn runs(session: &Session) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    let columns = columns(session);
    line(&columns);
    // The first column is text, the others are numbers.
    let rule: Vec<&str> = (0..columns.len()).map(|i| if i == 0 { "---" } else { "---:" }).collect();
    line(&rule.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>());
    session.runs.runs.iter().for_each(|run| line(&row(session, run)));
    text
}

/// Characters that Markdown would take for more than text; a line stays a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
