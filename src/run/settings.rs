//! From flags and a workload's defaults to settings.

use crate::cli::{self, BenchArgs, Dashboard, EXIT_USAGE, Prefetch};
use crate::event::{Advice, MemoryKind, Settings};
use crate::run::Failure;
use crate::session::{MAX_PASSES, MAX_RUNS};
use crate::workload::{Library, Workload};

/// The settings that the dashboard starts with.
pub(super) fn first(library: &Library, args: &Dashboard) -> Result<Settings, Failure> {
    let workload = find(library, &args.workload)?;
    Ok(Settings {
        workload: workload.name.clone(),
        memory: args.memory.unwrap_or(workload.memory.kinds[0]),
        prefetch: args.prefetch,
        advice: args.advice,
        size: args.size.unwrap_or(workload.memory.size),
        trace: args.trace,
    })
}

// What is measured is kept: the report has the raw times of every pass.
const _: () = assert!((cli::MAX_RUNS + cli::MAX_WARMUPS) as usize <= MAX_PASSES);

/// Every combination that a bench was asked for. Prefetch and advice mean something for managed memory only, so the other
/// kinds take part once.
pub(super) fn members(library: &Library, args: &BenchArgs) -> Result<Vec<Settings>, Failure> {
    let workloads: Vec<&Workload> = if args.workloads.is_empty() {
        library.iter().collect()
    } else {
        args.workloads.iter().map(|name| find(library, name)).collect::<Result<_, _>>()?
    };
    let prefetches: &[bool] = match args.prefetch {
        Prefetch::Off => &[false],
        Prefetch::On => &[true],
        Prefetch::Both => &[false, true],
    };
    let mut members = Vec::new();
    for workload in workloads {
        let sizes = if args.size.is_empty() { vec![workload.memory.size] } else { args.size.clone() };
        let kinds = if args.memory.is_empty() { vec![workload.memory.kinds[0]] } else { args.memory.clone() };
        for size in sizes {
            for memory in &kinds {
                let managed = *memory == MemoryKind::Managed;
                for prefetch in if managed { prefetches } else { &[false] } {
                    for advice in if managed { args.advice.as_slice() } else { &[Advice::None] } {
                        for trace in &args.trace {
                            members.push(Settings {
                                workload: workload.name.clone(),
                                memory: *memory,
                                prefetch: *prefetch,
                                advice: *advice,
                                size,
                                trace: *trace,
                            });
                        }
                    }
                }
            }
        }
    }
    if members.len() > MAX_RUNS {
        let line = format!("{} combinations are more than the {MAX_RUNS} of one bench: compare fewer", members.len());
        return Err(Failure::new(EXIT_USAGE, line));
    }
    Ok(members)
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
