//! What `--pax-option` says of extended headers: what they are called, what they leave out and what they say besides.
//! COMPAT: as GNU tar writes them, byte for byte.

use super::{Fields, POSIX_MAGIC, beside, fill_block, parted};
use crate::pattern::Pattern;
use crate::read::pax::add_record;
use crate::volumes::Rest;
use std::fmt::Display;

/// Extended headers as they are wanted.
#[derive(Clone, Debug, Default)]
pub struct Extended {
    /// Keys that are left out.
    pub left_out: Vec<Pattern>,
    /// Keys that each header has besides, with their values; what files have instead of them is left out.
    pub of_each: Vec<(Vec<u8>, Vec<u8>)>,
    /// Keys that are said once, of all members.
    pub of_all: Vec<(Vec<u8>, Vec<u8>)>,
    /// What a member's is called; none: `%d/PaxHeaders/%f`.
    pub name: Option<Vec<u8>>,
    /// When it was changed, as its header has it; none: when the member was.
    pub mtime: Option<i64>,
    /// What the one for all members is called.
    pub name_of_all: Option<Vec<u8>>,
    /// When that was changed.
    pub mtime_of_all: Option<i64>,
}

/// COMPAT: GNU tar's, where no directory for temporary files is said.
const NAME_OF_ALL: &[u8] = b"/tmp/GlobalHead.%n";

impl Extended {
    /// Whether members have what they have and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        self.left_out.is_empty() && self.of_each.is_empty()
    }

    /// Whether a key is left out.
    pub(super) fn leaves_out(&self, key: &[u8]) -> bool {
        self.left_out.iter().any(|pattern| pattern.matches(key))
    }

    /// Whether something else stands instead of what a member has.
    pub(super) fn has_instead_of(&self, key: &[u8]) -> bool {
        self.of_each.iter().any(|(said, _)| said == key)
    }

    /// Adds what each header says besides. `is_there`: the member has a header in any case. COMPAT: GNU tar's members have one unless the times are left
    /// out that only such headers tell, which ours never do.
    pub(super) fn add_to(&self, records: &mut Vec<u8>, is_there: bool) {
        if is_there || !self.leaves_out(b"atime") || !self.leaves_out(b"ctime") {
            self.of_each.iter().for_each(|(key, value)| add_record(records, key, value));
        }
    }

    /// Appends a member's header with its records.
    pub(super) fn put(&self, records: &[u8], path: &[u8], changed: i64, target: &mut Vec<u8>) {
        let name = match &self.name {
            Some(form) => named(form, Some(path), 0),
            None => beside(path, b"PaxHeaders"),
        };
        put(b'x', &name, self.mtime.unwrap_or(changed), records, target);
    }

    /// Appends what stands in front of everything on a volume.
    pub(super) fn begin_volume(&self, number: u64, label: Option<&[u8]>, rest: Option<&Rest>, target: &mut Vec<u8>) {
        let mut records = Vec::new();
        if let Some(label) = label {
            add_record(&mut records, b"GNU.volume.label", label);
        }
        if let Some(Rest { name, left, offset }) = rest {
            add_record(&mut records, b"GNU.volume.filename", name);
            add_record(&mut records, b"GNU.volume.size", left.to_string().as_bytes());
            add_record(&mut records, b"GNU.volume.offset", offset.to_string().as_bytes());
        }
        if !records.is_empty() {
            let name = named(self.name_of_all.as_deref().unwrap_or(NAME_OF_ALL), None, number);
            put(b'g', &name, self.mtime_of_all.unwrap_or(0), &records, target);
        }
    }

    /// Appends what stands in front of all members.
    pub(super) fn begin(&self, label: Option<&[u8]>, target: &mut Vec<u8>) {
        let mut records = Vec::new();
        if let Some(label) = label {
            add_record(&mut records, b"GNU.volume.label", label);
        }
        self.of_all.iter().for_each(|(key, value)| add_record(&mut records, key, value));
        if !records.is_empty() {
            // COMPAT: a header is a header.
            self.of_each.iter().for_each(|(key, value)| add_record(&mut records, key, value));
            let name = named(self.name_of_all.as_deref().unwrap_or(NAME_OF_ALL), None, 1);
            put(b'g', &name, self.mtime_of_all.unwrap_or(0), &records, target);
        }
    }
}

fn put(flag: u8, name: &[u8], changed: i64, records: &[u8], target: &mut Vec<u8>) {
    let mut fields = Fields::new(POSIX_MAGIC, flag);
    fields.text(0, 100, name);
    fields.octal(100, 8, 0o644);
    let seconds = u64::try_from(changed).unwrap_or(0).min(0o77_777_777_777);
    for (from, bytes, number) in [(108, 8, 0), (116, 8, 0), (124, 12, records.len() as u64), (136, 12, seconds)] {
        fields.octal(from, bytes, number);
    }
    target.extend_from_slice(&fields.finish());
    target.extend_from_slice(records);
    fill_block(target, records.len(), 0);
}

/// A name from its form: `%d` is the member's directory, `%f` its name in it, `%p` the process, `%n` the header's number.
fn named(form: &[u8], path: Option<&[u8]>, number: u64) -> Vec<u8> {
    let (directory, file) = path.map_or((&b""[..], &b""[..]), parted);
    // COMPAT: a directory's name has its slash, which shows where something stands behind it.
    let slash: &[u8] = if path.is_some_and(|path| path.ends_with(b"/")) { b"/" } else { b"" };
    let text = |shown: &dyn Display| shown.to_string().into_bytes();
    let mut name = Vec::with_capacity(form.len());
    let mut rest = form.iter();
    while let Some(&byte) = rest.next() {
        match (byte, rest.as_slice().first()) {
            (b'%', Some(b'd')) => name.extend_from_slice(directory),
            (b'%', Some(b'f')) => name.extend([file, slash].concat()),
            (b'%', Some(b'p')) => name.extend(text(&std::process::id())),
            (b'%', Some(b'n')) => name.extend(text(&number)),
            (b'%', Some(b'%')) => name.push(b'%'),
            (b'%', Some(&other)) => name.extend([b'%', other]),
            (byte, _) => {
                name.push(byte);
                continue;
            }
        }
        rest.next();
    }
    let end = name.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    name.truncate(end);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_their_forms() {
        for (form, path, expected) in [
            ("%d/PaxHeaders/%f", "a/b/c", "a/b/PaxHeaders/c"),
            ("%d/PaxHeaders/%f", "a/b/", "a/PaxHeaders/b"),
            ("%d/PaxHeaders/%f", "a", "./PaxHeaders/a"),
            ("%d/%%/%n/%q/X%f//", "a/b", "a/%/0/%q/Xb"),
            ("%d/%f.x", "a/b/", "a/b/.x"),
            ("100%", "a", "100%"),
            ("", "a", ""),
        ] {
            let found = named(form.as_bytes(), Some(path.as_bytes()), 0);
            assert_eq!(String::from_utf8_lossy(&found), expected, "{form} of {path}");
        }
        assert_eq!(named(b"g%d%f%n", None, 1), b"g1");
    }
}
