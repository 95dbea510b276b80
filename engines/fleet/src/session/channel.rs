//! A session after its handshake: messages in, messages out, sealed.

use super::{FrameSocket, Message};
use crate::envelope::NoEnvelope;
use snow::TransportState;
use std::io;

/// LIMIT: what Noise puts into one message.
pub(crate) const FRAME_MAX: usize = 65_535;
const TAG_BYTES: usize = 16;

/// LIMIT: of an envelope, in one message. Less than Noise allows, so that buffers of sessions stay small.
pub(crate) const PIECE_BYTES: usize = 32 << 10;

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionEnd {
    #[error("it closed the connection")]
    Closed,
    #[error("{}", sys::error_text::message(.0))]
    System(#[from] io::Error),
    #[error("what it sent is damaged")]
    Damaged,
    #[error("it sent more than it was asked for")]
    Unasked,
    #[error("it is not the host that it was taken for")]
    Handshake,
    #[error("its address is not known")]
    NoAddress,
    #[error("no answer within {0} s")]
    NoAnswer(u64),
    #[error(transparent)]
    NoEnvelope(#[from] NoEnvelope),
    #[error("its sample did not fit into the memory for all hosts")]
    Memory,
    #[error("{0}")]
    Source(String),
    #[error("it speaks version {0} of the protocol and later ones, this program does not")]
    Version(u8),
    #[error("its key was rotated away")]
    Rotated,
    #[error("{0}")]
    Ssh(String),
}

impl From<rustix::io::Errno> for SessionEnd {
    fn from(error: rustix::io::Errno) -> Self {
        Self::System(error.into())
    }
}

/// The keys of an open session. The socket stays its owner's.
#[derive(Debug)]
pub(crate) struct Channel(Box<TransportState>);

impl Channel {
    pub fn new(socket: &mut FrameSocket, transport: TransportState) -> Self {
        socket.allow_frames_of(FRAME_MAX);
        Self(Box::new(transport))
    }

    /// The next message that has arrived, opened: for [`Message::read`].
    pub fn next_message(&mut self, socket: &mut FrameSocket) -> Result<Option<Vec<u8>>, SessionEnd> {
        let Some(frame) = socket.next_frame()? else { return Ok(None) };
        let mut opened = vec![0; frame.len()];
        let read = self.0.read_message(&frame, &mut opened).ok().ok_or(SessionEnd::Damaged)?;
        opened.truncate(read);
        Ok(Some(opened))
    }

    /// Seals a message and sends what the kernel takes of it.
    pub fn send(&mut self, socket: &mut FrameSocket, message: &Message<'_>) -> Result<(), SessionEnd> {
        let mut bytes = Vec::new();
        message.put(&mut bytes);
        let mut sealed = vec![0; bytes.len() + TAG_BYTES];
        let written = self.0.write_message(&bytes, &mut sealed).ok().ok_or(SessionEnd::Damaged)?;
        socket.queue(&sealed[..written]);
        socket.flush()
    }
}
