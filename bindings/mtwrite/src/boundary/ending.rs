//! The functions that end the process, replace or double it, tell another process something, or change what its threads may do: all that
//! waits is performed before.
#![expect(unsafe_code, reason = "a boundary: functions that the program calls instead of libc's, with its pointers")]

use crate::boundary::next::{hook, inside};
use crate::{end, shim};
use libc::{FILE, gid_t, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t, uid_t};
use rustix::fs::OFlags;
use std::ffi::{c_char, c_int, c_long, c_void};

fn behind_all<Outcome>(next: impl FnOnce() -> Outcome) -> Outcome {
    inside((), end::drain_all);
    next()
}

/// For a call that changes whose rights the process has.
fn as_another(next: impl FnOnce() -> c_int) -> c_int {
    inside((), end::drain_all);
    let outcome = next();
    shim::know_user();
    outcome
}

/// For a call that changes what this thread may do and no other: our threads would not be its like.
fn for_this_thread(next: impl FnOnce() -> c_int) -> c_int {
    inside((), shim::cease);
    next()
}

/// Ends the process at once, with another status where something failed.
fn end_now(status: c_int) -> ! {
    let status = inside(status, || end::finish(status));
    // SAFETY: past our own function of that name, which has called this one.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    std::process::abort()
}

type Words = *const *const c_char;

hook! {
    fn execve(path: *const c_char, arguments: Words, variables: Words) -> c_int, next => behind_all(next);
    fn execv(path: *const c_char, arguments: Words) -> c_int, next => behind_all(next);
    fn execvp(file: *const c_char, arguments: Words) -> c_int, next => behind_all(next);
    fn execvpe(file: *const c_char, arguments: Words, variables: Words) -> c_int, next => behind_all(next);
    fn fexecve(number: c_int, arguments: Words, variables: Words) -> c_int, next => behind_all(next);
    fn execveat(folder: c_int, path: *const c_char, arguments: Words, variables: Words, flags: c_int) -> c_int, next => behind_all(next);
    fn posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t, how: *const posix_spawnattr_t, arguments: Words, variables: Words) -> c_int, next => behind_all(next);
    fn posix_spawnp(pid: *mut pid_t, file: *const c_char, actions: *const posix_spawn_file_actions_t, how: *const posix_spawnattr_t, arguments: Words, variables: Words) -> c_int, next => behind_all(next);
    fn system(line: *const c_char) -> c_int, next => behind_all(next);
    fn popen(line: *const c_char, mode: *const c_char) -> *mut FILE, next => behind_all(next);
    fn kill(pid: pid_t, signal: c_int) -> c_int, next => behind_all(next);
    fn killpg(group: pid_t, signal: c_int) -> c_int, next => behind_all(next);
    fn raise(signal: c_int) -> c_int, next => behind_all(next);
    fn abort() -> (), next => behind_all(next);
    fn setuid(user: uid_t) -> c_int, next => as_another(next);
    fn seteuid(user: uid_t) -> c_int, next => as_another(next);
    fn setreuid(real: uid_t, effective: uid_t) -> c_int, next => as_another(next);
    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int, next => as_another(next);
    fn setgid(group: gid_t) -> c_int, next => as_another(next);
    fn setegid(group: gid_t) -> c_int, next => as_another(next);
    fn setregid(real: gid_t, effective: gid_t) -> c_int, next => as_another(next);
    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t) -> c_int, next => as_another(next);
    fn setgroups(count: libc::size_t, groups: *const gid_t) -> c_int, next => as_another(next);
    fn initgroups(user: *const c_char, group: gid_t) -> c_int, next => as_another(next);
    fn setfsuid(user: uid_t) -> c_int, next => for_this_thread(next);
    fn setfsgid(group: gid_t) -> c_int, next => for_this_thread(next);
    fn capset(header: *mut c_void, data: *const c_void) -> c_int, next => for_this_thread(next);
    fn unshare(flags: c_int) -> c_int, next => for_this_thread(next);
    fn setns(number: c_int, kind: c_int) -> c_int, next => for_this_thread(next);
    // A stream may stand on a number that was written to without it.
    fn fclose(stream: *mut FILE) -> c_int, next => {
        if !stream.is_null() {
            // SAFETY: the program gives an open stream.
            let number = unsafe { libc::fileno(stream) };
            let _nothing_is_told = inside(shim::Answer::Pass, || shim::settle_for_good(number));
        }
        next()
    };
    fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long, next => {
        inside((), || before_call(number, a, c));
        next()
    };
}

/// Calls past libc's functions: most are none of our business, of the others all is expected.
fn before_call(number: c_long, first: c_long, third: c_long) {
    match number {
        libc::SYS_futex | libc::SYS_gettid | libc::SYS_getrandom | libc::SYS_getcpu | libc::SYS_membarrier => {}
        libc::SYS_openat2 => {
            // SAFETY: as the program promises openat2(2): the first word there is the flags.
            let flags = if third == 0 { 0 } else { unsafe { *(third as *const u64) } };
            if !OFlags::from_bits_retain(flags as u32).contains(OFlags::CREATE | OFlags::EXCL) {
                end::release_all();
            }
        }
        libc::SYS_exit_group => {
            end::finish(i32::try_from(first).unwrap_or_default());
        }
        libc::SYS_capset | libc::SYS_setresuid | libc::SYS_setresgid | libc::SYS_setfsuid | libc::SYS_unshare => {
            shim::cease()
        }
        _ => end::release_all(),
    }
}

/// # Safety
/// As _exit(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    end_now(status)
}

/// # Safety
/// As _Exit(3).
#[cfg_attr(test, expect(non_snake_case, reason = "the name that libc gave it"))]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    end_now(status)
}

/// # Safety
/// As vfork(2). COMPAT: a child that shares its parent's memory would close files in our tables; POSIX lets it be a fork.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: fork asks nothing.
    unsafe { libc::fork() }
}

/// What the functions with arguments of any number do first.
extern "C" fn before_exec() {
    inside((), end::drain_all);
}

/// Where the functions go on, by their place in this list.
static EXECS: [super::next::Next; 3] =
    [super::next::Next::new(c"execl"), super::next::Next::new(c"execlp"), super::next::Next::new(c"execle")];

extern "C" fn after_exec(which: usize) -> *mut c_void {
    before_exec();
    EXECS[which].address()
}

/// execl, execlp and execle have arguments of any number, which cannot be passed on but by leaving them where they are.
macro_rules! exec_with_list {
    ($($name:ident = $which:literal),*) => {$(
        /// # Safety
        /// As the function of this name says.
        #[cfg(target_arch = "x86_64")]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            // SAFETY: all six registers of arguments and al are put back, and the stack is as it was, at the jump.
            core::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                concat!("mov edi, ", $which),
                "call {after_exec}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                after_exec = sym after_exec,
            )
        }
    )*};
}
exec_with_list!(execl = 0, execlp = 1, execle = 2);
