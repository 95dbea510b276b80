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
    for script in [
        "printf '%s\\0' \"x{}y\"",
        "printf '%s\\0' 'x{}y'",
        "printf '%s\\0' \"$(printf '%sz' \"x{}y\")\" | sed 's/z\\x00/\\x00/g'",
    ] {
        let outcome = xjobs(&place, &["-k", "-0", "--shell", script], &list);
        assert!(outcome.stdout == expected, "quotes of the script's own: {script}");
    }
    place.write("one", "").write("two", "");
    let outcome = xjobs(&place, &["-0", "-l3", "--shell", "printf '<%s>' {}"], "a  b\0*\0$HOME\0");
    assert_eq!(stdout(&outcome), "<a  b><*><$HOME>", "several are several words");
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
    assert_eq!(stdout(&outcome), "1\n", "what the job said is lost");
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
    command
        .args(["xjobs", "-j2", "-s", "q"])
        .current_dir(place.directory())
        .env("MH_CREW_DIR", "")
        .stdin(Stdio::null());
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

#[test]
fn inputsize_a_line_of_100_mb_may_be_used_in_part() {
    let place = Place::new();
    let script = "(printf foo.; head -c 100000000 /dev/zero | tr '\\0' x) | \"$mh\" xjobs echo {.}";
    assert_eq!(stdout(&place.shell(script)), "foo\n");
    let script = "head -c 1200000000 /dev/zero | (ulimit -v 3000000; \"$mh\" xjobs echo)";
    let outcome = place.shell(script);
    assert!(said(&outcome).contains("line 1: it is longer than 1024 MiB"), "{}", said(&outcome));
}

#[test]
fn composed_and_onerep_commands_of_shells_and_several_placeholders() {
    let place = Place::new();
    assert_eq!(stdout(&xjobs(&place, &["--shell", "echo foo; echo {}"], "bar\n")), "foo\nbar\n");
    assert_eq!(stdout(&xjobs(&place, &["echo", "{}", "foo", "{}"], "bar\n")), "bar foo bar\n");
}

#[test]
fn cleanup_nothing_is_left_behind_by_a_kill() {
    let place = Place::new();
    place.shell("mkdir tmp");
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "sh", "-c", "head -c 1000000 /dev/zero; touch begun; sleep 1000", "sh", ":::", "1"]);
    command.current_dir(place.directory()).env("TMPDIR", place.path("tmp")).stdout(Stdio::null());
    let mut running = Running { child: command.spawn().expect("the program starts") };
    wait_until("it has printed much", || place.has("begun"));
    running.child.kill().expect("it lives");
    running.end();
    assert_eq!(stdout(&place.shell("ls -A tmp")), "");
}

#[test]
fn numwords_output_of_many_words_comes_whole() {
    let place = Place::new();
    let script = "seq 6 | \"$mh\" xjobs -j3 sh -c 'yes \"$(seq 1000)\" | head -c 5000000' | wc -c";
    assert_eq!(stdout(&place.shell(script)).trim(), "30000000");
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn four_gigabytes_in_one_line_of_output_come_whole() {
    let place = Place::new();
    let script = "echo 4500000000 | \"$mh\" xjobs head -c {} /dev/zero | wc -c";
    assert_eq!(stdout(&place.shell(script)), "4500000000\n");
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn a_million_jobs_take_no_more_memory_than_ten_thousand() {
    let place = Place::new();
    let peak_kib = |count: usize| {
        place.write("list", "true\n".repeat(count));
        let mut running = super::ends::start(&place, &["-N", "-j2"], &"true\n".repeat(count));
        let guard = i32::try_from(running.child.id()).expect("a number");
        let mut peak = 0;
        while running.child.try_wait().expect("it can be asked").is_none() {
            let status = crate::place::child_of(guard).map(|runner| format!("/proc/{runner}/status"));
            let status = status.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
            peak = line.trim().trim_end_matches(" kB").parse().unwrap_or(0_u64).max(peak);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        peak
    };
    let (few, many) = (peak_kib(10_000), peak_kib(1_000_000));
    assert!(few > 0 && many <= few + 1024, "{few} KiB, then {many} KiB");
}

#[test]
fn one_argument_of_a_megabyte_is_refused_and_the_rest_goes_on() {
    let place = Place::new();
    let list = [b"short\n".as_slice(), &vec![b'x'; 1 << 20], b"\nlast\n"].concat();
    let outcome = xjobs(&place, &["-1", "-j1", "echo"], &list);
    assert_eq!((stdout(&outcome).as_str(), outcome.exit), ("short\nlast\n", Exit::Code(1)));
    assert!(said(&outcome).contains("Argument list too long"));
    let whole = xjobs(&place, &["--pipe", "wc", "-c"], vec![b'x'; 1 << 20]);
    assert_eq!(stdout(&whole), "1048576\n", "as an input it may be of any size");
}

#[test]
fn too_few_processes_make_it_narrower_not_wrong() {
    let Some(setpriv) = testkit::program::TestProgram::find("setpriv") else {
        return testkit::program::left_out("setpriv is not installed");
    };
    if !rustix::process::geteuid().is_root() {
        return testkit::program::left_out("not root: processes of one user are counted together");
    }
    let place = Place::new();
    // The guard, the runner and its thread count too.
    let script =
        format!("ulimit -u 8 && seq 60 | '{}' xjobs -j30 sleep 0.0{{}} && echo all", crate::place::binary().display());
    let words = ["--reuid", "54322", "--regid", "54322", "--clear-groups", "bash", "-c", &script];
    let outcome = setpriv.in_directory(place.directory()).run(words, b"").expect("it starts");
    assert_eq!(stdout(&outcome), "all\n", "{}", said(&outcome));
}
