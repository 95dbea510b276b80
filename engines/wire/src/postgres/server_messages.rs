//! What stands in PostgreSQL's messages: errors, rows, tags and types. A whole message in, a value or a protocol error out.

use crate::error::{ServerError, WireError};
use crate::reply::TextRow;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorField, Message};

/// A whole message, by postgres-protocol.
pub(super) fn parse(message: &[u8]) -> Result<Message, WireError> {
    let parsed = Message::parse(&mut BytesMut::from(message)).map_err(|error| WireError::unreadable(&error))?;
    parsed.ok_or_else(|| WireError::protocol("a message that is not whole"))
}

/// The fields of an ErrorResponse.
pub(crate) fn server_error(message: &[u8]) -> Result<ServerError, WireError> {
    let Message::ErrorResponse(body) = parse(message)? else { return Err(WireError::protocol("no error")) };
    let mut error = ServerError {
        sqlstate: *b"00000",
        number: None,
        message: "".into(),
        detail: None,
        context: None,
        hint: None,
        is_fatal: false,
    };
    let mut fields = body.fields();
    while let Some(field) = fields.next().map_err(|error| WireError::unreadable(&error))? {
        put_field(&mut error, &field);
    }
    Ok(error)
}

fn put_field(error: &mut ServerError, field: &ErrorField<'_>) {
    let text = || String::from_utf8_lossy(field.value_bytes()).into_owned().into_boxed_str();
    match field.type_() {
        b'C' => error.sqlstate = field.value_bytes().try_into().unwrap_or(error.sqlstate),
        b'M' => error.message = text(),
        b'D' => error.detail = Some(text()),
        b'W' => error.context = Some(text()),
        b'H' => error.hint = Some(text()),
        b'V' => error.is_fatal = matches!(field.value_bytes(), b"FATAL" | b"PANIC"),
        _ => {}
    }
}

/// The values of a DataRow, whose body this is.
pub(super) fn put_row(body: &[u8], row: &mut TextRow) -> Result<(), WireError> {
    let short = || WireError::protocol("a row shorter than its values");
    row.clear();
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(short)?;
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            row.push(None);
            rest = after;
            continue;
        }
        let length = usize::try_from(length).ok().ok_or_else(short)?;
        let (value, after) = after.split_at_checked(length).ok_or_else(short)?;
        row.push(Some(value));
        rest = after;
    }
    Ok(())
}

/// The number in `INSERT 0 5`, `UPDATE 5`, `COPY 5`; what only returned rows affected none.
pub(super) fn affected_rows(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(b"\0").unwrap_or(body);
    let changes = [&b"INSERT"[..], b"UPDATE", b"DELETE", b"MERGE", b"COPY"];
    if !changes.iter().any(|change| tag.starts_with(change)) {
        return 0;
    }
    let number = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    str::from_utf8(number).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The types of a statement's parameters.
pub(super) fn oids(message: &[u8]) -> Result<Box<[u32]>, WireError> {
    let Message::ParameterDescription(body) = parse(message)? else { return Err(WireError::protocol("no types")) };
    let oids: Vec<u32> = body.parameters().collect().map_err(|error| WireError::unreadable(&error))?;
    Ok(oids.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_how_many_rows_changed() {
        assert_eq!(affected_rows(b"INSERT 0 5\0"), 5);
        assert_eq!(affected_rows(b"UPDATE 12\0"), 12);
        assert_eq!(affected_rows(b"COPY 3\0"), 3);
        assert_eq!(affected_rows(b"SELECT 7\0"), 0);
        assert_eq!(affected_rows(b"INSERT INTO\0"), 0);
        assert_eq!(affected_rows(b""), 0);
    }

    #[test]
    fn rows_that_lie_are_refused() {
        let mut row = TextRow::default();
        put_row(b"\0\x02\0\0\0\x01a\xff\xff\xff\xff", &mut row).expect("a row");
        assert_eq!(row.values().collect::<Vec<_>>(), [Some(&b"a"[..]), None]);
        for lie in [&b""[..], b"\0\x01", b"\0\x01\0\0\0\x05a", b"\0\x01\xff\xff\xff\xfe", b"\0\x01\x7f\xff\xff\xff"] {
            assert!(put_row(lie, &mut row).is_err(), "{lie:?}");
        }
    }

    #[test]
    fn an_error_has_its_fields() {
        let body = b"SFATAL\0VFATAL\0C57P01\0Mgoing down\0Dreally\0\0";
        let message = [&b"E"[..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
        let error = server_error(&message).expect("whole");
        assert!(error.is_fatal);
        assert_eq!(error.to_string(), "57P01 going down (really)");
        assert!(server_error(b"E\0\0\0\x06Vx").is_err(), "a field without its end");
    }
}
