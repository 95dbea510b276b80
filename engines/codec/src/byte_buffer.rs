//! A recycled buffer for uncompressed or compressed bytes, which may keep history in front of them.
//! Grows to what was ever needed and never shrinks: touching fresh memory, or clearing old, costs more than keeping it.

/// Bytes `start..end` of a buffer are the content; what stands before `start` is history that decoders may refer to.
#[derive(Debug, Default)]
pub struct ByteBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ByteBuffer {
    /// The content.
    pub fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Bytes of content.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Bytes it holds memory for.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Empties it and puts `history` in front of what comes.
    pub fn restart_with(&mut self, history: &[u8]) {
        self.reserve(history.len());
        self.bytes[..history.len()].copy_from_slice(history);
        self.start = history.len();
        self.end = history.len();
    }

    /// Whether something stands in front of the content.
    pub fn has_history(&self) -> bool {
        self.start > 0
    }

    /// Gives the content away, with what stands in front of it, and takes `other` as memory for the next one.
    pub fn exchange(&mut self, mut other: Vec<u8>) -> Vec<u8> {
        // What came back shorter than it was made is not to be too short for the next content.
        other.resize(other.capacity(), 0);
        let mut content = std::mem::replace(&mut self.bytes, other);
        content.truncate(self.end);
        self.clear();
        content
    }

    /// Empties it.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Makes sure that there is memory for `bytes` of content and a little more, where later contents will be about as long: memory is
    /// not taken anew for each that is a little longer.
    pub fn reserve_about(&mut self, bytes: usize) {
        if self.bytes.len() < bytes {
            self.reserve(bytes + bytes / 16);
        }
    }

    /// Room for `more` bytes behind the content, as a slice to write into; [`ByteBuffer::grow`] then takes them in.
    pub fn room(&mut self, more: usize) -> &mut [u8] {
        let end = self.end;
        self.reserve(more);
        &mut self.bytes[end..end + more]
    }

    /// The whole buffer with `more` bytes of room, and where the content ends: for decoders that refer back.
    pub fn with_history(&mut self, more: usize) -> (&mut [u8], usize) {
        self.reserve(more);
        let total = self.end + more;
        (&mut self.bytes[..total], self.end)
    }

    /// Keeps the first `count` bytes of the content.
    pub fn truncate(&mut self, count: usize) {
        self.end = self.end.min(self.start + count);
    }

    /// Adds bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.grow(bytes.len());
    }

    /// The content, to be changed in place.
    pub fn content_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Takes in `count` bytes that were written behind the content.
    pub fn grow(&mut self, count: usize) {
        assert!(self.end + count <= self.bytes.len(), "content cannot grow past the room that was asked for");
        self.end += count;
    }

    /// The last `count` bytes of history and content together, or fewer if there are fewer.
    pub fn last(&self, count: usize) -> &[u8] {
        &self.bytes[self.end.saturating_sub(count)..self.end]
    }

    fn reserve(&mut self, more: usize) {
        let needed = self.end + more;
        if self.bytes.len() >= needed {
            return;
        }
        if self.end == 0 {
            // What nobody needs goes before something else takes its place.
            self.bytes = Vec::new();
        }
        let held = std::mem::take(&mut self.bytes);
        // Fresh zeros take memory where something is written to them: a bound that nothing reaches costs nothing. `resize` would write them all.
        self.bytes = vec![0; needed.max(2 * held.len())];
        self.bytes[..self.end].copy_from_slice(&held[..self.end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exchanged_keeps_its_memory() {
        let mut buffer = ByteBuffer::default();
        buffer.append(b"abc");
        let mut spare = Vec::with_capacity(8);
        spare.push(1);
        assert_eq!((buffer.exchange(spare), buffer.len()), (b"abc".to_vec(), 0));
        buffer.append(b"defg");
        let content = buffer.exchange(Vec::new());
        assert_eq!((&content[..], content.capacity()), (&b"defg"[..], 8));
    }

    #[test]
    fn content_follows_history_and_the_tail_reaches_into_it() {
        let mut buffer = ByteBuffer::default();
        buffer.restart_with(b"abc");
        buffer.room(2).copy_from_slice(b"de");
        buffer.grow(2);
        assert_eq!(buffer.content(), b"de");
        assert_eq!(buffer.last(4), b"bcde");
        assert_eq!(buffer.last(99), b"abcde");
        buffer.clear();
        assert!(buffer.is_empty());
    }
}
