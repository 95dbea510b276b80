//! A memory control group (version 1 or 2) below this process's own, and programs that are started inside of it: the kernel
//! itself counts what they cost. Gone when dropped.

use crate::place::wait_until;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The group.
pub struct Counted {
    directory: PathBuf,
}

impl Counted {
    /// None where this user may not make one, or there is no such controller.
    pub fn new(name: &str) -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| {
            let mut columns = line.splitn(3, ':').skip(1);
            let (controllers, path) = (columns.next()?, columns.next()?);
            controllers.split(',').any(|one| one == "memory").then(|| path.trim_start_matches('/').to_owned())
        })?;
        // In a container the path is that of the host, and what is mounted is the container's own group.
        let mount = Path::new("/sys/fs/cgroup/memory");
        let above = [mount.join(own), mount.to_owned()].into_iter().find(|directory| directory.is_dir())?;
        let directory = above.join(format!("mh-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&directory).ok()?;
        Some(Self { directory })
    }

    /// `program`, to be started inside: the shell moves itself there first.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.directory).arg(program);
        command
    }

    /// What the group's processes hold that is no file cache, the kernel's records included.
    pub fn bytes(&self) -> f64 {
        let read = |file: &str| std::fs::read_to_string(self.directory.join(file)).expect("the group is there");
        // Charges are made in batches; a moment later they are settled.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let usage: f64 = read("memory.usage_in_bytes").trim().parse().expect("a number");
        let statistics = read("memory.stat");
        let cache = statistics.lines().find_map(|line| line.strip_prefix("cache ")).expect("it is told");
        usage - cache.parse::<f64>().expect("a number")
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Processes that end take a moment to leave; a group that is not empty stays.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A program that writes a line when it is ready and ends when its input does.
pub struct Worker {
    child: Child,
    _output: BufReader<ChildStdout>,
}

impl Worker {
    /// Returns when it is ready.
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self::await_line(&mut output);
        Self { child, _output: output }
    }

    fn await_line(output: &mut impl BufRead) {
        let mut line = String::new();
        wait_until("a worker's line", || output.read_line(&mut line).is_ok() && !line.is_empty());
    }

    /// As the kernel has it.
    pub fn name(&self) -> String {
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", self.child.id())).expect("it runs");
        comm.trim_end().to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its input ends with this.
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}
