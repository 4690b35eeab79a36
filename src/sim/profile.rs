//! A simulated machine as a file says it.

use super::SimError;
use super::prefetch::Prefetch;
use super::thrash::Thrashing;
use crate::event::GpuInfo;
use crate::units::Bytes;
use serde::Deserialize;

/// The bundled profiles by name.
const BUNDLED: [(&str, &str); 1] = [("h200", include_str!("../../assets/profiles/h200.toml"))];

/// The names of the bundled profiles.
pub fn names() -> Vec<&'static str> {
    BUNDLED.iter().map(|(name, _)| *name).collect()
}

/// Everything that is known about the machine; `assets/profiles/` says where each figure comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Seed of everything that looks random.
    pub seed: u64,
    /// The card.
    pub gpu: Gpu,
    /// The host.
    pub host: Host,
    /// What crosses PCIe how fast.
    pub link: Link,
    /// What the GPU side takes.
    pub gpu_cost: GpuCost,
    /// What the CPU side takes.
    pub cpu_cost: CpuCost,
    /// Who faults in a batch.
    pub arrival: Arrivals,
    /// The density prefetcher.
    pub prefetch: Prefetch,
    /// Thrashing mitigation.
    pub thrashing: Thrashing,
    /// What watching costs.
    pub trace: TraceCost,
    /// How much repeated work differs.
    pub jitter: Jitter,
}

/// The card.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Product name.
    pub name: String,
    /// UUID, made up.
    pub uuid: String,
    /// PCI address, made up.
    pub pci: String,
    /// Driver version that is imitated.
    pub driver: String,
    /// Its CUDA version.
    pub cuda: String,
    /// Compute capability.
    pub compute: String,
    /// Memory in MiB.
    pub vram_mib: u64,
    /// MiB in use before anything is allocated.
    pub reserved_mib: u64,
    /// PCIe generation.
    pub link_generation: u32,
    /// PCIe lanes.
    pub link_width: u32,
    /// Graphics processing clusters.
    pub clusters: u16,
    /// Threads that run at once.
    pub threads: u64,
}

/// The host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Memory in MiB.
    pub memory_mib: u64,
}

/// Rates of the link in GB/s.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Copies of pinned memory and of faulted pages.
    pub pinned_gb_s: f64,
    /// Copies of ordinary host memory.
    pub pageable_gb_s: f64,
    /// The user's prefetch to the GPU.
    pub prefetch_to_gpu_gb_s: f64,
    /// The user's prefetch to the host.
    pub prefetch_to_cpu_gb_s: f64,
    /// Access to host memory by a kernel, each direction.
    pub remote_gb_s: f64,
    /// Bytes that a scattered access moves at least.
    pub sector_bytes: u64,
}

/// Times in µs and rates in GB/s of the GPU side.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuCost {
    /// A launch and its synchronisation.
    pub launch_us: f64,
    /// A kernel's first access over the link.
    pub remote_latency_us: f64,
    /// Access to resident memory.
    pub resident_gb_s: f64,
    /// A batch of faults, whatever is in it.
    pub batch_us: f64,
    /// A block that is served within a batch.
    pub block_us: f64,
    /// A page that faulted, whatever becomes of it.
    pub page_us: f64,
    /// A copy besides its bytes.
    pub copy_us: f64,
    /// Arithmetic of a kernel that does a lot of it: 32-bit multiply-adds, 10⁹ a second.
    pub giga_ops_per_s: f64,
    /// Dropping the other copy of a duplicated page.
    pub invalidate_us: f64,
}

/// Times in µs and rates in GB/s of the CPU side.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuCost {
    /// A fault, whatever it does.
    pub fault_us: f64,
    /// Taking pages from the GPU's page tables.
    pub gpu_unmap_us: f64,
    /// Allocating and zeroing pages.
    pub populate_gb_s: f64,
    /// Writing or checking elements.
    pub access_gb_s: f64,
    /// A block of a user's prefetch besides its bytes.
    pub prefetch_block_us: f64,
    /// A user's prefetch as a whole.
    pub prefetch_us: f64,
    /// An explicit copy as a whole.
    pub copy_us: f64,
}

/// How GPU faults arrive.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Raw entries that a batch holds at most.
    pub batch_raw: u64,
    /// Neighbouring threads touch neighbouring pages.
    pub adjacent: Arrival,
    /// Every thread is elsewhere.
    pub scattered: Arrival,
    /// One warp alone.
    pub alone: Arrival,
}

/// One way in which GPU faults arrive.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Share of the card's threads that are under way at once.
    pub front: f64,
    /// Places of the running front that fault in one batch.
    pub picks: usize,
    /// Most neighbouring pages that fault at one place; half of the places have one.
    pub pages: u32,
    /// Raw records per faulted page, on average.
    pub raw_per_page: f64,
}

/// What watching costs, µs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceCost {
    /// A copy on the fault path at level full.
    pub full_copy_us: f64,
    /// Making the driver deliver.
    pub flush_us: f64,
}

/// Shares by which repeated work differs, uniform around zero.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Whole steps.
    pub step: f64,
    /// Batches of faults.
    pub batch: f64,
}

impl Profile {
    /// The bundled profile of that name.
    pub fn bundled(name: &str) -> Result<Self, SimError> {
        let text = BUNDLED.iter().find(|(n, _)| *n == name).map(|(_, text)| *text);
        let text = text.ok_or_else(|| SimError::Unknown { name: name.to_owned(), bundled: names().join(", ") })?;
        let broken = |why: toml::de::Error| SimError::Broken { name: name.to_owned(), why: why.to_string() };
        toml::from_str(text).map_err(broken)
    }

    /// The card as the header shows it.
    pub fn gpu_info(&self) -> GpuInfo {
        GpuInfo {
            name: self.gpu.name.clone(),
            uuid: self.gpu.uuid.clone(),
            pci: self.gpu.pci.clone(),
            driver: self.gpu.driver.clone(),
            cuda: self.gpu.cuda.clone(),
            compute: self.gpu.compute.clone(),
            vram: Bytes::mib(self.gpu.vram_mib),
            link_max: Some((self.gpu.link_generation, self.gpu.link_width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_profile_reads() {
        for name in names() {
            let profile = Profile::bundled(name).unwrap();
            assert!(profile.gpu.vram_mib > profile.gpu.reserved_mib, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_lists_those_that_exist() {
        let error = Profile::bundled("voodoo2").unwrap_err().to_string();
        assert!(error.contains("voodoo2") && error.contains("h200"), "{error}");
    }
}
