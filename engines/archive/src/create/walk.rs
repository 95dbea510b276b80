//! Goes through the files that are to be archived, in one order whatever the number of hands, and makes members of what was
//! seen at their names (`look`, which hands without other work do ahead). What depends on what was archived before is here.

use super::ahead::{Ahead, Batch, Listing, Place};
use super::choice::{AskedTime, Choice, HardLinks, Links, NewTime, Operand, OperandDepth, Renamed};
use super::look::{At, Failed, Inside, Look, Looked, Opened, Seen, Thing, When};
use super::scope::Scope;
use super::tags::Keeps;
use super::{Confirm, Event, Source as FileData, Told};
use crate::member::{Attribute, AttributeName, Device, Kind, Member, Time};
use crate::operation::Operation;
use crew::pipeline::CutTurn;
use files::{Directory, Identity, Moment, Status};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// A directory that is being gone through.
struct Level {
    /// None while it is closed.
    directory: Option<Arc<OwnedFd>>,
    /// Bytes of [`Walk::path`] that are its name, with a slash.
    path_bytes: usize,
    /// None when all of them were had: one level more for each of a hundred thousand should take little.
    listing: Option<Arc<Listing>>,
    /// What was looked at in the directory above behind this one: a link that is followed, a file that became a directory.
    above: Option<Box<Batch>>,
    /// Device and number.
    identity: Identity,
    /// When it had been changed before its names were read.
    ctime: Moment,
    /// What is left out in it.
    scope: Scope,
}

/// Of files with several names: how many names each has, how many of them were archived, and the first.
#[derive(Default)]
struct NamesCounted {
    files: Vec<(u64, u64, Vec<u8>)>,
    numbers: HashMap<Identity, usize>,
}

/// A member, and its data.
pub struct Found {
    /// Which of the operands it is, or is beneath.
    pub operand: usize,
    /// Its name on the disk.
    pub path: Vec<u8>,
    /// It.
    pub member: Member,
    /// Its data, where it has any.
    pub data: Option<Arc<FileData>>,
}

/// A member and its data, where it has any.
type Taken = (Member, Option<Arc<FileData>>);

/// Goes through all operands.
pub struct Walk<'a> {
    choice: &'a Choice,
    look: Look<'a>,
    operands: std::iter::Enumerate<std::vec::IntoIter<Operand>>,
    /// The one that was taken last, where its name counts from, and what is to be said of what is in it.
    operand: (usize, Option<Arc<OwnedFd>>),
    listing: Option<Vec<u8>>,
    levels: Vec<Level>,
    /// The name of the deepest level, with a slash.
    path: Vec<u8>,
    /// Which name of each directory is the way to the deepest level.
    order: Vec<usize>,
    /// What was looked at and comes next, in the deepest level.
    batch: Batch,
    first_names: HashMap<Identity, Vec<u8>>,
    /// Names of files with several, where somebody asks for those that are missing.
    names: NamesCounted,
    /// The file whose name was noted with the last member.
    noted: Option<Identity>,
    owners: HashMap<u32, Vec<u8>>,
    groups: HashMap<u32, Vec<u8>>,
    removed_was_told: bool,
}

impl<'a> Walk<'a> {
    /// From the first operand on.
    pub fn new(choice: &'a Choice, ahead: &'a Ahead, operands: Vec<Operand>) -> Self {
        Self {
            choice,
            look: Look { choice, ahead },
            operands: operands.into_iter().enumerate(),
            operand: (0, None),
            listing: None,
            levels: Vec::new(),
            path: Vec::new(),
            order: Vec::new(),
            batch: Batch::empty(),
            first_names: HashMap::new(),
            names: NamesCounted::default(),
            noted: None,
            owners: HashMap::new(),
            groups: HashMap::new(),
            removed_was_told: false,
        }
    }

    /// The next member that `confirm` agrees to. What cannot be archived goes to `tell`.
    pub fn next(&mut self, tell: &mut Told, turn: &mut CutTurn<'_>, confirm: Confirm<'_>) -> Option<Found> {
        self.noted = None;
        // Of an archive that is updated nobody is asked about files that it has already.
        let asks_later = !self.choice.newer_than.is_empty();
        loop {
            let (looked, index) = if let Some(looked) = self.batch.next() {
                let index = looked.index;
                if !asks_later && !confirm(&looked.path, tell) {
                    continue;
                }
                (self.as_it_is_now(looked), index)
            } else if let Some(level) = self.levels.last_mut() {
                let mut take = || level.take(&self.path, &self.order, &self.look);
                let is_for_others = self.choice.links == Links::Kept && self.order.len() < self.look.ahead.depth_max();
                match if is_for_others { turn.prepare(take) } else { take() } {
                    Some(batch) => self.batch = batch,
                    None => self.leave(tell),
                }
                continue;
            } else {
                let (number, Operand { directory, name, depth, scope, listing }) = self.operands.next()?;
                self.listing = listing;
                self.operand = (number, Some(Arc::clone(&directory)));
                let directory = Directory::of(&directory);
                let place = Place { directory, path: b"", device: None, scope: &scope, order: &[] };
                let path = place.path_of(&name);
                if !asks_later && !scope.leaves_out(&path) && !confirm(&path, tell) {
                    continue;
                }
                (self.look.at(&At { place: &place, name: &name, index: 0, is_file: false, depth }, When::Now), 0)
            };
            let Some(Looked { path, seen, .. }) = looked else { continue };
            let mut confirm_later = |tell: &mut Told| !asks_later || confirm(&path, tell);
            match seen.and_then(|seen| self.take(&path, index, seen, (tell, &mut confirm_later))) {
                Ok(Some((member, data))) => return Some(Found { operand: self.operand.0, path, member, data }),
                Ok(None) => {}
                // The directory had it; who names what is not there has made a mistake.
                Err((_, cause)) if !self.levels.is_empty() && cause.kind() == io::ErrorKind::NotFound => {
                    tell.push(Event::Vanished { path });
                }
                Err((operation, cause)) => tell.push(Event::NotArchived { path, operation, cause }),
            }
        }
    }

    /// What was seen of it, or what is seen now where that was too much or is too long ago.
    fn as_it_is_now(&self, looked: Looked) -> Option<Looked> {
        // What failed may have failed for want of something that the whole machine is short of: it is tried again.
        let is_known = !matches!(looked.seen, Ok(Seen::Later) | Err(_)) && self.batch.is_fresh();
        let Some(Level { directory: Some(directory), identity, scope, .. }) = self.levels.last().filter(|_| !is_known)
        else {
            return Some(looked);
        };
        let place = Place {
            directory: Directory::of(directory),
            path: &self.path,
            device: Some(identity.device),
            scope,
            order: &self.order,
        };
        let (name, index, is_file) = (&looked.path[self.path.len()..], looked.index, looked.is_file);
        self.look.at(&At { place: &place, name, index, is_file, depth: OperandDepth::Whole }, When::Now)
    }

    /// Goes back to the directory above, which is opened again where it was closed meanwhile.
    fn leave(&mut self, tell: &mut Told) {
        let Some(left) = self.levels.pop() else { return };
        self.order.pop();
        let now = left.directory.as_ref().and_then(|directory| Status::of(directory).ok());
        if now.is_some_and(|now| now.status_changed_at() != left.ctime) {
            let slashes = usize::from(self.path.len() > 1);
            tell.push(Event::Changed { path: self.path[..self.path.len() - slashes].to_vec() });
        }
        let path_bytes = self.levels.last().map_or(0, |level| level.path_bytes);
        self.path.truncate(path_bytes);
        if let Some(above) = left.above {
            self.batch = *above;
        }
        let Some(above) = self.levels.last_mut().filter(|above| above.directory.is_none()) else { return };
        let again = left.directory.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)).and_then(|directory| {
            let again = Directory::of(&directory).open_same(c"..", above.identity)?;
            again.ok_or_else(|| io::Error::other("what was in it has been moved meanwhile"))
        });
        match again {
            Ok(again) => above.directory = Some(Arc::new(again)),
            Err(cause) if above.listing.is_some() || !self.batch.is_over() => {
                let path = self.path.clone();
                tell.push(Event::NotArchived { path, operation: Operation::GoBackInto, cause });
            }
            // Nothing was left in it.
            Err(_) => {}
        }
    }

    /// Makes a member of what was seen at the name `index` of the deepest level.
    fn take(
        &mut self,
        path: &[u8],
        index: usize,
        seen: Seen,
        (tell, confirm): (&mut Told, &mut dyn FnMut(&mut Told) -> bool),
    ) -> Result<Option<Taken>, Failed> {
        let thing = match seen {
            Seen::Thing(thing) => *thing,
            Seen::TheArchive => {
                tell.push(Event::IsTheArchive { path: path.to_vec() });
                return Ok(None);
            }
            Seen::Socket => {
                tell.push(Event::Socket { path: path.to_vec() });
                return Ok(None);
            }
            // Not even now: nothing asks for it.
            Seen::Later => return Ok(None),
        };
        let Thing { status, kind, inside, attributes } = thing;
        let mut member = self.member(&status, kind, path, attributes, tell);
        let inside = match inside {
            Ok(Inside::Link(target)) => {
                member.link = target;
                Ok(Inside::Nothing)
            }
            Err(failed) if kind == Kind::Symlink => return Err(failed),
            other => other,
        };
        if let Some(value) = self.listing.take().filter(|_| kind == Kind::Directory) {
            member.attributes.push(Attribute { name: AttributeName::Listing, value });
        }
        let is_no_newer = self.is_no_newer(&member);
        if kind != Kind::Directory && is_no_newer || !is_no_newer && !confirm(tell) {
            return Ok(None);
        }
        self.count_name(&status, path);
        if let Some(first) = self.first_name(&status) {
            member.kind = Kind::HardLink;
            member.link.clone_from(first);
            // The first name has them.
            member.attributes.clear();
            return Ok(Some((member, None)));
        }
        let data = match inside? {
            Inside::Nothing | Inside::Link(_) => None,
            Inside::File { file, counted, extents } => {
                let stored = extents.as_ref().map(|extents| extents.iter().map(|extent| extent.bytes).sum());
                (member.size, member.stored_bytes) = (status.bytes(), stored.unwrap_or(status.bytes()));
                member.sparse.clone_from(&extents);
                let source = || Arc::new(FileData::new(file, extents, path.to_vec(), &status, counted));
                (member.stored_bytes > 0).then(source)
            }
            Inside::Directory(opened) => {
                let keeps = opened.map_or(Ok(Keeps::All), |opened| self.enter(path, index, opened, tell))?;
                if is_no_newer || keeps == Keeps::Nothing {
                    return Ok(None);
                }
                None
            }
        };
        // Behind all that may fail: a name that is not archived is nothing to link to.
        self.note_name(&status, path);
        Ok(Some((member, data)))
    }

    /// Whether the archive has it as new already. Archives without parts of seconds say nothing about those.
    ///
    /// COMPAT: a directory is there or is not, whenever it was changed: each file that is added to it changes it.
    fn is_no_newer(&self, member: &Member) -> bool {
        let end = member.path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        self.choice.newer_than.get(&member.path[..end]).is_some_and(|there| {
            let is_no_later = match there.mtime.nanoseconds {
                0 => member.mtime.seconds <= there.mtime.seconds,
                _ => member.mtime <= there.mtime,
            };
            is_no_later || there.is_directory && member.kind == Kind::Directory
        })
    }

    /// What it is, without data.
    fn member(
        &mut self,
        status: &Status,
        kind: Kind,
        path: &[u8],
        attributes: Vec<Attribute>,
        tell: &mut Told,
    ) -> Member {
        let instead = &self.choice.instead;
        let mut member = Member {
            path: self.stored_name(path, kind, tell),
            kind,
            mode: match &instead.mode {
                Some(rule) => rule.apply(status.mode() & 0o7777, kind),
                None => status.mode() & 0o7777,
            },
            uid: status.user().into(),
            gid: status.group().into(),
            mtime: self.mtime(status, path, tell),
            atime: Some(status.read_at()),
            ctime: Some(status.status_changed_at()),
            attributes,
            ..Member::default()
        };
        if matches!(kind, Kind::CharacterDevice | Kind::BlockDevice) {
            let (major, minor) = status.device_numbers();
            member.device = Device { major, minor };
        }
        if !self.choice.numeric {
            let known = |names: &mut HashMap<u32, Vec<u8>>, number, ask: fn(u32) -> Option<Vec<u8>>| {
                names.entry(number).or_insert_with(|| ask(number).unwrap_or_default()).clone()
            };
            member.owner = known(&mut self.owners, status.user(), sys::names::user_name);
            member.group = known(&mut self.groups, status.group(), sys::names::group_name);
        }
        let owner = instead.owners.get(&status.user()).or(instead.owner.as_ref());
        let group = instead.groups.get(&status.group()).or(instead.group.as_ref());
        for (instead, number, name) in
            [(owner, &mut member.uid, &mut member.owner), (group, &mut member.gid, &mut member.group)]
        {
            if let Some((given, called)) = instead {
                *number = given.unwrap_or(*number);
                *name = if self.choice.numeric { Vec::new() } else { called.clone() };
            }
        }
        member
    }

    /// When it was changed, or what is to be said of that.
    fn mtime(&self, status: &Status, path: &[u8], tell: &mut Told) -> Time {
        let found = status.changed_at();
        match &self.choice.instead.mtime {
            None => found,
            Some(NewTime::Always(time)) => *time,
            Some(NewTime::AtMost(time)) => found.min(*time),
            Some(NewTime::Asked(AskedTime(ask))) => {
                let asked = self.operand.1.as_ref().map_or(Ok(found), |directory| ask(directory.as_fd(), path));
                asked.unwrap_or_else(|why| {
                    tell.push(Event::NoTime { path: path.to_vec(), why });
                    found
                })
            }
        }
    }

    /// The name in the archive: nothing in front that leads out of where it will be extracted.
    fn stored_name(&mut self, path: &[u8], kind: Kind, tell: &mut Told) -> Vec<u8> {
        let removed = self.removed_bytes(path);
        if removed > 0 && !self.removed_was_told {
            self.removed_was_told = true;
            tell.push(Event::MadeRelative { removed: path[..removed].to_vec() });
        }
        let mut name = self.renamed(path, Renamed::Member);
        if kind == Kind::Directory && !name.ends_with(b"/") {
            name.push(b'/');
        }
        name
    }

    fn removed_bytes(&self, path: &[u8]) -> usize {
        if self.choice.keeps_absolute { 0 } else { removed_bytes(path) }
    }

    /// What `--transform` makes of a name. COMPAT: of what is left of it without its front, and what comes of that stays as it is.
    fn renamed(&self, path: &[u8], what: Renamed) -> Vec<u8> {
        let name = match &path[self.removed_bytes(path)..] {
            b"" => b".",
            name => name,
        };
        self.choice.rename.as_ref().map_or_else(|| name.to_vec(), |rename| rename(name, what))
    }

    /// The name that the file was archived under before, as links to it have it.
    fn first_name(&self, status: &Status) -> Option<&Vec<u8>> {
        self.first_names.get(&status.identity()).filter(|_| self.may_be_linked_to(status))
    }

    fn may_be_linked_to(&self, status: &Status) -> bool {
        self.choice.hard_links != HardLinks::Doubled && status.links() >= 2 && !status.is_directory()
    }

    /// Others of the file's names will be links to this one. LIMIT: one name for each file with several; an archive of nothing else needs
    /// this much memory.
    fn note_name(&mut self, status: &Status, path: &[u8]) {
        if self.may_be_linked_to(status) {
            self.noted = Some(status.identity());
            self.first_names.insert(status.identity(), self.renamed(path, Renamed::HardLink));
        }
    }

    /// Counts the names of a file that has several, where somebody asks for it.
    fn count_name(&mut self, status: &Status, path: &[u8]) {
        if self.choice.hard_links != HardLinks::Counted || status.links() < 2 || status.is_directory() {
            return;
        }
        let NamesCounted { files, numbers } = &mut self.names;
        let number = *numbers.entry(status.identity()).or_insert(files.len());
        if number == files.len() {
            files.push((status.links(), 0, path.to_vec()));
        }
        files[number].1 += 1;
    }

    /// Tells of files of which not all names are archived.
    pub fn missing_links(&mut self, tell: &mut Told) {
        let missing = std::mem::take(&mut self.names).files.into_iter().filter(|(names, archived, _)| archived < names);
        tell.extend(missing.map(|(_, _, path)| Event::MissingLinks { path }));
    }

    /// The member that came last was not archived after all.
    pub fn forget_last(&mut self) {
        if let Some(file) = self.noted.take() {
            self.first_names.remove(&file);
        }
    }

    /// Goes on in a directory. What is archived of it.
    fn enter(&mut self, path: &[u8], index: usize, opened: Opened, tell: &mut Told) -> Result<Keeps, Failed> {
        let Opened { directory, identity, ctime, scope, tag, listing, .. } = opened;
        let is_loop =
            self.choice.links == Links::Followed && self.levels.iter().any(|level| level.identity == identity);
        if is_loop {
            return Err((Operation::GoInto, io::Error::other("it is a directory that it lies in")));
        }
        if let Some(tag) = tag.map(|tag| &self.choice.tags[tag]) {
            tell.push(Event::Tagged { path: path.to_vec(), tag: tag.name.clone(), keeps: tag.keeps });
            if tag.keeps == Keeps::Nothing {
                return Ok(Keeps::Nothing);
            }
        }
        if !self.levels.is_empty() {
            self.order.push(index);
        }
        self.path.clear();
        self.path.extend_from_slice(path);
        if !path.ends_with(b"/") {
            self.path.push(b'/');
        }
        let path_bytes = self.path.len();
        let above = std::mem::replace(&mut self.batch, Batch::empty());
        let above = (!above.is_over()).then(|| Box::new(above));
        self.levels.push(Level { directory: Some(directory), path_bytes, listing, above, identity, ctime, scope });
        // Where links are followed, what is above a directory is not where we came from.
        if self.choice.links == Links::Kept
            && let Some(far) = self.levels.len().checked_sub(self.look.ahead.levels_open_max() + 1)
            && far > 0
        {
            self.levels[far].directory = None;
        }
        Ok(Keeps::All)
    }
}

impl Level {
    /// The next names, looked at.
    fn take(&mut self, path: &[u8], order: &[usize], look: &Look<'_>) -> Option<Batch> {
        let (Some(directory), Some(listing)) = (&self.directory, &self.listing) else { return None };
        let device = Some(self.identity.device);
        let place = Place { directory: Directory::of(directory), path, device, scope: &self.scope, order };
        let batch = listing.take(&place, look);
        if listing.is_over() {
            self.listing = None;
        }
        batch
    }
}

/// Bytes at the front of a name that lead out: slashes, and everything up to the last `..`.
fn removed_bytes(name: &[u8]) -> usize {
    let mut behind = 0;
    let mut at = 0;
    for part in name.split(|&byte| byte == b'/') {
        at += part.len() + 1;
        if part == b".." {
            behind = at.min(name.len());
        }
    }
    behind + name[behind..].iter().take_while(|&&byte| byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_taken_off_the_front() {
        for (name, expected) in
            [("a/b", 0), ("/a", 1), ("//a", 2), ("../a", 3), ("a/../../b", 8), ("..", 2), ("a/..b", 0)]
        {
            assert_eq!(removed_bytes(name.as_bytes()), expected, "{name}");
        }
    }
}
