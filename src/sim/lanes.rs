//! What the threads of a kernel of `kernels/touch.cu` go through: places that stand still on a page until they may use it.

use crate::device::{ELEMENT, Pattern, Touch, permute};
use crate::units::PAGE;

/// Threads of a thread block, as the kernels are launched.
pub const THREADS_PER_BLOCK: u64 = 256;
/// Thread blocks of a multiprocessor, as the kernels are launched.
pub const BLOCKS_PER_SM: u64 = 8;
/// Threads of a warp.
const WARP: u64 = 32;
/// Elements that a thread of the sequential kernel takes at once: 16 bytes.
const AT_ONCE: u64 = 4;
/// Elements on a page.
const PER_PAGE: u64 = PAGE / ELEMENT;

/// The places of one kernel. A place is one thread, or the threads that are always on one page together.
#[derive(Clone, Debug)]
pub struct Lanes {
    walk: Walk,
    /// Number of places.
    pub places: usize,
    /// Places of a warp.
    pub per_warp: usize,
    /// Places of a thread block.
    pub per_block: usize,
    /// Whether the threads of a warp are on neighbouring elements.
    pub coalesced: bool,
    /// Whether several warps are on the page of a place.
    pub shared: bool,
}

#[derive(Clone, Debug)]
enum Walk {
    /// Thread blocks take the pages of `first..=last` in turn.
    Turns { first: u64, last: u64 },
    /// Each thread block takes `chunk` of `count` elements.
    Chunks { first: u64, count: u64, chunk: u64 },
    /// Threads take visits in turn; visit v is on row v % rows of lane v / rows.
    Rows { first: u64, rows: u64, stride: u64, count: u64, threads: u64, per_place: u64 },
    /// Threads take visits in turn; visits are permuted.
    Scattered { first: u64, elements: u64, count: u64, threads: u64, seed: u32 },
}

fn page(element: u64) -> u64 {
    element / PER_PAGE
}

impl Lanes {
    /// Those of a touch that lies within its buffer, on a card with that many multiprocessors.
    pub fn of(touch: &Touch, multiprocessors: u64) -> Self {
        let Touch { first, elements, count, .. } = *touch;
        let grid = |threads: u64| threads.div_ceil(THREADS_PER_BLOCK).clamp(1, multiprocessors * BLOCKS_PER_SM);
        let threads = grid(count) * THREADS_PER_BLOCK;
        match touch.pattern {
            Pattern::Sequential => Self::whole_blocks(Self::turns(first, count), grid(count.div_ceil(AT_ONCE)), true),
            Pattern::OneWarp => Self::whole_blocks(Self::turns(first, count), 1, false),
            Pattern::Block => {
                let blocks = grid(count);
                Self::whole_blocks(Walk::Chunks { first, count, chunk: count.div_ceil(blocks) }, blocks, true)
            }
            Pattern::Strided { stride_bytes } => {
                let stride = (stride_bytes / ELEMENT).max(1);
                let aligned = PAGE.is_multiple_of(stride_bytes.max(1)) && first.is_multiple_of(PER_PAGE);
                let per_place = if aligned { (PER_PAGE / stride).clamp(1, WARP) } else { 1 };
                let rows = (elements / stride).max(1);
                let places = threads.min(count).div_ceil(per_place);
                Self {
                    walk: Walk::Rows { first, rows, stride, count, threads, per_place },
                    places: places as usize,
                    per_warp: (WARP / per_place).max(1) as usize,
                    per_block: (THREADS_PER_BLOCK / per_place) as usize,
                    coalesced: false,
                    shared: false,
                }
            }
            Pattern::Random { seed } => Self {
                walk: Walk::Scattered { first, elements, count, threads, seed },
                places: threads.min(count) as usize,
                per_warp: WARP as usize,
                per_block: THREADS_PER_BLOCK as usize,
                coalesced: false,
                shared: false,
            },
        }
    }

    fn turns(first: u64, count: u64) -> Walk {
        // Nothing to do is a walk whose first page is beyond its last.
        let last = if count == 0 { 0 } else { page(first + count - 1) };
        Walk::Turns { first: if count == 0 { 1 } else { page(first) }, last }
    }

    fn whole_blocks(walk: Walk, blocks: u64, shared: bool) -> Self {
        Self { walk, places: blocks as usize, per_warp: 1, per_block: 1, coalesced: true, shared }
    }

    /// The page, within the buffer, on which a place is at a step; `None` once it is through.
    pub fn page(&self, place: usize, step: u32) -> Option<u32> {
        let (place, step) = (place as u64, u64::from(step));
        let at = match self.walk {
            Walk::Turns { first, last } => {
                let page = first + place + step * self.places as u64;
                (page <= last).then_some(page)
            }
            Walk::Chunks { first, count, chunk } => {
                let begin = place * chunk;
                let end = (begin + chunk).min(count);
                let at = page(first + begin) + step;
                (begin < end && at <= page(first + end - 1)).then_some(at)
            }
            Walk::Rows { first, rows, stride, count, threads, per_place } => {
                let visit = place * per_place + step * threads;
                (visit < count).then(|| page(first + visit % rows * stride + visit / rows))
            }
            Walk::Scattered { first, elements, count, threads, seed } => {
                let visit = place + step * threads;
                (visit < count).then(|| page(first + permute(visit, elements, seed)))
            }
        };
        at.map(|page| page as u32)
    }

    /// The first step after `step` at which a place may be on a page that it has not been on. What a loop comes back to
    /// it finds where its first visit left it.
    pub fn next(&self, place: usize, step: u32) -> u32 {
        let Walk::Rows { first, rows, stride, threads, per_place, .. } = self.walk else { return step + 1 };
        if !first.is_multiple_of(PER_PAGE) || !stride.is_multiple_of(PER_PAGE) {
            return step + 1;
        }
        // While the lane stays within one page of its row, a place goes around among the same few rows.
        let (begin, around) = (place as u64 * per_place, rows / gcd(threads, rows));
        let (turn, before) = (PER_PAGE * rows, u64::from(step));
        let page = (begin + before * threads) / turn;
        let entered = (page * turn).saturating_sub(begin).div_ceil(threads);
        if before + 1 < entered + around {
            return step + 1;
        }
        // The last lane of a stride ends the walk; more steps than that change nothing.
        let left = ((page + 1) * turn).saturating_sub(begin).div_ceil(threads);
        u32::try_from(left.max(before + 1)).unwrap_or(u32::MAX)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Access, Affine};
    use std::collections::BTreeSet;

    fn lanes(pattern: Pattern, first: u64, elements: u64, count: u64) -> Lanes {
        let value = Affine { mul: 1, add: 0 };
        let touch = Touch {
            access: Access::Read,
            pattern,
            first,
            elements,
            count,
            value,
            work: 1,
            expect: None,
            addends: None,
        };
        Lanes::of(&touch, 132)
    }

    /// The pages of a place in the order of its walk.
    fn walk(lanes: &Lanes, place: usize) -> Vec<u32> {
        let mut step = 0;
        std::iter::from_fn(|| {
            let page = lanes.page(place, step)?;
            step = lanes.next(place, step);
            Some(page)
        })
        .collect()
    }

    fn all(lanes: &Lanes) -> BTreeSet<u32> {
        (0..lanes.places).flat_map(|place| walk(lanes, place)).collect()
    }

    #[test]
    fn the_places_together_meet_the_pages_that_the_elements_lie_on() {
        let pages = |range: std::ops::RangeInclusive<u32>| range.collect::<BTreeSet<u32>>();
        assert_eq!(all(&lanes(Pattern::Sequential, 1020, 8, 8)), pages(0..=1));
        assert_eq!(all(&lanes(Pattern::Sequential, 0, 5 << 20, 5 << 20)), pages(0..=5119));
        assert_eq!(all(&lanes(Pattern::Block, 100, 1 << 22, 1 << 22)), pages(0..=4096));
        assert_eq!(all(&lanes(Pattern::OneWarp, 1024, 4096, 4096)), pages(1..=4));
        assert!(all(&lanes(Pattern::OneWarp, 0, 1024, 0)).is_empty());
        let random = lanes(Pattern::Random { seed: 3 }, 0, 1 << 16, 1 << 16);
        assert_eq!(all(&random), pages(0..=63));
        let strided = |stride_bytes, count| lanes(Pattern::Strided { stride_bytes }, 0, 1 << 22, count);
        assert_eq!(all(&strided(65536, 1 << 22)), pages(0..=4095));
        assert_eq!(all(&strided(256, 1 << 22)), pages(0..=4095));
        assert_eq!(all(&strided(8192, 3)), [0, 2, 4].into());
    }

    #[test]
    fn a_thread_block_of_the_sweep_is_on_one_page_and_the_grid_on_a_thousand() {
        let sweep = lanes(Pattern::Sequential, 0, 1 << 26, 1 << 26);
        assert_eq!((sweep.places, sweep.page(7, 0), sweep.page(7, 1)), (1056, Some(7), Some(1063)));
        let strided = lanes(Pattern::Strided { stride_bytes: 65536 }, 0, 1 << 26, 1 << 26);
        assert_eq!(strided.places, 270_336);
        let uneven = lanes(Pattern::Strided { stride_bytes: 65536 }, 0, 1 << 28, 1 << 28);
        let met = walk(&uneven, 5);
        assert_eq!(met.len(), 32, "270 336 threads on 16 384 rows: each thread is on two rows in turn");
        assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), 32, "each of their sixteen pages once");
        assert_eq!(all(&uneven).len(), 1 << 18);
        assert_eq!(walk(&strided, 1).len(), 16, "a thread meets the sixteen pages of its row once each");
    }
}
