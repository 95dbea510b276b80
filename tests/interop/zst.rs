//! zst: zstd and pzstd, and the features of the format that only options of theirs bring out.

use super::{SIZES, check_that_we_read, filter, hands_for, items, present};
use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

const TOOLS: [&str; 2] = ["zstd", "pzstd"];

/// Level 19 needs seconds for the longest ones.
fn sizes(level: usize) -> &'static [usize] {
    if level == 19 { &SIZES[..6] } else { &SIZES }
}

fn zstd() -> Option<TestProgram> {
    let found = TestProgram::find("zstd");
    if found.is_none() {
        left_out("zstd is not installed");
    }
    found
}

#[test]
fn every_tool_reads_what_we_write() {
    let tools = present(&TOOLS);
    let place = Place::new();
    for level in [1, 3, 19] {
        for item in items(&[level], sizes(level)) {
            place.write("plain", &item.plain);
            let level = format!("-{}", item.level);
            for layout in [&[][..], &["--single-frame"]] {
                let packed = place.tamp(["-c", &level, "plain"].iter().chain(layout)).stdout_of_success();
                for (name, tool) in &tools {
                    let back = filter(tool, &["-dc"], &packed);
                    assert!(back == item.plain, "{name} reads {} {layout:?} otherwise", item.what);
                }
            }
        }
    }
}

#[test]
fn we_read_what_every_tool_writes() {
    for (name, tool) in present(&TOOLS) {
        for level in [1, 3, 19] {
            for item in items(&[level], sizes(level)) {
                let packed = filter(&tool, &[&format!("-{level}"), "-c"], &item.plain);
                check_that_we_read(&format!("{name}, {}", item.what), &packed, &item.plain, hands_for(&item.plain));
            }
        }
    }
}

#[test]
fn several_frames_are_read_and_found_by_zstd() {
    let Some(zstd) = zstd() else { return };
    let place = Place::new();
    let plain = data::records(13 << 20, 1);
    place.write("plain", &plain);
    place.tamp(["plain"]).stdout_of_success();
    let zstd = zstd.in_directory(place.directory());
    assert!(filter(&zstd, &["-dc", "plain.zst"], b"") == plain);
    filter(&zstd, &["-t", "plain.zst"], b"");
    let listed = String::from_utf8_lossy(&filter(&zstd, &["-l", "-v", "plain.zst"], b"")).into_owned();
    let frames = listed.lines().find_map(|line| line.strip_prefix("# Zstandard Frames: ")?.parse::<u32>().ok());
    assert!(frames.is_some_and(|frames| frames > 1), "{listed}");
    assert!(listed.contains("Skippable Frames: 1"), "the seek table: {listed}");
}

#[test]
fn frames_of_different_tools_behind_one_another_are_one_file() {
    let place = Place::new();
    let skippable = [&[0x5c, 0x2a, 0x4d, 0x18, 200, 0, 0, 0][..], &[0xaa; 200]].concat();
    let (mut packed, mut plain) = (skippable.clone(), Vec::new());
    for (index, (_, tool)) in present(&TOOLS).into_iter().enumerate() {
        let part = data::mixed(700_000 + 4_000_000 * index, index as u64);
        place.write("part", &part);
        // From a file, the header tells the size; from a pipe it does not.
        packed.extend(filter(&tool.clone().in_directory(place.directory()), &["-c", "part"], b""));
        packed.extend(&skippable);
        packed.extend(filter(&tool, &["-c"], &part));
        packed.extend(place.tamp(["-c", "part"]).stdout_of_success());
        packed.extend(place.tamp(["--single-frame", "-c", "part"]).stdout_of_success());
        packed.extend(filter(&tool, &["-c"], b""));
        for _ in 0..4 {
            plain.extend_from_slice(&part);
        }
    }
    if plain.is_empty() {
        return;
    }
    packed.extend([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
    check_that_we_read("all tools", &packed, &plain, &["1", "2", "3", "64"]);
}

#[test]
fn options_that_change_the_format_are_read() {
    let Some(zstd) = zstd() else { return };
    let place = Place::new();
    let plain = data::log_lines(6 << 20, 2);
    place.write("plain", &plain);
    let zstd = zstd.in_directory(place.directory());
    for options in [
        &["--no-check"][..],
        &["--no-check", "--no-content-size"],
        &["--no-content-size"],
        &["-T2", "-B512K"],
        &["-T2", "--rsyncable"],
        &["--long=27"],
        &["--ultra", "-22", "--zstd=wlog=20"],
        &["--fast=10"],
        &["--target-compressed-block-size=2000"],
        &["--no-compress-literals", "-1"],
        &["--sparse"],
    ] {
        let from_file: Vec<&str> = options.iter().copied().chain(["-c", "plain"]).collect();
        let from_pipe: Vec<&str> = options.iter().copied().chain(["-c"]).collect();
        let understood = zstd.run(options.iter().copied().chain(["-c"]), b"x").expect("zstd starts");
        if understood.exit != Exit::Code(0) {
            left_out(&format!("this zstd does not know {options:?}"));
            continue;
        }
        check_that_we_read(&format!("{options:?} file"), &filter(&zstd, &from_file, b""), &plain, &["1", "2", "64"]);
        check_that_we_read(&format!("{options:?} pipe"), &filter(&zstd, &from_pipe, &plain), &plain, &["1", "2"]);
    }
}

#[test]
fn windows_beyond_128_mib_need_to_be_allowed() {
    let Some(zstd) = zstd() else { return };
    let place = Place::new();
    let plain = data::text(2 << 20, 3);
    // From a pipe, the size is not known, and the window is as large as it was asked for.
    let wide = zstd.run(["--long=31", "-c"], &plain).expect("zstd starts");
    if wide.exit != Exit::Code(0) {
        return left_out("zstd --long=31 needs more memory than there is");
    }
    place.write("wide.zst", &wide.stdout);
    for hands in ["-j1", "-j2"] {
        let outcome = place.tamp(["-d", hands, "-o", "back", "wide.zst"]);
        assert_eq!(outcome.exit, Exit::Code(1));
        assert!(said(&outcome).contains("--long=31"), "{}", said(&outcome));
        assert_eq!(place.names(), ["wide.zst"]);
        let outcome = place.tamp_fed(["-d", hands], &wide.stdout);
        assert!(said(&outcome).contains("--long=31") && outcome.stdout.is_empty(), "{}", said(&outcome));
        let outcome = place.tamp(["-d", "--long=30", hands, "-o", "back", "wide.zst"]);
        assert_eq!(outcome.exit, Exit::Code(1));
        let outcome = place.tamp(["-d", "--long=31", hands, "-c", "wide.zst"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
        assert!(outcome.stdout == plain);
    }
}

#[test]
fn zstd_reads_our_long_windows() {
    let Some(zstd) = zstd() else { return };
    let place = Place::new();
    let plain = data::mixed(9 << 20, 4);
    place.write("plain", &plain);
    for options in [&["--long"][..], &["--long=24"], &["--long=27", "-3"], &["--single-frame", "-9"]] {
        let packed = place.tamp(["-c", "plain"].iter().chain(options)).stdout_of_success();
        assert!(filter(&zstd, &["-dc"], &packed) == plain, "{options:?}");
    }
    let packed = place.tamp_fed(["--long=28"], &plain).stdout_of_success();
    assert!(filter(&zstd, &["-dc", "--long=31"], &packed) == plain);
}

#[test]
fn a_dictionary_is_named_when_it_is_missing() {
    let Some(zstd) = zstd() else { return };
    let place = Place::new();
    let zstd = zstd.in_directory(place.directory());
    for number in 0..40 {
        place.write(format!("samples/{number}"), data::text(3000, number));
    }
    let trained =
        zstd.run(["--train", "-r", "samples", "-o", "dictionary", "--dictID=4711"], b"").expect("zstd starts");
    if trained.exit != Exit::Code(0) {
        return left_out("this zstd trains no dictionary from these samples");
    }
    place.write("plain", data::text(5000, 99));
    filter(&zstd, &["-D", "dictionary", "plain", "-o", "with.zst"], b"");
    let outcome = place.tamp(["-d", "-o", "back", "with.zst"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("it needs dictionary 4711"), "{}", said(&outcome));
    assert!(!place.has("back"));
}
