//! The command line: types only, no action.

mod device;
mod examples;
mod output;
mod shape;

pub use device::{DEFAULT_PROFILE, DeviceArgs, DeviceChoice};
pub use output::{
    DemoArgs, ExportArgs, ExportFormat, MetricsArgs, Moment, OutputArgs, PictureFormat, RenderArgs, Size,
};
pub use shape::{ShapeArgs, ShapesArgs};

use crate::event::{Advice, MemoryKind, TraceLevel};
use crate::units::Bytes;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Exit code when something failed while running.
pub const EXIT_FAILED: u8 = 1;
/// Exit code for bad usage, as clap has it.
pub const EXIT_USAGE: u8 = 2;
/// Exit code when the device that was asked for cannot be used.
pub const EXIT_NO_DEVICE: u8 = 3;
/// Exit code when there is no terminal to draw on.
pub const EXIT_NO_TERMINAL: u8 = 4;

/// Most passes of a bench that count, and most that do not, per member: together a session keeps that many.
pub const MAX_RUNS: i64 = 3_000;
/// See [`MAX_RUNS`].
pub const MAX_WARMUPS: i64 = 1_000;

/// Largest number that Linux gives a process (`PID_MAX_LIMIT`).
const MAX_PID: i64 = 4_194_304;

/// See CUDA Unified Memory live: pages fault, migrate and thrash.
#[derive(Clone, Debug, Parser)]
#[command(name = "umtop", version, about, after_help = examples::TOP, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; without it, the dashboard.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The dashboard's options.
    #[command(flatten)]
    pub dashboard: Dashboard,
}

/// Subcommands.
#[derive(Clone, Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, parsed once")]
pub enum Command {
    /// Play a recording in the dashboard
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// List the recordings that come with umtop, or play one
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Make a picture or an animation of a recording, without a terminal
    #[command(after_help = examples::RENDER)]
    Render(RenderArgs),
    /// Export a recording as a table (CSV, JSON lines) or as a trace for Perfetto
    #[command(after_help = examples::EXPORT)]
    Export(ExportArgs),
    /// Measure workloads without a terminal: interleaved passes, medians with intervals
    #[command(after_help = examples::BENCH)]
    Bench(Box<BenchArgs>),
    /// Watch another program's unified memory: a running one, or one started here; alone, list those that use it
    #[command(after_help = examples::WATCH)]
    Watch(WatchArgs),
    /// Say what this machine can do, and the reason for each thing that it cannot
    #[command(after_help = examples::DOCTOR)]
    Doctor {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// List the workloads: what each one asks
    #[command(after_help = examples::WORKLOADS)]
    Workloads(WorkloadsArgs),
    /// Write the completions of a shell to standard output
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual page to standard output
    #[command(after_help = examples::MAN)]
    Man {
        /// Of this command; without it, of umtop itself
        command: Option<String>,
    },
}

/// The dashboard.
#[derive(Clone, Debug, Args)]
pub struct Dashboard {
    /// Where to run.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Workload to start with: a name, or the path of a workload file
    #[arg(long, value_name = "NAME|FILE", default_value = "sequential")]
    pub workload: String,
    /// Kind of memory: managed, explicit, pageable, zero-copy [default: the workload's]
    #[arg(long, value_name = "KIND")]
    pub memory: Option<MemoryKind>,
    /// Prefetch to each side before its turn: on or off [default: the workload's]
    #[arg(long, value_name = "WHEN", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = on_off)]
    pub prefetch: Option<bool>,
    /// Advice: none, read-mostly, preferred-gpu, preferred-cpu, accessed-by, preferred-cpu+accessed-by, and of a second GPU
    /// preferred-gpu:1, accessed-by-gpu:1 [default: the workload's]
    #[arg(long, value_name = "NAME")]
    pub advice: Option<Advice>,
    /// Footprint, such as 256MiB [default: the workload's]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// How closely the driver is watched: off, counters, faults, full
    #[arg(long, value_name = "LEVEL", default_value = "faults")]
    pub trace: TraceLevel,
    /// The shape of a pass.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Record everything to this file
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Metrics over HTTP.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Colours and characters [default: what the terminal can do]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<ThemeChoice>,
}

/// Playing a recording.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// The recording
    pub file: PathBuf,
    /// Times real time [default: 1; with --format as fast as it can be read]
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<f64>,
    /// Without a terminal: play it to its end and print the totals
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<WatchFormat>,
    /// Colours and characters [default: what the terminal can do]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<ThemeChoice>,
}

/// Colours and characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeChoice {
    /// For a dark background
    Dark,
    /// For a light background
    Light,
    /// Told apart with the usual kinds of colour blindness
    ColourBlind,
    /// No colour
    Mono,
    /// ASCII characters only
    Ascii,
}

/// Measuring.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// Workloads by name, or paths of workload files [default: all]
    pub workloads: Vec<String>,
    /// Where to run.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Passes that count, per member
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=MAX_RUNS))]
    pub runs: u32,
    /// Passes before them that do not count, per member
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=MAX_WARMUPS))]
    pub warmups: u32,
    /// Kinds of memory to compare; without --memory, --prefetch and --advice: what each workload compares
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    pub memory: Vec<MemoryKind>,
    /// Prefetch: off, on, or both to compare [default: each workload's]
    #[arg(long, value_name = "WHEN", default_missing_value = "on", num_args = 0..=1, require_equals = true)]
    pub prefetch: Option<Prefetch>,
    /// Advice to compare [default: each workload's]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub advice: Vec<Advice>,
    /// Sizes to compare [default: each workload's]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub size: Vec<Bytes>,
    /// Trace levels to compare
    #[arg(long, value_name = "LEVEL,…", value_delimiter = ',', default_value = "faults")]
    pub trace: Vec<TraceLevel>,
    /// The shapes of a pass to compare.
    #[command(flatten)]
    pub shapes: ShapesArgs,
    /// Output
    #[arg(long, value_enum, default_value = "table")]
    pub format: BenchFormat,
    /// Record everything to this file
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Also write a report with pictures into this new folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Metrics over HTTP.
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// Watching another program.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// The process to watch, its descendants included
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_PID))]
    pub pid: Option<u32>,
    /// How closely the driver is watched: off, counters, faults, full; above counters the program gets slower
    #[arg(long, value_name = "LEVEL", default_value = "counters")]
    pub trace: TraceLevel,
    /// Without a terminal: watch for so long, such as 10s, and print the totals
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub time: Option<Duration>,
    /// Without a terminal: print totals at the end (of the time, or of the program), or the list
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<WatchFormat>,
    /// Record everything to this file
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Metrics over HTTP.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Where the command's output goes [default: a new file in the folder for temporary files]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Colours and characters [default: what the terminal can do]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<ThemeChoice>,
    /// A command to start and to watch
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub command: Vec<OsString>,
}

/// How watch and replay print totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WatchFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Which prefetch settings a bench compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Prefetch {
    /// Without.
    Off,
    /// With.
    On,
    /// Without and with.
    Both,
}

/// How bench prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// For people.
    Table,
    /// For programs: raw times of every pass.
    Json,
    /// For spreadsheets: one row a pass.
    Csv,
    /// For issues and notes.
    Markdown,
}

/// Listing or checking workloads.
#[derive(Clone, Debug, Args)]
pub struct WorkloadsArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Check files instead of listing
    #[command(subcommand)]
    pub check: Option<WorkloadsCommand>,
}

/// What can be done with workload files.
#[derive(Clone, Debug, Subcommand)]
pub enum WorkloadsCommand {
    /// Check workload files; says file, line and what is allowed
    #[command(after_help = examples::CHECK)]
    Check {
        /// Files to check
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("choose one of on, off".to_owned()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 10_000.0 => Ok(x),
        _ => Err("choose a number above 0 and at most 10000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_and_optional_values_are_read() {
        let line =
            "umtop bench sequential --memory managed,explicit --prefetch=both --size 64MiB,1GiB --trace off,full";
        let Some(Command::Bench(bench)) = Cli::parse_from(line.split(' ')).command else { panic!() };
        assert_eq!(bench.memory, [MemoryKind::Managed, MemoryKind::Explicit]);
        assert_eq!((bench.prefetch, bench.size.len(), bench.trace.len()), (Some(Prefetch::Both), 2, 2));
        let Some(Command::Bench(bench)) = Cli::parse_from(["umtop", "bench", "--prefetch", "random"]).command else {
            panic!()
        };
        assert_eq!((bench.prefetch, bench.workloads), (Some(Prefetch::On), vec!["random".to_owned()]));
    }

    #[test]
    fn bad_values_are_refused_in_one_breath() {
        for (args, says) in [
            (&["--size", "0"][..], "above zero"),
            (&["--size", "-5MiB"], "above zero"),
            (&["--size", "lots"], "not a size"),
            (&["--device", "tpu"], "auto, cuda, sim"),
            (&["--trace", "loud"], "off, counters, faults, full"),
            (&["--prefetch=maybe"], "on, off"),
            (&["--memory", "magic"], "managed, explicit, pageable, zero-copy"),
        ] {
            let error = Cli::try_parse_from([&["umtop"], args].concat()).unwrap_err().to_string();
            assert!(error.contains(says), "{args:?}: {error}");
        }
    }
}
