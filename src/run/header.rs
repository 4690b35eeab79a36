//! The header of a session. Wall time is read here and nowhere else.

use crate::device::Device;
use crate::event::{GpuInfo, Header, Origin, ProbeInfo};
use crate::probe::{host, uvm};
use crate::sim::Simulation;
use std::time::SystemTime;

/// Puts together what is known at the start.
pub(super) fn header(origin: Origin, gpu: GpuInfo, device: &dyn Device, probes: Vec<ProbeInfo>) -> Header {
    let uvm_params = match origin {
        Origin::Measured => uvm::module_parameters(),
        Origin::Simulated { .. } => Default::default(),
    };
    Header {
        umtop: env!("CARGO_PKG_VERSION").to_owned(),
        started: wall_clock(),
        origin,
        gpu: Some(gpu),
        host: host::host_info(),
        caps: device.caps().clone(),
        uvm_params,
        probes,
    }
}

/// The header of a simulated session; `reason` says why the simulator runs.
pub fn simulated(simulation: &Simulation, reason: &str) -> Header {
    let probes = simulation.probes.iter().map(|p| p.info()).collect();
    let origin = Origin::Simulated { profile: simulation.profile_name.clone(), reason: reason.to_owned() };
    header(origin, simulation.gpu.clone(), &simulation.device, probes)
}

fn wall_clock() -> String {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads wall time")]
    let now = SystemTime::now();
    humantime::format_rfc3339_seconds(now).to_string()
}
