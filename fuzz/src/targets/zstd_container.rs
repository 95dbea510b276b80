//! Any bytes as a zst file: survey, cutter, whole frames and streamed ones, in large and in odd pieces.
//! Where libzstd's own loop over frames accepts as well, it must have read the same bytes.

use crate::decode::{Decoded, PLAIN_BYTES, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::list::survey_reader;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("zst"), input, 1 << 20);
    let small = decode(format("zst"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && let Some(theirs) = with_libzstd(input)
    {
        assert!(*plain == theirs, "libzstd reads other bytes");
    }
}

/// All frames in a row; `None` where it refuses, or gives more than the limit.
fn with_libzstd(packed: &[u8]) -> Option<Vec<u8>> {
    let mut context = DCtx::create();
    let mut source = InBuffer::around(packed);
    let mut plain = Vec::new();
    let mut buffer = vec![0; 128 << 10];
    let mut left = 0;
    loop {
        let mut target = OutBuffer::around(buffer.as_mut_slice());
        let consumed_before = source.pos();
        if source.pos() < packed.len() || left > 0 {
            left = context.decompress_stream(&mut target, &mut source).ok()?;
        }
        let produced = target.pos();
        plain.extend_from_slice(&buffer[..produced]);
        if plain.len() > PLAIN_BYTES {
            return None;
        }
        if produced == 0 && source.pos() == consumed_before {
            return (left == 0).then_some(plain);
        }
    }
}
