//! Opening the library and finding a GPU.

use super::error::{NvmlError, why};
use super::pcie::{self, PcieSource};
use crate::event::Why;
use crate::units::Nanos;
use crossbeam_channel::bounded;
use nvml_wrapper::error::NvmlError as Raw;
use nvml_wrapper::{Device, Nvml};
use std::ffi::OsStr;
use std::time::Duration;

/// Name under which the driver installs the library.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

/// The library, initialised.
pub(super) struct Opened(Nvml);

/// Loads and initialises the library. May hang if the driver does: call it on a thread that may.
pub(super) fn open(library: &OsStr) -> Result<Opened, NvmlError> {
    let nvml = Nvml::builder().lib_path(library).init().map_err(|raw| NvmlError::of_init(&raw))?;
    if nvml.lib().nvmlShutdown.is_err() {
        // The wrapper calls it when it is dropped, and panics if it is not there.
        std::mem::forget(nvml);
        return Err(NvmlError::NotTheDrivers("nvmlShutdown is missing".to_owned()));
    }
    Ok(Opened(nvml))
}

impl Opened {
    /// The GPU of that UUID.
    pub(super) fn device(&self, uuid: &str) -> Result<Device<'_>, NvmlError> {
        self.0.device_by_uuid(uuid).map_err(|raw| match raw {
            Raw::NotFound | Raw::InvalidArg => self.unknown(uuid),
            other => NvmlError::of_init(&other),
        })
    }

    /// CUDA writes the UUID of a MIG slice as if it were a GPU's.
    fn unknown(&self, uuid: &str) -> NvmlError {
        let slice = format!("MIG-{}", uuid.trim_start_matches("GPU-").trim_start_matches("MIG-"));
        match self.0.device_by_uuid(slice.as_str()) {
            Ok(_) => NvmlError::MigSlice(slice),
            Err(_) => NvmlError::NoSuchGpu(uuid.to_owned()),
        }
    }

    /// The GPU of a machine that has one.
    pub(super) fn only(&self) -> Result<Device<'_>, NvmlError> {
        match self.0.device_count().map_err(|raw| NvmlError::of_init(&raw))? {
            1 => self.0.device_by_index(0).map_err(|raw| NvmlError::of_init(&raw)),
            n => Err(NvmlError::NotOne(n)),
        }
    }

    /// CUDA version of the driver: major, minor.
    pub(super) fn cuda_version(&self) -> Option<(i32, i32)> {
        let version = self.0.sys_cuda_driver_version().ok()?;
        Some((version / 1000, version % 1000 / 10))
    }

    /// Version of the driver.
    pub(super) fn driver_version(&self) -> Option<String> {
        self.0.sys_driver_version().ok()
    }
}

/// What `umtop doctor` wants to know about NVML.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmlSurvey {
    /// Version of the driver.
    pub driver: Option<String>,
    /// Each PCIe source of the first GPU, and why it does not work; empty without a GPU.
    pub pcie: Vec<(PcieSource, Result<(), Why>)>,
}

/// Opens NVML and tries every PCIe source on the GPU of that UUID (about 700 ms). Answers within `deadline`.
pub fn survey(uuid: Option<&str>, deadline: Duration) -> Result<NvmlSurvey, NvmlError> {
    let (answer, answered) = bounded(1);
    let uuid = uuid.map(str::to_owned);
    std::thread::Builder::new()
        .name("umtop-nvml".to_owned())
        .spawn(move || drop(answer.send(look(uuid.as_deref()))))
        .map_err(NvmlError::Thread)?;
    answered.recv_timeout(deadline).map_err(|_| NvmlError::Stalled)?
}

fn look(uuid: Option<&str>) -> Result<NvmlSurvey, NvmlError> {
    let opened = open(OsStr::new(LIBRARY))?;
    let mut survey = NvmlSurvey { driver: opened.driver_version(), pcie: Vec::new() };
    if let Some(uuid) = uuid {
        let device = opened.device(uuid)?;
        let (_never, silence) = bounded::<()>(0);
        let mut wait = |time: Nanos| {
            let _ = silence.recv_timeout(Duration::from_nanos(time.0));
        };
        for source in PcieSource::ALL {
            let works = pcie::works(&device, source, &mut wait).map_err(|raw| why(source.name(), &raw));
            let works = match source {
                PcieSource::Gpm => works.and_then(|()| pcie::speaks(&device, &mut wait)),
                _ => works,
            };
            survey.pcie.push((source, works));
        }
    }
    Ok(survey)
}
