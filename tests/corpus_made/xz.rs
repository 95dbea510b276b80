//! xz: streams by The .xz File Format 1.2.1, of stored LZMA2 chunks: these need no compressor.

use super::{Case, bad, crc32, good};

const PLAIN: &[u8] = b"many hands, light work\n";

/// Identifiers of checks.
const NONE: u8 = 0x00;
const CRC32: u8 = 0x01;
const CRC64: u8 = 0x04;
const SHA256: u8 = 0x0a;

/// Flags of a block header: which sizes it tells; the low bits count filters, less one.
const PACKED_SIZE: u8 = 0x40;
const PLAIN_SIZE: u8 = 0x80;

/// LZMA2 with a dictionary of 4 KiB.
const LZMA2: [u8; 3] = [0x21, 1, 0];
const DELTA: [u8; 3] = [0x03, 1, 0];

/// SHA-256 of [`PLAIN`], by `sha256sum`.
const SHA256_OF_PLAIN: &str = "eece6255b345b60f7711851b32f5d70a2f1734e027df0ac76357f372a6a96ea2";

/// CRC-64 by its definition, bit by bit.
fn crc64(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(
            crc ^ u64::from(byte),
            |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xc96c_5795_d787_0f42 } else { crc >> 1 }
            },
        )
    })
}

/// The check of [`PLAIN`].
fn check_of_plain(kind: u8) -> Vec<u8> {
    match kind {
        CRC32 => crc32(PLAIN).to_le_bytes().to_vec(),
        CRC64 => crc64(PLAIN).to_le_bytes().to_vec(),
        SHA256 => SHA256_OF_PLAIN
            .as_bytes()
            .chunks(2)
            .map(|digits| {
                digits
                    .iter()
                    .fold(0, |byte, &digit| byte << 4 | (digit as char).to_digit(16).expect("hexadecimal") as u8)
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// A number, seven bits at a time.
fn number(value: u64) -> Vec<u8> {
    match value >> 7 {
        0 => vec![value as u8],
        rest => [vec![value as u8 | 0x80], number(rest)].concat(),
    }
}

fn with_crc32(fields: &[u8]) -> Vec<u8> {
    [fields, &crc32(fields).to_le_bytes()].concat()
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn stream_header(flags: [u8; 2]) -> Vec<u8> {
    [&[0xfd, b'7', b'z', b'X', b'Z', 0][..], &flags, &crc32(&flags).to_le_bytes()].concat()
}

fn footer(flags: [u8; 2], index_bytes: usize) -> Vec<u8> {
    let fields = [&(index_bytes as u32 / 4).wrapping_sub(1).to_le_bytes()[..], &flags].concat();
    [&crc32(&fields).to_le_bytes()[..], &fields, b"YZ"].concat()
}

/// An Index of these records: unpadded size and plain size.
fn index(records: &[(u64, u64)]) -> Vec<u8> {
    let records_alone: Vec<u8> =
        records.iter().flat_map(|&(packed, plain)| [number(packed), number(plain)].concat()).collect();
    with_crc32(&padded([vec![0], number(records.len() as u64), records_alone].concat()))
}

/// One stored chunk, and the end.
fn stored(plain: &[u8]) -> Vec<u8> {
    [&[1][..], &(plain.len() as u16 - 1).to_be_bytes(), plain, &[0]].concat()
}

/// A block header with these fields behind its flags.
fn block_header(flags: u8, fields: &[&[u8]]) -> Vec<u8> {
    let mut header = padded([&[0, flags][..], &fields.concat()].concat());
    header[0] = (header.len() / 4) as u8;
    with_crc32(&header)
}

/// A block and what the Index says of it.
#[derive(Clone)]
struct Block {
    header: Vec<u8>,
    data: Vec<u8>,
    padding: Vec<u8>,
    check: Vec<u8>,
    record: (u64, u64),
}

impl Block {
    fn new(header: Vec<u8>, data: Vec<u8>, check: Vec<u8>) -> Self {
        let record = ((header.len() + data.len() + check.len()) as u64, PLAIN.len() as u64);
        let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
        Self { header, data, padding, check, record }
    }

    /// Of [`PLAIN`], telling both sizes.
    fn sized(check: u8) -> Self {
        Self::claiming(stored(PLAIN).len() as u64, PLAIN.len() as u64, check)
    }

    fn claiming(packed: u64, plain: u64, check: u8) -> Self {
        let fields = [number(packed), number(plain), LZMA2.to_vec()].concat();
        Self::new(block_header(PACKED_SIZE | PLAIN_SIZE, &[&fields]), stored(PLAIN), check_of_plain(check))
    }

    /// Of [`PLAIN`], telling no size.
    fn unsized_one(check: u8) -> Self {
        Self::new(block_header(0, &[&LZMA2]), stored(PLAIN), check_of_plain(check))
    }

    fn with(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        [&self.header[..], &self.data, &self.padding, &self.check].concat()
    }
}

/// A stream of these blocks with another Index.
fn stream_with(check: u8, blocks: &[Block], index: &[u8]) -> Vec<u8> {
    let blocks: Vec<u8> = blocks.iter().flat_map(Block::bytes).collect();
    [&stream_header([0, check])[..], &blocks, index, &footer([0, check], index.len())].concat()
}

fn stream(check: u8, blocks: &[Block]) -> Vec<u8> {
    let records: Vec<(u64, u64)> = blocks.iter().map(|block| block.record).collect();
    stream_with(check, blocks, &index(&records))
}

/// A stream of one block that asks for a dictionary of 4 GiB, cut off before the Index, which could say that less will do.
pub fn with_largest_dictionary(plain: &[u8]) -> Vec<u8> {
    let block = Block::new(block_header(0, &[&[0x21, 1, 40]]), stored(plain), Vec::new());
    [stream_header([0, NONE]), block.bytes()].concat()
}

fn simple() -> Vec<u8> {
    stream(CRC64, &[Block::sized(CRC64)])
}

/// One block that is not right in one way, with and without its sizes.
fn wrong(change: impl Fn(&mut Block)) -> [Vec<u8>; 2] {
    [Block::sized(CRC64), Block::unsized_one(CRC64)].map(|block| stream(CRC64, &[block.with(&change)]))
}

/// One byte of the simplest stream hit, counted from the end where negative.
fn hit(at: isize) -> Vec<u8> {
    let mut bytes = simple();
    let at = if at < 0 { bytes.len() - at.unsigned_abs() } else { at.unsigned_abs() };
    bytes[at] ^= 1;
    bytes
}

fn cut(bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes[..bytes.len() - by].to_vec()
}

fn twice() -> Vec<u8> {
    [PLAIN, PLAIN].concat()
}

pub fn cases() -> Vec<Case> {
    let groups = [
        valid(),
        valid_in_company(),
        wrong_stream_headers(),
        wrong_block_headers(),
        wrong_filters(),
        wrong_sizes(),
        wrong_data(),
        wrong_checks(),
        wrong_indexes(),
        wrong_footers(),
        cut_short(),
        wrong_neighbours(),
    ];
    groups.into_iter().flatten().collect()
}

fn valid() -> Vec<Case> {
    let both = [Block::sized(CRC64), Block::unsized_one(CRC64)];
    let packed_only = block_header(PACKED_SIZE, &[&number(stored(PLAIN).len() as u64), &LZMA2]);
    let plain_only = block_header(PLAIN_SIZE, &[&number(PLAIN.len() as u64), &LZMA2]);
    let half_sized = [packed_only, plain_only].map(|header| Block::new(header, stored(PLAIN), check_of_plain(CRC64)));
    let nothing = Block::new(block_header(0, &[&LZMA2]), vec![0], [0; 8].to_vec()).with(|block| block.record.1 = 0);
    let chunks = [&[1, 0, 4][..], b"light", &[2, 0, 4], b" work", &[0]].concat();
    let chunks = Block::new(block_header(0, &[&LZMA2]), chunks, Vec::new()).with(|block| block.record.1 = 10);
    let long = block_header(0, &[&LZMA2, &[0; 1000]]);
    vec![
        good("simple.xz", "one block that tells its sizes", simple(), PLAIN),
        good("unsized.xz", "a block that tells no size", stream(CRC64, &both[1..]), PLAIN),
        good("half-sized.xz", "blocks that tell one size each", stream(CRC64, &half_sized), twice()),
        good(
            "mixed.xz",
            "blocks with and without sizes, in turns",
            stream(CRC64, &[both.clone(), both].concat()),
            PLAIN.repeat(4),
        ),
        good("no-blocks.xz", "a stream of no blocks", stream(CRC64, &[]), b""),
        good("empty-block.xz", "a block of nothing", stream(CRC64, &[nothing]), b""),
        good("none.xz", "no check", stream(NONE, &[Block::sized(NONE), Block::unsized_one(NONE)]), twice()),
        good("crc32.xz", "CRC-32", stream(CRC32, &[Block::sized(CRC32), Block::unsized_one(CRC32)]), twice()),
        good("sha256.xz", "SHA-256", stream(SHA256, &[Block::sized(SHA256), Block::unsized_one(SHA256)]), twice()),
        good("chunks.xz", "several chunks", stream(NONE, &[chunks]), b"light work"),
        good(
            "long-header.xz",
            "a block header with a kilobyte of padding",
            stream(NONE, &[Block::new(long, stored(PLAIN), Vec::new())]),
            PLAIN,
        ),
        good(
            "dictionary-small.xz",
            "a dictionary of 1.5 GiB for 23 bytes: nothing may be allocated for it where the size is told",
            stream(
                NONE,
                &[Block::new(
                    block_header(PACKED_SIZE | PLAIN_SIZE, &[&number(27), &number(23), &[0x21, 1, 37]]),
                    stored(PLAIN),
                    Vec::new(),
                )],
            ),
            PLAIN,
        ),
    ]
}

fn valid_in_company() -> Vec<Case> {
    let empty = stream(CRC32, &[]);
    let unsized_one = stream(NONE, &[Block::unsized_one(NONE)]);
    vec![
        good("two-streams.xz", "streams follow one another", [simple(), unsized_one.clone()].concat(), twice()),
        good(
            "padding.xz",
            "padding between and behind streams, and streams of nothing",
            [simple(), vec![0; 4], empty.clone(), vec![0; 1024], unsized_one, empty, vec![0; 8]].concat(),
            twice(),
        ),
    ]
}

fn wrong_stream_headers() -> Vec<Case> {
    let with = |flags: [u8; 2]| [&stream_header(flags)[..], &simple()[12..]].concat();
    vec![
        bad("header-crc.xz", "a wrong checksum of the stream header", hit(8), "checksum"),
        bad("header-flags-hit.xz", "a flag was hit", hit(7), "checksum"),
        bad("reserved-flags.xz", "the first byte of flags must be zero", with([1, CRC64]), "reserved bit"),
        bad("reserved-flags-high.xz", "so must half of the second", with([0, 0x10 | CRC64]), "reserved bit"),
        bad("unknown-check.xz", "a check that is not assigned", with([0, 2]), "of a type that is not known"),
        bad("unknown-check-last.xz", "the last of these", with([0, 15]), "of a type that is not known"),
        bad(
            "other-check.xz",
            "a header that names another check than the footer",
            with([0, CRC32]),
            "block 1 at byte 12",
        ),
    ]
}

fn wrong_block_headers() -> Vec<Case> {
    let with = |header: Vec<u8>| stream(CRC64, &[Block::new(header, stored(PLAIN), check_of_plain(CRC64))]);
    let behind_filter = |byte: u8| block_header(0, &[&LZMA2, &[byte]]);
    let long_form = [&[0x9b, 0][..], &LZMA2].concat();
    let ten_bytes = [&[0xff; 9][..], &[1], &LZMA2].concat();
    vec![
        bad("block-header-crc.xz", "a wrong checksum of a block header", hit(12 + 9), "checksum"),
        bad("block-header-size.xz", "a block header whose length was hit", hit(12), "block 1 at byte 12"),
        bad("block-flags.xz", "a flag that is reserved", with(block_header(0x04, &[&LZMA2])), "reserved bit"),
        bad("block-flags-high.xz", "another one", with(block_header(0x20, &[&LZMA2])), "reserved bit"),
        bad(
            "block-header-padding.xz",
            "padding of the header that is not zero",
            with(behind_filter(1)),
            "longer than what",
        ),
        bad(
            "size-long-form.xz",
            "a size in more bytes than it needs",
            with(block_header(PACKED_SIZE, &[&long_form])),
            "a size that is none",
        ),
        bad(
            "size-ten-bytes.xz",
            "a size of more than 63 bits",
            with(block_header(PLAIN_SIZE, &[&ten_bytes])),
            "a size that is none",
        ),
        bad(
            "size-beyond.xz",
            "a size that runs out of the header",
            with(block_header(PLAIN_SIZE, &[&[0xff; 6]])),
            "a size that is none",
        ),
        bad(
            "size-zero.xz",
            "a packed size of nothing",
            with(block_header(PACKED_SIZE, &[&[0], &LZMA2])),
            "a size that is none",
        ),
    ]
}

fn wrong_filters() -> Vec<Case> {
    let with = |count: u8, filters: &[&[u8]]| {
        let block = Block::new(block_header(count - 1, filters), stored(PLAIN), Vec::new());
        stream(NONE, &[block])
    };
    let sized = |filter: &[u8]| {
        let header = block_header(PACKED_SIZE | PLAIN_SIZE, &[&number(27), &number(23), filter]);
        stream(NONE, &[Block::new(header, stored(PLAIN), Vec::new())])
    };
    let first = "block 1 at byte 12";
    vec![
        bad(
            "filter-unknown.xz",
            "a filter that nobody knows",
            with(2, &[&[0x3e, 0], &LZMA2]),
            "a filter that is not known",
        ),
        bad("filter-lzma1.xz", "LZMA1, which xz has not", with(1, &[&[0x8a, 0x80, 1, 0]]), first),
        bad("filter-missing.xz", "one filter where two are counted", with(2, &[&LZMA2]), first),
        bad("filter-alone.xz", "no LZMA2 at the end", with(1, &[&DELTA]), first),
        bad("filters-turned.xz", "LZMA2 before another", with(2, &[&LZMA2, &DELTA]), first),
        bad("filters-twice.xz", "LZMA2 two times", with(2, &[&LZMA2, &LZMA2]), first),
        bad(
            "filters-many.xz",
            "four filters and LZMA2 not among them",
            with(4, &[&DELTA, &DELTA, &DELTA, &DELTA]),
            first,
        ),
        bad("filter-properties.xz", "properties that run out of the header", with(1, &[&[0x21, 200, 0]]), first),
        bad(
            "filter-properties-huge.xz",
            "properties of 2^63 bytes",
            with(1, &[&[0x21], &number(u64::MAX >> 1)]),
            first,
        ),
        bad("filter-no-properties.xz", "LZMA2 without its dictionary", with(1, &[&[0x21, 0]]), first),
        bad("filter-two-properties.xz", "LZMA2 with two of them", with(1, &[&[0x21, 2, 0, 0]]), first),
        bad("delta-no-properties.xz", "delta without its distance", with(2, &[&[3, 0], &LZMA2]), first),
        bad("x86-odd.xz", "an offset of three bytes", with(2, &[&[4, 3, 0, 0, 0], &LZMA2]), first),
        bad("arm-unaligned.xz", "an offset inside an instruction", with(2, &[&[7, 4, 2, 0, 0, 0], &LZMA2]), first),
        bad("dictionary-41.xz", "a dictionary beyond the largest", with(1, &[&[0x21, 1, 41]]), first),
        bad("dictionary-41-sized.xz", "the same where sizes are told", sized(&[0x21, 1, 41]), first),
        bad("dictionary-255.xz", "bits of it that are reserved", sized(&[0x21, 1, 0xc0]), first),
    ]
}

fn wrong_sizes() -> Vec<Case> {
    let claim = |packed, plain| stream(CRC64, &[Block::claiming(packed, plain, CRC64)]);
    let plain_only = |plain| {
        let header = block_header(PLAIN_SIZE, &[&number(plain), &LZMA2]);
        stream(CRC64, &[Block::new(header, stored(PLAIN), check_of_plain(CRC64))])
    };
    let packed_only = |packed| {
        let header = block_header(PACKED_SIZE, &[&number(packed), &LZMA2]);
        stream(CRC64, &[Block::new(header, stored(PLAIN), check_of_plain(CRC64))])
    };
    let most = u64::MAX >> 1;
    let first = "block 1 at byte 12";
    vec![
        bad("plain-small.xz", "a plain size that is one too small", claim(27, 22), first),
        bad("plain-large.xz", "a plain size that is one too large", claim(27, 24), first),
        bad("plain-zero.xz", "a plain size of nothing", claim(27, 0), first),
        bad("packed-small.xz", "a packed size that is one too small", claim(26, 23), first),
        bad("packed-large.xz", "a packed size that is one too large: padded, it is the same", claim(28, 23), first),
        bad("packed-long.xz", "a packed size that takes the check in", claim(35, 23), first),
        bad("packed-tiny.xz", "a packed size that ends inside the data", claim(1, 23), first),
        bad("packed-huge.xz", "a packed size of 63 bits", claim(most, 23), first),
        bad("plain-huge.xz", "a plain size of 63 bits: nothing may be allocated for it", claim(27, most), first),
        bad("both-huge.xz", "both sizes of 63 bits", claim(most, most), first),
        bad("plain-31-mib.xz", "a plain size just below what is held at once", claim(27, 31 << 20), first),
        bad("plain-alone-small.xz", "a plain size alone, one too small", plain_only(22), first),
        bad("plain-alone-large.xz", "a plain size alone, one too large", plain_only(24), first),
        bad("plain-alone-huge.xz", "a plain size alone, of 63 bits", plain_only(most), first),
        bad("packed-alone-small.xz", "a packed size alone, one too small", packed_only(26), first),
        bad("packed-alone-large.xz", "a packed size alone, one too large", packed_only(28), first),
        bad("packed-alone-huge.xz", "a packed size alone, of 63 bits", packed_only(most), first),
    ]
}

fn wrong_data() -> Vec<Case> {
    let with = |data: &[u8]| wrong(|block| block.data[..data.len()].copy_from_slice(data));
    let [no_reset, no_reset_unsized] = with(&[2]);
    let [control, control_unsized] = with(&[3]);
    let [longer, longer_unsized] = with(&[1, 0, 23]);
    let [shorter, shorter_unsized] = with(&[1, 0, 21]);
    let [padding, padding_unsized] = wrong(|block| block.padding = vec![7]);
    let first = "block 1 at byte 12";
    vec![
        bad("no-reset.xz", "a first chunk that does not reset the dictionary", no_reset, first),
        bad("no-reset-unsized.xz", "the same without sizes", no_reset_unsized, first),
        bad("control.xz", "a control byte that there is not", control, first),
        bad("control-unsized.xz", "the same without sizes", control_unsized, first),
        bad("chunk-long.xz", "a chunk that takes the end mark in", longer, first),
        bad("chunk-long-unsized.xz", "the same without sizes", longer_unsized, first),
        bad("chunk-short.xz", "a chunk that ends before its last byte", shorter, first),
        bad("chunk-short-unsized.xz", "the same without sizes", shorter_unsized, first),
        bad("padding-hit.xz", "padding of a block that is not zero", padding, "its padding is not zero"),
        bad("padding-hit-unsized.xz", "the same without sizes", padding_unsized, "its padding is not zero"),
    ]
}

fn wrong_checks() -> Vec<Case> {
    let hit = |block: Block| block.with(|block| block.check[2] ^= 0x10);
    let with = |kind| [Block::sized(kind), Block::unsized_one(kind)].map(|block| stream(kind, &[hit(block)]));
    let [crc32, crc32_unsized] = with(CRC32);
    let [crc64, crc64_unsized] = with(CRC64);
    let [sha256, sha256_unsized] = with(SHA256);
    let second = stream(CRC64, &[Block::sized(CRC64), hit(Block::sized(CRC64))]);
    let words = "block 1 at byte 12: check is ";
    vec![
        bad("crc32-wrong.xz", "a wrong CRC-32", crc32, words),
        bad("crc32-wrong-unsized.xz", "the same without sizes", crc32_unsized, words),
        bad("crc64-wrong.xz", "a wrong CRC-64", crc64, words),
        bad("crc64-wrong-unsized.xz", "the same without sizes", crc64_unsized, words),
        bad("sha256-wrong.xz", "a wrong SHA-256", sha256, words),
        bad("sha256-wrong-unsized.xz", "the same without sizes", sha256_unsized, words),
        bad("second-crc64-wrong.xz", "a wrong check of the second block", second, "block 2 at byte 60: check is "),
    ]
}

fn wrong_indexes() -> Vec<Case> {
    let sized = Block::sized(CRC64);
    let unsized_one = Block::unsized_one(CRC64);
    let (packed, plain) = sized.record;
    let (packed_unsized, _) = unsized_one.record;
    let with = |records: &[(u64, u64)]| stream_with(CRC64, std::slice::from_ref(&sized), &index(records));
    let without = |records: &[(u64, u64)]| stream_with(CRC64, std::slice::from_ref(&unsized_one), &index(records));
    let raw = |fields: &[u8]| stream_with(CRC64, std::slice::from_ref(&sized), &with_crc32(fields));
    let good_fields = padded([vec![0, 1], number(packed), number(plain)].concat());
    let mut crc = index(&[sized.record]);
    *crc.last_mut().expect("it has a checksum") ^= 1;
    let long_form = padded([vec![0, 0x81, 0], number(packed), number(plain)].concat());
    let words = "Index does not agree";
    let at = "at byte";
    let most = u64::MAX >> 1;
    vec![
        bad("index-packed.xz", "an Index that tells another packed size", with(&[(packed + 1, plain)]), words),
        bad("index-plain.xz", "an Index that tells another plain size", with(&[(packed, plain - 1)]), words),
        bad("index-count.xz", "a record too many", with(&[sized.record, sized.record]), words),
        bad("index-empty.xz", "no record", with(&[]), words),
        bad("index-claims.xz", "a count of 2^63 records", raw(&padded([vec![0], number(most)].concat())), words),
        bad("index-long-form.xz", "a count in more bytes than it needs", raw(&long_form), words),
        bad("index-padding.xz", "padding that is not zero", raw(&[&good_fields[..], &[0, 0, 0, 1]].concat()), words),
        bad("index-more-padding.xz", "a word of padding too many", raw(&[&good_fields[..], &[0; 4]].concat()), words),
        bad(
            "index-crc.xz",
            "a wrong checksum of the Index",
            stream_with(CRC64, std::slice::from_ref(&sized), &crc),
            words,
        ),
        bad(
            "lying-index-packed.xz",
            "an Index that lies of a block that tells no size",
            without(&[(packed_unsized + 4, plain)]),
            at,
        ),
        bad("lying-index-small.xz", "four bytes too few", without(&[(packed_unsized - 4, plain)]), at),
        bad(
            "lying-index-near.xz",
            "one byte too many: padded, it is the same",
            without(&[(packed_unsized + 1, plain)]),
            at,
        ),
        bad("lying-index-plain.xz", "a plain size that is one too large", without(&[(packed_unsized, plain + 1)]), at),
        bad(
            "lying-index-plain-small.xz",
            "a plain size that is one too small",
            without(&[(packed_unsized, plain - 1)]),
            at,
        ),
        bad("lying-index-huge.xz", "sizes of 63 bits", without(&[(most, most)]), at),
        bad("lying-index-plain-huge.xz", "a plain size of 63 bits", without(&[(packed_unsized, most)]), at),
        bad("lying-index-tiny.xz", "a block shorter than its header", without(&[(5, plain)]), at),
        bad("lying-index-zero.xz", "a block of no bytes", without(&[(0, 0)]), at),
        bad(
            "lying-index-two.xz",
            "two records for one block",
            without(&[unsized_one.record, unsized_one.record]),
            words,
        ),
    ]
}

fn wrong_footers() -> Vec<Case> {
    let body = cut(simple(), 12);
    let index_bytes = index(&[Block::sized(CRC64).record]).len();
    let with = |flags, index_bytes| [&body[..], &footer(flags, index_bytes)].concat();
    let words = "stream footer";
    vec![
        bad("backward-small.xz", "a footer that tells a shorter Index", with([0, CRC64], index_bytes - 4), words),
        bad("backward-large.xz", "a footer that tells a longer Index", with([0, CRC64], index_bytes + 4), words),
        bad("backward-huge.xz", "a footer that tells an Index of 16 GiB", with([0, CRC64], 0), words),
        bad("footer-check.xz", "a footer that names another check", with([0, CRC32], index_bytes), words),
        bad("footer-flags.xz", "a footer with a reserved flag", with([1, CRC64], index_bytes), "reserved bit"),
        bad("footer-crc.xz", "a wrong checksum of the footer", hit(-12), "checksum"),
        bad("footer-magic.xz", "a footer whose magic was hit", hit(-1), words),
    ]
}

fn cut_short() -> Vec<Case> {
    let words = "the file ends in the middle of it";
    let unsized_one = stream(CRC64, &[Block::unsized_one(CRC64)]);
    // Header 12, block header 12 (unsized) or 16, data 27, padding 1, check 8, Index 8, footer 12.
    let from_end = [(1, "footer"), (12, "no-footer"), (13, "index"), (19, "most-of-index")];
    let mut cases: Vec<Case> = Vec::new();
    let names = ["cut-footer.xz", "no-footer.xz", "cut-index.xz", "cut-most-of-index.xz"];
    let reasons = ["a footer that breaks off", "no footer", "an Index that breaks off", "an Index of one byte"];
    for ((name, why), (by, _)) in names.into_iter().zip(reasons).zip(from_end) {
        cases.push(bad(name, why, cut(simple(), by), words));
    }
    cases.extend([
        bad("no-index.xz", "no Index", cut(simple(), 20), words),
        bad("cut-check.xz", "a check that breaks off", cut(simple(), 21), words),
        bad("cut-check-unsized.xz", "the same without sizes", cut(unsized_one.clone(), 21), words),
        bad("no-padding.xz", "data without their padding", cut(simple(), 29), words),
        bad("no-padding-unsized.xz", "the same without sizes", cut(unsized_one.clone(), 29), words),
        bad("no-end.xz", "data without their end mark", cut(simple(), 30), words),
        bad("no-end-unsized.xz", "the same without sizes", cut(unsized_one.clone(), 30), words),
        bad("cut-data.xz", "data that break off", cut(simple(), 40), words),
        bad("cut-data-unsized.xz", "the same without sizes", cut(unsized_one, 40), words),
        bad("no-data.xz", "a block header and no more", simple()[..28].to_vec(), words),
        bad("cut-block-header.xz", "a block header that breaks off", simple()[..20].to_vec(), words),
        bad("header-alone.xz", "a stream header and no more", simple()[..12].to_vec(), words),
        bad("half-header.xz", "a stream header that breaks off", simple()[..9].to_vec(), words),
        bad("short-magic.xz", "five bytes of a magic", simple()[..5].to_vec(), "in no format known here"),
    ]);
    cases
}

fn wrong_neighbours() -> Vec<Case> {
    let after = |rest: &[u8]| [&simple()[..], rest].concat();
    let mut hit = simple();
    hit[1] ^= 0x10;
    let words = "belongs to nothing";
    vec![
        bad("garbage-behind.xz", "something after the last stream", after(b"x"), words),
        bad("second-magic-hit.xz", "a second stream whose magic was hit", after(&hit), words),
        bad("second-cut.xz", "a second stream that breaks off", after(&cut(simple(), 1)), "in the middle of it"),
        bad("second-half-magic.xz", "half a second magic", after(&simple()[..4]), "in the middle of it"),
        bad("padding-odd.xz", "padding that is no multiple of four", after(&[0; 6]), "block 1"),
        bad("padding-short.xz", "padding of three bytes", after(&[0; 3]), "block 1"),
        bad("padding-odd-between.xz", "such padding between streams", after(&[&[0; 5][..], &simple()].concat()), words),
        bad("padding-then-garbage.xz", "padding that is none", after(&[&[0; 400][..], b"xxxx"].concat()), words),
        bad(
            "zst-behind.xz",
            "another format behind the last stream",
            after(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0]),
            words,
        ),
    ]
}
