//! Which elements a touch visits and in which order, and what must be found there. Pure; the kernels do the same.

use crate::device::{Affine, DeviceError, Expect, Pattern, Touch, permute};

const ELEMENT: u64 = size_of::<u32>() as u64;

/// A touch that has been checked against the buffer that it touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visits {
    first: u64,
    elements: u64,
    count: u64,
    pattern: Pattern,
}

impl Visits {
    /// The visits of `touch`, or why it cannot be made on a buffer of `length` elements.
    pub(super) fn new(touch: &Touch, length: u64) -> Result<Self, DeviceError> {
        let Touch { first, elements, count, pattern, .. } = *touch;
        let misuse = |text: String| Err(DeviceError::Misuse(text));
        if first.checked_add(elements).is_none_or(|end| end > length) {
            return misuse(format!("elements {first}+{elements} are beyond the buffer's {length}"));
        }
        if elements == 0 || count > elements {
            return misuse(format!("cannot make {count} accesses to a range of {elements} elements"));
        }
        if let Pattern::Strided { stride_bytes } = pattern
            && (stride_bytes == 0 || stride_bytes % ELEMENT != 0 || elements % (stride_bytes / ELEMENT) != 0)
        {
            return misuse(format!(
                "a stride of {stride_bytes} bytes does not divide a range of {} bytes into whole elements",
                elements.saturating_mul(ELEMENT)
            ));
        }
        Ok(Self { first, elements, count, pattern })
    }

    /// First element of the range.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// How many elements are visited.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the visits, in the CPU's order, go through the range from its first element on, one by one.
    pub(super) fn ascending(&self) -> bool {
        matches!(self.pattern, Pattern::Sequential | Pattern::Block | Pattern::OneWarp)
    }

    /// The kernels' parameter `shape`: stride in elements or seed.
    pub(super) fn shape(&self) -> u64 {
        match self.pattern {
            Pattern::Strided { stride_bytes } => stride_bytes / ELEMENT,
            Pattern::Random { seed } => u64::from(seed),
            Pattern::Sequential | Pattern::Block | Pattern::OneWarp => 0,
        }
    }

    /// Calls `at` with the index in the buffer of each visited element, in order.
    pub(super) fn for_each(&self, mut at: impl FnMut(u64)) {
        match self.pattern {
            Pattern::Sequential | Pattern::Block | Pattern::OneWarp => {
                (self.first..self.first + self.count).for_each(at);
            }
            Pattern::Random { seed } => {
                (0..self.count).for_each(|k| at(self.first + permute(k, self.elements, seed)));
            }
            Pattern::Strided { .. } => {
                let stride = self.shape();
                let rows = self.elements / stride;
                let mut left = self.count;
                for lane in 0..stride {
                    let here = rows.min(left);
                    (0..here).for_each(|row| at(self.first + row * stride + lane));
                    left -= here;
                }
            }
        }
    }

    /// The one function that the whole range must hold; `None` if some elements hold the one and some the other.
    pub(super) fn uniform(&self, expect: &Expect) -> Option<Affine> {
        (expect.count >= self.elements || expect.touched == expect.untouched).then_some(expect.touched)
    }

    /// How many of the visited elements may hold the touched value, when `expect.count` of the range do.
    pub(super) fn touched_among(&self, expect: &Expect) -> std::ops::RangeInclusive<u64> {
        let most = expect.count.min(self.count);
        let unseen = self.elements - self.count;
        expect.count.saturating_sub(unseen).min(most)..=most
    }

    /// The sum of all visited values modulo 2³². `None` if only some elements of the range were touched before: then
    /// it depends on which.
    pub(super) fn sum(&self, expect: &Expect) -> Option<u32> {
        let value = self.uniform(expect)?;
        if self.count == self.elements || self.ascending() {
            // mul · (first + … + last) + add · count; the product of the two is even, and fits in 128 bits.
            let (first, count) = (u128::from(self.first), u128::from(self.count));
            let indices = (2 * first + count.saturating_sub(1)) * count / 2;
            return Some(
                value.mul.wrapping_mul(indices as u32).wrapping_add(value.add.wrapping_mul(self.count as u32)),
            );
        }
        let mut sum = 0u32;
        self.for_each(|i| sum = sum.wrapping_add(value.at(i)));
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Access;
    use proptest::prelude::*;

    fn touch(pattern: Pattern, first: u64, elements: u64, count: u64) -> Touch {
        let value = Affine { mul: 1, add: 0 };
        Touch { access: Access::Read, pattern, first, elements, count, value, work: 1, expect: None, addends: None }
    }

    fn order(touch: &Touch) -> Vec<u64> {
        let mut seen = Vec::new();
        Visits::new(touch, 1 << 20).unwrap().for_each(|i| seen.push(i));
        seen
    }

    #[test]
    fn a_stride_visits_every_row_of_a_lane_before_the_next_lane() {
        let strided = Pattern::Strided { stride_bytes: 16 };
        assert_eq!(order(&touch(strided, 100, 12, 12)), [100, 104, 108, 101, 105, 109, 102, 106, 110, 103, 107, 111]);
        assert_eq!(order(&touch(strided, 0, 12, 4)), [0, 4, 8, 1]);
    }

    #[test]
    fn touches_that_do_not_fit_are_refused() {
        let refused = |touch: &Touch| Visits::new(touch, 100).is_err();
        assert!(refused(&touch(Pattern::Sequential, 90, 11, 11)));
        assert!(refused(&touch(Pattern::Sequential, u64::MAX, 2, 2)));
        assert!(refused(&touch(Pattern::Sequential, 0, 0, 0)));
        assert!(refused(&touch(Pattern::Random { seed: 1 }, 0, 10, 11)));
        for stride_bytes in [0, 2, 12, 128] {
            assert!(refused(&touch(Pattern::Strided { stride_bytes }, 0, 16, 16)), "{stride_bytes}");
        }
        assert!(!refused(&touch(Pattern::Sequential, 90, 10, 10)));
    }

    proptest! {
        #[test]
        fn all_patterns_visit_each_element_once(first in 0u64..1000, rows in 1u64..200, stride in 1u64..9, seed: u32) {
            let elements = rows * stride;
            let strided = Pattern::Strided { stride_bytes: stride * 4 };
            for pattern in [Pattern::Sequential, strided, Pattern::Random { seed }, Pattern::Block, Pattern::OneWarp] {
                let mut seen = order(&touch(pattern, first, elements, elements));
                seen.sort_unstable();
                prop_assert!(seen.iter().copied().eq(first..first + elements));
            }
        }

        #[test]
        fn the_closed_sum_is_the_sum(first in 0u64..1000, elements in 1u64..500, mul: u32, add: u32) {
            let value = Affine { mul, add };
            let expect = Expect { touched: value, untouched: value, count: elements };
            for pattern in [Pattern::Sequential, Pattern::Random { seed: 7 }] {
                for count in [elements, elements / 2] {
                    let touch = touch(pattern, first, elements, count);
                    let sum = order(&touch).iter().fold(0u32, |sum, &i| sum.wrapping_add(value.at(i)));
                    prop_assert_eq!(Visits::new(&touch, 1 << 20).unwrap().sum(&expect), Some(sum));
                }
            }
        }
    }
}
