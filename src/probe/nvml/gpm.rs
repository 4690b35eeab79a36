//! PCIe, and NVLink with it, by GPM (Hopper and later): two samples of the card's counters give the mean between them, payload within 2 %.
//!
//! The card refreshes the counters slowly. Pairs 100 ms apart were right every time on an H200, pairs 50 ms apart
//! sometimes and 10 ms apart nearly always gave 0 or NaN, which means *no new sample*, not 0 GB/s.

use crate::units::Nanos;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError as Raw;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};

/// Closest pair that is asked about.
pub const CLOSEST: Nanos = Nanos::millis(100);
/// A pair this far apart is believed when it says 0.
pub const SETTLED: Nanos = Nanos::millis(500);

/// One direction's mean in bytes per second; `None` if the library gave none.
pub type Rate = Option<f64>;

/// What a pair of samples means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Keep the first sample and try a later second one.
    Wait,
    /// The means, host to device and device to host.
    Rates(Rate, Rate),
}

/// What lies between two samples.
pub struct Between {
    /// PCIe, host to device and device to host.
    pub pcie: [Rate; 2],
    /// NVLink, into the GPU and out of it; empty if it was not asked about.
    pub nvlink: Vec<Result<Rate, Raw>>,
}

impl Between {
    /// Whether NVLink carried anything, so that the card's counters are new.
    pub fn fresh(&self) -> bool {
        self.nvlink.iter().any(|rate| matches!(rate, Ok(Some(rate)) if rate.is_finite() && *rate > 0.0))
    }
}

/// Judges a pair of samples `apart` from each other, whose counters are known to be new if `fresh`.
pub fn judge([htod, dtoh]: [Rate; 2], fresh: bool, apart: Nanos) -> Verdict {
    let real = |rate: Rate| rate.filter(|r| r.is_finite() && *r >= 0.0);
    match (real(htod), real(dtoh)) {
        (Some(a), Some(b)) if fresh || a > 0.0 || b > 0.0 => Verdict::Rates(Some(a), Some(b)),
        (a, b) if apart >= SETTLED => Verdict::Rates(a, b),
        _ => Verdict::Wait,
    }
}

/// Asks for the means between two samples, of NVLink only if `nvlink`.
pub fn between<'n>(first: &GpmSample<'n>, second: &GpmSample<'n>, nvlink: bool) -> Result<Between, Raw> {
    let ids = [
        GpmMetricId::PcieRxPerSec,
        GpmMetricId::PcieTxPerSec,
        GpmMetricId::NvlinkTotalRxPerSec,
        GpmMetricId::NvlinkTotalTxPerSec,
    ];
    let ids = if nvlink { &ids[..] } else { &ids[..2] };
    let mut rates = gpm_metrics_get(first.nvml(), first, second, ids)?.into_iter().map(|result| match result {
        Ok(metric) => Ok(Some(metric.value * scale(&metric.metric_info.unit))),
        Err(Raw::NotSupported) => Err(Raw::NotSupported),
        Err(_) => Ok(None),
    });
    let mut next = || rates.next().unwrap_or(Ok(None));
    let pcie = [next()?, next()?];
    Ok(Between { pcie, nvlink: rates.collect() })
}

/// Bytes in the unit that the library names; MB/s if it names none, which is what measured copies agree with.
fn scale(unit: &str) -> f64 {
    let unit = unit.trim().to_ascii_lowercase();
    match unit.split('/').next().unwrap_or_default().trim_end_matches("ps") {
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "gb" => 1e9,
        "kib" => 1024.0,
        "kb" => 1e3,
        "b" | "byte" | "bytes" => 1.0,
        _ => 1e6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Nanos = CLOSEST;

    #[test]
    fn traffic_in_either_direction_is_believed_at_once() {
        assert_eq!(judge([Some(5e9), Some(0.0)], false, NEAR), Verdict::Rates(Some(5e9), Some(0.0)));
        assert_eq!(judge([Some(0.0), Some(1.0)], false, NEAR), Verdict::Rates(Some(0.0), Some(1.0)));
    }

    #[test]
    fn nothing_new_is_never_zero() {
        for pair in [(None, None), (Some(f64::NAN), Some(f64::NAN)), (Some(0.0), Some(0.0)), (Some(5e9), None)] {
            assert_eq!(judge([pair.0, pair.1], false, NEAR), Verdict::Wait, "{pair:?}");
        }
        assert_eq!(judge([Some(f64::NAN), Some(-1.0)], false, SETTLED), Verdict::Rates(None, None));
    }

    #[test]
    fn zero_over_a_long_pair_is_silence() {
        assert_eq!(judge([Some(0.0), Some(0.0)], false, Nanos::millis(499)), Verdict::Wait);
        assert_eq!(judge([Some(0.0), Some(0.0)], false, SETTLED), Verdict::Rates(Some(0.0), Some(0.0)));
    }

    #[test]
    fn what_nvlink_carries_shows_that_the_zeros_are_new() {
        assert_eq!(judge([Some(0.0), Some(0.0)], true, NEAR), Verdict::Rates(Some(0.0), Some(0.0)));
        let between = |rate| Between { pcie: [None; 2], nvlink: vec![Ok(Some(0.0)), rate] };
        assert!(between(Ok(Some(1e9))).fresh());
        for rate in [Ok(Some(0.0)), Ok(Some(f64::NAN)), Ok(None), Err(Raw::NotSupported)] {
            assert!(!between(rate).fresh());
        }
    }

    #[test]
    fn the_unit_is_the_librarys() {
        assert_eq!(scale("MB/s"), 1e6);
        assert_eq!(scale("MiB/sec"), 1_048_576.0);
        assert_eq!(scale(""), 1e6);
    }
}
