//! Values as PostgreSQL's Bind carries them: in binary where the parameter's type is known to be a number, as text otherwise.

use crate::statement::Value;
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{self, BindError};
use std::fmt::Write;
use std::io;

const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;

/// A value in the form that goes out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form<'a> {
    Null,
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Bytes(&'a [u8]),
    Text(&'a str),
    IntText(i64),
    RealText(f64),
}

impl<'a> Form<'a> {
    /// A number that its parameter's type cannot hold goes as text, so that the server refuses it by its own message.
    fn of(value: &Value<'a>, oid: u32) -> Self {
        match (*value, oid) {
            (Value::Null, _) => Self::Null,
            (Value::Int(number), INT2) => number.try_into().map_or(Self::IntText(number), Self::Int2),
            (Value::Int(number), INT4) => number.try_into().map_or(Self::IntText(number), Self::Int4),
            (Value::Int(number), INT8) => Self::Int8(number),
            (Value::Int(number), _) => Self::IntText(number),
            (Value::Real(number), FLOAT4) => Self::Float4(number as f32),
            (Value::Real(number), FLOAT8) => Self::Float8(number),
            (Value::Real(number), _) => Self::RealText(number),
            (Value::Text(text), _) => Self::Text(text),
            (Value::Bytes(bytes), _) => Self::Bytes(bytes),
        }
    }

    fn format(self) -> i16 {
        i16::from(!matches!(self, Self::Null | Self::Text(_) | Self::IntText(_) | Self::RealText(_)))
    }

    fn put(self, output: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int2(number) => output.put_i16(number),
            Self::Int4(number) => output.put_i32(number),
            Self::Int8(number) => output.put_i64(number),
            Self::Float4(number) => output.put_f32(number),
            Self::Float8(number) => output.put_f64(number),
            Self::Bytes(bytes) => output.put_slice(bytes),
            Self::Text(text) => output.put_slice(text.as_bytes()),
            Self::IntText(number) => write!(output, "{number}")?,
            Self::RealText(number) => write!(output, "{number}")?,
        }
        Ok(IsNull::No)
    }
}

/// Bind to the unnamed portal; all results come as text.
pub(super) fn bind(name: &str, oids: &[u32], values: &[Value], output: &mut BytesMut) -> Result<(), io::Error> {
    let forms = || values.iter().zip(oids).map(|(value, oid)| Form::of(value, *oid));
    let formats = forms().map(Form::format);
    let bound = frontend::bind("", name, formats, forms(), |form, output| form.put(output), [], output);
    bound.map_err(|error| match error {
        BindError::Conversion(cause) => io::Error::other(cause),
        BindError::Serialization(cause) => cause,
    })
}

/// The bytes that they take at most, about.
pub(super) fn estimate(values: &[Value]) -> usize {
    let one = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Real(_) => 400,
        Value::Null | Value::Int(_) => 24,
    };
    values.iter().map(|value| one(value).saturating_add(8)).fold(64, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_binary_where_they_fit() {
        assert_eq!(Form::of(&Value::Int(7), INT4), Form::Int4(7));
        assert_eq!(Form::of(&Value::Int(1 << 40), INT4), Form::IntText(1 << 40));
        assert_eq!(Form::of(&Value::Int(-1), 1700), Form::IntText(-1));
        assert_eq!(Form::of(&Value::Real(0.5), FLOAT8), Form::Float8(0.5));
        assert_eq!(Form::of(&Value::Real(0.5), 1700), Form::RealText(0.5));
    }

    #[test]
    fn a_bind_message_is_as_documented() {
        let mut output = BytesMut::new();
        let values = [Value::Int(5), Value::Text("a"), Value::Null];
        bind("s", &[INT4, 25, 25], &values, &mut output).expect("it fits");
        let expected = b"B\0\0\0\x24\0s\0\0\x03\0\x01\0\0\0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0\x01a\xff\xff\xff\xff\0\0";
        assert_eq!(&output[..], &expected[..]);
    }
}
