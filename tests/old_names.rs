//! The old names against the real tools: the same command line in twin directories must end with the same exit code, the same
//! files and the same contents, and say the same where the words matter. What differs on purpose is no case here but a
//! line in docs/commands/old-names.md. A tool that is not installed is named as left out.

mod bzip2;
mod gzip;
mod lists;
mod lz4;
mod messages;
mod pack;
mod questions;
mod xz;
mod xz_exact;
mod zstd;
mod zstd_files;
mod zstd_frames;
mod zstd_lists;
mod zstd_training;

use crate::place::{Place, binary, said};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use testkit::data;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};
use testkit::tree::TempDir;

/// A command line, and whether its words must be the same too.
struct Case {
    line: &'static str,
    same_words: bool,
}

/// Exit code, files and contents.
const fn ends(line: &'static str) -> Case {
    Case { line, same_words: false }
}

/// The words too.
const fn says(line: &'static str) -> Case {
    Case { line, same_words: true }
}

/// What the directories of a family's cases hold.
struct Family {
    tool: &'static str,
    ending: &'static str,
    packed: Vec<u8>,
    packed_alone: Vec<u8>,
    links: TempDir,
}

impl Family {
    /// None, and said so, where the tool is missing or its format is not written yet.
    fn new(tool: &'static str, ending: &'static str) -> Option<Self> {
        let Some(real) = TestProgram::find(tool) else {
            left_out(&format!("{tool} is not installed"));
            return None;
        };
        let links = TempDir::new().expect("a directory");
        let made = TestProgram::at(binary()).run([Path::new("links"), links.path()], b"").expect("the program starts");
        made.stdout_of_success();
        let ours = TestProgram::at(links.path().join(tool)).run(["-c"], b"x").expect("the program starts");
        if said(&ours).contains("not written here yet") {
            left_out(&format!("{tool}'s format is not written yet"));
            return None;
        }
        let pack = |plain: &[u8]| real.run(["-c"], plain).expect("the tool starts").stdout_of_success();
        Some(Self { tool, ending, packed: pack(&data::text(9_000, 1)), packed_alone: pack(b"alone"), links })
    }

    /// A directory with everything that a case may ask for.
    fn directory(&self) -> Place {
        let place = Place::new();
        let name = |stem: &str| format!("{stem}.{}", self.ending);
        place.write("a", data::text(9_000, 1)).write("b", data::text(14_000, 2)).write("h1", data::text(700, 3));
        fs::hard_link(place.path("h1"), place.path("h2")).expect("a link");
        symlink("b", place.path("sym")).expect("a link");
        place.write("dir/x", b"in a directory").write("empty", b"").write(name("plain"), b"hello\n");
        place.write(name("a"), &self.packed).write(name("lone"), &self.packed_alone).write("odd.name", &self.packed);
        place.write(name("short"), &self.packed[..self.packed.len() / 2]);
        let mut bad = self.packed.clone();
        let middle = bad.len() * 2 / 3;
        bad[middle] ^= 0x5a;
        place.write(name("bad"), &bad);
        place.write(name("trailed"), [&self.packed[..], b"garbage\n"].concat());
        place
    }

    /// Runs all cases both ways.
    fn compare(&self, cases: &[Case]) {
        self.compare_with(cases, |_| {});
    }

    /// The same in directories that `adds` has put something into.
    fn compare_with(&self, cases: &[Case], adds: fn(&Place)) {
        let mut differences = String::new();
        for case in cases {
            let (theirs, ours) = (self.directory(), self.directory());
            adds(&theirs);
            adds(&ours);
            let real = run_line(&theirs, case.line, None);
            let linked = run_line(&ours, case.line, Some(self.links.path()));
            let mut differs = |what: &str, real: &str, ours: &str| {
                differences.push_str(&format!("{}\n  {what}: {real}\n  ours: {ours}\n", case.line));
            };
            if real.exit != linked.exit {
                let (real_said, linked_said) = (said(&real), said(&linked));
                differs("exit", &format!("{:?} {real_said}", real.exit), &format!("{:?} {linked_said}", linked.exit));
            }
            let (real_files, our_files) = (files_in(theirs.directory()), files_in(ours.directory()));
            let (real_names, our_names): (Vec<_>, Vec<_>) = (real_files.keys().collect(), our_files.keys().collect());
            if real_names != our_names {
                differs("files", &format!("{real_names:?}"), &format!("{our_names:?}"));
                continue;
            }
            for (name, real) in &real_files {
                let ours = &our_files[name];
                if real != ours && self.unpacked(real) != self.unpacked(ours) {
                    differs("contents of", name, "others");
                }
            }
            if real.stdout != linked.stdout && self.unpacked(&real.stdout) != self.unpacked(&linked.stdout) {
                differs("output", &preview(&real.stdout), &preview(&linked.stdout));
            }
            if case.same_words && words(&real) != words(&linked) {
                differs("words", &words(&real).join(" | "), &words(&linked).join(" | "));
            }
        }
        assert!(differences.is_empty(), "{}:\n{differences}", self.tool);
    }

    /// What the real tool makes of it, where it is packed: levels and cuts may differ, data may not.
    fn unpacked(&self, bytes: &[u8]) -> Vec<u8> {
        let tool = TestProgram::find(self.tool).expect("it was there");
        match tool.run(["-dc"], bytes).expect("the tool starts") {
            ProgramOutcome { exit: Exit::Code(0), stdout, .. } => stdout,
            _ => bytes.to_vec(),
        }
    }
}

/// A directory with entries that are neither files nor directories.
fn add_others(place: &Place) {
    for (target, name) in [("x", "dir/sym"), ("nowhere", "dir/dangling"), ("../dir", "dir/into")] {
        symlink(target, place.path(name)).expect("a link");
    }
    // Its name stays when nobody listens any more.
    drop(UnixListener::bind(place.path("dir/socket")).expect("a socket"));
}

fn run_line(place: &Place, line: &str, links: Option<&Path>) -> ProgramOutcome {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let directories = links.into_iter().map(PathBuf::from).chain(std::env::split_paths(&inherited));
    let path: OsString = std::env::join_paths(directories).expect("directories without colons");
    let shell = TestProgram::find("sh").expect("every system has sh").in_directory(place.directory());
    let shell = shell.with_variable("PATH", path).with_variable("LC_ALL", "C");
    shell.run(["-c", line], b"").expect("sh starts")
}

/// Every file below `directory`: its bytes, where a link leads, or that it is no file to read.
fn files_in(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut unseen = vec![directory.to_owned()];
    while let Some(next) = unseen.pop() {
        for entry in fs::read_dir(&next).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            let name = path.strip_prefix(directory).expect("it is below").to_string_lossy().into_owned();
            if path.is_symlink() {
                let target = fs::read_link(&path).expect("a link leads somewhere");
                files.insert(format!("{name} -> {}", target.display()), Vec::new());
            } else if path.is_dir() {
                unseen.push(path);
            } else if path.is_file() {
                files.insert(name, fs::read(&path).expect("it can be read"));
            } else {
                files.insert(format!("{name} (special)"), Vec::new());
            }
        }
    }
    files
}

/// Lines in the order of the alphabet (files are worked on at the same time), without blanks at their ends, without empty
/// ones, without what a carriage return wiped out, and without figures: levels of the same number differ a little.
fn words(outcome: &ProgramOutcome) -> Vec<String> {
    let text = said(outcome);
    let visible = text.split('\n').map(|line| line.trim_end().rsplit('\r').next().unwrap_or_default().trim_end());
    let mut lines: Vec<String> = visible.filter(|line| !line.is_empty()).map(without_figures).collect();
    lines.sort();
    lines
}

fn without_figures(line: &str) -> String {
    let is_of_figure = |letter: char| letter.is_ascii_digit() || letter == '.';
    let words = line.split_whitespace().map(|word| word.trim_matches(is_of_figure));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn preview(bytes: &[u8]) -> String {
    format!("{} bytes {:?}", bytes.len(), String::from_utf8_lossy(&bytes[..bytes.len().min(60)]))
}

/// What gzip and bzip2 take for garbage behind the last member is, in files of many, a damaged one: nothing is thrown away.
#[test]
fn a_damaged_header_among_many_is_no_trailing_garbage() {
    let links = TempDir::new().expect("a directory");
    let made = TestProgram::at(binary()).run([Path::new("links"), links.path()], b"").expect("the program starts");
    made.stdout_of_success();
    let plain = data::mixed(4 << 20, 9);
    for (pack, unpack, ending, head) in [
        ("gzip", "gunzip", "gz", &[0x1f, 0x8b, 8, 4][..]),
        ("pigz", "unpigz", "gz", &[0x1f, 0x8b, 8, 4]),
        ("bzip2", "bunzip2", "bz2", b"BZh9\x31\x41\x59\x26\x53\x59"),
    ] {
        let place = Place::new();
        let run = |name: &str, arguments: &[&str], input: &[u8]| {
            let program = TestProgram::at(links.path().join(name)).in_directory(place.directory());
            program.run(arguments, input).expect("the program starts")
        };
        let mut packed = run(pack, &["-c"], &plain).stdout_of_success();
        let heads = (1..packed.len()).filter(|&at| packed[at..].starts_with(head));
        let second = heads.into_iter().next().expect("a file of several units");
        packed[second..second + 3].fill(0);
        let name = format!("a.{ending}");
        place.write(&name, &packed);
        let outcome = run(unpack, &[&name], b"");
        assert_ne!(outcome.exit, Exit::Code(0), "{unpack}: {}", said(&outcome));
        assert_eq!(place.names(), [name.as_str()], "{unpack}: the source stays, and there is no output");
        let outcome = run(unpack, &["-c"], &packed);
        assert_ne!(outcome.exit, Exit::Code(0), "{unpack} of a pipe: {}", said(&outcome));
    }
}
