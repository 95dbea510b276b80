//! Reading bytes that anybody may have sent: every step says whether so much is there. Numbers are little endian.

/// What is still unread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    /// Bytes behind their length in one byte.
    pub fn short(&mut self) -> Option<&'a [u8]> {
        let count = self.u8()?;
        self.bytes(count.into())
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Appends bytes behind their length in one byte.
///
/// # Panics
/// If there are more than 255: callers have bounded them.
pub(crate) fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(u8::try_from(bytes.len()).expect("bounded by its type"));
    out.extend_from_slice(bytes);
}
