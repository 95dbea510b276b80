//! Archives made here, extracted from files and from blocks of odd sizes, with any number of hands: always the same tree, the same
//! things told in the same order.

use super::*;
use crate::blocks::BlockSource;
use crate::member::{Device, Extent, Time};
use crate::place::{DirectoryLinks, Existing, Reach, Restore};
use crate::read::Grammar;
use crate::select::{Named, Naming};
use crate::source::FileSource;
use crate::write::{Style, begin_member, end_archive};
use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::measures::Slots;
use crew::pipeline::Executor;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// Takes everything, under names that stay inside.
struct Everything;

impl Chooser for Everything {
    fn choose(&mut self, member: &mut Member, tell: &mut dyn FnMut(Event)) -> Choice {
        match Naming::default().rename(member) {
            Named::Path { .. } => Choice::Take,
            Named::CutOff => Choice::PassOver,
            Named::LeadsUp => {
                tell(Event::Refused { name: member.path.clone(), why: "it leads up".to_owned() });
                Choice::PassOver
            }
        }
    }
}

fn add(archive: &mut Vec<u8>, member: Member, data: &[u8]) {
    let stored_bytes = data.len() as u64;
    let size = if member.sparse.is_some() { member.size } else { stored_bytes };
    let mtime = Time { seconds: 1_000_000_000, nanoseconds: 5 };
    let mode = if member.mode == 0 && member.kind != Kind::Directory { 0o644 } else { member.mode };
    let member = Member { stored_bytes, size, mtime, mode, ..member };
    begin_member(&member, &Style::default(), archive).expect("pax has room");
    archive.extend_from_slice(data);
    archive.resize(crate::member::padded(archive.len() as u64) as usize, 0);
}

fn file(archive: &mut Vec<u8>, path: &str, data: &[u8]) {
    add(archive, Member { path: path.into(), ..Member::default() }, data);
}

fn link(archive: &mut Vec<u8>, path: &str, kind: Kind, target: &str) {
    add(archive, Member { path: path.into(), kind, link: target.into(), ..Member::default() }, b"");
}

fn directory(archive: &mut Vec<u8>, path: &str, mode: u32) {
    add(archive, Member { path: path.into(), kind: Kind::Directory, mode, ..Member::default() }, b"");
}

enum From {
    File,
    Blocks(usize),
}

/// Extracts into `place` and returns what was told.
fn extract_into(place: &Path, archive: &[u8], from: From, width: usize, existing: Existing) -> Vec<String> {
    let feed = match from {
        From::File => {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(archive).expect("write");
            Feed::File(FileSource::new(Arc::new(file), 0).expect("stat"))
        }
        From::Blocks(bytes) => {
            let blocks: Vec<Vec<u8>> = archive.chunks(bytes).map(<[u8]>::to_vec).collect();
            Feed::Blocks(BlockSource::new(Box::new(blocks.into_iter())))
        }
    };
    let root = Root::open(place.as_os_str().as_bytes(), Reach::Beneath).expect("open");
    let restore = Restore { times: crate::place::Choice::Restored, ..Restore::default() };
    let (umask, umask_of_others, directory_links) = (0o022, 0o022, DirectoryLinks::Replace);
    let manner = Manner {
        existing,
        restore,
        umask,
        umask_of_others,
        directory_links,
        backup: None,
        unlinks_trees: false,
        follows_listings: false,
        open_directories: 1 + width,
    };
    let told = Mutex::new(Vec::new());
    let on_event = |event: Event| {
        let line = match event {
            Event::Stays { name, .. } => format!("stays {}", String::from_utf8_lossy(&name)),
            Event::Removed { path } => format!("removed {}", String::from_utf8_lossy(&path)),
            Event::KeptAs { kept, .. } => format!("kept as {}", String::from_utf8_lossy(&kept)),
            Event::Label(label) => format!("label {}", label.name()),
            Event::Taken { name, .. } => String::from_utf8_lossy(&name).into_owned(),
            Event::NotPlaced { name, error, .. } => format!("! {} {error}", String::from_utf8_lossy(&name)),
            Event::Refused { name, why } => format!("! {} {why}", String::from_utf8_lossy(&name)),
            Event::Note(note) => format!("{note:?}"),
            Event::MadeRelative { .. } => return,
        };
        told.lock().push(line);
    };
    let (unfinished, changed) = (Unfinished::default(), DirectoriesChanged::default());
    let pace = if width == 1 { SlicePace::OneByOne } else { SlicePace::Gathered };
    let what = Extraction {
        feed: Mutex::new(Some(feed)),
        rules: Rules { grammar: Grammar::Lenient, ..Rules::default() },
        chooser: Mutex::new(Some(Box::new(Everything))),
        root: &root,
        manner: &manner,
        pace,
        may_remove: &|_| true,
        unfinished: &unfinished,
        on_event: &on_event,
        changed: &changed,
        ended: Mutex::default(),
    };
    let mode = if width == 0 { Executor::SingleCore } else { Executor::Threaded };
    let slots = Slots { given: 2 * width + 2, wanted: 2 * width + 2, hands_wanted: width };
    let staffing = Staffing { width: width.max(1), slots, lanes_at_once: 1, mode };
    let request = Request {
        priority: Priority::Normal,
        weight: Weight::default(),
        useful_width: width.max(1),
        what: "a test".to_owned(),
    };
    let lease = InProcess::new(width.max(1)).lease(request);
    extract(&what, &staffing, lease.as_ref(), &Tally::default());
    let ended = what.ended.lock().take();
    let mut told = std::mem::take(&mut *told.lock());
    told.extend(ended.map(|error| format!("ended: {error}")));
    told
}

/// Every path of a tree with what it is.
fn tree(place: &Path) -> Vec<String> {
    fn walk(place: &Path, at: &Path, lines: &mut Vec<String>) {
        let mut entries: Vec<_> =
            std::fs::read_dir(at).expect("read").map(|entry| entry.expect("entry").path()).collect();
        entries.sort();
        for path in entries {
            let status = std::fs::symlink_metadata(&path).expect("stat");
            let name = path.strip_prefix(place).expect("below").display().to_string();
            let what = if status.is_dir() {
                format!("{:o}", status.mode() & 0o7777)
            } else if status.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).expect("readlink").display())
            } else {
                let sum: u64 = std::fs::read(&path)
                    .expect("read")
                    .iter()
                    .enumerate()
                    .map(|(at, &byte)| (at as u64 + 1) * u64::from(byte))
                    .sum();
                format!("{:o} {} bytes {sum} links {}", status.mode() & 0o7777, status.len(), status.nlink())
            };
            let time = match status.mtime() {
                _ if status.is_symlink() => "-".to_owned(),
                1_500_000_000.. => "now".to_owned(),
                time => time.to_string(),
            };
            lines.push(format!("{name} {what} {time}"));
            if status.is_dir() {
                walk(place, &path, lines);
            }
        }
    }
    let mut lines = Vec::new();
    walk(place, place, &mut lines);
    lines
}

/// Extracts in all ways and says what the first gave, which all others must have given too.
fn everywhere(archive: &[u8], prepare: impl Fn(&Path)) -> (Vec<String>, Vec<String>) {
    let mut first = None;
    for width in [0, 1, 2, 8] {
        for from in [From::File, From::Blocks(1 << 20), From::Blocks(1000), From::Blocks(512), From::Blocks(77)] {
            let place = tempfile::tempdir().expect("a directory");
            std::fs::create_dir(place.path().join("root")).expect("mkdir");
            prepare(place.path());
            let told = extract_into(&place.path().join("root"), archive, from, width, Existing::Replace);
            let outcome = (told, tree(place.path()));
            let first = first.get_or_insert_with(|| outcome.clone());
            assert_eq!(first, &outcome, "{width} hands");
        }
    }
    first.expect("it ran")
}

#[test]
fn every_kind_of_member_arrives_in_every_way() {
    let mut archive = Vec::new();
    directory(&mut archive, "d/", 0o555);
    for number in 0..300_usize {
        file(&mut archive, &format!("d/{}/f{number}", number / 20), &vec![number as u8; number * 7]);
    }
    file(&mut archive, "large", &(0..2_000_000_u32).map(|at| (at % 251) as u8).collect::<Vec<_>>());
    link(&mut archive, "d/3/sym", Kind::Symlink, "../nowhere");
    link(&mut archive, "hard", Kind::HardLink, "d/2/f45");
    let extents = vec![Extent { offset: 4096, bytes: 700 }, Extent { offset: 100_000, bytes: 300 }];
    let sparse = Member { path: b"holes".to_vec(), size: 200_000, sparse: Some(extents), ..Member::default() };
    add(&mut archive, sparse, &[3; 1000]);
    add(&mut archive, Member { path: b"fifo".to_vec(), kind: Kind::Fifo, ..Member::default() }, b"");
    end_archive(archive.len() as u64, &mut archive);
    let mut without_fifo = archive.clone();
    without_fifo.truncate(archive.len());
    let place = tempfile::tempdir().expect("a directory");
    let told = extract_into(place.path(), &archive, From::File, 2, Existing::Replace);
    assert_eq!(told.len(), 306, "{told:?}");
    std::fs::remove_file(place.path().join("fifo")).expect("the FIFO");
    let expected = tree(place.path());
    assert!(expected.contains(&"hard 644 315 bytes 2239650 links 2 1000000000".to_owned()), "{expected:?}");
    assert!(expected.iter().any(|line| line == "d 555 1000000000"), "{expected:?}");
    assert!(expected.iter().any(|line| line.starts_with("holes 644 200000 bytes")));
    for width in [0, 1, 2, 8] {
        for from in [From::File, From::Blocks(1 << 20), From::Blocks(3000), From::Blocks(100)] {
            let place = tempfile::tempdir().expect("a directory");
            extract_into(place.path(), &without_fifo, from, width, Existing::Replace);
            std::fs::remove_file(place.path().join("fifo")).expect("the FIFO");
            assert_eq!(tree(place.path()), expected, "{width} hands");
        }
    }
}

#[test]
fn a_path_that_comes_many_times_is_what_came_last() {
    let mut archive = Vec::new();
    for round in 0..20_u8 {
        file(&mut archive, "x", &[round; 100]);
        link(&mut archive, "x", Kind::Symlink, "elsewhere");
        directory(&mut archive, "x", 0o755);
        file(&mut archive, "x", &[round; 50]);
        file(&mut archive, "y", &vec![round; 2000]);
        link(&mut archive, "z", Kind::HardLink, "y");
        link(&mut archive, "w", Kind::HardLink, "z");
    }
    let (told, tree) = everywhere(&archive, |_| {});
    assert_eq!(told.len(), 140);
    assert_eq!(tree.len(), 5, "{tree:?}");
    assert!(tree[1].starts_with("root/w 644 2000 bytes 38019000 links 3"), "{tree:?}");
    assert!(tree[2].starts_with("root/x 644 50 bytes 24225 links 1"), "{tree:?}");
}

#[test]
fn chunks_that_long_names_end_go_on_in_their_block() {
    let mut archive = Vec::new();
    let deep = vec!["n".repeat(250); 13].join("/");
    directory(&mut archive, &deep, 0o750);
    for number in 0..300_usize {
        // Most have no data: forty of their names are as many as a chunk takes.
        let data = if number % 50 == 49 { vec![7; number] } else { Vec::new() };
        file(&mut archive, &format!("{deep}/{number:03}"), &data);
    }
    link(&mut archive, "last", Kind::HardLink, &format!("{deep}/299"));
    let (told, tree) = everywhere(&archive, |_| {});
    assert_eq!((told.len(), tree.len()), (302, 315), "{tree:?}");
    assert!(told.iter().all(|told| !told.starts_with('!')), "{told:?}");
    assert!(tree.iter().any(|line| line.starts_with("root/last 644 299 bytes 313950 links 2")), "{:?}", tree.last());
}

#[test]
fn nothing_outside_the_root_is_touched() {
    let mut archive = Vec::new();
    for name in ["/abs", "../up", "a/../../up", "..", "out/file", "out/deep/file", "up/file", "abs/tmp/file"] {
        file(&mut archive, name, b"evil");
    }
    link(&mut archive, "mine", Kind::Symlink, "../outside");
    file(&mut archive, "mine/file", b"evil");
    directory(&mut archive, "mine", 0o777);
    link(&mut archive, "steal", Kind::HardLink, "out/precious");
    link(&mut archive, "steal2", Kind::HardLink, "../outside/precious");
    file(&mut archive, "steal", b"overwritten");
    let (told, tree) = everywhere(&archive, |place| {
        std::fs::create_dir(place.join("outside")).expect("mkdir");
        std::fs::write(place.join("outside/precious"), b"precious").expect("write");
        std::fs::set_permissions(place.join("outside"), PermissionsExt::from_mode(0o700)).expect("chmod");
        filetime(&place.join("outside/precious"));
        filetime(&place.join("outside"));
        for (target, name) in [("../outside", "root/out"), ("..", "root/up"), ("/", "root/abs")] {
            symlink(target, place.join(name)).expect("symlink");
        }
    });
    assert!(tree.contains(&"outside 700 7".to_owned()), "{tree:?}");
    assert!(
        tree.iter().any(|line| line.starts_with("outside/precious 644 8 bytes") && line.ends_with("links 1 7")),
        "{tree:?}"
    );
    assert_eq!(tree.iter().filter(|line| line.starts_with("outside/")).count(), 1, "{tree:?}");
    assert!(told.iter().filter(|line| line.starts_with('!')).count() >= 9, "{told:?}");
}

fn filetime(path: &Path) {
    let file = std::fs::File::open(path).expect("open");
    let seven = std::time::UNIX_EPOCH + std::time::Duration::from_secs(7);
    file.set_modified(seven).expect("utimens");
}

#[test]
fn modes_of_directories_come_last_and_never_through_links() {
    let mut archive = Vec::new();
    directory(&mut archive, "closed", 0o0);
    file(&mut archive, "closed/a", b"1");
    directory(&mut archive, "read", 0o555);
    directory(&mut archive, "read/sub", 0o500);
    file(&mut archive, "read/sub/b", b"2");
    directory(&mut archive, "twice", 0o700);
    directory(&mut archive, "twice", 0o711);
    let place = tempfile::tempdir().expect("a directory");
    let told = extract_into(place.path(), &archive, From::File, 2, Existing::Replace);
    assert_eq!(told.len(), 7, "{told:?}");
    for (name, mode) in [("closed", 0), ("read", 0o555), ("read/sub", 0o500), ("twice", 0o711)] {
        let status = std::fs::metadata(place.path().join(name)).expect("stat");
        assert_eq!((status.mode() & 0o777, status.mtime()), (mode, 1_000_000_000), "{name}");
    }
}

#[test]
fn what_is_there_is_treated_as_asked() {
    let mut archive = Vec::new();
    file(&mut archive, "old", b"new");
    file(&mut archive, "free", b"new");
    for (existing, content, errors) in [
        (Existing::Replace, &b"new"[..], 0),
        (Existing::Unlink, b"new", 0),
        (Existing::Overwrite, b"new", 0),
        (Existing::Refuse, b"before", 1),
        (Existing::Skip, b"before", 0),
        (Existing::KeepNewer, b"before", 0),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(place.path().join("old"), b"before").expect("write");
        let told = extract_into(place.path(), &archive, From::File, 2, existing);
        assert_eq!(std::fs::read(place.path().join("old")).expect("read"), content, "{existing:?}");
        assert_eq!(std::fs::read(place.path().join("free")).expect("read"), b"new");
        assert_eq!(told.iter().filter(|line| line.starts_with('!')).count(), errors, "{existing:?} {told:?}");
    }
}

/// Made on the way to what is in it, a directory is ours; one that was there before is not.
#[test]
fn a_directory_that_comes_after_its_files_has_its_mode_where_what_was_there_is_kept() {
    let mut archive = Vec::new();
    for path in ["made", "was"] {
        file(&mut archive, &format!("{path}/file"), b"new");
        directory(&mut archive, path, 0o751);
    }
    end_archive(archive.len() as u64, &mut archive);
    let place = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(place.path().join("was")).expect("make");
    std::fs::set_permissions(place.path().join("was"), std::fs::Permissions::from_mode(0o700)).expect("chmod");
    extract_into(place.path(), &archive, From::File, 2, Existing::Skip);
    let mode = |name: &str| std::fs::metadata(place.path().join(name)).expect("there").mode() & 0o777;
    assert_eq!((mode("made"), mode("was")), (0o751, 0o700));
}

#[test]
fn an_archive_that_ends_too_early_leaves_no_half_file() {
    let mut archive = Vec::new();
    file(&mut archive, "whole", b"1");
    file(&mut archive, "half", &vec![1; 3_000_000]);
    archive.truncate(2_500_000);
    let (told, tree) = everywhere(&archive, |_| {});
    assert_eq!(tree.len(), 2, "{tree:?}");
    assert!(told.last().is_some_and(|line| line.starts_with("ended: it ends too early")), "{told:?}");
}

#[test]
fn a_device_needs_rights_and_tells() {
    let mut archive = Vec::new();
    let device = Device { major: 1, minor: 3 };
    add(&mut archive, Member { path: b"null".to_vec(), kind: Kind::CharacterDevice, device, ..Member::default() }, b"");
    let place = tempfile::tempdir().expect("a directory");
    let told = extract_into(place.path(), &archive, From::File, 1, Existing::Replace);
    let is_made = place.path().join("null").exists();
    assert_eq!(is_made, told.len() == 1, "{told:?}");
}

#[test]
fn a_link_to_a_directory_that_a_directory_replaces_leads_nowhere_any_more() {
    let mut archive = Vec::new();
    directory(&mut archive, "real", 0o755);
    link(&mut archive, "s", Kind::Symlink, "real");
    file(&mut archive, "s/one", b"1");
    directory(&mut archive, "s", 0o755);
    file(&mut archive, "s/two", b"2");
    // And the other way round, through a directory that is open.
    link(&mut archive, "s/two", Kind::Symlink, "../real");
    file(&mut archive, "s/two/three", b"3");
    directory(&mut archive, "s/two", 0o755);
    file(&mut archive, "s/two/four", b"4");
    end_archive(archive.len() as u64, &mut archive);
    let (told, tree) = everywhere(&archive, |_| {});
    let names: Vec<&str> = tree.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        names,
        ["root", "root/real", "root/real/one", "root/real/three", "root/s", "root/s/two", "root/s/two/four"],
        "{told:?}"
    );
}

#[test]
fn what_is_told_of_refused_members_gathers_no_further_than_a_block() {
    for (name, count) in [("../x".to_owned(), 5000), (format!("../{}", "x".repeat(20_000)), 100)] {
        let mut archive = Vec::new();
        file(&mut archive, "first", b"data");
        (0..count).for_each(|_| file(&mut archive, &name, b""));
        file(&mut archive, "last", b"data");
        end_archive(archive.len() as u64, &mut archive);
        let blocks: Vec<Vec<u8>> = archive.chunks(64 << 10).map(<[u8]>::to_vec).collect();
        let feed = Feed::Blocks(BlockSource::new(Box::new(blocks.into_iter())));
        let order = Arc::new(Mutex::new(Order::new(There::default())));
        let mut slicer =
            Slicer::new(feed, Rules::default(), (Box::new(Everything), SlicePace::Gathered), order, Arc::default());
        let (mut chunk, mut told) = (ExtractChunk::default(), 0);
        while slicer.cut(&mut chunk).expect("a sound archive") != Cut::End {
            let entries = chunk.entries.get_mut();
            // What else stands in a block with data, and as much as ends a chunk.
            assert!(entries.len() <= 256 && entries.len() * name.len() <= 256 << 10, "{} at once", entries.len());
            told += entries.len();
        }
        assert_eq!(told, count + 2);
        let (said, tree) = everywhere(&archive, |_| {});
        assert_eq!((said.len(), tree.len()), (count + 2, 3), "the root and two files");
    }
}
