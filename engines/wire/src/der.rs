//! The few elements of DER that are looked at: a server's public key, a certificate's signature. Anything else is none.

/// Kinds of elements.
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BITS: u8 = 0x03;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;

/// Takes the next element, which has to be of this kind, and returns what is in it.
pub(crate) fn take<'a>(der: &mut &'a [u8], kind: u8) -> Option<&'a [u8]> {
    let (head, rest) = der.split_first_chunk::<2>()?;
    if head[0] != kind {
        return None;
    }
    let (length, rest) = match head[1] {
        short @ 0..=0x7f => (usize::from(short), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *der = rest;
    Some(content)
}

/// Takes a number, without the zeros before it; none for zero.
pub(crate) fn take_number<'a>(der: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = take(der, INTEGER)?;
    bytes.get(bytes.iter().position(|byte| *byte != 0)?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_end_where_they_say() {
        let mut der = &b"\x30\x03\x02\x01\x07\x06\x81\x01x\x03\x82\0\x01y"[..];
        let mut sequence = take(&mut der, SEQUENCE).expect("a sequence");
        assert_eq!(take_number(&mut sequence), Some(&b"\x07"[..]));
        assert_eq!((take(&mut der, OBJECT), take(&mut der, BITS)), (Some(&b"x"[..]), Some(&b"y"[..])));
        assert_eq!(take(&mut der, BITS), None);
        for lie in [&b"\x30"[..], b"\x30\x05x", b"\x30\x80", b"\x30\x82\xff", b"\x30\x82\xff\xffx", b"\x02\x01\x00"] {
            assert_eq!(take(&mut &*lie, SEQUENCE), None);
            assert_eq!(take_number(&mut &*lie), None);
        }
    }
}
