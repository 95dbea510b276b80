//! Waits for messages that nobody sends: mq_timedreceive(3), mq_timedsend(3), semtimedop(2), sigtimedwait(2), aio_suspend(3).

use super::{Wait, failed_with, moment_after, timespec};
use rustix::time::ClockId;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

/// A queue for one message of one byte, without a name: it ends with its descriptor.
fn queue() -> io::Result<OwnedFd> {
    let name = CString::new(format!("/mh-timers-{}", std::process::id())).expect("no NUL in it");
    // SAFETY: an all-zero mq_attr is valid.
    let mut limits: libc::mq_attr = unsafe { std::mem::zeroed() };
    limits.mq_maxmsg = 1;
    limits.mq_msgsize = 1;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: name and limits live through the call.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600, &raw mut limits) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the name lives through the call; the descriptor is open and nobody else's (it is one on Linux).
    unsafe {
        libc::mq_unlink(name.as_ptr());
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

pub(super) fn receive() -> io::Result<Wait> {
    let queue = queue()?;
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        let mut message = [0_u8; 1];
        let (to, none) = (message.as_mut_ptr().cast(), null_mut());
        // SAFETY: there is room for a message; the deadline lives through the call.
        let status = unsafe { libc::mq_timedreceive(queue.as_raw_fd(), to, message.len(), none, &deadline) };
        failed_with(libc::ETIMEDOUT, status as i64)
    }))
}

pub(super) fn send() -> io::Result<Wait> {
    let queue = queue()?;
    let message = [0_u8; 1];
    // SAFETY: the message lives through the call.
    if unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        // SAFETY: message and deadline live through the call.
        let status =
            unsafe { libc::mq_timedsend(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0, &deadline) };
        failed_with(libc::ETIMEDOUT, status.into())
    }))
}

/// A System V semaphore set, removed when it is dropped.
// LIE: it does not end with the process. Who is killed while it waits leaves one set behind, which `ipcs -s` shows.
struct SemaphoreSet(i32);

impl Drop for SemaphoreSet {
    fn drop(&mut self) {
        // SAFETY: takes numbers only.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}

pub(super) fn semaphore_set() -> io::Result<Wait> {
    // SAFETY: takes numbers only.
    let set = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
    if set < 0 {
        return Err(io::Error::last_os_error());
    }
    let set = SemaphoreSet(set);
    Ok(Box::new(move |time| {
        // The whole of it: a closure that named its number alone would let it be removed.
        let set = &set;
        let mut take = libc::sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 };
        let time = timespec(time);
        // By number: the C library's name for it is missing from bindings.
        // SAFETY: operation and time live through the call.
        let status = unsafe { libc::syscall(libc::SYS_semtimedop, set.0, &raw mut take, 1, &raw const time) };
        failed_with(libc::EAGAIN, status)
    }))
}

pub(super) fn signal() -> io::Result<Wait> {
    // SAFETY: an all-zero sigset_t is a valid object for sigemptyset to fill.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: it is live and ours.
    unsafe { libc::sigemptyset(&mut none) };
    Ok(Box::new(move |time| {
        let time = timespec(time);
        // SAFETY: set and time live through the call; what arrived is not wanted.
        failed_with(libc::EAGAIN, unsafe { libc::sigtimedwait(&none, null_mut(), &time) }.into())
    }))
}

/// A read of a pipe into which nobody writes.
struct SilentRead {
    request: Box<libc::aiocb>,
    _byte: Box<[u8; 1]>,
    _reader: io::PipeReader,
    writer: Option<io::PipeWriter>,
}

impl SilentRead {
    fn start() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut byte = Box::new([0_u8; 1]);
        // SAFETY: an all-zero aiocb is valid: no signal, no priority.
        let mut request: Box<libc::aiocb> = Box::new(unsafe { std::mem::zeroed() });
        request.aio_fildes = reader.as_raw_fd();
        request.aio_buf = byte.as_mut_ptr().cast();
        request.aio_nbytes = 1;
        request.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        // SAFETY: request and buffer stay where they are until the read has ended, for which `drop` waits.
        if unsafe { libc::aio_read(&mut *request) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { request, _byte: byte, _reader: reader, writer: Some(writer) })
    }

    fn wait(&self, time: *const libc::timespec) -> i32 {
        let list = [&raw const *self.request];
        // SAFETY: the request lives; the time lives through the call or is null.
        unsafe { libc::aio_suspend(list.as_ptr(), 1, time) }
    }
}

impl Drop for SilentRead {
    fn drop(&mut self) {
        // Without a writer the read ends.
        self.writer = None;
        self.wait(null());
    }
}

pub(super) fn asynchronous_read() -> io::Result<Wait> {
    let read = SilentRead::start()?;
    Ok(Box::new(move |time| failed_with(libc::EAGAIN, read.wait(&timespec(time)).into())))
}
