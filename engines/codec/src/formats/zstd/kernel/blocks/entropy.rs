//! The first step: everything of a block that is coded in bits. It needs the block and tables, and nothing of what was decoded before.

use super::literals::{LiteralsDecoder, LiteralsHead};
use super::sequences::{
    FRONT, OpenOffset, SEQUENCES_MAX, SEQUENCES_ROOM, Sequence, SequenceTables, decode, known_later, unknown,
};
use super::tables::{SequenceCode, SequenceTable, TableSource};
use super::{BLOCK_BYTES, BlockDefect, SLACK};
use std::sync::Arc;

/// A block's bytes, behind some zeros that the reading of bits may run into.
type BlockBytes = Arc<Vec<u8>>;

/// The tables that blocks have described up to here.
#[derive(Clone, Debug, Default)]
pub struct TablesSoFar {
    tree: Option<Tree>,
    sequences: [Option<TableSource>; 3],
}

/// The literals section of the block that described a tree.
#[derive(Clone, Debug)]
struct Tree {
    block: BlockBytes,
    section_bytes: usize,
}

/// The tables that a block needs.
#[derive(Clone, Debug)]
pub struct BlockTables {
    tree: Option<Tree>,
    literals: LiteralsHead,
    sequences: Option<SequencesSection>,
}

#[derive(Clone, Debug)]
struct SequencesSection {
    count: usize,
    /// Where their bits begin in the block.
    bits_from: usize,
    tables: [TableSource; 3],
}

/// A block as it stands in the frame, with what it needs of others.
#[derive(Debug)]
pub enum CompressedBlock {
    /// Its bytes as they are.
    Raw(Vec<u8>),
    /// One byte, so many times.
    Repeated(u8, usize),
    /// Literals and sequences.
    Coded(BlockBytes, BlockTables),
}

impl TablesSoFar {
    /// Zeros that have to stand in front of a block of literals and sequences.
    pub const FRONT: usize = FRONT;

    /// Reads the heads of a block of literals and sequences, whose content stands behind [`TablesSoFar::FRONT`] zeros.
    ///
    /// # Errors
    ///
    /// A head that is none, or a table that nobody has described.
    pub fn block(&mut self, bytes: Vec<u8>) -> Result<CompressedBlock, BlockDefect> {
        let block = Arc::new(bytes);
        let content = block.get(FRONT..).unwrap_or_default();
        if content.len() < 2 {
            return Err("it is too short to be one");
        }
        let literals = LiteralsHead::read(content)?;
        let section_bytes = literals.section_bytes();
        if literals.has_tree() {
            self.tree = Some(Tree { block: Arc::clone(&block), section_bytes });
        }
        let tree = self.tree.clone().filter(|_| literals.needs_tree());
        let sequences = self.sequences(content, section_bytes)?;
        let tables = BlockTables { tree, literals, sequences };
        Ok(CompressedBlock::Coded(block, tables))
    }

    /// RFC 8878 section 3.1.1.3.2.1.
    fn sequences(&mut self, content: &[u8], from: usize) -> Result<Option<SequencesSection>, BlockDefect> {
        const SHORT: BlockDefect = "its sequences break off";
        let head = content.get(from..).unwrap_or_default();
        let byte = |at: usize| head.get(at).map(|&byte| usize::from(byte)).ok_or(SHORT);
        let (count, mut at) = match byte(0)? {
            few @ 0..128 => (few, 1),
            255 => (byte(1)? + (byte(2)? << 8) + 0x7f00, 3),
            high => (((high - 128) << 8) + byte(1)?, 2),
        };
        if count == 0 {
            return if at == head.len() { Ok(None) } else { Err("something follows behind no sequences") };
        }
        let modes = byte(at)? as u8;
        at += 1;
        if modes & 3 != 0 {
            return Err("it has reserved bits set");
        }
        if count > SEQUENCES_MAX {
            return Err("it has more sequences than fit a block");
        }
        for (number, code) in SequenceCode::ALL.into_iter().enumerate() {
            let mode = modes >> (6 - 2 * number) & 3;
            let before = self.sequences[number].as_ref();
            let (table, length) = TableSource::read(code, mode, head.get(at..).unwrap_or_default(), before)?;
            self.sequences[number] = Some(table);
            at += length;
        }
        let [Some(literal_lengths), Some(offsets), Some(match_lengths)] = self.sequences.clone() else {
            return Err("a table is repeated that no block has described");
        };
        let tables = [literal_lengths, offsets, match_lengths];
        Ok(Some(SequencesSection { count, bits_from: FRONT + from + at, tables }))
    }
}

/// A block after the first step: literals, and sequences that say how to place them and what to repeat.
///
/// Invariants, which the copying step rests on: there are `literals_size` literals and `SLACK` bytes behind them; the literals of the first `count` sequences
/// are no more than that; with their matches and the literals that are left they come to `size` bytes, a block at most; the others of the `SEQUENCES_ROOM`
/// sequences are there, and so are those that `open` names.
pub struct DecodedBlock {
    pub(super) literals: Vec<u8>,
    pub(super) literals_size: usize,
    pub(super) sequences: Vec<Sequence>,
    pub(super) count: usize,
    pub(super) open: Vec<OpenOffset>,
    pub(super) size: usize,
    /// The least source of a match, counted from the start of the block; 0 if all are within.
    pub(super) least: i32,
    pub(super) repeats: [i32; 3],
}

impl Default for DecodedBlock {
    fn default() -> Self {
        Self {
            literals: vec![0; BLOCK_BYTES + SLACK],
            literals_size: 0,
            sequences: vec![Sequence::default(); SEQUENCES_ROOM],
            count: 0,
            open: Vec::new(),
            size: 0,
            least: 0,
            repeats: [unknown(0), unknown(1), unknown(2)],
        }
    }
}

impl DecodedBlock {
    /// Bytes that it comes to.
    pub fn bytes(&self) -> usize {
        self.size
    }

    fn clear(&mut self) {
        (self.literals_size, self.count, self.size, self.least) = (0, 0, 0, 0);
        self.open.clear();
        self.repeats = [unknown(0), unknown(1), unknown(2)];
    }

    /// The offset that is known once those at the block's start are.
    pub(super) fn resolve(offset: i32, at_start: [i64; 3]) -> i64 {
        if offset > 0 {
            return i64::from(offset);
        }
        let (repeat, minus) = known_later(offset);
        at_start.get(usize::from(repeat)).map_or(0, |known| known - i64::from(minus))
    }
}

/// Does the first step; one a thread.
pub struct BlockDecoder {
    literals: LiteralsDecoder,
    tables: SequenceTables,
}

impl BlockDecoder {
    /// Whether this CPU has the instructions that it is made of.
    pub fn is_possible() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
    }

    /// One, if this CPU has the instructions and there is memory for it.
    pub fn new() -> Option<Self> {
        if !Self::is_possible() {
            return None;
        }
        Some(Self {
            literals: LiteralsDecoder::new()?,
            tables: SequenceTables {
                literal_lengths: SequenceTable::new(SequenceCode::LiteralLength),
                offsets: SequenceTable::new(SequenceCode::Offset),
                match_lengths: SequenceTable::new(SequenceCode::MatchLength),
            },
        })
    }

    /// Decodes a block, which makes `block_bytes` at most.
    ///
    /// # Errors
    ///
    /// Damaged data.
    pub fn decode(
        &mut self,
        compressed: &CompressedBlock,
        block_bytes: usize,
        into: &mut DecodedBlock,
    ) -> Result<(), BlockDefect> {
        into.clear();
        match compressed {
            CompressedBlock::Raw(bytes) => {
                let room = into.literals.get_mut(..bytes.len()).ok_or(TOO_LARGE)?;
                room.copy_from_slice(bytes);
                into.literals_size = bytes.len();
            }
            CompressedBlock::Repeated(byte, count) => {
                into.literals.get_mut(..*count).ok_or(TOO_LARGE)?.fill(*byte);
                into.literals_size = *count;
            }
            CompressedBlock::Coded(block, tables) => self.coded(block, tables, into)?,
        }
        if into.count == 0 {
            into.size = into.literals_size;
        }
        if into.size > block_bytes.min(BLOCK_BYTES) {
            into.clear();
            return Err(TOO_LARGE);
        }
        Ok(())
    }

    fn coded(&mut self, block: &[u8], tables: &BlockTables, into: &mut DecodedBlock) -> Result<(), BlockDefect> {
        let section = &block[FRONT..FRONT + tables.literals.section_bytes()];
        let tree = tables.tree.as_ref().map(|tree| &tree.block[FRONT..FRONT + tree.section_bytes]);
        let room = &mut into.literals[..BLOCK_BYTES + SLACK];
        self.literals.decode(&tables.literals, section, tree, room)?;
        into.literals_size = tables.literals.size;
        let Some(sequences) = &tables.sequences else { return Ok(()) };
        let [literal_lengths, offsets, match_lengths] = &sequences.tables;
        self.tables.literal_lengths.become_one(literal_lengths);
        self.tables.offsets.become_one(offsets);
        self.tables.match_lengths.become_one(match_lengths);
        // SAFETY: `new` has found the instructions.
        #[expect(unsafe_code, reason = "a function for CPUs that have certain instructions")]
        let end = unsafe {
            decode(
                &self.tables,
                block,
                sequences.bits_from,
                sequences.count,
                &mut into.sequences[..SEQUENCES_ROOM - 16],
                &mut into.open,
            )
        };
        let end = end.inspect_err(|_| into.open.clear())?;
        let made = &into.sequences[..end.count];
        let placed: usize = made.iter().map(|sequence| usize::from(sequence.literals)).sum();
        let least = made.iter().map(|sequence| sequence.from).min().unwrap_or(0).min(0);
        let Some(left) = into.literals_size.checked_sub(placed) else {
            into.open.clear();
            return Err("its sequences need more literals than it has");
        };
        (into.count, into.size, into.least, into.repeats) = (end.count, end.bytes + left, least, end.repeats);
        Ok(())
    }
}

const TOO_LARGE: BlockDefect = "it makes more bytes than a block may have";
