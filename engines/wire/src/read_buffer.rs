//! Bytes that came and are not yet taken: small at first, grown by what really comes, never by what a length claims.
//! What is skipped is dropped as it comes.

/// Enough for a row, and little for a connection that waits.
const FIRST_BYTES: usize = 4 << 10;

/// A buffer that a read has filled grows so far: more saves no calls worth it. Larger ones, for large messages, are given back.
const STEADY_BYTES: usize = 32 << 10;

#[derive(Debug)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes still to come that nobody wants.
    to_skip: u64,
}

impl ReadBuffer {
    pub fn new() -> Self {
        Self { bytes: vec![0; FIRST_BYTES], start: 0, end: 0, to_skip: 0 }
    }

    /// What came.
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes what has been looked at.
    pub fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "only what came is taken");
        self.start = (self.start + count).min(self.end);
    }

    /// Drops the next `count` bytes, those that are still to come included.
    pub fn skip(&mut self, count: u64) {
        let here = ((self.end - self.start) as u64).min(count);
        self.start += here as usize;
        self.to_skip += count - here;
    }

    /// Where the next read puts its bytes: never empty.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > STEADY_BYTES {
                self.bytes = vec![0; STEADY_BYTES];
            }
        }
        if self.end == self.bytes.len() {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.end == self.bytes.len() {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// `count` bytes were put into the room.
    pub fn came(&mut self, count: usize) {
        self.end += count;
        let is_full = self.end == self.bytes.len();
        let dropped = self.to_skip.min((self.end - self.start) as u64);
        self.start += dropped as usize;
        self.to_skip -= dropped;
        if is_full && self.bytes.len() < STEADY_BYTES {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(buffer: &mut ReadBuffer, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = buffer.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            buffer.came(count);
            bytes = &bytes[count..];
        }
    }

    #[test]
    fn a_skip_goes_beyond_what_came() {
        let mut buffer = ReadBuffer::new();
        put(&mut buffer, b"abc");
        buffer.skip(100_001);
        put(&mut buffer, &[b'x'; 99_998]);
        assert_eq!(buffer.data(), b"");
        put(&mut buffer, b"de");
        assert_eq!(buffer.data(), b"de");
        assert!(buffer.bytes.len() <= STEADY_BYTES, "what is skipped takes no room");
    }

    #[test]
    fn a_large_message_gives_its_room_back() {
        let mut buffer = ReadBuffer::new();
        put(&mut buffer, &[1; 300_000]);
        assert!(buffer.bytes.len() >= 300_000 && buffer.bytes.len() <= 600_000);
        buffer.consume(300_000);
        assert_eq!(buffer.room().len(), STEADY_BYTES);
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(steps in prop::collection::vec((1..9000usize, 0..9000usize, any::<bool>()), 1..60)) {
            let mut buffer = ReadBuffer::new();
            let (mut written, mut read) = (0u64, 0u64);
            for (add, take, is_skip) in steps {
                let bytes: Vec<u8> = (written..written + add as u64).map(|at| (at % 251) as u8).collect();
                put(&mut buffer, &bytes);
                written += add as u64;
                for (index, byte) in buffer.data().iter().enumerate() {
                    prop_assert_eq!(u64::from(*byte), (read + index as u64) % 251);
                }
                if is_skip {
                    buffer.skip(take as u64);
                    read += take as u64;
                } else {
                    let count = take.min(buffer.data().len());
                    buffer.consume(count);
                    read += count as u64;
                }
            }
        }
    }
}
