//! bz2: streams of blocks written bit by bit, with all codes of a block equally long: any bits are then some data.

use super::{Case, bad, good};

const PLAIN: &[u8] = b"many hands, light work\n";

const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
const END_MAGIC: u64 = 0x1772_4538_5090;

/// Bits one after another.
#[derive(Clone, Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(mut self, value: u64, count: u32) -> Self {
        self.0.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
        self
    }

    fn and(mut self, other: &Self) -> Self {
        self.0.extend(&other.0);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at));
        self.0.chunks(8).map(byte).collect()
    }
}

/// A block, field by field.
#[derive(Clone)]
struct Block {
    magic: u64,
    crc: u32,
    is_randomised: bool,
    origin: u64,
    used: Vec<u8>,
    tables: u64,
    selectors: Vec<u64>,
    /// The length of all codes.
    code_bits: u64,
    symbols: Vec<u16>,
}

impl Block {
    /// Of a short text, sorted by definition.
    fn of(plain: &[u8]) -> Self {
        let rotation = |from: usize| [&plain[from..], &plain[..from]].concat();
        let mut order: Vec<usize> = (0..plain.len()).collect();
        order.sort_by_key(|&from| rotation(from));
        let column: Vec<u8> = order.iter().map(|&from| plain[(from + plain.len() - 1) % plain.len()]).collect();
        let mut used = plain.to_vec();
        used.sort_unstable();
        used.dedup();
        let mut recent = used.clone();
        let mut symbols = Vec::new();
        for byte in column {
            let place = recent.iter().position(|&other| other == byte).expect("it is used");
            recent[..=place].rotate_right(1);
            // A zero by itself is one digit of value one; two in a row are two such: the value is three, so not here.
            assert!(place > 0 || symbols.last() != Some(&0), "this text has a run; choose another");
            symbols.push(if place == 0 { 0 } else { place as u16 + 1 });
        }
        let origin = order.iter().position(|&from| from == 0).expect("the text itself") as u64;
        Self::from_symbols(used, symbols, origin, plain)
    }

    fn from_symbols(used: Vec<u8>, mut symbols: Vec<u16>, origin: u64, plain: &[u8]) -> Self {
        let alphabet = used.len() as u64 + 2;
        symbols.push(alphabet as u16 - 1);
        let selectors = vec![0; symbols.len().div_ceil(50)];
        let code_bits = u64::from(64 - (alphabet - 1).leading_zeros());
        let crc = crc32(plain);
        Self { magic: BLOCK_MAGIC, crc, is_randomised: false, origin, used, tables: 2, selectors, code_bits, symbols }
    }

    fn bits(&self) -> Bits {
        let mut bits = Bits::default().put(self.magic, 48).put(u64::from(self.crc), 32);
        bits = bits.put(u64::from(self.is_randomised), 1).put(self.origin, 24);
        let row = |row: u8| {
            self.used.iter().filter(|&&byte| byte >> 4 == row).fold(0, |map, byte| map | 1 << (15 - (byte & 15)))
        };
        let rows: Vec<u64> = (0..16).map(row).collect();
        bits = bits.put(rows.iter().fold(0, |map, &row| map << 1 | u64::from(row != 0)), 16);
        bits = rows.iter().filter(|&&row| row != 0).fold(bits, |bits, &row| bits.put(row, 16));
        bits = bits.put(self.tables, 3).put(self.selectors.len() as u64, 15);
        bits = self.selectors.iter().fold(bits, |bits, &place| bits.put((1 << (place + 1)) - 2, place as u32 + 1));
        for _ in 0..self.tables {
            bits = bits.put(self.code_bits, 5).put(0, self.used.len() as u32 + 2);
        }
        self.symbols.iter().fold(bits, |bits, &symbol| bits.put(u64::from(symbol), self.code_bits as u32))
    }
}

/// A stream of these blocks, its checksum changed by `lie`.
fn stream_with(level: u8, blocks: &[Block], lie: u32) -> Bits {
    let header = Bits::default().put(0x42_5a68, 24).put(u64::from(level), 8);
    let bits = blocks.iter().fold(header, |bits, block| bits.and(&block.bits()));
    let crc = blocks.iter().fold(0_u32, |crc, block| crc.rotate_left(1) ^ block.crc);
    bits.put(END_MAGIC, 48).put(u64::from(crc ^ lie), 32)
}

fn stream(blocks: &[Block]) -> Vec<u8> {
    stream_with(b'9', blocks, 0).bytes()
}

fn simple() -> Vec<u8> {
    stream(&[Block::of(PLAIN)])
}

/// A stream of one block that is not right in one way.
fn wrong(change: impl Fn(&mut Block)) -> Vec<u8> {
    let mut block = Block::of(PLAIN);
    change(&mut block);
    stream(&[block])
}

/// CRC-32 as bzip2 has it: the same polynomial, highest bit first.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8)
            .fold(crc ^ u32::from(byte) << 24, |crc, _| if crc >> 31 == 1 { crc << 1 ^ 0x04c1_1db7 } else { crc << 1 })
    })
}

/// A valid file and what it holds: the data of its first block contain the mark of a block, with a front behind it that
/// a block may have. Nothing but decoding tells that it is none.
pub fn deceiving() -> (Vec<u8>, Vec<u8>) {
    // Fourteen bytes and two more symbols: sixteen codes of four bits. The highest would end the block.
    let used: Vec<u8> = (b'a'..b'a' + 14).collect();
    let front = Bits::default().put(BLOCK_MAGIC, 48).put(0x1234_5678, 32).put(0, 25).put(0x8000, 16).put(0x8000, 16);
    let front = front.put(2, 3).put(1, 15).put(0, 1);
    let mut symbols: Vec<u16> = (2..12).cycle().take(300).collect();
    let nibbles: Vec<u16> =
        front.0.chunks_exact(4).map(|four| four.iter().fold(0, |n, &bit| n << 1 | u16::from(bit))).collect();
    assert!(!nibbles.contains(&15), "this would end the block");
    symbols.extend(nibbles);
    symbols.extend((2..14).cycle().take(200));
    let plain = decoded(&used, &symbols);
    let block = Block::from_symbols(used, symbols, 0, &plain);
    let last = Block::of(PLAIN);
    (stream(&[block, last]), [&plain[..], PLAIN].concat())
}

/// What symbols come to, by definition: digits and places, then the sorted rotations undone, then runs.
fn decoded(used: &[u8], symbols: &[u16]) -> Vec<u8> {
    let (mut recent, mut column, mut weight) = (used.to_vec(), Vec::new(), 1);
    for &symbol in symbols {
        if symbol < 2 {
            column.extend(vec![recent[0]; weight * (usize::from(symbol) + 1)]);
            weight *= 2;
            continue;
        }
        weight = 1;
        recent[..usize::from(symbol)].rotate_right(1);
        column.push(recent[0]);
    }
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_by_key(|&at| column[at]);
    let mut at = order[0];
    let mut block = Vec::new();
    for _ in 0..column.len() {
        block.push(column[at]);
        at = order[at];
    }
    let (mut plain, mut alike) = (Vec::new(), 0);
    for byte in block {
        if alike == 4 {
            let last = plain[plain.len() - 1];
            plain.extend(vec![last; usize::from(byte)]);
            alike = 0;
            continue;
        }
        alike = if alike > 0 && plain.last() == Some(&byte) { alike + 1 } else { 1 };
        plain.push(byte);
    }
    plain
}

pub fn cases() -> Vec<Case> {
    let mut cases = valid();
    cases.extend(cut_off());
    cases.extend(lies());
    cases
}

fn valid() -> Vec<Case> {
    let twice = [PLAIN, PLAIN].concat();
    let two_blocks = stream(&[Block::of(PLAIN), Block::of(PLAIN)]);
    let nothing = stream(&[]);
    vec![
        good("simple.bz2", "the simplest stream there is", simple(), PLAIN),
        good("nothing.bz2", "a stream of nothing", nothing.clone(), b""),
        good("two-blocks.bz2", "a second block, which begins inside a byte", two_blocks, twice.clone()),
        good(
            "two-streams.bz2",
            "streams follow one another, at byte borders",
            [simple(), simple()].concat(),
            twice.clone(),
        ),
        good(
            "empty-between.bz2",
            "empty streams before, between and behind",
            [nothing.clone(), simple(), nothing.clone(), simple(), nothing].concat(),
            twice.clone(),
        ),
        good(
            "other-level.bz2",
            "a second stream of another level",
            [stream_with(b'1', &[Block::of(PLAIN)], 0).bytes(), simple()].concat(),
            twice,
        ),
        good("padded.bz2", "zeros to the end are padding, as on tapes", [simple(), vec![0; 1000]].concat(), PLAIN),
        good(
            "many-selectors.bz2",
            "more selectors than a block can need, as lbzip2 writes them; decoders of 2019 refused them",
            wrong(|block| block.selectors = vec![0; 18_100]),
            PLAIN,
        ),
        good("one-byte.bz2", "a block of one byte", stream(&[Block::of(b"x")]), b"x"),
    ]
}

fn cut_off() -> Vec<Case> {
    const CUT: &str = "the file ends in the middle of it";
    let whole = simple();
    let up_to = |bytes: usize| whole[..bytes].to_vec();
    let end = whole.len();
    let second = [simple(), b"BZ".to_vec()].concat();
    vec![
        bad("header-alone.bz2", "a header and nothing else", up_to(4), CUT),
        bad("cut-mark.bz2", "a block's mark that breaks off", up_to(8), CUT),
        bad("mark-alone.bz2", "a block's mark and nothing else", up_to(10), CUT),
        bad("cut-crc.bz2", "a block's checksum that breaks off", up_to(12), CUT),
        bad("cut-map.bz2", "a map of bytes that breaks off", up_to(21), CUT),
        bad("cut-data.bz2", "data that break off", up_to(end - 14), CUT),
        bad("cut-end-mark.bz2", "an end mark that breaks off", up_to(end - 7), CUT),
        bad("cut-stream-crc.bz2", "a stream's checksum that breaks off", up_to(end - 3), CUT),
        bad("second-header-cut.bz2", "a second header that breaks off", second, CUT),
        bad(
            "second-block-cut.bz2",
            "a second block that breaks off",
            {
                let two = stream(&[Block::of(PLAIN), Block::of(PLAIN)]);
                two[..two.len() - 30].to_vec()
            },
            "block 2 at byte ",
        ),
    ]
}

fn lies() -> Vec<Case> {
    let mut second_mark_hit = Block::of(PLAIN);
    second_mark_hit.magic ^= 1 << 20;
    let hit = stream(&[Block::of(PLAIN), second_mark_hit]);
    let mut other_header = simple();
    other_header[1] ^= 4;
    vec![
        bad("wrong-crc.bz2", "a wrong checksum of a block", wrong(|block| block.crc ^= 1), "checksum is "),
        bad(
            "wrong-stream-crc.bz2",
            "a wrong checksum of the stream",
            stream_with(b'9', &[Block::of(PLAIN)], 1).bytes(),
            "the stream that ends here has checksum ",
        ),
        bad(
            "empty-wrong-crc.bz2",
            "a checksum of nothing that is not 0",
            stream_with(b'9', &[], 1).bytes(),
            "has checksum 00000001",
        ),
        bad(
            "second-mark-hit.bz2",
            "a second block whose mark was hit",
            hit,
            "neither a block nor the end of the stream begins",
        ),
        bad(
            "origin-behind.bz2",
            "a text that begins behind its end",
            wrong(|block| block.origin = 23),
            "begins behind its end",
        ),
        bad("origin-wrong.bz2", "a text that begins elsewhere", wrong(|block| block.origin ^= 1), "checksum is "),
        bad(
            "origin-huge.bz2",
            "a text that begins behind any block",
            wrong(|block| block.origin = 1_000_000),
            "begins behind its end",
        ),
        bad("randomised.bz2", "a randomised block", wrong(|block| block.is_randomised = true), "randomised"),
        bad("no-bytes.bz2", "a block that uses no byte", wrong(|block| block.used.clear()), "no byte value"),
        bad("one-table.bz2", "one code table", wrong(|block| block.tables = 1), "two to six"),
        bad("seven-tables.bz2", "seven code tables", wrong(|block| block.tables = 7), "two to six"),
        bad("no-selectors.bz2", "no selectors", wrong(|block| block.selectors.clear()), "no selectors"),
        bad(
            "third-table.bz2",
            "a selector of a third table of two",
            wrong(|block| block.selectors[0] = 2),
            "that it has not",
        ),
        bad("code-of-0.bz2", "codes of no bits", wrong(|block| block.code_bits = 0), "a code length"),
        bad("code-of-21.bz2", "codes of 21 bits", wrong(|block| block.code_bits = 21), "a code length"),
        bad(
            "long-run.bz2",
            "a run of 2 million bytes",
            wrong(|block| {
                block.symbols.splice(0..0, [1; 20]);
            }),
            "longer than",
        ),
        bad(
            "too-long.bz2",
            "two runs that are longer than the level's block",
            wrong(|block| {
                let run = [1_u16; 18].into_iter().chain([2]);
                block.selectors = vec![0; 2];
                block.symbols.splice(0..0, run.clone().chain(run));
            }),
            "longer than",
        ),
        bad("garbage-behind.bz2", "something after the last stream", [simple(), b"x".to_vec()].concat(), "block 1"),
        bad(
            "second-header-hit.bz2",
            "a second stream whose header was hit",
            [simple(), other_header].concat(),
            "block 1",
        ),
        bad("zeros-then-garbage.bz2", "padding that is none", [simple(), vec![0; 600], vec![1]].concat(), "block 1"),
        bad(
            "not-bzip2.bz2",
            "a letter that begins so",
            b"BZh9, she wrote, is no name".to_vec(),
            "in no format known here",
        ),
        bad("level-0.bz2", "a level that there is not", b"BZh01AY&SY".to_vec(), "in no format known here"),
    ]
}
