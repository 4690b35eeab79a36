//! In which order a touch meets pages, and how many of them are under way at once.

use super::profile::{Arrival, Arrivals};
use crate::device::{Pattern, Touch, permute};
use crate::units::PAGE;

/// Threads of a thread block, as the kernels are launched.
const THREADS_PER_BLOCK: u64 = 256;

/// Bytes of an element.
pub const ELEMENT: u64 = 4;

/// Distinct pages in the order of their first visit.
#[derive(Clone, Debug)]
pub struct Order {
    /// Page numbers within the buffer.
    pub pages: Vec<u32>,
    /// How many of them the running threads cover at once.
    pub window: usize,
    /// Whether neighbouring visits are neighbouring elements.
    pub coalesced: bool,
    /// How the GPU's faults arrive.
    pub arrival: Arrival,
}

impl Order {
    /// Of a touch that lies within its buffer, under `threads` running threads. Only first visits count: a strided
    /// touch that comes back to a page finds it where the first visit left it.
    pub fn of(touch: &Touch, threads: u64, arrivals: &Arrivals) -> Self {
        match touch.pattern {
            Pattern::Sequential => Self::build(sequence(touch), threads * ELEMENT / PAGE, true, arrivals.adjacent),
            Pattern::Block => {
                let blocks = (threads / THREADS_PER_BLOCK).min(touch.count.div_ceil(THREADS_PER_BLOCK)).max(1);
                // How such faults arrive was not measured; blocks that are far apart are taken to fault like scattered threads.
                Self::build(chunks(touch, blocks), blocks, true, arrivals.scattered)
            }
            Pattern::OneWarp => Self::build(sequence(touch), 1, true, arrivals.alone),
            Pattern::Strided { stride_bytes } if stride_bytes < PAGE => {
                let arrival = if stride_bytes <= 64 { arrivals.adjacent } else { arrivals.scattered };
                Self::build(strided(touch, stride_bytes), threads * stride_bytes / PAGE, false, arrival)
            }
            Pattern::Strided { stride_bytes } => {
                Self::build(strided(touch, stride_bytes), threads, false, arrivals.scattered)
            }
            Pattern::Random { seed } => Self::build(random(touch, seed), threads, false, arrivals.scattered),
        }
    }

    fn build(pages: Vec<u32>, window: u64, coalesced: bool, arrival: Arrival) -> Self {
        let window = ((window as f64 * arrival.front) as usize).max(1);
        Self { pages, window, coalesced, arrival }
    }
}

fn page(element: u64) -> u32 {
    (element * ELEMENT / PAGE) as u32
}

fn sequence(touch: &Touch) -> Vec<u32> {
    match touch.count {
        0 => Vec::new(),
        n => (page(touch.first)..=page(touch.first + n - 1)).collect(),
    }
}

/// Collects distinct pages in the order of their first visit.
struct Seen {
    first: u32,
    seen: Vec<bool>,
    pages: Vec<u32>,
}

impl Seen {
    fn new(touch: &Touch) -> Self {
        let first = page(touch.first);
        let last = page(touch.first + touch.elements.saturating_sub(1));
        Self { first, seen: vec![false; (last - first) as usize + 1], pages: Vec::new() }
    }

    fn visit(&mut self, page: u32) {
        if !std::mem::replace(&mut self.seen[(page - self.first) as usize], true) {
            self.pages.push(page);
        }
    }

    fn all(&self) -> bool {
        self.pages.len() == self.seen.len()
    }
}

/// `blocks` chunks side by side, each ascending.
fn chunks(touch: &Touch, blocks: u64) -> Vec<u32> {
    let chunk = touch.count.div_ceil(blocks);
    let mut seen = Seen::new(touch);
    for offset in (0..chunk).step_by((PAGE / ELEMENT) as usize) {
        let starts = (0..blocks).map(|block| block * chunk + offset);
        starts.filter(|at| *at < touch.count).for_each(|at| seen.visit(page(touch.first + at)));
    }
    // A chunk's last page is the first of the next one, or visited above; only the very last may be neither.
    if touch.count > 0 {
        seen.visit(page(touch.first + touch.count - 1));
    }
    seen.pages
}

fn strided(touch: &Touch, stride_bytes: u64) -> Vec<u32> {
    let stride = (stride_bytes / ELEMENT).max(1);
    let per_round = touch.elements.div_ceil(stride).max(1);
    let rounds = touch.count.div_ceil(per_round);
    let mut seen = Seen::new(touch);
    // Offsets within one page visit the same pages again: every 1024th round is enough, and the first one.
    for round in (0..rounds).step_by((PAGE / ELEMENT) as usize) {
        let visits = per_round.min(touch.count - round * per_round);
        for visit in 0..visits {
            let element = visit * stride + round;
            if element < touch.elements {
                seen.visit(page(touch.first + element));
            }
        }
        if seen.all() {
            break;
        }
    }
    seen.pages
}

fn random(touch: &Touch, seed: u32) -> Vec<u32> {
    let mut seen = Seen::new(touch);
    // A page of 1024 elements that twenty visits a page have missed is rare enough to be met in any order.
    let dense = 20 * seen.seen.len() as u64;
    for i in 0..touch.count.min(dense) {
        seen.visit(page(touch.first + permute(i, touch.elements, seed)));
        if seen.all() {
            break;
        }
    }
    if touch.count > dense {
        let (first, last) = (seen.first, seen.first + seen.seen.len() as u32);
        (first..last).for_each(|page| seen.visit(page));
    }
    seen.pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Access, Affine};
    use crate::sim::profile::Profile;

    fn order(pattern: Pattern, first: u64, elements: u64, count: u64) -> Order {
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
        Order::of(&touch, 270_336, &Profile::bundled("h200").unwrap().arrival)
    }

    #[test]
    fn patterns_visit_the_pages_that_their_elements_lie_in() {
        assert_eq!(order(Pattern::Sequential, 1020, 8, 8).pages, [0, 1]);
        assert_eq!(order(Pattern::Strided { stride_bytes: 8192 }, 0, 8192, 3).pages, [0, 2, 4]);
        let whole = order(Pattern::Strided { stride_bytes: 8192 }, 0, 8192, 8192).pages;
        assert_eq!(whole, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert!(order(Pattern::OneWarp, 0, 1024, 0).pages.is_empty());
        let mut all = order(Pattern::Random { seed: 3 }, 0, 1024 * 64, 1024 * 64).pages;
        assert_ne!(all[..4], [0, 1, 2, 3]);
        let mut chunks = order(Pattern::Block, 100, 1 << 22, 1 << 22).pages;
        assert!(chunks[1] >= 3 && chunks[2] >= 6, "every block begins in a chunk of its own");
        chunks.sort_unstable();
        assert_eq!(chunks, (0..=4096).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<u32>>());
    }

    #[test]
    fn the_front_of_a_sweep_is_below_a_mebibyte_and_that_of_scattered_access_everything() {
        assert!((100..=264).contains(&order(Pattern::Sequential, 0, 1 << 20, 1 << 20).window));
        assert!(order(Pattern::Random { seed: 1 }, 0, 1 << 20, 1 << 20).window > 1024);
        assert_eq!(order(Pattern::OneWarp, 0, 1 << 20, 1 << 20).window, 1);
    }
}
