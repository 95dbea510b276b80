//! lz4: frames by lz4_Frame_format.md and legacy ones, of stored blocks and of blocks whose sequences are written by hand.

use super::{Case, bad, good};

const PLAIN: &[u8] = b"many hands, light work\n";
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
const STORED: u32 = 1 << 31;

/// Flags of the descriptor: its version, and what may be added to it.
const LINKED: u8 = 0x40;
const FREE: u8 = LINKED | 0x20;
const BLOCK_CHECKS: u8 = 0x10;
const SIZE: u8 = 0x08;
const CHECK: u8 = 0x04;
const DICTIONARY: u8 = 0x01;

/// The block size byte: 64 KiB.
const SMALL: u8 = 0x40;

/// XXH32 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
fn xxh32(bytes: &[u8]) -> u32 {
    const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let (stripes, rest) = bytes.split_at(bytes.len() / 16 * 16);
    let mut lanes = [PRIMES[0].wrapping_add(PRIMES[1]), PRIMES[1], 0, 0_u32.wrapping_sub(PRIMES[0])];
    for stripe in stripes.chunks(16) {
        for (lane, bytes) in lanes.iter_mut().zip(stripe.chunks(4)) {
            *lane = lane.wrapping_add(word(bytes).wrapping_mul(PRIMES[1])).rotate_left(13).wrapping_mul(PRIMES[0]);
        }
    }
    let turned = lanes.iter().zip([1, 7, 12, 18]).fold(0_u32, |sum, (lane, by)| sum.wrapping_add(lane.rotate_left(by)));
    let mut hash = if stripes.is_empty() { PRIMES[4] } else { turned };
    hash = hash.wrapping_add(bytes.len() as u32);
    let words = rest.chunks_exact(4);
    let last = words.remainder();
    for bytes in words {
        hash = hash.wrapping_add(word(bytes).wrapping_mul(PRIMES[2])).rotate_left(17).wrapping_mul(PRIMES[3]);
    }
    for &byte in last {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIMES[4])).rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(PRIMES[2]);
    hash ^ hash >> 16
}

/// Magic and descriptor with its check byte.
fn header(flags: u8, block: u8, fields: &[u8]) -> Vec<u8> {
    let descriptor = [&[flags, block][..], fields].concat();
    [&MAGIC[..], &descriptor, &xxh32(&descriptor).to_le_bytes()[1..2]].concat()
}

/// The header of a frame that says it holds so much.
fn sized(flags: u8, bytes: u64) -> Vec<u8> {
    header(flags | SIZE, SMALL, &bytes.to_le_bytes())
}

/// A block that says it is so long.
fn block_of(size: u32, data: &[u8]) -> Vec<u8> {
    [&size.to_le_bytes()[..], data].concat()
}

fn stored(plain: &[u8]) -> Vec<u8> {
    block_of(plain.len() as u32 | STORED, plain)
}

fn packed(data: &[u8]) -> Vec<u8> {
    block_of(data.len() as u32, data)
}

/// A block behind which its checksum stands, changed by `lie`.
fn checked(block: &[u8], lie: u32) -> Vec<u8> {
    [block, &(xxh32(&block[4..]) ^ lie).to_le_bytes()].concat()
}

/// The end mark.
fn end() -> Vec<u8> {
    vec![0; 4]
}

/// The end mark and the content's checksum, changed by `lie`.
fn end_of(plain: &[u8], lie: u32) -> Vec<u8> {
    [end(), (xxh32(plain) ^ lie).to_le_bytes().to_vec()].concat()
}

/// Lengths from 15 on go on in further bytes.
fn length(bytes: usize) -> (u8, Vec<u8>) {
    match bytes.checked_sub(15) {
        None => (bytes as u8, Vec::new()),
        Some(rest) => (15, [vec![255; rest / 255], vec![(rest % 255) as u8]].concat()),
    }
}

/// Literals and a match: four bytes at least.
fn sequence(literals: &[u8], offset: u16, match_bytes: usize) -> Vec<u8> {
    let ((literal_nibble, more_literals), (match_nibble, more_match)) =
        (length(literals.len()), length(match_bytes - 4));
    let token = literal_nibble << 4 | match_nibble;
    [&[token][..], &more_literals, literals, &offset.to_le_bytes(), &more_match].concat()
}

/// The last sequence: literals only.
fn last(literals: &[u8]) -> Vec<u8> {
    let (nibble, more) = length(literals.len());
    [&[nibble << 4][..], &more, literals].concat()
}

/// "abcd", over and over, and five letters: a block with a match, and what it means.
fn matching(offset: u16) -> (Vec<u8>, Vec<u8>) {
    (packed(&[sequence(b"abcd", offset, 16), last(b"vwxyz")].concat()), b"abcdabcdabcdabcdabcdvwxyz".to_vec())
}

/// A block that refers to the 23 bytes before it, and what it means behind them.
fn referring() -> Vec<u8> {
    packed(&[sequence(b"", PLAIN.len() as u16, PLAIN.len()), last(b"vwxyz")].concat())
}

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// The simplest frame there is.
fn simple() -> Vec<u8> {
    frame(&[&header(FREE, SMALL, b""), &stored(PLAIN), &end()])
}

/// With everything that a frame can have, but a dictionary.
fn everything(flags: u8) -> Vec<u8> {
    let block = checked(&stored(PLAIN), 0);
    let header = sized(flags | BLOCK_CHECKS | CHECK, 2 * PLAIN.len() as u64);
    frame(&[&header, &block, &block, &end_of(&twice(), 0)])
}

fn legacy(blocks: &[&[u8]]) -> Vec<u8> {
    [&LEGACY[..], &blocks.concat()].concat()
}

fn skippable(size: u32, content: &[u8]) -> Vec<u8> {
    [&[0x5a, 0x2a, 0x4d, 0x18][..], &size.to_le_bytes(), content].concat()
}

fn twice() -> Vec<u8> {
    [PLAIN, PLAIN].concat()
}

fn cut(bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes[..bytes.len() - by].to_vec()
}

pub fn cases() -> Vec<Case> {
    let groups = [
        valid(),
        valid_in_company(),
        wrong_headers(),
        wrong_blocks(),
        wrong_sequences(),
        wrong_checks(),
        wrong_sizes(),
        cut_short(),
        wrong_legacy(),
        wrong_neighbours(),
    ];
    groups.into_iter().flatten().collect()
}

fn valid() -> Vec<Case> {
    let (matched, meaning) = matching(4);
    let run = packed(&[sequence(b"r", 1, 65_530), last(b"vwxyz")].concat());
    let run_meaning = [vec![b'r'; 65_531], b"vwxyz".to_vec()].concat();
    let free = header(FREE, SMALL, b"");
    let linked = header(LINKED, SMALL, b"");
    let checked_blocks = header(FREE | BLOCK_CHECKS, SMALL, b"");
    let referred = [PLAIN, PLAIN, b"vwxyz"].concat();
    vec![
        good("stored.lz4", "the simplest frame there is", simple(), PLAIN),
        good("literals.lz4", "a packed block without a match", frame(&[&free, &packed(&last(PLAIN)), &end()]), PLAIN),
        good("match.lz4", "a match that overlaps itself", frame(&[&free, &matched, &end()]), meaning),
        good("nothing.lz4", "a frame of nothing", frame(&[&free, &end()]), b""),
        good(
            "nothing-sized.lz4",
            "a frame of nothing that says so",
            frame(&[&sized(FREE | CHECK, 0), &end_of(b"", 0)]),
            b"",
        ),
        good(
            "sized.lz4",
            "content size and checksum",
            frame(&[&sized(FREE | CHECK, 23), &stored(PLAIN), &end_of(PLAIN, 0)]),
            PLAIN,
        ),
        good(
            "block-check.lz4",
            "a checksum behind the block",
            frame(&[&checked_blocks, &checked(&stored(PLAIN), 0), &end()]),
            PLAIN,
        ),
        good("everything.lz4", "two blocks, every check and the size", everything(FREE), twice()),
        good("everything-linked.lz4", "the same, and blocks that may refer back", everything(LINKED), twice()),
        good(
            "linked.lz4",
            "a block that refers to the one before",
            frame(&[&linked, &stored(PLAIN), &referring(), &end()]),
            referred,
        ),
        good(
            "stored-nothing.lz4",
            "a stored block of nothing is no end mark",
            frame(&[&free, &stored(b""), &stored(PLAIN), &end()]),
            PLAIN,
        ),
        good("full-block.lz4", "a block of exactly 64 KiB", frame(&[&free, &run, &end()]), run_meaning),
    ]
}

fn valid_in_company() -> Vec<Case> {
    let linked = frame(&[&header(LINKED, SMALL, b""), &stored(PLAIN), &end()]);
    let old = packed(&last(PLAIN));
    vec![
        good(
            "two-frames.lz4",
            "frames follow one another, also empty ones",
            [simple(), frame(&[&header(FREE, SMALL, b""), &end()]), linked.clone()].concat(),
            twice(),
        ),
        good(
            "skippable.lz4",
            "skippable frames before, between and behind, also empty ones",
            [skippable(3, b"abc"), simple(), skippable(0, b""), linked.clone(), skippable(4, &MAGIC)].concat(),
            twice(),
        ),
        good("legacy.lz4", "a legacy frame", legacy(&[&old]), PLAIN),
        good(
            "legacy-two-blocks.lz4",
            "a legacy frame whose first block is not full",
            legacy(&[&old, &packed(&last(PLAIN))]),
            twice(),
        ),
        good("legacy-nothing.lz4", "a legacy frame of nothing", legacy(&[]), b""),
        good(
            "legacy-among-frames.lz4",
            "a legacy frame that others end",
            [simple(), legacy(&[&old]), skippable(1, b"x"), legacy(&[&old]), legacy(&[]), linked].concat(),
            [twice(), twice()].concat(),
        ),
    ]
}

fn wrong_headers() -> Vec<Case> {
    let with = |flags, block, fields: &[u8]| frame(&[&header(flags, block, fields), &stored(PLAIN), &end()]);
    let mut hit = simple();
    hit[6] ^= 1;
    vec![
        bad("version-0.lz4", "version 0", with(0x20, SMALL, b""), "unknown version"),
        bad("version-2.lz4", "version 2", with(0xa0, SMALL, b""), "unknown version"),
        bad("reserved-flag.lz4", "the flag that must be zero", with(FREE | 2, SMALL, b""), "reserved bit"),
        bad("reserved-block-bit.lz4", "the bit above the block size", with(FREE, 0xc0, b""), "reserved bit"),
        bad("reserved-low-bit.lz4", "a bit below the block size", with(FREE, 0x41, b""), "reserved bit"),
        bad("block-size-0.lz4", "block size 0", with(FREE, 0x00, b""), "no valid block size"),
        bad("block-size-3.lz4", "block size 3", with(FREE, 0x30, b""), "no valid block size"),
        bad("header-check.lz4", "a wrong check byte", hit, "block 1 at byte 0: checksum"),
        bad(
            "dictionary.lz4",
            "made with a dictionary",
            with(FREE | DICTIONARY, SMALL, &4711_u32.to_le_bytes()),
            "it needs dictionary 4711",
        ),
        bad("short-magic.lz4", "three bytes of a magic", MAGIC[..3].to_vec(), "in no format known here"),
        bad("magic-alone.lz4", "the magic and nothing else", MAGIC.to_vec(), "the file ends in the middle of it"),
        bad("half-header.lz4", "a header without its check", cut(header(FREE, SMALL, b""), 1), "in the middle of it"),
        bad("half-size.lz4", "a content size that breaks off", cut(sized(FREE, 23), 4), "in the middle of it"),
        bad(
            "half-dictionary.lz4",
            "a dictionary's number that breaks off",
            cut(header(FREE | DICTIONARY, SMALL, &[0; 4]), 3),
            "in the middle of it",
        ),
    ]
}

fn wrong_blocks() -> Vec<Case> {
    let data = vec![b'x'; 100];
    let with = |flags, block: &[u8]| frame(&[&header(flags, SMALL, b""), block, &end()]);
    let full = packed(&[sequence(b"r", 1, 65_531), last(b"vwxyz")].concat());
    let long = "longer than";
    vec![
        bad(
            "block-long.lz4",
            "a stored block of 64 KiB and a byte",
            with(FREE, &block_of(STORED | 65_537, &data)),
            long,
        ),
        bad("block-long-linked.lz4", "the same, linked", with(LINKED, &block_of(STORED | 65_537, &data)), long),
        bad("block-long-packed.lz4", "a packed block that long", with(FREE, &block_of(65_537, &data)), long),
        bad(
            "block-long-sized.lz4",
            "the same in a frame that tells its size",
            frame(&[&sized(FREE, 100), &block_of(65_537, &data), &end()]),
            long,
        ),
        bad("block-huge.lz4", "a block of 2 GiB", with(FREE, &block_of(STORED - 1, &data)), long),
        bad("block-huge-stored.lz4", "a stored block of 2 GiB", with(LINKED, &block_of(!0, &data)), long),
        bad("expands.lz4", "a packed block of 64 KiB and a byte", with(FREE, &full), "block 1 at byte 7"),
        bad("expands-linked.lz4", "the same, linked", with(LINKED, &full), "block 1 at byte 0"),
        bad("empty-packed.lz4", "a frame without an end mark", header(FREE, SMALL, b""), "in the middle of it"),
    ]
}

fn wrong_sequences() -> Vec<Case> {
    let free = |block: &[u8]| frame(&[&header(FREE, SMALL, b""), block, &end()]);
    let linked = |block: &[u8]| frame(&[&header(LINKED, SMALL, b""), block, &end()]);
    let checked = |block: &[u8], plain: &[u8]| frame(&[&sized(FREE | CHECK, 25), block, &end_of(plain, 0)]);
    let (zero, beyond) = (matching(0).0, matching(5).0);
    let as_if = |byte| [b"abcd".to_vec(), vec![byte; 16], b"vwxyz".to_vec()].concat();
    let words = "refer to what is not there";
    let no_literals = packed(&sequence(b"abcd", 4, 16));
    vec![
        bad("offset-0.lz4", "a match 0 bytes back: nobody's bytes", free(&zero), words),
        bad("offset-0-linked.lz4", "the same, linked", linked(&[stored(PLAIN), zero.clone()].concat()), words),
        bad("offset-0-legacy.lz4", "the same in a legacy frame", legacy(&[&zero]), words),
        bad(
            "offset-0-checked.lz4",
            "the same with a checksum over zeros in its place",
            checked(&zero, &as_if(0)),
            "block 1 at byte 0",
        ),
        bad(
            "offset-0-behind.lz4",
            "the same behind blocks that leave their bytes in buffers",
            free(&[stored(&[b's'; 400]), zero].concat()),
            words,
        ),
        bad("offset-beyond.lz4", "a match that begins before the block", free(&beyond), words),
        bad("offset-beyond-linked.lz4", "a match that begins before the first block", linked(&beyond), words),
        bad(
            "offset-beyond-free.lz4",
            "a block that refers to the one before, and may not",
            free(&[stored(PLAIN), referring()].concat()),
            words,
        ),
        bad("ends-in-match.lz4", "a block that ends in a match", free(&no_literals), words),
        bad("literals-beyond.lz4", "more literals than the block has", free(&packed(&[0xf0, 100, b'x'])), words),
        bad("length-endless.lz4", "a length that never ends", free(&packed(&[255; 300])), words),
        bad("half-offset.lz4", "an offset that breaks off", free(&packed(b"\x40abcd\x04")), words),
    ]
}

fn wrong_checks() -> Vec<Case> {
    let block_checks =
        |flags, lie| frame(&[&header(flags | BLOCK_CHECKS, SMALL, b""), &checked(&stored(PLAIN), lie), &end()]);
    let content = |flags, blocks: usize, lie| {
        let plain = PLAIN.repeat(blocks);
        frame(&[&header(flags | CHECK, SMALL, b""), &stored(PLAIN).repeat(blocks), &end_of(&plain, lie)])
    };
    let whole = frame(&[&sized(FREE | CHECK, 23), &stored(PLAIN), &end_of(PLAIN, 1)]);
    let whole_block = frame(&[&sized(FREE | BLOCK_CHECKS, 23), &checked(&stored(PLAIN), 1), &end()]);
    let words = "checksum is ";
    vec![
        bad("block-check-wrong.lz4", "a wrong checksum of a block", block_checks(FREE, 1), words),
        bad("block-check-wrong-linked.lz4", "the same, linked", block_checks(LINKED, 1 << 31), words),
        bad("block-check-wrong-sized.lz4", "the same in a frame that tells its size", whole_block, words),
        bad("check-wrong.lz4", "a wrong checksum of the content", content(FREE, 1, 1), words),
        bad("check-wrong-two-blocks.lz4", "the same over two blocks", content(FREE, 2, 1 << 31), words),
        bad("check-wrong-linked.lz4", "the same over linked blocks", content(LINKED, 2, 1), words),
        bad("check-wrong-sized.lz4", "the same in a frame that tells its size", whole, words),
        bad("check-wrong-nothing.lz4", "the same over nothing", content(FREE, 0, 1), words),
    ]
}

fn wrong_sizes() -> Vec<Case> {
    let one = |bytes| frame(&[&sized(FREE, bytes), &stored(PLAIN), &end()]);
    let two = |flags, bytes| frame(&[&sized(flags, bytes), &stored(PLAIN), &stored(PLAIN), &end()]);
    let packed_one = |bytes| frame(&[&sized(FREE, bytes), &matching(4).0, &end()]);
    let first = "block 1 at byte 0";
    vec![
        bad("size-small.lz4", "a content size that is one too small", one(22), first),
        bad("size-large.lz4", "a content size that is one too large", one(24), first),
        bad("size-small-packed.lz4", "one too small for a packed block", packed_one(24), first),
        bad("size-large-packed.lz4", "one too large for a packed block", packed_one(26), first),
        bad("size-zero.lz4", "a content size of nothing for something", one(0), first),
        bad("size-small-two.lz4", "one too small for two blocks", two(FREE, 45), "length is 45, data have 46"),
        bad("size-large-two.lz4", "one too large for two blocks", two(FREE, 47), "length is 47, data have 46"),
        bad("size-small-linked.lz4", "one too small for linked blocks", two(LINKED, 45), "length is 45, data have 46"),
        bad("size-large-linked.lz4", "one too large for linked blocks", two(LINKED, 47), "length is 47, data have 46"),
        bad("size-huge.lz4", "an exbibyte: nothing may be allocated for it", one(1 << 60), "data have 23"),
        bad("size-all-ones.lz4", "the largest size there is", two(LINKED, !0), "data have 46"),
    ]
}

fn cut_short() -> Vec<Case> {
    let words = "the file ends in the middle of it";
    let (free, linked) = (everything(FREE), everything(LINKED));
    let one = frame(&[&sized(FREE | CHECK, 23), &stored(PLAIN), &end_of(PLAIN, 0)]);
    vec![
        bad("cut-check.lz4", "a content checksum that breaks off", cut(free.clone(), 1), words),
        bad("cut-check-linked.lz4", "the same, linked", cut(linked.clone(), 1), words),
        bad("cut-check-sized.lz4", "the same in a frame of one block", cut(one.clone(), 1), words),
        bad("no-check.lz4", "an end mark, and no checksum behind it", cut(one.clone(), 4), words),
        bad("cut-end.lz4", "an end mark that breaks off", cut(free.clone(), 5), words),
        bad("cut-end-linked.lz4", "the same, linked", cut(linked.clone(), 5), words),
        bad("no-end.lz4", "no end mark", cut(free.clone(), 8), words),
        bad("no-end-linked.lz4", "the same, linked", cut(linked.clone(), 8), words),
        bad("cut-block-check.lz4", "a block's checksum that breaks off", cut(free.clone(), 9), words),
        bad("cut-block-check-linked.lz4", "the same, linked", cut(linked.clone(), 9), words),
        bad("cut-block.lz4", "a block that breaks off", cut(free.clone(), 20), words),
        bad("cut-block-linked.lz4", "the same, linked", cut(linked.clone(), 20), words),
        bad("cut-block-sized.lz4", "the same in a frame of one block", cut(one, 20), words),
        bad("cut-block-size.lz4", "a block's size that breaks off", cut(free, 37), words),
        bad("cut-block-size-linked.lz4", "the same, linked", cut(linked, 37), words),
    ]
}

fn wrong_legacy() -> Vec<Case> {
    let block = packed(&last(PLAIN));
    let words = "the file ends in the middle of it";
    vec![
        bad("legacy-cut.lz4", "a legacy block that breaks off", cut(legacy(&[&block]), 1), words),
        bad("legacy-cut-second.lz4", "a second one that breaks off", cut(legacy(&[&block, &block]), 1), words),
        bad("legacy-size.lz4", "a size word longer than any block", legacy(&[&block, &[0xff; 8]]), "block 1"),
        bad("legacy-size-alone.lz4", "the same behind the magic", legacy(&[&[0xff; 8]]), "belongs to nothing"),
        bad("legacy-half-size.lz4", "half a size word", legacy(&[&block, &[7, 0]]), "block 1"),
        bad("legacy-empty-block.lz4", "a block of no bytes", legacy(&[&block, &[0; 4]]), "block 2 at byte 33"),
        bad("legacy-beyond.lz4", "a match that begins before the block", legacy(&[&matching(5).0]), "refer to what"),
        bad("legacy-hit.lz4", "a magic of which a bit was hit", [&[3], &legacy(&[&block])[1..]].concat(), "no format"),
    ]
}

fn wrong_neighbours() -> Vec<Case> {
    let mut hit = simple();
    hit[1] ^= 0x10;
    let gz = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
    let after = |rest: &[u8]| [&simple()[..], rest].concat();
    let words = "belongs to nothing";
    vec![
        bad("garbage-behind.lz4", "something after the last frame", after(b"x"), words),
        bad("zeros-behind.lz4", "zeros after the last frame are no padding, as for lz4", after(&[0; 512]), words),
        bad("second-magic-hit.lz4", "a second frame whose magic was hit", after(&hit), words),
        bad("gz-behind.lz4", "another format behind the last frame", after(&gz), words),
        bad("second-magic-alone.lz4", "a second magic and no more", after(&MAGIC), "in the middle of it"),
        bad("second-half-magic.lz4", "half a second magic", after(&MAGIC[..2]), "in the middle of it"),
        bad("second-cut.lz4", "a second frame that breaks off", after(&cut(simple(), 3)), "in the middle of it"),
        bad(
            "half-skippable.lz4",
            "a skippable frame's header that breaks off",
            after(&skippable(0, b"")[..6]),
            "middle",
        ),
        bad("cut-skippable.lz4", "a skippable frame longer than the file", after(&skippable(9, b"abc")), "middle"),
        bad("huge-skippable.lz4", "a skippable frame of 4 GiB", after(&skippable(!0, b"abc")), "in the middle of it"),
    ]
}
