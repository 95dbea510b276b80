//! Encodes chunks as bzip2 streams of their own, one block each as a rule: the way pbzip2 writes, which every tool reads.
//! The steps stand in files of their own (`runs`, `sort`, `symbols`, `tables`); here they are put together and written.

use super::container::{BLOCK_MAGIC, END_MAGIC, HEADER_BYTES, LEVEL_BYTES, MAGIC_BITS, folded};
use super::runs::shorten_runs;
use super::sort::Sorter;
use super::symbols::Symbols;
use super::tables::{Bzip2Tables, GROUP_SYMBOLS, codes};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::Encoder;
use crc_fast::{CrcAlgorithm, checksum};
use crew::pipeline::Pause;

/// COMPAT: bzip2 fills blocks up to 19 bytes less than they may hold, and decoders may count on it.
const BLOCK_SLACK: usize = 19;

/// Uncompressed bytes in a chunk: a thousandth less than a block holds, since runs of exactly four bytes get longer by one. Where
/// that is not enough, a second, small block follows in the same stream.
pub(super) fn chunk_bytes(level: i32) -> usize {
    block_room(level) - block_room(level) / 1000
}

fn block_room(level: i32) -> usize {
    let level = usize::try_from(level).expect("the facts bound the level to 1..=9");
    level * LEVEL_BYTES - BLOCK_SLACK
}

/// The largest that a stream of so many uncompressed bytes gets. bzip2's manual says one in a hundred and 600 bytes.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    plain_bytes + plain_bytes / 50 + 2000
}

/// Encodes chunks, with buffers of about nine bytes for each of a block's.
pub(super) struct StreamsEncoder {
    level: i32,
    block: Vec<u8>,
    sorter: Sorter,
    symbols: Symbols,
    tables: Bzip2Tables,
    bits: BitWriter,
}

impl StreamsEncoder {
    pub fn new(level: i32) -> Self {
        let (sorter, symbols, tables) = (Sorter::default(), Symbols::default(), Bzip2Tables::default());
        Self { level, block: Vec::new(), sorter, symbols, tables, bits: BitWriter::default() }
    }

    fn write_block(&mut self, crc: u32, pause: &mut Pause<'_>) -> Result<(), CodecError> {
        // The sorting is one call of the library's, the longest step.
        let (last_column, origin) = self.sorter.transform(&self.block)?;
        pause.point();
        self.symbols.fill(last_column);
        pause.point();
        self.tables.fit(&self.symbols.list, self.symbols.alphabet());
        pause.point();
        self.bits.put(BLOCK_MAGIC >> 24, 24);
        self.bits.put(BLOCK_MAGIC & 0xff_ffff, 24);
        self.bits.put(u64::from(crc), 32);
        // Not randomised.
        self.bits.put(0, 1);
        self.bits.put(origin as u64, 24);
        write_used(&self.symbols.used, &mut self.bits);
        self.bits.put(self.tables.lengths.len() as u64, 3);
        self.bits.put(self.tables.selectors.len() as u64, 15);
        write_selectors(&self.tables, &mut self.bits);
        for lengths in &self.tables.lengths {
            write_lengths(&lengths[..self.symbols.alphabet()], &mut self.bits);
        }
        write_symbols(&self.symbols, &self.tables, &mut self.bits);
        pause.point();
        Ok(())
    }
}

impl Encoder for StreamsEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        self.bits.bytes.clear();
        self.bits.put(0x42_5a68, 24);
        // A digit.
        self.bits.put(u64::from(b'0') + u64::from(self.level.unsigned_abs()), 8);
        debug_assert_eq!(HEADER_BYTES, 4);
        let (mut stream_crc, mut rest) = (0, uncompressed);
        while !rest.is_empty() {
            self.block.clear();
            let taken = shorten_runs(rest, block_room(self.level), &mut self.block);
            // 32 bits by its definition.
            let crc = checksum(CrcAlgorithm::Crc32Bzip2, &rest[..taken]) as u32;
            stream_crc = folded(stream_crc, crc);
            self.write_block(crc, pause)?;
            rest = &rest[taken..];
        }
        debug_assert_eq!(MAGIC_BITS, 48);
        self.bits.put(END_MAGIC >> 24, 24);
        self.bits.put(END_MAGIC & 0xff_ffff, 24);
        self.bits.put(u64::from(stream_crc), 32);
        self.bits.finish();
        compressed.clear();
        compressed.append(&self.bits.bytes);
        Ok(())
    }
}

/// Which bytes are used: sixteen rows, of which those with none are left out.
fn write_used(used: &[u8], bits: &mut BitWriter) {
    let mut rows = [0_u64; 16];
    used.iter().for_each(|&byte| rows[usize::from(byte >> 4)] |= 1 << (15 - (byte & 15)));
    bits.put(rows.iter().fold(0, |map, &row| map << 1 | u64::from(row != 0)), 16);
    rows.iter().filter(|&&row| row != 0).for_each(|&row| bits.put(row, 16));
}

/// The groups' tables, each as its place in a list of the tables used last, in ones with a zero behind.
fn write_selectors(tables: &Bzip2Tables, bits: &mut BitWriter) {
    let mut recent = [0_u8, 1, 2, 3, 4, 5];
    for &selector in &tables.selectors {
        let place = recent.iter().position(|&table| table == selector).expect("six tables at most");
        recent.copy_within(..place, 1);
        recent[0] = selector;
        bits.put((1 << (place + 1)) - 2, place as u32 + 1);
    }
}

/// Code lengths: the first as it is, each one from the one before in steps: `10` up, `11` down, `0` there.
fn write_lengths(lengths: &[u8], bits: &mut BitWriter) {
    let mut current = lengths[0];
    bits.put(u64::from(current), 5);
    for &length in lengths {
        while current < length {
            bits.put(0b10, 2);
            current += 1;
        }
        while current > length {
            bits.put(0b11, 2);
            current -= 1;
        }
        bits.put(0, 1);
    }
}

fn write_symbols(symbols: &Symbols, tables: &Bzip2Tables, bits: &mut BitWriter) {
    let codes: Vec<_> = tables.lengths.iter().map(|lengths| codes(&lengths[..symbols.alphabet()])).collect();
    for (group, &selector) in symbols.list.chunks(GROUP_SYMBOLS).zip(&tables.selectors) {
        let codes = &codes[usize::from(selector)];
        for &symbol in group {
            let code = codes[usize::from(symbol)];
            bits.put(u64::from(code >> 5), code & 31);
        }
    }
}

/// Bits one after another, the highest of a byte first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Fewer than 32 bits that wait, in the lowest ones.
    waiting: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `count` bits of `value`, 32 at most; those above are zero.
    fn put(&mut self, value: u64, count: u32) {
        self.waiting = self.waiting << count | value;
        self.count += count;
        if self.count >= 32 {
            self.count -= 32;
            // The 32 bits that wait longest.
            self.bytes.extend_from_slice(&((self.waiting >> self.count) as u32).to_be_bytes());
        }
    }

    /// Fills the last byte with zeros.
    fn finish(&mut self) {
        while self.count > 0 {
            let taken = self.count.min(8);
            self.count -= taken;
            self.bytes.push(((self.waiting >> self.count) << (8 - taken)) as u8);
        }
        (self.waiting, self.count) = (0, 0);
    }
}
