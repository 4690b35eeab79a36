//! The bundled workloads, by name.

use super::file::{Workload, WorkloadError};
use crate::units::{BLOCK, Bytes};

/// Every file under `workloads/`, in menu order. A test compares this list with the folder.
const BUNDLED: &[(&str, &str)] = &[
    ("workloads/sequential.toml", include_str!("../../workloads/sequential.toml")),
    ("workloads/random.toml", include_str!("../../workloads/random.toml")),
    ("workloads/ping-pong.toml", include_str!("../../workloads/ping-pong.toml")),
    ("workloads/first-touch-gpu.toml", include_str!("../../workloads/first-touch-gpu.toml")),
    ("workloads/first-touch-cpu.toml", include_str!("../../workloads/first-touch-cpu.toml")),
    ("workloads/strided.toml", include_str!("../../workloads/strided.toml")),
    ("workloads/block.toml", include_str!("../../workloads/block.toml")),
    ("workloads/explicit-vs-managed.toml", include_str!("../../workloads/explicit-vs-managed.toml")),
    ("workloads/prefetch-both-ways.toml", include_str!("../../workloads/prefetch-both-ways.toml")),
    ("workloads/iterative-reuse.toml", include_str!("../../workloads/iterative-reuse.toml")),
    ("workloads/hot-set.toml", include_str!("../../workloads/hot-set.toml")),
    ("workloads/read-mostly.toml", include_str!("../../workloads/read-mostly.toml")),
    ("workloads/read-mostly-trap.toml", include_str!("../../workloads/read-mostly-trap.toml")),
    ("workloads/preferred-location.toml", include_str!("../../workloads/preferred-location.toml")),
    ("workloads/accessed-by.toml", include_str!("../../workloads/accessed-by.toml")),
    ("workloads/zero-copy.toml", include_str!("../../workloads/zero-copy.toml")),
    ("workloads/pageable-copy.toml", include_str!("../../workloads/pageable-copy.toml")),
    ("workloads/ping-pong-block.toml", include_str!("../../workloads/ping-pong-block.toml")),
    ("workloads/vector-add.toml", include_str!("../../workloads/vector-add.toml")),
    ("workloads/overlap.toml", include_str!("../../workloads/overlap.toml")),
    ("workloads/data-loader.toml", include_str!("../../workloads/data-loader.toml")),
    ("workloads/small-buffers.toml", include_str!("../../workloads/small-buffers.toml")),
    ("workloads/small-copies.toml", include_str!("../../workloads/small-copies.toml")),
    ("workloads/partial-read.toml", include_str!("../../workloads/partial-read.toml")),
    ("workloads/concurrent-thrash.toml", include_str!("../../workloads/concurrent-thrash.toml")),
    ("workloads/peer.toml", include_str!("../../workloads/peer.toml")),
    ("workloads/peer-preferred.toml", include_str!("../../workloads/peer-preferred.toml")),
    ("workloads/peer-ping-pong.toml", include_str!("../../workloads/peer-ping-pong.toml")),
    ("workloads/peer-read-mostly.toml", include_str!("../../workloads/peer-read-mostly.toml")),
    ("workloads/oversubscribe.toml", include_str!("../../workloads/oversubscribe.toml")),
    ("workloads/eviction-order.toml", include_str!("../../workloads/eviction-order.toml")),
];

/// The workloads that can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    workloads: Vec<Workload>,
}

impl Library {
    /// The bundled ones.
    pub fn bundled() -> Result<Self, WorkloadError> {
        let workloads = BUNDLED.iter().map(|(file, text)| Workload::parse(file, text)).collect::<Result<_, _>>()?;
        Ok(Self { workloads })
    }

    /// Adds one to the end of the menu. The error is one line: its name is taken.
    pub fn add(&mut self, workload: Workload) -> Result<(), String> {
        if self.workloads.iter().any(|w| w.name == workload.name) {
            return Err(format!("there is a workload '{}' already: give this one another name", workload.name));
        }
        self.workloads.push(workload);
        Ok(())
    }

    /// Gives workloads whose footprint is a share of the GPU's memory their default size.
    pub fn fit_to(&mut self, vram: Bytes) {
        for memory in self.workloads.iter_mut().map(|w| &mut w.memory) {
            let Some(share) = memory.of_gpu else { continue };
            let size = (vram.0 as f64 * share) as u64 / BLOCK * BLOCK;
            memory.size = Bytes(size.max(memory.min.0));
        }
    }

    /// In menu order.
    pub fn iter(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter()
    }

    /// By name; the error lists the names there are.
    pub fn find(&self, name: &str) -> Result<&Workload, String> {
        self.workloads.iter().find(|w| w.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.workloads.iter().map(|w| w.name.as_str()).collect();
            format!("unknown workload '{name}': choose one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_bundled_and_reads() {
        let mut files: Vec<String> = std::fs::read_dir("workloads")
            .unwrap()
            .map(|e| format!("workloads/{}", e.unwrap().file_name().to_string_lossy()))
            .collect();
        files.sort();
        let mut bundled: Vec<&str> = BUNDLED.iter().map(|(f, _)| *f).collect();
        bundled.sort_unstable();
        assert_eq!(files, bundled);
        for (w, (file, _)) in Library::bundled().unwrap().iter().zip(BUNDLED) {
            assert_eq!(format!("workloads/{}.toml", w.name), *file);
            assert!(w.title.chars().count() <= 20, "{file}: the title must fit into the menu");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = Library::bundled().unwrap().find("quicksort").unwrap_err();
        assert!(error.contains("'quicksort'") && error.contains("sequential, random, ping-pong"), "{error}");
    }
}
