//! A socket with its two buffers: requests are appended and written when there is room, replies are read as they come.
//! Knows no protocol.

use crate::error::WireError;
use crate::read_buffer::ReadBuffer;
use crate::socket::{Socket, SocketMoved, WaitLimit};
use bytes::{Buf, BytesMut};
use rustls::ClientConnection;
use std::os::fd::{AsFd, BorrowedFd};

/// LIMIT: requests that wait to be written; a server that takes none must not fill the client's memory.
const QUEUED_BYTES_MAX: usize = 64 << 20;

/// An output buffer that a large request has grown is given back.
const KEPT_OUTPUT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct WireChannel {
    socket: Socket,
    pub input: ReadBuffer,
    pub output: BytesMut,
    /// The output has grown beyond what is kept.
    is_large: bool,
    /// The last read took all that there was: another one would find nothing.
    is_drained: bool,
}

impl WireChannel {
    pub fn new(socket: Socket) -> Self {
        Self { socket, input: ReadBuffer::new(), output: BytesMut::new(), is_large: false, is_drained: false }
    }

    /// Encrypts what follows. A server has nothing to say before: what came already was slipped in by somebody else.
    pub fn start_tls(&mut self, tls: ClientConnection) -> Result<(), WireError> {
        if !self.input.data().is_empty() {
            return Err(WireError::protocol("something in clear text where TLS begins"));
        }
        self.socket.start_tls(tls)
    }

    pub fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    pub fn server_certificate(&self) -> Option<&[u8]> {
        self.socket.server_certificate()
    }

    /// Room for a request of `bytes`, or why there is none.
    pub fn may_queue(&self, bytes: usize) -> Result<(), WireError> {
        let queued = self.output.len();
        if queued > 0 && queued.saturating_add(bytes) > QUEUED_BYTES_MAX {
            let (bytes, limit) = ((queued + bytes) as u64, QUEUED_BYTES_MAX as u64);
            return Err(WireError::TooLarge { what: "a queue of requests", bytes, limit });
        }
        Ok(())
    }

    /// Writes what the socket takes; true if all is written.
    pub fn send(&mut self) -> Result<bool, WireError> {
        self.is_drained = false;
        self.is_large |= self.output.len() > KEPT_OUTPUT_BYTES;
        while !self.output.is_empty() {
            match self.socket.write(&self.output)? {
                SocketMoved::Bytes(count) => self.output.advance(count),
                SocketMoved::WouldBlock => return Ok(false),
            }
        }
        if !self.socket.flush()? {
            return Ok(false);
        }
        if std::mem::take(&mut self.is_large) {
            self.output = BytesMut::new();
        }
        Ok(true)
    }

    /// Writes where an answer is read next: a server that has closed its side may have sent a reason before, which that read finds.
    pub fn send_before_answer(&mut self) -> Result<(), WireError> {
        match self.send() {
            Err(WireError::Closed) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Writes from where it is, once the output is empty.
    pub fn write_past(&mut self, bytes: &[u8]) -> Result<SocketMoved, WireError> {
        self.socket.write(bytes)
    }

    /// Waits until there is something to read or room to write.
    pub fn wait(&self, limit: WaitLimit) -> Result<(), WireError> {
        self.socket.wait(limit)
    }

    /// Ends the connection for both sides.
    pub fn shut_down(&mut self) {
        self.output.clear();
        self.socket.shut_down();
    }

    /// Reads once; false if there is nothing to be had without waiting.
    pub fn fill(&mut self) -> Result<bool, WireError> {
        if self.is_drained && self.socket.wait_limit() == WaitLimit::Never {
            self.is_drained = false;
            return Ok(false);
        }
        let room = self.input.room();
        let wanted = room.len();
        match self.socket.read(room)? {
            SocketMoved::Bytes(0) => Err(WireError::Closed),
            SocketMoved::Bytes(count) => {
                self.input.came(count);
                // What TLS has decrypted is no measure of what the socket still has.
                self.is_drained = count < wanted && !self.socket.is_encrypted();
                Ok(true)
            }
            SocketMoved::WouldBlock => Ok(false),
        }
    }

    pub fn wait_limit(&self) -> WaitLimit {
        self.socket.wait_limit()
    }

    pub fn set_wait_limit(&mut self, wait_limit: WaitLimit) {
        self.socket.set_wait_limit(wait_limit);
    }
}

impl AsFd for WireChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
