//! `mh tamp --on`: files that workers on this machine compress range by range, against the files that the local command makes of them.

use crate::place::{Place, Running, binary, names_in, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::SystemTime;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// A script that must succeed, and say nothing about it.
fn succeeds(place: &Place, script: &str) -> ProgramOutcome {
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()), "{script}");
    outcome
}

/// Files around the borders of chunks of so many bytes.
fn files(place: &Place, chunk_bytes: usize) -> Vec<&'static str> {
    for (name, bytes) in [
        ("empty", 0),
        ("one", 1),
        ("chunk", chunk_bytes),
        ("behind", chunk_bytes + 1),
        ("before", 3 * chunk_bytes - 1),
        ("several", 5 * chunk_bytes + 12_345),
    ] {
        place.write(name, testkit::data::mixed(bytes, bytes as u64));
    }
    vec!["empty", "one", "chunk", "behind", "before", "several"]
}

/// Compares with the local command, and with what `decoder` makes of each file.
fn same_as_here(engine: &str, chunk_bytes: usize, range: &str, options: &str, suffix: &str, decoder: &[&str]) {
    let place = Place::new();
    let names = files(&place, chunk_bytes);
    let all = names.join(" ");
    fs::set_permissions(place.path("several"), fs::Permissions::from_mode(0o640)).expect("ours");
    succeeds(&place, &format!("$mh tamp -q --on {engine} --range {range} {options} {all}"));
    succeeds(&place, "mkdir on && for file in *.*; do mv $file on; done");
    succeeds(&place, &format!("$mh tamp -q {options} {all}"));
    let program = TestProgram::find(decoder[0]);
    for name in &names {
        let (here, there) = (place.path(format!("{name}{suffix}")), place.path(format!("on/{name}{suffix}")));
        assert!(place.read(&here) == place.read(&there), "{name} {options}: the same bytes");
        let [source, here, there] =
            [place.path(name), here, there].map(|path| fs::metadata(path).expect("it is there"));
        let facts = |of: &fs::Metadata| (of.mode(), of.mtime(), of.mtime_nsec(), of.uid(), of.gid());
        assert_eq!((facts(&there), facts(&here)), (facts(&source), facts(&source)), "{name} {options}");
        let Some(program) = &program else { continue };
        let decoded = program.run(&decoder[1..], &place.read(format!("on/{name}{suffix}"))).expect("it starts");
        assert!(decoded.exit == Exit::Code(0) && decoded.stdout == place.read(name), "{name} {options}: decoded");
    }
    let hidden: Vec<String> = place.names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [""; 0], "nothing is left");
}

#[test]
fn gz_files_are_those_of_the_local_command() {
    same_as_here("local:2", 1 << 20, "1M", "--format gz -1", ".gz", &["gzip", "-dc"]);
    same_as_here("local:3 --spool-lease 1", 1 << 20, "2000000", "--format gz -6", ".gz", &["gzip", "-dc"]);
    same_as_here("local:2", 1 << 20, "1", "--bgzf -4", ".gz", &["gzip", "-dc"]);
}

#[test]
fn lz4_files_are_those_of_the_local_command() {
    same_as_here("local:2", 4 << 20, "1", "--format lz4 -1", ".lz4", &["lz4", "-dc"]);
    same_as_here("local:3 --spool-lease 1", 4 << 20, "8M", "--format lz4 -4", ".lz4", &["lz4", "-dc"]);
}

#[test]
fn zst_files_are_those_of_the_local_command_with_one_seek_table() {
    same_as_here("local:2", 2 << 20, "1", "-1", ".zst", &["zstd", "-dc"]);
    same_as_here("local:3 --spool-lease 1", 4 << 20, "8M", "-3", ".zst", &["zstd", "-dc"]);
    same_as_here("local:2", 2 << 20, "1", "-1 -D one", ".zst", &["zstd", "-dc"]);
}

#[test]
fn bz2_files_are_those_of_the_local_command() {
    same_as_here("local:2", 899_081, "1", "--format bz2", ".bz2", &["bzip2", "-dc"]);
}

#[test]
fn options_about_sources_and_outputs_mean_what_they_mean_here() {
    let place = Place::new();
    place
        .write("a", vec![1; 3_000_000])
        .write("d/b c", "b")
        .write("d/\nodd", "odd")
        .write("there", "t")
        .write("there.gz", "x");
    let on = "$mh tamp --format gz --on local:2 --range 1M";
    succeeds(&place, &format!("{on} --rm -r d && {on} -o elsewhere.gz a && {on} -S .packed a && {on} -f there"));
    assert_eq!(names_in(&place.path("d")), ["\nodd.gz", "b c.gz"], "sources are gone");
    assert!(place.has("a") && place.read("elsewhere.gz") == place.read("a.packed"));
    succeeds(&place, "gzip -t there.gz 'd/b c.gz' elsewhere.gz");
    let outcome = place.shell(&format!("{on} a there missing d"));
    let expected = "mh tamp: could not compress 'd': it is a directory\n  hint: use -r to descend into directories\n\
        mh tamp: could not compress 'there': 'there.gz' already exists\n  hint: -f replaces it\n\
        mh tamp: could not compress 'missing': cannot open it: No such file or directory\n\
        mh tamp: 3 of 4 files were not compressed\n";
    assert_eq!((outcome.exit, said(&outcome).as_str()), (Exit::Code(1), expected));
    succeeds(&place, "gzip -t a.gz");
    let report = place.shell("rm a.gz; $mh tamp -v --report=json --format gz --on local:2 --range 1M a");
    assert_eq!(report.exit, Exit::Code(0));
    let said = said(&report);
    assert!(said.starts_with("mh tamp: 'a': 3 MB -> "), "{said}");
    assert!(
        said.contains("{\"files\":1,\"bytes_in\":3000000,\"bytes_out\":")
            && said.contains(",\"parts\":3,\"failed\":0,"),
        "{said}"
    );
}

#[test]
fn options_and_formats_that_cannot_be_divided_are_refused_by_name() {
    let place = Place::new();
    place.write("a", "a").write("a.zst", "z");
    for (words, refused) in [
        ("-d a.zst", "-d does not go with --on: where a compressed file can be divided is found out by reading it"),
        ("-t a.zst", "-t does not go with --on"),
        ("-l a.zst", "-l does not go with --on"),
        ("-c a", "-c does not go with --on: outputs are files that all machines see"),
        ("", "standard input does not go with --on: other machines cannot read it"),
        ("a -", "standard input does not go with --on"),
        ("--single-frame a", "--single-frame does not go with --on"),
        ("--long a", "--long does not go with --on"),
        ("--rsyncable a", "--rsyncable does not go with --on"),
        ("--keep-up a", "--keep-up does not go with --on"),
        ("--digest crc32 a", "--digest does not go with --on: mh sum --on computes digests"),
        ("--format xz a", "--format xz does not go with --on: a file of it is one stream with one index at its end"),
        (
            "-F lzma a",
            "--format lzma does not go with --on: a file of it is one stream; zst, gz, bz2 and lz4 can be divided",
        ),
    ] {
        let outcome = place.shell(&format!("$mh tamp --on local:2 {words} < /dev/null"));
        assert_eq!(outcome.exit, Exit::Code(2), "{words}: {}", said(&outcome));
        assert!(said(&outcome).contains(refused), "{words}: {}", said(&outcome));
    }
    assert_eq!(place.names(), ["a", "a.zst"]);
}

/// Compresses `large` and keeps its plan in `plan`.
const LARGE: &str = "tamp -q --format gz -9 --on local:2 --spool-lease 1 --range 1M --spool plan large";

fn begin(place: &Place) -> Running {
    place.write("large", testkit::data::mixed(48 << 20, 5));
    let mut command = Command::new(binary());
    command.args(LARGE.split(' ')).current_dir(place.directory()).env("MH_CREW_DIR", "").env("MH_CONFIG", "");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Running { child: command.spawn().expect("the program starts") }
}

/// The parts that are whole, with when they were written.
fn parts(place: &Place) -> BTreeMap<String, SystemTime> {
    let names = fs::read_dir(place.path("plan/part")).map(|_| names_in(&place.path("plan/part"))).unwrap_or_default();
    let written = |name: &String| fs::metadata(place.path("plan/part").join(name)).and_then(|part| part.modified());
    let whole = names.into_iter().filter(|name| name.starts_with('0'));
    whole.filter_map(|name| written(&name).ok().map(|time| (name, time))).collect()
}

fn is_as_here(place: &Place) {
    assert!(!place.has("plan/part/000000.000000"), "parts are gone");
    succeeds(place, "mv large.gz on.gz && $mh tamp -q --format gz -9 large && cmp large.gz on.gz && gzip -t on.gz");
}

#[test]
fn a_worker_that_is_killed_costs_nothing_but_time() {
    let place = Place::new();
    let mut running = begin(&place);
    let pid = |name: &String| name.rsplit('-').nth(1)?.parse().ok().and_then(Pid::from_raw);
    let alive = place.path("plan/run/alive");
    let workers =
        || -> Vec<Pid> { if alive.is_dir() { names_in(&alive).iter().filter_map(pid).collect() } else { Vec::new() } };
    wait_until("something is compressed by two workers", || !parts(&place).is_empty() && workers().len() == 2);
    kill_process(workers()[0], Signal::KILL).expect("it is there");
    assert_eq!(running.end().code(), Some(0));
    is_as_here(&place);
}

#[test]
fn what_a_signal_ended_goes_on_where_it_was() {
    let place = Place::new();
    let mut running = begin(&place);
    wait_until("something is compressed", || !parts(&place).is_empty());
    kill_process(Pid::from_child(&running.child), Signal::TERM).expect("it is there");
    assert_eq!(running.end().signal(), Some(Signal::TERM.as_raw()));
    let before = parts(&place);
    assert!((1..48).contains(&before.len()) && !place.has("large.gz"), "{}", before.len());
    let other = place.shell("$mh tamp --format gz -1 --on local:2 --spool plan large");
    assert_eq!(other.exit, Exit::Code(1));
    assert!(said(&other).ends_with("as the spool: it has the plan of another command\n"), "{}", said(&other));
    // Parts are not made again: they are older than what is written now.
    succeeds(&place, "touch -d 2001-02-03 plan/part/0*");
    let mut again = Command::new(binary());
    again.args(LARGE.split(' ')).current_dir(place.directory()).env("MH_CREW_DIR", "").env("MH_CONFIG", "");
    let mut again = Running { child: again.stdin(Stdio::null()).spawn().expect("the program starts") };
    let is_old = |time: &SystemTime| time.elapsed().is_ok_and(|age| age.as_secs() > 1_000_000);
    let mut old = before.len();
    wait_until("all is compressed", || {
        let now = parts(&place);
        // When they are joined they go, in order.
        if !place.has("large.gz") && !now.is_empty() {
            old = old.min(now.values().filter(|time| is_old(time)).count());
        }
        place.has("large.gz")
    });
    assert_eq!(again.end().code(), Some(0));
    assert_eq!(old, before.len());
    is_as_here(&place);
    succeeds(&place, &format!("mv on.gz large.gz; $mh {LARGE}"));
}

#[test]
fn a_list_for_any_runner_makes_the_same_file_and_may_run_twice() {
    let place = Place::new();
    place.write("large", testkit::data::mixed(9_000_000, 5)).write("small", "small");
    let script = "$mh tamp -3 --rm --plan-only --range 1 --spool plan large small > jobs && sed -n '/^wait/,$d; p' jobs > parts && \
        sed '1,/^wait/d' jobs > finish && mkdir keep && cp -p large keep && \
        sh parts && cp -r plan before && sh finish && sh jobs && \
        cp -p keep/large . && rm -r plan && mv before plan && sh finish && test ! -e large && \
        cd keep && $mh tamp -q -3 large && cmp large.zst ../large.zst && zstd -t -q ../small.zst";
    if TestProgram::find("zstd").is_none() {
        return left_out("there is no zstd");
    }
    succeeds(&place, script);
    let jobs = String::from_utf8(place.read("jobs")).expect("text");
    assert_eq!(jobs.matches(" tamp --part ").count(), 4, "{jobs}");
    assert_eq!(jobs.matches(" tamp --finish-file ").count(), 1, "{jobs}");
}

#[test]
fn an_output_that_somebody_else_has_made_stays() {
    let place = Place::new();
    place.write("large", testkit::data::mixed(3_000_000, 5));
    let outcome = place.shell(
        "$mh tamp -F gz --plan-only --range 1 --spool plan large > jobs; echo other > large.gz; sh jobs; cat large.gz",
    );
    let expected = "mh tamp: could not compress 'large': 'large.gz' already exists\n";
    assert_eq!((said(&outcome).as_str(), &outcome.stdout[..]), (expected, &b"other\n"[..]));
}

#[test]
fn a_source_that_changes_is_reported_by_name() {
    let place = Place::new();
    for name in ["short", "long", "dated", "gone"] {
        place.write(name, testkit::data::mixed(2_500_000, 5));
    }
    place.write("same", "same");
    let change = "truncate -s 2000000 short; echo >> long; touch -d 2001-01-01 dated; rm gone";
    let outcome = place.shell(&format!(
        "$mh tamp -F gz --plan-only --range 1M --spool plan short long dated gone same > jobs; ({change}); sh jobs; \
         $mh tamp -q -F gz --range 1M --on local:2 --spool plan short long dated gone same; echo $?; ls"
    ));
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\ndated\njobs\nlong\nplan\nsame\nsame.gz\nshort\n");
    let said = said(&outcome);
    for line in [
        "'short': it has changed since it was planned: it had 2,500,000 bytes, and has 2,000,000",
        "'long': it has changed since it was planned: it had 2,500,000 bytes, and has 2,500,001",
        "'dated': it has changed since it was planned: its time is another",
        "'gone': No such file or directory",
    ] {
        // Once by a part and once by the job that would join them, on either way; what is gone is reported in other words by the latter.
        let line = format!("mh tamp: could not compress {line}\n");
        let times = said.matches(&line).count();
        assert!((2..8).contains(&times), "{line}: {times} times in {said}");
    }
    assert!(!said.contains("'same'"), "{said}");
}

#[test]
fn a_plan_names_ranges_and_makes_nothing() {
    let place = Place::new();
    place.write("large", vec![0; 5_000_000]).write("small", "small");
    let outcome = place.shell("$mh tamp -F gz --on local:2 --range 1500000 --explain large small");
    let plan = String::from_utf8_lossy(&outcome.stdout).into_owned();
    for part in [
        "ranges",
        "of 2.10 MB",
        "given; whole chunks",
        "3 jobs, and one that joins their parts",
        "one job",
        "2 workers",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert_eq!((outcome.exit, place.names()), (Exit::Code(0), vec!["large".to_owned(), "small".to_owned()]));
}
