//! The fields of MySQL's packets, taken one after the other. One that is not there is none: nothing a server sends can panic.

#[derive(Clone, Copy, Debug)]
pub(super) struct PacketFields<'a>(pub &'a [u8]);

impl<'a> PacketFields<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.0.split_first_chunk::<COUNT>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of one, three, four or nine bytes.
    pub fn number(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Some(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array::<3>().map(|[low, middle, high]| u64::from(u32::from_le_bytes([low, middle, high, 0]))),
            0xfe => self.u64(),
            _ => None,
        }
    }

    /// A number, and as many bytes.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.take(count)
    }

    /// A string of a row, which may be NULL.
    pub fn nullable_string(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&0xfb) {
            self.0 = &self.0[1..];
            return Some(None);
        }
        self.string().map(Some)
    }

    /// Bytes up to a zero, which is taken as well.
    pub fn until_zero(&mut self) -> Option<&'a [u8]> {
        let count = self.0.iter().position(|byte| *byte == 0)?;
        let taken = self.take(count)?;
        self.0 = &self.0[1..];
        Some(taken)
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_lengths() {
        let number = |bytes: &[u8]| PacketFields(bytes).number();
        assert_eq!(number(&[250]), Some(250));
        assert_eq!(number(&[0xfc, 1, 2]), Some(0x201));
        assert_eq!(number(&[0xfd, 1, 2, 3]), Some(0x30201));
        assert_eq!(number(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 2]), Some((2 << 56) + 1));
        assert_eq!([number(&[0xfb]), number(&[0xff, 1]), number(&[0xfc, 1]), number(&[])], [None; 4]);
    }

    #[test]
    fn strings_end_where_they_say() {
        let mut fields = PacketFields(b"\x02ab\xfbcd\0e");
        assert_eq!(fields.nullable_string(), Some(Some(&b"ab"[..])));
        assert_eq!(fields.nullable_string(), Some(None));
        assert_eq!(fields.until_zero(), Some(&b"cd"[..]));
        assert_eq!(fields.rest(), b"e");
        assert_eq!(PacketFields(b"\x05ab").string(), None);
        assert_eq!(PacketFields(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffx").string(), None);
    }
}
