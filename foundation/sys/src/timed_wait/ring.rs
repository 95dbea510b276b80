//! Waits of io_uring(7): for a timeout that was put into the ring, and for completions that never come.
//! The smallest ring that does that; not for input and output.

use super::{Wait, another_end, failed_with, is};
use rustix::io_uring::{IoringEnterFlags, IoringFeatureFlags, io_uring_params, io_uring_setup};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What the kernel takes for a time here, on every system.
#[repr(C)]
struct KernelTime {
    seconds: i64,
    nanoseconds: i64,
}

fn kernel_time(time: Duration) -> KernelTime {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    KernelTime { seconds, nanoseconds: time.subsec_nanos().into() }
}

fn set_up() -> io::Result<(OwnedFd, io_uring_params)> {
    let mut parameters = io_uring_params::default();
    // SAFETY: no flag is set, so no descriptor is passed.
    let ring = unsafe { io_uring_setup(1, &mut parameters) }?;
    // Linux 5.11 has both; older kernels are not worth a second way.
    if !parameters.features.contains(IoringFeatureFlags::EXT_ARG | IoringFeatureFlags::SINGLE_MMAP) {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    Ok((ring, parameters))
}

/// What `IORING_ENTER_EXT_ARG` passes (include/uapi/linux/io_uring.h).
#[repr(C)]
struct GetEvents {
    signals: u64,
    signals_bytes: u32,
    padding: u32,
    time: u64,
}

pub(super) fn enter() -> io::Result<Wait> {
    let (ring, _) = set_up()?;
    Ok(Box::new(move |time| {
        let time = kernel_time(time);
        let argument = GetEvents { signals: 0, signals_bytes: 8, padding: 0, time: &raw const time as u64 };
        let flags = (IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG).bits();
        let bytes = size_of::<GetEvents>();
        // SAFETY: argument and time live through the call; nothing is submitted.
        let status = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, ring.as_raw_fd(), 0, 1, flags, &raw const argument, bytes)
        };
        failed_with(libc::ETIME, status)
    }))
}

/// A part of the ring in memory.
struct Mapped {
    at: *mut u8,
    bytes: usize,
}

impl Mapped {
    fn new(ring: &OwnedFd, bytes: usize, offset: u64) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping where the kernel likes, of what the ring's own parameters describe.
        let at = unsafe { mmap(null_mut(), bytes, protection, flags, ring.as_fd(), offset) }?;
        Ok(Self { at: at.cast(), bytes })
    }

    /// The word at `offset`.
    fn word(&self, offset: u32) -> &AtomicU32 {
        debug_assert!(offset as usize + 4 <= self.bytes, "the kernel's offsets lie inside of what it maps");
        // SAFETY: mapped as long as `self` is, and aligned; the kernel and this thread use the word atomically.
        unsafe { AtomicU32::from_ptr(self.at.add(offset as usize).cast()) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, used by nobody any more.
        let _stays_mapped = unsafe { munmap(self.at.cast(), self.bytes) };
    }
}

/// A ring for one request.
struct Ring {
    words: Mapped,
    requests: Mapped,
    parameters: io_uring_params,
    descriptor: OwnedFd,
}

/// Offsets at which parts of a ring are mapped, and the request's number.
const WORDS: u64 = 0;
const REQUESTS: u64 = 0x1000_0000;
const OPERATION_TIMEOUT: u64 = 11;
const REQUEST_BYTES: usize = 64;
const COMPLETION_BYTES: u32 = 16;

impl Ring {
    fn new() -> io::Result<Self> {
        let (descriptor, parameters) = set_up()?;
        let submissions = parameters.sq_off.array + parameters.sq_entries * 4;
        let completions = parameters.cq_off.cqes + parameters.cq_entries * COMPLETION_BYTES;
        let words = Mapped::new(&descriptor, submissions.max(completions) as usize, WORDS)?;
        let requests = Mapped::new(&descriptor, parameters.sq_entries as usize * REQUEST_BYTES, REQUESTS)?;
        Ok(Self { words, requests, parameters, descriptor })
    }

    /// Puts a timeout in, waits for its completion, takes it out.
    fn wait(&self, time: &KernelTime) -> io::Result<()> {
        let (submission, completion) = (&self.parameters.sq_off, &self.parameters.cq_off);
        // Operation and flags, then descriptor -1; no count of completions; one time; no flags.
        let no_descriptor = u64::from(u32::MAX) << 32;
        let request = [OPERATION_TIMEOUT | no_descriptor, 0, time as *const KernelTime as u64, 1, 0, 0, 0, 0];
        // SAFETY: there is room for one request, which the kernel reads only when it is told of it.
        unsafe { self.requests.at.cast::<[u64; 8]>().write(request) };
        self.words.word(submission.array).store(0, Ordering::Relaxed);
        // ORDER: the kernel reads the request after it has seen the new tail.
        let tail = self.words.word(submission.tail);
        tail.store(tail.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        // SAFETY: request and time live through the call, which ends when the request has.
        let status = unsafe {
            let flags = IoringEnterFlags::GETEVENTS.bits();
            libc::syscall(libc::SYS_io_uring_enter, self.descriptor.as_raw_fd(), 1, 1, flags, 0, 0)
        };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // ORDER: the completion is read after the tail that announces it.
        let (head, tail) = (self.words.word(completion.head), self.words.word(completion.tail));
        let at = head.load(Ordering::Relaxed);
        if at == tail.load(Ordering::Acquire) {
            return Err(another_end());
        }
        let mask = self.words.word(completion.ring_mask).load(Ordering::Relaxed);
        // The result stands behind eight bytes of the caller's.
        let result = self.words.word(completion.cqes + (at & mask) * COMPLETION_BYTES + 8).load(Ordering::Relaxed);
        head.store(at.wrapping_add(1), Ordering::Release);
        is(libc::ETIME, io::Error::from_raw_os_error(result.cast_signed().wrapping_neg()))
    }
}

pub(super) fn timeout() -> io::Result<Wait> {
    let ring = Ring::new()?;
    Ok(Box::new(move |time| ring.wait(&kernel_time(time))))
}
