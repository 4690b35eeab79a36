//! PCIe by GPM (Hopper and later): two samples of the card's counters give the mean between them, payload within 2 %.
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

/// Judges a pair of samples `apart` from each other.
pub fn judge(htod: Rate, dtoh: Rate, apart: Nanos) -> Verdict {
    let real = |rate: Rate| rate.filter(|r| r.is_finite() && *r >= 0.0);
    match (real(htod), real(dtoh)) {
        (Some(a), Some(b)) if a > 0.0 || b > 0.0 => Verdict::Rates(Some(a), Some(b)),
        (a, b) if apart >= SETTLED => Verdict::Rates(a, b),
        _ => Verdict::Wait,
    }
}

/// Asks for the means between two samples, host to device first.
pub fn between<'n>(first: &GpmSample<'n>, second: &GpmSample<'n>) -> Result<(Rate, Rate), Raw> {
    let ids = [GpmMetricId::PcieRxPerSec, GpmMetricId::PcieTxPerSec];
    let mut results = gpm_metrics_get(first.nvml(), first, second, &ids)?.into_iter();
    let mut next = || match results.next() {
        Some(Ok(metric)) => Ok(Some(metric.value * scale(&metric.metric_info.unit))),
        Some(Err(Raw::NotSupported)) => Err(Raw::NotSupported),
        Some(Err(_)) | None => Ok(None),
    };
    Ok((next()?, next()?))
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
        assert_eq!(judge(Some(5e9), Some(0.0), NEAR), Verdict::Rates(Some(5e9), Some(0.0)));
        assert_eq!(judge(Some(0.0), Some(1.0), NEAR), Verdict::Rates(Some(0.0), Some(1.0)));
    }

    #[test]
    fn nothing_new_is_never_zero() {
        for pair in [(None, None), (Some(f64::NAN), Some(f64::NAN)), (Some(0.0), Some(0.0)), (Some(5e9), None)] {
            assert_eq!(judge(pair.0, pair.1, NEAR), Verdict::Wait, "{pair:?}");
        }
        assert_eq!(judge(Some(f64::NAN), Some(-1.0), SETTLED), Verdict::Rates(None, None));
    }

    #[test]
    fn zero_over_a_long_pair_is_silence() {
        assert_eq!(judge(Some(0.0), Some(0.0), Nanos::millis(499)), Verdict::Wait);
        assert_eq!(judge(Some(0.0), Some(0.0), SETTLED), Verdict::Rates(Some(0.0), Some(0.0)));
    }

    #[test]
    fn the_unit_is_the_librarys() {
        assert_eq!(scale("MB/s"), 1e6);
        assert_eq!(scale("MiB/sec"), 1_048_576.0);
        assert_eq!(scale(""), 1e6);
    }
}
