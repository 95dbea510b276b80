//! Makers of the corpus of bad archives: headers written out field by field, so that any of them can lie. Nothing is shared with the
//! product. `places`: where names lead; `grammar`: what headers say; numbers are those of `tests/tar/corpus/README.md`.

mod grammar;
mod places;

use std::fmt::Write as _;

/// A bad input.
pub struct Case {
    /// Number and name: what its files are called.
    pub name: &'static str,
    /// Why it is there.
    pub why: &'static str,
    /// Archives that are extracted one after the other.
    pub archives: Vec<Vec<u8>>,
}

/// A bad input that is no file, but something that happens meanwhile.
pub struct Circumstance {
    /// Number and name, as for files.
    pub name: &'static str,
    /// What happens, and what must come of it.
    pub why: &'static str,
    /// The tests that make it happen: file below `tests`, and function.
    pub tests: &'static [(&'static str, &'static str)],
}

/// What no file can show.
pub const CIRCUMSTANCES: &[Circumstance] = &[
    Circumstance {
        name: "43-swapped-parents",
        why: "a directory of the target is swapped for a link out, and back, without end: nothing outside changes",
        tests: &[
            ("tar/swapped.rs", "nothing_outside_is_written_whoever_swaps_a_directory_for_a_link"),
            ("trees/hostile.rs", "nothing_outside_is_written_whoever_swaps_a_directory_for_a_link"),
            ("trees/hostile.rs", "nothing_outside_is_removed_whoever_swaps_a_directory_for_a_link"),
        ],
    },
    Circumstance {
        name: "44-sandbox",
        why: "EPERM or ENOSYS for openat2 and other calls: all files above, and sound trees, come to the same",
        tests: &[
            ("tar/hostile.rs", "nothing_outside_the_target_changes"),
            ("survive/sandboxed.rs", "what_a_sandbox_refuses_nobody_hears_of"),
        ],
    },
    Circumstance {
        name: "45-members",
        why: "more than ten million members: `--untrusted` takes no more",
        tests: &[("tar/hostile.rs", "strangers_get_ten_million_members_and_no_more")],
    },
    Circumstance {
        name: "48-changing-trees",
        why: "files shrink, grow, go, or become something else while they are archived or copied: told, exit code 1, and a sound archive",
        tests: &[
            ("survive/changing.rs", "what_changes_while_it_is_archived_has_the_exit_code_that_gnu_tar_has"),
            ("survive/changing.rs", "whatever_changes_all_that_does_not_is_archived_copied_and_stays"),
        ],
    },
    Circumstance {
        name: "49-into-itself",
        why: "the archive lies in the tree that is archived; a directory is copied into itself: left out, and refused, whatever its name there",
        tests: &[
            ("tar/itself.rs", "an_archive_is_never_in_itself"),
            ("tar/itself.rs", "no_directory_is_copied_or_moved_into_itself"),
        ],
    },
    Circumstance {
        name: "50-failing-disks",
        why: "no room, no quota, errors of the disk, also at the close, whoever meets them: told with the file, exit code 2, all else comes",
        tests: &[
            ("survive/failing.rs", "a_file_that_cannot_be_written_is_told_and_all_others_come"),
            ("survive/failing.rs", "a_file_that_cannot_be_closed_is_told_and_its_source_stays"),
            ("survive/failing.rs", "a_file_that_cannot_be_read_is_told_and_all_others_come"),
            ("survive/failing.rs", "a_full_disk_keeps_what_is_whole_and_every_source"),
            ("survive/failing.rs", "a_read_only_disk_is_told_and_stays_as_it_is"),
        ],
    },
];

/// All of them, by number.
pub fn cases() -> Vec<Case> {
    let mut cases = places::cases();
    cases.extend(grammar::cases());
    cases.extend(grammar::sparse_and_foreign());
    cases.sort_by_key(|case| case.name);
    cases
}

/// A case of one archive with an end mark.
fn case(name: &'static str, why: &'static str, members: &[Vec<u8>]) -> Case {
    bytes(name, why, [members.concat(), vec![0; 1024]].concat())
}

/// A case of one archive as it stands.
fn bytes(name: &'static str, why: &'static str, archive: Vec<u8>) -> Case {
    Case { name, why, archives: vec![archive] }
}

/// A header that is changed before its sum is made.
pub fn header(flag: u8, path: &str, size: u64, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut block = vec![0_u8; 512];
    put(&mut block, 0, path.as_bytes());
    put(&mut block, 100, b"0000644");
    put(&mut block, 108, b"0000000");
    put(&mut block, 116, b"0000000");
    put(&mut block, 124, format!("{size:011o}").as_bytes());
    put(&mut block, 136, b"07000000000");
    put(&mut block, 156, &[flag]);
    put(&mut block, 257, b"ustar\x0000");
    change(&mut block);
    put(&mut block, 148, b"        ");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    block
}

pub fn put(block: &mut [u8], at: usize, text: &[u8]) {
    block[at..at + text.len()].copy_from_slice(text);
}

/// Data, filled up to whole blocks.
pub fn padded(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().next_multiple_of(512), 0);
    data
}

/// A header with a sum, and its data.
pub fn member(flag: u8, path: &str, link: &str, mode: u32, data: &[u8]) -> Vec<u8> {
    let header = header(flag, path, data.len() as u64, |block| {
        put(block, 100, format!("{mode:07o}").as_bytes());
        put(block, 157, link.as_bytes());
    });
    [header, padded(data)].concat()
}

pub fn file(path: &str) -> Vec<u8> {
    member(b'0', path, "", 0o644, b"evil")
}

pub fn symlink(path: &str, to: &str) -> Vec<u8> {
    member(b'2', path, to, 0o777, b"")
}

pub fn hard_link(path: &str, to: &str) -> Vec<u8> {
    member(b'1', path, to, 0o644, b"")
}

fn directory(path: &str, mode: u32) -> Vec<u8> {
    member(b'5', path, "", mode, b"")
}

/// A long name or link of GNU's.
pub fn long(flag: u8, text: &str) -> Vec<u8> {
    member(flag, "././@LongLink", "", 0o644, text.as_bytes())
}

/// An extended header.
pub fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in records {
        let without = key.len() + value.len() + 3;
        let length = (without + 1..).find(|length| length - length.to_string().len() == without).expect("there is one");
        writeln!(text, "{length} {key}={value}").expect("a string");
    }
    extended(text.as_bytes())
}

/// An extended header of these very bytes.
fn extended(bytes: &[u8]) -> Vec<u8> {
    member(b'x', "pax", "", 0o644, bytes)
}
