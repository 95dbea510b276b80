//! `--memory` as a promise: what is in memory at most never exceeds it by more than 16 MiB, in any format, both ways, from
//! files and pipes, however many hands are asked for; or the run is refused and the need is named.

use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// What may come on top: program, stacks, pipes.
const SPARE_KIB: u64 = 16 << 10;

/// Runs `mh tamp` under time(1). Returns its peak in KiB.
fn peak_kib(place: &Place, arguments: &str, input: Option<&str>) -> (ProgramOutcome, u64) {
    let feed = input.map(|file| format!("cat {file} | ")).unwrap_or_default();
    let outcome = place.shell(&format!("{feed}/usr/bin/time -q -o peak -f %M \"$mh\" tamp {arguments} > out"));
    let peak = String::from_utf8_lossy(&place.read("peak")).trim().parse();
    (outcome, peak.expect("time(1) tells a number"))
}

fn time_is_here() -> bool {
    let is_here = std::path::Path::new("/usr/bin/time").exists();
    if !is_here {
        left_out("time(1) is not installed");
    }
    is_here
}

#[test]
fn compression_keeps_the_cap_or_names_its_need() {
    if !time_is_here() {
        return;
    }
    let place = Place::new();
    place.write("plain", data::mixed(20 << 20, 1));
    for (format, levels) in [("gz", &[1][..]), ("zst", &[1, 9]), ("lz4", &[1]), ("xz", &[0, 6]), ("bz2", &[9])] {
        for level in levels {
            for mebibytes in [16, 64] {
                for input in [None, Some("plain")] {
                    let file = if input.is_some() { "-" } else { "plain" };
                    let arguments = format!("-F {format} -{level} -j 64 --memory {mebibytes}M -c {file}");
                    let (outcome, peak) = peak_kib(&place, &arguments, input);
                    let told = said(&outcome);
                    assert!(peak <= (mebibytes << 10) + SPARE_KIB, "{arguments}: {peak} KiB");
                    let is_done = outcome.exit == Exit::Code(0);
                    assert!(is_done || told.contains("on one hand, --memory allows"), "{arguments}: {told}");
                }
            }
        }
    }
}

#[test]
fn decompression_keeps_the_cap_or_names_its_need() {
    if !time_is_here() {
        return;
    }
    let place = Place::new();
    let plain = data::mixed(20 << 20, 2);
    place.write("plain", &plain);
    let mut files = Vec::new();
    for (format, level) in [("gz", 1), ("zst", 1), ("zst", 9), ("lz4", 1), ("xz", 0), ("bz2", 9)] {
        let name = format!("ours-{level}.{format}");
        place.tamp(["-F", format, &format!("-{level}"), "-o", &name, "plain"]).stdout_of_success();
        files.push(name);
    }
    for (tool, arguments, ending) in [
        ("zstd", "-q -c --long=26 -T2", "zst"),
        ("pigz", "-c", "gz"),
        ("lz4", "-q -c -BD", "lz4"),
        ("lz4", "-q -c -l", "legacy.lz4"),
        ("xz", "-c -0 -T1", "xz"),
        ("bzip2", "-c -1", "bz2"),
    ] {
        let Some(program) = TestProgram::find(tool) else {
            left_out(&format!("{tool} is not installed"));
            continue;
        };
        let name = format!("theirs.{ending}");
        let packed = program.in_directory(place.directory()).run(arguments.split(' ').chain(["plain"]), b"");
        place.write(&name, packed.expect("the tool starts").stdout_of_success());
        files.push(name);
    }
    for name in &files {
        for mebibytes in [16, 64] {
            for input in [None, Some(name.as_str())] {
                let file = if input.is_some() { "-" } else { name };
                let arguments = format!("-d -j 64 --memory {mebibytes}M -c {file}");
                let (outcome, peak) = peak_kib(&place, &arguments, input);
                let told = said(&outcome);
                assert!(peak <= (mebibytes << 10) + SPARE_KIB, "{name}, {arguments}: {peak} KiB");
                match outcome.exit {
                    Exit::Code(0) => assert!(place.read("out") == plain, "{name}, {arguments}: other bytes"),
                    _ => assert!(told.contains("--memory leaves"), "{name}, {arguments}: {told}"),
                }
            }
        }
    }
}

#[test]
fn many_files_each_of_one_stream_keep_the_cap_together() {
    if !time_is_here() {
        return;
    }
    let place = Place::new();
    for name in ["a", "b", "c", "d"] {
        place.write(name, data::mixed(3 << 20, 5));
    }
    for (options, mebibytes) in [("-F lzma -6", 250), ("-F zst -3 --long=24", 700), ("-F zst -1 --single-frame", 400)] {
        let arguments = format!("{options} -k -f -j 64 --memory {mebibytes}M a b c d");
        let (outcome, peak) = peak_kib(&place, &arguments, None);
        assert_eq!(outcome.exit, Exit::Code(0), "{arguments}: {}", said(&outcome));
        assert!(peak <= (mebibytes << 10) + SPARE_KIB, "{arguments}: {peak} KiB");
    }
}

#[test]
fn blocks_of_long_runs_keep_the_cap() {
    let Some(bzip2) = TestProgram::find("bzip2") else { return left_out("bzip2 is not installed") };
    if !time_is_here() {
        return;
    }
    let place = Place::new();
    place.write("plain", data::zeros(150 << 20));
    let packed =
        bzip2.in_directory(place.directory()).run(["-c", "plain"], b"").expect("it starts").stdout_of_success();
    place.write("packed", packed);
    for mebibytes in [16, 64, 160] {
        for input in [None, Some("packed")] {
            let file = if input.is_some() { "-" } else { "packed" };
            let arguments = format!("-d -j 64 --memory {mebibytes}M -c {file}");
            let (outcome, peak) = peak_kib(&place, &arguments, input);
            assert_eq!(outcome.exit, Exit::Code(0), "{arguments}: {}", said(&outcome));
            assert!(peak <= (mebibytes << 10) + SPARE_KIB, "{arguments}: {peak} KiB");
            assert!(place.read("out") == place.read("plain"), "{arguments}: other bytes");
        }
    }
}
