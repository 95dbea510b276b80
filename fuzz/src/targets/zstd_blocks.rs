//! Any bytes as a zst frame that several hands decode block by block: the bytes that libzstd makes of it, or an error of both. Three things are refused by one alone:
//! matches that reach back beyond the window, as the library's buffer is longer than that, tables whose description runs past the end of their
//! block, where the library reads the last bytes again, and a frame of another length than its header tells whose last block is empty.

use crate::decode::{PLAIN_BYTES, decode_by_blocks};
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some(ours) = decode_by_blocks(input) else { return };
    match (ours, with_libzstd(input)) {
        (_, Theirs::TooMuch) | (Err(_), Theirs::Refused) => {}
        (Ok(ours), Theirs::Whole(theirs)) => assert!(ours == theirs, "libzstd reads other bytes"),
        (Ok(_), Theirs::Refused) => panic!("libzstd refuses it"),
        (Err(defect), Theirs::Whole(theirs)) => {
            let is_ours_alone = ["reaches back too far", "a table of sequences is damaged"];
            let is_of_another_length = defect.replace(',', "").ends_with(&format!("data have {}", theirs.len()));
            assert!(
                is_of_another_length || is_ours_alone.iter().any(|known| defect.contains(known)),
                "libzstd reads it: {defect}"
            );
        }
    }
}

enum Theirs {
    Whole(Vec<u8>),
    Refused,
    TooMuch,
}

/// The first frame.
fn with_libzstd(packed: &[u8]) -> Theirs {
    let mut context = DCtx::create();
    let mut source = InBuffer::around(packed);
    let (mut plain, mut buffer) = (Vec::new(), vec![0; 128 << 10]);
    loop {
        let mut target = OutBuffer::around(buffer.as_mut_slice());
        let consumed_before = source.pos();
        let Ok(left) = context.decompress_stream(&mut target, &mut source) else { return Theirs::Refused };
        let produced = target.pos();
        plain.extend_from_slice(&buffer[..produced]);
        if left == 0 {
            return Theirs::Whole(plain);
        }
        if plain.len() > PLAIN_BYTES {
            return Theirs::TooMuch;
        }
        if produced == 0 && source.pos() == consumed_before {
            return Theirs::Refused;
        }
    }
}
