//! The order of names in an index, and the range that the names of a block have: what a search compares a wanted name with.

use std::cmp::Ordering;

/// Some names without what marks directories: how many, the first and the last.
#[derive(Default)]
pub struct Names {
    /// How many.
    pub count: u64,
    /// The first.
    pub least: Vec<u8>,
    /// The last.
    pub greatest: Vec<u8>,
}

impl Names {
    /// Adds one.
    pub fn add(&mut self, name: &[u8]) {
        self.widen(1, name, name);
    }

    /// Adds others.
    pub fn extend(&mut self, others: &Self) {
        self.widen(others.count, &others.least, &others.greatest);
    }

    fn widen(&mut self, count: u64, least: &[u8], greatest: &[u8]) {
        let is_first = self.count == 0;
        self.count += count;
        if is_first || compare(least, &self.least).is_lt() {
            least.clone_into(&mut self.least);
        }
        if is_first || compare(greatest, &self.greatest).is_gt() {
            greatest.clone_into(&mut self.greatest);
        }
    }
}

/// Names are compared as a walk meets them: what lies beneath a directory stands behind it and before its neighbours.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    match one.iter().zip(other).map(|(&one, &other)| (key(one), key(other))).find(|(one, other)| one != other) {
        Some((one, other)) => one.cmp(&other),
        None => one.len().cmp(&other.len()),
    }
}

/// A name without the slashes that mark a directory.
pub(super) fn bare(name: &[u8]) -> &[u8] {
    &name[..name.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_first_and_last_in_the_order_of_a_walk() {
        let mut names = Names::default();
        for name in ["a/b", "a", "a-", "a/c"] {
            names.add(name.as_bytes());
        }
        assert_eq!((names.count, &*names.least, &*names.greatest), (4, &b"a"[..], &b"a-"[..]));
        assert_eq!((bare(b"a//"), bare(b"/"), bare(b"a/b")), (&b"a"[..], &b""[..], &b"a/b"[..]));
    }
}
