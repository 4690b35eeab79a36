//! Every command line that umtop's help and documents show: it is read by the parser that reads the real ones, and the
//! workloads, profiles and recordings that it names are there.
#![allow(clippy::unwrap_used)]

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::fs;
use std::path::{Path, PathBuf};
use umtop::cli::{Cli, Command, DeviceChoice, WorkloadsCommand};
use umtop::workload::Library;

/// Words that stand for something else, and something that they can stand for.
const PLACEHOLDERS: [(&str, &str); 3] = [("PID", "4711"), ("PORT", "9400"), ("SHELL", "bash")];

/// The command lines of umtop in a line of shell: comments, pipes, redirections and what other programs do are cut off.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.split(" #").next().unwrap();
    let parts = line.split("&&").flat_map(|part| part.split([';', '|', '>']));
    parts
        .filter_map(|part| {
            // Two blanks begin an explanation.
            let part = part.trim().trim_start_matches("sudo ").split("  ").next().unwrap();
            let part = part.replace("cargo run --release --", "umtop");
            (part == "umtop" || part.starts_with("umtop ")).then(|| words(&part))
        })
        .collect()
}

fn words(command: &str) -> Vec<String> {
    let replaced = |word: &str| {
        let found = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
        found.map_or(word, |(_, value)| value).to_owned()
    };
    command.split_whitespace().filter(|word| !word.contains('…')).map(replaced).collect()
}

/// What a line says wrongly.
fn fault(words: &[String]) -> Option<String> {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => return None,
        // `umtop replay`: the name of a command in running text.
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument && words.len() == 2 => return None,
        Err(error) => return Some(error.to_string()),
    };
    let (workloads, device) = match &cli.command {
        None => (vec![cli.dashboard.workload.clone()], Some(&cli.dashboard.device.device)),
        Some(Command::Bench(args)) => (args.workloads.clone(), Some(&args.device.device)),
        Some(Command::Demo(args)) => return args.name.as_deref().and_then(unknown_demo),
        Some(Command::Workloads(args)) => {
            let Some(WorkloadsCommand::Check { files }) = &args.check else { return None };
            let ours = files.iter().filter(|file| file.starts_with("workloads"));
            return ours.filter(|file| !file.exists()).map(|file| format!("{} is not there", file.display())).next();
        }
        Some(_) => return None,
    };
    if let Some(DeviceChoice::Sim(profile)) = device
        && profile != "PROFILE"
        && !umtop::sim::names().contains(&profile.as_str())
    {
        return Some(format!("there is no profile {profile}"));
    }
    let library = Library::bundled().unwrap();
    workloads.iter().filter(|name| is_name(name)).find_map(|name| library.find(name).err())
}

/// Neither a file nor a placeholder.
fn is_name(text: &str) -> bool {
    !text.contains(['.', '/']) && text.chars().any(char::is_lowercase)
}

fn unknown_demo(name: &str) -> Option<String> {
    let there = Path::new("assets/recordings").join(name).with_extension("umr").exists();
    (is_name(name) && !there).then(|| format!("there is no demo {name}"))
}

fn check(wrong: &mut Vec<String>, place: &str, line: &str) -> usize {
    let found = commands(line);
    for words in &found {
        wrong.extend(fault(words).map(|why| format!("{place}: {}\n  {why}", words.join(" "))));
    }
    found.len()
}

fn help(command: &clap::Command, counts: &mut Vec<(String, usize)>, wrong: &mut Vec<String>) {
    let name = command.get_name().to_owned();
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = text.lines().filter(|line| line.trim_start().starts_with("umtop "));
    let count = lines.map(|line| check(wrong, &name, line)).sum();
    counts.push((name, count));
    command.get_subcommands().for_each(|sub| help(sub, counts, wrong));
}

#[test]
fn the_help_of_every_command_has_examples_that_work() {
    let (mut counts, mut wrong) = (Vec::new(), Vec::new());
    help(&Cli::command(), &mut counts, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, count) in counts {
        assert!((3..=6).contains(&count), "umtop {name} has {count} examples");
    }
}

fn pages(dir: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// Lines of fenced blocks, and spans in backticks, which may go over a line's end.
fn shown(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (i, part) in text.split("```").enumerate() {
        if i % 2 == 1 {
            // `KEY=value umtop …` and prompts do not occur; a line is a command or what a command prints.
            found.extend(part.lines().map(str::to_owned));
        } else {
            let spans = part.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    found
}

#[test]
fn every_command_line_of_the_documents_works() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in pages(".").into_iter().chain(pages("docs")) {
        let text = fs::read_to_string(&path).unwrap();
        let place = path.display().to_string();
        seen += shown(&text).iter().map(|line| check(&mut wrong, &place, line)).sum::<usize>();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "only {seen} command lines were found: the finder is broken");
}

#[test]
fn wrong_lines_are_found() {
    for line in [
        "umtop --device sim:abacus",
        "umtop bench bogosort",
        "umtop watch PID --frobnicate",
        "umtop demo nothing # comment",
        "true && umtop replay --speed 2",
        "umtop bench -- | umtop --sise 3",
    ] {
        let mut wrong = Vec::new();
        check(&mut wrong, "here", line);
        assert_eq!(wrong.len(), 1, "{line}: {wrong:?}");
    }
    let line = "umtop doctor > a.txt; sudo umtop watch PID && umtop bench …   explanation";
    assert_eq!(commands(line).len(), 3);
}
