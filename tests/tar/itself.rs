//! What is put into itself: an archive in the tree that it is made of, under any name; a directory copied or moved into itself. Nothing
//! grows without end, and nothing is lost.

use crate::place::{Place, said};
use testkit::program::Exit;

const TREE: &str = "mkdir -p src/a/b; for n in $(seq 30); do echo $n > src/a/f$n; done; echo x > src/a/b/x; ln -s src other; ln -s ../.. src/a/up";
const MEMBERS: &str =
    "sed 's,/$,,' list | sort > found; (cd src; find . ! -name 'it*') | sed 's,^\\.,src,' | sort | cmp - found";

#[test]
fn an_archive_is_never_in_itself() {
    for hands in [1, 2, 64] {
        for script in [
            // As it is made, as it was before, under another name, as standard output, packed.
            "$mh tar -cf src/a/it.tar HANDS src",
            "echo old > src/a/it.tar; $mh tar -cf src/a/it.tar HANDS src",
            "$mh tar -cf other/a/it.tar HANDS src",
            "$mh tar -cf ./src/a/b/../it.tar HANDS src",
            "$mh tar -c HANDS src > src/a/it.tar",
            "$mh tar -c --zstd HANDS src > src/a/it.tar",
            "$mh tar -c --zstd -f src/a/it.tar HANDS src",
            "$mh tar -cf src/a/it.tar -T /dev/null; $mh tar -rf src/a/it.tar HANDS src",
            "$mh tar -cf src/a/it.tar -T /dev/null; $mh tar -uf src/a/it.tar HANDS src",
            "$mh tar -cf src/a/it.tar -T /dev/null; ln src/a/it.tar src/it2; $mh tar -rf src/it2 HANDS src",
        ] {
            let place = Place::new();
            let script = script.replace("HANDS", &format!("--hands {hands}"));
            let ran = place.shell(&format!(
                "{TREE}; {script}; echo $?; $mh tar -tf src/a/it.tar > list; {MEMBERS} && echo members; ls -A src src/a | grep -c '^[.]'"
            ));
            assert_eq!(String::from_utf8_lossy(&ran.stdout), "0\nmembers\n0\n", "{script}: {}", said(&ran));
        }
    }
}

#[test]
fn no_directory_is_copied_or_moved_into_itself() {
    for hands in [1, 2, 64] {
        for command in [
            "cp -a -j HANDS src src",
            "cp -a -j HANDS src src/a/new",
            "cp -r -j HANDS src other/a",
            "cp -aT -j HANDS src src/a/b",
            "cp -a -j HANDS src/a src",
            "mv -j HANDS src src/a",
            "mv -j HANDS src other/a/b/new",
        ] {
            let place = Place::new();
            let command = command.replace("HANDS", &hands.to_string());
            // COMPAT: as GNU's, a copy has gone one directory deep when it is refused. Nothing that was there is another, and there is an end.
            let ran = place.shell(&format!(
                "{TREE}; cp -a src before; $mh {command}; echo $?; diff -r --no-dereference before src | grep -v '^Only in src'
                 test $(find src | wc -l) -lt 80 && echo ends"
            ));
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            assert_eq!((ran.exit, printed.as_str()), (Exit::Code(0), "1\nends\n"), "{command}: {}", said(&ran));
            let words = ["into itself", "subdirectory of itself", "are the same file"];
            assert!(words.iter().any(|words| said(&ran).contains(words)), "{command}: {}", said(&ran));
        }
    }
}
