//! Names, patterns, renames and updates: what GNU tar does with each, for one and two hands.

use super::tools;
use crate::place::{Place, said};
use testkit::program::Exit;

const BEFORE: &str =
    "umask 022; mkdir -p s/d x; echo a > s/a; echo b > s/b; echo c > s/d/c; ln s/a s/hard; ln -s s/a s/link
    ln -s /etc/passwd s/far; find s | xargs touch -h -d '2001-02-03 04:05:06.5'; export TZ=UTC MH_CREW_DIR=";

fn run(script: &str, tar: &str) -> String {
    let place = Place::new();
    let outcome = place.shell(&format!("{BEFORE}\ntar() {{ {tar} \"$@\"; }}\n{script}"));
    assert_eq!(outcome.exit, Exit::Code(0), "{script}: {}", said(&outcome));
    format!("{}{}", String::from_utf8_lossy(&outcome.stdout), said(&outcome))
}

fn is_as_gnu(script: &str) {
    let theirs = run(script, "command tar --format=posix --sort=name");
    assert!(!theirs.is_empty(), "{script}");
    for hands in [1, 2] {
        assert_eq!(run(script, &format!("$mh tar --hands {hands}")), theirs, "{script}, {hands} hands");
    }
}

#[test]
fn blanks_at_the_end_of_a_listed_pattern_say_nothing() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        r"printf 's/b\r\n\t\n   \r\ns/d  \ns/hard\t\v\f \r' > l; tar -cf t.tar -X l s; tar -tf t.tar",
        r"printf 's/b\r\n*ar \n' > l; tar -cf t.tar s; tar -tf t.tar -X l; tar -xf t.tar -X l -C x; ls x/s",
        r"printf ' s/b\n' > l; tar -cf t.tar s; tar -tf t.tar -X l --exclude='s/a '",
        // What is archived or extracted is named as it is.
        r"printf 's/b\r\n' > l; tar -cf t.tar -T l 2> /dev/null; echo $?; tar -cf t.tar s; tar -tf t.tar -T l 2> /dev/null; echo $?",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn names_are_renamed_as_they_stand_in_the_archive() {
    if !tools(&["tar"]) {
        return;
    }
    for rule in ["s,^/,root/,", "s,^etc,E,", "s,/,_,g", "s,^,../q/,", "s,^,/p/,"] {
        is_as_gnu(&format!(
            "tar -cf t.tar --transform='{rule}' /etc/passwd 2> /dev/null; tar -tPf t.tar
            tar -cPf t.tar --transform='{rule}' /etc/passwd; tar -tPf t.tar
            cd s/d; tar -cf t.tar --transform='{rule}' ../a 2> /dev/null; tar -tPf t.tar"
        ));
    }
}

#[test]
fn flags_say_whether_targets_of_links_are_renamed() {
    if !tools(&["tar"]) {
        return;
    }
    for flags in ["", "R", "H", "S", "RH", "RS", "HS", "Rr", "RHSh", "gR", "gH"] {
        is_as_gnu(&format!(
            "tar -cf t.tar --transform='s,a,AA,{flags}' s; tar -tvf t.tar | sed 's,.*:.. ,,'
            tar -cf t.tar --transform='s,^s/,n/,{flags}' $PWD/s s 2> /dev/null; tar -tf t.tar | sed 's,.*/s/,ROOT,'
            tar -cf t.tar s; mkdir y; tar -xf t.tar --transform='s,a,AA,{flags}' -C y 2> /dev/null; echo $?
            cd y; find . ! -type d -printf '%p %n %l\\n' | sort"
        ));
    }
}

#[test]
fn directories_that_are_there_are_not_added_again() {
    if !tools(&["tar"]) {
        return;
    }
    for format in ["posix", "gnu", "ustar"] {
        is_as_gnu(&format!(
            "tar -cf t.tar --format={format} s
            for step in 1 2 3; do mkdir s/k$step; echo n > s/k$step/f; chmod 70$step s/d; touch s s/d
                for again in 1 2; do echo step $step; tar -uvf t.tar --format={format} s | sort; done; done
            touch -d 2030-01-01 s/d/c s/d; for again in 1 2; do tar -uvf t.tar s/d; done
            ln -sfn other s/link; tar -uvf t.tar s; tar -uvf t.tar s; tar -tf t.tar | sort | uniq -d"
        ));
    }
    // What has become a directory is one now; GNU tar would put its files into the file.
    for hands in [1, 2] {
        let script =
            "tar -cf t.tar s/a; rm s/a; mkdir s/a; echo > s/a/in; for again in 1 2; do tar -uvf t.tar s/a; done";
        assert_eq!(run(script, &format!("$mh tar --hands {hands}")), "s/a/\ns/a/in\n");
    }
}

#[test]
fn a_directory_that_no_name_stands_behind_is_an_error() {
    if !tools(&["tar"]) {
        return;
    }
    for arguments in [
        "-cf t.tar s -C x",
        "-cf t.tar s -C x -C ../s",
        "-cf t.tar -C s a -C d",
        "-cf t.tar -C s a -C d c",
        "-cf t.tar -C s a",
        "-cf t.tar -T l -C x",
        "-cf t.tar -T l2",
        "-cf t.tar -C x -T /dev/null",
        "-cf t.tar s/a --directory=x",
        "-uf t.tar s -C x",
        "-uf t.tar -C x",
        "-rf t.tar s -C x",
        "-rf t.tar -C x",
        "-tf t.tar s -C x",
        "-xf t.tar s -C x",
    ] {
        is_as_gnu(&format!(
            "echo s/b > l; printf 's/b\\n-Cx\\n' > l2; tar -cf t.tar s; tar {arguments} 2> /dev/null; echo $?; tar -tf t.tar | sort"
        ));
    }
    let told = run("tar -cf t.tar s/a -C x -C ../s || echo $?", "$mh tar");
    let line = |directory| format!("mh tar: could not use -C '{directory}': no name stands behind it\n");
    assert_eq!(told, format!("2\n{}{}", line("x"), line("../s")));
}

/// Not timed: names that are compared with each pattern take minutes.
#[test]
fn many_patterns_leave_out_what_a_few_would() {
    if !tools(&["tar"]) {
        return;
    }
    let script = "seq -f 's/n%.0f' 200000 > l; seq -f '*x%.0f.c' 20000 >> l; echo 's/d' >> l; seq -f 's/m/n%.0f' 2000 > names
        mkdir s/m; cd s/m; touch $(seq -f 'n%.0f' 2000) ax7.c ax77.h; cd ../..; tar -cf t.tar -X l s; tar -tf t.tar | cksum; tar -tf t.tar | grep -c n
        tar -tf t.tar -X l | cksum; tar -tf t.tar -T names | cksum; tar -C x -xf t.tar -X $PWD/l -T $PWD/names; ls x/s/m | cksum";
    let few = script.replace("200000", "3").replace("20000", "9");
    let theirs = run(&few, "command tar --format=posix --sort=name");
    for hands in [1, 2] {
        assert_eq!(run(script, &format!("$mh tar --hands {hands}")), theirs, "{hands} hands");
    }
}
