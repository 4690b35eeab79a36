//! The header of a session. Wall time is read here and nowhere else.

use crate::device::Device;
use crate::event::{Caps, GpuInfo, Header, Origin, ProbeInfo, SecondGpu};
use crate::probe::{host, uvm};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// Puts together what is known at the start: the GPU and, if there is one, the second; `uvm_params` are the driver's
/// parameters by name.
pub(super) fn header(
    origin: Origin,
    (gpu, second_gpu): (GpuInfo, Option<SecondGpu>),
    device: &dyn Device,
    uvm_params: BTreeMap<String, String>,
    probes: Vec<ProbeInfo>,
) -> Header {
    Header {
        umtop: env!("CARGO_PKG_VERSION").to_owned(),
        started: wall_clock(),
        origin,
        gpu: Some(gpu),
        second_gpu,
        host: host::host_info(),
        caps: device.caps().clone(),
        uvm_params,
        probes,
    }
}

/// The header of a session over another process; its GPU becomes known when the process has a context.
pub(super) fn watching(caps: Caps, probes: Vec<ProbeInfo>) -> Header {
    Header {
        umtop: env!("CARGO_PKG_VERSION").to_owned(),
        started: wall_clock(),
        origin: Origin::Measured,
        gpu: None,
        second_gpu: None,
        host: host::host_info(),
        caps,
        uvm_params: uvm::module_parameters(),
        probes,
    }
}

fn wall_clock() -> String {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads wall time")]
    let now = SystemTime::now();
    humantime::format_rfc3339_seconds(now).to_string()
}
