//! Writing a recording.

use super::{FORMAT, FirstLine, MAJOR, MINOR};
use crate::event::Event;
use crate::units::{Nanos, Stamp};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use zstd::stream::write::Encoder;

/// zstd level: events are small and come slowly, so the default is cheap enough.
const ZSTD_LEVEL: i32 = 3;
/// A frame is closed after this much session time: what a crash can lose.
const FRAME: Nanos = Nanos::millis(1_000);

/// Why a recording could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is never overwritten.
    #[error("{0} exists: choose another name or remove it")]
    Exists(PathBuf),
    /// The system refused.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Writes one recording. Call [`Writer::finish`]; a dropped writer leaves what the last frame held.
pub struct Writer {
    path: PathBuf,
    encoder: Option<Encoder<'static, BufWriter<File>>>,
    frame_began: Option<Stamp>,
}

impl Writer {
    /// Creates the file and writes the first line.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let io = |error| WriteError::Io { path: path.to_owned(), error };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
            _ => io(error),
        })?;
        let encoder = Encoder::new(BufWriter::new(file), ZSTD_LEVEL).map_err(io)?;
        let mut writer = Self { path: path.to_owned(), encoder: Some(encoder), frame_began: None };
        let first = FirstLine {
            format: FORMAT.to_owned(),
            major: MAJOR,
            minor: MINOR,
            umtop: env!("CARGO_PKG_VERSION").to_owned(),
        };
        writer.line(&serde_json::to_vec(&first).unwrap_or_default())?;
        Ok(writer)
    }

    /// Appends an event.
    pub fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        let began = *self.frame_began.get_or_insert(event.at);
        if event.at.since(began) >= FRAME {
            self.next_frame()?;
            self.frame_began = Some(event.at);
        }
        let line = serde_json::to_vec(event).map_err(|e| self.io(io::Error::other(e)))?;
        self.line(&line)
    }

    /// Closes the last frame and the file.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        encoder.finish().and_then(|mut file| file.flush()).map_err(|e| self.io(e))
    }

    fn line(&mut self, line: &[u8]) -> Result<(), WriteError> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        let written = encoder.write_all(line).and_then(|()| encoder.write_all(b"\n"));
        written.map_err(|e| self.io(e))
    }

    fn next_frame(&mut self) -> Result<(), WriteError> {
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        let fresh = encoder
            .finish()
            .and_then(|mut file| file.flush().map(|()| file))
            .and_then(|file| Encoder::new(file, ZSTD_LEVEL));
        self.encoder = Some(fresh.map_err(|e| self.io(e))?);
        Ok(())
    }

    fn io(&self, error: io::Error) -> WriteError {
        WriteError::Io { path: self.path.clone(), error }
    }
}
