//! Archives whose few names stand for directories, files and links in turn, extracted into trees in which the same names are taken: eight hands
//! make of them what one makes. And places that a link gives two names.

use super::made::{hard_link, header, padded, put, symlink};
use crate::place::{Place, said};
use crate::trees::described::describe;
use testkit::random::Random;

/// LIMIT: archives of one run; each is extracted twice.
const ARCHIVES: u64 = 60;
/// Of the next hundreds, those that once came out in two ways: names behind links that were taken away too early, directories that came twice and stay
/// as they are, hard links out of missing directories.
const WENT_WRONG: [u64; 13] = [147, 229, 233, 263, 277, 300, 304, 321, 338, 381, 396, 480, 498];

const LINKS: [&str; 5] = ["no/where", ".", "a", "b", "c/d"];

/// Up to three directories deep: most paths are on the way to others.
fn path(random: &mut Random) -> String {
    let names = [1, 1, 2, 2, 3][random.below(5)];
    (0..names).map(|_| ["a", "b", "c", "d", "e"][random.below(5)]).collect::<Vec<_>>().join("/")
}

/// Members large enough to come to several hands.
fn archive(random: &mut Random, noise: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    for number in 0..5 + random.below(50) {
        let path = path(random);
        let numbered = |flag: u8, mode: u32, size: usize| {
            header(flag, &path, size as u64, |block| {
                put(block, 100, format!("{mode:07o}").as_bytes());
                put(block, 136, format!("{:011o}", 1_000_000_000 + number).as_bytes());
            })
        };
        match random.below(20) {
            0..=4 => archive.extend(numbered(b'5', [0o755, 0o700, 0o555, 0o777][random.below(4)], 0)),
            5..=14 => {
                let size = [0, 10, 5_000, 300_000, 1_100_000][random.below(5)];
                archive.extend(numbered(b'0', 0o644, size));
                archive.extend(padded(&noise[number..number + size]));
            }
            15 | 16 => archive.extend(symlink(&path, LINKS[random.below(LINKS.len())])),
            17 | 18 => archive.extend(hard_link(&path, &self::path(random))),
            _ => archive.extend(numbered(b'6', 0o600, 0)),
        }
    }
    archive.extend([0; 1024]);
    archive
}

/// A described entry, without its time if that is no time of the archive's or of what stood there: it changed in this run.
fn undated(line: &str) -> String {
    let (before, at) = line.split_once(" at ").expect("it tells the time");
    let (time, rest) = at.split_once(' ').expect("and more");
    let seconds: i64 = time.split('.').next().and_then(|seconds| seconds.parse().ok()).expect("a time");
    if seconds > 1_100_000_000 { format!("{before} now {rest}") } else { line.to_owned() }
}

/// Of a size, or a directory with a mode.
fn made(path: &str, size: Option<usize>, mode: u32) -> Vec<u8> {
    let flag = if size.is_some() { b'0' } else { b'5' };
    let block = header(flag, path, size.unwrap_or(0) as u64, |block| {
        put(block, 100, format!("{mode:07o}").as_bytes());
        put(block, 136, format!("{:011o}", 1_000_000_000).as_bytes());
    });
    [block, padded(&vec![b'x'; size.unwrap_or(0)])].concat()
}

#[test]
fn of_two_names_of_one_place_the_one_behind_is_in_force() {
    if !super::tools(&["tar"]) {
        return;
    }
    for large in [5_000, 300_000, 3_000_000] {
        let file = |path, size| made(path, Some(size), 0o644);
        let directory = |path, mode| made(path, None, mode);
        for (before, members) in [
            ("true", vec![directory("usr/", 0o755), symlink("lib", "usr"), file("lib/x", large), file("usr/x", 4)]),
            ("true", vec![directory("usr/", 0o755), symlink("lib", "usr"), file("usr/x", large), file("lib/x", 4)]),
            ("mkdir usr; ln -s usr lib", vec![file("lib/x", large), file("usr/x", 4)]),
            ("true", vec![symlink("c", "."), file("c/d", large), file("c", 4), file("d", 5)]),
            ("true", vec![symlink("c", "."), directory("d/", 0o700), directory("c/d/", 0o755)]),
            (
                "true",
                vec![directory("a/", 0o755), symlink("l", "a"), directory("l/s/", 0o777), directory("a/s/", 0o700)],
            ),
        ] {
            let place = Place::new();
            place.write("a.tar", [members.concat(), vec![0; 1024]].concat());
            let extracted = |name: &str, command: &str| {
                let script = format!("umask 022; mkdir {name}; cd {name}; {before}; {command}");
                assert_eq!(place.shell(&script).exit, testkit::program::Exit::Code(0), "{script}");
                // GNU tar dates a directory before something comes into it through a link, and we when all has come.
                let dateless = |line: String| match line.split_once(" at ") {
                    Some((directory, _)) if directory.starts_with("40") => directory.to_owned(),
                    _ => undated(&line),
                };
                describe(&place.path(name)).into_iter().map(|(path, line)| (path, dateless(line))).collect::<Vec<_>>()
            };
            let theirs = extracted("theirs", "tar -xpf ../a.tar");
            for hands in [1, 2, 64] {
                for (way, from) in [("file", "../a.tar"), ("pipe", "- < ../a.tar")] {
                    let ours = extracted(&format!("{way}{hands}"), &format!("$mh tar --hands {hands} -xpf {from}"));
                    assert_eq!(ours, theirs, "{large} {hands} {way}: {before}; {}", members.len());
                }
            }
        }
    }
}

/// `--overwrite` writes into what is there: two members whose names are those of one file have one place.
#[test]
fn of_two_names_of_one_file_that_is_written_over_the_one_behind_is_in_force() {
    if !super::tools(&["tar"]) {
        return;
    }
    for seed in 0..6 {
        let mut random = Random::seeded(seed);
        let place = Place::new();
        let mut members = Vec::new();
        for number in 0..20_u8 {
            let path = ["a", "b", "c", "d", "e", "f/a", "f/b", "f/c", "g"][random.below(9)];
            if random.once_in(10) {
                members.push(hard_link(path, ["a", "b", "f/c"][random.below(3)]));
                continue;
            }
            let size = [0, 10, 400_000, 1_100_000, 3_000_000, 4_000_000][random.below(6)];
            let block = header(b'0', path, size as u64, |block| {
                put(block, 100, format!("{:07o}", [0o644, 0o600, 0o755][random.below(3)]).as_bytes());
                put(block, 136, format!("{:011o}", 1_000_000_000 + u64::from(number)).as_bytes());
            });
            members.push([block, padded(&vec![b'A' + number; size])].concat());
        }
        place.write("a.tar", [members.concat(), vec![0; 1024]].concat());
        let before = "umask 022; mkdir f; echo old > a; for n in b c d e f/a; do ln a $n; done; echo old > f/b; ln f/b f/c; touch -d @900000000 a f/b";
        let extracted = |name: &str, command: &str| {
            let ran = place.shell(&format!("mkdir {name}; cd {name}; {before}; {command} 2> /dev/null"));
            let tree = describe(&place.path(name)).into_iter().map(|(path, line)| (path, undated(&line)));
            (ran.exit, tree.filter(|(_, line)| !line.starts_with("40")).collect::<Vec<_>>())
        };
        let theirs = extracted("theirs", "tar --overwrite -xpf ../a.tar");
        for hands in [1, 2, 64] {
            for (way, from) in [("file", "../a.tar"), ("pipe", "- < ../a.tar")] {
                let ours =
                    extracted(&format!("{way}{hands}"), &format!("$mh tar --hands {hands} --overwrite -xpf {from}"));
                assert_eq!(ours, theirs, "{seed} {hands} {way}");
            }
        }
    }
}

#[test]
fn eight_hands_make_what_one_makes() {
    let mut noise = vec![0; 1_200_000];
    Random::seeded(7).fill(&mut noise);
    let (mut wrong, mut failed) = (Vec::new(), 0);
    for seed in (0..ARCHIVES).chain(WENT_WRONG) {
        let mut random = Random::seeded(seed);
        let place = Place::new();
        place.write("a.tar", archive(&mut random, &noise));
        let packed = if random.once_in(3) { "gzip -1 a.tar; mv a.tar.gz a.tar" } else { "true" };
        let from = if random.once_in(4) { "- < a.tar" } else { "a.tar" };
        let options =
            ["", "", "-U", "--overwrite", "--keep-newer-files", "--skip-old-files", "-k", "-P", "--no-overwrite-dir"]
                [random.below(9)];
        let taken: String = (0..random.below(8))
            .map(|_| match (random.below(3), path(&mut random)) {
                (0, path) => format!("mkdir -p {path}; "),
                (1, path) => {
                    format!("mkdir -p {path}; rmdir {path} && ln -s {} {path}; ", LINKS[random.below(LINKS.len())])
                }
                (_, path) => {
                    format!("mkdir -p {path}; rmdir {path} && echo old > {path} && touch -d @900000000 {path}; ")
                }
            })
            .collect();
        assert_eq!(place.shell(packed).stdout, b"");
        let [one, eight] = [1, 8].map(|hands| {
            let script = format!(
                "umask 022; mkdir t{hands}; (cd t{hands}; {taken} :) 2> /dev/null
                 $mh tar --hands {hands} -p -C t{hands} {options} -xf {from}"
            );
            let ran = place.shell(&script);
            let told = said(&ran);
            let tree: Vec<_> = describe(&place.path(format!("t{hands}")))
                .into_iter()
                .map(|(path, line)| (path, undated(&line)))
                .collect();
            (ran.exit, told, tree)
        });
        failed += u64::from(one.0 != testkit::program::Exit::Code(0));
        if (&one.0, &one.1) != (&eight.0, &eight.1) {
            wrong.push(format!("{seed} {options}: {:?} {} / {:?} {}", one.0, one.1, eight.0, eight.1));
        }
        let differ = one.2.iter().zip(&eight.2).find(|(one, eight)| one != eight);
        if differ.is_some() || one.2.len() != eight.2.len() {
            wrong.push(format!("{seed} {options} {from}: {differ:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // They were entangled.
    assert!(failed > ARCHIVES / 4, "{failed} of them failed with one hand");
}
