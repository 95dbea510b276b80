//! What came before: .Z of compress(1), which is only read, and .lzma, both ways.

use super::{SIZES, check_that_we_read, filter, items};
use crate::place::Place;
use testkit::data;
use testkit::program::{TestProgram, left_out};

fn tool(name: &str) -> Option<TestProgram> {
    let found = TestProgram::find(name);
    if found.is_none() {
        left_out(&format!("{name} is not installed"));
    }
    found
}

#[test]
fn z_files_are_read_whatever_their_codes_are() {
    let Some(compress) = tool("compress") else { return };
    // Of 9 bits compress cannot read its own files either.
    for bits in ["10", "12", "13", "16"] {
        for item in items(&[1], &SIZES) {
            let packed = filter(&compress, &["-f", "-c", "-b", bits], &item.plain);
            check_that_we_read(&format!("compress -b {bits}, {}", item.what), &packed, &item.plain, &["1", "2"]);
        }
    }
}

#[test]
fn damaged_z_files_end_with_an_error_or_early_and_never_hang() {
    let Some(compress) = tool("compress") else { return };
    let place = Place::new();
    let packed = filter(&compress, &["-f", "-c"], &data::text(100_000, 1));
    for at in (2..200).chain((200..packed.len()).step_by(997)) {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x55;
        let outcome = place.tamp_fed(["-dc"], &damaged);
        assert!(matches!(outcome.exit, testkit::program::Exit::Code(0 | 1)), "byte {at}: {:?}", outcome.exit);
    }
}

#[test]
fn lzma_goes_both_ways() {
    let Some(xz) = tool("xz") else { return };
    let place = Place::new();
    for item in items(&[0, 6], &SIZES) {
        place.write("plain", &item.plain);
        let level = format!("-{}", item.level);
        let ours = place.tamp(["-F", "lzma", &level, "-c", "plain"]).stdout_of_success();
        assert!(filter(&xz, &["--format=lzma", "-dc"], &ours) == item.plain, "xz reads {} otherwise", item.what);
        check_that_we_read(&item.what, &ours, &item.plain, &["1", "2"]);
        let theirs = filter(&xz, &["--format=lzma", &level, "-c"], &item.plain);
        check_that_we_read(&format!("xz's, {}", item.what), &theirs, &item.plain, &["2"]);
    }
}
