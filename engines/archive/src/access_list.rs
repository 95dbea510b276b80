//! Access control lists: as text, which archives have, and as the value of the attribute, which the kernel has.
//! Layout of the value: `linux/posix_acl_xattr.h`, version 2. Names of users and groups are looked up on this machine.

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
}
