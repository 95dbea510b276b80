//! Command lines of scripts under the name `tar`, beside GNU tar: exit code, both streams and the files that are there afterwards.

use super::habits::run;
use super::tools;
use testkit::program::Exit;

/// Each is run by both, with members sorted by name; quotes of other locales are these.
const LINES: &[&str] = &[
    // Expressions of sed.
    r"tar cf x.tar --transform 's/.*\///' s; tar tf x.tar",
    r"tar cf x.tar --transform 's/^s/pkg-1.0/' --transform 's,\(a\|b\)$,\U\1,' s; tar tf x.tar",
    "tar cf x.tar --xform 'flags=r;s|^|p/|;s/a/Q/x' s; tar tf x.tar",
    r"tar cf x.tar s; tar xvf x.tar -C x --transform 's/\([a-z]\)$/\1\1/' --show-transformed-names",
    r"tar cf x.tar --transform 's/[^/]*$/<&>/2;s/X*/-/' s; tar tf x.tar",
    "tar cf x.tar --transform 's/a/b/q' s",
    "tar cf x.tar --transform 's/a/b' s",
    r"tar cf x.tar --transform 's/a/\1/' s",
    // Dates.
    "tar cf x.tar --mtime='Thu, 02 Jan 2020 03:04:05 +0200' s; tar tvf x.tar --utc",
    "tar cf x.tar --mtime='Thu Jan  2 03:04:05 UTC 2020' s; tar tvf x.tar --utc",
    "tar cf x.tar --mtime='Jan 5 2001 3pm UTC' s; tar tvf x.tar --utc",
    "tar cf x.tar --mtime='2020-01-31 UTC 1 month' s; tar tvf x.tar --utc",
    "touch -d '3 days ago' s/a; tar cf x.tar --newer-mtime='2 days ago' s; tar tf x.tar",
    "touch -d '3 days ago' s/a; tar cf x.tar -N yesterday s; tar tf x.tar",
    "touch -d @99 s/a; tar cf x.tar --mtime=./s/a s/b; tar tvf x.tar --utc",
    "tar cf x.tar --clamp-mtime s",
    // Owners that there are not.
    "tar cf x.tar --mtime=@0 --owner=nosuchuser --group=nosuchgroup s/a; tar tvf x.tar --utc",
    // Programs are run by a shell.
    "tar -I 'cat | cat' -cf x.tar s; tar tf x.tar",
    "L=9; export L; tar -I 'gzip -$L' -cf x.tgz s; gzip -t x.tgz; tar -I gzip -tf x.tgz",
    // Options in places where they mean nothing, or exclude each other.
    "tar cf x.tar s --exclude '*.b'",
    "tar cf x.tar s -C x",
    "tar --occurrence=1 -cf x.tar s",
    "tar cf x.tar s; tar -tWf x.tar",
    "tar -Hgnu -cf x.tar --pax-option user:=root s",
    "tar -cMf x.tgz -z s",
    "tar -czWf x.tgz s",
    // Words about files.
    "tar cf x.tar -V lab s; tar --test-label -vf x.tar foo",
    "tar cf x.tar --exclude-tag=a -v s",
    "tar cf x.tar s; tar xvf x.tar --skip-old-files",
    "tar cf x.tar s; tar xf x.tar --skip-old-files --warning=existing-file",
    "tar cf x.tar s; tar xf x.tar --keep-newer-files",
    "rm s/d/up; tar cf x.tar s; tar xf x.tar -k",
    "ln -s a s/link; tar cf x.tar s/link; tar xf x.tar -k",
    "printf 's/a\\0s/b\\0' > l; tar cf x.tar -T l; tar tf x.tar",
    "tar cf x.tar --add-file s/a --add-file=s/b; tar tf x.tar; touch -- -d; tar cf x.tar --add-file -d; tar tf x.tar",
    "n=$(printf 'n%.0s' $(seq 120)); echo > $n; tar cf x.tar --format=v7 $n; tar cf x.tar --format=ustar $n; rm x.tar",
    "tar cf x.tar -g snap -v s; tar xvf x.tar -g /dev/null -C x; rm snap",
    "tar cf x.tar -g snap s; rm s/b; tar cf y.tar -g snap s; tar xf x.tar -C x -g /dev/null; tar xvf y.tar -C x -g /dev/null; rm snap",
];

#[test]
fn scripts_get_what_gnu_tar_gives_them() {
    if !tools(&["tar", "gzip"]) {
        return;
    }
    let mut differing = Vec::new();
    for line in LINES {
        let script = format!(
            "{{ {{ {line}
 }} 2>&3 | sed 's/^/out: /'; }} 3>&1 | sed \"s,^[^ ]*tar: ,tar: ,; s/[‘’\\`]/'/g; s,'[^' ]*/tar --,'tar --,g\" > lines; grep ^out: lines; grep -v ^out: lines; rm lines"
        );
        let theirs = run(&script, "TAR_OPTIONS=--sort=name command tar");
        let ours = run(
            &format!(
                "mkdir -p ../bin.$$; ln -sf \"$(readlink -f \"$(command -v $mh)\")\" ../bin.$$/tar; {script}; rm -r ../bin.$$"
            ),
            "../bin.$$/tar",
        );
        if ours != theirs {
            differing.push(format!("{line}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_directory_that_is_renamed_with_what_is_in_it_keeps_its_files() {
    if !tools(&["tar"]) {
        return;
    }
    let script = "mkdir -p t/sub/deep; echo 1 > t/sub/1; echo 2 > t/sub/deep/2; sleep 0.02; tar -cf 0.tar -g snap t
        mv t/sub/deep t/sub/deeper; mv t/sub t/below; mv t u; sleep 0.02; tar -cf 1.tar -g snap u; tar -tvvGf 1.tar | grep '^[RT] '
        rm -r u; tar -xf 0.tar -G; echo $?; tar -xf 1.tar -G; echo $?; cat u/below/1 u/below/deeper/2";
    // GNU tar 1.34 writes the same renames, and does them only in part.
    let renames = |printed: &str| -> Vec<String> {
        printed.lines().filter(|line| line.starts_with("R ") || line.starts_with("T ")).map(str::to_owned).collect()
    };
    let (theirs, ours) = (run(script, "TAR_OPTIONS=--sort=name command tar"), run(script, "$mh tar"));
    assert_eq!(renames(&ours.1), renames(&theirs.1), "{}", ours.1);
    assert!(ours.0 == Exit::Code(0) && ours.1.contains("\n0\n0\n1\n2\n"), "{}", ours.1);
}

#[test]
fn a_program_prints_the_time_of_each_file() {
    // GNU tar has the option since 1.36, which is not everywhere.
    let script = "touch -d @5 s/a; touch -d @6 s/b; printf '%s\\n' 'case $1 in *b) echo 2020-01-02 00:00Z;; *) echo @77;; esac' > when
        tar cf x.tar -C s --set-mtime-command='sh ../when' a b; tar tvf x.tar --utc --full-time | sed 's/.*[0-9] \\(....-\\)/\\1/'
        tar cf x.tar --set-mtime-command='echo 2020.01.02; :' --set-mtime-format='%Y.%m.%d' s/a; tar tvf x.tar | grep -c 2020-01-02
        tar cf x.tar --set-mtime-command='echo then; :' s/a; echo $?; tar tvf x.tar --utc | grep -c '1970-01-01 00:00 s/a'; rm when";
    let (_, printed) = run(script, "$mh tar");
    for expected in ["1970-01-01 00:01:17 a\n", "2020-01-02 00:00:00 b\n", "\n1\n2\n1\n", "prints no date: 'then'"] {
        assert!(printed.contains(expected), "{expected:?}\n{printed}");
    }
}

#[test]
fn archives_on_other_machines_are_refused_and_no_file_is_made() {
    let script =
        "tar cf host:x s; echo $?; tar tf user@host:x; echo $?; tar cf ./a:b s; tar cf c:d --force-local s; ls *:*";
    let (_, printed) = run(script, "$mh tar");
    assert!(printed.starts_with("2\n2\na:b\nc:d\n"), "{printed}");
    assert!(printed.contains("another machine"), "{printed}");
}

#[test]
fn lines_name_blocks_as_those_of_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    let posix = "--format=posix --pax-option=delete=atime,delete=ctime";
    for format in ["--format=gnu", "--format=ustar", posix, "--format=gnu -S"] {
        let script = format!(
            "truncate -s 50k s/z; echo end >> s/z; seq 700 > s/b; tar cRvf t.tar {format} s; tar cf u.tar -R {format} s
             for archive in t.tar '- < t.tar'; do
               for what in tR 'tR s/b' 'xRvO s/a' 'xRvC x' dR dRv 'tR --occurrence=1 s/b' 'xRC x --occurrence=1 s/b'; do eval tar -f $archive -$what || echo $?; done
             done
             tar cf - {format} s/d/c | head -c 2048 | tar tRf - > cut; grep -c '^block' cut; tar cRvvf t.tar {format} s/d | grep -o '^block .* '"
        );
        let (theirs, ours) = (run(&script, "TAR_OPTIONS=--sort=name command tar"), run(&script, "$mh tar"));
        let lines = |printed: &str| -> Vec<String> {
            let is_line = |line: &&str| !line.starts_with("tar: ") && !line.starts_with("mh tar: ");
            printed.lines().filter(is_line).map(str::to_owned).collect()
        };
        assert_eq!(lines(&ours.1), lines(&theirs.1), "{script}");
        assert!(ours.1.contains("** Block of NULs **"), "{}", ours.1);
    }
    let script = "tar cf t.tar --format=gnu -V label s; tar tRf t.tar; tar xRvf t.tar -C x; tar dRvf t.tar";
    let theirs = run(script, "TAR_OPTIONS=--sort=name command tar");
    assert_eq!(run(script, "$mh tar").1, theirs.1);
    // Each archive without an end mark ends in another way.
    let script =
        "tar cf t.tar --format=gnu s/a; head -c 1024 t.tar > u.tar; tar tRf u.tar; tar xRf u.tar; tar dRf u.tar";
    let theirs = run(script, "command tar");
    assert_eq!(run(script, "$mh tar").1, theirs.1);
    // The index of a compressed archive says nothing about blocks.
    let script = "head -c 9000000 /dev/urandom > s/z; tar cf t.tgz -z s; tar tRf t.tgz | grep -c '^block'; tar xRvf t.tgz s/a | grep -o '^block.*a'";
    let (_, printed) = run(script, "$mh tar");
    assert!(printed.starts_with("10\nblock "), "{printed}");
}
