//! Archives that a seed makes, sound, cut and damaged ones, to GNU tar, bsdtar and ours: what both others make of a path is what we make
//! of it, with GNU tar's exit code, for 1 and 8 hands. Deliberate differences (`docs/commands/tar.md`) do not occur in what is made.

use super::tools;
use crate::place::{Place, said};
use crate::tar::made::{header, long, padded, pax, put};
use crate::trees::described::describe;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::program::{Exit, ProgramOutcome};
use testkit::random::Random;

/// LIMIT: archives of one run; each costs some 50 ms.
const ARCHIVES: u64 = 48;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    V7,
    Ustar,
    Gnu,
    Pax,
}

const DIALECTS: [Dialect; 4] = [Dialect::V7, Dialect::Ustar, Dialect::Gnu, Dialect::Pax];

/// What a header says, in any dialect.
struct Entry {
    flag: u8,
    path: String,
    link: String,
    mode: u32,
    mtime: u64,
    data: Vec<u8>,
    /// Stretches of a sparse file: where, and how many bytes of `data`.
    map: Vec<(u64, usize)>,
}

struct Begin {
    headers: usize,
    data: usize,
    path: String,
}

/// An archive, and where each member begins.
struct Made {
    bytes: Vec<u8>,
    begins: Vec<Begin>,
    /// A path that is not compared.
    apart: Option<String>,
    what: String,
}

/// What has been made so far.
#[derive(Default)]
struct Tree {
    directories: Vec<String>,
    files: Vec<String>,
    count: usize,
}

/// LIMIT: what a name field has room for, less the NUL.
const NAME_BYTES: usize = 99;

fn name(random: &mut Random, tree: &mut Tree, dialect: Dialect) -> String {
    tree.count += 1;
    let parent = match random.below(tree.directories.len() + 1) {
        at if at < tree.directories.len() => format!("{}/", tree.directories[at]),
        // A directory that no member names.
        _ if random.once_in(4) => format!("implied{}/", random.below(3)),
        _ => String::new(),
    };
    let own = ["f", "a b", "\u{e4}\u{df}", "-x", "new\nline", "back\\slash", "*", "\u{7}"][random.below(8)];
    let long = if random.once_in(4) { "long".repeat(random.below(40)) } else { String::new() };
    let path = format!("{parent}{own}{long}{}", tree.count);
    let fits = match dialect {
        Dialect::V7 => path.len() <= NAME_BYTES,
        Dialect::Ustar => split(&path).is_some(),
        _ => true,
    };
    if fits { path } else { format!("short{}", tree.count) }
}

/// Prefix and name of ustar.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME_BYTES {
        return Some(("", path));
    }
    path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..])).find(|(prefix, name)| {
        prefix.len() <= 154 && !prefix.is_empty() && name.len() <= NAME_BYTES && !name.is_empty()
    })
}

fn entry(random: &mut Random, tree: &mut Tree, dialect: Dialect) -> Entry {
    let path = name(random, tree, dialect);
    let mode = [0o644, 0o600, 0o755, 0o751, 0o444, 0o4755][random.below(6)];
    // Years that are gone; a time of today is one that nobody set.
    let mtime = 1 + random.below(1_500_000_000) as u64;
    let mut entry = Entry { flag: b'0', path, link: String::new(), mode, mtime, data: Vec::new(), map: Vec::new() };
    match random.below(12) {
        0..=2 => {
            entry.flag = b'5';
            entry.mode = [0o755, 0o700, 0o750, 0o1777, 0o2755][random.below(5)];
            tree.directories.push(entry.path.clone());
            if random.once_in(2) && entry.path.len() < NAME_BYTES {
                entry.path.push('/');
            }
        }
        3 => {
            entry.flag = b'2';
            entry.link = format!(
                "nowhere/{}",
                "to".repeat(random.below(if matches!(dialect, Dialect::V7 | Dialect::Ustar) { 30 } else { 90 }))
            );
        }
        4 if !tree.files.is_empty() => {
            entry.flag = b'1';
            entry.link = tree.files[random.below(tree.files.len())].clone();
        }
        5 => entry.flag = if dialect == Dialect::V7 { b'0' } else { b'6' },
        6 | 7 if matches!(dialect, Dialect::Gnu | Dialect::Pax) => sparse(random, &mut entry),
        _ => {
            let most = [1, 512, 513, 2000, 20_000][random.below(5)];
            entry.data = vec![0; random.below(most + 1)];
            random.fill(&mut entry.data);
        }
    }
    if matches!(entry.flag, b'0' | b'S') {
        tree.files.push(entry.path.clone());
    }
    entry
}

/// Up to four stretches; all but the last are whole blocks, as GNU tar has them.
fn sparse(random: &mut Random, entry: &mut Entry) {
    entry.flag = b'S';
    let mut at = 0;
    let count = 1 + random.below(4);
    for number in 0..count {
        at += 512 * random.below(20) as u64;
        let bytes = if number + 1 == count { random.below(900) } else { 512 * (1 + random.below(3)) };
        entry.map.push((at, bytes));
        at += bytes as u64;
    }
    entry.data = vec![0; entry.map.iter().map(|stretch| stretch.1).sum()];
    random.fill(&mut entry.data);
}

/// A member as bytes.
fn written(random: &mut Random, entry: &Entry, dialect: Dialect) -> Vec<u8> {
    let (mut before, mut records) = (Vec::new(), Vec::new());
    let sizes = entry.map.last().map_or(0, |&(at, bytes)| at + bytes as u64).to_string();
    let map: Vec<String> = entry.map.iter().map(|(at, bytes)| format!("{at},{bytes}")).collect();
    let (count, map, fraction) = (map.len().to_string(), map.join(","), format!("{}.25", entry.mtime));
    let (mut flag, mut prefix, mut path) = (entry.flag, "", entry.path.as_str());
    if dialect == Dialect::Pax {
        if entry.path.len() > NAME_BYTES || random.once_in(5) {
            records.push(("path", entry.path.as_str()));
        }
        if entry.link.len() > NAME_BYTES {
            records.push(("linkpath", entry.link.as_str()));
        }
        if random.once_in(3) {
            records.push(("mtime", &fraction));
        }
        if flag == b'S' {
            flag = b'0';
            let sparse = [("GNU.sparse.size", &sizes), ("GNU.sparse.numblocks", &count), ("GNU.sparse.map", &map)];
            records.extend(sparse.map(|(key, value)| (key, value.as_str())));
        }
        if !records.is_empty() {
            before.extend(pax(&records));
        }
    } else if dialect == Dialect::Gnu {
        if entry.path.len() > NAME_BYTES {
            before.extend(long(b'L', &format!("{}\0", entry.path)));
        }
        if entry.link.len() > NAME_BYTES {
            before.extend(long(b'K', &format!("{}\0", entry.link)));
        }
    } else if dialect == Dialect::Ustar {
        (prefix, path) = split(&entry.path).expect("names are chosen so");
    }
    let block = header(flag, "", entry.data.len() as u64, |block| {
        put(block, 0, &path.as_bytes()[..path.len().min(NAME_BYTES)]);
        put(block, 100, format!("{:07o}", entry.mode).as_bytes());
        put(block, 136, format!("{:011o}", entry.mtime).as_bytes());
        put(block, 157, &entry.link.as_bytes()[..entry.link.len().min(NAME_BYTES)]);
        match dialect {
            Dialect::V7 => put(block, 257, &[0; 8]),
            Dialect::Gnu => put(block, 257, b"ustar  \0"),
            Dialect::Ustar | Dialect::Pax => put(block, 345, prefix.as_bytes()),
        }
        if flag == b'S' {
            for (number, (at, bytes)) in entry.map.iter().enumerate() {
                put(block, 386 + 24 * number, format!("{at:011o}\0{bytes:011o}\0").as_bytes());
            }
            put(block, 483, format!("{:011o}", sizes.parse::<u64>().expect("it was a number")).as_bytes());
        }
    });
    [before, block, padded(&entry.data)].concat()
}

fn made(seed: u64) -> Made {
    let mut random = Random::seeded(seed);
    let dialect = DIALECTS[(seed % 4) as usize];
    let mut tree = Tree::default();
    let (mut bytes, mut begins) = (Vec::new(), Vec::new());
    for _ in 0..4 + random.below(30) {
        let entry = entry(&mut random, &mut tree, dialect);
        let headers = bytes.len();
        bytes.extend(written(&mut random, &entry, dialect));
        let data = bytes.len() - padded(&entry.data).len();
        begins.push(Begin { headers, data, path: entry.path });
    }
    bytes.resize(bytes.len() + 1024, 0);
    let mut made = Made { bytes, begins, apart: None, what: format!("{dialect:?} of seed {seed}") };
    match seed / 4 % 3 {
        0 => {}
        1 => cut(&mut random, &mut made),
        _ => damage(&mut random, &mut made),
    }
    made
}

/// Ends it somewhere. Of the file that it ends in, others leave a part. Inside a header it does not end: GNU tar takes that for the archive's
/// end and says nothing, ours says that it was cut off.
fn cut(random: &mut Random, made: &mut Made) {
    let mut end = random.below(made.bytes.len() - 1024);
    let member = made.begins.iter().rev().find(|begin| begin.headers <= end).expect("the first begins at 0");
    if end < member.data {
        end -= end % 512;
    }
    made.bytes.truncate(end);
    made.apart = Some(member.path.clone());
    made.what.push_str(&format!(", cut at {end}"));
}

/// Changes one byte.
fn damage(random: &mut Random, made: &mut Made) {
    let at = random.below(made.bytes.len());
    made.bytes[at] ^= 1 << random.below(8);
    made.what.push_str(&format!(", byte {at} damaged"));
}

/// What came of one program.
fn extracted(place: &Place, name: &str, command: &str) -> ProgramOutcome {
    place.shell(&format!("umask 022; mkdir {name}; {command} -xpf a.tar -C {name}"))
}

#[test]
fn what_others_make_of_an_archive_is_what_we_make_of_it() {
    if !tools(&["tar", "bsdtar"]) {
        return;
    }
    let (mut wrong, mut agreed, mut failed) = (Vec::new(), 0, 0);
    for seed in 0..ARCHIVES {
        let made = made(seed);
        let place = Place::new();
        place.write("a.tar", &made.bytes);
        let gnu = extracted(&place, "gnu", "tar");
        extracted(&place, "bsd", "bsdtar");
        let apart = made.apart.as_deref().map(|path| PathBuf::from(path.trim_end_matches('/')));
        let [theirs, others] = ["gnu", "bsd"].map(|directory| describe(&place.path(directory)));
        failed += usize::from(gnu.exit != Exit::Code(0));
        for hands in [1, 8] {
            let directory = format!("ours{hands}");
            let ours = extracted(&place, &directory, &format!("$mh tar --hands {hands}"));
            if ours.exit != gnu.exit {
                wrong.push(format!(
                    "{}: {:?}, not {:?}: {} / {}",
                    made.what,
                    ours.exit,
                    gnu.exit,
                    said(&ours),
                    said(&gnu)
                ));
            }
            let found = describe(&place.path(&directory));
            let paths: BTreeSet<&PathBuf> = theirs.keys().chain(others.keys()).chain(found.keys()).collect();
            for path in paths {
                let is_apart = apart.as_ref() == Some(path) || path.as_path() == Path::new("");
                if is_apart || theirs.get(path) != others.get(path) {
                    continue;
                }
                agreed += 1;
                if found.get(path) != theirs.get(path) {
                    wrong.push(format!("{}: {path:?}: {:?}, not {:?}", made.what, found.get(path), theirs.get(path)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Something was compared, and some archives were bad.
    assert!(agreed > 10 * ARCHIVES as usize && failed > 5, "{agreed} paths, {failed} bad archives");
}
