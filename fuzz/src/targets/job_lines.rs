//! Any bytes as a job list, in one piece and in odd pieces: quotes, redirections, JSON records, raw lines, columns. The size of the
//! pieces decides nothing; jobs are numbered without gaps; no word holds a NUL.

use jobs::columns::Columns;
use jobs::fill::ArgumentRoom;
use jobs::list::{JsonRecords, ListItem, ListReader, Syntax};
use jobs::record::Utility;

/// Runs one input; its first byte chooses how lines are read.
pub fn run(input: &[u8]) {
    let Some((&choice, list)) = input.split_first() else { return };
    let syntax = syntax(choice);
    let utility = if choice & 1 == 0 { Utility::InTheList } else { Utility::Given };
    let whole = items(&syntax, utility, list, list.len().max(1));
    let pieces = items(&syntax, utility, list, 1 + usize::from(choice) % 7);
    assert_eq!(whole, pieces);
    let jobs = whole.0.iter().filter_map(|item| match item {
        ListItem::Job(spec) => Some(spec),
        ListItem::Barrier => None,
    });
    for (index, spec) in jobs.enumerate() {
        assert_eq!(spec.number, index as u64 + 1);
        assert!(spec.words.iter().all(|word| !word.contains(&0)));
    }
}

fn syntax(choice: u8) -> Syntax {
    let raw = |terminator, columns: Option<&str>, bytes| Syntax::Raw {
        terminator,
        words_per_job: 1 + usize::from(choice >> 6),
        columns: columns.map(|typed| Columns::parse(typed).expect("it is one")),
        room: ArgumentRoom::of_words(bytes),
    };
    match (choice >> 1) % 7 {
        0 => Syntax::Words { lines_per_job: 1, records: JsonRecords::Read },
        1 => Syntax::Words { lines_per_job: 2, records: JsonRecords::Read },
        2 => Syntax::Words { lines_per_job: 1, records: JsonRecords::AreWords },
        3 => raw(b'\n', None, 0),
        4 => raw(0, Some(", "), 0),
        5 => raw(b'\n', Some("(,)|x*;"), 0),
        _ => raw(b'\n', None, 64),
    }
}

/// All jobs and barriers, and the fault that ended the list, if one did.
fn items(syntax: &Syntax, utility: Utility, list: &[u8], piece_bytes: usize) -> (Vec<ListItem>, Option<String>) {
    let (mut reader, mut items) = (ListReader::new(syntax.clone(), utility), Vec::new());
    let mut pieces = list.chunks(piece_bytes);
    loop {
        match reader.next_item() {
            Ok(Some(item)) => items.push(item),
            Ok(None) if reader.is_exhausted() => return (items, None),
            Ok(None) => match pieces.next() {
                Some(piece) => reader.put(piece),
                None => reader.end(),
            },
            Err(fault) => return (items, Some(format!("{fault:?}"))),
        }
    }
}
