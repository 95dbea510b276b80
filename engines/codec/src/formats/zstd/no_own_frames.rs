//! Stands in for `own_frames` in a build without the feature `zstd-finder`: no chunk is its business, so libzstd compresses all of them.

use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use std::ops::Range;

/// The level that the finder would compress.
pub(super) const LEVEL: i32 = 3;

/// No length.
pub(super) const LENGTHS: Range<usize> = 0..0;

/// No encoder holds anything.
pub(super) const ENCODER_BYTES: u64 = 0;

/// There is none.
pub(super) enum NoOwnEncoder {}

pub(super) use NoOwnEncoder as OwnEncoder;

impl NoOwnEncoder {
    /// Never called: no length is in [`LENGTHS`].
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new() -> Result<Self, CodecError> {
        Err(CodecError::Library { library: "zstd", message: "this build has no match finder of its own".to_owned() })
    }

    pub fn encode(&mut self, _plain: &[u8], _packed: &mut ByteBuffer) -> Result<(), CodecError> {
        match *self {}
    }
}
