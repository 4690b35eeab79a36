//! The catalogue of sampled metrics. The screen, the exports and the documentation take names and units from here.

use serde::{Deserialize, Serialize};

/// A sampled metric (UVM counts have their own event, [`super::UvmTick`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// PCIe bytes per second, host to device (the GPU's RX).
    PcieHtoD,
    /// PCIe bytes per second, device to host (the GPU's TX).
    PcieDtoH,
    /// GPU memory in use on the card, by everybody.
    VramUsed,
    /// GPU memory of the card.
    VramTotal,
    /// Share of time with a kernel running.
    GpuBusy,
    /// Board power.
    Power,
    /// SM clock.
    SmClock,
    /// PCIe generation now.
    PcieGeneration,
    /// PCIe lanes now.
    PcieWidth,
    /// Host memory that can still be had (`MemAvailable`).
    HostAvailable,
    /// Host processor use, all cores together: 100 is all of them.
    HostCpu,
    /// umtop's own processor use: 100 is one core.
    OwnCpu,
    /// umtop's own resident memory.
    OwnMemory,
    /// Processor use of umtop's main thread, which folds and draws: 100 is one core.
    ScreenCpu,
    /// Processor use of the thread that reads the UVM driver's queue.
    DriverCpu,
    /// Processor use of umtop's other threads, but the workload's.
    ProbesCpu,
    /// Measured ceiling of the link, host to device: explicit copies of pinned memory and nothing else.
    LinkHtoD,
    /// Measured ceiling of the link, device to host.
    LinkDtoH,
    /// NVLink bytes per second into the GPU, all its links together.
    NvLinkRx,
    /// NVLink bytes per second out of the GPU, all its links together.
    NvLinkTx,
}

/// The unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Per cent, 0–100 (or above where the help says so).
    Percent,
    /// Watts.
    Watts,
    /// Megahertz.
    Megahertz,
    /// A plain number.
    Number,
}

impl Unit {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::BytesPerSecond => "bytes/s",
            Unit::Bytes => "bytes",
            Unit::Percent => "percent",
            Unit::Watts => "watts",
            Unit::Megahertz => "megahertz",
            Unit::Number => "",
        }
    }
}

/// What kind of number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A value of the moment.
    Gauge,
    /// A mean over the sample's window.
    Rate,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricInfo {
    /// Which.
    pub metric: Metric,
    /// Name as exported.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its kind.
    pub kind: MetricKind,
    /// Where it comes from.
    pub origin: &'static str,
    /// One sentence.
    pub help: &'static str,
}

const fn row(
    metric: Metric,
    name: &'static str,
    unit: Unit,
    kind: MetricKind,
    origin: &'static str,
    help: &'static str,
) -> MetricInfo {
    MetricInfo { metric, name, unit, kind, origin, help }
}

use MetricKind::{Gauge, Rate};

/// Every metric, in the order of [`Metric`].
pub const CATALOGUE: &[MetricInfo] = &[
    row(
        Metric::PcieHtoD,
        "pcie_htod_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "NVML",
        "PCIe traffic host to device (RX), all traffic of the card, protocol included (about 8 %)",
    ),
    row(
        Metric::PcieDtoH,
        "pcie_dtoh_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "NVML",
        "PCIe traffic device to host (TX), all traffic of the card, protocol included (about 8 %)",
    ),
    row(
        Metric::VramUsed,
        "vram_used_bytes",
        Unit::Bytes,
        Gauge,
        "NVML",
        "GPU memory in use on the whole card; managed pages that live there count",
    ),
    row(Metric::VramTotal, "vram_total_bytes", Unit::Bytes, Gauge, "NVML", "GPU memory of the card"),
    row(
        Metric::GpuBusy,
        "gpu_busy_percent",
        Unit::Percent,
        Gauge,
        "NVML",
        "share of the driver's sampling period in which a kernel ran",
    ),
    row(Metric::Power, "power_watts", Unit::Watts, Gauge, "NVML", "board power"),
    row(Metric::SmClock, "sm_clock_megahertz", Unit::Megahertz, Gauge, "NVML", "SM clock"),
    row(
        Metric::PcieGeneration,
        "pcie_link_generation",
        Unit::Number,
        Gauge,
        "NVML",
        "PCIe generation now; falls when idle",
    ),
    row(Metric::PcieWidth, "pcie_link_width", Unit::Number, Gauge, "NVML", "PCIe lanes now"),
    row(
        Metric::HostAvailable,
        "host_available_bytes",
        Unit::Bytes,
        Gauge,
        "sysinfo",
        "host memory that can still be had",
    ),
    row(Metric::HostCpu, "host_cpu_percent", Unit::Percent, Gauge, "sysinfo", "host processor use, 100 is all cores"),
    row(
        Metric::OwnCpu,
        "umtop_cpu_percent",
        Unit::Percent,
        Gauge,
        "sysinfo",
        "umtop's own processor use, workload included, 100 is one core",
    ),
    row(
        Metric::OwnMemory,
        "umtop_resident_bytes",
        Unit::Bytes,
        Gauge,
        "sysinfo",
        "umtop's own resident memory, workload included",
    ),
    row(
        Metric::ScreenCpu,
        "umtop_screen_cpu_percent",
        Unit::Percent,
        Gauge,
        "schedstat",
        "processor use of umtop's main thread, which folds events and draws, 100 is one core",
    ),
    row(
        Metric::DriverCpu,
        "umtop_driver_cpu_percent",
        Unit::Percent,
        Gauge,
        "schedstat",
        "processor use of umtop's thread that reads the UVM driver's queue, 100 is one core",
    ),
    row(
        Metric::ProbesCpu,
        "umtop_probes_cpu_percent",
        Unit::Percent,
        Gauge,
        "schedstat",
        "processor use of umtop's other threads (probes, recorder, keys), the workload's not included, 100 is one core",
    ),
    row(
        Metric::LinkHtoD,
        "link_ceiling_htod_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "explicit copies",
        "what the link carries host to device when explicit copies of pinned memory have it to themselves, payload only",
    ),
    row(
        Metric::LinkDtoH,
        "link_ceiling_dtoh_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "explicit copies",
        "what the link carries device to host when explicit copies of pinned memory have it to themselves, payload only",
    ),
    row(
        Metric::NvLinkRx,
        "nvlink_rx_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "NVML",
        "NVLink traffic into the GPU, all its links and all traffic of the card together; only where NVLink joins it with a second one",
    ),
    row(
        Metric::NvLinkTx,
        "nvlink_tx_bytes_per_second",
        Unit::BytesPerSecond,
        Rate,
        "NVML",
        "NVLink traffic out of the GPU, all its links and all traffic of the card together; only where NVLink joins it with a second one",
    ),
];

impl Metric {
    /// Its row in the catalogue.
    pub fn info(self) -> &'static MetricInfo {
        &CATALOGUE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_finds_its_own_row_and_names_are_unique() {
        for (i, row) in CATALOGUE.iter().enumerate() {
            assert_eq!(row.metric.info(), row);
            assert!(CATALOGUE[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
