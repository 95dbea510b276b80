//! Reads archives header by header: v7, ustar, star, pax with all forms of sparse files, old GNU. A pure parser over a
//! [`Source`]; data are left where they are. Theory: `engines/archive/README.md`, "One interpretation".

mod block;
mod findings;
mod numbers;
pub(crate) mod pax;
mod plain;
mod records;
mod sparse;

use crate::member::{AttributeName, BLOCK_BYTES, Kind, Member, padded};
use crate::source::Source;
pub(crate) use block::begins_with_a_whole_header;
use block::{Checked, Dialect, HeaderBlock, until_nul};
pub use findings::{Defect, Note, ReadError};
use plain::{GROUP, OWNER, are_two_sizes, plain_member};
use records::{Said, Wrong};
use sparse::Form;

/// What comes next.
#[derive(Debug)]
pub enum Step {
    /// A member; its data begin at the source's position.
    Member(Box<Member>),
    /// Something to tell.
    Note(Note),
    /// The end mark, or the end of the source.
    End,
}

/// How archives are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What is done where readers are known to disagree.
    pub grammar: Grammar,
    /// What zero blocks mean.
    pub zeros: Zeros,
}

/// What is done where readers are known to disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grammar {
    /// The interpretation of GNU tar, with a note.
    #[default]
    Lenient,
    /// It is refused.
    Strict,
}

/// What zero blocks mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zeros {
    /// Two of them end the archive.
    #[default]
    End,
    /// Nothing: `-i`.
    Ignored,
}

/// LIMIT: longest name or link. Linux takes 4096 in one call; deeper trees are built step by step.
const NAME_BYTES_MAX: u64 = 1 << 20;
/// LIMIT: longest extended header, attributes and sparse maps included.
const RECORDS_BYTES_MAX: u64 = 16 << 20;
/// LIMIT: bytes of a member; beyond it offsets would not fit.
const MEMBER_BYTES_MAX: u64 = 1 << 60;

/// Ends a step early: the whole archive, or the member at hand.
#[derive(Debug)]
enum Failed {
    Archive(ReadError),
    Member(Defect),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Archive(error)
    }
}

impl From<Defect> for Failed {
    fn from(defect: Defect) -> Self {
        Self::Member(defect)
    }
}

/// Whether a file that begins with this is an archive: its first block is a header, or an end mark.
pub fn looks_like_archive(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|block| HeaderBlock(block).check() != Checked::Wrong)
}

/// The state of a reader between headers.
#[derive(Debug, Default)]
pub struct Reader {
    rules: Rules,
    /// What global headers said.
    global: Said,
    /// Where the archive begins.
    begin: u64,
    /// Where the next header stands.
    next_header: u64,
    any_header: bool,
    /// Where the global headers stand that came with the last step, neighbours as one.
    globals: Vec<(u64, u64)>,
    /// Whether an extended header stood in front of the last member.
    is_extended: bool,
    /// Told at the next step.
    notes: std::collections::VecDeque<Note>,
    ended: bool,
}

/// What stood in front of a member.
#[derive(Default)]
struct Front {
    said: Option<Said>,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    /// The member cannot be trusted.
    defect: Option<Defect>,
    /// What was said and cannot be: the member comes without it.
    unusable: Vec<Defect>,
    begin: Option<u64>,
    /// Where the first header stands that is about the next member alone.
    of_member: Option<u64>,
}

impl Front {
    fn is_empty(&self) -> bool {
        self.begin.is_none()
    }
}

impl Reader {
    /// A reader at the beginning of an archive that begins where `source` stands.
    pub fn new<S: Source>(rules: Rules, source: &S) -> Self {
        Self { rules, begin: source.position(), next_header: source.position(), ..Self::default() }
    }

    /// Where the archive ends: its end mark, or the end of the source. Known when [`Step::End`] was told.
    pub fn end_offset(&self) -> u64 {
        self.next_header
    }

    /// Where the global headers stand that came with the last step: they are about what follows, too.
    pub fn globals(&self) -> &[(u64, u64)] {
        &self.globals
    }

    /// Whether an extended header of pax stood in front of the member that came last: its times have parts of seconds, if only zeros.
    pub fn is_extended(&self) -> bool {
        self.is_extended
    }

    /// Goes on to the next member, past whatever is left of the last one's data.
    pub fn next<S: Source>(&mut self, source: &mut S) -> Result<Step, ReadError> {
        self.globals.clear();
        loop {
            if let Some(note) = self.notes.pop_front() {
                return Ok(Step::Note(note));
            }
            if self.ended {
                return Ok(Step::End);
            }
            // Notes that come with a member are told behind it.
            if let Some(member) = self.member(source)? {
                return Ok(Step::Member(Box::new(member)));
            }
        }
    }

    /// One header with everything in front of it. None: look again.
    fn member<S: Source>(&mut self, source: &mut S) -> Result<Option<Member>, ReadError> {
        let mut front = Front::default();
        loop {
            let Some(block) = self.header(source, &mut front)? else { return Ok(None) };
            let header = HeaderBlock(&block);
            let offset = self.next_header;
            let size = header.size().and_then(|size| u64::try_from(size).ok()).filter(|&size| size < MEMBER_BYTES_MAX);
            match (header.type_flag(), size) {
                (flag @ (b'x' | b'X' | b'g' | b'K' | b'L'), Some(size)) => {
                    front.begin.get_or_insert(offset);
                    self.next_header = offset + BLOCK_BYTES as u64 + padded(size);
                    if self.rules.grammar == Grammar::Strict && !header.is_strict() {
                        front.defect.get_or_insert(Defect::Ambiguous("an extended header of a dialect without them"));
                    }
                    match flag {
                        b'g' => self.note_global(offset),
                        _ => _ = front.of_member.get_or_insert(offset),
                    }
                    self.extension(source, flag, size, offset, &mut front)?;
                    if flag == b'g'
                        && let Some(label) = self.global.label.take()
                    {
                        return Ok(Some(label_member(label, &header, offset)));
                    }
                }
                // Solaris' access lists and star's inode records: data that carry no file.
                (b'A' | b'E' | b'I', Some(size)) => self.next_header = offset + BLOCK_BYTES as u64 + padded(size),
                _ => return self.finish(source, &header, size, front),
            }
        }
    }

    fn note_global(&mut self, from: u64) {
        match self.globals.last_mut() {
            Some((_, end)) if *end == from => *end = self.next_header,
            _ => self.globals.push((from, self.next_header)),
        }
    }

    /// The next block that is a header. None: the archive has ended, or something is to be told first.
    fn header<S: Source>(&mut self, source: &mut S, front: &mut Front) -> Result<Option<[u8; BLOCK_BYTES]>, ReadError> {
        let mut wrong_since = None;
        loop {
            self.reach(source)?;
            let offset = self.next_header;
            let Some(block) = self.block(source, offset)? else {
                // COMPAT: zeros are an empty archive, nothing at all is none.
                return if offset == self.begin { Err(ReadError::NoArchive) } else { self.end(front, wrong_since) };
            };
            match HeaderBlock(&block).check() {
                Checked::Sound => {
                    if let Some(offset) = wrong_since {
                        self.notes.push_back(Note::Resynchronised { offset });
                    }
                    self.any_header = true;
                    return Ok(Some(block));
                }
                // COMPAT: a header on the other side of zeros is not about what follows them.
                Checked::Zeros if self.rules.zeros == Zeros::Ignored => {
                    self.next_header += BLOCK_BYTES as u64;
                    self.leave(front);
                }
                Checked::Zeros => {
                    let second = match self.block(source, offset + BLOCK_BYTES as u64) {
                        // COMPAT: a part of a block is no block here.
                        Err(ReadError::NoArchive | ReadError::Truncated { .. }) => None,
                        second => second?,
                    };
                    if second.is_none_or(|block| HeaderBlock(&block).check() != Checked::Zeros) {
                        self.notes.push_back(Note::LoneZeroBlock { offset });
                    }
                    return self.end(front, wrong_since);
                }
                Checked::Wrong if !self.any_header && front.is_empty() => return Err(ReadError::NoArchive),
                // COMPAT: GNU tar looks block by block for the next header, and fails in the end.
                Checked::Wrong => {
                    wrong_since.get_or_insert(offset);
                    self.next_header += BLOCK_BYTES as u64;
                    if !front.is_empty() {
                        let error = Note::PassedOver { offset, path: Vec::new(), defect: Defect::Dangling };
                        self.notes.push_back(error);
                        *front = Front::default();
                    }
                }
            }
        }
    }

    /// Moves the source to the next header.
    fn reach<S: Source>(&mut self, source: &mut S) -> Result<(), ReadError> {
        let distance = self.next_header.saturating_sub(source.position());
        if distance > 0 {
            let offset = source.position();
            let moved = source.skip(distance).map_err(|cause| ReadError::Read { offset, cause })?;
            if moved < distance {
                return Err(ReadError::Truncated { offset });
            }
        }
        Ok(())
    }

    /// A whole block; none at the end of the source.
    fn block<S: Source>(&self, source: &mut S, offset: u64) -> Result<Option<[u8; BLOCK_BYTES]>, ReadError> {
        let mut block = [0; BLOCK_BYTES];
        match source.read(&mut block).map_err(|cause| ReadError::Read { offset, cause })? {
            BLOCK_BYTES => Ok(Some(block)),
            0 => Ok(None),
            _ if !self.any_header => Err(ReadError::NoArchive),
            _ => Err(ReadError::Truncated { offset }),
        }
    }

    /// The end. What was wrong since an offset may have been headers: members may be missing, though nothing was found to go on with.
    ///
    /// COMPAT: headers with no member behind them, as `git archive` writes for an empty commit, are nothing to GNU tar. Those about one member
    /// stand behind the end, so that they do not rename a member that is appended. bsdtar reports such a header as damage.
    fn end<T>(&mut self, front: &mut Front, wrong_since: Option<u64>) -> Result<Option<T>, ReadError> {
        self.ended = true;
        self.notes.extend(wrong_since.map(|offset| Note::Resynchronised { offset }));
        if let Some(offset) = front.of_member {
            if self.rules.grammar == Grammar::Strict {
                return Err(ReadError::Damaged { offset, defect: Defect::Dangling });
            }
            self.next_header = offset;
        }
        self.leave(front);
        Ok(None)
    }

    /// Drops headers that no member follows; the first defect of one that is malformed is reported.
    fn leave(&mut self, front: &mut Front) {
        let Front { begin, defect, unusable, .. } = std::mem::take(front);
        if let (Some(offset), Some(defect)) = (begin, defect.or(unusable.into_iter().next())) {
            self.notes.push_back(Note::PassedOver { offset, path: Vec::new(), defect });
        }
    }

    /// Reads an extended header or a long name in front of a member.
    fn extension<S: Source>(
        &mut self,
        source: &mut S,
        flag: u8,
        size: u64,
        offset: u64,
        front: &mut Front,
    ) -> Result<(), ReadError> {
        let (what, limit) = match flag {
            b'K' => ("long link", NAME_BYTES_MAX),
            b'L' => ("long name", NAME_BYTES_MAX),
            _ => ("extended header", RECORDS_BYTES_MAX),
        };
        if size > limit {
            front.defect.get_or_insert(Defect::TooLong { what, bytes: size });
            return Ok(());
        }
        let bytes = read_whole(source, size, offset)?;
        let wrong = match flag {
            b'g' => self.global.take(&bytes),
            b'K' => {
                front.long_link = Some(until_nul(&bytes).to_vec());
                Vec::new()
            }
            b'L' => {
                front.long_name = Some(until_nul(&bytes).to_vec());
                Vec::new()
            }
            _ => front.said.get_or_insert_with(|| self.global.clone()).take(&bytes),
        };
        for wrong in wrong {
            match (wrong, self.rules.grammar) {
                (Wrong::Sparse(key), _) | (Wrong::Value(key), Grammar::Strict) => {
                    front.defect.get_or_insert(Defect::Record(key));
                }
                (Wrong::Malformed, Grammar::Strict) => {
                    front.defect.get_or_insert(Defect::Records);
                }
                (Wrong::Value(key), Grammar::Lenient) => front.unusable.push(Defect::Record(key)),
                (Wrong::Malformed, Grammar::Lenient) => front.unusable.push(Defect::Records),
            }
        }
        Ok(())
    }

    /// Puts a member together. Where it cannot be, the next step begins behind it.
    fn finish<S: Source>(
        &mut self,
        source: &mut S,
        header: &HeaderBlock<'_>,
        size: Option<u64>,
        front: Front,
    ) -> Result<Option<Member>, ReadError> {
        let offset = self.next_header;
        self.is_extended = front.said.is_some();
        let said = front.said.as_ref().unwrap_or(&self.global);
        let path = said.path.clone().unwrap_or_else(|| header.path(header.dialect()));
        // Without a size, nothing that follows can be found but by looking for it: as behind a wrong checksum.
        let Some(claimed) = said.size.or(size).filter(|&size| size < MEMBER_BYTES_MAX) else {
            self.next_header += BLOCK_BYTES as u64;
            self.notes.push_back(Note::PassedOver { offset, path, defect: Defect::Number("size") });
            return Ok(None);
        };
        // Whatever becomes of it, the next header stands behind its data.
        self.next_header = offset + BLOCK_BYTES as u64 + padded(claimed);
        let made = match front.defect.clone() {
            Some(defect) => Err(Failed::Member(defect)),
            None => self.put_together(source, header, claimed, offset, &front),
        };
        match made {
            Ok(member) => {
                for defect in front.unusable {
                    self.notes.push_back(Note::Unusable {
                        path: member.path.clone(),
                        defect,
                        unless_known: Vec::new(),
                    });
                }
                Ok(Some(member))
            }
            Err(Failed::Archive(error)) => Err(error),
            Err(Failed::Member(defect)) => {
                self.notes.push_back(Note::PassedOver { offset, path, defect });
                Ok(None)
            }
        }
    }

    fn put_together<S: Source>(
        &mut self,
        source: &mut S,
        header: &HeaderBlock<'_>,
        claimed: u64,
        offset: u64,
        front: &Front,
    ) -> Result<Member, Failed> {
        let dialect = header.dialect();
        let said = front.said.as_ref().unwrap_or(&self.global).clone();
        let (member, unusable) = plain_member(header, dialect)?;
        let mut member = Member { header_offset: offset, ..member };
        self.judge(header, front, &said, &member)?;
        for (long, target) in [(&front.long_name, &mut member.path), (&front.long_link, &mut member.link)] {
            if let Some(long) = long {
                target.clone_from(long);
            }
        }
        said.apply(&mut member);
        self.without(unusable, &said, &member)?;
        member.kind = self.kind(header, &member);
        match header.type_flag() {
            b'N' => return Err(Defect::Renames.into()),
            b'M' => return Err(Defect::Continuation.into()),
            _ => {}
        }
        self.data_of(source, header, claimed, said.sparse.form(), &mut member)?;
        if let Some(name) = said.sparse.name {
            member.path = name;
        }
        member.data_offset = source.position();
        Ok(member)
    }

    /// Notes which fields of its header a member comes without: those that nothing else is said instead of.
    fn without(&mut self, mut unusable: Vec<&'static str>, said: &Said, member: &Member) -> Result<(), Failed> {
        unusable.retain(|field| !said.replaces(field));
        if let (Grammar::Strict, Some(field)) = (self.rules.grammar, unusable.first()) {
            return Err(Defect::Number(field).into());
        }
        for (field, number) in [(OWNER, member.uid), (GROUP, member.gid)] {
            if number > u32::MAX.into() {
                unusable.push(field);
            }
        }
        for field in unusable {
            // COMPAT: GNU tar takes no number where it takes a name; what records say it takes in any case.
            let unless_known = match field {
                _ if said.replaces(field) => Vec::new(),
                OWNER => member.owner.clone(),
                GROUP => member.group.clone(),
                _ => Vec::new(),
            };
            self.notes.push_back(Note::Unusable {
                path: member.path.clone(),
                defect: Defect::Number(field),
                unless_known,
            });
        }
        Ok(())
    }

    /// Data, size and holes of a member.
    fn data_of<S: Source>(
        &mut self,
        source: &mut S,
        header: &HeaderBlock<'_>,
        claimed: u64,
        form: Result<Form, &'static str>,
        member: &mut Member,
    ) -> Result<(), Failed> {
        let has_data = matches!(member.kind, Kind::Regular | Kind::VolumeLabel) || header.type_flag() == b'D';
        if !has_data {
            // POSIX: the size of a directory is a hint, that of a link the size of what it leads to; no data follow.
            self.next_header = member.header_offset + BLOCK_BYTES as u64;
            if claimed > 0 {
                self.disagreement(member, "data behind a member of a kind that has none")?;
            }
            return Ok(());
        }
        (member.stored_bytes, member.size) = (claimed, claimed);
        if header.type_flag() == b'D' {
            return self.listing(source, claimed, member);
        }
        if header.type_flag() == b'S' {
            let (extents, size) = self.old_gnu_map(source, header)?;
            return sparse::mapped(member, extents, size);
        }
        match form.map_err(Defect::Sparse)? {
            Form::Dense => Ok(()),
            _ if member.kind != Kind::Regular => Err(Defect::Sparse("records of a sparse file before none").into()),
            Form::Mapped { extents, size } => sparse::mapped(member, extents, size),
            Form::MapInData { size } => {
                let (extents, taken) = sparse::read_map(source, claimed)?;
                member.stored_bytes = claimed.checked_sub(taken).ok_or(Defect::Sparse("its map is cut off"))?;
                sparse::mapped(member, extents, size)
            }
        }
    }

    /// What was in a directory, as old incremental archives have it: nobody reads it as data.
    fn listing<S: Source>(&mut self, source: &mut S, claimed: u64, member: &mut Member) -> Result<(), Failed> {
        if claimed > RECORDS_BYTES_MAX {
            return Err(Defect::TooLong { what: "list of a directory", bytes: claimed }.into());
        }
        let value = read_whole(source, claimed, source.position())?;
        member.attributes.push(crate::member::Attribute { name: AttributeName::Listing, value });
        member.stored_bytes = 0;
        Ok(())
    }

    /// The map of an old GNU sparse file, over as many blocks as it takes; they stand between header and data.
    fn old_gnu_map<S: Source>(
        &mut self,
        source: &mut S,
        header: &HeaderBlock<'_>,
    ) -> Result<(Vec<crate::member::Extent>, u64), Failed> {
        let number = || Failed::Member(Defect::Number("map of holes"));
        let (mut extents, mut goes_on, size) = header.old_gnu_sparse().ok_or_else(number)?;
        while goes_on {
            // LIMIT: as for the other forms; each block has 21 stretches.
            if extents.len() > 1 << 20 {
                return Err(Defect::Sparse("its map is too long").into());
            }
            let offset = source.position();
            let block = self.block(source, offset)?.ok_or(ReadError::Truncated { offset })?;
            self.next_header += BLOCK_BYTES as u64;
            let (more, again) = HeaderBlock(&block).more_old_gnu_sparse().ok_or_else(number)?;
            extents.extend(more);
            goes_on = again;
        }
        Ok((extents, size))
    }

    fn kind(&mut self, header: &HeaderBlock<'_>, member: &Member) -> Kind {
        let is_directory_by_name = member.path.ends_with(b"/");
        match header.type_flag() {
            // COMPAT: old BSD tars had no type for directories.
            b'0' | 0 if is_directory_by_name => Kind::Directory,
            b'0' | 0 | b'7' | b'S' => Kind::Regular,
            b'1' => Kind::HardLink,
            b'2' => Kind::Symlink,
            b'3' => Kind::CharacterDevice,
            b'4' => Kind::BlockDevice,
            b'5' | b'D' => Kind::Directory,
            b'6' => Kind::Fifo,
            b'V' => Kind::VolumeLabel,
            b'M' => Kind::Continuation,
            type_flag => {
                if type_flag != b'N' {
                    self.notes.push_back(Note::UnknownType { path: member.path.clone(), type_flag });
                }
                Kind::Regular
            }
        }
    }

    /// What common readers are known to see differently.
    fn judge(&mut self, header: &HeaderBlock<'_>, front: &Front, said: &Said, member: &Member) -> Result<(), Failed> {
        let has_both = |long: &Option<Vec<u8>>, said: &Option<Vec<u8>>| matches!((long, said), (Some(long), Some(said)) if long != said);
        let size = header.size().and_then(|size| u64::try_from(size).ok());
        // Data where none can be are told elsewhere, and an old sparse file's field is not its size.
        let is_another_matter = match header.type_flag() {
            b'1'..=b'6' => said.size.is_some_and(|said| said > 0),
            flag => flag == b'S',
        };
        let is_two_sizes = matches!((said.size, size), (Some(said), Some(size)) if are_two_sizes(said, size));
        if has_both(&front.long_name, &said.path) || has_both(&front.long_link, &said.link) {
            self.disagreement(member, "a long name of GNU's and another one in its records")?;
        } else if is_two_sizes && !is_another_matter {
            self.disagreement(member, "two sizes, one in its header and another in its records")?;
        } else if self.rules.grammar == Grammar::Strict && !header.is_strict() && header.dialect() != Dialect::V7 {
            return Err(Defect::Ambiguous("the version of its dialect is none").into());
        }
        Ok(())
    }

    fn disagreement(&mut self, member: &Member, about: &'static str) -> Result<(), Failed> {
        match self.rules.grammar {
            Grammar::Strict => Err(Defect::Ambiguous(about).into()),
            Grammar::Lenient => {
                self.notes.push_back(Note::ReadersDisagree { path: member.path.clone(), about });
                Ok(())
            }
        }
    }
}

/// What the header of a volume's beginning says: its type, a name, a size and where that goes on. None where it is no header.
pub(crate) fn volume_header(block: &[u8; BLOCK_BYTES]) -> Option<(u8, Vec<u8>, u64, u64)> {
    let header = HeaderBlock(block);
    if header.check() != Checked::Sound {
        return None;
    }
    let size = header.size().and_then(|size| u64::try_from(size).ok())?;
    let offset = numbers::field(&block[369..381]).and_then(|offset| u64::try_from(offset).ok()).unwrap_or(0);
    Some((header.type_flag(), until_nul(&block[..100]).to_vec(), size, offset))
}

/// What the records of a volume say that it goes on with.
pub(crate) fn volume_records(bytes: &[u8]) -> Option<crate::volumes::Rest> {
    let (mut name, mut left, mut offset) = (None, None, None);
    for (key, value) in pax::Records::new(bytes).flatten() {
        let number = || numbers::decimal(value);
        match key {
            b"GNU.volume.filename" => name = Some(value.to_vec()),
            b"GNU.volume.size" => left = number(),
            b"GNU.volume.offset" => offset = number(),
            _ => {}
        }
    }
    Some(crate::volumes::Rest { name: name?, left: left?, offset: offset? })
}

/// The label that a global header has, as the member that it is in older formats.
fn label_member(label: Vec<u8>, header: &HeaderBlock<'_>, offset: u64) -> Member {
    let seconds = plain_member(header, header.dialect()).map_or(0, |(member, _)| member.mtime.seconds);
    let mtime = crate::member::Time { seconds, nanoseconds: 0 };
    Member {
        path: label,
        kind: Kind::VolumeLabel,
        mtime,
        header_offset: offset,
        data_offset: offset,
        ..Member::default()
    }
}

/// Reads `size` bytes that the caller has compared with a limit.
fn read_whole<S: Source>(source: &mut S, size: u64, offset: u64) -> Result<Vec<u8>, ReadError> {
    // What a header claims is allocated piece by piece, as it turns out to be there.
    const STEP_BYTES: usize = 64 << 10;
    let mut bytes = Vec::new();
    let mut left = usize::try_from(size).unwrap_or(usize::MAX);
    while left > 0 {
        let from = bytes.len();
        bytes.resize(from + left.min(STEP_BYTES), 0);
        let read = source.read(&mut bytes[from..]).map_err(|cause| ReadError::Read { offset, cause })?;
        if read < bytes.len() - from {
            return Err(ReadError::Truncated { offset });
        }
        left -= read;
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
