//! The kernel against zlib-rs and libdeflate, against every way of cutting input and output, and against broken data.

use super::{DeflateBreak, InflateError, InflateStatus, Inflater, SLACK_BYTES};
use proptest::prelude::*;
use testkit::random::Random;

const WINDOW: usize = 32 << 10;

/// How the input is shown and the output asked for.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    /// Largest number of bytes by which the input shown grows, at least 1.
    input_step: usize,
    /// Largest number of bytes asked for, at least 1.
    output_step: usize,
    /// Bytes of no concern in front of the history.
    foreign: usize,
    seed: u64,
}

const WHOLE: Cuts = Cuts { input_step: usize::MAX >> 8, output_step: 1 << 20, foreign: 0, seed: 1 };

/// Decodes in pieces; says what came out and how much went in.
fn inflate_cut(compressed: &[u8], cuts: Cuts) -> Result<(Vec<u8>, usize), InflateError> {
    let mut inflater = Inflater::boxed();
    // What an earlier stream left behind must not matter.
    let _ = inflater.inflate(&[0xed, 0xff, 0xff], true, &mut [0; SLACK_BYTES + 9], 0, 9);
    inflater.reset();
    let mut noise = Random::seeded(cuts.seed);
    let (mut uncompressed, mut consumed, mut shown_end) = (Vec::new(), 0, 0);
    let mut buffer = vec![0xa5; cuts.foreign];
    let mut filled = cuts.foreign;
    loop {
        if filled > cuts.foreign + 3 * WINDOW {
            let keep = WINDOW + noise.below(WINDOW);
            buffer.copy_within(filled - keep..filled, 0);
            filled = keep;
        }
        let soft_end = filled + 1 + noise.below(cuts.output_step);
        buffer.resize(buffer.len().max(soft_end + SLACK_BYTES), 0xa5);
        let room = &mut buffer[..soft_end + SLACK_BYTES];
        let ends = shown_end == compressed.len();
        let step = inflater.inflate(&compressed[consumed..shown_end], ends, room, filled, soft_end)?;
        uncompressed.extend_from_slice(&buffer[filled..filled + step.produced]);
        consumed += step.consumed;
        filled += step.produced;
        assert!(consumed <= shown_end && filled < soft_end + 261);
        match step.status {
            InflateStatus::Finished => return Ok((uncompressed, consumed)),
            InflateStatus::OutputFull | InflateStatus::BlockEnd => assert!(filled >= soft_end),
            InflateStatus::NeedsInput => {
                assert!(!ends, "dry at the end is an error");
                assert!(shown_end - consumed < 1 << 10, "a KiB is enough to go on");
                shown_end = compressed.len().min(shown_end.saturating_add(1 + noise.below(cuts.input_step)));
            }
        }
    }
}

fn inflate(compressed: &[u8]) -> Result<Vec<u8>, InflateError> {
    inflate_cut(compressed, WHOLE).map(|(uncompressed, _)| uncompressed)
}

/// What zlib-rs says: the uncompressed bytes and the compressed bytes used, or nothing.
fn reference(compressed: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut decompress = flate2::Decompress::new(false);
    let mut uncompressed = vec![0; 1 << 16];
    loop {
        let (used, made) = (decompress.total_in() as usize, decompress.total_out() as usize);
        if made == uncompressed.len() {
            uncompressed.resize(uncompressed.len() * 4, 0);
        }
        let finish = flate2::FlushDecompress::None;
        let status = decompress.decompress(&compressed[used..], &mut uncompressed[made..], finish).ok()?;
        let (used_now, made_now) = (decompress.total_in() as usize, decompress.total_out() as usize);
        if status == flate2::Status::StreamEnd {
            uncompressed.truncate(made_now);
            return Some((uncompressed, used_now));
        }
        if (used, made) == (used_now, made_now) && made < uncompressed.len() {
            return None;
        }
    }
}

/// Packs with flate2 (levels 0..=9) or libdeflate (levels 11..=22).
fn pack(uncompressed: &[u8], level: u32) -> Vec<u8> {
    if level < 10 {
        let mut compress = flate2::Compress::new(flate2::Compression::new(level), false);
        let mut compressed = Vec::with_capacity(uncompressed.len() * 2 + 1024);
        let status = compress.compress_vec(uncompressed, &mut compressed, flate2::FlushCompress::Finish).unwrap();
        assert_eq!(status, flate2::Status::StreamEnd);
        return compressed;
    }
    let level = libdeflater::CompressionLvl::new((level - 10) as i32).unwrap();
    let mut compressor = libdeflater::Compressor::new(level);
    let mut compressed = vec![0; compressor.deflate_compress_bound(uncompressed.len())];
    let size = compressor.deflate_compress(uncompressed, &mut compressed).unwrap();
    compressed.truncate(size);
    compressed
}

const LEVELS: [u32; 7] = [0, 1, 6, 9, 11, 16, 22];

const WORDS: [&str; 12] =
    ["static ", "int ", "return ", "void ", "struct ", "\t", "\n", "(", ");\n", "->next", "kernel_", "if ("];

/// Appends `count` bytes of some kind of data.
fn append(uncompressed: &mut Vec<u8>, kind: usize, count: usize, noise: &mut Random) {
    let end = uncompressed.len() + count;
    while uncompressed.len() < end {
        match kind {
            0 => uncompressed.push(0),
            1 => uncompressed.push(noise.next_u64() as u8),
            2 => uncompressed.extend_from_slice(WORDS[noise.below(WORDS.len())].as_bytes()),
            3 => uncompressed.push(b'a' + noise.below(3) as u8),
            // Skewed: short codes for few bytes, long ones for the rest.
            4 => uncompressed.push((noise.next_u64().trailing_zeros() * 7 + noise.below(2) as u32) as u8),
            // A repeat from some distance.
            _ => {
                let back = match noise.below(4) {
                    0 => 1 + noise.below(40),
                    1 => WINDOW - noise.below(3),
                    _ => 1 + noise.below(WINDOW),
                };
                let back = back.min(uncompressed.len());
                if back == 0 {
                    uncompressed.push(7);
                } else {
                    for _ in 0..3 + noise.below(400) {
                        uncompressed.push(uncompressed[uncompressed.len() - back]);
                    }
                    uncompressed.push(noise.next_u64() as u8);
                }
            }
        }
    }
    uncompressed.truncate(end);
}

fn check_round_trip(uncompressed: &[u8], level: u32, cuts: Cuts) {
    let mut compressed = pack(uncompressed, level);
    let packed_bytes = compressed.len();
    compressed.extend_from_slice(b"tail that is not ours");
    let (inflated, consumed) = inflate_cut(&compressed, cuts).unwrap_or_else(|error| panic!("{error}, level {level}"));
    assert!(inflated == uncompressed, "level {level}, {cuts:?}");
    assert_eq!(consumed, packed_bytes, "level {level}, {cuts:?}");
}

#[test]
fn every_kind_of_data_comes_back_from_every_compressor() {
    let mut noise = Random::seeded(42);
    for level in LEVELS {
        for kind in 0..6 {
            for count in [0, 1, 2, 3, 100, 5_000, 70_000, 300_000] {
                let mut uncompressed = Vec::new();
                append(&mut uncompressed, kind, count, &mut noise);
                check_round_trip(&uncompressed, level, WHOLE);
                let cuts = Cuts { input_step: 700, output_step: 9_000, foreign: 50_000, seed: noise.next_u64() };
                check_round_trip(&uncompressed, level, cuts);
            }
        }
    }
}

#[test]
fn cuts_at_every_byte_change_nothing() {
    let mut noise = Random::seeded(43);
    let mut uncompressed = Vec::new();
    for kind in [2, 1, 5, 0, 4, 5] {
        append(&mut uncompressed, kind, 700, &mut noise);
    }
    for level in LEVELS {
        for (input_step, output_step) in [(1, 1), (1, 1 << 20), (1 << 20, 1), (2, 3), (17, 300)] {
            check_round_trip(
                &uncompressed,
                level,
                Cuts { input_step, output_step, foreign: 33_000, seed: noise.next_u64() },
            );
        }
    }
}

#[test]
fn all_short_and_the_longest_distances_are_right() {
    let mut noise = Random::seeded(44);
    for distance in (1..=80).chain(WINDOW - 40..=WINDOW) {
        let mut uncompressed = Vec::new();
        append(&mut uncompressed, 1, distance, &mut noise);
        for length in [3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257, 258, 259, 600] {
            for _ in 0..length {
                uncompressed.push(uncompressed[uncompressed.len() - distance]);
            }
            uncompressed.push(noise.next_u64() as u8);
        }
        for level in [1, 9, 22] {
            check_round_trip(&uncompressed, level, WHOLE);
            check_round_trip(
                &uncompressed,
                level,
                Cuts { input_step: 90, output_step: 500, foreign: 9, seed: noise.next_u64() },
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_mixture_comes_back_however_it_is_cut(
        segments in prop::collection::vec((0usize..6, 0usize..20_000), 0..8),
        level in prop::sample::select(&LEVELS),
        input_step in 1usize..5_000,
        output_step in 1usize..60_000,
        foreign in 0usize..40_000,
        seed in any::<u64>(),
    ) {
        let mut noise = Random::seeded(seed);
        let mut uncompressed = Vec::new();
        for (kind, count) in segments {
            append(&mut uncompressed, kind, count, &mut noise);
        }
        check_round_trip(&uncompressed, level, Cuts { input_step, output_step, foreign, seed });
    }

    #[test]
    fn noise_is_judged_as_zlib_judges_it(mut compressed in prop::collection::vec(any::<u8>(), 1..400), kind in 0u8..4) {
        // Most noise that claims a dynamic block ends in its header; fixed ones go far.
        compressed[0] = compressed[0] & !7 | kind << 1 | 1;
        agree(&compressed, WHOLE);
    }
}

/// Holds the kernel against zlib-rs.
fn agree(compressed: &[u8], cuts: Cuts) -> bool {
    let expected = reference(compressed);
    let found = inflate_cut(compressed, cuts);
    match (&expected, &found) {
        (Some(expected), Ok(found)) => assert!(expected == found, "other bytes than zlib: {compressed:02x?}"),
        (None, Err(_)) => {}
        _ => panic!("zlib accepts: {}, found {:?}: {compressed:02x?}", expected.is_some(), found.map(|it| it.0.len())),
    }
    expected.is_some()
}

/// Small streams of all kinds of blocks.
fn small_streams(noise: &mut Random) -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for level in LEVELS {
        for kinds in [&[2][..], &[1], &[4, 2], &[5, 2, 0], &[3, 1, 5]] {
            let mut uncompressed = Vec::new();
            for &kind in kinds {
                append(&mut uncompressed, kind, 30 + noise.below(400), noise);
            }
            streams.push(pack(&uncompressed, level));
        }
    }
    streams.extend([vec![3, 0], vec![1, 0, 0, 255, 255]]);
    streams
}

#[test]
fn mutated_streams_are_judged_as_zlib_judges_them() {
    let mut noise = Random::seeded(45);
    let streams = small_streams(&mut noise);
    let (mut accepted, mut tried) = (0, 0);
    while tried < 60_000 {
        for stream in &streams {
            let mut compressed = stream.clone();
            for _ in 0..1 + noise.below(3) {
                // Half of the hits go to the header, where the codes are.
                let reach = if noise.below(2) == 0 { compressed.len().min(90) } else { compressed.len() };
                let at = noise.below(reach);
                match noise.below(4) {
                    0 => compressed[at] = noise.next_u64() as u8,
                    1 if compressed.len() > 1 => drop(compressed.remove(at)),
                    2 => compressed.insert(at, noise.next_u64() as u8),
                    _ => compressed[at] ^= 1 << noise.below(8),
                }
            }
            let cuts =
                Cuts { input_step: 1 + noise.below(300), output_step: 2_000, foreign: 400, seed: noise.next_u64() };
            accepted += usize::from(agree(&compressed, if tried % 4 == 0 { cuts } else { WHOLE }));
            tried += 1;
        }
    }
    assert!(accepted > 1_000 && accepted < tried - 1_000, "{accepted} of {tried} accepted: the mutations test little");
}

#[test]
fn every_truncation_is_an_error() {
    let mut noise = Random::seeded(46);
    for stream in small_streams(&mut noise) {
        for end in 0..stream.len() {
            assert_eq!(inflate(&stream[..end]), Err(InflateError::Truncated), "{end} of {}", stream.len());
        }
    }
}

/// Writes bits, lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn number(mut self, value: u64, bits: u32) -> Self {
        for bit in 0..bits {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= (((value >> bit) & 1) as u8) << (self.count % 8);
            self.count += 1;
        }
        self
    }

    /// A code of a Huffman code: highest bit first.
    fn code(self, value: u32, bits: u32) -> Self {
        self.number(u64::from(value.reverse_bits() >> (32 - bits)), bits)
    }

    /// A literal below 144 in the fixed code.
    fn literal(self, byte: u8) -> Self {
        self.code(u32::from(byte) + 0x30, 8)
    }

    /// A dynamic block's header up to the code lengths, which are written in a code of four bits for lengths 0..=15.
    fn dynamic(self, lengths: &[u8], symbols: usize) -> Self {
        let counts =
            self.number(0b101, 3).number(symbols as u64 - 257, 5).number((lengths.len() - symbols) as u64 - 1, 5);
        let mut bits = counts.number(15, 4);
        for symbol in super::header::LENGTH_CODE_ORDER {
            bits = bits.number(if symbol < 16 { 4 } else { 0 }, 3);
        }
        lengths.iter().fold(bits, |bits, &length| bits.code(u32::from(length), 4))
    }
}

/// Lengths where 'a' has one bit, 'b' two, and of two more symbols with three bits one ends the block.
fn lengths(distances: &[u8]) -> Vec<u8> {
    let mut lengths = vec![0; 258];
    lengths[b'a' as usize] = 1;
    lengths[b'b' as usize] = 2;
    lengths[256] = 3;
    lengths[257] = 3;
    lengths.extend_from_slice(distances);
    lengths
}

fn inflate_bits(bits: Bits) -> Result<Vec<u8>, InflateError> {
    let mut compressed = bits.bytes;
    // Once through the careful loop, once through the hot one.
    let careful = inflate(&compressed);
    compressed.extend_from_slice(&[0; 64]);
    let fast = inflate(&compressed);
    assert_eq!(careful, fast);
    assert_eq!(reference(&compressed).map(|(uncompressed, _)| uncompressed), fast.clone().ok());
    fast
}

#[test]
fn each_error_is_told_from_the_others() {
    let fixed = || Bits::default().number(0b011, 3);
    let cases = [
        (Bits::default().number(0b111, 3), InflateError::BlockType),
        (Bits { bytes: vec![1, 5, 0, 0xfa, 0xfe], count: 40 }, InflateError::StoredLength),
        (Bits::default().number(0b101, 3).number(30, 5).number(0, 9).number(0, 60), InflateError::CodeCount),
        (Bits::default().number(0b101, 3).number(0, 5).number(30, 5).number(0, 64), InflateError::CodeCount),
        (Bits::default().number(0b101, 3).number(0, 14).number(0, 12), InflateError::LengthCode),
        (Bits::default().number(0b101, 3).number(0, 14).number(0o1111, 12), InflateError::LengthCode),
        (Bits::default().number(0b101, 3).number(0, 14).number(0o0011, 12).number(0, 9), InflateError::LengthRepeat),
        (
            Bits::default().dynamic(&vec![1; 2].into_iter().chain(vec![0; 256]).collect::<Vec<_>>(), 257),
            InflateError::NoEndOfBlock,
        ),
        (Bits::default().dynamic(&[vec![1; 257], vec![1]].concat(), 257), InflateError::LiteralCode),
        (Bits::default().dynamic(&[vec![0; 256], vec![2, 1]].concat(), 257), InflateError::LiteralCode),
        (Bits::default().dynamic(&lengths(&[1, 1, 1]), 258), InflateError::DistanceCode),
        (Bits::default().dynamic(&lengths(&[2, 0]), 258), InflateError::DistanceCode),
        (Bits::default().dynamic(&[vec![0; 256], vec![1, 0]].concat(), 257).number(1, 1), InflateError::LiteralSymbol),
        (fixed().code(0b1100_0110, 8), InflateError::LiteralSymbol),
        (fixed().literal(1).code(1, 7).code(30, 5), InflateError::DistanceSymbol),
        (
            Bits::default().dynamic(&lengths(&[0]), 258).number(0, 1).number(7, 3).number(0, 1),
            InflateError::DistanceSymbol,
        ),
        (
            Bits::default().dynamic(&lengths(&[1]), 258).number(0, 1).number(7, 3).number(1, 1),
            InflateError::DistanceSymbol,
        ),
        (fixed().literal(1).code(1, 7).code(1, 5), InflateError::DistanceTooFar { distance: 2, available: 1 }),
        (fixed().literal(1), InflateError::Truncated),
    ];
    for (index, (bits, error)) in cases.into_iter().enumerate() {
        if error == InflateError::Truncated {
            assert_eq!(inflate(&bits.bytes), Err(error));
            continue;
        }
        assert_eq!(inflate_bits(bits), Err(error), "case {index}");
    }
}

#[test]
fn codes_of_one_symbol_or_none_are_taken_as_zlib_takes_them() {
    // One distance of one bit, and it is used.
    let single = Bits::default().dynamic(&lengths(&[1]), 258).number(0, 1).number(7, 3).number(0, 1).number(3, 3);
    assert_eq!(inflate_bits(single), Ok(b"aaaa".to_vec()));
    // No distance, and none is used.
    let none = Bits::default().dynamic(&lengths(&[0]), 258).number(0, 1).code(0b10, 2).number(3, 3);
    assert_eq!(inflate_bits(none), Ok(b"ab".to_vec()));
    // Nothing but an end.
    let end = Bits::default().dynamic(&[vec![0; 256], vec![1, 0]].concat(), 257).number(0, 1);
    assert_eq!(inflate_bits(end), Ok(Vec::new()));
}

#[test]
fn history_of_others_is_out_of_reach() {
    // "a", then a match from distance 2, with foreign bytes in front of the stream.
    let compressed =
        Bits::default().number(0b011, 3).literal(b'a').code(1, 7).code(1, 5).code(0, 7).number(0, 64).bytes;
    let mut buffer = vec![b'x'; 5_000];
    let result = Inflater::boxed().inflate(&compressed, true, &mut buffer, 1_000, 2_000);
    assert_eq!(
        result,
        Err(DeflateBreak { cause: InflateError::DistanceTooFar { distance: 2, available: 1 }, produced: 1 })
    );
}

#[test]
fn stored_blocks_are_cut_anywhere() {
    let mut compressed = Vec::new();
    let mut uncompressed = Vec::new();
    for (block, length) in [3usize, 0, 300, 1, 65_535, 0].into_iter().enumerate() {
        // An empty fixed block before each, so that stored ones begin with bits to skip.
        compressed.extend(Bits::default().number(0b010, 3).number(0, 7).number(u64::from(block == 5), 1).bytes);
        compressed.extend((length as u16).to_le_bytes());
        compressed.extend((!(length as u16)).to_le_bytes());
        let bytes = (0..length).map(|index| (index * 31 + block) as u8).collect::<Vec<_>>();
        compressed.extend(&bytes);
        uncompressed.extend(&bytes);
    }
    assert_eq!(reference(&compressed), Some((uncompressed.clone(), compressed.len())));
    for (input_step, output_step) in [(1, 1), (1, 70_000), (70_000, 1), (5, 7), (3_000, 2_000)] {
        let cuts = Cuts { input_step, output_step, foreign: 0, seed: 5 };
        assert_eq!(inflate_cut(&compressed, cuts), Ok((uncompressed.clone(), compressed.len())));
    }
}

#[test]
fn the_byte_with_the_last_bits_is_consumed_and_no_other() {
    for literals in 0..9 {
        // 3 + 8 n + 7 bits, so that the end falls on different bits with the nine-bit literals below.
        let mut bits = Bits::default().number(0b011, 3);
        for _ in 0..literals {
            bits = bits.code(0b1_1001_0000, 9);
        }
        let compressed = bits.code(0, 7).bytes;
        for extra in [0, 1, 30] {
            let mut shown = compressed.clone();
            shown.extend(vec![0xff; extra]);
            assert_eq!(inflate_cut(&shown, WHOLE), Ok((vec![144; literals], compressed.len())));
        }
    }
}

#[test]
fn random_codes_decode_as_in_zlib() {
    // Complete codes of every shape: a code is split at random until it has as many symbols as wanted.
    let mut noise = Random::seeded(47);
    for _ in 0..3_000 {
        let mut sides = Vec::new();
        for (alphabet, least) in [(286, 2), (30, 1)] {
            let spread = if noise.below(2) == 0 { 12 } else { alphabet - least + 1 };
            let wanted = least + noise.below(spread);
            let mut leaves = vec![1u8, 1];
            while leaves.len() < wanted.min(alphabet) {
                let at = if noise.below(3) > 0 { leaves.len() - 1 } else { noise.below(leaves.len()) };
                if leaves[at] < 15 {
                    leaves[at] += 1;
                    leaves.push(leaves[at]);
                }
            }
            let mut lengths = vec![0u8; alphabet];
            let mut rest = leaves.as_slice();
            if alphabet == 286 {
                lengths[256] = rest[0];
                rest = &rest[1..];
            }
            for &length in rest {
                loop {
                    let symbol = noise.below(alphabet);
                    if lengths[symbol] == 0 {
                        lengths[symbol] = length;
                        break;
                    }
                }
            }
            sides.extend(lengths);
        }
        let mut compressed = Bits::default().dynamic(&sides, 286);
        for _ in 0..60 {
            compressed = compressed.number(noise.next_u64(), 32);
        }
        agree(&compressed.bytes, WHOLE);
    }
}
