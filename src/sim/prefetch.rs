//! The driver's density prefetcher: what it fetches beyond the faulted pages of one block.

use super::pages::PageSet;
use super::params::Params;

/// Pages of the big GPU page to which each fault grows first: 64 KiB over pages of 4 KiB.
const BIG_PAGE: usize = 16;

/// Its rule.
#[derive(Clone, Copy, Debug)]
pub struct Prefetch {
    enabled: bool,
    threshold: usize,
    min_faults: usize,
    group: usize,
}

impl From<&Params> for Prefetch {
    fn from(params: &Params) -> Self {
        Self {
            enabled: params.prefetch_enable == 1,
            threshold: params.prefetch_threshold as usize,
            min_faults: params.prefetch_min_faults as usize,
            group: BIG_PAGE,
        }
    }
}

impl Prefetch {
    /// The pages to take along with `faulted` in a block of `len` pages: for each faulted page the largest aligned
    /// power-of-two region around it of which more than the threshold is there. Thrashing pages neither grow nor are
    /// taken. What is `resident` is among them: it does not move, but may have to be mapped.
    pub fn expand(&self, len: usize, resident: PageSet, faulted: PageSet, thrashing: PageSet) -> PageSet {
        if !self.enabled || faulted.count() < self.min_faults {
            return PageSet::EMPTY;
        }
        let present = self.grow(len, resident | faulted, faulted, thrashing);
        let mut fetched = PageSet::EMPTY;
        for page in (faulted - thrashing).iter() {
            let Some(region) = self.region(len, &present, page) else { continue };
            let end = region.end;
            fetched |= PageSet::range(region);
            if end == len {
                break;
            }
        }
        fetched - faulted - thrashing
    }

    fn grow(&self, len: usize, mut present: PageSet, faulted: PageSet, thrashing: PageSet) -> PageSet {
        for start in (0..len).step_by(self.group.max(1)) {
            let group = start..(start + self.group).min(len);
            if faulted.count_in(group.clone()) > 0 && thrashing.count_in(group.clone()) == 0 {
                present |= PageSet::range(group);
            }
        }
        present
    }

    /// The largest region around `page` that is dense enough; smaller ones need not be.
    fn region(&self, len: usize, present: &PageSet, page: usize) -> Option<std::ops::Range<usize>> {
        let mut best = None;
        let mut size = 1;
        loop {
            let start = page / size * size;
            let region = start..(start + size).min(len);
            if present.count_in(region.clone()) * 100 > region.len() * self.threshold {
                best = Some(region);
            }
            if size >= len {
                return best;
            }
            size *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::pages::PAGES;
    use crate::sim::rng::Rng;

    const DRIVER: Prefetch = Prefetch { enabled: true, threshold: 51, min_faults: 1, group: 16 };

    /// Touches pages one after the other, as the CPU does; gives `(faulted page, pages fetched with it)`.
    fn touch(rule: Prefetch, len: usize, pages: impl IntoIterator<Item = usize>) -> Vec<(usize, usize)> {
        let mut resident = PageSet::EMPTY;
        let mut faults = Vec::new();
        for page in pages {
            if !resident.contains(page) {
                let fetched = rule.expand(len, resident, PageSet::one(page), PageSet::EMPTY) - resident;
                resident |= fetched | PageSet::one(page);
                faults.push((page, fetched.count()));
            }
        }
        faults
    }

    fn batch(pages: impl IntoIterator<Item = usize>) -> usize {
        let mut faulted = PageSet::EMPTY;
        pages.into_iter().for_each(|p| faulted.insert(p));
        DRIVER.expand(PAGES, PageSet::EMPTY, faulted, PageSet::EMPTY).count()
    }

    #[test]
    fn a_sweep_faults_six_times_a_block() {
        let kib: Vec<_> = touch(DRIVER, PAGES, 0..PAGES).iter().map(|&(p, n)| (p * 4, n * 4)).collect();
        assert_eq!(kib, [(0, 60), (64, 60), (128, 124), (256, 252), (512, 508), (1024, 1020)]);
    }

    #[test]
    fn a_reverse_sweep_faults_six_times_too() {
        let kib: Vec<_> = touch(DRIVER, PAGES, (0..PAGES).rev()).iter().map(|&(p, n)| (p * 4, n * 4)).collect();
        assert_eq!(kib, [(2044, 60), (1980, 60), (1916, 124), (1788, 252), (1532, 508), (1020, 1020)]);
    }

    #[test]
    fn strides_up_to_a_group_look_like_a_sweep_and_longer_ones_stay_sparse() {
        for (stride, faults, pages) in [
            (1, 6, 512),
            (2, 6, 512),
            (4, 6, 512),
            (8, 6, 512),
            (16, 6, 512),
            (32, 16, 256),
            (64, 8, 128),
            (128, 4, 64),
            (256, 2, 32),
        ] {
            let seen = touch(DRIVER, PAGES, (0..PAGES).step_by(stride));
            let moved: usize = seen.iter().map(|&(_, n)| n + 1).sum();
            assert_eq!((seen.len(), moved), (faults, pages), "stride of {stride} pages");
        }
    }

    #[test]
    fn a_batch_of_neighbours_is_fetched_up_to_its_group_until_the_half_is_passed() {
        for (k, kib) in
            [(1, 60), (2, 56), (4, 48), (8, 32), (16, 0), (64, 0), (256, 0), (262, 1000), (264, 992), (272, 960)]
        {
            assert_eq!(batch(0..k) * 4, kib, "{k} neighbours");
        }
    }

    #[test]
    fn scattered_faults_take_the_block_from_seventeen_groups_on() {
        assert_eq!(batch([0, 256]) * 4, 120);
        assert!(batch((0..16).map(|g| g * 16)) < PAGES - 16);
        assert_eq!(batch((0..17).map(|g| g * 16)), PAGES - 17);
    }

    #[test]
    fn random_order_faults_about_fourteen_times() {
        let mut rng = Rng::new(7);
        let mut total = 0;
        for _ in 0..200 {
            let mut pages: Vec<usize> = (0..PAGES).collect();
            (1..PAGES).rev().for_each(|i| pages.swap(i, rng.below(i as u64 + 1) as usize));
            total += touch(DRIVER, PAGES, pages).len();
        }
        let mean = total as f64 / 200.0;
        assert!((13.2..14.1).contains(&mean), "{mean}");
    }

    #[test]
    fn settings_change_it_as_they_change_the_driver() {
        assert_eq!(touch(Prefetch { threshold: 0, ..DRIVER }, PAGES, 0..PAGES), [(0, 511)]);
        assert_eq!(touch(Prefetch { enabled: false, ..DRIVER }, PAGES, 0..PAGES).len(), 512);
        assert_eq!(touch(Prefetch { min_faults: 2, ..DRIVER }, PAGES, 0..PAGES).len(), 512);
        let big = touch(Prefetch { group: 1, ..DRIVER }, 32, 0..32);
        assert_eq!(big.first(), Some(&(0, 0)));
        assert_eq!(big.iter().map(|&(_, n)| n * 64).max(), Some(960));
    }

    #[test]
    fn thrashing_pages_stand_alone() {
        let thrashing = PageSet::one(3);
        assert!(DRIVER.expand(PAGES, PageSet::EMPTY, thrashing, thrashing).is_empty());
        let near = DRIVER.expand(PAGES, PageSet::EMPTY, PageSet::one(5), thrashing);
        assert!(near.is_empty(), "a group with a thrashing page does not grow");
    }
}
