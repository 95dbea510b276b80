//! What Debian's xjobs had to mend in its 26 releases (its ChangeLog), each as a case that ours must pass; named by release. Lines
//! and options that both programs still have are compared directly in `debian`.

use super::ends::start;
use super::{stdout, xjobs};
use crate::place::{Place, Running, said, wait_until};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use testkit::program::Exit;

/// Called `xjobs`, with everything told.
fn as_xjobs(place: &Place, script: &str) -> (String, String) {
    if !place.has("xjobs") {
        symlink(std::fs::canonicalize(crate::place::binary()).expect("it exists"), place.path("xjobs"))
            .expect("a link");
    }
    let outcome = place.shell(script);
    (stdout(&outcome), said(&outcome))
}

#[test]
fn release_20120412_scripts_one_after_another_into_a_pipe_do_not_stall() {
    let place = Place::new();
    place.shell("mkfifo q");
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "-j2", "-s", "q"]).current_dir(place.directory()).stdin(Stdio::null());
    let server = Running { child: command.spawn().expect("the program starts") };
    for number in 0..50 {
        // Each opens the pipe anew, and closes it.
        place.shell(&format!("echo 'touch m{number}' > q"));
    }
    wait_until("all jobs have run", || (0..50).all(|number| place.has(format!("m{number}"))));
    drop(server);
}

#[test]
fn release_20110724_what_a_job_used_is_told_with_and_without_output() {
    let place = Place::new();
    let (_, told) = as_xjobs(&place, "printf 'true\\necho a\\n' | ./xjobs -j1");
    assert_eq!(told.matches(", user: 0:0.").count(), 2, "{told}");
    let (_, told) = as_xjobs(&place, "printf 'true\\necho a\\n' | ./xjobs -j1 -r");
    assert_eq!(told.matches("user:").count(), 0, "{told}");
}

#[test]
fn release_20100915_a_line_may_be_one_argument_ended_by_a_line_end_or_nul() {
    let place = Place::new();
    let words = "\"a  b\" > c\n# d\n";
    assert_eq!(stdout(&xjobs(&place, &["-1", "-k", "printf", "[%s]"], words)), "[\"a  b\" > c][# d]");
    assert_eq!(stdout(&xjobs(&place, &["-0", "-k", "printf", "[%s]"], "a\nb\0 c")), "[a\nb][ c]");
    assert_eq!(stdout(&xjobs(&place, &["-1", "-l2", "-k", "printf", "[%s]"], "a b\nc\nd\n")), "[a b][c][d]");
}

#[test]
fn release_20100203_a_command_of_any_length_can_be_told() {
    let place = Place::new();
    let (_, told) = as_xjobs(&place, "printf 'true %0100000d\\n' 0 | ./xjobs -j1; echo rc $? >&2");
    assert!(told.len() > 200_000 && told.ends_with("rc 0\n"));
}

#[test]
fn release_20091012_n_keeps_errors_and_capital_n_does_not() {
    let place = Place::new();
    let job = "sh -c \"echo out; echo err >&2\"\n";
    let errors = xjobs(&place, &["-n"], job);
    assert_eq!((stdout(&errors).as_str(), said(&errors).as_str()), ("", "err\n"));
    let nothing = xjobs(&place, &["-N"], job);
    assert_eq!((stdout(&nothing).as_str(), said(&nothing).as_str()), ("", ""));
    let direct = xjobs(&place, &["-d"], job);
    assert_eq!((stdout(&direct).as_str(), said(&direct).as_str()), ("out\n", "err\n"));
}

#[test]
fn release_20080824_e_ends_at_a_failure_and_signals_are_told() {
    let place = Place::new();
    let ended = xjobs(&place, &["-e", "-j1"], "echo a\nfalse\necho b\n");
    assert_eq!((stdout(&ended).as_str(), ended.exit), ("a\n", Exit::Code(1)));
    let killed = xjobs::<&str>(&place, &[], "sh -c 'kill -9 $$'\n");
    assert!(said(&killed).contains("ended by signal 9"), "{}", said(&killed));
}

#[test]
fn release_20080322_jobs_have_the_runners_variables() {
    let place = Place::new();
    assert_eq!(stdout(&place.shell("echo \"sh -c 'echo \\$X'\" | X='a b' \"$mh\" xjobs")), "a b\n");
}

#[test]
fn release_20080213_redirections_without_a_file_or_a_job_are_named() {
    let place = Place::new();
    let missing = xjobs(&place, &["echo", ">"], "a\n");
    assert!(
        missing.exit == Exit::Code(2) && said(&missing).contains("a file name is needed behind >"),
        "{}",
        said(&missing)
    );
    let nothing = xjobs::<&str>(&place, &[], "> o\n");
    assert!(said(&nothing).contains("there are redirections and nothing to run"), "{}", said(&nothing));
    place.shell("truncate -s 5G large");
    let appended = xjobs::<&str>(&place, &[], "echo a >> large\n");
    assert_eq!((appended.exit, stdout(&place.shell("tail -c2 large"))), (Exit::Code(0), "a\n".to_owned()));
}

#[test]
fn release_20071122_a_program_that_is_not_there_is_a_failed_job() {
    let place = Place::new();
    let outcome = xjobs::<&str>(&place, &["-j1"], "echo a\nno-such-program\necho b\n");
    assert_eq!((stdout(&outcome).as_str(), outcome.exit), ("a\nb\n", Exit::Code(1)));
}

#[test]
fn release_20070915_and_20070923_the_time_that_each_job_took_is_told() {
    let place = Place::new();
    for option in ["", "-r"] {
        let (_, told) = as_xjobs(&place, &format!("printf 'true\\nfalse\\necho a\\n' | ./xjobs -j1 {option}"));
        assert_eq!(told.matches(", real: 0:0.").count(), 3, "{option}: {told}");
    }
    let (_, told) = as_xjobs(&place, "printf 'sleep 0.2\\n' | ./xjobs");
    let seconds = told.split_once(", real: 0:").and_then(|(_, rest)| rest.split_once(' ')).map(|(time, _)| time);
    let seconds: f64 = seconds.and_then(|time| time.parse().ok()).unwrap_or_else(|| panic!("no time in {told}"));
    assert!(seconds >= 0.2, "{told}");
}

#[test]
fn release_20061008_inputs_are_not_made_and_appended_files_are() {
    let place = Place::new();
    let outcome = xjobs::<&str>(&place, &["-j1"], "cat < missing\necho a >> new\n");
    assert_eq!((outcome.exit, place.names()), (Exit::Code(1), vec!["new".to_owned()]));
    assert!(said(&outcome).contains("cannot open 'missing'"), "{}", said(&outcome));
}

#[test]
fn release_20060807_each_job_may_have_its_own_program_and_input() {
    let place = Place::new();
    place.write("in", "x\n");
    assert_eq!(stdout(&xjobs::<&str>(&place, &["-j1"], "echo a\nexpr 1 + 1\ncat < in\n")), "a\n2\nx\n");
}

#[test]
fn release_20060731_widths_may_be_multiples() {
    let place = Place::new();
    let plan = stdout(&xjobs(&place, &["-j", "2.5x", "--explain", "true"], ""));
    assert!(plan.contains("-j 2.5x of"), "{plan}");
    let width = |option: &str| {
        let plan = stdout(&xjobs(&place, &["-j", option, "--explain", "true"], ""));
        let line = plan.lines().find_map(|line| line.trim_start().strip_prefix("jobs at once")).expect("it is there");
        line.split_whitespace().next().expect("a number").to_owned()
    };
    // 20120412 itself refuses a plain x, and takes others.
    assert_eq!(width("2.5X"), width("2.5x"));
    assert_eq!(width("2.5 x"), width("2.5x"));
    assert_eq!((width("2.1").as_str(), width("2.0").as_str(), width("0.3").as_str()), ("3", "2", "1"));
}

#[test]
fn release_20060726_a_job_without_output_takes_one_line_when_it_ends() {
    let place = Place::new();
    let (printed, told) = as_xjobs(&place, "echo true | ./xjobs -j1");
    assert_eq!((printed.as_str(), told.lines().count()), ("", 2), "a start and an end: {told}");
}

#[test]
fn release_20060720_an_output_that_cannot_be_written_ends_it_with_a_word() {
    let place = Place::new();
    let outcome = place.shell("seq 5 | \"$mh\" xjobs -j1 echo > /dev/full; echo $?");
    assert_eq!(stdout(&outcome), "1\n");
    assert_eq!(said(&outcome).matches("could not write output of jobs").count(), 1, "{}", said(&outcome));
}

#[test]
fn release_20060709_umlauts_are_letters_in_words_quotes_and_names_of_files() {
    let place = Place::new();
    let list = "printf %s| \u{fc}\u{e4}\u{f6} '\u{df} \u{e9}' \"\u{dc}\" > \u{d6}l\ncat < \u{d6}l\n".as_bytes();
    // Those of Latin-1, as they were then, are no text.
    let latin = b"printf %s| \xfc\xe4 '\xdf' \xff\n";
    let outcome = xjobs::<&str>(&place, &["-j1"], [list, latin].concat());
    let expected = ["\u{fc}\u{e4}\u{f6}|\u{df} \u{e9}|\u{dc}|".as_bytes(), b"\xfc\xe4|\xdf|\xff|"].concat();
    assert_eq!((outcome.exit, outcome.stdout.clone()), (Exit::Code(0), expected), "{}", said(&outcome));
}

#[test]
fn release_20060413_arguments_may_be_empty_and_letters_of_any_kind() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-k", "printf", "[%s]"], "\"\" '' \u{fc}\n".as_bytes());
    assert_eq!(stdout(&outcome), "[][][\u{fc}]");
}

#[test]
fn release_20060412_names_may_be_as_long_as_a_path_and_each_message_is_a_line() {
    let place = Place::new();
    place.shell("printf '#!/bin/sh\\necho ran\\n' > p; chmod +x p");
    // With its NUL the first has PATH_MAX bytes.
    let (longest, too_long) = (format!("{}p", "./".repeat(2047)), format!("{}p", "./".repeat(2048)));
    let outcome = xjobs::<&str>(&place, &["-j1"], format!("{longest}\n{too_long}\necho after\n"));
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(1), "ran\nafter\n"), "{}", said(&outcome));
    let (_, told) = as_xjobs(&place, "printf 'true\\nfalse\\nno-such-program\\n' | ./xjobs -j1");
    assert!(told.ends_with('\n') && told.lines().all(|line| line.matches("###").count() <= 1), "{told}");
}

#[test]
fn release_20060411_a_list_that_goes_wrong_ends_when_its_jobs_have_ended() {
    let place = Place::new();
    let outcome = xjobs::<&str>(&place, &["-j2"], "sh -c 'sleep 0.5; echo done'\necho \"open\n");
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(1), "done\n"), "{}", said(&outcome));
    assert!(said(&outcome).contains("line 2"), "{}", said(&outcome));
}

#[test]
fn release_20060411_programs_are_found_relative_to_the_directory() {
    let place = Place::new();
    place.shell("mkdir d; printf '#!/bin/sh\\necho here\\n' > d/p; chmod +x d/p");
    assert_eq!(stdout(&xjobs::<&str>(&place, &["-j1"], "d/p\n./d/p\ncd d; ./p\n")), "here\nhere\nhere\n");
}

#[test]
fn release_20060410_a_closed_standard_input_is_no_list_and_no_harm() {
    let place = Place::new();
    place.write("l", "cat\necho a\n");
    let outcome = place.shell("\"$mh\" xjobs -j1 -s l <&-; \"$mh\" xjobs -j1 <&- ; echo $?");
    assert!(stdout(&outcome).starts_with("a\n"), "{} {}", stdout(&outcome), said(&outcome));
    assert!(!said(&outcome).contains("panicked"), "{}", said(&outcome));
}

#[test]
fn release_20060409_jobs_start_in_order_and_the_directory_is_not_in_path() {
    let place = Place::new();
    place.shell("printf '#!/bin/sh\\necho wrong\\n' > private; chmod +x private");
    assert_eq!(xjobs::<&str>(&place, &[], "private\n").exit, Exit::Code(1));
    let list: String = (0..50).map(|number| format!("{number}\n")).collect();
    assert_eq!(stdout(&xjobs(&place, &["-j1", "echo"], &list)), list);
}

#[test]
fn release_20060409_little_memory_is_no_crash() {
    let place = Place::new();
    let outcome = place.shell("seq 300 | (ulimit -v 60000; \"$mh\" xjobs -j2 true; echo $?)");
    assert_eq!(stdout(&outcome), "0\n", "{}", said(&outcome));
}

#[test]
fn release_20080515_a_second_interrupt_is_a_failure() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let mut running = start(&place, &["-j1", "sh", "-c", "echo > begun; exec sleep 1000", "sh"], "1\n");
    wait_until("it runs", || place.has("begun"));
    let runner = rustix::process::Pid::from_child(&running.child);
    for _ in 0..2 {
        rustix::process::kill_process(runner, rustix::process::Signal::INT).expect("it lives");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let status = running.end();
    assert!(status.signal() == Some(2) && !status.success());
}
