//! zst: frames by RFC 8878, of raw and RLE blocks only: these two need no compressor.

use super::{Case, bad, good, xxh64_of_short};

const PLAIN: &[u8] = b"many hands, light work\n";
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A block: type 0 is raw, 1 is RLE; the size is the plain one.
fn block(kind: u32, is_last: bool, size: u32, content: &[u8]) -> Vec<u8> {
    let header = size << 3 | kind << 1 | u32::from(is_last);
    [&header.to_le_bytes()[..3], content].concat()
}

fn raw(plain: &[u8]) -> Vec<u8> {
    block(0, true, plain.len() as u32, plain)
}

/// A frame: the descriptor, what it announces, and blocks.
fn frame(descriptor: u8, fields: &[u8], rest: &[u8]) -> Vec<u8> {
    [&MAGIC[..], &[descriptor], fields, rest].concat()
}

/// Single segment, a size of one byte, no checksum.
const SIZED: u8 = 0x20;
/// A window descriptor, no size, no checksum.
const UNSIZED: u8 = 0x00;
const CHECKSUM: u8 = 0x04;
/// Window descriptors: 1 KiB, 128 MiB, 128 MiB and an eighth, 256 MiB, 2 GiB, and the largest there is.
const WINDOW_1_KIB: u8 = 0x00;
const WINDOW_128_MIB: u8 = 17 << 3;
const WINDOW_144_MIB: u8 = 17 << 3 | 1;
const WINDOW_256_MIB: u8 = 18 << 3;
const WINDOW_2_GIB: u8 = 21 << 3;
const WINDOW_LARGEST: u8 = 0xff;

fn sized(plain: &[u8]) -> Vec<u8> {
    frame(SIZED, &[plain.len() as u8], &raw(plain))
}

fn unsized_frame(window: u8) -> Vec<u8> {
    frame(UNSIZED, &[window], &raw(PLAIN))
}

fn checked(lie: u32) -> Vec<u8> {
    let checksum = xxh64_of_short(PLAIN).wrapping_add(lie);
    frame(SIZED | CHECKSUM, &[PLAIN.len() as u8], &[&raw(PLAIN)[..], &checksum.to_le_bytes()].concat())
}

/// A skippable frame that says it is so long, whatever it holds.
fn skippable(size: u32, content: &[u8]) -> Vec<u8> {
    [&[0x5e, 0x2a, 0x4d, 0x18][..], &size.to_le_bytes(), content].concat()
}

/// A frame with an eight-byte content size that says this.
fn claiming(bytes: u64, blocks: &[u8]) -> Vec<u8> {
    frame(0xc0, &[&[WINDOW_1_KIB][..], &bytes.to_le_bytes()].concat(), blocks)
}

fn cut(bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes[..bytes.len() - by].to_vec()
}

pub fn cases() -> Vec<Case> {
    let groups = [
        valid(),
        wrong_sizes(),
        wrong_windows_and_checksums(),
        damaged_headers(),
        damaged_blocks(),
        wrong_neighbours(),
    ];
    groups.into_iter().flatten().collect()
}

fn valid() -> Vec<Case> {
    let twice = [PLAIN, PLAIN].concat();
    let rle = block(1, true, 1000, b"r");
    let three = [block(0, false, 5, b"light"), block(0, false, 0, b""), block(0, true, 5, b" work")].concat();
    vec![
        good("raw.zst", "the simplest frame there is", sized(PLAIN), PLAIN),
        good("rle.zst", "a block that repeats one byte", frame(0x60, &744_u16.to_le_bytes(), &rle), [b'r'; 1000]),
        good("nothing.zst", "a frame of nothing", frame(SIZED, &[0], &raw(b"")), b""),
        good("unsized.zst", "no content size, as from a pipe", unsized_frame(WINDOW_1_KIB), PLAIN),
        good("unsized-nothing.zst", "no content size and no content", frame(UNSIZED, &[0], &raw(b"")), b""),
        good("checksum.zst", "a checksum", checked(0), PLAIN),
        good("empty-block.zst", "an empty block between others", frame(SIZED, &[10], &three), b"light work"),
        good(
            "two-frames.zst",
            "frames follow one another, with and without a size",
            [sized(PLAIN), unsized_frame(0)].concat(),
            twice.clone(),
        ),
        good(
            "skippable.zst",
            "skippable frames before, between and behind, also empty ones",
            [skippable(3, b"abc"), sized(PLAIN), skippable(0, b""), unsized_frame(0), skippable(4, &MAGIC)].concat(),
            twice,
        ),
        good("skippable-alone.zst", "nothing but a skippable frame is an empty file", skippable(3, b"abc"), b""),
        good(
            "unused-bit.zst",
            "the bit that RFC 8878 tells decoders to ignore",
            frame(SIZED | 0x10, &[PLAIN.len() as u8], &raw(PLAIN)),
            PLAIN,
        ),
        good(
            "zero-dictionary.zst",
            "dictionary number 0 means none",
            frame(SIZED | 1, &[0, PLAIN.len() as u8], &raw(PLAIN)),
            PLAIN,
        ),
        good(
            "window-128-mib.zst",
            "the largest window that is allowed without being asked",
            unsized_frame(WINDOW_128_MIB),
            PLAIN,
        ),
        good(
            "full-block.zst",
            "a block of exactly 128 KiB",
            frame(0xa0, &131_072_u32.to_le_bytes(), &block(1, true, 131_072, b"f")),
            vec![b'f'; 131_072],
        ),
        good(
            "wrong-seek-table.zst",
            "a seek table that lies: it is not used, so it cannot harm",
            [sized(PLAIN), skippable(17, b"\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\0\0\0\0\xb1\xea\x92\x8f")].concat(),
            PLAIN,
        ),
    ]
}

fn wrong_sizes() -> Vec<Case> {
    let rle = block(1, true, 100_000, b"r");
    vec![
        bad(
            "size-small.zst",
            "a content size that is one too small",
            frame(SIZED, &[PLAIN.len() as u8 - 1], &raw(PLAIN)),
            "frame 1 at byte 0",
        ),
        bad(
            "size-large.zst",
            "a content size that is one too large",
            frame(SIZED, &[PLAIN.len() as u8 + 1], &raw(PLAIN)),
            "frame 1 at byte 0",
        ),
        bad(
            "size-huge.zst",
            "a content size of an exbibyte: nothing may be allocated for it",
            claiming(1 << 60, &raw(PLAIN)),
            "frame 1 at byte 0",
        ),
        bad("size-all-ones.zst", "the largest content size there is", claiming(u64::MAX, &rle), "frame 1 at byte 0"),
        bad(
            "size-31-mib.zst",
            "a content size just below what is held at once",
            claiming(31 << 20, &raw(PLAIN)),
            "frame 1 at byte 0",
        ),
    ]
}

fn wrong_windows_and_checksums() -> Vec<Case> {
    vec![
        bad(
            "window-144-mib.zst",
            "a window just above what is allowed without being asked",
            unsized_frame(WINDOW_144_MIB),
            "--long=28 allows it",
        ),
        bad(
            "window-256-mib.zst",
            "twice the window that is allowed",
            unsized_frame(WINDOW_256_MIB),
            "needs a window of 256 MiB, 128 MiB are allowed; --long=28",
        ),
        bad(
            "window-2-gib.zst",
            "the largest window that can be allowed",
            unsized_frame(WINDOW_2_GIB),
            "--long=31 allows it",
        ),
        bad(
            "window-largest.zst",
            "the largest window the format knows, 3.75 TiB: no option allows it",
            unsized_frame(WINDOW_LARGEST),
            "needs a window of 3,932,160 MiB",
        ),
        bad(
            "dictionary.zst",
            "made with a dictionary",
            frame(SIZED | 2, &[0x67, 0x12, PLAIN.len() as u8], &raw(PLAIN)),
            "it needs dictionary 4711",
        ),
        bad("checksum-wrong.zst", "a wrong checksum", checked(1), "frame 1 at byte 0"),
        bad(
            "checksum-wrong-unsized.zst",
            "a wrong checksum where no size is told",
            frame(UNSIZED | CHECKSUM, &[0], &[&raw(PLAIN)[..], &[0; 4]].concat()),
            "frame 1 at byte 0",
        ),
        bad(
            "second-checksum-wrong.zst",
            "a wrong checksum in the second frame",
            [sized(PLAIN), checked(1)].concat(),
            "frame 2 at byte 32",
        ),
    ]
}

fn damaged_headers() -> Vec<Case> {
    let legacy = [&[0x27, 0xb5, 0x2f, 0xfd][..], &sized(PLAIN)[4..]].concat();
    vec![
        bad("short-magic.zst", "three bytes of a magic", MAGIC[..3].to_vec(), "it is in no format known here"),
        bad("magic-alone.zst", "the magic and nothing else", MAGIC.to_vec(), "the file ends in the middle of it"),
        bad(
            "half-header.zst",
            "a header that breaks off",
            sized(PLAIN)[..5].to_vec(),
            "the file ends in the middle of it",
        ),
        bad(
            "legacy.zst",
            "the format before version 0.8, which is read no more",
            legacy,
            "it is in no format known here",
        ),
        bad(
            "reserved-bit.zst",
            "the bit that must be zero",
            frame(SIZED | 8, &[PLAIN.len() as u8], &raw(PLAIN)),
            "reserved bit",
        ),
    ]
}

fn damaged_blocks() -> Vec<Case> {
    let over = 131_073_u32;
    let sized_over = |blocks: &[u8]| frame(0xa0, &over.to_le_bytes(), blocks);
    let unsized_over = |blocks: &[u8]| frame(UNSIZED, &[WINDOW_128_MIB], blocks);
    let (rle_over, raw_over) = (block(1, true, over, b"r"), block(0, true, over, PLAIN));
    vec![
        bad(
            "reserved-block.zst",
            "block type 3",
            frame(SIZED, &[PLAIN.len() as u8], &block(3, true, 23, PLAIN)),
            "reserved type",
        ),
        bad(
            "reserved-block-unsized.zst",
            "block type 3 where no size is told",
            frame(UNSIZED, &[0], &block(3, true, 23, PLAIN)),
            "frame 1 at byte 0",
        ),
        bad("block-too-large.zst", "a raw block of more than 128 KiB", sized_over(&raw_over), "frame 1 at byte 0"),
        bad(
            "block-too-large-unsized.zst",
            "the same where no size is told",
            unsized_over(&raw_over),
            "frame 1 at byte 0",
        ),
        bad("rle-too-large.zst", "a repeated byte for more than 128 KiB", sized_over(&rle_over), "frame 1 at byte 0"),
        bad(
            "rle-too-large-unsized.zst",
            "the same where no size is told",
            unsized_over(&rle_over),
            "frame 1 at byte 0",
        ),
        bad(
            "broken-block.zst",
            "a compressed block of noise",
            frame(SIZED, &[200], &block(2, true, 20, &[0xa5; 20])),
            "frame 1 at byte 0",
        ),
        bad("cut-block.zst", "a block that breaks off", cut(sized(PLAIN), 4), "the file ends in the middle of it"),
        bad(
            "cut-block-unsized.zst",
            "a block that breaks off where no size is told",
            cut(unsized_frame(0), 4),
            "the file ends in the middle of it",
        ),
        bad("cut-checksum.zst", "a checksum that breaks off", cut(checked(0), 2), "the file ends in the middle of it"),
        bad(
            "no-last-block.zst",
            "a frame without a last block",
            frame(SIZED, &[46], &block(0, false, 23, PLAIN)),
            "the file ends in the middle of it",
        ),
    ]
}

fn wrong_neighbours() -> Vec<Case> {
    vec![
        bad(
            "cut-skippable.zst",
            "a skippable frame that says it is longer than the file",
            [sized(PLAIN), skippable(500, b"abc")].concat(),
            "frame 2",
        ),
        bad(
            "huge-skippable.zst",
            "a skippable frame of 4 GiB",
            [sized(PLAIN), skippable(u32::MAX, b"abc")].concat(),
            "frame 2",
        ),
        bad(
            "half-skippable.zst",
            "a skippable frame's header that breaks off",
            [sized(PLAIN), skippable(3, b"")[..6].to_vec()].concat(),
            "the file ends in the middle of it",
        ),
        bad(
            "garbage-behind.zst",
            "something after the last frame",
            [sized(PLAIN), b"and more".to_vec()].concat(),
            "frame 1",
        ),
        bad(
            "zeros-behind.zst",
            "zeros after the last frame are no padding here, as for zstd",
            [sized(PLAIN), vec![0; 512]].concat(),
            "frame 1",
        ),
        bad(
            "second-cut.zst",
            "a second frame that breaks off",
            [sized(PLAIN), cut(sized(PLAIN), 4)].concat(),
            "frame 2 at byte 32",
        ),
        bad(
            "second-magic-hit.zst",
            "a second frame whose magic was hit: must not pass for the end",
            [sized(PLAIN), [&[0x29][..], &sized(PLAIN)[1..]].concat()].concat(),
            "frame 1",
        ),
        bad(
            "gz-behind.zst",
            "another format behind the last frame",
            [sized(PLAIN), vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat(),
            "frame 1",
        ),
    ]
}
