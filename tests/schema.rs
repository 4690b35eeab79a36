//! The schema for editors names the keys and values that the parser takes, and no others.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::collections::BTreeSet;
use umtop::workload::Workload;

/// Every table of a file, with the place of its object in the schema.
const TABLES: [(&str, &str); 5] = [
    ("", ""),
    ("[memory]", "/$defs/memory"),
    ("[defaults]", "/properties/defaults"),
    ("[pass]", "/$defs/pass"),
    ("[[pass.round]]", "/$defs/step"),
];

const FILE: &str = r#"
name = "x"
title = "x"
question = "x"
predict = "x"
why = "x"
[memory]
size = "1MiB"
min = "1MiB"
kinds = ["managed", "explicit", "pageable", "zero-copy"]
[defaults]
advice = "none"
[pass]
timed = ["kernel"]
[[pass.round]]
on = "gpu"
access = "read"
pattern = "sequential"
"#;

fn schema() -> Value {
    serde_json::from_str(include_str!("../assets/workload.schema.json")).unwrap()
}

fn parse(text: &str) -> Result<(), String> {
    Workload::parse("my.toml", text).map(|_| ()).map_err(|e| e.to_string())
}

/// The names in backquotes after "expected".
fn expected(error: &str) -> BTreeSet<String> {
    let (_, list) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_keys_are_the_parsers() {
    let schema = schema();
    let member = format!("{FILE}[[compare]]\nname = \"y\"\nunknown = 1\n");
    let mut cases = vec![(parse(&member).unwrap_err(), "/properties/compare/items")];
    for (head, place) in TABLES {
        let text = if head.is_empty() {
            format!("unknown = 1\n{FILE}")
        } else {
            FILE.replace(&format!("{head}\n"), &format!("{head}\nunknown = 1\n"))
        };
        cases.push((parse(&text).unwrap_err(), place));
    }
    for (error, place) in cases {
        let object = schema.pointer(place).unwrap();
        let keys: BTreeSet<String> = object["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(expected(&error), keys, "{place}: {error}");
        assert_eq!(object["additionalProperties"], false, "{place}");
    }
}

#[test]
fn the_values_are_the_parsers() {
    let schema = schema();
    for (line, place) in [
        ("kinds = [\"managed\", \"explicit\", \"pageable\", \"zero-copy\"]", "/$defs/kind"),
        ("advice = \"none\"", "/$defs/advice"),
        ("timed = [\"kernel\"]", "/$defs/phase"),
        ("on = \"gpu\"", "/$defs/step/properties/on"),
        ("access = \"read\"", "/$defs/step/properties/access"),
        ("pattern = \"sequential\"", "/$defs/step/properties/pattern"),
    ] {
        let (key, value) = line.split_once(" = ").unwrap();
        let with = |v: &str| {
            let new = if value.starts_with('[') { format!("[\"{v}\"]") } else { format!("\"{v}\"") };
            let stride = if v == "strided" { "\nstride = \"64KiB\"" } else { "" };
            FILE.replace(line, &format!("{key} = {new}{stride}"))
        };
        let values = schema.pointer(place).unwrap()["enum"].as_array().unwrap();
        let values: BTreeSet<String> = values.iter().map(|v| v.as_str().unwrap().to_owned()).collect();
        for value in &values {
            let taken = parse(&with(value));
            // These two are taken, but need more than this file says.
            let needs_more = taken.as_ref().is_err_and(|e| e.contains("gpu:1") || e.contains("access = \"add\" is"));
            assert_eq!(needs_more, ["gpu:1", "add"].contains(&value.as_str()), "{key} = {value}: {taken:?}");
            assert!(taken.is_ok() || needs_more, "{key} = {value}: {taken:?}");
        }
        assert_eq!(expected(&parse(&with("unknown")).unwrap_err()), values, "{key}");
    }
}

#[test]
fn the_required_keys_are_the_parsers() {
    let schema = schema();
    for (place, keys) in [("", 7), ("/$defs/memory", 3), ("/$defs/step", 2)] {
        let required = schema.pointer(place).unwrap()["required"].as_array().unwrap();
        assert_eq!(required.len(), keys, "{place}");
        for key in required.iter().map(|k| k.as_str().unwrap()).filter(|k| !["memory", "pass"].contains(k)) {
            let without: String = FILE
                .lines()
                .filter(|l| !l.starts_with(&format!("{key} =")))
                .fold(String::new(), |all, l| all + l + "\n");
            let error = parse(&without).unwrap_err();
            assert!(error.contains(&format!("missing field `{key}`")), "{key}: {error}");
        }
    }
}
