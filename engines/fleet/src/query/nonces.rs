//! Which nonces were seen. The oldest is forgotten when there are too many.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// The last so many values.
#[derive(Clone, Debug)]
pub(crate) struct NonceTable<T> {
    most: usize,
    seen: HashSet<T>,
    order: VecDeque<T>,
}

impl<T: Copy + Eq + Hash> NonceTable<T> {
    pub fn new(most: usize) -> Self {
        Self { most, seen: HashSet::new(), order: VecDeque::new() }
    }

    pub fn has(&self, value: &T) -> bool {
        self.seen.contains(value)
    }

    /// Notes a value. Returns whether it is new.
    pub fn note(&mut self, value: T) -> bool {
        if !self.seen.insert(value) {
            return false;
        }
        self.order.push_back(value);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut table = NonceTable::new(2);
        assert!(table.note(1) && table.note(2) && !table.note(1) && table.note(3));
        assert!(!table.has(&1) && table.has(&2) && table.has(&3));
        assert_eq!((table.seen.len(), table.order.len()), (2, 2));
    }
}
