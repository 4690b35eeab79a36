//! Where a recording lies: in a file, or in the program itself.

use super::{ReadError, Reader};
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

/// A recording that can be opened as often as needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A file.
    File(PathBuf),
    /// Bytes of the program, with a name for messages.
    Bundled(&'static str, &'static [u8]),
}

impl Stored {
    /// The recording in a file.
    pub fn file(path: &Path) -> Self {
        Self::File(path.to_owned())
    }

    /// Opens it at its beginning and checks its first line.
    pub fn open(&self) -> Result<Reader, ReadError> {
        match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|error| ReadError::Io { path: path.clone(), error })?;
                // Opening a directory succeeds; reading it does not, with an error that says so.
                Reader::new(self.name(), Box::new(BufReader::new(file)))
            }
            Self::Bundled(_, bytes) => Reader::new(self.name(), Box::new(Cursor::new(*bytes))),
        }
    }

    /// What it is called in messages.
    pub fn name(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Bundled(name, _) => PathBuf::from(name),
        }
    }
}
