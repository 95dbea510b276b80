//! What is written is read back, in every dialect, at every border of a field; the bytes GNU tar writes are compared with in the
//! acceptance tests.

use super::*;
use crate::member::{Attribute, Device};
use crate::read::{Reader, Rules, Step};
use crate::source::{MemorySource, Source};
use proptest::prelude::*;

fn read_back(bytes: &[u8]) -> Member {
    let mut source = MemorySource::new(bytes);
    let mut reader = Reader::new(Rules::default(), &source);
    let Ok(Step::Member(member)) = reader.next(&mut source) else { panic!("no member") };
    assert_eq!(source.position(), member.data_offset);
    *member
}

fn round_trip(member: &Member, style: &Style) -> Option<Member> {
    let mut bytes = Vec::new();
    begin_member(member, style, &mut bytes).ok()?;
    assert_eq!(bytes.len() % BLOCK_BYTES, 0);
    let back = read_back(&bytes);
    Some(Member { header_offset: 0, data_offset: 0, ..back })
}

fn a_member(path: Vec<u8>) -> Member {
    Member { path, mode: 0o644, uid: 7, gid: 8, owner: b"me".to_vec(), group: b"us".to_vec(), ..Member::default() }
}

#[test]
fn names_of_every_length_come_back() {
    for length in 1..400_usize {
        for slash in [0, length / 2, length.saturating_sub(3)] {
            let mut path = vec![b'n'; length];
            if slash > 0 {
                path[slash] = b'/';
            }
            if path.ends_with(b"/") {
                continue;
            }
            let member = a_member(path);
            for format in [Format::Pax, Format::Gnu, Format::Ustar] {
                let style = Style { format, ..Style::default() };
                match round_trip(&member, &style) {
                    Some(back) => assert_eq!(back, member, "{format:?}"),
                    None => assert!(format == Format::Ustar && length > 100),
                }
            }
        }
    }
}

#[test]
fn holes_come_back_in_both_dialects_that_have_them() {
    for count in [1, 4, 5, 25, 26, 100] {
        let extents: Vec<_> = (0..count).map(|at| Extent { offset: at * 10_000, bytes: 512 }).collect();
        let stored_bytes = 512 * count;
        let member = Member { size: 2_000_000, stored_bytes, sparse: Some(extents), ..a_member(b"s/parse".to_vec()) };
        for format in [Format::Pax, Format::Gnu] {
            assert_eq!(round_trip(&member, &Style { format, ..Style::default() }), Some(member.clone()), "{format:?}");
        }
    }
}

proptest! {
    #[test]
    fn pax_keeps_everything(
        path in prop::collection::vec(1..=255_u8, 1..300),
        link in prop::collection::vec(1..=255_u8, 1..300),
        (uid, gid) in (0..u64::from(u32::MAX), 0..u64::from(u32::MAX)),
        seconds in -4_000_000_000_i64..100_000_000_000,
        nanoseconds in 0..1_000_000_000_u32,
        value in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        prop_assume!(!path.ends_with(b"/"));
        let mtime = Time { seconds, nanoseconds };
        let name = AttributeName::Extended(b"user.x".to_vec());
        let member = Member {
            path, link, uid, gid, mtime,
            kind: Kind::Symlink, mode: 0o7777,
            owner: "müller".into(), group: vec![b'g'; 50],
            atime: Some(mtime), ctime: Some(mtime),
            attributes: vec![Attribute { name, value }],
            ..Member::default()
        };
        let style = Style { other_times: OtherTimes::Told, ..Style::default() };
        prop_assert_eq!(round_trip(&member, &style), Some(member));
    }
}

/// Readers without records see what GNU tar shows them.
#[test]
fn a_pax_header_has_a_name_beside_a_sparse_file_and_no_letters_but_ascii_ones() {
    let field = |member: &Member, from: usize, bytes: usize| {
        let mut written = Vec::new();
        begin_member(member, &Style::default(), &mut written).expect("pax has room for all");
        let map_bytes = member.sparse.as_ref().map_or(0, |_| BLOCK_BYTES);
        let header = &written[written.len() - map_bytes - BLOCK_BYTES..];
        let text = header[from..from + bytes].split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8(text.to_vec()).expect("ASCII")
    };
    let extents = vec![Extent { offset: 0, bytes: 512 }];
    let sparse = Member { size: 9999, stored_bytes: 512, sparse: Some(extents), ..a_member(b"d/sparse".to_vec()) };
    assert_eq!(field(&sparse, 0, 100), "d/GNUSparseFile.0/sparse");
    let named =
        Member { owner: "müller".into(), group: ["ü", &"g".repeat(40)].concat().into(), ..a_member(b"f".to_vec()) };
    assert_eq!((field(&named, 0, 100), field(&named, 265, 32)), ("f".to_owned(), "mller".to_owned()));
    assert_eq!(field(&named, 297, 32), "g".repeat(31));
}

#[test]
fn large_numbers_go_to_records_or_base_256() {
    let member = Member {
        uid: 1 << 31,
        size: 1 << 40,
        stored_bytes: 1 << 40,
        mtime: Time { seconds: -5, nanoseconds: 0 },
        ..a_member(b"f".to_vec())
    };
    for format in [Format::Pax, Format::Gnu] {
        assert_eq!(round_trip(&member, &Style { format, ..Style::default() }), Some(member.clone()), "{format:?}");
    }
    let ustar = Style { format: Format::Ustar, ..Style::default() };
    assert!(round_trip(&member, &ustar).is_none());
}

/// Sizes at the border of what the field holds, beyond it, and at the end of what a file can have.
#[test]
fn sparse_files_of_any_size_come_back_and_the_record_counts_the_map() {
    const FIELD: u64 = 0o77_777_777_777;
    for (stored_bytes, size) in [
        (FIELD - 1024, 1 << 34),
        (FIELD - 511, 1 << 34),
        (FIELD, 1 << 34),
        (FIELD + 1, 1 << 34),
        (1 << 40, 1 << 50),
        (512, i64::MAX as u64),
    ] {
        let offset = size - stored_bytes;
        let sparse = Some(vec![Extent { offset, bytes: stored_bytes }, Extent { offset: size, bytes: 0 }]);
        let member = Member { size, stored_bytes, sparse, ..a_member(b"s/parse".to_vec()) };
        for format in [Format::Pax, Format::Gnu] {
            assert_eq!(round_trip(&member, &Style { format, ..Style::default() }), Some(member.clone()), "{format:?}");
        }
    }
    let extents = [(0, 8_600_002_560), (10_737_418_240, 0)].map(|(offset, bytes)| Extent { offset, bytes });
    let member = Member {
        size: 10_737_418_240,
        stored_bytes: 8_600_002_560,
        sparse: Some(extents.to_vec()),
        ..a_member(b"BIG".to_vec())
    };
    let mut written = Vec::new();
    begin_member(&member, &Style::default(), &mut written).expect("pax has room for all");
    // As GNU tar 1.34 writes it.
    assert!(written.windows(19).any(|record| record == b"19 size=8600003072\n"));
}

#[test]
fn devices_keep_their_numbers() {
    let device = Device { major: 8, minor: 17 };
    let member = Member { kind: Kind::BlockDevice, device, ..a_member(b"sdb1".to_vec()) };
    for format in [Format::Pax, Format::Gnu, Format::Ustar] {
        assert_eq!(round_trip(&member, &Style { format, ..Style::default() }), Some(member.clone()), "{format:?}");
    }
}

#[test]
fn the_end_fills_a_record() {
    for so_far in [0, 512, 9216, 9728, 10_240] {
        let mut end = Vec::new();
        end_archive(so_far, &mut end);
        assert_eq!((so_far + end.len() as u64) % 10_240, 0);
        assert!((1024..1024 + 10_240).contains(&end.len()));
    }
}
