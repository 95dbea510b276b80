//! What is noted of members as they are laid out: where they begin, for the ends of chunks, and what they are, for the archive's index.

use crate::index::NAME_BYTES_MAX;
use crate::index::stretch::{Begun, Division, Stretch, before_next, stretches};
use crate::member::{Kind, Member, padded};
use crate::read::{Reader, Rules, Step};
use crate::source::MemorySource;
use crate::write::{Format, Style};
use std::collections::VecDeque;

/// Members that begin in what has been laid out and is in no chunk yet.
pub(super) struct Notes {
    /// Whether there is an index to note them for.
    is_kept: bool,
    begun: VecDeque<Begun>,
    division: Division,
    /// What is kept of the last member that went into a chunk.
    last: Option<Member>,
}

/// Members that begin in a chunk.
#[derive(Default)]
pub(super) struct ChunkNotes {
    begun: Vec<Begun>,
    before: Option<Member>,
}

impl ChunkNotes {
    /// Their entries; none where the archive gets no index.
    pub fn stretches(&mut self) -> Option<Vec<Stretch>> {
        stretches(self.begun.drain(..), self.before.take())
    }
}

impl Notes {
    pub fn new(is_kept: bool) -> Self {
        Self { is_kept, begun: VecDeque::new(), division: Division::default(), last: None }
    }

    /// Whether members are noted.
    pub fn are_kept(&self) -> bool {
        self.is_kept
    }

    /// Notes that a member begins `at` in the plain archive, with `header` in front of its data.
    pub fn add(&mut self, at: u64, member: Member, header: &[u8], style: &Style) {
        if !self.is_kept {
            return;
        }
        // LIMIT: longer names have no place in an index; who would hold them for it?
        if member.path.len().max(member.link.len()) > NAME_BYTES_MAX {
            self.is_kept = false;
            self.begun = [Begun { at, bytes: 0, member: None, begins_block: false }].into();
            return;
        }
        let begins_block = self.division.begins_block(&member);
        let bytes = header.len() as u64 + padded(member.stored_bytes);
        // What we do not read ourselves leaves the archive without an index.
        self.begun.push_back(Begun { at, bytes, member: as_read(member, header, style), begins_block });
    }

    /// Where members begin, the last first.
    pub fn borders(&self) -> impl Iterator<Item = u64> {
        self.begun.iter().rev().map(|begun| begun.at)
    }

    /// Takes what begins in the chunk from `from` to `end`.
    pub fn take(&mut self, from: u64, end: u64, chunk: &mut ChunkNotes) {
        chunk.before.clone_from(&self.last);
        chunk.begun.clear();
        while self.begun.front().is_some_and(|begun| begun.at < end) {
            chunk.begun.extend(self.begun.pop_front().map(|begun| Begun { at: begun.at - from, ..begun }));
        }
        if let Some(last) = chunk.begun.last() {
            self.last = last.member.as_ref().map(before_next);
        }
    }
}

/// LIMIT: headers that every reader takes: longer ones may have a map of holes, or attributes, without bounds.
const READABLE_BYTES: usize = 64 << 10;

/// A member as whoever reads its headers will see it; none where nobody can.
fn as_read(member: Member, header: &[u8], style: &Style) -> Option<Member> {
    // Pax has room for all that an index tells; only readers take a file for a directory by its name.
    let is_kept_whole = style.format == Format::Pax
        && style.extended.is_plain()
        && header.len() <= READABLE_BYTES
        && (member.kind == Kind::Directory || !member.path.ends_with(b"/"));
    if is_kept_whole { Some(member) } else { read_back(header) }
}

fn read_back(header: &[u8]) -> Option<Member> {
    let mut source = MemorySource::new(header);
    match Reader::new(Rules::default(), &source).next(&mut source) {
        Ok(Step::Member(member)) => Some(*member),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Attribute, AttributeName, Device, Extent, Time};
    use crate::pattern::{Manner, Pattern};
    use crate::write::begin_member;
    use crate::write::extended::Extended;

    /// What an index tells of it.
    fn entry(member: Member) -> (Vec<u8>, usize) {
        let begun = Begun { at: 0, bytes: 512, member: Some(member), begins_block: true };
        let entries = stretches([begun].into_iter(), None).expect("an index can say it");
        let mut bytes = Vec::new();
        entries.iter().for_each(|stretch| stretch.put(7, &mut bytes));
        (bytes, entries.len())
    }

    #[test]
    fn an_index_tells_what_a_reader_of_the_headers_tells() {
        let plain = Member { path: b"a/b".to_vec(), mode: 0o4755, owner: b"root".to_vec(), ..Member::default() };
        let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
        let value = b"v".to_vec();
        let members = [
            Member { size: 5, stored_bytes: 5, mtime: time(1 << 40, 0), uid: 1 << 40, gid: 1 << 21, ..plain.clone() },
            Member { mtime: time(-5, 999_999_999), atime: Some(time(1, 2)), ctime: Some(time(3, 4)), ..plain.clone() },
            Member { path: vec![b'x'; 300], owner: vec![b'o'; 40], group: "ü".as_bytes().to_vec(), ..plain.clone() },
            Member { path: b"directory/".to_vec(), kind: Kind::Directory, ..plain.clone() },
            Member { path: b"directory".to_vec(), kind: Kind::Directory, ..plain.clone() },
            Member { path: b"link/".to_vec(), kind: Kind::HardLink, link: b"file".to_vec(), ..plain.clone() },
            Member { path: b"file/".to_vec(), size: 600, stored_bytes: 600, ..plain.clone() },
            Member { kind: Kind::Symlink, link: "ü/".repeat(80).into_bytes(), ..plain.clone() },
            Member { kind: Kind::HardLink, link: b"first".to_vec(), ..plain.clone() },
            Member { kind: Kind::CharacterDevice, device: Device { major: 4095, minor: 1 << 20 }, ..plain.clone() },
            Member { kind: Kind::Fifo, ..plain.clone() },
            Member {
                size: 1 << 33,
                stored_bytes: 512,
                sparse: Some(vec![Extent { offset: 4096, bytes: 512 }, Extent { offset: 1 << 33, bytes: 0 }]),
                attributes: vec![Attribute { name: AttributeName::Extended(b"user.a".to_vec()), value }],
                ..plain.clone()
            },
        ];
        let extended = Extended {
            left_out: vec![Pattern::new(b"mtime", Manner::MEMBERS)],
            of_each: vec![(b"uid".to_vec(), b"7".to_vec())],
            ..Extended::default()
        };
        let changed = Style { extended, ..Style::default() };
        for style in [Format::Pax, Format::Gnu, Format::Ustar]
            .map(|format| Style { format, ..Style::default() })
            .into_iter()
            .chain([changed])
        {
            let mut fitting = 0;
            for member in &members {
                let mut header = Vec::new();
                if begin_member(member, &style, &mut header).is_err() {
                    continue;
                }
                fitting += 1;
                let (told, read) = (as_read(member.clone(), &header, &style), read_back(&header));
                assert_eq!(entry(told.expect("read")), entry(read.expect("read")), "{style:?} {member:?}");
            }
            assert!(fitting > 4 && (style.format != Format::Pax || fitting == members.len()), "{style:?}: {fitting}");
        }
    }
}
