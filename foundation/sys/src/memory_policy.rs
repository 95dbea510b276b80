//! On which nodes memory is to be, and is (`mbind(2)`, `move_pages(2)`). By number of system call: the C library has neither.

use crate::mapped_memory::MappedMemory;
use std::io;
use std::ops::Range;
use std::ptr;

/// Where pages that are made from now on shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePolicy {
    /// On these nodes and no other.
    Bind,
    /// On these nodes by turns.
    Interleave,
    /// On the first of these while it has room.
    Prefer,
}

/// LIMIT: nodes that can be named; no kernel is built for more.
const NODES_MAX: usize = 1024;
const WORD_BITS: usize = usize::BITS as usize;

/// Sets the policy of a part of `memory`, before its pages are made.
pub fn set_policy(memory: &MappedMemory, part: &Range<usize>, policy: NodePolicy, nodes: &[usize]) -> io::Result<()> {
    let mut mask = [0_usize; NODES_MAX / WORD_BITS];
    for &node in nodes {
        let word = mask.get_mut(node / WORD_BITS).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        *word |= 1 << (node % WORD_BITS);
    }
    let mode = match policy {
        NodePolicy::Bind => libc::MPOL_BIND,
        NodePolicy::Interleave => libc::MPOL_INTERLEAVE,
        NodePolicy::Prefer => libc::MPOL_PREFERRED,
    };
    let (address, bytes) = memory.place(part);
    // LIE: the kernel takes one bit less than it is told of.
    // SAFETY: the mask has as many bits as are told, and a policy changes no content.
    let outcome = unsafe { libc::syscall(libc::SYS_mbind, address, bytes, mode, mask.as_ptr(), NODES_MAX + 1, 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The node of the page at each address; none where there is no page.
pub fn nodes_of_pages(addresses: &[usize]) -> io::Result<Vec<Option<usize>>> {
    let pages: Vec<*const u8> = addresses.iter().map(|&address| ptr::with_exposed_provenance(address)).collect();
    let mut nodes = vec![0_i32; pages.len()];
    // SAFETY: both lists have as many entries as are told; without a list of nodes nothing is moved, and addresses are only asked about.
    let outcome = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, pages.len(), pages.as_ptr(), ptr::null::<i32>(), nodes.as_mut_ptr(), 0)
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(nodes.into_iter().map(|node| usize::try_from(node).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped_memory::{Backing, page_bytes};

    #[test]
    fn pages_are_made_on_the_node_that_was_named() {
        let memory = MappedMemory::reserve(1 << 20, 1).expect("there is room");
        memory.back(memory.all(), Backing::Anonymous).expect("and memory");
        for policy in [NodePolicy::Prefer, NodePolicy::Interleave, NodePolicy::Bind] {
            match set_policy(&memory, &memory.all(), policy, &[0]) {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                    return testkit::program::left_out("this kernel has no nodes");
                }
                outcome => outcome.expect("every host has node 0"),
            }
        }
        memory.populate(&(0..page_bytes())).expect("this kernel can populate");
        let addresses = [memory.address(), memory.address() + (512 << 10)];
        assert_eq!(nodes_of_pages(&addresses).expect("pages of our own"), [Some(0), None]);
        assert!(set_policy(&memory, &memory.all(), NodePolicy::Bind, &[1023]).is_err(), "no such node");
        assert!(set_policy(&memory, &memory.all(), NodePolicy::Bind, &[NODES_MAX]).is_err());
        assert_eq!(nodes_of_pages(&[]).expect("nothing to ask"), []);
    }
}
