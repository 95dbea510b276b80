//! A small random number generator with the same numbers on every machine and in every release: xoshiro256++ by Blackman
//! and Vigna (prng.di.unimi.it), seeded through splitmix64. Not for secrets.

/// A stream of random numbers, fully determined by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of `seed`; seeds that differ by one give unrelated streams.
    pub fn seeded(seed: u64) -> Self {
        let mut position = seed;
        Self { state: std::array::from_fn(|_| splitmix64(&mut position)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        // Multiply and shift (Lemire): its bias is below 2^-32 for any bound a test uses.
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// True once in `count` times on average.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Overwrites `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next_u64().to_le_bytes()[..word.len()]);
        }
    }
}

fn splitmix64(position: &mut u64) -> u64 {
    *position = position.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*position ^ (*position >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut position = 1_234_567;
        let first: [u64; 3] = std::array::from_fn(|_| splitmix64(&mut position));
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn xoshiro_gives_the_published_numbers() {
        // The first outputs of the reference implementation from the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_it_and_nothing_else() {
        let mut random = Random::seeded(3);
        let mut seen = [0_usize; 5];
        for _ in 0..5000 {
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
    }

    #[test]
    fn filling_is_the_stream_itself_whatever_the_length() {
        let (mut long, mut short) = ([0; 21], [0; 13]);
        Random::seeded(9).fill(&mut long);
        Random::seeded(9).fill(&mut short);
        assert_eq!(long[..13], short);
    }
}
