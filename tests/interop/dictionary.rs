//! zst dictionaries, both ways with the zstd tool: made by training, and any file.

use super::filter;
use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

#[test]
fn dictionaries_go_both_ways_and_a_missing_one_is_named() {
    let Some(zstd) = TestProgram::find("zstd") else {
        left_out("zstd is not installed");
        return;
    };
    let place = Place::new();
    let zstd = zstd.in_directory(place.directory());
    for number in 0..300 {
        place.write(format!("sample-{number}"), data::log_lines(2000, number));
    }
    let samples: Vec<String> = (0..300).map(|number| format!("sample-{number}")).collect();
    let train: Vec<&str> =
        ["-q", "--train", "-o", "trained"].into_iter().chain(samples.iter().map(String::as_str)).collect();
    filter(&zstd, &train, b"");
    place.write("any", data::log_lines(50_000, 999));
    for (dictionary, bytes) in [("trained", 3000), ("any", 3000), ("trained", 9 << 20), ("any", 0)] {
        let plain = data::log_lines(bytes, 12_345);
        place.write("plain", &plain);
        let ours = place.tamp(["-D", dictionary, "-c", "plain"]).stdout_of_success();
        place.write("ours.zst", &ours);
        assert!(filter(&zstd, &["-D", dictionary, "-dc", "ours.zst"], b"") == plain, "{dictionary}: zstd reads ours");
        let theirs = filter(&zstd, &["-q", "-D", dictionary, "-c", "plain"], b"");
        place.write("theirs.zst", &theirs);
        for hands in ["1", "3"] {
            for file in ["ours.zst", "theirs.zst"] {
                let back = place.tamp(["-dc", "-j", hands, "-D", dictionary, file]).stdout_of_success();
                assert!(back == plain, "{dictionary}, {bytes} bytes: {file}");
            }
        }
        if dictionary == "trained" {
            let refused = place.tamp(["-dc", "theirs.zst"]);
            assert_eq!(refused.exit, Exit::Code(1));
            assert!(said(&refused).contains("it needs dictionary"), "{}", said(&refused));
        }
    }
}
