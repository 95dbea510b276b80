//! Cutting a stream into envelopes: `"mh" kind:u8 length:u32 crc32c:u32 wall_ns:u64 body`, little endian. Looks at
//! nothing but the mark and the length: whoever reads an envelope checks the rest. A length is compared with the limit
//! before anything is kept for it.

/// Everything before the body.
pub const HEAD_BYTES: usize = 19;

/// LIMIT: the largest body of a sample, with room for what surrounds it.
pub const BODY_BYTES_MAX: usize = (8 << 20) + (64 << 10);

const MARK: &[u8; 2] = b"mh";
const LENGTH_AT: usize = 3;

/// A stream that holds something else than envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sends something else than samples")]
pub struct NoEnvelope;

/// Takes a stream in pieces and gives envelopes.
#[derive(Clone, Debug)]
pub struct EnvelopeSplitter {
    partial: Vec<u8>,
    junk_left: usize,
}

impl EnvelopeSplitter {
    /// A splitter that skips up to `junk_max` bytes before the first envelope, such as what a login script prints. Text
    /// is never taken for a head: four letters are a length beyond the limit.
    pub fn new(junk_max: usize) -> Self {
        Self { partial: Vec::new(), junk_left: junk_max }
    }

    /// Memory that is held until the rest of an envelope arrives.
    pub fn buffered(&self) -> usize {
        self.partial.capacity()
    }

    /// Takes the next piece and gives each envelope that it completes. After an error the stream is of no use.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Vec<u8>)) -> Result<(), NoEnvelope> {
        while !bytes.is_empty() {
            let wanted = self.wanted();
            let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.partial.extend_from_slice(taken);
            bytes = rest;
            self.skip_junk()?;
            if self.partial.len() >= HEAD_BYTES && self.wanted() == 0 {
                self.junk_left = 0;
                self.partial.shrink_to_fit();
                each(std::mem::take(&mut self.partial));
            }
        }
        Ok(())
    }

    /// How many bytes are missing to the head, or behind it to the end.
    fn wanted(&self) -> usize {
        let whole = length(&self.partial).map_or(HEAD_BYTES, |length| HEAD_BYTES + length);
        let next = if self.partial.len() < HEAD_BYTES { HEAD_BYTES } else { whole };
        next - self.partial.len()
    }

    fn skip_junk(&mut self) -> Result<(), NoEnvelope> {
        let mut from = 0;
        while !may_begin(&self.partial[from..]) {
            self.junk_left = self.junk_left.checked_sub(1).ok_or(NoEnvelope)?;
            from += 1;
        }
        self.partial.drain(..from);
        Ok(())
    }
}

fn length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(LENGTH_AT..LENGTH_AT + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(length)).ok()
}

fn may_begin(bytes: &[u8]) -> bool {
    let marked = bytes.len().min(MARK.len());
    bytes[..marked] == MARK[..marked] && length(bytes).is_none_or(|length| length <= BODY_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn envelope(body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("short").to_le_bytes();
        [b"mh\x01", &length[..], &[9; 12], body].concat()
    }

    fn split(splitter: &mut EnvelopeSplitter, stream: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, NoEnvelope> {
        let mut found = Vec::new();
        for piece in stream.chunks(piece) {
            splitter.push(piece, |envelope| found.push(envelope))?;
        }
        Ok(found)
    }

    proptest! {
        #[test]
        fn envelopes_come_back_whatever_the_pieces(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..8),
            piece in 1_usize..500,
        ) {
            let envelopes: Vec<Vec<u8>> = bodies.iter().map(|body| envelope(body)).collect();
            let mut splitter = EnvelopeSplitter::new(0);
            prop_assert_eq!(split(&mut splitter, &envelopes.concat(), piece), Ok(envelopes));
            prop_assert_eq!(splitter.buffered(), 0);
        }
    }

    #[test]
    fn text_before_the_first_is_skipped_and_between_two_is_an_error() {
        let greeting = b"Welcome to mh sysstat!\nmhmhmhmh\nLast login: m";
        let two = [envelope(b"one"), envelope(b"two")].concat();
        for piece in [1, 7, 1000] {
            let stream = [&greeting[..], &two].concat();
            let found = split(&mut EnvelopeSplitter::new(100), &stream, piece).expect("both are found");
            assert_eq!(found, [envelope(b"one"), envelope(b"two")]);
            assert_eq!(split(&mut EnvelopeSplitter::new(10), &stream, piece), Err(NoEnvelope), "too much of it");
            let between = [&two[..], b"x", &two].concat();
            assert_eq!(split(&mut EnvelopeSplitter::new(100), &between, piece), Err(NoEnvelope));
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_anything_is_kept() {
        let mut splitter = EnvelopeSplitter::new(0);
        let mut head = envelope(b"");
        head[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&(BODY_BYTES_MAX as u32 + 1).to_le_bytes());
        assert_eq!(splitter.push(&head, |_| panic!("none is whole")), Err(NoEnvelope));
    }
}
