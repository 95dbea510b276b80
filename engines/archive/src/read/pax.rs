//! Pax records: `LENGTH KEY=VALUE\n`, one after another; and base64, which one of the keys needs.
//! Knows how they are written, not what they mean (`super::records` does).

use super::numbers::decimal;

/// A key and its value.
pub type Record<'a> = (&'a [u8], &'a [u8]);

/// The records of one extended header, in order.
#[derive(Clone, Debug, Default)]
pub struct Records<'a> {
    rest: &'a [u8],
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl<'a> Records<'a> {
    /// Of the bytes of an extended header.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn split(&self) -> Option<(Record<'a>, &'a [u8])> {
        // LIMIT: 20 digits hold any length.
        let blank = self.rest.iter().take(21).position(|&byte| byte == b' ')?;
        let length = usize::try_from(decimal(&self.rest[..blank])?).ok()?;
        let record = self.rest.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|&byte| byte == b'=')?;
        if equals == 0 {
            return None;
        }
        Some(((&record[..equals], &record[equals + 1..]), &self.rest[length..]))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        // COMPAT: some writers fill up with NULs.
        if self.rest.iter().all(|&byte| byte == 0) {
            return None;
        }
        let Some((record, rest)) = self.split() else {
            self.rest = &[];
            return Some(Err(Malformed));
        };
        self.rest = rest;
        Some(Ok(record))
    }
}

/// Adds a record to `target`; the length counts itself.
pub fn add_record(target: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let without = key.len() + value.len() + 3;
    let digits = |number: usize| number.to_string().len();
    let mut length = without + digits(without);
    if digits(length) > digits(without) {
        length = without + digits(length);
    }
    target.extend_from_slice(length.to_string().as_bytes());
    target.push(b' ');
    target.extend_from_slice(key);
    target.push(b'=');
    target.extend_from_slice(value);
    target.push(b'\n');
}

/// What stands in front of an extended attribute's name in GNU tar's keys.
pub const ATTRIBUTE_KEYS: &[u8] = b"SCHILY.xattr.";

/// The key of an extended attribute. COMPAT: as GNU tar writes it, since a key ends at its first `=`.
pub fn attribute_key(name: &[u8]) -> Vec<u8> {
    let mut key = ATTRIBUTE_KEYS.to_vec();
    for &byte in name {
        match byte {
            b'%' => key.extend_from_slice(b"%25"),
            b'=' => key.extend_from_slice(b"%3D"),
            byte => key.push(byte),
        }
    }
    key
}

/// The name of an extended attribute out of what stands in its key behind [`ATTRIBUTE_KEYS`].
pub fn attribute_name(encoded: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, behind)) = rest.split_first() {
        let (byte, behind) = match behind.split_at_checked(2) {
            Some((b"25", behind)) if byte == b'%' => (b'%', behind),
            Some((b"3D", behind)) if byte == b'%' => (b'=', behind),
            _ => (byte, behind),
        };
        name.push(byte);
        rest = behind;
    }
    name
}

/// Bytes of base64, with or without padding. None where there are other signs.
pub fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for &sign in text.iter().filter(|&&sign| sign != b'=' && sign != b'\n') {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_at_every_length() {
        for length in (0..120).chain(900..1100).chain(9970..10_010) {
            let value = vec![b'x'; length];
            let mut bytes = Vec::new();
            add_record(&mut bytes, b"path", &value);
            add_record(&mut bytes, b"size", b"1");
            let records: Vec<_> = Records::new(&bytes).collect();
            assert_eq!(records, [Ok((&b"path"[..], &value[..])), Ok((&b"size"[..], &b"1"[..]))]);
        }
    }

    #[test]
    fn what_is_no_record_ends_them() {
        for bytes in [
            &b"11 path=ab"[..],
            b"99 path=a\n",
            b"8 path=a\n",
            b"8 patha\n",
            b"5 =a\n",
            b"+10 path=a\n",
            b"path=a\n",
            b"99999999999999999999999 a=b\n",
            b"0 a=b\n",
        ] {
            let records: Vec<_> = Records::new(bytes).collect();
            assert_eq!(records, [Err(Malformed)], "{}", String::from_utf8_lossy(bytes));
        }
    }

    /// The keys are those that GNU tar 1.34 writes.
    #[test]
    fn names_of_attributes_come_back_out_of_their_keys() {
        for (name, key) in [
            ("user.a=b", "SCHILY.xattr.user.a%3Db"),
            ("user.a%b", "SCHILY.xattr.user.a%25b"),
            ("user.a%3Db", "SCHILY.xattr.user.a%253Db"),
            ("user.%=%%25", "SCHILY.xattr.user.%25%3D%25%2525"),
            ("trusted.t=%", "SCHILY.xattr.trusted.t%3D%25"),
            ("security.s%=x", "SCHILY.xattr.security.s%25%3Dx"),
            ("user.sp ace", "SCHILY.xattr.user.sp ace"),
        ] {
            let written = attribute_key(name.as_bytes());
            assert_eq!(String::from_utf8_lossy(&written), key);
            assert_eq!(attribute_name(&written[ATTRIBUTE_KEYS.len()..]), name.as_bytes());
        }
        // COMPAT: GNU tar decodes nothing else.
        for other in ["user.a%3db", "user.a%20b", "user.%", "user.%2"] {
            assert_eq!(attribute_name(other.as_bytes()), other.as_bytes());
        }
    }

    #[test]
    fn base64_with_and_without_padding() {
        assert_eq!(from_base64(b"aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(from_base64(b"aGVsbG8"), Some(b"hello".to_vec()));
        assert_eq!(from_base64(b"a*"), None);
    }
}
