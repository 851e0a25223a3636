//! Chance that can be had again: the seed is told when a test fails, and `QUARTERDECK_SEED` sets
//! it. A million commands must not wait for their generator.

use std::hash::{BuildHasher, RandomState};

pub struct Dice {
    pub seed: u64,
    state: u64,
}

impl Dice {
    pub fn new() -> Self {
        Self::salted(0)
    }

    /// For one of several threads, which must not all make the same.
    pub fn salted(salt: u64) -> Self {
        let given = std::env::var("QUARTERDECK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0_u8));
        Self { seed, state: seed.wrapping_add(salt << 32) }
    }

    /// The splitmix64 step.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
