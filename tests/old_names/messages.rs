//! The facts that scripts look at when something goes wrong: exit code, stream and the first line of the message, for the real tool and for
//! ours. A difference on purpose is no line here but one in docs/commands/old-names.md.

use super::run_line;
use crate::place::{Place, binary};
use std::os::unix::fs::symlink;
use std::path::Path;
use testkit::data;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

const LINES: &[&str] = &[
    "gzip nosuch",
    "gzip -d nosuch",
    "gzip -d nosuch.gz",
    "gzip d",
    "gzip -r nosuchdir",
    "gzip a",
    "gzip a.gz",
    "gzip -d plain.gz",
    "gzip -d odd",
    "gzip -d a.xyz",
    "gzip -t short.gz",
    "gzip -d short.gz",
    "gzip -t bad.gz",
    "gzip -t trailed.gz",
    "gzip -q -t trailed.gz",
    "gzip -l odd",
    "gzip -l nosuch",
    "gzip sym",
    "gzip b",
    "gzip -S '' a",
    "gzip --nosuch",
    "gzip -y a",
    "gzip --suffix",
    "gzip --st",
    "gzip -S",
    "gzip --stdout=1 a",
    "gzip -t empty",
    "gzip -c -d empty",
    "gzip -k a",
    "gzip -9999 a",
    "gzip -0 a",
    "gzip -c nosuch",
    "gzip -cd a",
    "gunzip a",
    "gunzip -c plain.gz",
    "zcat nosuch",
    "zcat odd",
    "zcat d",
    "gunzip d",
    "gzip a > /dev/full -c",
    "gzip -cd a.gz > /dev/full",
    "pigz nosuch",
    "pigz -d nosuch",
    "pigz d",
    "pigz a",
    "pigz a.gz",
    "pigz -d plain.gz",
    "pigz -d odd",
    "pigz -t short.gz",
    "pigz -t bad.gz",
    "pigz -t trailed.gz",
    "pigz sym",
    "pigz --nosuch",
    "pigz -y a",
    "pigz -p 0 a",
    "pigz -p x a",
    "pigz -b 1 a",
    "pigz -b x a",
    "pigz -p",
    "pigz -S",
    "pigz -t empty",
    "pigz -10 a",
    "pigz -12 a",
    "pigz -S '' -k b",
    "pigz -c a > /dev/full",
    "pigz -t d",
    "pigz -d sym",
    "bzip2 nosuch",
    "bzip2 -d nosuch",
    "bzip2 -d nosuch.bz2",
    "bzip2 d",
    "bzip2 a",
    "bzip2 a.bz2",
    "bzip2 -f a.bz2",
    "bzip2 -d plain.bz2",
    "bzip2 -d odd",
    "bzip2 -t odd",
    "bzip2 -t short.bz2",
    "bzip2 -d short.bz2",
    "bzip2 -dc short.bz2",
    "bzip2 -t bad.bz2",
    "bzip2 -d bad.bz2",
    "bzip2 -t trailed.bz2",
    "bzip2 sym",
    "bzip2 b",
    "bzip2 --nosuch a",
    "bzip2 -y a",
    "bzip2 -0 a",
    "bzip2 -t empty",
    "bzip2 -dc empty",
    "bzip2 -c a > /dev/full",
    "bzip2 -dc a.bz2 > /dev/full",
    "bzip2 -t nosuch",
    "bzip2 -t d",
    "bzip2 -tv a.bz2",
    "bzip2 -dkvf a.bz2",
    "bunzip2 plain.bz2",
    "bzcat nosuch",
    "bzcat plain.bz2",
    "bzip2 -c < /dev/null | bzip2 -dc",
    "lbzip2 nosuch",
    "lbzip2 -d nosuch",
    "lbzip2 d",
    "lbzip2 a",
    "lbzip2 a.bz2",
    "lbzip2 -d plain.bz2",
    "lbzip2 -d odd",
    "lbzip2 -t trailed.bz2",
    "lbzip2 sym",
    "lbzip2 b",
    "lbzip2 --nosuch a",
    "lbzip2 -y a",
    "lbzip2 -n x a",
    "lbzip2 -n 0 a",
    "lbzip2 -n",
    "lbzip2 -t empty",
    "lbzip2 -c a > /dev/full",
    "lz4 nosuch",
    "lz4 nosuch x",
    "lz4 -d nosuch",
    "lz4 -d nosuch.lz4",
    "lz4 -m nosuch",
    "lz4 d",
    "lz4 -m d",
    "lz4 -r nosuch",
    "lz4 a a.lz4",
    "lz4 -m a",
    "lz4 -d plain.lz4",
    "lz4 -d plain.lz4 x",
    "lz4 -m -d odd",
    "lz4 -t short.lz4",
    "lz4 -t bad.lz4",
    "lz4 -t odd",
    "lz4 --nosuch a",
    "lz4 -y a",
    "lz4 -B9 a x",
    "lz4 -B",
    "lz4 -t empty",
    "lz4 a b x",
    "lz4 -t nosuch",
    "lz4 -c nosuch",
    "lz4 --fast=0 a x",
    "lz4 --fast=x a x",
    "lz4 -D",
    "lz4 -mt a.lz4 odd",
    "lz4cat nosuch",
    "lz4cat odd",
    "unlz4 odd",
    "unlz4 nosuch",
];

/// Sound files, damaged ones, and what is no file of the tool; compressed by the real tools.
fn directory() -> Place {
    let place = Place::new();
    place.write("a", data::text(9_000, 1)).write("b", data::text(14_000, 2)).write("plain.gz", b"hello\n");
    place.write("plain.bz2", b"hello\n").write("plain.lz4", b"hello\n").write("empty", b"").write("d/x", b"x");
    place.write("odd", b"odd content\n").write("ro/f", b"f");
    symlink("a", place.path("sym")).expect("a link");
    std::fs::hard_link(place.path("b"), place.path("hard")).expect("a link");
    for (tool, ending) in [("gzip", "gz"), ("bzip2", "bz2"), ("lz4", "lz4")] {
        let Some(program) = TestProgram::find(tool) else { continue };
        let packed = program.run(["-c"], &data::text(9_000, 1)).expect("it starts").stdout_of_success();
        let middle = packed.len() / 2;
        // gzip's inflate takes distances that lead nowhere, and finds the damage by the CRC; so the CRC is what is damaged.
        let (from, to) = if ending == "gz" { (packed.len() - 8, packed.len() - 4) } else { (middle, middle + 7) };
        let damaged = [&packed[..from], &vec![b'x'; to - from], &packed[to..]].concat();
        place.write(format!("a.{ending}"), &packed).write(format!("short.{ending}"), &packed[..middle]);
        place
            .write(format!("bad.{ending}"), damaged)
            .write(format!("trailed.{ending}"), [&packed[..], b"junk\n"].concat());
    }
    if place.has("a.gz") {
        place.write("a.xyz", place.read("a.gz"));
    }
    place
}

/// The code, whether anything was printed, and the first line of the message.
fn seen(outcome: &ProgramOutcome) -> (Exit, bool, String) {
    let text = String::from_utf8_lossy(&outcome.stderr).replace('\r', "\n");
    let first = text.lines().map(str::trim_end).find(|line| !line.is_empty()).unwrap_or_default();
    (outcome.exit, !outcome.stdout.is_empty(), first.to_owned())
}

#[test]
fn wrong_lines_and_files_are_reported_as_the_tools_do() {
    let links = Place::new();
    let made = TestProgram::at(binary()).run([Path::new("links"), links.directory()], b"").expect("it starts");
    made.stdout_of_success();
    let mut differences = String::new();
    for line in LINES {
        let tool = line.split(' ').next().expect("a first word");
        if TestProgram::find(tool).is_none() {
            left_out(&format!("{tool} is not installed"));
            continue;
        }
        let real = seen(&run_line(&directory(), line, None));
        let ours = seen(&run_line(&directory(), line, Some(links.directory())));
        if real != ours {
            differences.push_str(&format!("{line}\n  {real:?}\n  ours: {ours:?}\n"));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
