//! The entries of members that begin in one unit, made while it is packed: where the unit will stand is all that is missing, and is
//! put in when it is written. Whoever lays the archive out divides members into blocks of entries; each begins anew.

use super::entry::{Entry, Spot, names, number, put_member, put_place};
use super::names::{Names, bare};
use super::{BLOCK_BYTES_MAX, NAME_BYTES_MAX};
use crate::member::Member;

/// Entries of a block: what one search has to read. Fewer make the root longer, and are decoded in twice the time: each block has its own tables.
const BLOCK_ENTRIES: u64 = 1024;
/// Bytes of names of a block, for the same reason.
const BLOCK_NAME_BYTES: usize = 128 << 10;
/// What an entry says besides, at most: some dozen numbers.
const NUMBERS_BYTES_MAX: usize = 104;
const _: () = assert!(
    (BLOCK_NAME_BYTES + 4 * NAME_BYTES_MAX + BLOCK_ENTRIES as usize * NUMBERS_BYTES_MAX) as u64 <= BLOCK_BYTES_MAX / 4,
    "a reader takes any block"
);

/// A member that begins in a unit.
pub struct Begun {
    /// Where in the unit's plain bytes.
    pub at: u64,
    /// Its length in the archive.
    pub bytes: u64,
    /// It, as its headers tell it; none where they tell nothing.
    pub member: Option<Member>,
    /// Whether it begins a block of entries.
    pub begins_block: bool,
}

/// Divides members into blocks of entries.
#[derive(Default)]
pub struct Division {
    entries: u64,
    name_bytes: usize,
}

impl Division {
    /// Whether the next member begins a block.
    pub fn begins_block(&mut self, member: &Member) -> bool {
        let begins = self.entries == 0 || self.entries >= BLOCK_ENTRIES || self.name_bytes >= BLOCK_NAME_BYTES;
        if begins {
            *self = Self::default();
        }
        self.entries += 1;
        self.name_bytes += names(member).map(<[u8]>::len).iter().sum::<usize>();
        begins
    }
}

/// Entries of one unit and one block.
pub struct Stretch {
    /// What stands in front of the unit's number.
    front: Vec<u8>,
    /// What stands behind it.
    rest: Vec<u8>,
    /// Whether the first begins a block.
    pub begins_block: bool,
    /// Their names.
    pub names: Names,
}

impl Stretch {
    /// Appends the entries, as those of the unit at `unit`.
    pub fn put(&self, unit: u64, target: &mut Vec<u8>) {
        target.extend_from_slice(&self.front);
        number(unit, target);
        target.extend_from_slice(&self.rest);
    }
}

/// What the next entry needs of the member before it.
pub fn before_next(member: &Member) -> Member {
    let Member { path, uid, gid, owner, group, mtime, .. } = member;
    let (path, owner, group) = (path.clone(), owner.clone(), group.clone());
    Member { path, uid: *uid, gid: *gid, owner, group, mtime: *mtime, ..Member::default() }
}

/// The stretches of the members that begin in one unit. `before`: what [`before_next`] keeps of the last member before them. None: this archive gets no index.
pub fn stretches(members: impl Iterator<Item = Begun>, before: Option<Member>) -> Option<Vec<Stretch>> {
    // Any number that differs from the default, as which units before this one are taken.
    const THIS_UNIT: u64 = 1;
    let mut stretches = Vec::<Stretch>::new();
    let mut last = Entry { member: before.unwrap_or_default(), spot: Spot::default() };
    for Begun { at, bytes, member, begins_block } in members {
        let entry = Entry { member: member?, spot: Spot { unit: THIS_UNIT, at, bytes } };
        if begins_block {
            last = Entry::default();
        }
        let has_been_begun = !begins_block && !stretches.is_empty();
        if !has_been_begun {
            stretches.push(Stretch { front: Vec::new(), rest: Vec::new(), begins_block, names: Names::default() });
        }
        let stretch = stretches.last_mut()?;
        if !put_member(&entry, &last, if has_been_begun { &mut stretch.rest } else { &mut stretch.front }) {
            return None;
        }
        put_place(&entry, &last, &mut stretch.rest);
        stretch.names.add(bare(&entry.member.path));
        last = entry;
    }
    Some(stretches)
}

#[cfg(test)]
mod tests {
    use super::super::entry::Cursor;
    use super::*;

    fn member(number: usize, name_bytes: usize) -> Member {
        let path = format!("tree/{number:0name_bytes$}").into_bytes();
        Member { path, owner: b"root".to_vec(), size: number as u64 % 3, ..Member::default() }
    }

    /// The blocks that an index of units with so many members has, each with its names; and its entries.
    fn blocks(members_of_units: &[usize], name_bytes: usize) -> (Vec<(Vec<u8>, Names)>, Vec<Entry>) {
        let (mut division, mut before) = (Division::default(), None);
        let (mut blocks, mut entries) = (Vec::<(Vec<u8>, Names)>::new(), Vec::new());
        for (unit, &members) in (100..).zip(members_of_units) {
            let first = entries.len();
            entries.extend((0..members).map(|number| {
                let spot = Spot { unit, at: number as u64 * 1024, bytes: 1024 };
                Entry { member: member(first + number, name_bytes), spot }
            }));
            let begun = entries[first..].iter().map(|Entry { member, spot }| {
                let begins_block = division.begins_block(member);
                Begun { at: spot.at, bytes: spot.bytes, member: Some(member.clone()), begins_block }
            });
            for stretch in stretches(begun, before).expect("an index can say them") {
                if stretch.begins_block {
                    blocks.push(Default::default());
                }
                let (block, names) = blocks.last_mut().expect("the first begins one");
                stretch.put(unit, block);
                names.extend(&stretch.names);
            }
            before = entries.last().map(|entry| before_next(&entry.member));
        }
        (blocks, entries)
    }

    #[test]
    fn a_unit_has_many_blocks_and_a_block_many_units() {
        for (members_of_units, name_bytes) in [(&[1, 0, 700, 2500, 0, 299][..], 5), (&[40, 1, 3], 4000)] {
            let (blocks, entries) = blocks(members_of_units, name_bytes);
            let mut expected = entries.iter();
            for (block, names) in &blocks {
                assert!(block.len() as u64 <= BLOCK_BYTES_MAX && (1..=BLOCK_ENTRIES).contains(&names.count));
                assert_eq!(names.least, expected.as_slice()[0].member.path);
                let mut cursor = Cursor::new(block);
                for entry in expected.by_ref().take(names.count as usize) {
                    assert_eq!(cursor.next(), Ok(true));
                    assert_eq!(&cursor.entry, entry);
                }
                assert_eq!(cursor.next(), Ok(false));
                assert_eq!(names.greatest, cursor.entry.member.path);
            }
            assert!(expected.next().is_none() && blocks.len() > 1);
        }
    }
}
