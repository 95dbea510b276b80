//! How members are shown: names with what could steer a terminal escaped, lines like those of `ls -l`. GNU tar's shapes.

mod quoting;

use super::TarArgs;
use archive::member::{BLOCK_BYTES, Kind, Member, Time};
pub use quoting::Quoting;
use std::borrow::Cow;
use std::fmt::Write as _;
use sys::civil_time;

/// Nearly all names: nothing in them to escape.
pub fn is_plain(name: &[u8]) -> bool {
    let (sixteens, rest) = name.as_chunks();
    let Some(last) = name.last_chunk() else { return rest.iter().all(|&byte| is_plain_byte(byte)) };
    // The last sixteen are looked at again with those before them: single bytes at their end would take most of the time.
    sixteens.iter().fold(are_plain(last), |are_plain_so_far, sixteen| are_plain_so_far & are_plain(sixteen))
}

/// All are looked at, at once, whatever the first ones are: names that are not plain are few.
fn are_plain(bytes: &[u8; 16]) -> bool {
    bytes.iter().fold(true, |are_plain, &byte| are_plain & is_plain_byte(byte))
}

fn is_plain_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') & (byte != b'\\')
}

/// A name as lists show it: control bytes, backslashes and what is no text as escapes.
pub fn escaped(name: &[u8]) -> Cow<'_, str> {
    if is_plain(name)
        && let Ok(plain) = std::str::from_utf8(name)
    {
        return plain.into();
    }
    let mut text = String::with_capacity(name.len());
    for part in name.utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '\u{7}' => text.push_str("\\a"),
                '\u{8}' => text.push_str("\\b"),
                '\u{b}' => text.push_str("\\v"),
                '\u{c}' => text.push_str("\\f"),
                // Writing to a string does not fail.
                letter if letter.is_ascii_control() => write!(text, "\\{:03o}", letter as u32).expect("a string"),
                letter if letter.is_control() => text.extend(letter.escape_unicode()),
                letter => text.push(letter),
            }
        }
        for byte in part.invalid() {
            write!(text, "\\{byte:03o}").expect("a string");
        }
    }
    text.into()
}

/// A name as lists show it, a slash behind a directory's.
pub fn with_slash(name: &[u8], kind: Kind) -> Cow<'_, [u8]> {
    match kind {
        Kind::Directory if !name.ends_with(b"/") => Cow::Owned([name, b"/"].concat()),
        _ => Cow::Borrowed(name),
    }
}

/// The blocks that `-R` names in front of lines about members. COMPAT: GNU tar's, which depend on the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockNumbers {
    are_shown: bool,
}

impl BlockNumbers {
    pub fn new(args: &TarArgs) -> Self {
        Self { are_shown: args.telling.block_number }
    }

    /// A line about what stands at a byte.
    pub fn line<'l>(self, at: u64, line: impl Into<Cow<'l, [u8]>>) -> Cow<'l, [u8]> {
        let line = line.into();
        let block = at / BLOCK_BYTES as u64;
        if self.are_shown { [format!("block {block}: ").as_bytes(), &*line].concat().into() } else { line }
    }

    /// A line of a list: the member's own header.
    pub fn listed<'l>(self, member: &Member, line: impl Into<Cow<'l, [u8]>>) -> Cow<'l, [u8]> {
        self.line(member.header_offset, line)
    }

    /// A line of what is read further: the block behind that.
    pub fn passed<'l>(self, member: &Member, line: impl Into<Cow<'l, [u8]>>) -> Cow<'l, [u8]> {
        self.line(member.header_offset + BLOCK_BYTES as u64, line)
    }

    /// The line about the archive's end: its mark, if it has one.
    pub fn end(self, at: u64, has_mark: bool) -> Option<Vec<u8>> {
        let what: &[u8] = if has_mark { b"** Block of NULs **" } else { b"** End of File **" };
        self.are_shown.then(|| self.line(at, what).into_owned())
    }
}

/// Columns, which grow with the widest so far.
pub struct LongLines {
    quoting: Quoting,
    /// Of owner and size.
    width: usize,
    time_width: usize,
    has_numbers: bool,
    clock: Clock,
}

/// How times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    is_full: bool,
    is_in_greenwich: bool,
}

impl LongLines {
    pub fn new(args: &TarArgs) -> Self {
        let clock = Clock { is_full: args.lists.full_time, is_in_greenwich: args.lists.utc };
        // COMPAT: GNU tar's width to begin with.
        let quoting = args.quoting.clone();
        Self { quoting, width: 19, time_width: 0, has_numbers: args.metadata.numeric_owner, clock }
    }

    /// `-rw-r--r-- root/root 3 2001-01-01 00:00 d/f`
    pub fn line(&mut self, name: &[u8], member: &Member) -> Vec<u8> {
        let owner = |name: &[u8], number: u64| match (self.has_numbers, name) {
            (true, _) | (_, b"") => number.to_string(),
            (false, name) => escaped(name).into_owned(),
        };
        let owner = format!("{}/{}", owner(&member.owner, member.uid), owner(&member.group, member.gid));
        let size = match member.kind {
            Kind::CharacterDevice | Kind::BlockDevice => format!("{},{}", member.device.major, member.device.minor),
            _ => member.size.to_string(),
        };
        self.width = self.width.max(owner.len() + size.len() + 1);
        let link = match member.kind {
            Kind::Symlink => [b" -> ", &*self.quoting.shown(&member.link)].concat(),
            Kind::HardLink => [b" link to ", &*self.quoting.shown(&member.link)].concat(),
            _ => Vec::new(),
        };
        let (mode, time, name) = (mode_text(member), time_text(member.mtime, self.clock), self.quoting.shown(name));
        self.time_width = self.time_width.max(time.len());
        let (width, time_width) = (self.width - owner.len() - 1, self.time_width);
        let columns = format!("{mode} {owner} {size:>width$} {time:time_width$} ");
        // COMPAT: what a label is shows.
        let label: &[u8] = if member.kind == Kind::VolumeLabel { b"--Volume Header--" } else { b"" };
        [columns.as_bytes(), &*name, &*link, label].concat()
    }
}

fn time_text(time: Time, clock: Clock) -> String {
    let of = if clock.is_in_greenwich { civil_time::in_greenwich } else { civil_time::local };
    let Some(at) = of(time.seconds) else { return time.seconds.to_string() };
    let mut text = format!("{:04}-{:02}-{:02} {:02}:{:02}", at.year, at.month, at.day, at.hour, at.minute);
    if clock.is_full {
        write!(text, ":{:02}", at.second).expect("a string");
        // COMPAT: parts of seconds as far as they are not 0.
        let parts = format!("{:09}", time.nanoseconds);
        let parts = parts.trim_end_matches('0');
        if !parts.is_empty() {
            write!(text, ".{parts}").expect("a string");
        }
    }
    text
}

fn mode_text(member: &Member) -> String {
    let kind = match member.kind {
        Kind::Regular => '-',
        Kind::HardLink => 'h',
        Kind::Symlink => 'l',
        Kind::CharacterDevice => 'c',
        Kind::BlockDevice => 'b',
        Kind::Directory => 'd',
        Kind::Fifo => 'p',
        Kind::VolumeLabel => 'V',
        Kind::Continuation => 'M',
    };
    let mut text = String::from(kind);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = member.mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, member.mode & special != 0) {
            (true, true) => letter,
            (false, true) => letter.to_ascii_uppercase(),
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(escaped(b"a\x1b[2J\n\\\xff"), "a\\033[2J\\n\\\\\\377");
        assert_eq!(escaped("ü".as_bytes()), "ü");
    }

    #[test]
    fn what_is_to_be_escaped_is_found_wherever_it_stands() {
        for length in 0..36 {
            assert!(is_plain(&vec![b'a'; length]), "{length}");
            for (at, byte) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut name = vec![b'~'; length];
                name[at] = byte;
                let is_shown_as_it_is = (b' '..=b'~').contains(&byte) && byte != b'\\';
                assert_eq!(is_plain(&name), is_shown_as_it_is, "{byte} at {at} of {length}");
            }
        }
    }

    #[test]
    fn times_are_shown_as_they_are_wanted() {
        let time = Time { seconds: 1_577_934_245, nanoseconds: 500_000_000 };
        let shown = |is_full| time_text(time, Clock { is_full, is_in_greenwich: true });
        assert_eq!((shown(false).as_str(), shown(true).as_str()), ("2020-01-02 03:04", "2020-01-02 03:04:05.5"));
    }

    #[test]
    fn blocks_are_named_where_they_are_wanted() {
        let (shown, left_out) = (BlockNumbers { are_shown: true }, BlockNumbers::default());
        let member = Member { header_offset: 1024, ..Member::default() };
        assert_eq!(*shown.listed(&member, b"x".as_slice()), *b"block 2: x");
        assert_eq!(*shown.passed(&member, b"x".as_slice()), *b"block 3: x");
        assert_eq!(shown.end(512, true).as_deref(), Some(&b"block 1: ** Block of NULs **"[..]));
        assert_eq!((&*left_out.listed(&member, b"x".as_slice()), left_out.end(0, false)), (&b"x"[..], None));
    }

    #[test]
    fn modes_show_set_id_and_sticky() {
        let mode = |mode, kind| mode_text(&Member { mode, kind, ..Member::default() });
        assert_eq!(mode(0o4755, Kind::Regular), "-rwsr-xr-x");
        assert_eq!(mode(0o1777, Kind::Directory), "drwxrwxrwt");
        assert_eq!(mode(0o2640, Kind::Regular), "-rw-r-S---");
    }
}
