//! A word of shared memory that the kernel marks when this process dies, however it dies, before its memory is taken down
//! (`set_robust_list(2)`, the kernel's robust-futex-ABI document). For kills only: an orderly end clears the word.
//!
//! A thread of its own keeps the mark, since the kernel looks when a *thread* ends; it sleeps all its life. The list it
//! registers lies in private memory, so nothing that others write into the shared word can lead the kernel astray.

use crate::shared_words::SharedWords;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

/// Set by the kernel when the keeper has died.
pub const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;
/// Set by whoever wants to be woken then: without it the kernel wakes nobody. It wakes one sleeper.
pub const WAITERS: u32 = libc::FUTEX_WAITERS;

/// Keeps a mark. Dropped: the word is cleared and the thread gone.
#[derive(Debug)]
pub struct MarkKeeper {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

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
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for MarkKeeper {
    fn drop(&mut self) {
        // ORDER: Release pairs with the keeper's Acquire; it has nothing else to see than the flag itself.
        self.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _it_only_sleeps = thread.join();
        }
    }
}

/// `struct robust_list` of `linux/futex.h`.
#[repr(C)]
struct Node {
    next: *const Node,
}

/// `struct robust_list_head` of `linux/futex.h`.
#[repr(C)]
struct Head {
    list: Node,
    futex_offset: libc::c_long,
    pending: *const Node,
}

/// What the keeper does: register, mark, sleep, clear, restore.
fn keep(word: &AtomicU32, is_over: &AtomicBool, when_set: impl FnOnce()) {
    block_all_signals();
    let (head, node) = ring(word);
    if let Ok(previous) = exchange_list(head) {
        // ORDER: SeqCst: whoever is told of it by `when_set` is to see it.
        word.store(thread_id(), Ordering::SeqCst);
        when_set();
        // ORDER: Acquire pairs with the drop's Release.
        while !is_over.load(Ordering::Acquire) {
            std::thread::park();
        }
        word.store(0, Ordering::Release);
        let _restored = exchange_list(previous);
    }
    // SAFETY: both came from Box::into_raw, and the kernel no longer has the list: restored, or never accepted.
    unsafe {
        drop(Box::from_raw(node));
        drop(Box::from_raw(head));
    }
}

/// A list of one node whose word is `word`, both on the heap.
fn ring(word: &AtomicU32) -> (*mut Head, *mut Node) {
    let empty = Head { list: Node { next: std::ptr::null() }, futex_offset: 0, pending: std::ptr::null() };
    let head = Box::into_raw(Box::new(empty));
    let node = Box::into_raw(Box::new(Node { next: head.cast_const().cast() }));
    // SAFETY: `head` is a live allocation of ours that nobody else uses yet. The one node closes the ring; its word lies
    // `futex_offset` bytes from it, wherever that is.
    unsafe {
        (*head).list.next = node;
        (*head).futex_offset = (word.as_ptr() as isize).wrapping_sub(node as isize) as libc::c_long;
    }
    (head, node)
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

    #[test]
    fn a_thread_that_ends_without_a_word_leaves_its_mark_behind() {
        let memory = memory();
        let marked = Arc::clone(&memory);
        let thread = std::thread::spawn(move || {
            let (head, _node) = ring(marked.half(2));
            exchange_list(head).expect("a robust list");
            marked.half(2).store(thread_id(), Ordering::SeqCst);
        });
        thread.join().expect("no panic");
        assert_eq!(memory.half(2).load(Ordering::SeqCst), OWNER_DIED);
    }
}
