//! What `cuda::survey` found out about the machine's driver and GPUs: plain data for `umtop doctor` and GPU choice.

use crate::units::Bytes;

/// Findings about libcuda and its devices, each failure a line that says what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// libcuda was found, holds every function that umtop calls, and is no stub.
    pub library: Result<(), String>,
    /// `cuInit` succeeded.
    pub init: Result<(), String>,
    /// CUDA version of the driver, such as `13.0`.
    pub cuda_version: Option<String>,
    /// The GPUs, in CUDA's order (after `CUDA_VISIBLE_DEVICES`).
    pub gpus: Vec<GpuSurvey>,
}

/// One GPU and its unified-memory attributes.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "five attributes of the driver, each a yes or no")]
pub struct GpuSurvey {
    /// CUDA ordinal.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// `GPU-xxxxxxxx-…`, the same text as NVML's.
    pub uuid: String,
    /// `0000:65:00.0`.
    pub pci: String,
    /// Compute capability, `9.0`.
    pub compute: String,
    /// Memory of the card.
    pub vram: Bytes,
    /// `CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY`.
    pub managed: bool,
    /// `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`.
    pub concurrent: bool,
    /// `CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS`.
    pub pageable: bool,
    /// `CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES`.
    pub host_page_tables: bool,
    /// `CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY`.
    pub map_host: bool,
}
