//! Deep, broad, and much: what is held in memory does not grow with what there is to do.

use super::{WIDTHS, python, succeeds, widths_of_the_large};
use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

/// LIMIT: 128 MB, as it is asked for every run; also where 64 hands are.
const PEAK_KIB: u64 = 125_000;

/// Runs `mh` under time(1); its peak in KiB.
fn peak_kib(place: &Place, arguments: &str) -> Option<u64> {
    if !std::path::Path::new("/usr/bin/time").exists() {
        left_out("time(1) is not installed");
        return None;
    }
    succeeds(place, &format!("/usr/bin/time -q -o peak -f %M \"$mh\" {arguments}"));
    Some(String::from_utf8_lossy(&place.read("peak")).trim().parse().expect("time(1) tells a number"))
}

#[test]
fn an_archive_takes_128_megabytes_at_most_with_64_hands() {
    let place = Place::new();
    place.write("src/large", data::mixed(90 << 20, 3));
    for number in 0..3000 {
        place.write(format!("src/{}/f{number}", number / 30), data::text(4000, number));
    }
    // Blocks and dictionaries as `xz -T2` and `xz -T4` make them, in less time.
    for (tool, options) in [
        ("zstd", "-q -1"),
        ("gzip", "-1"),
        ("bzip2", "-1"),
        ("xz", "-T4 --block-size=25165824 --lzma2=preset=0,dict=8MiB"),
    ] {
        match TestProgram::find(tool) {
            Some(_) => drop(succeeds(
                &place,
                &format!("test -e t.tar || $mh tar cf t.tar src; {tool} {options} -c t.tar > t.{tool}"),
            )),
            None => left_out(&format!("{tool} is not installed")),
        }
    }
    for hands in widths_of_the_large() {
        for create in ["-cf m.plain", "--zstd -cf m.zstd", "-z -cf m.gzip"] {
            let Some(peak) = peak_kib(&place, &format!("tar {create} src --hands {hands}")) else { return };
            assert!(peak <= PEAK_KIB, "{create}: {peak} KiB with {hands} hands");
        }
        let archives = ["m.plain", "m.zstd", "m.gzip", "t.zstd", "t.gzip", "t.bzip2", "t.xz"];
        for archive in archives.iter().filter(|name| place.has(name)) {
            succeeds(&place, "rm -rf x; mkdir x");
            let Some(peak) = peak_kib(&place, &format!("tar -xf {archive} -C x --hands {hands}")) else { return };
            assert!(peak <= PEAK_KIB, "{archive}: {peak} KiB with {hands} hands");
            succeeds(&place, "diff -r src x/src");
        }
    }
}

#[test]
fn blocks_of_xz_take_128_megabytes_at_most_whatever_they_hold() {
    if TestProgram::find("xz").is_none() {
        return left_out("xz is not installed");
    }
    let place = Place::new();
    place.write("src/packed-well", data::text(26 << 20, 1));
    // A block that becomes half of what it is. LIMIT: xz takes a second for two mebibytes of that.
    let half = [data::random(11 << 20, 2), data::text(13 << 20, 3)].concat();
    place.write("src/packed-badly", half);
    for (name, dictionary) in [("usual.xz", "8MiB"), ("far.xz", "24MiB")] {
        let options = format!("-T2 --block-size=25165824 --lzma2=preset=0,dict={dictionary}");
        succeeds(&place, &format!("$mh tar cf - src | xz {options} > {name}"));
    }
    succeeds(&place, "mkfifo pipe");
    for way in ["-xf usual.xz --hands 2", "-xf usual.xz --hands 64", "-xf far.xz --hands 64", "-x --hands 64 < pipe"] {
        succeeds(&place, "rm -rf x; mkdir x");
        let feeds = if way.ends_with("pipe") { "& cat usual.xz > pipe; wait $!" } else { "" };
        let Some(peak) = peak_kib(&place, &format!("tar -C x {way} {feeds}")) else { return };
        assert!(peak <= PEAK_KIB, "{way}: {peak} KiB");
        succeeds(&place, "diff -r src x/src");
    }
}

#[test]
fn an_archive_of_xz_is_made_in_128_megabytes_of_what_cannot_be_packed_and_of_headers_alone() {
    let place = Place::new();
    // A whole block: plain bytes, and room for as many packed ones, do not fit beside an encoder.
    place.write("data/zeros", data::zeros(16 << 20));
    place.write("data/random", data::random(9 << 20, 2));
    let made = "import os\nos.mkdir('headers')\nfor i in range(50000): open('headers/%05d' % i, 'w').close()";
    if python(&place, made).is_none() {
        return;
    }
    for name in ["data", "headers"] {
        let Some(peak) = peak_kib(&place, &format!("tar -cJf {name}.xz {name} --hands 64")) else { return };
        assert!(peak <= PEAK_KIB, "{name}: {peak} KiB");
        succeeds(&place, &format!("mkdir x && $mh tar -xf {name}.xz -C x && diff -r {name} x/{name} && rm -r x"));
    }
}

/// LIMIT: of 20,000 directories in one another, archives have 400 MB. Names that are held several times over, or for as long as they are archived, take more than this.
const NAMES_PEAK_KIB: u64 = 56_000;

#[test]
fn names_in_flight_are_held_once() {
    let place = Place::new();
    if chain(&place, "src", 20_000).is_none() {
        return;
    }
    for hands in widths_of_the_large() {
        for create in ["--zstd -cf a.zst", "-z -cf a.gz", "-cf /dev/null --no-index"] {
            let Some(peak) = peak_kib(&place, &format!("tar {create} src --hands {hands}")) else { return };
            assert!(peak <= NAMES_PEAK_KIB, "{create}: {peak} KiB with {hands} hands");
        }
        succeeds(&place, "mkdir x");
        for taken in ["tar -tf a.zst", "tar -tf a.gz", "tar -xf a.zst -C x", "cp -a src copy"] {
            let option = if taken.starts_with("tar") { "--hands" } else { "-j" };
            let Some(peak) = peak_kib(&place, &format!("{taken} {option} {hands} > list")) else { return };
            assert!(peak <= PEAK_KIB, "{taken}: {peak} KiB with {hands} hands");
        }
        for name in ["x/src", "copy"] {
            assert_eq!(walked(&place, name).as_deref(), Some("20000 40 0\n"), "{name} with {hands} hands");
        }
        for removed in ["x", "copy"] {
            let Some(peak) = peak_kib(&place, &format!("rm -r {removed} -j {hands}")) else { return };
            assert!(peak <= PEAK_KIB && !place.has(removed), "{peak} KiB with {hands} hands");
        }
    }
    succeeds(&place, "$mh rm -r src");
}

/// Makes directories called d in one another, a file in each five hundredth.
fn chain(place: &Place, name: &str, depth: u32) -> Option<String> {
    let program = format!(
        "import os\nos.mkdir('{name}'); os.chdir('{name}')\nfor i in range({depth}):\n os.mkdir('d', 0o750); os.chdir('d')\n if i % 500 == 0: open('f', 'w').write(str(i))"
    );
    python(place, &program)
}

/// How deep a chain is, how many files it has, and how many directories have another mode or time.
fn walked(place: &Place, name: &str) -> Option<String> {
    let program = format!(
        "import os\nos.chdir('{name}'); n = f = bad = 0\nwhile os.path.isdir('d'):\n os.chdir('d'); n += 1; s = os.stat('.'); bad += s.st_mode & 0o777 != 0o750; f += os.path.exists('f')\nprint(n, f, bad)"
    );
    python(place, &program)
}

#[test]
fn chains_of_directories_are_archived_and_extracted_with_few_descriptors() {
    let place = Place::new();
    if chain(&place, "src", 3000).is_none() {
        return;
    }
    for hands in WIDTHS {
        let ran = place.shell(&format!(
            "ulimit -n 256; $mh tar --zstd -cf a.tar src --hands {hands} && mkdir x && $mh tar -xf a.tar -C x --hands {hands}"
        ));
        assert_eq!((ran.exit, said(&ran).as_str()), (Exit::Code(0), ""), "{hands} hands");
        assert_eq!(walked(&place, "x/src").as_deref(), Some("3000 6 0\n"), "{hands} hands");
        succeeds(&place, "ulimit -n 256; $mh rm -rf x");
    }
    succeeds(&place, "$mh rm -rf src");
}

/// LIMIT: `docs/journal/0009-trees.md` has five times as many; disks take minutes to remove those.
#[test]
fn a_name_of_20000_directories_takes_no_more_memory_than_it_is_long() {
    let place = Place::new();
    let program = "import tarfile\nt = tarfile.open('a.tar', 'w', format=tarfile.PAX_FORMAT)\nfor end in ('x', 'y', 'd/d/z'):\n m = tarfile.TarInfo('d/' * 20000 + end); t.addfile(m)\nt.close()";
    if python(&place, program).is_none() {
        return;
    }
    let Some(peak) = peak_kib(&place, "tar -xf a.tar --hands 64") else { return };
    assert!(peak <= PEAK_KIB, "{peak} KiB with 64 hands");
    let found = "import os\nn = 0\nwhile os.path.isdir('d'):\n os.chdir('d'); n += 1\n if os.path.exists('x'): print(n, os.path.exists('y'))\nprint(n, os.path.exists('z'))";
    assert_eq!(python(&place, found).as_deref(), Some("20000 True\n20002 True\n"), "64 hands");
    succeeds(&place, "$mh rm -r d");
}

/// LIMIT: a part of what must be survived; `docs/journal/0009-trees.md` has the rest.
const CROWD: u32 = 10_000;

#[test]
fn a_crowd_of_files_in_one_directory_is_archived_copied_and_removed() {
    let place = Place::new();
    let made = format!(
        "import os\nos.mkdir('src')\nfor i in range({CROWD}):\n with open('src/%06d' % (i * 7919 % {CROWD}), 'w') as f:\n  if i % 10 == 0: f.write(str(i))"
    );
    if python(&place, &made).is_none() {
        return;
    }
    for hands in widths_of_the_large() {
        succeeds(&place, "mkdir x");
        for arguments in ["tar -cf a.tar src", "tar -xf a.tar -C x", "cp -a src copy"] {
            let option = if arguments.starts_with("tar") { "--hands" } else { "-j" };
            let Some(peak) = peak_kib(&place, &format!("{arguments} {option} {hands}")) else { return };
            assert!(peak <= PEAK_KIB, "{arguments}: {peak} KiB with {hands} hands");
        }
        succeeds(&place, "diff -r src copy && diff -r copy x/src && rm -f a.tar");
        for removed in ["copy", "x"] {
            let Some(peak) = peak_kib(&place, &format!("rm -rf {removed} -j {hands}")) else { return };
            assert!(peak <= PEAK_KIB && !place.has(removed), "{peak} KiB with {hands} hands");
        }
    }
    // Small files without end, and descriptors for a few of them.
    let ran = place.shell("ulimit -n 256; $mh tar -cf a.tar src --hands 64 && mkdir x && $mh tar -xf a.tar -C x --hands 64 && diff -r src x/src");
    assert_eq!((ran.exit, said(&ran).as_str()), (Exit::Code(0), ""));
}

#[test]
fn names_of_one_file_stay_names_of_one_file_whatever_their_number() {
    let place = Place::new();
    // LIMIT: ext4 gives a file 65,000 names at most.
    let made = "import os\nos.makedirs('src/one'); open('src/one/first', 'w').write('same')\nfor i in range(20000): os.link('src/one/first', 'src/one/%05d' % i)\nfor d in range(100):\n for side in 'ab': os.makedirs('src/%s%03d' % (side, d))\nfor d in range(100):\n for i in range(20):\n  open('src/a%03d/%d' % (d, i), 'w').write('%d %d' % (d, i)); os.link('src/a%03d/%d' % (d, i), 'src/b%03d/%d' % (99 - d, i))";
    // How many files there are, how many names each has, and whether they are those that belong together.
    let counted = |name: &str| {
        format!(
            "import os, collections\nn = collections.Counter()\nfor at, _, names in os.walk('{name}'):\n for i in names: n[os.stat(os.path.join(at, i)).st_ino] += 1\nprint(len(n), sorted(collections.Counter(n.values()).items()), all(os.path.samefile('{name}/a%03d/%d' % (d, i), '{name}/b%03d/%d' % (99 - d, i)) for d in range(100) for i in range(20)))"
        )
    };
    if python(&place, made).is_none() {
        return;
    }
    let expected = python(&place, &counted("src"));
    assert_eq!(expected.as_deref(), Some("2001 [(2, 2000), (20001, 1)] True\n"));
    for hands in widths_of_the_large() {
        succeeds(&place, "mkdir x");
        for arguments in ["tar -cf a.tar src", "tar -xf a.tar -C x", "tar --zstd -cf b.tar src", "cp -a src copy"] {
            let option = if arguments.starts_with("tar") { "--hands" } else { "-j" };
            let Some(peak) = peak_kib(&place, &format!("{arguments} {option} {hands}")) else { return };
            assert!(peak <= PEAK_KIB, "{arguments}: {peak} KiB with {hands} hands");
        }
        for name in ["x/src", "copy"] {
            assert_eq!(python(&place, &counted(name)), expected, "{name} with {hands} hands");
        }
        // What GNU tar makes of the archive, and lists of it, is the same.
        succeeds(
            &place,
            "test -d gnu || { tar --sort=name -cf g.tar src && tar tf g.tar > g.list && mkdir gnu; }; tar tf a.tar | cmp - g.list && rm -rf gnu/src && tar xf a.tar -C gnu",
        );
        assert_eq!(python(&place, &counted("gnu/src")), expected, "by GNU tar, of an archive by {hands} hands");
        succeeds(&place, "diff -r src copy && diff -r src x/src && rm -rf x && mkdir x && $mh tar -xf b.tar -C x");
        assert_eq!(python(&place, &counted("x/src")), expected, "out of a packed archive");
        succeeds(&place, "$mh rm -r x copy");
    }
}
