//! Standard streams that are closed, full, or read no longer.

use crate::place::{Place, binary, said};
use rustix::process::Signal;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use testkit::data;
use testkit::program::Exit;

/// A directory with a file that compresses to more than any pipe holds, packed both ways.
fn place_with_noise() -> Place {
    let place = Place::new();
    place.write("noise", data::random(6 << 20, 1));
    place.tamp(["noise"]).stdout_of_success();
    place.tamp(["-F", "gz", "noise"]).stdout_of_success();
    place
}

#[test]
fn a_reader_that_leaves_ends_it_silently() {
    let place = place_with_noise();
    for arguments in [
        &["-c", "noise"][..],
        &["-c", "-j1", "noise"],
        &["-Fgz", "-c", "noise"],
        &["-dc", "noise.zst"],
        &["-dc", "-j1", "noise.zst"],
        &["-dc", "noise.gz"],
        &["-dc", "noise.gz", "noise.zst"],
    ] {
        let mut command = Command::new(binary());
        command.arg("tamp").args(arguments).current_dir(place.directory());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("it is piped");
        stdout.read_exact(&mut [0]).expect("it writes something");
        drop(stdout);
        let outcome = child.wait_with_output().expect("the program ends");
        assert_eq!(outcome.status.signal(), Some(Signal::PIPE.as_raw()), "{arguments:?}");
        assert!(outcome.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&outcome.stderr));
    }
}

#[test]
fn a_list_that_nobody_reads_is_no_error_to_tell() {
    let place = place_with_noise();
    let files = "noise.zst ".repeat(4000);
    let outcome = place.shell(&format!("{{ \"$mh\" tamp -l {files}; echo $? > status; }} | head -n 1"));
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(said(&outcome), "");
    assert_eq!(String::from_utf8_lossy(&place.read("status")).trim(), "141", "128 + SIGPIPE, as the shell tells it");
}

#[test]
fn a_full_device_is_an_error() {
    let place = place_with_noise();
    for script in [
        "\"$mh\" tamp -c noise > /dev/full",
        "\"$mh\" tamp -c -j1 noise > /dev/full",
        "\"$mh\" tamp -dc noise.zst > /dev/full",
        "\"$mh\" tamp -dc noise.gz > /dev/full",
        "\"$mh\" tamp -o /dev/full noise",
        "\"$mh\" tamp -f -d -o /dev/full noise.zst",
        "\"$mh\" tamp -l noise.zst > /dev/full",
        "\"$mh\" tamp --explain noise > /dev/full",
    ] {
        let outcome = place.shell(script);
        assert_eq!(outcome.exit, Exit::Code(1), "{script}");
        let said = said(&outcome);
        assert!(said.contains("No space left on device"), "{script}: {said}");
        assert_eq!(said.lines().count(), 1, "{script}: {said}");
        assert!(!said.contains("os error"), "{script}: {said}");
    }
}

#[test]
fn closed_standard_streams_make_nothing_panic() {
    let place = Place::new();
    place.write("plain", data::text(300_000, 1));
    place.tamp(["plain"]).stdout_of_success();
    for what in
        ["-c plain", "-f plain", "-dc plain.zst", "-t plain.zst", "-l plain.zst", "-df plain.zst", "", "-d", "no"]
    {
        for closed in ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
            let outcome = place.shell(&format!("\"$mh\" tamp {what} {closed}"));
            assert!(matches!(outcome.exit, Exit::Code(0 | 1)), "{what} {closed}: {:?}", outcome.exit);
            assert!(!said(&outcome).contains("panicked"), "{what} {closed}: {}", said(&outcome));
        }
    }
    let back = place.tamp(["-dc", "plain.zst"]).stdout_of_success();
    assert!(back == data::text(300_000, 1), "a file never takes the place of a closed stream");
}

#[test]
fn data_for_a_closed_standard_output_are_not_lost_without_a_word() {
    let place = Place::new();
    place.write("plain", data::text(300_000, 1));
    // As gzip does: "stdout: Bad file descriptor".
    let outcome = place.shell("\"$mh\" tamp -c plain >&-");
    assert_eq!(outcome.exit, Exit::Code(1), "the packed data went nowhere");
    assert!(!said(&outcome).is_empty());
}

#[test]
fn whoever_prints_for_a_closed_standard_output_says_so() {
    let place = Place::new();
    place.write("plain", b"text");
    assert_eq!(place.shell("\"$mh\" tar -cf a.tar plain").exit, Exit::Code(0));
    let commands = ["pstime 0.05", "fit --comm sh", "xjobs echo", "tar -c plain", "tar -tf a.tar", "tar -xOf a.tar"];
    for command in commands {
        for closed in [">&-", "1<plain"] {
            let outcome = place.shell(&format!("echo 1 | \"$mh\" {command} {closed}"));
            assert!(matches!(outcome.exit, Exit::Code(1 | 2)), "{command} {closed}: {:?}", outcome.exit);
            assert!(said(&outcome).contains("Bad file descriptor"), "{command} {closed}: {}", said(&outcome));
        }
    }
}

#[test]
fn lines_of_trees_for_a_closed_standard_output_are_an_error_as_with_gnu() {
    for (command, does) in [("cp -v plain copy", "copy"), ("rm -v plain", "removal"), ("mv -v plain other", "renaming")]
    {
        for closed in [">&-", "1<standing", ">/dev/full"] {
            let place = Place::new();
            place.write("plain", b"text");
            place.write("standing", b"");
            let outcome = place.shell(&format!("\"$mh\" {command} {closed}"));
            assert_eq!(outcome.exit, Exit::Code(1), "{command} {closed}");
            assert!(said(&outcome).contains("write error: "), "{command} {closed}: {}", said(&outcome));
            let is_done = if does == "copy" { place.path("copy").exists() } else { !place.path("plain").exists() };
            assert!(is_done, "what was said of the {does} is lost, not the {does}");
        }
    }
}

#[test]
fn help_for_a_closed_standard_output_is_an_error() {
    let place = Place::new();
    for command in ["--help", "--version", "tamp --help", "help cp", "crew --help"] {
        for closed in [">&-", ">/dev/full"] {
            let outcome = place.shell(&format!("\"$mh\" {command} {closed}"));
            assert!(matches!(outcome.exit, Exit::Code(1 | 2)), "{command} {closed}: {:?}", outcome.exit);
            assert!(!said(&outcome).is_empty(), "{command} {closed}");
        }
    }
}

#[test]
fn a_standard_output_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    place.write("plain", data::text(300_000, 1));
    let outcome = place.shell("\"$mh\" tamp -c plain 1< plain");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("Bad file descriptor"), "{}", said(&outcome));
    let outcome = place.shell("\"$mh\" tamp 0> unreadable > out");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("Bad file descriptor"), "{}", said(&outcome));
}

#[test]
fn output_goes_on_behind_what_was_written_before() {
    let place = Place::new();
    place.write("plain", data::text(3 << 20, 1));
    let script = "{ echo before; \"$mh\" tamp -dc plain.zst; echo after; } > out; \
                  { echo before; \"$mh\" tamp -dc plain.zst; echo after; } >> appended; \
                  { \"$mh\" tamp -c plain; \"$mh\" tamp -F zst -c plain; } > twice.zst";
    place.tamp(["plain"]).stdout_of_success();
    place.write("appended", "first\n");
    assert_eq!(place.shell(script).exit, Exit::Code(0));
    let plain = place.read("plain");
    assert!(place.read("out") == [&b"before\n"[..], &plain, b"after\n"].concat());
    assert!(place.read("appended") == [&b"first\nbefore\n"[..], &plain, b"after\n"].concat());
    assert!(place.tamp(["-dc", "twice.zst"]).stdout_of_success() == [&plain[..], &plain].concat());
}

#[test]
fn input_begins_where_the_descriptor_stands() {
    let place = Place::new();
    place.write("lines", "first\nsecond\nthird\n");
    let script = "{ read line; \"$mh\" tamp | \"$mh\" tamp -d; } < lines; \
                  { printf 'x'; \"$mh\" tamp -c lines; } > behind; { dd bs=1 count=1 2> /dev/null; \"$mh\" tamp -d; } < behind";
    let stdout = place.shell(script).stdout_of_success();
    assert_eq!(String::from_utf8_lossy(&stdout), "second\nthird\nxfirst\nsecond\nthird\n");
}
