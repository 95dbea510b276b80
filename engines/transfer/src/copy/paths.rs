//! Paths of entries, as a person would type them who typed the job.

use super::tree::{Node, Place, Run};
use crate::finding::joined;
use crate::operand::trimmed;
use crew::scatter::TreeNode;
use std::ffi::{CStr, CString};

impl Run<'_> {
    pub fn source_path(&self, place: &Place<'_>, name: &CStr) -> Vec<u8> {
        match place {
            Place::Top(job) => self.copying.jobs[*job].source.clone(),
            Place::In(node) => below(&self.source_path_of(node), name),
            Place::Late(job, directory) => below(&joined(trimmed(&self.copying.jobs[*job].source), directory), name),
        }
    }

    pub fn target_path(&self, place: &Place<'_>, name: &CStr) -> Vec<u8> {
        match place {
            Place::Top(job) => self.copying.jobs[*job].target.clone(),
            Place::In(node) => below(&self.target_path_of(node), name),
            Place::Late(job, directory) => below(&joined(trimmed(&self.copying.jobs[*job].target), directory), name),
        }
    }

    pub fn source_path_of(&self, node: &TreeNode<Node>) -> Vec<u8> {
        let (job, names) = names_of(node);
        whole(trimmed(&self.copying.jobs[job].source), &names)
    }

    pub fn target_path_of(&self, node: &TreeNode<Node>) -> Vec<u8> {
        let (job, names) = names_of(node);
        whole(trimmed(&self.copying.jobs[job].target), &names)
    }

    /// The target directory of a place, relative to its job's copy; None for that itself.
    pub fn target_below_copy(place: &Place<'_>) -> Option<Vec<u8>> {
        match place {
            Place::Top(_) => None,
            Place::Late(_, directory) => Some(directory.to_vec()),
            Place::In(node) => Some(whole(b"", &names_of(node).1)),
        }
    }
}

fn below(path: &[u8], name: &CStr) -> Vec<u8> {
    if name.is_empty() { path.to_vec() } else { joined(path, name.to_bytes()) }
}

fn whole(top: &[u8], names: &[CString]) -> Vec<u8> {
    let mut path = top.to_vec();
    for name in names.iter().rev() {
        if path.last().is_some_and(|&last| last != b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
    }
    path
}

/// The names from a directory up to, and without, its job's.
fn names_of(node: &TreeNode<Node>) -> (usize, Vec<CString>) {
    let directory = node.node.directory();
    let mut names = Vec::new();
    let mut name = directory.source.name().to_owned();
    let mut above = node.above();
    while let Some(level) = above {
        names.push(name);
        name = level.node.directory().source.name().to_owned();
        above = level.above();
    }
    (directory.job, names)
}
