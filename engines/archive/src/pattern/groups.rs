//! Patterns that are not all taken in one manner, as options between them say. Neighbours of one manner are looked up together.

use super::{Manner, PatternSet};

/// Patterns, numbered as they were given, the first 0.
#[derive(Debug, Default)]
pub struct PatternGroups {
    groups: Vec<Group>,
    given: usize,
}

/// Neighbours of one manner.
#[derive(Debug)]
struct Group {
    set: PatternSet,
    /// By the numbers of the set: all that were given with that text.
    given: Vec<Vec<usize>>,
}

impl PatternGroups {
    /// Of texts as [`super::Pattern::new`] takes them, each with its manner.
    pub fn new(patterns: &[(Vec<u8>, Manner)]) -> Self {
        let mut groups = Vec::new();
        let mut first = 0;
        for same in patterns.chunk_by(|(_, one), (_, other)| one == other) {
            let texts = || same.iter().map(|(text, _)| text.as_slice());
            let set = PatternSet::new(texts(), same[0].1);
            let mut given = vec![Vec::new(); set.len()];
            for (at, text) in texts().enumerate() {
                // Each of its texts has a number.
                given[set.number_of(text).unwrap_or_default()].push(first + at);
            }
            first += same.len();
            groups.push(Group { set, given });
        }
        Self { groups, given: first }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.given == 0
    }

    /// How many were given.
    pub fn len(&self) -> usize {
        self.given
    }

    /// Whether any of them matches a name.
    pub fn matches(&self, name: &[u8]) -> bool {
        self.groups.iter().any(|group| group.set.matches(name))
    }

    /// The numbers of all that match a name, each once.
    pub fn all_matches(&self, name: &[u8]) -> Vec<usize> {
        let mut numbers = Vec::new();
        for group in &self.groups {
            group.set.each_match(name, |number| numbers.extend_from_slice(&group.given[number]));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_taken_in_its_manner_and_keeps_its_number() {
        let anchored = Manner { anchored: true, ..Manner::EXCLUDED };
        let given = [("a", anchored), ("*.c", anchored), ("a", Manner::EXCLUDED), ("a", Manner::EXCLUDED)];
        let groups = PatternGroups::new(&given.map(|(text, manner)| (text.into(), manner)));
        assert_eq!((groups.len(), groups.is_empty()), (4, false));
        assert_eq!(groups.all_matches(b"a"), [0, 2, 3]);
        assert_eq!(groups.all_matches(b"x/a"), [2, 3]);
        assert_eq!(groups.all_matches(b"a/x.c"), [0, 1, 2, 3]);
        assert!(groups.matches(b"x.c") && !groups.matches(b"b") && !PatternGroups::default().matches(b""));
    }
}
