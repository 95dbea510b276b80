//! Keys for new rows that no other row of the run has, and that follow no order, as sysbench's `rand.unique()` makes them: a counter of all clients
//! through a permutation of 32 bits.

use std::sync::atomic::{AtomicU32, Ordering};

/// The largest prime below 2^32; 3 modulo 4, so that squares modulo it are a permutation of one half.
const PRIME: u64 = 4_294_967_291;

/// Keys of a run.
#[derive(Debug)]
pub(super) struct UniqueKeys {
    next: AtomicU32,
    offset: u32,
}

impl UniqueKeys {
    /// Another order for each seed.
    pub fn new(seed: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { next: AtomicU32::new(mixed as u32), offset: (mixed >> 32) as u32 }
    }

    /// The next key: each of 2^32 integers once, before one comes again.
    pub fn next(&self) -> i64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = permuted(permuted(number).wrapping_add(self.offset) ^ 0x5bf0_3635);
        i64::from(key) - (1 << 31)
    }
}

/// Quadratic residues below the middle, their mirror above; the few numbers behind the prime stay.
fn permuted(number: u32) -> u32 {
    let wide = u64::from(number);
    if wide >= PRIME {
        return number;
    }
    let residue = wide * wide % PRIME;
    (if wide <= PRIME / 2 { residue } else { PRIME - residue }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_comes_twice_and_all_fit_an_integer() {
        let keys = UniqueKeys::new(1);
        let drawn: Vec<i64> = (0..200_000).map(|_| keys.next()).collect();
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
        assert!(drawn.iter().all(|key| i32::try_from(*key).is_ok()));
        assert!(!drawn.is_sorted());
        assert_ne!(UniqueKeys::new(2).next(), drawn[0]);
    }

    #[test]
    fn both_ends_of_the_permutation_are_permuted_too() {
        let ends: HashSet<u32> = (0..1000).chain(u32::MAX - 1000..=u32::MAX).map(permuted).collect();
        assert_eq!(ends.len(), 2001);
    }
}
