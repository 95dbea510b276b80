//! libzstd's encoder, handed one block of a frame at a time: between two of them its caller may do something else.
//! It chooses no borders, and knows nothing of levels but their number.
//! LIE: zstd.h says of `ZSTD_e_flush` that it may cost ratio. In libzstd 1.5.7, the one that is linked, with `ZSTD_c_stableInBuffer` it ends the
//! block and does nothing else: matches reach over it, since the uncompressed bytes stay where they are. Where blocks end where the library itself
//! ends them, the frame is the one that `ZSTD_compress2` makes. The tests of `stepped_frames` compare the two.
#![expect(unsafe_code, reason = "the safe binding refuses `ZSTD_c_stableInBuffer` and does not lend its context")]
// Invariants all blocks below rest on:
//  1. `context` was made by `ZSTD_createCCtx`, and is nobody else's until `drop` frees it;
//  2. while a frame is under way its uncompressed bytes and its room are borrowed by `frame`: the library may keep their addresses
//     from call to call, and `frame` begins with a reset that makes it forget those of the frame before.

use crate::error::CodecError;
use std::ptr::NonNull;
use zstd_safe::get_error_name;
use zstd_safe::zstd_sys::{
    ZSTD_CCtx, ZSTD_CCtx_reset, ZSTD_CCtx_setParameter, ZSTD_CCtx_setPledgedSrcSize, ZSTD_EndDirective,
    ZSTD_ResetDirective, ZSTD_cParameter, ZSTD_compressStream2, ZSTD_compressionParameters, ZSTD_createCCtx,
    ZSTD_freeCCtx, ZSTD_getCParams, ZSTD_inBuffer, ZSTD_isError, ZSTD_outBuffer,
};

/// Frames that are packed block by block.
pub struct SteppedFrames {
    /// Their level.
    pub level: i32,
    /// Binary logarithm of their windows.
    pub window_log: u32,
    /// Whether far-away matches are searched too.
    pub has_long_matches: bool,
    /// Whether a checksum follows the content.
    pub has_checksum: bool,
}

/// A context of libzstd that packs frames block by block.
pub struct Stepper {
    context: NonNull<ZSTD_CCtx>,
}

// SAFETY: a context belongs to no thread: it may go to another as long as one at a time uses it, which `&mut self` sees to.
unsafe impl Send for Stepper {}

impl Drop for Stepper {
    fn drop(&mut self) {
        // SAFETY: invariant 1.
        unsafe { ZSTD_freeCCtx(self.context.as_ptr()) };
    }
}

impl Stepper {
    /// A context for such frames.
    ///
    /// # Errors
    ///
    /// The library's, for want of memory.
    pub fn new(frames: &SteppedFrames) -> Result<Self, CodecError> {
        // SAFETY: no conditions.
        let context = NonNull::new(unsafe { ZSTD_createCCtx() });
        let no_memory = || CodecError::Library { library: "zstd", message: "no memory for a context".to_owned() };
        let mut stepper = Self { context: context.ok_or_else(no_memory)? };
        stepper.set(ZSTD_cParameter::ZSTD_c_compressionLevel, frames.level)?;
        stepper.set(ZSTD_cParameter::ZSTD_c_checksumFlag, i32::from(frames.has_checksum))?;
        // Below 32: the facts of the format bound it.
        stepper.set(ZSTD_cParameter::ZSTD_c_windowLog, frames.window_log as i32)?;
        stepper.set(ZSTD_cParameter::ZSTD_c_enableLongDistanceMatching, i32::from(frames.has_long_matches))?;
        // `ZSTD_c_stableInBuffer` of its header: the uncompressed bytes are not copied, and the next block follows the one before.
        stepper.set(ZSTD_cParameter::ZSTD_c_experimentalParam9, 1)?;
        Ok(stepper)
    }

    fn set(&mut self, parameter: ZSTD_cParameter, value: i32) -> Result<(), CodecError> {
        // SAFETY: invariant 1.
        checked(unsafe { ZSTD_CCtx_setParameter(self.context.as_ptr(), parameter, value) }).map(drop)
    }

    /// Packs `uncompressed` into `room`, which is as large as the library's bound, and returns how much of it is used. `next_block` is told how much of
    /// `uncompressed` and of `room` there is behind the last block, and says how long the next one is: not longer than a block may be, and not empty
    /// while anything is left.
    ///
    /// # Errors
    ///
    /// The library's.
    pub fn frame(
        &mut self,
        uncompressed: &[u8],
        room: &mut [u8],
        mut next_block: impl FnMut(usize, &[u8]) -> usize,
    ) -> Result<usize, CodecError> {
        // SAFETY: invariant 1.
        checked(unsafe { ZSTD_CCtx_reset(self.context.as_ptr(), ZSTD_ResetDirective::ZSTD_reset_session_only) })?;
        // SAFETY: invariant 1.
        checked(unsafe { ZSTD_CCtx_setPledgedSrcSize(self.context.as_ptr(), uncompressed.len() as u64) })?;
        let mut input = ZSTD_inBuffer { src: uncompressed.as_ptr().cast(), size: 0, pos: 0 };
        let mut output = ZSTD_outBuffer { dst: room.as_mut_ptr().cast(), size: room.len(), pos: 0 };
        loop {
            let rest = uncompressed.len() - input.size;
            // SAFETY: the library has written the first `output.pos` bytes of `room`, which it does not read; nobody else has a reference to it.
            let compressed = unsafe { std::slice::from_raw_parts(output.dst.cast_const().cast::<u8>(), output.pos) };
            let block = next_block(input.size, compressed).min(rest);
            input.size += block;
            let is_last = block == rest;
            let directive = if is_last { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_flush };
            // SAFETY: invariants 1 and 2; both buffers are at least as long as they say.
            let left = checked(unsafe {
                ZSTD_compressStream2(self.context.as_ptr(), &raw mut output, &raw mut input, directive)
            })?;
            let is_done = input.pos == input.size && (!is_last || left == 0);
            if !is_done {
                return Err(CodecError::Library { library: "zstd", message: "its bound does not hold".to_owned() });
            }
            if is_last {
                return Ok(output.pos);
            }
        }
    }
}

/// The library's parameters of a level for content of so many bytes, with a dictionary of so many.
pub fn library_parameters(
    level: i32,
    content_bytes: Option<u64>,
    dictionary_bytes: usize,
) -> ZSTD_compressionParameters {
    // COMPAT: all bits set is `ZSTD_CONTENTSIZE_UNKNOWN`.
    // SAFETY: no conditions.
    unsafe { ZSTD_getCParams(level, content_bytes.unwrap_or(u64::MAX), dictionary_bytes) }
}

fn checked(code: usize) -> Result<usize, CodecError> {
    // SAFETY: no conditions.
    if unsafe { ZSTD_isError(code) } != 0 {
        return Err(CodecError::Library { library: "zstd", message: get_error_name(code).to_owned() });
    }
    Ok(code)
}
