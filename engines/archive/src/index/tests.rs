//! Indexes made and found again; hostile ones; members read by them.

use super::entry::{Cursor, Entry, Spot, number, put_member, put_place};
use super::reader::{Index, Search, Unfit};
use super::stretch::{Begun, Division, before_next, stretches};
use super::writer::Writer;
use super::*;
use crate::member::{Device, Kind, Member, Time};
use crate::write::{Style, begin_member, end_archive};
use codec::byte_buffer::ByteBuffer;
use codec::format::{DecodeLimits, EncodeOptions, Format, UnitLayout};
use crew::pipeline::Pause;
use proptest::prelude::*;
use std::fs::File;
use std::sync::Arc;

const LIMITS: DecodeLimits = DecodeLimits {
    unit_uncompressed_bytes: 8 << 20,
    unit_held_bytes: u64::MAX,
    window_bytes: 8 << 20,
    dictionary: None,
    prefix: None,
    stream_bytes: 8 << 20,
    ahead_bytes: 0,
    streams_lone_unit: false,
};

fn member(number: u64) -> Member {
    let path = format!("tree/d{:02}/file-{number}", number / 20).into_bytes();
    let mtime = Time { seconds: number as i64 * 977 - 5000, nanoseconds: 0 };
    Member { path, mode: 0o644, size: number % 700, stored_bytes: number % 700, mtime, ..Member::default() }
}

/// As stretches put entries together.
fn put(entry: &Entry, last: &Entry, target: &mut Vec<u8>) -> bool {
    let fits = put_member(entry, last, target);
    if entry.spot.unit != last.spot.unit {
        number(entry.spot.unit, target);
    }
    put_place(entry, last, target);
    fits
}

fn format(name: &str) -> &'static dyn Format {
    codec::registry::by_name(name).expect("registered")
}

/// An archive of `count` members, thirty to a unit, with its index.
fn archive(format: &'static dyn Format, count: u64) -> Vec<u8> {
    let options = EncodeOptions::new(1, UnitLayout::ParallelUnits);
    let (mut encoder, mut tail) = (format.encoder(&options).expect("one"), format.tail(&options));
    let mut index = Writer::new(format).expect("it has a place for one");
    let (mut file, mut plain, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    let (mut division, mut before) = (Division::default(), None);
    for number in 0..=count {
        if number == count {
            end_archive(0, &mut plain);
        } else {
            let member = member(number);
            let at = plain.len() as u64;
            begin_member(&member, &Style::default(), &mut plain).expect("it fits");
            plain.resize(plain.len() + member.padded_bytes() as usize, number as u8);
            let begins_block = division.begins_block(&member);
            begun.push(Begun { at, bytes: plain.len() as u64 - at, member: Some(member), begins_block });
        }
        if number % 30 == 29 || number == count {
            let mut packed = ByteBuffer::default();
            encoder.encode(&plain, &mut packed, &mut Pause::never()).expect("encode");
            let last = begun.last().and_then(|begun: &Begun| begun.member.as_ref()).map(before_next);
            let entries = stretches(begun.drain(..), before).expect("an index can say them");
            (index, before) = (index.unit(file.len() as u64, &entries).expect("they can be packed"), last);
            tail.unit(packed.content(), plain.len() as u64);
            file.extend_from_slice(packed.content());
            plain.clear();
        }
    }
    let behind = index.finish(file.len() as u64).expect("it is worth one");
    tail.unit(&behind, 0);
    file.extend(behind);
    file.extend(tail.finish());
    file
}

fn on_disk(bytes: &[u8]) -> Arc<File> {
    let file = tempfile::tempfile().expect("a file");
    sys::at_offset::write_all_at(&file, bytes, 0).expect("write");
    Arc::new(file)
}

fn entries(index: &Index) -> Result<Vec<Entry>, Unfit> {
    let mut entries = Vec::new();
    let shown = index.all(|entry| {
        entries.push(entry.clone());
        Ok(Search::On)
    });
    shown.expect("nothing else can fail").map(|()| entries)
}

#[test]
fn what_is_indexed_is_found_and_true() {
    for name in ["zst", "gz"] {
        let format = format(name);
        let file = on_disk(&archive(format, 3000));
        let index = Index::find(&file, format).expect("there is one").expect("it fits");
        let all = entries(&index).expect("sound");
        assert_eq!((all.len(), index.members()), (3000, 3000));
        let mut units = index.units(LIMITS);
        for (number, entry) in all.iter().enumerate().step_by(97) {
            assert_eq!(entry.member.path, member(number as u64).path);
            assert!(Index::is_true_of(&mut units, entry), "{name}: {number}");
        }
        for (what, count) in [("tree/d07", 20), ("tree/d07/file-150", 1), ("tree", 3000), ("tre", 0), ("zzz", 0)] {
            let mut found = Vec::new();
            let wanted = |path: &[u8]| {
                path.strip_prefix(what.as_bytes())
                    .is_some_and(|rest| rest.first() != Some(&b'0') && (rest.is_empty() || rest[0] == b'/'))
            };
            index.named(&[what.as_bytes()], |entry| found.push(entry.member.path.clone())).expect("sound");
            assert_eq!(found.iter().filter(|path| wanted(path)).count(), count, "{name}: {what}");
            assert!(what == "tree" || found.len() < 3000, "not all blocks are looked into for {what}");
        }
    }
}

#[test]
fn where_a_member_stands_is_said_only_if_it_does_not_follow_the_one_before() {
    let entry =
        |at, size, bytes| Entry { member: Member { size, ..Member::default() }, spot: Spot { unit: 7, at, bytes } };
    let first = entry(1024, 10, 1024);
    // The same headers; longer ones; a gap; data that are not as long as their size; all that a number can say.
    let next = [(2048, 600, 1536, true), (2048, 600, 2048, false), (2560, 600, 1536, false), (2048, 600, 512, false)];
    for (at, size, bytes, follows) in next.into_iter().chain([(2048, u64::MAX, u64::MAX, false)]) {
        let second = entry(at, size, bytes);
        let mut block = Vec::new();
        assert!(put(&first, &Entry::default(), &mut block));
        let before = block.len();
        assert!(put(&second, &first, &mut block));
        assert_eq!(block[before] & 0x08 != 0, follows, "{at} {size} {bytes}");
        let mut cursor = Cursor::new(&block);
        for expected in [&first, &second] {
            assert_eq!(cursor.next(), Ok(true));
            assert_eq!(&cursor.entry, expected);
        }
    }
}

#[test]
fn an_index_of_another_file_is_none() {
    let format = format("zst");
    let whole = archive(format, 300);
    let longer = [b"\x5a\x2a\x4d\x18\x01\0\0\0x".as_slice(), &whole].concat();
    assert!(matches!(Index::find(&on_disk(&longer), format), Some(Err(Unfit::Misplaced))));
    assert!(Index::find(&on_disk(&whole[..whole.len() - 1]), format).is_none());
    assert!(Index::find(&on_disk(b"short"), format).is_none());
    let twice = [whole.as_slice(), &whole].concat();
    assert!(!matches!(Index::find(&on_disk(&twice), format), Some(Ok(_))));
}

#[test]
fn an_entry_that_lies_is_seen() {
    let format = format("gz");
    let file = on_disk(&archive(format, 300));
    let index = Index::find(&file, format).expect("there is one").expect("it fits");
    let mut units = index.units(LIMITS);
    let sound = entries(&index).expect("sound").swap_remove(100);
    let lies: [fn(&mut Entry); 8] = [
        |entry| entry.member.path.push(b'x'),
        |entry| entry.member.size += 1,
        |entry| entry.member.mode = 0o4755,
        |entry| entry.member.kind = Kind::Symlink,
        |entry| entry.member.mtime.seconds += 1,
        |entry| entry.spot.at += 512,
        |entry| entry.spot.bytes += 512,
        |entry| entry.spot.unit = u64::MAX,
    ];
    assert!(Index::is_true_of(&mut units, &sound));
    for lie in lies {
        let mut entry = sound.clone();
        lie(&mut entry);
        assert!(!Index::is_true_of(&mut units, &entry), "{entry:?}");
    }
    assert!(Index::is_true_of(&mut units, &sound), "units are found again after any of them");
}

#[test]
fn small_archives_get_none_and_names_without_end_neither() {
    let format = format("zst");
    let one = |member| stretches([Begun { at: 0, bytes: 512, member, begins_block: true }].into_iter(), None);
    let index = Writer::new(format).expect("it has a place for one");
    let index = index.unit(0, &one(Some(member(1))).expect("an index can say it")).expect("it can be packed");
    assert!(index.finish(100).is_none());
    let long = || vec![b'x'; NAME_BYTES_MAX + 1];
    assert!(one(Some(Member { path: long(), ..Member::default() })).is_none());
    assert!(one(Some(Member { group: long(), ..Member::default() })).is_none());
    assert!(one(None).is_none());
    assert!(Writer::new(codec::registry::by_name("xz").expect("registered")).is_none());
}

proptest! {
    #[test]
    fn a_damaged_index_is_refused_or_harmless(at in 0.0..1.0, value in any::<u8>()) {
        let format = format("zst");
        let mut bytes = archive(format, 200);
        let sound = entries(&Index::find(&on_disk(&bytes), format).expect("one").expect("fits")).expect("sound");
        let place = (at * bytes.len() as f64) as usize;
        bytes[place] = value;
        if let Some(Ok(index)) = Index::find(&on_disk(&bytes), format)
            && let Ok(found) = entries(&index)
        {
            // Each block has a checksum; what it does not cover tells nothing of members.
            prop_assert_eq!(found, sound);
        }
    }

    #[test]
    fn entries_come_back(
        paths in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..20),
        numbers in prop::collection::vec(any::<u64>(), 8),
        kind in 0_usize..4,
    ) {
        let kind = [Kind::Regular, Kind::Symlink, Kind::BlockDevice, Kind::Directory][kind];
        let (mut bytes, mut last, mut expected) = (Vec::new(), Entry::default(), Vec::new());
        for (at, path) in paths.into_iter().enumerate() {
            let number = numbers[at % 8];
            let member = Member {
                path,
                kind,
                link: if kind == Kind::Symlink { vec![b'l'; at + 1] } else { Vec::new() },
                mode: number as u32,
                uid: numbers[0],
                gid: number,
                owner: vec![b'o'; at % 3],
                mtime: Time { seconds: number as i64, nanoseconds: number as u32 % 1_000_000_000 },
                size: number,
                device: if kind == Kind::BlockDevice { Device { major: 7, minor: at as u32 } } else { Device::default() },
                ..Member::default()
            };
            let entry = Entry { member, spot: Spot { unit: number, at: numbers[1], bytes: numbers[2] } };
            prop_assert!(put(&entry, &last, &mut bytes));
            last = entry.clone();
            expected.push(entry);
        }
        let mut cursor = Cursor::new(&bytes);
        for entry in &expected {
            prop_assert_eq!(cursor.next(), Ok(true));
            prop_assert_eq!(&cursor.entry, entry);
        }
        prop_assert_eq!(cursor.next(), Ok(false));
    }

    #[test]
    fn any_bytes_are_entries_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut cursor = Cursor::new(&bytes);
        let mut steps = 0;
        while let Ok(true) = cursor.next() {
            steps += 1;
            prop_assert!(steps <= bytes.len() && cursor.entry.member.path.len() <= NAME_BYTES_MAX);
        }
    }
}
