//! Frames over a stream that never blocks: `length:u16` and so many bytes. What arrives is kept until its frame is
//! whole, what leaves until the kernel takes it.

use super::SessionEnd;
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A peer that cannot be reached any more is noticed after these: 5 + 3 * 3 seconds without traffic, 20 with.
const KEEP_IDLE: Duration = Duration::from_secs(5);
const KEEP_INTERVAL: Duration = Duration::from_secs(3);
const KEEP_COUNT: u32 = 3;
const UNANSWERED_MS: u32 = 20_000;

const LENGTH_BYTES: usize = 2;

/// A stream with its two buffers.
#[derive(Debug)]
pub(crate) struct FrameSocket {
    stream: TcpStream,
    frame_max: usize,
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    sent: usize,
}

impl FrameSocket {
    /// A stream that has to be non-blocking already. Frames longer than `frame_max` end it.
    pub fn new(stream: TcpStream, frame_max: usize) -> Result<Self, SessionEnd> {
        sockopt::set_tcp_nodelay(&stream, true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEP_IDLE)?;
        sockopt::set_tcp_keepintvl(&stream, KEEP_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&stream, KEEP_COUNT)?;
        sockopt::set_tcp_user_timeout(&stream, UNANSWERED_MS)?;
        Ok(Self { stream, frame_max, inbound: Vec::new(), outbound: Vec::new(), sent: 0 })
    }

    pub fn allow_frames_of(&mut self, frame_max: usize) {
        self.frame_max = frame_max;
    }

    /// Reads what is there, as much as `scratch` holds. False if nothing is there now.
    pub fn read_some(&mut self, scratch: &mut [u8]) -> Result<bool, SessionEnd> {
        match self.stream.read(scratch) {
            Ok(0) => Err(SessionEnd::Closed),
            Ok(read) => {
                self.inbound.extend_from_slice(&scratch[..read]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// The next whole frame. Callers take all of them before they read more, so what is kept is less than one.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, SessionEnd> {
        let Some(&length) = self.inbound.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = usize::from(u16::from_le_bytes(length));
        if length > self.frame_max {
            return Err(SessionEnd::Damaged);
        }
        if self.inbound.len() < LENGTH_BYTES + length {
            return Ok(None);
        }
        let rest = self.inbound.split_off(LENGTH_BYTES + length);
        let mut frame = std::mem::replace(&mut self.inbound, rest);
        frame.drain(..LENGTH_BYTES);
        Ok(Some(frame))
    }

    /// Bytes of a frame that is not whole yet.
    pub fn buffered(&self) -> usize {
        self.inbound.len()
    }

    /// Whether everything has left.
    pub fn is_drained(&self) -> bool {
        self.outbound.is_empty()
    }

    /// Adds a frame to what leaves.
    ///
    /// # Panics
    /// If it is longer than its length can say: Noise makes none.
    pub fn queue(&mut self, frame: &[u8]) {
        let length = u16::try_from(frame.len()).expect("a Noise message has at most 65,535 bytes");
        self.outbound.extend_from_slice(&length.to_le_bytes());
        self.outbound.extend_from_slice(frame);
    }

    /// Sends what the kernel takes.
    pub fn flush(&mut self) -> Result<(), SessionEnd> {
        while self.sent < self.outbound.len() {
            match self.stream.write(&self.outbound[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A thousand sessions that wait need no buffers.
        (self.outbound, self.sent) = (Vec::new(), 0);
        Ok(())
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
