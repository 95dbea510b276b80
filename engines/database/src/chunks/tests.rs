//! Cutting: whatever a read brings, chunks are whole rows, and their places are those of the input.

use super::*;
use crate::rows::{CsvFormat, TextFormat};
use proptest::prelude::*;

fn rules(format: RowFormat, chunk_bytes: usize) -> ChunkRules {
    ChunkRules {
        format,
        chunk_bytes,
        row_bytes_max: 1 << 20,
        has_header: false,
        is_of_database: false,
        refuses_end_marker: true,
    }
}

fn csv(chunk_bytes: usize) -> ChunkRules {
    rules(RowFormat::Csv(CsvFormat::default()), chunk_bytes)
}

fn text(chunk_bytes: usize) -> ChunkRules {
    rules(RowFormat::Text(TextFormat::default()), chunk_bytes)
}

/// Gives a few bytes at a time.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = room.len().min(self.1).min(self.0.len());
        room[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn all(rules: &ChunkRules, bytes: &[u8], at_once: usize) -> Result<Vec<RowChunk>, CutFailure> {
    let mut reader = Dribble(bytes, at_once);
    let mut cutter = ChunkCutter::new(rules, 0, &mut reader);
    cutter.header()?;
    let mut chunks = Vec::new();
    while let Some(chunk) = cutter.next(None, Vec::new())? {
        chunks.push(chunk);
    }
    Ok(chunks)
}

fn defect(rules: &ChunkRules, bytes: &[u8]) -> (u64, u64, InputDefect) {
    match all(rules, bytes, 1000) {
        Err(CutFailure::Defect(place, defect)) => (place.line, place.offset, defect),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wrong_is_found_with_line_and_offset() {
    assert_eq!(defect(&csv(8), b"1,a\n2,\"b\n3,c\n"), (2, 6, InputDefect::OpenQuote));
    assert_eq!(defect(&csv(8), b"1,a\n\\.\n3,c\n"), (2, 4, InputDefect::EndMarker));
    assert_eq!(defect(&text(8), b"1\n\\.\n3\n"), (2, 2, InputDefect::EndMarker));
    assert_eq!(defect(&csv(8), b"\xff\xfe1\0"), (1, 0, InputDefect::Utf16));
    assert_eq!(defect(&csv(8), b"1,a\r2,b\r"), (1, 0, InputDefect::ReturnsAlone));
    let short = ChunkRules { row_bytes_max: 100, ..csv(8) };
    let long = [b"1,\"".as_slice(), &[b'x'; 70_000]].concat();
    assert_eq!(defect(&short, &long), (1, 2, InputDefect::LongRow { limit: 100, is_quoted: true }));
}

#[test]
fn a_marker_that_ends_a_text_is_no_row_and_one_in_quotes_is() {
    for end in ["\\.\n", "\\.", "\\.\n\n\n", "\\.\r\n"] {
        let chunks = all(&text(1000), format!("1\n2\n{end}").as_bytes(), 1000).expect("sound");
        assert_eq!(chunks[0].bytes, b"1\n2\n", "{end:?}");
        assert_eq!(chunks.len(), 1);
    }
    assert_eq!(all(&csv(1000), b"\"\n\\.\n\"\n", 1000).expect("sound").len(), 1);
    let newer = ChunkRules { refuses_end_marker: false, ..csv(1000) };
    assert_eq!(all(&newer, b"\\.\n1\n", 1000).expect("sound")[0].bytes, b"\\.\n1\n");
}

#[test]
fn a_mark_and_a_header_go_before_rows_are_cut() {
    let rules = ChunkRules { has_header: true, ..csv(4) };
    let bytes = b"\xef\xbb\xbfa,\"b\nc\"\n1,2\n3,4\n";
    let chunks = all(&rules, bytes, 5).expect("sound");
    let places: Vec<_> = chunks.iter().map(|chunk| (chunk.offset, chunk.first_line)).collect();
    assert_eq!(chunks.iter().flat_map(|chunk| chunk.bytes.clone()).collect::<Vec<_>>(), b"1,2\n3,4\n");
    assert_eq!(places, [(11, 3), (15, 4)]);
    assert!(all(&rules, b"", 1).expect("an empty input").is_empty());
    assert!(all(&rules, b"a,b", 1).expect("a header alone").is_empty());
}

#[test]
fn a_row_beyond_a_chunk_is_one_chunk() {
    let long = [b"1,\"".as_slice(), &[b'\n'; 5000], b"\"\n2,b\n"].concat();
    let chunks = all(&csv(16), &long, 700).expect("sound");
    assert_eq!(chunks[0].lines, 5001);
    assert_eq!(chunks.last().expect("some").place(0).line, 5002);
}

proptest! {
    #[test]
    fn chunks_are_the_input_again_in_whole_rows(
        bytes in proptest::collection::vec(proptest::sample::select(&b"ab,\"\n"[..]), 0..200),
        chunk_bytes in 1_usize..50,
        at_once in 1_usize..80,
    ) {
        let rules = csv(chunk_bytes);
        let is_open = bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        match all(&rules, &bytes, at_once) {
            Ok(chunks) => {
                prop_assert!(!is_open);
                let (mut offset, mut line) = (0, 1);
                for chunk in &chunks {
                    prop_assert_eq!((chunk.offset, chunk.first_line), (offset, line));
                    prop_assert_eq!(chunk.bytes.iter().filter(|byte| **byte == b'"').count() % 2, 0);
                    (offset, line) = (chunk.end(), line + chunk.lines);
                }
                let again: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
                prop_assert_eq!(again, bytes);
            }
            Err(CutFailure::Defect(_, InputDefect::OpenQuote)) => prop_assert!(is_open),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }

    /// A second run that passes over what is done cuts the rest as rows.
    #[test]
    fn what_is_done_is_passed_over(
        rows in proptest::collection::vec("[a-z]{0,9}|\"[a-z\n]{0,9}\"", 1..30),
        from in 0_usize..30,
        until in 0_usize..30,
    ) {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect();
        let ends: Vec<usize> = csv(1).format.rows(&bytes).map(|row| row.end).collect();
        let from = ends.get(from).copied().unwrap_or(0);
        let until = ends.get(until).copied().filter(|until| *until > from);
        let rules = csv(20);
        let mut reader = Dribble(&bytes, 11);
        let mut cutter = ChunkCutter::new(&rules, 0, &mut reader);
        cutter.header().expect("sound");
        cutter.skip_to(from as u64, 7).expect("sound");
        let mut taken = Vec::new();
        while until.is_none_or(|until| from + taken.len() < until) {
            let Some(chunk) = cutter.next(until.map(|until| until as u64), Vec::new()).expect("sound") else { break };
            taken.extend(chunk.bytes);
        }
        prop_assert_eq!(&taken[..], &bytes[from..until.unwrap_or(bytes.len())]);
    }
}
