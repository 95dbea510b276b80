//! Skippable frames: bytes for somebody else, between the frames of zstd (RFC 8878 section 3.1.2) and of LZ4.

/// Magic and size.
pub(crate) const HEADER_BYTES: usize = 8;

/// Whether one begins here: sixteen magic numbers.
pub(crate) fn begins(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// If one begins here: its length, or nothing where its header is cut off.
pub(crate) fn length(head: &[u8]) -> Option<Option<u64>> {
    begins(head).then(|| {
        let size = head.get(4..)?.first_chunk()?;
        Some(HEADER_BYTES as u64 + u64::from(u32::from_le_bytes(*size)))
    })
}
