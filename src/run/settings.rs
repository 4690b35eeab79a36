//! From flags and a workload's defaults to settings.

use crate::cli::{self, BenchArgs, Dashboard, EXIT_USAGE, Prefetch, ShapeArgs, ShapesArgs};
use crate::event::{MemoryKind, Settings, Shape};
use crate::run::Failure;
use crate::session::{MAX_PASSES, MAX_RUNS};
use crate::workload::{Choice, Library, Variant, Workload};

/// The settings that the dashboard starts with.
pub(super) fn first(library: &Library, args: &Dashboard) -> Result<Settings, Failure> {
    let workload = find(library, &args.workload)?;
    let ShapeArgs { pattern, piece, rounds, allocations } = args.shape;
    let Dashboard { memory, prefetch, advice, .. } = *args;
    let choice = Choice { memory, prefetch, advice, pattern, piece, rounds, allocations };
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
            for variant in shaped(variants(workload, args), &args.shapes) {
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
            variants.extend(advice.iter().map(|advice| Variant { prefetch, advice: *advice, ..plain }));
        }
    }
    variants
}

/// Each variant in every shape that the flags name, each once.
fn shaped(variants: Vec<Variant>, args: &ShapesArgs) -> Vec<Variant> {
    /// `None` leaves a part of the shape as it is.
    fn each<T: Copy>(named: &[T]) -> Vec<Option<T>> {
        if named.is_empty() { vec![None] } else { named.iter().copied().map(Some).collect() }
    }
    let mut all: Vec<Variant> = Vec::new();
    for variant in variants {
        for pattern in each(&args.pattern) {
            for piece in each(&args.piece) {
                for rounds in each(&args.rounds) {
                    for allocations in each(&args.allocations) {
                        let shape = Shape {
                            pattern: pattern.or(variant.shape.pattern),
                            piece: piece.or(variant.shape.piece),
                            rounds: rounds.or(variant.shape.rounds),
                            allocations: allocations.or(variant.shape.allocations),
                        };
                        let shaped = Variant { shape, ..variant };
                        if !all.contains(&shaped) {
                            all.push(shaped);
                        }
                    }
                }
            }
        }
    }
    all
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
    fn shapes_multiply_and_go_before_the_files() {
        let line = "umtop bench overlap --piece whole,16MiB --rounds 2";
        let Some(Command::Bench(args)) = Cli::parse_from(line.split(' ')).command else { panic!() };
        let members = members(&Library::bundled().unwrap(), &args).unwrap();
        assert!(members.iter().all(|m| m.shape.rounds == Some(2) && m.shape.piece.is_some()));
        assert_eq!(
            members.iter().filter(|m| m.shape.piece == Some(crate::event::Piece::Whole)).count(),
            members.len() / 2
        );
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
