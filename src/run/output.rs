//! Writing a file that was asked for by name.

use super::Failure;
use crate::cli::{EXIT_USAGE, OutputArgs};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Where bytes go: the file, or standard output for `-`. An existing file is only overwritten with `--force`.
pub(super) fn create(args: &OutputArgs) -> Result<Box<dyn Write>, Failure> {
    if args.output == Path::new("-") {
        return Ok(Box::new(io::stdout().lock()));
    }
    let mut options = OpenOptions::new();
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let name = args.output.display();
    let file = options.write(true).open(&args.output).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::new(EXIT_USAGE, format!("{name} exists: choose another name or add --force"))
        }
        _ => Failure::failed(format!("cannot write {name}: {error}")),
    })?;
    Ok(Box::new(BufWriter::new(file)))
}

/// What a write ended in. A reader of standard output that has left is no failure.
pub(super) fn written(args: &OutputArgs, result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe && args.output == Path::new("-") => Ok(()),
        Err(error) => Err(Failure::failed(format!("cannot write {}: {error}", args.output.display()))),
        Ok(()) => Ok(()),
    }
}

/// Writes all of it.
pub(super) fn write(args: &OutputArgs, bytes: &[u8]) -> Result<(), Failure> {
    let mut out = create(args)?;
    written(args, out.write_all(bytes).and_then(|()| out.flush()))
}
