//! Recordings (`.umr`): newline-delimited JSON in zstd, a frame a second so that a crash loses at most that.
//!
//! The first line names the format and its version; every further line is an [`crate::event::Event`], the first of which
//! is the header. Nothing derived is stored: the fold computes it anew.

mod plausible;
mod read;
mod stored;
mod write;

pub use read::{ReadError, Reader};
pub use stored::Stored;
pub use write::{WriteError, Writer};

use serde::{Deserialize, Serialize};

/// Name of the format in its first line.
pub const FORMAT: &str = "umtop-recording";
/// Another major version cannot be read.
pub const MAJOR: u32 = 1;
/// A newer minor version has facts that this program does not know.
pub const MINOR: u32 = 1;
/// Longest line that is read, in bytes. A window with every block of 4 GiB active is below 200 kB.
pub const MAX_LINE: usize = 4 << 20;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLine {
    /// [`FORMAT`].
    pub format: String,
    /// [`MAJOR`] of the writer.
    pub major: u32,
    /// [`MINOR`] of the writer.
    pub minor: u32,
    /// Version of umtop that wrote it.
    pub umtop: String,
}

#[cfg(test)]
mod tests;
