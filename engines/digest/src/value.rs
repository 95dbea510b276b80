//! A digest's value: up to 64 bytes, read from and written as hexadecimal digits. Knows no algorithm.

/// LIMIT: bytes of the longest value.
const VALUE_BYTES_MAX: usize = 64;

/// A value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DigestValue {
    bytes: [u8; VALUE_BYTES_MAX],
    length: u8,
}

impl std::fmt::Debug for DigestValue {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.hex())
    }
}

impl DigestValue {
    /// Of at most 64 bytes; what is behind them is left out.
    pub fn new(from: &[u8]) -> Self {
        let length = from.len().min(VALUE_BYTES_MAX);
        let mut bytes = [0; VALUE_BYTES_MAX];
        bytes[..length].copy_from_slice(&from[..length]);
        Self { bytes, length: length as u8 }
    }

    /// Of the digits of a line, in any case; none where they are none, odd in number or too many.
    pub fn of_digits(digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 2 * VALUE_BYTES_MAX {
            return None;
        }
        let mut value = Self { bytes: [0; VALUE_BYTES_MAX], length: (digits.len() / 2) as u8 };
        for (byte, pair) in value.bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(value)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }

    /// Its digits, in lower case.
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let pair = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
        self.bytes().iter().flat_map(pair).collect()
    }

    /// The number that its bytes are, the most significant first; of more than eight bytes the last eight.
    pub fn number(&self) -> u64 {
        self.bytes().iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_in_any_case_and_written_in_one() {
        let value = DigestValue::of_digits(b"00AbfF").expect("digits");
        assert_eq!((value.hex().as_str(), value.number()), ("00abff", 0xabff));
        for bad in [&b""[..], b"0", b"0g", b"+1", &[b'0'; 130]] {
            assert_eq!(DigestValue::of_digits(bad), None);
        }
    }
}
