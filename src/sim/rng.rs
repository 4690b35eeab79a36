//! A tiny seeded generator: the simulator is random in looks only.

/// A 64-bit counter-based generator (Weyl sequence through a mixing function).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator that always yields the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x = (x ^ (x >> 29)).wrapping_mul(0xA076_1D64_78BD_642F);
        x ^ (x >> 32)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `-1.0..1.0`.
    pub fn swing(&mut self) -> f64 {
        self.bits() as i64 as f64 / (1u64 << 63) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_even_enough_and_repeats() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 10];
        (0..10_000).for_each(|_| seen[rng.below(10) as usize] += 1);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        let mean: f64 = (0..10_000).map(|_| rng.swing()).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.02, "{mean}");
        assert_eq!(Rng::new(5).bits(), Rng::new(5).bits());
        assert_ne!(Rng::new(5).bits(), Rng::new(6).bits());
    }
}
