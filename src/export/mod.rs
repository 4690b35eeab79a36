//! A recording as tables and traces for other programs. Everything is streamed: a long recording needs no more memory than a
//! short one.

mod rows;
mod table;
mod trace;

pub use rows::{Number, Row, rows};
pub use table::{csv, json_lines};
pub use trace::trace;

use crate::recording::ReadError;
use std::io;

/// Why an export did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be read; what was exported before is whole.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}
