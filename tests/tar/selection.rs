//! Options that count for the names behind them, lists of names with options in them, and which of several members is meant: as GNU tar has it.

use super::habits::{is_as_gnu, run};
use super::tools;
use testkit::program::Exit;

#[test]
fn options_between_names_count_for_what_follows() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar --no-recursion s --recursion s/d; tar tf t.tar",
        "tar cf t.tar s/d --exclude='*c' s; tar tf t.tar",
        "tar cf t.tar --anchored --exclude=s/a --no-anchored --exclude=b --ignore-case --exclude=C s; tar tf t.tar",
        "tar cf t.tar --wildcards-match-slash --exclude='s*c' s; tar tf t.tar; tar cf t.tar --no-wildcards-match-slash --exclude='s*c' s; tar tf t.tar",
        "touch s/x~ s/.#a 's/#b#'; tar cf t.tar --exclude-backups s; tar tf t.tar",
        "mkdir s/.git; touch s/CVS 's/x~'; tar cf t.tar s/CVS --exclude-vcs s; tar tf t.tar",
        "tar cf t.tar --add-file=s/a --add-file s/b; tar tf t.tar",
        "touch 's/tab\tx' 's/b\\s'; tar cf t.tar 's/tab\\tx' 's/b\\s'; tar tf t.tar; tar xf t.tar -C x 's/tab\\tx'",
        "touch 's/x\\ty'; tar cf t.tar --no-unquote 's/x\\ty'; tar tf t.tar",
        "tar cf t.tar s; tar tf t.tar --wildcards 's/*' --no-wildcards 's/d' 2>/dev/null",
        "tar cf t.tar s; tar tf t.tar --wildcards --no-wildcards-match-slash '*'; tar tf t.tar --wildcards --no-wildcards-match-slash --no-recursion '*'",
        "tar cf t.tar s; tar tf t.tar --no-recursion s/d --recursion s",
        "tar cf t.tar s; tar tf t.tar --anchored d --no-anchored d 2>/dev/null",
        "tar cf t.tar s; tar tf t.tar --ignore-case S/A --no-ignore-case S/B 2>/dev/null",
        "tar cf t.tar s; tar tf t.tar s/a --exclude=a; tar tf t.tar --exclude=a s/a",
        "tar cf t.tar s; tar tf t.tar s/a s s/a 2>/dev/null; echo $?; tar xf t.tar -C x s/d s s/a s/d/c 2>/dev/null",
        "tar cf t.tar s/a --exclude=x -C s 2>/dev/null",
        "tar cf t.tar s/a --anchored 2>/dev/null; tar rf t.tar s/b --exclude-vcs",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn names_are_extracted_into_the_directories_in_front_of_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar s; mkdir x/y; tar xvf t.tar -C x s/a -C y s/d -C .. s/hard s/b",
        "tar cf t.tar s; mkdir x/y; tar xf t.tar -C x -C y s/a; tar xf t.tar s/a -C x; tar xf t.tar -C x",
        "tar cf t.tar s; mkdir x/y; tar xf t.tar -C x s/a -C $PWD/x/y s/b; tar cf u.tar x; tar tf u.tar",
        "tar cf t.tar s; mkdir x/y; cp -a s x; tar df t.tar -C x s/a -C y s/b 2>/dev/null",
        "tar cf t.tar s; mkdir x/y; cp -a s x/y; echo 1 > x/y/s/b; cp -a s x; tar df t.tar -C x s/a -C y s/b 2>/dev/null",
    ] {
        is_as_gnu(script);
    }
    // No link leads from one of the directories to another.
    let script = "ln -s ../y l; mkdir -p x y; tar cf t.tar s/a l; echo z > z; tar rf t.tar --transform='s,z,l/z,' z
        tar xf t.tar -C x l l/z -C ../y s/a 2>&1 | grep -c link; test ! -e y/z && echo kept";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("1\nkept\n"), "{printed}");
}

#[test]
fn lists_of_names_have_options_in_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "printf '%s\\n' --no-recursion s/d --recursion s --exclude=b s > l; tar cf t.tar -T l; tar tf t.tar",
        "printf '%s\\n' '-T m' > l; printf 's/a\\ns/b\\n' > m; tar cf t.tar -T l; tar tf t.tar",
        "printf '%s\\n' '-T l' > l; tar cf t.tar -T l 2>/dev/null; test $? = 2; code=$?; rm -f t.tar; (exit $code)",
        "printf '%s\\n' --zork > l; tar cf t.tar -T l 2>/dev/null; test $? = 2; code=$?; rm -f t.tar; (exit $code)",
        "printf '%s\\n' '-C s a' > l; tar cf t.tar -T l 2>/dev/null; code=$?; rm -f t.tar; (exit $code)",
        "printf 's/a\\n' > l; printf -- '--add-file=\"s/b\"\\n' | tar cf t.tar -T l -T -; tar tf t.tar",
        "touch 's/a b'; printf -- \"-C 's'\\n--add-file='a b'\\n\" > l; tar cf t.tar -T l; tar tf t.tar",
        "touch 's/x\ty'; printf 's/x\\\\ty\\n' > l; tar cf t.tar -T l; tar tf t.tar; tar xf t.tar -C x -T l",
        "touch 's/x\\ty'; printf 's/x\\\\ty\\n' > l; tar cf t.tar --verbatim-files-from -T l; tar tf t.tar",
        "touch 's/x\\ty' ./-C; printf 's/x\\\\ty\\0-C\\0' > l; tar cf t.tar --null -T l; tar tf t.tar",
        "printf 's/a\\0s/b\\0' > m; printf 's/d/c\\n' > l; tar cf t.tar --null -T m --no-null -T l; tar tf t.tar",
        "printf -- '-C s\\na\\n' > l; tar cf t.tar --verbatim-files-from --no-verbatim-files-from -T l; tar tf t.tar",
        "tar cf t.tar s; printf -- '--wildcards\\n*c\\n' > l; tar tf t.tar -T l",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn one_of_several_members_of_a_name_is_taken() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar s; tar rf t.tar s/a; tar rf t.tar s/a
         for o in '' =1 =2 =3 =4; do tar tvf t.tar --occurrence$o s/a s/d 2>/dev/null; echo $?; done",
        "tar cf t.tar s; tar rf t.tar s; for o in 1 2; do tar xvf t.tar -C x --occurrence=$o s/a s/d/c 2>/dev/null; echo $?; done",
        "tar cf t.tar s; tar rf t.tar s/a; tar --delete --occurrence=2 -f t.tar s/a; tar tf t.tar",
        "tar cf t.tar s/a; echo new > s/a; tar rf t.tar s/a; for o in 1 2; do tar xOf t.tar --occurrence=$o s/a; tar df t.tar --occurrence=$o s/a; done",
        "tar cf t.tar s; tar tf t.tar --occurrence 2>/dev/null; tar cf u.tar --occurrence s/a 2>/dev/null",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn files_in_directories_say_what_is_left_out() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "echo a > s/.ign; tar cf t.tar --exclude-ignore=.ign s; tar tf t.tar",
        "printf 'a\\n*p\\n# b\\n' > s/.ign; tar cf t.tar --exclude-ignore-recursive=.ign s; tar tf t.tar",
        "printf 'a\\n*p\\nd/c\\ns/b\\n' > s/.gitignore; (cd s; tar cf ../t.tar --exclude-vcs-ignores .); tar tf t.tar",
        "echo s/a > s/.gitignore; echo '*c' > s/.bzrignore; printf 'syntax: glob\\nb\\n' > s/.hgignore
         printf 'hard link\\n' > s/.cvsignore; tar cf t.tar --exclude-vcs-ignores s; tar tf t.tar",
    ] {
        is_as_gnu(script);
    }
    // As its manual says, and not as GNU tar 1.34 does: what one directory's file says counts for that directory.
    let script = "echo c > s/.ign; echo c > s/.hgignore; cp s/b s/c; tar cf t.tar --exclude-ignore=.ign s; tar tf t.tar | grep -c 'c$'";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("1\n"), "{printed}");
}

#[test]
fn the_variable_holds_options_in_front_of_those_that_are_typed() {
    if !tools(&["tar"]) {
        return;
    }
    // COMPAT: the test's own variable makes GNU tar write what we write.
    for script in [
        "export TAR_OPTIONS=\"$TAR_OPTIONS --exclude='*c' -v\"; tar cf t.tar s/d",
        "export TAR_OPTIONS=\"$TAR_OPTIONS --exclude='*c'\"; tar cf t.tar s/d; tar tf t.tar",
        "export TAR_OPTIONS=x; tar cf t.tar s 2>&1 | sed 's/^mh //;1q'",
        "export TAR_OPTIONS=\"'x\"; tar cf t.tar s 2>&1 | sed 's/^mh //;1q'",
    ] {
        let gnu = "TAR_OPTIONS=\"--format=posix --pax-option=delete=atime,delete=ctime --sort=name $TAR_OPTIONS\" command tar";
        let (theirs, ours) = (run(script, gnu), run(script, "$mh tar"));
        assert_eq!(ours, theirs, "{script}");
    }
}
