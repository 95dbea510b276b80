//! Compresses level 3: a match finder of our own and libzstd's entropy coder behind it, one block at a time.
//! It writes no headers and no checksums; `own_frames` cuts the blocks and writes what stands around them.
//! Parts: `matches` (the finder: the hot loop), `entropy` (the library's context). Both have `unsafe`, and state its invariants.
//! `BlockMatches` goes from one to the other; nobody else can make or change one, since the library trusts what it is handed.

mod entropy;
mod matches;

pub(in super::super) use entropy::EntropyCoder;
pub(in super::super) use matches::{Finder, FrameFinder};

use matches::BlockMatches;
use zstd_safe::zstd_sys::ZSTD_Sequence;

/// The most that a block decodes to (RFC 8878, 3.1.1.2.4).
pub(in super::super) const BLOCK_BYTES_MAX: usize = 128 << 10;

/// LIMIT: the most that a frame holds. The finder's tables keep positions in 22 bits.
pub(in super::super) const FRAME_BYTES_MAX: usize = 4 << 20;

/// What a finder and an entropy coder hold.
pub(in super::super) const HELD_BYTES: usize = matches::HELD_BYTES + entropy::HELD_BYTES;
