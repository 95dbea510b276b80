//! Bytes in JSON: names of files and words of commands need not be text. UTF-8 is a string, all else `{"hex": "..."}`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are written as text where they are text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteText(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes { hex: String },
}

impl Serialize for ByteText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Text(text.into()),
            Err(_) => Written::Bytes { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ByteText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            Written::Bytes { hex } => {
                unhex(&hex).map(Self).ok_or_else(|| D::Error::custom("these are no hexadecimal digits"))
            }
        }
    }
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

impl From<Vec<u8>> for ByteText {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for ByteText {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}
