//! bz2: bzip2, lbzip2 and pbzip2, every level, streams behind one another, and a file made to deceive.

use super::{SIZES, check_that_we_read, filter, hands_for, items, present};
use crate::corpus_made::bz2::deceiving;
use crate::place::{Place, said};
use testkit::data;
use testkit::program::Exit;

const TOOLS: [&str; 3] = ["bzip2", "lbzip2", "pbzip2"];

/// Around a block, and around runs that get a count.
const MORE_SIZES: [usize; 7] = [3, 4, 5, 259, 260, 899_082, 899_083];

#[test]
fn every_tool_reads_what_we_write() {
    let tools = present(&TOOLS);
    let place = Place::new();
    for item in items(&[1, 5, 9], &SIZES[..6]).into_iter().chain(items(&[9], &MORE_SIZES)) {
        place.write("plain", &item.plain);
        let packed = place.tamp(["-F", "bz2", "-c", &format!("-{}", item.level), "plain"]).stdout_of_success();
        for (name, tool) in &tools {
            assert!(filter(tool, &["-dc"], &packed) == item.plain, "{name} reads {} otherwise", item.what);
        }
        check_that_we_read(&item.what, &packed, &item.plain, hands_for(&item.plain));
    }
}

#[test]
fn we_read_what_every_tool_writes() {
    for (name, tool) in present(&TOOLS) {
        for item in items(&[1, 9], &SIZES).into_iter().chain(items(&[9], &MORE_SIZES)) {
            let packed = filter(&tool, &[&format!("-{}", item.level), "-c"], &item.plain);
            check_that_we_read(&format!("{name}, {}", item.what), &packed, &item.plain, hands_for(&item.plain));
        }
    }
}

#[test]
fn a_mebibyte_of_one_byte_and_a_block_of_forty_are_read() {
    for (name, tool) in present(&TOOLS) {
        for plain in [vec![b'a'; 1 << 20], vec![0; 60 << 20]] {
            let packed = filter(&tool, &["-c"], &plain);
            check_that_we_read(&format!("{name}, {} alike", plain.len()), &packed, &plain, &["1", "2"]);
            // A block of more than a worker may hold: in series.
            let place = Place::new();
            place.write("packed", &packed);
            let outcome = place.tamp(["-d", "-j2", "--memory", "16M", "-o", "back", "packed"]);
            assert_eq!(outcome.exit, Exit::Code(0), "{name}, little memory: {}", said(&outcome));
            assert!(place.read("back") == plain, "{name}, little memory");
            let outcome = place.tamp_fed(["-d", "-j2", "--memory", "16M"], &packed);
            assert!(outcome.stdout == plain, "{name}, little memory, pipe: {}", said(&outcome));
        }
    }
}

#[test]
fn streams_of_all_tools_behind_one_another_are_one_file() {
    let place = Place::new();
    let (mut packed, mut plain) = (Vec::new(), Vec::new());
    for (number, (_, tool)) in present(&TOOLS).into_iter().enumerate() {
        let part = data::mixed(700_000 + 1_000_000 * number, number as u64);
        place.write("part", &part);
        packed.extend(filter(&tool, &["-c", &format!("-{}", 9 - number)], &part));
        packed.extend(filter(&tool, &["-c"], b""));
        packed.extend(place.tamp(["-F", "bz2", "-c", "part"]).stdout_of_success());
        plain.extend_from_slice(&part);
        plain.extend_from_slice(&part);
    }
    check_that_we_read("all tools", &packed, &plain, &["1", "2", "3", "64"]);
}

#[test]
fn we_pack_as_small_as_bzip2() {
    for (_, tool) in present(&TOOLS[..1]) {
        let place = Place::new();
        let plain = data::text(5_000_000, 1);
        place.write("plain", &plain);
        let ours = place.tamp(["-F", "bz2", "-c", "plain"]).stdout_of_success().len();
        let theirs = filter(&tool, &["-c"], &plain).len();
        assert!(ours <= theirs + theirs / 100, "{ours} bytes; bzip2 makes {theirs}");
    }
}

#[test]
fn data_that_look_like_a_border_are_read_from_a_file_and_refused_from_a_pipe() {
    let (packed, plain) = deceiving();
    for (name, tool) in present(&TOOLS[..1]) {
        assert!(filter(&tool, &["-dc"], &packed) == plain, "{name} reads it");
    }
    let place = Place::new();
    place.write("packed", &packed);
    for hands in ["-j1", "-j2", "-j64"] {
        let outcome = place.tamp(["-d", hands, "-c", "packed"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{hands}: {}", said(&outcome));
        assert!(outcome.stdout == plain, "{hands}");
        let outcome = place.tamp(["-d", hands, "-o", "out", "-f", "packed"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{hands}: {}", said(&outcome));
        assert!(place.read("out") == plain, "{hands}");
        let outcome = place.tamp_fed(["-d", hands], &packed);
        assert_eq!(outcome.exit, Exit::Code(1), "{hands}");
        assert!(said(&outcome).contains("block 1 at byte 4"), "{hands}: {}", said(&outcome));
    }
}
