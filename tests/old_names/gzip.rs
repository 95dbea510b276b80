//! gzip, gunzip, zcat, pigz, unpigz.

use super::{Case, Family, add_others, ends, says};
use crate::place::{Place, said};
use std::time::{Duration, UNIX_EPOCH};
use testkit::program::{Exit, TestProgram, left_out};

const GZIP: &[Case] = &[
    says("gzip b"),
    says("gzip a"),
    says("gzip -f a"),
    says("gzip -k b"),
    says("gzip -k sym"),
    ends("gzip -c sym"),
    says("gzip -f sym"),
    says("gzip h1"),
    says("gzip -k h1"),
    says("gzip b nosuch"),
    says("gzip nosuch dir h1"),
    says("gzip a.gz"),
    says("gzip -f a.gz"),
    says("gzip dir"),
    says("gzip -r dir"),
    says("gzip -S .foo b"),
    says("gzip -o x b"),
    says("gzip --foo b"),
    says("gzip --ver"),
    says("gzip -S"),
    says("gzip --suffix"),
    says("gzip -b"),
    says("gzip -Z b"),
    says("gzip -10 -c b"),
    says("gzip -- -x"),
    says("gzip --fast -k b"),
    says("gzip -9k b"),
    says("gzip --rsyncable --synchronous -kn b"),
    says("gzip -t lone.gz odd.name"),
    says("gzip -tv odd.name"),
    says("gzip -kc b a | gzip -dc"),
    says("gzip < b | gunzip"),
    says("gzip --de -c a.gz"),
    says("gzip -1dk lone.gz"),
    says("gzip -dc a.gz nosuch"),
    says("GZIP=-9 gzip -d lone.gz 2>&1 | grep -v deprecated"),
    says("gunzip lone.gz"),
    says("gunzip lone"),
    says("gunzip a"),
    says("gunzip a.gz"),
    says("gunzip -f a.gz"),
    says("gunzip -k lone.gz"),
    says("gunzip nosuch"),
    says("gunzip odd.name"),
    says("gunzip -S .name odd.name"),
    says("gunzip trailed.gz"),
    says("gunzip short.gz"),
    ends("gunzip bad.gz"),
    says("gzip -c plain.gz"),
    says("gunzip plain.gz"),
    says("gunzip -f plain.gz"),
    says("gunzip -t plain.gz"),
    says("gunzip -cf plain.gz"),
    says("gunzip -c empty"),
    says("gzip -cdf empty"),
    says("zcat -f a a.gz"),
    says("zcat a"),
    says("zcat lone"),
    says("zcat a.gz lone.gz"),
    ends("gzip -l lone.gz | wc -l"),
    says("ln -s lone.gz link.gz; gzip -t link.gz"),
    ends("ln -s lone.gz link.gz; gzip -l link.gz"),
    says("ln lone.gz other.gz; gzip -t other.gz && gzip -k other.gz"),
    says("mv lone.gz lone.GZ; gzip -k lone.GZ; gunzip lone.GZ"),
    says("mv lone.gz lone.tGz; gunzip lone.tGz"),
    ends("gzip -l trailed.gz"),
    says("mkfifo b.gz; gzip -k b"),
    says("(echo a | gzip; echo plain) | gzip -cdf"),
    says("(echo a | gzip; echo plain) > m.gz; gzip -cdf m.gz; zcat -f m.gz; gzip -cd m.gz; gzip -d m.gz"),
    says(r"(echo a | gzip; echo plain; printf '\037\213\010') > m.gz; gzip -cdf m.gz; zcat -f < m.gz; rm m.gz"),
    says("(echo a | gzip; head -c 700 /dev/zero) | gzip -cdf"),
    says("(echo a | gzip; head -c 700 /dev/zero) | gzip -cd"),
    says("(echo a | gzip; printf x) | gzip -cdf"),
    says(r"(echo a | gzip; printf '\037') | gzip -cdf"),
    says(r#"(echo a | gzip; printf '\037\235\220\141\304\214\001') > z.gz; gzip -cd z.gz; gzip -d z.gz; cat z"#),
    ends(r#"printf '\037\235\251\141\304\214\001' > f.Z; gzip -dc f.Z"#),
    says(r#"printf '\037\235\251\141\304\214\001' > f.Z; gzip -d f.Z"#),
    ends(r#"printf '\037\235\221\141\304\214\001' > f.Z; gzip -dc f.Z"#),
    says("gzip -c /sys/class/net/lo/mtu | gzip -cd"),
    says("gzip -S z b; gzip -d -S z b"),
    says("gzip -c b > bz; rm b; gzip -dk -S z b; gzip -dk -S .no bz; rm b; gzip -d -S .no b"),
    says("gzip -c a > lonez; gzip -dk -S z lone; gzip -dkf -S z lone.gz"),
    says(
        "for o in -d -c -t -k -S.x -r -f -h -V -L -a -m -M -b9 --stdout --dec --keep --synchronous; do GZIP=$o gzip b; done",
    ),
    says("GZIP='-- x' gzip b; GZIP=-vd gzip b; GZIP=--help gzip b; GZIP=--suf=.x gzip b"),
    says(
        "for o in -1 -n -N -q --fast --best --rsyncable --no-name --name --quiet; do GZIP=$o gzip -k b 2>&1 | grep -v deprecated; mv b.gz b$o.gz; done",
    ),
    says(
        "for t in -1 0 4294967296; do touch -d @$t b; gzip -k b; gzip -kfq a b; gzip -knf b; gzip -c < b | gzip -cd | head -c 9; gzip -cm < b | gzip -cd | head -c 9; done",
    ),
    says("touch -d @4294967295 b; gzip b; touch -d @-1 a; gzip a"),
];

const PIGZ: &[Case] = &[
    says("pigz a"),
    says("pigz b"),
    says("PIGZ=b pigz a"),
    says("pigz -f a"),
    says("pigz -k b"),
    says("pigz sym"),
    says("pigz h1"),
    says("pigz a.gz"),
    says("pigz -c plain.gz"),
    says("pigz -cf plain.gz"),
    says("pigz dir"),
    says("pigz -r dir"),
    says("pigz nosuch"),
    says("pigz -p 2 -b 256 -k b"),
    says("pigz -p2 -b256 -k b"),
    says("pigz -p2b256 -k b"),
    says("pigz -p foo b"),
    says("pigz -p"),
    says("pigz --foo b"),
    says("pigz -y b"),
    says("pigz -i -R -m -M -T -k b"),
    says("pigz -H -U -F -O -J3 -k b"),
    says("pigz -C hello -A name -k b"),
    says("pigz -11 -k b"),
    says("pigz -0 -k b"),
    says("pigz -S .foo b"),
    says("pigz -vk b"),
    says("pigz -vd lone.gz"),
    says("pigz -q a"),
    says("pigz < b"),
    says("pigz -d lone"),
    says("pigz -d odd.name"),
    says("pigz -d nosuch"),
    says("pigz -d trailed.gz"),
    says("pigz -d short.gz"),
    says("pigz -dc plain.gz"),
    says("pigz -dcf plain.gz"),
    says("pigz -dc empty"),
    says("unpigz lone.gz"),
    says("unpigz -k lone.gz"),
    says("unpigz -f a.gz"),
    says("unpigz a.gz"),
    says("ln -s lone.gz link.gz; pigz -t link.gz"),
    says("ln lone.gz other.gz; pigz -t other.gz"),
    says("(echo a | pigz; echo plain) | pigz -cdf"),
    says("(echo a | pigz; echo plain) > m.gz; pigz -cdf m.gz; pigz -cd m.gz"),
    says("(echo a | pigz; head -c 700 /dev/zero) | pigz -cdf"),
    says("pigz -c /sys/class/net/lo/mtu | pigz -cd"),
    says("pigz -z b; pigz -dc b.zz | cksum"),
    says("pigz -zk b; pigz -z b.zz; pigz -t b.zz; pigz -d b.zz; pigz -dk b"),
    says("pigz -kK b; pigz -K b.zip; pigz -dc b.zip | cksum; rm b; pigz -d b.zip; cksum b"),
    says("pigz -z < b | pigz -dc | cmp - b; pigz -K < b | pigz -dc | cmp - b"),
    says("pigz -zc b | head -c 300 | pigz -dc > out; rm out"),
    says("pigz -z11 -k b; pigz -z0 -kf b; pigz -t b.zz"),
    says("pigz -z empty; pigz -K a; pigz -t empty.zz a.zip"),
    says("pigz -S z -k b; pigz -d -S z b; rm b; pigz -d -S z b"),
    says("touch -d @-1 b; pigz b"),
    says("GZIP=-k pigz b"),
    says(
        r"(pigz -c b; echo junk; printf '\037\213\010\0\0\0\0\0\0\003\113\342\002\0\304\362\307\366\002\0\0\0') > m.gz; pigz -cd m.gz | wc -c",
    ),
];

#[test]
fn gzip_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("gzip", "gz") {
        family.compare(GZIP);
    }
}

#[test]
fn pigz_does_and_says_the_same() {
    if let Some(family) = Family::new("pigz", "gz") {
        family.compare(PIGZ);
    }
}

const PIGZ_ARCHIVES: &[Case] = &[
    says("pigz -d two.zip"),
    says("unpigz piped.zip"),
    says("pigz -d one.zip two.zip"),
    says("pigz -dk two.zip"),
    says("pigz -dc two.zip"),
    says("pigz -dcf two.zip"),
    says("pigz -dq two.zip"),
    says("pigz -d < two.zip"),
    says("pigz -t two.zip piped.zip one.zip"),
    says("(cat two.zip; echo junk) > t.zip; pigz -d t.zip"),
    says("(cat one.zip; echo junk) > t.zip; pigz -d t.zip"),
    says("head -c 80 one.zip > t.zip; pigz -d t.zip"),
];

/// Archives by Python: of two entries, the same as it writes into a pipe, and of one.
fn add_archives(place: &Place) {
    let python = TestProgram::find("python3").expect("looked for before");
    let made = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1] if sys.argv[1] != '-' else sys.stdout.buffer, 'w') as archive:\n\
        \x20   for name in sys.argv[2:]:\n\
        \x20       archive.writestr(zipfile.ZipInfo(name), name * 9, zipfile.ZIP_DEFLATED)\n";
    let python = python.in_directory(place.directory());
    for (archive, names) in [("two.zip", &["first", "second"][..]), ("one.zip", &["alone"])] {
        let outcome = python.run([&["-c", made, archive], names].concat(), b"").expect("it starts");
        outcome.stdout_of_success();
    }
    let piped = python.run(["-c", made, "-", "empty", "second"], b"").expect("it starts").stdout_of_success();
    place.write("piped.zip", piped);
}

#[test]
fn pigz_keeps_an_archive_of_several_entries() {
    if TestProgram::find("python3").is_none() {
        return left_out("python3 is not installed");
    }
    if let Some(family) = Family::new("pigz", "gz") {
        family.compare_with(PIGZ_ARCHIVES, add_archives);
    }
}

const OTHERS: &[Case] = &[
    says("mkfifo dir/fifo; gzip -r dir"),
    says("mkfifo dir/fifo; gzip -rq dir"),
    says("mkfifo dir/fifo; gzip -rk dir"),
    says("mkfifo dir/fifo; gzip -r dir/fifo dir/sym dir/socket"),
    says("mkfifo dir/fifo; gzip -dr dir"),
    says("gzip dir/socket dir/dangling"),
];

const OTHERS_OF_PIGZ: &[Case] = &[says("pigz -r dir"), says("pigz -rk dir")];

#[test]
fn others_in_directories_are_reported() {
    if let Some(family) = Family::new("gzip", "gz") {
        family.compare_with(OTHERS, add_others);
    }
    if let Some(family) = Family::new("pigz", "gz") {
        family.compare_with(OTHERS_OF_PIGZ, add_others);
    }
}

#[test]
fn name_and_time_go_both_ways_between_gzip_and_us() {
    let Some(gzip) = TestProgram::find("gzip") else { return left_out("gzip is not installed") };
    let place = Place::new();
    let program = |name: &str| TestProgram::at(place.path("bin").join(name)).in_directory(place.directory());
    TestProgram::at(crate::place::binary())
        .in_directory(place.directory())
        .run(["links", "bin"], b"")
        .expect("it starts");
    let then = UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    let time = |name: &str| std::fs::metadata(place.path(name)).and_then(|found| found.modified()).expect("a time");
    for (packs, unpacks, name) in [(program("gzip"), gzip.clone(), "one"), (gzip, program("gunzip"), "two")] {
        place.write(name, b"data");
        let file = std::fs::File::options().write(true).open(place.path(name)).expect("it is there");
        file.set_modified(then).expect("ours");
        let unpacks = unpacks.in_directory(place.directory());
        packs.in_directory(place.directory()).run([name], b"").expect("it starts").stdout_of_success();
        let (packed, other) = (place.path(format!("{name}.gz")), place.path("other.gz"));
        std::fs::rename(&packed, &other).expect("ours");
        std::fs::File::options().write(true).open(&other).and_then(|file| file.set_modified(UNIX_EPOCH)).expect("ours");
        unpacks.run(["-dN", "other.gz"], b"").expect("it starts").stdout_of_success();
        assert_eq!(place.read(name), b"data", "{name}");
        assert_eq!(time(name), then, "{name}");
    }
}

#[test]
fn a_name_inside_a_file_never_leads_out_of_its_directory() {
    let place = Place::new();
    TestProgram::at(crate::place::binary())
        .in_directory(place.directory())
        .run(["links", "bin"], b"")
        .expect("it starts");
    let gunzip = TestProgram::at(place.path("bin/gunzip")).in_directory(place.directory());
    // A stored block of one byte, named ../../evil.
    let mut packed = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0xff];
    packed.extend(b"../../evil\0");
    packed.extend([1, 1, 0, 0xfe, 0xff, b'x']);
    packed.extend(0x8cdc_1683_u32.to_le_bytes());
    packed.extend(1_u32.to_le_bytes());
    place.write("deep/deeper/a.gz", packed);
    let outcome = gunzip.run(["-N", "deep/deeper/a.gz"], b"").expect("it starts");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(place.read("deep/deeper/evil"), b"x");
    assert!(!place.has("evil"));
}

/// pigz and zstd take the number of hands.
#[test]
fn what_stands_behind_members_comes_out_with_one_hand_and_with_two() {
    let place = Place::new();
    TestProgram::at(crate::place::binary())
        .in_directory(place.directory())
        .run(["links", "bin"], b"")
        .expect("it starts");
    let run = |name: &str, arguments: &[&str]| {
        let program = TestProgram::at(place.path("bin").join(name)).in_directory(place.directory());
        program.run(arguments, b"").expect("it starts").stdout_of_success()
    };
    let (one, plain) = (testkit::data::mixed(3 << 20, 7), testkit::data::text(2 << 20, 8));
    place.write("one", &one);
    let (gz, zst) = (run("pigz", &["-c", "one"]), run("zstd", &["-c", "one"]));
    place.write("plain-behind.gz", [&gz[..], &plain].concat());
    place.write("mixed.zst", [&gz[..], &zst, &gz].concat());
    place.write("plain-behind.zst", [&zst[..], &gz, &plain].concat());
    for hands in ["1", "2"] {
        assert!(
            run("pigz", &["-p", hands, "-cdf", "plain-behind.gz"]) == [&one[..], &plain].concat(),
            "pigz -p {hands}"
        );
        let hands = format!("-T{hands}");
        assert!(run("zstd", &[&hands, "-dc", "mixed.zst"]) == [&one[..], &one, &one].concat(), "zstd {hands}");
        let passed_on = run("zstd", &[&hands, "-dcf", "plain-behind.zst"]);
        assert!(passed_on == [&one[..], &one, &plain].concat(), "zstd {hands} -f");
    }
}

/// One stream in each, made of pieces: the real pigz and other readers of these formats read them, and ours read theirs.
#[test]
fn zlib_streams_and_zip_archives_go_both_ways() {
    let Some(pigz) = TestProgram::find("pigz") else { return left_out("pigz is not installed") };
    let place = Place::new();
    let made = TestProgram::at(crate::place::binary()).in_directory(place.directory()).run(["links", "bin"], b"");
    made.expect("it starts").stdout_of_success();
    let (ours, theirs) = (TestProgram::at(place.path("bin/pigz")), pigz);
    let run = |program: &TestProgram, line: &[&str], input: &[u8]| {
        program.clone().in_directory(place.directory()).run(line, input).expect("it starts").stdout_of_success()
    };
    for plain in [testkit::data::mixed(3_300_000, 4), testkit::data::random(70_000, 4), b"x".to_vec(), Vec::new()] {
        for format in ["-z", "-K"] {
            for level in ["-0", "-1", "-9"] {
                let packed = run(&ours, &[format, level, "-c"], &plain);
                assert!(run(&theirs, &["-dc"], &packed) == plain, "{format} {level} by pigz");
                assert!(run(&ours, &["-dc"], &packed) == plain, "{format} {level} by us");
                assert!(run(&ours, &["-p", "1", format, level, "-c"], &plain) == packed, "the same on one core");
                let packed = run(&theirs, &[format, level, "-c"], &plain);
                assert!(run(&ours, &["-dc"], &packed) == plain, "{format} {level} of pigz");
            }
        }
        place.write("plain", &plain);
        run(&ours, &["-kfK", "plain"], b"");
        if let Some(unzip) = TestProgram::find("unzip") {
            assert!(run(&unzip, &["-p", "plain.zip", "plain"], b"") == plain, "by unzip");
        }
        let mut damaged = run(&ours, &["-zc"], &plain);
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        let outcome = ours.run(["-dc"], &damaged).expect("it starts");
        assert_eq!(outcome.exit, Exit::Code(1), "its check is compared");
    }
}
