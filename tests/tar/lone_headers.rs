//! Headers that no member follows, as `git archive` writes them for an empty commit: nothing, wherever they stand and whatever is done.

use super::tools;
use crate::place::{Place, said};
use testkit::program::Exit;

/// Archives of a global header, an extended header and a long name alone, and with a member in front of it.
const ARCHIVES: &str = "umask 022; echo a > a; echo b > b; long=$(printf 'n%.0s' $(seq 150)); echo > $long
    command tar --format=posix --pax-option=comment=x -cf both.tar a; head -c 1024 both.tar > g.part
    command tar --format=posix --pax-option=path:=renamed -cf p.tar a; head -c 1024 p.tar > x.part
    command tar --format=gnu -cf l.tar $long; head -c 1024 l.tar > l.part
    command tar --format=ustar -cf a.tar a; head -c 1024 a.tar > a.part
    for kind in g x l; do cat $kind.part > $kind.eof.tar; cat a.part $kind.part > a$kind.eof.tar
        for name in $kind a$kind; do { cat $name.eof.tar; head -c 1024 /dev/zero; } > $name.end.tar; done; done
    mkdir out; rm $long";

/// What is said and left behind: the exit code of each step, and the members.
fn run(script: &str, tar: &str) -> String {
    let place = Place::new();
    let outcome = place.shell(&format!("{ARCHIVES}\nexport MH_CREW_DIR=; tar() {{ {tar} \"$@\"; }}\n{script}"));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    format!("{}{}", String::from_utf8_lossy(&outcome.stdout), said(&outcome))
}

/// As with GNU tar, for one and two hands.
fn is_as_gnu(script: &str) {
    let theirs = run(script, "command tar");
    for hands in [1, 2] {
        assert_eq!(run(script, &format!("$mh tar --hands {hands}")), theirs, "{script}, {hands} hands");
    }
}

#[test]
fn they_are_nothing_to_whoever_reads() {
    if !tools(&["tar"]) {
        return;
    }
    is_as_gnu(
        "for archive in *.e??.tar; do tar -tvf $archive > list; echo $archive $? $(wc -l < list)
            tar -tf - < $archive; echo $?; gzip -c $archive | tar -tzf -; echo $?; tar -itf $archive; echo $?
            tar -xf $archive -C out; echo $? $(ls out); rm -f out/*; tar -df $archive; echo $?; done",
    );
}

#[test]
fn archives_with_them_can_be_changed() {
    if !tools(&["tar"]) {
        return;
    }
    is_as_gnu(
        "for archive in g.e??.tar ag.e??.tar; do
            for what in '-rf new.tar b' '-uf new.tar b' '-Af new.tar a.tar' '--delete -f new.tar a'; do
                cp $archive new.tar; tar $what 2> said; echo $archive $what $? $(tar -tf new.tar); done; done
        for other in x.end.tar l.end.tar al.eof.tar; do cp a.tar new.tar; tar -Af new.tar $other; echo $? $(tar -tf new.tar); done",
    );
    // GNU tar gives what is added the name that such a header has in it.
    for hands in [1, 2] {
        let told = run(
            "for archive in x.e??.tar l.e??.tar; do
                for what in '-rf new.tar b' '-uf new.tar b' '-Af new.tar b.tar'; do
                    command tar -cf b.tar b; cp $archive new.tar; tar $what; echo $? $(tar -tf new.tar); done; done | uniq",
            &format!("$mh tar --hands {hands}"),
        );
        assert_eq!(told, "0 b\n");
    }
}

#[test]
fn strangers_archives_may_have_global_ones_alone() {
    if !tools(&["tar"]) {
        return;
    }
    let script = "for archive in g.end.tar ag.eof.tar x.end.tar al.eof.tar; do
        tar --untrusted -tf $archive > list 2> said; echo $? $(cat list) $(grep -c 'nothing follows' said); done";
    assert_eq!(run(script, "$mh tar"), "0 0\n0 a 0\n2 1\n2 a 1\n");
}
