//! A word of shared memory that the kernel marks when this process dies, however it dies, before its memory is taken down
//! (`set_robust_list(2)`, the kernel's robust-futex-ABI document). For kills only: an orderly end clears the word.
//!
//! The kernel looks when a *thread* ends, so a thread keeps the mark: one of its own, which sleeps all its life, or the first one of a
//! program that knows of no better use for its list. The list lies in private memory, so nothing that others write into the shared word
//! can lead the kernel astray.

use crate::shared_words::SharedWords;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, Ordering};
use std::thread::JoinHandle;

/// Set by the kernel when the keeper has died.
pub const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;
/// Set by whoever wants to be woken then: without it the kernel wakes nobody. It wakes one sleeper.
pub const WAITERS: u32 = libc::FUTEX_WAITERS;

/// Keeps a mark. Dropped: the word is cleared, and the thread gone.
#[derive(Debug)]
pub struct MarkKeeper(Kept);

#[derive(Debug)]
enum Kept {
    ByFirstThread { memory: Arc<SharedWords>, index: usize },
    ByOwnThread { ending: Arc<AtomicBool>, thread: Option<JoinHandle<()>> },
}

/// The ring of this process's first thread.
static RING_OF_FIRST_THREAD: Ring = Ring::new();
/// Whether it holds a mark.
static IS_RING_TAKEN: AtomicBool = AtomicBool::new(false);

impl MarkKeeper {
    /// Puts a mark into the first half of word `index` of `memory`, soon: by a thread that nobody waits for, which then calls `when_set`.
    /// Fails where there is no thread to be had; where it is the robust list that is not, the word stays as it was. Then deaths have to
    /// be noticed in other ways.
    pub fn start(memory: Arc<SharedWords>, index: usize, when_set: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ending);
        // LIMIT: it runs a dozen frames; the standard library's own start of a thread takes most of this.
        let thread = std::thread::Builder::new()
            .name("mark".to_owned())
            .stack_size(64 << 10)
            .spawn(move || keep(memory.half(index), &is_over, when_set))?;
        Ok(Self(Kept::ByOwnThread { ending, thread: Some(thread) }))
    }

    /// Puts the mark there at once, kept by the calling thread. None where that is not the first of its process, whose end is the
    /// process's, or keeps another mark: a thread has one list.
    ///
    /// The list that the C library had is not put back: for programs whose first thread uses none of its robust mutexes
    /// (`pthread_mutexattr_setrobust(3)`).
    pub fn on_first_thread(memory: &Arc<SharedWords>, index: usize) -> Option<Self> {
        // ORDER: AcqRel: who takes the ring sees it as the one before left it.
        if thread_id() != std::process::id() || IS_RING_TAKEN.swap(true, Ordering::AcqRel) {
            return None;
        }
        let word = memory.half(index);
        RING_OF_FIRST_THREAD.close_around(word);
        if exchange_list(RING_OF_FIRST_THREAD.head()).is_err() {
            IS_RING_TAKEN.store(false, Ordering::Release);
            return None;
        }
        // ORDER: SeqCst: whoever is told of it is to see it.
        word.store(thread_id(), Ordering::SeqCst);
        Some(Self(Kept::ByFirstThread { memory: Arc::clone(memory), index }))
    }
}

impl Drop for MarkKeeper {
    fn drop(&mut self) {
        match &mut self.0 {
            Kept::ByFirstThread { memory, index } => {
                memory.half(*index).store(0, Ordering::Release);
                RING_OF_FIRST_THREAD.open();
                // ORDER: Release pairs with the next one's swap.
                IS_RING_TAKEN.store(false, Ordering::Release);
            }
            Kept::ByOwnThread { ending, thread } => {
                // ORDER: Release pairs with the keeper's Acquire; it has nothing else to see than the flag itself.
                ending.store(true, Ordering::Release);
                if let Some(thread) = thread.take() {
                    thread.thread().unpark();
                    let _it_only_sleeps = thread.join();
                }
            }
        }
    }
}

/// `struct robust_list` of `linux/futex.h`.
#[repr(C)]
struct Node {
    next: AtomicPtr<Self>,
}

impl Node {
    const fn new() -> Self {
        Self { next: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

/// `struct robust_list_head` of `linux/futex.h`.
#[repr(C)]
struct Head {
    list: Node,
    futex_offset: AtomicIsize,
    pending: AtomicPtr<Node>,
}

/// A list of at most one node. Our atomics are for the compiler: the kernel reads them when the thread is no more.
struct Ring {
    head: Head,
    node: Node,
}

impl Ring {
    const fn new() -> Self {
        let pending = AtomicPtr::new(std::ptr::null_mut());
        let head = Head { list: Node::new(), futex_offset: AtomicIsize::new(0), pending };
        Self { head, node: Node::new() }
    }

    fn head(&self) -> *mut Head {
        (&raw const self.head).cast_mut()
    }

    /// Its one node stands for `word`, which lies `futex_offset` bytes from it, wherever that is.
    fn close_around(&self, word: &AtomicU32) {
        let node = &raw const self.node;
        self.head.futex_offset.store((word.as_ptr() as isize).wrapping_sub(node as isize), Ordering::Relaxed);
        self.node.next.store(self.head().cast(), Ordering::Relaxed);
        self.head.list.next.store(node.cast_mut(), Ordering::Release);
    }

    /// Without a node.
    fn open(&self) {
        self.head.list.next.store(self.head().cast(), Ordering::Release);
    }
}

/// What the keeper does: register, mark, sleep, clear, restore.
fn keep(word: &AtomicU32, is_over: &AtomicBool, when_set: impl FnOnce()) {
    block_all_signals();
    let ring = Ring::new();
    ring.close_around(word);
    if let Ok(previous) = exchange_list(ring.head()) {
        let _ring_ends_later = Restored(previous);
        // ORDER: SeqCst: whoever is told of it by `when_set` is to see it.
        word.store(thread_id(), Ordering::SeqCst);
        when_set();
        // ORDER: Acquire pairs with the drop's Release.
        while !is_over.load(Ordering::Acquire) {
            std::thread::park();
        }
        word.store(0, Ordering::Release);
    }
}

/// The list that a thread had before; dropped, it has it again.
struct Restored(*mut Head);

impl Drop for Restored {
    fn drop(&mut self) {
        let _one_that_it_had = exchange_list(self.0);
    }
}

/// Signals of the process go to its other threads: a handler of a program that only links us could need more stack than
/// this one has.
fn block_all_signals() {
    // SAFETY: a signal set of zeros is a valid one, both calls get pointers to it alone, and neither can fail so.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// Registers `head` as the calling thread's robust list and returns the one it had (glibc's).
fn exchange_list(head: *mut Head) -> io::Result<*mut Head> {
    let mut previous: *mut Head = std::ptr::null_mut();
    let mut bytes: usize = 0;
    // SAFETY: both pointers are to live variables of the types that get_robust_list(2) fills.
    if unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut previous, &mut bytes) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `head` is a whole list that stays in place until the next exchange, or the list that was there before.
    match unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) } {
        0 => Ok(previous),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Arc<SharedWords> {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(64).expect("room");
        Arc::new(SharedWords::map(&file, 8).expect("map"))
    }

    /// A keeper whose mark is there.
    fn keeper(memory: &Arc<SharedWords>, index: usize) -> MarkKeeper {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let when_set = move || tell.send(()).expect("somebody waits");
        let keeper = MarkKeeper::start(Arc::clone(memory), index, when_set).expect("a keeper");
        told.recv().expect("it is set");
        keeper
    }

    #[test]
    fn a_mark_is_there_while_kept_and_cleared_afterwards() {
        let memory = memory();
        let keeper = keeper(&memory, 2);
        let mark = memory.half(2).load(Ordering::SeqCst);
        assert!(mark != 0 && mark & OWNER_DIED == 0);
        drop(keeper);
        assert_eq!(memory.half(2).load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_keeper_that_goes_at_once_leaves_no_mark() {
        let memory = memory();
        for _ in 0..100 {
            drop(MarkKeeper::start(Arc::clone(&memory), 2, || {}).expect("a keeper"));
            assert_eq!(memory.half(2).load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn the_keeper_leaves_signals_to_others() {
        let memory = memory();
        let _keeper = keeper(&memory, 3);
        let thread = memory.half(3).load(Ordering::SeqCst);
        let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).expect("it lives");
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a mask");
        let blocked = u64::from_str_radix(blocked.trim(), 16).expect("a mask");
        let terminate = 1 << (libc::SIGTERM - 1);
        assert_eq!(blocked & terminate, terminate, "{blocked:x}");
    }

    /// What becomes of the word when the first thread, and only one, of another process does `work` and then dies by a kill.
    fn dies_after(memory: &Arc<SharedWords>, work: impl FnOnce() -> bool) -> u32 {
        // SAFETY: the child has this thread alone and does nothing that allocates or locks until it is killed.
        match unsafe { libc::fork() } {
            0 => {
                let end = if work() { libc::SIGKILL } else { libc::SIGABRT };
                // SAFETY: both only end this process.
                unsafe {
                    libc::kill(libc::getpid(), end);
                    libc::_exit(1)
                }
            }
            child => {
                let mut status = 0;
                // SAFETY: `child` is a child of this process, and `status` is ours.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(libc::WTERMSIG(status), libc::SIGKILL, "it found something else than it should");
                memory.half(2).load(Ordering::SeqCst)
            }
        }
    }

    #[test]
    fn a_first_thread_that_is_killed_leaves_its_mark_behind() {
        let memory = memory();
        let mark = dies_after(&memory, || {
            let keeper = MarkKeeper::on_first_thread(&memory, 2);
            let is_alone = MarkKeeper::on_first_thread(&memory, 3).is_none();
            std::mem::forget(keeper);
            is_alone && memory.half(2).load(Ordering::SeqCst) == std::process::id()
        });
        assert_eq!(mark, OWNER_DIED);
        assert_eq!(memory.half(3).load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_first_thread_that_keeps_no_mark_any_more_leaves_none() {
        let memory = memory();
        let mark = dies_after(&memory, || {
            drop(MarkKeeper::on_first_thread(&memory, 3));
            let again = MarkKeeper::on_first_thread(&memory, 2);
            let is_kept = again.is_some();
            drop(again);
            // Looks like its own all the same, but is no longer on its list.
            memory.half(2).store(std::process::id(), Ordering::SeqCst);
            is_kept
        });
        assert_eq!((mark & OWNER_DIED, memory.half(3).load(Ordering::SeqCst)), (0, 0));
    }

    #[test]
    fn other_threads_keep_no_mark_beside_their_work() {
        let memory = memory();
        std::thread::scope(|scope| {
            let kept = scope.spawn(|| MarkKeeper::on_first_thread(&memory, 2).is_some());
            assert!(!kept.join().expect("no panic"));
        });
        assert_eq!(memory.half(2).load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_thread_that_ends_without_a_word_leaves_its_mark_behind() {
        let memory = memory();
        let marked = Arc::clone(&memory);
        let thread = std::thread::spawn(move || {
            // Never freed: the kernel looks at it when the thread is gone.
            let ring = Box::leak(Box::new(Ring::new()));
            ring.close_around(marked.half(2));
            exchange_list(ring.head()).expect("a robust list");
            marked.half(2).store(thread_id(), Ordering::SeqCst);
        });
        thread.join().expect("no panic");
        assert_eq!(memory.half(2).load(Ordering::SeqCst), OWNER_DIED);
    }
}
