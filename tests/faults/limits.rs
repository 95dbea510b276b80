//! Little memory and few threads: the work is done with less, or an error says why not. Never a hang, a panic, or something
//! left behind.

use crate::place::{Place, binary, said};
use std::os::unix::fs::PermissionsExt;
use testkit::data;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn shell(place: &Place, script: &str) -> ProgramOutcome {
    let shell = TestProgram::find("sh").expect("every system has sh");
    let shell =
        shell.in_directory(place.directory()).with_variable("mh", binary()).with_variable("RUST_BACKTRACE", "0");
    shell.run(["-c", script], b"").expect("sh starts")
}

/// What is wrong with how a run under a limit ended, if anything.
fn complaint(
    place: &Place,
    outcome: &ProgramOutcome,
    before: &[String],
    output: &str,
    is_right: impl Fn() -> bool,
) -> Option<String> {
    let said = said(outcome);
    let first_line = said.lines().find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    let after: Vec<String> = place.names().into_iter().filter(|name| !before.contains(name)).collect();
    let complaint = match outcome.exit {
        Exit::TimedOut => Some(format!("hangs after: {first_line}")),
        Exit::Code(0) if !is_right() => Some("wrong bytes".to_owned()),
        Exit::Code(0) => None,
        Exit::Code(1) if !said.starts_with("mh") => Some(format!("no message but: {first_line}")),
        Exit::Code(1) if !after.is_empty() => Some(format!("left {after:?}")),
        Exit::Code(1) => None,
        other => Some(format!("{other:?}, left {after:?}, said: {first_line}")),
    };
    let _it_may_not_be_there = std::fs::remove_file(place.path(output));
    for name in after {
        let _removed_already = std::fs::remove_file(place.path(name));
    }
    complaint
}

/// Runs four ways of work under each limit and returns all complaints.
fn complaints(limits: &[&str]) -> Vec<String> {
    let place = Place::new();
    let plain = data::text(12 << 20, 1);
    place.write("plain", &plain);
    place.tamp(["plain"]).stdout_of_success();
    place.tamp(["-Fgz", "plain"]).stdout_of_success();
    let before = place.names();
    let mut complaints = Vec::new();
    for limit in limits {
        for (what, output) in [
            ("-j64 -o out.zst plain", "out.zst"),
            ("-j64 -o out.gz plain", "out.gz"),
            ("-j64 -d -o out plain.zst", "out"),
            ("-j2 -d -o out plain.gz", "out"),
        ] {
            let outcome = shell(&place, &format!("{limit} && exec \"$mh\" tamp {what}"));
            let is_right = || match output {
                "out" => place.read("out") == plain,
                packed => place.tamp(["-dc", packed]).stdout_of_success() == plain,
            };
            if let Some(complaint) = complaint(&place, &outcome, &before, output, is_right) {
                complaints.push(format!("{limit}; mh tamp {what}: {complaint}"));
                if outcome.exit == Exit::TimedOut {
                    return complaints;
                }
            }
        }
    }
    complaints
}

/// The address space in KiB with which the program starts at all, to 1 MiB. Below it the kernel or the loader ends the process
/// before any code of ours runs; how much it is depends on how the program was built.
fn least_address_space(place: &Place) -> u32 {
    (1..1024)
        .map(|mebibytes| mebibytes << 10)
        .find(|limit| shell(place, &format!("ulimit -v {limit} && exec \"$mh\" --version")).exit == Exit::Code(0))
        .expect("a gibibyte is enough for a version line")
}

/// An allocation that is refused ends a Rust program by SIGABRT, and a temporary file may stay: no code runs behind it. What
/// must hold all the same: it ends, with a failure that is seen, and nothing half-written has the final name.
#[test]
fn a_small_address_space_never_hangs_and_never_gives_half_an_output() {
    let place = Place::new();
    let plain = data::text(12 << 20, 1);
    place.write("plain", &plain);
    place.tamp(["plain"]).stdout_of_success();
    place.tamp(["-Fgz", "plain"]).stdout_of_success();
    let alone = least_address_space(&place);
    for beyond in [0, 5_000, 25_000, 65_000, 125_000, 375_000] {
        let limit = alone + beyond;
        for (what, output) in [
            ("-j64 -o out.zst plain", "out.zst"),
            ("-j64 -o out.gz plain", "out.gz"),
            ("-j64 -d -o out plain.zst", "out"),
            ("-j2 -d -o out plain.gz", "out"),
        ] {
            let outcome = shell(&place, &format!("ulimit -v {limit} && exec \"$mh\" tamp {what}"));
            let told = said(&outcome);
            assert_ne!(outcome.exit, Exit::TimedOut, "{limit}: mh tamp {what} hangs: {told}");
            assert_eq!(outcome.exit == Exit::Code(0), place.has(output), "{limit}: mh tamp {what}: {told}");
            assert!(outcome.exit == Exit::Code(0) || !told.is_empty(), "{limit}: mh tamp {what} fails without a word");
            if place.has(output) {
                let back =
                    if output == "out" { place.read(output) } else { place.tamp(["-dc", output]).stdout_of_success() };
                assert!(back == plain, "{limit}: mh tamp {what}: wrong bytes");
                std::fs::remove_file(place.path(output)).expect("it is ours");
            }
        }
    }
}

#[test]
fn few_open_files_are_enough() {
    let found = complaints(&["ulimit -n 12"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // More files than may be open at once.
    let place = Place::new();
    for number in 0..60 {
        place.write(format!("file-{number}"), data::text(1000, number));
    }
    let outcome = shell(&place, "ulimit -n 24 && exec \"$mh\" tamp -j8 --rm file-*");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(place.names().iter().all(|name| name.ends_with(".zst")), "{:?}", place.names());
}

/// Who archives a file opens it before its header, which promises its size: files wait open for their turn to be read.
#[test]
fn few_open_files_are_enough_for_an_archive_of_many() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).expect("mkdir");
    for number in 0..120 {
        place.write(format!("d/file-{number}"), data::mixed(100_000, number));
    }
    let mut directory = place.path("d");
    for _ in 0..120 {
        directory.push("deeper");
        std::fs::create_dir(&directory).expect("mkdir");
        std::fs::write(directory.join("before"), "b").expect("write");
        std::fs::write(directory.join("its-end"), "e").expect("write");
    }
    for (hands, packing) in [(1, ""), (1, "--zstd"), (2, "--zstd"), (8, "--zstd"), (8, "-z")] {
        let made = format!("(ulimit -n 28 && exec $mh tar --hands {hands} {packing} --sort=name -cf a.tar d)");
        let outcome = shell(&place, &format!("{made} && $mh tar -df a.tar && test $($mh tar -tf a.tar | wc -l) = 481"));
        assert_eq!(outcome.exit, Exit::Code(0), "{hands} {packing}: {}", said(&outcome));
    }
}

#[test]
fn a_file_size_limit_is_an_error_that_leaves_nothing() {
    let place = Place::new();
    place.write("noise", data::random(3 << 20, 1));
    let before = place.names();
    // Blocks of 512 bytes. The signal of this limit would kill; with it ignored, writing fails.
    for what in ["-o out.zst noise", "-j1 -o out.gz noise"] {
        let outcome = shell(&place, &format!("trap '' XFSZ; ulimit -f 1000 && exec \"$mh\" tamp {what}"));
        let found = complaint(&place, &outcome, &before, "out.zst", || false);
        assert_eq!((outcome.exit, found), (Exit::Code(1), None), "{what}");
        assert!(said(&outcome).contains("File too large"), "{}", said(&outcome));
    }
}

/// Limits processes and threads: `-p` in dash, `-u` elsewhere.
const LIMIT: &str = "limit() { ulimit -p $1 2> /dev/null || ulimit -u $1; }; limit";

#[test]
fn too_few_threads_cost_hands_and_not_the_run() {
    let place = Place::new();
    let plain = data::text(12 << 20, 1);
    place.write("plain", &plain);
    std::fs::copy(binary(), place.path("mh")).expect("the program can be copied");
    std::fs::set_permissions(place.path("mh"), std::fs::Permissions::from_mode(0o755)).expect("the copy is ours");
    let Some(setpriv) = TestProgram::find("setpriv") else {
        return left_out("needs a way to give up root's rights (setpriv)");
    };
    // A number nobody else runs under, so that nobody else's processes count.
    let somebody = ["--reuid=54321", "--regid=54321", "--clear-groups", "sh", "-c"];
    let setpriv = setpriv.in_directory(place.directory()).with_variable("RUST_BACKTRACE", "0");
    let run = |script: &str| setpriv.run(somebody.into_iter().chain([script]), b"").expect("setpriv starts");
    if run(&format!("{LIMIT} 100 && ./mh --version")).exit != Exit::Code(0) {
        return left_out("needs a way to give up root's rights (setpriv)");
    }
    for threads in [2, 3, 4, 6] {
        let outcome = run(&format!("{LIMIT} {threads} && exec ./mh tamp -j 64 -c plain"));
        assert_eq!(outcome.exit, Exit::Code(0), "{threads} threads: {}", said(&outcome));
        let back = place.tamp_fed(["-d"], &outcome.stdout).stdout_of_success();
        assert!(back == plain, "{threads} threads");
    }
}

#[test]
fn a_bomb_takes_no_more_memory_than_any_other_file() {
    // 4 GiB of zeros in some 400 KiB, by frames and members that tell nothing or the truth about themselves.
    let place = Place::new();
    let block = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50][..], &[2, 0, 16, 0].repeat(32_767), &[3, 0, 16, 0]].concat();
    place.write("bomb.zst", block);
    let file = std::fs::File::create(place.path("zeros")).expect("the place is ours");
    file.set_len(1 << 30).expect("a sparse file can be made");
    for format in ["gz", "lz4", "xz", "bz2"] {
        place.tamp(["-F", format, "-1", "zeros"]).stdout_of_success();
    }
    for name in ["bomb.zst", "zeros.gz", "zeros.lz4", "zeros.xz", "zeros.bz2"] {
        let outcome = shell(&place, &format!("ulimit -v 600000 && exec \"$mh\" tamp -j2 --memory 64M -t {name}"));
        assert_eq!(outcome.exit, Exit::Code(0), "{name}: {}", said(&outcome));
    }
}
