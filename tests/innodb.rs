//! `mh innodb` against a real MariaDB: on the files of a stopped server the verdict of innochecksum on every page, in every format and with a bit flipped in
//! every region; on the files of one that is being written to no page is ever called corrupt. MySQL has no package here: its formats are left to the engine's tests.

mod server;

use crate::place::{binary, is_long};
use serde_json::Value;
use server::{Cell, DataDirectory, Server};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn innodb(arguments: &[&str]) -> ProgramOutcome {
    let words = std::iter::once("innodb").chain(arguments.iter().copied());
    TestProgram::at(binary()).run(words, b"").expect("the program starts")
}

/// Objects of `--json`, the last one being the total.
fn objects(outcome: &ProgramOutcome) -> Vec<Value> {
    let text = String::from_utf8(outcome.stdout.clone()).expect("JSON is text");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

/// What was found in one file.
fn checked(path: &Path) -> Value {
    let outcome = innodb(&["--json", path.to_str().expect("text")]);
    objects(&outcome).remove(0)
}

fn corrupt_pages(found: &Value) -> BTreeSet<u64> {
    let pages = found["corrupt_pages"].as_array().expect("a list");
    pages.iter().map(|page| page["page"].as_u64().expect("a number")).collect()
}

/// Cells of page size and format: all of them in the second tier.
fn cells() -> Vec<Cell> {
    let sizes: &[u32] = if is_long() { &[4096, 8192, 16384, 32768, 65536] } else { &[4096, 16384] };
    let of = |page_bytes: &u32| ["full_crc32", "crc32"].map(|format| Cell { page_bytes: *page_bytes, format });
    sizes.iter().flat_map(of).collect()
}

/// Data of a stopped server in each cell, or why there is none.
fn stopped() -> Result<Vec<DataDirectory>, String> {
    let one = |cell| std::thread::spawn(move || Server::start(cell).map(Server::stop));
    let started: Vec<_> = cells().into_iter().map(one).collect();
    started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

/// innochecksum's verdict: the pages that it calls invalid. Doublewrite copies are skipped with -S alone.
fn innochecksum(path: &Path) -> BTreeSet<u64> {
    let program = TestProgram::find("innochecksum").expect("it comes with the server");
    let flags = flags_of_first_file(path).map(|flags| format!("--tablespace-flags={flags}"));
    let path = path.to_str().expect("text");
    let words = ["-S", "-a", "18446744073709551615"].into_iter().chain(flags.as_deref()).chain([path]);
    let outcome = program.run(words, b"").expect("it starts");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    let number = |line: &str| line.strip_prefix("Fail: page::")?.strip_suffix(" invalid")?.parse().ok();
    assert!(said.is_empty() || said.contains("Fail: page::") || said.contains("zero-filled"), "{path}: {said}");
    said.lines().filter_map(number).collect()
}

/// It must be told what only the first file of a system tablespace says.
fn flags_of_first_file(path: &Path) -> Option<u32> {
    let is_later = path.file_name().is_some_and(|name| name == "ibdata2");
    let head = is_later.then(|| fs::read(path.with_file_name("ibdata1")).expect("it is there"))?;
    Some(u32::from_be_bytes(head[54..58].try_into().expect("4 bytes")))
}

#[test]
fn every_page_of_a_stopped_server_gets_the_verdict_of_innochecksum() {
    let cells = match stopped() {
        Ok(cells) => cells,
        Err(reason) => return left_out(&reason),
    };
    for data in &cells {
        let outcome = innodb(&["--json", data.path().to_str().expect("text")]);
        let found = objects(&outcome);
        let (total, files) = found.split_last().expect("a total at least");
        assert!(files.len() > 10, "{files:?}");
        for file in files {
            let path = PathBuf::from(file["file"].as_str().expect("text"));
            assert_eq!(corrupt_pages(file), innochecksum(&path), "{path:?}");
            assert_eq!((&file["defects"], &file["unreadable"]), (&Value::from(Vec::<u8>::new()), &Value::from(0)));
        }
        let sealed = total["total"]["counts"]["not_checkable"].as_object().expect("an object");
        assert_eq!(sealed.is_empty(), data.cell().format == "full_crc32", "{:?}: {sealed:?}", data.cell());
        assert_eq!(outcome.exit, Exit::Code(0));
        looked_into(data);
        flipped_bits(data);
    }
}

/// What `--summary` counts and `--dump` shows of a table whose rows are known.
fn looked_into(data: &DataDirectory) {
    let path = data.table("plain");
    let text = path.to_str().expect("text");
    let found = objects(&innodb(&["--json", "--summary", text])).remove(0);
    let types = found["summary"]["types"].as_object().expect("an object");
    let pages: u64 = types.values().map(|pages| pages.as_u64().expect("a number")).sum();
    assert_eq!(pages, found["good"].as_u64().expect("a number"), "{types:?}");
    assert!(types["blob"].as_u64() > Some(20), "30 rows have large objects: {types:?}");
    let indexes = found["summary"]["indexes"].as_object().expect("an object");
    // Both indexes have every row in their leaves; above those stands one record for each page below.
    let rows = |index: &Value| {
        let number = |name: &str| index[name].as_u64().expect("a number");
        number("records") - if number("levels") > 1 { number("pages") - 1 } else { 0 }
    };
    assert_eq!(indexes.values().map(rows).collect::<Vec<u64>>(), [1500, 1500], "{indexes:?}");
    let root = innodb(&["--dump", "3", text]);
    let shown = String::from_utf8_lossy(&root.stdout).into_owned();
    let first = format!("page 3 at byte {}: good", terminal_integer(3 * u64::from(data.cell().page_bytes)));
    assert!(shown.starts_with(&first) && shown.contains("17855 (index)"), "{shown}");
    assert_eq!((root.exit, innodb(&["--dump", "999999", text]).exit), (Exit::Code(0), Exit::Code(2)));
}

/// As the program writes it.
fn terminal_integer(number: u64) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

/// Tables whose pages are damaged: one of each format that the cell has.
const TABLES: &[&str] = &["plain", "redundant", "small", "squeezed", "secret", "secret_squeezed", "secret_small"];

/// A bit in each region: header fields, content, trailer. Each in another page, so that one run of each program sees all of them.
fn flipped_bits(data: &DataDirectory) {
    let present = TABLES.iter().map(|table| data.table(table)).filter(|path| path.exists());
    for path in present {
        let page_bytes = checked(&path)["page_bytes"].as_u64().expect("a number") as usize;
        let regions = [0, 4, 10, 16, 20, 24, 26, 30, 34, 38, 60, 120, page_bytes / 2, page_bytes - 8, page_bytes - 4];
        let mut bytes = fs::read(&path).expect("it is there");
        for (number, region) in regions.iter().enumerate() {
            // Page 0 is damaged elsewhere: innochecksum ends there.
            if let Some(byte) = bytes.get_mut((number + 1) * page_bytes + region) {
                *byte ^= 0x10;
            }
        }
        let damaged = data.path().join("damaged.ibd");
        fs::write(&damaged, &bytes).expect("it can be written");
        let (ours, theirs) = (corrupt_pages(&checked(&damaged)), innochecksum(&damaged));
        let what = format!("{:?} {path:?}", data.cell());
        // It passes whatever page_compressed has written before full_crc32; there our verdict may be the stricter one.
        let passes_all = data.cell().format == "crc32" && path.to_string_lossy().contains("squeezed");
        assert!(if passes_all { ours.is_superset(&theirs) } else { ours == theirs }, "{what}: {ours:?}, {theirs:?}");
        assert!(ours.len() > 2, "{what}: {ours:?}");
        damaged_header(&path, page_bytes, &damaged);
    }
}

/// Where innochecksum gives up: a bit of page 0. The rest of the file is checked all the same.
fn damaged_header(path: &Path, page_bytes: usize, damaged: &Path) {
    let sound = checked(path);
    for region in [38, 54, 57, page_bytes / 2] {
        let mut bytes = fs::read(path).expect("it is there");
        bytes[region] ^= 0x10;
        fs::write(damaged, &bytes).expect("it can be written");
        let found = checked(damaged);
        assert_eq!(corrupt_pages(&found), BTreeSet::from([0]), "{path:?}, byte {region}");
        assert_eq!((&found["page_bytes"], &found["space_id"]), (&sound["page_bytes"], &sound["space_id"]));
    }
    let mut bytes = fs::read(path).expect("it is there");
    bytes[..page_bytes].fill(0);
    fs::write(damaged, &bytes).expect("it can be written");
    let found = checked(damaged);
    assert_eq!((&found["defects"], &found["page_bytes"]), (&Value::from(vec!["no_header"]), &sound["page_bytes"]));
    assert_eq!(corrupt_pages(&found), BTreeSet::new(), "{path:?} without a header");
}

#[test]
fn beside_a_server_that_writes_no_page_is_called_corrupt() {
    let server = match Server::start(Cell { page_bytes: 16384, format: "full_crc32" }) {
        Ok(server) => server,
        Err(reason) => return left_out(&reason),
    };
    let writing = server.write_on();
    let data = server.data().to_str().expect("text").to_owned();
    let mut has_seen_a_server = false;
    for _ in 0..20 {
        let outcome = innodb(&["--json", &data]);
        let found = objects(&outcome);
        has_seen_a_server |= found.iter().any(|file| file["server_pid"] == server.pid());
        for file in &found[..found.len() - 1] {
            assert_eq!(file["corrupt"], 0, "{file}");
            assert_eq!(file["defects"], Value::from(Vec::<u8>::new()), "{file}");
        }
    }
    writing.end();
    assert!(has_seen_a_server, "the lock of a running server is seen");
    drop(server.stop());
}

#[test]
fn little_memory_is_held_whatever_is_wrong_with_a_large_file() {
    let place = crate::place::Place::new();
    let path = place.path("t.ibd");
    // A header of full_crc32 with pages of 4 KiB, and a gigabyte of pages that are all corrupt in a few of their bytes.
    let mut head = vec![0_u8; 4096];
    head[25] = 8;
    head[57] = 0x13;
    let file = fs::File::create(&path).expect("made");
    std::os::unix::fs::FileExt::write_all_at(&file, &head, 0).expect("written");
    for page in 1..60_000_u64 {
        std::os::unix::fs::FileExt::write_all_at(&file, &[1, 2, 3, 4], page * 4096 + 100).expect("written");
    }
    let Some(time) = TestProgram::find("time") else { return left_out("time is not installed") };
    let path = path.to_str().expect("text");
    let outcome = time.run([OsArg::from("-f%M"), binary().into(), "innodb".into(), "-j4".into(), path.into()], b"");
    let outcome = outcome.expect("it starts");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    let kilobytes: u64 = said.lines().last().and_then(|line| line.parse().ok()).expect("time says how much");
    assert!(kilobytes < 64 << 10, "{kilobytes} KiB were resident");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(text.contains(" more corrupt pages are not listed"), "{}", text.lines().last().unwrap_or_default());
    assert_eq!(outcome.exit, Exit::Code(1));
}

type OsArg = std::ffi::OsString;
