//! Maps of sparse files: GNU's pax forms 0.0, 0.1 and 1.0, and the rules that every map must obey.
//! The old GNU form stands in header blocks (`super::block`); this file only checks it.

use super::numbers::decimal;
use super::{Defect, Failed, ReadError};
use crate::member::{BLOCK_BYTES, Extent, Member, padded};
use crate::source::Source;

/// LIMIT: stretches of one file. GNU tar has none; a map of this size takes 16 MiB, and no file that was ever seen comes near.
const EXTENTS_MAX: u64 = 1 << 20;

/// LIMIT: bytes of a file with all its holes: the kernel's own bound.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// What `GNU.sparse.*` records say.
#[derive(Clone, Debug, Default)]
pub struct SparseKeys {
    major: Option<u64>,
    minor: Option<u64>,
    /// The file's name: the header has a made-up one.
    pub name: Option<Vec<u8>>,
    real_size: Option<u64>,
    count: Option<u64>,
    /// 0.0: offsets and lengths one after another; 0.1 as one list.
    numbers: Vec<u64>,
    any: bool,
}

/// What is known of a sparse file before its data.
#[derive(Debug, PartialEq, Eq)]
pub enum Form {
    /// It is none.
    Dense,
    /// Its map is complete.
    Mapped {
        /// Where data are.
        extents: Vec<Extent>,
        /// Bytes with all holes.
        size: u64,
    },
    /// 1.0: its map stands in front of its data.
    MapInData {
        /// Bytes with all holes.
        size: u64,
    },
}

impl SparseKeys {
    /// One record, without `GNU.sparse.`; none where its value cannot be.
    pub fn record(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        self.any = true;
        match key {
            b"major" => self.major = Some(decimal(value)?),
            b"minor" => self.minor = Some(decimal(value)?),
            b"name" => self.name = Some(super::block::until_nul(value).to_vec()),
            b"realsize" | b"size" => self.real_size = Some(decimal(value)?),
            b"numblocks" => self.count = Some(decimal(value)?).filter(|&count| count <= EXTENTS_MAX),
            b"offset" | b"numbytes" => {
                let is_in_turn = self.numbers.len().is_multiple_of(2) == (key == b"offset");
                if !is_in_turn || self.numbers.len() as u64 >= 2 * EXTENTS_MAX {
                    return None;
                }
                self.numbers.push(decimal(value)?);
            }
            b"map" => {
                // LIMIT: the record is bounded with its header, and so is the list.
                self.numbers = value.split(|&byte| byte == b',').map(decimal).collect::<Option<_>>()?;
            }
            _ => {}
        }
        Some(())
    }

    /// Which form it is. The error says what does not fit together.
    pub fn form(&self) -> Result<Form, &'static str> {
        match (self.any, self.major, self.minor, self.real_size) {
            (false, ..) => Ok(Form::Dense),
            (true, Some(1), Some(0), Some(size)) => Ok(Form::MapInData { size }),
            (true, Some(0) | None, Some(0 | 1) | None, Some(size)) => {
                if !self.numbers.len().is_multiple_of(2)
                    || self.count.is_none_or(|count| count * 2 != self.numbers.len() as u64)
                {
                    return Err("its map has not as many stretches as it says");
                }
                let extents = self.numbers.chunks_exact(2).map(|pair| Extent { offset: pair[0], bytes: pair[1] });
                Ok(Form::Mapped { extents: extents.collect(), size })
            }
            (true, _, _, None) => Err("records of a sparse file without its size"),
            (true, ..) => Err("a sparse file of an unknown version"),
        }
    }
}

/// Whether a map is one: in order, without overlaps, inside the file, and of as many bytes as are stored.
pub fn check(extents: &[Extent], size: u64, stored_bytes: u64) -> Result<(), &'static str> {
    let (mut behind, mut sum) = (0_u64, 0_u64);
    for extent in extents {
        let end = extent.offset.checked_add(extent.bytes).filter(|&end| end <= size && extent.offset >= behind);
        behind = end.ok_or("its map is not in order, overlaps, or leads beyond its end")?;
        sum = sum.checked_add(extent.bytes).ok_or("its map has more bytes than there can be")?;
    }
    if sum == stored_bytes { Ok(()) } else { Err("its map has not as many bytes as are stored") }
}

/// Makes `member` a sparse file of `size` bytes.
pub(super) fn mapped(member: &mut Member, extents: Vec<Extent>, size: u64) -> Result<(), Failed> {
    if size > FILE_BYTES_MAX {
        return Err(Defect::Sparse("its size is more than any file can have").into());
    }
    check(&extents, size, member.stored_bytes).map_err(Defect::Sparse)?;
    (member.size, member.sparse) = (size, Some(extents));
    Ok(())
}

/// Reads the map in front of the data: decimal numbers a line, their count first, filled up to whole blocks. Returns how many
/// bytes it took.
pub fn read_map<S: Source>(source: &mut S, stored_bytes: u64) -> Result<(Vec<Extent>, u64), Failed> {
    let offset = source.position();
    let damaged = |what| Failed::Member(Defect::Sparse(what));
    let mut lines =
        MapLines { source, block: [0; BLOCK_BYTES], at: BLOCK_BYTES, taken: 0, allowed: padded(stored_bytes) };
    let count = lines.number(offset)?;
    if count > EXTENTS_MAX {
        return Err(damaged("its map is too long"));
    }
    let mut extents = Vec::new();
    for _ in 0..count {
        extents.push(Extent { offset: lines.number(offset)?, bytes: lines.number(offset)? });
    }
    Ok((extents, lines.taken))
}

struct MapLines<'a, S> {
    source: &'a mut S,
    block: [u8; BLOCK_BYTES],
    at: usize,
    taken: u64,
    allowed: u64,
}

impl<S: Source> MapLines<'_, S> {
    fn number(&mut self, offset: u64) -> Result<u64, Failed> {
        let damaged = || Failed::Member(Defect::Sparse("its map is not made of numbers"));
        // LIMIT: 20 digits hold any number; a longer line is none.
        let mut digits = Vec::with_capacity(20);
        loop {
            if self.at == BLOCK_BYTES {
                if self.taken >= self.allowed {
                    return Err(damaged());
                }
                let read = self.source.read(&mut self.block);
                let read = read.map_err(|cause| ReadError::Read { offset: self.source.position(), cause })?;
                if read < BLOCK_BYTES {
                    return Err(ReadError::Truncated { offset }.into());
                }
                self.taken += BLOCK_BYTES as u64;
                self.at = 0;
            }
            let byte = self.block[self.at];
            self.at += 1;
            match byte {
                b'\n' => return decimal(&digits).ok_or_else(damaged),
                byte if digits.len() < 20 => digits.push(byte),
                _ => return Err(damaged()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_in_order_inside_and_of_the_stored_size() {
        let extent = |offset, bytes| Extent { offset, bytes };
        assert_eq!(check(&[extent(0, 10), extent(20, 5), extent(30, 0)], 30, 15), Ok(()));
        for (extents, size, stored) in [
            (vec![extent(5, 10), extent(0, 5)], 30, 15),
            (vec![extent(0, 10), extent(9, 5)], 30, 15),
            (vec![extent(20, 11)], 30, 11),
            (vec![extent(0, 10)], 30, 11),
            (vec![extent(u64::MAX, 2)], u64::MAX, 2),
        ] {
            assert!(check(&extents, size, stored).is_err(), "{extents:?}");
        }
    }

    #[test]
    fn forms_are_told_apart_and_orphans_refused() {
        let form = |records: &[(&str, &str)]| {
            let mut keys = SparseKeys::default();
            for (key, value) in records {
                keys.record(key.as_bytes(), value.as_bytes())?;
            }
            keys.form().ok()
        };
        let extents = vec![Extent { offset: 1, bytes: 2 }];
        assert_eq!(form(&[]), Some(Form::Dense));
        assert_eq!(form(&[("major", "1"), ("minor", "0"), ("realsize", "9")]), Some(Form::MapInData { size: 9 }));
        let mapped = Form::Mapped { extents, size: 9 };
        assert_eq!(form(&[("size", "9"), ("numblocks", "1"), ("offset", "1"), ("numbytes", "2")]), Some(mapped));
        assert!(form(&[("size", "9"), ("numblocks", "1"), ("map", "1,2")]).is_some());
        assert_eq!(form(&[("size", "9"), ("numblocks", "2"), ("map", "1,2")]), None);
        assert_eq!(form(&[("numbytes", "2")]), None);
        assert_eq!(form(&[("name", "orphan")]), None);
        assert_eq!(form(&[("major", "2"), ("minor", "0"), ("realsize", "9")]), None);
    }
}
