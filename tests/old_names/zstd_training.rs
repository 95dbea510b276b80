//! Dictionaries that are made, and patches: the real tool must be able to use ours, and we its.

use super::{Case, Family, ends, says};
use crate::place::Place;
use testkit::data;

const TRAINING: &[Case] = &[
    // The dictionaries differ; that one helps, is read by the other tool, and has its number does not.
    ends("zstd -q --train s/* -o d; zstd -qc -D d t > t.zst; zstd -dc -D d t.zst | cmp - t; rm d t.zst"),
    ends(
        "zstd -q --train -r s -o d --maxdict=4K --dictID=77; zstd -qc -D d t > u; zstd -lv u 2> /dev/null | grep Dict; rm u d",
    ),
    ends("zstd -q --train-cover=k=40,d=8 s/* -o d --maxdict=4096; stat -c %s d; rm d"),
    ends("zstd -q --train-fastcover=k=200,d=8,f=15,accel=2,shrink=3 s/* -o d; test -s d; rm d"),
    ends("zstd -q --train-legacy=s=8 s/* -o d; test -s d; rm d"),
    ends("zstd -q --train a b -B512; test -s dictionary; rm dictionary"),
    says("zstd --train a b"),
    says("zstd --train < a"),
    ends("zstd -q --train s/* -M30K -o d; test -s d; rm d"),
    says("zstd -q --train s/* --maxdict=4x"),
    ends("zstd -qq --train s/* -o nowhere/d"),
    ends("zstd -q --train-cover=foo s/*"),
    ends("zstd -q --trainx s/*"),
    ends("zstd -q --train-legacy=9 s/*"),
    ends("zstd -q --train s/* --maxdict=100"),
];

const PATCHES: &[Case] = &[
    says("zstd --patch-from=old new; zstd -dc --patch-from=old new.zst | cmp - new; zstd -qdc new.zst; rm new.zst"),
    ends("zstd -19 --patch-from old new -c | zstd -d --patch-from=old -c | cmp - new"),
    says("zstd -q --patch-from old --long=24 new; zstd -dc --long=24 --patch-from=old new.zst | cmp - new; rm new.zst"),
    says("zstd -d --patch-from=old theirs.zst -o back; cmp back new"),
    says("zstd --patch-from old new b -c"),
    says("zstd --patch-from old -D b new -c"),
    says("cat new | zstd --patch-from old -c"),
    says("cat new | zstd --patch-from old --stream-size=$(stat -c %s new) -c | zstd -d --patch-from=old | cmp - new"),
];

#[test]
fn dictionaries_are_made_as_zstd_makes_them() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare_with(TRAINING, |place| {
            for number in 0..300 {
                place.write(format!("s/{number}"), data::log_lines(1500, number));
            }
            place.write("t", data::log_lines(1500, 999));
        });
    }
}

#[test]
fn patches_go_both_ways() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare_with(PATCHES, add_versions);
    }
}

/// An old file, a new one, and what the real tool makes of both.
fn add_versions(place: &Place) {
    let old = data::mixed(700_000, 1);
    let new = [&old[200_000..600_000], b"something new", &old[..300_000], &old[650_000..]].concat();
    place.write("old", old).write("new", new);
    let zstd = testkit::program::TestProgram::find("zstd").expect("it was there").in_directory(place.directory());
    let made = zstd.run(["-q", "--patch-from=old", "new", "-o", "theirs.zst"], b"").expect("the tool starts");
    made.stdout_of_success();
}
