//! The entropy coder: libzstd's, handed one block's sequences and literals at a time as a frame of its own.
//! It finds no matches, and knows nothing of the frame that the block goes into.
//! LIE: zstd.h says that sequences handed over use repeat codes only where the library looks for them, which is slow. In libzstd
//! 1.5.7, the one that is linked, `ZSTD_compressSequencesAndLiterals` with `ZSTD_c_repcodeResolution` off adds 3 to each `offset`
//! in 32 bits, looks at nothing, and writes the sum as Offset_Value (RFC 8878, 3.1.1.3.2.1.1). So a distance is handed over as it is
//! and repeat code 1, 2 or 3 as code - 3, wrapping. What the library notes of repeat codes is for later blocks of a frame; here
//! each block is its frame's only one. One that reads `offset` otherwise fails the tests of `own_frames`.
#![expect(unsafe_code, reason = "the safe binding has no such call and does not lend its context")]
// Invariants all blocks below rest on:
//  1. `context` was made by `ZSTD_initStaticCCtx` in `_memory`, which stays where it is until this struct ends and is nobody else's;
//  2. a `BlockMatches` comes from the finder: its sequences have offsets that are a value less 3, matches of 4 bytes or more, a
//     delimiter at the end and nowhere else; its literals are as many as they say, with more than 8 bytes of room behind them.

use super::super::super::container::{BLOCK_HEADER_BYTES, HEADER_BYTES_MAX, parse_frame_header};
use super::{BLOCK_BYTES_MAX, BlockMatches};
use crate::error::CodecError;
use std::ptr::NonNull;
use zstd_safe::get_error_name;
use zstd_safe::zstd_sys::{
    ZSTD_CCtx, ZSTD_CCtx_reset, ZSTD_CCtx_setParameter, ZSTD_ErrorCode, ZSTD_ParamSwitch_e, ZSTD_ResetDirective,
    ZSTD_SequenceFormat_e, ZSTD_cParameter, ZSTD_compressSequencesAndLiterals, ZSTD_getErrorCode, ZSTD_initStaticCCtx,
    ZSTD_isError,
};

/// Room for a compressed block. Half as much again as it may have in the end: where the library's coder of literals cannot run out
/// of room it does not look for the end.
const ROOM_BYTES: usize = HEADER_BYTES_MAX + BLOCK_HEADER_BYTES + BLOCK_BYTES_MAX / 2 * 3;

/// Memory of the context and the room.
pub(super) const HELD_BYTES: usize = CONTEXT_BYTES + ROOM_BYTES;

/// The library's context for the largest block (a test finds that it is enough). One that manages its own memory takes it anew when a long block
/// follows short ones.
const CONTEXT_BYTES: usize = 512 << 10;

/// A context of libzstd that packs blocks of level 3.
pub struct EntropyCoder {
    context: NonNull<ZSTD_CCtx>,
    /// Words, as the library wants it aligned.
    _memory: Box<[u64]>,
    room: Box<[u8]>,
}

// SAFETY: a context belongs to no thread: it may go to another as long as one at a time uses it, which `&mut self` sees to.
unsafe impl Send for EntropyCoder {}

impl EntropyCoder {
    /// A context with tables as small as they get: it is never asked to find a match.
    ///
    /// # Errors
    ///
    /// The library's, for want of memory.
    pub fn new() -> Result<Self, CodecError> {
        Self::within(CONTEXT_BYTES)
    }

    fn within(bytes: usize) -> Result<Self, CodecError> {
        let mut memory = vec![0; bytes / size_of::<u64>()].into_boxed_slice();
        // SAFETY: as many bytes are there, aligned to eight.
        let context = unsafe { ZSTD_initStaticCCtx(memory.as_mut_ptr().cast(), size_of_val(&*memory)) };
        let context = NonNull::new(context).ok_or_else(no_context)?;
        let mut coder = Self { context, _memory: memory, room: vec![0; ROOM_BYTES].into_boxed_slice() };
        coder.set(ZSTD_cParameter::ZSTD_c_compressionLevel, 3)?;
        coder.set(ZSTD_cParameter::ZSTD_c_windowLog, BLOCK_BYTES_MAX.ilog2() as i32)?;
        coder.set(ZSTD_cParameter::ZSTD_c_hashLog, 6)?;
        coder.set(ZSTD_cParameter::ZSTD_c_chainLog, 6)?;
        // Our shortest match: the library makes room for as many sequences as a block can have of those, less two. LIMIT: a block of such
        // matches and nothing else is refused, and stored.
        coder.set(ZSTD_cParameter::ZSTD_c_minMatch, 4)?;
        // `ZSTD_c_stableInBuffer` and `ZSTD_c_stableOutBuffer` of its header: no streams, so no buffers for them.
        coder.set(ZSTD_cParameter::ZSTD_c_experimentalParam9, 1)?;
        coder.set(ZSTD_cParameter::ZSTD_c_experimentalParam10, 1)?;
        // `ZSTD_c_blockDelimiters` and `ZSTD_c_repcodeResolution` of its header.
        let explicit = ZSTD_SequenceFormat_e::ZSTD_sf_explicitBlockDelimiters;
        coder.set(ZSTD_cParameter::ZSTD_c_experimentalParam11, explicit as i32)?;
        coder.set(ZSTD_cParameter::ZSTD_c_experimentalParam19, ZSTD_ParamSwitch_e::ZSTD_ps_disable as i32)?;
        Ok(coder)
    }

    fn set(&mut self, parameter: ZSTD_cParameter, value: i32) -> Result<(), CodecError> {
        // SAFETY: invariant 1.
        let code = unsafe { ZSTD_CCtx_setParameter(self.context.as_ptr(), parameter, value) };
        if is_error(code) {
            return Err(library_error(code));
        }
        Ok(())
    }

    /// The content of a compressed block (RFC 8878, 3.1.1.3) that decodes to what was found. `None`: the library does not make
    /// it smaller.
    ///
    /// # Errors
    ///
    /// The library's, for want of memory.
    pub fn pack(&mut self, found: &BlockMatches) -> Result<Option<&[u8]>, CodecError> {
        let (sequences, (literals, literal_count)) = (found.sequences(), found.literals());
        // SAFETY: invariants 1 and 2; the library writes no more than there is room.
        let code = unsafe {
            ZSTD_compressSequencesAndLiterals(
                self.context.as_ptr(),
                self.room.as_mut_ptr().cast(),
                self.room.len(),
                sequences.as_ptr(),
                sequences.len(),
                literals.as_ptr().cast(),
                literal_count,
                literals.len(),
                found.block_bytes(),
            )
        };
        if is_error(code) {
            // SAFETY: invariant 1.
            unsafe { ZSTD_CCtx_reset(self.context.as_ptr(), ZSTD_ResetDirective::ZSTD_reset_session_only) };
            // SAFETY: no conditions.
            let is_for_memory = unsafe { ZSTD_getErrorCode(code) } == ZSTD_ErrorCode::ZSTD_error_memory_allocation;
            return if is_for_memory { Err(library_error(code)) } else { Ok(None) };
        }
        let frame = &self.room[..code];
        let header = parse_frame_header(frame).ok().flatten();
        Ok(header.and_then(|header| frame.get(header.bytes + BLOCK_HEADER_BYTES..)))
    }
}

fn library_error(code: usize) -> CodecError {
    CodecError::Library { library: "zstd", message: get_error_name(code).to_owned() }
}

fn no_context() -> CodecError {
    CodecError::Library { library: "zstd", message: "no memory for a context".to_owned() }
}

fn is_error(code: usize) -> bool {
    // SAFETY: no conditions.
    unsafe { ZSTD_isError(code) != 0 }
}

#[cfg(test)]
mod tests {
    use super::super::Finder;
    use super::*;

    #[test]
    fn the_memory_of_a_context_is_enough_and_no_waste() {
        let uncompressed = testkit::data::mixed(BLOCK_BYTES_MAX, 1);
        let mut finder = Finder::new();
        let mut frame = finder.begin(&uncompressed);
        let found = frame.next_block(uncompressed.len());
        let has_room = |bytes| EntropyCoder::within(bytes).and_then(|mut coder| Ok(coder.pack(found)?.is_some()));
        assert!(has_room(CONTEXT_BYTES).expect("there is memory"));
        assert!(has_room(CONTEXT_BYTES / 10 * 9).is_err());
    }
}
