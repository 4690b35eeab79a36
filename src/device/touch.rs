//! Touching memory: what an access does, in which order, and the arithmetic by which it is checked.
//!
//! Memory is seen as an array of `u32` elements. Element `i` holds `mul * i + add` (wrapping). A CPU write sets that
//! function, a read-write applies `x → x * mul + add` to each element it touches, and a CPU read compares every element with
//! what it must be. So one pair of numbers says what a gigabyte must hold, and a wrong, missing or doubled access shows.

use super::{Buffer, Part};
use serde::{Deserialize, Serialize};

/// What is done with each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read only.
    Read,
    /// Written without being read.
    Write,
    /// Read, changed, written.
    ReadWrite,
    /// Written with the sum of two other buffers, element by element.
    Add,
}

/// In which order elements are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Pattern {
    /// Ascending; neighbouring threads touch neighbouring elements.
    Sequential,
    /// Every `stride_bytes`-th element, then the next offset, until each was visited once. The stride divides the length.
    Strided {
        /// Distance in bytes between consecutive visits; a multiple of 4.
        stride_bytes: u64,
    },
    /// A permutation ([`permute`]): each element once, in scattered order; with `count` below the length, a sample.
    Random {
        /// Chooses the permutation.
        seed: u32,
    },
    /// Each thread block works through a contiguous chunk of its own, so the GPU is everywhere at once.
    Block,
    /// One warp works on the range alone, ascending: the smallest kernel there is (ping-pong over a page).
    OneWarp,
}

/// The function `i → mul * i + add` over wrapping `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// Factor; odd, so that distinct values stay distinct.
    pub mul: u32,
    /// Summand.
    pub add: u32,
}

impl Affine {
    /// Value at `i`.
    pub fn at(self, i: u64) -> u32 {
        self.mul.wrapping_mul(i as u32).wrapping_add(self.add)
    }

    /// What an element-wise `x → x * step.mul + step.add` makes of this function.
    pub fn then(self, step: Affine) -> Affine {
        Affine { mul: self.mul.wrapping_mul(step.mul), add: self.add.wrapping_mul(step.mul).wrapping_add(step.add) }
    }

    /// The step that does what this step does `times` times.
    pub fn repeated(self, times: u32) -> Affine {
        (0..times).fold(Affine { mul: 1, add: 0 }, |done, _| done.then(self))
    }

    /// What the element-wise sum of two arrays holds.
    pub fn plus(self, other: Affine) -> Affine {
        Affine { mul: self.mul.wrapping_add(other.mul), add: self.add.wrapping_add(other.add) }
    }
}

/// What a read must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Value of elements that the device's last touch visited.
    pub touched: Affine,
    /// Value of the others; equal to `touched` when all were visited.
    pub untouched: Affine,
    /// How many elements must hold `touched` (all of them when all were visited).
    pub count: u64,
}

impl Expect {
    /// What a part of a buffer of `length` elements must hold, of what all of it must. Where only a sample was touched it
    /// is not known how much of that lies in the part; a part is read after whole touches only.
    pub fn within(self, part: Part, length: u64) -> Self {
        let count = if self.count >= length { part.elements } else { self.count.min(part.elements) };
        Self { count, ..self }
    }
}

/// One touch of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// What is done.
    pub access: Access,
    /// In which order.
    pub pattern: Pattern,
    /// First element.
    pub first: u64,
    /// Length of the range in elements; for `Random`, also the domain of the permutation.
    pub elements: u64,
    /// How many accesses are made: `elements`, or fewer for a random sample.
    pub count: u64,
    /// For `Write`: the function written (over the element's index in the buffer). For `ReadWrite`: the step applied.
    pub value: Affine,
    /// How many times a GPU's `ReadWrite` applies its step to each element in a row, so that a kernel can take as long as a
    /// copy: 1, or more where [`Touch::computes_in_order`].
    pub work: u32,
    /// For a `Read`: what must be found.
    pub expect: Option<Expect>,
    /// For `Add`: the two buffers that are read at the same elements.
    pub addends: Option<[Buffer; 2]>,
}

impl Touch {
    /// Whether it is a read-write of its whole range in order, which is what more `work` is for.
    pub fn computes_in_order(&self) -> bool {
        self.access == Access::ReadWrite && self.pattern == Pattern::Sequential && self.count == self.elements
    }
}

/// The `i`-th element of a seeded permutation of `0..n`, `n` ≥ 1: a mixing bijection on the next power of two, walked along
/// its cycle until it falls inside `0..n`. The kernels compute the same function (`kernels/touch.cu`).
pub fn permute(i: u64, n: u64, seed: u32) -> u64 {
    let bits = 64 - n.saturating_sub(1).leading_zeros();
    let mask = if bits == 64 { u64::MAX } else { (1u64 << bits) - 1 };
    let shift = (bits / 2).max(1);
    let mut x = i;
    loop {
        x = x.wrapping_add(u64::from(seed)) & mask;
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask;
        x ^= x >> shift;
        x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93) & mask;
        x ^= x >> shift;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_compose() {
        let start = Affine { mul: 3, add: 7 };
        let step = Affine { mul: 5, add: 11 };
        for i in [0, 1, 1000, u64::from(u32::MAX)] {
            assert_eq!(start.then(step).at(i), start.at(i).wrapping_mul(5).wrapping_add(11));
        }
    }

    #[test]
    fn a_step_repeated_and_a_sum_are_what_they_are_element_by_element() {
        let (a, b) = (Affine { mul: 3, add: 7 }, Affine { mul: 5, add: 11 });
        let by_hand = |x: u32| (0..4).fold(x, |x, _| x.wrapping_mul(b.mul).wrapping_add(b.add));
        assert_eq!(a.then(b.repeated(4)).at(9), by_hand(a.at(9)));
        assert_eq!(a.then(b.repeated(0)), a);
        assert_eq!(a.plus(b).at(1000), a.at(1000) + b.at(1000));
    }

    proptest! {
        #[test]
        fn the_permutation_visits_each_element_once(n in 1u64..5000, seed: u32) {
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let at = permute(i, n, seed) as usize;
                prop_assert!(!seen[at]);
                seen[at] = true;
            }
        }
    }
}
