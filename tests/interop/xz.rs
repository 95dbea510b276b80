//! xz and pixz: blocks with and without sizes, every check, filters, several streams with padding between them.

use super::{SIZES, check_that_we_read, filter, hands_for, items, present};
use crate::place::Place;
use testkit::data;
use testkit::program::{TestProgram, left_out};

fn xz() -> Option<TestProgram> {
    let found = TestProgram::find("xz");
    if found.is_none() {
        left_out("xz is not installed");
    }
    found
}

#[test]
fn every_tool_reads_what_we_write() {
    let tools = present(&["xz", "pixz"]);
    let place = Place::new();
    for item in items(&[0, 1, 6], &SIZES) {
        place.write("plain", &item.plain);
        let packed = place.tamp(["-F", "xz", "-c", &format!("-{}", item.level), "plain"]).stdout_of_success();
        for (name, tool) in &tools {
            // pixz refuses a stream without blocks.
            if *name == "xz" || !item.plain.is_empty() {
                let back = filter(tool, if *name == "xz" { &["-dc"] } else { &["-d"] }, &packed);
                assert!(back == item.plain, "{name} reads {} otherwise", item.what);
            }
        }
        check_that_we_read(&item.what, &packed, &item.plain, hands_for(&item.plain));
    }
}

#[test]
fn we_read_what_xz_writes() {
    let Some(xz) = xz() else { return };
    for options in [
        &["-1", "-T1"][..],
        &["-1", "-T2", "--block-size=300KiB"],
        &["-1", "-T1", "--block-size=300KiB", "-Cnone"],
        &["-0", "-T1", "-Ccrc32"],
        &["-0", "-T2", "-Csha256", "--block-size=1MiB"],
        &["-T1", "--x86", "--lzma2=preset=1"],
        &["-T1", "--delta=dist=4", "--arm", "--lzma2=preset=0,lc=0,lp=2,pb=0"],
    ] {
        for item in items(&[1], &SIZES) {
            let options: Vec<&str> = options.iter().copied().chain(["-c"]).collect();
            let packed = filter(&xz, &options, &item.plain);
            let what = format!("xz {options:?}, {}", item.what);
            check_that_we_read(&what, &packed, &item.plain, hands_for(&item.plain));
        }
    }
}

#[test]
fn streams_with_padding_between_them_are_one_file() {
    let Some(xz) = xz() else { return };
    let place = Place::new();
    let (mut packed, mut plain) = (Vec::new(), Vec::new());
    for (number, options) in
        [&["-1", "-T1"][..], &["-0", "-T2", "--block-size=1MiB"], &["-0", "-Cnone"]].iter().enumerate()
    {
        let part = data::mixed(900_000 + 2_000_000 * number, number as u64);
        place.write("part", &part);
        let options: Vec<&str> = options.iter().copied().chain(["-c"]).collect();
        packed.extend(filter(&xz, &options, &part));
        packed.extend(vec![0; 4 * number]);
        packed.extend(place.tamp(["-F", "xz", "-1", "-c", "part"]).stdout_of_success());
        packed.extend(filter(&xz, &options, b""));
        plain.extend_from_slice(&part);
        plain.extend_from_slice(&part);
    }
    packed.extend([0; 8]);
    assert!(filter(&xz, &["-dc"], &packed) == plain, "xz itself reads it otherwise");
    check_that_we_read("all kinds", &packed, &plain, &["1", "2", "3", "64"]);
}
