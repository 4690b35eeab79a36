//! Who a GPU is, without CUDA: a watcher of other processes takes no context of its own.

use super::error::NvmlError;
use super::gauges::of_link;
use super::open::{LIBRARY, Opened, open};
use crate::event::GpuInfo;
use crate::units::Bytes;
use crossbeam_channel::bounded;
use nvml_wrapper::Device;
use std::ffi::OsStr;
use std::time::Duration;

/// The GPU of that UUID, or the only one if none is named. Answers within `deadline`.
pub fn card(uuid: Option<&str>, deadline: Duration) -> Result<GpuInfo, NvmlError> {
    let (answer, answered) = bounded(1);
    let uuid = uuid.map(str::to_owned);
    std::thread::Builder::new()
        .name("umtop-nvml".to_owned())
        .spawn(move || {
            let read = open(OsStr::new(LIBRARY)).and_then(|opened| opened.card(uuid.as_deref()));
            drop(answer.send(read));
        })
        .map_err(NvmlError::Thread)?;
    answered.recv_timeout(deadline).map_err(|_| NvmlError::Stalled)?
}

impl Opened {
    fn card(&self, uuid: Option<&str>) -> Result<GpuInfo, NvmlError> {
        let device = match uuid {
            Some(uuid) => self.device(uuid)?,
            None => self.only()?,
        };
        let known = |text: Result<String, nvml_wrapper::error::NvmlError>| text.unwrap_or_default();
        let version = self.cuda_version();
        let compute = device.cuda_compute_capability().map(|c| format!("{}.{}", c.major, c.minor));
        Ok(GpuInfo {
            name: device.name().map_or_else(|_| "GPU without a readable name".to_owned(), |name| printable(&name)),
            uuid: known(device.uuid()),
            pci: device.pci_info().map(|pci| pci.bus_id).unwrap_or_default(),
            driver: self.driver_version().unwrap_or_default(),
            cuda: version.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default(),
            compute: known(compute),
            vram: Bytes(device.memory_info().map(|memory| memory.total).unwrap_or_default()),
            link_max: link_max(&device),
        })
    }
}

/// PCIe generation and lanes at best.
pub(super) fn link_max(device: &Device<'_>) -> Option<(u32, u32)> {
    of_link(device.max_pcie_link_gen()).ok().zip(of_link(device.max_pcie_link_width()).ok())
}

/// A name without what would move the terminal's cursor.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
