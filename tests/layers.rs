//! Who may use whom (ARCHITECTURE.md), and how large a file may grow: rules that hold because a test says so.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file, in lines without its inline tests.
const MAX_LINES: usize = 400;

/// What each module may use of the crate; the longest matching prefix counts. Modules that are not listed may use everything.
const MAY_USE: [(&str, &[&str]); 19] = [
    ("units", &[]),
    ("stats", &[]),
    ("clock", &["units"]),
    ("event", &["units"]),
    ("device", &["event", "units", "clock", "device"]),
    ("probe", &["event", "units", "clock", "probe"]),
    ("sim", &["event", "units", "device", "probe", "sim"]),
    ("workload", &["event", "units", "device", "workload"]),
    ("recording", &["event", "units", "recording"]),
    ("source", &["event", "units", "clock", "device", "probe", "workload", "recording", "source"]),
    ("session", &["event", "units", "stats", "session"]),
    ("report", &["event", "units", "stats", "session", "report"]),
    ("ui", &["event", "units", "clock", "stats", "session", "ui"]),
    ("ui/widget", &["units", "ui"]),
    ("render", &["ui", "session", "event", "units", "recording", "render"]),
    ("export", &["session", "event", "units", "recording", "export"]),
    ("metrics", &["session", "event", "units", "metrics"]),
    ("doctor", &["device", "probe", "event", "units", "doctor"]),
    ("cli", &["event", "units", "cli"]),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Every source file by its path below `src`, without its inline test module; files of tests are left out.
fn production() -> BTreeMap<String, String> {
    let mut found = Vec::new();
    sources(Path::new("src"), &mut found);
    found
        .into_iter()
        .map(|path| {
            (path.strip_prefix("src").unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .filter(|(name, _)| !name.ends_with("tests.rs") && !name.contains("/tests/"))
        .map(|(name, text)| {
            let code = text.find("#[cfg(test)]\nmod tests").map_or(text.as_str(), |at| &text[..at]);
            (name, code.to_owned())
        })
        .collect()
}

/// Modules of the crate that a text names after `crate::`.
fn used(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').map(|s| s.trim().to_owned()).collect(),
            None => vec![rest.to_owned()],
        })
        .map(|path| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect()
}

#[test]
fn modules_use_only_what_lies_before_them() {
    let mut wrong = Vec::new();
    for (name, text) in production() {
        let rule = MAY_USE
            .iter()
            .filter(|(module, _)| name == format!("{module}.rs") || name.starts_with(&format!("{module}/")))
            .max_by_key(|(module, _)| module.len());
        let Some((module, allowed)) = rule else { continue };
        for target in used(&text) {
            if !allowed.contains(&target.as_str()) {
                wrong.push(format!("src/{name}: {module} must not use {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_source_never_names_a_real_or_a_simulated_device() {
    for (name, text) in production().iter().filter(|(name, _)| name.starts_with("source")) {
        assert!(!text.contains("cuda::") && !text.contains("sim::"), "src/{name}");
    }
}

#[test]
fn files_stay_small() {
    let long: Vec<String> = production()
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(name, lines)| format!("src/{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_rule_finder_finds() {
    assert_eq!(used("use crate::{ui, event::Event};\nlet x = crate::sim::open();"), ["ui", "event", "sim"]);
    assert!(used("// crate::ui\n").is_empty());
}
