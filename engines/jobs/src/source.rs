//! Where jobs come from: lines, blocks or values, of one input or of many senders. One interface for the loop: what can be read
//! is read, what is complete comes out.

use crate::blocks::BlockReader;
use crate::list::{Combinations, ListFault, ListItem, ListPlace, ListReader};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{fmt, io};

/// Where jobs come from.
#[derive(Debug)]
pub enum JobSource {
    /// Lines as they come.
    Stream(ListReader, OwnedFd),
    /// Values of the command line.
    Made(Combinations),
    /// A list that has been read before.
    Listed(VecDeque<ListItem>),
    /// Pieces of an input, which jobs read.
    Blocks(BlockReader, OwnedFd),
    /// What somebody else brings: senders on a socket, chunks of a list that many machines share.
    Fed(Box<dyn JobFeed>),
}

/// Jobs that come from outside while a run goes.
pub trait JobFeed: Send + fmt::Debug {
    /// The next job or barrier, with a number of its own; none when there is none now.
    fn next_item(&mut self) -> Option<ListItem>;
    /// Whether none will come any more.
    fn is_exhausted(&self) -> bool;
    /// Becomes readable when there may be a job, or none will come.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Reads once, as the descriptor is readable.
    ///
    /// # Errors
    /// When nothing more can be read.
    fn read_once(&mut self, scratch: &mut [u8]) -> io::Result<()>;
    /// A job has come to its end, started or not. Its output may still be on its way.
    fn job_ended(&mut self, number: u64, is_success: bool);
}

impl JobSource {
    /// The next job or barrier; none when more must be read, or when there are no more.
    pub fn next_item(&mut self) -> Result<Option<ListItem>, ListFault> {
        match self {
            Self::Stream(list, _) => list.next_item(),
            Self::Made(combinations) => Ok(combinations.next_item()),
            Self::Listed(items) => Ok(items.pop_front()),
            Self::Blocks(blocks, _) => {
                let place = ListPlace::Block(blocks.place());
                blocks.next_item().map_err(|cause| ListFault { place, cause })
            }
            Self::Fed(feed) => Ok(feed.next_item()),
        }
    }

    /// Whether there is no more, now that none came.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Stream(list, _) => list.is_exhausted(),
            Self::Made(_) | Self::Listed(_) => true,
            Self::Blocks(blocks, _) => blocks.is_exhausted(),
            Self::Fed(feed) => feed.is_exhausted(),
        }
    }

    /// What becomes readable when there is something to read.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Stream(_, input) | Self::Blocks(_, input) => Some(input.as_fd()),
            Self::Made(_) | Self::Listed(_) => None,
            Self::Fed(feed) => Some(feed.descriptor()),
        }
    }

    /// Reads once. An input that fails is at its end.
    pub fn read_once(&mut self, scratch: &mut [u8]) -> io::Result<()> {
        let read = match self {
            Self::Made(_) | Self::Listed(_) => return Ok(()),
            Self::Fed(feed) => return feed.read_once(scratch),
            Self::Stream(_, input) | Self::Blocks(_, input) => rustix::io::read(&*input, &mut *scratch),
        };
        let (count, failed) = match read {
            Ok(count) => (count, Ok(())),
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(error) => (0, Err(error.into())),
        };
        match (self, count) {
            (Self::Stream(list, _), 0) => list.end(),
            (Self::Stream(list, _), count) => list.put(&scratch[..count]),
            (Self::Blocks(blocks, _), 0) => blocks.end(),
            (Self::Blocks(blocks, _), count) => blocks.put(&scratch[..count]),
            _ => {}
        }
        failed
    }

    /// Tells whoever sent a job that it has come to its end, started or not.
    pub(crate) fn job_ended(&mut self, number: u64, is_success: bool) {
        if let Self::Fed(feed) = self {
            feed.job_ended(number, is_success);
        }
    }
}
