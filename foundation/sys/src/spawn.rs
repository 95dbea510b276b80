//! Starting a program with three streams, a directory, an environment and a process group of its own, as `posix_spawn(3)` does: in a
//! child that borrows this process's memory (`clone(2)`, CLONE_VM and CLONE_VFORK), so the cost does not depend on this process's
//! size. Finds no program in PATH and opens no file: it gets a path and descriptors.

use crate::signals::SignalQueue;
use rustix::process::Pid;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

/// Words as the kernel takes them: bytes, each word ended by a NUL. One allocation for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    bytes: Vec<u8>,
    count: u32,
}

/// A word has a NUL byte inside, which no argument can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldsNul;

impl fmt::Display for HoldsNul {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("there is a NUL byte in it")
    }
}

impl std::error::Error for HoldsNul {}

impl Words {
    /// Adds a word.
    pub fn push(&mut self, word: &[u8]) -> Result<(), HoldsNul> {
        if word.contains(&0) {
            return Err(HoldsNul);
        }
        self.bytes.extend_from_slice(word);
        self.bytes.push(0);
        self.count += 1;
        Ok(())
    }

    /// Adds all words of `others`.
    pub fn extend(&mut self, others: &Self) {
        self.bytes.extend_from_slice(&others.bytes);
        self.count += others.count;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The words, without their NULs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|&byte| byte == 0).take(self.len())
    }

    /// The word at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter().nth(index)
    }

    /// All words with their NULs: what a digest is made of.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives back memory that is not needed: for words that wait long.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    fn collect_pointers(&self, pointers: &mut Vec<*mut c_char>) {
        pointers.clear();
        self.append_pointers(pointers);
    }

    fn append_pointers(&self, pointers: &mut Vec<*mut c_char>) {
        let mut at = self.bytes.as_ptr();
        for word in self.iter() {
            pointers.push(at.cast_mut().cast());
            // SAFETY: the word and its NUL lie inside `bytes`, so the result is at most one past its end.
            at = unsafe { at.add(word.len() + 1) };
        }
        pointers.push(std::ptr::null_mut());
    }
}

/// One program to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The file to run: absolute, or relative to `directory`.
    pub program: &'a CStr,
    /// All arguments, the program's name first.
    pub arguments: &'a Words,
    /// `NAME=value` words instead of the [`Spawner`]'s.
    pub environment: Option<&'a Words>,
    /// `NAME=value` words besides, of names that are not among the others.
    pub besides: Option<&'a Words>,
    /// Where it runs, if not where this process does.
    pub directory: Option<&'a CStr>,
    /// Its standard input, output and error. None may be one of this process's first three unless it is the same one.
    pub streams: [BorrowedFd<'a>; 3],
}

/// What all programs have in common: group, signals and environment, prepared once.
pub struct Spawner {
    leads_a_group: bool,
    mask: libc::sigset_t,
    environment: Arc<Words>,
    usual_variables: Vec<*mut c_char>,
    arguments: Vec<*mut c_char>,
    variables: Vec<*mut c_char>,
    /// Descriptors that programs get under the same numbers.
    handed_down: Vec<c_int>,
    /// What the child runs on until it has begun the program.
    stack: Box<Stack>,
}

/// Signals that this house ignores, which programs do not expect.
const BACK_TO_DEFAULT: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// What terminals, and users who end or steer a run, send to a whole group.
const FOR_THE_GROUP: [c_int; 7] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGHUP, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// LIMIT: a child makes a dozen system calls on it, and no signal is handled there.
const STACK_BYTES: usize = 32 << 10;

#[repr(align(16))]
struct Stack(MaybeUninit<[u8; STACK_BYTES]>);

/// What the child needs, in memory that it shares with the thread that waits for it.
struct Orders<'a> {
    program: *const c_char,
    arguments: *const *mut c_char,
    variables: *const *mut c_char,
    directory: Option<&'a CStr>,
    streams: [c_int; 3],
    handed_down: &'a [c_int],
    leads_a_group: bool,
    mask: &'a libc::sigset_t,
    /// Why there is no program, as the kernel said; 0 if there is one.
    error: c_int,
}

impl Spawner {
    /// Programs get `environment`, a process group of their own, the signal mask from before `signals` was opened, and the
    /// default for the two signals that this house ignores (SIGPIPE, SIGXFSZ).
    pub fn new(signals: &SignalQueue, environment: Words) -> Self {
        Self::with(*signals.mask_before(), Arc::new(environment), true)
    }

    /// The same, but programs stay in the caller's process group: what is typed at the terminal reaches them as it reaches us.
    pub fn in_callers_group(signals: &SignalQueue, environment: Words) -> Self {
        Self::with(*signals.mask_before(), Arc::new(environment), false)
    }

    /// One for another thread: it starts the same programs in the same way.
    #[must_use]
    pub fn another(&self) -> Self {
        let another = Self::with(self.mask, Arc::clone(&self.environment), self.leads_a_group);
        Self { handed_down: self.handed_down.clone(), ..another }
    }

    fn with(mask: libc::sigset_t, environment: Arc<Words>, leads_a_group: bool) -> Self {
        let (mut usual_variables, arguments, variables) = (Vec::new(), Vec::new(), Vec::new());
        environment.collect_pointers(&mut usual_variables);
        let (handed_down, stack) = (Vec::new(), Box::new(Stack(MaybeUninit::uninit())));
        Self { leads_a_group, mask, environment, usual_variables, arguments, variables, handed_down, stack }
    }

    /// What programs get that have no environment of their own.
    pub fn environment(&self) -> &Words {
        &self.environment
    }

    /// Programs get `descriptors` besides their streams, under the same numbers. They stay close-on-exec here. Where one of them is
    /// closed meanwhile no program starts.
    pub fn hand_down(&mut self, descriptors: &[BorrowedFd<'_>]) {
        self.handed_down = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    }

    /// Starts it. When this returns, the child has begun the program (or an error tells why not) and is in its group.
    ///
    /// As posix_spawn(3) does it, in a child that borrows this process's memory while the calling thread waits; without that
    /// function's look at all 64 signals twice, which is 120 system calls a program.
    ///
    /// A file that may be run and that the kernel does not know how to (ENOEXEC: a script without `#!`) is run by `/bin/sh`, as execvp(3)
    /// does it.
    ///
    /// Errors are the kernel's: `NotFound`, `PermissionDenied`, E2BIG (arguments too long), EAGAIN (too many processes).
    pub fn spawn(&mut self, launch: &Launch<'_>) -> io::Result<Pid> {
        match self.spawn_as_it_is(launch) {
            Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                let mut arguments = Words::default();
                let first = launch.arguments.iter().next().unwrap_or_default();
                let own = [first, launch.program.to_bytes()].into_iter().chain(launch.arguments.iter().skip(1));
                for word in own {
                    arguments.push(word).map_err(|nul| io::Error::new(io::ErrorKind::InvalidInput, nul))?;
                }
                self.spawn_as_it_is(&Launch { program: c"/bin/sh", arguments: &arguments, ..*launch })
            }
            outcome => outcome,
        }
    }

    fn spawn_as_it_is(&mut self, launch: &Launch<'_>) -> io::Result<Pid> {
        launch.arguments.collect_pointers(&mut self.arguments);
        match launch.environment {
            Some(words) => words.collect_pointers(&mut self.variables),
            None => self.variables.clone_from(&self.usual_variables),
        }
        if let Some(besides) = launch.besides {
            // In the place of the null pointer at the end.
            self.variables.pop();
            besides.append_pointers(&mut self.variables);
        }
        let mut orders = Orders {
            program: launch.program.as_ptr(),
            arguments: self.arguments.as_ptr(),
            variables: self.variables.as_ptr(),
            directory: launch.directory,
            streams: launch.streams.map(|stream| stream.as_raw_fd()),
            handed_down: &self.handed_down,
            leads_a_group: self.leads_a_group,
            mask: &self.mask,
            error: 0,
        };
        let started = clone_and_wait(&mut self.stack, &mut orders);
        let pid = Pid::from_raw(started?).ok_or_else(|| io::Error::other("clone told no process"))?;
        match orders.error {
            0 => Ok(pid),
            error => {
                // It has ended without a word to anybody else.
                let _reaped = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

/// Runs [`child`] in a process that shares this one's memory, until it has begun its program or ended. No signal is handled
/// meanwhile, here or there: a handler in the child would change this process's memory.
fn clone_and_wait(stack: &mut Stack, orders: &mut Orders<'_>) -> io::Result<c_int> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: all-zero sets are valid objects to be filled; both live through the calls. The stack is ours alone, aligned, and
    // long enough for `child`; with CLONE_VFORK the kernel holds this thread until the child has left it and the orders, which
    // live in this thread's caller. The mask of this thread is put back whatever comes of it.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let top = stack.0.as_mut_ptr().cast::<u8>().add(STACK_BYTES).cast();
        let pid = libc::clone(child, top, flags, std::ptr::from_mut(orders).cast());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    }
}

/// The child's life before its program: no allocation, no lock, no panic, since all of that is the waiting process's.
extern "C" fn child(orders: *mut c_void) -> c_int {
    // SAFETY: `clone_and_wait` passes live orders that nobody else touches until this process has gone.
    let orders = unsafe { &mut *orders.cast::<Orders<'_>>() };
    if obey(orders).is_some() {
        // SAFETY: the strings and both lists live in the memory of the waiting process; each list ends in a null pointer.
        unsafe { libc::execve(orders.program, orders.arguments.cast(), orders.variables.cast()) };
    }
    // SAFETY: the C library's pointer to this thread's error number, shared with the thread that waits.
    orders.error = unsafe { *libc::__errno_location() }.max(1);
    // SAFETY: ends the child at once.
    unsafe { libc::_exit(127) }
}

/// What came before was for the caller's group, and the caller acts on it. A Ctrl-Z would stop this process before it has begun its
/// program, and with it the caller, who waits for that and could not let it go on; the others would end a job that is to run to its end,
/// or that the caller ends by itself and knows of. To ignore a signal is to forget that it came.
fn forget_what_was_for_the_group() {
    // SAFETY: signal sets and actions of the child alone; all-zero is a valid set.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&mut pending);
        for signal in FOR_THE_GROUP {
            if libc::sigismember(&pending, signal) == 1 {
                let before = libc::signal(signal, libc::SIG_IGN);
                libc::signal(signal, before);
            }
        }
    }
}

/// None when a call failed; the error number says how.
fn obey(orders: &Orders<'_>) -> Option<()> {
    let done = |status: c_int| (status >= 0).then_some(());
    if orders.leads_a_group {
        // SAFETY: it concerns this process alone.
        done(unsafe { libc::setpgid(0, 0) })?;
        forget_what_was_for_the_group();
    }
    for (number, &stream) in orders.streams.iter().enumerate() {
        let number = number as c_int;
        // SAFETY: descriptors of the child alone. Where both numbers are equal the flag is cleared that would close it.
        done(unsafe {
            if stream == number { libc::fcntl(number, libc::F_SETFD, 0) } else { libc::dup2(stream, number) }
        })?;
    }
    for &number in orders.handed_down {
        // SAFETY: as above; a number that is closed is an error.
        done(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })?;
    }
    if let Some(directory) = orders.directory {
        // SAFETY: the path is NUL-ended; with its own copy of the file system's state only the child moves.
        done(unsafe { libc::chdir(directory.as_ptr()) })?;
    }
    for signal in BACK_TO_DEFAULT {
        // SAFETY: signal actions are the child's own copy. Handlers end with execve(2), which leaves only what is ignored.
        let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
        done(if before == libc::SIG_ERR { -1 } else { 0 })?;
    }
    // SAFETY: the mask is a live set. What was pending kills the child or not, as it would have after execve(2).
    done(unsafe { libc::sigprocmask(libc::SIG_SETMASK, orders.mask, std::ptr::null_mut()) })
}

// SAFETY: `usual_variables` points into `environment`, which nobody changes and which lives as long; the other lists are made anew
// before each use. Nothing in it belongs to a thread.
unsafe impl Send for Spawner {}

impl fmt::Debug for Spawner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Spawner").field("environment", &self.environment.len()).finish_non_exhaustive()
    }
}

/// A path for the kernel.
pub fn path_for_kernel(path: &[u8]) -> io::Result<CString> {
    CString::new(path).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reap::{How, next_ended};
    use std::fs::File;
    use std::io::{Read, pipe};
    use std::os::fd::AsFd;

    fn words(list: &[&str]) -> Words {
        let mut words = Words::default();
        for word in list {
            words.push(word.as_bytes()).expect("no NUL");
        }
        words
    }

    #[test]
    fn words_keep_empty_ones_and_refuse_nul() {
        let mut some = words(&["a", "", "b c"]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"b c"]);
        assert_eq!((some.len(), some.get(2)), (3, Some(&b"b c"[..])));
        assert_eq!(some.push(b"x\0y"), Err(HoldsNul));
    }

    #[test]
    fn a_program_gets_its_streams_directory_environment_and_group() {
        let signals = SignalQueue::open(&[libc::SIGCHLD]).expect("signalfd");
        let mut spawner = Spawner::new(&signals, words(&["A=1"]));
        let (mut reader, writer) = pipe().expect("a pipe");
        let nothing = File::open("/dev/null").expect("it is there");
        let script = "echo $A$B; pwd; ps -o pgid= -p $$ 2>/dev/null | tr -d ' ' >/dev/null; exit 3";
        let launch = Launch {
            program: c"/bin/sh",
            arguments: &words(&["sh", "-c", script]),
            environment: None,
            besides: Some(&words(&["B=2"])),
            directory: Some(c"/usr"),
            streams: [nothing.as_fd(), writer.as_fd(), nothing.as_fd()],
        };
        let pid = spawner.spawn(&launch).expect("sh starts");
        assert_eq!(crate::session::group_of(pid), Some(pid));
        drop(writer);
        let mut said = String::new();
        reader.read_to_string(&mut said).expect("readable");
        assert_eq!(said, "12\n/usr\n");
        loop {
            if let Some(ended) = next_ended().expect("there is a child").filter(|ended| ended.pid == pid) {
                assert_eq!(ended.how, How::Exit(3));
                break;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_script_that_names_no_shell_is_run_by_one() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("mh-script-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let script = directory.join("script");
        std::fs::write(&script, "echo $# $2\n").expect("writable");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let signals = SignalQueue::open(&[libc::SIGCHLD]).expect("signalfd");
        let mut spawner = Spawner::new(&signals, Words::default());
        let (mut reader, writer) = pipe().expect("a pipe");
        let nothing = File::open("/dev/null").expect("it is there");
        let program = path_for_kernel(script.as_os_str().as_encoded_bytes()).expect("no NUL");
        let launch = Launch {
            program: &program,
            arguments: &words(&["script", "one", "two"]),
            environment: None,
            besides: None,
            directory: None,
            streams: [nothing.as_fd(), writer.as_fd(), nothing.as_fd()],
        };
        let pid = spawner.spawn(&launch).expect("a shell starts");
        drop(writer);
        let mut said = String::new();
        reader.read_to_string(&mut said).expect("readable");
        assert_eq!(said, "2 two\n");
        let _reaped = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        std::fs::remove_dir_all(&directory).expect("ours");
    }

    #[test]
    fn a_program_that_is_not_there_is_the_kernels_error() {
        let signals = SignalQueue::open(&[libc::SIGCHLD]).expect("signalfd");
        let mut spawner = Spawner::new(&signals, Words::default());
        let nothing = File::open("/dev/null").expect("it is there");
        let stream = nothing.as_fd();
        let arguments = words(&["x"]);
        let launch = Launch {
            program: c"/nowhere/x",
            arguments: &arguments,
            environment: None,
            besides: None,
            directory: None,
            streams: [stream, stream, stream],
        };
        assert_eq!(spawner.spawn(&launch).expect_err("not there").kind(), io::ErrorKind::NotFound);
    }
}
