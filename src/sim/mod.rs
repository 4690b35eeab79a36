//! The simulated machine: one virtual world with the faces of a device, a tracer and probes, all on one virtual clock.
//!
//! No data is held and no real time passes; what is simulated is where pages live and how long it takes to move them, after
//! the published sources of NVIDIA's UVM driver and a real card's figures. `docs/simulator.md` says how, how near it comes
//! and what is not modelled.
//!
//! A kernel's line: `lanes` (which pages its threads meet) → `front` and `queue` (who stands still, whose faults arrive when) →
//! `buffer` (batches, duplicates, flush) → `gpu` (the service loop) → `service` (one block: decide, fetch around,
//! `copy`, map), with `thrash` and `prefetch` asked on the way. The CPU's faults go from `cpu` to `service` at
//! once, the program's own wishes through `user`.

mod block;
mod buffer;
mod copy;
mod cpu;
mod device;
mod front;
mod gpu;
mod home;
mod lanes;
mod mapped;
mod observe;
mod order;
mod overlap;
mod pages;
mod params;
mod prefetch;
mod profile;
mod queue;
mod rng;
mod service;
mod side;
#[cfg(test)]
mod tests;
mod thrash;
mod touch;
mod trace;
mod user;
mod windows;
mod world;

pub use device::SimDevice;
pub use observe::SimTracer;
pub use profile::names;

use crate::event::{GpuInfo, SecondGpu};
use crate::probe::Probe;
use device::Shared;
use params::Params;
use std::collections::BTreeMap;

/// Why there is no simulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// No profile of that name.
    #[error("there is no simulated machine '{name}': choose one of {bundled}")]
    Unknown {
        /// Asked for.
        name: String,
        /// Those that exist.
        bundled: String,
    },
    /// A bundled profile cannot be read.
    #[error("the profile '{name}' is broken: {why}")]
    Broken {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A parameter of the simulated driver cannot be set so.
    #[error("--sim-param {text}: {why}")]
    Parameter {
        /// As asked for.
        text: String,
        /// What is allowed.
        why: String,
    },
}

/// A simulated machine and all of its faces.
pub struct Simulation {
    /// To command it. Each call moves the virtual clock, which starts at 0.
    pub device: SimDevice,
    /// To choose what its driver tells; at level off at first.
    pub tracer: SimTracer,
    /// To observe it: poll each after every call of the device, with the device's time.
    pub probes: Vec<Box<dyn Probe>>,
    /// Its card.
    pub gpu: GpuInfo,
    /// The other one, where it has two.
    pub second_gpu: Option<SecondGpu>,
    /// Name of the profile.
    pub profile_name: String,
    /// The simulated driver's parameters, by the names of the module's.
    pub params: BTreeMap<String, String>,
}

/// Opens a simulated machine by the name of a bundled profile ([`names`]), its driver as it is by default.
///
/// # Errors
/// If there is no such profile.
pub fn open(profile: &str) -> Result<Simulation, SimError> {
    open_with(profile, &[])
}

/// Opens one with some of its driver's parameters set, each as `NAME=VALUE`.
///
/// # Errors
/// If there is no such profile, no such parameter, or no such value of it: one line that says what there is.
pub fn open_with(profile: &str, set: &[String]) -> Result<Simulation, SimError> {
    let mut params = Params::default();
    set.iter().try_for_each(|text| params.set(text))?;
    Ok(assemble(profile, profile::Profile::bundled(profile)?, params))
}

fn assemble(name: &str, profile: profile::Profile, params: Params) -> Simulation {
    let (gpu, second_gpu) = (profile.gpu_info(), profile.second_gpu());
    let world = Shared::new(world::World::new(profile, params));
    Simulation {
        device: SimDevice::new(world.clone()),
        tracer: SimTracer::new(world.clone()),
        probes: vec![
            Box::new(observe::CardProbe::new(world.clone())),
            Box::new(observe::UvmProbe::new(world.clone())),
            Box::new(mapped::MappedProbe::new(world)),
        ],
        gpu,
        second_gpu,
        profile_name: name.to_owned(),
        params: params.list(),
    }
}
