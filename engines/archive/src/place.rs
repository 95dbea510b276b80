//! Where members go: a root that nothing leads out of, its directories by descriptor, files with all their metadata.
//! Knows no archive format and no threads: each worker has a [`Placer`] of its own. Race-safe by construction: every name is
//! used relative to the descriptor of its directory, and no last link is ever followed.

mod directories;
pub mod in_progress;
pub mod listing;
mod metadata;
mod plain;

pub use directories::{DirectoriesChanged, TargetDirectories, TargetDirectory};
pub use files::{Reach, Root};
pub use metadata::{Choice, Restore, restore_directory, restore_open, restore_unopened};

use crate::member::{Kind, Member};
use crate::operation::Operation;
use crate::select::may_lead_outside;
use files::{Directory, FileType, Follow, LinksOnTheWay, Status, how};
use in_progress::{Noted, Unfinished};
use rustix::fs::makedev;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// What happens where something is already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It goes, and the member comes; directories stay, and get the member's metadata.
    #[default]
    Replace,
    /// As above, but directories keep their metadata.
    ReplaceButKeepDirectories,
    /// It goes before the member is looked at: `-U`.
    Unlink,
    /// It stays and is an error: `-k`.
    Refuse,
    /// It stays, silently.
    Skip,
    /// It stays where it is not older.
    KeepNewer,
    /// Files are written over in place.
    Overwrite,
}

impl Existing {
    /// Whether a directory that is there gets the metadata of a member.
    pub fn gives_directories_metadata(self) -> bool {
        matches!(self, Self::Replace | Self::Overwrite | Self::Unlink)
    }
}

/// Gives what has a name in a directory another one, and returns that.
pub type BackUpCall = dyn Fn(Directory<'_>, &[u8]) -> io::Result<Vec<u8>> + Send + Sync;

/// How what is there is kept.
#[derive(Clone)]
pub struct BackUp(pub Arc<BackUpCall>);

impl std::fmt::Debug for BackUp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("BackUp")
    }
}

/// How members are placed: the same for all workers.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Where something is already.
    pub existing: Existing,
    /// What is restored besides the data.
    pub restore: Restore,
    /// Bits taken off the modes of everything.
    pub umask: u32,
    /// The same for directories that no member stands for.
    pub umask_of_others: u32,
    /// Whether a link to a directory may stand for the directory: `--keep-directory-symlink`, `-h`.
    pub directory_links: DirectoryLinks,
    /// Keeps what is not a directory and would go, under another name.
    pub backup: Option<BackUp>,
    /// Whether directories that are where something else is to be go with all that is in them.
    pub unlinks_trees: bool,
    /// Whether what incremental archives say of directories is followed: renames, and the removal of what went.
    pub follows_listings: bool,
    /// Directories that one worker keeps open. Archives go directory by directory: more than a few dozen save nothing.
    pub open_directories: usize,
}

/// Whether a link to a directory may stand for a directory of the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectoryLinks {
    /// It is replaced by a directory.
    #[default]
    Replace,
    /// It stays, and so does what it leads to.
    Keep,
    /// It stays, and the directory that it leads to gets the member's metadata: `-h`.
    KeepAndRestore,
}

/// What came of placing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is there.
    Made,
    /// What was there stays, as was asked for.
    LeftAlone,
}

/// Why a member could not be placed: the operation and its object come before the cause.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}")]
pub struct PlaceError {
    /// What was tried.
    pub operation: Operation,
    /// What the kernel said.
    #[source]
    pub cause: io::Error,
}

/// As a closure for `map_err`.
pub(crate) fn could_not(operation: Operation) -> impl Fn(io::Error) -> PlaceError {
    move |cause| PlaceError { operation, cause }
}

/// A file that is being written.
pub struct OpenFile {
    /// It, for writing.
    pub file: File,
    directory: Arc<TargetDirectory>,
    /// Its permission bits are already what they should be, and so is its owner.
    is_settled: bool,
    unfinished: Option<in_progress::Entry>,
}

/// What came before in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// Some of it may not be on the disk yet: a directory may be to replace what stands in its place, a link or a file.
    MayBeUnderWay,
    /// All of it is there.
    IsThere,
}

/// One worker's hands on the tree.
pub struct Placer<'a> {
    directories: TargetDirectories<'a>,
    earlier: Earlier,
    manner: &'a Manner,
    noted: Noted,
    may_be_plain: bool,
    /// The name under which what was there is kept.
    kept: Option<Vec<u8>>,
    /// Room for a name with its end.
    name: Vec<u8>,
}

impl<'a> Placer<'a> {
    /// Over `root`; `changed` tells all placers of directories that went.
    pub fn new(
        root: &'a Root,
        changed: &'a DirectoriesChanged,
        manner: &'a Manner,
        unfinished: &'a Unfinished,
        earlier: Earlier,
    ) -> Self {
        let links =
            if earlier == Earlier::MayBeUnderWay { LinksOnTheWay::Refuse } else { LinksOnTheWay::FollowBeneath };
        let (directories, noted) = (TargetDirectories::new(root, changed, manner, links), unfinished.of_a_worker());
        Self {
            directories,
            earlier,
            manner,
            noted,
            may_be_plain: plain::may_be_plain(manner),
            kept: None,
            name: Vec::new(),
        }
    }

    /// Whether what failed may be done when all that came before is there.
    pub fn may_have_been_too_early(&self, error: &PlaceError) -> bool {
        self.earlier == Earlier::MayBeUnderWay
            && matches!(error.operation, Operation::OpenItsDirectory | Operation::TakeItsPlace)
    }

    /// The directory that `path` stands in, made where it is missing, and the last name.
    fn parent<'p>(&mut self, path: &'p [u8]) -> Result<(Arc<TargetDirectory>, &'p [u8]), PlaceError> {
        let (parent, name) = split(path);
        Ok((self.directories.directory(parent)?, name))
    }

    /// The path that leads to where `member`'s does through no link, where links are followed on that.
    pub fn path_without_links(&mut self, member: &Member) -> Option<Vec<u8>> {
        let path = member.path.as_slice();
        let (directory, name) = self.parent(path).ok()?;
        if member.kind == Kind::Directory
            && self.manner.directory_links == DirectoryLinks::KeepAndRestore
            && directory.directory().status(name, Follow::No).is_ok_and(|there| there.is_symlink())
        {
            let behind = self.directories.existing(path).ok()?;
            return self.directories.path_of(&behind, path.starts_with(b"/"));
        }
        if path.is_empty() || !self.directories.have_followed_links() {
            return None;
        }
        let real = self.directories.path_of(&directory, path.starts_with(b"/"))?;
        let slash: &[u8] = if real.is_empty() || real == b"/" { b"" } else { b"/" };
        let real = [&real, slash, name].concat();
        (real != path).then_some(real)
    }

    /// Of what went: paths may have led through it.
    fn tell_if_it_was_on_a_way(&self, gone: &Status) {
        if gone.is_directory() || gone.is_symlink() && self.directories.have_followed_links() {
            self.directories.changed().tell();
        }
    }

    /// What came before may find, or miss, a way through what stands at a name: nobody takes that away before it is there.
    fn wait_for_what_goes_through_it(&self) -> Result<(), PlaceError> {
        match self.earlier {
            Earlier::MayBeUnderWay => Err(could_not(Operation::TakeItsPlace)(io::ErrorKind::AlreadyExists.into())),
            Earlier::IsThere => Ok(()),
        }
    }

    /// Runs `make` until the name is free for it, or the rules say that it stays.
    fn make_room<T>(
        &mut self,
        member: &Member,
        directory: &TargetDirectory,
        name: &[u8],
        operation: Operation,
        make: impl Fn() -> io::Result<T>,
    ) -> Result<Option<T>, PlaceError> {
        if self.manner.existing == Existing::Unlink
            && let Ok(there) = directory.directory().status(name, Follow::No)
        {
            if there.is_symlink() {
                self.wait_for_what_goes_through_it()?;
            }
            if directory.directory().remove(name).is_ok() {
                self.tell_if_it_was_on_a_way(&there);
            }
        }
        // LIMIT: somebody who makes names as fast as we remove them has won after a few rounds.
        for _ in 0..4 {
            let error = match make() {
                Ok(made) => return Ok(Some(made)),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(could_not(operation)(error)),
                Err(error) => error,
            };
            let there = match directory.directory().status(name, Follow::No) {
                Ok(there) => there,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(could_not(Operation::LookAtWhatIsThere)(error)),
            };
            match self.manner.existing {
                Existing::Skip => return Ok(None),
                Existing::Refuse => return Err(could_not(operation)(error)),
                Existing::KeepNewer if is_newer(&there, member) => return Ok(None),
                _ => {}
            }
            if there.is_symlink() {
                self.wait_for_what_goes_through_it()?;
            }
            self.clear(directory, name, &there).map_err(could_not(operation))?;
            self.tell_if_it_was_on_a_way(&there);
        }
        Err(could_not(operation)(there_already()))
    }

    /// The name that what was in the way of the last member has got.
    pub fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take()
    }

    /// Takes what is there away, or keeps it under another name.
    fn clear(&mut self, directory: &TargetDirectory, name: &[u8], there: &Status) -> io::Result<()> {
        match &self.manner.backup {
            Some(BackUp(back_up)) if !there.is_directory() => {
                self.kept = Some(back_up(directory.directory(), name)?);
                Ok(())
            }
            _ if there.is_directory() && self.manner.unlinks_trees => {
                listing::remove_all(directory.directory(), name, true)
            }
            _ => directory.directory().remove(name),
        }
    }

    /// Begins a regular file. None: what is there stays.
    pub fn begin_file(&mut self, member: &Member) -> Result<Option<OpenFile>, PlaceError> {
        let (directory, name) = self.parent(&member.path)?;
        let mode = member.mode & 0o777 & !self.manner.umask;
        let settled = directory.settles(&self.manner.restore, member, mode);
        // Until it has its owner, nobody else may look into it.
        let first_mode = if directory.gives_owner(&self.manner.restore, member) { mode } else { mode & 0o700 };
        let may_be_old = self.manner.existing == Existing::Overwrite;
        let how = if may_be_old { how::OVER } else { how::NEW };
        let open = || match directory.directory().open(name, how, first_mode) {
            // Not a file that can be written over: it goes.
            Err(error) if may_be_old && is_no_file(&error) => Err(io::ErrorKind::AlreadyExists.into()),
            opened => opened,
        };
        let noted = self.noted.clone();
        let opened = self.make_room(member, &directory, name, Operation::Open, || noted.begin(&directory, name, open));
        let Some((descriptor, unfinished)) = opened? else { return Ok(None) };
        // What was there before has whatever owner and mode it had.
        let is_settled = !may_be_old
            && (settled || directory.learn(&self.manner.restore, member, mode, first_mode, descriptor.as_fd()));
        Ok(Some(OpenFile { file: File::from(descriptor), directory, is_settled, unfinished: Some(unfinished) }))
    }

    /// Everything is written: owner, attributes, mode and times follow, in the order in which they do not undo each other.
    pub fn finish_file(&self, member: &Member, mut open: OpenFile) -> Result<(), PlaceError> {
        let done = restore_open(&self.manner.restore, self.manner.umask, member, open.file.as_fd(), open.is_settled);
        let closed = files::close(open.file.into()).map_err(could_not(Operation::Close));
        if closed.is_err() {
            // Some of it may be lost.
            let _nothing_more_to_be_done = open.directory.directory().remove(split(&member.path).1);
        }
        open.unfinished.take().into_iter().for_each(in_progress::Entry::leave);
        drop(open.directory);
        closed.and(done)
    }

    /// It could not be written whole: half a file does not stay under its name.
    pub fn abandon_file(&self, member: &Member, mut open: OpenFile) {
        let (_, name) = split(&member.path);
        let _nothing_more_to_be_done = open.directory.directory().remove(name);
        open.unfinished.take().into_iter().for_each(in_progress::Entry::leave);
    }

    /// Makes a directory, or finds it. Its own metadata come when everything in it is there ([`restore_directory`]).
    pub fn directory(&mut self, member: &Member) -> Result<Placed, PlaceError> {
        let takes_metadata = self.manner.existing.gives_directories_metadata();
        if member.path.is_empty() {
            return Ok(if takes_metadata { Placed::Made } else { Placed::LeftAlone });
        }
        let (directory, name) = self.parent(&member.path)?;
        // Others see it only when it is complete; we must be able to work in it.
        let mode = (member.mode & 0o777 & !self.manner.umask & 0o700) | 0o700;
        for _ in 0..4 {
            let made = match takes_metadata {
                true => directory.directory().make_directory(name, mode),
                // Whether one that comes again was there before is to be known.
                false => self.directories.changed().make(directory.directory(), name, mode),
            };
            match made {
                Ok(()) => return Ok(Placed::Made),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(could_not(Operation::Make)(error));
                }
                Err(_) => {}
            }
            let there =
                directory.directory().status(name, Follow::No).map_err(could_not(Operation::LookAtWhatIsThere))?;
            let is_kept_link = there.is_symlink() && self.keeps_link(member, &directory, name)?;
            if there.is_directory() || is_kept_link {
                let is_ours = || self.directories.changed().was_made(there.identity());
                let gets_metadata = takes_metadata && there.is_directory() || is_ours();
                return Ok(if gets_metadata { Placed::Made } else { Placed::LeftAlone });
            }
            self.wait_for_what_goes_through_it()?;
            match self.manner.existing {
                Existing::Refuse => return Err(could_not(Operation::Make)(there_already())),
                Existing::Skip => return Ok(Placed::LeftAlone),
                Existing::KeepNewer if is_newer(&there, member) => return Ok(Placed::LeftAlone),
                _ => {}
            }
            directory.directory().remove(name).map_err(could_not(Operation::Make))?;
            self.tell_if_it_was_on_a_way(&there);
        }
        Err(could_not(Operation::Make)(there_already()))
    }

    /// Whether the link that stands where a directory is to be stays. One that leads to a directory which may not be entered is an error, and stays:
    /// only what leads to no directory makes room.
    fn keeps_link(&mut self, member: &Member, directory: &TargetDirectory, name: &[u8]) -> Result<bool, PlaceError> {
        let refuses = self.manner.existing == Existing::Refuse;
        if self.manner.directory_links == DirectoryLinks::Replace && !refuses {
            return Ok(false);
        }
        self.wait_for_what_goes_through_it()?;
        match directory.directory().status(name, Follow::Yes) {
            // COMPAT: for GNU tar's `-k` a link to a directory is one that is there.
            Ok(behind) if behind.is_directory() && refuses => Ok(true),
            Ok(behind) if behind.is_directory() => self.directories.existing(&member.path).map(|_| true),
            Ok(_) => Ok(false),
            Err(error) if is_no_directory(&error) => Ok(false),
            Err(error) => Err(could_not(Operation::OpenItsDirectory)(error)),
        }
    }

    /// Makes a symbolic link, a device or a named pipe.
    pub fn unopened(&mut self, member: &Member) -> Result<Placed, PlaceError> {
        let (directory, name) = self.parent(&member.path)?;
        let made = if member.kind == Kind::Symlink {
            self.make_room(member, &directory, name, Operation::MakeLink, || {
                directory.directory().symlink(&member.link, name)
            })?
        } else {
            let mode = member.mode & 0o777 & !self.manner.umask;
            let kind = match member.kind {
                Kind::CharacterDevice => FileType::CharacterDevice,
                Kind::BlockDevice => FileType::BlockDevice,
                _ => FileType::Fifo,
            };
            let device = makedev(member.device.major, member.device.minor);
            self.make_room(member, &directory, name, Operation::MakeNode, || {
                directory.directory().make_node(name, kind, mode, device)
            })?
        };
        if made.is_none() {
            return Ok(Placed::LeftAlone);
        }
        restore_unopened(&self.manner.restore, self.manner.umask, member, &directory, name)?;
        Ok(Placed::Made)
    }

    /// Gives an earlier member a second name.
    pub fn hard_link(&mut self, member: &Member) -> Result<Placed, PlaceError> {
        let (to, name) = self.parent(&member.path)?;
        let (from, old) = split(&member.link);
        let from = self.directories.existing(from).map_err(|error| match error.cause.kind() {
            // What it lies in is not there either.
            io::ErrorKind::NotFound => could_not(Operation::Link)(error.cause),
            _ => error,
        })?;
        let there = match from.directory().status(old, Follow::No) {
            // As where its directory is missing, too: before anything makes room for it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(could_not(Operation::Link)(error)),
            there => there,
        };
        // COMPAT: a link to itself, as GNU tar has it, changes nothing.
        if let (Ok(one), Ok(other)) = (&there, to.directory().status(name, Follow::No))
            && one.identity() == other.identity()
        {
            let stays = self.manner.existing == Existing::KeepNewer && is_newer(&other, member);
            return Ok(if stays { Placed::LeftAlone } else { Placed::Made });
        }
        // A second name of a symbolic link leads elsewhere where it stands deeper or less deep.
        if self.directories.reach() == Reach::BeneathWithoutLinks && there.is_ok_and(|there| there.is_symlink()) {
            let link = from.directory().read_link(old).map_err(could_not(Operation::Link))?;
            if may_lead_outside(&member.path, &link) {
                return Err(could_not(Operation::Link)(io::Error::other(MAY_LEAD_OUTSIDE)));
            }
        }
        let made = self.make_room(member, &to, name, Operation::Link, || {
            from.directory().link(old, to.directory(), name, Follow::No)
        })?;
        Ok(if made.is_some() { Placed::Made } else { Placed::LeftAlone })
    }
}

/// Why a link is refused where none may lead out of the root.
pub const MAY_LEAD_OUTSIDE: &str = "it is a link that may lead outside (--untrusted)";

/// Directory and last name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) => (b"/", &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// In the kernel's words.
fn there_already() -> io::Error {
    rustix::io::Errno::EXIST.into()
}

fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::LOOP, Errno::ISDIR, Errno::NXIO].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A link leads nowhere, or in a circle.
fn is_no_directory(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Or as old. A directory's time says nothing about its age.
fn is_newer(there: &Status, member: &Member) -> bool {
    !there.is_directory() && there.changed_at() >= member.mtime
}
