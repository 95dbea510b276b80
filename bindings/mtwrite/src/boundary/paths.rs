//! The functions with a path: what it leads to may be a file that is queued.
#![expect(unsafe_code, reason = "a boundary: functions that the program calls instead of libc's, with its pointers")]

use crate::boundary::memory;
use crate::boundary::next::{hook, inside, making, making_number};
use crate::end;
use crate::identities::{self, FileIdentity};
use crate::shim::{self, FileCare};
use libc::{
    AT_FDCWD, AT_SYMLINK_NOFOLLOW, DIR, FILE, dev_t, mode_t, off_t, off64_t, size_t, ssize_t, timeval, utimbuf,
};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, OFlags, Stat};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// What a path leads to. A bad one is the kernel's to refuse.
fn status(directory: c_int, path: *const c_char, flags: c_int) -> Option<Stat> {
    let flags = AtFlags::from_bits_retain(flags.cast_unsigned()) & (AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH);
    if directory < 0 && directory != AT_FDCWD {
        return None;
    }
    // SAFETY: the program leaves it as it is during its call.
    let path = unsafe { memory::string(path) }?;
    // SAFETY: not -1; whether it is open is the kernel's to say.
    let directory = unsafe { BorrowedFd::borrow_raw(directory) };
    rustix::fs::statat(directory, path, flags).ok()
}

/// Sees to the file that a path leads to.
pub(super) fn before_path(directory: c_int, path: *const c_char, flags: c_int, care: FileCare) {
    inside((), || shim::before_path(care, || status(directory, path, flags)));
}

fn renaming(directory: c_int, path: *const c_char, next: impl FnOnce() -> c_int) -> c_int {
    inside((), || shim::before_rename(|| status(directory, path, AT_SYMLINK_NOFOLLOW)));
    next()
}

/// For a call that changes or reads what the path leads to.
fn behind<Outcome>(directory: c_int, path: *const c_char, flags: c_int, next: impl FnOnce() -> Outcome) -> Outcome {
    before_path(directory, path, flags, FileCare::Now);
    next()
}

fn behind_link<Outcome>(path: *const c_char, next: impl FnOnce() -> Outcome) -> Outcome {
    behind(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, next)
}

fn behind_file<Outcome>(path: *const c_char, next: impl FnOnce() -> Outcome) -> Outcome {
    behind(AT_FDCWD, path, 0, next)
}

/// For a call that opens it, unseen by us.
fn behind_stream(path: *const c_char, next: impl Fn() -> *mut FILE) -> *mut FILE {
    before_path(AT_FDCWD, path, 0, FileCare::ForGood);
    making(|stream| stream.is_null(), next)
}

/// For a call that is not followed any further.
fn behind_all<Outcome>(next: impl FnOnce() -> Outcome) -> Outcome {
    inside((), end::drain_all);
    next()
}

hook! {
    fn chmod(path: *const c_char, mode: mode_t) -> c_int, next => behind_file(path, next);
    fn fchmodat(directory: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int, next => behind(directory, path, flags, next);
    fn lchmod(path: *const c_char, mode: mode_t) -> c_int, next => behind_link(path, next);
    fn chown(path: *const c_char, user: libc::uid_t, group: libc::gid_t) -> c_int, next => behind_file(path, next);
    fn lchown(path: *const c_char, user: libc::uid_t, group: libc::gid_t) -> c_int, next => behind_link(path, next);
    fn fchownat(directory: c_int, path: *const c_char, user: libc::uid_t, group: libc::gid_t, flags: c_int) -> c_int, next => behind(directory, path, flags, next);
    fn utime(path: *const c_char, times: *const utimbuf) -> c_int, next => behind_file(path, next);
    fn utimes(path: *const c_char, times: *const timeval) -> c_int, next => behind_file(path, next);
    fn lutimes(path: *const c_char, times: *const timeval) -> c_int, next => behind_link(path, next);
    fn futimesat(directory: c_int, path: *const c_char, times: *const timeval) -> c_int, next => {
        if path.is_null() { super::descriptors::settled(directory, next) } else { behind(directory, path, 0, next) }
    };
    fn setxattr(path: *const c_char, name: *const c_char, value: *const c_void, count: size_t, flags: c_int) -> c_int, next => behind_file(path, next);
    fn lsetxattr(path: *const c_char, name: *const c_char, value: *const c_void, count: size_t, flags: c_int) -> c_int, next => behind_link(path, next);
    fn removexattr(path: *const c_char, name: *const c_char) -> c_int, next => behind_file(path, next);
    fn lremovexattr(path: *const c_char, name: *const c_char) -> c_int, next => behind_link(path, next);
    fn getxattr(path: *const c_char, name: *const c_char, value: *mut c_void, count: size_t) -> ssize_t, next => behind_file(path, next);
    fn lgetxattr(path: *const c_char, name: *const c_char, value: *mut c_void, count: size_t) -> ssize_t, next => behind_link(path, next);
    fn listxattr(path: *const c_char, names: *mut c_char, count: size_t) -> ssize_t, next => behind_file(path, next);
    fn llistxattr(path: *const c_char, names: *mut c_char, count: size_t) -> ssize_t, next => behind_link(path, next);
    fn truncate(path: *const c_char, length: off_t) -> c_int, next => behind_file(path, next);
    fn truncate64(path: *const c_char, length: off64_t) -> c_int, next => behind_file(path, next);
    // A name that appears in another place says that the file is ready.
    fn rename(from: *const c_char, to: *const c_char) -> c_int, next => renaming(AT_FDCWD, from, next);
    fn renameat(from: c_int, old: *const c_char, to: c_int, new: *const c_char) -> c_int, next => renaming(from, old, next);
    fn access(path: *const c_char, how: c_int) -> c_int, next => behind_file(path, next);
    fn eaccess(path: *const c_char, how: c_int) -> c_int, next => behind_file(path, next);
    fn euidaccess(path: *const c_char, how: c_int) -> c_int, next => behind_file(path, next);
    fn faccessat(directory: c_int, path: *const c_char, how: c_int, flags: c_int) -> c_int, next => behind(directory, path, flags, next);
    fn renameat2(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_uint) -> c_int, next => behind_all(next);
    fn link(from: *const c_char, to: *const c_char) -> c_int, next => behind_link(from, next);
    fn linkat(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_int) -> c_int, next => {
        let is_followed = flags & libc::AT_SYMLINK_FOLLOW != 0;
        behind(from, old, if is_followed { 0 } else { AT_SYMLINK_NOFOLLOW }, next)
    };
    fn open_by_handle_at(mount: c_int, handle: *mut c_void, flags: c_int) -> c_int, next => behind_all(|| making_number(next));
    fn opendir(path: *const c_char) -> *mut DIR, next => making(|directory| directory.is_null(), next);
}

/// Opens; before, where that empties a file, and after, where it may lead to one that is queued: whoever may open that was waiting, too,
/// so it is opened once more.
fn opening(directory: c_int, path: *const c_char, flags: c_int, next: impl Fn() -> c_int) -> c_int {
    let open_flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let is_exclusive = open_flags.contains(OFlags::CREATE | OFlags::EXCL);
    if open_flags.contains(OFlags::TRUNC) && !is_exclusive {
        before_path(directory, path, 0, FileCare::ForGood);
    }
    let finished = identities::finished();
    let opened = || {
        let number = making_number(&next);
        (number, number >= 0 && inside(false, || shim::opened(number, open_flags, finished)))
    };
    let (number, is_early) = opened();
    if is_early {
        // SAFETY: a number that the program does not know yet.
        let _it_was_there = unsafe { rustix::io::try_close(number) };
        return opened().0;
    }
    // SAFETY: the thread's own errno.
    let is_refused = number < 0 && unsafe { *libc::__errno_location() } == libc::EACCES;
    if is_refused && !is_exclusive && inside(false, || shim::any_since(finished)) {
        before_path(directory, path, 0, FileCare::Now);
        return opened().0;
    }
    number
}

const CREATING: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

hook! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => opening(AT_FDCWD, path, flags, next);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => opening(AT_FDCWD, path, flags, next);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => opening(directory, path, flags, next);
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => opening(directory, path, flags, next);
    fn creat(path: *const c_char, mode: mode_t) -> c_int, next => opening(AT_FDCWD, path, CREATING, next);
    fn creat64(path: *const c_char, mode: mode_t) -> c_int, next => opening(AT_FDCWD, path, CREATING, next);
    fn __open_2(path: *const c_char, flags: c_int) -> c_int, next => opening(AT_FDCWD, path, flags, next);
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int, next => opening(AT_FDCWD, path, flags, next);
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int, next => opening(directory, path, flags, next);
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int, next => opening(directory, path, flags, next);
    fn openat2(directory: c_int, path: *const c_char, how: *const u64, size: size_t) -> c_int, next => {
        // SAFETY: numbers, which may be any; the program leaves them as they are during its call. The first of its words is the flags.
        let flags = unsafe { memory::values(how, 1) }.map_or(0, |words| words[0]);
        opening(directory, path, flags as c_int, next)
    };
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE, next => behind_stream(path, next);
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE, next => behind_stream(path, next);
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE, next => behind_all(next);
    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE, next => behind_all(next);
    fn fdopen(number: c_int, mode: *const c_char) -> *mut FILE, next => {
        inside((), || shim::release(number));
        next()
    };
}

/// Looks, and once more where it was too early.
fn looked(next: impl Fn() -> c_int, found: impl Fn() -> (FileIdentity, u32)) -> c_int {
    let finished = identities::finished();
    let outcome = next();
    let is_early = outcome == 0
        && inside(false, || {
            shim::any_since(finished) && {
                let (identity, mode) = found();
                shim::was_behind(identity, mode, finished)
            }
        });
    if is_early { next() } else { outcome }
}

/// What was found.
///
/// # Safety
/// A call that fills it in has succeeded.
unsafe fn found(status: *const libc::stat) -> (FileIdentity, u32) {
    // SAFETY: filled in, as the caller promises.
    let status = unsafe { &*status };
    (FileIdentity { device: status.st_dev, inode: status.st_ino }, status.st_mode)
}

fn looked_at(status: *const libc::stat, next: impl Fn() -> c_int) -> c_int {
    // SAFETY: `looked` asks only after success. On the machines that we know, stat and stat64 are one structure.
    looked(next, || unsafe { found(status) })
}

hook! {
    fn stat(path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn stat64(path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn lstat(path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn lstat64(path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn fstat(number: c_int, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn fstat64(number: c_int, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn fstatat(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int, next => looked_at(status, next);
    fn fstatat64(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int, next => looked_at(status, next);
    fn __xstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __xstat64(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __lxstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __lxstat64(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __fxstat(version: c_int, number: c_int, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __fxstat64(version: c_int, number: c_int, status: *mut libc::stat) -> c_int, next => looked_at(status, next);
    fn __fxstatat(version: c_int, directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int, next => looked_at(status, next);
    fn __fxstatat64(version: c_int, directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int, next => looked_at(status, next);
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut libc::statx) -> c_int, next => looked(next, || {
        // SAFETY: `looked` asks only after success, which has filled it in.
        let status = unsafe { &*status };
        let device: dev_t = libc::makedev(status.stx_dev_major, status.stx_dev_minor);
        (FileIdentity { device, inode: status.stx_ino }, u32::from(status.stx_mode))
    });
}
