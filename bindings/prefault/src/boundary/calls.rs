//! Calls of the kernel, past every library: none touches errno, takes memory, or can be a function of the program's.
#![expect(unsafe_code, reason = "a boundary: the kernel takes addresses as numbers")]

use crate::kinds::FileFacts;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use libc::{c_int, off_t};
use syscalls::Sysno;

/// errno(3).
pub type Errno = c_int;

/// Makes a call whose arguments are numbers, or addresses that the program promised to be good for it.
pub fn call(number: Sysno, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: every caller passes on a call that the program made with these arguments, or one of this file's, argued there.
    unsafe { syscalls::syscall6(number, a, b, c, d, e, f) }.map_err(syscalls::Errno::into_raw)
}

fn number(value: c_int) -> usize {
    value as isize as usize
}

/// mmap(2).
pub fn map(
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> Result<usize, Errno> {
    let offset = offset as usize;
    call(Sysno::mmap, [address, bytes, number(protection), number(flags), number(file), offset])
}

/// munmap(2).
pub fn unmap(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::munmap, [start, bytes, 0, 0, 0, 0]).map(drop)
}

/// LIMIT: the libc crate has no name for them on every target (madvise(2), Linux 5.14).
const MADV_POPULATE_READ: usize = 22;
const MADV_POPULATE_WRITE: usize = 23;

/// Makes all pages present and writable; changes no byte. The pages of a file that is mapped shared become dirty.
pub fn populate(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::madvise, [start, bytes, MADV_POPULATE_WRITE, 0, 0, 0]).map(drop)
}

/// Makes all pages present as they are read.
pub fn populate_for_reading(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::madvise, [start, bytes, MADV_POPULATE_READ, 0, 0, 0]).map(drop)
}

/// Asks for transparent huge pages.
pub fn ask_huge(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::madvise, [start, bytes, number(libc::MADV_HUGEPAGE), 0, 0, 0]).map(drop)
}

/// MLOCK_ONFAULT of mlock2(2): pages are locked as they become present.
const ON_FAULT: usize = 1;

/// Locks what is there and what comes.
pub fn lock_on_fault(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::mlock2, [start, bytes, ON_FAULT, 0, 0, 0]).map(drop)
}

/// Sets a memory policy for a range. `nodes` is a bit for each of 64.
pub fn set_policy(start: usize, bytes: usize, policy: u64, nodes: u64) -> Result<(), Errno> {
    // LIE: the kernel reads one bit less than the count.
    let (mask, bits) = if nodes == 0 { (0, 0) } else { ((&raw const nodes).expose_provenance(), 65) };
    call(Sysno::mbind, [start, bytes, policy as usize, mask, bits, 0]).map(drop)
}

/// Whether the page at an address is present.
pub fn is_present(page: usize) -> Option<bool> {
    let mut answer = 0_u8;
    call(Sysno::mincore, [page, 1, (&raw mut answer).expose_provenance(), 0, 0, 0]).ok()?;
    Some(answer & 1 != 0)
}

/// What is behind a descriptor.
pub fn file_facts(file: c_int) -> Option<FileFacts> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let place = status.as_mut_ptr().expose_provenance();
    call(Sysno::fstat, [number(file), place, 0, 0, 0, 0]).ok()?;
    // SAFETY: zeroes are one, and the kernel has filled it.
    let status = unsafe { status.assume_init() };
    Some(FileFacts::of(&status, &file_system(file)?))
}

fn file_system(file: c_int) -> Option<libc::statfs> {
    let mut system = MaybeUninit::<libc::statfs>::zeroed();
    call(Sysno::fstatfs, [number(file), system.as_mut_ptr().expose_provenance(), 0, 0, 0, 0]).ok()?;
    // SAFETY: as above.
    Some(unsafe { system.assume_init() })
}

/// The size of the pages behind a descriptor on hugetlbfs.
pub fn block_bytes(file: c_int) -> Option<usize> {
    usize::try_from(file_system(file)?.f_bsize).ok()
}

/// The size of a System V segment that nobody else is attached to.
pub fn new_segment_bytes(segment: c_int) -> Option<usize> {
    let mut status = MaybeUninit::<libc::shmid_ds>::zeroed();
    let place = status.as_mut_ptr().expose_provenance();
    call(Sysno::shmctl, [number(segment), number(libc::IPC_STAT), place, 0, 0, 0]).ok()?;
    // SAFETY: as above.
    let status = unsafe { status.assume_init() };
    (status.shm_nattch == 1).then_some(status.shm_segsz)
}

/// Nanoseconds of a clock.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let _zero_then = call(Sysno::clock_gettime, [number(clock), (&raw mut time).expose_provenance(), 0, 0, 0, 0]);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The number of this process's PID namespace (namespaces(7)); none where there is no `/proc`.
pub fn namespace() -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let path = c"/proc/self/ns/pid".as_ptr().expose_provenance();
    let place = status.as_mut_ptr().expose_provenance();
    call(Sysno::newfstatat, [number(libc::AT_FDCWD), path, place, 0, 0, 0]).ok()?;
    // SAFETY: zeroes are one, and the kernel has filled it.
    Some(unsafe { status.assume_init() }.st_ino)
}

/// The begin of a file of `/proc`.
pub fn read_file(path: &core::ffi::CStr, bytes: &mut [u8]) -> Option<usize> {
    let flags = number(libc::O_RDONLY | libc::O_CLOEXEC);
    let path = path.as_ptr().expose_provenance();
    let file = call(Sysno::openat, [number(libc::AT_FDCWD), path, flags, 0, 0, 0]).ok()?;
    let read = call(Sysno::read, [file, bytes.as_mut_ptr().expose_provenance(), bytes.len(), 0, 0, 0]);
    let _closed = call(Sysno::close, [file, 0, 0, 0, 0, 0]);
    read.ok()
}

/// Whether the kernel populates on demand (Linux 5.14).
pub fn can_populate() -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let Ok(page) = map(0, 4096, protection, flags, -1, 0) else { return false };
    let can = populate(page, 4096).is_ok();
    let _ours = unmap(page, 4096);
    can
}

/// A page that a child of fork(2) finds empty, whatever its parent had in it.
pub fn page_of_process() -> Option<usize> {
    const MADV_WIPEONFORK: usize = 18;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let page = map(0, 4096, protection, flags, -1, 0).ok()?;
    if call(Sysno::madvise, [page, 4096, MADV_WIPEONFORK, 0, 0, 0]).is_err() {
        let _ours = unmap(page, 4096);
        return None;
    }
    Some(page)
}

/// Unlocks a range.
pub fn unlock(start: usize, bytes: usize) -> Result<(), Errno> {
    call(Sysno::munlock, [start, bytes, 0, 0, 0, 0]).map(drop)
}

/// The process.
pub fn process() -> u32 {
    call(Sysno::getpid, [0; 6]).map_or(0, |number| number as u32)
}

/// The thread.
pub fn thread() -> u32 {
    call(Sysno::gettid, [0; 6]).map_or(0, |number| number as u32)
}

/// The node of the CPU that this thread is on.
pub fn node() -> usize {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    let places = [(&raw mut cpu).expose_provenance(), (&raw mut node).expose_provenance(), 0, 0, 0, 0];
    call(Sysno::getcpu, places).map_or(0, |_| node as usize)
}

/// Waits until `word` is no longer `seen`, or for `nanoseconds`.
pub fn wait(word: &AtomicU32, seen: u32, nanoseconds: u64) {
    let time =
        libc::timespec { tv_sec: (nanoseconds / 1_000_000_000) as _, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
    let place = (&raw const time).expose_provenance();
    let word = word.as_ptr().expose_provenance();
    let _looked_at_again = call(Sysno::futex, [word, number(libc::FUTEX_WAIT), seen as usize, place, 0, 0]);
}

/// Wakes all that wait for `word`.
pub fn wake(word: &AtomicU32) {
    let word = word.as_ptr().expose_provenance();
    let _nobody_waits = call(Sysno::futex, [word, number(libc::FUTEX_WAKE), i32::MAX as usize, 0, 0, 0]);
}

/// Ends the process as abort(3) would.
pub fn abort() -> ! {
    loop {
        let _ends = call(Sysno::kill, [process() as usize, number(libc::SIGKILL), 0, 0, 0, 0]);
    }
}

/// Signals as the kernel has them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignalMask(u64);

/// Bytes of it.
const MASK_BYTES: usize = 8;

impl SignalMask {
    /// Holds back every signal of this thread; what was held before.
    pub fn hold_all() -> Self {
        let (all, mut before) = (u64::MAX, 0_u64);
        let places = [(&raw const all).expose_provenance(), (&raw mut before).expose_provenance()];
        let how = number(libc::SIG_SETMASK);
        let _cannot_fail = call(Sysno::rt_sigprocmask, [how, places[0], places[1], MASK_BYTES, 0, 0]);
        Self(before)
    }

    /// As it was.
    pub fn restore(self) {
        let place = (&raw const self.0).expose_provenance();
        let how = number(libc::SIG_SETMASK);
        let _cannot_fail = call(Sysno::rt_sigprocmask, [how, place, 0, MASK_BYTES, 0, 0]);
    }

    /// Whether a signal waits that this mask would let through, and that does something: ends the process, or is handled.
    pub fn is_any_waiting(self) -> bool {
        let mut waiting = 0_u64;
        let place = (&raw mut waiting).expose_provenance();
        let is_known = call(Sysno::rt_sigpending, [place, MASK_BYTES, 0, 0, 0, 0]).is_ok();
        let mut left = waiting & !self.0;
        while is_known && left != 0 {
            let signal = left.trailing_zeros() as c_int + 1;
            if does_something(signal) {
                return true;
            }
            left &= left - 1;
        }
        false
    }
}

/// Whether a signal that arrives would be noticed (signal(7)).
fn does_something(signal: c_int) -> bool {
    /// As the kernel has it: the handler, flags, restorer, mask.
    const WORDS: usize = 4;
    let mut action = [0_usize; WORDS];
    let place = action.as_mut_ptr().expose_provenance();
    if call(Sysno::rt_sigaction, [number(signal), 0, place, MASK_BYTES, 0, 0]).is_err() {
        return true;
    }
    let is_harmless = matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT);
    match action[0] {
        libc::SIG_IGN => false,
        libc::SIG_DFL => !is_harmless,
        _ => true,
    }
}

/// Keeps this thread to the CPUs of `mask` that it may use; where there is none, to those it has.
pub fn stay_on(mask: &[u64]) {
    let mut own = [0_u64; crate::ledger::MASK_WORDS];
    let bytes = size_of_val(&own);
    if call(Sysno::sched_getaffinity, [0, bytes, own.as_mut_ptr().expose_provenance(), 0, 0, 0]).is_err() {
        return;
    }
    own.iter_mut().zip(mask).for_each(|(own, mask)| *own &= mask);
    if own.iter().any(|&word| word != 0) {
        let _as_it_was = call(Sysno::sched_setaffinity, [0, bytes, own.as_ptr().expose_provenance(), 0, 0, 0]);
    }
}

/// A name for top(1), at most 15 bytes with the zero behind.
pub fn set_name(name: &core::ffi::CStr) {
    let place = name.as_ptr().expose_provenance();
    let _unnamed = call(Sysno::prctl, [number(libc::PR_SET_NAME), place, 0, 0, 0, 0]);
}

/// Gives way to the program, but not to everybody: a thread that must wait for all others before it can leave the address space would have
/// the program wait, too.
pub fn give_way() {
    const NICE: usize = 10;
    let parameter = libc::sched_param { sched_priority: 0 };
    let place = (&raw const parameter).expose_provenance();
    let _as_it_is = call(Sysno::sched_setscheduler, [0, number(libc::SCHED_BATCH), place, 0, 0, 0]);
    let _as_it_is = call(Sysno::setpriority, [number(libc::PRIO_PROCESS.cast_signed()), 0, NICE, 0, 0, 0]);
}

/// Opens a file, maps its first `bytes` shared, and closes it.
pub fn map_file(path: &core::ffi::CStr, bytes: usize) -> Result<usize, Errno> {
    let flags = number(libc::O_RDWR | libc::O_CLOEXEC);
    let place = path.as_ptr().expose_provenance();
    let file = call(Sysno::openat, [number(libc::AT_FDCWD), place, flags, 0, 0, 0])? as c_int;
    // A shorter file would end the process at the first word behind its end.
    let is_whole = file_size(file).is_some_and(|size| size >= bytes as u64);
    let mapped = match is_whole {
        true => map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file, 0),
        false => Err(libc::EINVAL),
    };
    let _closed = call(Sysno::close, [number(file), 0, 0, 0, 0, 0]);
    mapped
}

fn file_size(file: c_int) -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    call(Sysno::fstat, [number(file), status.as_mut_ptr().expose_provenance(), 0, 0, 0, 0]).ok()?;
    // SAFETY: zeroes are one, and the kernel has filled it.
    u64::try_from(unsafe { status.assume_init() }.st_size).ok()
}
