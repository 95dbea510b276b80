//! The hostile corpus: each file of `tests/corpus/` decoded from a file and from a pipe, on one hand and on two.
//! What each is made of stands in `corpus_made`; `MH_CORPUS_WRITE=1 cargo test -p acceptance corpus` writes files and table.

use crate::corpus_made::{Case, Expected, cases};
use crate::place::{Place, names_in, said};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::program::Exit;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// LIMIT: what is committed stays small.
const FILE_BYTES_MAX: usize = 4096;

#[test]
fn the_files_are_what_their_makers_make_and_the_readme_gives_each_its_reason() {
    let writes = std::env::var_os("MH_CORPUS_WRITE").is_some_and(|value| value == "1");
    let cases = cases();
    let readme = directory().join("README.md");
    let text = fs::read_to_string(&readme).expect("the corpus has a README");
    let (intro, _) = text.split_once("| file |").expect("the README has a table");
    let written = format!("{intro}{}", table(&cases));
    if writes {
        for case in &cases {
            fs::write(directory().join(case.name), &case.bytes).expect("the corpus can be written");
        }
        fs::write(&readme, &written).expect("the README can be written");
    }
    for case in &cases {
        let committed = fs::read(directory().join(case.name)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(committed == case.bytes, "{} is not what its maker makes", case.name);
        assert!(committed.len() <= FILE_BYTES_MAX, "{} is too large", case.name);
    }
    let mut names: Vec<&str> = cases.iter().map(|case| case.name).collect();
    names.push("README.md");
    names.sort_unstable();
    assert_eq!(names_in(&directory()), names, "every file has a maker, and every name is used once");
    assert!(fs::read_to_string(&readme).expect("it was read before") == written, "the README's table is out of date");
}

fn table(cases: &[Case]) -> String {
    let mut table = String::from("| file | decodes | why |\n|---|---|---|\n");
    for case in cases {
        let decodes = match &case.expected {
            Expected::Plain(_) => "yes".to_owned(),
            Expected::Refused(words) => format!("no: {words}"),
        };
        writeln!(table, "| {} | {decodes} | {} |", case.name, case.why).expect("a string takes every write");
    }
    table
}

#[test]
fn every_file_gives_its_bytes_or_is_refused_with_its_reason() {
    let mut wrong = Vec::new();
    for case in cases() {
        for hands in ["-j1", "-j2"] {
            for from_pipe in [false, true] {
                let way = if from_pipe { "pipe" } else { "file" };
                if let Err(complaint) = decode(&case, hands, from_pipe) {
                    wrong.push(format!("{}, {way}, {hands}: {complaint}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Decodes to a file and compares all there is to see.
fn decode(case: &Case, hands: &str, from_pipe: bool) -> Result<(), String> {
    let place = Place::new();
    let outcome = if from_pipe {
        place.tamp_fed(["-d", hands, "-o", "out"], &case.bytes)
    } else {
        place.write("packed", &case.bytes);
        place.tamp(["-d", hands, "-o", "out", "packed"])
    };
    let mut left = place.names();
    left.retain(|name| name != "packed");
    let said = said(&outcome);
    match &case.expected {
        Expected::Plain(plain) => {
            if outcome.exit != Exit::Code(0) {
                return Err(format!("{:?}: {said}", outcome.exit));
            }
            if left != ["out"] || place.read("out") != *plain || !said.is_empty() {
                return Err(format!("other bytes, or something said or left: {left:?} {said}"));
            }
        }
        Expected::Refused(words) => {
            if outcome.exit != Exit::Code(1) || !left.is_empty() {
                return Err(format!("{:?}, left {left:?}: {said}", outcome.exit));
            }
            if !said.starts_with("mh tamp: could not decompress ") || !said.contains(words) {
                return Err(format!("should say '{words}', says: {said}"));
            }
        }
    }
    Ok(())
}

#[test]
fn testing_and_listing_agree_with_decoding() {
    let mut wrong = Vec::new();
    for case in cases() {
        let place = Place::new();
        place.write("packed", &case.bytes);
        let tested = place.tamp(["-t", "packed"]);
        let listed = place.tamp(["-l", "--json", "packed"]);
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        match &case.expected {
            Expected::Plain(plain) => {
                if tested.exit != Exit::Code(0) || !text.contains(&format!("\"plain_bytes\":{},", plain.len())) {
                    wrong.push(format!("{}: -t {:?}, -l {text} {}", case.name, tested.exit, said(&listed)));
                }
            }
            // A list looks at headers only: it may show what decoding refuses, but it must end well or say why not.
            Expected::Refused(_) => {
                let is_orderly = listed.exit == Exit::Code(0) || said(&listed).starts_with("mh tamp: could not list ");
                if tested.exit != Exit::Code(1) || !is_orderly {
                    wrong.push(format!("{}: -t {:?}, -l {:?} {}", case.name, tested.exit, listed.exit, said(&listed)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_files_at_once_are_each_judged_by_themselves() {
    let cases = cases();
    let refused = cases.iter().filter(|case| matches!(case.expected, Expected::Refused(_))).count();
    for hands in ["-j1", "-j2", "-j64"] {
        let place = Place::new();
        // A directory for each ending: some differ in nothing else.
        let path = |case: &Case| Path::new(ending(case)).join(case.name);
        for case in &cases {
            place.write(path(case), &case.bytes);
        }
        let arguments = ["-d", hands].into_iter().map(PathBuf::from);
        let outcome = place.tamp(arguments.chain(cases.iter().map(path)));
        assert_eq!(outcome.exit, Exit::Code(1), "{hands}");
        let told = format!("mh tamp: {refused} of {} files were not decompressed\n", cases.len());
        assert!(said(&outcome).ends_with(&told), "{hands}: {}", said(&outcome));
        for case in &cases {
            let output = path(case).with_extension("");
            match &case.expected {
                Expected::Plain(plain) => assert!(place.read(output) == *plain, "{hands}: {}", case.name),
                Expected::Refused(_) => assert!(!place.has(output), "{hands}: {}", case.name),
            }
        }
    }
}

fn ending(case: &Case) -> &str {
    case.name.rsplit_once('.').expect("every name has an ending").1
}
