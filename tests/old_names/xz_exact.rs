//! xz to the letter: filter chains, raw streams, blocks, memory limits, lists and messages. The same command line in twin
//! directories must print the same on both streams and end with the same code; what is compressed must decode to the same.

use super::{Family, files_in, preview, run_line};
use crate::place::{Place, said};
use std::collections::BTreeMap;
use testkit::data;
use testkit::program::{Exit, TestProgram};

/// Files of every kind, made by the real tool, to stand beside those of the family.
fn made() -> BTreeMap<String, Vec<u8>> {
    let place = Place::new();
    let packed = TestProgram::find("xz").expect("it was there").run(["-c"], &data::text(9_000, 1)).expect("xz starts");
    place.write("c", data::mixed(700_000, 11)).write("none.xz", b"").write("tiny.xz", &b"\xfd7zXZ\0"[..]);
    place.write("a.xz", packed.stdout_of_success());
    let ran = place.shell(
        "xz -kc -T2 --block-size=200KiB -1 c > many.xz
         xz -kc -T1 --x86=start=4096 --delta=dist=4 --lzma2=preset=0 c > chain.xz
         (xz -c -Cnone -1 c; head -c 8 /dev/zero; xz -Ccrc32 -c < none.xz; xz -Csha256 -c a.xz) > streams.xz
         (cat many.xz; echo hi) > hi.xz; (cat many.xz; echo much more than a header) > more.xz
         head -c 90000 many.xz > cut.xz; xz -kc -F lzma -1 c > c.lzma; (cat c.lzma; echo hi) > hi.lzma
         printf 'many.xz\\n\\nchain.xz\\n' > list; printf 'many.xz\\0chain.xz\\0' > list0; printf many.xz > unended",
    );
    assert!(said(&ran).is_empty(), "{}", said(&ran));
    files_in(place.directory())
}

/// Runs all lines both ways and compares everything to the letter; compressed outputs by what they decode to.
fn compare(lines: &[&str]) {
    let Some(family) = Family::new("xz", "xz") else { return };
    let mut differences = String::new();
    let made = made();
    for line in lines {
        let (theirs, ours) = (family.directory(), family.directory());
        for (name, bytes) in &made {
            theirs.write(name, bytes);
            ours.write(name, bytes);
        }
        let real = run_line(&theirs, line, None);
        let linked = run_line(&ours, line, Some(family.links.path()));
        let mut differs = |what: &str, real: &str, ours: &str| {
            differences.push_str(&format!("{line}\n  {what}: {real}\n  ours: {ours}\n"));
        };
        if real.exit != linked.exit || said(&real) != said(&linked) {
            differs(
                "says",
                &format!("{:?} {}", real.exit, said(&real)),
                &format!("{:?} {}", linked.exit, said(&linked)),
            );
        }
        if real.stdout != linked.stdout && family.unpacked(&real.stdout) != family.unpacked(&linked.stdout) {
            differs("output", &preview(&real.stdout), &preview(&linked.stdout));
        }
        let (real_files, our_files) = (files_in(theirs.directory()), files_in(ours.directory()));
        if real_files.keys().ne(our_files.keys()) {
            differs("files", &format!("{:?}", real_files.keys()), &format!("{:?}", our_files.keys()));
            continue;
        }
        for (name, real) in real_files {
            if real != our_files[&name] && family.unpacked(&real) != family.unpacked(&our_files[&name]) {
                differs("contents of", &name, "others");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Filters that the real tool has; RISC-V came later.
const FILTERS: [&str; 9] =
    ["--x86", "--powerpc", "--ia64", "--arm", "--armthumb", "--arm64", "--sparc", "--delta", "--delta=dist=256"];

#[test]
fn chains_are_read_both_ways() {
    let Some(family) = Family::new("xz", "xz") else { return };
    let place = Place::new();
    place.write("c", data::mixed(700_000, 11));
    let script = |chain: &str| {
        format!(
            "set -e; ours={}/xz
             $ours -kc --block-size=100KiB {chain} c | xz -dc | cmp - c
             xz -kc {chain} c | $ours -dc | cmp - c
             xz -kc -T2 --block-size=100KiB {chain} c > real.xz; $ours -t real.xz; $ours -dc real.xz | cmp - c
             $ours -kc -F raw {chain} c | xz -dc -F raw {chain} | cmp - c
             xz -kc -F raw {chain} c | $ours -dc -F raw {chain} | cmp - c",
            family.links.path().display()
        )
    };
    let starts = FILTERS[..7].iter().map(|filter| format!("{filter}=start=4096 --lzma2=dict=64KiB"));
    let plain = FILTERS.iter().map(|filter| format!("{filter} --lzma2=preset=1"));
    let others = [
        "--lzma2=dict=4KiB,lc=0,lp=4,pb=0,mode=fast,nice=2,mf=hc3,depth=1",
        "--lzma2=preset=9e,dict=1MiB,mf=bt3",
        "--lzma2=mf=bt2,nice=273",
        "--x86 --delta=dist=2 --arm=start=8 --lzma2=preset=0",
    ];
    for chain in plain.chain(starts).chain(others.map(str::to_owned)) {
        let ran = place.shell(&script(&chain));
        assert!(ran.exit == Exit::Code(0), "{chain}: {}", said(&ran));
    }
    // The real tool may be too old for these: a string is the same chain, and RISC-V comes back.
    let ran = place.shell(&format!(
        "set -e; ours={}/xz
         $ours -kc --x86 --delta=dist=4 --lzma2=dict=1MiB,lc=1 c > options.xz
         $ours -kc --filters='x86 delta:dist=4 lzma2:dict=1MiB,lc=1' c | cmp - options.xz
         $ours -kc --filters=--x86--delta=dist=4--lzma2=dict=1MiB,lc=1 c | cmp - options.xz
         $ours -kc --riscv=start=2 --lzma2=preset=1 c > riscv.xz; $ours -dc riscv.xz | cmp - c
         $ours -lvv riscv.xz | grep -q -- '--riscv=start=2 --lzma2=dict=1MiB'
         $ours -lvv riscv.xz | grep -q 'version: 5.6.0'
         $ours -kc --filters1=x86--lzma2=preset=0 --filters2='delta lzma2:preset=1' --block-list=1:100KiB,2:,50KiB,0 c \\
             > listed.xz && exit 9
         $ours -kc --filters1=x86--lzma2=preset=0 --filters2='delta lzma2:preset=1' --block-list=1:100KiB,2:50KiB,,70KiB,0 c > listed.xz
         xz -dc listed.xz | cmp - c; xz --robot -lvv listed.xz | grep ^block | cut -f 8,16",
        family.links.path().display()
    ));
    assert!(ran.exit == Exit::Code(0), "{}", said(&ran));
    let listed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let blocks: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once('\t')).collect();
    let sizes: Vec<&str> = blocks.iter().map(|(size, _)| *size).collect();
    assert_eq!(sizes, ["102400", "51200", "51200", "71680", "423520"], "{listed}");
    assert!(blocks[0].1.starts_with("--x86") && blocks[1].1.starts_with("--delta"), "{listed}");
    assert!(blocks[2].1.starts_with("--delta") && blocks[3].1.starts_with("--lzma2"), "{listed}");
}

#[test]
fn filters_and_raw_streams_are_taken_and_refused_alike() {
    compare(&[
        "xz --lzma2=dict=1 -kc c",
        "xz --lzma2=foo=1 -kc c",
        "xz --lzma2=foo -kc c",
        "xz --lzma2=lc=4,lp=4 -kc c",
        "xz --lzma2=mode=x -kc c",
        "xz --lzma2=preset=x -kc c",
        "xz --lzma2=dict=1x -kc c",
        "xz --lzma2=dict=x -kc c",
        "xz --delta=dist=300 -kc c",
        "xz --delta -kc c",
        "xz --lzma2 --lzma2 -kc c",
        "xz --lzma1 -kc c",
        "xz -F lzma --lzma2 -kc c",
        "xz --x86 --x86 --x86 --x86 --lzma2 -kc c",
        "xz -F lzma --lzma1=dict=64KiB,lc=1,lp=1,pb=0 c; head -c 5 c.lzma | od -c",
        "xz -F raw c",
        "xz -F raw -S .r -1 c",
        "xz -F raw -S .r --lzma1=dict=1MiB c && xz -dF raw -S .r --lzma1=dict=1MiB c.r",
        "xz -F raw -S .r --lzma1=dict=1MiB -k c && xz -dF raw --lzma1=dict=1MiB -S .x c.r",
        "xz -F raw -dc none.xz",
        "xz -F raw -dc c.lzma",
        "xz -F raw -t --lzma1 c",
        "(xz -c -F raw --lzma1 a; echo hi) | xz -dc -F raw --lzma1",
        "(xz -c -F raw --lzma1 a; echo hi) | xz -dc --single-stream -F raw --lzma1",
        "xz -c -F raw --lzma2 c | head -c 9000 | xz -dc -F raw --lzma2 > /dev/null",
        "xz -dc --single-stream hi.xz more.xz hi.lzma",
        "xz -dc --ignore-check many.xz",
        "xz -kc -Cnone c > n.xz; xz -t n.xz; xz -l n.xz | cut -c 48-55",
    ]);
}

#[test]
fn blocks_have_the_sizes_asked_for() {
    compare(&[
        "xz --block-list=0,1 -kc c",
        "xz --block-list= -kc c",
        "xz --block-list=,1 -kc c",
        "xz --block-list=x -kc c",
        "xz --block-size=x -kc c",
        "xz --block-size=-1 -kc c",
        "xz --block-size=10000000000000000000 -kc c",
        "xz --block-size=1MiB,2 -kc c",
        "xz --flush-timeout=x -kc c",
        "xz --flush-timeout=20 -F lzma -kc c",
        "xz --flush-timeout=20 -F raw --lzma1=preset=1 -kc c",
        "xz -kc -T1 --block-size=300 c > o; xz -lv o | wc; xz --robot -lv o | grep ^block | cut -f 2-4,6,8 | cksum",
        "xz -kc -T2 --block-size=200KiB c > o; xz --robot -lv o | grep ^block | cut -f 2-4,6,8",
        "xz -kc -T2 --block-list=300KiB,100KiB,,50KiB c > o; xz --robot -lv o | grep ^block | cut -f 2-4,6,8",
        "xz -kc -T2 --block-list=300KiB,50KiB,0 --block-size=200KiB c > o; xz --robot -lv o | grep ^block | cut -f 2-4,6,8",
        "xz -kc -T1 --block-size=1GiB --block-list=300KiB,50KiB,0 -1 c > o; xz --robot -lv o | grep ^block | cut -f 2-",
        "xz -c --block-list=9 < none.xz | xz -dc",
        "(cat c; echo behind) | xz -c --block-size=250KiB --block-list=300KiB,1 -0 | xz -dc | tail -n 1",
        "(printf one; n=0; while [ ! -s o ] && [ $n -lt 3000 ]; do sleep 0.01; n=$((n+1)); done; printf two) \
         | xz --flush-timeout=20 > o; [ -s o ] && xz -dc o",
    ]);
}

#[test]
fn a_pause_ends_a_block() {
    let Some(family) = Family::new("xz", "xz") else { return };
    let place = family.directory();
    let ran = run_line(
        &place,
        "(printf one; n=0; while [ ! -s o ] && [ $n -lt 3000 ]; do sleep 0.01; n=$((n+1)); done; printf two) \
         | xz --flush-timeout=20 > o; xz --robot -l o | grep ^file | cut -f 3,5",
        Some(family.links.path()),
    );
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\t6\n", "{}", said(&ran));
}

/// Blocks written in order, and raw streams, hold back less than is needed to decode what came; a whole segment came here.
#[test]
fn a_pause_ends_what_is_written_in_order() {
    let Some(family) = Family::new("xz", "xz") else { return };
    let place = family.directory();
    for (line, expected) in [
        ("--block-size=1GiB|xz -dc o|xz --robot -l o | grep ^file | cut -f 3,5", "2\t65539\n"),
        (
            "-F raw --lzma2=preset=1|xz -dc -F raw --lzma2=preset=1 o|xz -dc -F raw --lzma2=preset=1 o | wc -c",
            "65539\n",
        ),
    ] {
        let [options, decodes, shows] = line.splitn(3, '|').collect::<Vec<_>>()[..] else { panic!("three parts") };
        let line = format!(
            "(dd if=/dev/zero bs=65536 count=1 2>&-; n=0
              while [ $({decodes} 2>&- | wc -c) -lt 65536 ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done
              [ $n -lt 600 ] && printf two) | xz --flush-timeout=20 {options} > o; {shows}"
        );
        let ran = run_line(&place, &line, Some(family.links.path()));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{line}: {}", said(&ran));
    }
}

/// The chain of the preset is not in use where all blocks have their own.
#[test]
fn chains_that_no_block_has_need_no_memory() {
    let Some(family) = Family::new("xz", "xz") else { return };
    let line = "xz -9 -M 100MiB --filters1=lzma2:dict=1MiB --block-list=1:0 -kc a | xz -dc | cmp - a && echo same";
    let ran = run_line(&family.directory(), line, Some(family.links.path()));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "same\n", "{}", said(&ran));
}

#[test]
fn memory_limits_lower_settings_or_refuse() {
    compare(&[
        "xz -M x a",
        "xz -M 101% a",
        "xz -M 1Q a",
        "xz -M 0 -kc a",
        "xz -M max -kc a",
        "xz -T -1 -kc a",
        "xz -T 99999 -kc a",
        "xz -kc -T1 -M 10MiB a",
        "xz -kc -T1 -M 10MiB --no-adjust a",
        "xz -kc -T1 -M 60MiB a",
        "xz -kcq -T1 -M 60MiB a",
        "xz -kc -T2 -M 60MiB a",
        "xz -kc -T2 --memlimit-compress=30MiB c",
        "xz -kc -T2 -M 10MiB a",
        "xz -kc -T2 -M 10MiB --no-adjust a",
        "xz -kc -T2 --memlimit-decompress=1MiB a",
        "xz -kc -F lzma -M 10MiB a",
        "xz -kc -F lzma -M 50MiB a b",
        "xz -kc -F raw --lzma2=preset=6 -M 10MiB a",
        "xz -c -F raw --lzma1 a | xz -dc -F raw --lzma1 -M 1MiB",
        "xz -dc -M 1MiB c.lzma",
        "xz -dc -M 3MiB c.lzma",
        "xz -dc -M 1MiB many.xz 2>&1 | head -n 1",
        "xz -t --memlimit-decompress=2MiB many.xz chain.xz",
        "xz -t --memlimit-mt-decompress=1 many.xz",
        "xz --robot --info-memory --memlimit-compress=1GiB --memlimit-decompress=7 | cut -f 1-3,6",
        "xz --robot --memlimit-compress=1GiB --memlimit-decompress=7 --info-memory | cut -f 1-4,6",
        "xz --memlimit-compress=1GiB --info-memory | head -n 7",
        "xz -M 10% --info-memory | cut -c 1-34",
        "xz -vvkc -T1 a 2>&1 > /dev/null | head -n 3",
        "xz -vvkc -T1 --x86 --lzma2=dict=1MiB,nice=9,mf=hc4,mode=fast a 2>&1 > /dev/null | head -n 3",
    ]);
}

#[test]
fn lists_are_those_of_xz() {
    compare(&[
        "xz -l many.xz",
        "xz -l many.xz chain.xz streams.xz",
        "xz -lv many.xz chain.xz streams.xz",
        "xz -lvv many.xz chain.xz streams.xz",
        "xz --robot -l many.xz chain.xz streams.xz",
        "xz --robot -lv many.xz chain.xz streams.xz",
        "xz --robot -lvv many.xz chain.xz streams.xz",
        "xz -lv nosuch many.xz none.xz 2> /dev/null",
        "xz -l",
        "xz -l -",
        "xz -lv - many.xz 2> /dev/null",
        "xz -l c.lzma",
        "xz -lF lzma c.lzma",
        "xz -l nosuch",
        "xz -l .",
        "xz -lq .",
        "xz -Ql .",
        "xz -l c",
        "xz -l none.xz",
        "xz -l tiny.xz",
        "xz -l cut.xz",
        "xz -l hi.xz",
        "xz -l more.xz",
        "mkfifo fifo; xz -l fifo",
        "xz -l bad.xz && xz -l short.xz",
        "ln -s many.xz link.xz; ln many.xz other.xz; xz -l link.xz other.xz",
        "xz --robot -l",
        "xz --robot -l nosuch",
        "xz --robot -kc c",
        "xz --robot -t many.xz",
        "xz -l --files=list",
        "xz -lv --files=list",
        "xz -lv --files0=list0 streams.xz",
        "xz -l --files=list0",
        "xz -l --files=unended",
        "xz -t --files0=list",
        "xz -t --files=unended",
        "xz -t --files < list",
        "xz -t --files < list -",
        "xz -kd --files0 < list0",
        "xz --files=nosuch",
        "xz --files=none.xz --files=none.xz",
        "xz -l --files=/dev/null",
        "xz --robot -l --files=/dev/null",
        "xz ''",
        "xz -t '' many.xz",
    ]);
}

#[test]
fn messages_are_those_of_xz() {
    compare(&[
        "xz --foo",
        "xz -x",
        "xz --format",
        "xz --stdout=1 a",
        "xz --s a",
        "xz -F foo a",
        "xz -F lzip -c a",
        "xz -C foo a",
        "xz -S '' a",
        "xz -S /x a",
        "xz nosuch",
        "xz -d nosuch.xz",
        "xz dir",
        "mkfifo fifo; xz fifo",
        "xz a",
        "xz -q a",
        "xz -qq a",
        "xz -k b && xz -k b",
        "xz a.xz",
        "xz -Q a.xz",
        "xz sym",
        "xz h1",
        "chmod u+s c; xz c",
        "chmod g+s c; xz c",
        "chmod +t c; xz c",
        "xz -d c",
        "xz -dc c",
        "xz -d odd.name",
        "xz -t short.xz",
        "xz -t bad.xz",
        "xz -t hi.xz",
        "xz -t more.xz",
        "xz -t hi.lzma",
        "xz -t tiny.xz",
        "xz -t none.xz",
        "head -c 30 c.lzma | xz -dc",
        "head -c 300 c.lzma > d.lzma; xz -t d.lzma",
        "xz -dc < none.xz",
        "xz -kc a > /dev/full",
        "xz -dc < a.xz > /dev/full",
        "xz -dc many.xz chain.xz > /dev/full",
        "xz -c < /proc/self/mem > /dev/null",
        "xz -tv many.xz",
        "xz -tv many.xz chain.xz 2>&1 | sort",
        "xz -dv many.xz",
        "xzcat many.xz | cmp - c",
        "xzcat nosuch many.xz 2>&1 > /dev/null",
        "unlzma -k c.lzma",
        "lzcat c.lzma | cmp - c",
        "lzma -t many.xz",
        "unxz c.lzma.xz",
        "(printf '\\375\\067zXZ\\0\\001\\004'; head -c 30 many.xz | tail -c 22) | xz -dc",
        "XZ_OPT=--lzma2=dict=x xz a",
        "XZ_DEFAULTS=-M10MiB xz -kc -T1 a",
    ]);
}

/// Configure scripts search these lines.
#[test]
fn versions_are_found_where_scripts_look() {
    let Some(family) = Family::new("xz", "xz") else { return };
    let place = family.directory();
    for line in [
        "xz --version | grep -q '^xz (XZ Utils) 5\\.'",
        "xz -V | head -n 1 | awk '{print $4}' | grep -qx '[0-9]*\\.[0-9]*\\.[0-9]*'",
        "xz -V | sed -n 's/^liblzma //p' | grep -q '^5\\.'",
        "lzma --version | grep -q 'XZ Utils'",
        "xz --version | grep -q manyhands",
        "eval \"$(xz --robot --version)\"; [ $XZ_VERSION -ge 50040000 ] && [ $LIBLZMA_VERSION -ge 50040000 ]",
        "xz --help | grep -q -- --block-list",
        "xz --filters-help | grep -q '^lzma2:preset=<0-9\\[e\\]>,dict=<4KiB-1536MiB>'",
    ] {
        let ran = run_line(&place, line, Some(family.links.path()));
        assert!(ran.exit == Exit::Code(0), "{line}: {}", said(&ran));
    }
}
