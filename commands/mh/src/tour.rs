//! `mh tour`: shows on a real file what the commands do. Runs the commands themselves, as a person would type them, in a
//! directory of its own that is gone at the end. All of it goes to standard output, so that it reads right in a pager.

mod timing;

use clap::{Arg, ArgMatches, Command, ValueHint};
use mh_kit::context::{Context, temporary_directory};
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::print;
use std::io;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};
use terminal::quote;
use timing::{Compared, Timed};

/// The registry's line.
pub const ENTRY: Entry = Entry::new("tour", Group::Learn, Signals::TidyUp, command, run);

const NAME: &str = "mh tour";

fn command() -> Command {
    let path = Arg::new("path")
        .value_name("PATH")
        .help("A file to show it on (default: a program that this machine has)")
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    Command::new("tour").about("Try the commands on a real file, step by step").arg(path).after_help(
        "Examples:\n  mh tour                on a program that this machine has\n  \
         mh tour db.export      on a file of yours, of which it reads the beginning",
    )
}

/// LIMIT: so much of a file is enough to see every command at work, and done in less than a minute on two cores.
const SAMPLE_BYTES: u64 = 32 << 20;

/// LIMIT: after so long the steps that are left are left out: a busy machine makes each of them long.
const LONG_ENOUGH: Duration = Duration::from_secs(40);

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let path = match matches.get_one::<PathBuf>("path") {
        Some(path) => path.clone(),
        None => default_file().ok_or_else(|| failure("find a file to show; give one"))?,
    };
    let metadata = std::fs::metadata(&path).map_err(|error| failed("look at", &path, &error))?;
    if !metadata.is_file() {
        return Err(Failure::Usage { command: NAME, message: format!("{} is not a regular file", quote(&path)) });
    }
    // LIMIT: five copies of the sample and some compressed ones.
    let places = [PathBuf::from("/dev/shm"), temporary_directory(), PathBuf::from("/tmp")];
    let scratch = Scratch::new(&places)?;
    context.unfinished.note_directory(&scratch.directory);
    let bytes = scratch.sample(&path)?;
    let cores = context.machine.hands_allowed();
    Tour { path, bytes, is_part: bytes < metadata.len(), cores, scratch, began: Instant::now() }.walk()
}

fn failure(message: &str) -> Failure {
    Failure::Environment { command: NAME, message: message.to_owned() }
}

fn failed(operation: &str, path: &Path, error: &io::Error) -> Failure {
    failure(&format!("{operation} {}: {}", quote(path), with_causes(error)))
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

/// A directory of our own; gone when dropped.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// In the first place that can be written to; the error is that of the last.
    fn new(places: &[PathBuf]) -> Result<Self, Failure> {
        let name = format!("mh-tour-{}", process::id());
        let mut outcome = Err(failure("find a place for temporary files"));
        for place in places {
            let directory = place.join(&name);
            match std::fs::create_dir(&directory) {
                Ok(()) => return Ok(Self { directory }),
                Err(error) => outcome = Err(failed("create", &directory, &error)),
            }
        }
        outcome
    }

    /// Puts the file's beginning here, under a short name; how much that is.
    fn sample(&self, path: &Path) -> Result<u64, Failure> {
        let source = std::fs::File::open(path).map_err(|error| failed("open", path, &error))?;
        let copied = std::fs::File::create_new(self.directory.join(SAMPLE))
            .and_then(|mut sample| io::copy(&mut source.take(SAMPLE_BYTES), &mut sample));
        copied.map_err(|error| failed("copy", path, &error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a directory that does not go; the next line of the shell shows it.
        let _left_behind = std::fs::remove_dir_all(&self.directory);
    }
}

/// The sample's name: short, so that every command fits its line.
const SAMPLE: &str = "data";

struct Tour {
    path: PathBuf,
    bytes: u64,
    /// Whether the file is larger than the sample.
    is_part: bool,
    cores: usize,
    scratch: Scratch,
    began: Instant,
}

/// What is explained, and the command line behind `mh`.
type Step = (&'static str, &'static str);

/// The compression, whose results are compared.
const FIRST: [Step; 3] = [
    ("The plan: what would be done and why. --explain does nothing else.", "tamp --format gz -9 --explain data"),
    (
        "Compress on all cores. --report shows where the time went, and the limit.",
        "tamp --format gz -9 --report data -o all.gz",
    ),
    (
        "The same on one core. Compare its forecast with the run before.",
        "tamp --format gz -9 -j1 --report data -o one.gz",
    ),
];

/// After the compression: each stands for itself, so that the last ones can be left out.
const STEPS: &[Step] = &[
    ("List its members. Every gzip reads them, and mh decodes them in parallel.", "tamp -l all.gz"),
    ("Back again, every checksum verified before the file gets its name.", "tamp -d --report all.gz -o back"),
    ("The default is zst at a fast level, for dumps that must not wait.", "tamp -v data -o data.zst"),
    ("Jobs: xjobs keeps as many programs running as there are cores.", "xjobs -k cksum ::: data all.gz back data.zst"),
    ("Archives are read and compressed by all cores. Any tar reads them.", "tar cf all.tar.zst --zstd data all.gz"),
    ("A large archive is listed from its index, without decompression.", "tar tvf all.tar.zst"),
    ("Extract it; nothing is written outside the target directory.", "tar xf all.tar.zst --one-top-level=tree"),
    ("cp copies trees, with all that -a keeps.", "cp -a --report tree copy"),
    ("rm removes them.", "rm -r --report tree copy"),
    ("Runs of mh share the cores, by --priority. crew shows which run has which.", "crew --once"),
    ("Who used the CPUs in half a second? Instruments look at any process.", "pstime --top 3 500ms"),
];

impl Tour {
    fn walk(&self) -> Result<Outcome, Failure> {
        let part = if self.is_part { "the beginning of " } else { "" };
        print(&format!(
            "A tour of manyhands on {part}{} ({}), here called {SAMPLE}.\n\
             Every line after $ is a real command; what it writes is gone at the end.\n",
            quote(&self.path),
            terminal::bytes(self.bytes)
        ))?;
        self.compress()?;
        for (number, &(explanation, words)) in STEPS.iter().enumerate() {
            if self.began.elapsed() > LONG_ENOUGH {
                print(&format!("\n{} more steps are left out: this machine is busy.\n", STEPS.len() - number))?;
                break;
            }
            self.step(number + 4, explanation, words)?;
            if words.contains("-o back") {
                self.compare("data", "back", "the source and what came back")?;
            }
        }
        print(
            "\nTry next:\n  \
             mh tamp --report FILE     compress a file of yours, and see what bound the run\n  \
             mh ceiling                is this machine maxed out, and by which thread?\n  \
             mh xjobs -h               run the commands of a list on all cores\n",
        )?;
        Ok(Outcome::Done)
    }

    /// The same on all cores and on one, and what that says about the cores.
    fn compress(&self) -> Result<(), Failure> {
        let [plan, all, one] = FIRST;
        self.step(1, plan.0, plan.1)?;
        let by_all = self.step(2, all.0, all.1)?;
        let by_one = self.step(3, one.0, one.1)?;
        self.compare("all.gz", "one.gz", "what all cores and what one core wrote")?;
        print(&format!("{}\n", Compared { cores: self.cores, by_all, by_one }.sentence()))
    }

    /// Says what comes, shows the command and runs it; all that it prints goes where ours goes.
    fn step(&self, number: usize, explanation: &str, words: &str) -> Result<Timed, Failure> {
        print(&format!("\n{number}. {explanation}\n$ mh {words}\n"))?;
        let program = std::env::current_exe().map_err(|error| failure(&format!("find mh: {}", with_causes(&error))))?;
        let errors = io::stdout().as_fd().try_clone_to_owned();
        let errors = errors.map_err(|error| failure(&format!("share standard output: {}", with_causes(&error))))?;
        let mut command = process::Command::new(program);
        command.args(words.split(' ')).current_dir(&self.scratch.directory).stderr(errors);
        let (status, timed) = timing::timed(|| command.status());
        let status = status.map_err(|error| failure(&format!("run mh: {}", with_causes(&error))))?;
        match status.success() {
            true => Ok(timed),
            false => Err(failure(&format!("go on: the command above ended with {status}"))),
        }
    }

    fn compare(&self, one: &str, other: &str, subject: &str) -> Result<(), Failure> {
        let [one, other] = [one, other].map(|name| self.scratch.directory.join(name));
        let equal = same_bytes(&one, &other).map_err(|error| failure(&format!("compare: {}", with_causes(&error))))?;
        if !equal {
            return Err(failure(&format!("go on: {subject} are not the same, which is a bug")));
        }
        print(&format!("Compared: {subject} are the same, byte for byte.\n"))
    }
}

fn same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_can_be_written_to_is_taken() {
        let place = tempfile::tempdir().expect("a directory");
        let missing = place.path().join("missing");
        let file = place.path().join("file");
        std::fs::write(&file, "x").expect("a file");
        let scratch = Scratch::new(&[missing.clone(), file, place.path().to_owned()]);
        let directory = scratch.as_ref().map(|scratch| scratch.directory.clone()).expect("the last can be written to");
        assert_eq!(directory.parent(), Some(place.path()));
        drop(scratch);
        assert!(!directory.exists());
        match Scratch::new(&[missing]) {
            Err(Failure::Environment { message, .. }) => assert!(message.starts_with("create '"), "{message}"),
            Err(other) => panic!("{other:?}"),
            Ok(scratch) => panic!("{}", scratch.directory.display()),
        }
    }

    #[test]
    fn no_line_of_the_tour_is_wider_than_a_terminal() {
        for (index, (explanation, words)) in FIRST.iter().chain(STEPS).enumerate() {
            for line in [format!("{}. {explanation}", index + 1), format!("$ mh {words}")] {
                assert!(line.len() <= 79, "{line}");
            }
        }
    }
}
