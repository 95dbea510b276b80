//! Our frames through libzstd's decoder, which checks the checksum, and beside libzstd's own frames of the same level.
//! They are also what holds the entropy coder's hand-over to the library that is linked: a wrong offset comes back as other bytes.

use super::super::container::parse_frame_header;
use super::super::kernel::finder::BLOCK_BYTES_MAX;
use super::*;
use proptest::prelude::*;
use testkit::data::{log_lines, mixed, random, records, sparse, text, zeros};
use zstd_safe::{CCtx, CParameter};

fn encode(encoder: &mut OwnEncoder, uncompressed: &[u8]) -> Vec<u8> {
    let mut compressed = ByteBuffer::default();
    encoder.encode(uncompressed, &mut compressed).expect("there is memory");
    compressed.content().to_vec()
}

/// Packs with a fresh encoder, decodes with the library, gives the compressed length.
fn assert_comes_back(uncompressed: &[u8], what: &str) -> usize {
    let compressed = encode(&mut OwnEncoder::new().expect("memory"), uncompressed);
    assert!(compressed.len() <= zstd_safe::compress_bound(uncompressed.len()), "{what}: the bound must hold");
    let mut back = vec![0; uncompressed.len()];
    let length = zstd_safe::decompress(back.as_mut_slice(), &compressed).unwrap_or_else(|code| {
        panic!("{what}: {}", zstd_safe::get_error_name(code));
    });
    assert!(length == uncompressed.len() && back == uncompressed, "{what}: other bytes come back");
    compressed.len()
}

fn library_bytes(uncompressed: &[u8]) -> usize {
    let mut context = CCtx::create();
    let parameters = [CParameter::CompressionLevel(LEVEL), CParameter::ChecksumFlag(true), CParameter::WindowLog(22)];
    for parameter in parameters {
        context.set_parameter(parameter).expect("a parameter");
    }
    let mut compressed = vec![0; zstd_safe::compress_bound(uncompressed.len())];
    context.compress2(compressed.as_mut_slice(), uncompressed).expect("any bytes can be packed")
}

/// This test's own program: machine code, tables, names.
fn program() -> Vec<u8> {
    let mut bytes = std::fs::read(std::env::current_exe().expect("it has a name")).expect("it can be read");
    bytes.truncate(FRAME_BYTES_MAX);
    bytes
}

#[test]
fn all_kinds_come_back_in_the_librarys_size() {
    let bytes = 1_500_000;
    let kinds = [
        ("text", text(bytes, 1)),
        ("log", log_lines(bytes, 2)),
        ("records", records(bytes, 3)),
        ("sparse", sparse(bytes, 4)),
        ("mixed", mixed(bytes, 5)),
        ("random", random(bytes, 6)),
        ("program", program()),
    ];
    for (what, uncompressed) in kinds {
        let (ours, theirs) = (assert_comes_back(&uncompressed, what), library_bytes(&uncompressed));
        assert!(ours as f64 <= theirs as f64 * 1.03, "{what}: {ours} bytes, the library's {theirs}");
    }
}

#[test]
fn one_byte_takes_next_to_nothing() {
    assert!(assert_comes_back(&zeros(FRAME_BYTES_MAX), "zeros") < 300);
    assert!(assert_comes_back(&[0xa5; 1 << 20], "one byte") < 150);
    let mut nearly = zeros(1 << 20);
    nearly[700_000] = 1;
    assert!(assert_comes_back(&nearly, "one byte and another") < 200);
}

#[test]
fn periods_come_back() {
    for period in 1..=40 {
        let pattern = random(period, period as u64);
        let uncompressed: Vec<u8> = pattern.iter().copied().cycle().take(300_000).collect();
        assert!(assert_comes_back(&uncompressed, &format!("period {period}")) < 1000);
    }
}

#[test]
fn all_lengths_come_back() {
    let uncompressed = mixed(FRAME_BYTES_MAX, 9);
    let near = |length: usize| [length - 1, length, length + 1];
    let lengths = (1..5).flat_map(|count| near(count * BLOCK_BYTES_MAX)).chain(0..70).chain([1000, 70_000]);
    for length in lengths.chain([FRAME_BYTES_MAX - 1, FRAME_BYTES_MAX]) {
        assert_comes_back(&uncompressed[..length], &format!("{length} bytes"));
    }
}

/// The decoder knows nothing of the distances in a block that is stored: neither may the encoder afterwards.
#[test]
fn stored_blocks_between_others_change_no_distances() {
    let records = records(3 * BLOCK_BYTES_MAX, 7);
    for matching_bytes in [0, 40, 400, 2000] {
        let mut uncompressed = Vec::new();
        for number in 0..6 {
            uncompressed.extend_from_slice(&records[number * 1000..][..BLOCK_BYTES_MAX + number * 777]);
            // Random, but for a match that is too short to be worth a compressed block.
            uncompressed.extend(random(BLOCK_BYTES_MAX + number * 99, number as u64));
            uncompressed.extend_from_within(uncompressed.len() - 5000..uncompressed.len() - 5000 + matching_bytes);
            uncompressed.extend(random(BLOCK_BYTES_MAX, 100 + number as u64));
        }
        assert_comes_back(&uncompressed, &format!("{matching_bytes} matching bytes"));
    }
}

#[test]
fn matches_reach_over_the_whole_frame() {
    let (far, between) = (random(200_000, 1), random(FRAME_BYTES_MAX - 400_000, 2));
    let uncompressed = [far.as_slice(), &between, &far].concat();
    assert_eq!(uncompressed.len(), FRAME_BYTES_MAX);
    let compressed = assert_comes_back(&uncompressed, "far");
    assert!(compressed < FRAME_BYTES_MAX - 195_000, "{compressed} bytes: the far match was not found");
}

#[test]
fn what_was_compressed_before_changes_nothing() {
    let mut used = OwnEncoder::new().expect("memory");
    let inputs = [mixed(FRAME_BYTES_MAX, 1), random(300_000, 2), text(300_000, 3), zeros(300_000), records(600_000, 4)];
    for uncompressed in inputs.iter().chain(inputs.iter().rev()) {
        assert!(encode(&mut used, uncompressed) == encode(&mut OwnEncoder::new().expect("memory"), uncompressed));
    }
}

#[test]
fn headers_tell_size_window_and_checksum() {
    for length in [0, 255, 256, 70_000, 300_000, FRAME_BYTES_MAX] {
        let compressed = encode(&mut OwnEncoder::new().expect("memory"), &text(length, 1));
        let header = parse_frame_header(&compressed).expect("valid").expect("whole");
        assert_eq!((header.content_bytes, header.window_bytes), (Some(length as u64), length as u64));
        assert!(header.has_checksum && header.dictionary == 0);
        let mut damaged = compressed.clone();
        *damaged.last_mut().expect("a checksum") ^= 1;
        assert!(zstd_safe::decompress(vec![0; length].as_mut_slice(), &damaged).is_err(), "the checksum is checked");
    }
}

/// Segments of a mixture: what, how long, and a seed or how far back.
#[derive(Clone, Copy, Debug)]
enum Segment {
    Random(usize, u64),
    Text(usize, u64),
    Run(usize, u8),
    Period(usize, u8),
    Again(usize, usize),
}

fn mixture(segments: &[Segment]) -> Vec<u8> {
    let mut uncompressed: Vec<u8> = Vec::new();
    for &segment in segments {
        match segment {
            Segment::Random(bytes, seed) => uncompressed.extend(random(bytes, seed)),
            Segment::Text(bytes, seed) => uncompressed.extend(text(bytes, seed)),
            Segment::Run(bytes, byte) => uncompressed.resize(uncompressed.len() + bytes, byte),
            Segment::Period(bytes, period) => {
                uncompressed.extend((0..bytes).map(|at| (at % (usize::from(period) + 1)) as u8))
            }
            Segment::Again(bytes, back) if !uncompressed.is_empty() => {
                let start = uncompressed.len() - 1 - back % uncompressed.len();
                (start..start + bytes).for_each(|at| uncompressed.push(uncompressed[at]));
            }
            Segment::Again(..) => {}
        }
    }
    uncompressed.truncate(FRAME_BYTES_MAX);
    uncompressed
}

fn segment() -> impl Strategy<Value = Segment> {
    // Short ones most: they make the repeats, cuts and stored blocks near each other.
    let bytes = prop_oneof![4 => 1_usize..40, 3 => 40_usize..3000, 1 => 3000_usize..200_000];
    let back = prop_oneof![1_usize..20, 1_usize..3000, 1_usize..FRAME_BYTES_MAX];
    (bytes, back, any::<u8>(), 0..5).prop_map(|(bytes, back, byte, kind)| match kind {
        0 => Segment::Random(bytes, back as u64),
        1 => Segment::Text(bytes, u64::from(byte)),
        2 => Segment::Run(bytes, byte),
        3 => Segment::Period(bytes, byte % 50),
        _ => Segment::Again(bytes, back),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_mixture_comes_back(segments in proptest::collection::vec(segment(), 1..150)) {
        assert_comes_back(&mixture(&segments), "a mixture");
    }
}
