//! A simulated machine as a file says it.

use super::SimError;
use super::side::{SIDES, Topology};
use crate::event::{Carrier, GpuInfo, SecondGpu};
use crate::units::Bytes;
use serde::Deserialize;

/// The bundled profiles by name.
const BUNDLED: &[(&str, &str)] = &[
    ("h200", include_str!("../../assets/profiles/h200.toml")),
    ("h200-x2", include_str!("../../assets/profiles/h200-x2.toml")),
    ("pcie3-16gb", include_str!("../../assets/profiles/pcie3-16gb.toml")),
    ("pcie4-40gb", include_str!("../../assets/profiles/pcie4-40gb.toml")),
];

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
    /// How the GPU's faults reach the driver.
    pub arrival: Arrival,
    /// The link between GPUs; without it they reach each other by way of the host.
    pub peer: Option<Peer>,
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
    /// How many such GPUs the machine has.
    pub count: u8,
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
    /// A lone warp over one page of resident memory.
    pub lone_page_us: f64,
    /// Arithmetic of a kernel that does a lot of it: 32-bit multiply-adds, 10⁹ a second.
    pub giga_ops_per_s: f64,
    /// An interrupt that wakes the driver.
    pub wake_us: f64,
    /// A batch of faults, whatever is in it.
    pub batch_us: f64,
    /// A raw entry of the fault buffer.
    pub raw_us: f64,
    /// A fault, after entries were coalesced, whatever becomes of it.
    pub page_us: f64,
    /// A block that is served within a batch.
    pub block_us: f64,
    /// Taking pages of a block from the CPU's page tables.
    pub cpu_unmap_us: f64,
    /// Memory for a block on the GPU: allocated, zeroed.
    pub chunk_us: f64,
    /// A copy besides its bytes.
    pub copy_us: f64,
    /// Taking the mappings of duplicates in a block away for a write.
    pub revoke_us: f64,
    /// Dropping one duplicate.
    pub invalidate_us: f64,
    /// A replay in the middle of a batch (replay policy 0).
    pub replay_us: f64,
    /// Evicting a block, besides its copy.
    pub evict_us: f64,
}

/// Times in µs and rates in GB/s of the CPU side.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuCost {
    /// A fault, whatever it does.
    pub fault_us: f64,
    /// Taking pages from the GPU's page tables.
    pub gpu_unmap_us: f64,
    /// Putting a page into the CPU's page tables.
    pub map_us: f64,
    /// The first write to a page since it was mapped.
    pub first_write_us: f64,
    /// Allocating a page for data that comes from a GPU.
    pub alloc_us: f64,
    /// Allocating and zeroing pages.
    pub populate_gb_s: f64,
    /// Writing or checking elements.
    pub access_gb_s: f64,
    /// The same where all of it fits into the caches.
    pub cached_gb_s: f64,
    /// What the caches hold, MiB.
    pub cache_mib: u64,
    /// A block of a user's prefetch besides its bytes.
    pub prefetch_block_us: f64,
    /// A user's prefetch as a whole.
    pub prefetch_us: f64,
    /// An explicit copy as a whole.
    pub copy_us: f64,
}

/// How the GPU's faults reach the driver. Shares are of 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Multiprocessors of a GPU.
    pub multiprocessors: usize,
    /// Multiprocessors that share a µTLB.
    pub per_tlb: usize,
    /// Faults that a µTLB has outstanding at most.
    pub outstanding: usize,
    /// Raw entries of a warp's access to neighbouring elements.
    pub requests: u32,
    /// µTLBs whose first fault is in the buffer when the driver looks right after a replay.
    pub polled_share: f64,
    /// Thread blocks behind a µTLB, of those that stand still the oldest, of which any may ask next.
    pub among: usize,
    /// Pages that a thread block goes through until the order has loosened by one more of them.
    pub drift_steps: usize,
    /// The same at the start of a kernel as `late_share` is later.
    pub late_at_start: f64,
    /// Batches before which the driver looks so late that all faults are there.
    pub late_share: f64,
    /// Faults on a page of several warps that hold the entries of two of them.
    pub twice_share: f64,
    /// Faults on a page of several warps after which another of them faults there.
    pub again_share: f64,
    /// Faults on a page whose mapping was upgraded after which it faults once more.
    pub stale_share: f64,
}

/// The link between GPUs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Whether it is NVLink; else PCIe.
    pub nvlink: bool,
    /// Copies from one to another, GB/s.
    pub gb_s: f64,
    /// Access to the other's memory by a kernel, each direction, GB/s.
    pub remote_gb_s: f64,
    /// A lone warp over one page of the other's memory, µs.
    pub lone_page_us: f64,
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

    /// The processors and their links. A machine has a few GPUs at most; a profile that says more gets those.
    pub fn topology(&self) -> Topology {
        Topology { gpus: self.gpu.count.clamp(1, SIDES as u8 - 1), peers: self.peer.is_some() }
    }

    /// The second card as the header shows it, with an address and a UUID of its own.
    pub fn second_gpu(&self) -> Option<SecondGpu> {
        let nvlink = self.peer.is_some_and(|peer| peer.nvlink);
        let mut uuid = self.gpu.uuid.clone();
        uuid.pop();
        uuid.push('1');
        (self.topology().gpus > 1).then(|| SecondGpu {
            name: self.gpu.name.clone(),
            uuid,
            pci: self.gpu.pci.replacen(":00:", ":01:", 1),
            carrier: if nvlink { Carrier::NvLink } else { Carrier::Pcie },
        })
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
            assert!((1..SIDES as u8).contains(&profile.gpu.count), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_lists_those_that_exist() {
        let error = Profile::bundled("voodoo2").unwrap_err().to_string();
        assert!(error.contains("voodoo2") && error.contains("h200"), "{error}");
    }
}
