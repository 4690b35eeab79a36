//! Why the UVM tools device cannot be used, each with what to do.

use crate::event::Why;
use std::io;

/// An error of the tools device.
#[derive(Debug, thiserror::Error)]
pub enum UvmError {
    /// No device node.
    #[error(
        "/dev/nvidia-uvm-tools is missing: load the module (nvidia-modprobe -u -c=0), or in a container pass --device /dev/nvidia-uvm-tools"
    )]
    NodeMissing,
    /// WSL2 has no UVM module of its own.
    #[error("WSL2 has no UVM tools device, and no page migration to watch: use Linux on the machine itself")]
    Wsl,
    /// The node may not be opened.
    #[error("/dev/nvidia-uvm-tools may not be opened: ask an administrator for mode 0666 (nvidia-modprobe -u sets it)")]
    NodeDenied,
    /// The node could not be opened for another reason.
    #[error("/dev/nvidia-uvm-tools cannot be opened ({0})")]
    NodeFailed(io::Error),
    /// The process has no initialised UVM file.
    #[error("the process has no CUDA context yet: Unified Memory can be watched once it has made one")]
    NotInitialised,
    /// The driver refused.
    #[error("the UVM driver refused to {doing}: {} (status 0x{status:02x})", status_meaning(*status))]
    Refused {
        /// What was asked.
        doing: &'static str,
        /// The driver's status code.
        status: u32,
    },
    /// The ioctl itself failed.
    #[error("the UVM driver does not know how to {doing}: {error}; this driver's interface is another than umtop's")]
    Ioctl {
        /// What was asked.
        doing: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// What the driver delivered made no sense.
    #[error("this driver's tools interface is another than umtop's: {0}")]
    OtherInterface(String),
    /// No memory for the queue.
    #[error("no memory for the event queue: {0}")]
    NoMemory(io::Error),
    /// The thread cannot be started.
    #[error("cannot start the thread that reads the UVM driver: {0}")]
    Thread(io::Error),
    /// The thread does not answer.
    #[error("the UVM driver has not answered for 2 s")]
    Stalled,
}

/// The driver's status for a UVM file without an initialised address space.
pub(super) const ILLEGAL_ACTION: u32 = 0x16;
/// The driver's status when it cannot pin the buffers.
pub(super) const NO_MEMORY: u32 = 0x51;

fn status_meaning(status: u32) -> &'static str {
    match status {
        ILLEGAL_ACTION => "no CUDA context on that file",
        0x1b => "that is no open UVM file",
        0x1e => "it cannot use the buffer",
        0x1f => "invalid argument, another version of the interface perhaps",
        NO_MEMORY => "it cannot pin the queue's memory; raise the memory limit of the container",
        _ => "see NVIDIA's status codes",
    }
}

impl UvmError {
    /// The reason as readings carry it.
    pub fn why(&self) -> Why {
        let text = self.to_string();
        match self {
            UvmError::NodeDenied => Why::Denied(text),
            UvmError::Stalled => Why::Stalled(text),
            UvmError::OtherInterface(_) => Why::Suspect(text),
            _ => Why::NotSupported(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_one_line_and_known_codes_are_explained() {
        let refused = UvmError::Refused { doing: "watch", status: NO_MEMORY }.to_string();
        assert!(refused.contains("0x51") && refused.contains("pin"), "{refused}");
        for error in [UvmError::NodeMissing, UvmError::Wsl, UvmError::NodeDenied, UvmError::NotInitialised] {
            assert_eq!(error.to_string().lines().count(), 1);
        }
        assert!(matches!(UvmError::NodeDenied.why(), Why::Denied(_)));
    }
}
