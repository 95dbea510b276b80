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

fn hard_link(path: &str, to: &str) -> Vec<u8> {
    member(b'1', path, to, 0o644, b"")
}

fn folder(path: &str, mode: u32) -> Vec<u8> {
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
