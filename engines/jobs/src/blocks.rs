//! Standard input cut into blocks at the ends of records, a job a block (GNU parallel's `--pipe`): bytes go in, jobs come out.
//! Holds one block and the piece behind it that was read with it. Starts nothing.

use crate::list::{ListCause, ListItem};
use crate::spec::Spec;

/// How input is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSyntax {
    /// Bytes of a block, its last record aside where that alone is longer.
    pub block_bytes: usize,
    /// Records that make a block, instead of bytes.
    pub records: Option<usize>,
    /// What a record begins with.
    pub record_start: Vec<u8>,
    /// What a record ends with. Where both are empty, blocks are cut anywhere.
    pub record_end: Vec<u8>,
    /// Ends of that kind that make one record: 4 for lines of FASTQ.
    pub ends_per_record: usize,
    /// Lines at the beginning that each block gets.
    pub header_lines: usize,
}

/// LIMIT: a record, or the records of one block, larger than this are refused rather than held in memory.
const BLOCK_BYTES_MAX: usize = 1 << 30;

/// Cuts input into blocks.
#[derive(Debug)]
pub struct BlockReader {
    syntax: BlockSyntax,
    header: Vec<u8>,
    header_lines_left: usize,
    buffer: Vec<u8>,
    /// Up to here there is no cut that would do.
    searched: usize,
    /// Ends before that.
    ends: usize,
    /// Where the last record before that ends, from the buffer's beginning.
    last_record_end: usize,
    is_ended: bool,
    number: u64,
}

impl BlockReader {
    /// Nothing has been read yet.
    pub fn new(syntax: BlockSyntax) -> Self {
        Self {
            header: Vec::new(),
            header_lines_left: syntax.header_lines,
            buffer: Vec::new(),
            searched: 0,
            ends: 0,
            last_record_end: 0,
            is_ended: false,
            number: 0,
            syntax,
        }
    }

    /// Takes the next bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// There are no more bytes.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Whether all blocks have been given out.
    pub fn is_exhausted(&self) -> bool {
        self.is_ended && self.buffer.is_empty()
    }

    /// The block that the next fault would be about.
    pub(crate) fn place(&self) -> u64 {
        self.number + 1
    }

    /// The next block's job; none when more bytes are needed, or when there are no more.
    ///
    /// # Errors
    /// A block that is too large to be held.
    pub fn next_item(&mut self) -> Result<Option<ListItem>, ListCause> {
        self.take_header();
        let cut = match self.cut() {
            Some(cut) => cut,
            None if self.is_ended && !self.buffer.is_empty() => self.buffer.len(),
            None if self.buffer.len() > BLOCK_BYTES_MAX => return Err(ListCause::RecordTooLong(BLOCK_BYTES_MAX >> 20)),
            None => return Ok(None),
        };
        let rest = self.buffer.split_off(cut);
        let mut block = std::mem::replace(&mut self.buffer, rest);
        if !self.header.is_empty() {
            block.splice(..0, self.header.iter().copied());
        }
        (self.searched, self.ends, self.last_record_end) = (0, 0, 0);
        self.number += 1;
        let mut spec = Spec { number: self.number, ..Spec::default() };
        spec.more_mut().block = Some(block);
        Ok(Some(ListItem::Job(spec)))
    }

    fn take_header(&mut self) {
        while self.header_lines_left > 0 {
            match self.buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => self.header.extend(self.buffer.drain(..=end)),
                None if self.is_ended => self.header.append(&mut self.buffer),
                None => return,
            }
            self.header_lines_left -= 1;
        }
    }

    /// Where the block under way ends, if that is known.
    fn cut(&mut self) -> Option<usize> {
        if self.header_lines_left > 0 {
            return None;
        }
        let syntax = &self.syntax;
        let (block_bytes, per_record) = (syntax.block_bytes, syntax.ends_per_record.max(1));
        match syntax.records {
            Some(wanted) => self.search(|ends, _| ends == wanted * per_record),
            None if self.buffer.len() < block_bytes + syntax.record_start.len() => None,
            None if syntax.record_start.is_empty() && syntax.record_end.is_empty() => Some(block_bytes),
            None if per_record == 1 => self.cut_at_last_end(block_bytes),
            None => {
                let found = self.search(|ends, at| at >= block_bytes && ends.is_multiple_of(per_record));
                // The last one that fits, where one does; else the first that does not.
                found.map(|at| if at > block_bytes && self.last_record_end > 0 { self.last_record_end } else { at })
            }
        }
    }

    /// Looks back from where a block is full, then ahead for a record that is longer than a block.
    fn cut_at_last_end(&mut self, block_bytes: usize) -> Option<usize> {
        if self.searched == 0 {
            self.searched = block_bytes;
            let last = (1..=block_bytes).rev().find(|&at| self.is_boundary(at));
            if last.is_some() {
                return last;
            }
        }
        self.search(|ends, _| ends == 1)
    }

    /// Goes on from where the search stopped last, to an end of which `is_wanted` (how many there were, where it is).
    fn search(&mut self, is_wanted: impl Fn(usize, usize) -> bool) -> Option<usize> {
        // What a boundary at the very end is followed by is not known yet.
        let known = self.buffer.len().checked_sub(self.syntax.record_start.len())?;
        while self.searched < known {
            self.searched += 1;
            if self.is_boundary(self.searched) {
                self.ends += 1;
                if is_wanted(self.ends, self.searched) {
                    return Some(self.searched);
                }
                if self.ends.is_multiple_of(self.syntax.ends_per_record.max(1)) {
                    self.last_record_end = self.searched;
                }
            }
        }
        None
    }

    /// Whether one record ends and the next begins at `at`.
    fn is_boundary(&self, at: usize) -> bool {
        self.buffer[..at].ends_with(&self.syntax.record_end) && self.buffer[at..].starts_with(&self.syntax.record_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn syntax(block_bytes: usize, start: &str, end: &str) -> BlockSyntax {
        BlockSyntax {
            block_bytes,
            records: None,
            record_start: start.as_bytes().to_vec(),
            record_end: end.as_bytes().to_vec(),
            ends_per_record: 1,
            header_lines: 0,
        }
    }

    fn cut(syntax: BlockSyntax, pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut reader, mut blocks) = (BlockReader::new(syntax), Vec::new());
        let mut take = |reader: &mut BlockReader| {
            while let Some(ListItem::Job(spec)) = reader.next_item().expect("it is small") {
                blocks.push(spec.more.expect("a block").block.expect("a block"));
            }
        };
        for piece in pieces {
            reader.put(piece);
            take(&mut reader);
        }
        reader.end();
        take(&mut reader);
        assert!(reader.is_exhausted());
        blocks
    }

    fn texts(syntax: BlockSyntax, text: &str) -> Vec<String> {
        let blocks = cut(syntax, &[text.as_bytes()]);
        blocks.into_iter().map(|block| String::from_utf8(block).expect("text")).collect()
    }

    #[test]
    fn blocks_end_where_records_do() {
        assert_eq!(texts(syntax(5, "", "\n"), "a\nb\nc\nlonger\nd"), ["a\nb\n", "c\n", "longer\n", "d"]);
        assert_eq!(texts(syntax(4, "", ""), "abcdefghij"), ["abcd", "efgh", "ij"]);
        assert_eq!(texts(syntax(3, ">", ""), ">a\nb\n>c\n>d"), [">a\nb\n", ">c\n", ">d"]);
        assert_eq!(texts(syntax(3, "S", "E"), "S1ES22ES3E"), ["S1E", "S22E", "S3E"]);
        assert_eq!(texts(syntax(9, "", "\n"), ""), [""; 0]);
    }

    #[test]
    fn blocks_of_some_records_and_headers() {
        let counted = BlockSyntax { records: Some(2), ..syntax(1, "", "\n") };
        assert_eq!(texts(counted.clone(), "1\n22\n3\n4\n5"), ["1\n22\n", "3\n4\n", "5"]);
        let of_two_lines = BlockSyntax { ends_per_record: 2, ..syntax(9, "", "\n") };
        assert_eq!(texts(of_two_lines.clone(), "1\n2\n3\n4\n5\n6\n7"), ["1\n2\n3\n4\n", "5\n6\n7"]);
        assert_eq!(texts(of_two_lines, "longer\nthan\na\nb\n"), ["longer\nthan\n", "a\nb\n"]);
        let headed = BlockSyntax { header_lines: 1, ..counted };
        assert_eq!(texts(headed.clone(), "h\n1\n2\n3\n"), ["h\n1\n2\n", "h\n3\n"]);
        assert_eq!(texts(headed, "h"), [""; 0], "a header without records is no job");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_the_input_comes(
            input in prop::collection::vec(prop::sample::select(b"ab\nSE".to_vec()), 0..200),
            block_bytes in 1_usize..20,
            piece in 1_usize..30,
            records in prop::option::of(1_usize..4),
            ends_per_record in 1_usize..4,
            ends in prop::sample::select(vec![("", "\n"), ("S", "E"), ("S", ""), ("", ""), ("", "ab")]),
        ) {
            let syntax = BlockSyntax { records, ends_per_record, ..syntax(block_bytes, ends.0, ends.1) };
            let whole = cut(syntax.clone(), &[&input]);
            prop_assert_eq!(&whole.concat(), &input);
            let pieces: Vec<&[u8]> = input.chunks(piece).collect();
            prop_assert_eq!(&cut(syntax, &pieces), &whole);
            prop_assert!(whole.iter().all(|block| !block.is_empty()));
        }
    }
}
