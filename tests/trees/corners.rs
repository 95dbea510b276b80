//! Corners in which a copy or a move could do harm: each script run with GNU's commands and with ours, in trees that are alike, must
//! leave the same tree and end with the same exit code.

use super::described::describe;
use super::is_root;
use crate::place::{Place, said};
use testkit::program::{Exit, left_out};

/// What is there before.
const BEFORE: &str = "umask 022; echo one > a; echo two > b; mkdir -p d/e t; echo x > d/f; echo y > d/e/g; ln -s f d/link; ln -s d linkd;
    ln -s a linka; chmod 640 a; chmod 750 d/e; chmod 4755 d/f; touch -d '2001-02-03 04:05:06.5' a";

/// A directory of files of which each differs from the others in what a copy may keep, and what is made of it: most files of a directory are like their neighbours, and
/// are copied in fewer steps for it.
const NEIGHBOURS: &str = "mkdir n; for i in 1 2 3 4 5 6 7 8 9; do echo $i > n/f$i; touch -d @10000000$i n/f$i; done; chmod 600 n/f3; chmod 4711 n/f4; chmod 1777 n/f5;
    ln n/f6 n/g6; setfattr -n user.colour -v blue n/f7 2>/dev/null; : > n/f8; chmod 444 n/f9; touch -d @5 n/f[3-9] n";
const COPIES_OF_NEIGHBOURS: [&str; 8] = [
    "cp -a n new; cp -a n/. t",
    "cp -a n/. t; echo more >> t/f2; rm t/f4; cp -a n/. t",
    "cp -a n/. t; echo more >> t/f2; rm t/f4; cp -au n/. t",
    "cp -rp n/. t",
    "cp -r --preserve=mode n new",
    "cp -r --preserve=timestamps,links n new",
    "cp -r --preserve=xattr n new",
    "cp -r --preserve=mode,ownership n new",
];

/// Runs `script` both ways; `cp`, `mv` and `rm` in it are functions.
fn is_as_gnu(script: &str) {
    let ends = ["", "$mh "].map(|program| {
        let place = Place::new();
        let functions: String = ["cp", "mv", "rm"]
            .map(|name| {
                format!("{name}() {{ {}{name} \"$@\"; }}; ", if program.is_empty() { "command " } else { program })
            })
            .concat();
        let outcome = place
            .shell(&format!("{BEFORE}\n{functions}\n{script}\ncode=$?; touch -h -d @1 d t . 2>/dev/null; exit $code"));
        let told = said(&outcome);
        let tree: Vec<String> = describe(place.directory())
            .into_iter()
            .map(|(path, line)| format!("{path:?} {}", without_now(&line)))
            .collect();
        (outcome.exit, tree, told)
    });
    let [theirs, ours] = ends;
    assert_eq!(ours.0, theirs.0, "{script}: {} / {}", ours.2, theirs.2);
    assert_eq!(ours.1, theirs.1, "{script}");
}

/// Times of this minute are those of the test itself.
fn without_now(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_old = |word: &&str| word.parse::<f64>().is_ok_and(|seconds| seconds < 1.7e9);
    words
        .iter()
        .enumerate()
        .filter(|(at, word)| *at != 3 || is_old(word))
        .map(|(_, word)| *word)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn nothing_is_lost_where_gnu_loses_nothing() {
    for script in [
        // A link takes no file's place unasked.
        "cp -l a b",
        "cp -s a b",
        "cp -lf a b",
        "cp -sf a b",
        "cp -l --remove-destination a b",
        "cp -lb a b",
        "cp -ln a b",
        "cp -rl d/. t && cp -rl d/. t",
        // Nor the place of the file that it leads to.
        "cp -a linka a",
        "cp -d linka a",
        "cp -dT linka a",
        "cp -df linka a",
        "cp -d --remove-destination linka a",
        "cp -db linka a",
        "cp -au linka a",
        "ln -s linka l2; cp -a l2 a",
        "ln -s linka l2; cp -a l2 linka",
        "mkdir l; ln -s ../a l/a; cp -a l/. .",
        "mv linka a",
        "mv -f linka a",
        "mv -T linka a",
        "mv -b linka a",
        "ln -s linka l2; mv l2 a",
        "ln -s linka l2; mv l2 linka",
        "mkdir l; ln -s ../a l/a; mv l/* .",
        "ln b b2; ln -s b2 l2; mv l2 b",
        "ln b b2; ln -s b l2; mv l2 b",
        "ln b b2; mkdir l; ln -s ../b l/x; mv l/x b; mv l/x b2",
        "ln b b2; mkdir l; ln -s ../b2 l/b; mv l/b .",
        // No bytes: those that are there stay.
        "cp --attributes-only -p a b",
        "cp --attributes-only a b",
        "cp -r --attributes-only d/. t; echo more > t/f; cp -r --attributes-only d/. t",
        "echo more > t/link; cp -r --attributes-only d/. t",
        "ln a a2; touch -d @9 a; chmod 640 a; mkdir w v; ln a w/1; ln a w/2; echo old > v/1; ln v/1 v/2; touch -d @3 v/1; cp -a -u --attributes-only w/. v",
        "ln -s b linkb; cp --attributes-only -p a linkb",
        "ln -s b linkb; cp --attributes-only --remove-destination -p a linkb",
        // Copies with other names of theirs elsewhere.
        "ln b b2; cp -a a b",
        "ln b b2; cp a b",
        "echo 1 > t/f; ln t/f t/f2; cp -a d/. t",
        // Their own names where something else has them.
        "ln a a2; echo mine > t/a2; cp -an a a2 t",
        "ln a a2; echo mine > t/a2; cp -an a2 a t",
        "ln a a2; echo mine > t/a2; cp -ab a a2 t",
        "ln a a2; echo mine > t/a2; yes n | cp -ai a a2 t",
        "ln a a2; echo mine > t/a2; cp -a a a2 t",
        "ln a a2; echo mine > t/a2; cp -au a a2 t",
        "ln a a2; cp -a a a2 t; rm t/a2; cp -au a a2 t",
        "ln d/f d/e/f2; ln -s t linkt; cp -a d/. linkt",
        "ln d/f d/e/f2; ln -s t linkt; cp -aT d linkt/",
        "ln d/f d/e/f2; mkdir w; cd w; cp -a ../d/. ../t",
        // What a link to the source, or a special file, may take the place of.
        "ln -s nowhere l; cp -al l b",
        "ln b b2; cp -al a b",
        "cp -as linka b",
        "mkfifo p; echo old > t/p; cp -a p t",
        // What is asked for last is what is done.
        "cp --no-preserve=mode -a d/f new; cp -a --no-preserve=mode d/f new2",
        "cp -p --no-preserve=timestamps,mode -d a new; cp --no-preserve=timestamps -p a t",
        "cp -sp a new; cp -as a t; cp -as a new2",
        "find d -type f -exec touch -d @5 {} +; touch -h -d @6 d/link; cp -as $PWD/d new; (cd new; find . -type l | sort | while read l; do stat -c '%n %Y' $l; readlink $l | sed s,.*/,,; rm $l; done) > links",
        // Nobody waits for what is not copied.
        "mkfifo p; cp p .",
        "mkfifo p; echo there > t/p; cp -n p t; touch -d @5 p; cp -u p t",
        "mkfifo p; chmod 6751 p; cp -R p new",
        "touch -d @5 a; cp -uT a t",
        "cp -iu a b < /dev/null; yes | cp -iu a b",
        // A file onto itself, with a backup.
        "cp -vlbf a a > t/told",
        "cp -lbf --backup=numbered a a; cp -lbf --backup=numbered a a",
        "cp -bf a a; cp -sbf b b; cp -bf a d/../a",
        "cp -vbf linka linka > t/told; ln a a2; cp -lb a a2; cp -lbf linka a; cp -l --remove-destination a a2",
        "cp -bf d/f d",
        "n=$(printf %0250d 1); for i in 1 2 3 4 5; do n=${n}x; echo 1 > $n; echo 2 > t/$n; cp --backup=numbered $n t; cp --backup=existing $n t; mv -b $n t; done",
        // A backup in the place of what is copied.
        "echo A > b~; cp -b b~ b",
        "echo A > b~; cp -lb b~ b",
        "echo A > b~; mv -b b~ b",
        "echo A > b~; mv --backup=numbered b~ b",
        "echo A > b.x; mv -b -S .x b.x b",
        // What has no places to write at, or to read from.
        "truncate -s 100k s; cp s /dev/null",
        "truncate -s 100k s; cp s /dev/stdout | cat > out; test $(stat -c %s out) = 102400",
        "{ head -c 100k /dev/zero; echo x; head -c 100k /dev/zero; } | cp --sparse=always /dev/stdin t/out; chmod 644 t/out",
        "chmod 2775 t; mkdir z; chmod 555 z; cp -r z t",
        "chmod 2775 t; mkdir z; chmod 1777 z; cp -r z t",
        // What had to go for a copy is told.
        "cp -v --remove-destination a b > t/told",
        "ln -s nowhere l; cp -rvf l b > t/told; cp -dvf linka l > t/told2",
        "cp -lvf a b > t/told; cp -lv --remove-destination d/f b > t/told2; cp -svf $PWD/d/f b > /dev/null",
        // Directories above a copy, and their own rights.
        "chmod 555 d; cp --parents d/f t; chmod 755 d",
        "chmod 555 d; cp --parents --no-preserve=mode d/f t; chmod 755 d",
        "chmod 1700 d; umask 027; cp --parents d/f t; cp --parents --no-preserve=mode d/e/g .",
        "mkdir t/d; chmod 700 d; touch -d @5 d; cp -p --parents d/e/g t; mkdir -p t2/d/e; cp -p --parents d/e/g t2; chmod 700 t2/d t2/d/e",
        "chmod 2750 d; cp -a --no-preserve=timestamps --parents d/e/g t",
        // Only what begins with it is a yes.
        "echo ' y' | cp -i a b",
        "echo Yes | cp -i a b",
        // What only looks like a directory, or like its own name.
        "mv a nowhere/",
        "mv a b/",
        "mv a linka/",
        "mv d nowhere/",
        "cp a nowhere/",
        "cp -rT d linkd",
        "ln -s t linkt; cp -rT d linkt",
        "ln -s t linkt; cp -rT d linkt/",
        "ln -s t linkt; cp -r d/. linkt",
        "ln -s t linkt; cp -r d linkt",
        "cp -b -n a b",
        "mv -b -n a b",
        // What the environment says may be cut short, too.
        "export VERSION_CONTROL=num; cp -b a b",
        "export VERSION_CONTROL=n; cp -b a b",
        "export VERSION_CONTROL=foo; mv -b a b",
        "rm -r d/f d",
        "rm -r d/e/g d/e d",
        "rm -r nowhere d",
        "rm a a",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn what_is_only_said_is_what_would_be_done() {
    for command in [
        "cp --parents d/e/g a t",
        "cp -r --parents d/e a t",
        "mkdir u; : > u/d; cp --parents d/e/g u",
        "cp a nowhere/x",
        "cp -r d t",
        "rm -d d",
        "rm -d t d",
        "mv a t",
    ] {
        let (before, last) = command.rsplit_once("; ").unwrap_or(("true", command));
        let script = format!(
            "{BEFORE}\n{before}; there=$(find .); told=$($mh {last} -j 1 --dry-run); would=$?; test \"$(find .)\" = \"$there\" || exit 9
            done=$($mh {last} -j 1 -v); code=$?; test $would = $code || exit 8; test $code = 0 || exit 0
            told=$(echo \"$told\" | sed 's/^would copy //; s/^would remove /removed /; s/^would rename /renamed /'); test \"$told\" = \"$done\""
        );
        let outcome = Place::new().shell(&script);
        assert_eq!(outcome.exit, Exit::Code(0), "{command}: {}", said(&outcome));
    }
}

#[test]
fn few_descriptors_are_enough() {
    let place = Place::new();
    let script = "p=d; for i in 1 2 3 4 5 6 7 8 9 10; do mkdir -p $p/a $p/z; echo $i > $p/a/f; echo $i > $p/z/f; p=$p/next; done; \
        ulimit -n 16; for j in 1 2; do $mh cp -r -j $j d d2 && diff -r d d2 && $mh rm -r -j $j d2 || exit 1; done";
    let outcome = place.shell(script);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
}

#[test]
fn holes_are_not_read_back() {
    let place = Place::new();
    // To read so much takes minutes.
    let script = "truncate -s 200G sparse && echo x >> sparse || exit 0; for how in '' =blake3; do timeout 20 $mh cp --verify$how sparse copy && \
        timeout 20 $mh cp --skip-same=blake3 -v sparse copy || exit 1; done; test $(stat -c %s copy) = $(stat -c %s sparse)";
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, outcome.stdout.as_slice()), (Exit::Code(0), b"".as_slice()), "{}", said(&outcome));
}

#[test]
fn links_and_modes_are_those_of_gnu() {
    for script in
        ["cp -l linka new", "cp -rl d new", "cp -rlP d new", "cp -al d new", "cp -r --preserve=timestamps d new"]
    {
        is_as_gnu(script);
    }
    for copy in COPIES_OF_NEIGHBOURS {
        is_as_gnu(&format!("{NEIGHBOURS}; {copy}"));
    }
    if !is_root() {
        left_out("copies of owners, access lists and mounts: they need root");
        return;
    }
    for copy in COPIES_OF_NEIGHBOURS {
        is_as_gnu(&format!("{NEIGHBOURS}; chown 12:34 n/f1 n/f3 n/f4; chown 0:34 n/f5 n/f9; chmod 4711 n/f4; {copy}"));
        is_as_gnu(&format!("{NEIGHBOURS}; chown -R 12:34 n; chmod 6755 n/f4; setfacl -d -m u:12:rwx t; {copy}"));
        is_as_gnu(&format!("{NEIGHBOURS}; setfacl -m u:13:r n/f2 n/f5; setfacl -d -m u:12:rwx n; {copy}"));
    }
    for script in [
        // Made narrow for its owner's sake, then as wide as the mask allows.
        "chown -R 12:34 d; cp -r --preserve=ownership d new",
        "chown -R 12:34 d; cp -r --preserve=all --no-preserve=mode,timestamps d new",
        "chown -R 12:34 d; umask 027; cp -r --preserve=ownership d/f new",
        // What a directory hands on is not what the source has.
        "setfacl -d -m u:12:rwx t; cp -a --no-preserve=timestamps d t",
        "setfacl -d -m u:12:rwx t; cp -r d t",
        "setfacl -d -m u:12:rwx t; cp -aT --no-preserve=timestamps d t",
        "setfacl -m u:12:rwx b; cp -p --no-preserve=timestamps a b",
        "setfacl -m u:12:rwx b; cp a b",
        "setfacl -m u:12:rwx b; setfacl -m u:13:r a; cp -a --no-preserve=timestamps a b",
        "mkdir t/e; setfacl -m u:12:rwx t/e; cp -a --no-preserve=timestamps d/. t",
        "setfacl -d -m u:12:rwx d/e; cp -a --no-preserve=timestamps d t",
        "setfacl -m u:13:rwx d; setfacl -d -m u:14:rx d/e; setfacl -d -m u:12:rwx t; cp -a --no-preserve=timestamps --parents d/e/g t",
        "setfacl -m u:13:rwx d; setfattr -n user.colour -v blue d; cp -p --no-preserve=timestamps --parents d/e/g t",
        "setfacl -m u:13:rwx d; setfacl -d -m u:12:rwx t; cp --parents d/e/g t",
        // A directory's set-id bits and sticky bit stay where the source's mode brings none.
        "chgrp 12 t; chmod 2775 t; cp -a --no-preserve=timestamps d t",
        "chgrp 12 t; chmod 2775 t; cp -r --preserve=mode d t; cp -r --preserve=ownership d t/new",
        "chgrp 12 t; chmod 2775 t; chmod 1775 d/e; cp -rp --no-preserve=timestamps d t; cp -rp --no-preserve=mode,timestamps d t/new",
        "mkdir -p t/d/e; chmod 2777 t/d; chmod 3777 t/d/e; cp -a --no-preserve=timestamps d t",
        "mkdir -p t/d/e; chmod 2777 t/d; chmod 2700 t/d/e; chmod 1755 d; cp -r --preserve=mode d t",
        "mkdir -p t/d/e; chmod 2777 t/d t/d/e; cp -p --no-preserve=timestamps --parents d/e/g t; chmod 2775 t; cp -p --parents --no-preserve=timestamps d/e/g t",
        "chgrp 12 t; chmod 2775 t; setfacl -m u:13:rwx,m::rx d; setfacl -d -m u:14:rwx,m::rx d; cp -a --no-preserve=timestamps d t",
        // A directory's default list rules what is made there.
        "setfacl -d -m u::rwx,g::rx,o::- t; mkfifo d/p; mknod d/c c 1 3; cp -r d t; cp a b t; cp -rd d t/new",
        "setfacl -d -m u::rw,g::-,o::- t; cp -r d t; cp -a --no-preserve=timestamps d t/new",
        "setfacl -d -m u::rwx,g::rx,o::- t; chmod 664 a; umask 002; cp a t; cp --sparse=always b t; cp -r --preserve=xattr,links d t",
        // Labels and attributes of everything that may have some.
        "mkfifo p; mknod c c 1 3; mknod k b 7 9; ln -s a l; for f in a p c k l d; do setfattr -h -n trusted.k -v $f $f; setfattr -h -n security.selinux -v of.$f $f; done; \
            cp -a p c k l a d --no-preserve=timestamps t; cp -rd --preserve=xattr p c k l a d b; cp -rd --preserve=xattr p c k l a d t/new",
        "mkfifo p; setfacl -m u:13:rw,m::r p; mknod c c 1 3; setfacl -m u:13:rw,m::r c; cp -a --no-preserve=timestamps p c t; cp -rp --no-preserve=timestamps p c t",
        // Whose mode is forgotten has the mask's alone.
        "setfacl -d -m u:12:rwx t; cp --no-preserve=mode a t; setfacl -m u:13:rwx b; cp --no-preserve=mode a b",
        "setfacl -d -m u:12:rwx t; chmod 2775 t; chmod 1777 d/e; mkfifo d/p; cp -r --no-preserve=mode d t; cp --parents --no-preserve=mode d/f t/d",
        "setfacl -d -m u:12:rwx t; cp -a --no-preserve=mode,timestamps d t; chown 12:34 a; cp --preserve=ownership --no-preserve=mode a t",
        "setfacl -d -m u:12:rwx t; mkfifo p; cp -a --no-preserve=timestamps p t",
    ] {
        is_as_gnu(script);
    }
    let place = Place::new();
    if place.shell("mkdir m && mount -t tmpfs none m && umount m").exit != Exit::Code(0) {
        left_out("copies across mounts: nothing can be mounted here");
        return;
    }
    for script in [
        "mount -t tmpfs none d/e; echo in > d/e/in; chmod 700 d/e; cp -rx d new; code=$?; umount d/e; (exit $code)",
        "mount -t tmpfs none t; mkdir t/d; echo old > t/d/old; mv d t; code=$?; command cp -r t after; umount t; (exit $code)",
        "mount -t tmpfs none t; mkdir t/d; mv d t; code=$?; command cp -r t after; umount t; (exit $code)",
        "mount -t tmpfs none t; echo old > t/d; mv d t; code=$?; command cp -r t after; umount t; (exit $code)",
        "mount -t tmpfs none t; mkdir -p t/a/b; mv a t; code=$?; command cp -r t after; umount t; (exit $code)",
        "mount -t tmpfs none t; echo old > t/a; ln t/a t/b; mv a t; code=$?; command cp -r t after; umount t; (exit $code)",
    ] {
        is_as_gnu(script);
    }
}
