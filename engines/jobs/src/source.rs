//! Where jobs come from: lines, blocks or values, of one input or of many senders. One interface for the loop: what can be read
//! is read, what is complete comes out.

use crate::blocks::BlockReader;
use crate::list::{Combinations, ListFault, ListItem, ListPlace, ListReader};
use crate::server::SocketServer;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Where jobs come from.
#[derive(Debug)]
pub enum JobSource {
    /// Lines as they come.
    Stream(ListReader, OwnedFd),
    /// Values of the command line.
    Made(Combinations),
    /// Pieces of an input, which jobs read.
    Blocks(BlockReader, OwnedFd),
    /// Lines of those who connect to a socket.
    Server(Box<SocketServer>),
}

impl JobSource {
    /// The next job or barrier; none when more must be read, or when there are no more.
    pub fn next_item(&mut self) -> Result<Option<ListItem>, ListFault> {
        match self {
            Self::Stream(list, _) => list.next_item(),
            Self::Made(combinations) => Ok(combinations.next_item()),
            Self::Blocks(blocks, _) => {
                let place = ListPlace::Block(blocks.place());
                blocks.next_item().map_err(|cause| ListFault { place, cause })
            }
            Self::Server(server) => Ok(server.next_item()),
        }
    }

    /// Whether there is no more, now that none came.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Stream(list, _) => list.is_exhausted(),
            Self::Made(_) => true,
            Self::Blocks(blocks, _) => blocks.is_exhausted(),
            Self::Server(server) => server.is_exhausted(),
        }
    }

    /// What becomes readable when there is something to read.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Stream(_, input) | Self::Blocks(_, input) => Some(input.as_fd()),
            Self::Made(_) => None,
            Self::Server(server) => Some(server.descriptor()),
        }
    }

    /// Reads once. An input that fails is at its end.
    pub fn read_once(&mut self, scratch: &mut [u8]) -> io::Result<()> {
        let read = match self {
            Self::Made(_) => return Ok(()),
            Self::Server(server) => return server.read_once(scratch),
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
        if let Self::Server(server) = self {
            server.job_ended(number, is_success);
        }
    }
}
