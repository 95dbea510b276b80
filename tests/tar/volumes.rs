//! Archives over several volumes: as GNU tar makes and reads them, byte for byte.

use super::habits::run;
use super::tools;
use testkit::program::Exit;

fn is_as_gnu(script: &str) {
    let script = format!(
        "head -c 25000 /dev/zero | tr '\\0' q > s/a; find s | xargs touch -h -d @5; exec < /dev/null\n{script}"
    );
    let gnu = "TAR_OPTIONS='--sort=name' command tar";
    let (theirs, ours) = (run(&script, gnu), run(&script, "$mh tar"));
    assert_eq!(ours, theirs, "{script}");
}

#[test]
fn volumes_are_made_and_read_as_by_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    let volumes = "-f v1 -f v2 -f v3 -f v4 -f v5";
    for script in [
        "tar -cM -L 10 $v --format=gnu s; cksum v?; tar -tMf v1 -f v2 -f v3 -f v4; tar -xM $v -C x; cmp s/a x/s/a; tar -dM $v",
        "tar -cM -L 15k $v --format=gnu s; cksum v?; tar -xM $v -C x s/d; tar -cML 1M $v --format=gnu s; cksum v1",
        "tar -cM -L 10 $v -V lab --format=gnu s; tar -tM $v; tar --test-label -f v2; tar -tMf v1 -f v3 2>/dev/null; echo $?
         tar -xM $v -C x s/a; cmp s/a x/s/a",
        "tar -cf v1 -L10 -F 'echo v$TAR_VOLUME >&$TAR_FD; echo $TAR_ARCHIVE $TAR_SUBCOMMAND $TAR_FORMAT' --format=gnu s; cksum v*
         tar -xf v1 -F 'echo v$TAR_VOLUME >&$TAR_FD' -C x --volno-file=n; cmp s/a x/s/a; tar -tf v1 -F false > /dev/null 2>&1",
        "printf 'n v2\\nn v3\\n' | tar -cM -L 10 -f v1 --format=gnu s 2> /dev/null; cksum v?
         printf 'n v2\\nn v3\\n' | tar -xM -f v1 -C x 2> /dev/null; cmp s/a x/s/a; tar -tMf v1 > /dev/null 2>&1; echo $?",
        "tar cf x1 -f y1 s 2>/dev/null; echo $?; tar -czMf z.tgz s 2>/dev/null; echo $?; tar -cM -L 10 --format=ustar -f q s 2>/dev/null; echo $?; rm -f q",
    ] {
        is_as_gnu(&script.replace("$v", volumes));
    }
    // What our global headers have of time, GNU tar can be asked for.
    for (tar, other) in [
        ("command tar --sort=name --pax-option=delete=atime,delete=ctime,globexthdr.mtime=0", "$mh tar"),
        ("$mh tar", "command tar"),
    ] {
        let script = format!(
            "unset TMPDIR; head -c 45000 /dev/zero | tr '\\0' q > s/a; find s | xargs touch -h -d @5; v='-f v1 -f v2 -f v3 -f v4 -f v5 -f v6 -f v7'
             {tar} --format=posix -cM -L 10 $v -V lab s; cksum v1 v2 v3 v4 v5 v6 > sums; {other} -dM $v; {other} -xM $v -C x; cmp s/a x/s/a; cat sums"
        );
        let expected = run(&script.replace(tar, "$mh tar"), "$mh tar");
        assert_eq!(run(&script, "$mh tar"), expected, "{script}");
        assert_eq!(expected.0, Exit::Code(0), "{}", expected.1);
    }
}

#[test]
fn volumes_that_do_not_follow_one_another_are_an_error() {
    let make = "head -c 25000 /dev/zero > s/a; tar -cM -L 10 -f v1 -f v2 -f v3 -f v4 s";
    for (read, told) in [
        ("tar -xMf v1 -f v3 -C x", "out of sequence"),
        ("tar -xMf v1 -f none -C x", "'none'"),
        ("cp s/b v2; tar -xMf v1 -f v2 -C x", "out of sequence"),
        ("tar -xMf v1 -C x < /dev/null", "there was no answer"),
    ] {
        let (exit, printed) = run(&format!("{make}; {read}; code=$?; ls x/s; (exit $code)"), "$mh tar");
        assert!(exit == Exit::Code(2) && printed.contains(told) && !printed.contains("\na\n"), "{read}: {printed}");
    }
    let (exit, printed) = run(
        "tar -cM -L 10 -f /dev/full -f v2 s; echo $?; tar -cM -L 10 -f v1 s < /dev/null; echo $?; tar -cML zork -f v1 s; echo $?",
        "$mh tar",
    );
    assert!(exit == Exit::Code(0) && printed.matches("2\n").count() >= 2, "{printed}");
}
