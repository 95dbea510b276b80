//! Starting a program: `posix_spawn(3)` with three streams, a folder, an environment and a process group of its own.
//! Never forks and runs nothing of ours in the child, so the cost does not depend on this process's size. Finds no
//! program in PATH and opens no file: it gets a path and descriptors.

use crate::signals::SignalQueue;
use rustix::process::Pid;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

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
    /// The file to run: absolute, or relative to `folder`.
    pub program: &'a CStr,
    /// All arguments, the program's name first.
    pub arguments: &'a Words,
    /// `NAME=value` words instead of the [`Spawner`]'s.
    pub environment: Option<&'a Words>,
    /// `NAME=value` words besides, of names that are not among the others.
    pub besides: Option<&'a Words>,
    /// Where it runs, if not where this process does.
    pub folder: Option<&'a CStr>,
    /// Its standard input, output and error. None may be one of this process's first three unless it is the same one.
    pub streams: [BorrowedFd<'a>; 3],
}

/// What all programs have in common: attributes and environment, prepared once.
pub struct Spawner {
    attributes: Box<libc::posix_spawnattr_t>,
    environment: Words,
    usual_variables: Vec<*mut c_char>,
    arguments: Vec<*mut c_char>,
    variables: Vec<*mut c_char>,
    /// Actions for streams of these numbers: they hold numbers only, so the same do for every program that has the same.
    /// glibc asks for the limit of open files twice for each action that is made, which is 6 system calls a program.
    actions: Vec<([c_int; 3], FileActions)>,
    /// Descriptors that programs get under the same numbers.
    handed_down: Vec<c_int>,
}

/// LIMIT: sets of stream numbers that are remembered; two for each program at once are what a steady run uses.
const ACTIONS_MAX: usize = 64;

impl Spawner {
    /// Programs get `environment`, a process group of their own, the signal mask from before `signals` was opened, and the
    /// default for the two signals that this house ignores (SIGPIPE, SIGXFSZ).
    pub fn new(signals: &SignalQueue, environment: Words) -> io::Result<Self> {
        Self::with(signals, environment, libc::POSIX_SPAWN_SETPGROUP)
    }

    /// The same, but programs stay in the caller's process group: what is typed at the terminal reaches them as it reaches us.
    pub fn in_callers_group(signals: &SignalQueue, environment: Words) -> io::Result<Self> {
        Self::with(signals, environment, 0)
    }

    fn with(signals: &SignalQueue, environment: Words, group: c_int) -> io::Result<Self> {
        let mut attributes = Box::new(MaybeUninit::<libc::posix_spawnattr_t>::uninit());
        // SAFETY: the pointer is to memory of the right size and alignment that init fills.
        checked(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: init succeeded, so it is filled.
        let mut attributes: Box<libc::posix_spawnattr_t> = unsafe { attributes.assume_init() };
        // SAFETY: an all-zero sigset_t is a valid object for sigemptyset to fill.
        let mut defaults: libc::sigset_t = unsafe { std::mem::zeroed() };
        let flags = group | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        // SAFETY: `defaults` and `attributes` are live and exclusively ours; the mask is live for the call and copied.
        unsafe {
            libc::sigemptyset(&mut defaults);
            libc::sigaddset(&mut defaults, libc::SIGPIPE);
            libc::sigaddset(&mut defaults, libc::SIGXFSZ);
            checked(libc::posix_spawnattr_setflags(&mut *attributes, flags as libc::c_short))?;
            checked(libc::posix_spawnattr_setpgroup(&mut *attributes, 0))?;
            checked(libc::posix_spawnattr_setsigmask(&mut *attributes, signals.mask_before()))?;
            checked(libc::posix_spawnattr_setsigdefault(&mut *attributes, &defaults))?;
        }
        let (mut usual_variables, arguments, variables, actions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        environment.collect_pointers(&mut usual_variables);
        let handed_down = Vec::new();
        Ok(Self { attributes, environment, usual_variables, arguments, variables, actions, handed_down })
    }

    /// What programs get that have no environment of their own.
    pub fn environment(&self) -> &Words {
        &self.environment
    }

    /// Programs get `descriptors` besides their streams, under the same numbers. They stay close-on-exec here. Where one of them is
    /// closed meanwhile no program starts.
    pub fn hand_down(&mut self, descriptors: &[BorrowedFd<'_>]) {
        self.handed_down = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        self.actions.clear();
    }

    /// Starts it. When this returns, the child has begun the program (or an error tells why not) and is in its group.
    ///
    /// Errors are the kernel's: `NotFound`, `PermissionDenied`, E2BIG (arguments too long), EAGAIN (too many processes).
    pub fn spawn(&mut self, launch: &Launch<'_>) -> io::Result<Pid> {
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
        let with_folder;
        let actions = match launch.folder {
            Some(_) => {
                with_folder = FileActions::new(launch, &self.handed_down)?;
                &with_folder
            }
            None => self.remembered_actions(launch)?,
        };
        let actions: *const libc::posix_spawn_file_actions_t = &actions.inner;
        let mut pid = 0;
        // SAFETY: the path and all words are NUL-ended and live through `launch`; both pointer lists end in a null pointer;
        // actions and attributes were initialised and are not touched before the call is over.
        checked(unsafe {
            libc::posix_spawn(
                &mut pid,
                launch.program.as_ptr(),
                actions,
                &*self.attributes,
                self.arguments.as_ptr(),
                self.variables.as_ptr(),
            )
        })?;
        Pid::from_raw(pid).ok_or_else(|| io::Error::other("posix_spawn told no process"))
    }

    fn remembered_actions(&mut self, launch: &Launch<'_>) -> io::Result<&FileActions> {
        let numbers = launch.streams.map(|stream| stream.as_raw_fd());
        let known = self.actions.iter().position(|(of, _)| *of == numbers);
        let index = match known {
            Some(index) => index,
            None => {
                if self.actions.len() >= ACTIONS_MAX {
                    self.actions.clear();
                }
                self.actions.push((numbers, FileActions::new(launch, &self.handed_down)?));
                self.actions.len() - 1
            }
        };
        Ok(&self.actions[index].1)
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // SAFETY: it was initialised and is not used again.
        unsafe { libc::posix_spawnattr_destroy(&mut *self.attributes) };
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Spawner").field("environment", &self.environment.len()).finish_non_exhaustive()
    }
}

struct FileActions {
    inner: libc::posix_spawn_file_actions_t,
}

impl FileActions {
    fn new(launch: &Launch<'_>, handed_down: &[c_int]) -> io::Result<Self> {
        let mut inner = MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
        // SAFETY: init fills it.
        checked(unsafe { libc::posix_spawn_file_actions_init(inner.as_mut_ptr()) })?;
        // SAFETY: init succeeded. From here on Drop destroys it, whatever fails.
        let mut this = Self { inner: unsafe { inner.assume_init() } };
        for (number, stream) in launch.streams.iter().enumerate() {
            let number = number as c_int;
            // SAFETY: `inner` is initialised; the descriptor is open while `launch` is borrowed. Where both numbers are equal,
            // glibc clears the close-on-exec flag in the child instead (since 2.29).
            checked(unsafe { libc::posix_spawn_file_actions_adddup2(&mut this.inner, stream.as_raw_fd(), number) })?;
        }
        for &number in handed_down {
            // SAFETY: as above; a number that is closed is an error of the spawn.
            checked(unsafe { libc::posix_spawn_file_actions_adddup2(&mut this.inner, number, number) })?;
        }
        if let Some(folder) = launch.folder {
            // SAFETY: as above; the path is NUL-ended and copied by the call.
            checked(unsafe { libc::posix_spawn_file_actions_addchdir_np(&mut this.inner, folder.as_ptr()) })?;
        }
        Ok(this)
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: it was initialised and is not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.inner) };
    }
}

/// A path for the kernel.
pub fn path_for_kernel(path: &[u8]) -> io::Result<CString> {
    CString::new(path).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// These functions return the error number instead of setting errno.
fn checked(status: c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
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
    fn a_program_gets_its_streams_folder_environment_and_group() {
        let signals = SignalQueue::open(&[libc::SIGCHLD]).expect("signalfd");
        let mut spawner = Spawner::new(&signals, words(&["A=1"])).expect("attributes");
        let (mut reader, writer) = pipe().expect("a pipe");
        let nothing = File::open("/dev/null").expect("it is there");
        let script = "echo $A$B; pwd; ps -o pgid= -p $$ 2>/dev/null | tr -d ' ' >/dev/null; exit 3";
        let launch = Launch {
            program: c"/bin/sh",
            arguments: &words(&["sh", "-c", script]),
            environment: None,
            besides: Some(&words(&["B=2"])),
            folder: Some(c"/usr"),
            streams: [nothing.as_fd(), writer.as_fd(), nothing.as_fd()],
        };
        let pid = spawner.spawn(&launch).expect("sh starts");
        assert_eq!(rustix::process::getpgid(Some(pid)).ok(), Some(pid));
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
    fn a_program_that_is_not_there_is_the_kernels_error() {
        let signals = SignalQueue::open(&[libc::SIGCHLD]).expect("signalfd");
        let mut spawner = Spawner::new(&signals, Words::default()).expect("attributes");
        let nothing = File::open("/dev/null").expect("it is there");
        let stream = nothing.as_fd();
        let arguments = words(&["x"]);
        let launch = Launch {
            program: c"/nowhere/x",
            arguments: &arguments,
            environment: None,
            besides: None,
            folder: None,
            streams: [stream, stream, stream],
        };
        assert_eq!(spawner.spawn(&launch).expect_err("not there").kind(), io::ErrorKind::NotFound);
    }
}
