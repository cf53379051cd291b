//! Reproducible random numbers: the same seed gives the same sequence.

/// A pseudo-random number generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `sides`.
    pub const fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % if sides == 0 { 1 } else { sides }
    }

    /// Returns true with a probability of `percent` in a hundred.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.throw(100) < percent
    }
}
