//! Trees that are deep, wide, or under attack: somebody renames folders and puts links in their place while we work.

use super::{WIDTHS, succeeds};
use crate::place::{Place, said};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::program::Exit;

/// LIMIT: deeper than any path may be long, and than descriptors are allowed below.
const DEEP: u32 = 20_000;

fn deep(place: &Place, name: &str) {
    let make = format!(
        "python3 -c \"import os\nos.mkdir('{name}'); os.chdir('{name}')\nfor i in range({DEEP}):\n os.mkdir('d'); os.chdir('d')\n if i % 500 == 0: open('f', 'w').write('x')\""
    );
    succeeds(place, &make);
}

#[test]
fn a_chain_deeper_than_descriptors_and_paths_is_copied_and_removed() {
    let place = Place::new();
    deep(&place, "src");
    let count = "python3 -c \"import os\nos.chdir('copy'); n = 0\nwhile os.path.isdir('d'):\n os.chdir('d'); n += os.path.exists('f') and 1\nprint(n)\"";
    let ends = WIDTHS.map(|width| {
        let copied = place.shell(&format!("ulimit -n 150; $mh cp -a -j {width} src copy"));
        let counted = place.shell(count);
        let removed = place.shell(&format!("ulimit -n 150; $mh rm -r -j {width} copy"));
        (copied.exit, said(&copied), counted.stdout, removed.exit, said(&removed), place.has("copy"))
    });
    // The library's own clean-up calls itself once a level.
    succeeds(&place, "rm -rf src copy");
    for end in ends {
        assert_eq!(end, (Exit::Code(0), String::new(), b"40\n".to_vec(), Exit::Code(0), String::new(), false));
    }
}

#[test]
fn a_flat_folder_is_copied_and_removed_by_all_hands() {
    let place = Place::new();
    succeeds(&place, "mkdir src; cd src; seq 1 20000 | xargs touch; for i in $(seq 1 500); do echo $i > $i; done");
    for width in WIDTHS {
        succeeds(&place, &format!("$mh cp -r -j {width} src copy && diff -r src copy && $mh rm -r -j {width} copy"));
        assert!(!place.has("copy"));
    }
}

/// Has `tree/a` by turns a folder and a link to `outside`, each step one exchange, so that something is there at any time. Whoever works on
/// the tree may take either away: then there are new ones.
fn swap(place: &Place, stop: &AtomicBool, swaps: &AtomicU64) {
    let (at, beside) = (place.path("tree/a"), place.path("beside"));
    let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    while !stop.load(Ordering::Relaxed) {
        if !is_link(&at) && !is_link(&beside) {
            // A folder of theirs came back without its link, or nothing is there yet.
            let _none_yet = std::fs::remove_dir_all(&beside);
            let _still_there = symlink(place.path("outside"), &beside);
        }
        match renameat_with(CWD, &at, CWD, &beside, RenameFlags::EXCHANGE) {
            Ok(()) if is_link(&at) || is_link(&beside) => _ = swaps.fetch_add(1, Ordering::Relaxed),
            Ok(()) => {}
            // They have taken one away and not made the other yet.
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// Runs `work` again and again while `tree/a` is, by turns, a folder and a link to `outside`.
fn while_swapped(place: &Place, mut work: impl FnMut(u32)) {
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| swap(place, &stop, &swaps));
        // A failure must end the other thread too.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..30 {
                work(round);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(swaps.into_inner() > 0, "nothing was swapped");
}

#[test]
fn nothing_outside_is_removed_whoever_swaps_a_folder_for_a_link() {
    let place = Place::new();
    for number in 0..200 {
        place.write(format!("outside/precious{number}"), "x");
    }
    while_swapped(&place, |round| {
        let width = WIDTHS[round as usize % 3];
        place.shell("for i in 1 2 3 4 5; do mkdir -p tree/a/b$i/c; touch tree/a/precious$i tree/a/b$i/precious7 tree/a/b$i/c/x; done 2>/dev/null");
        // What it could not remove it says; it may.
        place.shell(&format!("$mh rm -rf -j {width} tree"));
    });
    // The shell above may have gone through the link and made folders there; nobody removes anything.
    let left = crate::place::names_in(&place.path("outside"));
    assert_eq!(left.iter().filter(|name| name.starts_with("precious")).count(), 200);
    let below: Vec<_> = left.iter().filter(|name| !name.starts_with("precious")).collect();
    assert!(below.iter().all(|name| place.has(format!("outside/{name}/c"))), "{below:?}");
}

#[test]
fn nothing_outside_is_written_whoever_swaps_a_folder_for_a_link() {
    let place = Place::new();
    place.write("outside/kept", "as it was");
    for number in 0..200 {
        place.write(format!("src/a/file{number}"), "new").write("src/a/kept", "new");
    }
    std::fs::create_dir_all(place.path("tree/a")).expect("made");
    while_swapped(&place, |round| {
        let width = WIDTHS[round as usize % 3];
        place.shell(&format!("$mh cp -aT -j {width} src tree"));
    });
    assert_eq!(crate::place::names_in(&place.path("outside")), ["kept"]);
    assert_eq!(place.read("outside/kept"), b"as it was");
}

#[test]
fn a_link_found_in_the_target_is_replaced_and_not_written_through() {
    let place = Place::new();
    place.write("src/file", "new").write("outside", "as it was").write("dst/x", "");
    symlink(place.path("outside"), place.path("dst/file")).expect("linked");
    succeeds(&place, "$mh cp -rT src dst");
    assert_eq!(place.read("outside"), b"as it was");
    assert_eq!(place.read("dst/file"), b"new");
}
