//! GNU parallel's options in ours: blocks of standard input, its job log and its directories of results, its spellings. Where GNU
//! parallel is installed, the same command lines are given to both.

use super::{stdout, xjobs};
use crate::place::{Place, said};
use testkit::program::{Exit, TestProgram, left_out};

/// Command lines that mean the same in both, and their standard input.
const SAME: &[(&[&str], &str)] = &[
    (&["-k", "echo", "{2}-{1}", ":::", "a", "b", ":::", "c d", "e"], ""),
    (&["-k", "echo", ":::", "a", "b", ":::+", "c", "d"], ""),
    (&["-k", "--link", "echo", ":::", "a", "b", "c", ":::", "d", "e"], ""),
    (&["-k", "echo", "{-1}", "{-2}", ":::", "a", ":::", "b"], ""),
    (&["-k", "echo", "{.}", "{/}", "{//}", "{/.}", ":::", "a/b.c", "/d", "e.f.g"], ""),
    (
        &[
            "-k", "echo", "_{.}_", "_{/}_", "_{//}_", "_{/.}_", ":::", ".hid", "d/.hid", "d/", "/", "a/b/", "//",
            "a.b/", "a.b/c", ".", "..", "a.", "", "d//", "a//b", "/a/",
        ],
        "",
    ),
    (&["-k", "echo", "{1}-{2}", ":::", "a", "b", ":::+", "1"], ""),
    (&["-k", "echo", "{1}-{2}-{3}", ":::", "a", "b", "c", ":::+", "1", "2", ":::+", "7", "8", "9"], ""),
    (&["-k", "echo", "{1}-{2}-{3}", ":::", "a", "b", ":::+", "1", ":::", "x", "y"], ""),
    (&["-k", "--link", "echo", ":::", "a", "b", ":::+", "1"], ""),
    (&["-k", "--max-args", "2", "echo", ":::", "a", "b", "c"], ""),
    (&["-k", "-L", "2", "echo", ":::", "a", "b", "c"], ""),
    (&["-k", "--max-args", "2", "echo", "{}", "-", "{1}", ":::", "a", "b", "c"], ""),
    (&["-k", "--max-args", "2", "echo", ":::", "a", "b", "c", ":::", "1", "2"], ""),
    (&["-j1", "-X", "echo", "{}", "x", ":::", "a", "b", "c"], ""),
    (&["-j1", "-X", "echo", "x{}y", "{.}={#}", "z", ":::", "a.b", "b", "c"], ""),
    (&["-j1", "-X", "echo", "-I{}"], "a\nb\n"),
    (&["-k", "--lb", "echo", ":::", "a", "b", "c"], ""),
    (&["--results", "d", "sh", "-c", ":::", "echo a; echo b >&2"], ""),
    (&["-k", "echo", "{1.}", "{2/}", ":::", "a.b", ":::", "c/d"], ""),
    (&["-k", "-j1", "echo", "{#}", "{%}", "{}", ":::", "a", "b"], ""),
    (&["-k", "echo", "{}", "::::", "lines", ":::", "x"], ""),
    (&["-k", "echo", "{}", "::::", "-"], "a\nb c\n"),
    (&["-k", "-a", "lines", "echo", "{}"], ""),
    (&["-k", "-C", ",", "echo", "{2}", "{1}"], "a,b\nc,d\n"),
    (&["-k", "--colsep", "\\t", "echo", "{2}"], "a\tb\n"),
    (&["-k", "--colsep", ",", "echo", "{2}", "{1}", ":::", "a,b", "c,d", ":::", "e,f"], ""),
    (&["-k", "-C", "\\s+", "echo", "{2}-{1}"], "a  b\nc\td e\n\n f\n"),
    (&["-k", "-C", "[;,] *", "echo", "{3}{2}"], "a; b,c\nd\n"),
    (&["-k", "-C", "\\|", "echo", "{2}{1}"], "a|b\n"),
    (&["-k", "-C", ".", "echo", "{1}{2}{3}x"], "a.b\n"),
    (&["-k", "-C", "", "echo", "{3}{2}{1}"], "abc\n"),
    (&["-k", "-C", "x*", "echo", "{3}{2}{1}"], "axbc\n"),
    (&["-k", "-C", "(;|,)", "echo", "{1}{2}{3}{4}"], "a;b,c\n"),
    (&["-k", "-C", "-", "echo", "{2}", "{1}", ":::", "a-b", " c - d "], ""),
    (&["-k", "-C", "(?i)x", "--max-args", "2", "echo", "{4}"], "1X2\n3x4\n"),
    (&["-k", "-I", "@", "echo", "@{}"], "a\n"),
    (&["-k", "--tag", "echo", "{}", ":::", "a", "b"], ""),
    (&["-k", "--tagstring", "<{}>", "echo", "{}", ":::", "a", "b"], ""),
    (&["-k", "--tagstring", "t", "echo", "{}", ":::", "a", "b"], ""),
    (&["-k", "-0", "echo", "{}"], "a\0b\0"),
    (&["-k", "--delimiter", ";", "echo", "{}"], "a;b;c"),
    (&["-k", "-L", "2", "echo", "{}"], "a\nb\nc\n"),
    (&["-k", "--pipe", "--max-replace-args", "3", "wc", "-l"], "1\n2\n3\n4\n5\n6\n7\n"),
    (&["-k", "--pipe", "-N1", "wc", "-l"], "1\n2\n3\n"),
    (&["-k", "-N100", "--pipe", "wc", "-l"], "1\n2\n3\n"),
    (&["--pipe", "-kN", "2", "wc", "-l"], "1\n2\n3\n"),
    (&["--pipe", "-kn2", "wc", "-l"], "1\n2\n3\n"),
    (&["-k", "--pipe", "-L", "2", "--max-replace-args", "1", "wc", "-l"], "1\n2\n3\n4\n5\n"),
    (&["-k", "--pipe", "--block", "5", "cat"], "a\nb\nc\nlonger\nd"),
    (&["-k", "--pipe", "--block", "4", "--recend", "", "cat"], "abcdefghij"),
    (&["-k", "--pipe", "--recend", ";", "--block", "3", "cat"], "a;b;c;d;"),
    (&["-k", "--pipe", "--header", ":", "--max-replace-args", "1", "cat"], "h\n1\n2\n"),
    (&["-k", "--pipe", "wc", "-c"], ""),
    (&["--halt", "soon,fail=1", "-j1", "sh", "-c", ":::", "echo a", "false", "echo b"], ""),
    (&["--bar", "--eta", "-k", "echo", ":::", "a"], ""),
    (&["--dry-run", "-k", "echo", "{}", ":::", "a", "b"], ""),
];

#[test]
fn a_number_behind_n_is_refused_since_outputs_would_be_lost() {
    let place = Place::new();
    for typed in ["-n1 echo ::: a", "-N1 echo ::: a", "-kn20 echo", "-N 2 echo"] {
        let outcome = place.shell(&format!("\"$mh\" xjobs {typed} < /dev/null"));
        assert_eq!(outcome.exit, Exit::Code(2), "{typed}");
        assert!(said(&outcome).contains("take no number; -l N makes"), "{}", said(&outcome));
    }
    assert_eq!(stdout(&place.shell("echo 'a b' | ln -s \"$mh\" xjobs && echo a | ./xjobs -n1 echo; echo $?")), "0\n");
}

#[test]
fn command_lines_that_mean_the_same_print_the_same() {
    let Some(theirs) = TestProgram::find("parallel") else { return left_out("GNU parallel is not installed") };
    let place = Place::new();
    place.write("lines", "1\n2 3\n");
    let theirs = theirs.in_directory(place.directory()).with_variable("HOME", place.directory());
    for (arguments, input) in SAME {
        let ours = xjobs(&place, arguments, input);
        let expected = theirs.run(*arguments, input.as_bytes()).expect("it starts");
        assert_eq!(stdout(&ours), stdout(&expected), "{arguments:?} {}", said(&ours));
    }
}

/// A pipe without a name ends with who writes into it; one with a name is a server's door, but for blocks.
#[test]
fn lists_from_the_shells_own_pipes_end_with_who_writes_them() {
    let place = Place::new();
    for (script, printed) in [
        ("\"$mh\" xjobs -k -a <(printf '1\\n2\\n') echo", "1\n2\n"),
        ("\"$mh\" xjobs -k -s <(printf 'echo 1\\n')", "1\n"),
        ("printf '1\\n2\\n' | \"$mh\" xjobs -k -a /dev/stdin echo", "1\n2\n"),
        ("printf '1\\n2\\n' | \"$mh\" xjobs -k --pipepart -a /dev/stdin cat", "1\n2\n"),
        ("mkfifo door; printf '1\\n2\\n' > door & \"$mh\" xjobs -k --pipe -a door cat", "1\n2\n"),
    ] {
        place.write("script", script);
        let outcome = place.shell("timeout 60 bash script");
        assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), printed), "{script} {}", said(&outcome));
    }
}

#[test]
fn options_that_values_would_leave_without_effect_are_refused() {
    let place = Place::new();
    place.write("lines", "1\n");
    for option in [["--listen", "sock"], ["-s", "lines"]] {
        let outcome = xjobs(&place, &[&option[..], &["echo", ":::", "a"]].concat(), "");
        assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(2), ""), "{option:?}");
        assert!(said(&outcome).contains(option[0]), "{}", said(&outcome));
    }
}

#[test]
fn blocks_reach_jobs_whole_whatever_they_read_of_them() {
    let place = Place::new();
    let numbers: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    let outcome = xjobs(&place, &["-k", "--pipe", "--block", "100k", "-j3", "cat"], &numbers);
    assert!(stdout(&outcome) == numbers && outcome.exit == Exit::Code(0));
    let partly = xjobs(&place, &["--pipe", "--block", "100k", "head", "-n1"], &numbers);
    assert_eq!((partly.exit, said(&partly).as_str()), (Exit::Code(0), ""), "not reading all is no error");
    assert!(stdout(&partly).lines().count() > 10);
    let script = "n=$(wc -c); test -e done$n || { touch done$n; exit 1; }; echo $n";
    let retried = xjobs(&place, &["-k", "--pipe", "-l2", "--retries", "2", "sh", "-c", script], "a\nbb\nc\n");
    assert_eq!(
        (stdout(&retried).as_str(), retried.exit),
        ("5\n2\n", Exit::Code(0)),
        "an attempt reads its block again"
    );
}

#[test]
fn blocks_take_no_memory_for_what_has_been_read() {
    let place = Place::new();
    let script =
        "ulimit -v 400000; head -c 600000000 /dev/zero | \"$mh\" xjobs -j2 --pipe --recend '' --block 4M wc -c";
    let counts = stdout(&place.shell(script));
    assert_eq!(counts.lines().map(|count| count.parse::<u64>().expect("a number")).sum::<u64>(), 600_000_000);
    let outcome = place.shell("ulimit -v 3000000; head -c 2000000000 /dev/zero | \"$mh\" xjobs --pipe wc -c");
    assert!(said(&outcome).contains("block 1: a record is longer than 1024 MiB"), "{}", said(&outcome));
}

#[test]
fn resumed_blocks_are_known_by_what_is_in_them() {
    let place = Place::new();
    let run =
        |input: &str| stdout(&xjobs(&place, &["-k", "--pipe", "-l1", "--journal", "j", "--resume", "cat"], input));
    assert_eq!(run("a\nb\n"), "a\nb\n");
    assert_eq!(run("c\nb\na\na\n"), "c\na\n");
}

#[test]
fn the_job_log_is_gnu_parallels_and_is_gone_on_from() {
    let place = Place::new();
    let arguments = ["--joblog", "l", "-j1", "sh", "-c", "echo $1; exit $1", "sh", ":::", "0", "3", "4"];
    xjobs(&place, &arguments, "");
    let log = String::from_utf8(place.read("l")).expect("text");
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0].join(" "), "Seq Host Starttime JobRuntime Send Receive Exitval Signal Command");
    let told: Vec<String> =
        lines[1..].iter().map(|line| format!("{} {} {} {}", line[0], line[5], line[6], line[7])).collect();
    assert_eq!(told, ["1 2 0 0", "2 2 3 0", "3 2 4 0"]);
    assert_eq!(lines[2][8], "sh -c 'echo $1; exit $1' sh 3");
    let again = |option: &str, values: &[&str]| {
        let arguments = ["--joblog", "l", option, "-j1", "sh", "-c", "echo $1; exit $1", "sh", ":::"];
        stdout(&xjobs(&place, &[&arguments[..], values].concat(), ""))
    };
    assert_eq!(again("--resume", &["4", "7", "0", "3"]), "7\n", "in another order they are known all the same");
    assert_eq!(again("--resume-failed", &["0", "3"]), "3\n");
    xjobs(&place, &["--joblog", "l", "true", ":::", "a"], "");
    assert_eq!(String::from_utf8(place.read("l")).expect("text").lines().count(), 2, "without --resume it begins anew");
    xjobs(&place, &["--joblog", "+l", "true", ":::", "a"], "");
    assert_eq!(String::from_utf8(place.read("l")).expect("text").lines().count(), 3);
}

#[test]
fn a_job_log_that_gnu_parallel_wrote_is_gone_on_from() {
    let Some(theirs) = TestProgram::find("parallel") else { return left_out("GNU parallel is not installed") };
    let place = Place::new();
    let theirs = theirs.in_directory(place.directory()).with_variable("HOME", place.directory());
    theirs.run(["--joblog", "l", "echo", ":::", "it's", "a b", "2"], b"").expect("it starts");
    let ours = xjobs(&place, &["--joblog", "l", "--resume", "-k", "echo", ":::", "3", "a b", "it's"], "");
    assert_eq!(stdout(&ours), "3\n", "{}", said(&ours));
}

/// What a shell reads is the same text in both programs' logs, and known by it.
#[test]
fn scripts_are_logged_as_gnu_parallel_logs_them_and_gone_on_from() {
    let Some(theirs) = TestProgram::find("parallel") else { return left_out("GNU parallel is not installed") };
    let place = Place::new();
    let theirs = theirs.in_directory(place.directory()).with_variable("HOME", place.directory());
    let values = [":::", "it's", "a b", "x.y", "", "'", "=,:@%~#", "\u{e9}", "-x", "$HOME"];
    let with_values = |command: &'static [&'static str]| [command, &values].concat();
    let cases = [
        (with_values(&["echo {} > /dev/null; echo {.}.o"]), ""),
        (with_values(&["echo", "a  b"]), ""),
        (with_values(&["--max-args", "2", "echo {2} {}; echo {1/}"]), ""),
        (vec![], "echo 1 | wc -c\necho \"a  b\"; echo $HOME\n  true\n"),
        (vec!["-0", "echo"], "a\nb\0c\0"),
    ];
    for (command, list) in cases {
        let run = |options: &[&str]| xjobs(&place, &[&["--shell", "-k"], options, &command].concat(), list);
        theirs.run([&["-k", "--joblog", "theirs"][..], &command].concat(), list.as_bytes()).expect("it starts");
        run(&["--joblog", "ours"]);
        let commands = |log: &str| stdout(&place.shell(&format!("tail -n +2 {log} | cut -f9- | LC_ALL=C sort")));
        assert_eq!(commands("ours"), commands("theirs"), "{command:?}");
        for log in ["theirs", "ours"] {
            let again = run(&["--joblog", log, "--resume"]);
            assert_eq!(stdout(&again), "", "{log} {command:?} {}", said(&again));
        }
    }
    let other = xjobs(&place, &["--shell", "--joblog", "ours", "--resume", "printf '%s|'", ":::", "a b"], "");
    assert_eq!(stdout(&other), "a b|", "another command is run");
}

#[test]
fn results_stand_where_gnu_parallel_puts_them() {
    let place = Place::new();
    let values = [":::", "a b/c", "x\ty", ":::", "d\\e"];
    let ours = xjobs(
        &place,
        &[&["--results", "ours", "-k", "sh", "-c", "echo out; echo err >&2", "sh"][..], &values].concat(),
        "",
    );
    assert_eq!((stdout(&ours).as_str(), said(&ours).as_str()), ("", ""), "as there, none is printed");
    assert_eq!(place.read("ours/1/a b\\_c/2/d\\\\e/stdout"), b"out\n");
    assert_eq!(place.read("ours/1/x\\ty/2/d\\\\e/stderr"), b"err\n");
    let Some(theirs) = TestProgram::find("parallel") else { return left_out("GNU parallel is not installed") };
    let theirs = theirs.in_directory(place.directory()).with_variable("HOME", place.directory());
    theirs.run([&["--results", "theirs", "echo"][..], &values].concat(), b"").expect("it starts");
    let listed = |directory: &str| stdout(&place.shell(&format!("cd {directory} && find . | sort")));
    assert_eq!(listed("ours"), listed("theirs"));
    xjobs(&place, &["--results", "by/{1}-{2}", "echo", ":::", "a", ":::", "b"], "");
    assert_eq!((place.read("by/a-b"), place.read("by/a-b.seq")), (b"a b\n".to_vec(), b"1".to_vec()));
}

#[test]
fn a_share_of_the_median_is_a_time_limit() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-j2", "--timeout", "500%", "sleep"], "0.2\n0.2\n0.2\n1000\n");
    assert!(said(&outcome).contains("job 4 failed: sleep 1000: it took longer than it may"), "{}", said(&outcome));
}

#[test]
fn a_limit_of_nothing_is_none() {
    let place = Place::new();
    let outcome = xjobs(&place, &["--timeout", "0", "--halt", "never", "sleep"], "0.2\n");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
}

#[test]
fn what_is_not_there_says_what_to_do_instead() {
    let place = Place::new();
    for (arguments, words) in [
        (
            &["--sshlogin", "host", "true"][..],
            "--sshlogin is not there: --on ssh:HOST,HOST runs the list on other machines",
        ),
        (&["-S", "host", "true"], "--sshlogin is not there: --on ssh:HOST,HOST runs the list on other machines"),
        (&["--sem", "true"], "--sem is not there: flock(1) does that"),
        (&["--pipe", "--round-robin", "cat"], "--round-robin is not there: each block is a job of its own"),
        (&["--shuf", "true"], "--shuf is not there: put shuf(1) before it"),
        (&["echo {= s/a/b/ =}"], "{= =} is not there: values are data"),
        (&["--resume", "true"], "--resume needs --journal or --joblog"),
        (&["--pipe"], "--pipe needs a command"),
        (
            &["--pipe", "-0", "cat"],
            "-0 does not go with --pipe, whose jobs get blocks of records and no arguments; --recend '\\0'",
        ),
        (
            &["--pipe", "-1", "cat"],
            "-1 does not go with --pipe, whose jobs get blocks of records and no arguments; -l 1",
        ),
        (&["--pipe", "--delimiter", ";", "cat"], "--delimiter does not go with --pipe"),
        (&["-C", "a(b", "true"], "invalid value 'a(b' for --colsep: found open group without closing"),
        (&["-C", "(?=a)", "true"], "invalid value '(?=a)' for --colsep: look"),
    ] {
        let outcome = xjobs(&place, arguments, "a\n");
        assert!(said(&outcome).contains(words), "{arguments:?}: {}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(2));
    }
}

/// Whatever the kernel allows: all arguments arrive, in as few jobs as hold them.
#[test]
fn jobs_that_are_filled_hold_what_the_kernel_takes() {
    let place = Place::new();
    let counted = |before: &str, command: &str| {
        let ran = place.shell(&format!(
            "{before}; {command} > out 2> told; echo $? $(tr ' ' '\\n' < out | grep -c '[0-9]') $(wc -l < out) $(wc -c < told)"
        ));
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let numbers: Vec<usize> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        <[usize; 4]>::try_from(numbers).expect("four numbers")
    };
    let large = "export BIG=$(head -c 60000 /dev/zero | tr '\\0' v)";
    for hands in ["-j1", "-j2"] {
        for command in ["echo", "echo {}", "echo x{}y", "echo {} {/}", "--shell 'echo {}'", "--shell 'echo x{}y'"] {
            let command = format!("seq 30000 | $mh xjobs {hands} -X {command}");
            let arguments = if command.contains("{/}") { 60_000 } else { 30_000 };
            for before in ["ulimit -s 256", &format!("ulimit -s 256; {large}"), large] {
                let [code, found, _, told] = counted(before, &command);
                assert_eq!([code, found, told], [0, arguments, 0], "{before}; {command}");
            }
        }
        // 469 kB of arguments and their pointers: one job where the stack may have 8 MiB, and five of 128 KiB.
        for (before, jobs) in [("ulimit -s 8192", 1..=1), ("ulimit -s 256", 4..=6)] {
            let [.., found, lines, _] = counted(before, &format!("seq 30000 | $mh xjobs {hands} -X echo {{}}"));
            assert!(found == 30_000 && jobs.contains(&lines), "{before}: {lines}");
            let [.., found, lines, _] = counted(before, &format!("$mh xjobs {hands} -X echo ::: $(seq 7000)"));
            assert!(found == 7000 && lines <= 2, "{before}: {lines}");
        }
    }
}
