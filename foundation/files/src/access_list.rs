//! Access control lists: as text, which archives have, and as the value of the attribute, which the kernel has.
//! Layout of the value: `linux/posix_acl_xattr.h`, version 2. Names of users and groups are looked up on this machine.

use std::ffi::CStr;

/// The attribute that holds the access control list of a file.
pub const ACCESS_LIST: &CStr = c"system.posix_acl_access";
/// The attribute that holds the list that new files in a directory begin with.
pub const DEFAULT_LIST: &CStr = c"system.posix_acl_default";

const VERSION: u32 = 2;
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;
const NOBODY: u32 = u32::MAX;

/// One line of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    tag: u16,
    id: u32,
    rights: u16,
}

/// The attribute's value for a text of lines or of parts between commas. None where it is no list.
pub fn from_text(text: &[u8]) -> Option<Vec<u8>> {
    let is_border = |byte: &u8| matches!(byte, b'\n' | b',' | 0);
    let mut lines = Vec::new();
    for part in text.split(is_border) {
        // Effective rights and other remarks stand behind a number sign.
        let part = part.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
        if !part.is_empty() {
            lines.push(line(part)?);
        }
    }
    lines.sort_unstable();
    let mut value = VERSION.to_le_bytes().to_vec();
    for line in lines {
        value.extend_from_slice(&line.tag.to_le_bytes());
        value.extend_from_slice(&line.rights.to_le_bytes());
        value.extend_from_slice(&line.id.to_le_bytes());
    }
    Some(value)
}

fn line(text: &[u8]) -> Option<Line> {
    let mut parts = text.split(|&byte| byte == b':');
    let (who, name, rights) = (parts.next()?, parts.next()?, parts.next()?);
    // bsdtar and star add the number behind the rights, for machines that do not know the name.
    let number = parts.next().and_then(digits);
    let id = |of_name: fn(&[u8]) -> Option<u32>| match name {
        b"" => Some(None),
        name => of_name(name).or(number).or_else(|| digits(name)).map(Some),
    };
    let (tag, id) = match who {
        b"u" | b"user" => id(sys::names::user_number)?.map_or((OWNER, NOBODY), |id| (USER, id)),
        b"g" | b"group" => id(sys::names::group_number)?.map_or((OWNING_GROUP, NOBODY), |id| (GROUP, id)),
        b"m" | b"mask" => (MASK, NOBODY),
        b"o" | b"other" => (OTHERS, NOBODY),
        _ => return None,
    };
    let mut bits = 0;
    for &sign in rights {
        bits |= match sign {
            b'r' => 4,
            b'w' => 2,
            b'x' => 1,
            b'-' => 0,
            _ => return None,
        };
    }
    Some(Line { tag, id, rights: bits })
}

fn digits(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The text of an attribute's value, a line each with a newline behind it, as GNU tar writes it. None where it is no list.
pub fn to_text(value: &[u8]) -> Option<Vec<u8>> {
    let lines = value.strip_prefix(&VERSION.to_le_bytes())?.chunks_exact(8);
    let mut text = Vec::new();
    for line in lines {
        let number = |from: usize| u16::from_le_bytes([line[from], line[from + 1]]);
        let id = u32::from_le_bytes([line[4], line[5], line[6], line[7]]);
        let named = |name: Option<Vec<u8>>| name.unwrap_or_else(|| id.to_string().into_bytes());
        let (who, name) = match number(0) {
            OWNER => ("user", Vec::new()),
            USER => ("user", named(sys::names::user_name(id))),
            OWNING_GROUP => ("group", Vec::new()),
            GROUP => ("group", named(sys::names::group_name(id))),
            MASK => ("mask", Vec::new()),
            OTHERS => ("other", Vec::new()),
            _ => return None,
        };
        put_line(who, &name, number(2).into(), &mut text);
    }
    Some(text)
}

/// The permission bits of a list: those that `stat(2)` shows of a file that has it. None for what is no list.
pub fn permission_bits(value: &[u8]) -> Option<u32> {
    let entries = value.strip_prefix(&VERSION.to_le_bytes())?.chunks_exact(8);
    let rights =
        |tag| entries.clone().find(|entry| entry[..2] == u16::to_le_bytes(tag)).map(|entry| u32::from(entry[2]) & 0o7);
    let group = rights(MASK).or_else(|| rights(OWNING_GROUP))?;
    Some(rights(OWNER)? << 6 | group << 3 | rights(OTHERS)?)
}

/// What `open(2)` makes of a default list for a new file of this mode. A mask stands for the mode's group bits.
pub fn list_of_a_new_file(default: &[u8], mode: u32) -> Vec<u8> {
    let mut list = default.to_vec();
    let entries = list.get_mut(4..).unwrap_or_default();
    let tag = |entry: &[u8]| u16::from_le_bytes([entry[0], entry[1]]);
    let has_mask = entries.chunks_exact(8).any(|entry| tag(entry) == MASK);
    for entry in entries.chunks_exact_mut(8) {
        let granted = match tag(entry) {
            OWNER => mode >> 6,
            MASK => mode >> 3,
            OWNING_GROUP if !has_mask => mode >> 3,
            OTHERS => mode,
            _ => 0o7,
        };
        entry[2] &= granted as u8 & 0o7;
    }
    list
}

/// The text of the list that says what permission bits say.
pub fn of_mode(mode: u32) -> Vec<u8> {
    let mut text = Vec::new();
    for (who, rights) in [("user", mode >> 6), ("group", mode >> 3), ("other", mode)] {
        put_line(who, b"", rights, &mut text);
    }
    text
}

fn put_line(who: &str, name: &[u8], rights: u32, text: &mut Vec<u8>) {
    text.extend_from_slice(who.as_bytes());
    text.push(b':');
    text.extend_from_slice(name);
    let sign = |bit: u32, sign: u8| if rights & bit != 0 { sign } else { b'-' };
    text.extend_from_slice(&[b':', sign(4, b'r'), sign(2, b'w'), sign(1, b'x'), b'\n']);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_turn_into_each_other() {
        let text = b"user::rw-\nuser:12345:r--\ngroup::r-x\nmask::r-x\nother::---\n";
        let value = from_text(text).expect("a list");
        assert_eq!(value.len(), 4 + 5 * 8);
        assert_eq!(to_text(&value).as_deref(), Some(&text[..]));
        assert_eq!(from_text(b"u::rw-,u:12345:r--:12345,g::r-x #effective,m::r-x,o::---"), Some(value));
    }

    #[test]
    fn a_mode_is_a_list() {
        assert_eq!(of_mode(0o2754), b"user::rwx\ngroup::r-x\nother::r--\n");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in [&b"user"[..], b"user::q", b"who::rwx", b"user:no such user:rwx"] {
            assert_eq!(from_text(text), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(to_text(b"\x01\0\0\0"), None);
    }

    #[test]
    fn a_list_says_what_the_mode_shows() {
        let bits = |text: &[u8]| permission_bits(&from_text(text).expect("a list"));
        assert_eq!(bits(b"u::rw-,g::r--,o::--x"), Some(0o641));
        assert_eq!(bits(b"u::rwx,u:1:rwx,g::r--,m::r-x,o::---"), Some(0o750));
        assert_eq!((bits(b"u::rwx"), permission_bits(b"")), (None, None));
    }

    #[test]
    fn a_new_file_has_what_both_its_mode_and_the_default_list_grant() {
        let list = |entries: &[(u16, u16)]| {
            let entries =
                entries.iter().flat_map(|(tag, rights)| [tag.to_le_bytes(), rights.to_le_bytes(), [0; 2], [0; 2]]);
            [vec![2, 0, 0, 0], entries.flatten().collect()].concat()
        };
        // Owner, group, others; and with a named user and a mask.
        assert_eq!(list_of_a_new_file(&list(&[(1, 7), (4, 5), (32, 0)]), 0o644), list(&[(1, 6), (4, 4), (32, 0)]));
        assert_eq!(
            list_of_a_new_file(&list(&[(1, 7), (2, 7), (4, 5), (16, 7), (32, 5)]), 0o640),
            list(&[(1, 6), (2, 7), (4, 5), (16, 4), (32, 0)])
        );
        assert_eq!(list_of_a_new_file(&[2], 0o644), [2]);
    }
}
