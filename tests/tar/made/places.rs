//! Archives whose names, links and kinds lead to where nothing may change.

use super::{Case, bytes, case, directory, file, hard_link, long, member, padded, pax, symlink};

pub fn cases() -> Vec<Case> {
    [names(), links(), kinds(), bombs()].into_iter().flatten().collect()
}

fn names() -> Vec<Case> {
    let deep_link = format!("{}s", "d/".repeat(2100));
    let out = format!("{}../outside", "../".repeat(2100));
    vec![
        case("01-absolute", "absolute names: made relative", &[file("/abs"), file("//abs2"), file("///./abs3")]),
        case(
            "02-dot-dot",
            "`..` anywhere in a name: refused, and no parent made",
            &[file("../up"), file("some/../../up"), file(".."), file("/.."), file("././//./..")],
        ),
        case(
            "03-nothing",
            "names of nothing, slashes and dots",
            &[file(""), file("/"), file("./."), directory("./", 0o755)],
        ),
        case(
            "11-deeper-than-a-path",
            "a name longer than PATH_MAX, with a link out at its end, and a file through that",
            &[
                pax(&[("path", &deep_link), ("linkpath", &out)]),
                symlink("s", "x"),
                pax(&[("path", &format!("{deep_link}/x"))]),
                file("x"),
                long(b'L', &format!("{}y\0", "e/".repeat(2100))),
                file("y"),
            ],
        ),
        case(
            "38-names-that-fold",
            "names that are one where case or normal forms count for nothing",
            &[
                file("Name"),
                file("name"),
                symlink("D", "../outside"),
                directory("d", 0o755),
                file("d/x"),
                pax(&[("path", "e\u{301}")]),
                file("x"),
                pax(&[("path", "\u{e9}")]),
                file("y"),
            ],
        ),
        case(
            "45-depth-and-chains",
            "directories in one another, and links that lead to links",
            &(0..60)
                .map(|at| symlink(&format!("l{at}"), &format!("l{}", at + 1)))
                .chain([file("l0/x"), pax(&[("path", &format!("{}f", "d/".repeat(1000)))]), file("f")])
                .collect::<Vec<_>>(),
        ),
        case(
            "47-names-that-steer",
            "control bytes, escapes of terminals, bytes that are no text: quoted, and kept",
            &[file("\x1b[2J\x07name"), pax(&[("path", "new\nline\u{9b}31m")]), file("x"), raw_name()],
        ),
    ]
}

/// A name of bytes that are no text.
fn raw_name() -> Vec<u8> {
    super::header(b'0', "", 0, |block| super::put(block, 0, b"raw\xff\xfe"))
}

fn links() -> Vec<Case> {
    vec![
        case(
            "04-through-a-link",
            "a link out, then a file through it",
            &[symlink("out", "../outside"), file("out/file")],
        ),
        Case {
            name: "05-two-archives",
            why: "the link in one archive, the file through it in the next",
            archives: vec![
                [symlink("out", "../outside"), vec![0; 1024]].concat(),
                [file("out/file"), file("before/file"), vec![0; 1024]].concat(),
            ],
        },
        case(
            "06-link-then-folder",
            "a link, then a directory of its name: what the link leads to keeps its mode",
            &[symlink("x", "../outside"), directory("x", 0o777)],
        ),
        case(
            "07-folder-then-link",
            "the directory's mode and time come last, when a link has its name",
            &[directory("x", 0o777), symlink("x", "../outside")],
        ),
        case(
            "08-hard-links-out",
            "hard links to outside, then data for them",
            &[
                hard_link("l", "../outside/precious"),
                hard_link("m", "before/precious"),
                hard_link("n", "/etc/passwd"),
                file("l"),
                file("m"),
                file("n"),
            ],
        ),
        case(
            "09-hard-link-to-a-link",
            "a hard link to a symbolic one is a second name of the link itself",
            &[symlink("s", "../outside/precious"), hard_link("h", "s"), file("h")],
        ),
        case(
            "10-hard-links-to-nothing",
            "to itself, to what comes later, to what is missing",
            &[hard_link("a", "a"), hard_link("b", "later"), file("later"), hard_link("c", "missing")],
        ),
        case(
            "12-links-through-links",
            "a way out that no look at single names shows",
            &[
                directory("a", 0o755),
                symlink("a/b", ".."),
                symlink("c", "a/b/.."),
                file("c/outside/x"),
                symlink("a/d", "../a/b/../outside"),
                file("a/d/y"),
            ],
        ),
    ]
}

fn kinds() -> Vec<Case> {
    let with_capability =
        pax(&[("SCHILY.xattr.security.capability", "\u{1}\0\0\u{2}"), ("SCHILY.xattr.trusted.overlay.opaque", "y")]);
    let large = member(b'0', "large", "", 0o644, &[b'x'; 3000]);
    vec![
        case(
            "37-one-path-many-kinds",
            "the same path again and again, in every order: the last one stays",
            &(0..8)
                .flat_map(|_| {
                    [file("p"), symlink("p", "../outside"), directory("p", 0o700), hard_link("p", "q"), file("q")]
                })
                .collect::<Vec<_>>(),
        ),
        case(
            "39-folders-that-bar-the-way",
            "directories without rights for anybody, before what is in them",
            &[
                directory("d", 0),
                file("d/a"),
                directory("e", 0o555),
                file("e/b"),
                directory("e/f", 0o500),
                file("e/f/c"),
            ],
        ),
        case(
            "40-set-id",
            "set-id bits, capabilities, attributes that only root may set, owners from elsewhere",
            &[
                member(b'0', "suid", "", 0o6755, b"x"),
                with_capability,
                file("capable"),
                super::header(b'0', "theirs", 0, |block| super::put(block, 108, b"0303240")),
                directory("sticky", 0o1777),
            ],
        ),
        case(
            "41-special-files",
            "devices and named pipes, then data under their names",
            &[
                super::header(b'3', "null", 0, |block| {
                    super::put(block, 329, b"0000001");
                    super::put(block, 337, b"0000003");
                }),
                member(b'6', "pipe", "", 0o644, b""),
                file("pipe"),
                super::header(b'4', "disk", 0, |block| super::put(block, 329, b"0000007")),
            ],
        ),
        case(
            "42-what-is-there",
            "what is there already is a link, a named pipe, another name of something precious",
            &[file("precious-link"), file("fifo"), file("precious-name"), directory("before", 0o777)],
        ),
        bytes("25-no-end-mark", "no zero blocks at the end: an archive all the same", file("a")),
        bytes(
            "25-cut-in-data",
            "it ends inside a file's data: that file does not stay",
            [file("a"), large[..1500].to_vec()].concat(),
        ),
        bytes("25-cut-in-header", "it ends inside a header", [file("a"), file("b")[..300].to_vec()].concat()),
        bytes(
            "25-cut-in-long-name",
            "it ends inside a long name",
            [file("a"), long(b'L', &"n".repeat(2000))[..1024].to_vec()].concat(),
        ),
        bytes("26-concatenated", "an archive behind an archive: the first ends at its mark", {
            [file("a"), vec![0; 1024], file("behind"), vec![0; 1024]].concat()
        }),
        bytes(
            "26-lone-zero-block",
            "one zero block in the middle",
            [file("a"), vec![0; 512], file("b"), vec![0; 1024]].concat(),
        ),
        bytes("26-garbage", "bytes behind the end mark", [file("a"), vec![0; 1024], vec![b'g'; 700]].concat()),
        bytes(
            "46-garbage-behind-gz",
            "a gz member, then bytes that are none",
            [gz(&file("a")), b"garbage".to_vec()].concat(),
        ),
        bytes("46-members-of-gz", "an archive over two gz members, cut inside a header", {
            let plain = [file("a"), file("b"), vec![0; 1024]].concat();
            [gz(&plain[..700]), gz(&plain[700..])].concat()
        }),
        bytes("46-cut-gz", "a gz member without its end", gz(&[file("a"), padded(b"")].concat())[..600].to_vec()),
        bytes("46-window-of-zst", "a zst frame that asks for a window of 3 TiB", {
            vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xfd, 0x01, 0x00, 0x00]
        }),
    ]
}

/// What strangers' archives become when they are unpacked.
fn bombs() -> Vec<Case> {
    // Three holes of 400 GiB, each with data enough not to be nearly all hole.
    let large = |name: &str| {
        let records =
            [("GNU.sparse.size", "429496729600"), ("GNU.sparse.numblocks", "1"), ("GNU.sparse.map", "0,524288")];
        vec![
            Part::Raw([pax(&records), super::header(b'0', name, 4 * RUN_BYTES, |_| {})].concat()),
            Part::Zeros { runs: 4 },
        ]
    };
    let holes: Vec<Part> = ["one", "two", "three"].iter().flat_map(|name| large(name)).collect();
    let zeros = super::header(b'0', "zeros", 128 * RUN_BYTES, |_| {});
    vec![
        bytes("45-more-than-allowed", "1200 GiB, most of them holes: strangers get no more than a TiB", zst(holes)),
        bytes(
            "45-ratio",
            "16 MiB out of some kB: whole, in bounded memory; only the sum of sizes has a bound",
            zst(vec![Part::Raw(zeros), Part::Zeros { runs: 128 }]),
        ),
        bytes(
            "46-dictionary-of-xz",
            "a block that asks for a dictionary of 4 GiB",
            crate::corpus_made::xz::with_largest_dictionary(&[file("a"), vec![0; 1024]].concat()),
        ),
    ]
}

/// What a zst block may have.
const RUN_BYTES: u64 = 128 << 10;

enum Part {
    Raw(Vec<u8>),
    Zeros { runs: u32 },
}

/// An archive as a zst frame of raw blocks and runs, with a window of a MiB.
fn zst(parts: Vec<Part>) -> Vec<u8> {
    let block = |kind: u32, size: usize| (((size as u32) << 3 | kind << 1).to_le_bytes()[..3]).to_vec();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3];
    for part in parts {
        match part {
            Part::Raw(data) => frame.extend([block(0, data.len()), data].concat()),
            Part::Zeros { runs } => {
                (0..runs).for_each(|_| frame.extend([block(1, RUN_BYTES as usize), vec![0]].concat()))
            }
        }
    }
    // The end mark, as the last block.
    frame.extend([(1024_u32 << 3 | 1).to_le_bytes()[..3].to_vec(), vec![0; 1024]].concat());
    frame
}

/// A gz member with a stored block.
fn gz(plain: &[u8]) -> Vec<u8> {
    let length = u16::try_from(plain.len()).expect("short");
    let crc = crate::corpus_made::crc32(plain);
    [
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        plain,
        &crc.to_le_bytes(),
        &u32::from(length).to_le_bytes(),
    ]
    .concat()
}
