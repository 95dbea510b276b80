//! Any bytes as plain data: libzstd packs them as one frame, at a level and with a window that the first bytes choose; decoded block by block it gives
//! them back.

use crate::decode::{PLAIN_BYTES, decode_by_blocks};
use crate::seeds::unsized_frame;
use crate::targets::round_trip_zst::grown;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let choice = |at: usize| i32::from(plain.get(at).copied().unwrap_or(3));
    let (level, window_log) = (choice(0) % 27 - 7, 10 + choice(1) as u32 % 11);
    for plain in [plain, &grown(plain)] {
        let packed = unsized_frame(plain, level, window_log, true);
        match decode_by_blocks(&packed) {
            Some(Ok(back)) => assert!(back == plain, "other bytes come back"),
            Some(Err(defect)) => panic!("a frame of libzstd is refused: {defect}"),
            None => assert!(plain.len() > PLAIN_BYTES, "it is a frame of unknown size"),
        }
    }
}
