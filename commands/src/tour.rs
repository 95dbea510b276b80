//! `mh tour`: shows on a real file what the commands do. Runs the commands themselves, as a person would type them, in a
//! folder of its own that is gone at the end. Has no other way of doing anything.

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::registry::{Entry, Group};
use crate::report::print;
use clap::{Arg, ArgMatches, Command, ValueHint};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use terminal::quote;

/// The registry's line.
pub const ENTRY: Entry = Entry { name: "tour", group: Group::Learn, command, rewrite: |line| line, run };

const NAME: &str = "mh tour";

fn command() -> Command {
    let path = Arg::new("path")
        .value_name("PATH")
        .help("A file to show it on (default: a program that this machine has)")
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    Command::new("tour").about("See on a real file what the commands do, step by step").arg(path)
}

fn run(_context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let path = match matches.get_one::<PathBuf>("path") {
        Some(path) => path.clone(),
        None => default_file().ok_or_else(|| failure("find a file to show; give one"))?,
    };
    let metadata = std::fs::metadata(&path).map_err(|error| failure(&format!("look at {}: {error}", quote(&path))))?;
    if !metadata.is_file() {
        return Err(Failure::Usage { command: NAME, message: format!("{} is not a regular file", quote(&path)) });
    }
    let scratch = Scratch::new(metadata.len())?;
    Tour { path, bytes: metadata.len(), scratch }.walk()
}

fn failure(message: &str) -> Failure {
    Failure::Environment { command: NAME, message: message.to_owned() }
}

/// A file that is large enough to be interesting: the Rust compiler's library or cargo where they are, else ourselves.
fn default_file() -> Option<PathBuf> {
    let in_path = |name: &str| {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
    };
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).filter(|path| path.is_file());
    cargo.or_else(|| in_path("cargo")).or_else(|| std::env::current_exe().ok())
}

/// A folder of our own, in memory where there is room; gone when dropped.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new(file_bytes: u64) -> Result<Self, Failure> {
        let name = format!("mh-tour-{}", process::id());
        // LIMIT: three copies and some packed ones; a large file goes to the temporary folder's disk instead of memory.
        let in_memory = Path::new("/dev/shm");
        let small = file_bytes < 256 << 20 && in_memory.is_dir();
        let parent = if small { in_memory.to_owned() } else { std::env::temp_dir() };
        let folder = parent.join(name);
        std::fs::create_dir(&folder).map_err(|error| failure(&format!("create {}: {error}", quote(&folder))))?;
        Ok(Self { folder })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a folder that does not go; the next line of the shell shows it.
        let _left_behind = std::fs::remove_dir_all(&self.folder);
    }
}

struct Tour {
    path: PathBuf,
    bytes: u64,
    scratch: Scratch,
}

impl Tour {
    fn walk(&self) -> Result<Outcome, Failure> {
        let packed = self.scratch.file("packed.zst");
        let packed_by_one = self.scratch.file("packed-by-one.zst");
        let members = self.scratch.file("packed.gz");
        let plain = self.scratch.file("plain");
        let source = self.path.as_path();

        say(&format!(
            "A tour of manyhands on {} ({}).\nEvery line after $ is a real command; outputs go to {} and are removed at the end.\n",
            quote(source),
            terminal::bytes(self.bytes),
            self.scratch.folder.display()
        ))?;
        say("\n1. The plan. --explain tells what would be done and why, and does nothing.\n")?;
        self.step(&[word("tamp"), word("--explain"), arg(source)])?;
        say(
            "\n2. Compress on all cores. --report tells where the time went, what bound the run and what more cores would buy.\n",
        )?;
        self.step(&[word("tamp"), word("-9"), word("--report"), arg(source), word("-o"), arg(&packed)])?;
        say("\n3. The same on one core. The bytes are the same: output never depends on the number of cores.\n")?;
        self.step(&[
            word("tamp"),
            word("-9"),
            word("-j1"),
            word("--report"),
            arg(source),
            word("-o"),
            arg(&packed_by_one),
        ])?;
        self.compare(&packed, &packed_by_one, "many cores and one core wrote")?;
        say(
            "\n4. What is in it. Frames that tell their length can be decoded in parallel, and every zstd reads them.\n",
        )?;
        self.step(&[word("tamp"), word("-l"), arg(&packed)])?;
        say("\n5. Back again, every checksum verified.\n")?;
        self.step(&[word("tamp"), word("-d"), word("--report"), arg(&packed), word("-o"), arg(&plain)])?;
        self.compare(source, &plain, "the source and what came back are")?;
        say(
            "\n6. gz for everybody else: members with their length, which every gzip reads and we decode in parallel.\n",
        )?;
        self.step(&[word("tamp"), word("--format"), word("gz"), arg(source), word("-o"), arg(&members)])?;
        self.step(&[word("tamp"), word("-t"), word("-v"), arg(&members)])?;
        say("\nThat is all there is so far. mh tamp -h shows the options; docs/commands/tamp.md has more examples.\n")?;
        Ok(Outcome::Done)
    }

    /// Shows a command and runs it; its own output goes where ours goes.
    fn step(&self, words: &[String]) -> Result<(), Failure> {
        say(&format!("\n$ mh {}\n", words.join(" ")))?;
        let program = std::env::current_exe().map_err(|error| failure(&format!("find mh: {error}")))?;
        let arguments = words.iter().map(|word| self.unquote(word));
        let status = process::Command::new(program)
            .args(arguments)
            .status()
            .map_err(|error| failure(&format!("run mh: {error}")))?;
        if status.success() { Ok(()) } else { Err(failure(&format!("finish: the command above ended with {status}"))) }
    }

    /// A shown word as the argument it stands for.
    fn unquote(&self, word: &str) -> std::ffi::OsString {
        let known = [
            self.path.clone(),
            self.scratch.file("packed.zst"),
            self.scratch.file("packed-by-one.zst"),
            self.scratch.file("packed.gz"),
            self.scratch.file("plain"),
        ];
        let path = known.into_iter().find(|path| arg(path) == word);
        path.map_or_else(|| word.into(), PathBuf::into_os_string)
    }

    fn compare(&self, one: &Path, other: &Path, subject: &str) -> Result<(), Failure> {
        let equal = same_bytes(one, other).map_err(|error| failure(&format!("compare: {error}")))?;
        if !equal {
            return Err(failure(&format!("go on: {subject} not the same, which is a bug")));
        }
        say(&format!("compared: {subject} the same, byte for byte.\n"))
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

fn say(text: &str) -> Result<(), Failure> {
    print(text)
}

fn word(text: &str) -> String {
    text.to_owned()
}

fn arg(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter));
    if is_plain { text.into_owned() } else { quote(path) }
}
