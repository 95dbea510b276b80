//! What is kept of what is there, programs that get files, and archives that are filtered: as GNU tar has it.

use super::habits::{is_as_gnu, run};
use super::tools;
use testkit::program::Exit;

#[test]
fn what_is_there_is_kept_under_another_name() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar s; echo new > s/a; echo new > s/b; rm s/link; ln -s b s/link; tar xf t.tar --backup; cat s/a s/a~ s/b~; readlink s/link~
         tar xf t.tar --backup=numbered; tar xf t.tar --backup=numbered s/a",
        "tar cf t.tar s; tar xvf t.tar --backup; tar xvf t.tar --backup=numbered s/a s/d; tar xvvf t.tar -C x --backup; tar xf t.tar --backup",
        "head -c 3000000 /dev/zero > s/z; tar czf t.tgz s; tar xvf t.tgz --suffix=.old; tar xvf t.tgz --backup --strip-components=1",
        "tar cf t.tar s; tar xvf t.tar --suffix=.old --transform='s/b/s\\/a/' s/b; tar xOvf t.tar --backup s/a",
        "tar cf t.tar s; tar xf t.tar --suffix=.old; VERSION_CONTROL=numbered tar xf t.tar --backup; tar xf t.tar --backup=none
         SIMPLE_BACKUP_SUFFIX=.x tar xf t.tar --backup=simple s/a",
        "tar cf t.tar s; tar xf t.tar --backup=zork 2>/dev/null; test $? != 0",
        "tar cf t.tar s/a; rm s/a; mkdir -p s/a/deep/er; touch s/a/f; tar xf t.tar --recursive-unlink",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn a_program_gets_each_file() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar s; tar xf t.tar --to-command='env | grep ^TAR_ | grep -v -e TAR_VERSION -e TAR_OPTIONS -e TAR_ATIME -e TAR_CTIME | sort; cat'",
        "tar cf t.tar s; tar xvf t.tar s/b --to-command='cat; exit 3' 2>/dev/null; echo $?; tar xf t.tar --to-command='exit 3' --ignore-command-error; echo $?
         tar xf t.tar --to-command='kill $$' 2>/dev/null; echo $?; head -c 300000 /dev/zero > s/big; tar cf t.tar s/big; tar xf t.tar --to-command='head -c 3 | wc -c'",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn members_are_filtered_out_and_passed_over() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf - s x | tar --delete s/a s/d | tar tf -; tar cf t.tar s; tar --delete s/a < t.tar > u.tar; tar --delete -f t.tar s/a; cmp t.tar u.tar",
        "tar cf - s | tar --delete nope 2>/dev/null | tar tf -; tar cf t.tar s; tar --delete nope < t.tar > u.tar 2>/dev/null; echo $?; cmp t.tar u.tar",
    ] {
        is_as_gnu(script);
    }
    // As its manual says, and not as GNU tar 1.34 does, which passes over what follows, too.
    let script = "tar cf t.tar s; tar tf t.tar -K s/d/up; tar xf t.tar -K s/link -C x; ls x/s; tar tf t.tar -K s/d s/a s/hard 2>/dev/null; echo $?; tar tf t.tar -K nope";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(2) && printed.starts_with("s/d/up\ns/hard\ns/link\nlink\ns/hard\n2\n.\n"), "{printed}");
    let (exit, _) = run("tar czf t.tgz s; tar --delete s/a < t.tgz > u.tar", "$mh tar");
    assert_eq!(exit, Exit::Code(2));
}
