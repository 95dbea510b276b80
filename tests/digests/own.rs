//! `mh sum` itself: several algorithms from one read, trees, manifests of everybody, extra files, JSON.

use super::{directory, links, run_line};
use crate::place::{Place, programs};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn run(place: &Place, line: &str) -> ProgramOutcome {
    run_line(place, line, Some(programs().path()))
}

fn text(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// What the old tools say of a file, by their own names.
#[test]
fn several_algorithms_from_one_read_are_what_the_tools_say() {
    let place = directory();
    let several = text(&run(&place, "mh sum -a md5,sha1,sha256,sha512,blake2b,crc32,cksum large"));
    let value = |tag: &str| {
        let line = several.lines().find(|line| line.starts_with(&format!("{tag} (large) = ")));
        line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned()
    };
    for (tool, tag) in
        [("md5sum", "MD5"), ("sha1sum", "SHA1"), ("sha256sum", "SHA256"), ("sha512sum", "SHA512"), ("b2sum", "BLAKE2b")]
    {
        let real = text(&run_line(&place, &format!("{tool} large"), None));
        assert_eq!(real.split(' ').next(), Some(value(tag).as_str()), "{tool}");
    }
    let real = text(&run_line(&place, "cksum large", None));
    let number: u32 = real.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    assert_eq!(value("CKSUM"), format!("{number:08x}"));
}

#[test]
fn the_width_changes_nothing() {
    let place = directory();
    let line = |hands| format!("mh sum -j {hands} -a crc64,blake3,md5,xxh3,sha3 large a text empty - < large");
    let one = run(&place, &line(1));
    assert_eq!(one.exit, Exit::Code(0));
    for hands in [2, 3, 8] {
        assert_eq!(text(&run(&place, &line(hands))), text(&one), "{hands}");
    }
}

#[test]
fn a_tree_gives_one_manifest_and_the_check_finds_what_was_done_to_it() {
    let place = directory();
    place.write("tree/b/z", b"z").write("tree/b-", b"b").write("tree/a", b"a").write("tree/b/deep/x", b"x");
    place.write("tree/new\nline", b"n");
    let made = run(
        &place,
        "mh sum -r -a xxh3 --untagged tree > sums; mh sum -a xxh3 --untagged -r tree -j 1 | cmp - sums; cut -c 19- sums",
    );
    let names = ["tree/a", "tree/b/deep/x", "tree/b/z", "tree/b-", " tree/new\\nline", ""].join("\n");
    assert_eq!(text(&made), names, "{:?}", made.stderr);
    let sound = run(&place, "mh sum -c --exact --quiet -a xxh3 sums");
    assert_eq!((text(&sound).as_str(), sound.exit), ("", Exit::Code(0)));
    place.write("tree/a", b"changed").write("tree/b/extra", b"");
    std::fs::remove_file(place.path("tree/b/z")).expect("removed");
    let found = run(&place, "mh sum -c --exact --quiet -a xxh3 sums");
    assert_eq!(text(&found), "tree/a: FAILED\ntree/b/z: FAILED open or read\ntree/b/extra: EXTRA\n");
    assert_eq!(found.exit, Exit::Code(1));
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(said.ends_with("mh sum: of 5 files listed: 1 changed, 1 missing, 1 extra\n"), "{said}");
    let json = run(&place, "mh sum -c --exact --json -a xxh3 sums");
    let statuses: Vec<String> = text(&json)
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["status"].to_string())
        .collect();
    assert_eq!(statuses.join(" "), r#""changed" "ok" "missing" "ok" "ok" "extra""#);
}

#[test]
fn manifests_of_all_tools_are_read_mixed() {
    let (place, links) = (directory(), links());
    let line = "(md5sum a; sha1sum --tag text; b2sum -l 256 --tag a; cksum -a sm3 a; xxhsum --tag large; xxhsum -H3 a; sha512sum 'new\nline') > sums; \
                md5sum -z 'back\\slash' a > zeros; b3sum a 'new\nline' > b3";
    assert_eq!(run_line(&place, line, Some(links.path())).exit, Exit::Code(0));
    let checked = run(&place, "mh sum -c sums");
    assert_eq!(text(&checked), "a: OK\ntext: OK\na: OK\na: OK\nlarge: OK\na: OK\n\\new\\nline: OK\n");
    assert_eq!(text(&run(&place, "mh sum -c zeros")), "back\\slash: OK\na: OK\n");
    assert_eq!(text(&run(&place, "mh sum -c -a blake3 b3")), "a: OK\n\\new\\nline: OK\n");
    let guessed = run(&place, "mh sum -c b3");
    assert_eq!(guessed.exit, Exit::Code(1));
    let said = String::from_utf8_lossy(&guessed.stderr).into_owned();
    assert!(
        said.contains(
            "values of 64 digits in 'b3' were taken for sha256; -a decides otherwise (blake3, sha3-256, sm3)"
        ),
        "{said}"
    );
    let crc = run(&place, "mh sum -a cksum a large | mh sum -a cksum -c");
    assert_eq!((text(&crc).as_str(), crc.exit), ("a: OK\nlarge: OK\n", Exit::Code(0)));
}

/// A manifest whose lines end with zero bytes names its files as they are: never another one that a line feed or a carriage return leads to.
#[test]
fn names_with_line_ends_in_a_manifest_of_zeros_are_no_other_files() {
    let (place, links) = (directory(), links());
    place.write("a\r", b"hello").write("a\nb", b"hello").write("c", b"c");
    let made = run_line(&place, "md5sum -z 'a\r' > return; md5sum -z 'a\nb' c > feed", Some(links.path()));
    assert_eq!(made.exit, Exit::Code(0));
    for (manifest, said) in [("return", "a\r: OK\n"), ("feed", "\\a\\nb: OK\nc: OK\n")] {
        let sound = run(&place, &format!("mh sum -c {manifest}; cat {manifest} | mh sum -c --quiet -"));
        assert_eq!((text(&sound).as_str(), sound.exit), (said, Exit::Code(0)), "{:?}", sound.stderr);
    }
    place.write("a\r", b"other").write("a\nb", b"other").write("c", b"other");
    for (manifest, changed) in [("return", "1 file listed: 1 changed"), ("feed", "2 files listed: 2 changed")] {
        let found = run(&place, &format!("mh sum -c {manifest}"));
        assert_eq!(found.exit, Exit::Code(1), "{}", text(&found));
        let said = String::from_utf8_lossy(&found.stderr).into_owned();
        assert!(said.contains(changed), "{said}");
    }
}

/// Who asks for SHA-256 is not content with a CRC, whatever a line says.
#[test]
fn lines_of_other_algorithms_are_misformatted_where_one_is_asked_for() {
    let place = directory();
    place.write("sums", b"CRC32 (a) = 3610a686\n");
    assert_eq!(text(&run(&place, "mh sum -c sums")), "a: OK\n");
    for algorithms in ["sha256", "sha256,md5"] {
        let found = run(&place, &format!("mh sum -c -a {algorithms} sums"));
        assert_eq!((text(&found).as_str(), found.exit), ("", Exit::Code(1)), "{algorithms}");
    }
    let both = run(&place, "mh sum -a sha256 a >> sums; mh sum -c -a crc32,sha256 sums; mh sum -c -w -a sha256 sums");
    assert_eq!(text(&both), "a: OK\na: OK\na: OK\n");
    let said = String::from_utf8_lossy(&both.stderr).into_owned();
    assert!(said.contains("line 1 of 'sums' is no checksum line"), "{said}");
}

/// Standard input is read once, whether it is a file or a pipe, from where it stands to its end.
#[test]
fn standard_input_is_at_its_end_once_it_has_been_read() {
    let (place, links) = (directory(), links());
    let lines = [
        "md5sum - - < large",
        "md5sum - a - < a",
        "cat large | md5sum - -",
        "{ md5sum; md5sum; } < large",
        "{ head -c 3 > begin; cat begin; md5sum; } < a",
        "{ cksum; cat; } < a",
    ];
    for line in lines {
        let (real, ours) = (run_line(&place, line, None), run_line(&place, line, Some(links.path())));
        assert_eq!((text(&ours), ours.exit), (text(&real), real.exit), "{line}");
    }
}

#[test]
fn a_check_that_verified_nothing_says_so_and_one_for_its_status_says_nothing() {
    let place = directory();
    place.write("sums", b"c4ca4238a0b923820dcc509a6f75849b  gone\n");
    let nothing = run(&place, "mh sum -c --ignore-missing sums");
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert_eq!((said.as_str(), nothing.exit), ("mh sum: 'sums': no file was verified\n", Exit::Code(1)));
    let silent = run(&place, "mh sum -c --status --json sums; mh sum -c --status --ignore-missing sums");
    assert_eq!((silent.stdout.len(), silent.stderr.len(), silent.exit), (0, 0, Exit::Code(1)));
}

#[test]
fn a_tree_that_is_gone_has_no_extra_files_and_what_has_no_contents_is_told() {
    let place = directory();
    let gone = run(&place, "mh sum a > sums; mh sum -c --exact=gone sums");
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert_eq!((text(&gone).as_str(), gone.exit), ("a: OK\n", Exit::Code(1)), "{said}");
    assert_eq!(said, "mh sum: could not list the directory 'gone': No such file or directory\n");
    place.write("tree/x", b"x");
    let sound = "mh sum -r tree > sums; mkfifo tree/fifo; ln -s x tree/link; mh sum -c --exact sums";
    let sound = run(&place, sound);
    let said = String::from_utf8_lossy(&sound.stderr).into_owned();
    assert_eq!((text(&sound).as_str(), sound.exit), ("tree/x: OK\n", Exit::Code(0)));
    assert!(said.contains("2 entries without contents that no line names") && said.contains("'tree/fifo'"), "{said}");
}

#[test]
fn lines_of_numbers_are_checked_where_their_algorithm_is_asked_for() {
    let place = directory();
    for algorithm in ["bsd", "sysv", "cksum"] {
        let checked = run(&place, &format!("mh sum -a {algorithm} a large ' blank' | mh sum -a {algorithm} -c"));
        assert_eq!((text(&checked).as_str(), checked.exit), ("a: OK\nlarge: OK\n blank: OK\n", Exit::Code(0)));
        let other = run(&place, &format!("mh sum -a {algorithm} a | sed 's/ a$/ text/' | mh sum -a {algorithm} -c"));
        assert_eq!((text(&other).as_str(), other.exit), ("text: FAILED\n", Exit::Code(1)), "{algorithm}");
    }
}

#[test]
fn a_manifest_of_many_lines_is_checked_in_little_memory() {
    let place = Place::new();
    place.write("one", b"1");
    let line = "c4ca4238a0b923820dcc509a6f75849b  one\n";
    place.write("sums", line.repeat(200_000));
    // Lines that are none, told one by one behind a file, take no memory either, and neither do long names.
    place.write("junk", [line, &"x\n".repeat(1_500_000)].concat());
    let long = format!("c4ca4238a0b923820dcc509a6f75849b  {}\n", "y".repeat(60_000));
    place.write("long", long.repeat(3000));
    if TestProgram::find("time").is_none() {
        return left_out("time is not installed");
    }
    for (manifest, code) in [("sums", 0), ("junk", 0), ("long", 1)] {
        let check = format!("command time -q -o peak -f %M mh sum -j2 -c -w --quiet {manifest} > out 2>&1");
        assert_eq!(run(&place, &check).exit, Exit::Code(code), "{manifest}");
        let peak = std::fs::read_to_string(place.path("peak")).expect("time writes it");
        let kilobytes: u64 = peak.trim().parse().expect("time says how much");
        assert!(kilobytes < 40 << 10, "{manifest}: {kilobytes} KiB were resident");
    }
}

/// The digest of the uncompressed data from the pass that packs or unpacks them is that of the data.
#[test]
fn tamp_prints_the_digests_of_what_it_packs_and_unpacks() {
    let place = directory();
    let truth = text(&run(&place, "mh sum -a crc32c,sha256 large"));
    for format in ["zst", "gz", "bz2", "lz4", "xz"] {
        for hands in [1, 3] {
            let packed = run(&place, &format!("mh tamp -f -j {hands} -F {format} --digest crc32c,sha256 large"));
            assert_eq!(text(&packed), truth, "packing {format} at {hands}");
            let tested = run(&place, &format!("mh tamp -t -j {hands} --digest crc32c,sha256 large.{format}"));
            assert_eq!(text(&tested), truth, "testing {format} at {hands}");
        }
        let unpacked = run(
            &place,
            &format!(
                "mkdir {format}; mv large.{format} {format}; cd {format}; mh tamp -d --digest crc32c,sha256 large.{format}"
            ),
        );
        assert_eq!(text(&unpacked), truth, "unpacking {format}");
        let piped =
            run(&place, &format!("cat large | mh tamp -F {format} --digest crc32c,sha256 | mh tamp -d | cmp - large"));
        let said = String::from_utf8_lossy(&piped.stderr).replace("(-)", "(large)");
        assert_eq!((said.as_str(), piped.exit), (truth.as_str(), Exit::Code(0)), "a pipe of {format}");
    }
    place.write("bad.gz", b"\x1f\x8b\x08\0garbage");
    let failed = run(&place, "mh tamp -t --digest md5 bad.gz");
    assert_eq!((text(&failed).as_str(), failed.exit), ("", Exit::Code(1)), "what did not come out whole has no digest");
}

/// The digests of what is copied are those of the sources, under the names of the copies; of what is not copied whole there is none.
#[test]
fn cp_prints_the_digests_of_what_it_copies() {
    let place = directory();
    let holes =
        "truncate -s 9M holes; printf x | dd of=holes bs=1 seek=3000000 conv=notrunc status=none; truncate -s 4M hole";
    run(
        &place,
        &format!(
            "mkdir tree; cp a empty text large 'it'\\''s $5' 'new\nline' 'back\\slash' tree; cd tree; {holes}; ln -s a link"
        ),
    );
    place.write("tree/\u{e4}", b"more");
    let lines = |text: String| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    for options in ["", "-j 1", "-a", "-p --sparse=always", "--sparse=never --reflink=never", "--verify"] {
        let copied = run(&place, &format!("rm -rf copy; mh cp -r {options} --digest crc32c,sha256 tree copy"));
        let truth = run(&place, "mh sum -r -a crc32c,sha256 copy; diff -r tree copy");
        assert_eq!(truth.exit, Exit::Code(0), "{options}: {}", text(&truth));
        assert_eq!(lines(text(&copied)), lines(text(&truth)), "{options}");
        assert_eq!(lines(text(&copied)).len(), 20, "{options}");
    }
    let checked = run(
        &place,
        "mh cp -r --digest blake3 tree other > sums; mh sum -c --exact --quiet sums; stat -c %b other/hole",
    );
    assert_eq!((text(&checked).as_str(), checked.exit), ("0\n", Exit::Code(0)), "a hole stays one");
    let again = run(
        &place,
        "rm -rf copy; cp -a tree copy; mh cp -aT --digest md5 --skip-same tree copy | wc -l; cat a | mh cp --digest md5 /dev/stdin b",
    );
    assert_eq!(text(&again), "0\nMD5 (b) = 5d41402abc4b2a76b9719d911017c592\n", "what stays as it is has none");
    let partly = run(&place, "mh cp --digest md5 a nosuch tree; cp a /dev/full 2>&1; mh cp --digest md5 a /dev/full");
    assert_eq!(partly.exit, Exit::Code(1));
    assert!(!text(&partly).contains("(/dev/full)"), "{}", text(&partly));
    assert!(text(&partly).contains("MD5 (tree/a) = 5d41402abc4b2a76b9719d911017c592"), "{}", text(&partly));
    let refused = run(&place, "mh cp --digest md5 -v a b; mh cp --digest md5 -l a b");
    assert_eq!(text(&refused), "");
}

/// Whatever it writes it can check, without a word about the algorithm.
#[test]
fn a_manifest_of_any_algorithm_is_checked_without_naming_it() {
    let place = directory();
    let algorithms = [
        "crc32",
        "crc32c",
        "crc64",
        "crc64nvme",
        "xxh32",
        "xxh64",
        "xxh3",
        "xxh128",
        "blake3",
        "md5",
        "sha1",
        "sha224",
        "sha256",
        "sha384",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "blake2b",
        "blake2b-256",
        "sm3",
    ];
    for algorithm in algorithms {
        let checked = run(&place, &format!("mh sum -a {algorithm} a > sums; mh sum -c sums"));
        assert_eq!((text(&checked).as_str(), checked.exit), ("a: OK\n", Exit::Code(0)), "{algorithm}");
        assert_eq!(checked.stderr, b"", "{algorithm}");
        let plain = run(&place, &format!("mh sum -a {algorithm} --untagged a | mh sum -c -a {algorithm}"));
        assert_eq!((text(&plain).as_str(), plain.exit), ("a: OK\n", Exit::Code(0)), "{algorithm}");
    }
    for algorithm in ["cksum", "bsd", "sysv"] {
        let checked = run(&place, &format!("mh sum -a {algorithm} a > sums; mh sum -c -a {algorithm} sums"));
        assert_eq!((text(&checked).as_str(), checked.exit), ("a: OK\n", Exit::Code(0)), "{algorithm}");
    }
}

#[test]
fn a_manifest_in_the_tree_itself_is_left_out_and_a_tree_must_be_named() {
    let place = directory();
    let made = run(&place, "mkdir tree; cp a tree; cd tree; mh sum -r . > sums; cat sums; mh sum -c sums");
    assert_eq!(text(&made).lines().count(), 2, "{}", text(&made));
    assert!(String::from_utf8_lossy(&made.stderr).contains("left out './sums': it is the output"), "{:?}", made.stderr);
    assert_eq!(made.exit, Exit::Code(0));
    assert_eq!(run(&place, "mh sum -r < a").exit, Exit::Code(2));
}

/// A saved digest names the file that decompression writes, byte for byte.
#[test]
fn digests_of_a_test_can_be_checked_against_what_is_unpacked() {
    let place = directory();
    let script = "n=$(printf 'a\\377'); cp a \"$n\"; mh tamp \"$n\"; mh tamp -t --digest sha256 \"$n.zst\" > sums; mh sum -c --quiet sums";
    let checked = run(&place, script);
    assert_eq!((text(&checked).as_str(), checked.exit), ("", Exit::Code(0)), "{:?}", checked.stderr);
}
