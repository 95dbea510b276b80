//! Fake `/proc` and `/sys` trees, and clocks that tests move by hand.

use machine::Host;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A host made of files in a temporary directory: what a test does not write is what it does not have.
pub(crate) struct FakeProcHost {
    folder: TempDir,
}

/// A process of one thread, as a test thinks of it.
#[derive(Clone, Copy)]
pub(crate) struct FakeThread<'a> {
    pub(crate) name: &'a str,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) threads: u32,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    pub(crate) start_ticks: u64,
    pub(crate) cpu: u32,
    pub(crate) run_ns: u64,
    pub(crate) wait_ns: u64,
}

impl Default for FakeThread<'_> {
    fn default() -> Self {
        Self {
            name: "sh",
            state: 'S',
            parent: 1,
            threads: 1,
            user_ticks: 0,
            system_ticks: 0,
            start_ticks: 100,
            cpu: 0,
            run_ns: 0,
            wait_ns: 0,
        }
    }
}

impl FakeProcHost {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("proc")).expect("a folder for proc");
        Self { folder }
    }

    pub(crate) fn host(&self) -> Host {
        Host::rooted_at(self.folder.path())
    }

    /// Writes the file at the host's absolute `path`, with its directories.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let located = self.locate(path);
        fs::create_dir_all(located.parent().expect("a parent")).expect("folders");
        fs::write(located, text).expect("a file");
    }

    /// A link at the host's absolute `path` that leads to the directory `target`, as seen from the link's own.
    pub(crate) fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.locate(path)).expect("a link");
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.locate(path).exists()
    }

    pub(crate) fn remove(&self, path: &str) {
        let located = self.locate(path);
        match located.is_dir() {
            true => fs::remove_dir_all(located).expect("removed"),
            false => fs::remove_file(located).expect("removed"),
        }
    }

    /// A process whose only thread is `thread`.
    pub(crate) fn process(&self, pid: u32, thread: FakeThread<'_>) {
        self.file(&format!("/proc/{pid}/stat"), stat(pid, thread));
        self.file(&format!("/proc/{pid}/status"), "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-1\n");
        self.file(&format!("/proc/{pid}/cmdline"), format!("/bin/{}\0-x\0", thread.name));
        self.file(&format!("/proc/{pid}/cgroup"), "1:cpu:/\n0::/\n");
        self.thread(pid, pid, thread);
    }

    pub(crate) fn thread(&self, pid: u32, tid: u32, thread: FakeThread<'_>) {
        self.thread_in(&format!("/proc/{pid}/task/{tid}"), tid, thread);
    }

    /// A thread whose directory is elsewhere: links to it make as many as a test wants.
    pub(crate) fn thread_in(&self, folder: &str, tid: u32, thread: FakeThread<'_>) {
        self.file(&format!("{folder}/stat"), stat(tid, thread));
        self.file(&format!("{folder}/schedstat"), format!("{} {} 1\n", thread.run_ns, thread.wait_ns));
    }

    fn locate(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }
}

fn stat(pid: u32, thread: FakeThread<'_>) -> String {
    let FakeThread { name, state, parent, threads, user_ticks, system_ticks, start_ticks, cpu, .. } = thread;
    format!(
        "{pid} ({name}) {state} {parent} 1 1 0 -1 4194560 0 0 0 0 {user_ticks} {system_ticks} 0 0 20 0 {threads} 0 \
         {start_ticks} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}
