//! The queue on real files, without a foreign program: what is queued is written in order, whoever looks sees it, and what fails is told.

use crate::boundary::Descriptor;
use crate::file::Call;
use crate::identities;
use crate::locks::held;
use crate::numbers::{Meaning, meaning};
use crate::shim::{self, Answer};
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::{RwLock, RwLockReadGuard};
use tempfile::TempDir;

/// All tests of this process share the places of queued files: who takes all of them has to be alone.
static PLACES: RwLock<()> = RwLock::new(());

struct Place {
    directory: TempDir,
    _shared: Option<RwLockReadGuard<'static, ()>>,
}

impl Place {
    fn new() -> Self {
        Self::with(Some(held(PLACES.read())))
    }

    fn with(shared: Option<RwLockReadGuard<'static, ()>>) -> Self {
        shim::begin(true);
        Self { directory: tempfile::tempdir().expect("a directory"), _shared: shared }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make(&self, name: &str) -> File {
        File::create(self.path(name)).expect("a file can be made")
    }
}

fn write(file: &File, bytes: &[u8]) {
    assert_eq!(shim::write(file.as_raw_fd(), bytes, None), Answer::Queued);
}

fn status(file: &File) -> Metadata {
    assert_eq!(shim::settle(file.as_raw_fd()), Answer::Pass);
    file.metadata().expect("it is open")
}

#[test]
fn pieces_of_any_size_arrive_in_order() {
    let place = Place::new();
    let file = place.make("a");
    let mut expected = Vec::new();
    for round in 0..2000_usize {
        let piece: Vec<u8> = (0..round * 7 % 9000).map(|at| (at + round) as u8).collect();
        if !piece.is_empty() {
            write(&file, &piece);
        }
        expected.extend(piece);
    }
    assert_eq!(status(&file).len(), expected.len() as u64);
    assert_eq!(std::fs::read(place.path("a")).expect("readable"), expected);
    shim::close(file.as_raw_fd());
}

#[test]
fn metadata_comes_after_the_bytes_before_it() {
    let place = Place::new();
    let file = place.make("a");
    let number = file.as_raw_fd();
    write(&file, b"first");
    let mode = |mode| shim::furnish(number, true, || Call::Mode(mode));
    assert_eq!(mode(0o4755), Answer::Queued);
    assert_eq!(shim::write(number, b"second", Some(100)), Answer::Queued);
    assert_eq!(mode(0o600), Answer::Queued);
    let found = status(&file);
    assert_eq!((found.mode() & 0o7777, found.len()), (0o600, 106));
    assert_eq!(shim::furnish(number, false, || Call::Mode(0)), Answer::Pass, "what may be refused is not queued");
    assert_eq!(shim::close(number), Answer::Pass);
}

#[test]
fn what_is_not_a_new_file_for_writing_alone_is_left_alone() {
    let place = Place::new();
    std::fs::write(place.path("old"), "x").expect("a file");
    let open = |options: &mut OpenOptions, name: &str| options.open(place.path(name)).expect("it can be opened");
    let mut writing = OpenOptions::new();
    writing.write(true);
    let left_alone = [
        open(&mut writing, "old"),
        open(writing.clone().read(true).create(true), "both ways"),
        open(writing.clone().append(true).create(true), "appended"),
        open(&mut writing, "/dev/null"),
    ];
    for file in left_alone {
        assert_eq!(shim::write(file.as_raw_fd(), b"x", None), Answer::Pass, "{file:?}");
        shim::close(file.as_raw_fd());
    }
    let linked = place.make("one");
    std::fs::hard_link(place.path("one"), place.path("other")).expect("a link");
    assert_eq!(shim::write(linked.as_raw_fd(), b"x", None), Answer::Pass);
    shim::close(linked.as_raw_fd());
}

#[test]
fn a_second_way_to_a_file_ends_the_queueing() {
    let place = Place::new();
    let file = place.make("a");
    write(&file, b"queued");
    let other = File::open(place.path("a")).expect("it is there");
    shim::opened(other.as_raw_fd(), OFlags::RDONLY, identities::finished());
    assert_eq!(other.metadata().expect("open").len(), 6, "who opens it sees what was written");
    assert_eq!(shim::write(file.as_raw_fd(), b"more", None), Answer::Pass);
    shim::close(file.as_raw_fd());
}

#[test]
fn a_flush_by_another_descriptor_means_the_same_file() {
    let place = Place::new();
    let file = place.make("a");
    let other = File::open(place.path("a")).expect("it is there");
    write(&file, b"queued");
    assert_eq!(shim::flush(other.as_raw_fd()), Answer::Pass);
    assert_eq!(file.metadata().expect("open").len(), 6);
    shim::close(file.as_raw_fd());
}

#[test]
fn a_number_closed_behind_our_back_is_noticed() {
    let place = Place::new();
    let first = place.make("first");
    write(&first, b"first");
    let number = first.as_raw_fd();
    drop(first);
    let second = place.make("second");
    if second.as_raw_fd() == number {
        write(&second, b"second");
        shim::close(number);
        let names = ["first", "second"];
        // The worker closes them in its own time: who opens them next sees them whole.
        for name in names {
            let file = File::open(place.path(name)).expect("it is there");
            shim::opened(file.as_raw_fd(), OFlags::RDONLY, identities::finished());
            assert_eq!(std::fs::read_to_string(place.path(name)).expect("readable"), name);
        }
    }
}

#[test]
fn what_fails_is_told_at_the_next_call() {
    let place = Place::new();
    let file = place.make("a");
    // No file is so long: the kernel refuses it when a worker comes to it, as it does where a device is full.
    let far = i64::MAX.cast_unsigned() - 2;
    assert_eq!(shim::write(file.as_raw_fd(), b"beyond", Some(far)), Answer::Queued);
    assert_eq!(shim::settle(file.as_raw_fd()), Answer::Failed(libc::EINVAL));
    assert_eq!(shim::write(file.as_raw_fd(), b"x", None), Answer::Failed(libc::EINVAL), "and at every one after it");
    assert_eq!(shim::close(file.as_raw_fd()), Answer::Failed(libc::EINVAL));
}

#[test]
fn more_files_than_there_are_places() {
    let _alone = held(PLACES.write());
    let place = Place::with(None);
    let files: Vec<File> = (0..600).map(|index| place.make(&index.to_string())).collect();
    for file in &files {
        let answer = shim::write(file.as_raw_fd(), b"x", None);
        if answer == Answer::Pass {
            Descriptor::of_program(file.as_raw_fd()).status().expect("it is open and the program's own affair");
        }
    }
    let queued = files.iter().filter(|file| matches!(meaning(file.as_raw_fd()), Meaning::Queued(_))).count();
    assert!(queued > 0 && queued <= 256, "{queued}");
    for file in &files {
        shim::close(file.as_raw_fd());
    }
}

#[test]
fn a_closed_file_is_found_by_whoever_looks_at_it() {
    let place = Place::new();
    for round in 0..200 {
        let name = round.to_string();
        let file = place.make(&name);
        write(&file, &[b'x'; 5000]);
        shim::furnish(file.as_raw_fd(), true, || Call::Mode(0o640));
        shim::close(file.as_raw_fd());
        drop(file);
        let found = rustix::fs::stat(place.path(&name)).expect("it is there");
        shim::was_behind(shim::identity_of(&found), found.st_mode, identities::finished());
        let found = std::fs::metadata(place.path(&name)).expect("it is there");
        assert_eq!((found.len(), found.permissions()), (5000, Permissions::from_mode(0o100_640)));
    }
}
