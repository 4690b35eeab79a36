//! A command that umtop starts in order to watch it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Why a command cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No such program, or it may not be run.
    #[error("cannot start {program}: {error}")]
    Start {
        /// As it was called.
        program: String,
        /// What the system said.
        error: io::Error,
    },
    /// Its output has no place.
    #[error("cannot write the command's output to {path}: {error}; choose another place with --output")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A running command. Its standard output and error go to a file and not through umtop, so that nothing of it is lost and it
/// can outlive umtop; it has no input, and a process group of its own, so that keys meant for umtop do not reach it.
#[derive(Debug)]
pub struct Command {
    child: Child,
    words: String,
    output: PathBuf,
    code: Option<u8>,
}

impl Command {
    /// Starts `words[0]` with the rest as its arguments.
    pub fn start(words: &[OsString], output: Option<&Path>) -> Result<Self, CommandError> {
        let (program, arguments) = words.split_first().map_or((OsString::new(), words), |(p, a)| (p.clone(), a));
        let (path, file) = create(output, &program)?;
        let second = file.try_clone().map_err(|error| CommandError::Output { path: path.clone(), error })?;
        let mut command = std::process::Command::new(&program);
        command.args(arguments).stdin(Stdio::null()).stdout(file).stderr(second).process_group(0);
        match command.spawn() {
            Ok(child) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                Ok(Self { child, words: words.join(" "), output: path, code: None })
            }
            Err(error) => {
                // It is empty, and ours.
                if output.is_none() {
                    let _ = std::fs::remove_file(&path);
                }
                Err(CommandError::Start { program: program.to_string_lossy().into_owned(), error })
            }
        }
    }

    /// What was started, as one line.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file with its output.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// Its exit code, 128+N for signal N; `None` while it runs.
    pub fn ended(&mut self) -> Option<u8> {
        if self.code.is_none() {
            // The only error is that somebody else has waited for it: then its code is lost.
            let status = match self.child.try_wait() {
                Ok(status) => status?,
                Err(_) => return Some(u8::MAX),
            };
            let signal = status.signal().map(|signal| 128u8.saturating_add(signal as u8));
            self.code = signal.or(status.code().map(|code| code as u8));
        }
        self.code
    }
}

/// The file for the output: the one asked for, or a new one in the folder for temporary files.
fn create(asked: Option<&Path>, program: &std::ffi::OsStr) -> Result<(PathBuf, File), CommandError> {
    if let Some(path) = asked {
        let file = File::create(path).map_err(|error| CommandError::Output { path: path.to_owned(), error })?;
        return Ok((path.to_owned(), file));
    }
    let program = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let folder = std::env::temp_dir();
    let me = std::process::id();
    let mut n = 0;
    loop {
        let more = if n == 0 { String::new() } else { format!("-{n}") };
        let path = folder.join(format!("umtop-{program}-{me}{more}.log"));
        // Never over what is there: the folder is everybody's.
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && n < 100 => n += 1,
            Err(error) => return Err(CommandError::Output { path, error }),
        }
    }
}
