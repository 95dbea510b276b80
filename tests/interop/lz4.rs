//! lz4: every block size, linked and independent blocks, with and without checks and sizes, and legacy frames.

use super::{SIZES, check_that_we_read, filter, hands_for, items};
use crate::place::Place;
use testkit::data;
use testkit::program::{TestProgram, left_out};

fn lz4() -> Option<TestProgram> {
    let found = TestProgram::find("lz4");
    if found.is_none() {
        left_out("lz4 is not installed");
    }
    found
}

#[test]
fn lz4_reads_what_we_write() {
    let Some(lz4) = lz4() else { return };
    let place = Place::new();
    for item in items(&[1, 2, 9, 12], &SIZES) {
        place.write("plain", &item.plain);
        let packed = place.tamp(["-F", "lz4", "-c", &format!("-{}", item.level), "plain"]).stdout_of_success();
        assert!(filter(&lz4, &["-dc"], &packed) == item.plain, "lz4 reads {} otherwise", item.what);
        check_that_we_read(&item.what, &packed, &item.plain, hands_for(&item.plain));
    }
}

#[test]
fn we_read_what_lz4_writes() {
    let Some(lz4) = lz4() else { return };
    let place = Place::new();
    for options in [
        &["-1"][..],
        &["-9", "-BD"],
        &["-B4", "-BX"],
        &["-B5", "-BD", "-BX", "--content-size"],
        &["-B7", "--no-frame-crc"],
        &["-B4", "-BD", "--no-frame-crc", "--content-size"],
        &["-l"],
    ] {
        for item in items(&[1], &SIZES) {
            place.write("plain", &item.plain);
            let lz4 = lz4.clone().in_directory(place.directory());
            let options: Vec<&str> = options.iter().copied().chain(["-c", "plain"]).collect();
            let packed = filter(&lz4, &options, b"");
            let what = format!("lz4 {options:?}, {}", item.what);
            check_that_we_read(&what, &packed, &item.plain, hands_for(&item.plain));
        }
    }
}

#[test]
fn frames_of_all_kinds_behind_one_another_are_one_file() {
    let Some(lz4) = lz4() else { return };
    let place = Place::new();
    let mut packed = vec![0x5c, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let mut plain = Vec::new();
    for (number, options) in [&["-1"][..], &["-BD", "-B4"], &["-l"], &["-B4", "-BX"]].into_iter().enumerate() {
        let part = data::mixed(900_000 + 3_000_000 * number, number as u64);
        place.write("part", &part);
        let options: Vec<&str> = options.iter().copied().chain(["-c", "part"]).collect();
        packed.extend(filter(&lz4.clone().in_directory(place.directory()), &options, b""));
        packed.extend(place.tamp(["-F", "lz4", "-c", "part"]).stdout_of_success());
        plain.extend_from_slice(&part);
        plain.extend_from_slice(&part);
    }
    check_that_we_read("all kinds", &packed, &plain, &["1", "2", "3", "64"]);
}
