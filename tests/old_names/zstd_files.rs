//! Which files zstd works on and where they go: several into one, lists, directories, links, dictionaries, and how it ends.

use super::{Case, Family, add_others, ends, run_line, says};
use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram};

const FILES: &[Case] = &[
    says("zstd a b -o x"),
    says("zstd -f a b -o x"),
    says("echo y | zstd -f a b -o x; zstd -dc x | cmp -n 9000 - a"),
    says("echo y | zstd b a -o x"),
    says("echo n | zstd b a -o x"),
    says("yes | zstd b a -o h1"),
    says("printf 'y\\nn\\n' | zstd b a -o h1"),
    says("zstd -f --rm b a -o x"),
    says("zstd a"),
    says("zstd a b; echo y | zstd b a"),
    says("echo y | zstd -k a; zstd -dc a.zst | cmp - a"),
    says("echo n | zstd a"),
    says("yes | zstd -d a.zst lone.zst"),
    says("echo y | zstd -d a.zst"),
    says("zstd -q a"),
    says("zstd -d a.zst -o b"),
    ends("cat b | zstd -o a.zst"),
    says("zstd -q a b -o x"),
    says("zstd -qq a b -o x"),
    says("cat a | zstd -f - b -o x"),
    says("cat a | zstd - b -o x"),
    says("zstd -f nosuch a -o x"),
    says("zstd -df a.zst lone.zst -o x"),
    says("zstd -df a.zst b -o x"),
    says("zstd -fo /dev/null b a"),
    says("zstd -q a b -c"),
    says("zstd -c nosuch a b"),
    says("zstd -r dir"),
    says("mkdir none; zstd -r none"),
    says("zstd -fr dir -o x; zstd -dc x"),
    says("zstd -qr dir --output-dir-mirror out; zstd -qr dir --output-dir-flat dir"),
    ends("mkdir out; zstd --output-dir-flat out b dir/../b"),
    says("zstd -k sym b"),
    says("zstd -c sym"),
    says("zstd -f sym -c"),
    says("zstd -f b -o b"),
    says("zstd -c b > /dev/full"),
    says("zstd -dc a.zst > /dev/full"),
    says("zstd -D dir b -c"),
    says("zstd -D nosuch -dc a.zst"),
    says("zstd -D nosuch b"),
    says("ZSTD_CLEVEL=x zstd -D nosuch b"),
    says("zstd -D b -c b"),
    says("zstd -q -D b -c b a | zstd -D b -dc"),
    says("zstd --filelist nosuch"),
    says("zstd --filelist=empty"),
    says("printf 'b\\nh1\\n' > list; zstd -q --filelist=list dir/x"),
    says("printf 'b\\nh1\\n' > list; zstd -qf --filelist=list --filelist list"),
    says("zstd -o -c b"),
    says("zstd -D --long b"),
    says("cp b b.txz; zstd -q --exclude-compressed b.txz a"),
    says("zstd --rm -c h1"),
    says("zstd -t --rm a.zst"),
    says("zstd -t a.zst a.zst -o x"),
    ends("zstd -qV | grep -q '^1.5.[0-9]$'; zstd -q --version | wc -l"),
    ends("zstd -V | grep -q 'Zstandard CLI (64-bit) v1.5'; zstd --version | grep -qi zstandard"),
    says("zstd -h > /dev/null; zstd -H > /dev/null; zstd --help > /dev/null"),
    ends("zstd -q --foo b"),
    ends("zstd -qq --foo b"),
    ends("zstd -q -y b"),
];

#[test]
fn files_are_found_and_put_where_zstd_puts_them() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare(FILES);
    }
}

/// Releases differ in the words behind these, and in how much help follows.
#[test]
fn wrong_options_are_reported_in_zstds_first_words() {
    let Some(family) = Family::new("zstd", "zst") else { return };
    for line in [
        "zstd --foo b",
        "zstd -y b",
        "zstd -q --zstd=foo=3 b",
        "zstd --zstd b",
        "zstd --long27 b",
        "zstd --fast=0 b",
        "zstd --adapt=min=a b",
        "zstd --format=foo b",
        "zstd --train-cover=k b",
        "zstd --train-legacy=9 b",
        "zstd -b --priority=x b",
    ] {
        let (theirs, ours) = (family.directory(), family.directory());
        let outcomes = [run_line(&theirs, line, None), run_line(&ours, line, Some(family.links.path()))];
        let [real, linked] = &outcomes;
        assert_eq!(real.exit, linked.exit, "{line}");
        for outcome in &outcomes {
            assert!(said(outcome).starts_with("Incorrect parameter"), "{line}: {}", said(outcome));
        }
    }
}

/// Files of many frames, on several cores: they come out whole and in their order, also behind one that is missing.
#[test]
fn long_files_into_one_output_keep_their_order() {
    let Some(family) = Family::new("zstd", "zst") else { return };
    let place = Place::new();
    let (first, second) = (data::mixed(11 << 20, 1), data::mixed(9 << 20, 2));
    place.write("first", &first).write("second", &second);
    let both = [first, second].concat();
    let real = TestProgram::find("zstd").expect("it was there").in_directory(place.directory());
    let unpacked = |name: &str| real.run(["-dc", name], b"").expect("the tool starts").stdout_of_success();
    for (line, code) in [
        ("zstd -1 -qf -T4 first second -o all.zst", 0),
        ("zstd -1 -qf -T4 first nosuch second -o all.zst", 1),
        ("zstd -1 -q -T4 -c nosuch first second > all.zst", 1),
    ] {
        let outcome = run_line(&place, line, Some(family.links.path()));
        assert_eq!(outcome.exit, Exit::Code(code), "{line}: {}", said(&outcome));
        assert!(unpacked("all.zst") == both, "{line}");
    }
    let outcome = run_line(&place, "zstd -1 -q -T4 first second; zstd -dqf *.zst -o all", Some(family.links.path()));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(place.read("all") == [&both[..], &both[..]].concat(), "all.zst comes first, then the files'");
    place.write("bad.zst", &place.read("second.zst")[..1 << 20]);
    let outcome = run_line(&place, "rm all; zstd -dqf first.zst bad.zst -o all", Some(family.links.path()));
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(!place.has("all"), "of a damaged input nothing is left");
}

const OTHERS: &[Case] = &[
    says("zstd -r dir"),
    says("zstd -rq dir a"),
    says("zstd -rqq dir"),
    says("zstd -rq --rm dir"),
    says("zstd -rc dir > out"),
    says("zstd -r dir/sym dir/socket a"),
    says("zstd -rqt dir"),
];

#[test]
fn others_in_directories_are_reported() {
    let Some(family) = Family::new("zstd", "zst") else { return };
    family.compare_with(OTHERS, add_others);
    // zstd waits until somebody writes to it.
    let place = family.directory();
    let outcome = run_line(&place, "mkfifo dir/fifo; zstd -rq dir", Some(family.links.path()));
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert_eq!(said(&outcome), "zstd: dir/fifo is not a regular file -- ignored \n");
    assert!(place.has("dir/x.zst") && !place.has("dir/fifo.zst"));
}

/// zstd loses that input.
#[test]
fn an_input_is_not_replaced_by_what_several_become() {
    let place = Place::new();
    let line = "printf one > a; printf two > b; ln -s \"$(readlink -f \"$(command -v $mh)\")\" zstd; ./zstd -f a b -o b; echo $?; cat a b";
    let outcome = place.shell(line);
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\nonetwo", "{}", said(&outcome));
    assert!(said(&outcome).contains("will overwrite the input file"), "{}", said(&outcome));
    let outcome = place.shell("mkdir d; ./zstd -f a b -o d; echo $?; ls d");
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\n", "{}", said(&outcome));
}
