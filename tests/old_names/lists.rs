//! `-l` of gzip and pigz, byte by byte: the same files listed by the real tool and by ours.

use super::run_line;
use crate::place::{Place, binary};
use std::path::Path;
use testkit::data;
use testkit::program::{TestProgram, left_out};

const LINES: &[(&str, &[&str])] = &[
    (
        "gzip",
        &[
            "gzip -l < a.gz",
            "gzip -l - < a.gz",
            "cat n.gz | gzip -l",
            "gzip -l a.gz n.gz",
            "gzip -lq a.gz n.gz",
            "gzip -lv a.gz",
            "gzip -lv a.gz n.gz lzw.Z",
            "gzip -lv < a.gz",
            "gzip -lqv a.gz",
            "gzip -lvq a.gz",
            "gzip -l nosuch a.gz",
            "gzip -l nosuch",
            "gzip -l < /dev/null",
            "zcat -l a.gz",
            "TZ=EST5 gzip -lv a.gz",
        ],
    ),
    (
        "pigz",
        &[
            "pigz -l a.gz n.gz",
            "pigz -lv a.gz",
            "pigz -lv n.gz",
            "pigz -l < a.gz",
            "pigz -l < n.gz",
            "pigz -l a.gz nosuch",
        ],
    ),
];

#[test]
fn lists_are_those_of_the_tools() {
    let links = Place::new();
    let made = TestProgram::at(binary()).run([Path::new("links"), links.directory()], b"").expect("it starts");
    made.stdout_of_success();
    for (tool, lines) in LINES {
        if TestProgram::find(tool).is_none() {
            left_out(&format!("{tool} is not installed"));
            continue;
        }
        let place = Place::new();
        place.write("a", data::text(9_000, 1)).write("lzw.Z", [0x1f, 0x9d, 0x90, 0x61, 0xc4, 0x8c, 1]);
        run_line(&place, "touch -d @1234567890 a; gzip -k a; gzip -nc a > n.gz; touch -d @1300000000 *", None)
            .stdout_of_success();
        for line in *lines {
            let (real, ours) = (run_line(&place, line, None), run_line(&place, line, Some(links.directory())));
            assert_eq!(ours.exit, real.exit, "{line}");
            assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&real.stdout), "{line}");
        }
    }
}

/// The lines that configure scripts and version checks look for.
#[test]
fn versions_and_help_satisfy_scripts() {
    let links = Place::new();
    let made = TestProgram::at(binary()).run([Path::new("links"), links.directory()], b"").expect("it starts");
    made.stdout_of_success();
    let place = Place::new();
    let checks = "set -e
        gzip --version | head -n 1 | grep -q '^gzip 1\\.'
        gzip --version | head -n 1 | grep -E -o '[0-9]+\\.[0-9\\.]+[a-z]*' | head -n 1 | grep -qx '1\\.12'
        gzip -V | grep -q manyhands
        gunzip --version | head -n 1 | grep -q '(gzip) 1\\.'
        gzip -h | head -n 1 | grep -qxF 'Usage: gzip [OPTION]... [FILE]...'
        gzip --help 2>&1 | grep -q -- --rsyncable
        gzip -n < /dev/null > /dev/null
        pigz --version 2>&1 | head -n 1 | grep -q '^pigz 2'
        bzip2 --version 2>&1 < /dev/null | head -n 1 | grep -q 'Version 1\\.0'
        bzip2 --help 2>&1 > /dev/null | head -n 1 | grep -q '^bzip2, a block-sorting file compressor'
        lbzip2 --version | head -n 1 | grep -q '^lbzip2 version 2'
        lz4 --version | grep -o 'v[0-9.]*' | grep -qx v1.9.4";
    let outcome = run_line(&place, checks, Some(links.directory()));
    assert_eq!(crate::place::said(&outcome), "");
    outcome.stdout_of_success();
}
