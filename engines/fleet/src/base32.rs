//! Keys as text: Crockford's base 32, which has no letters that look alike, over the bytes and a checksum of them.
//! A wrong letter or a missing one is found; `O` is read as `0`, `I` and `L` as `1`.

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// LIMIT: one typing error in four thousand million goes unnoticed.
const CHECK_BYTES: usize = 4;

/// LIMIT: texts of ours are shorter.
const TEXT_MAX: usize = 1024;

/// Letters for `bytes`, without a checksum.
pub(crate) fn letters(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in bytes {
        bits = bits << 8 | u32::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(char::from(ALPHABET[(bits >> count & 31) as usize]));
        }
        bits &= 31;
    }
    if count > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - count) & 31) as usize]));
    }
    text
}

/// Letters for `bytes` and their checksum.
pub(crate) fn checked_text(bytes: &[u8]) -> String {
    letters(&[bytes, &check_of(bytes)].concat())
}

/// The bytes of a text of [`checked_text`]; none if it was changed.
pub(crate) fn checked_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = bytes_of(text)?;
    let at = bytes.len().checked_sub(CHECK_BYTES)?;
    let check = bytes.split_off(at);
    (check == check_of(&bytes)).then_some(bytes)
}

fn check_of(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let hash = blake3::derive_key("manyhands fleet 2026 text checksum", bytes);
    [hash[0], hash[1], hash[2], hash[3]]
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if text.len() > TEXT_MAX {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        bits = bits << 5 | value(letter)?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
        }
        bits &= (1 << count) - 1;
    }
    // What fills the last letter up is zero, or two texts would mean the same.
    (bits == 0 && count < 5).then_some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let letter = match letter.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    ALPHABET.iter().position(|known| *known == letter).map(|at| at as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = checked_text(&bytes);
            prop_assert_eq!(checked_bytes(&text), Some(bytes.clone()));
            prop_assert_eq!(checked_bytes(&text.to_lowercase()), Some(bytes));
        }
    }

    #[test]
    fn each_wrong_letter_is_found() {
        let text = checked_text(b"a key of thirty-two bytes or more");
        for at in 0..text.len() {
            for other in ALPHABET {
                let mut wrong = text.clone().into_bytes();
                if wrong[at] != *other {
                    wrong[at] = *other;
                    assert_eq!(checked_bytes(&String::from_utf8(wrong).expect("ASCII")), None);
                }
            }
            let mut shorter = text.clone();
            shorter.remove(at);
            assert_eq!(checked_bytes(&shorter), None);
        }
    }

    #[test]
    fn letters_that_look_alike_are_the_same() {
        assert_eq!(bytes_of("OIL0"), bytes_of("0110"));
        assert_eq!((bytes_of("U"), bytes_of("-"), bytes_of("Ä")), (None, None, None));
    }
}
