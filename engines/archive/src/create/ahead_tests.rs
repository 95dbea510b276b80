//! The walk beside hands that look ahead: the same members in the same order whoever looked at them, nothing left counted.

use super::*;
use crate::create::walk::Walk;
use crate::create::{Choice, Links, Operand, Told};
use crew::pipeline::CutTurn;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Directories in directories with files and links before, between and behind them.
fn tree() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    let inner = place.path().join("d/e");
    for directory in [place.path(), &place.path().join("d"), &inner, &place.path().join("m")] {
        fs::create_dir_all(directory).expect("mkdir");
        for number in 0..70 {
            fs::write(directory.join(format!("c{number}")), vec![1; number]).expect("write");
            fs::write(directory.join(format!("z{number}")), vec![2; number]).expect("write");
        }
        std::os::unix::fs::symlink("c1", directory.join("f")).expect("link");
    }
    place
}

/// Names and sizes of the members of `place`; `meanwhile` comes before each.
fn walked(place: &Path, ahead: &Ahead, meanwhile: impl FnMut(&Look<'_>)) -> Vec<(Vec<u8>, u64)> {
    walked_with(&Choice::default(), place, ahead, meanwhile)
}

fn walked_with(
    choice: &Choice,
    place: &Path,
    ahead: &Ahead,
    mut meanwhile: impl FnMut(&Look<'_>),
) -> Vec<(Vec<u8>, u64)> {
    let look = Look { choice, ahead };
    let operand = Operand {
        directory: Arc::new(File::open(place).expect("open").into()),
        name: b".".to_vec(),
        depth: Default::default(),
        scope: Default::default(),
        listing: None,
    };
    let mut walk = Walk::new(choice, ahead, vec![operand]);
    let (mut members, mut told) = (Vec::new(), Told::new());
    loop {
        meanwhile(&look);
        let Some(found) = walk.next(&mut told, &mut CutTurn::with_a_hand(), &|_, _| true) else { break };
        members.push((found.member.path, found.member.size));
    }
    assert!(told.is_empty(), "{told:?}");
    members
}

fn assert_nothing_is_counted(ahead: &Ahead) {
    for count in [&ahead.open, &ahead.looked, &ahead.looked_kib, &ahead.listed, &ahead.unclaimed] {
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn the_order_is_the_same_whoever_looked() {
    let place = tree();
    let alone = walked(place.path(), &Ahead::new(false, 1000), |_| ());
    assert_eq!(alone.len(), 4 * 142);
    for looks in 1..5 {
        let ahead = Ahead::new(true, 1000);
        let mut ahead_most = 0;
        let members = walked(place.path(), &ahead, |look| {
            for _ in 0..looks {
                ahead.look(look);
            }
            ahead_most = ahead_most.max(ahead.looked.load(Ordering::Relaxed));
        });
        assert_eq!(members, alone, "{looks} looks");
        assert!(ahead_most > 100, "{ahead_most}");
        assert_nothing_is_counted(&ahead);
    }
}

#[test]
fn a_directory_behind_a_link_comes_before_what_stands_behind_the_link() {
    let place = tempfile::tempdir().expect("a directory");
    for directory in ["x", "a"] {
        fs::create_dir(place.path().join(directory)).expect("mkdir");
    }
    for name in ["x/in", "a/f", "a/z"] {
        fs::write(place.path().join(name), b"1").expect("write");
    }
    std::os::unix::fs::symlink("../x", place.path().join("a/m")).expect("link");
    let choice = Choice { links: Links::Followed, ..Choice::default() };
    let members = walked_with(&choice, place.path(), &Ahead::new(false, 1000), |_| ());
    let names: Vec<_> = members.iter().map(|(path, _)| String::from_utf8_lossy(path)).collect();
    assert_eq!(names, ["./", "./a/", "./a/f", "./a/m/", "./a/m/in", "./a/z", "./x/", "./x/in"]);
}

#[test]
fn threads_that_look_ahead_change_nothing() {
    let place = tree();
    let alone = walked(place.path(), &Ahead::new(false, 1000), |_| ());
    for open_max in [1000, 40] {
        let (ahead, is_over, choice) = (Ahead::new(true, open_max), AtomicBool::new(false), Choice::default());
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        if ahead.has_some() {
                            ahead.look(&Look { choice: &choice, ahead: &ahead });
                        }
                        std::thread::yield_now();
                    }
                });
            }
            for _ in 0..20 {
                assert_eq!(walked(place.path(), &ahead, |_| ()), alone);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_nothing_is_counted(&ahead);
    }
}

#[test]
fn a_claim_that_came_to_nothing_is_looked_at_by_the_walk() {
    let place = tree();
    let alone = walked(place.path(), &Ahead::new(false, 1000), |_| ());
    let ahead = Ahead::new(true, 1000);
    assert_eq!(walked(place.path(), &ahead, |_| drop(ahead.claim())), alone);
    assert_nothing_is_counted(&ahead);
}

#[test]
fn what_was_looked_at_too_long_ago_is_looked_at_again() {
    let place = tree();
    let ahead = Ahead::new(true, 1000);
    let mut steps = 0;
    let members = walked(place.path(), &ahead, |look| {
        steps += 1;
        if steps == 2 {
            for _ in 0..3 {
                ahead.look(look);
            }
            fs::write(place.path().join("c69"), b"now it is another").expect("write");
            std::thread::sleep(FRESH);
        }
    });
    assert!(members.contains(&(b"./c69".to_vec(), 17)));
    assert_nothing_is_counted(&ahead);
}

#[test]
fn a_directory_with_very_many_names_is_read_in_its_turn() {
    let place = tempfile::tempdir().expect("a directory");
    let many = place.path().join("many");
    fs::create_dir(&many).expect("mkdir");
    fs::write(place.path().join("one"), b"1").expect("write");
    (0..17_000).for_each(|number| drop(File::create(many.join(format!("{number:05}"))).expect("create")));
    let (ahead, mut ahead_most) = (Ahead::new(true, 1000), 0);
    let members = walked(place.path(), &ahead, |look| {
        for _ in 0..2 {
            ahead.look(look);
        }
        ahead_most = ahead_most.max(ahead.looked.load(Ordering::Relaxed));
        assert!(ahead.listed.load(Ordering::Relaxed) < 3);
    });
    assert!(ahead_most > 100, "{ahead_most}");
    assert_eq!(members.len(), 17_003);
    assert!(members.is_sorted_by_key(|(path, _)| path.clone()));
    assert_nothing_is_counted(&ahead);
}
