//! Where archives were once read past what stands in them: checksums behind the end mark, data in holes, headers that are about what follows.

use super::expect_same;
use crate::place::{Place, said};
use crate::tar::made::{file, member, pax};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

/// Wrong bytes in the last checksum of what is packed are found by whoever reads to the end mark alone, too.
#[test]
fn what_is_packed_is_read_to_its_checksum_by_all_that_read_it() {
    let place = Place::new();
    place.write("data", data::mixed(300_000, 7));
    for (format, from_end) in [("lz4", 4), ("zstd", 4), ("gzip", 8), ("bzip2", 4)] {
        let script = format!(
            "$mh tar -c --{format} --no-index -f d.tar data; at=$(($(stat -c %s d.tar) - {from_end})); cp d.tar sound.tar
             dd if=d.tar bs=1 skip=$at count=1 status=none | tr '\\000-\\377' '\\001-\\377\\000' | dd of=d.tar bs=1 seek=$at conv=notrunc status=none
             $mh tar -cf p.tar data; cp p.tar q.tar; mkdir -p x
             for way in '-tf d.tar' '-xOf d.tar' '-df d.tar' '-Af q.tar d.tar' '-xf d.tar -C x'; do
               code=0; $mh tar $way > out 2>&1 || code=$?; test $code = 2
               $mh tar $(echo $way | sed 's/d.tar/sound.tar/; s/q.tar/r.tar/') > out 2>&1 < p.tar || test \"$way\" = '-Af q.tar d.tar'
             done; cmp p.tar q.tar"
        );
        expect_same(&place, &script);
    }
}

/// A hand that has a file in its chunk must not look for the file's directory while another hand is about to put that in the place of a link or a file.
#[test]
fn a_directory_has_taken_its_place_before_anything_in_it_is_made() {
    let place = Place::new();
    let script = "mkdir -p g/c/d; head -c 300000 /dev/urandom | tee g/a1 g/a2 > g/a3; for i in 1 2 3 4 5; do echo $i > g/c/f$i; done
        head -c 9000000 /dev/urandom > g/c/large; ln g/c/f1 g/c/d/hard; tar -C g -cf g.tar a1 a2 a3 c; gzip -1 -kf g.tar";
    expect_same(&place, script);
    for way in ["-xf g.tar", "-xf g.tar.gz", "-xPf g.tar", "--untrusted -xf g.tar"] {
        for there in ["ln -s other t/c", "ln -s $PWD/t/other t/c", "ln -s nowhere t/c", "echo old > t/c"] {
            expect_same(
                &place,
                &format!(
                    "for hands in 1 2 2 2 8; do
                       rm -rf t; mkdir -p t/other; {there}
                       $mh tar {way} -C t --hands $hands; rmdir t/other; diff -r g t; test t/c/f1 -ef t/c/d/hard
                     done"
                ),
            );
        }
    }
    expect_same(
        &place,
        "for way in -xf -xPf; do
           rm -rf t; mkdir -p t/d; ln -s d t/c; $mh tar $way g.tar -C t --keep-directory-symlink --hands 2
           test -L t/c; diff -r g/c t/d
         done",
    );
}

#[test]
fn a_plain_user_gets_what_gnu_tar_gives_him() {
    if !rustix::process::geteuid().is_root() || TestProgram::find("setpriv").is_none() {
        return left_out("needs root, who can become somebody else (setpriv)");
    }
    let place = Place::new();
    let user = "setpriv --reuid 65534 --clear-groups ./mh-copy tar";
    expect_same(&place, "cp $mh ./mh-copy; chmod 755 . mh-copy");
    // A directory that may be listed and not entered is archived.
    expect_same(
        &place,
        &format!(
            "mkdir -m 444 shut; chown 65534 shut; {user} -cf - shut > t.tar; $mh tar -tf t.tar > list; echo shut/ | cmp - list"
        ),
    );
    // A directory that its owner had barred himself from gets the mode of the archive's.
    expect_same(
        &place,
        &format!(
            "mkdir -m 755 open; $mh tar -cf f.tar open; mkdir -m 777 y; mkdir -m 0 y/open; chown 65534 y/open
             {user} -xf f.tar -C y; test $(stat -c %a y/open) = 755"
        ),
    );
    // What cannot have its owner has its times.
    expect_same(
        &place,
        &format!(
            "mkdir -m 777 x; mkfifo -m 600 p; ln -s p l; touch -h -d @5 p l; $mh tar -cf t.tar p l; {user} -xf t.tar -C x --same-owner || test $? = 2
             test $(stat -c %Y.%a x/p) = 5.600; test $(stat -c %Y x/l) = 5"
        ),
    );
}

#[test]
fn data_where_the_archive_has_a_hole_are_a_difference() {
    let place = Place::new();
    expect_same(
        &place,
        "truncate -s 3M h none; printf x | dd of=h bs=1 seek=1000000 conv=notrunc status=none; cp -a --sparse=never h full
         $mh tar -cSf t.tar h none; $mh tar -df t.tar; cp -p full h; $mh tar -df t.tar
         for at in 10 999 2999999; do
           cp -p full h; printf y | dd of=h bs=1 seek=$at conv=notrunc status=none; touch -r full h
           $mh tar -df t.tar > d || test $? = 1; echo 'h: Contents differ' | cmp - d
         done
         cp -p full h; printf y | dd of=none bs=1 seek=9 conv=notrunc status=none; $mh tar -df t.tar > d || test $? = 1; grep -qx 'none: Contents differ' d",
    );
}

#[test]
fn a_global_header_stays_when_the_member_behind_it_goes() {
    let place = Place::new();
    // An extended header with another flag, and the sum that goes with it.
    let records = pax(&[("uname", "somebody"), ("comment", "for all")])[512..].to_vec();
    let global = member(b'g', "g", "", 0o644, records.strip_suffix(&[0; 1]).expect("it is filled up"));
    let local = pax(&[("mtime", "5")]);
    let members = [global.clone(), file("one"), file("two"), local, global, file("three")];
    place.write("g.tar", [members.concat(), vec![0; 1024]].concat());
    expect_same(
        &place,
        "$mh tar -tvf g.tar | cut -d/ -f1 > la
         for gone in one two three 'one two'; do
           cp g.tar h.tar; $mh tar --delete -f h.tar $gone; $mh tar -tvf h.tar | cut -d/ -f1 | sort -u > lb; sort -u la | cmp - lb
         done",
    );
}

#[test]
fn a_packed_pipe_is_planned_for_what_the_option_says() {
    let place = Place::new();
    for (option, name) in [("-z", "gz"), ("-j", "bz2"), ("-J", "xz"), ("--zstd", "zst"), ("--lz4", "lz4"), ("-Z", "Z")]
    {
        let ran = place.shell(&format!("cat /dev/null | $mh tar -x {option} --explain"));
        assert_eq!(ran.exit, Exit::Code(0), "{}", said(&ran));
        let shown = format!("{}{}", String::from_utf8_lossy(&ran.stdout), said(&ran));
        assert!(shown.contains(&format!("out of a decoder of {name}")), "{shown}");
    }
}

#[test]
fn a_signal_while_members_are_added_leaves_the_archive_as_it_was() {
    let place = Place::new();
    let script = "mkdir t; for i in 1 2 3 4 5 6 7 8; do head -c 5000000 /dev/urandom > t/$i; done; $mh tar -cf old.tar t/1; size=$(stat -c %s old.tar)
        for hands in 1 2 64; do for signal in TERM HUP; do
            cp old.tar a.tar; $mh tar --hands $hands -rf a.tar t & while [ $(stat -c %s a.tar) = $size ]; do :; done; kill -$signal $!; wait $!
            [ $? -gt 128 ] || echo too late; cmp -s old.tar a.tar || echo changed
        done; done";
    let ran = place.shell(script);
    let (out, told) = (String::from_utf8_lossy(&ran.stdout).into_owned(), said(&ran));
    let late = out.matches("too late").count();
    assert!(late < 6 && out.matches("changed").count() <= late && !told.contains("File too large"), "{out}{told}");
}
