//! A set of CPUs by number, as it stands in a row of the table.
//! Knows nothing of which of them exist.

use super::layout::{CPUS, MASK_WORDS};

/// CPUs 0 to [`CPUS`] - 1, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: [u64; MASK_WORDS],
}

impl CpuSet {
    /// The set of these CPUs. Numbers that the table has no word for are left out.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut set = Self::default();
        cpus.into_iter().filter(|&cpu| cpu < CPUS).for_each(|cpu| set.insert(cpu));
        set
    }

    /// The set as its words say, lowest CPUs first.
    pub fn from_words(words: [u64; MASK_WORDS]) -> Self {
        Self { words }
    }

    /// Its words, lowest CPUs first.
    pub fn words(&self) -> &[u64; MASK_WORDS] {
        &self.words
    }

    /// How many CPUs it has.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether `cpu` is in it.
    pub fn contains(&self, cpu: usize) -> bool {
        cpu < CPUS && self.words[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Its lowest CPU.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// Its CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| Bits(word).map(move |bit| index * 64 + bit))
    }

    /// What both have.
    pub fn and(&self, other: &Self) -> Self {
        Self { words: std::array::from_fn(|index| self.words[index] & other.words[index]) }
    }

    /// What either has.
    pub fn or(&self, other: &Self) -> Self {
        Self { words: std::array::from_fn(|index| self.words[index] | other.words[index]) }
    }

    /// What this one has and the other has not.
    pub fn without(&self, other: &Self) -> Self {
        Self { words: std::array::from_fn(|index| self.words[index] & !other.words[index]) }
    }

    /// The same without its `count` lowest CPUs.
    pub fn without_first(&self, count: usize) -> Self {
        self.without(&Self::of(self.iter().take(count)))
    }

    pub(crate) fn insert(&mut self, cpu: usize) {
        self.words[cpu / 64] |= 1 << (cpu % 64);
    }

    pub(crate) fn remove(&mut self, cpu: usize) {
        self.words[cpu / 64] &= !(1 << (cpu % 64));
    }
}

/// The set bits of a word, ascending.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        // Takes the lowest bit away; of an empty word nothing.
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let set = CpuSet::of([1023, 0, 64, 63, 1024, usize::MAX]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 1023]);
        assert_eq!((set.count(), set.first(), set.is_empty()), (4, Some(0), false));
        assert!(set.contains(63) && !set.contains(65) && !set.contains(usize::MAX));
        assert_eq!(set.without(&CpuSet::of([0])).and(&CpuSet::of([0, 63])), CpuSet::of([63]));
        assert_eq!(CpuSet::of([1]).or(&CpuSet::of([2])), CpuSet::of([1, 2]));
    }
}
