//! Whole lanes through the engine: round trips of every format and layout, threads against the single core, foreign files,
//! damaged files. Files in, files out; the tools of other people are in the acceptance tests.

mod bench_of_lanes;
mod bench_of_pauses;

use bench_of_lanes::{Bench, Way, foreign_gzip, foreign_zstd};
use codec::error::{CodecError, UnitDefect};
use codec::format::UnitLayout;
use proptest::prelude::*;
use std::path::Path;

/// Sizes around every border: empty, one byte, a chunk, one more and one less.
fn sizes(chunk: usize) -> Vec<usize> {
    vec![0, 1, 100, 65_279, 65_280, 65_281, chunk - 1, chunk, chunk + 1, 3 * chunk + 17]
}

#[test]
fn every_layout_round_trips_and_threads_equal_the_single_core() {
    let ways = [
        Way { format: "gz", level: 1, layout: UnitLayout::ParallelUnits },
        Way { format: "gz", level: 6, layout: UnitLayout::ParallelUnits },
        Way { format: "gz", level: 1, layout: UnitLayout::Bgzf },
        Way { format: "zst", level: 1, layout: UnitLayout::ParallelUnits },
        Way { format: "zst", level: -5, layout: UnitLayout::ParallelUnits },
        Way { format: "bz2", level: 1, layout: UnitLayout::ParallelUnits },
    ];
    for way in ways {
        for size in sizes(1 << 20) {
            let uncompressed = testkit::data::mixed(size, size as u64);
            let bench = Bench::new(&uncompressed);
            let single = bench.compress(way, 1).expect("compress");
            for hands in [2, 3, 64] {
                assert!(bench.compress(way, hands).expect("compress") == single, "{way:?} {size} on {hands}");
            }
            for hands in [1, 2, 3, 64] {
                assert!(
                    bench.decompress(&single, hands).expect("decompress") == uncompressed,
                    "{way:?} {size} on {hands}"
                );
            }
        }
    }
}

#[test]
fn one_long_frame_round_trips() {
    let uncompressed = testkit::data::mixed(9 << 20, 5);
    let bench = Bench::new(&uncompressed);
    let way = Way { format: "zst", level: 3, layout: UnitLayout::SingleUnit };
    for hands in [1, 2] {
        let compressed = bench.compress(way, hands).expect("compress");
        assert!(bench.decompress(&compressed, hands).expect("decompress") == uncompressed);
    }
}

#[test]
fn foreign_files_and_any_mixture_of_units_are_read() {
    let (one, two) = (testkit::data::text(700_000, 1), testkit::data::random(300_000, 2));
    let both = [one.as_slice(), two.as_slice()].concat();
    let bench = Bench::new(&one);
    for (format, foreign, skippable) in [
        ("gz", foreign_gzip as fn(&[u8]) -> Vec<u8>, &[][..]),
        ("zst", foreign_zstd as fn(&[u8]) -> Vec<u8>, &[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9][..]),
    ] {
        let own = bench.compress(Way { format, level: 1, layout: UnitLayout::ParallelUnits }, 2).expect("compress");
        for hands in [1, 2, 3] {
            let bench_decompress = |compressed: &[u8]| bench.decompress(compressed, hands).expect("decompress");
            assert!(bench_decompress(&foreign(&both)) == both);
            assert!(bench_decompress(&[own.as_slice(), skippable, &foreign(&two)].concat()) == both);
            let mixed = [foreign(&one), foreign(&[]), own.clone(), foreign(&two)].concat();
            assert!(bench_decompress(&mixed) == [one.as_slice(), &one, &two].concat());
        }
    }
}

#[test]
fn zeros_after_the_last_gz_member_are_padding_and_anything_else_is_not() {
    let uncompressed = testkit::data::text(10_000, 3);
    let bench = Bench::new(&uncompressed);
    let compressed = foreign_gzip(&uncompressed);
    for zeros in [1, 7, 512, 10_240, 70_000] {
        let padded = [compressed.as_slice(), &vec![0; zeros]].concat();
        assert!(bench.decompress(&padded, 2).expect("padding is fine") == uncompressed);
    }
    for garbage in [&b"x"[..], b"\0\0\0x", b"\x1f\x8c", &[9; 600]] {
        let error = bench.decompress(&[compressed.as_slice(), garbage].concat(), 2).expect_err("garbage is not");
        let offset_found = match error {
            CodecError::TrailingGarbage { offset, unit: 1, .. } => offset,
            other => panic!("not garbage: {other:?}"),
        };
        assert_eq!(offset_found, compressed.len() as u64);
    }
    let frame = foreign_zstd(&uncompressed);
    assert!(bench.decompress(&[frame.as_slice(), &[0; 512]].concat(), 2).is_err(), "zstd has no padding");
}

#[test]
fn every_truncation_is_an_error_and_leaves_no_file() {
    let uncompressed = testkit::data::text(3_000, 4);
    let bench = Bench::new(&uncompressed);
    for compressed in [
        foreign_gzip(&uncompressed),
        foreign_zstd(&uncompressed),
        bench.compress(Way { format: "gz", level: 6, layout: UnitLayout::ParallelUnits }, 1).expect("compress"),
        bench.compress(Way { format: "gz", level: 6, layout: UnitLayout::Bgzf }, 1).expect("compress"),
        bench.compress(Way { format: "zst", level: 1, layout: UnitLayout::ParallelUnits }, 1).expect("compress"),
    ] {
        for length in 0..compressed.len() {
            // BGZF without its end mark is a whole gzip file: every member is there.
            match bench.decompress(&compressed[..length], 1) {
                Err(_) => bench.assert_nothing_left(),
                Ok(back) => assert!(back == uncompressed && compressed.len() - length == 28, "cut at {length}"),
            }
        }
    }
}

#[test]
fn checks_that_lie_are_told_with_unit_and_offset() {
    let uncompressed = testkit::data::text(3 << 20, 4);
    let bench = Bench::new(&uncompressed);
    let way = Way { format: "gz", level: 1, layout: UnitLayout::ParallelUnits };
    let mut compressed = bench.compress(way, 1).expect("compress");
    let last = compressed.len();
    compressed[last - 8] ^= 1;
    for hands in [1, 2] {
        match bench.decompress(&compressed, hands).expect_err("a wrong checksum") {
            CodecError::Damaged { unit: 3, unit_name: "member", defect: UnitDefect::Checksum { .. }, offset } => {
                assert!(offset > 0);
            }
            other => panic!("not a checksum: {other:?}"),
        }
    }
    let mut foreign = foreign_gzip(&uncompressed);
    let last = foreign.len();
    foreign[last - 5] ^= 0x80;
    match bench.decompress(&foreign, 2).expect_err("a wrong checksum") {
        CodecError::Damaged { unit: 1, defect: UnitDefect::Checksum { .. }, .. } => {}
        other => panic!("not a checksum: {other:?}"),
    }
    let mut foreign = foreign_gzip(&uncompressed);
    foreign[last - 1] ^= 0x01;
    match bench.decompress(&foreign, 2).expect_err("a wrong length") {
        CodecError::Damaged { unit: 1, defect: UnitDefect::Length { .. }, .. } => {}
        other => panic!("not a length: {other:?}"),
    }
}

#[test]
fn empty_and_foreign_inputs_are_not_recognised() {
    let bench = Bench::new(b"");
    assert!(matches!(bench.decompress(b"", 2), Err(CodecError::NotRecognised(_))));
    assert!(matches!(bench.decompress(b"#!/bin/sh\n", 2), Err(CodecError::NotRecognised(_))));
}

#[test]
fn a_bomb_is_decoded_in_bounded_memory_and_a_false_size_is_not_believed() {
    // A gz member that claims to be small and is large: the decoder stops where the claim ends.
    let uncompressed = vec![0; 8 << 20];
    let bench = Bench::new(&uncompressed);
    let way = Way { format: "gz", level: 9, layout: UnitLayout::ParallelUnits };
    let mut compressed = bench.compress(way, 1).expect("compress");
    let header = u32::from_le_bytes(compressed[16..20].try_into().expect("four bytes")) as usize;
    let length_at = 20 + header + 4;
    compressed[length_at..length_at + 4].copy_from_slice(&100_u32.to_le_bytes());
    assert!(matches!(
        bench.decompress(&compressed, 2),
        Err(CodecError::Damaged { unit: 1, defect: UnitDefect::Length { stored: 100, .. }, .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits_never_give_wrong_bytes(
        seed in any::<u64>(),
        size in 1..200_000_usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 1..4),
        which in 0..5_usize,
        hands in 1..4_usize,
    ) {
        let uncompressed = testkit::data::mixed(size, seed);
        let bench = Bench::new(&uncompressed);
        let mut compressed = match which {
            0 => foreign_gzip(&uncompressed),
            1 => bench.compress(Way { format: "gz", level: 1, layout: UnitLayout::Bgzf }, 1).expect("compress"),
            2 => bench.compress(Way { format: "gz", level: 1, layout: UnitLayout::ParallelUnits }, 1).expect("compress"),
            3 => bench.compress(Way { format: "bz2", level: 1, layout: UnitLayout::ParallelUnits }, 1).expect("compress"),
            _ => bench.compress(Way { format: "zst", level: 1, layout: UnitLayout::ParallelUnits }, 1).expect("compress"),
        };
        for (index, bit) in &flips {
            let at = index.index(compressed.len());
            compressed[at] ^= 1 << bit;
        }
        // Some bits carry no data (time stamps, unused header bits): then the bytes are right. Else it is an error.
        match bench.decompress(&compressed, hands) {
            Ok(back) => prop_assert!(back == uncompressed),
            Err(_) => bench.assert_nothing_left(),
        }
    }

    #[test]
    fn lanes_into_one_output_follow_one_another(
        sizes in prop::collection::vec(0..300_000_usize, 1..6),
        hands in 1..5_usize,
    ) {
        let uncompressed: Vec<Vec<u8>> = sizes.iter().map(|&size| testkit::data::mixed(size, size as u64)).collect();
        let back = Bench::through_one_output(&uncompressed, Way { format: "gz", level: 1, layout: UnitLayout::ParallelUnits }, hands);
        prop_assert!(back == uncompressed.concat());
    }
}

/// sysfs tells a page as the size of each of its files, and none of them holds so much.
#[test]
fn a_file_that_holds_less_than_its_size_is_compressed_as_far_as_it_goes() {
    const FILE: &str = "/sys/class/net/lo/mtu";
    if !Path::new(FILE).exists() {
        return testkit::program::left_out("there is no sysfs");
    }
    let uncompressed = std::fs::read(FILE).expect("it can be read");
    let bench = Bench::new(b"");
    let layouts = [UnitLayout::ParallelUnits, UnitLayout::SingleUnit];
    let ways = ["gz", "zst", "bz2", "lz4", "xz", "lzma"].into_iter().flat_map(|format| {
        let other = if format == "gz" { UnitLayout::Bgzf } else { UnitLayout::SingleUnit };
        let layouts = if matches!(format, "gz" | "zst") { vec![layouts[0], other] } else { vec![layouts[0]] };
        layouts.into_iter().map(move |layout| Way { format, level: 1, layout })
    });
    for way in ways {
        for hands in [1, 2] {
            let compressed = bench.compress_file(FILE, way, hands).expect("compress");
            assert!(bench.decompress(&compressed, hands).expect("decompress") == uncompressed, "{way:?} on {hands}");
        }
    }
}

/// A .Z file of codes of nine bits.
fn z_file(flags: u8, codes: &[u16]) -> Vec<u8> {
    let mut compressed = vec![0x1f, 0x9d, flags];
    let (mut held, mut bits) = (0_u32, 0);
    for &code in codes {
        held |= u32::from(code) << bits;
        bits += 9;
        while bits >= 8 {
            compressed.push(held as u8);
            (held, bits) = (held >> 8, bits - 8);
        }
    }
    compressed.push(held as u8);
    compressed
}

/// What gzip 1.12 and compress 4.2.4 make of them.
#[test]
fn headers_and_codes_of_z_files_mean_what_they_mean_to_gzip_and_compress() {
    let bench = Bench::new(b"");
    let decoded = |flags, codes: &[u16], hands| bench.decompress(&z_file(flags, codes), hands).ok();
    for hands in [1, 2] {
        for bits in 0..32 {
            for block_mode in [0, 0x80] {
                let right = (bits <= 16).then(|| b"abc".to_vec());
                assert_eq!(decoded(block_mode | bits, &[97, 98, 99], hands), right, "{bits} bits, {block_mode}");
            }
        }
        for (flags, codes, right) in [
            (0x8c, &[256, 97, 98][..], None),
            (0x0c, &[97, 256, 98], Some(&b"aaab"[..])),
            (0x8c, &[97, 257, 98], Some(b"aaab")),
            (0x8c, &[97, 258, 98], None),
            (0x88, &[97, 257, 98], Some(b"aaab")),
            (0x08, &[97, 256, 98], Some(b"aaab")),
            (0x88, &[97, 257, 257], None),
        ] {
            assert_eq!(decoded(flags, codes, hands).as_deref(), right, "{flags:x} {codes:?}");
        }
        // From the 513th string on codes have ten bits, whatever the header says: these have nine.
        let codes: Vec<u16> = (0..2000).map(|at| 97 + at % 26).collect();
        assert_eq!(decoded(0x89, &codes, hands), None);
        assert_eq!(decoded(0x09, &codes, hands), None);
    }
}
