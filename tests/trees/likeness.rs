//! The same trees and exit codes as GNU's cp, rm and mv.

use super::described::assert_same;
use super::{WIDTHS, is_root, succeeds};
use crate::place::{Place, said};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use testkit::program::{Exit, TestProgram, left_out};
use testkit::random::Random;

/// A tree with everything: names of every byte, farms of hard links, holes, special files, attributes, owners, odd modes and times.
fn everything(place: &Place) {
    for byte in (1..=255_u8).filter(|&byte| byte != b'/') {
        place.write(
            Path::new("src").join(std::ffi::OsStr::from_bytes(&[b'n', byte, b'x'])),
            vec![byte; usize::from(byte)],
        );
    }
    let mut random = Random::seeded(6);
    let mut directories = vec!["src/random".to_owned()];
    for number in 0..300 {
        let above = directories[random.below(directories.len())].clone();
        if random.below(4) == 0 && above.len() < 200 {
            directories.push(format!("{above}/directory{number}"));
            std::fs::create_dir_all(place.path(&directories[directories.len() - 1])).expect("made");
        } else {
            place.write(format!("{above}/file{number}"), vec![number as u8; random.below(200_000)]);
        }
    }
    let script = "cd src; mkdir farm; for i in 1 2 3 4 5 6 7 8; do echo $i > farm/f$i; mkdir farm/d$i; \
        for j in 1 2 3 4 5 6 7 8; do [ -e farm/f$j ] && ln farm/f$j farm/d$i/l$j; done; done; \
        truncate -s 8M holes; printf data | dd of=holes bs=1 seek=3000000 conv=notrunc 2>/dev/null; \
        head -c 70000000 /dev/urandom > large; ln large large2; mkfifo fifo; ln -s nowhere dangling; ln -s large link; ln -s farm directory-link; \
        mkdir set-group sticky read-only; touch read-only/file; chmod 2775 set-group; chmod 1777 sticky; chmod 555 read-only; chmod 4711 n1x; chmod 0 n2x; \
        touch -h -d '1999-01-01 00:00:00.5' link; touch -d '2001-02-03 04:05:06.123456789' set-group farm n3x; \
        setfattr -n user.colour -v blue n4x 2>/dev/null; if command -v setfacl >/dev/null; then setfacl -m u:99:rwx n5x; mkdir inherits; \
        setfacl -d -m u:98:rx inherits; echo 1 > inherits/heir; fi; \
        if [ $(id -u) = 0 ]; then mknod character c 1 3; mknod block b 7 9; chown 1234:5678 n6x random; chown -h 77:88 dangling; \
        cp /bin/true capable && { setcap cap_net_raw+ep capable 2>/dev/null || true; }; fi";
    succeeds(place, script);
}

/// A directory on another file system than the place.
pub fn elsewhere(place: &Place) -> Option<&'static Path> {
    let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().expect("it is there"));
    let directories = ["/dev/shm", "/var/tmp"].map(Path::new);
    directories.into_iter().find(|path| path.is_dir() && device(path) != device(&place.path(".")))
}

#[test]
fn a_large_file_that_is_cut_off_meanwhile_is_copied_up_to_somewhere() {
    let place = Place::new();
    let Some(elsewhere) = elsewhere(&place) else {
        left_out("a large file to another file system: there is only one");
        return;
    };
    let script = format!(
        "there=$(mktemp -d -p {}); trap 'rm -rf $there' EXIT; yes 0123456789 | head -c 300000000 > whole; cp whole large; \
         $mh cp -j 2 large $there/copy & while [ ! -s $there/copy ]; do :; done; truncate -s 1000 large; wait $! && \
         cmp -n $(stat -c %s $there/copy) whole $there/copy",
        elsewhere.display()
    );
    succeeds(&place, &script);
}

#[test]
fn a_large_file_comes_whole_to_another_file_system() {
    let place = Place::new();
    let Some(elsewhere) = elsewhere(&place) else {
        left_out("a large file to another file system: there is only one");
        return;
    };
    succeeds(&place, "head -c 70000000 /dev/urandom > large");
    for width in WIDTHS {
        let script = format!(
            "there=$(mktemp -d -p {}); trap 'rm -rf $there' EXIT; $mh cp --report -j {width} large $there/copy 2>&1 && cmp large $there/copy",
            elsewhere.display()
        );
        let told = String::from_utf8_lossy(&succeeds(&place, &script).stdout).into_owned();
        assert_eq!(told.contains("in ranges"), width != "1", "{told}");
    }
}

#[test]
fn an_archive_copy_is_the_one_that_cp_makes() {
    let place = Place::new();
    everything(&place);
    succeeds(&place, "cp -a src expected");
    for width in WIDTHS {
        succeeds(&place, &format!("$mh cp -a -j {width} src found"));
        assert_same(&place.path("expected"), &place.path("found"), &format!("cp -a at {width} hands"));
        let taken = |name| succeeds(&place, &format!("du -k {name}/holes | cut -f 1")).stdout;
        assert_eq!(taken("expected"), taken("found"), "holes stay holes");
        // And once more over what is there.
        succeeds(&place, &format!("$mh cp -aT -j {width} src found && $mh cp -a --resume -j {width} -T src found"));
        assert_same(&place.path("expected"), &place.path("found"), "copied over itself");
        succeeds(&place, &format!("$mh rm -rf -j {width} found"));
        assert!(!place.has("found"));
    }
}

#[test]
fn special_files_have_their_own_modes_whoever_makes_them() {
    let place = Place::new();
    let script = "mkdir src; for i in $(seq 40); do mkdir -m 750 src/d$i; for j in 1 2 3; do mkfifo -m 666 src/d$i/p$j; echo x > src/d$i/f$j; \
        mkdir src/d$i/d$j; mkfifo -m 6613 src/d$i/d$j/p; done; done; cp -a src expected; cp -a src before";
    succeeds(&place, script);
    for width in ["2", "4", "16", "64"] {
        for move_there in [false, true] {
            succeeds(&place, &format!("$mh cp -a -j {width} src found"));
            assert_same(&place.path("expected"), &place.path("found"), &format!("at {width} hands"));
            assert_same(&place.path("before"), &place.path("src"), "the source is as it was");
            succeeds(&place, if move_there { "$mh rm -rf src; $mh mv found src" } else { "$mh rm -rf found" });
        }
    }
}

#[test]
fn other_copies_are_those_that_cp_makes() {
    let place = Place::new();
    everything(&place);
    // Without the times of the copy's own moment.
    for options in [
        "-r --preserve=timestamps",
        "-rp",
        "-dR --preserve=timestamps,xattr",
        "-rL --preserve=timestamps --no-preserve=mode",
        "-al",
        "-a --sparse=always",
        "-a --sparse=never",
        "-a --attributes-only",
        "-a --no-preserve=links",
        "-a --reflink=never",
    ] {
        // A link that leads nowhere cannot be followed by either.
        let options_and_less = if options.contains('L') { "rm src/dangling 2>/dev/null;" } else { "" };
        let (expected, found) = ("expected", "found");
        succeeds(&place, &format!("{options_and_less} rm -f src/fifo; umask 027; cp {options} src {expected}"));
        succeeds(&place, &format!("umask 027; $mh cp {options} -j 4 src {found}"));
        assert_same(&place.path(expected), &place.path(found), options);
        succeeds(&place, "$mh rm -rf expected found");
    }
}

#[test]
fn a_plain_user_gets_what_cp_gives_a_plain_user() {
    if !is_root() || TestProgram::find("setpriv").is_none() {
        left_out("a copy as a plain user: needs root and setpriv");
        return;
    }
    let place = Place::new();
    everything(&place);
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    succeeds(
        &place,
        "chmod 4755 src/n1x; chmod 644 src/n2x; rm -rf src/block src/character; chmod 777 .; cp $mh ./mh-copy; chmod 755 mh-copy",
    );
    succeeds(&place, &format!("{user} cp -a src expected"));
    for width in WIDTHS {
        succeeds(&place, &format!("{user} ./mh-copy cp -a -j {width} src found"));
        assert_same(&place.path("expected"), &place.path("found"), "as a plain user");
        succeeds(&place, &format!("chmod 755 found/read-only; {user} ./mh-copy rm -rf -j {width} found"));
    }
    // What may not be read or removed is told once, the rest is done, and the exit code is GNU's.
    succeeds(&place, "chmod 600 src/n3x; chmod 700 src/farm; mkdir locked; touch locked/file; chmod 755 locked");
    for command in ["cp -a src again", "rm -rf locked"] {
        let theirs = place.shell(&format!("{user} {command}; code=$?; rm -rf again; exit $code"));
        let ours = place.shell(&format!("{user} ./mh-copy {command}; code=$?; rm -rf again; exit $code"));
        assert_eq!(ours.exit, theirs.exit, "{command}");
        let lines = |text: String| {
            let mut lines: Vec<String> =
                text.lines().map(|line| line.replace("./mh-copy ", "").replace("mh ", "")).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(said(&ours)), lines(said(&theirs)), "{command}");
    }
}

#[test]
fn a_default_list_that_shuts_new_directories_to_their_owner_stops_nobody() {
    if !is_root() || ["setpriv", "setfacl"].map(TestProgram::find).iter().any(Option::is_none) {
        return left_out("a copy as a plain user below a default list: needs root, setpriv and setfacl");
    }
    for list in ["u::rw,g::-,o::-", "u::wx,g::rwx,o::r", "u::-,g::-,o::-"] {
        for options in ["-r", "-rp", "-a"] {
            let place = Place::new();
            let script = format!(
                "mkdir -p src/d/e theirs ours; echo 1 > src/d/e/f; setfacl -d -m {list} theirs ours; cp $mh mh-copy; chmod 755 mh-copy; chown -R 65534:65534 src theirs ours; \
                 user='setpriv --reuid 65534 --regid 65534 --clear-groups'; list() {{ (cd $1; find . -printf '%P %M\\n' | sort; getfacl -Rn . 2>/dev/null); }}; \
                 $user cp {options} src theirs && $user ./mh-copy cp {options} src ours && list theirs > told && list ours | diff told -"
            );
            succeeds(&place, &script);
        }
    }
}

#[test]
fn complaints_and_exit_codes_are_gnu_s() {
    let cases = [
        "cp",
        "cp a",
        "cp a d nowhere",
        "cp nowhere x",
        "cp d x",
        "cp a a",
        "cp a d/a/x",
        "cp -r d d/e/f",
        "cp -t a d",
        "cp -r d a",
        "cp a d2",
        "cp -T a d",
        "cp a b x",
        "cp -n a b",
        "cp dangling x",
        "cp a dangling",
        "cp a hard",
        "cp -s d/f e",
        "cp a nowhere/x",
        "cp a b/",
        "cp -r d/. e",
        "cp -rT d e",
        "cp --parents d/f e",
        "cp -r --parents d/g e",
        "cp -b a b",
        "cp --backup=numbered a b",
        "cp -S .old a b",
        "cp -f a b",
        "cp --remove-destination a hard",
        "cp -l a new",
        "cp -ls a x",
        "cp d/f a e",
        "cp a d/f a e",
        "cp /dev/null z",
        "cp a /dev/full",
        "cp -u a b",
        "cp -iu a b < /dev/null",
        "cp -uT a e",
        "cp -uT b a",
        "cp --parents -T d/f e",
        "cp a d/../a e",
        "cp d/a a e",
        "cp d/f d/g/f e",
        "cp nowhere/f d/f e",
        "cp -r d ./d e",
        "cp -r d d e",
        "cp -b a dangling",
        "cp -b --attributes-only a dangling",
        "cp -al dangling b",
        "cp -al b hard",
        "cp -as linkd b",
        "cp -l dangling b",
        "cp -Ha dangling new",
        "cp -aH dangling new",
        "cp -La dangling new",
        "cp -dL dangling new",
        "rm",
        "rm -f",
        "rm d",
        "rm nowhere",
        "rm -f nowhere",
        "rm -d d",
        "rm -d e",
        "rm -r .",
        "rm -r ..",
        "rm -rf d/..",
        "rm a b nowhere d",
        "rm a/",
        "rm -r a/",
        "rm -r d/",
        "rm -v a",
        "rm -rv e",
        "rm linkd/",
        "rm -r linkd",
        "mv",
        "mv a",
        "mv nowhere x",
        "mv a d2",
        "mv a a",
        "mv a b",
        "mv d a",
        "mv a d",
        "mv -T a d",
        "mv d d/e",
        "mv -n a b",
        "mv -v a x",
        "mv d e",
        "mv -t e a b",
        "mv a b x",
        "mv -bT a e",
        "mv -bvT a d",
        "mv -vb a d2/../b",
        "mv a a e",
        "mv -b a hard",
        "mv -b a a",
        "mv -n a a",
        "mv -n d a",
        "mv -u d a",
        "mv -b d/ a/",
        "mv -iT a e < /dev/null",
        "mv -b d d/g",
        "mv d/f b d2/../a e",
        "rm -f --interactive=never nowhere a",
        "rm --interactive=never nowhere a",
        "rm -f --interactive=always a nowhere < /dev/null",
        "rm --interactive=always -f a nowhere < /dev/null",
        "rm -f a/",
        "rm -di d < /dev/null",
        "rm -di e < /dev/null",
        "cp -T a linkd",
        "cp -fT a linkd",
        "cp -nT a linkd",
        "cp -iT a linkd < /dev/null",
        "cp -bT a linkd",
        "cp -lT a linkd",
        "cp -lfT a linkd",
        "cp -T --remove-destination a linkd",
        "cp -T --attributes-only a linkd",
        "cp -dT dangling linkd",
        "cp a loop",
        "cp -n a loop",
        "cp -u a loop",
        "cp -d a loop",
        "cp -f a loop",
        "cp -fn a loop",
        "cp -b a loop",
        "cp --remove-destination a loop",
        "cp -t d -t e a",
        "cp -t nowhere -t e a",
        "mv -t d -t e a",
        "cp -r --attributes-only fifo a",
        "cp --backup=num a b",
        "cp --backup=o a b",
        "cp --backup=ni a b",
        "cp --backup=n a b",
        "cp --backup=foo a b",
        "mv --backup=num a b",
        "mv --backup=n a b",
        "cp --preserve=mo,ti a b",
        "cp --preserve=own a b",
        "cp --preserve=x a b",
        "cp --preserve=foo a b",
        "cp --preserve= a b",
        "cp --no-preserve=m a b",
        "cp --no-preserve=mode, a b",
        "cp --sparse=al a b",
        "cp --sparse=n a b",
        "cp --sparse=a a b",
        "cp --reflink=au a b",
        "cp --reflink=nev a b",
        "cp --reflink=a a b",
        "cp --reflink=foo a b",
    ];
    for case in cases {
        let ends = ["", "$mh "].map(|program| {
            let place = Place::new();
            place.write("a", "one").write("b", "two").write("d/f", "x").write("d/g/h", "y").write("d2/a/z", "z");
            succeeds(&place, "mkdir e; ln -s nowhere2 dangling; ln a hard; ln -s d linkd; ln -s loop loop; mkfifo fifo; touch -d '2001-01-01' a");
            let outcome = place.shell(&format!("{program}{case}"));
            // Under our own name the hint behind a wrong command line is ours.
            let in_their_words = |text: String, name: &str| {
                let help = format!("Try '{name} --help' for more information.");
                text.replace(&format!("mh {name}"), name).replace(&format!("  hint: {name} -h shows the options"), &help)
            };
            let text = ["cp", "rm", "mv"].into_iter().fold(said(&outcome), in_their_words);
            let mut tree: Vec<_> = super::described::describe(place.directory()).into_keys().collect();
            tree.sort();
            let content: Vec<_> = ["a", "b", "d/f", "hard"].map(|name| std::fs::read(place.path(name)).ok()).into();
            (outcome.exit, text, outcome.stdout, tree, content)
        });
        let [theirs, ours] = ends;
        assert_eq!(ours, theirs, "{case}");
    }
}

#[test]
fn under_fakeroot_owners_and_devices_are_what_they_seem() {
    if TestProgram::find("fakeroot").is_none() {
        left_out("a copy under fakeroot: it is not installed");
        return;
    }
    let place = Place::new();
    place.write("mine", "x");
    let run = "fakeroot sh -c 'mkdir tree; for name in file other third; do cp mine tree/$name; done; chown 1234:5678 tree/file tree/other tree; mknod tree/device c 1 3; \
        chmod 4755 tree/file; $mh cp -a -j 4 tree copy; stat -c \"%n %F %u:%g %a %t:%T\" copy copy/file copy/other copy/third copy/device; \
        $mh rm -r copy/file; touch copy/file; stat -c \"%n %u\" copy/file'";
    let outcome = succeeds(&place, run);
    let expected = "copy directory 1234:5678 755 0:0\ncopy/file regular file 1234:5678 4755 0:0\n\
        copy/other regular file 1234:5678 644 0:0\ncopy/third regular file 0:0 644 0:0\ncopy/device character special file 0:0 644 1:3\ncopy/file 0\n";
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), expected);
}

#[test]
fn a_library_that_was_loaded_before_sees_all_calls() {
    let place = Place::new();
    let Some(compiler) = TestProgram::find("cc") else { return left_out("needs a C compiler (cc)") };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("trees/watching.c");
    let options = ["-O2", "-shared", "-fPIC", "-o", "watching.so"].map(std::ffi::OsStr::new);
    let options = options.into_iter().chain([source.as_os_str()]);
    compiler.in_directory(place.directory()).run(options, b"").expect("cc starts").stdout_of_success();
    let expected = succeeds(
        &place,
        "mkdir -p src/a src/b; for i in $(seq 40); do echo $i > src/a/f$i; echo $i > src/b/g$i; done; ls src/a src/b | grep '[fg]' | sort",
    );
    let watched = [
        ("opened", "cp -r src copy"),
        ("made", "cp -r src other"),
        ("removed", "rm -r other"),
        ("opened", "tar -cf src.tar src"),
        ("opened", "tar --zstd -cf src.tar.zst src"),
        ("made", "tar -xf src.tar --one-top-level=plain"),
        ("made", "tar -xf src.tar.zst --one-top-level=packed"),
    ];
    for (what, command) in watched {
        let run = format!(
            "LD_PRELOAD=$PWD/watching.so $mh {command} 2>&1 | sed -n 's/^{what} \\([fg][0-9]*\\)$/\\1/p' | sort"
        );
        assert_eq!(succeeds(&place, &run).stdout, expected.stdout, "{command}");
    }
    // Where nothing can be promised, what is there stays all the same.
    let moves = "echo 1 > one; echo 2 > two; export LD_PRELOAD=$PWD/watching.so; $mh mv -n one two && $mh mv -n one three && $mh mv -n src new; cat two three";
    assert_eq!(succeeds(&place, moves).stdout, b"2\n1\n");
    assert!(place.has("new/a/f1") && !place.has("one"));
}

#[test]
fn a_tree_moves_whole_to_another_file_system() {
    let place = Place::new();
    if !is_root() || place.shell("mkdir other && mount -t tmpfs none other").exit != Exit::Code(0) {
        left_out("a move between file systems: needs root and mounts");
        return;
    }
    everything(&place);
    let forecast = succeeds(&place, "$mh mv --dry-run src other/ && $mh mv --dry-run src new && ls other").stdout;
    succeeds(&place, "cp -a src expected && $mh mv --verify src other/");
    let moved = std::panic::catch_unwind(|| assert_same(&place.path("expected"), &place.path("other/src"), "moved"));
    let is_gone = !place.has("src");
    succeeds(&place, "umount other");
    moved.expect("the same tree");
    assert!(is_gone);
    assert_eq!(
        String::from_utf8_lossy(&forecast),
        "would copy and remove 'src' -> 'other/src'\nwould rename 'src' -> 'new'\n"
    );
}

#[test]
fn arguments_move_to_another_file_system_one_after_the_other() {
    for case in [
        "mv a a there",
        "mv d/f d there",
        "mv d/g/ d/./g there",
        "mv d ./d/f b there",
        "mv -b a d/f b there",
        "mv -n a b there",
        "mv -u a b there",
        "mv -bT a there",
        "mv -bT d there",
        "mv --backup=numbered a c/a there",
        "mv -b a c/a there",
        "mv -i a c/a there < /dev/null",
    ] {
        let ends = ["", "$mh "].map(|program| {
            let place = Place::new();
            let elsewhere = elsewhere(&place)?;
            place.write("a", "one").write("b", "two").write("d/f", "x").write("d/g/h", "y").write("c/a", "z");
            let script = format!(
                "touch -d 2001-01-01 a b d/f d/g/h c/a; touch -d 2001-01-01 d/g; touch -d 2001-01-01 d c; \
                 far=$(mktemp -d -p {}); trap 'rm -rf $far' EXIT; mkdir $far/there; echo old > $far/there/b; touch -d 2000-01-01 $far/there/b; \
                 ln -s $far/there .; {program}{}; code=$?; rm there; cp -a $far ./far; find far . -type d -exec touch -d 2001-01-01 {{}} +; exit $code",
                elsewhere.display(),
                case.replace("there", "$far/there"),
            );
            let exit = place.shell(&script).exit;
            Some((exit, super::described::describe(place.directory())))
        });
        let [Some(theirs), Some(ours)] = ends else {
            left_out("moves to another file system: there is only one");
            return;
        };
        assert_eq!(ours, theirs, "{case}");
    }
}

#[test]
fn a_plain_user_loses_nothing_to_what_is_shut() {
    if !is_root() || TestProgram::find("setpriv").is_none() {
        left_out("moves as a plain user: needs root and setpriv");
        return;
    }
    let place = Place::new();
    let Some(elsewhere) = elsewhere(&place) else {
        left_out("moves to another file system: there is only one");
        return;
    };
    let script = format!(
        "echo new > secret; chmod 0 secret; mkdir keeps; echo old > keeps/secret; cp $mh ./mh-copy; chmod 755 mh-copy; \
         far=$(mktemp -d -p {}); trap 'rm -rf $far' EXIT; echo old > $far/secret; chown -R 65534 . $far; \
         user='setpriv --reuid 65534 --clear-groups ./mh-copy'; \
         $user mv -b secret $far; [ $? = 1 ] && cat $far/secret && [ ! -e $far/secret~ ] && [ -e secret ] && \
         chmod 755 keeps && chmod 555 . && {{ $user mv -b secret keeps; [ $? = 1 ]; }} && cat keeps/secret && [ ! -e keeps/secret~ ]",
        elsewhere.display()
    );
    assert_eq!(succeeds(&place, &script).stdout, b"old\nold\n");
    // A directory that cannot be read goes when it is empty, after both questions.
    let script = "chmod 755 .; mkdir -m 0 shut; mkdir -m 0 full; touch full/x; chown -R 65534 shut full; user='setpriv --reuid 65534 --clear-groups'; \
        printf 'y\\ny\\ny\\ny\\n' | $user ./mh-copy rm -ri shut full; echo $?; ls -d shut full";
    assert_eq!(String::from_utf8_lossy(&place.shell(script).stdout), "1\nfull\n");
    // One that cannot be copied leaves an empty one; and what is read-only gets its attributes all the same.
    let script = "mkdir -m 0 closed; touch -d @5 closed; chown 65534 closed; \
        echo x > kept; setfattr -n user.k -v value kept; chmod 444 kept; chown 65534 kept; user='setpriv --reuid 65534 --clear-groups'; \
        $user ./mh-copy cp -a closed new; echo $?; stat -c '%a %Y' new; $user ./mh-copy cp -a kept copy && getfattr --only-values -n user.k copy; \
        stat -c ' %a' copy";
    assert_eq!(String::from_utf8_lossy(&place.shell(script).stdout), "1\n0 5\nvalue 444\n");
}

#[test]
fn what_is_read_back_keeps_its_times() {
    let place = Place::new();
    let script = "echo text > f; touch -ad @1000000000 f; $mh cp -a --verify f g; stat -c %X g";
    assert_eq!(succeeds(&place, script).stdout, b"1000000000\n");
}

#[test]
fn what_stays_is_not_counted_as_removed() {
    let place = Place::new();
    let script = "$mh rm -f --report=json /proc/version 2>&1 >/dev/null | tail -n 1";
    let report: serde_json::Value = serde_json::from_slice(&succeeds(&place, script).stdout).expect("JSON");
    assert_eq!((&report["counts"]["entries"], &report["counts"]["failed"]), (&0.into(), &1.into()));
}
