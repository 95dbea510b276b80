//! tar with `mh tamp` as its compressor, both ways, and with the tools that people used before.

use crate::place::{Place, programs, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};
use testkit::tree::{TempTree, TreeSnapshot};

/// A tree with a little of everything.
fn source() -> TempTree {
    let tree = TempTree::new();
    tree.file("src/lib.rs", data::text(300_000, 1)).file("src/deep/er/data.bin", data::records(2_000_000, 2));
    tree.file("src/empty", "").file("src/name with blanks", "x").directory("src/nothing").link("src/link", "lib.rs");
    tree.mode("src/empty", 0o640);
    tree
}

#[test]
fn tar_packs_and_unpacks_through_it() {
    let Some(tar) = TestProgram::find("tar") else { return left_out("tar is not installed") };
    let programs = programs();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = [programs.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(directories).expect("directories of PATH can be joined again");
    let tar = tar.with_variable("PATH", path);
    let source = source();
    let before = TreeSnapshot::of(source.path()).expect("readable");
    for (program, archive, other) in [
        ("mh tamp", "a.tar.zst", Some("zstd")),
        ("mh tamp -19 -j 2", "b.tar.zst", Some("zstd")),
        ("mh tamp -F gz", "c.tar.gz", Some("gzip")),
        ("mh tamp --bgzf", "d.tar.gz", Some("pigz")),
        ("mh tamp --single-frame", "e.tar.zst", Some("zstd")),
    ] {
        let place = Place::new();
        let archive = place.path(archive);
        let archive = archive.to_str().expect("a temporary name is text");
        let tar = tar.clone();
        let packed = tar.clone().in_directory(source.path()).run(["-I", program, "-cf", archive, "src"], b"");
        let packed = packed.expect("tar starts");
        assert_eq!(packed.exit, Exit::Code(0), "{program}: {}", said(&packed));
        let unpackers = [Some("mh tamp"), other.filter(|name| TestProgram::find(name).is_some())];
        for unpacker in unpackers.into_iter().flatten() {
            let target = TempTree::new();
            let unpacked = tar.clone().in_directory(target.path()).run(["-I", unpacker, "-xpf", archive], b"");
            let unpacked = unpacked.expect("tar starts");
            assert_eq!(unpacked.exit, Exit::Code(0), "{program}, {unpacker}: {}", said(&unpacked));
            assert_same_files(&before, &target, &format!("{program}, {unpacker}"));
        }
    }
}

/// Compares all but times below a second, which tar's own format leaves out, and those of links.
fn assert_same_files(before: &TreeSnapshot, target: &TempTree, what: &str) {
    let mut after = TreeSnapshot::of(target.path()).expect("readable");
    let mut before = before.clone();
    for snapshot in [&mut before, &mut after] {
        for entry in snapshot.entries.values_mut() {
            entry.modified_s = 0;
            entry.modified_ns = 0;
        }
    }
    let differences = before.differences(&after);
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}

#[test]
fn an_archive_that_was_cut_is_an_error_for_tar_too() {
    let Some(tar) = TestProgram::find("tar") else { return left_out("tar is not installed") };
    let place = Place::new();
    place.write("member", data::random(500_000, 1));
    let packed = tar.clone().in_directory(place.directory()).run(["-cf", "a.tar", "member"], b"").expect("tar starts");
    packed.stdout_of_success();
    let archive = place.tamp(["-c", "a.tar"]).stdout_of_success();
    place.write("cut.tar.zst", &archive[..archive.len() / 2]);
    let program = format!("{} tamp", crate::place::binary().display());
    let target = TempTree::new();
    let cut = place.path("cut.tar.zst");
    let arguments = ["-I".as_ref(), program.as_ref(), "-xf".as_ref(), cut.as_os_str()];
    let outcome = tar.in_directory(target.path()).run(arguments, b"").expect("tar starts");
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
}
