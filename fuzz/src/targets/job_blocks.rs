//! Any bytes as input of `--pipe`, in one piece and in odd pieces: blocks are the same, none is empty, and together they are the
//! input, headers aside.

use jobs::blocks::{BlockReader, BlockSyntax};
use jobs::list::ListItem;

/// Runs one input; its first three bytes choose how it is cut.
pub fn run(input: &[u8]) {
    let [choice, block_bytes, piece_bytes, input @ ..] = input else { return };
    let (record_start, record_end) =
        [("", "\n"), ("", ""), (">", ""), ("", "ab"), ("{", "}\n")][usize::from(choice % 5)];
    let syntax = BlockSyntax {
        block_bytes: 1 + usize::from(*block_bytes),
        records: (choice & 16 != 0).then_some(1 + usize::from(choice >> 6)),
        record_start: record_start.as_bytes().to_vec(),
        record_end: record_end.as_bytes().to_vec(),
        ends_per_record: 1 + usize::from(choice >> 5 & 1),
        header_lines: 0,
    };
    let whole = blocks(&syntax, input, input.len().max(1));
    assert_eq!(whole, blocks(&syntax, input, 1 + usize::from(*piece_bytes)));
    assert!(whole.iter().all(|block| !block.is_empty()) && whole.concat() == input);
    let headed = blocks(&BlockSyntax { header_lines: 1, ..syntax }, input, 9);
    let header_bytes = input.iter().position(|&byte| byte == b'\n').map_or(input.len(), |at| at + 1);
    assert!(headed.iter().all(|block| block.starts_with(&input[..header_bytes])));
}

fn blocks(syntax: &BlockSyntax, input: &[u8], piece_bytes: usize) -> Vec<Vec<u8>> {
    let mut reader = BlockReader::new(syntax.clone());
    let (mut blocks, mut pieces) = (Vec::new(), input.chunks(piece_bytes));
    loop {
        match reader.next_item().expect("the input is small") {
            Some(ListItem::Job(spec)) => blocks.extend(spec.more.and_then(|more| more.block)),
            Some(ListItem::Barrier) => unreachable!("blocks have no barriers"),
            None if reader.is_exhausted() => return blocks,
            None => match pieces.next() {
                Some(piece) => reader.put(piece),
                None => reader.end(),
            },
        }
    }
}
