//! What a job needs before it can be started: its program's path, its files, its environment. Each failure says what could not
//! be done with what. Spawns nothing itself.

use crate::made::{self, OutputOpening, OwnFile};
use crate::spec::{ExistingOutput, More, OutputTarget};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::CString;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use sys::spawn::{Words, path_for_kernel};

/// Why a job could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// No directory of PATH has such a program.
    #[error("'{0}' is in no directory of PATH")]
    NotFound(String),
    /// A redirection's file could not be opened.
    #[error("cannot open '{path}'")]
    Open {
        /// Its name.
        path: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// The program could not be run.
    #[error("cannot run {program}")]
    Run {
        /// Its path in quotes, with the directory it was to run in where it may be sought there.
        program: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// The directory that it was to run in is not there.
    #[error("cannot go to '{directory}'")]
    Directory {
        /// Its path.
        directory: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// A word or a path cannot be passed on.
    #[error("its words cannot be passed on")]
    Words(#[source] io::Error),
    /// There is nothing to run.
    #[error("it has nothing to run")]
    Nothing,
    /// It names a job that failed.
    #[error("'{0}', which it waits for, failed")]
    After(String),
    /// It names a job that does not stand before it.
    #[error("'{0}' in its after is no earlier job")]
    AfterUnknown(String),
    /// It names itself.
    #[error("'{0}' in its after is the job itself")]
    AfterItself(String),
    /// The journal does not take its beginning.
    #[error("the journal cannot be written")]
    Unnoted,
    /// A pipe for its output could not be had.
    #[error("its output cannot be kept")]
    Pipe(#[source] io::Error),
}

impl StartFault {
    /// Whether there are too many processes, threads among them.
    pub(crate) fn is_for_want_of_processes(&self) -> bool {
        matches!(self, Self::Run { cause, .. } if cause.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether a shell would have been tried and have said 127: the program is not there or cannot be run.
    pub(crate) fn is_of_the_program(&self) -> bool {
        matches!(self, Self::NotFound(_) | Self::Run { .. }) && !self.is_a_shortage()
    }

    /// Whether it may work once another job has ended: too many processes or files.
    pub(crate) fn is_a_shortage(&self) -> bool {
        let (Self::Run { cause, .. } | Self::Directory { cause, .. } | Self::Pipe(cause) | Self::Open { cause, .. }) =
            self
        else {
            return false;
        };
        cause
            .raw_os_error()
            .map(Errno::from_raw_os_error)
            .is_some_and(|errno| matches!(errno, Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE))
    }
}

/// Finds programs in PATH, each once.
#[derive(Debug)]
pub struct Programs {
    directories: Vec<Vec<u8>>,
    known: HashMap<Vec<u8>, CString>,
}

impl Programs {
    /// `path` is PATH's value; an empty part means the current directory (POSIX, 8.3).
    pub fn new(path: &[u8]) -> Self {
        let directories = path.split(|&byte| byte == b':');
        let directories =
            directories.map(|directory| if directory.is_empty() { b".".to_vec() } else { directory.to_vec() });
        Self { directories: directories.collect(), known: HashMap::new() }
    }

    /// The path to run for `name`. What is not found is looked for again next time: an earlier job may have made it.
    pub fn find(&mut self, name: &[u8]) -> Result<CString, StartFault> {
        if let Some(path) = self.known.get(name) {
            return Ok(path.clone());
        }
        if name.contains(&b'/') {
            return path_for_kernel(name).map_err(StartFault::Words);
        }
        let candidates = self.directories.iter().map(|directory| [directory.as_slice(), b"/", name].concat());
        for candidate in candidates {
            let path = path_for_kernel(&candidate).map_err(StartFault::Words)?;
            let is_file = rustix::fs::stat(path.as_c_str())
                .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file());
            if is_file && rustix::fs::access(path.as_c_str(), rustix::fs::Access::EXEC_OK).is_ok() {
                self.known.insert(name.to_vec(), path.clone());
                return Ok(path);
            }
        }
        Err(StartFault::NotFound(text(name)))
    }
}

/// Bytes of the user's as text for messages.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Opens a job's input. A named pipe without a writer is at its end, so that nobody waits for one.
pub(crate) fn open_input(path: &[u8], directory: Option<&[u8]>) -> Result<OwnedFd, StartFault> {
    open(path, directory, OFlags::RDONLY | OFlags::NONBLOCK)
}

/// A block of input as something that a job can read at its own pace, as far as it likes: memory that nobody can change.
pub(crate) fn hold(block: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let memory = rustix::fs::memfd_create("block", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(block)?;
    file.seek(io::SeekFrom::Start(0))?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// Opens a job's output. What `>` makes is the job's own from then on.
pub(crate) fn open_output(
    target: &OutputTarget,
    directory: Option<&[u8]>,
    claim: &OutputOpening<'_>,
) -> Result<(OwnedFd, Option<OwnFile>), StartFault> {
    let how = match target.opening {
        ExistingOutput::New => {
            let made = made::open(&located(&target.path, directory), claim);
            let waiting = made.and_then(|(file, made)| may_wait(&file).map(|()| (file, made)));
            return waiting.map_err(|cause| StartFault::Open { path: text(&target.path), cause });
        }
        ExistingOutput::Replace => OFlags::TRUNC,
        ExistingOutput::Append => OFlags::APPEND,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | how;
    open(&target.path, directory, flags).map(|file| (file, None))
}

fn open(path: &[u8], directory: Option<&[u8]>, flags: OFlags) -> Result<OwnedFd, StartFault> {
    let mode = Mode::from_raw_mode(0o666);
    let opened = rustix::fs::open(located(path, directory), flags | OFlags::CLOEXEC, mode).map_err(io::Error::from);
    let opened = opened.and_then(|file| may_wait(&file).map(|()| file));
    opened.map_err(|cause| StartFault::Open { path: text(path), cause })
}

/// Gives a file that has been made its name.
pub(crate) fn name(made: OwnFile) -> Result<(), StartFault> {
    made.name().map_err(|(path, cause)| StartFault::Open { path: path.to_string_lossy().into_owned(), cause })
}

/// Opening must not wait, using it may.
fn may_wait(file: &OwnedFd) -> io::Result<()> {
    let now = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, now.difference(OFlags::NONBLOCK))?)
}

/// A name in the job's directory.
pub(crate) fn located(path: &[u8], directory: Option<&[u8]>) -> PathBuf {
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
    match directory {
        Some(directory) => PathBuf::from(std::ffi::OsStr::from_bytes(directory)).join(path),
        None => path,
    }
}

/// The runner's variables with the job's own put over them.
pub(crate) fn environment(base: &Words, more: &More) -> Result<Option<Words>, StartFault> {
    if more.variables.is_empty() {
        return Ok(None);
    }
    let name_of = |variable: &[u8]| variable.split(|&byte| byte == b'=').next().unwrap_or_default().to_vec();
    let own: Vec<Vec<u8>> = more.variables.iter().map(|variable| name_of(variable)).collect();
    let kept = base.iter().filter(|variable| !own.contains(&name_of(variable)));
    let mut words = Words::default();
    for variable in kept.chain(more.variables.iter().map(Vec::as_slice)) {
        words.push(variable).map_err(|nul| StartFault::Words(io::Error::new(io::ErrorKind::InvalidInput, nul)))?;
    }
    Ok(Some(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{NamingTime, Own};

    #[test]
    fn programs_are_found_where_path_says() {
        let mut programs = Programs::new(b"/nowhere:/bin");
        assert_eq!(programs.find(b"sh").expect("every system has it").as_bytes(), b"/bin/sh");
        assert_eq!(programs.find(b"./x").expect("taken as it is").as_bytes(), b"./x");
        assert!(matches!(programs.find(b"no-such-program"), Err(StartFault::NotFound(_))));
        assert!(matches!(programs.find(b""), Err(StartFault::NotFound(_))));
    }

    #[test]
    fn files_open_as_their_redirection_says() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().as_os_str().as_bytes();
        let target = |opening| OutputTarget { path: b"o".to_vec(), opening };
        let claim = OutputOpening { naming: NamingTime::AtOnce, own: Own::Emptied, is_own: &|_| false };
        let open = |target: &OutputTarget, directory| open_output(target, directory, &claim);
        open(&target(ExistingOutput::New), Some(place)).expect("it is new");
        assert!(open(&target(ExistingOutput::New), Some(place)).is_err());
        open(&target(ExistingOutput::Replace), Some(place)).expect("it may be replaced");
        open(&target(ExistingOutput::Append), Some(place)).expect("it may grow");
        open(&OutputTarget { path: b"/dev/null".to_vec(), opening: ExistingOutput::New }, None)
            .expect("no file is lost");
        assert!(matches!(open_input(b"missing", Some(place)), Err(StartFault::Open { .. })));
    }

    #[test]
    fn own_variables_come_before_the_runners() {
        let mut base = Words::default();
        ["A=1", "B=2"].iter().try_for_each(|word| base.push(word.as_bytes())).expect("no NUL");
        let more = More { variables: vec![b"B=3".to_vec()], ..More::default() };
        let words = environment(&base, &more).expect("no NUL").expect("it has its own");
        assert_eq!(words.iter().collect::<Vec<_>>(), [&b"A=1"[..], b"B=3"]);
        assert_eq!(environment(&base, &More::default()).expect("none"), None);
    }
}
