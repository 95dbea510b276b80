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
            Place::In(knot) => below(&self.source_path_of(knot), name),
            Place::Late(job, folder) => below(&joined(trimmed(&self.copying.jobs[*job].source), folder), name),
        }
    }

    pub fn target_path(&self, place: &Place<'_>, name: &CStr) -> Vec<u8> {
        match place {
            Place::Top(job) => self.copying.jobs[*job].target.clone(),
            Place::In(knot) => below(&self.target_path_of(knot), name),
            Place::Late(job, folder) => below(&joined(trimmed(&self.copying.jobs[*job].target), folder), name),
        }
    }

    pub fn source_path_of(&self, knot: &TreeNode<Node>) -> Vec<u8> {
        let (job, names) = names_of(knot);
        whole(trimmed(&self.copying.jobs[job].source), &names)
    }

    pub fn target_path_of(&self, knot: &TreeNode<Node>) -> Vec<u8> {
        let (job, names) = names_of(knot);
        whole(trimmed(&self.copying.jobs[job].target), &names)
    }

    /// The target folder of a place, relative to its job's copy; None for that itself.
    pub fn target_below_copy(place: &Place<'_>) -> Option<Vec<u8>> {
        match place {
            Place::Top(_) => None,
            Place::Late(_, folder) => Some(folder.to_vec()),
            Place::In(knot) => Some(whole(b"", &names_of(knot).1)),
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

/// The names from a folder up to, and without, its job's.
fn names_of(knot: &TreeNode<Node>) -> (usize, Vec<CString>) {
    let folder = knot.node.folder();
    let mut names = Vec::new();
    let mut name = folder.source.name().to_owned();
    let mut above = knot.above();
    while let Some(level) = above {
        names.push(name);
        name = level.node.folder().source.name().to_owned();
        above = level.above();
    }
    (folder.job, names)
}
