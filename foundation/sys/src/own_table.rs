//! Tables of descriptors of threads' own (`unshare(2)`, `CLONE_FILES`), and descriptors that go from thread to thread all the same.
//!
//! All threads of a process share one table, and every opening and closing takes its lock: many threads that copy small files do little
//! else. A number that is right in one table is another file in the next, so what is handed on is a [`HandedFd`], which knows
//! whose it is: another thread fetches a copy of its own (`pidfd_open(2)` of a thread, `pidfd_getfd(2)`: the same open file, its position
//! included). A thread closes only what is in its own table, so what others let go of waits until it tidies up.

use parking_lot::{Mutex, RwLock};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// A table. LIMIT: one for each thread that ever had its own is kept to the end of the process, a hundred bytes: whoever holds a descriptor
/// refers to it, also when the thread is gone.
#[derive(Debug)]
struct Table {
    /// The thread whose table it is; none: the process's first.
    thread: Option<Pid>,
    /// Whether that thread uses it still: its number may be another's afterwards. Held while a copy is fetched.
    is_there: RwLock<bool>,
    /// Numbers that threads with other tables have let go of.
    let_go: Mutex<Vec<RawFd>>,
    /// Whether there are any.
    is_untidy: AtomicBool,
}

/// The table that threads have unless they have begun one of their own.
static SHARED: Table = Table::of(None);

thread_local! {
    /// The calling thread's own table. Needs no destructor, so it is there as long as the thread runs anything at all.
    static OWN: Cell<Option<&'static Table>> = const { Cell::new(None) };
}

impl Table {
    const fn of(thread: Option<Pid>) -> Self {
        Self { thread, is_there: RwLock::new(true), let_go: Mutex::new(Vec::new()), is_untidy: AtomicBool::new(false) }
    }

    /// The calling thread's.
    fn here() -> &'static Self {
        OWN.get().unwrap_or(&SHARED)
    }

    fn is_here(&self) -> bool {
        std::ptr::eq(self, Self::here())
    }

    /// The calling thread's own copy of what has `number` here.
    fn fetch(&self, number: RawFd) -> io::Result<OwnedFd> {
        let is_there = self.is_there.read();
        if !*is_there {
            return Err(io::Error::other("the thread that opened it has ended"));
        }
        let thread = pidfd_open(self.thread.unwrap_or_else(rustix::process::getpid), OF_A_THREAD)?;
        Ok(pidfd_getfd(thread, number, PidfdGetfdFlags::empty())?)
    }

    /// Closes `number`, now or when this table's thread tidies up.
    fn let_go(&self, number: RawFd) {
        if !self.is_here() {
            self.let_go.lock().push(number);
            // ORDER: with the list's lock, which whoever reads it takes afterwards.
            self.is_untidy.store(true, Ordering::Release);
        } else if *self.is_there.read() {
            close(number);
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
    let here = Table::here();
    if here.is_untidy.swap(false, Ordering::AcqRel) {
        let let_go = std::mem::take(&mut *here.let_go.lock());
        let_go.into_iter().for_each(close);
    }
}

/// What is the same in all tables of a process: the files that it has open by the lowest numbers before its threads get tables of their own.
/// Those are the standard streams, and what libraries loaded into it (`LD_PRELOAD`) use by number in any thread.
#[derive(Debug)]
pub struct Kept {
    /// The first number that is not kept.
    behind: u32,
    /// What has the lower numbers that were free, so that whatever is opened from here on has a higher one.
    _fillers: Vec<OwnedFd>,
}

/// LIMIT: numbers from here on are kept in the shared table alone.
const KEPT_BELOW: i32 = 256;

/// What the kernel copies of a table is a multiple of this, the bits of a word.
const COPIED_TOGETHER: usize = 64;

impl Kept {
    /// What is open now. Fails where descriptors cannot be handed from thread to thread: on kernels before 6.9, in sandboxes; and where a
    /// process may have fewer than 256.
    pub fn now() -> io::Result<Self> {
        let own = pidfd_open(rustix::thread::gettid(), OF_A_THREAD)?;
        drop(pidfd_getfd(&own, own.as_raw_fd(), PidfdGetfdFlags::empty())?);
        // No table is that large: it is asked whether the call is there.
        if !close_range(u32::MAX, u32::MAX, 0) {
            return Err(io::Error::last_os_error());
        }
        let mut asked: Vec<libc::pollfd> =
            (0..KEPT_BELOW).map(|fd| libc::pollfd { fd, events: 0, revents: 0 }).collect();
        // SAFETY: the array lives through the call and is as long as it is told to be. It waits for nothing.
        if unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let open = asked.iter().rposition(|asked| asked.revents & libc::POLLNVAL == 0).map_or(0, |last| last + 1);
        let behind = open.next_multiple_of(COPIED_TOGETHER) as u32;
        let mut fillers = Vec::with_capacity(COPIED_TOGETHER);
        loop {
            let filler = fcntl_dupfd_cloexec(&own, 0)?;
            if filler.as_raw_fd().unsigned_abs() >= behind {
                break;
            }
            fillers.push(filler);
        }
        fillers.push(own);
        Ok(Self { behind, _fillers: fillers })
    }

    /// Gives the calling thread a table of its own with what is kept, until what is returned is dropped; then the thread opens nothing any more.
    ///
    /// The kernel makes it as a copy of the lowest words of the table that the thread has so far, which hold what is kept: no file that was opened
    /// since is in two tables, nor is one closed in the new one, unless it took the number of something kept that was closed. To NFS, SMB and
    /// FUSE that would be a `close` as any other, which takes the error that its owner was to see.
    ///
    /// Whatever the kernel answers, the thread counts as one with its own table from here on: then what it opens is right in the table that it
    /// has, be it another's.
    pub fn begin_own(&self) -> OwnTable {
        let behind = close_range(self.behind, u32::MAX, libc::CLOSE_RANGE_UNSHARE).then_some(self.behind);
        // While the thread has the table to itself: it may hire others, who are born into it.
        make_room();
        let table: &'static Table = Box::leak(Box::new(Table::of(Some(rustix::thread::gettid()))));
        OWN.set(Some(table));
        OwnTable { table, behind, of_this_thread: PhantomData }
    }
}

/// LIMIT: numbers that a table has room for from its beginning, 8 KiB. Beyond, what `make_room` is for happens once for each doubling.
const ROOM: RawFd = 1024;

/// Makes room in the calling thread's table for what will be opened in it. Where that fails there is no harm.
///
/// LIE: `open(2)` does not tell that it may sleep for 5 to 30 ms: where a table must grow that several threads share, the kernel waits until no
/// CPU reads the old one any more (`expand_fdtable`, `synchronize_rcu`), and whoever opens something meanwhile waits too. To be called while
/// one thread has the table.
pub fn make_room() {
    let closed_again = eventfd(0, EventfdFlags::CLOEXEC);
    let _closed_again = closed_again.and_then(|open| fcntl_dupfd_cloexec(&open, ROOM - 1));
}

/// The calling thread's own table, while it is used.
#[derive(Debug)]
pub struct OwnTable {
    table: &'static Table,
    /// The first number that is not kept. None: the kernel gave no table, and it is another thread's.
    behind: Option<u32>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for OwnTable {
    /// Closes what is left in it behind what is kept, all copies of others' descriptors: the kernel would do so when the thread is gone, which is
    /// later than whoever waits for its work is told. With what is kept it does.
    fn drop(&mut self) {
        *self.table.is_there.write() = false;
        self.behind.into_iter().for_each(|behind| _ = close_range(behind, u32::MAX, 0));
    }
}

/// Closes a range of numbers in the calling thread's table, both ends included; with `CLOSE_RANGE_UNSHARE` in a copy of the table, which it
/// then has to itself.
fn close_range(first: u32, last: u32, flags: libc::c_uint) -> bool {
    // SAFETY: the call takes three numbers. What it closes belongs to other threads, which keep it in their tables, or to nobody any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
}

/// A descriptor that threads with different tables hand to each other.
#[derive(Debug)]
pub struct HandedFd {
    /// Where it was opened.
    table: &'static Table,
    /// What it is called there.
    number: RawFd,
    /// And elsewhere.
    copies: Mutex<Vec<(&'static Table, RawFd)>>,
}

impl HandedFd {
    /// Makes sure that the calling thread has it. What [`AsFd`] gives is no open file where this fails.
    pub fn reach(&self) -> io::Result<RawFd> {
        if self.table.is_here() {
            return Ok(self.number);
        }
        let mut copies = self.copies.lock();
        if let Some((_, number)) = copies.iter().find(|(table, _)| table.is_here()) {
            return Ok(*number);
        }
        let number = self.table.fetch(self.number)?.into_raw_fd();
        copies.push((Table::here(), number));
        Ok(number)
    }
}

impl From<OwnedFd> for HandedFd {
    /// Of a descriptor that the calling thread has opened.
    fn from(opened: OwnedFd) -> Self {
        Self { table: Table::here(), number: opened.into_raw_fd(), copies: Mutex::default() }
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
        for (table, number) in self.copies.get_mut().drain(..) {
            table.let_go(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::{File, read_dir, read_link};
    use std::io::{Read, Seek, Write};
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::time::Duration;
    use testkit::program::left_out;

    /// A file whose path has `text` in it: no file of another test has the same.
    fn file(text: &str) -> HandedFd {
        let mut file = File::from(memfd_create(text, MemfdFlags::CLOEXEC).expect("a file"));
        file.write_all(text.as_bytes()).expect("written");
        HandedFd::from(OwnedFd::from(file))
    }

    /// Whoever holds it is the only one here who opens many: below 256 all is kept.
    static TURN: Mutex<()> = Mutex::new(());

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

    fn kept() -> Option<Kept> {
        Kept::now().inspect_err(|_refused| left_out("descriptors cannot be handed on here")).ok()
    }

    fn path_of(file: &HandedFd) -> PathBuf {
        read_link(format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd())).expect("open")
    }

    #[test]
    fn what_is_under_way_is_in_no_second_table_and_what_was_there_before_is() {
        let _turn = TURN.lock();
        let before = file("before");
        let Some(kept) = kept() else { return };
        // Tests beside this one may have left a low number free meanwhile; nobody opens as many as this.
        let under_way: Vec<HandedFd> = (0..40).map(|number| file(&format!("under way {number}"))).collect();
        let (first, last) = (path_of(&before), path_of(&under_way[39]));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _own = kept.begin_own();
                assert!(open_here().contains(&first));
                assert!(!open_here().contains(&last));
                let second = file("of the second");
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let second = path_of(&second);
                        let _own = kept.begin_own();
                        assert!(open_here().contains(&first));
                        assert!(!open_here().contains(&second));
                    });
                });
            });
        });
    }

    #[test]
    fn a_descriptor_is_the_same_file_in_every_thread_and_is_closed_in_each() {
        let _turn = TURN.lock();
        let Some(kept) = kept() else { return };
        let mine = file("mine");
        let (hand, taken) = mpsc::sync_channel(1);
        let (let_go, is_let_go) = mpsc::sync_channel(1);
        let (mine, kept) = (&mine, &kept);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _own = kept.begin_own();
                let before = open_here();
                assert_eq!(text(mine), "mine");
                // Their numbers are, in the shared table, other files, or none.
                hand.send((0..20).map(|number| file(&format!("file {number}"))).collect::<Vec<_>>()).expect("taken");
                is_let_go.recv_timeout(Duration::from_secs(60)).expect("told");
                assert_eq!(open_here().len(), before.len() + 21, "nobody else closes in this thread's table");
                tidy();
                assert_eq!(open_here().len(), before.len() + 1);
            });
            let theirs = taken.recv().expect("handed over");
            for (number, file) in theirs.iter().enumerate() {
                assert_eq!(text(file), format!("file {number}"));
            }
            let paths: Vec<_> = theirs.iter().map(path_of).collect();
            assert!(paths.iter().all(|path| open_here().contains(path)));
            drop(theirs);
            assert!(!paths.iter().any(|path| open_here().contains(path)), "this thread's copies are closed");
            let_go.send(()).expect("heard");
        });
        assert_eq!(text(mine), "mine");
    }

    #[test]
    fn what_a_thread_has_opened_goes_with_it() {
        let _turn = TURN.lock();
        let Some(kept) = kept() else { return };
        let (path, gone) = std::thread::scope(|scope| {
            let own = || {
                let _own = kept.begin_own();
                let gone = file("gone");
                (path_of(&gone), gone)
            };
            scope.spawn(own).join().expect("no panic")
        });
        assert!(gone.reach().is_err());
        let answer = rustix::fs::fstat(&gone).expect_err("it is no file");
        assert_eq!(answer, rustix::io::Errno::BADF);
        assert!(!open_here().contains(&path));
    }
}
