//! `mh tour`: shows on a real file what the commands do. Runs the commands themselves, as a person would type them, in a
//! directory of its own that is gone at the end. Has no other way of doing anything.

use clap::{Arg, ArgMatches, Command, ValueHint};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use terminal::quote;

/// The registry's line.
pub const ENTRY: Entry = Entry::new("tour", Group::Learn, Signals::TidyUp, command, run);

const NAME: &str = "mh tour";

fn command() -> Command {
    let path = Arg::new("path")
        .value_name("PATH")
        .help("A file to show it on (default: a program that this machine has)")
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    Command::new("tour").about("Try the commands on a real file, step by step").arg(path)
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let path = match matches.get_one::<PathBuf>("path") {
        Some(path) => path.clone(),
        None => default_file().ok_or_else(|| failure("find a file to show; give one"))?,
    };
    let metadata = std::fs::metadata(&path).map_err(|error| failure(&format!("look at {}: {error}", quote(&path))))?;
    if !metadata.is_file() {
        return Err(Failure::Usage { command: NAME, message: format!("{} is not a regular file", quote(&path)) });
    }
    let scratch = Scratch::new(metadata.len())?;
    context.unfinished.note_directory(&scratch.directory);
    Tour { path, bytes: metadata.len(), scratch }.walk()
}

fn failure(message: &str) -> Failure {
    Failure::Environment { command: NAME, message: message.to_owned() }
}

/// A file that is large enough to be interesting: the Rust compiler's library or cargo where they are, else ourselves.
fn default_file() -> Option<PathBuf> {
    let in_path = |name: &str| {
        let directories = std::env::var_os("PATH")?;
        std::env::split_paths(&directories).map(|directory| directory.join(name)).find(|file| file.is_file())
    };
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).filter(|path| path.is_file());
    cargo.or_else(|| in_path("cargo")).or_else(|| std::env::current_exe().ok())
}

/// A directory of our own, in memory where there is room; gone when dropped.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    fn new(file_bytes: u64) -> Result<Self, Failure> {
        let name = format!("mh-tour-{}", process::id());
        // LIMIT: five copies and some packed ones; a large file goes to the temporary directory's disk instead of memory.
        let in_memory = Path::new("/dev/shm");
        let small = file_bytes < 256 << 20 && in_memory.is_dir();
        let parent = if small { in_memory.to_owned() } else { std::env::temp_dir() };
        let directory = parent.join(name);
        std::fs::create_dir(&directory).map_err(|error| failure(&format!("create {}: {error}", quote(&directory))))?;
        Ok(Self { directory })
    }

    fn files(&self) -> [PathBuf; 4] {
        ["all-cores.gz", "one-core.gz", "plain", "default.zst"].map(|name| self.directory.join(name))
    }

    fn trees(&self) -> [PathBuf; 4] {
        ["files.tar.zst", "tree", "copy", "copy/plain"].map(|name| self.directory.join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a directory that does not go; the next line of the shell shows it.
        let _left_behind = std::fs::remove_dir_all(&self.directory);
    }
}

struct Tour {
    path: PathBuf,
    bytes: u64,
    scratch: Scratch,
}

impl Tour {
    fn walk(&self) -> Result<Outcome, Failure> {
        print(&format!(
            "A tour of manyhands on {} ({}). Every line after $ is a real command;\n\
             what it writes goes to {} and is gone at the end.\n",
            quote(&self.path),
            terminal::bytes(self.bytes),
            self.scratch.directory.display()
        ))?;
        self.pack()?;
        self.archive_and_copy()?;
        self.step(
            "14. All runs of mh share the cores, by --priority. crew shows which runs hold them; now no run does.",
            &["crew"],
        )?;
        print(
            "\nmh alone lists the other commands, those that look at a machine's processes and threads among them.\n\
             mh COMMAND -h shows the options; docs/commands has more examples.\n",
        )?;
        Ok(Outcome::Done)
    }

    /// One file, and jobs on several.
    fn pack(&self) -> Result<(), Failure> {
        let source = arg(&self.path);
        let [packed, packed_by_one, plain, frames] = self.scratch.files().map(|file| arg(&file));
        self.step(
            "1. The plan: what would be done and why. --explain does nothing else.",
            &["tamp", "--format", "gz", "-9", "--explain", &source],
        )?;
        self.step(
            "2. Compress on all cores. --report shows where the time went, the limit of the run, and the gain of one more core.",
            &["tamp", "--format", "gz", "-9", "--report", &source, "-o", &packed],
        )?;
        self.step(
            "3. The same on one core. Its forecast for more cores can be held against the run before.",
            &["tamp", "--format", "gz", "-9", "-j1", "--report", &source, "-o", &packed_by_one],
        )?;
        self.compare(&packed, &packed_by_one, "what many cores and what one core wrote is")?;
        self.step(
            "4. List it: members with their lengths. Every gzip reads them; mh decodes them in parallel.",
            &["tamp", "-l", &packed],
        )?;
        self.step(
            "5. Back again, every checksum verified before the file gets its name.",
            &["tamp", "-d", "--report", &packed, "-o", &plain],
        )?;
        self.compare(&source, &plain, "the source and what came back is")?;
        self.step(
            "6. The default is zst at a fast level: for dumps and backups that must not wait for their compressor.",
            &["tamp", "-v", &source, "-o", &frames],
        )?;
        self.step("7. -t verifies without writing.", &["tamp", "-t", "-v", &frames])?;
        self.step(
            "8. Programs that use one core each: xjobs keeps as many running as there are cores, and keeps their outputs apart.",
            &["xjobs", "-k", "--report", "cksum", ":::", &source, &packed, &plain, &frames],
        )
    }

    /// Trees of files.
    fn archive_and_copy(&self) -> Result<(), Failure> {
        let directory = arg(&self.scratch.directory);
        let [archive, tree, copy, copied] = self.scratch.trees().map(|path| arg(&path));
        self.step(
            "9. tar makes archives, read and compressed by all cores. Any tar reads them.",
            &["tar", "cf", &archive, "--zstd", "-C", &directory, "plain", "all-cores.gz", "default.zst"],
        )?;
        self.step(
            "10. List it as any tar does. A large archive is listed from its index, without decompression.",
            &["tar", "tvf", &archive],
        )?;
        self.step(
            "11. Extract it on all cores; nothing is written outside the target directory.",
            &["tar", "xf", &archive, "-C", &directory, "--one-top-level=tree", "--report"],
        )?;
        self.step("12. cp copies trees, with all that -a keeps.", &["cp", "-a", "--report", &tree, &copy])?;
        self.compare(&arg(&self.path), &copied, "the source and what came through archive and copy is")?;
        self.step("13. rm removes them.", &["rm", "-r", "--report", &tree, &copy])
    }

    /// Says what comes, shows the command and runs it; its own output goes where ours goes.
    fn step(&self, explanation: &str, words: &[&str]) -> Result<(), Failure> {
        print(&format!("\n{explanation}\n$ mh {}\n", words.join(" ")))?;
        let program = std::env::current_exe().map_err(|error| failure(&format!("find mh: {error}")))?;
        let arguments = words.iter().map(|word| self.meant_by(word));
        let status = process::Command::new(program)
            .args(arguments)
            .status()
            .map_err(|error| failure(&format!("run mh: {error}")))?;
        if status.success() { Ok(()) } else { Err(failure(&format!("go on: the command above ended with {status}"))) }
    }

    /// A shown word as the argument it stands for: a name that had to be quoted is itself again.
    fn meant_by(&self, word: &str) -> OsString {
        let (files, trees) = (self.scratch.files(), self.scratch.trees());
        let mut paths = files.iter().chain(&trees).chain([&self.path, &self.scratch.directory]);
        let path = paths.find(|path| arg(path) == word);
        path.map_or_else(|| word.into(), |path| path.clone().into_os_string())
    }

    fn compare(&self, one: &str, other: &str, subject: &str) -> Result<(), Failure> {
        let equal = same_bytes(self.meant_by(one).as_ref(), self.meant_by(other).as_ref())
            .map_err(|error| failure(&format!("compare: {error}")))?;
        if !equal {
            return Err(failure(&format!("go on: {subject} not the same, which is a bug")));
        }
        print(&format!("Compared: {subject} the same, byte for byte.\n"))
    }
}

fn same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    use io::Read;
    let (mut one, mut other) =
        (io::BufReader::new(std::fs::File::open(one)?), io::BufReader::new(std::fs::File::open(other)?));
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(other.read(&mut right)? == 0);
        }
        if other.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

/// A name as a shell would want it typed, or quoted for the eye where that takes more.
fn arg(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter));
    if is_plain { text.into_owned() } else { quote(path) }
}
