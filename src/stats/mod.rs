//! Numbers from slices: quantiles, intervals, outliers. No types of the house, no clock.

/// A value with its doubt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// 95 % bootstrap interval of the median; `None` below five values.
    pub interval: Option<(f64, f64)>,
    /// How many values.
    pub n: usize,
}

/// Values below this many give no interval.
pub const MIN_FOR_INTERVAL: usize = 5;

/// Resamples of the bootstrap: enough for a stable 95 % interval of a median, quick enough for a frame.
const RESAMPLES: usize = 1000;

/// The `q`-quantile (0–1) of ascending `sorted`, linear between neighbours; `None` of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let low = at.floor() as usize;
    let high = at.ceil() as usize;
    Some(sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64))
}

/// Median of values in any order; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&ascending(values), 0.5)
}

/// Median with its bootstrap interval; `None` of nothing. The resampling is seeded: same values, same answer.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let median = median(values)?;
    let interval = (values.len() >= MIN_FOR_INTERVAL).then(|| {
        let mut random = SplitMix(0x75_6d74_6f70);
        let medians: Vec<f64> = (0..RESAMPLES).filter_map(|_| self::median(&resample(values, &mut random))).collect();
        interval_of(&medians)
    });
    Some(Estimate { median, interval, n: values.len() })
}

/// Ratio of the medians `a / b` with its bootstrap interval; `None` if either is empty or `b`'s median is zero.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let bottom = median(b)?;
    let median = median(a)? / bottom;
    if !median.is_finite() {
        return None;
    }
    let n = a.len().min(b.len());
    let interval = (n >= MIN_FOR_INTERVAL).then(|| {
        let mut random = SplitMix(0x72_6174_696f);
        let ratios: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let top = self::median(&resample(a, &mut random))?;
                Some(top / self::median(&resample(b, &mut random))?)
            })
            .filter(|r| r.is_finite())
            .collect();
        interval_of(&ratios)
    });
    Some(Estimate { median, interval, n })
}

/// Indices of values further than 3.5 scaled median absolute deviations from the median (Iglewicz and Hoaglin's rule);
/// they are named, never removed. Fewer than [`MIN_FOR_INTERVAL`] values have none.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values).filter(|_| values.len() >= MIN_FOR_INTERVAL) else { return Vec::new() };
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    let Some(mad) = median(&deviations).filter(|m| *m > 0.0) else { return Vec::new() };
    (0..values.len()).filter(|i| 0.6745 * deviations[*i] / mad > 3.5).collect()
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn resample(values: &[f64], random: &mut SplitMix) -> Vec<f64> {
    (0..values.len()).map(|_| values[random.below(values.len())]).collect()
}

fn interval_of(medians: &[f64]) -> (f64, f64) {
    let sorted = ascending(medians);
    (quantile(&sorted, 0.025).unwrap_or(f64::NAN), quantile(&sorted, 0.975).unwrap_or(f64::NAN))
}

/// Steele, Lea and Flood's SplitMix64: a few lines, good enough to resample, and the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_nothing_has_none() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn an_interval_needs_five_values_and_holds_the_median() {
        assert_eq!(estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap().interval, None);
        let values: Vec<f64> = (0..50).map(f64::from).collect();
        let e = estimate(&values).unwrap();
        let (low, high) = e.interval.unwrap();
        assert!(low < e.median && e.median < high && low > 10.0 && high < 40.0, "{e:?}");
        assert_eq!(estimate(&values), estimate(&values));
    }

    #[test]
    fn a_ratio_is_of_medians() {
        let slow = [70.0, 72.0, 71.0, 69.0, 70.5];
        let fast = [10.0, 10.1, 9.9, 10.0, 10.2];
        let r = ratio(&slow, &fast).unwrap();
        assert!((r.median - 7.05).abs() < 0.01);
        let (low, high) = r.interval.unwrap();
        assert!(low > 6.7 && high < 7.3);
        assert_eq!(ratio(&slow, &[0.0]), None);
    }

    #[test]
    fn outliers_are_found_by_distance_not_by_rank() {
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 30.0]), vec![4]);
        assert!(outliers(&[5.0; 8]).is_empty());
        assert!(outliers(&[5.0, 5.1, 90.0]).is_empty(), "three values have no middle to be far from");
    }
}
