//! Why NVML cannot be used, each with what to do.

use crate::event::Why;
use nvml_wrapper::error::NvmlError as Raw;

/// An error of starting NVML.
#[derive(Debug, thiserror::Error)]
pub enum NvmlError {
    /// The library is not there.
    #[error(
        "NVML (libnvidia-ml.so.1) is missing: install the NVIDIA driver, or in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    )]
    LibraryMissing,
    /// A library was found that is not the driver's.
    #[error("NVML is a stub or too old ({0}): remove CUDA's stubs folder from LD_LIBRARY_PATH, or update the driver")]
    NotTheDrivers(String),
    /// The kernel module is not loaded.
    #[error("the NVIDIA kernel module is not loaded: run nvidia-smi, or modprobe nvidia, and look at dmesg")]
    DriverNotLoaded,
    /// The library and the kernel module are of different versions.
    #[error(
        "NVML and the loaded kernel module have different versions: reboot, or reload the module after the driver update"
    )]
    VersionMismatch,
    /// Device nodes may not be opened.
    #[error("NVML may not open the GPU: check the rights of /dev/nvidia* and the container's device rules")]
    Denied,
    /// The GPU fell off the bus or needs a reset.
    #[error("the GPU is lost or needs a reset: look for Xid in dmesg; a reboot may be needed")]
    GpuLost,
    /// No GPU of that UUID.
    #[error("NVML does not know the GPU {0}: it may be hidden from this container, or be a MIG slice")]
    NoSuchGpu(String),
    /// The UUID is that of a part of a GPU.
    #[error(
        "{0} is a MIG slice, for which NVML has neither PCIe nor utilisation: choose a whole GPU in CUDA_VISIBLE_DEVICES"
    )]
    MigSlice(String),
    /// No GPU is named, and there is none or more than one.
    #[error("NVML shows {0} GPUs, so that it is not known which one to read: PCIe and VRAM are n/a")]
    NotOne(u32),
    /// The driver fails without a reason, as it does where a container has lost its device rules.
    #[error(
        "NVML says no more than 'unknown error': in a container restart it, it may have lost its device rules; else look for Xid in dmesg"
    )]
    Unknown,
    /// No answer.
    #[error("NVML does not answer, the driver hangs: look for Xid in dmesg")]
    Stalled,
    /// Anything else.
    #[error("NVML cannot start ({0})")]
    Other(String),
    /// A thread cannot be started.
    #[error("cannot start the thread that asks NVML ({0})")]
    Thread(std::io::Error),
}

impl NvmlError {
    /// What an error of the initialisation means.
    pub(super) fn of_init(raw: &Raw) -> Self {
        match raw {
            Raw::LibloadingError(_) | Raw::LibraryNotFound => NvmlError::LibraryMissing,
            Raw::FailedToLoadSymbol(symbol) => NvmlError::NotTheDrivers(one_line(symbol)),
            Raw::FunctionNotFound => NvmlError::NotTheDrivers("a function is missing".to_owned()),
            Raw::DriverNotLoaded => NvmlError::DriverNotLoaded,
            Raw::LibRmVersionMismatch => NvmlError::VersionMismatch,
            Raw::NoPermission | Raw::OperatingSystem => NvmlError::Denied,
            Raw::GpuLost | Raw::ResetRequired => NvmlError::GpuLost,
            Raw::Unknown => NvmlError::Unknown,
            other => NvmlError::Other(one_line(&other.to_string())),
        }
    }

    /// What an error of finding a GPU again means for all its readings.
    pub(super) fn why(&self) -> Why {
        match self {
            NvmlError::Denied => Why::Denied(self.to_string()),
            _ => Why::Lost(self.to_string()),
        }
    }
}

/// What an error of a single call means for the reading.
pub(super) fn why(what: &str, raw: &Raw) -> Why {
    match raw {
        Raw::NotSupported | Raw::FailedToLoadSymbol(_) | Raw::FunctionNotFound => {
            Why::NotSupported(format!("this GPU or driver gives no {what}"))
        }
        Raw::NoPermission => Why::Denied(format!("{what} needs rights that an administrator can give")),
        Raw::GpuLost | Raw::ResetRequired => Why::Lost("the GPU is lost: look for Xid in dmesg".to_owned()),
        Raw::Timeout => Why::Stalled(format!("NVML timed out over {what}")),
        other => Why::Lost(format!("{what}: {}", one_line(&other.to_string()))),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_can_mend_is_told_apart() {
        let line = |raw| NvmlError::of_init(&raw).to_string();
        assert!(line(Raw::LibRmVersionMismatch).contains("reboot"));
        assert!(line(Raw::DriverNotLoaded).contains("modprobe"));
        assert!(line(Raw::FailedToLoadSymbol("nvmlInit_v2".into())).contains("stub"));
        assert!(line(Raw::UnexpectedVariant(27)).contains("27"));
        assert!(!line(Raw::FailedToLoadSymbol("a\nb".into())).contains('\n'));
    }

    #[test]
    fn a_failing_call_is_an_absence_with_its_kind() {
        assert!(matches!(why("power", &Raw::NotSupported), Why::NotSupported(_)));
        assert!(matches!(why("power", &Raw::NoPermission), Why::Denied(_)));
        assert!(matches!(why("power", &Raw::GpuLost), Why::Lost(_)));
    }
}
