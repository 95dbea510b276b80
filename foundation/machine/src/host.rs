//! Where the host's files are, and how reading one fails.
//! Knows no particular file: the readers beside it do.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The host as seen through its files, or a fake tree that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    root: PathBuf,
    is_real: bool,
}

impl Host {
    /// The host this process runs on.
    pub fn real() -> Self {
        Self { root: PathBuf::from("/"), is_real: true }
    }

    /// A tree with `proc`, `sys` and whatever else a test needs in place of `/`.
    ///
    /// Questions that go to the kernel on a real host (the affinity mask) are answered from the tree's files too.
    pub fn rooted_at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), is_real: false }
    }

    /// A directory of the host, for readers that open many files in it.
    pub fn open_directory(&self, path: &Path) -> Result<OwnedFd, HostError> {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(self.locate(path), flags, Mode::empty()) {
            Ok(directory) => Ok(directory),
            Err(cause) => Err(HostError::Read { path: path.to_owned(), cause: cause.into() }),
        }
    }

    /// Whether questions may go to the kernel directly.
    pub fn is_real(&self) -> bool {
        self.is_real
    }

    /// Where `path` of the host lies in this process's file system. On the real host a relative path stays one.
    pub fn locate(&self, path: &Path) -> PathBuf {
        if self.is_real { path.to_owned() } else { self.root.join(path.strip_prefix("/").unwrap_or(path)) }
    }

    /// The whole text of `path`. Bytes that are no UTF-8 (names in mountinfo) are replaced.
    pub(crate) fn read(&self, path: &Path) -> Result<String, HostError> {
        match read_whole(&self.locate(path)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(cause) => Err(HostError::Read { path: path.to_owned(), cause }),
        }
    }

    /// The text of a file that may be absent, without the line end.
    pub(crate) fn read_if_there(&self, path: &Path) -> Result<Option<String>, HostError> {
        match self.read(path) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.is_absence() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// These files tell no size: with room at hand from the start, one read and one more for the end are enough.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(16 << 10);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file of the host that could not be used. Reads after "could not"; the cause is the error's source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The file or directory could not be read.
    #[error("read '{}'", path.display())]
    Read {
        /// Path on the host, without the fake root.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// The file was read, but a field in it is not what the kernel documents.
    #[error("find {field} in '{}'", path.display())]
    Understand {
        /// Path on the host, without the fake root.
        path: PathBuf,
        /// What was looked for.
        field: &'static str,
        /// What was wrong with it.
        #[source]
        cause: FieldFault,
    },
    /// The kernel did not answer a system call.
    #[error("ask the kernel for {question}")]
    Ask {
        /// What was asked.
        question: &'static str,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
}

/// What is wrong with a field of a host's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldFault {
    /// No line or column of that name.
    #[error("it is not there")]
    Absent,
    /// It is there, but is no number in range.
    #[error("it is not a number in range: {0:?}")]
    NotANumber(String),
}

impl HostError {
    /// Whether the host does not say: it has the file, and nothing of the kind in it.
    pub fn is_unsaid(&self) -> bool {
        matches!(self, Self::Understand { cause: FieldFault::Absent, .. })
    }

    pub(crate) fn absent(path: &Path, field: &'static str) -> Self {
        Self::Understand { path: path.to_owned(), field, cause: FieldFault::Absent }
    }

    pub(crate) fn not_a_number(path: &Path, field: &'static str, found: &str) -> Self {
        Self::Understand { path: path.to_owned(), field, cause: FieldFault::NotANumber(found.to_owned()) }
    }

    /// The file, if the error is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Understand { path, .. } => Some(path),
            Self::Ask { .. } => None,
        }
    }

    /// Whether the file simply does not exist.
    fn is_absence(&self) -> bool {
        // ENODEV: some sysfs and cgroup files exist by name while the feature behind them does not.
        matches!(self, Self::Read { cause, .. } if cause.kind() == io::ErrorKind::NotFound
            || cause.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()))
    }
}

/// The number in `text`, which was found as `field` of `path`.
pub(crate) fn parse_number(path: &Path, field: &'static str, text: &str) -> Result<u64, HostError> {
    // The standard library's reason adds nothing to the text that was found, which the error carries.
    text.parse().ok().ok_or_else(|| HostError::not_a_number(path, field, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;
    use std::error::Error;

    #[test]
    fn errors_carry_operation_path_and_cause_once() {
        let fake = FakeHost::new();
        let error = fake.host().read(Path::new("/proc/meminfo")).expect_err("nothing there");
        assert_eq!(error.to_string(), "read '/proc/meminfo'");
        assert_eq!(error.path(), Some(Path::new("/proc/meminfo")));
        assert!(error.source().expect("a cause").to_string().contains("No such file"));
    }

    #[test]
    fn an_absent_file_is_none_only_where_it_may_be_absent() {
        let fake = FakeHost::new();
        fake.file("/sys/there", "max\n");
        assert_eq!(fake.host().read_if_there(Path::new("/sys/there")).expect("readable"), Some("max".to_owned()));
        assert_eq!(fake.host().read_if_there(Path::new("/sys/absent")).expect("absence is fine"), None);
        let error = fake.host().read_if_there(Path::new("/sys")).expect_err("a directory");
        assert!(matches!(error, HostError::Read { .. }));
        assert!(fake.host().open_directory(Path::new("/sys")).is_ok());
        let error = fake.host().open_directory(Path::new("/sys/there")).expect_err("a file");
        assert_eq!(error.to_string(), "read '/sys/there'");
    }

    #[test]
    fn a_bad_number_is_quoted_in_the_cause() {
        let error = parse_number(Path::new("/proc/stat"), "user ticks", "-1").expect_err("negative");
        assert_eq!(error.to_string(), "find user ticks in '/proc/stat'");
        assert_eq!(error.source().expect("a cause").to_string(), "it is not a number in range: \"-1\"");
    }
}
