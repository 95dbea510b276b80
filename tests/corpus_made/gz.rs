//! gz: members by RFC 1952 around deflate data by RFC 1951, fixed Huffman codes and stored blocks only.

use super::{Case, bad, crc32, good};

const PLAIN: &[u8] = b"many hands make light work, many hands make light work\n";

/// Plain bytes that stand in the packed file as they are, once stored.
const ZEROS: &[u8] = &[0; 40];

/// Bits from the lowest up, as deflate wants them.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) -> &mut Self {
        for index in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().expect("a byte was pushed");
            *last |= ((value >> index & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
        self
    }

    /// A Huffman code: its highest bit comes first.
    fn code(&mut self, code: u32, count: u32) -> &mut Self {
        (0..count).rev().fold(self, |bits, index| bits.put(code >> index & 1, 1))
    }

    /// A literal or length symbol in the fixed code (RFC 1951 section 3.2.6).
    fn symbol(&mut self, symbol: u32) -> &mut Self {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xc0 + symbol - 280, 8),
        }
    }
}

/// One final block with the fixed code: literals only.
fn fixed(literals: &[u8]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(1, 1).put(1, 2);
    for &byte in literals {
        bits.symbol(u32::from(byte));
    }
    bits.symbol(256);
    bits.bytes
}

/// `PLAIN` with a match in it: 28 literals, then 26 bytes from 28 back, then the line end.
fn with_match(extra_distance: u32) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(1, 1).put(1, 2);
    for &byte in &PLAIN[..28] {
        bits.symbol(u32::from(byte));
    }
    // Length 26 is symbol 270 (23 to 26) with 3 in two extra bits; distance 28 is symbol 9 (25 to 32) with 3 in three.
    bits.symbol(270).put(3, 2).code(9, 5).put(3 + extra_distance, 3);
    bits.symbol(u32::from(b'\n')).symbol(256);
    bits.bytes
}

fn stored(plain: &[u8]) -> Vec<u8> {
    let length = plain.len() as u16;
    [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), plain].concat()
}

/// A member's header: flags and what they announce.
fn header(flags: u8, fields: &[u8]) -> Vec<u8> {
    [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 0xff][..], fields].concat()
}

fn trailer(plain: &[u8]) -> Vec<u8> {
    [crc32(plain).to_le_bytes(), (plain.len() as u32).to_le_bytes()].concat()
}

fn member(plain: &[u8]) -> Vec<u8> {
    [header(0, b""), fixed(plain), trailer(plain)].concat()
}

/// A member with an extra field of one subfield.
fn with_extra(identity: &[u8; 2], content: &[u8], deflated: &[u8], plain: &[u8]) -> Vec<u8> {
    let subfield = [&identity[..], &(content.len() as u16).to_le_bytes(), content].concat();
    let fields = [&(subfield.len() as u16).to_le_bytes()[..], &subfield].concat();
    [&header(4, &fields)[..], deflated, &trailer(plain)].concat()
}

/// A BGZF block, its length off by so much.
fn block(plain: &[u8], lie: i32) -> Vec<u8> {
    block_of(&fixed(plain), plain, lie)
}

fn block_of(deflated: &[u8], plain: &[u8], lie: i32) -> Vec<u8> {
    let true_bytes = with_extra(b"BC", &[0, 0], deflated, plain).len() as i32;
    with_extra(b"BC", &((true_bytes - 1 + lie) as u16).to_le_bytes(), deflated, plain)
}

/// A member with the length of its deflate data, off by so much.
fn sized(plain: &[u8], lie: i64) -> Vec<u8> {
    sized_of(&fixed(plain), plain, lie)
}

fn sized_of(deflated: &[u8], plain: &[u8], lie: i64) -> Vec<u8> {
    let length = (deflated.len() as i64 + lie) as u32;
    with_extra(b"MZ", &length.to_le_bytes(), deflated, plain)
}

fn end_mark() -> Vec<u8> {
    vec![0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// All header fields there are, the header's checksum off by so much.
fn full_header(lie: u16) -> Vec<u8> {
    let mut bytes = header(2 | 4 | 8 | 16, b"\x06\x00XY\x02\x00zz../../name\0a comment\0");
    let crc = (crc32(&bytes) as u16).wrapping_add(lie);
    bytes.extend(crc.to_le_bytes());
    [bytes, fixed(PLAIN), trailer(PLAIN)].concat()
}

/// With so many bytes changed from the end: `changed(bytes, 8, 1)` adds 1 to the first byte of the trailer.
fn changed(mut bytes: Vec<u8>, from_end: usize, add: u8) -> Vec<u8> {
    let at = bytes.len() - from_end;
    bytes[at] = bytes[at].wrapping_add(add);
    bytes
}

fn cut(bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes[..bytes.len() - by].to_vec()
}

fn raw(deflated: Vec<u8>, plain: &[u8]) -> Vec<u8> {
    [header(0, b""), deflated, trailer(plain)].concat()
}

pub fn cases() -> Vec<Case> {
    let groups = [valid(), lying_lengths(), lying_trailers(), damaged_containers(), damaged_data()];
    groups.into_iter().flatten().collect()
}

fn valid() -> Vec<Case> {
    let twice = [PLAIN, PLAIN].concat();
    vec![
        good("fixed.gz", "the simplest member there is", member(PLAIN), PLAIN),
        good("match.gz", "a match, the longest way back that there is data for", raw(with_match(0), PLAIN), PLAIN),
        good("stored.gz", "a stored block", raw(stored(PLAIN), PLAIN), PLAIN),
        good("nothing.gz", "a member of nothing", member(b""), b""),
        good(
            "all-fields.gz",
            "extra field, a name that points elsewhere, comment, header checksum",
            full_header(0),
            PLAIN,
        ),
        good("two-members.gz", "members follow one another", [member(PLAIN), member(PLAIN)].concat(), twice.clone()),
        good(
            "empty-between.gz",
            "empty members between others, as flushing writers leave them",
            [member(b""), member(PLAIN), member(b""), member(b""), member(PLAIN), member(b"")].concat(),
            twice.clone(),
        ),
        good("padded.gz", "zeros to the end are padding, as on tapes", [member(PLAIN), vec![0; 700]].concat(), PLAIN),
        good(
            "bgzf.gz",
            "BGZF with its end mark",
            [block(PLAIN, 0), block(PLAIN, 0), end_mark()].concat(),
            twice.clone(),
        ),
        good(
            "bgzf-unmarked.gz",
            "BGZF without its end mark is gz all the same",
            [block(PLAIN, 0), block(PLAIN, 0)].concat(),
            twice,
        ),
        good("bgzf-mark-alone.gz", "BGZF of nothing", end_mark(), b""),
        good(
            "mixed.gz",
            "members with BC, with MZ and without a length, in turns",
            [block(PLAIN, 0), member(PLAIN), sized(PLAIN, 0), end_mark(), member(PLAIN), block(PLAIN, 0)].concat(),
            PLAIN.repeat(5),
        ),
        good(
            "foreign-extra.gz",
            "an extra field nobody here knows",
            with_extra(b"QQ", b"whatever", &fixed(PLAIN), PLAIN),
            PLAIN,
        ),
        good(
            "extra-overruns.gz",
            "a subfield that says it is longer than the extra field: no length to be had, the data are sound",
            [header(4, b"\x06\x00BC\xff\xff\x10\x00"), fixed(PLAIN), trailer(PLAIN)].concat(),
            PLAIN,
        ),
        good(
            "extra-empty.gz",
            "an extra field without a subfield",
            [header(4, b"\0\0"), fixed(PLAIN), trailer(PLAIN)].concat(),
            PLAIN,
        ),
    ]
}

fn lying_lengths() -> Vec<Case> {
    let next = member(PLAIN);
    vec![
        good(
            "bc-no-room.gz",
            "BC says less than a header takes: no length, but sound data",
            with_extra(b"BC", &[9, 0], &fixed(PLAIN), PLAIN),
            PLAIN,
        ),
        good(
            "mz-no-room.gz",
            "MZ says one byte: no length, but sound data",
            with_extra(b"MZ", &[1, 0, 0, 0], &fixed(PLAIN), PLAIN),
            PLAIN,
        ),
        good("bc-beyond.gz", "BC points behind the end of the file; the data are sound", block(PLAIN, 5000), PLAIN),
        good(
            "mz-beyond.gz",
            "MZ says 4 GiB; nothing may be allocated for it, and the data are sound",
            with_extra(b"MZ", &[0xff; 4], &fixed(PLAIN), PLAIN),
            PLAIN,
        ),
        good(
            "bc-odd.gz",
            "BC ends inside the data, where no trailer can be; the data are sound",
            block(PLAIN, -9),
            PLAIN,
        ),
        good(
            "mz-odd.gz",
            "MZ ends inside the data, where no trailer can be; the data are sound",
            sized(PLAIN, -9),
            PLAIN,
        ),
        bad(
            "bc-short.gz",
            "BC ends inside the data, where four zeros look like a length",
            block_of(&stored(ZEROS), ZEROS, -20),
            "member 1 at byte 0",
        ),
        bad(
            "mz-short.gz",
            "MZ ends inside the data, where four zeros look like a length",
            sized_of(&stored(ZEROS), ZEROS, -20),
            "member 1 at byte 0",
        ),
        bad(
            "bc-long.gz",
            "BC reaches into the next member, whose time looks like a length",
            [block(PLAIN, 8), next.clone()].concat(),
            "member 1 at byte 0",
        ),
        bad(
            "mz-long.gz",
            "MZ reaches into the next member, whose time looks like a length",
            [sized(PLAIN, 8), next].concat(),
            "member 1 at byte 0",
        ),
    ]
}

fn lying_trailers() -> Vec<Case> {
    vec![
        bad(
            "bc-isize-small.gz",
            "a block whose trailer says one byte less",
            changed(block(PLAIN, 0), 4, 255),
            "length is 54",
        ),
        bad(
            "bc-isize-large.gz",
            "a block whose trailer says one byte more",
            changed(block(PLAIN, 0), 4, 1),
            "length is 56, data have 55",
        ),
        bad(
            "bc-isize-huge.gz",
            "a block whose trailer says 4 GiB",
            changed(block(PLAIN, 0), 1, 255),
            "length is 4,278,190,135, data have 55",
        ),
        bad("bc-crc.gz", "a block with a wrong checksum", changed(block(PLAIN, 0), 8, 1), "checksum is "),
    ]
}

fn damaged_containers() -> Vec<Case> {
    let whole = member(PLAIN);
    let second = |broken: Vec<u8>| [member(PLAIN), broken].concat();
    let unended = [header(8, b"a name that does not end"), vec![b'x'; 300]].concat();
    vec![
        bad("empty.gz", "no byte at all", Vec::new(), "it is empty"),
        bad("magic-alone.gz", "the magic and nothing else", whole[..3].to_vec(), "the file ends in the middle of it"),
        bad("half-header.gz", "a header that breaks off", whole[..7].to_vec(), "the file ends in the middle of it"),
        bad(
            "unknown-method.gz",
            "compression method 7",
            [&[0x1f, 0x8b, 7][..], &whole[3..]].concat(),
            "it is in no format known here",
        ),
        bad(
            "reserved-flags.gz",
            "flags that RFC 1952 reserves: what they announce cannot be stepped over",
            [header(0x20, b""), fixed(PLAIN), trailer(PLAIN)].concat(),
            "reserved flags",
        ),
        bad("header-crc.gz", "a wrong checksum of the header", full_header(1), "its header's checksum is wrong"),
        bad("endless-name.gz", "a name without its end", unended, "the file ends in the middle of it"),
        bad(
            "extra-beyond.gz",
            "an extra field longer than the file",
            [header(4, b"\xff\xffBC\x02\x00\x10\x00"), fixed(PLAIN), trailer(PLAIN)].concat(),
            "the file ends in the middle of it",
        ),
        bad("cut-data.gz", "data that break off", cut(whole.clone(), 20), "the file ends in the middle of it"),
        bad("cut-trailer.gz", "a trailer that breaks off", cut(whole.clone(), 3), "the file ends in the middle of it"),
        bad("no-trailer.gz", "no trailer", cut(whole.clone(), 8), "the file ends in the middle of it"),
        bad("wrong-crc.gz", "a wrong checksum", changed(whole.clone(), 8, 1), "checksum is "),
        bad("wrong-length.gz", "a wrong length", changed(whole.clone(), 4, 1), "length is 56, data have 55"),
        bad(
            "wrong-length-high.gz",
            "a length that is right but for its highest byte",
            changed(whole.clone(), 1, 1),
            "data have 55",
        ),
        bad("garbage-behind.gz", "something after the last member", second(b"and more".to_vec()), "member 1"),
        bad("zeros-then-garbage.gz", "padding that is none", second(b"\0\0\0\0\0\0\0\0x".to_vec()), "member 1"),
        bad(
            "second-magic-hit.gz",
            "a second member whose magic was hit: must not pass for the end",
            second([&[0x1f, 0x8a][..], &whole[2..]].concat()),
            "member 1",
        ),
        bad(
            "second-crc.gz",
            "a wrong checksum in the second member",
            second(changed(whole.clone(), 8, 1)),
            "member 2 at byte ",
        ),
        bad("second-cut.gz", "a second member that breaks off", second(cut(whole.clone(), 10)), "member 2 at byte "),
        bad("second-magic-alone.gz", "a second member of two bytes", second(whole[..2].to_vec()), "member 2 at byte "),
        bad("swapped-trailers.gz", "two members with each other's trailers", swapped(), "member 1 at byte 0"),
    ]
}

fn swapped() -> Vec<u8> {
    let (one, other) = (PLAIN, b"something else");
    [header(0, b""), fixed(one), trailer(other), header(0, b""), fixed(other), trailer(one)].concat()
}

fn damaged_data() -> Vec<Case> {
    let mut wrong_complement = stored(PLAIN);
    wrong_complement[3] ^= 1;
    let mut reserved = Bits::default();
    reserved.put(1, 1).put(3, 2).put(0, 29);
    let mut overfull = Bits::default();
    // A dynamic block whose code for code lengths has nineteen codes of one bit.
    overfull.put(1, 1).put(2, 2).put(0, 5).put(0, 5).put(15, 4);
    for _ in 0..19 {
        overfull.put(1, 3);
    }
    overfull.put(0, 32);
    let mut many = Bits::default();
    many.put(1, 1).put(2, 2).put(31, 5).put(0, 5).put(0, 4).put(0, 32).put(0, 32);
    let mut symbol = Bits::default();
    symbol.put(1, 1).put(1, 2).symbol(u32::from(b'x')).symbol(287).put(0, 32);
    let mut distance = Bits::default();
    distance.put(1, 1).put(1, 2).symbol(u32::from(b'x')).symbol(257).code(30, 5).symbol(256);
    let mut unended = Bits::default();
    unended.put(0, 1).put(1, 2).symbol(u32::from(b'x')).symbol(256);
    let long_stored = [&[1, 0xff, 0xff, 0, 0][..], PLAIN].concat();
    vec![
        bad(
            "distance.gz",
            "a distance one byte farther back than the data go",
            raw(with_match(1), PLAIN),
            "reaches back to before the data",
        ),
        bad(
            "complement.gz",
            "a stored block whose length and its complement disagree",
            raw(wrong_complement, PLAIN),
            "does not match its complement",
        ),
        bad(
            "stored-beyond.gz",
            "a stored block longer than the file",
            raw(long_stored, PLAIN),
            "the file ends in the middle of it",
        ),
        bad("block-type.gz", "block type 3", raw(reserved.bytes, b""), "reserved type"),
        bad(
            "overfull-code.gz",
            "an over-subscribed code for the code lengths",
            raw(overfull.bytes, b""),
            "is not a code",
        ),
        bad("many-codes.gz", "288 literal and length codes announced", raw(many.bytes, b""), "too many codes"),
        bad("symbol-287.gz", "a length symbol that has no meaning", raw(symbol.bytes, b"x"), "symbol is invalid"),
        bad(
            "distance-symbol-30.gz",
            "a distance symbol that has no meaning",
            raw(distance.bytes, b"x"),
            "distance symbol is invalid",
        ),
        bad(
            "no-final-block.gz",
            "data whose last block is not the final one",
            raw(unended.bytes, b"x"),
            "member 1 at byte 0",
        ),
    ]
}
