//! What can go wrong when a device is commanded.

use crate::units::Bytes;

/// An error of a device; driver errors keep the raw code and the name of the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// libcuda is not there or is too old; the text says which and what to do.
    #[error("{0}")]
    Unusable(String),
    /// A driver call failed.
    #[error("{call} failed with {name} ({code}){}", if hint.is_empty() { String::new() } else { format!(": {hint}") })]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The raw `CUresult`.
        code: u32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// What to do, if known.
        hint: String,
        /// Whether every later call on the context will fail too.
        sticky: bool,
    },
    /// This buffer or kind of memory cannot do that.
    #[error("{0}")]
    Misuse(String),
    /// An allocation that would not fit.
    #[error("{wanted} does not fit: {free} free")]
    NoRoom {
        /// Asked for.
        wanted: Bytes,
        /// What there is.
        free: Bytes,
    },
}

impl DeviceError {
    /// Whether the context is lost and [`super::Device::recover`] must be tried.
    pub fn sticky(&self) -> bool {
        matches!(self, DeviceError::Driver { sticky: true, .. })
    }
}

/// Outcome of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A known kernel ran and gave the right result.
    Verified,
    /// The device cannot be used again in this process: umtop must be restarted.
    RestartNeeded,
}
