//! Writing a file that was asked for by name: beside it first, and put in its place when it is whole.

use super::Failure;
use crate::cli::{EXIT_USAGE, OutputArgs};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Where bytes go. Until [`Output::finish`] there is nothing under the name that was asked for.
pub(super) struct Output {
    name: PathBuf,
    to: Box<dyn Write>,
    beside: Option<Beside>,
}

/// A file that is not whole yet. It goes if it never is.
struct Beside {
    part: PathBuf,
    target: PathBuf,
    replaces: bool,
}

/// Opens the file, or standard output for `-`. An existing file is only replaced with `--force`; what a link points to is
/// replaced, not the link, and what is no file (a device, a pipe) is written to directly.
pub(super) fn create(args: &OutputArgs) -> Result<Output, Failure> {
    let name = args.output.clone();
    if name == Path::new("-") {
        return Ok(Output { name, to: Box::new(io::stdout().lock()), beside: None });
    }
    let failed = |error: io::Error| Failure::failed(format!("cannot write {}: {error}", args.output.display()));
    let exists = fs::symlink_metadata(&name).is_ok();
    if exists && !args.force {
        let line = format!("{} exists: choose another name or add --force", name.display());
        return Err(Failure::new(EXIT_USAGE, line));
    }
    let target = if exists { name.canonicalize().map_err(failed)? } else { name.clone() };
    if exists && !fs::metadata(&target).map_err(failed)?.is_file() {
        let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return Ok(Output { name, to: Box::new(BufWriter::new(file)), beside: None });
    }
    let (part, file) = part(&target).map_err(failed)?;
    let beside = Some(Beside { part, target, replaces: args.force });
    Ok(Output { name, to: Box::new(BufWriter::new(file)), beside })
}

/// A new file beside the target.
fn part(target: &Path) -> io::Result<(PathBuf, File)> {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(name);
    let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    Ok((part, file))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Output {
    /// Everything is written: the file gets its name. A reader of standard output that has left is no failure.
    pub(super) fn finish(self, written: io::Result<()>) -> Result<(), Failure> {
        let Output { name, mut to, mut beside } = self;
        let done = written.and_then(|()| to.flush()).and_then(|()| beside.as_mut().map_or(Ok(()), Beside::place));
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && name == Path::new("-") => Ok(()),
            Err(error) => Err(Failure::failed(format!("cannot write {}: {error}", name.display()))),
            Ok(()) => Ok(()),
        }
    }
}

impl Beside {
    fn place(&mut self) -> io::Result<()> {
        if self.replaces {
            return fs::rename(&self.part, &self.target);
        }
        match fs::hard_link(&self.part, &self.target) {
            // Some file systems have no links. What came meanwhile is not replaced either way, but for a race.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => fs::rename(&self.part, &self.target),
            linked => linked,
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Where it was renamed, it is not there any more.
        let _ = fs::remove_file(&self.part);
    }
}

/// Writes all of it.
pub(super) fn write(args: &OutputArgs, bytes: &[u8]) -> Result<(), Failure> {
    let mut out = create(args)?;
    let written = out.write_all(bytes);
    out.finish(written)
}

/// Writes a file of umtop's own choice of name, whole or not at all.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    place(path, bytes, true)
}

/// The same where no file may be replaced: `AlreadyExists` if the name is taken.
pub(super) fn whole_and_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    place(path, bytes, false)
}

fn place(path: &Path, bytes: &[u8], replaces: bool) -> io::Result<()> {
    let (part, mut file) = part(path)?;
    let mut beside = Beside { part, target: path.to_owned(), replaces };
    file.write_all(bytes).and_then(|()| beside.place())
}
