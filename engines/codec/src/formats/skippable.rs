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

/// Ours: neither the seek table's (`5e`) nor that of pzstd (`50`).
const MAGIC: [u8; 4] = [0x5a, 0x2a, 0x4d, 0x18];

/// A frame of ours around `bytes`.
pub(crate) fn wrap(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(bytes.len()).ok()?;
    Some([&MAGIC[..], &length.to_le_bytes(), bytes].concat())
}

/// What a frame of ours holds.
pub(crate) fn unwrap(compressed: &[u8]) -> Option<Vec<u8>> {
    let (head, content) = compressed.split_at_checked(HEADER_BYTES)?;
    let is_ours = head.starts_with(&MAGIC) && length(head) == Some(Some(compressed.len() as u64));
    is_ours.then(|| content.to_vec())
}
