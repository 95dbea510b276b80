//! `mh sum --on`: the lines, messages and exit codes of the local command.

use super::{succeeds, tree};
use crate::place::{Place, said};
use std::fs;
use testkit::program::Exit;

/// Runs both; their outputs, messages and exit codes are the same. Those of `mh xjobs` about jobs that ended with 1 are passed over.
fn assert_same_lines(place: &Place, arguments: &str) -> Exit {
    let here = place.shell(&format!("$mh sum {arguments}"));
    let there = place.shell(&format!("$mh sum --on local:2 {arguments}"));
    assert!(here.stdout == there.stdout, "{arguments}: {}", String::from_utf8_lossy(&there.stdout));
    let lines = |text: String| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.starts_with("mh xjobs: ")).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!((lines(said(&there)), there.exit), (lines(said(&here)), here.exit), "{arguments}");
    there.exit
}

#[test]
fn lines_are_those_of_the_local_command() {
    let place = Place::new();
    tree(&place, 3);
    fs::write(place.path("src/long"), vec![7; 20 << 20]).expect("written");
    for arguments in
        ["-r src", "-r --tag -a blake3,crc32 src/d0 src/long src", "-rz src", "-r --json src/d1", "src/d0/* src/third"]
    {
        assert_eq!(assert_same_lines(&place, arguments), Exit::Code(0), "{arguments}");
    }
    assert_eq!(assert_same_lines(&place, "src/d0/* nowhere src/d1 src/third"), Exit::Code(1));
    assert_eq!(place.names(), ["src"], "the plan is gone");
}

#[test]
fn manifests_are_checked_as_by_the_local_command() {
    let place = Place::new();
    tree(&place, 3);
    succeeds(
        &place,
        "cd src; $mh sum -r . > ../good 2>/dev/null; $mh sum -r -a blake3,md5 d0 > ../tagged; cp ../good ../bad",
    );
    succeeds(&place, "cd src; echo more >> d1/'file 7'; rm d2/'file 9'; echo no line >> ../bad; echo extra > extra");
    for (arguments, code) in [
        ("-c ../tagged", 0),
        ("-c --quiet ../good ../tagged", 1),
        ("-c ../bad", 1),
        ("-c --status ../bad", 1),
        ("-c --exact --quiet ../good", 1),
        ("-c --json --ignore-missing ../good", 1),
        ("-c --strict --quiet ../tagged ../bad", 1),
        ("-c nowhere ../tagged", 1),
        ("-c d0/'file 1' ../tagged", 1),
    ] {
        let here = place.shell(&format!("cd src; $mh sum {arguments}"));
        assert_eq!(here.exit, Exit::Code(code), "{arguments}: {}", said(&here));
        let there = place.shell(&format!(
            "cd src; $mh sum --on local:2 {arguments} 2>../said; code=$?; grep -v '^mh xjobs: ' ../said >&2; exit $code"
        ));
        assert!(here.stdout == there.stdout, "{arguments}: {}", String::from_utf8_lossy(&there.stdout));
        assert_eq!((said(&there), there.exit), (said(&here), here.exit), "{arguments}");
    }
}

#[test]
fn what_is_done_is_not_done_again() {
    let place = Place::new();
    tree(&place, 4);
    let script = "$mh sum -r src > here 2>/dev/null; $mh sum -r --plan-only --spool plan src > jobs; test $(wc -l < jobs) -gt 3;\n\
        head -n 2 jobs | sh; touch -d 2001-01-01 plan/out/000000; $mh sum -r --on local:2 --spool plan src > there 2>/dev/null; cmp here there";
    succeeds(&place, script);
    let script =
        "touch -d 2001-01-01 stamp; find plan/out/000000 -newer stamp | wc -l; find plan/out -newer stamp | wc -l";
    let outcome = succeeds(&place, script);
    let text = String::from_utf8(outcome.stdout).expect("text");
    let mut counts = text.lines().map(|line| line.trim().parse::<u32>().expect("a number"));
    assert_eq!(counts.next(), Some(0), "a shard that was done is not written again");
    assert!(counts.next() > Some(1), "{text}");
    let outcome = place.shell("$mh sum -r -a md5 --on local:2 --spool plan src");
    assert!(said(&outcome).ends_with("as the spool: it has the plan of another command\n"), "{}", said(&outcome));
}

#[test]
fn a_plan_in_the_tree_is_no_part_of_it() {
    let place = Place::new();
    place.write("src/a", "one").write("src/below/b", "two");
    succeeds(&place, "cd src; $mh sum -r . > ../sums; $mh sum -r --on local:1 . | cmp - ../sums");
    succeeds(&place, "cd src; $mh sum -r --on local:1 --spool plan . | cmp - ../sums");
}

#[test]
fn what_is_read_on_one_machine_is_refused() {
    let place = Place::new();
    for (arguments, message) in [
        ("-", "standard input does not go with --on: it is read on one machine"),
        ("-c -w x", "-w does not go with --on: lines are read before they are divided"),
    ] {
        let outcome = place.shell(&format!("$mh sum --on local:2 {arguments}"));
        assert_eq!(outcome.exit, Exit::Code(2));
        assert!(said(&outcome).starts_with(&format!("mh sum: {message}\n")), "{}", said(&outcome));
    }
}
