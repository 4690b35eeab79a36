//! Who, where, with what.

use super::{Caps, Why};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Whether facts come from hardware or from the simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on real hardware.
    Measured,
    /// Computed by the simulator.
    Simulated {
        /// Name of the simulated machine.
        profile: String,
        /// Why the simulator runs: asked for, or what is missing for a real run.
        reason: String,
    },
}

/// The GPU that runs the workload and is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// Product name.
    pub name: String,
    /// `GPU-xxxxxxxx-xxxx-…`.
    pub uuid: String,
    /// PCI address, `0000:65:00.0`.
    pub pci: String,
    /// Driver version, such as `580.159`.
    pub driver: String,
    /// CUDA version of the driver, such as `13.0`.
    pub cuda: String,
    /// Compute capability, such as `9.0`.
    pub compute: String,
    /// Memory of the card; 0 if it cannot be read.
    pub vram: Bytes,
    /// PCIe generation and lanes at best, if known.
    pub link_max: Option<(u32, u32)>,
}

/// What carries copies between two GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carrier {
    /// NVLink, by way of switches or not.
    #[serde(rename = "nvlink")]
    NvLink,
    /// PCIe, directly or by way of the host's memory.
    #[serde(rename = "pcie")]
    Pcie,
    /// Nobody tells, and why.
    #[serde(rename = "unknown")]
    Unknown(Why),
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Carrier::NvLink => f.write_str("NVLink"),
            Carrier::Pcie => f.write_str("PCIe"),
            Carrier::Unknown(why) => write!(f, "n/a: {why}"),
        }
    }
}

/// The GPU that a workload of two uses beside the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondGpu {
    /// Product name.
    pub name: String,
    /// `GPU-xxxxxxxx-xxxx-…`.
    pub uuid: String,
    /// PCI address, `0000:65:00.0`.
    pub pci: String,
    /// What carries copies between it and the first.
    pub carrier: Carrier,
}

/// The host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// Operating system and kernel.
    pub kernel: String,
    /// Processor.
    pub cpu: String,
    /// Logical processors.
    pub cores: u32,
    /// Memory.
    pub memory: Bytes,
}

/// One probe: what it reads, how, how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeInfo {
    /// Name, such as `nvml pcie`.
    pub name: String,
    /// Method, such as `GPM metrics 20/21, pairs 100 ms apart`.
    pub method: String,
    /// Period of polling.
    pub period: Nanos,
    /// Limits and remarks; empty if none.
    pub note: String,
    /// What a poll costs, as measured; empty if that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cost: String,
}

/// The first event of a session and the first line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of umtop that wrote it.
    pub umtop: String,
    /// Wall-clock time of the session's zero, RFC 3339 in UTC.
    pub started: String,
    /// Measured or simulated.
    pub origin: Origin,
    /// The GPU; `None` if there is none.
    pub gpu: Option<GpuInfo>,
    /// The second GPU; `None` if there is none, and in recordings of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_gpu: Option<SecondGpu>,
    /// The host.
    pub host: HostInfo,
    /// What the device can do.
    pub caps: Caps,
    /// The UVM driver's live module parameters, by name.
    pub uvm_params: BTreeMap<String, String>,
    /// The probes that run.
    pub probes: Vec<ProbeInfo>,
}
