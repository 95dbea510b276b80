//! A path that a person typed, as a directory to hold open and a name in it. The directory's part is followed as it stands, once; from then on
//! only the descriptor counts.

use files::{Directory, HandedFd, how};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Where an operand's name stands.
#[derive(Clone, Debug)]
pub enum Parent {
    /// In the working directory.
    Here,
    /// In this one.
    Directory(Arc<HandedFd>),
}

impl Parent {
    /// It, to find names in.
    pub fn directory(&self) -> Directory<'_> {
        match self {
            Self::Here => Directory::here(),
            Self::Directory(directory) => Directory::of(directory),
        }
    }
}

/// A path taken apart.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The directory.
    pub parent: Parent,
    /// The last part; `/`, `.` and `..` are their own names.
    pub name: CString,
    /// Whether slashes followed it: then only a directory is meant.
    pub has_slash: bool,
}

impl Operand {
    /// Takes `path` apart and opens the directory.
    pub fn open(path: &[u8]) -> io::Result<Self> {
        let trimmed = trimmed(path);
        let name = last_part(path);
        let has_slash = trimmed.len() < path.len() && name != b"/";
        let name = CString::new(name).map_err(io::Error::from)?;
        let above = &trimmed[..trimmed.len() - name.as_bytes().len().min(trimmed.len())];
        let parent = if above.is_empty() || name.as_bytes() == b"/" {
            Parent::Here
        } else {
            let above = CString::new(above).map_err(io::Error::from)?;
            Parent::Directory(Arc::new(open_directory(&above)?.into()))
        };
        Ok(Self { parent, name, has_slash })
    }
}

/// Opens a directory by its path, to find entries in it.
pub fn open_directory(path: &CStr) -> io::Result<OwnedFd> {
    Directory::here().open(path, how::PLACE, 0)
}

/// The path without slashes at its end; `/` stays.
pub fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(1, |last| last + 1);
    &path[..end.min(path.len())]
}

/// The last part of a path; `/` for the root.
pub fn last_part(path: &[u8]) -> &[u8] {
    let path = trimmed(path);
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(_) if path.len() == 1 => path,
        Some(slash) => &path[slash + 1..],
        None => path,
    }
}

/// The directory that a path's last part stands in, as a path.
pub fn directory_of(path: &[u8]) -> &[u8] {
    let path = trimmed(path);
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) => b"/",
        Some(slash) => &path[..slash],
        None => b".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        for (path, trimmed_path, last) in
            [("a", "a", "a"), ("a/b//", "a/b", "b"), ("/", "/", "/"), ("//", "/", "/"), ("/a", "/a", "a"), ("", "", "")]
        {
            assert_eq!(trimmed(path.as_bytes()), trimmed_path.as_bytes(), "{path}");
            assert_eq!(last_part(path.as_bytes()), last.as_bytes(), "{path}");
        }
        let operand = Operand::open(b"/tmp//x/").expect("there is /tmp");
        assert!(operand.has_slash && operand.name.as_bytes() == b"x");
        assert!(matches!(Operand::open(b"x").expect("nothing is opened").parent, Parent::Here));
        assert_eq!(Operand::open(b"/").expect("the root").name.as_bytes(), b"/");
    }
}
