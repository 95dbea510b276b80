//! MySQL's packets: heads, commands, and what stands in those that end a result or begin one.
//! A payload of 16 MiB - 1 bytes goes on in the next packet.

use super::fields::PacketFields;
use crate::error::{ServerError, WireError};
use bytes::{BufMut, BytesMut};
use mysql_common::constants::{MAX_PAYLOAD_LEN, StatusFlags};
use mysql_common::proto::codec::packet_to_chunks;

/// Three bytes of length and one of order stand before each payload.
pub(super) const PREFIX_BYTES: usize = 4;

/// LIMIT: more columns than any server has; a claim of more is a lie.
const COLUMNS_MAX: u64 = 1 << 16;

/// A packet's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub payload_bytes: usize,
    pub sequence: u8,
}

impl Header {
    pub fn of(data: &[u8]) -> Option<Self> {
        let [low, middle, high, sequence] = *data.first_chunk()?;
        Some(Self { payload_bytes: u32::from_le_bytes([low, middle, high, 0]) as usize, sequence })
    }

    /// Whether the payload goes on in the next packet.
    pub fn is_full(self) -> bool {
        self.payload_bytes == MAX_PAYLOAD_LEN
    }

    /// The whole packet's.
    pub fn bytes(self) -> usize {
        self.payload_bytes + PREFIX_BYTES
    }

    pub fn payload(self, data: &[u8]) -> Option<&[u8]> {
        data.get(PREFIX_BYTES..self.bytes())
    }
}

/// Appends a packet, or several; returns the number of the reply's first one.
pub(super) fn put_payload(output: &mut BytesMut, bytes: usize, write: impl FnOnce(&mut BytesMut)) -> u8 {
    if bytes < MAX_PAYLOAD_LEN {
        output.put_u32_le(bytes as u32);
        let before = output.len();
        write(output);
        debug_assert_eq!(output.len() - before, bytes, "the length was announced");
        return 1;
    }
    let mut payload = BytesMut::with_capacity(bytes);
    write(&mut payload);
    packet_to_chunks(0, &mut payload, output)
}

/// Appends a command with its text.
pub(super) fn put_command(output: &mut BytesMut, command: u8, text: &[u8]) -> u8 {
    put_payload(output, text.len() + 1, |output| {
        output.put_u8(command);
        output.put_slice(text);
    })
}

fn short(what: &str) -> WireError {
    WireError::protocol(format!("{what} that is too short"))
}

/// What ends a statement: changed rows, and whether another result follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResultEnd {
    pub affected: u64,
    pub has_more: bool,
}

impl ResultEnd {
    /// An OK packet, under either of its first bytes.
    pub fn of_ok(payload: &[u8]) -> Result<Self, WireError> {
        let mut fields = PacketFields(payload.get(1..).unwrap_or_default());
        let mut parse = || Some((fields.number()?, fields.number()?, fields.u16()?));
        let (affected, _last_inserted, status) = parse().ok_or_else(|| short("an OK packet"))?;
        Ok(Self { affected, has_more: has_more(status) })
    }

    /// The end of rows as older servers have it.
    pub fn of_eof(payload: &[u8]) -> Result<Self, WireError> {
        let status = PacketFields(payload.get(3..).unwrap_or_default()).u16().ok_or_else(|| short("an EOF packet"))?;
        Ok(Self { affected: 0, has_more: has_more(status) })
    }
}

fn has_more(status: u16) -> bool {
    StatusFlags::from_bits_truncate(status).contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS)
}

/// An ERR packet. One that comes before the login has no SQLSTATE.
pub(super) fn server_error(payload: &[u8]) -> Result<ServerError, WireError> {
    let mut fields = PacketFields(payload.get(1..).unwrap_or_default());
    let number = fields.u16().ok_or_else(|| short("an ERR packet"))?;
    let (sqlstate, message) = match fields.rest() {
        [b'#', rest @ ..] if rest.len() >= 5 => (rest[..5].try_into().unwrap_or(*b"HY000"), &rest[5..]),
        rest => (*b"HY000", rest),
    };
    let message = String::from_utf8_lossy(message).into_owned().into_boxed_str();
    // The server shuts down, or this connection was killed.
    let is_fatal = matches!(number, 1053 | 1927);
    Ok(ServerError { sqlstate, number: Some(number), message, detail: None, context: None, hint: None, is_fatal })
}

/// How many columns a result has, and whether their definitions follow.
pub(super) fn result_columns(payload: &[u8], says_whether: bool) -> Result<(u64, bool), WireError> {
    let mut fields = PacketFields(payload);
    let count = fields.number().filter(|count| (1..=COLUMNS_MAX).contains(count));
    let count = count.ok_or_else(|| WireError::protocol("a result without a possible number of columns"))?;
    if !says_whether {
        return Ok((count, true));
    }
    let follow = fields.u8().ok_or_else(|| short("the begin of a result"))?;
    Ok((count, follow != 0))
}

/// The answer to the preparation of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PreparedHead {
    pub id: u32,
    pub columns: u16,
    pub parameters: u16,
}

impl PreparedHead {
    pub fn of(payload: &[u8]) -> Result<Self, WireError> {
        let mut fields = PacketFields(payload.get(1..).unwrap_or_default());
        let mut parse = || Some(Self { id: fields.u32()?, columns: fields.u16()?, parameters: fields.u16()? });
        parse().ok_or_else(|| short("the answer to a preparation"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_goes_on_in_the_next_packet() {
        let mut output = BytesMut::new();
        assert_eq!(put_command(&mut output, 3, &vec![b'x'; MAX_PAYLOAD_LEN - 1]), 2);
        assert_eq!(output.len(), MAX_PAYLOAD_LEN + 8);
        let first = Header::of(&output).expect("a head");
        assert!(first.is_full() && first.sequence == 0);
        let second = Header::of(&output[first.bytes()..]).expect("a head");
        assert_eq!(second, Header { payload_bytes: 0, sequence: 1 });
        output.clear();
        assert_eq!(put_command(&mut output, 3, b"select"), 1);
        assert_eq!(&output[..], b"\x07\0\0\0\x03select");
    }

    #[test]
    fn errors_have_a_number_and_mostly_a_state() {
        let error = server_error(b"\xff\xbd\x04#40001Deadlock").expect("whole");
        assert_eq!(error.to_string(), "1213 (40001) Deadlock");
        let error = server_error(b"\xff\x10\x04Too many connections").expect("whole");
        assert_eq!(error.to_string(), "1040 (HY000) Too many connections");
        assert!(server_error(b"\xff\x10").is_err());
    }

    #[test]
    fn short_packets_are_refused() {
        assert!(ResultEnd::of_ok(b"\0\x01\0").is_err() && ResultEnd::of_eof(b"\xfe\0\0").is_err());
        assert!(ResultEnd::of_ok(b"").is_err() && PreparedHead::of(b"\0\x01").is_err());
        assert!(
            result_columns(b"\0", false).is_err()
                && result_columns(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", false).is_err()
        );
        assert!(result_columns(b"\x01", true).is_err());
        let end = ResultEnd::of_ok(b"\0\x05\0\x0a\0\0\0").expect("whole");
        assert_eq!(end, ResultEnd { affected: 5, has_more: true });
    }
}
