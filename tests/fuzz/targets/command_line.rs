//! The command line: sizes, times, speeds, devices, shapes, moments. One argument a line.
#![no_main]

use clap::Parser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = umtop::cli::Cli::try_parse_from(std::iter::once("umtop").chain(text.lines()));
});
