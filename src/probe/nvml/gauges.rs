//! Values of the moment: memory, utilisation, power, clock, link. 2–10 µs a call; each fails alone.

use super::error::why;
use crate::event::{Metric, Reading, Sample, Why};
use crate::units::Nanos;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError as Raw;

/// Name of the sample.
pub const NAME: &str = "nvml";
/// Period of polling.
pub const PERIOD: Nanos = Nanos::millis(100);

/// The metrics read here.
pub const METRICS: &[Metric] = &[
    Metric::VramUsed,
    Metric::VramTotal,
    Metric::GpuBusy,
    Metric::Power,
    Metric::SmClock,
    Metric::PcieGeneration,
    Metric::PcieWidth,
];

/// Reads all of them once.
pub fn read(device: &Device<'_>) -> Sample {
    let memory = device.memory_info();
    let of_memory = |pick: fn(&nvml_wrapper::struct_wrappers::device::MemoryInfo) -> u64| match &memory {
        Ok(info) => Reading::measured(pick(info) as f64),
        Err(error) => Reading::Absent(why("memory use", error)),
    };
    let readings = vec![
        (Metric::VramUsed, of_memory(|info| info.used)),
        (Metric::VramTotal, of_memory(|info| info.total)),
        (Metric::GpuBusy, reading("utilisation", device.utilization_rates().map(|rates| rates.gpu), 1.0)),
        // NVML gives milliwatts.
        (Metric::Power, reading("power", device.power_usage(), 1e-3)),
        (Metric::SmClock, reading("SM clock", device.clock_info(Clock::SM), 1.0)),
        (Metric::PcieGeneration, reading("PCIe generation", of_link(device.current_pcie_link_gen()), 1.0)),
        (Metric::PcieWidth, reading("PCIe width", of_link(device.current_pcie_link_width()), 1.0)),
    ];
    Sample { source: NAME.to_owned(), window: None, readings }
}

/// All of them, absent for one reason.
pub fn absent(why: &Why) -> Sample {
    let readings = METRICS.iter().map(|metric| (*metric, Reading::Absent(why.clone()))).collect();
    Sample { source: NAME.to_owned(), window: None, readings }
}

/// Whether the GPU itself is gone: nothing can be read any more.
pub fn lost(sample: &Sample) -> bool {
    sample.readings.iter().all(|(_, reading)| matches!(reading, Reading::Absent(Why::Lost(_))))
}

/// A link of generation or width 0, as virtual GPUs report it, is no link.
pub(super) fn of_link(value: Result<u32, Raw>) -> Result<u32, Raw> {
    value.and_then(|n| if n == 0 { Err(Raw::NotSupported) } else { Ok(n) })
}

fn reading(what: &str, value: Result<u32, Raw>, scale: f64) -> Reading {
    match value {
        Ok(value) => Reading::measured(f64::from(value) * scale),
        Err(error) => Reading::Absent(why(what, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_nothing_is_absent_and_not_zero() {
        assert!(matches!(reading("PCIe width", of_link(Ok(0)), 1.0), Reading::Absent(_)));
        assert_eq!(reading("PCIe width", of_link(Ok(16)), 1.0), Reading::Value(16.0));
    }
}
