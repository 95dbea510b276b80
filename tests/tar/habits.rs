//! Habits of those who have used GNU tar for years: each script run with it and with ours must print the same, end with the same exit
//! code and leave the same names behind.

use super::tools;
use crate::place::{Place, said};
use crate::trees::is_root;
use std::os::unix::net::UnixListener;
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::program::{Exit, TestProgram, left_out};

const BEFORE: &str = "umask 022; mkdir -p s/d x; echo a > s/a; echo b > s/b; echo c > s/d/c; ln s/a s/hard; ln -s s/a s/link
    ln -s ../d s/d/up; chmod 751 s/d; chmod 600 s/b; find s | xargs touch -h -d '2001-02-03 04:05:06.5'; export TZ=Asia/Tokyo";

/// What `script` prints on both streams that it joins, where `tar` in it is one or the other.
pub fn run(script: &str, tar: &str) -> (Exit, String) {
    let place = Place::new();
    let outcome =
        place.shell(&format!("{BEFORE}\ntar() {{ {tar} \"$@\"; }}\n{script}\ncode=$?; find . | sort; exit $code"));
    (outcome.exit, without_now(&format!("{}{}", String::from_utf8_lossy(&outcome.stdout), said(&outcome))))
}

/// Lists have the minute of files that a script has just made, and between two runs a minute may begin.
fn without_now(text: &str) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let year = 1970 + seconds / 31_556_952;
    [year - 1, year, year + 1].iter().fold(text.to_owned(), |text, year| {
        let begin = format!("{year}-");
        let mut pieces = text.split(&begin);
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |done, piece| match piece.split_at_checked("11-30 13:14".len()) {
            Some((minute, rest)) if minute.as_bytes()[5] == b' ' && minute.as_bytes()[8] == b':' => done + "now" + rest,
            _ => done + &begin + piece,
        })
    })
}

#[test]
fn minutes_of_today_are_left_out_and_no_others() {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let year = 1970 + seconds / 31_556_952;
    let text = format!("-rw 3 {year}-11-30 13:14 a\n-rw 3 2001-02-03 04:05 {year}-b {year}-11-30 13:15");
    assert_eq!(without_now(&text), format!("-rw 3 now a\n-rw 3 2001-02-03 04:05 {year}-b now"));
}

pub fn is_as_gnu(script: &str) {
    let theirs = "TAR_OPTIONS='--format=posix --pax-option=delete=atime,delete=ctime --sort=name' command tar";
    let (theirs, ours) = (run(script, theirs), run(script, "$mh tar"));
    assert_eq!(ours.0, theirs.0, "{script}: {} / {}", ours.1, theirs.1);
    assert_eq!(ours.1, theirs.1, "{script}");
}

#[test]
fn archives_are_made_as_gnu_tar_makes_them() {
    if !tools(&["tar", "gzip"]) {
        return;
    }
    for script in [
        "tar cf t.tar -T /dev/null && tar tf t.tar",
        "TAPE=t.tar tar c s/a && TAPE=none tar tf t.tar && TAPE=t.tar tar t",
        "printf '%s\\n' '-C s' a --add-file=b > l; tar cf t.tar -T l && tar tf t.tar",
        "printf '%s\\n' -Cs a > l; tar cf t.tar -T l && tar tf t.tar",
        "touch -- -C; printf '%s\\n' -C > l; tar cf t.tar --verbatim-files-from -T l && tar tf t.tar",
        "printf 's/a\\0s/b\\0' > l; tar cf t.tar -T l 2>/dev/null && tar tf t.tar",
        "tar cf t.tar --mode=go-rwx,a+X s && tar tvf t.tar",
        "tar cf t.tar --mode=u=rwX,go=rX s && tar tvf t.tar",
        "tar cf t.tar --owner=0 --group=0 s && tar tvf t.tar",
        "tar cf t.tar --owner=0 --group=0 --numeric-owner s && tar tvf t.tar",
        "tar cf t.tar --clamp-mtime --mtime=@900000000 s && tar tvf t.tar",
        "tar cf t.tar --clamp-mtime --mtime='2030-01-01' s && tar tvf t.tar --full-time",
        "tar cf t.tar s; echo new > s/b; tar uvf t.tar s; tar tf t.tar",
        "tar cf t.tar --transform='s,^s/,n/,' s && tar tvf t.tar",
        "tar cf t.tar --transform='s,^s/,n/,S' s && tar tvf t.tar",
        "tar cf t.tar --transform='s,^s/,n/,RHs' s && tar tvf t.tar",
        "tar cvf t.tar --transform='s,^s/,n/,' s; tar cvvf t.tar --transform='s,^s/,n/,' s",
        "tar cvf t.tar --transform='s,^s/,n/,' --show-transformed-names s",
        "tar cvf t.tar ./s .//s/d/ 2>&1; cd s; tar cvPf ../t.tar ../s/a",
        "ln -s d s/e; tar cf t.tar s/link/ s/a/ s/d// s/e/; tar tvf t.tar",
        "ln -s d s/e; printf 's/e/\\ns/b/\\n' > l; tar cf t.tar -T l; tar tvf t.tar",
        "touch -d @5 s/a; touch -d @6.25 s/b; tar cf t.tar s; tar tvf t.tar --full-time",
        "tar -I gzip -cf t.tgz s && gzip -t t.tgz && tar -I gzip -xf t.tgz -C x",
        "tar -I 'gzip -9' -cf - s | gzip -dc | tar tf -",
        "tar -I false -cf t.tgz s 2>/dev/null; code=$?; rm -f t.tgz; (exit $code)",
        "tar -I no-such-program -cf t.tgz s 2>/dev/null; code=$?; rm -f t.tgz; (exit $code)",
        "cd s; tar cf t.tar . 2>/dev/null && tar tf t.tar",
        "tar cf t.tar --warning=all --warning=no-file-c --warning=xdev --warning=none --warning=no-failed-read s && tar tf t.tar",
        "tar --create --file t.tar --numeric s; tar --list --file t.tar --full",
        "chmod 4751 s/a; for mode in g=u u=g o=g+w g-o =u =r +w a=o; do tar cf t.tar --mode=$mode s && tar tvf t.tar; done",
        "tar rf t.tar && tar tf t.tar; tar uf u.tar && cmp t.tar u.tar; tar cf t.tar s; cp t.tar u.tar; tar rf u.tar; tar uf u.tar; cmp t.tar u.tar",
        "tar cf t.tar --owner=:0 --group=:0 s && tar tvf t.tar",
        "tar cf t.tar --clamp-mtime --mtime=@1000000000.5 s; cksum t.tar; tar cf t.tar --clamp-mtime --mtime=@900000000 s; cksum t.tar",
        "tar --force-local -n -B -b 20 --posix --no-acls --no-xattrs --no-selinux -cf t.tar s && tar tf t.tar --seek -s s/a",
    ] {
        is_as_gnu(script);
    }
    for which in ["caches", "caches-under", "caches-all", "tag=c", "tag-under=c", "tag-all=c", "tag=a", "tag-all=a"] {
        is_as_gnu(&format!(
            "mkdir -p s/k/in; touch s/k/in/x s/k/y; echo 'Signature: 8a477f597d28d172789f06886806bc55' > s/k/CACHEDIR.TAG
            tar cf t.tar --exclude-{which} s 2>/dev/null; tar tf t.tar"
        ));
    }
    for since in
        ["--newer-mtime=2010-01-01", "-N 2010-01-01", "-N 2100-01-01", "--after-date=@0", "--newer-mtime=./s/b"]
    {
        is_as_gnu(&format!("touch s/a; tar cf t.tar {since} s 2>/dev/null; tar tf t.tar"));
    }
    for moment in [
        "@1.5",
        "2020-01-02",
        "2020-01-02 03:04",
        "2020-01-02 03:04:05.25",
        "2020-01-02 03:04:05 +0200",
        "2020-01-02T03:04:05Z",
        "2020-01-02T03:04:05-02:30",
        "2020-01-02 UTC",
        "UTC 2020-01-02",
    ] {
        is_as_gnu(&format!(
            "tar cf t.tar --mtime='{moment}' s/a && tar tvf t.tar --full-time --utc && tar tvf t.tar --full-time"
        ));
    }
}

/// Byte for byte.
#[test]
fn extended_headers_are_what_pax_options_say() {
    if !tools(&["tar", "cksum"]) {
        return;
    }
    for options in [
        "exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
        "exthdr.name=%d/%%/%n/%q/X%f//,exthdr.mtime=5",
        "exthdr.name=%f.x%",
        "delete=*time",
        "delete=?tim[a-f]",
        "delete:=m*,comment:=hello,uname := joe",
        "mtime:=55,path:=  foo,mtime:=56",
        "a=b,c=d,globexthdr.mtime=7",
        "a=,globexthdr.name=g%n%d%f%%/,globexthdr.mtime=7,b:=c",
    ] {
        // COMPAT: not where GNU tar would put files for a while.
        is_as_gnu(&format!(
            "unset TMPDIR; tar cf t.tar --pax-option='{options},delete=atime,delete=ctime' s; cksum t.tar"
        ));
    }
    for options in
        ["delete=*", "delete=GNU.sparse.n*", "GNU.sparse.name:=x", "foo", "=x", "exthdr.mtime=@5", "exthdr.mtime=1.5"]
    {
        is_as_gnu(&format!("tar cf t.tar --pax-option='{options}' s 2> /dev/null; code=$?; rm -f t.tar; (exit $code)"));
    }
    is_as_gnu("tar cf t.tar s; tar rf t.tar --pax-option=a=b s/a 2> /dev/null; code=$?; tar tf t.tar; (exit $code)");
    // What every member is said to have, all of them have, though no time asks for a header.
    let (exit, printed) = run("tar cf t.tar --pax-option=comment:=hello s/a s/b; grep -ac hello t.tar", "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("2\n"), "{printed}");
    // What stands in front of all members is read by whoever lists them.
    let (exit, printed) = run(
        "tar cf t.tar.gz -z --pax-option=uname=somebody --numeric-owner s/a; tar tvf t.tar.gz | cut -d/ -f 1",
        "$mh tar",
    );
    assert!(exit == Exit::Code(0) && printed.contains(" somebody\n"), "{printed}");
}

#[test]
fn older_members_are_passed_over_as_by_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    for since in
        ["-N 2001-01-01", "-N 2100-01-01", "--after-date=@981147846", "--newer-mtime=./s/b", "-N 2010-01-01 s/a s/link"]
    {
        for read in ["tvf t.tar", "xvf t.tar -C x", "dvf t.tar", "tvf t.tar.gz", "xvf t.tar.gz -C x", "xOf t.tar"] {
            is_as_gnu(&format!(
                "touch -d 2020-01-01 s/d/c; touch -d 2011-01-01 s/a s/b s/d; tar cf t.tar s; tar czf t.tar.gz s; tar {read} {since} 2> /dev/null"
            ));
        }
    }
    // Out of an index, too.
    let script =
        "head -c 9000000 /dev/urandom > s/large; touch -d 2020-01-01 s/d/c; touch -d 2001-01-01 s/* s; tar cf t.tar -z s
        tar tf t.tar -N 2010-01-01 --report 2> report; grep -q 'index: used' report";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("s/d/c\n."), "{printed}");
}

#[test]
fn a_socket_is_told_as_by_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    let place = Place::new();
    let _listener = UnixListener::bind(place.path("sock")).expect("a socket");
    let script = "mkdir in out; mv sock in; command tar cf g.tar in 2> told; test $(wc -l < told) = 1
        for hands in 1 8; do $mh tar cf m.tar in --hands $hands 2> said; grep -qx \".*'in/sock' is a socket: left out\" said; test $(wc -l < said) = 1; done
        $mh tar tf m.tar | grep -qx in/; $mh tar cf m.tar in/sock 2> said; grep -q socket said
        for quiet in --warning=no-file-ignored --exclude=sock '-N 2100-01-01'; do $mh tar cf m.tar $quiet in 2> said; test ! -s said; done";
    super::expect_same(&place, script);
}

#[test]
fn archives_are_read_as_gnu_tar_reads_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar tf t.tar --transform='s,^s,n,'",
        "tar tf t.tar --transform='s,^s,n,' --show-transformed-names",
        "tar tvf t.tar --transform='s,^s,n,' --show-transformed-names; tar tvf t.tar --strip-components=1 --show-transformed-names",
        "tar cf t.tar ./s $PWD/s/a 2> /dev/null; tar tf t.tar --show-transformed-names | sed \"s,${PWD#/},,\"",
        "tar tf t.tar --one-top-level=top --show-transformed-names",
        "tar cf t.tar -C s .; tar xvf t.tar -C x --show-transformed-names",
        "chmod 700 x; tar cf t.tar -C s .; tar xf t.tar -C x --skip-old-files; stat -c %a x",
        "for v in v vv; do tar x${v}f t.tar -C x --transform='s,^s,n,' --show-transformed-names; done",
        "tar xvf t.tar -C x --strip-components=1 --show-transformed-names 2>&1; tar xvf t.tar -C x --transform='s,^s,n,'",
        "mkdir x/s; echo longer than that > x/s/b; chmod 4777 x/s/b; tar xf t.tar -C x --overwrite; stat -c '%a %s' x/s/b",
        "mkdir -p x/s/a/b; tar xf t.tar -C x --keep-newer-files 2> /dev/null",
        "mkdir -p x/s/d; echo kept > x/s/b; echo > x/s/a; touch -d @5 x/s/a; tar xf t.tar -C x --keep-newer-files 2> /dev/null; cat x/s/?",
        "touch s/d/f; tar rf t.tar s/d; tar xf t.tar -C x -U 2> /dev/null; ls x/s/d; stat -c %Y x/s/link",
        "tar tvf t.tar --full-time --utc s/a",
        "tar tf t.tar -C x -C .. s/a; tar tf t.tar -C none 2> /dev/null",
        "tar xf t.tar -C x --transform='s,^s/,n/,' && ls -lR x | cut -d' ' -f 1 && readlink x/n/link",
        "tar xf t.tar -C x --strip 1",
        "tar xvOf t.tar s/a s/d/c 2>&1",
        "tar xvvOf t.tar s/a 2>&1 >/dev/null",
        "tar dvf t.tar",
        "rm s/d/c; tar df t.tar 2>/dev/null",
        "rm -r s/d; tar dvf t.tar s/d 2>/dev/null",
        "echo > s/b; tar dvvf t.tar s/b",
        "(cd s && tar cf ../u.tar ./a .//./d/c); for n in 1 2 3; do tar xf u.tar -C x --strip-components=$n; done",
        "ln s/a top; tar cf u.tar top s/a s/b; tar xf u.tar -C x --strip-components=1 2> /dev/null",
        "tar xvf t.tar -C x --no-recursion s/d",
        "tar tf t.tar --no-recursion s s/d/; tar tf t.tar --no-recursion --wildcards 's/?'",
        "tar tf t.tar --no-recursion --no-anchored d c; tar tf t.tar --no-recursion --exclude=s/b s/b s/a 2> /dev/null",
        "tar --delete -f t.tar --no-recursion s/d; tar tf t.tar",
        "touch s/c; touch s/d/c; tar df t.tar --no-recursion s/d",
    ] {
        is_as_gnu(&format!("tar cf t.tar s; {script}"));
    }
    for pattern in [
        "[[:digit:]]",
        "[![:alpha:]]",
        "[^[:punct:]x]",
        "[[:upper:]z]",
        "[[:digit]",
        "[[:none:]]",
        "[[=a=]]",
        "[[.-.]]",
    ] {
        let files = "touch f1 fa fA f- f: f[ fz; tar cf t.tar f*";
        is_as_gnu(&format!(
            "{files}; tar tf t.tar --exclude='f{pattern}'; tar tf t.tar --ignore-case --exclude='F{pattern}'"
        ));
    }
    for rule in [
        "s/c++/cpp/",
        "s/(c)/d/",
        "s/a?|b/n/",
        "s/^^x/n/",
        "s/x$y/n/",
        "s/x\\$y/n/",
        "s/s\\/d/n/",
        "s,s/d,n\\,n,",
        "s/s/a\\&b/",
    ] {
        let files = "touch 'c++' 'a?|b' '(c)' '^x' 'x$y'";
        is_as_gnu(&format!("{files}; tar cf t.tar --transform='{rule}' s c++ 'a?|b' '(c)' '^x' 'x$y'; tar tf t.tar"));
    }
    let directory = "setfattr -n user.one -v 1 s/d && tar --xattrs --no-recursion -cf t.tar s/d";
    if run(directory, "$mh tar").0 == Exit::Code(0) {
        is_as_gnu(&format!("{directory}; tar --xattrs -xf t.tar -C x; getfattr -d x/s/d"));
    }
    let attributes = "setfattr -n user.one -v 1 s/a && setfattr -n user.two -v 2 s/a && tar --xattrs -cf t.tar s/a";
    if run(attributes, "$mh tar").0 == Exit::Code(0) {
        for how in [
            "--xattrs-include='*'",
            "--xattrs-include='*.*'",
            "--xattrs-include=user.one",
            "--xattrs-exclude=user.o*",
            "--no-xattrs",
        ] {
            is_as_gnu(&format!("{attributes}; tar xf t.tar {how} -C x; getfattr -d x/s/a"));
            is_as_gnu(&format!("{attributes}; tar cf u.tar {how} s/a; tar --xattrs -xf u.tar -C x; getfattr -d x/s/a"));
        }
    }
}

/// What only pax holds is never left out without a word.
#[test]
fn options_for_pax_alone_choose_it_or_are_refused_as_with_gnu_tar() {
    if !tools(&["tar", "od"]) {
        return;
    }
    for options in [
        "--format=gnu --pax-option=delete=atime",
        "--pax-option=delete=atime --format=ustar",
        "--xattrs --format=gnu --xattrs",
        "--xattrs --format=gnu --acls",
        "--acls --format=ustar",
        "--selinux --format=gnu",
        "--format=gnu --selinux",
        "--xattrs --format=gnu --no-xattrs",
        "--format=gnu --no-xattrs",
        "--format=ustar --xattrs-include=*",
        "--xattrs-exclude=* --format=ustar",
        "--format=gnu --xattrs --pax-option=delete=atime,delete=ctime",
    ] {
        // The kind of the first header, and the magic: 'x' is pax.
        let script = format!(
            "if tar {options} -cf u.tar s/a 2> /dev/null; then od -An -c -j 156 -N 1 u.tar; od -An -c -j 257 -N 8 u.tar; tar tf u.tar
             else echo refused; rm -f u.tar; fi"
        );
        assert_eq!(run(&script, "$mh tar").1, run(&script, "command tar").1, "{options}");
    }
    for options in ["--format=gnu --xattrs", "--xattrs --format=gnu", "--format=gnu"] {
        is_as_gnu(&format!("tar cf t.tar s/a; tar {options} -tf t.tar && tar {options} -xf t.tar -C x; ls x/s"));
    }
}

#[test]
fn files_are_compared_as_gnu_tar_compares_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar --owner=$(id -un):54321 --group=$(id -gn):54321 s/a s/b; tar df t.tar && tar df t.tar --numeric-owner",
        "command tar -V label -cf t.tar s; tar df t.tar",
        "tar cf t.tar s; cd s; echo more >> d/c; tar df ../t.tar --strip-components=1 s/a s/d",
        "tar cf t.tar s; mv s n; echo more >> n/d/c; tar df t.tar --transform='s,^s,n,'",
        "tar cf t.tar -C s a b d; echo b > l; echo more >> s/b; tar df t.tar -X l -C s",
        "tar -Pcf t.tar $PWD/s/a 2> /dev/null; echo more >> s/a; tar dPf t.tar | sed 's,.*/,,'; tar df t.tar 2> /dev/null",
        "cd s; tar cf ../t.tar .; chmod 700 .; tar dvf ../t.tar --sort=name",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn an_archive_whose_name_is_a_link_stays_behind_it() {
    if !tools(&["tar", "gzip"]) {
        return;
    }
    for script in [
        "echo old > x/far; ln -s x/far t.tar; tar cf t.tar s/a; readlink t.tar; tar tf x/far",
        "ln -s x/far t.tar; tar cf t.tar s/a; readlink t.tar; tar tf x/far",
        "ln -s x/far t.tar; ln -s ../t.tar x/t; echo > x/far; tar czf x/t s/a; readlink t.tar x/t; gzip -dc x/far | tar tf -",
        "ln -s x/far t.tar; tar cf t.tar s; tar --delete -f t.tar s/d; readlink t.tar; tar tf x/far",
        "ln -s x/far t.tar; tar cf t.tar s/a; tar rf t.tar s/b; tar Af t.tar x/far 2> /dev/null; readlink t.tar",
        "ln -s t.tar t.tar; tar cf t.tar s 2> /dev/null",
        "tar cf /dev/stdout s > out; tar tf out; tar cf /dev/stdout s/a | tar tf -; test -h /dev/stdout",
        "ln -s /dev/stdout t.tar; tar cf t.tar s > out; tar tf out; readlink t.tar",
        "tar cf /dev/fd/3 s 3> out; tar tf out",
        "(tar c s/a; tar c s/b) > out; tar tif out; (tar c s & tar cf - s & wait) >> out; tar tif out | sort",
    ] {
        is_as_gnu(script);
    }
    // GNU tar would cut off what stands there.
    let (exit, printed) = run("(tar cf /dev/stdout s/a; tar cvf /dev/stdout s/b) > out; tar tif out", "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("s/a\ns/b\n."), "{printed}");
}

#[test]
fn an_archive_that_is_made_anew_keeps_its_rights_and_is_a_change() {
    if !tools(&["tar", "gzip"]) {
        return;
    }
    for script in [
        "install -m 600 /dev/null t.tar; tar cf t.tar s; stat -c '%a %s' t.tar; tar czf t.tar s; stat -c %a t.tar",
        "tar cf t.tar s; stat -c %a t.tar; chmod 640 t.tar; tar -I gzip -cf t.tar s; stat -c %a t.tar",
        "tar cf t.tar s; chmod 640 t.tar; touch -d @5 t.tar; tar --delete -f t.tar s/a; stat -c %a t.tar; find -newer s/b -name t.tar",
        "printf 'a\\nhard\\n' | tar cf t.tar -X - s && tar tf t.tar",
        "chmod 2775 s/d; tar cf t.tar --mode=0750 s && tar tvf t.tar; tar cf t.tar --mode=00750 s && tar tvf t.tar",
    ] {
        is_as_gnu(script);
    }
    if !is_root() || TestProgram::find("setpriv").is_none() {
        left_out("archives that a plain user may not write to: needs root and setpriv");
        return;
    }
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let script = format!(
        "tar cf t.tar s/a; chown 1:1 t.tar; tar cf t.tar s/b; stat -c '%a %u %g' t.tar; chmod 444 t.tar; chmod 777 .; cp $mh own; chmod 755 own
         {user} ./own tar cf t.tar s/a 2> /dev/null; code=$?; tar tf t.tar; rm own; (exit $code)"
    );
    let (exit, printed) = run(&script, "$mh tar");
    assert!(exit == Exit::Code(2) && printed.starts_with("644 1 1\ns/b\n."), "{exit:?} {printed}");
}

#[test]
fn lists_that_cannot_be_written_are_failures_and_stop_nothing() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cvf t.tar s > /dev/full 2> said; code=$?; tar tf t.tar",
        "tar cf t.tar s; tar xvf t.tar -C x > /dev/full 2> said; code=$?",
        "tar cf t.tar s; tar xvvf t.tar -C x s/a > /dev/full 2> said; code=$?",
        "tar cf t.tar s; tar tf t.tar > /dev/full 2> said; code=$?",
        "tar cf t.tar s; tar dvf t.tar > /dev/full 2> said; code=$?",
        "tar cf t.tar s; echo > s/b; tar df t.tar > /dev/full 2> said; code=$?",
        "tar cf t.tar s; tar df t.tar > /dev/full 2> said; code=$?",
    ] {
        is_as_gnu(&format!("{script}; (exit $code)"));
    }
    let script = "tar cvf t.tar s > /dev/full; tar xvf t.tar -C x > /dev/full; echo > s/b; tar df t.tar > /dev/full";
    let (_, printed) = run(script, "$mh tar");
    assert_eq!(printed.matches("write to standard output: No space left on device").count(), 3, "{printed}");
    // Whoever closes a pipe has seen enough.
    let (exit, printed) = run("tar cvf t.tar s | true; tar tf t.tar | grep -c .", "$mh tar");
    assert_eq!(exit, Exit::Code(0), "{printed}");
}

#[test]
fn totals_are_those_of_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    for add in ["true", "truncate -s 3M s/large", "head -c 99999 /dev/zero | tr '\\0' q > s/data"] {
        for read in ["tf t.tar > /dev/null", "xf t.tar -C x", "df t.tar", "xf t.tar -C x s/b", "xOf t.tar > out"] {
            is_as_gnu(&format!("{add}; tar cSf t.tar s; {{ tar --totals -{read}; }} 2>&1 | cut -d' ' -f 1-4"));
            is_as_gnu(&format!(
                "{add}; tar cf t.tar s; head -c 50000 /dev/zero >> t.tar; {{ tar --totals -{read}; }} 2>&1 | cut -d' ' -f 1-4"
            ));
        }
        is_as_gnu(&format!("{add}; {{ tar --totals -cf t.tar s; }} 2>&1 | cut -d' ' -f 1-4"));
        is_as_gnu(&format!("{add}; {{ tar cf - s | tar --totals -xf - -C x; }} 2>&1 | cut -d' ' -f 1-4"));
    }
}

#[test]
fn what_would_be_misunderstood_is_refused() {
    for script in [
        "tar -cf t.tar --mode=zz s",
        "tar -cf t.tar --mtime=yestreday s",
        "tar -cf t.tar -N '2 dyas ago' s",
        "tar czf t.tgz s/a; tar rf t.tgz s/b",
    ] {
        let (exit, printed) = run(script, "$mh tar");
        assert_eq!(exit, Exit::Code(2), "{script}: {printed}");
        assert!(printed.contains("mh tar: ") && !printed.contains("./t.tar"), "{script}: {printed}");
    }
    for keyword in ["bogus", "no-none", "file"] {
        let (exit, printed) = run(&format!("tar -cf t.tar --warning={keyword} s"), "$mh tar");
        assert_eq!(exit, Exit::Code(2), "{keyword}: {printed}");
        assert!(printed.contains("the keywords are none, all, ") && !printed.contains("./t.tar"), "{printed}");
    }
    let (exit, printed) = run("cd s; tar cf t.tar . 2>&1 && tar cf t.tar . 2>&1", "$mh tar");
    assert_eq!(exit, Exit::Code(0), "{printed}");
    assert!(!printed.contains(".mh-") && printed.matches("'./t.tar' is the archive").count() == 1, "{printed}");
    // An archive of whole seconds is up to date with files of this second's parts.
    let (exit, printed) = run("tar --format=gnu -cf t.tar s; test -z \"$(tar uvf t.tar s)\"", "$mh tar");
    assert_eq!(exit, Exit::Code(0), "{printed}");
    if TestProgram::find("script").is_some() {
        let (_, printed) = run("script -qec \"$mh tar x\" /dev/null < /dev/null", "$mh tar");
        assert!(printed.contains("an archive is not read from a terminal"), "{printed}");
    }
}

#[test]
fn archives_begin_and_end_as_gnu_tar_has_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar s/a; tar Af new.tar t.tar; tar tf new.tar",
        "tar tf /dev/zero; tar xf /dev/zero -C x; tar -tf - < /dev/zero",
        "head -c 512 /dev/zero | tar tf - 2>&1 | grep -c 'lone zero'; tar cf t.tar s/a; head -c 1536 t.tar | tar tf - 2>&1 | grep -c 'lone zero'",
        "tar cf t.tar s/a; tar xof t.tar -C x; ls x/s",
        "tar cf t.tar s/a; tar -Azf new.tar t.tar 2> /dev/null; tar -A -I gzip -f new.tar t.tar 2> /dev/null; code=$?; (exit $code)",
        "tar cf t.tar s/a; ln -s far.tar new.tar; tar Af new.tar t.tar; tar tf far.tar; readlink new.tar",
        "mkdir s/k; echo 'Signature: 8a477f597d28d172789f06886806bc55' > s/k/CACHEDIR.TAG; echo > s/k/y; { tar cf t.tar --exclude-caches s; } 2>&1; tar tf t.tar",
    ] {
        is_as_gnu(script);
    }
    let (exit, printed) = run("tar cf t.tar s/a; tar Af new.tar t.tar none; tar Af new.tar t.tar --explain", "$mh tar");
    assert!(exit == Exit::Code(0) && !printed.contains("new.tar\n"), "{printed}");
    let (exit, printed) = run("tar cof t.tar s/a; grep -c ustar t.tar; tar rof t.tar s/b; tar tf t.tar", "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("0\ns/a\ns/b\n."), "{printed}");
    // Somebody else makes it meanwhile, once it was found missing and the pipe is opened: that one stays.
    let meanwhile =
        "tar cf t.tar s/a; mkfifo f; { cp t.tar new.tar; cat t.tar; } > f & tar Af new.tar f; code=$?; wait";
    let (exit, printed) = run(&format!("{meanwhile}; tar tf new.tar; (exit $code)"), "$mh tar");
    assert!(exit == Exit::Code(2) && printed.starts_with("s/a\n."), "{exit:?} {printed}");
}

#[test]
fn a_wrong_command_line_is_told_in_the_old_name_s_words() {
    for (name, code) in [("cp", 1), ("mv", 1), ("rm", 1), ("tar", 64)] {
        let place = Place::new();
        let outcome =
            place.shell(&format!("ln -s \"$(readlink -f \"$(command -v $mh)\")\" {name}; ./{name} --nonsense"));
        assert_eq!(outcome.exit, Exit::Code(code), "{name}: {}", said(&outcome));
        let told = said(&outcome);
        assert!(told.starts_with(&format!("{name}: unrecognized option '--nonsense'")), "{told}");
        let or_usage = if name == "tar" { " or 'tar --usage'" } else { "" };
        assert!(told.ends_with(&format!("Try '{name} --help'{or_usage} for more information.\n")), "{told}");
    }
    if !tools(&["tar"]) {
        return;
    }
    for line in [
        "",
        "-cf",
        "-xtf a",
        "-czjf a .",
        "-x --strip-components=x -f a",
        "-cf a --sort=foo .",
        "-cf a --format=foo .",
        "--strip-components",
        "-cy",
        "--list=x",
        "--ex",
        "cf",
        "xzb",
        "cbf 20",
    ] {
        let script = format!("ln -sf \"$(readlink -f \"$(command -v $mh)\")\" tar; tar {line}");
        let (ours, theirs) = (run(&script, "./tar").0, run(&script, "command tar").0);
        assert_eq!(ours, theirs, "{line}");
    }
    let (_, printed) =
        run("ln -s \"$(readlink -f \"$(command -v $mh)\")\" tar; ./tar tf none; ./tar -cf a --mode=zz s", "$mh tar");
    assert!(printed.contains("tar: none: Cannot open: ") && !printed.contains("mh tar: "), "{printed}");
}
