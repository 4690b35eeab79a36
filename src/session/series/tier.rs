//! Points in chunks that copies share.

use super::Point;
use crate::units::Stamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// Points in a chunk. A copy of a day's history shares 200 of them and copies none; the next point copies one.
const CHUNK: usize = 512;

/// Points in ascending time that come at the end and go at the beginning.
#[derive(Clone, Debug)]
pub(super) struct Tier<P> {
    /// None is empty; all but the last are full.
    chunks: VecDeque<Arc<Vec<P>>>,
    /// Points of the first chunk that have gone.
    gone: usize,
    len: usize,
}

impl<P> Default for Tier<P> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), gone: 0, len: 0 }
    }
}

impl<P: PartialEq> PartialEq for Tier<P> {
    /// The same points, whatever chunks they lie in.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<P> Tier<P> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &P> {
        self.slices(0).flatten()
    }

    fn slice(&self, chunk: usize) -> &[P] {
        let gone = if chunk == 0 { self.gone } else { 0 };
        self.chunks.get(chunk).and_then(|points| points.get(gone..)).unwrap_or_default()
    }

    fn slices(&self, first: usize) -> impl DoubleEndedIterator<Item = &[P]> {
        (first..self.chunks.len()).map(|chunk| self.slice(chunk))
    }
}

impl<P: Point> Tier<P> {
    pub fn push_back(&mut self, point: P) {
        self.len += 1;
        match self.chunks.back_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(point),
            None => self.chunks.push_back(Arc::new(vec![point])),
        }
    }

    pub fn pop_front(&mut self) -> Option<P> {
        let point = self.slice(0).first()?.clone();
        self.len -= 1;
        self.gone += 1;
        if self.slice(0).is_empty() {
            self.chunks.pop_front();
            self.gone = 0;
        }
        Some(point)
    }

    pub fn back_mut(&mut self) -> Option<&mut P> {
        Arc::make_mut(self.chunks.back_mut()?).last_mut()
    }

    /// Points whose window ends after `from`.
    pub fn since(&self, from: Stamp) -> impl Iterator<Item = &P> {
        let over = |points: &[P]| points.last().is_none_or(|point| point.at() <= from);
        let first = self.chunks.partition_point(|chunk| over(chunk));
        let within = self.slice(first).partition_point(|point| point.at() <= from);
        self.slices(first).flatten().skip(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Reading;
    use crate::units::Nanos;

    fn reading(at: u64) -> Reading {
        Reading { at: Stamp(at), window: Nanos(1), value: Some(at as f64) }
    }

    /// A tier and what it must be, after points came and went.
    fn tier(came: u64, gone: u64) -> (Tier<Reading>, VecDeque<Reading>) {
        let (mut tier, mut plain) = (Tier::default(), VecDeque::new());
        for at in 1..=came {
            tier.push_back(reading(at));
            plain.push_back(reading(at));
            if at <= gone {
                assert_eq!(tier.pop_front(), plain.pop_front());
            }
        }
        (tier, plain)
    }

    #[test]
    fn points_come_and_go_as_in_a_queue() {
        let chunk = CHUNK as u64;
        for (came, gone) in [(0, 0), (1, 1), (chunk, chunk), (3 * chunk + 5, chunk + 7), (chunk + 1, chunk)] {
            let (tier, plain) = tier(came, gone);
            assert_eq!(tier.len(), plain.len());
            assert!(tier.iter().eq(plain.iter()) && tier.iter().rev().eq(plain.iter().rev()), "{came} {gone}");
            for from in [0, gone, chunk - 1, chunk, 2 * chunk + 1, came] {
                let later: Vec<_> = plain.iter().filter(|point| point.at.0 > from).collect();
                assert_eq!(tier.since(Stamp(from)).collect::<Vec<_>>(), later, "{came} {gone} from {from}");
            }
        }
    }

    #[test]
    fn a_copy_shares_the_chunks_and_stays_as_it_was() {
        let (mut tier, plain) = tier(3 * CHUNK as u64, 0);
        let copy = tier.clone();
        assert!(copy.chunks.iter().zip(&tier.chunks).all(|(a, b)| Arc::ptr_eq(a, b)));
        tier.push_back(reading(9_999));
        tier.pop_front();
        if let Some(last) = tier.back_mut() {
            last.value = None;
        }
        assert!(copy.iter().eq(plain.iter()) && copy != tier);
        assert!(Arc::ptr_eq(&copy.chunks[1], &tier.chunks[1]), "what did not change is still shared");
    }

    #[test]
    fn equal_points_are_equal_in_whatever_chunks() {
        let (long, _) = tier(CHUNK as u64 + 3, CHUNK as u64);
        let mut short = Tier::default();
        long.iter().for_each(|point| short.push_back(point.clone()));
        assert!(long == short);
        short.pop_front();
        assert!(long != short);
    }
}
