//! Blocks of one zstd frame in two steps, so that the first can run on every core: `entropy` reads a block's literals and sequences, for which it needs the
//! block and the tables that earlier ones described; `history` copies what the sequences say, block after block. Theory: `engines/codec/README.md`.
//! It knows no files and no threads; whoever calls it hands it a block at a time.

mod entropy;
mod history;
mod literals;
mod sequences;
mod tables;

pub use entropy::{BlockDecoder, CompressedBlock, DecodedBlock, TablesSoFar};
pub use history::BlockHistory;

/// No block decodes to more (RFC 8878 section 3.1.1.2.4).
pub const BLOCK_BYTES: usize = 128 << 10;

/// Why a block is refused.
pub type BlockDefect = &'static str;

/// Bytes that copies may read or write beyond an end.
const SLACK: usize = 64;
