//! Headers of all dialects, and every way in which one can be wrong: each case is a row of hostile input that readers have
//! fallen for.

use super::*;
use crate::member::{AttributeName, Extent};
use crate::read::pax::add_record;
use crate::read::plain::FIELD_BYTES_MAX;
use crate::source::MemorySource;
use crate::write::{Format, Style, begin_member, end_archive};

/// What a reader makes of `bytes`, as lines.
fn told(bytes: &[u8], rules: Rules) -> Vec<String> {
    let mut source = MemorySource::new(bytes);
    let mut reader = Reader::new(rules, &source);
    let mut lines = Vec::new();
    loop {
        match reader.next(&mut source) {
            Ok(Step::Member(member)) => {
                lines.push(format!("{:?} {} {}", member.kind, member.name(), member.stored_bytes))
            }
            Ok(Step::Note(Note::PassedOver { defect, .. })) => lines.push(format!("passed over: {defect}")),
            Ok(Step::Note(note)) => lines.push(format!("{note:?}").split([' ', '{']).next().unwrap_or("").to_owned()),
            Ok(Step::End) => return lines,
            Err(error) => {
                lines.push(format!("error: {error}"));
                return lines;
            }
        }
    }
}

fn lenient(bytes: &[u8]) -> Vec<String> {
    told(bytes, Rules::default())
}

fn strict(bytes: &[u8]) -> Vec<String> {
    told(bytes, Rules { grammar: Grammar::Strict, ..Rules::default() })
}

fn header(path: &str, format: Format, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let stored_bytes = data.len() as u64;
    let member = Member { path: path.into(), stored_bytes, size: stored_bytes, mode: 0o644, ..Member::default() };
    begin_member(&member, &Style { format, ..Style::default() }, &mut bytes).expect("it fits");
    bytes
}

fn file(path: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = header(path, Format::Ustar, data);
    bytes.extend_from_slice(data);
    bytes.resize(padded(bytes.len() as u64) as usize, 0);
    bytes
}

/// Sets bytes of a header and its sum anew.
fn changed(mut bytes: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes[148..156].fill(b' ');
    let sum: u32 = bytes[..512].iter().map(|&byte| u32::from(byte)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes
}

fn extension(flag: u8, data: &[u8]) -> Vec<u8> {
    changed(file("ext", data), 156, &[flag])
}

fn records(records: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|(key, value)| add_record(&mut bytes, key.as_bytes(), value.as_bytes()));
    bytes
}

fn pax(said: &[(&str, &str)]) -> Vec<u8> {
    extension(b'x', &records(said))
}

fn end() -> Vec<u8> {
    vec![0; 1024]
}

#[test]
fn members_follow_one_another_up_to_two_zero_blocks() {
    let archive = [file("a", b"1"), file("b", &[7; 1000]), end(), file("never", b"")].concat();
    assert_eq!(lenient(&archive), ["Regular a 1", "Regular b 1000"]);
    let ignoring = Rules { zeros: Zeros::Ignored, ..Rules::default() };
    assert_eq!(told(&archive, ignoring).last().map(String::as_str), Some("Regular never 0"));
}

#[test]
fn an_archive_may_end_without_its_mark_but_not_inside_a_member() {
    let archive = [file("a", b"1"), file("b", &[7; 1000])].concat();
    assert_eq!(lenient(&archive), ["Regular a 1", "Regular b 1000"]);
    for cut in [1, 300, 511, 512 + 511, 1024 + 1, 1024 + 511, 1024 + 512 + 1] {
        let told = lenient(&archive[..cut]);
        let is_told = told.last().is_some_and(|line| line.starts_with("error: it "));
        assert!(is_told, "{cut}: {told:?}");
    }
}

#[test]
fn a_lone_zero_block_is_told() {
    let archive = [file("a", b"1"), vec![0; 512], file("b", b"")].concat();
    assert_eq!(lenient(&archive), ["Regular a 1", "LoneZeroBlock"]);
    // What is left behind it is no block.
    for zeros in [512, 513, 1023] {
        assert_eq!(lenient(&[file("a", b"1"), vec![0; zeros]].concat()), ["Regular a 1", "LoneZeroBlock"]);
        assert_eq!(lenient(&vec![0; zeros]), ["LoneZeroBlock"]);
    }
}

#[test]
fn what_is_no_header_is_passed_over_and_told() {
    assert_eq!(lenient(&[b'x'; 2048]), ["error: it does not look like a tar archive"]);
    assert_eq!(lenient(b""), ["error: it does not look like a tar archive"]);
    assert!(lenient(&[0; 1024]).is_empty(), "an empty archive");
    let archive = [file("a", b""), vec![b'#'; 1024], file("b", b""), end()].concat();
    assert_eq!(lenient(&archive), ["Regular a 0", "Regular b 0", "Resynchronised"]);
    // It may have been the last member's.
    assert_eq!(lenient(&[file("a", b""), vec![b'#'; 512], end()].concat()), ["Regular a 0", "Resynchronised"]);
    assert_eq!(lenient(&[file("a", b""), vec![b'#'; 512]].concat()), ["Regular a 0", "Resynchronised"]);
}

#[test]
fn records_win_over_fields_and_the_last_of_a_key_over_others() {
    let inner = file("smuggled", b"");
    let data = [inner.clone(), inner].concat();
    let plain = changed(file("short", &data), 124, b"00000000000\0");
    let archive = [pax(&[("path", "first"), ("size", "5"), ("path", "long"), ("size", "1024")]), plain, end()].concat();
    assert_eq!(lenient(&archive), ["Regular long 1024", "ReadersDisagree"]);
    assert!(strict(&archive)[0].contains("two sizes"), "{:?}", strict(&archive));
    let other_size = file("f", &[b'x'; 600]);
    let archive = [pax(&[("size", "100")]), other_size, end()].concat();
    assert_eq!(lenient(&archive)[0], "Regular f 100");
    assert!(strict(&archive)[0].contains("two sizes"), "{:?}", strict(&archive));
}

#[test]
fn a_size_in_records_alone_is_for_what_a_field_cannot_say() {
    for (said, field, are_two) in [
        (1024, 0, true),
        (FIELD_BYTES_MAX, 0, true),
        (FIELD_BYTES_MAX + 1, 0, false),
        (FIELD_BYTES_MAX + 1, FIELD_BYTES_MAX, false),
        (FIELD_BYTES_MAX + 1, 512, true),
        (FIELD_BYTES_MAX + 1, FIELD_BYTES_MAX + 1, false),
        (512, FIELD_BYTES_MAX, true),
        (0, 0, false),
        (0, 512, true),
    ] {
        assert_eq!(are_two_sizes(said, field), are_two, "{said} in records, {field} in the header");
    }
    // As writers of pax make them: a file of 8 GiB, whose data are cut off here.
    let large = [pax(&[("size", "8589934592")]), file("large", b"")].concat();
    for told in [lenient(&large), strict(&large)] {
        assert_eq!(
            told,
            ["Regular large 8589934592", "error: it ends too early: the member at byte 1536 is not whole"]
        );
    }
}

#[test]
fn a_size_in_records_is_not_that_of_a_long_name_between() {
    let archive = [pax(&[("size", "3")]), extension(b'L', b"the-long-name\0"), file("s", b"abc"), end()].concat();
    assert_eq!(lenient(&archive), ["Regular the-long-name 3"]);
}

#[test]
fn two_names_that_differ_are_told_and_strictly_refused() {
    let archive = [pax(&[("path", "pax")]), extension(b'L', b"gnu\0"), file("s", b""), end()].concat();
    assert_eq!(lenient(&archive), ["Regular pax 0", "ReadersDisagree"]);
    assert!(strict(&archive)[0].starts_with("passed over: readers disagree"));
}

#[test]
fn long_names_stop_at_nul_and_the_last_counts() {
    let two = [extension(b'L', b"one\0"), extension(b'L', b"two\0hidden"), file("s", b""), end()].concat();
    assert_eq!(lenient(&two), ["Regular two 0"]);
}

/// Where a lenient reader finds the end of an archive.
fn end_of(archive: &[u8]) -> u64 {
    let mut source = MemorySource::new(archive);
    let mut reader = Reader::new(Rules::default(), &source);
    while !matches!(reader.next(&mut source).expect("a sound archive"), Step::End) {}
    reader.end_offset()
}

#[test]
fn headers_without_a_member_are_nothing_and_strictly_refused() {
    let global = extension(b'g', &records(&[("comment", "a commit")]));
    for front in [pax(&[("path", "x")]), extension(b'L', b"x\0"), extension(b'K', b"x\0")] {
        for end in [Vec::new(), end()] {
            for before in [Vec::new(), global.clone(), file("a", b"")] {
                let archive = [before.clone(), front.clone(), end.clone()].concat();
                let members = lenient(&before_or_end(&before));
                assert_eq!(lenient(&archive), members);
                // What is appended there does not get the name.
                assert_eq!(end_of(&archive), before.len() as u64);
                assert!(strict(&archive).last().is_some_and(|last| last.contains("nothing follows")));
            }
        }
    }
}

#[test]
fn a_header_in_front_of_ignored_zeros_is_not_about_what_follows_them() {
    let rules = Rules { zeros: Zeros::Ignored, ..Rules::default() };
    let archive = [pax(&[("path", "other")]), end(), file("a", b""), end()].concat();
    assert_eq!(told(&archive, rules), ["Regular a 0"]);
    assert_eq!(end_of(&archive), 0);
}

/// An archive of what is there: an empty file is none.
fn before_or_end(before: &[u8]) -> Vec<u8> {
    [before, &end()].concat()
}

#[test]
fn global_headers_may_end_an_archive_or_be_all_of_it() {
    let global = extension(b'g', &records(&[("comment", "a commit")]));
    for end in [Vec::new(), end()] {
        let globals = [global.clone(), global.clone()].concat();
        for (before, members) in [(Vec::new(), vec![]), (file("a", b"data"), vec!["Regular a 4"])] {
            let archive = [before, globals.clone(), end.clone()].concat();
            assert_eq!(lenient(&archive), members);
            assert_eq!(strict(&archive), members);
            assert_eq!(end_of(&archive), (archive.len() - end.len()) as u64);
        }
    }
    let malformed = [extension(b'g', b"99 path=x\n"), end()].concat();
    assert_eq!(lenient(&malformed), ["passed over: its extended header is malformed"]);
}

#[test]
fn malformed_records_cost_what_they_say_and_not_their_member() {
    for bad in [&b"99 path=x\n"[..], b"9 pathx\n", b"20 path=x", b"-5 a=b\n", b"12 size=-4\n\0", b"12 mtime=x\n\0"] {
        let archive = [extension(b'x', bad), file("a", &[1; 600]), file("b", b""), end()].concat();
        assert_eq!(lenient(&archive), ["Regular a 600", "Unusable", "Regular b 0"], "{}", String::from_utf8_lossy(bad));
        let told = strict(&archive);
        assert!(told[0].starts_with("passed over: its "), "{told:?}");
        assert_eq!(told[1..], ["Regular b 0"]);
    }
    // Behind a wrong value the others count, behind what is no record none; nobody knows where data belong without a map's numbers.
    let name = records(&[("path", "other")]);
    let with = |first: &[u8]| [extension(b'x', &[first, &name].concat()), file("a", b"1"), end()].concat();
    assert_eq!(lenient(&with(&records(&[("mtime", "x")]))), ["Regular other 1", "Unusable"]);
    assert_eq!(lenient(&with(b"9 nothin\n")), ["Regular a 1", "Unusable"]);
    let map = with(&records(&[("GNU.sparse.realsize", "x")]));
    assert_eq!(lenient(&map), ["passed over: its record 'GNU.sparse.realsize' has a value that cannot be"]);
    // A global header's are reported once, with the member behind it.
    let global = [extension(b'g', &records(&[("uid", "-2")])), file("a", b""), file("b", b""), end()].concat();
    assert_eq!(lenient(&global), ["Regular a 0", "Unusable", "Regular b 0"]);
    // So many attributes that comparing each with the others takes hours.
    let attributes: Vec<u8> =
        (0..200_000).flat_map(|number| records(&[(&format!("SCHILY.xattr.user.{number}"), "x")])).collect();
    assert_eq!(lenient(&[extension(b'x', &attributes), file("a", b"1"), end()].concat()), ["Regular a 1", "Unusable"]);
    let million = extension(b'x', &b"8 uid=x\n".repeat(100_000));
    assert_eq!(lenient(&[million, file("a", b""), end()].concat()), ["Regular a 0", "Unusable"]);
}

#[test]
fn a_member_comes_without_the_fields_that_cannot_be() {
    let minus_two = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
    let beyond = [0x80, 0, 0, 1, 0, 0, 0, 0];
    let sound = file("a", b"data");
    let own = u64::from(u32::MAX);
    for (at, field, expected) in [
        (108, &minus_two[..], (0o644, own, 0, 0)),
        (116, b"junk\0\0\0\0", (0o644, 0, own, 0)),
        (108, &beyond, (0o644, 1 << 32, 0, 0)),
        (100, b"junk\0\0\0\0", (0o600, 0, 0, 0)),
        (136, b"junk\0\0\0\0\0\0\0\0", (0o644, 0, 0, -1)),
        (136, &[0x80, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (0o644, 0, 0, -1)),
    ] {
        let archive = [changed(sound.clone(), at, field), file("b", b""), end()].concat();
        let mut source = MemorySource::new(&archive);
        let Ok(Step::Member(member)) = Reader::new(Rules::default(), &source).next(&mut source) else { panic!("none") };
        assert_eq!((member.mode, member.uid, member.gid, member.mtime.seconds), expected, "{field:?}");
        assert_eq!(lenient(&archive), ["Regular a 4", "Unusable", "Regular b 0"], "{field:?}");
        let strictly = strict(&archive);
        let is_refused = strictly[0].starts_with("passed over: its ") && strictly[1..] == ["Regular b 0"];
        // A number that is one, and too large for this machine, all readers agree about.
        assert!(is_refused || field == beyond && strictly == lenient(&archive), "{strictly:?}");
    }
    // What records say instead is enough.
    let archive = [pax(&[("uid", "7")]), changed(sound, 108, &minus_two), end()].concat();
    assert_eq!(lenient(&archive), ["Regular a 4"]);
}

/// What GNU tar 1.34 writes of 8,600,002,560 stored bytes of a file of 10 GiB, in its three forms for pax.
#[test]
fn sparse_files_beyond_the_field_are_read_in_all_forms_of_gnu_tar() {
    let size = ("size", "8600002560");
    let old = [("GNU.sparse.size", "10737418240"), ("GNU.sparse.numblocks", "2")];
    let pairs = [
        ("GNU.sparse.offset", "0"),
        ("GNU.sparse.numbytes", "8600002560"),
        ("GNU.sparse.offset", "10737418240"),
        ("GNU.sparse.numbytes", "0"),
    ];
    let listed = [("GNU.sparse.name", "n"), ("GNU.sparse.map", "0,8600002560,10737418240,0")];
    let new = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "n"), ("size", "8600003072")];
    let mut map = b"2\n0\n8600002560\n10737418240\n0\n".to_vec();
    map.resize(512, 0);
    for (said, map) in [
        ([&old[..], &pairs, &[size]].concat(), Vec::new()),
        ([&old[..], &listed, &[size]].concat(), Vec::new()),
        ([&new[..], &[("GNU.sparse.realsize", "10737418240")]].concat(), map),
    ] {
        let archive = [pax(&said), file("n", b""), map].concat();
        let mut source = MemorySource::new(&archive);
        let Ok(Step::Member(member)) = Reader::new(Rules::default(), &source).next(&mut source) else { panic!("none") };
        let extents = [(0, 8_600_002_560), (10_737_418_240, 0)].map(|(offset, bytes)| Extent { offset, bytes });
        assert_eq!((member.size, member.stored_bytes), (10_737_418_240, 8_600_002_560), "{said:?}");
        assert_eq!((member.sparse, member.path), (Some(extents.to_vec()), b"n".to_vec()));
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for size in [&[0xff; 12][..], &[0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], b"0000000000x\0"] {
        let archive = [changed(file("a", b""), 124, size), file("b", b""), end()].concat();
        assert_eq!(lenient(&archive), ["passed over: its size is not a number that can be", "Regular b 0"]);
    }
    let archive = [pax(&[("size", "18446744073709551615")]), file("b", b""), file("c", b""), end()].concat();
    assert_eq!(lenient(&archive)[0], "passed over: its size is not a number that can be");
}

#[test]
fn names_and_records_without_bounds_are_not_read_into_memory() {
    for flag in [b'L', b'x'] {
        let endless = changed(extension(flag, b""), 124, b"77777777777\0");
        let archive = [endless, file("a", b"")].concat();
        assert!(lenient(&archive)[0].starts_with("error: it ends too early"), "{:?}", lenient(&archive));
    }
}

#[test]
fn kinds_without_data_have_none_whatever_their_size_says() {
    for flag in *b"123456" {
        let archive = [changed(file("a", b""), 156, &[flag]), file("b", b""), end()].concat();
        let archive = changed(archive, 124, b"00000001000\0");
        assert_eq!(lenient(&archive)[1..], ["ReadersDisagree", "Regular b 0"], "{}", flag as char);
        assert!(strict(&archive)[0].contains("readers disagree"));
    }
}

#[test]
fn old_directories_and_unknown_types() {
    let v7 = |flag: u8| changed(changed(file("old/", b""), 257, &[0; 8]), 156, &[flag]);
    assert_eq!(lenient(&[v7(0), end()].concat()), ["Directory old/ 0"]);
    let unknown = changed(file("a", b"data"), 156, b"Q");
    assert_eq!(lenient(&[unknown, file("b", b""), end()].concat()), ["Regular a 4", "UnknownType", "Regular b 0"]);
    let renames = changed(file("a", b"data"), 156, b"N");
    assert!(lenient(&[renames, end()].concat())[0].contains("not followed"));
}

#[test]
fn solaris_and_star_carriers_are_passed_over() {
    let archive = [extension(b'A', b"acl"), extension(b'X', &records(&[("path", "sun")])), file("s", b"1"), end()];
    assert_eq!(lenient(&archive.concat()), ["Regular sun 1"]);
    let star = changed(file("n", b""), 345, &[b"p".as_slice(), &[0; 130]].concat());
    let star = changed(star, 476, b"00000000001 00000000002 ");
    assert_eq!(lenient(&[star, end()].concat()), ["Regular p/n 0"]);
}

#[test]
fn sparse_files_of_the_three_pax_forms_and_orphans() {
    let data = [7_u8; 512];
    let expected = vec![Extent { offset: 1000, bytes: 512 }];
    let old = [("GNU.sparse.size", "5000"), ("GNU.sparse.numblocks", "1")];
    let first = [&old[..], &[("GNU.sparse.offset", "1000"), ("GNU.sparse.numbytes", "512")]].concat();
    let second = [&old[..], &[("GNU.sparse.map", "1000,512"), ("GNU.sparse.name", "n")]].concat();
    let third = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "5000")];
    let with_map = [b"1\n1000\n512\n".to_vec(), vec![0; 501], data.to_vec()].concat();
    for (said, data) in [(&first[..], &data[..]), (&second, &data), (&third, &with_map)] {
        let archive = [pax(said), file("n", data), end()].concat();
        let mut source = MemorySource::new(&archive);
        let mut reader = Reader::new(Rules::default(), &source);
        let Ok(Step::Member(member)) = reader.next(&mut source) else { panic!("no member") };
        assert_eq!((member.size, member.stored_bytes, &member.sparse), (5000, 512, &Some(expected.clone())));
        assert_eq!(archive[member.data_offset as usize..][..512], [7; 512]);
        assert!(matches!(reader.next(&mut source), Ok(Step::End)));
    }
    for said in
        [&[("GNU.sparse.map", "0,1")][..], &[("GNU.sparse.name", "orphan")], &[old[0], ("GNU.sparse.map", "9,1")]]
    {
        let archive = [pax(said), file("n", b"x"), file("b", b""), end()].concat();
        assert_eq!(lenient(&archive).len(), 2);
        assert!(lenient(&archive)[0].starts_with("passed over: "), "{:?}", lenient(&archive));
    }
}

#[test]
fn maps_of_holes_are_checked() {
    let third = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "5000")];
    for map in ["2\n0\n512\n100\n512\n", "1\n4900\n512\n", "1\nx\n1\n", "99999999\n", "1\n0\n100\n", "3\n1\n"] {
        let mut data = map.as_bytes().to_vec();
        data.resize(1024, 0);
        let archive = [pax(&third), file("n", &data), file("b", b""), end()].concat();
        assert!(lenient(&archive)[0].starts_with("passed over: its map"), "{map:?}: {:?}", lenient(&archive));
        assert_eq!(lenient(&archive)[1..], ["Regular b 0"]);
    }
}

#[test]
fn sums_of_signed_bytes_are_sums() {
    let mut bytes = header("\u{fc}", Format::Ustar, b"");
    bytes[148..156].fill(b' ');
    let sum: i32 = bytes.iter().map(|&byte| i32::from(byte.cast_signed())).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(lenient(&[bytes, end()].concat()), ["Regular ü 0"]);
}

#[test]
fn global_records_hold_for_all_that_follows() {
    let global = extension(b'g', &records(&[("uname", "all"), ("mtime", "5.5")]));
    let archive = [global, file("a", b""), pax(&[("uname", "one")]), file("b", b""), end()].concat();
    let mut source = MemorySource::new(&archive);
    let mut reader = Reader::new(Rules::default(), &source);
    for owner in ["all", "one"] {
        let Ok(Step::Member(member)) = reader.next(&mut source) else { panic!("no member") };
        assert_eq!((member.owner, member.mtime.nanoseconds), (owner.into(), 500_000_000));
    }
}

/// bsdtar writes both keys, and encodes blanks and letters beyond ASCII in them.
#[test]
fn names_of_attributes_are_decoded_as_their_writers_encode_them() {
    for (said, expected) in [
        (
            &[("SCHILY.xattr.user.a%3Db", "1"), ("SCHILY.xattr.security.%25%3D", "2")][..],
            &["user.a=b", "security.%="][..],
        ),
        (&[("LIBARCHIVE.xattr.user.sp%20ace", "MQ"), ("SCHILY.xattr.user.sp%20ace", "1")], &["user.sp ace"]),
        (&[("LIBARCHIVE.xattr.user.a%3Db", "MQ"), ("SCHILY.xattr.user.a%3Db", "1")], &["user.a=b"]),
        (&[("LIBARCHIVE.xattr.user.%C3%BC", "MQ"), ("SCHILY.xattr.user.%C3%BC", "1")], &["user.ü"]),
        (&[("SCHILY.xattr.user.sp%20ace", "1")], &["user.sp%20ace"]),
    ] {
        let archive = [pax(said), file("a", b""), end()].concat();
        let mut source = MemorySource::new(&archive);
        let Ok(Step::Member(member)) = Reader::new(Rules::default(), &source).next(&mut source) else { panic!("none") };
        let names = member.attributes.iter().map(|attribute| match &attribute.name {
            AttributeName::Extended(name) => String::from_utf8_lossy(name).into_owned(),
            other => panic!("{other:?}"),
        });
        assert_eq!(names.collect::<Vec<_>>(), expected, "{said:?}");
    }
}

#[test]
fn a_strict_reader_wants_the_version() {
    let archive = [changed(file("a", b""), 263, b"\0\0"), file("b", b""), end()].concat();
    assert_eq!(lenient(&archive), ["Regular a 0", "Regular b 0"]);
    assert_eq!(strict(&archive).len(), 2);
    let mut whole = file("a", b"");
    end_archive(whole.len() as u64, &mut whole);
    assert_eq!(strict(&whole), ["Regular a 0"]);
}
