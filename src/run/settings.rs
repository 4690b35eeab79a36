//! From flags and a workload's defaults to settings.

use crate::cli::{self, BenchArgs, Dashboard, EXIT_USAGE, Prefetch};
use crate::event::{MemoryKind, Settings};
use crate::run::Failure;
use crate::session::{MAX_PASSES, MAX_RUNS};
use crate::workload::{Choice, Library, Variant, Workload};

/// The settings that the dashboard starts with.
pub(super) fn first(library: &Library, args: &Dashboard) -> Result<Settings, Failure> {
    let workload = find(library, &args.workload)?;
    let choice = Choice { memory: args.memory, prefetch: args.prefetch, advice: args.advice };
    Ok(workload.settings(workload.variant(choice), args.size.unwrap_or(workload.memory.size), args.trace))
}

// What is measured is kept: the report has the raw times of every pass.
const _: () = assert!((cli::MAX_RUNS + cli::MAX_WARMUPS) as usize <= MAX_PASSES);

/// Everything that a bench was asked for: the variants, each with every size and trace level.
pub(super) fn members(library: &Library, args: &BenchArgs) -> Result<Vec<Settings>, Failure> {
    let workloads: Vec<&Workload> = if args.workloads.is_empty() {
        library.iter().collect()
    } else {
        args.workloads.iter().map(|name| find(library, name)).collect::<Result<_, _>>()?
    };
    let mut members = Vec::new();
    for workload in workloads {
        let sizes = if args.size.is_empty() { vec![workload.memory.size] } else { args.size.clone() };
        for size in sizes {
            for variant in variants(workload, args) {
                members.extend(args.trace.iter().map(|trace| workload.settings(variant, size, *trace)));
            }
        }
    }
    if members.len() > MAX_RUNS {
        let line = format!("{} combinations are more than the {MAX_RUNS} of one bench: compare fewer", members.len());
        return Err(Failure::new(EXIT_USAGE, line));
    }
    Ok(members)
}

/// What the workload compares, or every combination of what the flags name. Prefetch and advice mean something for
/// managed memory only, so the other kinds take part once.
fn variants(workload: &Workload, args: &BenchArgs) -> Vec<Variant> {
    if args.memory.is_empty() && args.prefetch.is_none() && args.advice.is_empty() {
        return workload.variants();
    }
    let default = workload.variant(Choice::default());
    let kinds = if args.memory.is_empty() { vec![default.memory] } else { args.memory.clone() };
    let mut variants = Vec::new();
    for memory in kinds {
        let plain = workload.variant(Choice { memory: Some(memory), ..Choice::default() });
        if memory != MemoryKind::Managed {
            variants.push(plain);
            continue;
        }
        let prefetches = match args.prefetch {
            None => vec![plain.prefetch],
            Some(Prefetch::Off) => vec![false],
            Some(Prefetch::On) => vec![true],
            Some(Prefetch::Both) => vec![false, true],
        };
        let advice = if args.advice.is_empty() { vec![plain.advice] } else { args.advice.clone() };
        for prefetch in prefetches {
            variants.extend(advice.iter().map(|advice| Variant { memory, prefetch, advice: *advice }));
        }
    }
    variants
}

fn find<'a>(library: &'a Library, name: &str) -> Result<&'a Workload, Failure> {
    library.find(name).map_err(|line| Failure::new(EXIT_USAGE, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn prefetch_multiplies_managed_members_only() {
        let line = "umtop bench sequential --memory managed,explicit --prefetch=both --size 64MiB,1GiB";
        let Some(Command::Bench(args)) = Cli::parse_from(line.split(' ')).command else { panic!() };
        let members = members(&Library::bundled().unwrap(), &args).unwrap();
        assert_eq!(members.len(), 6);
        assert_eq!(members.iter().filter(|m| m.prefetch).count(), 2);
        assert!(members.iter().all(|m| m.memory == MemoryKind::Managed || !m.prefetch));
    }

    #[test]
    fn more_combinations_than_a_session_keeps_are_bad_usage() {
        let sizes = vec!["1MiB"; MAX_RUNS + 1].join(",");
        let Some(Command::Bench(args)) = Cli::parse_from(["umtop", "bench", "random", "--size", &sizes]).command else {
            panic!()
        };
        let failure = members(&Library::bundled().unwrap(), &args).unwrap_err();
        assert!(failure.code == EXIT_USAGE && failure.line.contains("513 combinations"), "{}", failure.line);
    }

    #[test]
    fn an_unknown_workload_is_bad_usage() {
        let Some(Command::Bench(args)) = Cli::parse_from(["umtop", "bench", "sort"]).command else { panic!() };
        let failure = members(&Library::bundled().unwrap(), &args).unwrap_err();
        assert!(failure.code == EXIT_USAGE && failure.line.contains("sequential"));
    }
}
