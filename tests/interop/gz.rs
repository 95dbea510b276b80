//! gz: gzip, pigz, bgzip, igzip, libdeflate-gzip.

use super::{SIZES, check_that_we_read, filter, hands_for, items, present};
use crate::place::{Place, said};
use std::io::Write;
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

const TOOLS: [&str; 5] = ["gzip", "pigz", "bgzip", "igzip", "libdeflate-gzip"];

/// How a tool is told a level from 1 to 9.
fn level_option(tool: &str, level: usize) -> String {
    match tool {
        "bgzip" => format!("-l{level}"),
        "igzip" => format!("-{}", level.min(3)),
        _ => format!("-{level}"),
    }
}

#[test]
fn every_tool_reads_what_we_write() {
    let tools = present(&TOOLS);
    let place = Place::new();
    for item in items(&[1, 6, 9], &SIZES) {
        place.write("plain", &item.plain);
        let level = format!("-{}", item.level);
        for layout in [&["-Fgz"][..], &["-Fgz", "--bgzf"]] {
            let packed = place.tamp(["-c", &level, "plain"].iter().chain(layout)).stdout_of_success();
            for (name, tool) in &tools {
                let back = filter(tool, &["-dc"], &packed);
                assert!(back == item.plain, "{name} reads {} {layout:?} otherwise", item.what);
            }
        }
    }
}

#[test]
fn we_read_what_every_tool_writes() {
    for (name, tool) in present(&TOOLS) {
        for item in items(&[1, 6, 9], &SIZES) {
            let packed = filter(&tool, &[&level_option(name, item.level), "-c"], &item.plain);
            check_that_we_read(&format!("{name}, {}", item.what), &packed, &item.plain, hands_for(&item.plain));
        }
    }
}

#[test]
fn long_members_are_divided_among_four_hands_and_more() {
    let plain = data::mixed(14 << 20, 8);
    let place = Place::new();
    place.write("plain", &plain).shell("tar -cf plain.tar plain").stdout_of_success();
    let archive = place.read("plain.tar");
    for (name, tool) in present(&TOOLS) {
        for level in [1, 6] {
            let what = format!("{name} -{level}, a long member");
            let packed = filter(&tool, &[&level_option(name, level), "-c"], &plain);
            check_that_we_read(&what, &packed, &plain, &["4"]);
            // Two members, of which the first ends where nobody expects it.
            let two = [packed.as_slice(), &packed].concat();
            place.write("two.gz", &two);
            let back = place.tamp(["-dc", "-j8", "two.gz"]).stdout_of_success();
            assert!(back == [plain.as_slice(), &plain].concat(), "{what}, twice: other bytes");
            // What breaks off is written up to there, with the same message as by one hand.
            place.write("short.gz", &packed[..packed.len() - packed.len() / 3]);
            let [one, many] = ["-j1", "-j8"].map(|hands| place.tamp(["-dc", hands, "short.gz"]));
            assert!(one.exit == Exit::Code(1) && many.exit == one.exit, "{what}: {}", said(&many));
            assert!(
                many.stdout == one.stdout,
                "{what}, broken off: {} and {} bytes",
                many.stdout.len(),
                one.stdout.len()
            );
            assert_eq!(said(&many), said(&one), "{what}, broken off");
        }
        place.write("plain.tgz", filter(&tool, &[&level_option(name, 6), "-c"], &archive));
        let extract = format!("rm -f plain && {} tar -xf plain.tgz --hands 4", crate::place::binary().display());
        place.shell(&extract).stdout_of_success();
        assert!(place.read("plain") == plain, "{name}: tar -x");
    }
}

#[test]
fn we_read_gzip_files_with_a_name_and_a_time() {
    let Some(gzip) = TestProgram::find("gzip") else { return left_out("gzip is not installed") };
    let place = Place::new();
    let plain = data::log_lines(300_000, 1);
    place.write("a name with blanks", &plain);
    let gzip = gzip.in_directory(place.directory());
    filter(&gzip, &["-N", "a name with blanks"], b"");
    let packed = place.read("a name with blanks.gz");
    assert_eq!(packed[3], 8, "the flag for a name");
    check_that_we_read("gzip -N", &packed, &plain, &["1", "2"]);
    // What is inside a file never decides where its bytes go.
    place.write("other.gz", &packed);
    place.tamp(["-d", "other.gz"]).stdout_of_success();
    assert!(place.read("other") == plain);
    assert_eq!(place.names(), ["a name with blanks.gz", "other", "other.gz"]);
}

#[test]
fn every_tool_verifies_what_we_write() {
    let place = Place::new();
    place.write("plain", data::mixed(2_500_000, 1));
    place.tamp(["-Fgz", "-o", "ours.gz", "plain"]).stdout_of_success();
    place.tamp(["--bgzf", "-o", "blocks.gz", "plain"]).stdout_of_success();
    for (name, tool) in present(&["gzip", "pigz", "bgzip", "igzip", "libdeflate-gzip"]) {
        for file in ["ours.gz", "blocks.gz"] {
            let outcome = tool.clone().in_directory(place.directory()).run(["-t", file], b"").expect("the tool starts");
            assert_eq!(outcome.exit, Exit::Code(0), "{name} -t {file}");
        }
    }
}

#[test]
fn files_of_different_tools_behind_one_another_are_one_file() {
    let parts: Vec<Vec<u8>> = (0..5).map(|seed| data::mixed(200_000 + 300_000 * seed, seed as u64)).collect();
    let place = Place::new();
    let (mut packed, mut plain) = (Vec::new(), Vec::new());
    for (index, (name, tool)) in present(&TOOLS).into_iter().enumerate() {
        let part = &parts[index % parts.len()];
        packed.extend(filter(&tool, &[&level_option(name, 6), "-c"], part));
        place.write("part", part);
        packed.extend(place.tamp(["-Fgz", "-c", "part"]).stdout_of_success());
        packed.extend(place.tamp(["--bgzf", "-c", "part"]).stdout_of_success());
        packed.extend(filter(&tool, &["-c"], b""));
        for _ in 0..3 {
            plain.extend_from_slice(part);
        }
    }
    check_that_we_read("all tools", &packed, &plain, &["1", "2", "3", "64"]);
    // And others read the same mixture as we do.
    if let Some(gzip) = TestProgram::find("gzip") {
        assert!(filter(&gzip, &["-dc"], &packed) == plain);
    }
}

#[test]
fn we_read_streams_with_flushes_and_independent_blocks() {
    let plain = data::mixed(3 << 20, 9);
    for (what, flush_bytes) in [("flushed often", 1000), ("flushed seldom", 131_072)] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        for part in plain.chunks(flush_bytes) {
            encoder.write_all(part).and_then(|()| encoder.flush()).expect("to memory");
        }
        let packed = encoder.finish().expect("to memory");
        check_that_we_read(what, &packed, &plain, &["1", "2", "3"]);
    }
    let Some(pigz) = TestProgram::find("pigz") else { return left_out("pigz is not installed") };
    for options in [&["-p", "4", "-b", "128"][..], &["-p", "4", "-b", "128", "-i"], &["-R", "-p", "2"], &["-p", "1"]] {
        let packed = filter(&pigz, options, &plain);
        check_that_we_read(&format!("pigz {options:?}"), &packed, &plain, &["1", "3"]);
    }
}

#[test]
fn the_same_data_in_every_kind_of_deflate_block() {
    // Stored, fixed and dynamic blocks, and a ratio near the greatest there is.
    let plains = [data::random(200_000, 1), b"abcabcabc".to_vec(), data::text(200_000, 1), data::zeros(20 << 20)];
    for (index, plain) in plains.iter().enumerate() {
        for level in [0, 1, 9] {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
            encoder.write_all(plain).expect("to memory");
            let packed = encoder.finish().expect("to memory");
            check_that_we_read(&format!("plain {index}, zlib -{level}"), &packed, plain, &["1", "2"]);
        }
    }
}
