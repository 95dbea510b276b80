//! Incremental archives beside GNU tar's: each makes of a state that either has written the archive that the other makes, and restores what the
//! other has archived.

use super::habits::run;
use super::{expect_same, place, tools};
use testkit::program::Exit;

/// What makes GNU tar write what we write.
const PAX: &str = "--format=posix --pax-option=delete=atime,delete=ctime";

/// What GNU tar and ours make of a script, without what only their formats and words differ in.
fn is_as_gnu(options: &str, script: &str) {
    let clean = |script: &str| {
        format!(
            "run() {{ {script}\n }}; {{ run; }} 2>&1 | sed \"s/^mh tar: warning: /tar: /;s/mh tar/tar/;s/[‘’]/'/g;s/tar: '\\([^']*\\)': Directory/tar: \\1: Directory/\""
        )
    };
    let gnu = format!("TAR_OPTIONS='{options} --sort=name' command tar");
    let (theirs, ours) = (run(&clean(script), &gnu), run(&clean(script), "$mh tar"));
    assert_eq!(ours, theirs, "{script}");
}

#[test]
fn what_has_changed_is_archived_and_what_went_is_removed() {
    if !tools(&["tar"]) {
        return;
    }
    for (format, options) in [("gnu", ""), ("posix", PAX)] {
        is_as_gnu(options, &format!(
            "f=--format={format}; sleep 0.02; tar -cvf 0.tar $f -g snap s; tar -tvvGf 0.tar; sleep 0.02; tar -cvf 1.tar $f -g snap s
             sleep 0.02; echo n > s/n; echo b2 > s/b; touch -d @5 s/old; mv s/d s/f; mkdir s/g; echo x > s/g/x; rm s/hard; sleep 0.02
             tar -cvf 2.tar $f -g snap s; tar -tvvGf 2.tar | sed 's/ 20..-..-.. ..:..//'; mkdir y; tar -xf 0.tar -C y -g /dev/null
             tar -xvf 2.tar -g /dev/null -C y; cat y/s/b; touch y/s/f/more; tar -xGf 1.tar -C y 2>/dev/null; tar -xf 2.tar -C x"
        ));
    }
    for script in [
        // Names that are exchanged, and names that are handed on.
        "mkdir -p s/p s/r; echo 1 > s/p/1; echo 2 > s/r/2; sleep 0.02; tar -cf 0.tar -g snap s; mv s/p s/t; mv s/r s/p; mv s/t s/r; sleep 0.02
         tar -cvf 1.tar -g snap s; tar -tvvGf 1.tar | sed 's/ 20..-..-.. ..:..//'; tar -xf 0.tar -G -C x; tar -xvf 1.tar -G -C x; rm -rf x/s/tar.* s/tar.*",
        "mkdir s/1 s/2 s/3; touch s/1/a s/2/b s/3/c; sleep 0.02; tar -cf 0.tar -g snap s; mv s/3 s/4; mv s/2 s/3; mv s/1 s/2; sleep 0.02
         tar -cf 1.tar -g snap s; tar -xf 0.tar -G -C x; tar -xf 1.tar -G -C x",
        "sleep 0.02; tar -cf 0.tar -g snap -C s a d; tar -cvf 1.tar -g snap --level=0 s; tar -cvf 1.tar -g snap --exclude=b s; tar -tvvGf 1.tar
         tar -cvGf 2.tar s; tar -tvvGf 2.tar",
        "sleep 0.02; tar -cf 0.tar -g snap s; rm -r s/d; mkdir s/d; echo 3 > s/d/c; mkdir s/d/new; ln -s x s/d/l; sleep 0.02; tar -cf 1.tar -g snap s
         tar -tvvGf 1.tar | sed 's/ 20..-..-.. ..:..//'; tar -xf 0.tar -G -C x; tar -xf 1.tar -G -C x",
        "tar -cf 0.tar --format=ustar -g snap s 2>/dev/null; echo $?; rm -f 0.tar; tar -cf 0.tar s; tar -rf 0.tar -g snap s 2>/dev/null; rm -f snap; true",
        "sleep 0.02; tar -cf 0.tar -g snap s; touch -d @5 s/new; sleep 0.02; tar -cvf 1.tar -g snap s; tar -cvf 1.tar -g snap --no-check-device s",
    ] {
        is_as_gnu(PAX, script);
    }
}

#[test]
fn states_and_archives_of_one_are_used_by_the_other() {
    if !tools(&["tar"]) {
        return;
    }
    let place = place();
    let script = r#"
one() { "$@" -cf 0.tar -g snap src; }; sleep 0.02
change() { sleep 0.02; echo new > src/deep/er/new; rm src/second; mv src/empty src/renamed; chmod 755 src/deep; touch src/deep/x; sleep 0.02; }
undo() { rm -r src; tar -xpf all.tar; }
tar -cf all.tar src
for first in "tar --format=posix" "$mh tar"; do for second in "tar --format=posix" "$mh tar" "$mh tar --format=gnu"; do for reader in tar "$mh tar"; do
  undo; rm -f snap; sleep 0.02; $first -cf 0.tar -g snap src; change; $second -cf 1.tar -g snap src
  rm -rf a; mkdir a; for n in 0 1; do $reader -xpf $n.tar -g /dev/null -C a; done
  mkdir -p b; rm -rf b/*; cp -a src b/; (cd a; find . | sort) > la; (cd b; find . | sort) > lb; diff la lb
  test "$($reader -tf 1.tar | grep -c -e deep/er/new -e deep/x)" = 2; test "$($reader -tf 1.tar | grep -c -e large -e holes)" = 0
done; done; done
rm -rf a; mkdir -p a/src/dir; echo old > a/src/stray; touch a/src/dir/x; cat 1.tar | $mh tar -xp -G -C a --hands 8; test ! -e a/src/stray; test ! -e a/src/dir"#;
    expect_same(&place, script);
}

#[test]
fn a_state_that_is_none_is_refused() {
    for content in ["junk", "GNU tar-1.15-1\\n12\\n", "GNU tar-1.34-2\\n1\\0x"] {
        let script = format!(
            "printf '{content}' > snap; cp snap before; tar cf t.tar -g snap s; echo $?; cmp snap before; test ! -e t.tar"
        );
        let (exit, printed) = run(&script, "$mh tar");
        assert!(
            exit == Exit::Code(0) && printed.starts_with("2\n") && printed.contains("could not use 'snap'"),
            "{printed}"
        );
    }
    // What fails leaves the old state.
    let (exit, printed) = run(
        "tar cf t.tar -g snap s; cp snap old; echo > s/x; tar cf /dev/full -g snap s 2>/dev/null; cmp snap old && echo kept",
        "$mh tar",
    );
    assert!(exit == Exit::Code(0) && printed.starts_with("kept\n"), "{printed}");
    // No name that it says leads out.
    let hostile = "mkdir -p s/p; tar cf 0.tar --format=gnu -G s; sed -i 's,Dp\\x00,R..\\x00,' 0.tar; tar xGf 0.tar -C x; test -e s";
    let (exit, printed) = run(hostile, "$mh tar");
    assert!(exit == Exit::Code(0), "{printed}");
}
