//! Entries of an index as bytes: numbers of seven bits a byte, names without what they share with the one before.
//! A cursor goes from entry to entry and gives up at the first byte that cannot be.

use super::NAME_BYTES_MAX;
use crate::member::{Device, Kind, Member, Time, padded};

/// A member and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What a list shows of it: name, kind, link, mode, owners, time, size, device.
    pub member: Member,
    /// Where it stands.
    pub spot: Spot,
}

/// Where a member stands, from its first header to the end of its data's last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Where the unit that it begins in begins in the packed file.
    pub unit: u64,
    /// Where in that unit's plain bytes it begins.
    pub at: u64,
    /// Its length in the plain archive.
    pub bytes: u64,
}

impl Spot {
    fn end(&self) -> Option<u64> {
        self.at.checked_add(self.bytes)
    }
}

const KINDS: [Kind; 7] = [
    Kind::Regular,
    Kind::HardLink,
    Kind::Symlink,
    Kind::CharacterDevice,
    Kind::BlockDevice,
    Kind::Directory,
    Kind::Fifo,
];
const KIND_BITS: u8 = 0x07;
/// It begins where the one before it ends, in the same unit, and has headers as long.
const FOLLOWS: u8 = 0x08;
const SAME_OWNERS: u8 = 0x10;
const HAS_LINK: u8 = 0x20;
const HAS_NANOSECONDS: u8 = 0x40;
const SAME_UNIT: u8 = 0x80;

/// Appends what `entry`, as the one behind `last`, says of its member. Behind it comes the unit's number, if it is another than that of `last`, and then the
/// place ([`put_place`]). False where an index cannot say it.
pub(super) fn put_member(entry: &Entry, last: &Entry, target: &mut Vec<u8>) -> bool {
    let (member, before) = (&entry.member, &last.member);
    let Some(kind) = KINDS.iter().position(|&kind| kind == member.kind) else { return false };
    if names(member).iter().any(|name| name.len() > NAME_BYTES_MAX) {
        return false;
    }
    let mut flags = kind as u8;
    for (is_set, flag) in [
        (follows(entry, last), FOLLOWS),
        (has_same_owners(member, before), SAME_OWNERS),
        (!member.link.is_empty(), HAS_LINK),
        (member.mtime.nanoseconds > 0, HAS_NANOSECONDS),
        (entry.spot.unit == last.spot.unit, SAME_UNIT),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    target.push(flags);
    let shared = member.path.iter().zip(&before.path).take_while(|(one, other)| one == other).count();
    number(shared as u64, target);
    bytes(&member.path[shared..], target);
    number(member.mode.into(), target);
    if flags & SAME_OWNERS == 0 {
        number(member.uid, target);
        number(member.gid, target);
        bytes(&member.owner, target);
        bytes(&member.group, target);
    }
    number(member.size, target);
    let later = member.mtime.seconds.wrapping_sub(before.mtime.seconds);
    // Small numbers of either sign become small ones without.
    number((later << 1 ^ later >> 63) as u64, target);
    if flags & HAS_NANOSECONDS != 0 {
        number(member.mtime.nanoseconds.into(), target);
    }
    if flags & HAS_LINK != 0 {
        bytes(&member.link, target);
    }
    if is_device(member.kind) {
        number(member.device.major.into(), target);
        number(member.device.minor.into(), target);
    }
    true
}

/// Appends where in its unit `entry`, as the one behind `last`, stands.
pub(super) fn put_place(entry: &Entry, last: &Entry, target: &mut Vec<u8>) {
    if !follows(entry, last) {
        number(entry.spot.at, target);
        number(entry.spot.bytes, target);
    }
}

fn follows(entry: &Entry, last: &Entry) -> bool {
    entry.spot.unit == last.spot.unit
        && last.spot.end() == Some(entry.spot.at)
        && header_bytes(entry).is_some_and(|bytes| header_bytes(last) == Some(bytes))
}

/// What stands in front of its data; none where they are not as long as its size says.
fn header_bytes(entry: &Entry) -> Option<u64> {
    entry.spot.bytes.checked_sub(padded(entry.member.size))
}

/// The names that an entry may say.
pub(super) fn names(member: &Member) -> [&[u8]; 4] {
    [&member.path, &member.link, &member.owner, &member.group]
}

fn has_same_owners(one: &Member, other: &Member) -> bool {
    (one.uid, one.gid, &one.owner, &one.group) == (other.uid, other.gid, &other.owner, &other.group)
}

fn is_device(kind: Kind) -> bool {
    matches!(kind, Kind::CharacterDevice | Kind::BlockDevice)
}

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn number(mut value: u64, target: &mut Vec<u8>) {
    while value > 0x7f {
        target.push(value as u8 | 0x80);
        value >>= 7;
    }
    target.push(value as u8);
}

/// Appends bytes behind their number.
pub(super) fn bytes(value: &[u8], target: &mut Vec<u8>) {
    number(value.len() as u64, target);
    target.extend_from_slice(value);
}

/// What stands in an index is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Numbers and bytes out of an index.
pub(super) struct Taker<'a>(pub &'a [u8]);

impl<'a> Taker<'a> {
    #[inline]
    pub fn number(&mut self) -> Result<u64, Broken> {
        match self.0.split_first() {
            // Most of them.
            Some((&byte, rest)) if byte < 0x80 => {
                self.0 = rest;
                Ok(byte.into())
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Broken> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Broken)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Broken);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken)
    }

    pub fn small(&mut self) -> Result<u32, Broken> {
        u32::try_from(self.number()?).ok().ok_or(Broken)
    }

    pub fn name(&mut self) -> Result<&'a [u8], Broken> {
        let length = self.number()?;
        let length = usize::try_from(length).ok().filter(|&length| length <= NAME_BYTES_MAX).ok_or(Broken)?;
        let (name, rest) = self.0.split_at_checked(length).ok_or(Broken)?;
        self.0 = rest;
        Ok(name)
    }
}

/// Goes through the entries of a block; one entry is kept and changed, so that none of them costs memory.
pub(super) struct Cursor<'a> {
    left: Taker<'a>,
    pub entry: Entry,
}

impl<'a> Cursor<'a> {
    pub fn new(block: &'a [u8]) -> Self {
        Self { left: Taker(block), entry: Entry::default() }
    }

    /// Makes `entry` the next one; false at the end.
    pub fn next(&mut self) -> Result<bool, Broken> {
        let left = &mut self.left;
        let Some((&flags, rest)) = left.0.split_first() else { return Ok(false) };
        left.0 = rest;
        let (end, header_bytes) = (self.entry.spot.end(), header_bytes(&self.entry));
        let Entry { member, spot } = &mut self.entry;
        member.kind = *KINDS.get(usize::from(flags & KIND_BITS)).ok_or(Broken)?;
        let shared = usize::try_from(left.number()?).ok().filter(|&shared| shared <= member.path.len());
        member.path.truncate(shared.ok_or(Broken)?);
        member.path.extend_from_slice(left.name()?);
        if member.path.len() > NAME_BYTES_MAX {
            return Err(Broken);
        }
        member.mode = left.small()?;
        if flags & SAME_OWNERS == 0 {
            (member.uid, member.gid) = (left.number()?, left.number()?);
            for target in [&mut member.owner, &mut member.group] {
                target.clear();
                target.extend_from_slice(left.name()?);
            }
        }
        member.size = left.number()?;
        let later = left.number()?;
        let later = (later >> 1) as i64 ^ -((later & 1) as i64);
        let nanoseconds = if flags & HAS_NANOSECONDS != 0 { left.small()? } else { 0 };
        member.mtime = Time { seconds: member.mtime.seconds.wrapping_add(later), nanoseconds };
        member.link.clear();
        if flags & HAS_LINK != 0 {
            member.link.extend_from_slice(left.name()?);
        }
        member.device = match is_device(member.kind) {
            true => Device { major: left.small()?, minor: left.small()? },
            false => Device::default(),
        };
        if flags & SAME_UNIT == 0 {
            spot.unit = left.number()?;
        }
        (spot.at, spot.bytes) = if flags & FOLLOWS == 0 {
            (left.number()?, left.number()?)
        } else {
            let bytes = header_bytes.and_then(|bytes| bytes.checked_add(padded(member.size)));
            (end.ok_or(Broken)?, bytes.ok_or(Broken)?)
        };
        Ok(true)
    }
}
