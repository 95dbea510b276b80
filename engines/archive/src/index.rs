//! The index of members that packed archives of ours carry: names, metadata and places, so that listing and taking out single
//! members decode what they need and nothing else. Written aside (`codec::format::Format::aside`), so that every other program steps
//! over it. Form and what it is good for: docs/decisions/0010-member-index.md.
//!
//! An index is a claim. Members that are taken out by it are read anew from their headers; see [`reader::Index::is_true_of`].

pub mod entry;
mod names;
pub mod reader;
pub mod stretch;
pub mod units;
pub mod writer;

/// What the last aside of an archive with an index holds: where the root stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trailer {
    /// Where the root's aside begins in the file.
    root_from: u64,
    /// Its packed length: the trailer's own aside begins behind it, which nothing but the file as it was made fulfils.
    root_bytes: u64,
}

/// The form's name and version.
const MAGIC: [u8; 8] = *b"MHTARIX1";
const TRAILER_BYTES: usize = 24;

impl Trailer {
    fn bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.root_from.to_le_bytes());
        bytes[16..].copy_from_slice(&self.root_bytes.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (root_from, root_bytes) = rest.split_first_chunk::<8>()?;
        let root_bytes: &[u8; 8] = root_bytes.try_into().ok()?;
        Some(Self { root_from: u64::from_le_bytes(*root_from), root_bytes: u64::from_le_bytes(*root_bytes) })
    }
}

/// LIMIT: plain bytes of a block of entries; those that are written have at most a quarter of it.
const BLOCK_BYTES_MAX: u64 = 1 << 20;
/// LIMIT: plain bytes of a root, and packed ones: some hundred million members.
const ROOT_BYTES_MAX: u64 = 64 << 20;
/// LIMIT: names and links of an index; archives with longer ones get none.
pub(crate) const NAME_BYTES_MAX: usize = 4096;

#[cfg(test)]
#[path = "index/tests.rs"]
mod tests;
