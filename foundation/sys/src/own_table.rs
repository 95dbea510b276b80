//! Tables of descriptors of threads' own (`unshare(2)`, `CLONE_FILES`), and descriptors that go from thread to thread all the same.
//!
//! All threads of a process share one table, and every opening and closing takes its lock: many threads that copy small files do little
//! else. A number that is right in one table is another file in the next, so what is handed on is a [`HandedFd`], which knows
//! whose it is: another thread fetches a copy of its own (`pidfd_open(2)` of a thread, `pidfd_getfd(2)`: the same open file, its position
//! included). A thread closes only what is in its own table, so what others let go of waits until it tidies up.

use rustix::fs::{CWD, Dir, DirEntry, Mode, OFlags, openat};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};

/// A table.
#[derive(Debug)]
struct Table {
    /// A thread whose table it is.
    thread: Pid,
    /// Whether that thread is there still: its number may be another's afterwards. Held while a copy is fetched.
    is_there: RwLock<bool>,
    /// Numbers that threads with other tables have let go of.
    let_go: Mutex<Vec<RawFd>>,
    /// Whether there are any.
    is_untidy: AtomicBool,
}

/// The table that threads have unless they have begun one of their own.
static SHARED: LazyLock<Arc<Table>> = LazyLock::new(|| Table::of(rustix::process::getpid()));

/// A thread's own table, which ends with it.
struct Own(OnceCell<Arc<Table>>);

thread_local! {
    static OWN: Own = const { Own(OnceCell::new()) };
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(table) = self.0.get() {
            *table.is_there.write().unwrap_or_else(PoisonError::into_inner) = false;
        }
    }
}

impl Table {
    fn of(thread: Pid) -> Arc<Self> {
        let (let_go, is_untidy) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { thread, is_there: RwLock::new(true), let_go, is_untidy })
    }

    /// Calls `with` with the calling thread's.
    ///
    /// # Panics
    /// In a thread that is ending: what it keeps for itself alone is gone.
    fn here<T>(with: impl FnOnce(&Arc<Self>) -> T) -> T {
        OWN.with(|own| with(own.0.get().unwrap_or_else(|| &SHARED)))
    }

    /// The calling thread's own copy of what has `number` here.
    fn fetch(&self, number: RawFd) -> io::Result<OwnedFd> {
        let is_there = self.is_there.read().unwrap_or_else(PoisonError::into_inner);
        if !*is_there {
            return Err(io::Error::other("the thread that opened it has ended"));
        }
        let thread = pidfd_open(self.thread, OF_A_THREAD)?;
        Ok(pidfd_getfd(thread, number, PidfdGetfdFlags::empty())?)
    }

    /// Closes `number`, now or when one of this table's threads tidies up.
    fn let_go(self: &Arc<Self>, number: RawFd) {
        if Self::here(|here| Arc::ptr_eq(here, self)) {
            close(number);
        } else {
            lock(&self.let_go).push(number);
            // ORDER: with the list's lock, which whoever reads it takes afterwards.
            self.is_untidy.store(true, Ordering::Release);
        }
    }
}

/// `PIDFD_THREAD`: any thread, not only the first of a process (Linux 6.9).
const OF_A_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// Stands for a descriptor that is not to be had: no table is that large, so calls answer EBADF.
const NOWHERE: RawFd = RawFd::MAX;

/// Closes a number of the calling thread's table that nothing else will close.
fn close(number: RawFd) {
    // SAFETY: it came from `into_raw_fd` in a thread with this table, and its one holder has let it go.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
}

/// Closes what other threads have let go of: to be called now and then by every thread that opens what is handed on.
pub fn tidy() {
    Table::here(|here| {
        if here.is_untidy.swap(false, Ordering::AcqRel) {
            let let_go = std::mem::take(&mut *lock(&here.let_go));
            let_go.into_iter().for_each(close);
        }
    });
}

/// Whether the calling thread has the table that threads share: what it opens outlives it.
pub fn is_shared() -> bool {
    Table::here(|here| Arc::ptr_eq(here, &SHARED))
}

/// What a process has open before its threads get tables of their own, and keeps in each of them, by the same numbers: the standard streams, and
/// what libraries loaded into it (`LD_PRELOAD`) use by number in any thread.
#[derive(Debug)]
pub struct Kept {
    /// Ascending.
    numbers: Vec<u32>,
}

impl Kept {
    /// All that is open now. Fails where descriptors cannot be handed from thread to thread: on kernels before 6.9, in sandboxes, without `/proc`.
    pub fn now() -> io::Result<Self> {
        let own = pidfd_open(rustix::thread::gettid(), OF_A_THREAD)?;
        drop(pidfd_getfd(&own, own.as_raw_fd(), PidfdGetfdFlags::empty())?);
        drop(own);
        let list =
            openat(CWD, "/proc/thread-self/fd", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let of_the_list = list.as_raw_fd().unsigned_abs();
        let number = |entry: DirEntry| entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        let listed = Dir::new(list)?.filter_map(|entry| number(entry.ok()?));
        let mut numbers: Vec<u32> = listed.filter(|number| *number != of_the_list).collect();
        numbers.sort_unstable();
        Ok(Self { numbers })
    }

    /// Gives the calling thread a table of its own with what is kept, for good. What was opened since is not in it.
    ///
    /// Whatever the kernel answers, the thread counts as one with its own table from here on: then what it opens is right in the table that it
    /// has, be it another's.
    pub fn begin_own(&self) {
        let behind = self.numbers.last().map_or(0, |last| last + 1);
        if close_range(behind, u32::MAX, libc::CLOSE_RANGE_UNSHARE) {
            let mut next = 0;
            for &number in &self.numbers {
                if next < number {
                    close_range(next, number - 1, 0);
                }
                next = number + 1;
            }
        }
        OWN.with(|own| {
            own.0.get_or_init(|| Table::of(rustix::thread::gettid()));
        });
    }
}

/// Closes a range of numbers in the calling thread's table, both ends included; with `CLOSE_RANGE_UNSHARE` in a copy of the table, which it
/// then has to itself.
fn close_range(first: u32, last: u32, flags: libc::c_uint) -> bool {
    // SAFETY: the call takes three numbers. What it closes belongs to other threads, which keep it in their tables.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
}

/// A descriptor that threads with different tables hand to each other.
#[derive(Debug)]
pub struct HandedFd {
    /// Where it was opened.
    table: Arc<Table>,
    /// What it is called there.
    number: RawFd,
    /// And elsewhere.
    copies: Mutex<Vec<(Arc<Table>, RawFd)>>,
}

impl HandedFd {
    /// Makes sure that the calling thread has it. What [`AsFd`] gives is no open file where this fails.
    pub fn reach(&self) -> io::Result<RawFd> {
        Table::here(|here| {
            if Arc::ptr_eq(here, &self.table) {
                return Ok(self.number);
            }
            let mut copies = lock(&self.copies);
            if let Some((_, number)) = copies.iter().find(|(table, _)| Arc::ptr_eq(here, table)) {
                return Ok(*number);
            }
            let number = self.table.fetch(self.number)?.into_raw_fd();
            copies.push((Arc::clone(here), number));
            Ok(number)
        })
    }
}

impl From<OwnedFd> for HandedFd {
    /// Of a descriptor that the calling thread has opened.
    fn from(opened: OwnedFd) -> Self {
        Self { table: Table::here(Arc::clone), number: opened.into_raw_fd(), copies: Mutex::default() }
    }
}

impl AsFd for HandedFd {
    /// The calling thread's number for it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        let number = self.reach().unwrap_or(NOWHERE);
        // SAFETY: open in this thread's table until `self` is dropped, which the borrow outlives not; or no file's number at all.
        unsafe { BorrowedFd::borrow_raw(number) }
    }
}

impl Drop for HandedFd {
    fn drop(&mut self) {
        self.table.let_go(self.number);
        for (table, number) in self.copies.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            table.let_go(number);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, read_dir, read_link};
    use std::io::{Read, Seek, Write};
    use std::path::PathBuf;
    use std::sync::mpsc;

    fn file(text: &str) -> HandedFd {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        HandedFd::from(OwnedFd::from(file))
    }

    fn text(handed: &HandedFd) -> String {
        let (mut text, mut file) = (String::new(), File::from(handed.as_fd().try_clone_to_owned().expect("open")));
        file.rewind().expect("a file has a beginning");
        file.read_to_string(&mut text).expect("read");
        text
    }

    /// What the calling thread has open.
    fn open_here() -> Vec<PathBuf> {
        let listed = read_dir("/proc/thread-self/fd").expect("listed");
        listed.filter_map(|entry| read_link(entry.expect("an entry").path()).ok()).collect()
    }

    #[test]
    fn a_descriptor_is_the_same_file_in_every_thread_and_is_closed_in_each() {
        let kept = match Kept::now() {
            Ok(kept) => kept,
            Err(error) => return println!("skipped: descriptors cannot be handed on here: {error}"),
        };
        let mine = file("mine");
        let (hand, taken) = mpsc::sync_channel(1);
        let (let_go, is_let_go) = mpsc::sync_channel(1);
        let (mine, kept) = (&mine, &kept);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                kept.begin_own();
                let before = open_here();
                assert_eq!(text(mine), "mine");
                // Their numbers are, in the shared table, other files, or none.
                hand.send((0..20).map(|number| file(&format!("file {number}"))).collect::<Vec<_>>()).expect("taken");
                is_let_go.recv().expect("told");
                assert_eq!(open_here().len(), before.len() + 21, "nobody else closes in this thread's table");
                tidy();
                assert_eq!(open_here().len(), before.len() + 1);
            });
            let theirs = taken.recv().expect("handed over");
            for (number, file) in theirs.iter().enumerate() {
                assert_eq!(text(file), format!("file {number}"));
            }
            let path = |file: &HandedFd| read_link(format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd()));
            let paths: Vec<_> = theirs.iter().map(|file| path(file).expect("open")).collect();
            assert!(paths.iter().all(|path| open_here().contains(path)));
            drop(theirs);
            assert!(!paths.iter().any(|path| open_here().contains(path)), "this thread's copies are closed");
            let_go.send(()).expect("heard");
        });
        assert_eq!(text(mine), "mine");
    }

    #[test]
    fn what_a_thread_has_opened_goes_with_it() {
        let Ok(kept) = Kept::now() else { return };
        let own = move || {
            kept.begin_own();
            file("gone")
        };
        // Joined to its very end: a scope would go on before the thread's own table is gone.
        let gone = std::thread::spawn(own).join().expect("no panic");
        assert!(gone.reach().is_err());
        let answer = rustix::fs::fstat(&gone).expect_err("it is no file");
        assert_eq!(answer, rustix::io::Errno::BADF);
    }
}
