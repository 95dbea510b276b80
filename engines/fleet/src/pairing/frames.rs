//! Frames of a pairing: a length of two bytes and so many bytes, by a deadline. Blocking: a pairing is one conversation.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// LIMIT: bytes of a frame; the largest holds a public line and a ticket.
pub(super) const FRAME_MAX: usize = 1024;

/// One conversation.
pub(super) struct PairingStream {
    stream: TcpStream,
    deadline: Instant,
}

impl PairingStream {
    /// Over a connection that has to be done by then.
    pub fn new(stream: TcpStream, deadline: Instant) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, deadline })
    }

    /// Who is on the other side.
    pub fn peer(&self) -> String {
        self.stream.peer_addr().map_or_else(|_| "somebody".to_owned(), |peer| peer.ip().to_canonical().to_string())
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u16::try_from(frame.len()).map_err(io::Error::other)?;
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(&[&length.to_le_bytes(), frame].concat())
    }

    /// Takes the next frame.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 2];
        self.fill(&mut length)?;
        let length = usize::from(u16::from_le_bytes(length));
        if length > FRAME_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut frame = vec![0; length];
        self.fill(&mut frame)?;
        Ok(frame)
    }

    /// Reads so many bytes; each read has what is left of the time, so that one byte now and then gains nothing.
    fn fill(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}
