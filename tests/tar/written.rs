//! Options about how archives are written, what becomes of the files, and what is shown meanwhile: as GNU tar has it, byte for byte where the
//! format fixes the bytes.

use super::habits::{is_as_gnu, run};
use super::tools;
use testkit::program::Exit;

/// The same with GNU tar's own default format.
fn is_as_gnu_by_default(script: &str) {
    let (theirs, ours) = (run(script, "TAR_OPTIONS=--sort=name command tar"), run(script, "$mh tar"));
    assert_eq!(ours, theirs, "{script}");
}

#[test]
fn older_formats_are_written_byte_for_byte() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar --format=v7 s; cksum t.tar; tar cf t.tar --old-archive s; cksum t.tar; tar cf t.tar --portability s; cksum t.tar
         tar cof t.tar s; cksum t.tar; tar tvf t.tar",
        "n=$(printf 'y%.0s' $(seq 98)); touch s/$n s/y$n -d @5; tar cf t.tar --format=v7 s 2>/dev/null; tar tf t.tar
         mkfifo s/f; tar cf t.tar --format=v7 s 2>/dev/null",
        "n=$(printf 'y%.0s' $(seq 97)); touch s/$n s/y$n s/yy$n -d @5; ln -s $n$n s/l; touch -h -d @5 s/l s
         tar cf t.tar --format=oldgnu s; cksum t.tar; mkfifo -m 644 s/f; touch -d @5 s/f; tar cf t.tar --format=oldgnu s/f; cksum t.tar",
        "tar cf t.tar -V lab --format=ustar s 2>/dev/null; tar cf t.tar -V lab --format=v7 s 2>/dev/null; tar cf t.tar -S --format=v7 s 2>/dev/null",
    ] {
        is_as_gnu_by_default(script);
    }
}

#[test]
fn holes_are_found_and_written_as_they_are_wanted() {
    if !tools(&["tar", "cksum"]) {
        return;
    }
    for script in [
        "truncate -s 100K s/sp; echo x >> s/sp; touch -d @5 s/sp; for v in 0.0 0.1 1.0 1 0; do tar cf t.tar --sparse-version=$v s
         tr -d '\\0' < t.tar | sed 's/GNUSparseFile.[0-9]*/GNUSparseFile.0/' | sed 's/0[0-9]* *[0-6]//' | grep -a GNU.sparse
         tar xf t.tar -C x; cmp s/sp x/s/sp; done",
        "n=$(printf 'y%.0s' $(seq 98)); truncate -s 100K s/$n; touch -d @5 s/$n s; for v in 0.0 0.1 1.0; do tar cf t.tar --sparse-version=$v s
         tar tvf t.tar; tar xf t.tar -C x; cmp s/$n x/s/$n; done",
    ] {
        is_as_gnu(script);
    }
    is_as_gnu_by_default(
        "printf 'xxxx' > s/sp; truncate -s 100K s/sp; dd if=/dev/zero of=s/sp bs=4k seek=4 count=3 conv=notrunc 2>/dev/null
         echo yy >> s/sp; truncate -s 50K s/end; touch -d @5 s/sp s/end s
         for v in raw seek; do tar cf t.tar --hole-detection=$v --format=gnu s; cksum t.tar; done",
    );
}

#[test]
fn archives_have_labels() {
    if !tools(&["tar"]) {
        return;
    }
    for format in ["gnu", "oldgnu", "posix"] {
        is_as_gnu_by_default(&format!(
            "tar cf t.tar -V lab --format={format} s/a; tar tf t.tar; tar tvf t.tar | sed 's/0 .* lab/lab/'; tar tf t.tar -V 'l*'
             tar tf t.tar -V foo 2>/dev/null; echo $?; tar xvf t.tar -C x; tar dvf t.tar
             tar rf t.tar -V foo s/b 2>/dev/null; echo $?; tar rf t.tar -V lab s/b; tar tf t.tar; tar tf t.tar s/b"
        ));
        is_as_gnu_by_default(&format!(
            "tar cf t.tar -V lab --format={format} s/a; tar --test-label -f t.tar; tar --test-label -f t.tar lab x; echo $?
             tar --test-label -f t.tar x; echo $?; tar --test-label -vf t.tar x 2>/dev/null; echo $?
             tar --test-label -f t.tar --wildcards 'l*'; echo $?; tar cf t.tar s; tar --test-label -f t.tar; echo $?
             tar --test-label -f t.tar x"
        ));
    }
    // The same label gives the same bytes, whenever it is written.
    let (exit, printed) = run(
        "for n in 1 2; do tar cf t.tar -V lab --format=gnu --mtime=@5 s; cksum < t.tar; done | sort -u | wc -l",
        "$mh tar",
    );
    assert!(exit == Exit::Code(0) && printed.starts_with("1\n"), "{printed}");
}

#[test]
fn files_are_removed_when_the_archive_has_them() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cf t.tar --remove-files s/d; tar tf t.tar; tar cf t.tar --remove-files -C s a b; tar tf t.tar",
        "tar cf t.tar --remove-files --exclude=hard s 2>/dev/null",
        "tar cf t.tar --remove-files s nope 2>/dev/null",
        "tar cf - --remove-files s | tar tf -",
        "tar cf t.tar s/a; tar rf t.tar --remove-files s/b; tar tf t.tar",
        "tar czf t.tgz --remove-files s; tar tzf t.tgz",
    ] {
        is_as_gnu(script);
    }
    // An archive that is not complete has nothing.
    let (exit, printed) = run("tar cf /dev/full --remove-files s 2>/dev/null; echo $?; ls s", "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("2\na\nb\nd\n"), "{printed}");
}

#[test]
fn an_archive_is_compared_with_the_files_and_links_are_counted() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cvWf t.tar s; tar rWf t.tar s/d/c",
        "tar cWf - s 2>/dev/null; tar czWf t.tgz s 2>/dev/null; code=$?; rm -f t.tgz; (exit $code)",
        "tar clf t.tar s/a 2>&1 | sed 's/mh tar/tar/;s/[‘’]/'\\''/g'; tar clf t.tar s; tar clf t.tar s/hard s/d s/a",
    ] {
        is_as_gnu(script);
    }
}

#[test]
fn checkpoints_are_at_the_records_of_the_archive() {
    if !tools(&["tar"]) {
        return;
    }
    for script in [
        "tar cvf t.tar --checkpoint=1 s 2>&1 | sed 's/mh tar/tar/'",
        "tar cf t.tar --checkpoint=3 --checkpoint-action=dot s; tar cf t.tar --checkpoint=.3 s; tar cf t.tar --checkpoint-action=dot s",
        "tar cf t.tar s; cat t.tar | tar tf - --checkpoint=5 2>&1 | sed 's/mh tar/tar/'; tar xvf t.tar -C x --checkpoint=3 2>&1 | sed 's/mh tar/tar/'
         tar df t.tar --checkpoint=4 2>&1 | sed 's/mh tar/tar/'",
        "tar cf t.tar --checkpoint=4 --checkpoint-action='echo=%s %u %{%Y}t %q %%' --checkpoint-action=exec='echo $TAR_CHECKPOINT $TAR_ARCHIVE $TAR_SUBCOMMAND $TAR_FORMAT $TAR_BLOCKING_FACTOR' s 2>&1 | sed 's/mh tar/tar/'",
        "tar cf t.tar --checkpoint=4 --checkpoint-action=totals s 2>&1 | sed 's/, .*//'",
        "tar cf t.tar --checkpoint-action=zork s 2>/dev/null; echo $?; tar cf t.tar --checkpoint=x s 2>/dev/null; echo $?; rm -f t.tar",
        "tar cf t.tar --totals s 2>&1 | sed 's/, .*//'; tar xf t.tar --totals -C x 2>&1 | sed 's/, .*//'; tar tf t.tar --totals s/a 2>&1 | sed 's/, .*//'
         tar cf t.tar --totals=FOO s 2>/dev/null; code=$?; rm -f t.tar; (exit $code)",
        "(trap '' USR1; tar cf t.tar --totals=USR1 --checkpoint=10 --checkpoint-action=sleep=0 s); tar tf t.tar | wc -l",
    ] {
        is_as_gnu(&format!("head -c 100000 /dev/zero > s/z; {script}"));
    }
    let script = "head -c 100000 /dev/zero > s/z; tar cf t.tar --totals=USR1 --checkpoint=11 --checkpoint-action=exec='kill -USR1 $PPID; sleep 1' s 2>&1 | grep -c 'Total bytes written: [0-9]* ('";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("1\n"), "{printed}");
}

#[test]
fn names_are_shown_in_the_style_that_is_wanted() {
    if !tools(&["tar"]) {
        return;
    }
    let names = "touch -d @5 's/a b' \"s/it's\" \"s/it's@\" 's/q\"' 's/t\t' 's/b\\s' s/ü 's/#x' 's/x#~' 's/{' 's/a=b' 's/$x' 's/?' \"$(printf 's/\\001')\"; export LC_ALL=C.UTF-8";
    for style in ["literal", "shell", "shell-always", "c", "c-maybe", "escape", "locale", "clocale"] {
        is_as_gnu(&format!(
            "{names}; tar cvf t.tar --quoting-style={style} s; ln -s \"it's a\" s/LL; touch -h -d @5 s s/LL
             tar cvvf t.tar --quoting-style={style} s; tar tf t.tar --quoting-style={style}; rm -r s/?[!a-z]* s/??*; rm -f s/[^a-z]*"
        ));
    }
    is_as_gnu(
        "touch 's/a b'; tar cvf t.tar --quote-chars=ab s; tar cvf t.tar --no-quote-chars=x --quote-chars=b s; tar tf t.tar --quote-chars=' '",
    );
    is_as_gnu(
        "tar cvf t.tar --index-file=i s; cat i; tar tvf t.tar --index-file=i; cat i; tar xvf t.tar -C x --index-file=$PWD/i; cat i
         tar cvf - --index-file=i s > /dev/null; cat i; tar xvOf t.tar --index-file=i; cat i",
    );
}

#[test]
fn few_descriptors_are_enough() {
    let script =
        "for n in $(seq 300); do echo $n > s/d/f$n; done; mkdir -p s/1/2/3/4/5/6/7/8; echo x > s/1/2/3/4/5/6/7/8/f
        tar cf all.tar s; (ulimit -n 10; tar cf few.tar s; tar df few.tar); (ulimit -n 14; tar xf few.tar -C x); cmp all.tar few.tar && diff -r --no-dereference s x/s && echo same";
    let (exit, printed) = run(script, "$mh tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("same\n"), "{printed}");
}

#[test]
fn owners_are_written_by_maps() {
    if !tools(&["tar"]) {
        return;
    }
    is_as_gnu(
        "printf '+0 joe:5\\n' > m; tar cf t.tar --owner-map=m --group-map=m s; tar tvf t.tar; tar tvf t.tar --numeric-owner
         printf 'root +7 # c\\n\\n' > m; tar cf t.tar --owner-map=m --group=bin:3 s; tar tvf t.tar; tar tvf t.tar --numeric-owner
         printf 'root daemon\\n' > m; tar cf t.tar --owner-map=m --owner=bin:3 s; tar tvf t.tar --numeric-owner; tar tvf t.tar",
    );
}

#[test]
fn other_programs_pack_where_there_is_no_codec() {
    for (option, program, suffix) in [("--lzip", "lzip", "lz"), ("--lzop", "lzop", "lzo"), ("-Z", "compress", "Z")] {
        if !tools(&["tar", program]) {
            continue;
        }
        is_as_gnu(&format!(
            "tar -c {option} -f t.tar.{suffix} s; {program} -dc < t.tar.{suffix} | tar tf -; tar tf t.tar.{suffix}; tar {option} -xf t.tar.{suffix} -C x
             cat t.tar.{suffix} | tar {option} -tf -"
        ));
        is_as_gnu(&format!("tar caf t.tar.{suffix} s; {program} -dc < t.tar.{suffix} | tar tf -"));
    }
    // Not GNU tar 1.34, whose --lzma writes .xz.
    if tools(&["lzma"]) {
        let script = "tar --lzma -cf t.tar s; lzma -dc < t.tar | tar tf - | wc -l; tar caf t.tar.lzma s; tar tf t.tar.lzma | wc -l";
        let (exit, printed) = run(script, "$mh tar");
        assert!(exit == Exit::Code(0) && printed.starts_with("8\n8\n"), "{printed}");
    }
}
