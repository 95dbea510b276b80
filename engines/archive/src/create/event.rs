//! Lines that are printed while an archive is made, in the order of its members.

use super::Keeps;
use crate::member::Member;
use crate::operation::Operation;
use crate::write::Unfit;
use std::io;

/// The lines, in archive order.
#[derive(Debug)]
pub enum Event {
    /// A member that is archived, where somebody wants to see it.
    Taken {
        /// Which of the names that were given it is, or is beneath.
        operand: usize,
        /// Its name on the disk.
        path: Vec<u8>,
        /// It.
        member: Box<Member>,
    },
    /// So many members that are archived, one behind the other.
    Counted(u64),
    /// A file that cannot be.
    NotArchived {
        /// It.
        path: Vec<u8>,
        /// What was tried.
        operation: Operation,
        /// Why not.
        cause: io::Error,
    },
    /// A file that keeps its time, since no other was found for it.
    NoTime {
        /// It.
        path: Vec<u8>,
        /// Why.
        why: String,
    },
    /// A member that the format has no room for.
    Unfit {
        /// It.
        path: Vec<u8>,
        /// Why.
        cause: Unfit,
    },
    /// A file that was in its directory and is not any more.
    Vanished {
        /// It.
        path: Vec<u8>,
    },
    /// A file or directory that changed while it was read.
    Changed {
        /// It.
        path: Vec<u8>,
    },
    /// A file that ended before its size: zeros stand for what is missing.
    Shrank {
        /// It.
        path: Vec<u8>,
        /// How much is missing.
        missing_bytes: u64,
    },
    /// A socket: there is nothing in it to archive.
    Socket {
        /// It.
        path: Vec<u8>,
    },
    /// The archive itself.
    IsTheArchive {
        /// It.
        path: Vec<u8>,
    },
    /// A directory that is not archived whole, since such a file stands in it.
    Tagged {
        /// It.
        path: Vec<u8>,
        /// The file's name.
        tag: Vec<u8>,
        /// What is archived.
        keeps: Keeps,
    },
    /// So many bytes of the archive, plain, have been laid out and handed on.
    Reached(u64),
    /// Of a file with several names not all are archived.
    MissingLinks {
        /// One that is.
        path: Vec<u8>,
    },
    /// What was taken off the front of names.
    MadeRelative {
        /// `/`, say.
        removed: Vec<u8>,
    },
}
