//! What went wrong with an entry, and the order in which such things are told: by operand, then by path, whoever found them when.

use std::cmp::Ordering;
use std::io;

/// Something that did not go as asked.
#[derive(Debug)]
pub struct Finding<Complaint> {
    /// Which of the operands.
    pub operand: usize,
    /// The entry, as a path that begins as the operand was typed.
    pub path: Vec<u8>,
    /// What.
    pub complaint: Complaint,
}

impl<Complaint> Finding<Complaint> {
    /// Paths in the order of a walk: a directory right before what is in it.
    fn key(&self) -> (usize, impl Iterator<Item = u8> + '_) {
        (self.operand, self.path.iter().map(|&byte| if byte == b'/' { 0 } else { byte }))
    }
}

impl<Complaint> Ord for Finding<Complaint> {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((operand, path), (other_operand, other_path)) = (self.key(), other.key());
        operand.cmp(&other_operand).then_with(|| path.cmp(other_path))
    }
}

impl<Complaint> PartialOrd for Finding<Complaint> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Complaint> PartialEq for Finding<Complaint> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<Complaint> Eq for Finding<Complaint> {}

/// `path/name`.
pub fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(path.len() + 1 + name.len());
    whole.extend_from_slice(path);
    if path.last().is_some_and(|&last| last != b'/') {
        whole.push(b'/');
    }
    whole.extend_from_slice(name);
    whole
}

/// The kernel's number of an error.
pub fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_right_before_what_is_in_it() {
        let finding = |operand, path: &str| Finding { operand, path: path.into(), complaint: () };
        let mut findings = [finding(1, "a"), finding(0, "b!"), finding(0, "b/c"), finding(0, "b"), finding(0, "b/c/d")];
        findings.sort();
        let paths: Vec<_> = findings.iter().map(|finding| String::from_utf8_lossy(&finding.path)).collect();
        assert_eq!(paths, ["b", "b/c", "b/c/d", "b!", "a"]);
    }

    #[test]
    fn paths_are_joined_by_one_slash() {
        assert_eq!(joined(b"a", b"b"), b"a/b");
        assert_eq!(joined(b"/", b"b"), b"/b");
        assert_eq!(joined(b"", b"b"), b"b");
    }
}
