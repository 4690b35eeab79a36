//! The simulated machine: one virtual world with the faces of a device, a tracer and probes, all on one virtual clock.
//!
//! No data is held and no real time passes; what is simulated is where pages live and how long it takes to move them.
//!
//! **Modelled**, after the published sources of NVIDIA's UVM driver (580) and with a real card's figures (see
//! `assets/profiles/`): 2 MiB blocks of 4 KiB pages; GPU faults in batches with duplicates, served block by block and
//! replayed; CPU faults one at a time; the density prefetcher; first touch; the order of rules that chooses where a page
//! lives; thrashing with throttling, pinning and remote mappings; read duplication; preferred location and accessed-by;
//! the user's prefetch; eviction of the block that was filled longest ago; the counters and events of the tools device
//! and what watching at level full costs.
//!
//! **Simplified**: which pages fault in a batch, and how often, is drawn from a running front with calibrated numbers, not
//! from a model of multiprocessors and TLBs. A step meets each page at its first visit only: a kernel that comes back to
//! pages which were evicted under it does not fault again. CPU and GPU never run at the same time, so pages thrash only
//! across steps. Costs are constants with a small seeded jitter; caches, DMA mapping and the allocator are not modelled.
//! Writing read-duplicated pages takes about as long as on the card but gives fewer raw faults and no thrashing.
//!
//! **Not modelled**: more than one GPU, coherent machines, access counters, fatal faults, a fault buffer that overflows,
//! lost events, power and clocks.

mod block;
mod cpu;
mod device;
mod gpu;
mod mapped;
mod observe;
mod order;
mod overlap;
mod pages;
mod prefetch;
mod profile;
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

use crate::event::GpuInfo;
use crate::probe::Probe;
use device::Shared;
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
    /// Its driver's parameters, by name.
    pub params: BTreeMap<String, String>,
    /// Name of the profile.
    pub profile_name: String,
}

/// Opens a simulated machine by the name of a bundled profile ([`names`]).
///
/// # Errors
/// If there is no such profile.
pub fn open(profile: &str) -> Result<Simulation, SimError> {
    Ok(assemble(profile, profile::Profile::bundled(profile)?))
}

fn assemble(name: &str, profile: profile::Profile) -> Simulation {
    let gpu = profile.gpu_info();
    let params = mapped::parameters(&profile);
    let world = Shared::new(world::World::new(profile));
    Simulation {
        device: SimDevice::new(world.clone()),
        tracer: SimTracer::new(world.clone()),
        probes: vec![
            Box::new(observe::CardProbe::new(world.clone())),
            Box::new(observe::UvmProbe::new(world.clone())),
            Box::new(mapped::MappedProbe::new(world)),
        ],
        gpu,
        params,
        profile_name: name.to_owned(),
    }
}
