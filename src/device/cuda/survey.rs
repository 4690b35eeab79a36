//! What the driver says about itself and its GPUs, without taking a context on any.
#![allow(unsafe_code)]

use super::error::STUB_LIBRARY;
use super::ffi::{Driver, driver};
use crate::device::{DeviceError, GpuSurvey, Survey};
use crate::event::{Carrier, GpuInfo, SecondGpu, Why};
use crate::units::Bytes;
use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute, CUuuid};
use std::ffi::{CStr, c_char, c_int};

/// Looks at the machine's driver and GPUs. Never panics, and takes no memory on a GPU.
pub fn survey() -> Survey {
    let nothing = |library, init| Survey { library, init, cuda_version: None, gpus: Vec::new() };
    let driver = match driver() {
        Ok(driver) => driver,
        Err(line) => return nothing(Err(line.clone()), Err(line)),
    };
    // SAFETY: the first call of the driver; it may be repeated.
    match unsafe { driver.cuInit(0) } {
        Ok(()) => {}
        Err(error @ DeviceError::Driver { code: STUB_LIBRARY, .. }) => {
            return nothing(Err(error.to_string()), Err(error.to_string()));
        }
        Err(error) => {
            let cuda_version = cuda_version(driver).ok();
            return Survey { cuda_version, ..nothing(Ok(()), Err(error.to_string())) };
        }
    }
    match gpus(driver) {
        Ok(gpus) => Survey { library: Ok(()), init: Ok(()), cuda_version: cuda_version(driver).ok(), gpus },
        Err(error) => nothing(Ok(()), Err(error.to_string())),
    }
}

/// The CUDA version that the driver supports, such as `13.0`.
fn cuda_version(driver: &Driver) -> Result<String, DeviceError> {
    let mut version = 0;
    // SAFETY: fills the local.
    unsafe { driver.cuDriverGetVersion(&mut version)? };
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

fn gpus(driver: &Driver) -> Result<Vec<GpuSurvey>, DeviceError> {
    let mut count = 0;
    // SAFETY: fills the local; the driver is initialised.
    unsafe { driver.cuDeviceGetCount(&mut count)? };
    (0..count).map(|ordinal| gpu(driver, ordinal)).collect()
}

/// The driver's handle of the GPU with this index.
pub(super) fn handle(driver: &Driver, ordinal: c_int) -> Result<CUdevice, DeviceError> {
    let mut device = 0;
    // SAFETY: fills the local; an unknown ordinal is an error.
    unsafe { driver.cuDeviceGet(&mut device, ordinal)? };
    Ok(device)
}

fn gpu(driver: &Driver, ordinal: c_int) -> Result<GpuSurvey, DeviceError> {
    let device = handle(driver, ordinal)?;
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: fills the local.
        unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device).map(|()| value) }
    };
    // An attribute that an older driver does not know is one that the GPU does not have there.
    let has = |which| attribute(which).is_ok_and(|value| value != 0);
    let mut vram = 0usize;
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: both fill their local.
    unsafe {
        driver.cuDeviceTotalMem_v2(&mut vram, device)?;
        driver.cuDeviceGetUuid(&mut uuid, device)?;
    }
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(GpuSurvey {
        index: u32::try_from(ordinal).unwrap_or_default(),
        // SAFETY: at most `length` bytes are written at `text`, which has that many.
        name: text(|text, length| unsafe { driver.cuDeviceGetName(text, length, device) })?,
        uuid: uuid_text(uuid.bytes.map(|byte| byte as u8)),
        // SAFETY: as above.
        pci: text(|text, length| unsafe { driver.cuDeviceGetPCIBusId(text, length, device) })?.to_ascii_lowercase(),
        compute: format!("{major}.{minor}"),
        vram: Bytes(vram as u64),
        managed: has(Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY),
        concurrent: has(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
        pageable: has(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
        host_page_tables: has(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
        map_host: has(Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY),
    })
}

fn text(get: impl FnOnce(*mut c_char, c_int) -> Result<(), DeviceError>) -> Result<String, DeviceError> {
    let mut buffer = [0u8; 128];
    get(buffer.as_mut_ptr().cast(), buffer.len() as c_int - 1)?;
    let text = CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy).unwrap_or_default();
    // What would move the terminal's cursor is no part of a name.
    Ok(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
}

/// `GPU-` and the bytes in groups of 4, 2, 2, 2 and 6, as NVML writes it.
fn uuid_text(bytes: [u8; 16]) -> String {
    let mut out = String::from("GPU");
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 0 | 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

/// Version of the kernel module, such as `580.159`, from where Linux shows it; `unknown` elsewhere (WSL2).
fn driver_version() -> String {
    let read = |path| std::fs::read_to_string(path).ok();
    read("/sys/module/nvidia/version")
        .map(|text| text.trim().to_owned())
        .or_else(|| version_in(&read("/proc/driver/nvidia/version")?))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The version in the text of `/proc/driver/nvidia/version`: the first word made of numbers and dots.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let version = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    line.split_whitespace().find(version).map(str::to_owned)
}

/// A GPU of the survey as the header shows it.
pub(super) fn info(gpu: &GpuSurvey, survey: &Survey) -> GpuInfo {
    GpuInfo {
        name: gpu.name.clone(),
        uuid: gpu.uuid.clone(),
        pci: gpu.pci.clone(),
        driver: driver_version(),
        cuda: survey.cuda_version.clone().unwrap_or_else(|| "unknown".to_owned()),
        compute: gpu.compute.clone(),
        vram: gpu.vram,
        link_max: None,
    }
}

/// The same of the second one.
pub(super) fn second(gpu: &GpuSurvey) -> SecondGpu {
    SecondGpu {
        name: gpu.name.clone(),
        uuid: gpu.uuid.clone(),
        pci: gpu.pci.clone(),
        carrier: Carrier::Unknown(Why::NotSupported("NVML does not work here, which knows the link".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_never_panics_and_gives_a_reason_for_what_it_lacks() {
        let survey = survey();
        for result in [&survey.library, &survey.init] {
            if let Err(line) = result {
                assert!(line.len() > 20, "{line}");
                assert!(survey.gpus.is_empty());
            }
        }
        assert!(survey.library.is_ok() || survey.init.is_err());
    }

    #[test]
    fn uuids_are_written_as_nvml_does() {
        let bytes: [u8; 16] = std::array::from_fn(|i| i as u8 * 16 + 1);
        assert_eq!(uuid_text(bytes), "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    }

    #[test]
    fn the_module_version_is_found_in_both_flavours() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (root)\nGCC version:  gcc 12.2\n";
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54  Tue Jun\n";
        assert_eq!(version_in(open).as_deref(), Some("580.159.03"));
        assert_eq!(version_in(closed).as_deref(), Some("535.54"));
        assert_eq!(version_in("nothing here"), None);
    }
}
