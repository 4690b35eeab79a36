//! What the documents say about the project is so: links, pictures, keys, doctor's lines, the index.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use umtop::ui::{KEYS, Mode};
use umtop::workload::Library;

/// Both languages.
const READMES: [&str; 2] = ["README.md", "README.zh-CN.md"];
const README_LINES: usize = 200;

fn files(dir: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(path.to_str().unwrap(), extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found
}

/// Every Markdown file of the project with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let top = fs::read_dir(".").unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = top.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    paths.extend(files("docs", "md"));
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The text without fenced blocks, which hold no links.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Targets of links and pictures: `](target)`.
fn targets(text: &str) -> Vec<String> {
    prose(text).split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

/// The name by which a heading can be linked.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    let heading = |line: &str| line.starts_with('#') && slug(line.trim_start_matches('#').trim()) == anchor;
    text.contains(&format!("<a id=\"{anchor}\">")) || prose(text).lines().any(heading)
}

#[test]
fn every_relative_link_and_picture_exists() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in pages() {
        for target in targets(&text).iter().filter(|target| !target.contains("://")) {
            seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let found = linked.exists();
            let anchored = anchor.is_empty() || found && has_anchor(&fs::read_to_string(&linked).unwrap(), anchor);
            if !found || !anchored {
                wrong.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} links were found: the finder is broken");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_picture_and_recording_is_mentioned_in_a_document() {
    let text: String = pages().into_iter().map(|(_, text)| text).collect();
    for (dir, extension) in [("assets/screenshots", "png"), ("assets/recordings", "umr")] {
        for path in files(dir, extension) {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(text.contains(name), "{} is mentioned nowhere", path.display());
        }
    }
}

#[test]
fn every_workload_and_profile_has_a_place_in_its_page() {
    let page = |path| fs::read_to_string(path).unwrap();
    let (workloads, simulator) = (page("docs/workloads.md"), page("docs/simulator.md"));
    let rows: Vec<&str> = workloads.lines().filter(|line| line.starts_with("| ")).collect();
    for workload in Library::bundled().unwrap().iter() {
        let cells = rows.iter().filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
        assert!(cells.map(str::trim).any(|name| name == workload.name), "docs/workloads.md lacks {}", workload.name);
    }
    for profile in umtop::sim::names() {
        assert!(simulator.contains(&format!("| `{profile}` |")), "docs/simulator.md lacks {profile}");
    }
}

#[test]
fn the_index_has_a_line_for_every_page() {
    let index = fs::read_to_string("docs/README.md").unwrap();
    let linked = targets(&index);
    for path in fs::read_dir("docs").unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name == "README.md" || linked.iter().any(|target| target.trim_end_matches('/') == name), "{name}");
    }
}

#[test]
fn the_readmes_are_short_and_know_each_other() {
    for (name, other) in READMES.into_iter().zip(READMES.into_iter().rev()) {
        let text = fs::read_to_string(name).unwrap();
        assert!(text.lines().count() <= README_LINES, "{name}");
        assert!(targets(&text).iter().any(|target| target == other), "{name} does not link {other}");
    }
    let headings = |name| fs::read_to_string(name).unwrap().lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(headings(READMES[0]), headings(READMES[1]), "the languages have different sections");
}

/// The text between two marks: what is before, within and after.
fn marked<'a>(text: &'a str, begin: &str, end: &str) -> (&'a str, &'a str, &'a str) {
    let (before, rest) = text.split_once(begin).expect(begin);
    let (within, after) = rest.split_once(end).expect(end);
    (before, within, after)
}

const KEYS_BEGIN: &str = "<!-- keys: UMTOP_BLESS=1 cargo test --test docs -->\n";
const KEYS_END: &str = "<!-- end of keys -->";

/// How a row's keys are written in a document: a blank is not seen there.
fn written(shown: &'static str, ascii: &'static str) -> &'static str {
    if shown == "␣" { ascii } else { shown }
}

fn key_table() -> String {
    let mut table = String::from("| key | does | with |\n|---|---|---|\n");
    for row in KEYS {
        let with: Vec<&str> = [(Mode::Live, "workloads"), (Mode::Watch, "watch"), (Mode::Replay, "recordings")]
            .into_iter()
            .filter_map(|(mode, name)| row.modes.contains(&mode).then_some(name))
            .collect();
        let with = if with.len() == 3 { "all".to_owned() } else { with.join(", ") };
        table += &format!("| `{}` | {} | {with} |\n", written(row.shown, row.ascii), row.help);
    }
    table
}

#[test]
fn the_key_table_is_that_of_the_program() {
    let text = fs::read_to_string(READMES[0]).unwrap();
    let (before, found, after) = marked(&text, KEYS_BEGIN, KEYS_END);
    let table = key_table();
    if std::env::var_os("UMTOP_BLESS").is_some() {
        return fs::write(READMES[0], format!("{before}{KEYS_BEGIN}{table}{KEYS_END}{after}")).unwrap();
    }
    assert!(found == table, "README.md: UMTOP_BLESS=1 cargo test --test docs writes the key table");
}

/// The other language's table is written by hand: the same keys in the same order.
#[test]
fn the_translated_key_table_has_every_key() {
    let text = fs::read_to_string(READMES[1]).unwrap();
    let (_, table, _) = marked(&text, "<!-- keys -->\n", KEYS_END);
    let found: Vec<&str> = table.lines().skip(2).filter_map(|line| line.split('`').nth(1)).collect();
    let wanted: Vec<&str> = KEYS.iter().map(|row| written(row.shown, row.ascii)).collect();
    assert_eq!(found, wanted);
}

/// Literals of the source as one line each: a backslash at a line's end goes on at the next one's first letter.
fn literals() -> String {
    let paths = ["src/doctor", "src/probe", "src/device"].into_iter().flat_map(|dir| files(dir, "rs"));
    let text: String = paths.map(|path| fs::read_to_string(path).unwrap()).collect();
    text.split("\\\n").map(str::trim_start).collect()
}

#[test]
fn troubleshooting_quotes_doctor_word_for_word() {
    let literals = literals();
    let mut quoted = Vec::new();
    for name in READMES {
        let text = fs::read_to_string(name).unwrap();
        let (_, table, _) = marked(&text, "<!-- doctor", "<!-- end of doctor -->");
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let says: Vec<String> = rows.map(|line| line.split('`').nth(1).unwrap().to_owned()).collect();
        assert!(says.len() >= 10, "{name}");
        says.iter().for_each(|text| assert!(literals.contains(text.as_str()), "{name}: doctor never says '{text}'"));
        quoted.push(says);
    }
    assert_eq!(quoted[0], quoted[1], "the languages quote different lines");
}

#[test]
fn the_finders_find() {
    assert_eq!(targets("[a](b.md) ```\n[c](d)\n``` ![e](f.png#g)"), ["b.md", "f.png#g"]);
    assert_eq!(slug("Two GPUs, joined: `x`"), "two-gpus-joined-x");
    assert!(has_anchor("# A b\n<a id=\"c\"></a>", "a-b") && has_anchor("<a id=\"c\"></a>", "c"));
    assert!(!has_anchor("text", "text") && Path::new("README.md").exists());
}
