//! The pipe that job slots lie in: how children find it, a slot in, a slot out. Whose hands the slots stand for is the business of
//! who owns the pool: a [`super::SlotServer`], or whoever holds the program to the CPUs of its hands ([`CountedPool`]).

use crate::sync::{Mutex, lock};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What a slot's byte is. Programs give back what they read and ask nothing of it.
const SLOT: u8 = b'+';

/// A pipe of slots.
#[derive(Debug)]
pub struct Pool {
    /// Of our own, both ways: a read must not wait, a write cannot (the pipe holds more bytes than there are CPUs).
    own: OwnedFd,
    given: Given,
}

/// What children get.
#[derive(Debug)]
enum Given {
    Descriptors([OwnedFd; 2]),
    Name(PathBuf),
}

impl Pool {
    /// One whose ends children inherit: every make understands that.
    pub fn of_descriptors() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // A description of our own: O_NONBLOCK on theirs would break programs that rely on a read that waits.
        let own = open_both_ways(Path::new(&format!("/proc/self/fd/{}", read.as_raw_fd())))?;
        Ok(Self { own, given: Given::Descriptors([read, write]) })
    }

    /// One with a name, which is removed at the end. COMPAT: fatal to make before 4.4.
    pub fn named(path: PathBuf) -> io::Result<Self> {
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        Ok(Self { own: open_both_ways(&path)?, given: Given::Name(path) })
    }

    /// What stands behind `--jobserver-auth=`.
    pub fn auth(&self) -> String {
        match &self.given {
            Given::Descriptors([read, write]) => format!("{},{}", read.as_raw_fd(), write.as_raw_fd()),
            Given::Name(path) => format!("fifo:{}", path.display()),
        }
    }

    /// Descriptors that children inherit under the same numbers.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match &self.given {
            Given::Descriptors(both) => both.iter().map(AsFd::as_fd).collect(),
            Given::Name(_) => Vec::new(),
        }
    }

    /// Slots that nobody has taken. FIONREAD counts under the pipe's lock.
    pub(super) fn unread(&self) -> usize {
        rustix::io::ioctl_fionread(&self.own).map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Takes a slot back, if one is there.
    pub(super) fn take(&self) -> bool {
        loop {
            match rustix::io::read(&self.own, &mut [0]) {
                Err(Errno::INTR) => {}
                other => return other == Ok(1),
            }
        }
    }

    pub(super) fn give(&self) {
        // LIMIT: a full pipe is one that a program has filled with bytes of its own; then there are slots enough.
        while rustix::io::write(&self.own, &[SLOT]) == Err(Errno::INTR) {}
    }

    pub(super) fn remove_name(&self) {
        if let Given::Name(path) = &self.given {
            let _it_may_be_gone = rustix::fs::unlink(path);
        }
    }
}

impl AsFd for Pool {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.remove_name();
    }
}

fn open_both_ways(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// A pool for one program that somebody else holds to its cores: as many slots as it is told to have. Those that are too many go when
/// they are unread at the next telling.
#[derive(Debug)]
pub struct CountedPool {
    pool: Pool,
    out: Mutex<usize>,
}

impl CountedPool {
    /// Without a slot so far.
    pub fn new(pool: Pool) -> Self {
        Self { pool, out: Mutex::new(0) }
    }

    /// What the program is told of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// From now on it has `slots`.
    pub fn set(&self, slots: usize) {
        let mut out = lock(&self.out);
        while *out < slots {
            self.pool.give();
            *out += 1;
        }
        while *out > slots && self.pool.take() {
            *out -= 1;
        }
    }
}

/// MAKEFLAGS for a child: the user's own flags in `old`, with `slots + 1` jobs and this pool in place of any other.
pub fn flags(old: &[u8], slots: usize, auth: &str) -> Vec<u8> {
    let words: Vec<&[u8]> = old.split(|byte| *byte == b' ').collect();
    let end = words.iter().position(|word| *word == b"--").unwrap_or(words.len());
    let is_kept = |word: &&&[u8]| !word.starts_with(b"-j") && !word.starts_with(b"--job");
    let mut flags: Vec<u8> = words[..end].iter().filter(is_kept).copied().collect::<Vec<_>>().join(&b' ');
    flags.extend(format!(" -j{} --jobserver-auth={auth}", slots + 1).into_bytes());
    for word in &words[end..] {
        flags.push(b' ');
        flags.extend_from_slice(word);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_the_number_and_those_in_use_are_taken_later() {
        let slots = CountedPool::new(Pool::of_descriptors().expect("a pipe"));
        slots.set(3);
        assert_eq!(slots.pool.unread(), 3);
        // A program takes two.
        assert!(slots.pool.take() && slots.pool.take());
        slots.set(0);
        assert_eq!((slots.pool.unread(), *lock(&slots.out)), (0, 2));
        slots.set(1);
        assert_eq!((slots.pool.unread(), *lock(&slots.out)), (0, 2), "it has more than that already");
        slots.pool.give();
        slots.set(1);
        assert_eq!((slots.pool.unread(), *lock(&slots.out)), (0, 1));
    }

    #[test]
    fn the_users_flags_stay_and_another_pool_goes() {
        let made = |old: &str| String::from_utf8(flags(old.as_bytes(), 1, "3,4")).expect("text");
        assert_eq!(made(""), " -j2 --jobserver-auth=3,4");
        assert_eq!(made("k -j8 --jobserver-auth=fifo:/x -- A=-j9"), "k -j2 --jobserver-auth=3,4 -- A=-j9");
        assert_eq!(made(" -j"), " -j2 --jobserver-auth=3,4");
    }
}
