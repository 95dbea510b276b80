//! Reader of the kernel's description of its own types (BTF): which type has a name, where in a structure a field lies.
//! Understands no more than that. Whatever the bytes are, it ends, allocates in proportion to them, and does not panic.
//!
//! The format is described in the kernel's own documentation, `Documentation/bpf/btf.rst`.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// LIMIT: the largest kernels describe themselves in 8 MB; a file of more than this is none of theirs.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// LIMIT: structures without a name inside others, and qualifiers before a type, nest no deeper in any sane kernel.
const DEPTH_MAX: usize = 32;
const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;

/// What a type is. Kinds that nobody asks for are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `struct`.
    Structure,
    /// `union`.
    Union,
    /// `enum`, of either width.
    Enumeration,
    /// `typedef`.
    Typedef,
    /// A function.
    Function,
    /// `const`, `volatile`, `restrict`, or a tag: another type, qualified.
    Qualifier,
    /// Anything else.
    Other,
}

/// Why a description cannot be used.
#[derive(Debug)]
pub enum BtfError {
    /// The file could not be read.
    Read(io::Error),
    /// Not a description, or for the other byte order.
    Magic,
    /// It ends before it should, or points outside itself.
    Damaged(&'static str),
}

impl fmt::Display for BtfError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(_) => formatter.write_str("read it"),
            Self::Magic => formatter.write_str("these are no type descriptions of this machine's byte order"),
            Self::Damaged(what) => write!(formatter, "damaged: {what}"),
        }
    }
}

impl std::error::Error for BtfError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(cause) => Some(cause),
            Self::Magic | Self::Damaged(_) => None,
        }
    }
}

/// Types of a kernel.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    /// Where each type's record begins in `bytes`; type 1 is the first.
    types: Vec<u32>,
    strings: std::ops::Range<usize>,
}

/// A record, taken apart.
#[derive(Clone, Copy)]
struct Record {
    name_at: u32,
    kind: u8,
    members: usize,
    /// Bit 31: member offsets carry the size of a bit field.
    has_bit_fields: bool,
    /// The type it refers to, for those that do.
    target: u32,
    /// Where what follows the record begins.
    body_at: usize,
}

/// Bytes behind a record of `kind` with `members` members; none for a kind that nobody knows.
fn body_bytes(kind: u8, members: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        2 | 7 | 8 | 9 | 10 | 11 | 12 | 16 | 18 => 0,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * members,
        6 | 13 => 8 * members,
        _ => return None,
    })
}

impl Btf {
    /// Reads and checks the description in `path`.
    pub fn read(path: &Path) -> Result<Self, BtfError> {
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(BtfError::Read)?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(BtfError::Read)?;
        Self::parse(bytes)
    }

    /// Checks a description as a whole: from here on all records lie within it.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BtfError> {
        if bytes.get(..2).is_none_or(|magic| magic != MAGIC.to_ne_bytes()) {
            return Err(BtfError::Magic);
        }
        let short = || BtfError::Damaged("the header ends early");
        let header = |at: usize| word(&bytes, at).map(|value| value as usize).ok_or_else(short);
        let header_bytes = header(4)?;
        if header_bytes < HEADER_BYTES {
            return Err(short());
        }
        let section = |offset_at: usize| {
            let from = header_bytes.checked_add(header(offset_at)?);
            let to = from.and_then(|from| Some(from..from.checked_add(word(&bytes, offset_at + 4)? as usize)?));
            to.filter(|range| range.end <= bytes.len()).ok_or(BtfError::Damaged("a section lies outside the file"))
        };
        let (all_types, strings) = (section(8)?, section(16)?);
        let mut types = Vec::new();
        let mut at = all_types.start;
        while at < all_types.end {
            let record = record(&bytes, at).ok_or(BtfError::Damaged("a type ends early"))?;
            let body = body_bytes(record.kind, record.members).ok_or(BtfError::Damaged("a type of unknown kind"))?;
            types.push(u32::try_from(at).ok().ok_or(BtfError::Damaged("too large"))?);
            at = record.body_at.checked_add(body).ok_or(BtfError::Damaged("a type without end"))?;
        }
        if at != all_types.end {
            return Err(BtfError::Damaged("the last type ends early"));
        }
        Ok(Self { bytes, types, strings })
    }

    /// How many types there are.
    pub fn count(&self) -> usize {
        self.types.len()
    }

    fn record(&self, number: u32) -> Option<Record> {
        let at = *self.types.get((number as usize).checked_sub(1)?)?;
        record(&self.bytes, at as usize)
    }

    fn name(&self, name_at: u32) -> &[u8] {
        let strings = self.bytes.get(self.strings.clone()).unwrap_or_default();
        let rest = strings.get(name_at as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The number of the type of `kind` that is called `name`. Walks all of them.
    pub fn find(&self, kind: Kind, name: &str) -> Option<u32> {
        // Comparing the byte behind the name as well spares the search for the end of every other name.
        let strings = self.bytes.get(self.strings.clone())?;
        let is_named = |at: u32| {
            let rest = strings.get(at as usize..).unwrap_or_default();
            rest.starts_with(name.as_bytes()) && rest.get(name.len()) == Some(&0)
        };
        let found = self.types.iter().position(|at| {
            record(&self.bytes, *at as usize)
                .is_some_and(|record| kind_of(record.kind) == kind && is_named(record.name_at))
        })?;
        u32::try_from(found + 1).ok()
    }

    /// Bytes from the beginning of the structure `name` to the field at `path`: names joined by points, each in the
    /// structure that the one before holds (not points to). Fields of structures and unions without a name count as their
    /// surroundings' own.
    pub fn field_offset(&self, name: &str, path: &str) -> Option<u32> {
        let mut current = self.find(Kind::Structure, name)?;
        let mut bits = 0_u32;
        for field in path.split('.') {
            let (offset, target) = self.member(current, field.as_bytes(), DEPTH_MAX)?;
            bits = bits.checked_add(offset)?;
            current = self.unqualified(target)?;
        }
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    /// Offset in bits and type of a member.
    fn member(&self, structure: u32, field: &[u8], depth: usize) -> Option<(u32, u32)> {
        let record = self.record(structure)?;
        if !matches!(kind_of(record.kind), Kind::Structure | Kind::Union) {
            return None;
        }
        let members = (0..record.members).map(|index| record.body_at + 12 * index);
        for at in members {
            let (name_at, target) = (word(&self.bytes, at)?, word(&self.bytes, at + 4)?);
            let offset = word(&self.bytes, at + 8)? & if record.has_bit_fields { 0x00ff_ffff } else { u32::MAX };
            let name = self.name(name_at);
            if name == field {
                return Some((offset, target));
            }
            if name.is_empty() && depth > 0 {
                let inner = self.unqualified(target)?;
                if let Some((inside, target)) = self.member(inner, field, depth - 1) {
                    return Some((offset.checked_add(inside)?, target));
                }
            }
        }
        None
    }

    /// The type behind typedefs and qualifiers.
    fn unqualified(&self, mut number: u32) -> Option<u32> {
        for _ in 0..DEPTH_MAX {
            let record = self.record(number)?;
            match kind_of(record.kind) {
                Kind::Typedef | Kind::Qualifier => number = record.target,
                _ => return Some(number),
            }
        }
        None
    }

    /// The number that `constant` stands for in the enumeration `name`.
    pub fn constant(&self, name: &str, constant: &str) -> Option<i32> {
        let record = self.record(self.find(Kind::Enumeration, name)?)?;
        // Those of 64 bits have three words a constant, the others two; the low word comes first in both.
        let stride = body_bytes(record.kind, 1)?;
        (0..record.members).map(|index| record.body_at + stride * index).find_map(|at| {
            let is_it = self.name(word(&self.bytes, at)?) == constant.as_bytes();
            if is_it { word(&self.bytes, at + 4).map(u32::cast_signed) } else { None }
        })
    }
}

fn kind_of(kind: u8) -> Kind {
    match kind {
        4 => Kind::Structure,
        5 => Kind::Union,
        6 | 19 => Kind::Enumeration,
        8 => Kind::Typedef,
        9 | 10 | 11 | 18 => Kind::Qualifier,
        12 => Kind::Function,
        _ => Kind::Other,
    }
}

fn record(bytes: &[u8], at: usize) -> Option<Record> {
    let (name_at, information, target) = (word(bytes, at)?, word(bytes, at + 4)?, word(bytes, at + 8)?);
    Some(Record {
        name_at,
        kind: (information >> 24 & 0x1f) as u8,
        members: (information & 0xffff) as usize,
        has_bit_fields: information >> 31 == 1,
        target,
        body_at: at + 12,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; struct { long b; } (nameless); typedef inner c; enum e d:3 }` and friends.
    struct Maker {
        types: Vec<u8>,
        strings: Vec<u8>,
    }

    impl Maker {
        fn new() -> Self {
            Self { types: Vec::new(), strings: vec![0] }
        }

        fn name(&mut self, name: &str) -> u32 {
            if name.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32;
            self.strings.extend(name.as_bytes());
            self.strings.push(0);
            at
        }

        fn add(&mut self, name: &str, kind: u32, members: u32, target: u32, body: &[u32]) {
            let name = self.name(name);
            for value in [&[name, kind << 24 | members, target], body].concat() {
                self.types.extend(value.to_ne_bytes());
            }
        }

        fn finish(self) -> Vec<u8> {
            let mut bytes = MAGIC.to_ne_bytes().to_vec();
            bytes.extend([1, 0]);
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            for value in [HEADER_BYTES as u32, 0, types, types, strings] {
                bytes.extend(value.to_ne_bytes());
            }
            [bytes, self.types, self.strings].concat()
        }
    }

    fn sample() -> Vec<u8> {
        let mut maker = Maker::new();
        maker.add("int", 1, 0, 4, &[0x0100_0020]);
        let (b, x) = (maker.name("b"), maker.name("x"));
        maker.add("", 4, 1, 8, &[b, 1, 32]);
        maker.add("inner", 4, 1, 4, &[x, 1, 0]);
        maker.add("inner_t", 8, 0, 3, &[]);
        let (a, c) = (maker.name("a"), maker.name("c"));
        maker.add("outer", 4, 3, 24, &[a, 1, 0, 0, 2, 64, c, 4, 128]);
        let (one, two) = (maker.name("ONE"), maker.name("TWO"));
        maker.add("numbers", 6, 2, 4, &[one, 1, two, u32::MAX]);
        maker.add("loop", 8, 0, 7, &[]);
        maker.finish()
    }

    #[test]
    fn fields_are_found_by_path_and_through_nameless_structures() {
        let btf = Btf::parse(sample()).expect("well formed");
        assert_eq!(btf.count(), 7);
        assert_eq!(btf.find(Kind::Typedef, "inner_t"), Some(4));
        assert_eq!(btf.find(Kind::Structure, "inner_t"), None);
        assert_eq!(btf.field_offset("outer", "a"), Some(0));
        assert_eq!(btf.field_offset("outer", "b"), Some(12), "inside a structure without a name");
        assert_eq!(btf.field_offset("outer", "c.x"), Some(16), "behind a typedef");
        assert_eq!(btf.field_offset("outer", "c.y"), None);
        assert_eq!(btf.field_offset("outer", "a.x"), None, "an int has no fields");
        assert_eq!(btf.constant("numbers", "TWO"), Some(-1));
        assert_eq!(btf.constant("numbers", "THREE"), None);
        assert_eq!(btf.unqualified(7), None, "a typedef of itself ends");
    }

    #[test]
    fn every_shortened_or_changed_description_is_survived() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(Btf::parse(whole[..length].to_vec()).is_err(), "{length} bytes");
        }
        for (index, bit) in (0..whole.len()).flat_map(|index| (0..8).map(move |bit| (index, bit))) {
            let mut changed = whole.clone();
            changed[index] ^= 1 << bit;
            if let Ok(btf) = Btf::parse(changed) {
                let _survived = (btf.field_offset("outer", "c.x"), btf.constant("numbers", "TWO"));
            }
        }
    }
}
