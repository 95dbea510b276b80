//! What is left when a copy cannot go on: no half file after a signal, the truth after an error.

use super::described::assert_same;
use super::likeness::elsewhere;
use super::succeeds;
use crate::place::{Place, Running, binary, said, wait_until};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use testkit::program::{Exit, left_out};
use testkit::tree::TempDir;

#[test]
fn a_signal_leaves_no_half_file_under_its_name() {
    for (signal, target) in [(Signal::INT, "new"), (Signal::TERM, "old"), (Signal::HUP, "tree/new")] {
        let place = Place::new();
        place.write("old", "before").write("tree/complete", "x");
        mknodat(CWD, place.path("fifo"), FileType::Fifo, 0o600.into(), 0).expect("a FIFO can be made");
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(binary()).args(["cp", "fifo", target]);
        command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdin(Stdio::null()).stderr(Stdio::null());
        let mut running = Running { child: command.spawn().expect("the program starts") };
        let mut end = File::options().write(true).open(place.path("fifo")).expect("the program opens the other end");
        end.write_all(b"half").expect("the program reads");
        wait_until("half of it is there", || std::fs::read(place.path(target)).is_ok_and(|bytes| bytes == b"half"));
        kill_process(Pid::from_child(&running.child), signal).expect("the child has not been waited for");
        assert_eq!(running.end().signal(), Some(signal.as_raw()));
        assert!(!place.has(target), "{target} is half a file");
        assert!(place.has("tree/complete"));
    }
}

/// The source stays whole until all is copied, and the message names the command that goes on.
#[test]
fn a_move_that_a_signal_ends_says_how_it_goes_on() {
    let place = Place::new();
    let Some(elsewhere) = elsewhere(&place) else { return left_out("there is only one file system") };
    let far = TempDir::new_in(elsewhere).expect("a directory");
    let target = far.path().join("tree").display().to_string();
    let is_interrupted = |attempt: usize| {
        succeeds(
            &place,
            &format!("rm -rf '{target}' tree; mkdir tree; cd tree; seq {} | split -l 1 -a 4", attempt * 8000),
        );
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(binary()).args(["mv", "tree", &target]);
        command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running { child: command.spawn().expect("the program starts") };
        wait_until("something is moved", || {
            far.path().join("tree").exists() || running.child.try_wait().is_ok_and(|end| end.is_some())
        });
        kill_process(Pid::from_child(&running.child), Signal::INT).expect("the child has not been waited for");
        let message = std::io::read_to_string(running.child.stderr.take().expect("a pipe")).expect("text");
        // It may have been quicker than this test, or be at the removal.
        let is_it = running.end().signal() == Some(Signal::INT.as_raw()) && message.contains("could not move 'tree'");
        if is_it {
            assert_eq!(std::fs::read_dir(place.path("tree")).expect("the source").count(), attempt * 8000);
            let hint = format!("`mh cp -aT --resume 'tree' '{target}'` goes on with the copy");
            assert!(message.contains("interrupted") && message.contains(&hint), "{message}");
            succeeds(&place, &format!("$mh cp -aT --resume tree '{target}' && diff -r tree '{target}'"));
        }
        is_it
    };
    assert!((1..=4).any(is_interrupted), "each tree was moved before a signal came");
}

#[test]
fn a_full_target_is_told_for_each_file_and_the_rest_goes_on() {
    let place = Place::new();
    place.write("src/large", vec![7; 300_000]).write("src/small", "x").write("src/below/small", "y");
    // LIMIT of the shell: files of 64 KiB at most; the kernel then says "File too large".
    let outcome = place.shell("ulimit -f 128; $mh cp -r -j 4 src dst");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert_eq!(said(&outcome), "mh cp: error writing 'dst/large': File too large\n");
    assert!(!place.has("dst/large"), "half a file");
    succeeds(&place, "cmp src/small dst/small && cmp src/below/small dst/below/small");
    let written_over = "echo old > dst/large; ulimit -f 128; $mh cp -a -T src dst";
    assert_eq!(place.shell(written_over).exit, Exit::Code(1));
    assert!(!place.has("dst/large"), "half a file");
    // A backup of what was there gets its name back.
    let backed_up = "echo old > dst/large; for j in 1 4; do (ulimit -f 128; $mh cp -ab -j $j -T src dst 2>/dev/null); done; cat dst/large; rm dst/*~; ls dst";
    assert_eq!(succeeds(&place, backed_up).stdout, b"old\nbelow\nlarge\nsmall\n");
    succeeds(&place, "rm dst/large");
    // Two names of one file.
    let linked = "ln src/large src/twin; ulimit -f 128; $mh cp -a -T src dst";
    let outcome = place.shell(linked);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(!place.has("dst/large") && !place.has("dst/twin"), "half a file");
    let names_the_copy = ["'dst/large' to 'dst/twin'", "'dst/twin' to 'dst/large'"]
        .iter()
        .any(|names| said(&outcome).contains(&format!("cannot create hard link {names}")));
    assert!(names_the_copy, "{}", said(&outcome));
    let outcome = place.shell("$mh cp src/large /dev/full");
    assert_eq!(
        (outcome.exit, said(&outcome).as_str()),
        (Exit::Code(1), "mh cp: error writing '/dev/full': No space left on device\n")
    );
}

#[test]
fn what_is_complete_is_not_copied_again() {
    let place = Place::new();
    for number in 0..50 {
        place.write(format!("src/{number}"), format!("content {number}"));
    }
    // One is missing, one is shorter, one has another time; one has other bytes under the same length and time.
    succeeds(
        &place,
        "cp -a src dst; rm dst/1; printf short > dst/2; touch -d 2001-01-01 dst/3; printf 'CONTENT 4' > dst/4; touch -r src/4 dst/4",
    );
    let said_by = |options: &str| {
        let outcome = succeeds(&place, &format!("$mh cp -avT {options} src dst | sort"));
        String::from_utf8_lossy(&outcome.stdout).into_owned()
    };
    assert_eq!(said_by("--resume"), "'src/1' -> 'dst/1'\n'src/2' -> 'dst/2'\n'src/3' -> 'dst/3'\n");
    assert_eq!(said_by("--skip-same=blake3"), "'src/4' -> 'dst/4'\n");
    succeeds(
        &place,
        "diff -r src dst && $mh cp -aT --verify=blake3 --fsync src dst && $mh cp -a --verify src dst2 && diff -r src dst2",
    );
    assert_eq!(said_by("--skip-same"), "");
}

#[test]
fn links_and_special_files_that_are_there_stay() {
    let place = Place::new();
    let script = "mkdir -p src/below && echo x > src/file && ln src/file src/below/twin && ln -s file src/link && \
        ln src/link src/below/again && ln -s nowhere src/dangling && mkfifo -m 640 src/pipe && $mh cp -a src dst";
    succeeds(&place, script);
    // Eight of them: two directories, two names of a file, three links, a FIFO.
    let inodes = || succeeds(&place, "cd dst && find . -printf '%i %n %p %l\n' | sort").stdout;
    let report = |options: &str| {
        let outcome =
            succeeds(&place, &format!("$mh cp -aT {options} --report src dst 2>&1 | head -n 1 | sed 's/ in .*//'"));
        String::from_utf8_lossy(&outcome.stdout).into_owned()
    };
    let before = inodes();
    for options in ["--resume", "--skip-same", "--skip-same=blake3", "--resume -j 4"] {
        assert_eq!(report(options), "copied 0 entries (0 directories), 8 left as they were\n", "{options}");
        assert!(succeeds(&place, &format!("$mh cp -avT {options} src dst")).stdout.is_empty(), "{options}");
        assert_eq!(inodes(), before, "{options}");
    }
    // The link's own time, the FIFO's mode and time; another target, and another kind.
    succeeds(&place, "touch -hd 2001-01-01 dst/link; touch -d 2001-01-01 dst/pipe; chmod 600 dst/pipe");
    report("--resume");
    assert_eq!(inodes(), before);
    assert_same(&place.path("src"), &place.path("dst"), "metadata of what stays");
    succeeds(&place, "ln -sf elsewhere dst/dangling && rm dst/pipe && ln -s pipe dst/pipe");
    assert_eq!(report("--resume"), "copied 2 entries (0 directories), 6 left as they were\n");
    assert_same(&place.path("src"), &place.path("dst"), "what differs is made anew");
    // Without it they are made anew, as by cp.
    report("");
    assert_ne!(inodes(), before);
    assert_same(&place.path("src"), &place.path("dst"), "all anew");
}

#[test]
fn a_copy_that_differs_from_its_source_does_not_stay() {
    let place = Place::new();
    // LIE: this file says something else each time it is read.
    let changing = "/proc/sys/kernel/random/uuid";
    for how in ["--verify", "--verify=blake3", "--verify -p", "--verify -j 64"] {
        place.write("there", "old");
        let ran = place.shell(&format!("mkdir d; $mh cp {how} {changing} d; $mh cp {how} {changing} there; ls d"));
        let told: Vec<String> = ["d/uuid", "there"]
            .iter()
            .map(|copy| format!("mh cp: '{copy}' is not what was read from '{changing}'"))
            .collect();
        assert_eq!((said(&ran).trim_end(), ran.stdout.as_slice()), (told.join("\n").as_str(), b"".as_slice()), "{how}");
        assert!(!place.has("there"), "{how}");
        succeeds(&place, "rm -r d");
    }
    // A device is not removed, and has nothing to be compared with.
    succeeds(&place, &format!("$mh cp --verify {changing} /dev/null && test -c /dev/null"));
}

#[test]
fn where_nobody_reads_any_more_it_ends_and_leaves_no_half_file() {
    let place = Place::new();
    for index in 0..5000 {
        place.write(format!("src/{index:0100}"), vec![1; 100]);
    }
    for (command, made) in [("rm -rv src", "src"), ("cp -rv kept to", "to")] {
        let script = format!(
            "cp -r src kept; {{ $mh {command}; echo $? > code; }} | head -n 1 > line; cat code; wc -l < line; \
            ls {made} | wc -l; find {made} -type f ! -size 100c"
        );
        let said = String::from_utf8_lossy(&place.shell(&script).stdout).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[1]), (3, "141", "1"), "{command}: {said}");
        assert!((1..5000).contains(&lines[2].trim().parse().unwrap_or(0)), "{command}: {said}");
        place.shell("rm -rf src && mv kept src");
    }
}

#[test]
fn a_question_that_cannot_be_asked_is_an_error() {
    let place = Place::new();
    place.write("a", "a");
    place.write("b", "b");
    for command in ["rm -i a", "mv -i a b", "rm -I -r a b"] {
        let outcome = place.shell(&format!("$mh {command} 2>/dev/full < /dev/null"));
        assert_eq!(outcome.exit, Exit::Code(1), "{command}");
    }
    assert!(place.has("a") && place.has("b"));
}
