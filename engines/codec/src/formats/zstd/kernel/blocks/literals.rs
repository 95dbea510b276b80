//! The literals of a block (RFC 8878 section 3.1.1.3.1). Their Huffman streams are left to libzstd: it is handed a frame of one block that has these
//! literals and no sequences, which decodes to them. That costs nothing that can be measured, and every check of the library holds.

use super::{BLOCK_BYTES, BlockDefect, SLACK};
use zstd_safe::DCtx;

/// How literals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiteralsKind {
    Raw,
    /// One byte again and again.
    Repeated,
    Huffman,
    /// By the tree of a block before.
    Treeless,
}

/// What the head of a literals section tells.
#[derive(Clone, Copy, Debug)]
pub struct LiteralsHead {
    kind: LiteralsKind,
    /// Bytes of the head.
    head: usize,
    /// Bytes that they decode to.
    pub size: usize,
    packed: usize,
}

impl LiteralsHead {
    /// Reads it at the beginning of a block's content.
    pub fn read(block: &[u8]) -> Result<Self, BlockDefect> {
        const SHORT: BlockDefect = "its literals break off";
        let first = *block.first().ok_or(SHORT)?;
        let kind = [LiteralsKind::Raw, LiteralsKind::Repeated, LiteralsKind::Huffman, LiteralsKind::Treeless]
            [usize::from(first & 3)];
        let format = first >> 2 & 3;
        let word = block.iter().take(5).rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        let field = |from: u32, bits: u32| (word >> from & ((1 << bits) - 1)) as usize;
        let (head, size, packed) = match (kind, format) {
            (LiteralsKind::Raw | LiteralsKind::Repeated, 0 | 2) => (1, field(3, 5), 0),
            (LiteralsKind::Raw | LiteralsKind::Repeated, 1) => (2, field(4, 12), 0),
            (LiteralsKind::Raw | LiteralsKind::Repeated, _) => (3, field(4, 20), 0),
            (_, 0 | 1) => (3, field(4, 10), field(14, 10)),
            (_, 2) => (4, field(4, 14), field(18, 14)),
            (_, _) => (5, field(4, 18), field(22, 18)),
        };
        let packed = match kind {
            LiteralsKind::Raw => size,
            LiteralsKind::Repeated => 1,
            LiteralsKind::Huffman | LiteralsKind::Treeless => packed,
        };
        if size > BLOCK_BYTES {
            return Err("it has more literals than a block may have");
        }
        if head + packed > block.len() {
            return Err(SHORT);
        }
        Ok(Self { kind, head, size, packed })
    }

    /// Bytes of the whole section.
    pub fn section_bytes(&self) -> usize {
        self.head + self.packed
    }

    /// Whether a tree stands here, which later blocks may use.
    pub fn has_tree(&self) -> bool {
        self.kind == LiteralsKind::Huffman
    }

    /// Whether the tree of a block before is needed.
    pub fn needs_tree(&self) -> bool {
        self.kind == LiteralsKind::Treeless
    }
}

/// Decodes literals with libzstd's help.
pub struct LiteralsDecoder {
    context: DCtx<'static>,
    frame: Vec<u8>,
    /// Literals of two blocks.
    both: Vec<u8>,
}

/// Magic number, no options, a window of 128 KiB.
const FRAME_HEAD: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];

const DAMAGED: BlockDefect = "its literals are damaged";

impl LiteralsDecoder {
    /// One, if there is memory for it.
    pub fn new() -> Option<Self> {
        Some(Self { context: DCtx::try_create()?, frame: Vec::new(), both: Vec::new() })
    }

    /// Decodes `section` into `literals`, which has room for a block and the slack behind it. `tree` is the section of the block that described the tree.
    pub fn decode(
        &mut self,
        head: &LiteralsHead,
        section: &[u8],
        tree: Option<&[u8]>,
        literals: &mut [u8],
    ) -> Result<(), BlockDefect> {
        match head.kind {
            LiteralsKind::Raw => literals[..head.size].copy_from_slice(&section[head.head..]),
            LiteralsKind::Repeated => literals[..head.size].fill(section[head.head]),
            LiteralsKind::Huffman => {
                self.begin();
                self.block(section, true);
                self.run(head.size, literals)?;
            }
            LiteralsKind::Treeless => {
                // The block that described the tree goes before: which of its two decoders the library takes depends on that block's sizes, and they
                // do not refuse the same damage.
                let describing = tree.ok_or("its literals need a tree that no block has described")?;
                let before = LiteralsHead::read(describing)?.size;
                self.begin();
                self.block(describing, false);
                self.block(section, true);
                let mut both = std::mem::take(&mut self.both);
                both.resize(2 * (BLOCK_BYTES + SLACK), 0);
                let outcome = self.run(before + head.size, &mut both);
                literals[..head.size].copy_from_slice(&both[before..before + head.size]);
                self.both = both;
                outcome?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.frame.clear();
        self.frame.extend_from_slice(&FRAME_HEAD);
    }

    /// A block of these literals and no sequences.
    fn block(&mut self, section: &[u8], is_last: bool) {
        let word = (section.len() as u32 + 1) << 3 | 2 << 1 | u32::from(is_last);
        self.frame.extend_from_slice(&word.to_le_bytes()[..3]);
        self.frame.extend_from_slice(section);
        self.frame.push(0);
    }

    fn run(&mut self, size: usize, into: &mut [u8]) -> Result<(), BlockDefect> {
        match self.context.decompress(into, &self.frame) {
            Ok(decoded) if decoded == size => Ok(()),
            _ => Err(DAMAGED),
        }
    }
}
