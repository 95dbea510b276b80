//! The program under test, and a fresh directory to run it in: what every test here begins with.
//! Waits have a deadline and end what they waited for; no assertion depends on speed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use testkit::program::{ProgramOutcome, TIME_LIMIT, TestProgram};
use testkit::tree::{TempDir, TempTree};

/// Where the program under test is: `MH_BINARY`, else what was built last beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MH_BINARY") {
        return PathBuf::from(path);
    }
    let this = std::env::current_exe().expect("a process knows its own file");
    // target/<profile>/deps/acceptance-<hash>
    let target = this.ancestors().nth(3).expect("cargo puts tests three directories deep");
    let built = ["release", "debug"].map(|profile| target.join(profile).join("mh"));
    let newest = built.into_iter().filter(|path| path.exists()).max_by_key(|path| {
        fs::metadata(path).and_then(|metadata| metadata.modified()).expect("it is there, and files have times")
    });
    newest.unwrap_or_else(|| {
        panic!("there is no program to test in {target:?}: run `cargo build --release`, or set MH_BINARY to its path")
    })
}

/// Whether the second tier of tests runs (`cargo xtask test --long`), which leaves no combination out.
pub fn is_long() -> bool {
    std::env::var_os("MH_LONG").is_some()
}

/// A directory that holds the program under test as `mh`, and nothing else: to be put into `PATH`.
pub fn programs() -> TempDir {
    let directory = testkit_directory();
    let binary = fs::canonicalize(binary()).expect("the program under test exists");
    symlink(binary, directory.path().join("mh")).expect("a link can be made");
    directory
}

fn testkit_directory() -> TempDir {
    TempDir::new().expect("a temporary directory can be made")
}

/// A fresh directory in which the program runs.
pub struct Place {
    tree: TempTree,
}

impl Place {
    pub fn new() -> Self {
        let tree = TempTree::new();
        // Tests that give up root's rights still have to get in.
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).expect("the directory is ours");
        Self { tree }
    }

    pub fn directory(&self) -> &Path {
        self.tree.path()
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.tree.path().join(name)
    }

    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> &Self {
        self.tree.file(name, bytes);
        self
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("could not read {path:?}: {error}"))
    }

    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    /// What is in the directory, hidden things too, sorted.
    pub fn names(&self) -> Vec<String> {
        names_in(self.directory())
    }

    /// `mh tamp` with these arguments, in this directory.
    pub fn tamp<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> ProgramOutcome {
        self.tamp_fed(arguments, b"")
    }

    /// The same with standard input, through a pipe.
    pub fn tamp_fed<Argument: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = Argument>,
        stdin: &[u8],
    ) -> ProgramOutcome {
        let arguments = [OsStr::new("tamp").to_owned()]
            .into_iter()
            .chain(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        // Tests run side by side: each has the cores to itself, as many as it asks for.
        let program = TestProgram::at(binary())
            .in_directory(self.directory())
            .with_variable("MH_CREW_DIR", "")
            .with_variable("MH_CONFIG", "");
        program.run(arguments, stdin).expect("the program starts")
    }

    /// A script in this directory, with the program under test as `$mh`.
    pub fn shell(&self, script: &str) -> ProgramOutcome {
        let shell = TestProgram::find("sh").expect("every system has sh");
        let shell = shell.in_directory(self.directory()).with_variable("mh", binary()).with_variable("LC_ALL", "C");
        let shell = shell.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        shell.run(["-c", script], b"").expect("sh starts")
    }
}

/// Names in a directory, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("could not list {directory:?}: {error}"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("a listed entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What a program said on standard error.
pub fn said(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// Polls until `is_so`.
///
/// # Panics
/// When it takes longer than any machine needs.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIME_LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A child that is killed when a test gives up on it.
pub struct Running {
    pub child: Child,
}

impl Running {
    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

/// The first child of a process that is found.
pub fn child_of(parent: i32) -> Option<i32> {
    let entries = fs::read_dir("/proc").expect("Linux has it");
    let mut numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.find(|number| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok()) == Some(parent)
    })
}
