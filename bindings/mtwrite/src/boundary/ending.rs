//! The functions that end the process, replace or double it, tell another process something, or change what its threads may do: all that
//! waits is performed before.
#![expect(unsafe_code, reason = "a boundary: functions that the program calls instead of libc's, with its pointers")]

use crate::boundary::memory;
use crate::boundary::next::{NextFunction, hook, inside};
use crate::{end, shim, workers};
use libc::{FILE, gid_t, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t, uid_t};
use rustix::fs::OFlags;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// A stream's number will be closed.
fn behind_stream(stream: *mut FILE, next: impl FnOnce() -> c_int) -> c_int {
    if !stream.is_null() {
        // SAFETY: the program gives an open stream.
        let number = unsafe { libc::fileno(stream) };
        inside((), || {
            shim::before_end(number);
            shim::release(number);
        });
    }
    next()
}

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
    static EXIT: NextFunction = NextFunction::new(c"_exit");
    let status = inside(status, || end::finish(status));
    // SAFETY: every libc has it, with this signature.
    let exit: unsafe extern "C" fn(c_int) -> ! = unsafe { std::mem::transmute::<*mut c_void, _>(EXIT.address()) };
    // SAFETY: it asks nothing.
    unsafe { exit(status) }
}

/// With which status the program ends quickly.
static QUICK_STATUS: AtomicI32 = AtomicI32::new(0);

/// After all that the program wanted to do at its quick end.
pub fn end_quickly() {
    end_now(QUICK_STATUS.load(Ordering::Acquire));
}

type Words = *const *const c_char;

/// In a process that was another program, one of whose writes failed: its number, so that its children are not meant.
const FAILED: &CStr = c"MH_MTWRITE_FAILED";

/// Whether this process was another program and must not end with 0.
pub fn know_failure() {
    // SAFETY: before the program runs, nobody else reads or changes the environment.
    let value = unsafe { libc::getenv(FAILED.as_ptr()) };
    if !value.is_null() {
        // SAFETY: not null, and a string.
        if unsafe { CStr::from_ptr(value) }.to_str() == Ok(std::process::id().to_string().as_str()) {
            end::has_failed();
        }
        // SAFETY: as above; the value is not looked at any more.
        unsafe { libc::unsetenv(FAILED.as_ptr()) };
    }
}

/// The process becomes another program, with this one's environment.
fn becoming(next: impl FnOnce() -> c_int) -> c_int {
    before_exec();
    next()
}

/// The same with another environment: `with` is called again with one that says what failed, where something did. A bad one is the
/// kernel's to refuse.
fn becoming_with(variables: Words, next: impl FnOnce() -> c_int, with: impl FnOnce(Words) -> c_int) -> c_int {
    let has_failed = inside(false, end::hand_over);
    if !has_failed || variables.is_null() {
        return next();
    }
    let mut list = Vec::new();
    // SAFETY: pointers, which may be any; the program leaves the list, which ends with a null pointer, as it is during its call.
    while let words = unsafe { memory::values(variables.wrapping_add(list.len()), 1) }
        && words.is_none_or(|words| !words[0].is_null())
    {
        let Some(&[word]) = words else { return next() };
        // SAFETY: as above.
        let text = unsafe { memory::string(word) }.map(CStr::to_bytes);
        if text.is_none_or(|text| text.starts_with(FAILED.to_bytes())) {
            return next();
        }
        list.push(word);
    }
    let failed = format!("{}={}\0", FAILED.to_string_lossy(), std::process::id());
    list.extend([failed.as_ptr().cast(), std::ptr::null()]);
    with(list.as_ptr())
}

hook! {
    fn execve(path: *const c_char, arguments: Words, variables: Words) -> c_int, next => {
        // SAFETY: the program's arguments but for the variables.
        becoming_with(variables, next, |variables| unsafe { libc::execve(path, arguments, variables) })
    };
    fn execv(path: *const c_char, arguments: Words) -> c_int, next => becoming(next);
    fn execvp(file: *const c_char, arguments: Words) -> c_int, next => becoming(next);
    fn execvpe(file: *const c_char, arguments: Words, variables: Words) -> c_int, next => {
        // SAFETY: the program's arguments but for the variables.
        becoming_with(variables, next, |variables| unsafe { libc::execvpe(file, arguments, variables) })
    };
    fn fexecve(number: c_int, arguments: Words, variables: Words) -> c_int, next => {
        // SAFETY: the program's arguments but for the variables.
        becoming_with(variables, next, |variables| unsafe { libc::fexecve(number, arguments, variables) })
    };
    fn execveat(directory: c_int, path: *const c_char, arguments: Words, variables: Words, flags: c_int) -> c_int, next => becoming(next);
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
    fn fclose(stream: *mut FILE) -> c_int, next => behind_stream(stream, next);
    fn pclose(stream: *mut FILE) -> c_int, next => behind_stream(stream, next);
    fn quick_exit(status: c_int) -> (), next => {
        QUICK_STATUS.store(status, Ordering::Release);
        next();
    };
    fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long, next => {
        if number == libc::SYS_exit_group {
            end_now(a as c_int);
        }
        inside((), || before_call(number, c));
        next()
    };
}

/// Calls past libc's functions: most are none of our business, of the others all is expected.
fn before_call(number: c_long, third: c_long) {
    match number {
        libc::SYS_futex | libc::SYS_gettid | libc::SYS_getrandom | libc::SYS_getcpu | libc::SYS_membarrier => {}
        libc::SYS_openat2 => {
            let how = std::ptr::with_exposed_provenance::<u64>(third as usize);
            // SAFETY: numbers, which may be any; the program leaves them as they are during its call. The first word is the flags.
            let flags = unsafe { memory::values(how, 1) }.map_or(0, |words| words[0]);
            if !OFlags::from_bits_retain(flags as u32).contains(OFlags::CREATE | OFlags::EXCL) {
                end::release_all();
            }
        }
        libc::SYS_execve | libc::SYS_execveat => {
            end::hand_over();
        }
        libc::SYS_exit => before_thread_ends(),
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

/// What the functions that use this process's environment do first.
extern "C" fn before_exec() {
    if inside(false, end::hand_over)
        && let Ok(own) = CString::new(std::process::id().to_string())
    {
        // SAFETY: two strings. LIMIT: a program whose other threads change the environment while it becomes another has no order.
        unsafe { libc::setenv(FAILED.as_ptr(), own.as_ptr(), 1) };
    }
}

/// Without its first thread a process lives until its last one ends: that must be the program's, not ours.
fn before_thread_ends() {
    if rustix::thread::gettid() == rustix::process::getpid() {
        shim::cease();
        workers::retire();
    }
}

/// Where the functions go on whose arguments, or whose frames, must be left where they are.
static LEFT: [NextFunction; 5] = [
    NextFunction::new(c"execl"),
    NextFunction::new(c"execlp"),
    NextFunction::new(c"execle"),
    NextFunction::new(c"pthread_exit"),
    NextFunction::new(c"thrd_exit"),
];
const FIRST_OF_THREADS: usize = 3;

extern "C" fn before_left(which: usize) -> *mut c_void {
    if which < FIRST_OF_THREADS {
        before_exec();
    } else {
        inside((), before_thread_ends);
    }
    LEFT[which].address()
}

/// execl and the like have arguments of any number, which cannot be passed on but by leaving them where they are; the end of a thread
/// unwinds every frame below it.
macro_rules! leaving_all_in_place {
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
                "call {before_left}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                before_left = sym before_left,
            )
        }
    )*};
}
leaving_all_in_place!(execl = 0, execlp = 1, execle = 2, pthread_exit = 3, thrd_exit = 4);
