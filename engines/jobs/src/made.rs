//! Files that `>` makes. One that is there is refused, for it may be anybody's; but one that an earlier attempt of the same job made is
//! its own. It is known by its device, its number and its birth there: another that has come to the name since is not mistaken for it.

use crate::key::JobKey;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, linkat, statx};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnFileIdentity(u64);

impl OwnFileIdentity {
    fn of(file: impl AsFd) -> io::Result<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let status = statx(file, c"", AtFlags::EMPTY_PATH, wanted)?;
        // LIE: where a file system keeps no births these are zeros, and a number that is used anew looks like the old file.
        let birth = format!("{}.{}", status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
        let text = format!("{}:{} {} {birth}", status.stx_dev_major, status.stx_dev_minor, status.stx_ino);
        let digest = JobKey::of_command(std::iter::once(text.as_bytes())).text();
        Self::parse(&digest[..16]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(crate) fn text(self) -> String {
        format!("{:016x}", self.0)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

/// When a new file gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamingTime {
    /// As it is made.
    AtOnce,
    /// When the journal has noted whose it is: so no kill leaves one behind that nobody knows.
    OnceNoted,
}

/// What becomes of a file that is there and the job's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// It begins anew.
    Emptied,
    /// It is added to.
    Continued,
}

/// How a file that `>` names is opened.
pub(crate) struct OutputOpening<'a> {
    pub naming: NamingTime,
    pub own: Own,
    pub is_own: &'a dyn Fn(OwnFileIdentity) -> bool,
}

/// A file that is the job's own.
#[derive(Debug)]
pub(crate) struct OwnFile {
    pub mark: OwnFileIdentity,
    /// The name that it is to get, if it has none.
    unnamed: Option<(OwnedFd, PathBuf)>,
}

impl OwnFile {
    /// Gives it its name, if nobody else has it by now.
    pub fn name(self) -> Result<(), (PathBuf, io::Error)> {
        let Some((file, path)) = self.unnamed else { return Ok(()) };
        let from = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, &from, CWD, &path, AtFlags::SYMLINK_FOLLOW).map_err(|error| (path, error.into()))
    }
}

/// Opens what `>` names, without waiting. COMPAT: files that are there are refused, and nothing else that is: /dev/null and pipes are written to.
pub(crate) fn open(path: &Path, claim: &OutputOpening<'_>) -> io::Result<(OwnedFd, Option<OwnFile>)> {
    let opened = match claim.naming {
        NamingTime::OnceNoted if std::fs::metadata(path).is_ok() => Err(Errno::EXIST),
        NamingTime::OnceNoted => match nameless(path) {
            // Not on this file system: then a kill within the next few microseconds leaves a file that is refused.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => named(path, OFlags::CREATE | OFlags::EXCL),
            Ok(file) => {
                let unnamed = Some((rustix::io::fcntl_dupfd_cloexec(&file, 3)?, path.to_owned()));
                return Ok((OwnFileIdentity::of(&file)?, file))
                    .map(|(mark, file)| (file, Some(OwnFile { mark, unnamed })));
            }
            other => other,
        },
        NamingTime::AtOnce => named(path, OFlags::CREATE | OFlags::EXCL),
    };
    match opened {
        Ok(file) => {
            Ok((OwnFileIdentity::of(&file)?, file)).map(|(mark, file)| (file, Some(OwnFile { mark, unnamed: None })))
        }
        Err(Errno::EXIST) => open_existing(path, claim),
        Err(error) => Err(error.into()),
    }
}

fn open_existing(path: &Path, claim: &OutputOpening<'_>) -> io::Result<(OwnedFd, Option<OwnFile>)> {
    let adding = if claim.own == Own::Continued { OFlags::APPEND } else { OFlags::empty() };
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return Ok((named(path, OFlags::empty())?, None));
    }
    let file = named(path, adding)?;
    let mark = OwnFileIdentity::of(&file)?;
    if !(claim.is_own)(mark) {
        return Err(Errno::EXIST.into());
    }
    if claim.own == Own::Emptied {
        rustix::fs::ftruncate(&file, 0)?;
    }
    Ok((file, Some(OwnFile { mark, unnamed: None })))
}

const OPENING: OFlags = OFlags::WRONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn named(path: &Path, how: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OPENING | how, Mode::from_raw_mode(0o666))
}

fn nameless(path: &Path) -> Result<OwnedFd, Errno> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::open(directory, OPENING | OFlags::TMPFILE, Mode::from_raw_mode(0o666))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_refused_unless_it_is_the_jobs_own() {
        let directory = tempfile::tempdir().expect("a directory");
        for naming in [NamingTime::AtOnce, NamingTime::OnceNoted] {
            let path = directory.path().join(format!("{naming:?}"));
            let nobodys = OutputOpening { naming, own: Own::Emptied, is_own: &|_| false };
            let (_, made) = open(&path, &nobodys).expect("it is new");
            let made = made.expect("it is a file");
            let mark = made.mark;
            assert_eq!(path.exists(), naming == NamingTime::AtOnce);
            made.name().expect("the name is free");
            std::fs::write(&path, "x").expect("written");
            assert_eq!(open(&path, &nobodys).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
            let added = OutputOpening { naming, own: Own::Continued, is_own: &|other| other == mark };
            open(&path, &added).expect("it is its own");
            assert_eq!(std::fs::read(&path).expect("there"), b"x");
            open(&path, &OutputOpening { own: Own::Emptied, ..added }).expect("it is its own");
            assert_eq!(std::fs::read(&path).expect("there"), b"");
            // Made while the old one still has its number: so it has another, whatever the file system knows of births.
            std::fs::write(directory.path().join("other"), "y").expect("written");
            std::fs::rename(directory.path().join("other"), &path).expect("renamed");
            assert!(open(&path, &OutputOpening { naming, own: Own::Emptied, is_own: &|other| other == mark }).is_err());
            assert_eq!(std::fs::read(&path).expect("there"), b"y", "somebody else's");
        }
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_is_not_taken_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("o");
        let claim = OutputOpening { naming: NamingTime::OnceNoted, own: Own::Emptied, is_own: &|_| true };
        let (_, made) = open(&path, &claim).expect("it is new");
        std::fs::write(&path, "y").expect("written");
        let (_, error) = made.expect("it is a file").name().expect_err("it is taken");
        assert_eq!((error.kind(), std::fs::read(&path).expect("there")), (io::ErrorKind::AlreadyExists, b"y".to_vec()));
    }
}
