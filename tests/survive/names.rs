//! Names of every byte, names as long as may be, and paths longer than the kernel takes, against GNU tar.

use super::{WIDTHS, python, succeeds};
use crate::place::Place;
use testkit::program::{TestProgram, left_out};

/// A directory of names: each byte alone, in the middle and doubled; 255 bytes of several kinds; and directories until a path has more than 9000 bytes.
const MADE: &str = r#"
import os
os.mkdir('src'); os.chdir('src')
for byte in range(1, 256):
    c = bytes([byte])
    if c == b'/': continue
    for name in (b'f' + c, c + b'f', b'f' + c + b'\n' + c):
        if name in (b'.', b'..'): continue
        open(name, 'w').write(str(byte))
    os.makedirs(b'directory' + c); os.symlink(b'to' + c, b'link' + c); os.link(b'f' + c, b'hard' + c)
for c in (b'x', b'\xff', '\u00e4'.encode(), b'\n'):
    name = (c * 255)[:255]
    if c != b'\n': open(name, 'w').write('long')
    os.makedirs(name[:254] + b'd')
os.chdir(b'directoryx')
for i in range(40): os.mkdir(b'%03d' % i + b'\xe9' * 240); os.chdir(b'%03d' % i + b'\xe9' * 240)
open(b'deep\t', 'w').write('at the end')
"#;

/// What a tree holds, by descriptors: paths are too long to be opened.
const LISTED: &str = r#"
import os, sys
def walk(fd, at, out):
    for name in sorted(os.listdir(fd)):
        name = os.fsencode(name); s = os.stat(name, dir_fd=fd, follow_symlinks=False); kind = s.st_mode >> 12
        what = b''
        if kind == 10: what = os.readlink(name, dir_fd=fd)
        if kind == 8:
            f = os.open(name, os.O_RDONLY, dir_fd=fd); what = os.read(f, 100); os.close(f)
        out.append((at + b'/' + name, kind, s.st_nlink if kind == 8 else 0, what))
        if kind == 4:
            d = os.open(name, os.O_RDONLY, dir_fd=fd); walk(d, at + b'/' + name, out); os.close(d)
def tree(name):
    out = []; fd = os.open(name, os.O_RDONLY); walk(fd, b'', out); os.close(fd); return out
"#;

#[test]
fn names_of_every_byte_and_of_every_length_are_kept() {
    let place = Place::new();
    if python(&place, MADE).is_none() {
        return;
    }
    let same = |one: &str, other: &str| {
        let program = format!(
            "{LISTED}\na, b = tree('{one}'), tree('{other}')\nprint(len(a), a == b, [x for x in a if x not in b][:3])"
        );
        let said = python(&place, &program).expect("there is a Python");
        assert!(said.contains(" True "), "{one} and {other}: {said}");
        assert!(
            said.split(' ').next().and_then(|count| count.parse::<u32>().ok()).is_some_and(|count| count > 1500),
            "{said}"
        );
    };
    for hands in WIDTHS {
        for format in ["pax", "gnu"] {
            succeeds(
                &place,
                &format!(
                    "mkdir x; $mh tar --format={format} -cf m.tar src --hands {hands}; $mh tar -xf m.tar -C x --hands {hands}"
                ),
            );
            same("src", "x/src");
            succeeds(
                &place,
                &format!(
                    "$mh rm -r -j {hands} x; $mh tar --zstd --format={format} -cf m.tar.zst src; mkdir x; $mh tar -xf m.tar.zst -C x --hands {hands}; test $($mh tar -tf m.tar.zst | wc -l) = $($mh tar -tf m.tar | wc -l)"
                ),
            );
            same("src", "x/src");
            succeeds(&place, &format!("$mh rm -r -j {hands} x"));
        }
        succeeds(&place, &format!("$mh cp -a -j {hands} src copy"));
        same("src", "copy");
        succeeds(&place, &format!("$mh rm -r -j {hands} copy; test ! -e copy"));
    }
    if TestProgram::find("tar").is_none() {
        return left_out("tar is not installed");
    }
    for format in ["pax", "gnu"] {
        // GNU tar does not come out of such depths with what it reads: lists and archives are compared, and what it makes is extracted here.
        succeeds(
            &place,
            &format!(
                "tar --format={format} -cf t.tar src; mkdir x; $mh tar -xf t.tar -C x; $mh tar --format={format} -cf m.tar src"
            ),
        );
        same("src", "x/src");
        succeeds(
            &place,
            "$mh rm -r x; for a in t m; do tar -tf $a.tar --quoting-style=escape | sort > $a.theirs; $mh tar -tf $a.tar | sort > $a.ours; cmp $a.theirs $a.ours; done; cmp t.ours m.ours",
        );
    }
    succeeds(&place, "$mh rm -r src");
}
