//! Disks that are full, over their quota, broken or read-only: told with the file and the cause, nothing half under its name, what is good is kept,
//! and so are sources.

use super::{WIDTHS, succeeds};
use crate::place::{Place, binary, said};
use std::path::Path;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// Files around one of this many bytes, which fails.
const BAD_BYTES: usize = 77_777;

/// A tree, an archive of it, and a program out of `survive` that runs a command on a disk that fails, where `trial` shows that it can.
/// `None` where there is no compiler, or no right to it.
fn place_that_fails(program: &str, trial: &str) -> Option<Place> {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("survive/{program}.c"));
    let Some(compiler) = TestProgram::find("cc") else {
        left_out("needs a C compiler (cc)");
        return None;
    };
    let options = ["-O2".as_ref(), "-o".as_ref(), program.as_ref(), source.as_os_str()];
    compiler.in_directory(place.directory()).run(options, b"").expect("cc starts").stdout_of_success();
    if place.shell(trial).exit != Exit::Code(0) {
        left_out("no right to filter system calls");
        return None;
    }
    for number in 0..60_usize {
        place.write(format!("src/{}/f{number}", number / 10), vec![number as u8; number * 500]);
    }
    place.write("src/3/bad", vec![9; BAD_BYTES]);
    succeeds(&place, "$mh tar -cf a.tar src; $mh tar --zstd -cf a.tar.zst src");
    Some(place)
}

const CAUSES: [(u32, &str); 3] =
    [(28, "No space left on device"), (122, "Disk quota exceeded"), (5, "Input/output error")];

/// What must be so after a run that failed for one file.
fn is_told(ran: &ProgramOutcome, code: i32, file: &str, cause: &str) {
    assert_eq!(ran.exit, Exit::Code(code), "{}", said(ran));
    let lines: Vec<String> = said(ran).lines().filter(|line| line.contains(cause)).map(str::to_owned).collect();
    assert!(lines.len() == 1 && lines[0].contains(file), "{cause}: {}", said(ran));
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_all_others_come() {
    let Some(place) = place_that_fails("failing", "./failing 5 read 77777 true") else { return };
    for (number, cause) in CAUSES {
        for hands in WIDTHS {
            for (command, target, code) in [
                (format!("tar -xf a.tar -C x --hands {hands}"), "x/src", 2),
                (format!("tar -xf a.tar.zst -C x --hands {hands}"), "x/src", 2),
                (format!("cp -a -j {hands} src x/copy"), "x/copy", 1),
            ] {
                succeeds(&place, "rm -rf x; mkdir x");
                let ran = place.shell(&format!("./failing {number} write {BAD_BYTES} $mh {command}"));
                is_told(&ran, code, "3/bad'", cause);
                assert!(!place.has(format!("{target}/3/bad")), "{command} leaves half a file");
                let differ = place.shell(&format!("diff -r src {target}"));
                assert_eq!(String::from_utf8_lossy(&differ.stdout), "Only in src/3: bad\n", "{command}");
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_all_others_come() {
    let Some(place) = place_that_fails("failing", "./failing 5 read 77777 true") else { return };
    for hands in WIDTHS {
        for packed in ["", "--zstd"] {
            let ran =
                place.shell(&format!("./failing 5 read {BAD_BYTES} $mh tar -cf b.tar {packed} --hands {hands} src"));
            is_told(&ran, 2, "'src/3/bad'", "Input/output error");
            succeeds(
                &place,
                "rm -rf x; mkdir x; $mh tar -xf b.tar -C x; cmp -n 77777 x/src/3/bad /dev/zero; rm x/src/3/bad; diff -r src x/src | grep -vx 'Only in src/3: bad' || test $? = 1",
            );
        }
        // LIE: it calls itself empty, and reading it fails.
        succeeds(&place, "rm -rf x; mkdir x");
        let ran = place.shell(&format!("$mh cp -j {hands} src/1/f11 /proc/self/mem src/1/f12 x"));
        is_told(&ran, 1, "'/proc/self/mem'", "Input/output error");
        succeeds(&place, "cmp src/1/f11 x/f11 && cmp src/1/f12 x/f12");
        assert!(!place.has("x/mem"), "half a file");
    }
}

#[test]
fn a_file_that_cannot_be_closed_is_told_and_its_source_stays() {
    let Some(place) = place_that_fails("closing", "./closing 5 77777 true") else { return };
    // What closes with an error is told by those who ask.
    let asks = place.shell("./closing 5 9 dd if=/dev/zero of=asks bs=9 count=1 status=none");
    assert!(asks.exit != Exit::Code(0) && said(&asks).contains("Input/output error"), "{}", said(&asks));
    for (number, cause) in CAUSES {
        for hands in WIDTHS {
            for (command, code) in [
                (format!("tar -xf a.tar -C x --hands {hands}"), 2),
                (format!("tar -xf a.tar.zst -C x --hands {hands}"), 2),
                (format!("cp -a -j {hands} src x/src"), 1),
            ] {
                succeeds(&place, "rm -rf x; mkdir x");
                let ran = place.shell(&format!("./closing {number} {BAD_BYTES} $mh {command}"));
                is_told(&ran, code, "3/bad'", cause);
                let differ = place.shell("rm -f x/src/3/bad; diff -r src x/src");
                assert_eq!(String::from_utf8_lossy(&differ.stdout), "Only in src/3: bad\n", "{command}");
            }
            let script = format!(
                "cp -a src again; ./closing {number} {BAD_BYTES} $mh mv -j {hands} again small/src; echo $?; cmp again/3/bad src/3/bad && echo kept; rm -rf again"
            );
            let Some(ran) = beside(&place, "size=9m", &script) else { continue };
            assert_eq!(String::from_utf8_lossy(&ran.stdout), "1\nkept\n", "mv: {}", said(&ran));
            assert!(said(&ran).contains(cause) && said(&ran).contains("3/bad'"), "{}", said(&ran));
        }
    }
}

/// Runs a script beside a file system of its own, called `small`, with these options; `None` where that cannot be done.
fn beside(place: &Place, options: &str, script: &str) -> Option<ProgramOutcome> {
    let Some(unshare) = TestProgram::find("unshare") else {
        left_out("unshare is not installed");
        return None;
    };
    let unshare = unshare.in_directory(place.directory()).with_variable("mh", binary()).with_variable("LC_ALL", "C");
    let unshare = unshare.with_variable("MH_CREW_DIR", "");
    let mount = format!("mkdir -p small && mount -t tmpfs -o {options} none small");
    if unshare.run(["-m", "sh", "-c", &mount], b"").ok()?.exit != Exit::Code(0) {
        left_out("needs a mount namespace of its own (root, unshare)");
        return None;
    }
    Some(unshare.run(["-m", "sh", "-c", &format!("{mount} && {{ {script}\n}}")], b"").expect("it ran before"))
}

#[test]
fn a_full_disk_keeps_what_is_whole_and_every_source() {
    let place = Place::new();
    for number in 0..40 {
        place.write(format!("src/{}/f{number}", number / 10), vec![number as u8; 100_000]);
    }
    succeeds(&place, "$mh tar -cf a.tar src; $mh tar --zstd -cf a.tar.zst src; cp -a src before");
    for hands in WIDTHS {
        for (command, code) in [
            (format!("cp -a -j {hands} src small/src"), 1),
            (format!("mv -j {hands} src small/src"), 1),
            (format!("tar -xf a.tar -C small --hands {hands}"), 2),
            (format!("tar -xf a.tar.zst -C small --hands {hands}"), 2),
            (format!("tar -cf small/b.tar --hands {hands} src"), 2),
        ] {
            // What is there is whole; an archive that is not whole is not there.
            let script = format!(
                "$mh {command}; echo $?; test ! -e small/b.tar && echo none; ls -A small | grep -v '^src$'; for f in $(cd small; find . -type f); do cmp small/$f before/${{f#./src/}} || echo half; done; diff -r src before && echo kept; find small -type f | wc -l"
            );
            let Some(ran) = beside(&place, "size=1500k", &script) else { return };
            let lines: Vec<String> = String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect();
            assert_eq!(
                lines[..3],
                [code.to_string(), "none".to_owned(), "kept".to_owned()],
                "{command}: {lines:?} {}",
                said(&ran)
            );
            let files: u32 = lines[3].parse().expect("a number");
            assert!(if command.contains("-cf") { files == 0 } else { files >= 5 }, "{command}: {lines:?}");
            assert!(said(&ran).contains("No space left on device"), "{command}: {}", said(&ran));
        }
        // Names without room for inodes.
        let script = format!(
            "$mh cp -a -j {hands} src small/src; echo $?; for f in $(cd small; find . -type f); do cmp small/$f before/${{f#./src/}} || echo half; done"
        );
        let Some(ran) = beside(&place, "size=9m,nr_inodes=20", &script) else { return };
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "1\n", "{}", said(&ran));
        assert!(said(&ran).contains("No space left on device"), "{}", said(&ran));
    }
}

#[test]
fn a_read_only_disk_is_told_and_stays_as_it_is() {
    let place = Place::new();
    place.write("src/f", "new").write("src/d/g", "new");
    succeeds(&place, "$mh tar -cf a.tar src");
    for hands in WIDTHS {
        for (command, code) in [
            (format!("cp -a -j {hands} src small"), 1),
            (format!("cp -aT -j {hands} src small/src"), 1),
            (format!("rm -rf -j {hands} small/src"), 1),
            (format!("mv -j {hands} small/src out"), 1),
            (format!("tar -xf a.tar -C small --hands {hands}"), 2),
            (format!("tar -cf small/b.tar --hands {hands} src"), 2),
        ] {
            let script = format!(
                "mkdir -p small/src/d; echo old > small/src/f; mount -o remount,ro small; $mh {command}; echo $?; cat small/src/f; find small | sort | tr '\\n' ' '; cat src/f src/d/g"
            );
            let Some(ran) = beside(&place, "size=1m", &script) else { return };
            let expected = format!("{code}\nold\nsmall small/src small/src/d small/src/f newnew");
            assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{command}: {}", said(&ran));
            assert!(said(&ran).contains("Read-only file system"), "{command}: {}", said(&ran));
            succeeds(&place, "rm -rf out");
        }
    }
}
