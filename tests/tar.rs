//! `mh tar` against GNU tar and bsdtar: the same trees out of anybody's archives, the same bytes where the same is asked, the same
//! exit class for what is damaged or hostile. A tool that is not installed is named as left out.

mod compared;
mod corners;
mod entangled;
mod generated;
mod habits;
mod hostile;
mod incremental;
mod itself;
mod kept;
mod lone_headers;
mod made;
mod messages;
mod patterns;
mod placed;
mod plain_user;
mod questions;
mod rights;
mod scripts;
mod selection;
mod swapped;
mod volumes;
mod written;

use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

/// A tree with all that archives know: long names, links of both kinds, holes, odd modes, a FIFO, names of every byte.
const TREE: &str = r#"
mkdir -p src/deep/er/and/deeper src/empty 'src/na me'
long=$(printf 'x%.0s' $(seq 120)); longer=$(printf 'y%.0s' $(seq 200))
mkdir -p src/$long/$longer
echo in > src/$long/$longer/$long
seq 100000 > src/deep/er/seq
head -c 3000000 /dev/zero | tr '\0' q > src/large
: > src/nothing
printf 'one' > 'src/na me/new
line'
printf 'raw' > "$(printf 'src/raw\377\001')"
ln src/deep/er/seq src/second; ln src/nothing src/$long/third
ln -s deep/er src/link; ln -s /nowhere src/broken; ln -s $long/$longer/$long src/longlink
truncate -s 5M src/holes; printf end >> src/holes; truncate -s 9M src/holes
mkfifo src/fifo
chmod 4755 src/deep/er/seq; chmod 1777 src/empty; chmod 0400 src/nothing; chmod 0555 src/deep
touch -d '2001-02-03 04:05:06.789' src/large src/deep/er src/empty; touch -h -d '1999-01-01' src/link
touch -d '1960-01-01' src/nothing
"#;

/// What a tree is, a line each; directories' sizes and links are the file system's business.
const LIST: &str = r#"
list() { (cd "$1" && find . ! -name . \( -type d -printf '%p %y %m %U %G %T@\n' -o -printf '%p %y %m %U %G %s %T@ %l %n\n' \) | sort
  find . -type f -print0 | sort -z | xargs -0 cat | cksum); }
"#;

fn tools(names: &[&str]) -> bool {
    match names.iter().find(|name| TestProgram::find(name).is_none()) {
        Some(missing) => {
            left_out(&format!("{missing} is not installed"));
            false
        }
        None => true,
    }
}

fn place() -> Place {
    let place = Place::new();
    let made = place.shell(TREE);
    assert_eq!(made.exit, Exit::Code(0), "{}", said(&made));
    place
}

/// Runs a script that says `same` when all is well.
fn expect_same(place: &Place, script: &str) {
    let ran = place.shell(&format!("set -e\n{LIST}\n{script}\necho same"));
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.exit == Exit::Code(0) && out.ends_with("same\n"), "{script}\n{out}{}", said(&ran));
}

#[test]
fn archives_of_other_tars_become_the_same_trees() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    for (format, options) in [
        ("gnu", "-S"),
        ("pax", "-S"),
        ("pax", ""),
        ("gnu", ""),
        ("oldgnu", "-S"),
        ("pax", "-S --sparse-version=0.0"),
        ("pax", "-S --sparse-version=0.1"),
    ] {
        let script = format!(
            "rm -rf a b; mkdir a b; tar --format={format} {options} -cf t.tar src
             tar -xpf t.tar -C a
             for hands in 1 2 8; do
               rm -rf b; mkdir b; $mh tar xpf t.tar -C b --hands $hands; list a > la; list b > lb; diff la lb
               rm -rf b; mkdir b; cat t.tar | $mh tar -xp -C b --hands $hands; list b > lb; diff la lb
             done"
        );
        expect_same(&place, &script);
    }
    // What these have no room for stays out.
    for format in ["ustar", "v7"] {
        let script = format!(
            "rm -rf a b; mkdir a b; tar --format={format} -cf t.tar src/deep src/empty src/large
             tar -xpf t.tar -C a; $mh tar xpf t.tar -C b
             list a | grep -v '^./src d' > la; list b | grep -v '^./src d' > lb; diff la lb"
        );
        expect_same(&place, &script);
    }
    if tools(&["bsdtar"]) {
        expect_same(
            &place,
            "rm -rf a b; mkdir a b; bsdtar -cf t.tar src; bsdtar -xpf t.tar -C a; $mh tar xpf t.tar -C b; list a > la; list b > lb; diff la lb",
        );
    }
}

#[test]
fn a_name_that_was_not_archived_is_nothing_to_link_to() {
    let place = place();
    expect_same(
        &place,
        "mkdir two b; long=two/$(printf 'a%.0s' $(seq 120)); echo data > $long; ln $long two/short
         code=0; $mh tar -c --format=ustar -f t.tar two 2> told || code=$?; test $code = 2; grep -q aaa told
         $mh tar xf t.tar -C b; test \"$(cat b/two/short)\" = data; test $(ls b/two | wc -l) = 1",
    );
}

#[test]
fn packed_archives_of_any_tool_are_told_by_their_content() {
    if !tools(&["tar", "gzip", "bzip2", "xz", "zstd", "lz4"]) {
        return;
    }
    let place = place();
    for tool in ["gzip", "bzip2", "xz", "zstd", "lz4"] {
        let script = format!(
            "rm -rf a b; mkdir a b; tar -cf t.tar src; tar -xpf t.tar -C a; {tool} -c t.tar > t.packed; list a > la
             $mh tar xpf t.packed -C b; list b > lb; diff la lb
             rm -rf b; mkdir b; cat t.packed | $mh tar xpC b; list b > lb; diff la lb
             rm -rf b; mkdir b; $mh tar xpf t.packed -I {tool} -C b; list b > lb; diff la lb
             tar -tf t.tar --quoting-style=escape > la; $mh tar tf t.packed > lb; diff la lb"
        );
        expect_same(&place, &script);
    }
}

#[test]
fn what_is_created_is_what_gnu_tar_creates() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    for format in ["gnu", "pax", "ustar"] {
        let what = if format == "ustar" { "src/deep src/empty src/large src/link" } else { "src" };
        let pax = if format == "pax" { "--pax-option=delete=atime,delete=ctime" } else { "" };
        for more in [
            "",
            "--mtime=2020-01-01",
            "--numeric-owner",
            "--owner=a:5 --group=b:6",
            "--exclude=e*",
            "--mode=0600 --no-recursion",
        ] {
            let script = format!(
                "tar --format={format} --sort=name {pax} {more} -cf t.tar {what}
                 for hands in 1 2 8; do
                   $mh tar --format={format} --sort=name {pax} {more} -cf m.tar {what} --hands $hands; cmp t.tar m.tar
                   $mh tar --format={format} {pax} {more} -c {what} --hands $hands | cmp t.tar -
                 done"
            );
            expect_same(&place, &script);
        }
    }
    // A sparse file's name in its pax header has GNU tar's process number in it.
    expect_same(
        &place,
        "tar --format=gnu --sort=name -S -cf t.tar src; $mh tar --format=gnu -S -cf m.tar src; cmp t.tar m.tar",
    );
}

#[test]
fn what_is_created_comes_back_and_is_the_same_for_any_number_of_hands() {
    let place = place();
    for (options, unpack) in [
        ("", "cat"),
        ("-z", "gzip -dc"),
        ("-j", "bzip2 -dc"),
        ("-J", "xz -dc"),
        ("--zstd", "zstd -dc"),
        ("--lz4", "lz4 -dc"),
        ("-S --xattrs --acls", "cat"),
    ] {
        let tool = unpack.split(' ').next().unwrap_or(unpack);
        if !tools(&[tool]) {
            continue;
        }
        let script = format!(
            "rm -rf a b; mkdir b; cp -a src a; chmod 0555 a/deep
             $mh tar -c {options} -f 1.tar src --hands 1
             for hands in 2 8; do $mh tar -c {options} -f 2.tar src --hands $hands; cmp 1.tar 2.tar; done
             $mh tar -c {options} src | cmp 1.tar -
             $mh tar -xpf 1.tar -C b; list a > la; list b/src > lb; diff la lb
             {unpack} < 1.tar > plain.tar; $mh tar {sparse} -cf other.tar src; cmp plain.tar other.tar",
            sparse = if options.starts_with("-S") { options } else { "" },
        );
        expect_same(&place, &script);
    }
}

#[test]
fn members_are_chosen_and_renamed_as_with_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    place.write("names", "src/large\nsrc/deep\n").write("patterns", "*.o\nseq\n");
    for options in [
        "src/deep",
        "--strip-components=1",
        "--strip-components=2",
        "--exclude='l*'",
        "-X patterns",
        "-T names",
        "--wildcards 'src/d*'",
        "--wildcards --no-wildcards-match-slash 'src/*r'",
        "--transform='s,^src,other,'",
        "-m --no-same-permissions",
        "-k",
    ] {
        let times = if options.starts_with("-m") { "sed -E 's/ [0-9]+\\.[0-9]+//'" } else { "cat" };
        let script = format!(
            "tar -cf t.tar src; rm -rf a b; mkdir a b; (umask 027; tar -xpf t.tar -C a {options} || :; $mh tar -xpf t.tar -C b {options} || :)
             list a | {times} | sed -E 's/^(.* d .*) [0-9.]+$/\\1/' > la; list b | {times} | sed -E 's/^(.* d .*) [0-9.]+$/\\1/' > lb; diff la lb"
        );
        expect_same(&place, &script);
    }
    expect_same(
        &place,
        "tar -cf t.tar src; tar -xOf t.tar src/large src/holes > a.out; $mh tar -xOf t.tar src/large src/holes > b.out; cmp a.out b.out",
    );
    // GNU tar 1.34 loses hard links here.
    expect_same(
        &place,
        "$mh tar -cf m.tar src; mkdir c; $mh tar -xpf m.tar -C c --one-top-level=top; list src > la; list c/top/src > lb; diff la lb",
    );
    expect_same(&place, "tar -tvf t.tar --quoting-style=escape > la; $mh tar tvf t.tar > lb; diff la lb");
}

#[test]
fn archives_are_added_to_and_compared() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    expect_same(
        &place,
        "$mh tar -cf t.tar src/deep; $mh tar -rf t.tar src/large src/link; tar -tf t.tar > la
         grep -q src/large la; rm -rf a; mkdir a; tar -xpf t.tar -C a; cmp a/src/large src/large
         touch -d '2030-01-01' src/large; before=$(stat -c %s t.tar)
         $mh tar -uf t.tar src/large src/link; tar -tf t.tar | grep -c src/large | grep -qx 2; tar -tf t.tar | grep -c src/link | grep -qx 1
         $mh tar -cf u.tar src; $mh tar -df u.tar; tar -df u.tar
         echo more >> src/large; $mh tar -df u.tar > d || test $? = 1; grep -qx 'src/large: Size differs' d",
    );
    let refused = place.shell("$mh tar -cf t.tar.zst --zstd src/large; $mh tar -rf t.tar.zst src/link");
    assert_eq!(refused.exit, Exit::Code(2), "{}", said(&refused));
}

#[test]
fn archives_are_put_together_and_members_taken_out() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    expect_same(
        &place,
        "for format in gnu pax; do
           tar --format=$format -cf one.tar src/deep; tar --format=$format -cf two.tar src/large src/link; cp one.tar a.tar; cp one.tar b.tar
           tar -Af a.tar two.tar; $mh tar -Af b.tar two.tar; tar -tf a.tar > la; tar -tf b.tar > lb; diff la lb
           rm -rf x; mkdir x; tar -xpf b.tar -C x; cmp x/src/large src/large
           tar --delete -f a.tar src/deep; $mh tar --delete -f b.tar src/deep; cmp a.tar b.tar
         done
         $mh tar -cf z.tar.zst --zstd src/deep; cp two.tar c.tar; $mh tar -Af c.tar z.tar.zst one.tar; tar -tf c.tar | grep -c 'src/deep/$' | grep -qx 2
         : > empty.tar; $mh tar -Af empty.tar one.tar; tar -tf empty.tar > la; tar -tf one.tar > lb; diff la lb",
    );
    for (script, code, words) in [
        ("cp one.tar s.tar; $mh tar -Af s.tar s.tar; cmp s.tar one.tar && echo unchanged", 0, "itself"),
        (
            "head -c 2000 two.tar > cut.tar; cp one.tar s.tar; $mh tar -Af s.tar cut.tar; tar -tf s.tar > la; tar -tf one.tar > lb; cmp la lb && echo unchanged",
            0,
            "ends too early",
        ),
        (
            "cp one.tar s.tar; $mh tar --delete -f s.tar missing; cmp s.tar one.tar && echo unchanged",
            0,
            "find 'missing'",
        ),
        ("$mh tar --delete -f z.tar.zst src/deep", 2, "compressed"),
    ] {
        let ran = place.shell(script);
        assert_eq!(ran.exit, Exit::Code(code), "{script}: {}", said(&ran));
        assert!(said(&ran).contains(words), "{script}: {}", said(&ran));
    }
}

/// Some 40 MB in files of many sizes, in no order of names that sorting would give.
const MANY: &str = r"
mkdir -p many/b many/a-b many/a; for n in $(seq 400); do head -c $((n * 500)) large.bin > many/b/f$n; done
for n in $(seq 300); do echo $n > many/a/s$n; done; cp large.bin many/a-b/large; ln many/a/s7 many/a-b/second; ln -s ../a many/a-b/link; mkfifo many/fifo";

#[test]
fn packed_archives_are_listed_and_opened_by_their_index() {
    if !tools(&["tar", "zstd", "gzip"]) {
        return;
    }
    let place = Place::new();
    place.write("large.bin", data::mixed(6_000_000, 5));
    expect_same(&place, MANY);
    for (option, tool) in [("--zstd", "zstd"), ("-z", "gzip")] {
        let script = format!(
            "$mh tar -c {option} -f i.tar many; $mh tar -c {option} --no-index -f n.tar many; $mh tar -cf p.tar many
             {tool} -dc < i.tar | cmp - p.tar; {tool} -dc < n.tar | cmp - p.tar; {tool} -tq < i.tar; tar -tf i.tar > la; tar -tf p.tar | cmp la -
             for hands in 1 8; do $mh tar -c {option} -f j.tar many --hands $hands; cmp i.tar j.tar; done
             $mh tar -c {option} many | cmp i.tar -; $mh tamp -c --format {tool} < p.tar | cmp n.tar -
             used() {{ grep -q 'index: used' report; }}; no_times() {{ sed -E 's/^(.* d .*) [0-9.]+$/\\1/'; }}
             for what in '' many/a many/b/f300 many/a-b many/none 'many/a/s7 many/b/f8' '--exclude=f*' '--wildcards many/b/*7'; do for v in '' -v; do
               $mh tar -t $v -f i.tar $what --report > la 2> report || :; used; $mh tar -t $v -f i.tar --no-index $what > lb 2> report || :; diff la lb; ! used
             done; done
             for what in many/a/s7 many/b/f300 many/a 'many/a-b/large many/b/f1' many/fifo many/a-b/link; do
               rm -rf a b; mkdir a b; $mh tar -xpf i.tar -C a $what --report 2> report; used; $mh tar -xpf p.tar -C b $what; list a | no_times > la; list b | no_times > lb; diff la lb
             done
             $mh tar -xOf i.tar many/b/f300 --report 2> report | cmp - many/b/f300; used; $mh tar -df i.tar many/a many/b/f300 --report 2> report; used
             $mh tar -tf i.tar --untrusted --report > la 2> report; ! used; $mh tar -tf - < i.tar --report > lb 2> report; diff la lb
             cat i.tar i.tar > two.tar; $mh tar -tf two.tar --report > lb 2> report; diff la lb; grep -q 'index: misplaced' report",
        );
        expect_same(&place, &script);
    }
}

#[test]
fn an_index_that_lies_is_not_believed() {
    if !tools(&["python3"]) {
        return;
    }
    let place = Place::new();
    place.write("large.bin", data::mixed(6_000_000, 5));
    expect_same(&place, MANY);
    // One byte after another of the index, and of the last unit: never another list, never another file.
    let script = r#"
$mh tar -c --zstd -f i.tar many; $mh tar -tf i.tar --no-index > right; size=$(stat -c %s i.tar)
for back in $(seq 1 23 3000); do
  cp i.tar b.tar; printf 'U' | dd of=b.tar bs=1 seek=$((size - back)) conv=notrunc 2> dd
  $mh tar -tf b.tar > la 2> said || :; cmp la right
  rm -rf x; mkdir x; if $mh tar -xf b.tar -C x many/b/f300 2> said; then cmp x/many/b/f300 many/b/f300; fi
done"#;
    expect_same(&place, script);
}

#[test]
fn what_strangers_packed_does_not_grow_beyond_measure() {
    let place = Place::new();
    let script = "mkdir t; truncate -s 200M zeros; $mh tar cf bomb --zstd zeros; rm zeros
        for how in 'xf bomb -C t' 'tf bomb' 'xOf bomb'; do $mh tar $how --untrusted > out; echo $?; done
        cat bomb | $mh tar x -C t --untrusted; echo $?; ls t; $mh tar xf bomb -C t; echo $?; ls t
        truncate -s 60M zeros; $mh tar cf small --zstd zeros; $mh tar xf small -C t --untrusted; echo $?";
    let ran = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n2\n2\n2\n0\nzeros\n0\n", "{}", said(&ran));
    let told = said(&ran);
    assert_eq!(told.matches("each packed byte becomes more than 1000").count(), 4, "{told}");
    assert_eq!(told.matches("mh tar: could not read 'bomb': cannot read the archive at byte ").count(), 3, "{told}");
}

#[test]
fn owners_arrive_under_fakeroot() {
    if !tools(&["tar", "fakeroot"]) {
        return;
    }
    let place = place();
    let script = "tar --owner=77 --group=88 -cf t.tar src/large src/link src/empty; mkdir c
        fakeroot sh -c '$mh tar xf t.tar -C c; stat -c \"%u %g %a\" c/src/large c/src/link c/src/empty'";
    let ran = place.shell(&format!("chmod -R a+rwX . ; {script}"));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "77 88 666\n77 88 777\n77 88 1777\n", "{}", said(&ran));
}

#[test]
fn exit_codes_are_those_of_gnu_tar() {
    let place = place();
    place.write("garbage", data::random(20_000, 1));
    for (script, code) in [
        ("$mh tar cf a.tar src missing", 2),
        ("$mh tar xf missing.tar", 2),
        ("$mh tar xf garbage", 2),
        ("$mh tar cf a.tar src; mkdir x; $mh tar xf a.tar -C x nothere", 2),
        ("$mh tar cf a.tar src; $mh tar tf a.tar nothere", 2),
        ("$mh tar cf a.tar src; head -c 1000000 a.tar > cut.tar; mkdir y; $mh tar xf cut.tar -C y", 2),
        ("$mh tar cf a.tar src; mkdir z; $mh tar xf a.tar -C z; $mh tar xkf a.tar -C z", 2),
        ("$mh tar --nonsense", 2),
        ("$mh tar", 2),
        ("$mh tar -tf a.tar > /dev/null", 0),
    ] {
        let ran = place.shell(script);
        assert_eq!(ran.exit, Exit::Code(code), "{script}: {}", said(&ran));
        assert!(code == 0 || !ran.stderr.is_empty(), "{script} says why");
    }
}
