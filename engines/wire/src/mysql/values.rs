//! Values as MySQL's COM_STMT_EXECUTE carries them: integers and floating-point numbers in binary, the rest with its length.

use super::packets::put_payload;
use crate::statement::Value;
use bytes::{BufMut, BytesMut};
use mysql_common::constants::ColumnType;
use mysql_common::io::BufMutExt;

/// Command, statement, no cursor, one iteration.
const HEAD_BYTES: usize = 1 + 4 + 1 + 4;

fn kind(value: &Value) -> ColumnType {
    match value {
        Value::Null => ColumnType::MYSQL_TYPE_NULL,
        Value::Int(_) => ColumnType::MYSQL_TYPE_LONGLONG,
        Value::Real(_) => ColumnType::MYSQL_TYPE_DOUBLE,
        Value::Text(_) => ColumnType::MYSQL_TYPE_VAR_STRING,
        Value::Bytes(_) => ColumnType::MYSQL_TYPE_BLOB,
    }
}

fn bytes_of(value: &Value) -> usize {
    let with_length = |length: usize| {
        let prefix = match length {
            0..=0xfa => 1,
            0xfb..=0xffff => 3,
            0x1_0000..=0xff_ffff => 4,
            _ => 9,
        };
        prefix + length
    };
    match value {
        Value::Null => 0,
        Value::Int(_) | Value::Real(_) => 8,
        Value::Text(text) => with_length(text.len()),
        Value::Bytes(bytes) => with_length(bytes.len()),
    }
}

/// The exact size of the payload.
pub(super) fn payload_bytes(values: &[Value]) -> usize {
    if values.is_empty() {
        return HEAD_BYTES;
    }
    HEAD_BYTES + values.len().div_ceil(8) + 1 + 2 * values.len() + values.iter().map(bytes_of).sum::<usize>()
}

/// Appends an execution; returns the number of the reply's first packet.
pub(super) fn put_execute(output: &mut BytesMut, command: u8, statement: u32, values: &[Value]) -> u8 {
    put_payload(output, payload_bytes(values), |output| {
        output.put_u8(command);
        output.put_u32_le(statement);
        output.put_u8(0);
        output.put_u32_le(1);
        if values.is_empty() {
            return;
        }
        for eight in values.chunks(8) {
            let null = |(bit, value): (usize, &Value)| u8::from(*value == Value::Null) << bit;
            output.put_u8(eight.iter().enumerate().map(null).fold(0, |bits, bit| bits | bit));
        }
        output.put_u8(1);
        for value in values {
            output.put_u16_le(kind(value) as u16);
        }
        values.iter().for_each(|value| put_value(output, value));
    })
}

fn put_value(output: &mut BytesMut, value: &Value) {
    match value {
        Value::Null => {}
        Value::Int(number) => output.put_i64_le(*number),
        Value::Real(number) => output.put_f64_le(*number),
        Value::Text(text) => output.put_lenenc_str(text.as_bytes()),
        Value::Bytes(bytes) => output.put_lenenc_str(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_execution_is_as_documented() {
        let mut output = BytesMut::new();
        put_execute(&mut output, 0x17, 7, &[Value::Int(5), Value::Null, Value::Text("ab")]);
        let expected = b"\x1d\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\x02\x01\x08\0\x06\0\xfd\0\x05\0\0\0\0\0\0\0\x02ab";
        assert_eq!(&output[..], &expected[..]);
        output.clear();
        put_execute(&mut output, 0x17, 7, &[]);
        assert_eq!(&output[..], b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
    }

    proptest! {
        #[test]
        fn the_size_is_known_before(texts in prop::collection::vec(0usize..70_000, 0..20)) {
            let texts: Vec<String> = texts.into_iter().map(|length| "x".repeat(length)).collect();
            let values: Vec<Value> = texts.iter().map(|text| Value::Text(text)).collect();
            let mut output = BytesMut::new();
            put_execute(&mut output, 0x17, 7, &values);
            prop_assert_eq!(output.len(), payload_bytes(&values) + 4);
        }
    }
}
