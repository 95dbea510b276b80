//! Extraction while somebody swaps a directory of the target for a link that leads out, without end: nothing outside is made, changed or
//! removed. That the link stood in the way is shown by the refusals it caused, and by what `-P`, which follows links, does there.

use super::tools;
use crate::place::{Place, said, wait_until};
use crate::swaps::while_swapped;
use std::sync::atomic::Ordering;
use testkit::program::Exit;

/// A tree below `a` of many directories, each of which is a race; what stands outside has the same names, so that a way out would be
/// taken. `plain.tar` names the directory that is swapped nowhere, `directories.tar` does.
const TREE: &str = r"
umask 022; mkdir -p src/a outside target/a
for d in $(seq 40); do mkdir -p src/a/d$d/e; for f in 1 2 3; do echo new > src/a/d$d/f$f; done; echo new > src/a/d$d/e/g
  ln -s f1 src/a/d$d/link; ln src/a/d$d/f2 src/a/d$d/hard; chmod 750 src/a/d$d/e; done
echo new > src/a/kept
for d in $(seq 20); do mkdir -p outside/d$d/e; echo old > outside/d$d/f1; done; echo old > outside/kept
chmod -R go-rwx outside; find outside | xargs touch -h -d @7
cd src; $mh tar -cf ../directories.tar a; $mh tar -cf ../plain.tar a/d* a/kept; cd ..
for name in plain directories; do $mh tamp -c < $name.tar > $name.tar.zst; done";

/// All that there is to see of what must stay.
fn outside(place: &Place) -> String {
    let list = "find outside -printf '%p %y %m %U %s %n %T@ %l\n' | sort; find outside -type f | sort | xargs cat";
    String::from_utf8_lossy(&place.shell(list).stdout_of_success()).into_owned()
}

fn place() -> Place {
    let place = Place::new();
    place.shell(TREE).stdout_of_success();
    place
}

/// One extraction. Whether the link was in its way, by what it told.
fn met_the_link(place: &Place, arguments: &str) -> bool {
    let ran = place.shell(&format!("$mh tar -x -C target {arguments}"));
    let told = said(&ran);
    assert!(matches!(ran.exit, Exit::Code(0 | 2)) && !told.contains("panicked"), "{arguments}: {told}");
    assert_eq!(ran.exit == Exit::Code(0), told.is_empty(), "{arguments}: {told}");
    told.contains("leads outside the target directory through a link")
}

#[test]
fn nothing_outside_is_written_whoever_swaps_a_directory_for_a_link() {
    let place = place();
    let before = outside(&place);
    while_swapped(&place, "target/a", |swaps| {
        for archive in
            ["-f plain.tar", "-f plain.tar.zst", "-f directories.tar", "-f directories.tar.zst", "< plain.tar"]
        {
            for options in ["", "--overwrite", "--keep-directory-symlink", "-U", "-p --untrusted"] {
                for hands in [1, 2, 64] {
                    let first = swaps.load(Ordering::Relaxed);
                    met_the_link(&place, &format!("{options} --hands {hands} {archive}"));
                    wait_until("a swap", || swaps.load(Ordering::Relaxed) > first + 1);
                }
                assert_eq!(outside(&place), before, "{options} {archive}");
            }
        }
        // Each width has met the link, however long that takes.
        for hands in [1, 2, 64] {
            for archive in ["-f plain.tar", "-f plain.tar.zst"] {
                wait_until("a link in the way", || met_the_link(&place, &format!("--hands {hands} {archive}")));
            }
        }
        assert_eq!(outside(&place), before);
    });
}

#[test]
fn who_follows_links_is_led_out_by_the_same_swaps() {
    let place = place();
    let before = outside(&place);
    while_swapped(&place, "target/a", |_| {
        // Else the test above could not fail.
        wait_until("a way out that -P takes", || {
            met_the_link(&place, "-P -f plain.tar");
            outside(&place) != before
        });
    });
    if !tools(&["bsdtar"]) {
        return;
    }
    let place = self::place();
    while_swapped(&place, "target/a", |_| {
        wait_until("a way out that bsdtar -P takes", || {
            place.shell("bsdtar -xPf plain.tar -C target");
            outside(&place) != before
        });
    });
}
