//! Archives whose headers lie, contradict each other, or end where they should not.

use super::{Case, bytes, case, extended, file, header, long, member, padded, pax, put, symlink};

pub fn cases() -> Vec<Case> {
    [contradictions(), records(), fields(), numbers()].into_iter().flatten().collect()
}

fn contradictions() -> Vec<Case> {
    let smuggled = [file("smuggled"), file("smuggled2")].concat();
    vec![
        case(
            "13-two-sizes",
            "a size in the records, another in the header: an archive in the data must not be seen",
            &[
                pax(&[("size", &smuggled.len().to_string())]),
                header(b'0', "outer", 0, |_| {}),
                smuggled.clone(),
                file("z"),
            ],
        ),
        case(
            "14-records-then-long-name",
            "a size in the records belongs to the file, not to the long name between",
            &[pax(&[("size", "1024")]), long(b'L', "long\0"), header(b'0', "s", 0, |_| {}), file("smuggled")],
        ),
        case(
            "15-phantom",
            "a size with a directory and with a link: data there are none, and headers behind are seen",
            &[
                pax(&[("size", "1024")]),
                header(b'5', "folder/", 0, |_| {}),
                file("first"),
                header(b'2', "link", 1024, |block| put(block, 157, b"first")),
                file("second"),
            ],
        ),
        case(
            "16-two-names",
            "a name in the records and a long one of GNU's",
            &[
                pax(&[("path", "pax"), ("linkpath", "pax-to")]),
                long(b'L', "gnu\0"),
                long(b'K', "gnu-to\0"),
                symlink("s", "to"),
            ],
        ),
        case(
            "17-long-name-twice",
            "two long names for one member: the last one",
            &[long(b'L', "first\0"), long(b'L', "second\0"), file("s")],
        ),
        case(
            "18-record-twice",
            "a key twice in the records: the last one",
            &[pax(&[("path", "first"), ("path", "second")]), file("s")],
        ),
        bytes(
            "19-dangling-records",
            "records before the end mark",
            [file("a"), pax(&[("path", "x")]), vec![0; 1024]].concat(),
        ),
        bytes(
            "19-dangling-long-name",
            "a long name before the end of the file",
            [file("a"), long(b'L', "x\0")].concat(),
        ),
        case(
            "22-no-version",
            "the magic without a version, and an extended header of a dialect without them",
            &[
                header(b'0', "nul-version", 0, |block| put(block, 257, b"ustar\0\0\0")),
                header(b'x', "pax", 10, |block| put(block, 257, &[0; 8])),
                padded(b"10 path=y\n"),
                file("x"),
            ],
        ),
        case(
            "23-nul-in-names",
            "a long name, and a record, with a NUL inside",
            &[long(b'L', "before\0behind\0"), file("s"), long(b'K', "to\0wards\0"), symlink("l", "x")],
        ),
        case(
            "24-unknown-type",
            "a type nobody knows: a file, and its data are passed over",
            &[member(b'Q', "q", "", 0o644, b"data"), file("a")],
        ),
        case(
            "36-old-folder",
            "a directory of old BSD: a file whose name ends in a slash",
            &[member(0, "old/", "", 0o755, b""), file("old/f")],
        ),
    ]
}

/// A file whose field at `at` says `field`.
fn with_field(path: &str, at: usize, field: &[u8]) -> Vec<u8> {
    [header(b'0', path, 4, |block| put(block, at, field)), padded(b"evil")].concat()
}

fn records() -> Vec<Case> {
    let attribute = "v".repeat(60_000);
    vec![
        case(
            "20-records-that-are-none",
            "lengths that are wrong, huge, or none; no `=`; no end",
            &[
                extended(b"99 path=x\n"),
                file("a"),
                extended(b"99999999999999999999999 path=x\n"),
                file("b"),
                extended(b"7 path\n"),
                file("c"),
                extended(b"path=x\n"),
                file("d"),
                extended(b"9 path=xy"),
                file("e"),
                file("f"),
            ],
        ),
        case(
            "21-numbers-in-records",
            "signs, nothing, fractions, more than 64 bits",
            &[
                pax(&[("size", "-1")]),
                file("a"),
                pax(&[("mtime", "+5")]),
                file("b"),
                pax(&[("uid", "")]),
                file("c"),
                pax(&[("size", "99999999999999999999")]),
                file("d"),
                pax(&[("mtime", "-5.5")]),
                file("e"),
                pax(&[("size", "0x10")]),
                file("f"),
                pax(&[("mtime", "99999999999999999999")]),
                file("g"),
                file("h"),
            ],
        ),
        bytes(
            "34-huge-records",
            "an extended header that says it has a GiB",
            [file("a"), header(b'x', "pax", 1 << 30, |_| {}), file("b")].concat(),
        ),
        bytes(
            "34-huge-global",
            "a global header that says it has a GiB",
            [file("a"), header(b'g', "pax", 1 << 30, |_| {}), file("b")].concat(),
        ),
        case(
            "34-large-attribute",
            "an attribute of 60 kB",
            &[pax(&[("SCHILY.xattr.user.large", &attribute)]), file("a")],
        ),
        case(
            "35-labels-without-end",
            "labels of volumes, of no bytes and of all there are",
            &(0..40)
                .map(|_| header(b'V', "label", 0, |_| {}))
                .chain([file("a"), header(b'V', "l", 0o77_777_777_777, |_| {})])
                .collect::<Vec<_>>(),
        ),
    ]
}

fn fields() -> Vec<Case> {
    vec![case(
        "21-numbers-in-fields",
        "owner, group, mode and time that are no numbers or cannot be: the data come without them",
        &[
            with_field("a", 108, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]),
            with_field("b", 116, b"-2      "),
            with_field("c", 108, &[0x80, 0, 0, 1, 0, 0, 0, 0]),
            with_field("d", 100, b"junk\0\0\0\0"),
            with_field("e", 136, b"junk\0\0\0\0\0\0\0\0"),
            with_field("f", 136, &[0x80, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            file("g"),
        ],
    )]
}

fn numbers() -> Vec<Case> {
    let base_256 = |size: [u8; 12]| header(b'0', "huge", 0, move |block| put(block, 124, &size));
    let signed = {
        // Bytes above 127 count as negative in the sums of some old programs.
        let mut block = header(b'0', "", 4, |block| put(block, 0, b"signed\xc3\xa4"));
        put(&mut block, 148, b"        ");
        let sum: i32 = block.iter().map(|&byte| i32::from(byte as i8)).sum();
        put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
        [block, padded(b"evil")].concat()
    };
    let mut wrong = file("wrong");
    wrong[0] ^= 1;
    vec![
        case(
            "27-sizes-that-overflow",
            "sizes near 2^64, and negative ones",
            &[
                base_256([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
                file("a"),
                base_256([0xff; 12]),
                file("b"),
                base_256([0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
                file("c"),
            ],
        ),
        case(
            "28-sums",
            "a sum of signed bytes is taken; a wrong one is looked past, block by block",
            &[signed, file("a"), wrong, file("b")],
        ),
    ]
}

fn mapped(size: &str, blocks: &str, map: &str) -> Vec<u8> {
    pax(&[("GNU.sparse.size", size), ("GNU.sparse.numblocks", blocks), ("GNU.sparse.map", map)])
}

/// Sparse files, and what other systems write.
pub fn sparse_and_foreign() -> Vec<Case> {
    let stretches = |count: usize| (0..count).map(|at| format!("{},1", at * 2)).collect::<Vec<_>>().join(",");
    let version_1 = |map: &str, data: &[u8]| {
        let records = [
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.minor", "0"),
            ("GNU.sparse.name", "one"),
            ("GNU.sparse.realsize", "2000"),
        ];
        [pax(&records), member(b'0', "s", "", 0o644, &[padded(map.as_bytes()), data.to_vec()].concat())].concat()
    };
    let version_0 = pax(&[
        ("GNU.sparse.size", "20"),
        ("GNU.sparse.numblocks", "2"),
        ("GNU.sparse.offset", "0"),
        ("GNU.sparse.numbytes", "2"),
        ("GNU.sparse.offset", "18"),
        ("GNU.sparse.numbytes", "2"),
    ]);
    vec![
        case(
            "29-maps-that-lie",
            "maps that overlap, go back, are odd, or say more or less than there is",
            &[
                mapped("99", "2", "0,2,1,2"),
                file("a"),
                mapped("99", "2", "50,2,1,2"),
                file("b"),
                mapped("99", "2", "0,2,1"),
                file("c"),
                mapped("99", "1", "0,3"),
                file("d"),
                mapped("3", "1", "0,4"),
                file("e"),
                mapped("99", "1", "18446744073709551615,4"),
                file("f"),
                file("g"),
            ],
        ),
        case(
            "45-nearly-all-hole",
            "a GiB of hole for four bytes: refused to strangers",
            &[mapped("1073741824", "1", "0,4"), file("hole"), file("a")],
        ),
        case(
            "30-map-without-end",
            "a map that says it has a hundred million stretches",
            &[mapped("99", "99999999", ""), file("s"), version_1("99999999\n0\n4\n", b"evil"), file("a")],
        ),
        case(
            "31-map-over-many-blocks",
            "an old GNU map over several blocks, and a long one in records",
            &[
                old_gnu(5),
                mapped("9999", "1000", &stretches(1000)),
                member(b'0', "long", "", 0o644, &[b'x'; 1000]),
                file("a"),
            ],
        ),
        case(
            "32-sparse-forms",
            "all forms, a name that the records replace, and keys of no sparse file",
            &[
                version_0,
                file("zero"),
                mapped("20", "2", "0,2,18,2"),
                file("zero-one"),
                version_1("2\n0\n4\n2000\n0\n", b"evil"),
                pax(&[("GNU.sparse.name", "orphan")]),
                file("o"),
                pax(&[("GNU.sparse.major", "7"), ("GNU.sparse.minor", "0")]),
                file("seven"),
                file("a"),
            ],
        ),
        case(
            "33-solaris-and-star",
            "access lists and records of Solaris, inodes of star; one that is cut off",
            &[
                member(b'X', "sun", "", 0o644, b"12 path=sun\n"),
                file("s"),
                member(b'A', "acl", "", 0o644, b"1000007\0user::rwx"),
                file("a"),
                member(b'E', "ea", "", 0o644, b"x"),
                member(b'I', "inode", "", 0o644, b"y"),
                pax(&[("SUN.holesdata", " 0 1 99999999999999999999")]),
                file("h"),
            ],
        ),
    ]
}

/// An old GNU sparse file with four stretches in its header and `blocks` more blocks of them.
fn old_gnu(blocks: usize) -> Vec<u8> {
    let stretch = |at: usize| format!("{:011o}\0{:011o}\0", at * 2, 1);
    let count = 4 + 21 * blocks;
    let first = header(b'S', "old", count as u64, |block| {
        put(block, 257, b"ustar  \0");
        (0..4).for_each(|at| put(block, 386 + at * 24, stretch(at).as_bytes()));
        put(block, 482, &[1]);
        put(block, 483, format!("{:011o}", count * 2).as_bytes());
    });
    let mut archive = first;
    for number in 0..blocks {
        let mut block = vec![0; 512];
        (0..21).for_each(|at| put(&mut block, at * 24, stretch(4 + number * 21 + at).as_bytes()));
        block[504] = u8::from(number + 1 < blocks);
        archive.extend(block);
    }
    archive.extend(padded(&vec![b'x'; count]));
    archive
}
