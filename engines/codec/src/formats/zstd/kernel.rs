//! What packs level 3: a match finder of our own and libzstd's entropy coder behind it, one block at a time, on one core.
//! It writes no headers and no checksums, and knows no files; whoever calls it cuts the blocks and writes what stands around them.
//! Parts: `matches` (the finder: the hot loop), `entropy` (the library's context). Both have `unsafe`, and say what it rests on.
//! Beside them, `stepper`: the library's own encoder, block by block, for the slow levels.
//! `Found` goes from one to the other; nobody else can make or change one, since the library trusts what it is handed.

mod entropy;
mod matches;
mod stepper;

pub(super) use entropy::EntropyCoder;
pub(super) use matches::{Finder, FrameFinder};
pub(super) use stepper::{Stepper, strategy};

use matches::Found;
use zstd_safe::zstd_sys::ZSTD_Sequence;

/// The most that a block decodes to (RFC 8878, 3.1.1.2.4).
pub(super) const BLOCK_BYTES_MAX: usize = 128 << 10;

/// LIMIT: the most that a frame holds. The finder's tables keep positions in 22 bits.
pub(super) const FRAME_BYTES_MAX: usize = 4 << 20;

/// What a finder and an entropy coder hold.
pub(super) const HELD_BYTES: usize = matches::HELD_BYTES + entropy::HELD_BYTES;
