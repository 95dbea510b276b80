//! Work that is divided over machines: `mh cp --on` and `mh sum --on` with workers on this one, against the same by the local command.

mod copies;
mod faults;
mod sums;

use crate::place::{Place, said};
use rustix::fs::{CWD, FileType, XattrFlags, lsetxattr, mknodat};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use testkit::program::{Exit, ProgramOutcome};

/// A script that must succeed, and say nothing about it.
fn succeeds(place: &Place, script: &str) -> ProgramOutcome {
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()), "{script}");
    outcome
}

/// A tree of so many directories of 40 files, with all that makes trees hard.
fn tree(place: &Place, directories: usize) {
    for directory in 0..directories {
        for file in 0..40 {
            place.write(format!("src/d{directory}/file {file}"), format!("{directory} {file}").repeat(file + 1));
        }
    }
    let script = "set -e; cd src && mkdir -p empty/below locked 'odd
name' && ln -s nowhere dangling && ln -s ../d0 odd*/ && ln d0/'file 1' d1/twin && ln d0/'file 1' third
        echo x > locked/in && chmod 555 locked && chmod 1775 d0 && chmod 400 d1/'file 2' && mkdir .hidden && : > .hidden/-
        echo x > 'it'\\''s \"this\"\\' && ln -s to-link first-link && ln -P first-link second-link
        if test $(id -u) = 0; then chown 12:34 d0/'file 9' d1; chown -h 56:78 first-link; chmod 4755 d0/'file 9'; fi
        touch -h -d '2001-02-03 04:05:06.789' d0/* dangling . d0 empty";
    assert_eq!(place.shell(script).exit, Exit::Code(0));
    fs::write(place.path("src").join(OsStr::from_bytes(b"no\xfftext")), b"bytes").expect("written");
    mknodat(CWD, place.path("src/fifo"), FileType::Fifo, 0o640.into(), 0).expect("a FIFO");
    let attribute = lsetxattr(place.path("src/d0/file 3"), "user.colour", b"green", XattrFlags::empty());
    // Where the file system has none, there is one thing less to keep.
    let _not_everywhere = attribute;
}

/// A file of `bytes` bytes of which some are data.
fn sparse(path: &Path, bytes: u64, data_at: &[u64]) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).expect("created");
    file.set_len(bytes).expect("as long");
    data_at.iter().for_each(|at| file.write_all_at(&[7; 5000], *at).expect("written"));
}
