//! Copies that go well: the same tree as the local command makes, by workers or by any runner of the list.

use super::{sparse, succeeds, tree};
use crate::place::{Place, said};
use crate::trees::described::assert_same;
use std::fs;
use std::os::unix::fs::MetadataExt;
use testkit::program::Exit;

#[test]
fn the_tree_is_the_one_that_the_local_command_makes() {
    let place = Place::new();
    tree(&place, 10);
    sparse(&place.path("src/large"), 5 << 20, &[0, 1_500_000, 3 << 20]);
    fs::write(place.path("src/d1/long"), vec![3; 2_500_000]).expect("written");
    for options in ["-a", "-r", "-rL --preserve=mode", "-rp --sparse=always", "-d -R --preserve=ownership"] {
        // A link that leads nowhere cannot be followed.
        let source = if options.contains('L') { "src/d0 src/d1 src/large src/locked" } else { "src" };
        let script = format!(
            "umask 027; rm -rf here there; mkdir here there; $mh cp {options} {source} here;\n\
             $mh cp {options} --on local:2 --range 1M {source} there\n{}",
            untimed(options)
        );
        succeeds(&place, &script);
        assert_same(&place.path("here"), &place.path("there"), options);
        assert_eq!(place.names(), ["here", "src", "there"], "{options}: the plan is gone");
    }
    succeeds(&place, "rm -rf there; $mh cp -a --on local:2 --range 1M src there");
    let blocks = |name: &str| fs::metadata(place.path(name)).expect("there").blocks();
    assert!(blocks("there/large") <= blocks("src/large") + 64, "holes stay holes");
}

/// Where times are not kept, those of a copy are of when it was made.
fn untimed(options: &str) -> &'static str {
    match ["-a", "-rp"].iter().any(|keeping| options.starts_with(keeping)) {
        true => "touch -d 2001-01-01 here there",
        false => "find here there -exec touch -h -d 2001-01-01 {} +",
    }
}

#[test]
fn a_plan_in_the_tree_is_no_part_of_it() {
    let place = Place::new();
    place.write("src/a", "one").write("src/below/b", "two");
    succeeds(&place, "cd src; $mh cp -r --on local:1 . ../there; $mh cp -r --on local:1 --spool plan . ../again");
    succeeds(&place, "cd src; rm -r plan; diff -r . ../there; diff -r . ../again");
}

#[test]
fn what_is_there_is_treated_as_by_the_local_command() {
    let place = Place::new();
    tree(&place, 2);
    // A file of another name, one that is newer, one that is older, one that a link leads to.
    let before = "mkdir -p $to/d0 $to/elsewhere; echo new > $to/d0/'file 4'; echo old > $to/d0/'file 5'; \
        touch -d 1999-01-01 $to/d0/'file 5'; ln $to/d0/'file 5' $to/d0/other; ln -s ../elsewhere/x $to/d0/'file 6'; echo keep > $to/d0/extra; touch -h -d 2030-01-01 $to/d0/extra $to/d0/'file 4' $to/d0/'file 6' $to/elsewhere";
    for options in ["-a", "-au", "-an", "-rT --remove-destination", "-a --skip-same", "-r --attributes-only"] {
        let script = format!(
            "rm -rf here there; for to in here there; do {before}; done; $mh cp {options} src/. here; $mh cp {options} --on local:2 src/. there\n{}",
            untimed(options)
        );
        succeeds(&place, &script);
        assert_same(&place.path("here"), &place.path("there"), options);
    }
}

#[test]
fn single_files_and_a_report() {
    let place = Place::new();
    place.write("a", "one").write("b", "two");
    let outcome = succeeds(&place, "mkdir t; $mh cp --on local:2 a b t; $mh cp --on local:1 a c; cat t/a t/b c");
    assert_eq!(outcome.stdout, b"onetwoone");
    let outcome = place.shell("$mh cp --on local:2 --report a b t");
    let expected = "copied 2 files (0 directories), 6 B in 1 shard on 1 node; read back 2, 0 by another node\n";
    assert_eq!((said(&outcome).as_str(), outcome.exit), (expected, Exit::Code(0)));
    succeeds(
        &place,
        "mkdir -p e/below/here; $mh cp -r --fsync --on local:2 e f; diff -r e f; $mh cp -r --fsync --on local:1 t f",
    );
    let outcome = place.shell("$mh cp --on local:2 --no-verify -v a t");
    assert_eq!(said(&outcome), "mh cp: copied 1 file (0 directories), 3 B in 1 shard on 1 node\n");
    assert_eq!(outcome.stdout, b"'a' -> 't/a'\n");
}

#[test]
fn a_shell_runs_the_list_as_well() {
    let place = Place::new();
    tree(&place, 3);
    succeeds(
        &place,
        "$mh cp -a src here; $mh cp -a --plan-only --spool plan src there > jobs; cd /; sh \"$OLDPWD/jobs\"",
    );
    assert_same(&place.path("here"), &place.path("there"), "by a shell");
    assert!(place.names().contains(&"plan".to_owned()));
    // The list in the plan is one for mh xjobs, and all of it is done already.
    succeeds(
        &place,
        "$mh xjobs -s plan/list; $mh cp -a --spool plan --on local:1 src there 2> told; grep -q 'was finished before' told",
    );
    assert_same(&place.path("here"), &place.path("there"), "again");
}

#[test]
fn what_cannot_be_divided_is_refused_by_name() {
    let place = Place::new();
    place.write("a/x", "1").write("b/y", "2");
    let refused = [
        ("-i", "-i does not go with --on: nobody can be asked on another machine"),
        ("-b", "a backup does not go with --on: a copy that is tried again would be backed up itself"),
        ("-l", "a link in place of a copy does not go with --on: it has no bytes to divide"),
        ("--verify", "--verify does not go with --on: copies are read back unless --no-verify is given"),
        ("--dry-run", "--dry-run does not go with --on: --plan-only leaves a plan, --explain says how it is divided"),
    ];
    for (option, message) in refused {
        let outcome = place.shell(&format!("mkdir -p t; $mh cp -r {option} --on local:2 a t"));
        assert_eq!(outcome.exit, Exit::Code(1));
        assert!(said(&outcome).starts_with(&format!("mh cp: {message}\n")), "{}", said(&outcome));
    }
    let outcome = place.shell("$mh cp -r --on local:2 a/. b/. t");
    assert!(
        said(&outcome).contains("copies that meet in one directory cannot be divided together"),
        "{}",
        said(&outcome)
    );
    let outcome = place.shell("$mh cp -r --on nowhere a t");
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert_eq!(place.shell("ls -A t").stdout, b"", "nothing was made");
    assert_eq!(place.names(), ["a", "b", "t"]);
}
