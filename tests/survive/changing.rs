//! Trees that change while they are read: what GNU's tools do about it, and never a panic, a hang, or an archive that cannot be read.

use super::{WIDTHS, is_no_panic, python, succeeds};
use crate::place::{Place, said};
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::program::{TestProgram, left_out};

/// Holds an archive back in its pipe while the tree behind what was read changes, and says the exit code and what became of the archive. The first
/// file is larger than all that is read ahead.
const HELD_BACK: &str = r#"
import os, shutil, subprocess, tempfile
def tree():
    shutil.rmtree('t', ignore_errors=True); os.makedirs('t/zd/sub'); os.makedirs('t/z_tofile/x'); os.makedirs('t/z_gone_directory')
    open('t/a_big', 'wb').truncate(40 << 20)
    for name in ('z_gone', 'z_stays', 'z_todirectory'): open('t/' + name, 'wb').write(b'1234567890' * 1000)
    for name in ('zd/sub/f', 'z_tofile/x/y'): open('t/' + name, 'w').write('in it')
def gone(): os.unlink('t/z_gone')
def gone_directory(): os.rmdir('t/z_gone_directory')
def renamed(): os.rename('t/zd', 't/renamed')
def to_directory(): os.unlink('t/z_todirectory'); os.mkdir('t/z_todirectory'); open('t/z_todirectory/in', 'w').write('x')
def to_file(): shutil.rmtree('t/z_tofile'); open('t/z_tofile', 'w').write('now a file')
def grown(): open('t/a_big', 'ab').write(b'more')
def shrunk(): os.truncate('t/a_big', 36 << 20)
def unlinked(): os.unlink('t/a_big')
def added(): open('t/zz_new', 'w').write('x')
def nothing(): pass
def run(command, change):
    tree()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open('said', 'wb'))
    first = child.stdout.read(1 << 20)
    change()
    archive = first + child.stdout.read()
    code = child.wait(60)
    sound = subprocess.run(['tar', 'xOf', '-', 't/z_stays'], input=archive, capture_output=True)
    assert sound.returncode == 0 and sound.stdout == b'1234567890' * 1000, (command, change, sound)
    lines = open('said', 'rb').read()
    assert b'panicked' not in lines and lines.count(b'\n') <= 3, lines
    return code
for change in (nothing, gone, gone_directory, renamed, to_directory, to_file, grown, shrunk, unlinked, added):
    expected = run(['tar', '--sort=name', '-cf', '-', 't'], change)
    for hands in ('1', '2', '64'):
        code = run([os.environ['mh'], 'tar', '-cf', '-', 't', '--hands', hands, '--memory', '8M'], change)
        print(change.__name__, hands, 'as GNU tar' if code == expected else (code, expected))
"#;

#[test]
fn what_changes_while_it_is_archived_has_the_exit_code_that_gnu_tar_has() {
    if TestProgram::find("tar").is_none() {
        return left_out("tar is not installed");
    }
    let place = Place::new();
    let Some(said) = python(&place, HELD_BACK) else { return };
    assert_eq!(said.lines().count(), 30);
    assert!(said.lines().all(|line| line.ends_with("as GNU tar")), "{said}");
}

/// Changes everything in `tree/moving` again and again while `work` runs, `rounds` times.
fn while_changing(place: &Place, rounds: usize, mut work: impl FnMut(usize)) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (at, stop) = (place.path("tree/moving"), &stop);
            scope.spawn(move || {
                let mut numbers = testkit::random::Random::seeded(worker);
                while !stop.load(Ordering::Relaxed) {
                    let directory = at.join(format!("d{}", numbers.below(10)));
                    let (one, other) =
                        (directory.join(numbers.below(9).to_string()), directory.join(numbers.below(9).to_string()));
                    // Whatever is in the way of a change makes it fail: then another comes.
                    let _may_fail = match numbers.below(9) {
                        0 => std::fs::create_dir_all(&one),
                        1 | 2 => std::fs::write(&one, vec![7; numbers.below(300_000)]),
                        3 => std::fs::File::options()
                            .write(true)
                            .open(&one)
                            .and_then(|file| file.set_len(numbers.below(100_000) as u64)),
                        4 => std::fs::remove_file(&one),
                        5 => std::fs::rename(&one, &other),
                        6 => std::fs::remove_dir_all(&one),
                        7 => std::os::unix::fs::symlink("nowhere", &one),
                        _ => std::fs::rename(&directory, at.join(format!("d{}", numbers.below(10)))),
                    };
                }
            });
        }
        (0..rounds).for_each(&mut work);
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn whatever_changes_all_that_does_not_is_archived_copied_and_stays() {
    let place = Place::new();
    for number in 0..300 {
        place.write(format!("tree/still/{}/{number}", number / 50), format!("still {number}").repeat(number * 20));
    }
    place.write("tree/moving/x", "");
    while_changing(&place, 18, |round| {
        let hands = WIDTHS[round % 3];
        let ran = place.shell(&format!("$mh tar -cf a.tar tree --hands {hands}"));
        assert!(is_no_panic(&ran), "{}", said(&ran));
        succeeds(
            &place,
            "rm -rf x; mkdir x; $mh tar -xf a.tar -C x tree/still; diff -r tree/still x/tree/still; $mh tar -tf a.tar > list",
        );
        if TestProgram::find("tar").is_some() {
            succeeds(&place, "tar -tf a.tar --quoting-style=escape | cmp - list");
        }
        let ran = place.shell(&format!("$mh cp -a -j {hands} tree copy"));
        assert!(is_no_panic(&ran), "{}", said(&ran));
        succeeds(&place, "diff -r tree/still copy/still; rm -rf copy");
        let ran = place.shell(&format!("$mh rm -rf -j {hands} tree/moving; mkdir -p tree/moving"));
        assert!(is_no_panic(&ran), "{}", said(&ran));
    });
}
