//! Hostile archives, at 1, 2 and 64 hands, as root and as a user: nothing outside the target changes, the exit code is defined, memory and
//! time are bounded. Made here, header by header, since no tar would write them. Numbers are those of the list of bad inputs
//! that this engine was designed against (`engines/archive/README.md`).

use crate::place::{Place, said};
use std::fmt::Write as _;
use testkit::program::Exit;

/// A header with a sum, and its data.
fn member(flag: u8, path: &str, link: &str, mode: u32, data: &[u8]) -> Vec<u8> {
    let mut block = vec![0_u8; 512];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, path.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", data.len()).as_bytes());
    put(136, b"07000000000");
    put(148, b"        ");
    put(156, &[flag]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.extend_from_slice(data);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

fn file(path: &str) -> Vec<u8> {
    member(b'0', path, "", 0o644, b"evil")
}

fn symlink(path: &str, to: &str) -> Vec<u8> {
    member(b'2', path, to, 0o777, b"")
}

fn hard_link(path: &str, to: &str) -> Vec<u8> {
    member(b'1', path, to, 0o644, b"")
}

fn folder(path: &str, mode: u32) -> Vec<u8> {
    member(b'5', path, "", mode, b"")
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in records {
        let without = key.len() + value.len() + 3;
        let length = (without + 1..).find(|length| length - length.to_string().len() == without).expect("there is one");
        writeln!(text, "{length} {key}={value}").expect("a string");
    }
    member(b'x', "pax", "", 0o644, text.as_bytes())
}

/// A case: its number and name, its members, and the exit code.
type Case = (&'static str, Vec<Vec<u8>>, i32);

fn cases() -> Vec<Case> {
    let smuggled = file("smuggled");
    vec![
        ("01 absolute names", vec![file("/abs"), file("//abs2"), file("///./abs3")], 0),
        (
            "02 names that lead up",
            vec![file("../up"), file("some/../../up"), file(".."), file("/.."), file("././//./..")],
            2,
        ),
        ("03 names of nothing", vec![file(""), file("/"), file("./.")], 2),
        ("04 a link out and a file through it", vec![symlink("out", "../outside"), file("out/file")], 2),
        ("05 a link that was there before", vec![file("before/file")], 2),
        ("06 a link, then a folder of its name", vec![symlink("x", "../outside"), folder("x", 0o777)], 0),
        ("07 a folder, then a link of its name", vec![folder("x", 0o777), symlink("x", "../outside")], 0),
        (
            "08 hard links out, then data",
            vec![hard_link("l", "../outside/precious"), hard_link("m", "before/precious"), file("l"), file("m")],
            2,
        ),
        ("09 a hard link to a link", vec![symlink("s", "../outside/precious"), hard_link("h", "s"), file("h")], 0),
        (
            "10 hard links to nothing and to themselves",
            vec![hard_link("a", "a"), hard_link("b", "later"), file("later")],
            2,
        ),
        (
            "12 links through links",
            vec![folder("a", 0o755), symlink("a/b", ".."), symlink("c", "a/b/.."), file("c/outside/x")],
            2,
        ),
        (
            "13 two sizes",
            vec![pax(&[("size", "1024")]), member(b'0', "f", "", 0o644, b""), smuggled.clone(), smuggled.clone()],
            0,
        ),
        (
            "16 two names",
            vec![pax(&[("path", "pax")]), member(b'L', "././@LongLink", "", 0o644, b"gnu\0"), file("s")],
            0,
        ),
        ("19 records before the end", vec![file("a"), pax(&[("path", "x")])], 2),
        ("20 records that are none", vec![member(b'x', "pax", "", 0o644, b"99 path=x\n"), file("a"), file("b")], 2),
        ("21 numbers that are none", vec![pax(&[("size", "-1")]), file("a"), pax(&[("mtime", "+5")]), file("b")], 2),
        ("24 an unknown type", vec![member(b'Q', "q", "", 0o644, b"data"), file("a")], 0),
        (
            "29 maps of holes that overlap",
            vec![
                pax(&[("GNU.sparse.size", "99"), ("GNU.sparse.numblocks", "2"), ("GNU.sparse.map", "0,2,1,2")]),
                file("s"),
            ],
            2,
        ),
        (
            "30 a map of holes without end",
            vec![pax(&[("GNU.sparse.size", "99"), ("GNU.sparse.numblocks", "99999999")]), file("s")],
            2,
        ),
        ("36 an old folder", vec![member(0, "old/", "", 0o755, b"")], 0),
        (
            "37 one path, many kinds",
            (0..50)
                .flat_map(|_| {
                    [file("p"), symlink("p", "../outside"), folder("p", 0o700), hard_link("p", "q"), file("q")]
                })
                .collect(),
            2,
        ),
        ("39 folders that nobody may enter", vec![folder("d", 0), file("d/a"), folder("e", 0o555), file("e/b")], 0),
        ("40 set-id bits", vec![member(b'0', "suid", "", 0o6755, b"x")], 0),
        ("42 what is there is a link", vec![file("precious-link"), file("fifo")], 0),
        (
            "45 links in a chain, deep folders",
            (0..60)
                .map(|at| symlink(&format!("l{at}"), &format!("l{}", at + 1)))
                .chain([file("l0/x"), file(&"d/".repeat(45).as_str()[..89])])
                .collect(),
            2,
        ),
        ("47 names that steer terminals", vec![file("\x1b[2J\x07name")], 0),
    ]
}

const PREPARE: &str = "rm -rf box; mkdir -p box/target box/outside; echo precious > box/outside/precious
chmod 700 box/outside; touch -d @7 box/outside/precious box/outside
ln -s ../outside box/target/before; ln -s ../outside/precious box/target/precious-link; mkfifo box/target/fifo";

const OUTSIDE: &str = "cd box; find outside -printf '%p %y %m %U %s %T@ %n %l\\n' | sort; cat outside/precious; ls; ls /abs /abs2 /abs3 /up 2> /dev/null || true";

#[test]
fn nothing_outside_the_target_changes() {
    let place = Place::new();
    for (name, members, code) in cases() {
        let archive = [members.concat(), vec![0; 1024]].concat();
        place.write("bad.tar", &archive);
        let before = place.shell(&format!("{PREPARE}; {OUTSIDE}")).stdout_of_success();
        let mut trees = Vec::new();
        for how in [
            "xf bad.tar --hands 1",
            "xf bad.tar --hands 2",
            "xf bad.tar --hands 64",
            "x --hands 2 < bad.tar",
            "xpf bad.tar -k",
            "xf bad.tar --overwrite",
            "xf bad.tar --untrusted",
        ] {
            place.shell(PREPARE).stdout_of_success();
            let ran = place.shell(&format!("timeout 20 $mh tar {how} -C box/target"));
            let usual = how.starts_with("xf bad.tar --hands") || how.starts_with("x --");
            let is_defined = if usual { ran.exit == Exit::Code(code) } else { matches!(ran.exit, Exit::Code(0 | 2)) };
            assert!(is_defined, "{name}: {how}: {:?}: {}", ran.exit, said(&ran));
            assert!(!said(&ran).contains('\x1b'), "{name}: {how}");
            let after = place.shell(OUTSIDE).stdout_of_success();
            assert_eq!(String::from_utf8_lossy(&before), String::from_utf8_lossy(&after), "{name}: {how}");
            if usual {
                let list =
                    "cd box/target; find . -type d -printf '%p %y %m\\n' -o -printf '%p %y %m %s %n %l\\n' | sort";
                trees.push(place.shell(list).stdout_of_success());
            }
        }
        assert!(trees.windows(2).all(|pair| pair[0] == pair[1]), "{name}: the same tree for any number of hands");
    }
}

#[test]
fn strangers_get_less() {
    let place = Place::new();
    let device = member(b'3', "dev", "", 0o666, b"");
    let bad =
        [symlink("abs", "/etc"), symlink("up", "../x"), device, member(b'0', "suid", "", 0o6755, b"x"), file("good")];
    place.write("bad.tar", [bad.concat(), vec![0; 1024]].concat());
    let ran = place.shell("mkdir t; $mh tar xpf bad.tar -C t --untrusted; find t ! -name t -printf '%P %m\\n' | sort");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "good 644\nsuid 755\n", "{}", said(&ran));
    let mixed = [pax(&[("path", "pax")]), member(b'L', "l", "", 0o644, b"gnu\0"), file("s"), file("good")];
    place.write("mixed.tar", [mixed.concat(), vec![0; 1024]].concat());
    let ran = place.shell("mkdir u; $mh tar xf mixed.tar -C u --untrusted; echo $?; ls u");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\ngood\n", "{}", said(&ran));
}

#[test]
fn a_full_disk_is_told_and_half_a_file_does_not_stay() {
    let place = Place::new();
    let made = place.shell("mkdir m t; mount -t tmpfs -o size=2m none m 2> /dev/null && echo mounted");
    if made.stdout != b"mounted\n" {
        return testkit::program::left_out("no right to mount a small file system");
    }
    let script = "head -c 1500000 /dev/zero > t/a; head -c 1500000 /dev/zero > t/b; $mh tar cf t.tar -C t a b
        $mh tar xf t.tar -C m; echo $?; ls m | wc -l; umount m";
    let ran = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n1\n", "{}", said(&ran));
    assert!(said(&ran).contains("No space left on device"), "{}", said(&ran));
}
