//! Sets of the pages of one 2 MiB block.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Range, Sub, SubAssign};

/// Pages of 4 KiB in a block of 2 MiB.
pub const PAGES: usize = 512;

/// A set of page numbers below [`PAGES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageSet([u64; PAGES / 64]);

impl PageSet {
    /// No page.
    pub const EMPTY: Self = Self([0; PAGES / 64]);

    /// The pages of `range`, which ends at [`PAGES`] at most.
    pub fn range(range: Range<usize>) -> Self {
        let mut set = Self::EMPTY;
        for (word, bits) in set.0.iter_mut().enumerate() {
            *bits = mask(word, &range);
        }
        set
    }

    /// One page.
    pub fn one(page: usize) -> Self {
        Self::range(page..page + 1)
    }

    /// Adds a page.
    pub fn insert(&mut self, page: usize) {
        self.0[page / 64] |= 1 << (page % 64);
    }

    /// Whether the page is in it.
    pub fn contains(&self, page: usize) -> bool {
        self.0[page / 64] >> (page % 64) & 1 == 1
    }

    /// Whether it holds no page.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; PAGES / 64]
    }

    /// Number of pages.
    pub fn count(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Number of pages that lie in `range`.
    pub fn count_in(&self, range: Range<usize>) -> usize {
        let (first, last) = (range.start / 64, range.end.saturating_sub(1) / 64);
        (first..=last).map(|word| (self.0[word] & mask(word, &range)).count_ones() as usize).sum()
    }

    /// The pages, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| Bits(bits).map(move |bit| word * 64 + bit))
    }

    /// The first page at or after `from` that is in the set (`within` true) or is not.
    fn next(&self, from: usize, within: bool) -> Option<usize> {
        let mut word = from / 64;
        let flip = if within { 0 } else { u64::MAX };
        let mut bits = (self.0.get(word)? ^ flip) & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = self.0.get(word)? ^ flip;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The smallest range that holds all of its pages; empty if there is none.
    pub fn span(&self) -> Range<usize> {
        let last = self.0.iter().rposition(|bits| *bits != 0);
        let end = last.map_or(0, |word| word * 64 + 64 - self.0[word].leading_zeros() as usize);
        self.next(0, true).unwrap_or(end)..end
    }

    /// Maximal runs of neighbouring pages, ascending.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, true)?;
            at = self.next(start, false).unwrap_or(PAGES);
            Some(start..at)
        })
    }
}

/// The bits of `range` that fall into a word.
fn mask(word: usize, range: &Range<usize>) -> u64 {
    let (low, high) = (word * 64, word * 64 + 64);
    let (start, end) = (range.start.clamp(low, high), range.end.clamp(low, high));
    match end.saturating_sub(start) {
        0 => 0,
        64 => u64::MAX,
        n => ((1 << n) - 1) << (start - low),
    }
}

/// The set bits of a word, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

impl BitOr for PageSet {
    type Output = Self;
    fn bitor(mut self, other: Self) -> Self {
        self |= other;
        self
    }
}

impl BitAnd for PageSet {
    type Output = Self;
    fn bitand(mut self, other: Self) -> Self {
        self &= other;
        self
    }
}

impl Sub for PageSet {
    type Output = Self;
    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

impl BitOrAssign for PageSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }
}

impl BitAndAssign for PageSet {
    fn bitand_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= b);
    }
}

impl SubAssign for PageSet {
    fn sub_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= !b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_behaves_as_a_set(a in prop::collection::btree_set(0..PAGES, 0..200), b in prop::collection::btree_set(0..PAGES, 0..200), from in 0..PAGES, len in 1usize..PAGES) {
            let set = |pages: &BTreeSet<usize>| { let mut s = PageSet::EMPTY; pages.iter().for_each(|&p| s.insert(p)); s };
            let list = |s: PageSet| s.iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(list(set(&a) | set(&b)), &a | &b);
            prop_assert_eq!(list(set(&a) & set(&b)), &a & &b);
            prop_assert_eq!(list(set(&a) - set(&b)), &a - &b);
            prop_assert_eq!(set(&a).count(), a.len());
            let range = from..(from + len).min(PAGES);
            prop_assert_eq!(set(&a).count_in(range.clone()), a.range(range.clone()).count());
            prop_assert_eq!(list(PageSet::range(range.clone())), range.collect::<BTreeSet<_>>());
        }

        #[test]
        fn runs_are_maximal_and_cover_the_set(a in prop::collection::btree_set(0..PAGES, 0..300)) {
            let mut s = PageSet::EMPTY;
            a.iter().for_each(|&p| s.insert(p));
            let runs: Vec<_> = s.runs().collect();
            prop_assert!(runs.windows(2).all(|w| w[0].end < w[1].start));
            let ends = a.first().zip(a.last()).map_or(0..0, |(first, last)| *first..last + 1);
            prop_assert_eq!(s.span(), ends);
            prop_assert_eq!(runs.into_iter().flatten().collect::<BTreeSet<_>>(), a);
        }
    }
}
