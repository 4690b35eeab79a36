//! The composition root: from the command line to one source and one consumer.

mod bench;
mod dashboard;
mod demo;
mod desk;
mod doctor;
mod export;
mod header;
mod library;
mod live;
mod manual;
mod metrics;
mod open;
mod output;
mod render;
mod replay;
mod report;
mod settings;
mod watch;
mod workloads;

pub use open::simulated;

use crate::cli::{Cli, Command, EXIT_FAILED};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

/// One clear line and the exit code that goes with it.
#[derive(Debug, thiserror::Error)]
#[error("{line}")]
pub struct Failure {
    /// What happened and what to do.
    pub line: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    fn new(code: u8, line: impl ToString) -> Self {
        Self { line: line.to_string(), code }
    }

    fn failed(line: impl ToString) -> Self {
        Self::new(EXIT_FAILED, line)
    }
}

/// Does what the command line says; prints a failure as one line on standard error.
pub fn run(cli: Cli) -> ExitCode {
    // At a limit on file sizes a write shall fail, as on a full disk, and not end the program.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let done = match cli.command {
        None => live::live(cli.dashboard),
        Some(Command::Replay(args)) => dashboard::replay(&args),
        Some(Command::Demo(args)) => demo::demo(&args),
        Some(Command::Render(args)) => render::render(&args),
        Some(Command::Export(args)) => export::export(&args),
        Some(Command::Bench(args)) => bench::bench(*args),
        Some(Command::Watch(args)) => watch::watch(args),
        Some(Command::Doctor { json }) => doctor::doctor(json),
        Some(Command::Workloads(args)) => workloads::workloads(&args),
        Some(Command::Completions { shell }) => manual::completions(shell),
        Some(Command::Man { command }) => manual::man(command.as_deref()),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            tell(&failure.line);
            ExitCode::from(failure.code)
        }
    }
}

/// The exit code of a process that a signal ended.
fn ended_by(signal: i32) -> u8 {
    128u8.saturating_add(signal as u8)
}

/// Says a line on standard error. Where nobody can read it, that changes nothing (`eprintln!` would panic).
fn tell(line: &str) {
    let _ = io::Write::write_all(&mut io::stderr().lock(), format!("umtop: {line}\n").as_bytes());
}

/// Ends the process while a call into the driver has not returned. The driver's own clean-up at a regular exit may wait for
/// that very call, so it is left out; the kernel takes everything back.
fn leave_behind(code: u8) -> ! {
    let _ = io::Write::flush(&mut io::stdout().lock());
    signal_hook::low_level::exit(i32::from(code))
}

/// Writes to standard output. A reader that has left (`umtop bench | head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let written = io::Write::write_all(&mut io::stdout().lock(), text.as_bytes());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
