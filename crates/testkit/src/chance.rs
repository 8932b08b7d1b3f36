//! Seeded chance: the same seed, the same run.

/// xorshift64*: small, good enough, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number in `0..below`.
    pub fn below(&mut self, below: usize) -> usize {
        (self.draw() >> 11) as usize % below
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The seed to run: `LAZULI_SEED`, or the given one. Print it with every failure.
pub fn seed(default: u64) -> u64 {
    number("LAZULI_SEED", default)
}

/// A count that a longer run can raise by environment.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
