//! Where a new archive goes, or what is added to one: a file that appears whole, a pipe, another program, the end of an archive that is there.

use super::super::destination::{self, Destination};
use super::super::list::rules;
use super::super::old_end::OldEnd;
use super::super::packer::Packer;
use super::super::volumes::DividedArchive;
use super::super::{TarArgs, could_not, edit, usage};
use archive::create::{Archived, Choice};
use archive::member::Kind;
use archive::read::{Reader, Step};
use archive::source::FileSource;
use crew::pipeline::By;
use files::Identity;
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use std::collections::HashSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Where the archive goes.
pub enum ArchiveTarget {
    /// A file that appears whole or not at all.
    Staged {
        /// Where it grows.
        staged: StagedFile,
        /// Whose place it takes.
        there: Option<File>,
        /// What never comes into it.
        never: HashSet<Identity>,
    },
    /// Standard output, a device, a pipe.
    Direct(File, By),
    /// Another program, whose output goes where one of the two above would.
    Through(Packer, Box<ArchiveTarget>),
    /// Behind what is in an archive already, from this byte on.
    Behind(OldEnd),
    /// Over several volumes.
    Volumes(DividedArchive),
}

impl ArchiveTarget {
    pub fn open(context: &Context, args: &TarArgs) -> Result<Self, Failure> {
        let target = Self::open_plain(context, args)?;
        let Some(program) = &args.packing.use_compress_program else { return Ok(target) };
        let packer = Packer::start(program, target.file().0)?;
        Ok(Self::Through(packer, Box::new(target)))
    }

    fn open_plain(context: &Context, args: &TarArgs) -> Result<Self, Failure> {
        let Some(path) = args.archive().filter(|path| *path != Path::new("-")) else {
            if context.terminals.stdout {
                return Err(usage("an archive is not written to a terminal".to_owned()));
            }
            let stdout = std::io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.map_err(|error| could_not("write to", "standard output".as_ref(), &error))?;
            return Ok(Self::Direct(File::from(stdout), By::OwnThread));
        };
        let told = |error: std::io::Error| could_not("create", path.as_os_str(), &error);
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Ok(Self::Direct(File::options().write(true).open(path).map_err(told)?, By::OwnThread));
        }
        let path = match destination::of(path).map_err(told)? {
            Destination::Beside(path) => path,
            Destination::Into(file) => {
                file.set_len(0).map_err(told)?;
                return Ok(Self::Direct(file, By::OwnThread));
            }
        };
        // What may not be written to is not replaced either.
        let there = match File::options().write(true).open(&path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(told(error)),
        };
        let readers = if there.is_some() { Readers::OwnerAlone } else { Readers::AsOfAnyFile };
        let staged = StagedFile::create(&path, readers, &context.unfinished).map_err(told)?;
        let mut never = HashSet::new();
        for file in there.iter().chain([staged.file()]) {
            let metadata = file.metadata().map_err(told)?;
            never.insert(Identity::from(&metadata));
        }
        Ok(Self::Staged { staged, there, never })
    }

    pub fn never(&self) -> HashSet<Identity> {
        match self {
            Self::Staged { never, .. } => never.clone(),
            Self::Through(_, target) => target.never(),
            Self::Direct(..) | Self::Behind(..) | Self::Volumes(..) => match self.file().0.metadata() {
                Ok(metadata) if metadata.is_file() => HashSet::from([Identity::from(&metadata)]),
                _ => HashSet::new(),
            },
        }
    }

    /// The name of the archive while it grows: nobody's file, of which nothing is to be said.
    pub fn growing_name(&self) -> Option<Vec<u8>> {
        match self {
            Self::Staged { staged, .. } => staged.path().file_name().map(|name| name.as_bytes().to_vec()),
            Self::Through(_, target) => target.growing_name(),
            Self::Direct(..) | Self::Behind(..) | Self::Volumes(..) => None,
        }
    }

    pub fn file(&self) -> (&File, By) {
        match self {
            Self::Staged { staged, .. } => (staged.file(), By::Workers),
            Self::Direct(file, by) => (file, *by),
            Self::Through(packer, _) => (packer.input(), By::OwnThread),
            Self::Behind(end) => (end.file(), By::Workers),
            Self::Volumes(divided) => (divided.input(), By::OwnThread),
        }
    }

    pub fn base(&self) -> u64 {
        if let Self::Behind(end) = self { end.base } else { 0 }
    }

    /// Finds the end of an archive. Where the run fails or is ended, the archive becomes again what it was.
    pub fn behind(context: &Context, args: &TarArgs, choice: &mut Choice) -> Result<Self, Failure> {
        let Some(path) = args.archive().filter(|path| *path != Path::new("-")) else {
            return Err(usage("-r and -u need an archive in a file: -f".to_owned()));
        };
        if !path.exists() {
            return Self::open(context, args);
        }
        let told = |error: std::io::Error| could_not("open", path.as_os_str(), &error);
        let file = Arc::new(File::options().read(true).write(true).open(path).map_err(told)?);
        let found = file.metadata().map_err(told)?;
        if !found.is_file() {
            return Err(usage("-r and -u need an archive in a regular file".to_owned()));
        }
        edit::refuse_packed(args)?;
        let mut source = FileSource::new(Arc::clone(&file), 0).map_err(told)?;
        let mut reader = Reader::new(rules(args), &source);
        // COMPAT: to a file without a byte, which is no archive, members can be added all the same.
        while found.len() > 0 {
            match reader.next(&mut source).map_err(|error| could_not("add to", path.as_os_str(), &error))? {
                Step::Member(mut member) if args.operation.update => {
                    member.path.truncate(member.path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1));
                    let there = Archived { mtime: member.mtime, is_directory: member.kind == Kind::Directory };
                    choice.newer_than.insert(member.path, there);
                }
                Step::Member(_) | Step::Note(_) => {}
                Step::End => break,
            }
        }
        Ok(Self::Behind(OldEnd::note(context, file, reader.end_offset()).map_err(told)?))
    }

    /// The run has failed.
    pub fn abandon(self) {
        match self {
            Self::Behind(end) => end.put_back(),
            Self::Through(packer, _) => packer.stop(),
            Self::Staged { .. } | Self::Direct(..) | Self::Volumes(..) => {}
        }
    }

    /// It is complete.
    pub fn commit(self, args: &TarArgs, bytes: u64) -> Result<(), Failure> {
        let path = args.archive().unwrap_or(Path::new("-")).to_owned();
        let told = |error: std::io::Error| could_not("write", path.as_os_str(), &error);
        let (staged, there) = match self {
            Self::Staged { staged, there, .. } => (staged, there),
            Self::Through(packer, target) => {
                packer.finish(&terminal::quote(&path))?;
                return target.commit(args, bytes);
            }
            Self::Behind(end) => return end.leave(bytes).map_err(told),
            Self::Direct(..) => return Ok(()),
            Self::Volumes(divided) => return divided.finish(),
        };
        sys::at_offset::report_late_errors(staged.file()).map_err(told)?;
        if let Some(there) = there {
            let _what_a_user_cannot_carry = files::carry::carry_rights(there, staged.file()).map_err(told)?;
        }
        staged.commit(Replace::Yes).map_err(told)
    }
}
