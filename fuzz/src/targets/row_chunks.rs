//! Any bytes as rows; the first byte chooses format and sizes. Cutting ends, chunks are the input again without header and mark, their places are right, each is whole rows, and
//! values of rows can be read or are refused.

use database::chunks::{ChunkCutter, ChunkRules};
use database::rows::{CsvFormat, RowFormat, RowValues, TextFormat};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let rules = rules(choice);
    let mut reader = bytes;
    let mut cutter = ChunkCutter::new(&rules, 0, &mut reader);
    if cutter.header().is_err() {
        return;
    }
    let (mut offset, mut values) = (cutter.offset(), RowValues::default());
    while let Ok(Some(chunk)) = cutter.next(None, Vec::new()) {
        assert!(!chunk.bytes.is_empty() && chunk.offset == offset);
        let begin = usize::try_from(offset).expect("it fits");
        assert_eq!(bytes[begin..begin + chunk.bytes.len()], chunk.bytes, "at {offset}");
        assert_eq!(chunk.first_line, 1 + lines(&bytes[..begin]), "at {offset}");
        offset = chunk.end();
        let rows: Vec<_> = rules.format.rows(&chunk.bytes).collect();
        assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((rows[0].start, rows[rows.len() - 1].end), (0, chunk.bytes.len()));
        for row in rows {
            if values.read(&rules.format, &chunk.bytes[row.clone()]).is_ok() {
                let bytes: usize = values.iter().flatten().map(<[u8]>::len).sum();
                assert!(!values.is_empty() && bytes <= row.len());
            }
        }
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn rules(choice: u8) -> ChunkRules {
    let format = match choice & 3 {
        0 => RowFormat::Csv(CsvFormat::default()),
        1 => RowFormat::Csv(CsvFormat { escape: b'\\', ..CsvFormat::default() }),
        2 => RowFormat::Csv(CsvFormat { delimiter: b';', quote: b'\'', escape: b'\'', null: b"-".to_vec() }),
        _ => RowFormat::Text(TextFormat::default()),
    };
    ChunkRules {
        format,
        chunk_bytes: 1 << (choice >> 2 & 7),
        row_bytes_max: 1 << 16,
        has_header: choice & 32 != 0,
        is_of_database: false,
        refuses_end_marker: choice & 64 != 0,
    }
}

/// Rows of all formats behind a byte that chooses the rules.
pub fn seeds() -> Vec<Vec<u8>> {
    let csv = b"\xef\xbb\xbfid,name\n1,\"a\n\"\"b\"\"\",\r\n2,,\"\"\n3,\"x\\\"\ny\"\n4,-;'a''\n'\n";
    let text = b"1\ta\\\nb\\\\\n2\t\\N\\x41\\101\n\\.\n\n";
    (0..16).flat_map(|choice: u8| [&csv[..], text].map(|rows| [&[choice.wrapping_mul(17)], rows].concat())).collect()
}
