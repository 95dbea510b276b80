//! Waits for descriptors on which nothing happens: poll(2), ppoll(2), select(2), pselect(2), epoll_wait(2),
//! epoll_pwait2(2), and a socket's receive time-out (socket(7)).

use super::{Wait, is, milliseconds, nothing_came, timespec, timeval};
use rustix::event::epoll::{CreateFlags, create};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::ptr::{null, null_mut};

pub(super) fn poll() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        // SAFETY: no descriptors are passed.
        nothing_came(unsafe { libc::poll(null_mut(), 0, milliseconds(time)) })
    }))
}

pub(super) fn ppoll() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        let time = timespec(time);
        // SAFETY: no descriptors and no mask are passed; the time lives through the call.
        nothing_came(unsafe { libc::ppoll(null_mut(), 0, &time, null()) })
    }))
}

pub(super) fn select() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        let mut time = timeval(time);
        // SAFETY: no descriptors are passed; the time is ours to be overwritten.
        nothing_came(unsafe { libc::select(0, null_mut(), null_mut(), null_mut(), &mut time) })
    }))
}

pub(super) fn pselect() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        let time = timespec(time);
        // SAFETY: no descriptors and no mask are passed; the time lives through the call.
        nothing_came(unsafe { libc::pselect(0, null_mut(), null_mut(), null_mut(), &time, null()) })
    }))
}

pub(super) fn epoll_wait() -> io::Result<Wait> {
    let epoll = create(CreateFlags::CLOEXEC)?;
    Ok(Box::new(move |time| {
        let mut event = MaybeUninit::<libc::epoll_event>::uninit();
        // SAFETY: there is room for the one event that may be told.
        nothing_came(unsafe { libc::epoll_wait(epoll.as_raw_fd(), event.as_mut_ptr(), 1, milliseconds(time)) })
    }))
}

/// Linux 5.11. The C library of some years has no name for it.
pub(super) fn epoll_pwait2() -> io::Result<Wait> {
    let epoll = create(CreateFlags::CLOEXEC)?;
    let wait = move |time| {
        let mut event = MaybeUninit::<libc::epoll_event>::uninit();
        let time = timespec(time);
        // SAFETY: there is room for the one event that may be told; the time lives through the call; there is no mask.
        let status = unsafe {
            let no_mask = null::<libc::sigset_t>();
            libc::syscall(libc::SYS_epoll_pwait2, epoll.as_raw_fd(), event.as_mut_ptr(), 1, &raw const time, no_mask, 8)
        };
        nothing_came(status as i32)
    };
    wait(std::time::Duration::ZERO)?;
    Ok(Box::new(wait))
}

pub(super) fn receive() -> io::Result<Wait> {
    let (socket, silent) = UnixDatagram::pair()?;
    Ok(Box::new(move |time| {
        socket.set_read_timeout(Some(time))?;
        let received = socket.recv(&mut [0]);
        // The other end stays open as long as this one waits.
        let _silent = &silent;
        match received {
            Ok(_) => Err(super::another_end()),
            Err(error) => is(libc::EAGAIN, error),
        }
    }))
}
