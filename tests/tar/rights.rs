//! Rights that a directory hands on, lists that an archive has, links that stand where a directory is to be: with several hands as GNU tar has it.

use super::tools;
use crate::place::{Place, said};
use crate::trees::is_root;
use testkit::program::{Exit, left_out};

/// Rights of all below `x`, a line each, without what GNU tar's own default for owners decides.
const SHOW: &str = "show() { (cd $1; find . ! -type l | LC_ALL=C sort | while read f; do stat -c '%n %a' $f; getfacl -cnE $f | tr '\\n' ' '; echo; done); }";

fn may_run() -> bool {
    if !tools(&["tar", "setfacl", "getfacl"]) {
        return false;
    }
    if !is_root() {
        left_out("rights of all kinds: they need root");
        return false;
    }
    let place = Place::new();
    let lists = place.shell("touch f && setfacl -m u:1:r f && mkdir d && setfacl -d -m u:1:r d").exit == Exit::Code(0);
    if !lists {
        left_out("access control lists: this file system has none");
    }
    lists
}

/// Runs `script`, in which `tar` is GNU's, then ours with one hand and with two.
fn is_as_gnu(script: &str) {
    let run = |tar: &str| {
        let outcome =
            Place::new().shell(&format!("umask 022; {SHOW}\ntar() {{ {tar} \"$@\"; }}\n{script}\necho code $?"));
        String::from_utf8_lossy(&outcome.stdout).into_owned()
    };
    let theirs = run("command tar");
    for hands in [1, 2] {
        assert_eq!(run(&format!("$mh tar --hands {hands}")), theirs, "{hands}: {script}");
    }
}

const LISTED: &str = "mkdir -p s/d s/pl x; echo 1 > s/d/f; echo 2 > s/pl/g; chmod 640 s/d/f; setfacl -m u:1:rw,m::rw s/d/f; setfacl -m u:2:rwx s/d
    echo 3 > s/d/h; setfacl -d -m u:3:rx s/d; echo 4 > s/d/k; chmod 600 s/d/k; chmod 755 s/pl/g; command tar --acls -cf a.tar -C s d pl";

#[test]
fn stored_lists_arrive_whole_and_inherited_ones_go() {
    if !may_run() {
        return;
    }
    for umask in ["022", "077"] {
        for options in ["--acls", "--acls -p", "--acls --no-same-permissions", "", "--no-same-permissions"] {
            for inherited in ["true", "setfacl -d -m u:9:rwx x", "setfacl -d -m u::rwx,g::rx,o::- x"] {
                is_as_gnu(&format!(
                    "{LISTED}; {inherited}; umask {umask}; tar -xf a.tar -C x {options} || exit 9; show x"
                ));
            }
        }
    }
}

#[test]
fn pipes_have_the_mode_of_the_archive_below_a_default_list() {
    if !may_run() {
        return;
    }
    is_as_gnu(
        "mkfifo -m 644 p; tar -cf a.tar p; mkdir x; setfacl -d -m u::rwx,g::rx,o::- x; tar -xf a.tar -C x || exit 9; stat -c %a x/p",
    );
}

#[test]
fn directories_keep_setgid_where_modes_are_not_asked_for() {
    if !may_run() {
        return;
    }
    for options in [
        "",
        "-p",
        "--no-same-permissions",
        "--no-same-permissions --no-same-owner",
        "--no-same-permissions --overwrite",
        "--no-same-permissions -k",
    ] {
        is_as_gnu(&format!(
            "mkdir -p s/pl s/new/deep s/old/inner s/sg y/pl y/old/inner; chmod 2755 s/sg; chmod 1777 s/new/deep; echo 1 > s/new/f
             command tar -cf a.tar -C s pl new old sg new/deep/; chown -R 0:7 y; chmod 755 y/pl; chmod 2755 y y/old; chmod 7777 y/old/inner
             tar -xf a.tar -C y {options} || exit 9; cd y; find . -printf '%p %m %g\\n' | sort"
        ));
    }
    // On the way to a member no other stands for.
    is_as_gnu(
        "mkdir -p s/new y; echo 1 > s/new/f; command tar -cf a.tar -C s new/f; chown 0:7 y; chmod 2755 y; tar -xf a.tar -C y || exit 9; find y -printf '%p %m %g\\n' | sort",
    );
}

#[test]
fn an_archive_has_the_rights_that_its_directory_hands_on() {
    if !may_run() {
        return;
    }
    for list in ["u::rwx,g::rx,o::-", "u::rwx,u:9:rwx,g::rwx,m::rwx,o::-"] {
        let before = format!("mkdir x s; echo f > s/f; chmod 644 s/f; setfacl -d -m {list} x");
        for make in [
            "tar -cf x/new.tar s",
            "tar -czf x/new.tar s",
            "tar -rf x/new.tar s",
            "command tar -cf one.tar s; tar -Af x/new.tar one.tar || tar -cf x/new.tar s",
            "umask 077; tar -cf x/new.tar s",
        ] {
            is_as_gnu(&format!("{before}; {make} || exit 9; show x"));
        }
        // What takes another's place has its rights, and none that it did not have.
        for make in ["tar -cf x/old.tar s", "tar --delete -f x/old.tar s/f"] {
            is_as_gnu(&format!(
                "{before}; command tar -cf x/old.tar s; setfacl -b x/old.tar; chmod 604 x/old.tar; {make} || exit 9; show x"
            ));
        }
    }
}

#[test]
fn outputs_of_tamp_have_the_rights_that_their_directory_hands_on() {
    if !may_run() {
        return;
    }
    let place = Place::new();
    // What `cp`, and what a shell, give there.
    let script = "umask 022; mkdir x; echo f > f; chmod 644 f; for list in u::rwx,g::rx,o::- u::rwx,u:9:rwx,g::rwx,m::rwx,o::-; do
        rm -rf x; mkdir x; setfacl -d -m $list x; cp f x/by-cp; cat f > x/by-shell; chmod 640 f; cp f x/by-cp-640; chmod 644 f
        $mh tamp -q -o x/out.zst f; $mh tamp -q -d -o x/back x/out.zst; $mh tamp -q < f -o x/piped.zst; chmod 640 f; $mh tamp -q -o x/out-640.zst f; chmod 644 f
        for same in by-cp:out.zst by-cp:back by-shell:piped.zst by-cp-640:out-640.zst; do
          getfacl -cnE x/${same%:*} > a; getfacl -cnE x/${same#*:} > b; diff a b || echo $same $list
        done
        cp f x/f; setfacl -b x/f; chmod 604 x/f; $mh tamp -q x/f; getfacl -cnE x/f > a; getfacl -cnE x/f.zst > b; diff a b || echo in place $list
        setfacl -m u:8:r x/f; $mh tamp -q --format gz x/f; getfacl -cnE x/f > a; getfacl -cnE x/f.gz > b; diff a b || echo its own list $list
      done";
    let ran = place.shell(script);
    assert_eq!((String::from_utf8_lossy(&ran.stdout).as_ref(), said(&ran).as_str()), ("", ""));
}

/// Whatever else is made for somebody, by whichever command.
#[test]
fn logs_and_recordings_have_the_rights_that_their_directory_hands_on() {
    if !may_run() {
        return;
    }
    let script = "umask 022; mkdir p; setfacl -d -m u::rwx,g::rx,o::- p; cd p
        $mh xjobs --joblog log --journal journal --results results -- echo ::: 1 2 > shell && $mh pstime --record recording -n 1 0.1 > shell
        find . -type f -printf '%m\n' | sort -u; find . -mindepth 1 -type d -printf '%m\n' | sort -u";
    let ran = Place::new().shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "640\n750\n", "{}", said(&ran));
}

const LINKED: &str =
    "mkdir -p s/d/sub out x/in; chmod 700 out x/in; chmod 710 s/d/sub; echo hi > s/d/f; echo 2 > s/d/sub/g
    command tar -cf a.tar -C s d; command tar -cf b.tar -C s d/f";
const AFTER: &str = "test -L x/d; echo $?; find x out -printf '%p %y %m\\n' | sort";

#[test]
fn a_link_to_a_directory_stays_where_it_stays_with_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    for archive in ["a.tar", "b.tar"] {
        // Beneath the target: by a relative and an absolute link, and by one that goes up and comes back.
        for link in ["in", "$PWD/x/in", "../x/in", "nowhere", "d"] {
            for options in
                ["", "--keep-directory-symlink", "-h", "-h --keep-directory-symlink", "-k", "--skip-old-files", "-P -h"]
            {
                is_as_gnu(&format!(
                    "{LINKED}; ln -s {link} x/d; tar -xf {archive} -C x {options} 2> /dev/null; echo $?; {AFTER}"
                ));
            }
        }
        // Out of it where names may lead anywhere.
        for link in ["../out", "$PWD/out"] {
            for options in ["--keep-directory-symlink -P", "-h -P", "-P", "-P -k"] {
                is_as_gnu(&format!("{LINKED}; ln -s {link} x/d; tar -xf {archive} -C x {options}; echo $?; {AFTER}"));
            }
        }
    }
}

#[test]
fn a_link_out_of_the_target_stays_and_is_refused_aloud() {
    let place = Place::new();
    for link in ["../out", "$PWD/out"] {
        for options in [
            "--keep-directory-symlink",
            "-h",
            "--keep-directory-symlink --untrusted",
            "--untrusted -h",
            "-k",
            "--skip-old-files",
        ] {
            for hands in [1, 2] {
                let script = format!(
                    "rm -rf s out x; umask 022; {}; ln -s {link} x/d
                     $mh tar --hands {hands} -xf a.tar -C x {options} 2> told; code=$?; test -L x/d && test -z \"$(ls out)\" && test $(stat -c %a out) = 700
                     test $? = 0 && grep -q \"could not extract 'd/f': \" told && exit $code",
                    LINKED.replace("command tar", "$mh tar")
                );
                let ran = place.shell(&script);
                assert_eq!(
                    ran.exit,
                    Exit::Code(2),
                    "{link} {options} {hands}: {} {}",
                    said(&ran),
                    String::from_utf8_lossy(&place.read("told"))
                );
            }
        }
    }
}

/// Below `/` no link leads out.
#[test]
fn an_absolute_link_is_followed_where_the_target_is_the_root() {
    let place = Place::new();
    for options in ["", "--keep-directory-symlink", "-h"] {
        for hands in [1, 2] {
            let script = format!(
                "set -e; rm -rf here; mkdir -p here/in; ln -s $PWD/here/in here/d; at=${{PWD#/}}; mkdir -p t/$at/here/d; echo 1 > t/$at/here/d/f
                 $mh tar -cf a.tar -C t $at/here/d/f; $mh tar --hands {hands} -xf a.tar -C / {options}; test -L here/d; test -f here/in/f"
            );
            assert_eq!(place.shell(&script).exit, Exit::Code(0), "{options} {hands}");
        }
    }
}

/// A directory of the same relative name is another one.
#[test]
fn a_directory_with_an_absolute_name_gets_its_mode() {
    let place = Place::new();
    let script = "mkdir -p abs/d abs/d2/e here$PWD/abs/d; chmod 750 abs/d abs/d2; chmod 705 here$PWD/abs/d; $mh tar -cPf a.tar $PWD/abs/d $PWD/abs/d2
        for hands in 1 2; do chmod 777 abs/d; rm -rf abs/d2; (cd here; $mh tar --hands $hands -xPf ../a.tar); stat -c %a abs/d abs/d2 here$PWD/abs/d; done";
    assert_eq!(String::from_utf8_lossy(&place.shell(script).stdout_of_success()), "750\n750\n705\n750\n750\n705\n");
}

/// The writer waits for each member before it goes on: whoever holds one up waits for ever.
#[test]
fn members_of_a_slow_pipe_are_there_when_they_have_come() {
    let place = Place::new();
    let wait = "wait() { n=0; until test -s \"$1\" && cmp -s \"$1\" \"$2\"; do n=$((n+1)); test $n -lt 3000 || { echo missing $1 >&2; exit 1; }; sleep 0.01; done; }";
    for format in ["gnu", "pax"] {
        for hands in [1, 2] {
            // Cut behind a member, and inside the headers of the next one; the end mark comes long before the end of the pipe.
            let script = format!(
                "set -e; {wait}; rm -rf s x; mkdir -p s x; seq 20 > s/a; seq 300 > s/b; long=$(printf 'n%.0s' $(seq 150)); seq 400 > s/$long; seq 20000 > s/z; touch -d @5 s/*
                 $mh tar --format={format} -C s -cf t.tar a b $long z; test $(stat -c %s t.tar) -gt 108544
                 part() {{ dd if=t.tar bs=512 skip=$1 count=$2 status=none; }}
                 {{ part 0 2; wait x/a s/a; part 2 1; part 3 3; wait x/b s/b; part 6 1; sleep 0.1; part 7 200; sleep 0.1; part 207 100000; wait x/z s/z; cmp x/$long s/$long; echo done > all; }} |
                   $mh tar --hands {hands} -xf - -C x; cmp x/z s/z; rm all"
            );
            let ran = place.shell(&script);
            assert_eq!(ran.exit, Exit::Code(0), "{format} {hands}: {}", said(&ran));
        }
    }
}
