//! liblz4's block functions, called safely: every pointer comes with the length of what it points to.
//! Knows nothing of frames.

#![expect(unsafe_code, reason = "liblz4 is called through pointers")]

use super::offsets;
use crate::error::UnitDefect;
use lz4_sys::{
    LZ4_compress_HC, LZ4_compress_fast, LZ4_createStream, LZ4_createStreamDecode, LZ4_decompress_safe,
    LZ4_decompress_safe_continue, LZ4_freeStream, LZ4_freeStreamDecode, LZ4_setStreamDecode, LZ4StreamEncode,
};
use std::ffi::{c_char, c_int, c_void};

// SAFETY: these are declared as in lz4.h and lz4hc.h of the liblz4 that lz4-sys builds, which leaves them out.
unsafe extern "C" {
    fn LZ4_loadDict(stream: *mut LZ4StreamEncode, dictionary: *const c_char, bytes: c_int) -> c_int;
    fn LZ4_compress_fast_continue(
        stream: *mut LZ4StreamEncode,
        source: *const c_char,
        target: *mut c_char,
        source_bytes: c_int,
        target_bytes: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(stream: *mut c_void) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut c_void, level: c_int);
    fn LZ4_loadDictHC(stream: *mut c_void, dictionary: *const c_char, bytes: c_int) -> c_int;
    fn LZ4_compress_HC_continue(
        stream: *mut c_void,
        source: *const c_char,
        target: *mut c_char,
        source_bytes: c_int,
        target_bytes: c_int,
    ) -> c_int;
}

/// liblz4 counts in C's `int`; blocks are 8 MiB at most.
fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

/// Packs `uncompressed` into `compressed` at `level`: 3 and above with match chains, below by the fast method, negative ones faster
/// still. `None` where it does not fit.
pub(super) fn compress(uncompressed: &[u8], compressed: &mut [u8], level: i32) -> Option<usize> {
    let (source, target) = (uncompressed.as_ptr().cast(), compressed.as_mut_ptr().cast());
    let written = if level >= 2 {
        // SAFETY: liblz4 reads `length(uncompressed)` bytes from the first and writes at most `length(compressed)` to the second; both
        // slices are that long.
        unsafe { LZ4_compress_HC(source, target, length(uncompressed), length(compressed), level) }
    } else {
        let acceleration = if level < 0 { -level } else { 1 };
        // SAFETY: as above.
        unsafe { LZ4_compress_fast(source, target, length(uncompressed), length(compressed), acceleration) }
    };
    usize::try_from(written).ok().filter(|&written| written > 0)
}

/// The same, where matches may also refer back into `dictionary`.
pub(super) fn compress_after(
    dictionary: &[u8],
    uncompressed: &[u8],
    compressed: &mut [u8],
    level: i32,
) -> Option<usize> {
    let (source, target) = (uncompressed.as_ptr().cast(), compressed.as_mut_ptr().cast());
    let (source_bytes, target_bytes) = (length(uncompressed), length(compressed));
    let written = if level >= 2 {
        // SAFETY: the state is created, used and freed here; the dictionary outlives its use, and slices are as long as liblz4 hears.
        unsafe {
            let state = LZ4_createStreamHC();
            if state.is_null() {
                return None;
            }
            LZ4_resetStreamHC_fast(state, level);
            LZ4_loadDictHC(state, dictionary.as_ptr().cast(), length(dictionary));
            let written = LZ4_compress_HC_continue(state, source, target, source_bytes, target_bytes);
            LZ4_freeStreamHC(state);
            written
        }
    } else {
        let acceleration = if level < 0 { -level } else { 1 };
        // SAFETY: as above.
        unsafe {
            let state = LZ4_createStream();
            if state.is_null() {
                return None;
            }
            LZ4_loadDict(state, dictionary.as_ptr().cast(), length(dictionary));
            let written = LZ4_compress_fast_continue(state, source, target, source_bytes, target_bytes, acceleration);
            LZ4_freeStream(state);
            written
        }
    };
    usize::try_from(written).ok().filter(|&written| written > 0)
}

/// Decodes the block `compressed` into `uncompressed` and returns how many bytes came out.
pub(super) fn decompress(compressed: &[u8], uncompressed: &mut [u8]) -> Result<usize, UnitDefect> {
    if offsets::any_is_zero(compressed) {
        return Err(UnitDefect::Lz4);
    }
    // SAFETY: liblz4's safe decoder never reads past `length(compressed)` nor writes past `length(uncompressed)`, whatever the data.
    let written = unsafe {
        LZ4_decompress_safe(
            compressed.as_ptr().cast(),
            uncompressed.as_mut_ptr().cast(),
            length(compressed),
            length(uncompressed),
        )
    };
    usize::try_from(written).ok().ok_or(UnitDefect::Lz4)
}

/// Decodes the block `compressed`, which may refer back into `history`, into `uncompressed`.
pub(super) fn decompress_after(
    history: &[u8],
    compressed: &[u8],
    uncompressed: &mut [u8],
) -> Result<usize, UnitDefect> {
    if offsets::any_is_zero(compressed) {
        return Err(UnitDefect::Lz4);
    }
    // SAFETY: the state is created, used and freed here; the history outlives its use, and lengths are as above.
    let written = unsafe {
        let state = LZ4_createStreamDecode();
        if state.is_null() {
            return Err(UnitDefect::Lz4);
        }
        LZ4_setStreamDecode(state, history.as_ptr(), length(history));
        let written = LZ4_decompress_safe_continue(
            state,
            compressed.as_ptr(),
            uncompressed.as_mut_ptr(),
            length(compressed),
            length(uncompressed),
        );
        LZ4_freeStreamDecode(state);
        written
    };
    usize::try_from(written).ok().ok_or(UnitDefect::Lz4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_at_every_level() {
        let uncompressed: Vec<u8> = (0..200_000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        for level in [-100, -1, 1, 2, 3, 9, 12] {
            let mut compressed = vec![0; uncompressed.len()];
            let packed_bytes = compress(&uncompressed, &mut compressed, level).expect("it fits");
            let mut back = vec![0; uncompressed.len()];
            let plain_bytes = decompress(&compressed[..packed_bytes], &mut back).expect("sound");
            assert!(plain_bytes == uncompressed.len() && back == uncompressed, "level {level}");
            assert!(
                decompress(&compressed[..packed_bytes - 1], &mut back).is_err(),
                "level {level}: a byte is missing"
            );
            assert!(decompress(&compressed[..packed_bytes], &mut back[1..]).is_err(), "level {level}: no room");
        }
        assert_eq!(compress(&testkit::data::random(1000, 1), &mut [0; 1000], 1), None);
    }

    #[test]
    fn a_dictionary_is_referred_to_at_every_level() {
        let dictionary = testkit::data::random(5000, 3);
        let uncompressed = [&dictionary[1000..4000], b"and something new", &dictionary[..900]].concat();
        for level in [-5, 1, 2, 9, 12] {
            let mut compressed = vec![0; uncompressed.len()];
            let packed_bytes = compress_after(&dictionary, &uncompressed, &mut compressed, level).expect("it fits");
            assert!(packed_bytes < 200, "level {level}: {packed_bytes} bytes");
            let mut back = vec![0; uncompressed.len()];
            decompress_after(&dictionary, &compressed[..packed_bytes], &mut back).expect("sound");
            assert!(back == uncompressed, "level {level}");
            assert!(decompress(&compressed[..packed_bytes], &mut back).is_err(), "level {level}: not without it");
        }
    }

    #[test]
    fn history_is_referred_to() {
        // A literal "a", then a match of 8 at distance 4, then five literals: the last bytes are always literals.
        let compressed = [0x14, b'a', 4, 0, 0x50, b'v', b'w', b'x', b'y', b'z'];
        let mut uncompressed = [0; 14];
        assert_eq!(decompress_after(b"bcd", &compressed, &mut uncompressed).expect("sound"), 14);
        assert_eq!(&uncompressed, b"abcdabcdavwxyz");
        assert!(decompress_after(b"cd", &compressed, &mut uncompressed).is_err(), "it refers to before the history");
    }
}
