//! `-g` and `-G`: which files have changed since a state of directories was noted, and what each directory has. Looks at files by one thread, before
//! anything is archived; reading and writing them is the pipeline's, as for names that were typed one by one. COMPAT: GNU tar's rules and files.

mod scan;
mod snapshot;

use super::destination::{self, Destination};
use super::{TarArgs, could_not};
use archive::create::{Choice, Operand};
use archive::member::Time;
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use scan::Scan;
use snapshot::DirectoriesSnapshot;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Whether archives are incremental.
pub fn is_wanted(args: &TarArgs) -> bool {
    args.incremental.incremental || args.incremental.listed_incremental.is_some()
}

/// COMPAT: the level of a dump, which GNU tar knows, and not that of packing.
pub fn begins_anew(args: &TarArgs) -> bool {
    args.incremental.listed_incremental.is_some() && args.packing.level == Some(0)
}

/// What is to be archived, and the state to be noted when it is.
pub struct Increment {
    /// Directories with their listings, then files.
    pub operands: Vec<Operand>,
    /// What could not be looked at, and was told.
    pub failed: u64,
    state: DirectoriesSnapshot,
}

impl Increment {
    /// Looks at all that is beneath `operands`.
    pub fn of(context: &Context, args: &TarArgs, choice: &Choice, operands: Vec<Operand>) -> Result<Self, Failure> {
        let old = match &args.incremental.listed_incremental {
            Some(path) if !begins_anew(args) => read(path)?,
            _ => None,
        };
        let time = now();
        let mut scan = Scan::new(context, args, choice, old.as_ref());
        for operand in operands {
            scan.operand(operand);
        }
        let scan::Scanned { operands, directories, failed } = scan.finish();
        Ok(Self { operands, failed, state: DirectoriesSnapshot { time, directories } })
    }

    /// Notes the state, now that the archive is complete.
    pub fn commit(&self, context: &Context, args: &TarArgs) -> Result<(), Failure> {
        let Some(path) = &args.incremental.listed_incremental else { return Ok(()) };
        write(context, path, &self.state.to_bytes()).map_err(|error| could_not("write", path.as_os_str(), &error))
    }
}

/// The state in a file; none in an empty one, or where there is none.
fn read(path: &Path) -> Result<Option<DirectoriesSnapshot>, Failure> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(could_not("open", path.as_os_str(), &error)),
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    DirectoriesSnapshot::parse(&bytes).map(Some).map_err(|error| could_not("use", path.as_os_str(), &error))
}

/// A file that is there is replaced as a whole; a device gets nothing.
fn write(context: &Context, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    let Destination::Beside(path) = destination::of(path)? else {
        return Err(io::Error::other("it has no name that a new state could get"));
    };
    let staged = StagedFile::create(&path, Readers::AsOfAnyFile, &context.unfinished)?;
    sys::at_offset::write_all_at(staged.file(), bytes, 0)?;
    staged.commit(Replace::Yes)
}

/// By the clock that files get their times from: what is changed from now on is not older.
fn now() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Time { seconds: now.tv_sec, nanoseconds: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

/// Refuses what makes no incremental archive.
pub fn refuse(args: &TarArgs) -> Result<(), Failure> {
    let operation = &args.operation;
    // COMPAT: an archive that is put behind another has its listings in it already.
    let is_known = operation.create || operation.extract || operation.list || operation.diff || operation.concatenate;
    if !is_wanted(args) || is_known {
        return Ok(());
    }
    Err(super::usage("-g and -G go with -c, -x, -t, -d and -A".to_owned()))
}

/// Says of a directory what is notable, where every member is.
fn tell(context: &Context, args: &TarArgs, keyword: &str, words: (&str, &str)) {
    if args.verbose > 0 {
        super::warnings::warn(context, args, keyword, words);
    }
}

fn complain(context: &Context, name: &[u8], what: &str, error: &io::Error) {
    let why = with_causes(error);
    let theirs = format!("{}: Cannot {what}: {why}", super::messages::plain(name));
    let ours = format!("archive {}: cannot {what}: {why}", super::list::quoted(name));
    super::messages::failed(context, &theirs, &ours);
}

/// An operand beside another, by its name.
fn beside(operand: &Operand, name: Vec<u8>) -> Operand {
    Operand {
        directory: Arc::clone(&operand.directory),
        name,
        depth: archive::create::OperandDepth::Itself,
        scope: operand.scope.clone(),
        listing: None,
    }
}
