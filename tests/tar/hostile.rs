//! The corpus of bad archives (`tests/tar/corpus/`, each file with its reason), at 1, 2 and 64 hands, from files and pipes, in sandboxes, as root
//! and as a user: nothing outside the target changes, what is left and what is told stands beside each. `MH_CORPUS_WRITE=1 cargo test -p
//! acceptance tar::hostile` writes files, what they come to and the README's table; read the diff.

use crate::place::{Place, is_long, names_in, said};
use crate::survive::sandboxed::can_be_sandboxed;
use crate::tar::made::{CIRCUMSTANCES, Case, cases, file, hard_link, member, pax, symlink};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tar/corpus")
}

/// LIMIT: what is committed stays small.
const FILE_BYTES_MAX: usize = 80 << 10;

fn writes() -> bool {
    std::env::var_os("MH_CORPUS_WRITE").is_some_and(|value| value == "1")
}

/// The files of a case: one archive, or several to be extracted one after the other.
fn files(case: &Case) -> Vec<(String, &[u8])> {
    let name = |at: usize| match case.archives.len() {
        1 => format!("{}.tar", case.name),
        _ => format!("{}.{}.tar", case.name, at + 1),
    };
    case.archives.iter().enumerate().map(|(at, archive)| (name(at), archive.as_slice())).collect()
}

fn expected(case: &Case) -> String {
    format!("{}.expected", case.name)
}

#[test]
fn the_files_are_what_their_makers_make_and_the_readme_gives_each_its_reason() {
    let cases = cases();
    let readme = directory().join("README.md");
    let text = fs::read_to_string(&readme).expect("the corpus has a README");
    let (intro, _) = text.split_once("| archive |").expect("the README has a table");
    let mut written = format!("{intro}| archive | why |\n|---|---|\n");
    let mut names = vec!["README.md".to_owned()];
    for case in &cases {
        writeln!(written, "| {} | {} |", case.name, case.why).expect("a string");
        names.push(expected(case));
        for (name, archive) in files(case) {
            if writes() {
                fs::write(directory().join(&name), archive).expect("the corpus can be written");
            }
            let committed = fs::read(directory().join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(committed == archive, "{name} is not what its maker makes");
            assert!(committed.len() <= FILE_BYTES_MAX, "{name} is too large");
            names.push(name);
        }
    }
    written.push_str(&circumstances());
    if writes() {
        fs::write(&readme, &written).expect("the README can be written");
    }
    names.sort_unstable();
    assert!(writes() || names_in(&directory()) == names, "every file has a maker, and every name is used once");
    assert!(fs::read_to_string(&readme).expect("it was read before") == written, "the README's table is out of date");
}

/// Their table: each with the tests that make it happen, which must be there.
fn circumstances() -> String {
    let mut table = String::from(
        "\nWhat no file can show, and the tests that make it happen:\n\n| circumstance | why | tests |\n|---|---|---|\n",
    );
    for circumstance in CIRCUMSTANCES {
        let name = |(path, function): &(&str, &str)| {
            let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of tests");
            assert!(text.contains(&format!("#[test]\nfn {function}()")), "{path} has no test {function}");
            format!("`tests/{path}`: {function}")
        };
        let tests: Vec<String> = circumstance.tests.iter().map(name).collect();
        writeln!(table, "| {} | {} | {} |", circumstance.name, circumstance.why, tests.join("; ")).expect("a string");
    }
    table
}

/// A target with what may be there already, a neighbour that nothing may change, and what is said of both. Each way starts as few
/// programs as it can: there are thousands of ways.
const FUNCTIONS: &str = r#"
umask 022; export LC_ALL=C
(mkdir -p template/target template/outside; cd template; echo precious > outside/precious
  ln -s ../outside target/before; ln -s ../outside/precious target/precious-link; mkfifo target/fifo
  ln outside/precious target/precious-name; chmod 700 outside; touch -d @7 outside/precious outside)
prepare() { test ! -e box || mv box old$((boxes += 1)); cp -a template box; }
outside() { find box -mindepth 1 -path box/target -prune -o -printf '%p %y %m %U %s %T@ %l\n'; cat box/outside/precious; echo box/* /abs* /up*; }
# Lines too long to be read are counted.
short() { sort | awk 'length($0) > 60 { long++; sum += length($0); next } { print "  " $0 }
  END { if (long) print "  and " long " with long names, " sum }' | tr '\033\007\200-\377' '!!?'; }
list() { (cd box/target; find . -mindepth 1 -type d -printf "%P %y %m $owner\n" 2> /dev/null; chmod -R u+rx . 2> /dev/null
  find . -mindepth 1 ! -type d -printf "%P %y %m %s $owner %l\n") | short; }
read_archive() { if test "$way" = "a pipe"; then cat "$archive" | "$@"; else "$@" < "$archive"; fi; }
# As of GNU tar: --overwrite writes into the file that is there, whatever other names that has.
one() { echo "== $1"; prepare; test "$1" != overwrite || rm box/target/precious-name; way=$1; shift; before=$(outside)
  for name in $archives; do
    archive=corpus/$name; arguments=""; for word in "$@"; do case $word in @) word=$archive;; esac; arguments="$arguments $word"; done
    read_archive $sandbox $mh tar $arguments -C box/target > said 2>&1; echo "exit $?"
    sed "s|'$archive'|it|; s|standard input|it|; s/^\(.\{240\}\).*/\1/" said
  done
  after=$(outside); test "$before" = "$after" || echo "THE OUTSIDE CHANGED: $after"
  list; }
for hands in 1 2 64; do one "hands $hands" xf @ --hands $hands; done
one "a pipe" x --hands 2
one "untrusted" xf @ --untrusted
test "$few" || one "keep" xf @ -k
test "$few" || one "overwrite" xf @ --overwrite
if test -x ../sandbox && test ! "$few"; then
  sandbox="../sandbox 1"; one "sandbox that says EPERM" xf @ --hands 2
  sandbox="../sandbox 38"; one "sandbox that says ENOSYS" xf @ --hands 64
fi
"#;

/// What came of each way of extraction, as whoever runs it.
fn extracted(place: &Place, case: &Case, who: &Who) -> Vec<(String, String)> {
    let archives: Vec<String> = files(case).into_iter().map(|(name, _)| name).collect();
    // What differs between these ways differs for root, too.
    let few = who.name != ROOT.name && !is_long();
    let few_word = if few { "few" } else { "" };
    let script = format!("archives='{}'; owner='{}'; few={few_word}; {FUNCTIONS}", archives.join(" "), who.owner);
    place.write("script", script);
    // A directory for each of them: what root has left a user cannot remove.
    let directory = format!("mkdir '{0}'; chmod 777 '{0}'; cd '{0}'; ln -s ../corpus corpus", who.name);
    let ran = place.shell(&format!("{directory}; {} sh ../script", who.run_as));
    // Some of what was made is thousands of directories deep.
    place.shell(&format!("rm -rf '{}'/old*", who.name)).stdout_of_success();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let ways = said.split("== ").skip(1).filter_map(|way| way.split_once('\n'));
    let ways: Vec<(String, String)> = ways.map(|(name, what)| (name.to_owned(), what.to_owned())).collect();
    let expected = if few { 5 } else { 7 + 2 * usize::from(place.has("sandbox")) };
    assert_eq!(ways.len(), expected, "{}: {}", case.name, String::from_utf8_lossy(&ran.stderr));
    ways
}

/// Who extracts.
struct Who {
    name: &'static str,
    run_as: &'static str,
    /// How `find` shows owners: a user's files are the user's.
    owner: &'static str,
}

const ROOT: Who = Who { name: "root", run_as: "", owner: "%U" };
const USER: Who =
    Who { name: "a user", run_as: "setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/", owner: "" };

#[test]
fn nothing_outside_the_target_changes() {
    if !rustix::process::geteuid().is_root() {
        return testkit::program::left_out("no root to extract as");
    }
    let mut wrong = Vec::new();
    let tools = Place::new();
    let is_sandboxed = can_be_sandboxed(&tools);
    for case in cases() {
        let place = Place::new();
        place.shell("mkdir corpus").stdout_of_success();
        if is_sandboxed {
            fs::hard_link(tools.path("sandbox"), place.path("sandbox")).expect("one file system");
        }
        for (name, archive) in files(&case) {
            place.write(Path::new("corpus").join(name), archive);
        }
        let mut came = String::new();
        for who in [ROOT, USER] {
            let ways = extracted(&place, &case, &who);
            judge(&case, &who, &ways);
            for (way, name) in [(0, "any number of hands"), (4, "--untrusted")] {
                write!(came, "{}, {name}\n{}", who.name, ways[way].1).expect("a string");
            }
        }
        let path = directory().join(expected(&case));
        if writes() {
            fs::write(&path, &came).expect("the corpus can be written");
        }
        if fs::read_to_string(&path).unwrap_or_default() != came {
            wrong.push(format!("{}: it came to\n{came}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What must be so of every case.
fn judge(case: &Case, who: &Who, ways: &[(String, String)]) {
    let is_exit = |line: &&str| line.starts_with("exit ");
    for (way, what) in ways {
        let is_defined = what.lines().filter(is_exit).all(|line| matches!(line, "exit 0" | "exit 2"));
        assert!(is_defined && !what.contains("OUTSIDE CHANGED"), "{}: {} {way}: {what}", case.name, who.name);
        let is_same = !(way.starts_with("hands") || way.starts_with("sandbox")) || ways[0].1 == *what;
        assert!(is_same, "{}: {way}: {what}\nnot {}", case.name, ways[0].1);
    }
    // What is told of a pipe may be told in other words.
    let tree = |what: &str| {
        let counts = |line: &&str| is_exit(line) || line.starts_with("  ");
        what.lines().filter(counts).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(tree(&ways[0].1), tree(&ways[3].1), "{}: from a pipe", case.name);
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
fn strangers_get_no_links_that_lead_outside() {
    let place = Place::new();
    for (name, members) in [
        ("deep", vec![symlink("a/b/l", "../../x"), symlink("a/b/ok", "../y"), file("a/b/f")]),
        ("hard", vec![symlink("a/b/l", "../../x"), hard_link("h", "a/b/l"), hard_link("a/b/ok", "a/b/l")]),
        ("up", vec![symlink("a/b/l", "../.."), symlink("l2", "a/b/l/.."), symlink("ok", "a/b/l/x")]),
        ("through", vec![symlink("a/b/l", "../.."), symlink("a/b/l/m", ".."), file("a/b/l/f"), file("a/b/ok")]),
    ] {
        place.write(format!("{name}.tar"), [members.concat(), vec![0; 1024]].concat());
    }
    for (how, came) in [
        ("deep.tar --strip-components=1", "b/f b/ok"),
        ("deep.tar --transform=s,^a/,,", "b/f b/ok"),
        ("deep.tar '--transform=s,^\\.\\.,../..,'", "a/b/f a/b/ok"),
        ("deep.tar", "a/b/f a/b/l a/b/ok"),
        ("hard.tar", "a/b/l a/b/ok"),
        ("up.tar", "a/b/l ok"),
        ("through.tar", "a/b/l a/b/ok"),
    ] {
        for hands in [1, 8] {
            let script = format!(
                "rm -rf t; mkdir t; $mh tar -xf {how} -C t --untrusted --hands $hands; echo $?; cd t; echo $(find . ! -type d -printf '%P\\n' | sort)
                 for link in $(find . -type l); do case $(readlink -m $link)/ in $PWD/*) ;; *) echo $link leads out; esac; done"
            )
            .replace("$hands", &hands.to_string());
            let ran = place.shell(&script);
            let code = if how == "deep.tar" { 0 } else { 2 };
            assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{code}\n{came}\n"), "{how}: {}", said(&ran));
        }
    }
}

#[test]
fn strangers_get_ten_million_members_and_no_more() {
    let place = Place::new();
    // 4096 members of nothing are a frame, and frames follow one another; with names of which no packed byte becomes a thousand.
    let name = |number: u64| format!("{:016x}", (number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let members: Vec<Vec<u8>> = (0..4096).map(|number| member(b'0', &name(number), "", 0o644, b"")).collect();
    place.write("members", members.concat());
    let script = "$mh tamp -c < members > frame; for n in $(seq 37); do cat frame; done > some; for n in $(seq 66); do cat some; done > many.tar.zst
        $mh tar -xOf many.tar.zst --untrusted 2> told; echo $?; grep -c 'holds more than is allowed' told; wc -l < told";
    let ran = place.shell(script);
    let told = said(&ran);
    // Of 2432 too many the first is told.
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n1\n1\n", "{told}");
}

#[test]
fn what_holds_too_much_is_told_once_and_read_no_further() {
    let place = Place::new();
    let script = "echo 1 > first; truncate -s 2T huge; head -c 4M /dev/urandom | dd of=huge bs=1M conv=notrunc status=none iflag=fullblock
        mkdir d; for i in $(seq 300); do echo $i > d/$i; done; $mh tar -cSf a.tar first huge d huge; $mh tamp -c < a.tar > a.zst
        for hands in 1 2 64; do for archive in a.tar a.zst; do for way in \"-f $archive\" ''; do
        mkdir t; cat $archive | $mh tar -x --hands $hands --untrusted -C t $way 2> told; echo $? $(ls t) $(grep -c 'holds more than is allowed' told) $(wc -l < told); rm -r t
        done; done; done";
    let ran = place.shell(script);
    // A line for the member, and the conclusion where something went well.
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2 first 1 1\n".repeat(12), "{}", said(&ran));
}

/// A place with a directory `t`, and a file system of 2 MiB at `m`, which the script is to take away again.
fn beside_a_small_disk() -> Option<Place> {
    let place = Place::new();
    let made = place.shell("mkdir m t; mount -t tmpfs -o size=2m none m 2> /dev/null && echo mounted");
    if made.stdout != b"mounted\n" {
        testkit::program::left_out("no right to mount a small file system");
        return None;
    }
    Some(place)
}

#[test]
fn a_full_disk_is_told_and_half_a_file_does_not_stay() {
    let Some(place) = beside_a_small_disk() else { return };
    // Two hands fill the disk with two halves: whichever then ends leaves room for the other.
    let script = "head -c 1500000 /dev/zero > t/a; head -c 1500000 /dev/zero > t/b; $mh tar cf t.tar -C t a b
        for i in 1 2 3 4 5 6 7 8; do $mh tar xf t.tar -C m; echo $? $(ls m | wc -l); rm m/*; done; umount m";
    let ran = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2 1\n".repeat(8), "{}", said(&ran));
    assert!(said(&ran).contains("No space left on device"), "{}", said(&ran));
}

#[test]
fn what_cannot_be_added_leaves_the_archive_as_it_was() {
    let Some(place) = beside_a_small_disk() else { return };
    let script = "head -c 1500000 /dev/zero > t/a; $mh tar cf t.tar -C t a; $mh tar cf m/g.tar -C t --no-recursion .; cp m/g.tar g.tar; : > m/e.tar
        for a in g e; do $mh tar -Af m/$a.tar t.tar t.tar; echo $?; $mh tar -rf m/$a.tar t/a t/a; echo $?; done
        cmp m/g.tar g.tar && wc -c < m/e.tar; umount m";
    let ran = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n2\n2\n2\n0\n", "{}", said(&ran));
    let full = said(&ran).matches("No space left on device").count();
    assert!(full == 4 && !said(&ran).contains("cannot read"), "{}", said(&ran));
}
