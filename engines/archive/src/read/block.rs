//! One header block: which dialect it speaks, whether its checksum holds, its fields as they stand.
//! Layouts: POSIX.1-2001 pax (ustar), GNU tar's manual (old GNU), star's xstar, and v7.

use super::numbers::field;
use crate::member::{BLOCK_BYTES, Device, Extent, Time};

/// A header block.
pub struct HeaderBlock<'a>(pub &'a [u8; BLOCK_BYTES]);

/// Which rules a header follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Before magic numbers.
    V7,
    /// POSIX, also as the carrier of pax records.
    Ustar,
    /// ustar with a shorter prefix and two times behind it.
    Star,
    /// GNU before it knew pax.
    OldGnu,
}

/// Whether a checksum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It does.
    Sound,
    /// All bytes are zero: an end mark.
    Zeros,
    /// It does not.
    Wrong,
}

impl HeaderBlock<'_> {
    fn part(&self, from: usize, bytes: usize) -> &[u8] {
        &self.0[from..from + bytes]
    }

    /// Text up to the first NUL.
    fn text(&self, from: usize, bytes: usize) -> &[u8] {
        until_nul(self.part(from, bytes))
    }

    /// Compares the sum with the bytes, taken as unsigned and, as some old tars did, as signed numbers.
    pub fn check(&self) -> Checked {
        if self.0.iter().all(|&byte| byte == 0) {
            return Checked::Zeros;
        }
        let others = || self.0[..148].iter().chain(&self.0[156..]);
        let unsigned = 8 * i64::from(b' ') + others().map(|&byte| i64::from(byte)).sum::<i64>();
        let signed = || 8 * i64::from(b' ') + others().map(|&byte| i64::from(byte.cast_signed())).sum::<i64>();
        match field(self.part(148, 8)) {
            Some(claimed) if claimed == unsigned || claimed == signed() => Checked::Sound,
            _ => Checked::Wrong,
        }
    }

    /// Which rules the rest follows.
    pub fn dialect(&self) -> Dialect {
        match self.part(257, 8) {
            b"ustar  \0" => Dialect::OldGnu,
            magic if magic.starts_with(b"ustar\0") && self.has_star_times() => Dialect::Star,
            // COMPAT: the version is "00"; some write NUL or blanks, which strict readers refuse.
            magic if magic.starts_with(b"ustar") => Dialect::Ustar,
            _ => Dialect::V7,
        }
    }

    /// Whether magic and version are as POSIX or GNU write them, or there are none.
    pub fn is_strict(&self) -> bool {
        let magic = self.part(257, 8);
        magic == b"ustar\x0000" || magic == b"ustar  \0" || magic.iter().all(|&byte| byte == 0)
    }

    /// star marks its headers at the end, or leaves a NUL before its two octal times in the prefix's place.
    fn has_star_times(&self) -> bool {
        let is_time = |from: usize| {
            self.part(from, 11).iter().all(|byte| (b'0'..=b'7').contains(byte)) && matches!(self.0[from + 11], b' ' | 0)
        };
        self.0[475] == 0 && is_time(476) && is_time(488)
    }

    /// The path, with its prefix.
    pub fn path(&self, dialect: Dialect) -> Vec<u8> {
        let name = self.text(0, 100);
        let prefix = match dialect {
            Dialect::V7 | Dialect::OldGnu => &[],
            Dialect::Ustar => self.text(345, 155),
            Dialect::Star => self.text(345, 131),
        };
        if prefix.is_empty() { name.to_vec() } else { [prefix, name].join(&b'/') }
    }

    /// The link's target.
    pub fn link(&self) -> &[u8] {
        self.text(157, 100)
    }

    /// Mode, if it is a number. Type bits, which some tars add, are dropped.
    pub fn mode(&self) -> Option<u32> {
        field(self.part(100, 8)).map(|mode| (mode & 0o7777) as u32)
    }

    /// Owner by number.
    pub fn uid(&self) -> Option<i64> {
        field(self.part(108, 8))
    }

    /// Group by number.
    pub fn gid(&self) -> Option<i64> {
        field(self.part(116, 8))
    }

    /// Bytes of data.
    pub fn size(&self) -> Option<i64> {
        field(self.part(124, 12))
    }

    /// When it was changed.
    pub fn mtime(&self) -> Option<i64> {
        field(self.part(136, 12))
    }

    /// What it is.
    pub fn type_flag(&self) -> u8 {
        self.0[156]
    }

    /// Owner by name.
    pub fn owner(&self, dialect: Dialect) -> &[u8] {
        if dialect == Dialect::V7 { &[] } else { self.text(265, 32) }
    }

    /// Group by name.
    pub fn group(&self, dialect: Dialect) -> &[u8] {
        if dialect == Dialect::V7 { &[] } else { self.text(297, 32) }
    }

    /// Numbers of a device.
    pub fn device(&self, dialect: Dialect) -> Option<Device> {
        if dialect == Dialect::V7 {
            return Some(Device::default());
        }
        let number = |from| field(self.part(from, 8)).and_then(|number| u32::try_from(number).ok());
        Some(Device { major: number(329)?, minor: number(337)? })
    }

    /// When it was last read and when its inode was changed, in the dialects that have room for it.
    pub fn other_times(&self, dialect: Dialect) -> [Option<Time>; 2] {
        let from = match dialect {
            Dialect::OldGnu => 345,
            Dialect::Star => 476,
            Dialect::V7 | Dialect::Ustar => return [None, None],
        };
        [from, from + 12].map(|from| {
            let part = self.part(from, 12);
            let seconds = field(part).filter(|_| part[0] != 0)?;
            Some(Time { seconds, nanoseconds: 0 })
        })
    }

    /// An old GNU sparse file: its first stretches, whether blocks with more of them follow, its real size.
    pub fn old_gnu_sparse(&self) -> Option<(Vec<Extent>, bool, u64)> {
        let real_size = field(self.part(483, 12)).and_then(|size| u64::try_from(size).ok())?;
        Some((extents(self.part(386, 96))?, self.0[482] != 0, real_size))
    }

    /// A block with further stretches.
    pub fn more_old_gnu_sparse(&self) -> Option<(Vec<Extent>, bool)> {
        Some((extents(self.part(0, 504))?, self.0[504] != 0))
    }
}

/// Whether a header, and those about it that stand before it, are whole in `bytes`; of the two blocks of zeros at the end both.
pub fn begins_with_a_whole_header(mut bytes: &[u8]) -> bool {
    while let Some((block, rest)) = bytes.split_first_chunk() {
        let header = HeaderBlock(block);
        match header.type_flag() {
            b'x' | b'X' | b'g' | b'L' | b'K' => {
                let data = header.size().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
                bytes =
                    data.checked_next_multiple_of(BLOCK_BYTES).and_then(|data| rest.get(data..)).unwrap_or_default();
            }
            _ => return header.check() != Checked::Zeros || rest.len() >= BLOCK_BYTES,
        }
    }
    false
}

/// Text up to the first NUL.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Pairs of 12 and 12 bytes; an empty one ends them.
fn extents(bytes: &[u8]) -> Option<Vec<Extent>> {
    let mut extents = Vec::new();
    for pair in bytes.chunks_exact(24) {
        if pair[0] == 0 {
            break;
        }
        let number = |part| field(part).and_then(|number| u64::try_from(number).ok());
        extents.push(Extent { offset: number(&pair[..12])?, bytes: number(&pair[12..])? });
    }
    Some(extents)
}
