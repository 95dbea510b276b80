//! Unmodified programs under `mh vmtasks run` and `mh numa run`: large mappings are there when the program gets them, and nothing else
//! is different for it.

use crate::place::{Place, binary, said};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

mod servers;

/// A place with the program, or none where nothing can compile it.
fn place_with_program(options: &[&str]) -> Option<Place> {
    if TestProgram::find("cc").is_none() {
        left_out("needs a C compiler (cc)");
        return None;
    }
    let place = Place::new();
    place.write("program.c", include_str!("prefault/program.c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-o", "program", "program.c"]).args(options).current_dir(place.directory());
    assert!(compiler.status().expect("it was found").success(), "the program compiles");
    Some(place)
}

fn run(place: &Place, options: &str, words: &str) -> ProgramOutcome {
    place.shell(&format!("exec \"$mh\" vmtasks run --min-size 16M {options} --report=json -- ./program {words}"))
}

fn stdout(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// The report, and what was said before it.
fn reported(outcome: &ProgramOutcome) -> (serde_json::Value, String) {
    let said = said(outcome);
    let (before, line) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
    (serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}")), before.to_owned())
}

#[test]
fn every_kind_of_large_mapping_is_resident_when_the_program_gets_it() {
    let Some(place) = place_with_program(&[]) else { return };
    let size = 24 << 20;
    let outcome = run(&place, "", "kinds");
    let expected = format!(
        "private {size}\nshared {size}\nfile {size}\nsegment {size}\nreserved 0\ncommitted {size}\nsparse 0\nlocked {size}\nsmall 0\nok\n"
    );
    assert_eq!((outcome.exit, stdout(&outcome)), (Exit::Code(0), expected), "{}", said(&outcome));
    let (report, before) = reported(&outcome);
    assert_eq!((&report["processes"], &report["mappings"]), (&1.into(), &6.into()), "{report}");
    assert_eq!(report["populated_bytes"], 6 * size, "{report}");
    let kinds: Vec<&str> =
        report["each"].as_array().expect("a list").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["private", "shared", "file in memory", "System V", "committed", "mlock"]);
    assert_eq!(before, "");
}

#[test]
fn a_file_that_is_locked_is_read_and_not_written() {
    let Some(place) = place_with_program(&[]) else { return };
    // Not where tests write, which may be memory.
    let name = binary().with_file_name(format!("locked-{}", std::process::id()));
    let outcome = run(&place, "", &format!("locked-file '{}'", name.display()));
    std::fs::remove_file(&name).expect("the program has made it");
    let (report, _before) = reported(&outcome);
    if report["each"][0]["kind"] != "mlock of a file" {
        return left_out("programs are built in memory here");
    }
    assert_eq!(stdout(&outcome), "locked file 25165824, written 0\nok\n");
    assert_eq!(report["populated_bytes"], 24 << 20, "{report}");
}

#[test]
fn without_it_nothing_of_that_is_resident() {
    let Some(place) = place_with_program(&[]) else { return };
    let text = stdout(&place.shell("./program kinds"));
    assert!(text.contains("private 0\nshared 0\nfile 0\nsegment 0\n") && text.contains("locked 25165824\n"), "{text}");
}

#[test]
fn a_program_is_not_disturbed_whatever_it_does_with_its_memory() {
    let Some(place) = place_with_program(&[]) else { return };
    for options in ["", "--ahead", "--lock", "--huge --strict"] {
        for task in [
            "threads",
            "forks",
            "fixed",
            "signal",
            "jump",
            "errors",
            "unmapped",
            "exec",
            "closed",
            "many",
            "given-back",
        ] {
            let outcome = run(&place, options, task);
            let is_right = outcome.exit == Exit::Code(0) && stdout(&outcome).lines().all(|line| line == "ok");
            assert!(is_right, "{options} {task}: {} {}", stdout(&outcome), said(&outcome));
            let (report, _before) = reported(&outcome);
            assert!(report["mappings"].as_u64() > Some(0), "{options} {task}: {report}");
            assert_eq!(report["mappings_missed"], 0, "{options} {task}");
        }
    }
}

#[test]
fn children_and_programs_that_come_by_exec_are_helped_too() {
    let Some(place) = place_with_program(&[]) else { return };
    let (report, _before) = reported(&run(&place, "", "exec"));
    assert_eq!((&report["processes"], &report["mappings"]), (&3.into(), &3.into()), "{report}");
}

#[test]
fn a_program_that_filters_its_calls_is_left_alone() {
    let Some(place) = place_with_program(&[]) else { return };
    let outcome = run(&place, "", "filtered");
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), "0\nok\n"));
    let by_exec = run(&place, "", "filtered by-exec");
    assert_eq!(
        (by_exec.exit, stdout(&by_exec).as_str()),
        (Exit::Code(0), "0\nok\n"),
        "its new image has more filters than mh"
    );
    let switched_off = place.shell("MH_PREFAULT=off \"$mh\" vmtasks run --min-size 16M -- ./program kinds");
    assert!(stdout(&switched_off).starts_with("private 0\n"), "{}", said(&switched_off));
}

#[test]
fn files_with_names_faults_that_are_served_and_rights_that_are_given_up_are_left_alone() {
    let Some(place) = place_with_program(&[]) else { return };
    let name = format!("/dev/shm/mh-test-{}", std::process::id());
    for (options, words) in
        [("", format!("named-file {name}")), ("", "faults-served".to_owned()), ("--ahead", "other-user".to_owned())]
    {
        let outcome = run(&place, options, &words);
        assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), "ok\n"), "{words}: {}", said(&outcome));
    }
}

#[test]
fn what_does_not_fit_is_left_to_the_kernel_or_refused() {
    let Some(place) = place_with_program(&[]) else { return };
    let meminfo = std::fs::read_to_string("/proc/meminfo").expect("Linux has it");
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok());
    let words = format!("large {}", available.expect("it is there") >> 10);
    let kept = run(&place, "", &words);
    if stdout(&kept).starts_with("Cannot allocate memory") {
        return left_out("the kernel does not promise as much memory as is free");
    }
    assert_eq!((kept.exit, stdout(&kept).as_str()), (Exit::Code(0), "mapped\nok\n"), "{}", said(&kept));
    assert!(said(&kept).contains("do not fit"), "{}", said(&kept));
    let strict = run(&place, "--strict", &words);
    assert_eq!((strict.exit, stdout(&strict).as_str()), (Exit::Code(0), "Cannot allocate memory\nok\n"));
}

#[test]
fn programs_that_cannot_be_helped_are_named() {
    let Some(place) = place_with_program(&["-static"]) else { return };
    let outcome = place.shell("exec \"$mh\" vmtasks run -- ./program fixed");
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), "ok\n"));
    let expected = "mh vmtasks: warning: nothing was done: './program' is a static program, which loads no library\n";
    assert_eq!(said(&outcome), expected);
    let small = place.shell("exec \"$mh\" vmtasks run -- true");
    assert!(said(&small).contains("nothing was done: no large mapping of 'true' was seen"), "{}", said(&small));
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(place.path("program"), mode).expect("it is ours");
    let refused = place.shell("exec \"$mh\" vmtasks run -- ./program fixed");
    assert_eq!((refused.exit, stdout(&refused).as_str()), (Exit::Code(126), ""));
    assert!(said(&refused).contains("set-user-ID"), "{}", said(&refused));
}

#[test]
fn exit_codes_are_the_programs() {
    let place = Place::new();
    for (command, code) in
        [("sh -c 'exit 7'", 7), ("sh -c 'kill -9 $$'", 137), ("/nonexistent/program", 127), ("/etc/passwd", 126)]
    {
        let outcome = place.shell(&format!("exec \"$mh\" vmtasks run -- {command}"));
        assert_eq!(outcome.exit, Exit::Code(code), "{command}: {}", said(&outcome));
    }
}

#[test]
fn a_policy_is_set_on_large_mappings_and_seen_by_the_kernel() {
    let Some(place) = place_with_program(&[]) else { return };
    let script = "\"$mh\" numa run --startup interleave --report=json -- sh -c './program large 96 wait & \
                  while ! grep -q interleave /proc/$!/numa_maps; do kill -0 $! || exit 9; sleep 0.01; done; \
                  grep interleave /proc/$!/numa_maps; kill $!'";
    let outcome = place.shell(script);
    let text = stdout(&outcome);
    assert!(outcome.exit == Exit::Code(0) && text.contains(" interleave:0"), "{text} {}", said(&outcome));
    let (report, before) = reported(&outcome);
    assert_eq!(
        (&report["each"][0]["policy"], &report["populated_bytes"]),
        (&"interleave".into(), &0.into()),
        "{report}"
    );
    let has_one_node = !std::path::Path::new("/sys/devices/system/node/node1").exists();
    assert_eq!(before.contains("this machine has one node"), has_one_node, "{before}");
    let later = place.shell(
        "exec \"$mh\" numa run --min-size 16M --startup-time 0s --startup interleave --report=json -- ./program fixed",
    );
    assert!(reported(&later).0["mappings"] == 0, "{}", said(&later));
    for (words, cause) in
        [("", "nothing to do"), ("--startup bind=63", "no memory on node 63"), ("--then near", "a policy is one of")]
    {
        let refused = place.shell(&format!("exec \"$mh\" numa run {words} -- true"));
        assert!(refused.exit != Exit::Code(0) && said(&refused).contains(cause), "{words}: {}", said(&refused));
    }
}
