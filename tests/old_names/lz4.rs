//! lz4, unlz4, lz4cat.

use super::{Case, Family, ends, says};
use crate::place::{Place, binary};
use testkit::data;
use testkit::program::{TestProgram, left_out};

const LZ4: &[Case] = &[
    says("lz4 b"),
    ends("lz4 b x"),
    ends("lz4 a a.lz4"),
    ends("lz4 -f a a.lz4"),
    says("lz4 -m b a"),
    says("lz4 -m b odd.name"),
    says("lz4 -q b x"),
    says("lz4 -c b"),
    says("lz4 -dc a.lz4"),
    says("lz4 -d a.lz4"),
    says("lz4 -d a.lz4 x"),
    ends(": > nothing.lz4; lz4 -d nothing.lz4 x"),
    says("lz4 -df a.lz4"),
    says("lz4 -d -m a.lz4"),
    says("lz4 -dfm a.lz4"),
    says("unlz4 a.lz4"),
    says("unlz4 -f a.lz4 a"),
    says("lz4 nosuch"),
    says("lz4 nosuch x"),
    says("lz4 -d b"),
    says("lz4 -dc plain.lz4"),
    says("lz4 -dcf plain.lz4"),
    says("lz4 -t short.lz4"),
    ends("lz4 -t bad.lz4"),
    ends("lz4 -t trailed.lz4"),
    says("lz4 -t a.lz4"),
    says("lz4cat a.lz4"),
    says("lz4cat b"),
    says("lz4cat -f b"),
    ends("lz4 --rm b x"),
    says("lz4 -r dir"),
    says("lz4 dir"),
    ends("lz4 sym x"),
    ends("lz4 -9 b x"),
    ends("lz4 -12 b x"),
    ends("lz4 --best b x"),
    ends("lz4 --fast=3 b x"),
    ends("lz4 --foo b"),
    ends("lz4 -y b x"),
    ends("lz4 -B4 b x"),
    ends("lz4 -B4D b x"),
    ends("lz4 -BX b x"),
    ends("lz4 -B9 b x"),
    ends("lz4 --no-frame-crc --content-size --sparse --favor-decSpeed b x"),
    says("lz4 b x y"),
    says("lz4 < b"),
    says("lz4 -d < a.lz4"),
    says("lz4 -dc empty"),
    says("lz4 -c empty"),
    ends("lz4 -z b x"),
    ends("lz4 -k b x"),
    says("lz4 a.lz4 x"),
    says("lz4 -mk b nosuch"),
    says("lz4 --rm -m b"),
    says("lz4 b -"),
    says("lz4 b stdout"),
    ends("lz4 b null"),
    says(r"printf '\120\052\115\030\001\000\000\000a' > s; (cat s; lz4 -c a) > t; lz4 -dc t"),
    says(
        r#"printf '\120\052\115\030\001\000\000\000a' > s; lz4 -dc s; lz4 -t s; lz4 -dc < s; cat s s | lz4 -dc; lz4 -d s x"#,
    ),
    ends(r"printf '\120\052\115\030\001\000\000\000a' > s; (cat s; echo plain) > t; lz4 -dc t"),
    says("lz4 -f plain.lz4"),
    says("lz4 -df plain.lz4"),
    says("lz4 -dfc plain.lz4"),
    says("lz4 -cf plain.lz4"),
    says("lz4 -df plain.lz4 -"),
    says("lz4 -df < plain.lz4"),
    says("lz4 -dcf < plain.lz4"),
    says("lz4 -dmcf plain.lz4 plain.lz4"),
    says("lz4 -df --stdout plain.lz4"),
    says("lz4 -tf plain.lz4"),
    says("lz4 --no-crc -zc b | lz4 -dc"),
    ends("lz4 --no-crc b x && lz4 -dc --no-crc x | cmp - b"),
    ends("lz4 -c /sys/class/net/lo/mtu | lz4 -dc"),
    says("lz4 -l b x; cksum x"),
    says("lz4 -l9 b x; lz4 -t x; lz4 -dc x | cmp - b"),
    says("lz4 -lc empty | od -c"),
    says("lz4 -l < b | lz4 -dc | cmp - b"),
    ends("lz4 -D a b x && lz4 -dc -D a x | cmp - b; rm x"),
    ends("lz4 -9 -D a b x; lz4 -dc x; rm x"),
    ends("lz4 -l -D a b x; lz4 -dc x | cmp - b"),
    ends("lz4 -D empty b x && lz4 -dc x | cmp - b"),
    says("lz4 -D nosuch b x"),
    says("lz4 -d -D nosuch a.lz4 x"),
    says("lz4 -b1 -i0 nosuch"),
    says("lz4 b a"),
    says("lz4 -q b a"),
    ends("yes | lz4 b a"),
    says("lz4 -m b a"),
    ends("lz4 --list < a.lz4 > list; wc -l < list; rm list"),
];

/// Each reads the other's files with a dictionary, whichever shape their blocks have.
#[test]
fn dictionaries_go_both_ways_between_lz4_and_us() {
    let Some(lz4) = TestProgram::find("lz4") else { return left_out("lz4 is not installed") };
    let place = Place::new();
    let made = TestProgram::at(binary()).in_directory(place.directory()).run(["links", "bin"], b"");
    made.expect("it starts").stdout_of_success();
    let dictionary = data::text(100_000, 8);
    let plain = [&dictionary[30_000..90_000], &data::text(6_000_000, 9), &dictionary[40_000..]].concat();
    place.write("dictionary", &dictionary).write("plain", &plain);
    let ours = TestProgram::at(place.path("bin/lz4")).in_directory(place.directory());
    let theirs = lz4.in_directory(place.directory());
    for (packs, unpacks) in [(&ours, &theirs), (&theirs, &ours)] {
        for shape in ["-1", "-9", "-BD", "-B4", "-BX"] {
            let line = ["-f", shape, "-D", "dictionary", "plain", "packed"];
            packs.run(line, b"").expect("it starts").stdout_of_success();
            let back = unpacks.run(["-dc", "-D", "dictionary", "packed"], b"").expect("it starts");
            assert!(back.stdout_of_success() == plain, "{shape}");
        }
    }
    ours.run(["-f", "-l", "plain", "packed"], b"").expect("it starts").stdout_of_success();
    theirs.run(["-f", "-l", "plain", "theirs"], b"").expect("it starts").stdout_of_success();
    assert!(theirs.run(["-dc", "packed"], b"").expect("it starts").stdout_of_success() == plain);
    assert_eq!(place.read("packed").len(), place.read("theirs").len(), "the format leaves no choice but the matches");
}

#[test]
fn a_benchmark_has_lz4s_form() {
    let place = Place::new();
    let made = TestProgram::at(binary()).in_directory(place.directory()).run(["links", "bin"], b"");
    made.expect("it starts").stdout_of_success();
    place.write("plain", data::text(300_000, 9));
    let lz4 = TestProgram::at(place.path("bin/lz4")).in_directory(place.directory());
    let printed = lz4.run(["-b1e3i0", "plain"], b"").expect("it starts").stdout_of_success();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let starts = [" 1#plain             :    300000 ->", " 2#plain", " 3#plain"];
    assert_eq!(printed.lines().count(), 3, "{printed}");
    for (line, start) in printed.lines().zip(starts) {
        assert!(line.starts_with(start) && line.matches(" MB/s ").count() == 2, "{line}");
    }
}

#[test]
fn lz4_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("lz4", "lz4") {
        family.compare(LZ4);
    }
}
