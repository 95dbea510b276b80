//! The table's words as the protocol sees them: real shared memory, or a model's.
//! One ordering for all of them, and no meaning: `hands` and `row` know what stands where.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words that several runs read and change, each by one atomic step.
///
/// ORDER: every access is sequentially consistent. A giver frees a word and then looks whether anybody is hungry; a taker says
/// that it is hungry and then looks for a free word: one of the two must see the other, which weaker orders do not promise. On
/// x86-64 only plain stores cost more by it, and there are none on the quick path.
pub trait Memory {
    /// The word's value.
    fn load(&self, word: usize) -> u64;
    /// Overwrites the word.
    fn store(&self, word: usize, value: u64);
    /// Overwrites the word if it still has the value `old`; says whether it did.
    fn exchange(&self, word: usize, old: u64, new: u64) -> bool;
    /// Sets bits of the word.
    fn set_bits(&self, word: usize, bits: u64);
    /// Clears bits of the word.
    fn clear_bits(&self, word: usize, bits: u64);
}

impl Memory for [AtomicU64] {
    fn load(&self, word: usize) -> u64 {
        self[word].load(Ordering::SeqCst)
    }

    fn store(&self, word: usize, value: u64) {
        self[word].store(value, Ordering::SeqCst);
    }

    fn exchange(&self, word: usize, old: u64, new: u64) -> bool {
        self[word].compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn set_bits(&self, word: usize, bits: u64) {
        self[word].fetch_or(bits, Ordering::SeqCst);
    }

    fn clear_bits(&self, word: usize, bits: u64) {
        self[word].fetch_and(!bits, Ordering::SeqCst);
    }
}
