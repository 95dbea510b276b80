//! `mh tar -d`: what differs, what could not be compared, and how far it reaches.

use super::{expect_same, tools};
use crate::place::Place;
use crate::trees::is_root;
use testkit::program::{TestProgram, left_out};

/// Exit codes and lines of differences, where `command tar` is one and `$mh tar` the other.
fn both_compare(before: &str, with: &str, after: &str) {
    let place = Place::new();
    let script = format!(
        "cp $mh own; chmod 755 . own; {before}
         command tar {with} > theirs 2> told || echo $? >> theirs; ./own tar {with} > ours 2> said || echo $? >> ours
         diff theirs ours; test $(grep -c : told) -ge $(grep -c : said); {after}"
    );
    expect_same(&place, &script);
}

#[test]
fn what_cannot_be_compared_is_a_failure_and_no_difference() {
    if !tools(&["tar"]) {
        return;
    }
    let long = "q".repeat(300);
    both_compare(
        "mkdir d; echo a > d/a; echo b > d/b; ln d/a d/h; tar cf t.tar --sort=name d; rm d/b d/a; echo c > d/a",
        "-df t.tar",
        "test $(grep -c 'No such file' said) = 1; grep -q 'Not linked to d/a' ours",
    );
    both_compare(
        &format!("mkdir d; echo a > d/a; tar cf t.tar --transform=s/a/{long}/ d"),
        "-df t.tar",
        "grep -qx 2 ours; grep -q 'File name too long' said",
    );
    if !is_root() || TestProgram::find("setpriv").is_none() {
        left_out("what a plain user may not look at: needs root and setpriv");
        return;
    }
    let user = "command() { shift; setpriv --reuid 65534 --clear-groups tar \"$@\"; }
        own() { setpriv --reuid 65534 --clear-groups ./own \"$@\"; }";
    for (shut, is_said) in [("chmod 700 d", 2), ("chmod 600 d/a", 1), ("chmod 600 d/a; rm d/b", 2)] {
        let place = Place::new();
        expect_same(
            &place,
            &format!(
                "cp $mh own; chmod 755 . own; mkdir d; echo a > d/a; echo b > d/b; tar cf t.tar d; {shut}; {user}
                 command tar -df t.tar > theirs 2> told || echo $? >> theirs; own tar -df t.tar > ours 2> said || echo $? >> ours
                 diff theirs ours; grep -qx 2 ours; test $(wc -l < said) = {is_said}"
            ),
        );
    }
}

#[test]
fn parts_of_seconds_count_where_the_archive_has_them() {
    if !tools(&["tar"]) {
        return;
    }
    for format in ["pax", "pax --pax-option=delete=atime,delete=ctime", "gnu", "ustar"] {
        for was in [".678901234", ".0", ".2"] {
            both_compare(
                &format!(
                    "mkdir d; touch -d '2020-01-01 00:00:00{was}' d/a d/b; tar cf t.tar --format={format} d
                     touch -d '2020-01-01 00:00:00.2' d/a; touch -d '2020-01-01 00:00:01' d/b"
                ),
                "-df t.tar",
                "grep -qx 'd/b: Mod time differs' ours",
            );
        }
    }
}

#[test]
fn trees_deeper_than_a_name_is_long_are_compared() {
    let place = Place::new();
    expect_same(
        &place,
        "one=$(printf 'dddddddddd/%.0s' $(seq 200))
         chain() { (mkdir $1; cd $1; mkdir -p $one; echo $2 > ${one}leaf; touch -d @5 ${one}leaf; ln ${one}leaf ${one}second; ln -s leaf ${one}link
           for n in $(seq 9); do mkdir -p up/$one; mv dddddddddd up/$one; mv up/dddddddddd .; rmdir up; done; echo > dddddddddd/top; touch -d @5 dddddddddd/top); }
         chain a x; chain b y; $mh tar -cf t.tar -C a dddddddddd
         $mh tar -df t.tar -C a > same; test ! -s same
         $mh tar -df t.tar -C b > other || test $? = 1; grep -c . other | grep -qx 1
         grep -q '/leaf: Contents differ' other; rm -rf a b",
    );
}
