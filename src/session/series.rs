//! Bounded history: fine for the last minute, coarser the older it is, and gaps that stay gaps.

mod tier;

use crate::units::{Nanos, Stamp};
use tier::Tier;

/// Something that covers a window of time and can be merged with its successor.
pub trait Point: Clone {
    /// End of the window.
    fn at(&self) -> Stamp;
    /// Length of the window.
    fn window(&self) -> Nanos;
    /// Takes in the point that follows. A gap shorter than the coarser window is averaged over.
    fn merge(&mut self, next: &Self);
}

/// Points per tier and the least window of a merged point in it. With a point each 10 ms the tiers hold
/// 60 s, 20 min and 24 h; memory is bounded whatever comes.
const TIERS: [(usize, Nanos); 3] = [(6_000, Nanos(0)), (12_000, Nanos::millis(100)), (8_640, Nanos::millis(10_000))];

/// A history of points in ascending time. A copy shares what does not change any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<P> {
    tiers: [Tier<P>; 3],
}

impl<P> Default for Series<P> {
    fn default() -> Self {
        Self { tiers: Default::default() }
    }
}

impl<P: Point> Series<P> {
    /// Appends; the oldest points grow coarser, and at last go.
    pub fn push(&mut self, point: P) {
        self.tiers[0].push_back(point);
        for (tier, (room, _)) in TIERS.iter().enumerate() {
            if self.tiers[tier].len() <= *room {
                break;
            }
            let Some(oldest) = self.tiers[tier].pop_front() else { break };
            let Some((_, width)) = TIERS.get(tier + 1) else { break };
            match self.tiers[tier + 1].back_mut() {
                Some(last) if last.window() < *width && adjoins(last, &oldest) => last.merge(&oldest),
                _ => self.tiers[tier + 1].push_back(oldest),
            }
        }
    }

    /// Every point, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &P> {
        self.tiers.iter().rev().flat_map(Tier::iter)
    }

    /// The newest point.
    pub fn last(&self) -> Option<&P> {
        self.iter().next_back()
    }

    /// Points whose window ends after `from`, oldest first. Looks only at those.
    pub fn since(&self, from: Stamp) -> impl Iterator<Item = &P> {
        self.tiers.iter().rev().flat_map(move |tier| tier.since(from))
    }

    /// Means over `columns` equal slices of `from..to`: each point's `value` counts for the share of its window within the
    /// slice. A slice that no point with a value covers is `None`: a gap.
    pub fn means(&self, from: Stamp, to: Stamp, columns: usize, value: impl Fn(&P) -> Option<f64>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0f64, 0.0f64); columns];
        let span = to.since(from).0 as f64;
        if columns == 0 || span <= 0.0 {
            return vec![None; columns];
        }
        let width = span / columns as f64;
        for point in self.since(from) {
            let end = point.at().0 as f64 - from.0 as f64;
            let start = (end - point.window().0.max(1) as f64).max(0.0);
            if start >= span {
                break;
            }
            let Some(v) = value(point) else { continue };
            let first = (start / width) as usize;
            let last = ((end / width).ceil() as usize).clamp(first + 1, columns.max(first + 1));
            for (column, sum) in sums.iter_mut().enumerate().take(last).skip(first) {
                let low = column as f64 * width;
                let overlap = (end.min(low + width) - start.max(low)).max(0.0);
                sum.0 += v * overlap;
                sum.1 += overlap;
            }
        }
        sums.into_iter().map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)).collect()
    }
}

fn adjoins<P: Point>(earlier: &P, later: &P) -> bool {
    later.at().since(earlier.at()).0 <= later.window().0 + Nanos::millis(5).0
}

/// A sampled value over its window; `None` is a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// End of the window.
    pub at: Stamp,
    /// Length of the window.
    pub window: Nanos,
    /// Mean over it.
    pub value: Option<f64>,
}

impl Point for Reading {
    fn at(&self) -> Stamp {
        self.at
    }

    fn window(&self) -> Nanos {
        self.window
    }

    fn merge(&mut self, next: &Self) {
        let (a, b) = (self.window.0 as f64, next.window.0 as f64);
        self.value = match (self.value, next.value) {
            (Some(x), Some(y)) if a + b > 0.0 => Some((x * a + y * b) / (a + b)),
            (x, y) => x.or(y),
        };
        self.window = Nanos(self.window.0 + next.at.since(self.at).0);
        self.at = next.at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ms: u64, window_ms: u64, value: Option<f64>) -> Reading {
        Reading { at: Stamp(at_ms * 1_000_000), window: Nanos::millis(window_ms), value }
    }

    fn ms(n: u64) -> Stamp {
        Stamp(n * 1_000_000)
    }

    #[test]
    fn a_window_spreads_over_the_columns_it_covers() {
        let mut s = Series::default();
        s.push(reading(100, 100, Some(4.0)));
        s.push(reading(200, 100, Some(8.0)));
        assert_eq!(s.means(ms(0), ms(200), 4, |p| p.value), vec![Some(4.0), Some(4.0), Some(8.0), Some(8.0)]);
        assert_eq!(s.means(ms(0), ms(200), 1, |p| p.value), vec![Some(6.0)]);
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let mut s = Series::default();
        s.push(reading(100, 100, Some(4.0)));
        s.push(reading(200, 100, None));
        s.push(reading(400, 100, Some(2.0)));
        assert_eq!(s.means(ms(0), ms(400), 4, |p| p.value), vec![Some(4.0), None, None, Some(2.0)]);
    }

    #[test]
    fn nothing_to_draw_is_no_panic() {
        let s: Series<Reading> = Series::default();
        assert!(s.means(ms(5), ms(5), 3, |p| p.value).iter().all(Option::is_none));
        assert!(s.means(ms(0), ms(5), 0, |p| p.value).is_empty());
    }

    #[test]
    fn a_day_at_10_ms_stays_bounded_and_keeps_its_mean() {
        let mut s = Series::default();
        for i in 1..=400_000u64 {
            s.push(reading(i * 10, 10, Some((i % 2) as f64)));
        }
        let points = s.iter().count();
        assert!(points < 6_000 + 12_000 + 3_000, "{points}");
        let mean = s.means(ms(100_000), ms(4_000_000), 1, |p| p.value)[0].unwrap();
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!(s.iter().zip(s.iter().skip(1)).all(|(a, b)| a.at < b.at));
    }
}
