//! The CPU's side of a touch: plain loops over a slice, written so that the compiler vectorises the ascending ones.

use super::visits::Visits;
use crate::device::{Access, Affine, Expect, Touch};
use crate::event::Check;
use std::hint::black_box;

/// Elements looked at before the 32-bit counters of the inner loop, which vectorise, are added up.
const CHUNK: usize = 1 << 16;

/// Touches `data`, a whole buffer. A read with an expectation gives the check; a read without one only reads.
pub(super) fn run(data: &mut [u32], touch: &Touch, visits: &Visits) -> Option<Check> {
    match (touch.access, touch.expect) {
        (Access::Write, _) => write(data, touch.value, visits),
        (Access::ReadWrite, _) => update(data, touch.value, visits),
        // A GPU's only: `CudaDevice::touch` refuses it for the CPU.
        (Access::Add, _) => {}
        (Access::Read, None) => read(data, visits),
        (Access::Read, Some(expect)) => return Some(check(data, &expect, visits)),
    }
    None
}

/// The part of `data` that ascending visits cover.
fn covered(visits: &Visits) -> std::ops::Range<usize> {
    let first = visits.first() as usize;
    first..first + visits.count() as usize
}

fn write(data: &mut [u32], value: Affine, visits: &Visits) {
    if !visits.ascending() {
        return visits.for_each(|i| data[i as usize] = value.at(i));
    }
    let mut next = value.at(visits.first());
    for x in &mut data[covered(visits)] {
        *x = next;
        next = next.wrapping_add(value.mul);
    }
}

fn update(data: &mut [u32], step: Affine, visits: &Visits) {
    let apply = |x: &mut u32| *x = x.wrapping_mul(step.mul).wrapping_add(step.add);
    if !visits.ascending() {
        return visits.for_each(|i| apply(&mut data[i as usize]));
    }
    data[covered(visits)].iter_mut().for_each(apply);
}

fn read(data: &[u32], visits: &Visits) {
    let mut sum = 0u32;
    if visits.ascending() {
        sum = data[covered(visits)].iter().fold(0, |sum, &x| sum.wrapping_add(x));
    } else {
        visits.for_each(|i| sum = sum.wrapping_add(data[i as usize]));
    }
    black_box(sum);
}

/// What the visited elements held, counted.
#[derive(Default)]
struct Found {
    /// The touched value only.
    touched: u64,
    /// A value that is both, where the two functions meet.
    both: u64,
    /// Neither value.
    neither: u64,
}

fn check(data: &[u32], expect: &Expect, visits: &Visits) -> Check {
    let wrong = match visits.uniform(expect) {
        Some(value) => differing(data, value, visits),
        None => {
            let found = compare(data, expect, visits);
            let allowed = visits.touched_among(expect);
            // Elements that fit both functions may count as either.
            let missing = allowed.start().saturating_sub(found.touched + found.both);
            let surplus = found.touched.saturating_sub(*allowed.end());
            (found.neither + missing + surplus).min(visits.count())
        }
    };
    Check { elements: visits.count(), wrong }
}

/// How many visited elements do not hold `value`.
fn differing(data: &[u32], value: Affine, visits: &Visits) -> u64 {
    let mut wrong = 0u64;
    if !visits.ascending() {
        visits.for_each(|i| wrong += u64::from(data[i as usize] != value.at(i)));
        return wrong;
    }
    let mut next = value.at(visits.first());
    for chunk in data[covered(visits)].chunks(CHUNK) {
        let mut here = 0u32;
        for &x in chunk {
            here += u32::from(x != next);
            next = next.wrapping_add(value.mul);
        }
        wrong += u64::from(here);
    }
    wrong
}

fn compare(data: &[u32], expect: &Expect, visits: &Visits) -> Found {
    let mut found = Found::default();
    if !visits.ascending() {
        visits.for_each(|i| {
            found.count(std::slice::from_ref(&data[i as usize]), expect.touched.at(i), expect.untouched.at(i), expect);
        });
        return found;
    }
    let mut i = visits.first();
    for chunk in data[covered(visits)].chunks(CHUNK) {
        found.count(chunk, expect.touched.at(i), expect.untouched.at(i), expect);
        i += chunk.len() as u64;
    }
    found
}

impl Found {
    /// Counts neighbouring elements, the first of which must hold `touched` or `untouched`.
    fn count(&mut self, chunk: &[u32], mut touched: u32, mut untouched: u32, expect: &Expect) {
        let (mut only, mut both, mut neither) = (0u32, 0u32, 0u32);
        for &x in chunk {
            only += u32::from((x == touched) & (x != untouched));
            both += u32::from((x == touched) & (x == untouched));
            neither += u32::from((x != touched) & (x != untouched));
            touched = touched.wrapping_add(expect.touched.mul);
            untouched = untouched.wrapping_add(expect.untouched.mul);
        }
        self.touched += u64::from(only);
        self.both += u64::from(both);
        self.neither += u64::from(neither);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Pattern;

    const OLD: Affine = Affine { mul: 3, add: 5 };
    const STEP: Affine = Affine { mul: 7, add: 11 };
    const N: u64 = 3 * CHUNK as u64 + 17;
    const PATTERNS: [Pattern; 5] = [
        Pattern::Sequential,
        Pattern::Strided { stride_bytes: 20 },
        Pattern::Random { seed: 99 },
        Pattern::Block,
        Pattern::OneWarp,
    ];

    fn go(data: &mut [u32], access: Access, pattern: Pattern, count: u64, value: Affine) -> Option<Check> {
        let elements = data.len() as u64;
        apply(data, &Touch { access, pattern, first: 0, elements, count, value, work: 1, expect: None, addends: None })
    }

    fn apply(data: &mut [u32], touch: &Touch) -> Option<Check> {
        let visits = Visits::new(touch, data.len() as u64).unwrap();
        run(data, touch, &visits)
    }

    fn checked(data: &mut [u32], pattern: Pattern, touched: Affine, count: u64) -> Check {
        let elements = data.len() as u64;
        let expect = Some(Expect { touched, untouched: OLD, count });
        let touch = Touch {
            access: Access::Read,
            pattern,
            first: 0,
            elements,
            count: elements,
            value: OLD,
            work: 1,
            expect,
            addends: None,
        };
        apply(data, &touch).unwrap()
    }

    fn fresh(n: u64) -> Vec<u32> {
        (0..n).map(|i| OLD.at(i)).collect()
    }

    #[test]
    fn what_is_written_in_any_order_is_found_in_any_order() {
        let n = N / 5 * 5;
        for made in PATTERNS {
            let mut data = vec![0; n as usize];
            go(&mut data, Access::Write, made, n, OLD);
            assert_eq!(data, fresh(n), "{made:?}");
            go(&mut data, Access::ReadWrite, made, n, STEP);
            for read in PATTERNS {
                assert_eq!(
                    checked(&mut data, read, OLD.then(STEP), n),
                    Check { elements: n, wrong: 0 },
                    "{made:?} {read:?}"
                );
            }
        }
    }

    #[test]
    fn one_wrong_element_is_counted_wherever_it_is() {
        for at in [0, 1, CHUNK - 1, CHUNK, N as usize - 1] {
            let mut data = fresh(N);
            data[at] ^= 0x8000_0000;
            assert_eq!(checked(&mut data, Pattern::Sequential, OLD, N).wrong, 1, "{at}");
            assert_eq!(checked(&mut data, Pattern::Random { seed: 1 }, OLD, N).wrong, 1, "{at}");
        }
    }

    #[test]
    fn a_missing_and_a_doubled_touch_are_wrong() {
        let mut data = fresh(N);
        go(&mut data, Access::ReadWrite, Pattern::Sequential, N, STEP);
        data[10] = OLD.at(10);
        data[CHUNK + 3] = data[CHUNK + 3].wrapping_mul(STEP.mul).wrapping_add(STEP.add);
        assert_eq!(checked(&mut data, Pattern::Sequential, OLD.then(STEP), N).wrong, 2);
    }

    #[test]
    fn a_sample_must_be_of_the_right_size_and_of_the_two_values() {
        for read in [Pattern::Sequential, Pattern::Random { seed: 5 }] {
            let mut data = fresh(N);
            go(&mut data, Access::ReadWrite, Pattern::Random { seed: 4 }, 1000, STEP);
            let wrong = |data: &mut Vec<u32>, count| checked(data, read, OLD.then(STEP), count).wrong;
            assert_eq!(wrong(&mut data, 1000), 0);
            assert_eq!(wrong(&mut data, 1003), 3, "three touches are missing");
            assert_eq!(wrong(&mut data, 998), 2, "two touches are too many");
            let untouched = (0..N as usize).find(|&i| data[i] == OLD.at(i as u64)).unwrap();
            data[untouched] ^= 1;
            assert_eq!(wrong(&mut data, 1000), 1);
        }
    }

    #[test]
    fn elements_outside_the_range_are_left_alone() {
        let mut data = vec![0; 100];
        let mut touch = Touch {
            access: Access::Write,
            pattern: Pattern::Sequential,
            first: 10,
            elements: 20,
            count: 20,
            value: OLD,
            work: 1,
            expect: None,
            addends: None,
        };
        for pattern in PATTERNS {
            touch.pattern = pattern;
            data.fill(0);
            apply(&mut data, &touch);
            let expected: Vec<u32> = (0..100).map(|i| if (10..30).contains(&i) { OLD.at(i) } else { 0 }).collect();
            assert_eq!(data, expected, "{pattern:?}");
        }
    }
}
