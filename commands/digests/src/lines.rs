//! How a value is printed: the forms of the tools, and JSON. Computes nothing.

use digests::algorithm::Algorithm;
use digests::manifest::{NameEscape, escaped_name};
use digests::value::DigestValue;
use serde::Serialize;
use std::collections::BTreeMap;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineForm {
    /// The order of value and name.
    pub order: LineOrder,
    /// What ends a line: a line feed, or a zero byte behind names without escapes.
    pub ending: u8,
    /// Which bytes of names are escaped.
    pub escapes: NameEscape,
    /// What stands between the two blanks' places: a blank, or an asterisk for binary mode.
    pub mark: u8,
    /// Whether standard input has a name: COMPAT: cksum gives it none where no file was typed.
    pub names_stdin: bool,
    /// Whether the lowest byte of a value comes first.
    pub is_little_endian: bool,
}

/// The order of value and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrder {
    /// `VALUE  NAME`.
    ValueFirst,
    /// `TAG (NAME) = VALUE`.
    Tagged,
    /// The value alone.
    ValueAlone,
    /// The value's bytes.
    Raw,
    /// `VALUE<tab>NAME`, and what the name says about it: crc32.
    Tab,
}

impl LineForm {
    /// The form of md5sum and its relatives.
    pub const GNU: Self = Self {
        order: LineOrder::ValueFirst,
        ending: b'\n',
        escapes: NameEscape::Lines,
        mark: b' ',
        names_stdin: true,
        is_little_endian: false,
    };

    /// Lines that end with a zero byte, whose names are not escaped.
    pub fn ended_by_zero(self) -> Self {
        Self { ending: 0, escapes: NameEscape::None, ..self }
    }

    /// The line of one value of a file of `bytes`.
    pub fn line(&self, name: &[u8], algorithm: Algorithm, value: &DigestValue, bytes: u64) -> Vec<u8> {
        let mut line = Vec::with_capacity(name.len() + 2 * value.bytes().len() + 8);
        match (self.order, algorithm) {
            (LineOrder::Raw, _) => return value.bytes().to_vec(),
            (LineOrder::ValueAlone, _) => line.extend(self.digits(value).as_bytes()),
            (LineOrder::Tab, _) => line.extend(tab_line(name, value, self.names_stdin)),
            (LineOrder::ValueFirst, Algorithm::Cksum | Algorithm::BsdSum | Algorithm::SysvSum) => {
                line.extend(counted(algorithm, value, bytes).as_bytes());
                if self.names_stdin {
                    line.push(b' ');
                    line.extend(name);
                }
            }
            (LineOrder::ValueFirst, _) => {
                let (name, is_escaped) = escaped_name(name, self.escapes);
                line.extend(is_escaped.then_some(b'\\'));
                line.extend(self.digits(value).as_bytes());
                line.extend([b' ', self.mark]);
                line.extend(name);
            }
            (LineOrder::Tagged, _) => {
                let (name, is_escaped) = escaped_name(name, self.escapes);
                line.extend(is_escaped.then_some(b'\\'));
                let order = if self.is_little_endian { "_LE" } else { "" };
                line.extend(format!("{}{order} (", algorithm.tag()).as_bytes());
                line.extend(name);
                line.extend(b") = ");
                line.extend(self.digits(value).as_bytes());
            }
        }
        line.push(self.ending);
        line
    }

    fn digits(&self, value: &DigestValue) -> String {
        if !self.is_little_endian {
            return value.hex();
        }
        let turned: Vec<u8> = value.bytes().iter().rev().copied().collect();
        DigestValue::new(&turned).hex()
    }
}

/// COMPAT: cksum and the two sums write numbers, and the length in bytes or in blocks.
fn counted(algorithm: Algorithm, value: &DigestValue, bytes: u64) -> String {
    match algorithm {
        Algorithm::BsdSum => format!("{:05} {:5}", value.number(), bytes.div_ceil(1024)),
        Algorithm::SysvSum => format!("{} {}", value.number(), bytes.div_ceil(512)),
        _ => format!("{} {bytes}", value.number()),
    }
}

/// COMPAT: crc32 compares eight digits in a name with the value.
fn tab_line(name: &[u8], value: &DigestValue, has_name: bool) -> Vec<u8> {
    let mut line = value.hex().into_bytes();
    if has_name {
        line.push(b'\t');
        line.extend(name);
    }
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
    let stands = |part: &&[u8]| !is_digit(&part[0]) && !is_digit(&part[9]) && part[1..9].iter().all(is_digit);
    if let Some(part) = name.windows(10).find(stands) {
        let named = String::from_utf8_lossy(&part[1..9]);
        let is_same = named.eq_ignore_ascii_case(&value.hex());
        let judged = if is_same { "\tOK".to_owned() } else { format!("\tBAD {} != {named}", value.hex()) };
        line.extend(judged.as_bytes());
    }
    line
}

/// A name in JSON: as text, and its bytes where it is none.
#[derive(Serialize)]
pub struct JsonName {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
}

impl JsonName {
    /// Of a path.
    pub fn new(name: &[u8]) -> Self {
        let hex = || name.iter().map(|byte| format!("{byte:02x}")).collect();
        let is_text = std::str::from_utf8(name).is_ok();
        Self { name: String::from_utf8_lossy(name).into_owned(), name_hex: (!is_text).then(hex) }
    }
}

/// All values of a file in JSON.
#[derive(Serialize)]
pub struct JsonDigests {
    #[serde(flatten)]
    name: JsonName,
    bytes: u64,
    digests: BTreeMap<String, String>,
}

impl JsonDigests {
    /// Of a file.
    pub fn new(name: &[u8], bytes: u64, algorithms: &[Algorithm], values: &[DigestValue]) -> Self {
        let digests = algorithms.iter().zip(values).map(|(algorithm, value)| (algorithm.name(), value.hex()));
        Self { name: JsonName::new(name), bytes, digests: digests.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(form: LineForm, name: &[u8], algorithm: Algorithm) -> String {
        let value = DigestValue::new(&[0x36, 0x10, 0xa6, 0x86]);
        String::from_utf8(form.line(name, algorithm, &value, 1500)).expect("text")
    }

    #[test]
    fn every_form_is_that_of_its_tool() {
        let tagged = LineForm { order: LineOrder::Tagged, ..LineForm::GNU };
        assert_eq!(line(LineForm::GNU, b"a b", Algorithm::Crc32), "3610a686  a b\n");
        assert_eq!(line(LineForm::GNU, b"a\nb", Algorithm::Crc32), "\\3610a686  a\\nb\n");
        assert_eq!(line(tagged, b"a\\b", Algorithm::Crc32), "\\CRC32 (a\\\\b) = 3610a686\n");
        assert_eq!(line(LineForm::GNU.ended_by_zero(), b"a\nb", Algorithm::Crc32), "3610a686  a\nb\0");
        assert_eq!(line(LineForm::GNU, b"a", Algorithm::Cksum), "907060870 1500 a\n");
        assert_eq!(line(LineForm { names_stdin: false, ..LineForm::GNU }, b"-", Algorithm::Cksum), "907060870 1500\n");
        let little = LineForm { is_little_endian: true, ..tagged };
        assert_eq!(line(little, b"a", Algorithm::Xxh32), "XXH32_LE (a) = 86a61036\n");
        let tab = LineForm { order: LineOrder::Tab, ..LineForm::GNU };
        assert_eq!(line(tab, b"a-[3610A686].x", Algorithm::Crc32), "3610a686\ta-[3610A686].x\tOK\n");
        assert_eq!(line(tab, b"a 3610A687.x", Algorithm::Crc32), "3610a686\ta 3610A687.x\tBAD 3610a686 != 3610A687\n");
    }

    #[test]
    fn a_name_that_is_no_text_keeps_its_bytes_in_json() {
        let json = |name: &[u8]| mh_kit::report::json_line(&JsonName::new(name));
        assert_eq!(json(b"a"), "{\"name\":\"a\"}\n");
        assert_eq!(json(b"a\xff"), "{\"name\":\"a\u{fffd}\",\"name_hex\":\"61ff\"}\n");
    }
}
