//! Several sources that lead to one place, by whatever road: the order of the arguments decides, whole files win, for any number of hands.

use super::described::describe;
use super::likeness::elsewhere;
use super::{WIDTHS, succeeds};
use crate::place::{Place, said};
use std::path::Path;
use std::time::{Duration, SystemTime};
use testkit::program::{Exit, left_out};
use testkit::random::Random;

/// What a random tree has besides directories and files of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extras {
    /// Nothing.
    None,
    /// Hard links.
    HardLinks,
    /// Hard links, symbolic links and names that backups have.
    All,
}

/// A random tree in `top`, of few names, so that it overlaps with others. Every file has content of its own, which fills it.
fn grow(place: &Place, top: &str, random: &mut Random, entries: usize, extras: Extras) {
    let mut directories = vec![top.to_owned()];
    let mut files: Vec<String> = Vec::new();
    std::fs::create_dir_all(place.path(top)).expect("made");
    for number in 0..entries {
        let above = directories[random.below(directories.len())].clone();
        let tilde = if extras == Extras::All && random.once_in(5) { "~" } else { "" };
        let path = format!("{above}/{}{tilde}", char::from(b'a' + random.below(9) as u8));
        if place.has(&path) {
            continue;
        }
        match random.below(8) {
            0 | 1 if above.len() < 12 => {
                std::fs::create_dir(place.path(&path)).expect("made");
                directories.push(path);
                continue;
            }
            2 | 3 if extras != Extras::None && !files.is_empty() => {
                let other = &files[random.below(files.len())];
                std::fs::hard_link(place.path(other), place.path(&path)).expect("linked");
            }
            4 if extras == Extras::All => std::os::unix::fs::symlink("a", place.path(&path)).expect("linked"),
            _ => {
                let line = format!("{top} {number}\n").repeat(random.below(6000));
                place.write(&path, line);
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(random.below(1_000_000) as u64);
                let file = std::fs::File::options().write(true).open(place.path(&path)).expect("there");
                file.set_modified(time).expect("dated");
                files.push(path);
            }
        }
    }
}

/// Copies with `program`, onto what was there before. The exit code, and every entry of the target, but for times of now.
fn copied(place: &Place, program: &str, arguments: &str) -> (Exit, Vec<String>) {
    let script = format!("rm -rf y && cp -a before y && MH_CREW_DIR= && export MH_CREW_DIR && {program} {arguments}");
    let outcome = place.shell(&script);
    let described = describe(&place.path("y")).into_iter().map(|(path, line)| {
        let (known, time_and_more) = line.split_once(" at ").expect("every entry has a time");
        let (time, more) = time_and_more.split_once(' ').expect("and content");
        let is_old = time.parse::<f64>().is_ok_and(|seconds| seconds < 1e7);
        format!("{path:?} {known} {} {more}", if is_old { time } else { "now" })
    });
    (outcome.exit, described.collect())
}

/// The ways to copy that GNU has, too. (Its simple backups of what comes from `source/.` land in the working directory.)
const WAYS: [&str; 13] = [
    "-r",
    "-rp",
    "-rf",
    "-ru",
    "-rpu",
    "-rn",
    "-r --remove-destination",
    "-r --backup=numbered",
    "-r --sparse=always",
    "-r --reflink=never",
    "-rl",
    "-rlf",
    "-rp --attributes-only",
];

/// The sources, of which the second one lies in the first one's target, too.
const SOURCES: [&str; 3] = ["one/. two/. three/. y", "one/. two/a three/. y", "one/a one/b two/. three/a/. y/a/"];

#[test]
fn the_last_of_several_sources_wins_as_with_gnu() {
    for seed in [1, 2] {
        let (place, mut random) = (Place::new(), Random::seeded(seed));
        for top in ["one", "two", "three"] {
            std::fs::create_dir_all(place.path(format!("{top}/a"))).expect("made");
            grow(&place, top, &mut random, 90, Extras::None);
        }
        std::fs::create_dir_all(place.path("before/a")).expect("made");
        // Some of the targets are one file.
        grow(&place, "before", &mut random, 40, Extras::HardLinks);
        for (number, way) in WAYS.iter().enumerate() {
            let arguments = format!("{way} {}", SOURCES[(number + seed as usize) % SOURCES.len()]);
            let expected = copied(&place, "cp", &arguments);
            for width in WIDTHS {
                let found = copied(&place, &format!("$mh cp -j {width}"), &arguments);
                assert_eq!(found, expected, "seed {seed}: cp -j {width} {arguments}");
            }
        }
    }
}

#[test]
fn many_hands_leave_what_one_leaves() {
    let ways = ["-a", "-d -r", "-a --backup=simple", "-a --resume", "-rL", "-a --skip-same=blake3", "-rp --verify"];
    for seed in [3, 4] {
        let (place, mut random) = (Place::new(), Random::seeded(seed));
        for top in ["one", "two", "three", "before"] {
            std::fs::create_dir_all(place.path(format!("{top}/a"))).expect("made");
            grow(&place, top, &mut random, 80, Extras::All);
        }
        // Names of one file in several sources: a copy of it may be written over before the last one comes.
        succeeds(&place, "ln one/*[!~] two/ 2>/dev/null; ln -f two/[a-e] three/ 2>/dev/null; true");
        for (number, way) in ways.iter().enumerate() {
            let arguments = format!("{way} {}", SOURCES[(number + seed as usize) % SOURCES.len()]);
            let expected = copied(&place, "$mh cp -j 1", &arguments);
            for width in ["2", "64"] {
                let found = copied(&place, &format!("$mh cp -j {width}"), &arguments);
                assert_eq!(found, expected, "seed {seed}: cp -j {width} {arguments}");
            }
        }
    }
}

/// Files that take long enough for a second hand to come.
const LARGE: &str = "large() { yes $1 | head -c 4000000; }; mkdir -p a/s b/s y; for f in 1 2 3 4; do large a$f > a/s/$f; large b$f > b/s/$f; done;
    export MH_CREW_DIR=;";

#[test]
fn large_files_of_two_sources_are_not_mixed() {
    for width in WIDTHS {
        for (way, before) in [
            ("-r", ":"),
            ("-a --reflink=never", ":"),
            ("-r --sparse=always", ":"),
            ("-r --backup=simple", ":"),
            ("-a --resume", ":"),
            ("-r", "mkdir y/s; for f in 1 2 3 4; do echo old > y/s/$f; done"),
        ] {
            let place = Place::new();
            let script = format!("{LARGE} {before}; $mh cp -j {width} {way} a/. b/. y && diff -r b/s y/s > different");
            let is_kept = way.contains("backup");
            assert_eq!(place.shell(&script).exit, Exit::Code(i32::from(is_kept)), "cp -j {width} {way} with {before}");
            if is_kept {
                succeeds(&place, "for f in 1 2 3 4; do cmp a/s/$f y/s/$f~ && cmp b/s/$f y/s/$f || exit 1; done");
            }
        }
    }
}

#[test]
fn names_that_lead_to_one_file_are_written_in_order() {
    for width in WIDTHS {
        let place = Place::new();
        // Arguments: links among the targets, symbolic and hard.
        let farm = "echo old > y/1; ln -s 1 y/2; ln y/1 y/3; ln -s 3 y/4";
        succeeds(&place, &format!("{LARGE} {farm}; $mh cp -j {width} a/s/* y && cmp a/s/4 y/1 && cmp a/s/4 y/3"));
        let place = Place::new();
        let dangling = "ln -s 4 y/1; ln -s 4 y/2; ln -s 4 y/3";
        succeeds(&place, &format!("{LARGE} touch y/4; {dangling}; $mh cp -j {width} a/s/* y && cmp a/s/4 y/4"));
        // A source that an argument before it makes.
        let place = Place::new();
        let reads = "ln -s ../../y/1 a/s/9; cp b/s/1 y/1";
        succeeds(&place, &format!("{LARGE} {reads}; $mh cp -j {width} a/s/* y && cmp a/s/1 y/9 && cmp a/s/1 y/1"));
        let place = Place::new();
        succeeds(&place, &format!("{LARGE} $mh cp -j {width} -r a y/a/s y && diff -r a/s y/s && diff -r a y/a"));
        // One tree: the one that comes last in a walk in the order of inodes, as with cp.
        let place = Place::new();
        let tree = "for f in 1 2 3 4; do mkdir a/$f y/$f; mv a/s/$f a/$f/x; done; rmdir a/s; echo old > y/1/x; for f in 2 3 4; do ln y/1/x y/$f/x; done;
            cp -a y before; cp -r a/. y; cp y/1/x expected; rm -r y; cp -a before y";
        succeeds(
            &place,
            &format!("{LARGE} {tree}; $mh cp -j {width} -r a/. y && cmp expected y/1/x && cmp expected y/4/x"),
        );
    }
}

#[test]
fn moves_to_another_file_system_come_one_after_the_other_where_they_meet() {
    let place = Place::new();
    let Some(elsewhere) = elsewhere(&place) else {
        return left_out("moves to another file system: there is only one");
    };
    for width in WIDTHS {
        // The second source is there only when the first one has been moved.
        let script = format!(
            "rm -rf a b y; {LARGE} far=$(mktemp -d -p {}); trap 'rm -rf $far' EXIT; cp -r a expected; \
             $mh mv -j {width} a $far/a/s $far && diff -r expected/s $far/s && rm -r expected && test ! -e a",
            elsewhere.display()
        );
        succeeds(&place, &script);
        let script = format!(
            "rm -rf a b y; {LARGE} far=$(mktemp -d -p {}); trap 'rm -rf $far' EXIT; \
             $mh mv -j {width} --backup=numbered a/s/1 b/s/1 $far && test $(ls $far | wc -l) = 2 && head -n 1 $far/1 | grep -q b1 && head -n 1 $far/1.~1~ | grep -q a1",
            elsewhere.display()
        );
        let outcome = place.shell(&script);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    }
}

#[test]
fn a_source_that_comes_twice_is_refused_as_ever() {
    let place = Place::new();
    succeeds(&place, "mkdir a b y; echo A > a/f; echo B > b/f");
    for width in WIDTHS {
        let outcome = place.shell(&format!("$mh cp -j {width} a/f b/f y"));
        assert_eq!(outcome.exit, Exit::Code(1));
        assert!(said(&outcome).contains("will not overwrite just-created"), "{}", said(&outcome));
        assert_eq!(place.read(Path::new("y/f")), b"A\n");
    }
}
