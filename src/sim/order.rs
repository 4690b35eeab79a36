//! In which order the CPU's loop meets pages.

use crate::device::{ELEMENT, Pattern, Touch, permute};
use crate::units::PAGE;

/// Distinct pages in the order of their first visit: a loop that comes back to a page finds it where the first visit
/// left it.
#[derive(Clone, Debug)]
pub struct Order {
    /// Page numbers within the buffer.
    pub pages: Vec<u32>,
}

impl Order {
    /// Of a touch that lies within its buffer.
    pub fn of(touch: &Touch) -> Self {
        let pages = match touch.pattern {
            Pattern::Sequential | Pattern::Block | Pattern::OneWarp => sequence(touch),
            Pattern::Strided { stride_bytes } => strided(touch, stride_bytes),
            Pattern::Random { seed } => random(touch, seed),
        };
        Self { pages }
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

    fn order(pattern: Pattern, first: u64, elements: u64, count: u64) -> Vec<u32> {
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
        Order::of(&touch).pages
    }

    #[test]
    fn patterns_visit_the_pages_that_their_elements_lie_in() {
        assert_eq!(order(Pattern::Sequential, 1020, 8, 8), [0, 1]);
        assert_eq!(order(Pattern::Strided { stride_bytes: 8192 }, 0, 8192, 3), [0, 2, 4]);
        let whole = order(Pattern::Strided { stride_bytes: 8192 }, 0, 8192, 8192);
        assert_eq!(whole, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert!(order(Pattern::OneWarp, 0, 1024, 0).is_empty());
        let mut all = order(Pattern::Random { seed: 3 }, 0, 1024 * 64, 1024 * 64);
        assert_ne!(all[..4], [0, 1, 2, 3]);
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<u32>>());
    }
}
