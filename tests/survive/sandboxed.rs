//! Sandboxes that answer EPERM or ENOSYS to openat2, fchmodat2, io_uring, unshare and copy_file_range: the same trees, and not a word.
//! Such as answer an error to those who list extended attributes: told to whom GNU's cp tells it.

use super::{WIDTHS, succeeds};
use crate::place::{Place, said};
use crate::trees::described::describe;
use std::path::Path;
use testkit::program::{Exit, TestProgram, left_out};

/// Builds `sandbox NUMBER COMMAND...` in this place; false where that cannot be done.
pub fn can_be_sandboxed(place: &Place) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("survive/sandbox.c");
    let Some(compiler) = TestProgram::find("cc") else {
        left_out("needs a C compiler (cc)");
        return false;
    };
    let options = ["-O2".as_ref(), "-o".as_ref(), "sandbox".as_ref(), source.as_os_str()];
    compiler.in_directory(place.directory()).run(options, b"").expect("cc starts").stdout_of_success();
    let works = place.shell("./sandbox 1 true").exit == Exit::Code(0);
    if !works {
        left_out("no right to filter system calls");
    }
    works
}

/// Links between the directories on the way to a file, modes that want calls of their own, holes, names of a pipe and of one file twice.
const TREE: &str = "umask 022; mkdir -p src/a/b/c src/bar; for n in $(seq 50); do echo $n > src/a/b/f$n; done; ln src/a/b/f1 src/a/hard
    ln -s b src/a/in; ln -s ../../.. src/a/b/out; truncate -s 3M src/hole; echo end >> src/hole; mkfifo src/pipe
    chmod 4755 src/a/b/f2; chmod 1777 src/bar; chmod 0400 src/a/b/f3; chmod 2755 src/a/b/c; chmod 0750 src/a
    touch -h -d '2001-02-03 04:05:06.789' src/a/in src/hole src/a/b/f4 src/a/b src/a src/bar src/a/b/c src";

#[test]
fn what_a_sandbox_refuses_nobody_hears_of() {
    let place = Place::new();
    if !can_be_sandboxed(&place) {
        return;
    }
    succeeds(&place, TREE);
    // Its members go through a directory's link: that is what the kernel is asked to resolve.
    succeeds(&place, "mkdir more; echo x > more/x; $mh tar -cf a.tar src; cp a.tar linked.tar");
    succeeds(
        &place,
        "$mh tar -rf linked.tar --transform='s,^more,src/a/in/c,' more/x; $mh tar --zstd -cf a.tar.zst src",
    );
    let tree = |directory: &str| describe(&place.path(directory));
    let from = tree("src");
    for number in [1, 38] {
        for hands in WIDTHS {
            for (command, result) in [
                (format!("tar -xpf a.tar -C x --hands {hands}"), "x/src"),
                (format!("tar -xpf a.tar.zst -C x --hands {hands}"), "x/src"),
                (format!("cp -a -j {hands} src x/src"), "x/src"),
            ] {
                succeeds(&place, "rm -rf x; mkdir x");
                let ran = place.shell(&format!("./sandbox {number} $mh {command}"));
                assert_eq!((ran.exit, said(&ran)), (Exit::Code(0), String::new()), "{command}, error {number}");
                assert!(tree(result) == from, "{command}, error {number}: {:?}", tree(result));
            }
            let ran = place.shell(&format!(
                "./sandbox {number} $mh tar -cf b.tar --hands {hands} src && cmp a.tar b.tar &&
                 ./sandbox {number} $mh tar -xpf linked.tar -C x --hands {hands} && cmp more/x x/src/a/b/c/x &&
                 ./sandbox {number} $mh tar -df b.tar && ./sandbox {number} $mh rm -rf -j {hands} x"
            ));
            assert_eq!((ran.exit, said(&ran)), (Exit::Code(0), String::new()), "error {number}, {hands} hands");
            assert!(!place.has("x"));
        }
    }
}

#[test]
fn attributes_that_cannot_be_listed_are_told_to_who_has_named_them() {
    let place = Place::new();
    if !can_be_sandboxed(&place) {
        return;
    }
    succeeds(&place, "mkdir src; for n in 1 2 3; do echo $n > src/$n; done");
    let (denied, broken, unsupported, unknown) = (1, 5, 95, 38);
    for (number, is_told) in [(denied, true), (broken, true), (unsupported, false), (unknown, false)] {
        for hands in WIDTHS {
            for keep in ["-a", "-p", "--preserve=xattr"] {
                let ran = place.shell(&format!(
                    "rm -rf x; ./sandbox {number} listing $mh cp -r -j {hands} {keep} src x; code=$?; diff -r src x && exit $code"
                ));
                let is_named = keep == "--preserve=xattr" && is_told;
                assert_eq!(ran.exit, Exit::Code(is_named.into()), "{number}, {keep}: {}", said(&ran));
                let told = said(&ran).lines().filter(|line| line.contains("listing attributes of 'src")).count();
                assert_eq!(told, if is_named { 4 } else { 0 }, "{number}, {keep}: {}", said(&ran));
            }
        }
    }
}
