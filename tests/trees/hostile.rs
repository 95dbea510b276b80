//! Trees that are deep, wide, or under attack: somebody renames directories and puts links in their place while we work.

use super::{WIDTHS, succeeds};
use crate::place::{Place, said};
use crate::swaps;
use std::os::unix::fs::symlink;
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
fn a_flat_directory_is_copied_and_removed_by_all_hands() {
    let place = Place::new();
    succeeds(&place, "mkdir src; cd src; seq 1 20000 | xargs touch; for i in $(seq 1 500); do echo $i > $i; done");
    for width in WIDTHS {
        succeeds(&place, &format!("$mh cp -r -j {width} src copy && diff -r src copy && $mh rm -r -j {width} copy"));
        assert!(!place.has("copy"));
    }
}

/// Runs `work` thirty times while `tree/a` is, by turns, a directory and a link to `outside`.
fn while_swapped(place: &Place, work: impl FnMut(u32)) {
    swaps::while_swapped(place, "tree/a", |_| (0..30).for_each(work));
}

#[test]
fn nothing_outside_is_removed_whoever_swaps_a_directory_for_a_link() {
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
    // The shell above may have gone through the link and made directories there; nobody removes anything.
    let left = crate::place::names_in(&place.path("outside"));
    assert_eq!(left.iter().filter(|name| name.starts_with("precious")).count(), 200);
    let below: Vec<_> = left.iter().filter(|name| !name.starts_with("precious")).collect();
    assert!(below.iter().all(|name| place.has(format!("outside/{name}/c"))), "{below:?}");
}

#[test]
fn nothing_outside_is_written_whoever_swaps_a_directory_for_a_link() {
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
