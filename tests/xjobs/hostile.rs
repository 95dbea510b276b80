//! What users and systems do to a job runner: strange arguments, long lists and lines, no descriptors, no processes, servers.

use super::{stdout, xjobs};
use crate::place::{Place, Running, said, wait_until};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use testkit::program::Exit;

#[test]
fn spcchar_arguments_arrive_byte_for_byte() {
    let place = Place::new();
    let words: [&[u8]; 6] = [b"a\nb", b"'\"\\`$(touch hacked)", b"\xff\xfe", b"", b" * ~ {} ;", b"-n"];
    let list: Vec<u8> = words.iter().flat_map(|word| [*word, b"\0"].concat()).collect();
    let outcome = xjobs(&place, &["-k", "-0", "printf", "%s\\0", "x{}y"], &list);
    let expected: Vec<u8> = words.iter().flat_map(|word| [b"x", *word, b"y\0"].concat()).collect();
    assert_eq!(outcome.stdout, expected);
    let outcome = xjobs(&place, &["-k", "-0", "--shell", "printf '%s\\0' x{}y"], &list);
    assert_eq!(outcome.stdout, expected, "the shell gets them as parameters");
    assert!(!place.has("hacked"));
    let typed: Vec<&OsStr> = ["-k", "printf", "%s\\0", "x{}y", ":::"].iter().map(OsStr::new).collect();
    let typed: Vec<&OsStr> = typed.into_iter().chain(words.iter().map(|word| OsStr::from_bytes(word))).collect();
    assert_eq!(xjobs(&place, &typed, b"").stdout, expected);
}

#[test]
fn numwords_and_inputsize_long_lines_and_lists_work() {
    let place = Place::new();
    let words = "x ".repeat(60_000);
    let outcome = xjobs(&place, &["sh", "-c", "echo $#", "sh"], format!("{words}\n"));
    assert_eq!(stdout(&outcome), "60000\n");
    let outcome = xjobs(&place, &["sh", "-c", "printf %s $1 | wc -c", "sh"], "y".repeat(120_000) + "\n");
    assert_eq!(stdout(&outcome).trim(), "120000");
    let outcome = xjobs(&place, &["echo"], "z".repeat(5 << 20) + "\nshort\n");
    assert!(said(&outcome).contains("Argument list too long"), "{}", &said(&outcome)[..200]);
    assert_eq!((stdout(&outcome).as_str(), outcome.exit), ("short\n", Exit::Code(1)));
}

#[test]
fn a_million_lines_are_not_held_in_memory() {
    let place = Place::new();
    let outcome = place.shell("seq 1000000 | (ulimit -v 400000; \"$mh\" xjobs -X --report true) 2>&1 | head -n 1");
    assert!(stdout(&outcome).contains("succeeded, 0 failed"), "{}", stdout(&outcome));
}

#[test]
fn closed_streams_cost_nothing_but_themselves() {
    let place = Place::new();
    let outcome = place.shell("printf 'echo a\\n' > l; \"$mh\" xjobs -s l <&-; \"$mh\" xjobs -s l 2>&- <&-");
    assert_eq!(stdout(&outcome), "a\na\n");
    let outcome = place.shell("printf 'echo a\\n' | \"$mh\" xjobs >&-; echo $?");
    assert!(["0\n", "1\n"].contains(&stdout(&outcome).as_str()));
}

#[test]
fn jobs_read_nothing_of_the_list() {
    let place = Place::new();
    assert_eq!(stdout(&xjobs(&place, &["-j1"; 1], "cat\necho a\ncat\necho b\n")), "a\nb\n");
}

#[test]
fn too_few_descriptors_make_it_narrower_not_wrong() {
    let place = Place::new();
    let outcome = place.shell("seq 40 | (ulimit -n 24; \"$mh\" xjobs -j30 sh -c 'sleep 0.02; echo x' ) | wc -l");
    assert_eq!(stdout(&outcome).trim(), "40", "{}", said(&outcome));
}

#[test]
fn no_descriptor_leaks_into_jobs() {
    let place = Place::new();
    place.write("list-them", "sleep 0.1; ls /proc/self/fd | tr '\\n' ' '");
    // What the test itself was given is passed on.
    let plain = stdout(&place.shell("sh list-them"));
    let outcome = xjobs(&place, &["-j4"], "sh list-them\n".repeat(4));
    assert_eq!(stdout(&outcome), plain.repeat(4));
}

#[test]
fn bad_lines_are_named_and_end_the_list() {
    let place = Place::new();
    let outcome = xjobs::<&str>(&place, &["-j1"], "echo a\necho \"b\necho c\n");
    assert_eq!((stdout(&outcome).as_str(), outcome.exit), ("a\n", Exit::Code(1)));
    let expected =
        "mh xjobs: could not read standard input: line 2: column 6: the quotation that begins here has no end";
    assert!(said(&outcome).starts_with(expected), "{}", said(&outcome));
}

#[test]
fn a_server_takes_jobs_of_many_senders() {
    let place = Place::new();
    place.shell("mkfifo q");
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "-j2", "-s", "q"]).current_dir(place.folder()).env("MH_CREW_DIR", "").stdin(Stdio::null());
    let mut running = Running { child: command.spawn().expect("the program starts") };
    let script =
        "for i in 1 2 3 4 5 6 7 8; do (\"$mh\" xjobs --send q sh -c \"echo $i >> log\" || echo lost) & done; wait
                  echo 'sh -c \"echo 9 >> log\"' | \"$mh\" xjobs --send q; echo 'sh -c \"echo 10 >> log\"' > q";
    wait_until("the server listens", || place.shell("\"$mh\" xjobs --send q true").exit == Exit::Code(0));
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), ""), "{}", said(&outcome));
    let lines = || place.has("log") && place.read("log").iter().filter(|&&byte| byte == b'\n').count() == 10;
    wait_until("all jobs have run", lines);
    rustix::process::kill_process(rustix::process::Pid::from_child(&running.child), rustix::process::Signal::TERM)
        .expect("it lives");
    running.end();
    let outcome = place.shell("\"$mh\" xjobs --send q true");
    assert!(said(&outcome).contains("no server reads it"), "{}", said(&outcome));
}
