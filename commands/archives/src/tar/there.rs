//! Where a member's file is, for who looks at it by name: the names of deep trees are longer than the kernel takes at once.

use files::{Directory, PATH_BYTES_MAX, how};
use std::io;
use std::os::fd::OwnedFd;

/// The directory that was gone to last.
#[derive(Default)]
pub struct There {
    /// It, and its path with a slash behind it.
    last: Option<(OwnedFd, Vec<u8>)>,
}

/// LIMIT: bytes of a name that are resolved at once.
const STEP_BYTES: usize = PATH_BYTES_MAX - 256;

impl There {
    /// The directory from which a path can be used, and what is left of it. Links on the way are followed, as for any path. A path that continues the one
    /// before, as in chains of directories, costs what it has more.
    pub fn reach<'p>(&mut self, path: &'p [u8]) -> io::Result<(Directory<'_>, &'p [u8])> {
        if path.len() <= STEP_BYTES {
            return Ok((Directory::here(), path));
        }
        let (mut directory, mut done) = match self.last.take() {
            Some((directory, name)) if goes_on_behind(path, &name) => (Some(directory), name.len()),
            _ => (None, 0),
        };
        while let Some(bytes) = next_step(&path[done..]) {
            let at = directory.as_ref().map_or(Directory::here(), Directory::of);
            directory = Some(at.open(&path[done..done + bytes], how::through_links(how::DIRECTORY), 0)?);
            done += bytes;
        }
        let last = self.last.insert((directory.ok_or(io::ErrorKind::InvalidFilename)?, path[..done].to_vec()));
        Ok((Directory::of(&last.0), &path[done..]))
    }
}

fn goes_on_behind(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.iter().any(|&byte| byte != b'/'))
}

/// How much of a path is directories on the way that can be opened at once, the slash behind them included; none where there are no more.
fn next_step(path: &[u8]) -> Option<usize> {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let within = &path[..end.min(STEP_BYTES)];
    within.iter().rposition(|&byte| byte == b'/').map(|slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_gone_in_steps_that_the_kernel_takes() {
        let long = [b"d/".repeat(5000), b"f".to_vec()].concat();
        let (mut done, mut steps) = (0, 0);
        while let Some(bytes) = next_step(&long[done..]) {
            assert!(bytes <= STEP_BYTES && long[done + bytes - 1] == b'/');
            (done, steps) = (done + bytes, steps + 1);
        }
        assert_eq!((&long[done..], steps), (&b"f"[..], 3));
        assert_eq!((next_step(b"d//"), next_step(b"a//b"), next_step(b"")), (None, Some(3), None));
        assert_eq!(next_step(&[b'x'; 5000]), None);
        assert!(goes_on_behind(b"a/b", b"a/") && !goes_on_behind(b"a/", b"a/") && !goes_on_behind(b"ab/c", b"a/"));
    }
}
