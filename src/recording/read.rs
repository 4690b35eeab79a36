//! Reading a recording.

use super::plausible::plausible;
use super::{FORMAT, FirstLine, MAJOR, MAX_LINE, MINOR, Stored};
use crate::event::{Body, Event};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use zstd::stream::read::Decoder;

/// zstd's `ZSTD_MAGICNUMBER`, little-endian.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Largest window that a frame may ask for, as a power of two: 16 MiB. umtop's own frames need 2 MiB at most.
const MAX_WINDOW_LOG: u32 = 24;
/// Most ranges of memory that are alive at a time: a workload has a million allocations at most.
const MAX_RANGES: u64 = 1 << 21;
/// Longest part of a foreign text in a message, in characters.
const MAX_QUOTED: usize = 160;

/// Compressed bytes from wherever they are.
pub(super) type Input = Box<dyn BufRead + Send>;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something else.
    #[error("{0} is not a umtop recording")]
    NotARecording(PathBuf),
    /// Written by a newer umtop.
    #[error(
        "{path} was written by umtop {umtop} in format {major}.{minor}, this umtop reads up to {MAJOR}.{MINOR}: \
         install umtop {umtop} or newer"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its writer.
        umtop: String,
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// A line makes no sense.
    #[error("{path}, line {line}: {message}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Which, from 1.
        line: u64,
        /// Why.
        message: String,
    },
}

/// Reads events one by one, in bounded memory. A cut end is a normal end: see [`Reader::cut`].
pub struct Reader {
    path: PathBuf,
    input: BufReader<Decoder<'static, Input>>,
    line: u64,
    /// Ranges of memory that are alive.
    ranges: u64,
    cut: bool,
}

impl Reader {
    /// Opens a recording in a file and checks its first line.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Stored::file(path).open()
    }

    /// Reads a recording from anywhere; `path` is its name in messages.
    pub(super) fn new(path: PathBuf, mut input: Input) -> Result<Self, ReadError> {
        let io = |error| ReadError::Io { path: path.clone(), error };
        if input.fill_buf().map_err(io)?.get(..4) != Some(&ZSTD_MAGIC) {
            return Err(ReadError::NotARecording(path));
        }
        let mut decoder = Decoder::with_buffer(input).map_err(io)?;
        decoder.window_log_max(MAX_WINDOW_LOG).map_err(io)?;
        let input = BufReader::new(decoder);
        let mut reader = Self { path: path.clone(), input, line: 0, ranges: 0, cut: false };
        let Some(first) = reader.next_line()? else { return Err(ReadError::NotARecording(path)) };
        let Ok(first) = serde_json::from_slice::<FirstLine>(&first) else { return Err(ReadError::NotARecording(path)) };
        if first.format != FORMAT {
            return Err(ReadError::NotARecording(path));
        }
        if first.major != MAJOR || first.minor > MINOR {
            let FirstLine { umtop, major, minor, .. } = first;
            let umtop = one_line(&umtop);
            return Err(ReadError::Newer { path, umtop, major, minor });
        }
        Ok(reader)
    }

    /// The next event; `None` at the end.
    pub fn next_event(&mut self) -> Result<Option<Event>, ReadError> {
        let Some(line) = self.next_line()? else { return Ok(None) };
        let event: Event = serde_json::from_slice(&line).map_err(|error| self.bad(error.to_string()))?;
        plausible(&event).map_err(|what| self.bad(what.to_owned()))?;
        match &event.body {
            Body::Allocated(_) => self.ranges += 1,
            Body::Freed { .. } => self.ranges = self.ranges.saturating_sub(1),
            _ => {}
        }
        if self.ranges > MAX_RANGES {
            return Err(self.bad(format!("more than {MAX_RANGES} ranges of memory at a time")));
        }
        Ok(Some(event))
    }

    /// Whether the end was cut off, as a crash of the writer leaves it.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// A whole line without its end; `None` at the end of the file or where it is cut.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.input).take(MAX_LINE as u64 + 1);
        match bounded.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.cut = true;
                return Ok(None);
            }
            Err(error) => return Err(self.bad(error.to_string())),
        }
        self.line += 1;
        if line.pop() == Some(b'\n') {
            return Ok(Some(line));
        }
        if line.len() >= MAX_LINE {
            return Err(self.bad(format!("longer than {MAX_LINE} bytes")));
        }
        self.cut = true;
        Ok(None)
    }

    fn bad(&self, message: String) -> ReadError {
        ReadError::Line { path: self.path.clone(), line: self.line.max(1), message: one_line(&message) }
    }
}

/// A text of the file in a message: one line, not too long, and without control characters.
fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_QUOTED).collect();
    if text.chars().count() > MAX_QUOTED {
        line.push('…');
    }
    line
}
