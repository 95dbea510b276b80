//! The targets: plain functions of bytes. Each compares with another decoder where there is one; a panic is a find.

use crate::decode::{Decoded, decode};
use codec::byte_buffer::ByteBuffer;
use codec::format::{EncodeOptions, Format, Layout};
use codec::formats::gzip::kernel::{Inflater, SLACK_BYTES, Status};
use codec::list::survey_reader;
use codec::packed_reader::PackedReader;
use codec::registry;
use std::io::Read;

/// A target with what to begin from.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Must not panic on any input.
    pub run: fn(&[u8]),
    /// Valid inputs to mutate.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets: one for each parser, one for each round trip.
pub const TARGETS: &[Target] = &[
    Target { name: "gz_container", run: gz_container, seeds: gz_seeds },
    Target { name: "zst_container", run: zst_container, seeds: zst_seeds },
    Target { name: "inflate", run: inflate, seeds: deflate_seeds },
    Target { name: "round_trip_gz", run: round_trip_gz, seeds: plain_seeds },
    Target { name: "round_trip_zst", run: round_trip_zst, seeds: plain_seeds },
];

fn format(name: &str) -> &'static dyn Format {
    registry::by_name(name).expect("a registered format")
}

/// The first byte says how the rest is cut; survey, decoding in large and in odd pieces, and zlib must agree.
fn gz_container(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut PackedReader::memory(input.to_vec()));
    let large = decode(format("gz"), input, 1 << 20);
    let small = decode(format("gz"), input, 1 + usize::from(input.first().copied().unwrap_or(0)) * 7);
    let (Decoded::Whole { plain, claims }, Decoded::Whole { plain: again, .. }) = (&large, &small) else { return };
    assert!(plain == again, "the size of pieces must not matter");
    let true_claims = claims.iter().all(|(range, crc32, length)| {
        let mut crc = flate2::Crc::new();
        crc.update(&plain[range.clone()]);
        crc.sum() == *crc32 && range.len() as u32 == *length
    });
    if !true_claims {
        return;
    }
    let mut theirs = Vec::new();
    if flate2::read::MultiGzDecoder::new(input).read_to_end(&mut theirs).is_ok() {
        assert!(*plain == theirs, "zlib decodes other bytes");
    }
}

fn zst_container(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut PackedReader::memory(input.to_vec()));
    let large = decode(format("zst"), input, 1 << 20);
    let small = decode(format("zst"), input, 4096);
    if let (Decoded::Whole { plain, .. }, Decoded::Whole { plain: again, .. }) = (&large, &small) {
        assert!(plain == again, "the size of pieces must not matter");
    }
}

/// The kernel against zlib: the same streams accepted, the same bytes, whatever the pieces.
fn inflate(input: &[u8]) {
    let Some((&cut, stream)) = input.split_first() else { return };
    let step_bytes = 1 + usize::from(cut) * 17;
    let ours = inflate_in_steps(stream, step_bytes);
    let mut theirs = Vec::new();
    let accepted = flate2::read::DeflateDecoder::new(stream).take(1 << 20).read_to_end(&mut theirs).is_ok();
    match ours {
        Some(plain) if theirs.len() < 1 << 20 => {
            assert!(accepted, "zlib refuses what the kernel takes");
            assert!(plain == theirs, "zlib decodes other bytes");
        }
        _ => {}
    }
}

/// Decodes with outputs of `step_bytes`; `None` where it is refused or endless.
fn inflate_in_steps(stream: &[u8], step_bytes: usize) -> Option<Vec<u8>> {
    let mut inflater = Inflater::boxed();
    let mut buffer = vec![0; (1 << 20) + step_bytes + SLACK_BYTES];
    let (mut at, mut filled) = (0, 0);
    while filled < 1 << 20 {
        let step = inflater.inflate(&stream[at..], true, &mut buffer, filled, filled + step_bytes).ok()?;
        at += step.consumed;
        filled += step.produced;
        if step.status == Status::Finished {
            buffer.truncate(filled);
            return Some(buffer);
        }
    }
    None
}

fn round_trip_gz(input: &[u8]) {
    round_trip("gz", input, &[Layout::ParallelUnits, Layout::Bgzf]);
}

fn round_trip_zst(input: &[u8]) {
    round_trip("zst", input, &[Layout::ParallelUnits]);
}

fn round_trip(name: &str, plain: &[u8], layouts: &[Layout]) {
    let level = i32::from(plain.first().copied().unwrap_or(0) % 10);
    for &layout in layouts {
        let options = EncodeOptions { level, layout, window_log: None, library_threads: 1 };
        let mut packed = ByteBuffer::default();
        let mut encoder = format(name).encoder(&options).expect("valid options");
        encoder.encode(plain, &mut packed).expect("any bytes can be packed");
        assert!(packed.len() <= format(name).packed_bound(plain.len()), "the bound must hold");
        match decode(format(name), packed.content(), 1 << 16) {
            Decoded::Whole { plain: back, .. } => assert!(back == plain, "{name} does not come back"),
            Decoded::Refused | Decoded::TooMuch => panic!("{name} refuses what it wrote"),
        }
    }
}

fn plain_seeds() -> Vec<Vec<u8>> {
    use testkit::data::{log_lines, mixed, random, records, text, zeros};
    vec![
        Vec::new(),
        zeros(70_000),
        random(3000, 1),
        text(20_000, 2),
        mixed(66_000, 3),
        records(9000, 4),
        log_lines(5000, 5),
    ]
}

fn packed_seeds(name: &str, layouts: &[Layout]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain_seeds() {
        for &layout in layouts {
            let options = EncodeOptions { level: 1, layout, window_log: None, library_threads: 1 };
            let mut packed = ByteBuffer::default();
            let mut encoder = format(name).encoder(&options).expect("valid options");
            encoder.encode(&plain, &mut packed).expect("any bytes can be packed");
            seeds.push(packed.content().to_vec());
        }
    }
    let all = seeds.concat();
    seeds.push(all);
    seeds
}

fn gz_seeds() -> Vec<Vec<u8>> {
    let mut seeds = packed_seeds("gz", &[Layout::ParallelUnits, Layout::Bgzf]);
    for plain in plain_seeds() {
        let mut foreign = Vec::new();
        let mut encoder = flate2::read::GzEncoder::new(plain.as_slice(), flate2::Compression::new(6));
        encoder.read_to_end(&mut foreign).expect("memory can be read");
        seeds.push(foreign);
    }
    seeds
}

fn zst_seeds() -> Vec<Vec<u8>> {
    let mut seeds = packed_seeds("zst", &[Layout::ParallelUnits]);
    for plain in plain_seeds() {
        let mut context = zstd_safe::CCtx::create();
        context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).expect("a known parameter");
        context.set_parameter(zstd_safe::CParameter::ChecksumFlag(true)).expect("a known parameter");
        let mut packed = vec![0; zstd_safe::compress_bound(plain.len())];
        let size = context.compress2(packed.as_mut_slice(), &plain).expect("any bytes can be packed");
        packed.truncate(size);
        seeds.push([packed.as_slice(), &[0x51, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7]].concat());
    }
    seeds
}

fn deflate_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain_seeds() {
        for level in [0, 1, 6, 9] {
            let mut packed = vec![9];
            let mut encoder = flate2::read::DeflateEncoder::new(plain.as_slice(), flate2::Compression::new(level));
            encoder.read_to_end(&mut packed).expect("memory can be read");
            seeds.push(packed);
        }
    }
    seeds
}
