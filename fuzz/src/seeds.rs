//! Valid inputs to begin from: made anew at each start, so that they follow the formats as they are written today, with the
//! small files of the acceptance tests' corpus beside them.

use crate::decode::{encode, encode_in_parts};
use codec::format::UnitLayout;
use flate2::Compression;
use flate2::read::{DeflateEncoder, GzEncoder};
use liblzma::read::XzEncoder;
use liblzma::stream::{LzmaOptions, Stream};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use std::io::{Read, Write};
use std::path::Path;

/// Plain bytes of each kind.
pub fn plain() -> Vec<Vec<u8>> {
    use testkit::data::{log_lines, mixed, random, records, text, zeros};
    vec![
        Vec::new(),
        zeros(70_000),
        random(3000, 1),
        text(20_000, 2),
        mixed(66_000, 3),
        records(9000, 4),
        log_lines(5000, 5),
        b"many hands make light work".to_vec(),
    ]
}

/// A choice, and places with the bits that are flipped there.
pub fn flips() -> Vec<Vec<u8>> {
    let places = [[0x00, 0x00, 0x90, 1], [0x12, 0x34, 0xa6, 0x80], [0xff, 0xff, 0xff, 7], [0x00, 0x80, 0xb0, 0xff]];
    (0..4)
        .flat_map(|choice| (0..=places.len()).map(move |some| [&[choice][..], places[..some].as_flattened()].concat()))
        .collect()
}

/// gz files: ours, BGZF, zlib's, and all of them behind one another.
pub fn gz() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain() {
        seeds.push(encode("gz", &plain, 1, UnitLayout::ParallelUnits));
        seeds.push(encode("gz", &plain, 6, UnitLayout::Bgzf));
        seeds.push(read(GzEncoder::new(plain.as_slice(), Compression::new(6))));
    }
    seeds.push(seeds[9..15].concat());
    seeds.extend(corpus_of_the_acceptance_tests("gz"));
    seeds
}

/// bz2 files: ours at two levels, and all of them behind one another.
pub fn bz2() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain() {
        seeds.push(encode("bz2", &plain, 1, UnitLayout::ParallelUnits));
        seeds.push(encode("bz2", &plain, 9, UnitLayout::ParallelUnits));
    }
    seeds.push(seeds[4..9].concat());
    seeds.extend(corpus_of_the_acceptance_tests("bz2"));
    seeds
}

/// lz4 files: ours at two levels, in one frame and in several.
pub fn lz4() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain() {
        seeds.push(encode("lz4", &plain, 1, UnitLayout::ParallelUnits));
        seeds.push(encode_in_parts("lz4", &plain, 9));
        seeds.push(linked_frame(&plain));
    }
    seeds.push(seeds[6..12].concat());
    seeds.extend(corpus_of_the_acceptance_tests("lz4"));
    seeds
}

/// As `lz4 -BD` writes it.
fn linked_frame(plain: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB).content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(plain).expect("memory can be written");
    encoder.finish().expect("any frame can be ended")
}

/// xz files: ours in blocks that tell their sizes, liblzma's in one that does not, and several streams.
pub fn xz() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain() {
        seeds.push(encode_in_parts("xz", &plain, 0));
        seeds.push(read(XzEncoder::new(plain.as_slice(), 1)));
    }
    seeds.push([seeds[4..8].concat(), vec![0; 4], seeds[8].clone()].concat());
    seeds.extend(corpus_of_the_acceptance_tests("xz"));
    seeds
}

/// .lzma files as liblzma writes them.
pub fn lzma() -> Vec<Vec<u8>> {
    let options = LzmaOptions::new_preset(0).expect("a preset");
    let packed = |plain: Vec<u8>| {
        let encoder = Stream::new_lzma_encoder(&options).expect("valid options");
        read(XzEncoder::new_stream(plain.as_slice(), encoder))
    };
    plain().into_iter().map(packed).collect()
}

/// .lz files: the data of .lzma files in members, alone and behind one another.
pub fn lz() -> Vec<Vec<u8>> {
    const LZMA_HEADER_BYTES: usize = 13;
    let member = |(plain, lzma): (Vec<u8>, Vec<u8>)| {
        let mut crc = flate2::Crc::new();
        crc.update(&plain);
        // The dictionary of preset 0: 256 KiB.
        let mut member = b"LZIP\x01\x12".to_vec();
        member.extend_from_slice(&lzma[LZMA_HEADER_BYTES..]);
        member.extend(crc.sum().to_le_bytes());
        member.extend((plain.len() as u64).to_le_bytes());
        let bytes = member.len() as u64 + 8;
        member.extend(bytes.to_le_bytes());
        member
    };
    let mut seeds: Vec<Vec<u8>> = plain().into_iter().zip(lzma()).map(member).collect();
    seeds.push(seeds.concat());
    seeds
}

/// .Z files: codes of nine bits, in block mode and not, for literals, for strings that were just made, and for clearing.
pub fn z() -> Vec<Vec<u8>> {
    let codes: Vec<u32> = (0..400).map(|at| if at % 5 == 4 { 257 + at / 3 } else { 97 + at % 7 }).collect();
    let cleared: Vec<u32> =
        codes.iter().enumerate().map(|(at, &code)| if at % 90 == 89 { 256 } else { code }).collect();
    let packed = |flags: u8, codes: &[u32]| {
        let bits = codes.iter().flat_map(|code| (0..9).map(move |bit| code >> bit & 1 == 1));
        let bits: Vec<bool> = bits.collect();
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        [vec![0x1f, 0x9d, flags], bits.chunks(8).map(byte).collect()].concat()
    };
    vec![packed(0x90, &codes[..200]), packed(0x10, &codes[..200]), packed(0x90, &cleared), packed(0x8c, &codes)]
}

/// zlib streams of one piece and of several.
pub fn zlib() -> Vec<Vec<u8>> {
    plain().iter().map(|plain| encode_in_parts("zlib", plain, 6)).collect()
}

/// zip archives of one entry.
pub fn zip() -> Vec<Vec<u8>> {
    plain().iter().map(|plain| encode_in_parts("zip", plain, 6)).collect()
}

/// .z files of pack: a skewed tree, and one in which all bytes have codes of eight bits but the last, which shares its place with the end.
pub fn pack() -> Vec<Vec<u8>> {
    let small = vec![0x1f, 0x1e, 0, 0, 0, 4, 3, 1, 1, 0, b'a', b'b', b'c', 0b1011_0000, 0b0100_0000];
    let header = [0x1f, 0x1e, 0, 0, 0, 200, 9, 0, 0, 0, 0, 0, 0, 0, 255, 0];
    let symbols: Vec<u8> = (0..=255).collect();
    // Codes of eight bits are the byte and one more; the end has nine bits: all zeros but the last.
    let data: Vec<u8> = (0..200).map(|at| (at * 7 % 200) as u8 + 1).chain([0, 0x80]).collect();
    vec![small, [&header[..], &symbols, &data].concat()]
}

/// zst files: ours, frames without a size, with a skippable frame, and all of them behind one another.
pub fn zst() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for plain in plain() {
        seeds.push(encode("zst", &plain, 1, UnitLayout::ParallelUnits));
        seeds.push(encode("zst", &plain, 12, UnitLayout::ParallelUnits));
        seeds.push(
            [unsized_frame(&plain, 3, 20, true).as_slice(), &[0x51, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7]].concat(),
        );
    }
    seeds.push(seeds[9..15].concat());
    seeds.extend(corpus_of_the_acceptance_tests("zst"));
    seeds
}

/// Frames of several short blocks, without a checksum: what is damaged is found by nothing else.
pub fn zst_blocks() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, plain) in plain().iter().enumerate() {
        for level in [-5, 1, 3, 7, 12, 19] {
            seeds.push(unsized_frame(plain, level, 10 + number as u32 % 5, false));
        }
    }
    seeds
}

/// As `zstd < file` writes it.
pub fn unsized_frame(plain: &[u8], level: i32, window_log: u32, has_checksum: bool) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::create();
    for parameter in [
        zstd_safe::CParameter::CompressionLevel(level),
        zstd_safe::CParameter::WindowLog(window_log),
        zstd_safe::CParameter::ContentSizeFlag(false),
        zstd_safe::CParameter::ChecksumFlag(has_checksum),
    ] {
        context.set_parameter(parameter).expect("a known parameter");
    }
    let mut packed = vec![0; zstd_safe::compress_bound(plain.len())];
    let size = context.compress2(packed.as_mut_slice(), plain).expect("any bytes can be packed");
    packed.truncate(size);
    packed
}

/// Deflate streams behind the byte that says how they are cut.
pub fn deflate() -> Vec<Vec<u8>> {
    streams().into_iter().map(|stream| [&[9][..], &stream].concat()).collect()
}

/// Deflate streams behind sixteen cut sizes: all tiny, all large, of all sorts.
pub fn cut_deflate() -> Vec<Vec<u8>> {
    let sorts = [0, 255, 1, 3, 7, 16, 2, 100, 0, 0, 40, 5, 200, 0, 11, 4];
    let cuts = [[0; 16], [255; 16], sorts];
    streams().into_iter().enumerate().map(|(index, stream)| [&cuts[index % 3][..], &stream].concat()).collect()
}

fn streams() -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for plain in plain() {
        for level in [0, 1, 6, 9] {
            streams.push(read(DeflateEncoder::new(plain.as_slice(), Compression::new(level))));
        }
        // libdeflate's blocks differ from zlib's: a member of ours without its header of 20 bytes and its trailer of 8.
        let member = encode("gz", &plain, 9, UnitLayout::ParallelUnits);
        streams.push(member[20..member.len() - 8].to_vec());
    }
    streams
}

/// What the kernel says of a process's memory, and how it says that there is none.
pub fn memory_maps() -> Vec<Vec<u8>> {
    let own = ["/proc/self/smaps_rollup", "/proc/self/status"].into_iter().filter_map(|path| std::fs::read(path).ok());
    let written = [
        "1-2 ---p 00000000 00:00 0 [rollup]\nRss: 16160 kB\nPss_Anon: 1587 kB\nPrivate_Clean: 0 kB\n\
         Private_Dirty: 1540 kB\nAnonymous: 3556 kB\nSwapPss: 0 kB\nPrivate_Hugetlb: 0 kB\n",
        "Name:\tx\nVmRSS:\t 16160 kB\nRssAnon:\t 3556 kB\nThreads:\t1\n",
        "Name:\tkthreadd\n",
    ];
    own.chain(written.into_iter().map(|text| text.as_bytes().to_vec())).collect()
}

fn read(mut encoder: impl Read) -> Vec<u8> {
    let mut packed = Vec::new();
    encoder.read_to_end(&mut packed).expect("memory can be read");
    packed
}

/// Small files, valid and not, each with a reason of its own.
fn corpus_of_the_acceptance_tests(ending: &str) -> Vec<Vec<u8>> {
    files_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus"), Some(ending))
}

/// All files of a directory in the order of their names; none where there is no directory.
pub fn files_in(directory: &Path, ending: Option<&str>) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| ending.is_none_or(|ending| path.extension().is_some_and(|found| found == ending)));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
