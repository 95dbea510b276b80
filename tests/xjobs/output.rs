//! Outputs: never mixed, never lost without a word, bounded in memory; GNU parallel's MIX, STDERRMERGE, RAM and DISKFULL.

use super::ends::start;
use super::{stdout, xjobs};
use crate::place::{Place, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use testkit::program::Exit;

#[test]
fn mix_no_line_of_one_job_stands_inside_another() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 300 ]; do echo $1 $1 $1 $1 $1; i=$((i+1)); done; exec sleep 0.0$1";
    let outcome = xjobs(&place, &["-j4", "sh", "-c", script, "sh"], "1\n2\n3\n4\n5\n6\n7\n8\n");
    let text = stdout(&outcome);
    let mut blocks: Vec<&str> = text.lines().collect();
    assert_eq!(blocks.len(), 8 * 300);
    blocks.dedup();
    assert_eq!(blocks.len(), 8, "each job's lines stand together");
}

#[test]
fn stderrmerge_the_two_streams_stay_apart() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-j2", "sh", "-c", "echo out $1; echo err $1 >&2", "sh"], "1\n2\n3\n");
    assert_eq!(stdout(&outcome).lines().filter(|line| line.starts_with("out")).count(), 3);
    assert_eq!(said(&outcome).lines().filter(|line| line.starts_with("err")).count(), 3);
}

#[test]
fn order_of_the_list_is_kept_where_asked_for() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-k", "-j4", "sh", "-c", "sleep 0.$1; echo $1", "sh"], "4\n1\n3\n2\n");
    assert_eq!(stdout(&outcome), "4\n1\n3\n2\n");
}

#[test]
fn ram_large_outputs_come_whole_and_take_no_memory() {
    let place = Place::new();
    let script = "ulimit -v 400000; seq 8 | \"$mh\" xjobs -j4 --shell 'head -c 30000000 /dev/zero | tr \"\\0\" {}' > all; \
                  wc -c < all; for i in 1 2 3 4 5 6 7 8; do tr -cd $i < all | wc -c; done | sort -u";
    assert_eq!(stdout(&place.shell(script)), "240000000\n30000000\n");
    assert_eq!(place.names(), ["all"]);
}

#[test]
fn diskfull_nothing_is_lost_without_a_word() {
    let place = Place::new();
    let outcome = place.shell("seq 3 | \"$mh\" xjobs -j1 echo > /dev/full");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("could not write output of jobs: No space left on device"), "{}", said(&outcome));
    let outcome = place.shell("echo 200000 | TMPDIR=/nowhere \"$mh\" xjobs head -c {} /dev/zero | wc -c");
    assert!(said(&outcome).contains("could not keep all output of job 1"), "{}", said(&outcome));
    let kept: usize = stdout(&outcome).trim().parse().expect("a number");
    assert!(kept > 0 && kept <= 65_536, "what was in memory is passed on: {kept}");
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let place = Place::new();
    let outcome = place.shell("seq 100000 | \"$mh\" xjobs -j2 echo | head -n 1");
    assert_eq!((outcome.exit, said(&outcome).as_str()), (Exit::Code(0), ""));
    assert_eq!(stdout(&outcome).lines().count(), 1);
}

#[test]
fn lines_come_as_they_are_printed_with_tags() {
    let place = Place::new();
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "--line-buffer", "--tag", "sh", "-c", "echo 1; read x < go; echo 2", "sh", ":::", "a"]);
    place.shell("mkfifo go");
    command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut reader = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("readable");
    assert_eq!(line, "a\t1\n", "it comes while the job runs");
    place.shell("echo > go");
    line.clear();
    reader.read_line(&mut line).expect("readable");
    assert_eq!(line, "a\t2\n");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn errors_that_come_with_the_output_stay_on_one_stream() {
    // The old name's way; the job's own output goes to a file.
    let place = Place::new();
    let script = "ln -s \"$mh\" xjobs; echo \"sh -c 'echo one >&2; sleep 0.3; printf two >&2' > file\" | \
                  ./xjobs -v0 --line-buffer -j1 2> told; cat told; echo / >> told; cat told > /dev/null";
    let outcome = place.shell(script);
    assert_eq!((stdout(&outcome).as_str(), place.read("told").as_slice()), ("one\ntwo", &b"/\n"[..]));
}

#[test]
fn lines_go_on_coming_behind_a_burst() {
    let place = Place::new();
    let script = "seq 100000; echo over; read x < go; echo end";
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "--line-buffer", "--shell", ":::", script]);
    place.shell("mkfifo go");
    command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    for number in 1..=100_000 {
        assert_eq!(lines.next(), Some(number.to_string()));
    }
    assert_eq!(lines.next().as_deref(), Some("over"), "it comes while the job runs");
    place.shell("echo > go");
    assert_eq!((lines.next().as_deref(), lines.next()), (Some("end"), None));
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn lines_for_a_slow_reader_wait_in_their_job() {
    let place = Place::new();
    // The reader begins when the job has met a full pipe, or never does: then the runner takes all in and has no memory for it.
    // LIE: the C library reserves address space in steps of 64 MiB a thread, so a limit beside 150,000 KiB leaves room for nothing else.
    let script = "ulimit -v 200000; \"$mh\" xjobs --lb --shell ::: 'yes 0123456789012345678901234567890 | head -c 350000000' \
                  | { sleep 2; wc -c; }";
    let outcome = place.shell(script);
    assert_eq!((stdout(&outcome).trim(), said(&outcome).as_str()), ("350000000", ""));
}

#[test]
fn long_lines_are_not_mixed_and_wait_in_files() {
    let place = Place::new();
    let half = "head -c 300000 /dev/zero | tr '\\0' {}";
    let outcome = xjobs(&place, &["-j3", "--lb", "--shell", &format!("{half}; sleep 0.1; {half}; echo")], "1\n2\n3\n");
    let text = stdout(&outcome);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let whole = ["1", "2", "3"].map(|letter| letter.repeat(600_000));
    assert!(lines == whole, "{:?}", lines.iter().map(|line| line.len()).collect::<Vec<_>>());
}

#[test]
fn lines_in_the_lists_order_are_those_of_one_job_at_a_time() {
    let place = Place::new();
    let script = "mkfifo go; \"$mh\" xjobs -k --lb -j3 --shell \
                  'echo a{}; test {} = 2 && seq 30000; test {} = 1 && read x < go; echo b{}' ::: 1 2 3 > all & \
                  until grep -q a1 all; do sleep 0.02; done; echo > go; wait; grep -v '^[0-9]' all; grep -c '^[0-9]' all";
    assert_eq!(stdout(&place.shell(script)), "a1\nb1\na2\nb2\na3\nb3\n30000\n");
}

#[test]
fn jobs_that_write_directly_to_a_reader_that_left_end_the_run() {
    let place = Place::new();
    let script =
        "(yes 1 | head -n 100000 | \"$mh\" xjobs -u -j2 --shell 'seq {} 50000'; echo $? > code) | head -n 1; cat code";
    let outcome = place.shell(script);
    assert_eq!(stdout(&outcome), "1\n141\n", "{}", said(&outcome));
    assert!(said(&outcome).lines().count() < 10, "{}", said(&outcome));
}

#[test]
fn starts_are_told_when_they_are_and_ends_behind_their_outputs() {
    let place = Place::new();
    let mark = format!("1241.{}", std::process::id());
    let mut running = start(&place, &["-v", "3", "-j2", "sleep"], &format!("{mark}\n{mark}\n"));
    let told = || String::from_utf8_lossy(&place.read("said")).matches("started job").count();
    wait_until("both starts are told", || told() == 2);
    kill_process(Pid::from_child(&running.child), Signal::TERM).expect("it has not been waited for");
    running.end();
    // Two that end in one turn.
    let script = "\"$mh\" xjobs -j2 --shell 'until test -e go; do sleep 0.01; done; echo out {}; exit {}' ::: 1 2 > out 2>&1 & \
                  sleep 0.3; : > go; wait";
    place.shell(script);
    let out = String::from_utf8(place.read("out")).expect("text");
    let lines: Vec<&str> = out.lines().collect();
    for job in ["1", "2"] {
        let at = lines.iter().position(|line| *line == format!("out {job}")).expect("its output");
        assert!(lines[at + 1].starts_with(&format!("mh xjobs: job {job} failed")), "{out}");
    }
}

#[test]
fn jobs_that_need_no_reader_go_on_without_one() {
    let place = Place::new();
    // One that fails for its own reasons, outputs that are thrown away: the pipe's reader is not what they are run for.
    let direct = "(sleep 0.2; \"$mh\" xjobs -u -j1 sh -c ': > u$0; test $0 != 2' ::: 1 2 3; echo $? > code) | :";
    let discarded = "\"$mh\" xjobs -n -j1 sh -c ': > n$0; echo error >&2; sleep 0.1' ::: 1 2 3 2>&1 | head -n 1";
    let outcome = place.shell(&format!("{direct}; {discarded}; cat code; echo u? n?"));
    assert_eq!(stdout(&outcome), "error\n1\nu1 u2 u3 n1 n2 n3\n", "{}", said(&outcome));
}

#[test]
fn errors_and_messages_in_one_place_with_outputs_divide_no_line() {
    let place = Place::new();
    place.write("list", b"sh -c 'seq 1000000; echo of it >&2'\nfalse\n");
    let run = "\"$mh\" xjobs -j1 -s list";
    for script in [format!("{run} > out 2>&1"), format!("{run} 2>&1 | (sleep 0.2; cat) > out")] {
        place.shell(&script);
        let out = String::from_utf8(place.read("out")).expect("text");
        let expected: Vec<String> = (1..=1_000_000).map(|number| number.to_string()).collect();
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[..1_000_000] == expected, "{script}");
        let behind = ["of it", "mh xjobs: job 2 failed: false: exit code 1", "mh xjobs: 1 of 2 jobs failed"];
        assert_eq!(lines[1_000_000..], behind, "{script}");
    }
}

#[test]
fn long_tags_before_short_lines_of_a_slow_reader_take_no_descriptors() {
    let place = Place::new();
    let script = "ulimit -n 110; \"$mh\" xjobs -j2 --line-buffer --tagstring $(printf %080d 0) --timeout 0.5 yes ::: 1 2 | (sleep 0.8; wc -c)";
    let outcome = place.shell(script);
    assert!(!said(&outcome).contains("could not keep"), "{}", said(&outcome));
    assert!(stdout(&outcome).trim().parse::<u64>().expect("a number") > 1 << 20);
}

#[test]
fn two_runs_that_share_an_output_file_lose_nothing() {
    let place = Place::new();
    let run = "\"$mh\" xjobs -j2 --shell 'head -c 10000000 /dev/zero; : {}' ::: 1 2 3 4";
    place.shell(&format!("({run} & {run} & wait) > out"));
    assert_eq!(place.read("out").len(), 80_000_000);
}

#[test]
fn a_job_that_prints_faster_than_tags_are_put_is_ended_all_the_same() {
    let place = Place::new();
    let script = "\"$mh\" xjobs --tag --timeout 0.5 --shell yes ::: 1 > out; echo $?; \
                  \"$mh\" xjobs --tag --shell 'yes & sleep 0.2; kill $!; wait; echo end' ::: 1 | tail -n 1";
    let outcome = place.shell(script);
    assert_eq!(stdout(&outcome), "1\n1\tend 1\n", "{}", said(&outcome));
}

#[test]
fn a_job_that_prints_without_end_holds_up_nobody() {
    let place = Place::new();
    // Three end beside it where each short line is written by itself, under a lock that the loop takes back before anyone else.
    let script = "(echo 'timeout 1.5 yes'; seq 20 | sed 's/^/true /') > list; \
                  \"$mh\" xjobs -j2 --tag --journal journal -s list > /dev/null; \
                  grep -n '\"yes\".*\"outcome\"' journal | cut -d: -f1; wc -l < journal";
    let outcome = place.shell(script);
    let printed = stdout(&outcome);
    let lines: Vec<&str> = printed.split_whitespace().collect();
    assert_eq!(lines, ["42", "42"], "its end is the last of all: {}", said(&outcome));
}
