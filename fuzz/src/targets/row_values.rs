//! Values of any bytes as a row of text, as dumps of MariaDB and loads write them: they are read as they were, NULL apart from an empty one, and no
//! value ends a row.

use database::rows::{RowFormat, RowValues, TextFormat, escape};

/// The input's values end with bytes of 255; one of 254 alone is NULL.
pub fn run(input: &[u8]) {
    let values: Vec<Option<&[u8]>> =
        input.split(|byte| *byte == 255).map(|value| (value != [254]).then_some(value)).collect();
    let mut row = Vec::new();
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            row.push(b'\t');
        }
        match value {
            Some(value) => escape(value, &mut row),
            None => row.extend_from_slice(b"\\N"),
        }
    }
    assert!(!row.contains(&b'\n'), "a value ends the row");
    let format = RowFormat::Text(TextFormat::default());
    let mut read = RowValues::default();
    read.read_content(&format, &row).expect("what was written is read");
    assert_eq!(read.iter().collect::<Vec<_>>(), values);
    row.push(b'\n');
    let mut rows = format.rows(&row);
    assert_eq!((rows.next(), rows.next()), (Some(0..row.len()), None), "it is one row");
}

/// Values with all that is escaped.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![b"a\tb\nc\\\xff\xfe\xff\xffN\\N\xff\r\n\0\x08\x0c\x0b\xff\\.".to_vec(), b"\\".to_vec()]
}
