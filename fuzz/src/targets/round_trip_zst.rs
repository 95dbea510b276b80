//! Any bytes as plain data: packed as one frame, and as a stream in pieces, at the level that the first byte chooses, they come
//! back, from our decoder and from libzstd's. Level 3 is packed by our own match finder where a chunk is long enough: the input is
//! grown for it.

use crate::decode::{assert_comes_back, encode, format, options, piece_bytes};
use codec::byte_buffer::ByteBuffer;
use codec::format::UnitLayout;
use crew::pipeline::Pause;
use testkit::random::Random;

/// The level with a match finder of our own, and the shortest chunk that it is given.
const OWN_LEVEL: i32 = 3;
const OWN_BYTES_MIN: usize = 256 << 10;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(1) % 12) - 3;
    assert_is_read(plain, &in_pieces(plain, level));
    for (plain, level) in [(plain, level), (&grown(plain), OWN_LEVEL)] {
        let packed = encode("zst", plain, level, UnitLayout::ParallelUnits);
        assert!(packed.len() <= format("zst").compressed_bound(plain.len()), "the bound must hold");
        assert_is_read(plain, &packed);
    }
}

fn assert_is_read(plain: &[u8], packed: &[u8]) {
    assert_comes_back("zst", packed, plain);
    let mut theirs = vec![0; plain.len() + 1];
    let size = zstd_safe::decompress(theirs.as_mut_slice(), packed).expect("libzstd reads what was written");
    assert!(theirs[..size] == *plain, "libzstd reads it otherwise");
}

/// The input, then pieces of it, of what was grown so far, runs and noise, to the length that our match finder begins at. Which
/// of them comes, and how long each is at most, the input chooses.
pub fn grown(plain: &[u8]) -> Vec<u8> {
    let seed = plain.iter().fold(1_u64, |seed, &byte| seed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mut random = Random::seeded(seed);
    let piece_bytes_max = 1 << (3 + random.below(15));
    let mut grown = plain.to_vec();
    let wanted = OWN_BYTES_MIN + random.below(200_000);
    while grown.len() < wanted {
        let bytes = 1 + random.below(piece_bytes_max);
        match random.below(5) {
            0 => grown.extend(plain.iter().cycle().skip(random.below(plain.len() + 1)).take(bytes)),
            1 | 2 if !grown.is_empty() => {
                let start = random.below(grown.len());
                (start..start + bytes).for_each(|at| grown.push(grown[at]));
            }
            3 => grown.resize(grown.len() + bytes, bytes as u8),
            _ => {
                let start = grown.len();
                grown.resize(start + bytes, 0);
                random.fill(&mut grown[start..]);
            }
        }
    }
    // A chunk of this level, and what the decoder here holds.
    grown.truncate(1 << 20);
    grown
}

/// One frame, fed piece by piece.
fn in_pieces(plain: &[u8], level: i32) -> Vec<u8> {
    let options = options(level, UnitLayout::SingleUnit);
    let encoder = format("zst").stream_encoder(&options).expect("valid options");
    let mut encoder = encoder.expect("zst has such a layout");
    let mut packed = ByteBuffer::default();
    for piece in plain.chunks(piece_bytes(plain).max(64)) {
        encoder.encode(piece, false, &mut packed, &mut Pause::never()).expect("any bytes can be packed");
    }
    encoder.encode(b"", true, &mut packed, &mut Pause::never()).expect("any frame can be ended");
    packed.content().to_vec()
}
