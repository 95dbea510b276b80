//! What happens to files and pipes while they are read: they vanish, shrink, grow, fail in the middle, and nobody reads the output any more.

use super::{directory, run_line};
use crate::place::{Place, programs};
use testkit::program::Exit;

fn said(place: &Place, line: &str) -> (String, String, Exit) {
    let outcome = run_line(place, line, Some(programs().path()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&outcome.stdout), text(&outcome.stderr), outcome.exit)
}

#[test]
fn what_cannot_be_read_is_reported_and_the_others_go_on() {
    let place = directory();
    let (stdout, stderr, exit) = said(&place, "mh sum -a crc32 a nosuch dir empty");
    assert_eq!(stdout, "3610a686  a\n00000000  empty\n");
    assert_eq!(
        stderr,
        "mh sum: could not open 'nosuch': No such file or directory\nmh sum: could not read 'dir': it is a directory\n"
    );
    assert_eq!(exit, Exit::Code(1));
}

/// Reading one's own memory at address zero fails, as a bad sector does.
#[test]
fn a_read_error_names_its_offset() {
    let place = directory();
    for algorithms in ["crc32", "sha256", "blake3,md5"] {
        let (stdout, stderr, exit) =
            said(&place, &format!("mh sum -a {algorithms} /proc/self/mem a | tail -n 1 | cut -c 1-3"));
        assert_eq!(exit, Exit::Code(0), "of the pipe's end");
        assert_eq!(stdout.len(), 4, "the other file went on: {stdout}");
        assert_eq!(stderr, "mh sum: could not read '/proc/self/mem' at byte 0: Input/output error\n");
    }
}

#[test]
fn files_without_a_size_devices_and_fifos_are_read() {
    let place = directory();
    let (stdout, stderr, _) =
        said(&place, "mh sum -a md5 /proc/version | cut -d ' ' -f 1; md5sum < /proc/version | cut -d ' ' -f 1");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.first(), lines.last(), "{stderr}");
    let fifo = "mkfifo f; (sleep 0.1; cat large > f) & mh sum -a crc32,sha1 f a; wait; mh sum -a crc32,sha1 large";
    let (stdout, _, exit) = said(&place, fifo);
    let lines: Vec<String> = stdout.lines().map(|line| line.replace("(f)", "(large)")).collect();
    assert_eq!((&lines[..2], exit), (&lines[4..], Exit::Code(0)), "{stdout}");
    assert_eq!(said(&place, "head -c 5000000 /dev/zero | mh sum -a crc32c --untagged").0.len(), 12);
}

#[test]
fn a_closed_pipe_ends_the_run() {
    let place = directory();
    let (stdout, stderr, _) = said(&place, "mh sum -a crc32 $(yes a | head -n 20000) | head -n 1");
    assert_eq!((stdout.as_str(), stderr.as_str()), ("3610a686  a\n", ""));
    let (_, stderr, exit) = said(&place, "mh sum a > /dev/full");
    assert_eq!(
        (stderr.as_str(), exit),
        ("mh sum: could not write to standard output: No space left on device\n", Exit::Code(1))
    );
    let (_, stderr, exit) = said(&place, "mh sum <&-");
    assert_eq!((stderr.as_str(), exit), ("mh sum: could not open '-': Bad file descriptor\n", Exit::Code(1)));
}

/// A file that is cut and written on while it is read has the digest of some of its states, and the run ends well.
#[test]
fn a_file_that_changes_while_it_is_read_does_no_harm() {
    let place = directory();
    let script = "(for n in 1 2 3 4 5 6 7 8; do truncate -s $((n * 3000000)) changing; truncate -s 100000 changing; done) & \
                  for n in 1 2 3 4 5; do mh sum -a blake3,md5,crc32c changing large > out || echo failed; tail -n 1 out; done; wait";
    place.write("changing", vec![7; 9 << 20]);
    let (stdout, stderr, _) = said(&place, script);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines.len(), stderr.as_str()), (5, ""), "{stdout}");
    assert!(lines.iter().all(|line| *line == lines[0]), "{stdout}");
}
