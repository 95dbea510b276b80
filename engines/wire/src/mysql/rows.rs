//! Rows of MySQL as text: those of plain statements are text, those of prepared ones are turned into what a plain one shows.

use super::fields::PacketFields;
use crate::error::WireError;
use crate::reply::TextRow;
use mysql_common::constants::{ColumnFlags, ColumnType};
use std::fmt::Write;
use std::io;

/// What must be known of a column to read its binary values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnForm {
    kind: ColumnType,
    is_unsigned: bool,
    is_zero_filled: bool,
    display_bytes: u32,
    decimals: u8,
}

impl ColumnForm {
    /// Reads a definition: six names, then what the values are.
    pub fn of(payload: &[u8]) -> Result<Self, WireError> {
        let mut fields = PacketFields(payload);
        let mut parse = || {
            for _ in 0..6 {
                fields.string()?;
            }
            let _bytes_that_follow = fields.number()?;
            let _character_set = fields.u16()?;
            let display_bytes = fields.u32()?;
            let kind = ColumnType::try_from(fields.u8()?).ok()?;
            let flags = ColumnFlags::from_bits_truncate(fields.u16()?);
            let is_unsigned = flags.contains(ColumnFlags::UNSIGNED_FLAG);
            let is_zero_filled = flags.contains(ColumnFlags::ZEROFILL_FLAG);
            Some(Self { kind, is_unsigned, is_zero_filled, display_bytes, decimals: fields.u8()? })
        };
        parse().ok_or_else(|| WireError::protocol("the definition of a column that cannot be read"))
    }
}

/// What comes of a row that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPart<'a> {
    /// The next value; none for NULL.
    Value(Option<&'a [u8]>),
    /// The row is complete.
    End,
}

/// Passes a row of a plain statement on.
pub(super) fn pass_text_row(
    payload: &[u8],
    take: &mut impl FnMut(RowPart<'_>) -> io::Result<()>,
) -> Result<(), WireError> {
    let mut fields = PacketFields(payload);
    while !fields.rest().is_empty() {
        let value = fields.nullable_string().ok_or_else(|| WireError::protocol("a row shorter than its values"))?;
        take(RowPart::Value(value))?;
    }
    Ok(take(RowPart::End)?)
}

/// A row of a plain statement.
pub(super) fn put_text_row(payload: &[u8], row: &mut TextRow) -> Result<(), WireError> {
    row.clear();
    let mut fields = PacketFields(payload);
    while !fields.rest().is_empty() {
        let value = fields.nullable_string().ok_or_else(|| WireError::protocol("a row shorter than its values"))?;
        row.push(value);
    }
    Ok(())
}

/// A row of a prepared statement: a zero, a bit for each column that is NULL, the values of the others.
pub(super) fn put_binary_row(payload: &[u8], columns: &[ColumnForm], row: &mut TextRow) -> Result<(), WireError> {
    let short = || WireError::protocol("a row shorter than its values");
    row.clear();
    let mut fields = PacketFields(payload.get(1..).ok_or_else(short)?);
    let nulls = fields.take((columns.len() + 9) / 8).ok_or_else(short)?;
    let mut text = String::new();
    for (index, column) in columns.iter().enumerate() {
        // The first two bits are not used.
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            row.push(None);
            continue;
        }
        text.clear();
        match shown(*column, &mut fields, &mut text).ok_or_else(short)? {
            Some(bytes) => row.push(Some(bytes)),
            None => row.push(Some(text.as_bytes())),
        }
    }
    Ok(())
}

/// A value: its bytes, if they are text already; written into `text` otherwise.
fn shown<'a>(column: ColumnForm, fields: &mut PacketFields<'a>, text: &mut String) -> Option<Option<&'a [u8]>> {
    // Writing into a string does not fail.
    let mut put = |arguments: std::fmt::Arguments| text.write_fmt(arguments).ok();
    let width = if column.is_zero_filled { column.display_bytes.min(255) as usize } else { 0 };
    match column.kind {
        ColumnType::MYSQL_TYPE_TINY if column.is_unsigned => put(format_args!("{:0width$}", fields.u8()?))?,
        ColumnType::MYSQL_TYPE_TINY => put(format_args!("{}", fields.u8()?.cast_signed()))?,
        ColumnType::MYSQL_TYPE_YEAR => put(format_args!("{:04}", fields.u16()?))?,
        ColumnType::MYSQL_TYPE_SHORT if column.is_unsigned => put(format_args!("{:0width$}", fields.u16()?))?,
        ColumnType::MYSQL_TYPE_SHORT => put(format_args!("{}", fields.u16()?.cast_signed()))?,
        ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24 if column.is_unsigned => {
            put(format_args!("{:0width$}", fields.u32()?))?;
        }
        ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24 => {
            put(format_args!("{}", fields.u32()?.cast_signed()))?;
        }
        ColumnType::MYSQL_TYPE_LONGLONG if column.is_unsigned => put(format_args!("{:0width$}", fields.u64()?))?,
        ColumnType::MYSQL_TYPE_LONGLONG => put(format_args!("{}", fields.u64()?.cast_signed()))?,
        ColumnType::MYSQL_TYPE_FLOAT => put(format_args!("{}", f32::from_bits(fields.u32()?)))?,
        ColumnType::MYSQL_TYPE_DOUBLE => put(format_args!("{}", f64::from_bits(fields.u64()?)))?,
        ColumnType::MYSQL_TYPE_DATE
        | ColumnType::MYSQL_TYPE_NEWDATE
        | ColumnType::MYSQL_TYPE_DATETIME
        | ColumnType::MYSQL_TYPE_TIMESTAMP => put_date(column, fields, text)?,
        ColumnType::MYSQL_TYPE_TIME => put_time(column, fields, text)?,
        ColumnType::MYSQL_TYPE_NULL => {}
        _ => return fields.string().map(Some),
    }
    Some(None)
}

/// Parts that are zero at the end are left out on the wire.
fn put_date(column: ColumnForm, fields: &mut PacketFields, text: &mut String) -> Option<()> {
    let parts = fields.string()?;
    let mut parts = PacketFields(parts);
    let (year, month, day) = (parts.u16().unwrap_or(0), parts.u8().unwrap_or(0), parts.u8().unwrap_or(0));
    write!(text, "{year:04}-{month:02}-{day:02}").ok()?;
    if matches!(column.kind, ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE) {
        return Some(());
    }
    let (hour, minute, second) = (parts.u8().unwrap_or(0), parts.u8().unwrap_or(0), parts.u8().unwrap_or(0));
    write!(text, " {hour:02}:{minute:02}:{second:02}").ok()?;
    put_fraction(parts.u32().unwrap_or(0), column.decimals, text)
}

fn put_time(column: ColumnForm, fields: &mut PacketFields, text: &mut String) -> Option<()> {
    let parts = fields.string()?;
    let mut parts = PacketFields(parts);
    let is_negative = parts.u8().unwrap_or(0) != 0;
    let days = u64::from(parts.u32().unwrap_or(0));
    let (hour, minute, second) = (parts.u8().unwrap_or(0), parts.u8().unwrap_or(0), parts.u8().unwrap_or(0));
    let sign = if is_negative { "-" } else { "" };
    write!(text, "{sign}{:02}:{minute:02}:{second:02}", days * 24 + u64::from(hour)).ok()?;
    put_fraction(parts.u32().unwrap_or(0), column.decimals, text)
}

/// As many digits as the column has; a server that does not say how many (31) shows none.
fn put_fraction(microseconds: u32, decimals: u8, text: &mut String) -> Option<()> {
    if !(1..=6).contains(&decimals) {
        return Some(());
    }
    let digits = format!("{:06}", microseconds.min(999_999));
    write!(text, ".{}", &digits[..usize::from(decimals)]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnType) -> ColumnForm {
        ColumnForm { kind, is_unsigned: false, is_zero_filled: false, display_bytes: 0, decimals: 0 }
    }

    fn shown_values(payload: &[u8], columns: &[ColumnForm]) -> Result<Vec<String>, WireError> {
        let mut row = TextRow::default();
        put_binary_row(payload, columns, &mut row)?;
        let text =
            |value: Option<&[u8]>| value.map_or("NULL".to_owned(), |value| String::from_utf8_lossy(value).into_owned());
        Ok(row.values().map(text).collect())
    }

    #[test]
    fn binary_values_are_shown_as_the_server_shows_them() {
        let columns = [
            column(ColumnType::MYSQL_TYPE_LONG),
            column(ColumnType::MYSQL_TYPE_VAR_STRING),
            column(ColumnType::MYSQL_TYPE_VAR_STRING),
            ColumnForm { decimals: 3, ..column(ColumnType::MYSQL_TYPE_DATETIME) },
            column(ColumnType::MYSQL_TYPE_TIME),
            column(ColumnType::MYSQL_TYPE_DOUBLE),
        ];
        let mut payload = b"\0\x08\xff\xff\xff\xff\x02ab\x0b\xea\x07\x0b\x1d\x0c\x0d\x0e\x40\xe2\x01\0".to_vec();
        payload.extend(b"\x08\x01\x01\0\0\0\x02\x03\x04");
        payload.extend(0.25f64.to_le_bytes());
        let values = shown_values(&payload, &columns).expect("whole");
        assert_eq!(
            values,
            ["-1", "NULL", "ab", "2026-11-29 12:13:14.123", "-26:03:04", "0.25"].map(String::from).map(|text| text)
        );
    }

    #[test]
    fn rows_that_lie_are_refused() {
        let columns = [column(ColumnType::MYSQL_TYPE_LONG), column(ColumnType::MYSQL_TYPE_VAR_STRING)];
        for lie in [&b""[..], b"\0", b"\0\0\x01\0", b"\0\0\x01\0\0\0\x05ab"] {
            assert!(shown_values(lie, &columns).is_err(), "{lie:?}");
        }
        let mut row = TextRow::default();
        assert!(put_text_row(b"\x05ab", &mut row).is_err() && put_text_row(b"\x01a\xff", &mut row).is_err());
        put_text_row(b"\x01a\xfb\0", &mut row).expect("whole");
        assert_eq!(row.values().collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b"")]);
        assert!(ColumnForm::of(b"\x03def\0\0\0").is_err());
    }
}
