//! `umtop export`: a recording for other programs.

use super::{Failure, output, tell};
use crate::cli::{EXIT_USAGE, ExportArgs, ExportFormat};
use crate::export::{self, ExportError};
use crate::recording::Stored;
use std::process::ExitCode;

pub(super) fn export(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let format = args.format.map_or_else(|| format_of(args), Ok)?;
    let mut reader = Stored::file(&args.file).open().map_err(Failure::failed)?;
    let mut out = output::create(&args.output)?;
    let exported = match format {
        ExportFormat::Csv => export::csv(&mut reader, &mut out),
        ExportFormat::Json => export::json_lines(&mut reader, &mut out),
        ExportFormat::Perfetto => export::trace(&mut reader, &mut out),
    };
    match exported {
        Ok(()) => out.finish(Ok(()))?,
        Err(ExportError::Write(error)) => out.finish(Err(error))?,
        Err(ExportError::Read(error)) => {
            out.finish(Ok(()))?;
            return Err(Failure::failed(format!("{error}; what was read before is exported")));
        }
    }
    if reader.cut() {
        tell("the recording ends in mid-line: its last second may be missing");
    }
    Ok(ExitCode::SUCCESS)
}

fn format_of(args: &ExportArgs) -> Result<ExportFormat, Failure> {
    match args.output.output.extension().and_then(|e| e.to_str()) {
        Some("csv") => Ok(ExportFormat::Csv),
        Some("jsonl" | "ndjson") => Ok(ExportFormat::Json),
        Some("json" | "trace") => Ok(ExportFormat::Perfetto),
        _ => Err(Failure::new(EXIT_USAGE, "choose a --format: csv, json or perfetto")),
    }
}
