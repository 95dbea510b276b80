//! Debian's xjobs 20120412 and ours under its name, on the same lists: same output, same files. What that program refuses or
//! breaks on is left out; where ours goes further, or its options end, `docs/commands/xjobs.md` says so.

use crate::place::{Place, binary};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use testkit::program::{TestProgram, left_out};

/// Lists without a utility.
const LISTS: &[&str] = &[
    "show a \"b c\" d\n",
    "show 'a b' c\n",
    "show a\\ b c\n",
    "show \"a\\\"b\" c\n",
    "show 'a\\'b' c\n",
    "show a\\\\b\n",
    "show a\"b c\"d\n",
    "show a'b c'd\n",
    "show \"\" b ''\n",
    "show a #b c a# b\n",
    "#comment\nshow a\n",
    "  show a  \n",
    "\tshow a\tb\n",
    "show a \\\nb\nshow c\n",
    "show \"a\\\nb\"\n",
    "\n\nshow a\n\n",
    "show a",
    "show a\\\tb\n",
    "show $HOME `ls` * ~ ; | & \n",
    "show a;b a|b && c\n",
    "show %% b a%%b\n",
    "show a\n%%\nshow b\n",
    "%%\n%%\nshow a\n",
    "show a\r\n",
    "show \"a\"b\"c\"\n",
    "show \"a\"\"b\" 'c'\"d\"\n",
    "show \"it's\" 'say \"x\"'\n",
    "show a\\\"b a\\'b\n",
    "show \\# \\> \\< \\x y\n",
    "show \">\" x\n",
    "show a \\ b\n",
    "show a\\\\ b\n",
    "show \" a#b%%  \"\n",
    "show \u{fc}n\u{ef}\n",
    "show x \"y\"z\n",
    "\"show\" a\n'show' b\n",
    "./show a\n",
    "show a > o\n",
    "show a >o b\n",
    "show a>o\n",
    "> o show a\n",
    "show a > o\nshow b >! o\n",
    "show a >> o\nshow b >>o\n",
    "both a >& o\n",
    "both a >& o\nboth b >>& o\n",
    "show a > \"o\" b\n",
    "show a > 'o p'\n",
    "show a > o\\ p\n",
    "show \"x\"> o\n",
    "show a > o > p\n",
    "both a > o >& p\n",
    "both a >& o > p\n",
    "cat < in\n",
    "cat <in > o\n",
    "cat < \"in\"\n",
    "cat\nshow a\n",
    "cd /; pwd\n",
    "cd /;pwd\n",
    "cd \"/usr\"; pwd\ncd '/usr'; pwd\n",
    "  cd   /usr;   pwd\n",
    "cd /usr;\nshow a > o\n",
    "both a\n",
    "false\nshow a\n",
];

/// Lists with options and a utility.
const WITH_OPTIONS: &[(&[&str], &str)] = &[
    (&["show"], "a\nb c\n"),
    (&["show", "x y", "c\"d", "#e"], "z\n"),
    (&["--", "show", "-x"], "a\n"),
    (&["-l2", "show"], "a\nb\nc\n"),
    (&["-l2", "show", "x"], "a \"b c\"\n# d\ne\nf\n"),
    (&["-l2", "show"], "a\n\nb\n"),
    (&["-1", "show"], "a b\n\"c\\\n#d\n e\n"),
    (&["-1", "-l2", "show"], "a\nb\nc\n"),
    (&["-0", "show"], "a\0b c\0d\n\0"),
    (&["-n", "both"], "a\n"),
    (&["-N", "both"], "a\n"),
    (&["-d", "both"], "a\n"),
    (&["-q", "1", "show"], "a\nb\nc\n"),
    (&["both", ">", "o"], "a\nb\n"),
    (&["both", ">&", "o"], "a\nb\n"),
    (&["show"], "cd /; a\n"),
    (&["show"], "{\"argv\":[\"a\"]}\n"),
    (&["show", "{}", ":::", "b"], "a\n"),
];

fn place() -> Place {
    let place = Place::new();
    place.write("in", "input\n");
    place.write("show", "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done\necho\n");
    place.write("both", "#!/bin/sh\necho out \"$@\"\necho err \"$@\" >&2\n");
    for name in ["show", "both"] {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    place
}

/// Standard output, and every file that was made.
fn result(program: &TestProgram, options: &[&str], list: &str) -> (String, Vec<(String, String)>) {
    let place = place();
    let path = format!("{}:/usr/bin:/bin", place.directory().display());
    let program = program.clone().in_directory(place.directory()).with_variable("PATH", path);
    let arguments = ["-v0", "-j1"].iter().chain(options);
    let outcome = program.run(arguments, list.as_bytes()).expect("it starts");
    let files = place.names().into_iter().filter(|name| !["in", "show", "both"].contains(&name.as_str()));
    let files = files.map(|name| (String::from_utf8_lossy(&place.read(&name)).into_owned(), name)).map(|(a, b)| (b, a));
    (String::from_utf8_lossy(&outcome.stdout).into_owned(), files.collect())
}

#[test]
fn every_line_and_option_works_as_in_debians_program() {
    let Some(theirs) = TestProgram::find("xjobs") else { return left_out("xjobs is not installed") };
    let directory = Place::new();
    symlink(fs::canonicalize(binary()).expect("it exists"), directory.path("xjobs")).expect("a link can be made");
    let ours = TestProgram::at(directory.path("xjobs")).with_variable("MH_CREW_DIR", "");
    let plain = LISTS.iter().map(|list| (&[][..], *list));
    for (options, list) in plain.chain(WITH_OPTIONS.iter().copied()) {
        assert_eq!(result(&ours, options, list), result(&theirs, options, list), "{options:?} {list:?}");
    }
}

#[test]
fn under_the_old_name_starts_and_ends_are_told() {
    let place = place();
    symlink(fs::canonicalize(binary()).expect("it exists"), place.path("xjobs")).expect("a link can be made");
    let outcome = place.shell("printf './show a\\nfalse\\n' | ./xjobs -j1 -t");
    let said = crate::place::said(&outcome);
    assert!(said.contains("### started job #1, pid ") && said.contains("2 jobs in 0."), "{said}");
    assert!(said.contains("### job #2 (") && said.contains("exitcode 1, real: 0:0."), "{said}");
    let printed = super::stdout(&outcome);
    assert!(printed.starts_with("### output of job #1, pid ") && printed.ends_with("[a]\n"), "{printed}");
}

/// Options of every program that runs another one, where they would do something else if they were its own.
const BEHIND: &str = "-v0 -k -n -j9 --explain --dry-run --help -x -- -p 1";
const BEHIND_SHOWN: &str = "[-v0][-k][-n][-j9][--explain][--dry-run][--help][-x][--][-p][1]";

#[test]
fn what_stands_behind_the_utility_is_the_utilitys() {
    let place = place();
    for name in ["xjobs", "crew", "mtwrite", "pstime", "systime", "timers"] {
        symlink(fs::canonicalize(binary()).expect("it exists"), place.path(name)).expect("a link can be made");
    }
    let fed = [
        "./xjobs -v0 -j1",
        "./xjobs -v0 -j2 --",
        "./xjobs -j2 --journal log -v 0",
        "$mh xjobs -j1",
        "$mh xjobs -j2 --",
    ];
    let alone = [
        "$mh crew run -j1",
        "./crew run -j2 --",
        "$mh mtwrite -j1",
        "./mtwrite -j2 --",
        "$mh timers run",
        "./timers run --slack 1ns --",
        "./pstime --",
        "./systime -o out --",
    ];
    for (run, list, word) in fed.map(|run| (run, "echo f", "[f]")).into_iter().chain(alone.map(|run| (run, "true", "")))
    {
        let outcome = place.shell(&format!("{list} | MH_CREW_DIR= {run} ./show {BEHIND}"));
        assert_eq!(super::stdout(&outcome), format!("{BEHIND_SHOWN}{word}\n"), "{run}: {outcome:?}");
    }
    let kept =
        place.shell("for j in 1 2; do echo x > f$j; echo f$j | MH_CREW_DIR= ./xjobs -v0 -j$j gzip -k; done; ls f*");
    assert_eq!(super::stdout(&kept), "f1\nf1.gz\nf2\nf2.gz\n", "{kept:?}");
}
