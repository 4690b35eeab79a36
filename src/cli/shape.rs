//! Flags about the shape of a pass.

use crate::event::{AccessPattern, Piece};
use clap::Args;

/// Most rounds in a pass, and most allocations.
const MAX: i64 = 1_000_000;

/// The shape that the dashboard starts with.
#[derive(Clone, Debug, Default, Args)]
pub struct ShapeArgs {
    /// Order of the GPU's visits: sequential, strided, random, block, one-warp [default: the workload's]
    #[arg(long, value_name = "NAME")]
    pub pattern: Option<AccessPattern>,
    /// Move data in pieces of this size, or whole [default: the workload's]
    #[arg(long, value_name = "SIZE")]
    pub piece: Option<Piece>,
    /// Rounds in a pass [default: the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX))]
    pub rounds: Option<u32>,
    /// Divide the footprint into so many allocations [default: the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX))]
    pub allocations: Option<u32>,
}

/// The shapes that a bench compares.
#[derive(Clone, Debug, Default, Args)]
pub struct ShapesArgs {
    /// Orders of the GPU's visits to compare [default: each workload's]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub pattern: Vec<AccessPattern>,
    /// Sizes of the pieces in which data moves to compare, or whole [default: each workload's]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',')]
    pub piece: Vec<Piece>,
    /// Rounds in a pass to compare [default: each workload's]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX))]
    pub rounds: Vec<u32>,
    /// Numbers of allocations to compare [default: each workload's]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX))]
    pub allocations: Vec<u32>,
}
