//! Outputs that are in the way, are no files, or have no room.

use crate::place::{Place, names_in, said};
use rustix::fs::{CWD, FileType, mknodat};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

fn place_with_plain() -> Place {
    let place = Place::new();
    place.write("plain", data::mixed(300_000, 1));
    place
}

#[test]
fn an_output_that_exists_in_any_form_is_not_replaced_without_force() {
    let place = place_with_plain();
    place.write("other", "precious").write("file.zst", "precious");
    symlink("other", place.path("link.zst")).expect("the place is ours");
    symlink("nowhere", place.path("dangling.zst")).expect("the place is ours");
    fs::create_dir(place.path("directory.zst")).expect("the place is ours");
    let before = place.names();
    for name in ["file.zst", "link.zst", "dangling.zst", "directory.zst"] {
        let outcome = place.tamp(["--rm", "-o", name, "plain"]);
        assert_eq!(outcome.exit, Exit::Code(1), "{name}");
        assert!(said(&outcome).contains(name), "{name}: {}", said(&outcome));
        assert_eq!(place.names(), before, "{name}");
        assert_eq!(place.read("other"), b"precious");
    }
    assert_eq!(place.read("file.zst"), b"precious");
}

#[test]
fn force_replaces_files_and_links_themselves_but_never_a_directory() {
    let place = place_with_plain();
    place.write("other", "precious").write("file.zst", "old");
    symlink("other", place.path("link.zst")).expect("the place is ours");
    fs::create_dir(place.path("directory.zst")).expect("the place is ours");
    for name in ["file.zst", "link.zst"] {
        place.tamp(["-f", "-o", name, "plain"]).stdout_of_success();
        assert!(place.tamp(["-dc", name]).stdout_of_success() == place.read("plain"), "{name}");
        assert!(fs::symlink_metadata(place.path(name)).expect("it is there").is_file(), "{name}");
    }
    assert_eq!(place.read("other"), b"precious", "what a link points at is not touched");
    let outcome = place.tamp(["-f", "-o", "directory.zst", "plain"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(names_in(&place.path("directory.zst")).is_empty());
    assert_eq!(place.names(), ["directory.zst", "file.zst", "link.zst", "other", "plain"]);
}

#[test]
fn a_failure_with_force_leaves_the_old_file_as_it_was() {
    let place = place_with_plain();
    place.write("out", "precious");
    let packed = place.tamp(["-c", "plain"]).stdout_of_success();
    place.write("cut.zst", &packed[..packed.len() - 3]);
    let outcome = place.tamp(["-d", "-f", "-o", "out", "cut.zst"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert_eq!(place.read("out"), b"precious");
    assert_eq!(place.names(), ["cut.zst", "out", "plain"]);
}

#[test]
fn a_source_is_never_its_own_output() {
    let place = place_with_plain();
    place.tamp(["plain"]).stdout_of_success();
    let (plain, packed) = (place.read("plain"), place.read("plain.zst"));
    for arguments in [["-o", "plain", "plain"], ["-o", "./plain", "plain"]] {
        let outcome = place.tamp(arguments);
        assert_eq!(outcome.exit, Exit::Code(1), "{arguments:?}");
        assert!(place.read("plain") == plain);
    }
    // Replacing a file by its own packed form in one step is what -f asks for; the source must not then be removed.
    place.tamp(["-f", "--rm", "-o", "plain.zst", "plain.zst"]);
    assert!(place.has("plain.zst"), "--rm took the output away: {:?}", place.names());
    let back = place.tamp(["-dc", "plain.zst"]).stdout_of_success();
    assert!(back == packed || back == plain, "the packed bytes are lost");
}

#[test]
fn two_sources_with_one_output_do_not_overwrite_each_other() {
    let place = Place::new();
    place.write("a.gz", "").write("a.tar", "precious");
    let plain = data::text(3000, 1);
    place.write("one", &plain);
    fs::remove_file(place.path("a.gz")).expect("it is ours");
    place.tamp(["-o", "a.tgz", "one"]).stdout_of_success();
    place.tamp(["-o", "a.tar.gz", "one"]).stdout_of_success();
    fs::remove_file(place.path("a.tar")).expect("it is ours");
    let outcome = place.tamp(["-d", "--rm", "a.tgz", "a.tar.gz"]);
    assert_eq!(outcome.exit, Exit::Code(1), "both want to become a.tar");
    assert!(said(&outcome).contains("its output would have the same name"), "{}", said(&outcome));
    assert!(place.read("a.tar") == plain);
    let sources = ["a.tgz", "a.tar.gz"].iter().filter(|name| place.has(name)).count();
    assert_eq!(sources, 1, "the one that was not written is still there: {:?}", place.names());
}

#[test]
fn a_fifo_as_output_is_written_and_stays_a_fifo() {
    let place = place_with_plain();
    place.tamp(["plain"]).stdout_of_success();
    mknodat(CWD, place.path("fifo"), FileType::Fifo, 0o600.into(), 0).expect("a FIFO can be made");
    let path = place.path("fifo");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        fs::File::open(path).and_then(|mut fifo| fifo.read_to_end(&mut bytes)).map(|_| bytes)
    });
    place.tamp(["-d", "-o", "fifo", "plain.zst"]).stdout_of_success();
    let bytes = reader.join().expect("no panic").expect("a FIFO can be read");
    assert!(bytes == place.read("plain"));
    assert!(fs::symlink_metadata(place.path("fifo")).expect("it is there").file_type().is_fifo());
}

#[test]
fn a_fifo_that_has_an_outputs_name_by_chance_is_in_the_way() {
    let place = place_with_plain();
    mknodat(CWD, place.path("plain.zst"), FileType::Fifo, 0o600.into(), 0).expect("a FIFO can be made");
    let outcome = place.tamp(["plain"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("plain.zst"), "{}", said(&outcome));
}

#[test]
fn a_directory_that_may_be_written_but_not_read_takes_outputs_and_gives_up_sources() {
    let place = place_with_plain();
    let Some(setpriv) = TestProgram::find("setpriv") else { return left_out("setpriv is not installed") };
    let prepared = place.shell("mkdir drop && cp plain drop && chown -R 12345 drop && chmod 300 drop");
    if prepared.exit != Exit::Code(0) {
        return left_out("needs root");
    }
    let setpriv = setpriv.in_directory(place.directory()).with_variable("MH_CREW_DIR", "");
    let (options, binary) = (["--reuid=12345", "--clear-groups", "--"], crate::place::binary());
    let arguments = options.map(std::ffi::OsStr::new).into_iter().chain([binary.as_os_str()]);
    let arguments = arguments.chain(["tamp", "--rm", "drop/plain"].map(std::ffi::OsStr::new));
    setpriv.run(arguments, b"").expect("it starts").stdout_of_success();
    assert!(place.has("drop/plain.zst") && !place.has("drop/plain"));
}

#[test]
fn a_device_as_output_is_written_and_stays_a_device() {
    let place = place_with_plain();
    place.tamp(["-o", "/dev/null", "plain"]).stdout_of_success();
    place.tamp(["-f", "-o", "/dev/null", "plain"]).stdout_of_success();
    let device = fs::symlink_metadata("/dev/null").expect("every system has one");
    assert!(device.file_type().is_char_device());
    assert_eq!(place.names(), ["plain"]);
}

#[test]
fn a_directory_that_is_not_there_is_told() {
    let place = place_with_plain();
    let outcome = place.tamp(["-o", "nowhere/out.zst", "plain"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(
        said(&outcome).contains("cannot create 'nowhere/out.zst': No such file or directory"),
        "{}",
        said(&outcome)
    );
    let outcome = place.tamp(["-o", "plain/out.zst", "plain"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("Not a directory"), "{}", said(&outcome));
}

#[test]
fn the_longest_name_there_is_can_be_an_output() {
    let place = place_with_plain();
    let longest = format!("{}.zst", "n".repeat(251));
    place.tamp(["-o", &longest, "plain"]).stdout_of_success();
    assert!(place.has(&longest));
    let outcome = place.tamp(["-d", &longest, "-o", &"x".repeat(256)]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("File name too long"), "{}", said(&outcome));
    let name = "m".repeat(253);
    place.write(&name, "x");
    let outcome = place.tamp(["--rm", &name]);
    assert_eq!(outcome.exit, Exit::Code(1), "no room for an ending");
    assert!(place.has(&name));
}

/// Runs a script beside a file system of 1 MiB that nobody else sees, called `small`; `None` where that cannot be done.
fn beside_a_small_disk(place: &Place, script: &str) -> Option<testkit::program::ProgramOutcome> {
    let unshare = TestProgram::find("unshare")?;
    let unshare = unshare.in_directory(place.directory()).with_variable("mh", crate::place::binary());
    fs::create_dir_all(place.path("small")).expect("the place is ours");
    let mount = "mount -t tmpfs -o size=1M none small";
    let works = unshare.run(["-m", "sh", "-c", mount], b"").ok()?;
    if works.exit != Exit::Code(0) {
        return None;
    }
    Some(unshare.run(["-m", "sh", "-c", &format!("{mount} && {{ {script}\n}}")], b"").expect("it ran before"))
}

#[test]
fn a_full_disk_is_an_error_that_leaves_nothing_and_keeps_the_source() {
    let place = Place::new();
    place.write("noise", data::random(5 << 20, 1)).write("text", data::text(5 << 20, 1));
    place.tamp(["text"]).stdout_of_success();
    place.tamp(["-F", "gz", "text"]).stdout_of_success();
    for (what, source) in [
        ("-o small/out.zst noise", "noise"),
        ("-j1 -o small/out.zst noise", "noise"),
        ("-o small/out.gz noise", "noise"),
        ("--single-frame -o small/out.zst noise", "noise"),
        ("-d -o small/out text.zst", "text.zst"),
        ("-d -j1 -o small/out text.gz", "text.gz"),
        ("-d -j2 -o small/out text.gz", "text.gz"),
    ] {
        let script =
            format!("\"$mh\" tamp --rm {what}; echo $?; ls -A small; rm -f small/out*; echo x > small/x; cat small/x");
        let Some(outcome) = beside_a_small_disk(&place, &script) else {
            return left_out("needs a mount namespace of its own (root, unshare)");
        };
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\nx\n", "{what}: {}", said(&outcome));
        assert!(said(&outcome).contains("No space left on device"), "{what}: {}", said(&outcome));
        assert_eq!(said(&outcome).lines().count(), 1, "{what}: {}", said(&outcome));
        assert!(place.has(source), "{what}: the source is gone");
    }
}

#[test]
fn a_directory_that_goes_away_is_told_and_the_source_stays() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).expect("the place is ours");
    // The data come only after the directory is gone.
    let script = "mkfifo fifo\n\
                  { until ls -A directory | grep -q tmp; do sleep 0.005; done; mv directory moved; echo data; } > fifo &\n\
                  \"$mh\" tamp --rm -o directory/out.zst fifo; echo $?";
    let outcome = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\n", "{}", said(&outcome));
    assert!(said(&outcome).contains("cannot give the finished file its name"), "{}", said(&outcome));
    assert!(place.has("fifo") && !place.has("moved/out.zst"));
}

#[test]
fn a_read_only_disk_is_told() {
    let place = place_with_plain();
    let script = "mount -o remount,ro small && \"$mh\" tamp -o small/out.zst plain; echo $?";
    let Some(outcome) = beside_a_small_disk(&place, script) else {
        return left_out("needs a mount namespace of its own (root, unshare)");
    };
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1\n");
    assert!(said(&outcome).contains("Read-only file system"), "{}", said(&outcome));
}
