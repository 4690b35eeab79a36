//! The program: parse, run, exit code.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    umtop::run::run(umtop::cli::Cli::parse())
}
