//! From values to heights, and the round numbers at which axes end.

/// A vertical axis from zero to `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Value at the top; above zero.
    pub max: f64,
    /// Logarithmic over [`DECADES`] below `max`.
    pub log: bool,
}

/// Decades that a logarithmic axis shows: what lies lower is drawn at the foot.
pub const DECADES: f64 = 4.0;

/// Steps of an axis's end within a decade: close enough that a curve fills its panel.
const STEPS: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

impl Scale {
    /// A scale that ends at a round number at or above `highest`, at least at `floor`.
    pub fn fitting(highest: f64, floor: f64, log: bool) -> Self {
        let wanted = if highest.is_finite() { highest.max(floor) } else { floor };
        let decade = 10f64.powf(wanted.max(f64::MIN_POSITIVE).log10().floor());
        let step = STEPS.into_iter().find(|step| step * decade >= wanted * 0.999).unwrap_or(10.0);
        Self { max: step * decade, log }
    }

    /// Height of a value as a share of the axis, 0–1.
    pub fn share(&self, value: f64) -> f64 {
        if value <= 0.0 || value.is_nan() {
            return 0.0;
        }
        let share = value / self.max;
        let share = if self.log { 1.0 + share.log10() / DECADES } else { share };
        share.clamp(0.0, 1.0)
    }
}

/// The highest value of several slices; 0 of nothing.
pub fn highest<'a>(series: impl IntoIterator<Item = &'a [Option<f64>]>) -> f64 {
    series.into_iter().flatten().flatten().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_just_above() {
        for (value, end) in [(6.1e9, 8e9), (5.0, 5.0), (55.3, 60.0), (1.2, 1.5), (412_000.0, 500_000.0), (99.0, 100.0)]
        {
            let got = Scale::fitting(value, 0.001, false).max;
            assert!((got / end - 1.0).abs() < 1e-9, "{value} → {got}");
        }
        assert_eq!(Scale::fitting(0.0, 1.0, false).max, 1.0);
        assert_eq!(Scale::fitting(f64::NAN, 1.0, false).max, 1.0);
    }

    #[test]
    fn logarithmic_shares_fall_a_quarter_per_decade() {
        let scale = Scale { max: 1000.0, log: true };
        assert!((scale.share(1000.0) - 1.0).abs() < 1e-9);
        assert!((scale.share(100.0) - 0.75).abs() < 1e-9);
        assert_eq!(scale.share(0.0), 0.0);
        assert_eq!(scale.share(0.001), 0.0);
    }
}
