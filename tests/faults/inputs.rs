//! Inputs that cannot be read, that are no files, or that change while they are read.

use crate::place::{Place, Running, binary, said, wait_until};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

#[test]
fn a_directory_and_a_dangling_link_are_told_and_nothing_is_made() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).expect("the place is ours");
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).expect("the place is ours");
    std::os::unix::fs::symlink("loop", place.path("loop")).expect("the place is ours");
    for (arguments, words) in [
        (&["directory"][..], "it is a directory"),
        (&["-d", "directory"], "it is a directory"),
        (&["-c", "directory"], "it is a directory"),
        (&["dangling"], "No such file or directory"),
        (&["loop"], "Too many levels of symbolic links"),
        (&["directory/nothing"], "No such file or directory"),
    ] {
        let outcome = place.tamp(arguments);
        assert_eq!(outcome.exit, Exit::Code(1), "{arguments:?}");
        assert!(said(&outcome).contains(words), "{arguments:?}: {}", said(&outcome));
        assert_eq!(place.names(), ["dangling", "directory", "loop"]);
    }
    let outcome = place.shell("\"$mh\" tamp < directory");
    assert_eq!(outcome.exit, Exit::Code(1), "a directory as standard input: {}", said(&outcome));
}

#[test]
fn a_link_to_a_file_is_followed_and_stays() {
    let place = Place::new();
    place.write("target", data::text(5000, 1));
    std::os::unix::fs::symlink("target", place.path("link")).expect("the place is ours");
    place.tamp(["link"]).stdout_of_success();
    assert_eq!(place.names(), ["link", "link.zst", "target"]);
    assert!(place.tamp(["-dc", "link.zst"]).stdout_of_success() == data::text(5000, 1));
}

#[test]
fn a_file_that_may_not_be_read_is_told_and_the_others_are_done() {
    let place = Place::new();
    place.write("secret", "x").write("open", "y");
    fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o000)).expect("the file is ours");
    let Some(outcome) = as_nobody(&place, "tamp -c secret open > /dev/null; echo $?") else {
        return left_out("needs a way to give up root's rights (setpriv)");
    };
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\n");
    let said = said(&outcome);
    assert!(said.contains("could not compress 'secret': cannot open it: Permission denied"), "{said}");
    assert!(said.contains("1 of 2 files"), "{said}");
}

#[test]
fn a_directory_that_may_not_be_written_is_told() {
    let place = Place::new();
    place.write("plain", "x");
    let Some(outcome) = as_nobody(&place, "tamp plain; echo $?; touch here 2> /dev/null; echo $?") else {
        return left_out("needs a way to give up root's rights (setpriv)");
    };
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\n1\n");
    let said = said(&outcome);
    assert!(said.contains("cannot create 'plain.zst': Permission denied"), "{said}");
    assert_eq!(place.names(), ["mh", "plain"]);
}

/// Runs the program and the rest of a script as somebody without rights; `None` where that cannot be done.
fn as_nobody(place: &Place, script: &str) -> Option<testkit::program::ProgramOutcome> {
    // A copy: the build's directory may be closed to others.
    fs::copy(binary(), place.path("mh")).expect("the program can be copied");
    fs::set_permissions(place.path("mh"), fs::Permissions::from_mode(0o755)).expect("the copy is ours");
    let setpriv = TestProgram::find("setpriv")?.in_directory(place.directory());
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"];
    let works = setpriv.run(nobody.into_iter().chain(["./mh --version"]), b"").ok()?;
    if works.exit != Exit::Code(0) {
        return None;
    }
    Some(setpriv.run(nobody.into_iter().chain([format!("./mh {script}").as_str()]), b"").expect("it ran before"))
}

fn start(place: &Place, arguments: &[&str]) -> Running {
    let mut command = Command::new(binary());
    command.arg("tamp").args(arguments).current_dir(place.directory());
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    Running { child }
}

fn wait_for_temporary_file(place: &Place) {
    wait_until("a temporary file appears", || place.names().iter().any(|name| name.starts_with(".mh-")));
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error_and_leaves_nothing() {
    for arguments in
        [&["-j1", "--rm", "shrinking"][..], &["-j2", "--rm", "-Fgz", "shrinking"], &["--single-frame", "shrinking"]]
    {
        let place = Place::new();
        // So long that no run gets to its end before the file is cut.
        let file = File::create(place.path("shrinking")).expect("the place is ours");
        file.set_len(1 << 40).expect("a sparse file can be made");
        let mut running = start(&place, arguments);
        wait_for_temporary_file(&place);
        file.set_len(5).expect("the file is ours");
        assert_eq!(running.end().code(), Some(1), "{arguments:?}");
        let mut told = String::new();
        let mut stderr = running.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut told).expect("text");
        assert!(told.contains("the file shrank while it was read"), "{arguments:?}: {told}");
        assert_eq!(place.names(), ["shrinking"], "{arguments:?}");
    }
}

/// Waits until the input is open; the run may be over by then, on a machine that is in no hurry for us.
fn wait_until_opened(place: &Place, output: &str) {
    wait_until("an output appears", || place.names().iter().any(|name| name.starts_with(".mh-") || name == output));
}

#[test]
fn a_file_that_grows_while_it_is_read_is_taken_to_an_end_that_it_had() {
    let place = Place::new();
    let bytes: u64 = 256 << 20;
    let mut file = File::create(place.path("growing")).expect("the place is ours");
    file.set_len(bytes).expect("a sparse file can be made");
    let mut running = start(&place, &["-j2", "growing"]);
    wait_until_opened(&place, "growing.zst");
    file.seek(SeekFrom::End(0)).expect("a file can be sought in");
    file.write_all(&data::random(1 << 20, 1)).expect("there is room");
    assert!(running.end().success());
    // A log may be followed to where it ends now; what is there at the start is never left out, and nothing is made up.
    let script = "\"$mh\" tamp -dc growing.zst | cmp - growing 2>&1 | grep -v 'EOF on -'";
    assert_eq!(String::from_utf8_lossy(&place.shell(script).stdout), "");
    let size = listed_bytes(&place, "growing.zst");
    assert!((bytes..=bytes + (1 << 20)).contains(&size), "{size}");
}

/// The plain size that `-l` tells.
fn listed_bytes(place: &Place, name: &str) -> u64 {
    let listed = place.tamp(["-l", "--json", name]).stdout_of_success();
    let listed = String::from_utf8_lossy(&listed);
    let (_, size) = listed.split_once("\"plain_bytes\":").expect("a size is listed");
    size.split(',').next().and_then(|size| size.parse().ok()).expect("a size is a number")
}

#[test]
fn a_file_that_is_removed_while_it_is_read_is_read_to_its_end() {
    let place = Place::new();
    let bytes: u64 = 256 << 20;
    File::create(place.path("fleeting")).and_then(|file| file.set_len(bytes)).expect("a sparse file can be made");
    let mut running = start(&place, &["-j2", "fleeting"]);
    wait_until_opened(&place, "fleeting.zst");
    fs::remove_file(place.path("fleeting")).expect("the file is ours");
    assert!(running.end().success());
    assert_eq!(listed_bytes(&place, "fleeting.zst"), bytes);
}

#[test]
fn a_packed_file_that_shrinks_is_an_error_and_leaves_nothing() {
    let place = Place::new();
    // A pipe ends early: for a reader that is the same as a file that was cut.
    place.write("plain", data::random(5 << 20, 1));
    for format in ["gz", "zst"] {
        let packed = place.tamp(["-F", format, "-c", "plain"]).stdout_of_success();
        for kept in [packed.len() - 1, packed.len() / 2, 20, 1] {
            let outcome = place.tamp_fed(["-d", "-o", "out"], &packed[..kept]);
            assert_eq!(outcome.exit, Exit::Code(1), "{format} {kept}");
            assert_eq!(place.names(), ["plain"], "{format} {kept}: {}", said(&outcome));
        }
    }
}

#[test]
fn devices_are_read_as_streams() {
    let place = Place::new();
    place.tamp(["-o", "nothing.zst", "/dev/null"]).stdout_of_success();
    assert!(place.tamp(["-dc", "nothing.zst"]).stdout_of_success().is_empty());
    let outcome = place.tamp(["-d", "-o", "out", "/dev/null"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("it is empty"), "{}", said(&outcome));
    // Files of the kernel that claim to be empty hold something all the same.
    place.tamp(["-o", "status.zst", "/proc/self/status"]).stdout_of_success();
    let status = place.tamp(["-dc", "status.zst"]).stdout_of_success();
    assert!(String::from_utf8_lossy(&status).starts_with("Name:\tmh"), "{}", status.len());
}
