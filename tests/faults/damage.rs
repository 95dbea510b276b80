//! Packed files cut short or with one bit flipped, at many places: whatever is reported as done is right to the last byte,
//! and what is not done leaves no output.

use crate::corpus_made::{self, Expected};
use crate::place::{Place, is_long, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};
use testkit::random::Random;

/// A packed file, what is in it, and how its name ends.
struct Sample {
    what: &'static str,
    ending: &'static str,
    plain: Vec<u8>,
    packed: Vec<u8>,
    /// Offsets at which a cut leaves a shorter packed file that is whole.
    borders: Vec<usize>,
}

fn sample(what: &'static str, ending: &'static str, options: &[&str], plain: &[u8], borders: &[usize]) -> Sample {
    let place = Place::new();
    place.write("plain", plain);
    let packed = place.tamp(["-c", "plain"].iter().chain(options)).stdout_of_success();
    Sample { what, ending, plain: plain.to_vec(), packed, borders: borders.to_vec() }
}

/// One file of each shape: a single unit, several, with a tail behind them.
fn samples() -> Vec<Sample> {
    let text = data::text(20_000, 1);
    let mut samples = vec![
        sample("one gz member with its length", "gz", &["-Fgz"], &text, &[]),
        sample("BGZF blocks", "gz", &["--bgzf", "-1"], &data::mixed(200_000, 2), &[]),
        sample("one zst frame", "zst", &[], &text, &[]),
        sample("one zst frame without its size", "zst", &["--single-frame"], &data::mixed(300_000, 3), &[]),
    ];
    // Without the extra field's length, as other tools write it: a plain header instead of ours of 20 bytes.
    let own = &samples[0].packed;
    let foreign = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &own[20..]].concat();
    let (mixed, frame) = ([&foreign[..], own, &foreign].concat(), samples[2].packed.clone());
    let frames = [&frame[..], &[0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5], &frame].concat();
    let borders = vec![foreign.len(), foreign.len() + own.len()];
    let plain = text.clone();
    samples.push(Sample { what: "one foreign gz member", ending: "gz", plain, packed: foreign, borders: vec![] });
    let plain = [&text[..], &text, &text].concat();
    samples.push(Sample { what: "gz members of all kinds", ending: "gz", plain, packed: mixed, borders });
    let (plain, borders) = ([&text[..], &text].concat(), vec![frame.len(), frame.len() + 13]);
    samples.push(Sample { what: "zst frames and a skippable one", ending: "zst", plain, packed: frames, borders });
    samples.extend(samples_of_blocks());
    samples
}

/// lz4, xz and bz2: alone, behind one another, and in the forms that only others write.
fn samples_of_blocks() -> Vec<Sample> {
    let text = data::text(20_000, 4);
    let twice = [&text[..], &text].concat();
    let mut samples = Vec::new();
    for (format, between) in [("lz4", 0), ("xz", 4), ("bz2", 0)] {
        let one = sample("one unit", format, &["-F", format, "-1"], &text, &[]);
        let (first, second) = (one.packed.len(), one.packed.len() + between);
        let packed = [&one.packed[..], &vec![0; between], &one.packed].concat();
        samples.push(one);
        let borders = if between == 0 { vec![first] } else { vec![first, second] };
        samples.push(Sample { what: "two behind one another", ending: format, plain: twice.clone(), packed, borders });
    }
    let block = data::mixed(250_000, 5);
    samples.push(sample("several bz2 blocks", "bz2", &["-F", "bz2", "-1"], &block, &[]));
    let foreign = ["everything-linked.lz4", "unsized.xz", "mixed.xz", "sha256.xz"];
    for case in corpus_made::cases().into_iter().filter(|case| foreign.contains(&case.name)) {
        let ending = if case.name.ends_with("xz") { "xz" } else { "lz4" };
        let Expected::Plain(plain) = case.expected else { panic!("{} is sound", case.name) };
        samples.push(Sample { what: case.name, ending, plain, packed: case.bytes, borders: vec![] });
    }
    samples
}

/// Writes each damaged file, has all of them decompressed in one run, and returns which became an output.
fn decompress_all(sample: &Sample, damaged: &[Vec<u8>], hands: &str) -> Vec<Option<Vec<u8>>> {
    let place = Place::new();
    let names: Vec<String> = (0..damaged.len()).map(|number| format!("{number:04}")).collect();
    for (name, bytes) in names.iter().zip(damaged) {
        place.write(format!("{name}.{}", sample.ending), bytes);
    }
    let files = names.iter().map(|name| format!("{name}.{}", sample.ending));
    let outcome = place.tamp(["-d".to_owned(), "--rm".to_owned(), hands.to_owned()].into_iter().chain(files));
    let outputs: Vec<Option<Vec<u8>>> = names.iter().map(|name| place.has(name).then(|| place.read(name))).collect();
    let missing = outputs.iter().filter(|output| output.is_none()).count();
    let what = sample.what;
    assert_eq!(outcome.exit, Exit::Code(i32::from(missing > 0)), "{what}: {}", said(&outcome));
    let told = said(&outcome).lines().filter(|line| line.starts_with("mh tamp: could not")).count();
    assert_eq!(told, missing, "{what}: each failure is told once\n{}", said(&outcome));
    // Beside the outputs there are the sources of those that failed, and nothing else.
    assert_eq!(place.names().len(), damaged.len(), "{what}: {:?}", place.names());
    for (name, output) in names.iter().zip(&outputs) {
        assert!(output.is_some() != place.has(format!("{name}.{}", sample.ending)), "{what}: the source of {name}");
    }
    outputs
}

#[test]
fn a_file_that_is_cut_never_becomes_an_output() {
    for sample in samples() {
        let length = sample.packed.len();
        // The first and last bytes one by one, and places between.
        let ends = (0..40.min(length)).chain(length.saturating_sub(40)..length);
        let between = (1..60).map(|part| length * part / 60);
        let borders = sample.borders.iter().flat_map(|border| [border - 1, border + 1]);
        let mut cuts: Vec<usize> = ends.chain(between).chain(borders).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts.retain(|cut| !is_a_border(&sample, *cut));
        let damaged: Vec<Vec<u8>> = cuts.iter().map(|cut| sample.packed[..*cut].to_vec()).collect();
        for hands in ["-j1", "-j2"] {
            let outputs = decompress_all(&sample, &damaged, hands);
            for (cut, output) in cuts.iter().zip(outputs) {
                assert!(output.is_none(), "{}: cut at {cut} of {length} passed, {hands}", sample.what);
            }
        }
    }
}

/// Whether a cut here cannot be seen: every unit before it is whole.
fn is_a_border(sample: &Sample, cut: usize) -> bool {
    if sample.what == "BGZF blocks" {
        // Each block's length stands in its header, less one.
        let mut at = 0;
        while at < cut {
            at += 1 + usize::from(u16::from_le_bytes([sample.packed[at + 16], sample.packed[at + 17]]));
        }
        return at == cut && cut > 0;
    }
    sample.borders.contains(&cut)
}

#[test]
fn a_flipped_bit_never_passes_with_wrong_bytes() {
    for (seed, sample) in samples().iter().enumerate() {
        let mut random = Random::seeded(seed as u64);
        let bits = sample.packed.len() * 8;
        // Every bit of the first and the last bytes (every third in the short tier), and a sprinkling over the rest.
        let step = if is_long() { 1 } else { 3 };
        let ends = (0..bits.min(40 * 8)).chain(bits.saturating_sub(24 * 8)..bits);
        let mut places: Vec<usize> = ends.skip(seed % step).step_by(step).collect();
        places.extend((0..200).map(|_| random.below(bits)));
        let damaged: Vec<Vec<u8>> = places
            .iter()
            .map(|place| {
                let mut packed = sample.packed.clone();
                packed[place / 8] ^= 1 << (place % 8);
                packed
            })
            .collect();
        for hands in ["-j1", "-j3"] {
            let outputs = decompress_all(sample, &damaged, hands);
            let harmless = outputs.iter().flatten().count();
            for (place, output) in places.iter().zip(outputs) {
                let is_right = output.is_none_or(|output| output == sample.plain);
                assert!(is_right, "{}: bit {} of byte {}, {hands}", sample.what, place % 8, place / 8);
            }
            // Time, system and the like may change; data may not.
            assert!(harmless < places.len() / 3, "{}: {harmless} of {} passed", sample.what, places.len());
        }
    }
}

#[test]
fn a_pipe_gets_whole_sound_units_and_nothing_of_the_damaged_one() {
    let unit_bytes = 65_280;
    let plain = data::text(5 * unit_bytes, 1);
    let place = Place::new();
    place.write("plain", &plain);
    let mut packed = place.tamp(["--bgzf", "-c", "plain"]).stdout_of_success();
    let third: usize =
        (0..2).fold(0, |at, _| at + 1 + usize::from(u16::from_le_bytes([packed[at + 16], packed[at + 17]])));
    packed[third + 5000] ^= 4;
    for hands in ["-j1", "-j2", "-j64"] {
        let outcome = place.tamp_fed(["-d", hands], &packed);
        assert_eq!(outcome.exit, Exit::Code(1));
        assert!(said(&outcome).contains("member 3 at byte"), "{hands}: {}", said(&outcome));
        assert!(outcome.stdout == plain[..2 * unit_bytes], "{hands}: {} bytes came out", outcome.stdout.len());
    }
}

#[test]
fn noise_behind_every_magic_is_refused() {
    let magics: [&[u8]; 10] = [
        &[0x1f, 0x8b, 8, 0],
        &[0x1f, 0x8b, 8, 4],
        &[0x28, 0xb5, 0x2f, 0xfd],
        &[0x50, 0x2a, 0x4d, 0x18],
        &[0x1f, 0x8b],
        &[0x04, 0x22, 0x4d, 0x18],
        &[0x02, 0x21, 0x4c, 0x18],
        b"\xfd7zXZ\0\0\x04",
        b"BZh9",
        b"BZh1\x31\x41\x59\x26\x53\x59",
    ];
    let noise = magics
        .iter()
        .flat_map(|magic| (0..40).map(|seed| [magic, &data::random(1 + seed as usize * 37, seed)[..]].concat()));
    let damaged: Vec<Vec<u8>> = noise.collect();
    let sample = Sample { what: "noise", ending: "gz", plain: vec![], packed: vec![], borders: vec![] };
    for hands in ["-j1", "-j2"] {
        let outputs = decompress_all(&sample, &damaged, hands);
        // A skippable frame that happens to fit would be a whole file of nothing.
        assert!(outputs.iter().flatten().all(Vec::is_empty));
    }
}

#[test]
fn what_is_kept_of_a_damaged_file_is_what_was_packed() {
    let plain = data::mixed(9 << 20, 8);
    let place = Place::new();
    place.write("plain", &plain);
    let mut random = Random::seeded(11);
    for format in ["gz", "zst", "lz4", "xz", "bz2"] {
        let packed = place.tamp(["-F", format, "-1", "-c", "plain"]).stdout_of_success();
        let mut kept_any = false;
        for _ in 0..8 {
            let mut damaged = packed.clone();
            let at = random.below(packed.len());
            damaged[at] ^= 1 << random.below(8);
            let name = format!("damaged.{format}");
            place.write(&name, &damaged);
            let outcome = place.tamp(["-d", "-f", "--keep-good", &name]);
            if place.has("damaged") {
                let kept = place.read("damaged");
                assert!(!kept.is_empty() && plain.starts_with(&kept), "{format}, byte {at}: {} bytes", kept.len());
                // A bit may be hit that changes nothing: a distance within a run.
                let is_whole = outcome.exit == Exit::Code(0);
                assert_eq!(is_whole, kept.len() == plain.len(), "{format}, byte {at}: {}", said(&outcome));
                kept_any = true;
                std::fs::remove_file(place.path("damaged")).expect("it is ours");
            }
        }
        // Blocks of 9 MB and more are one check.
        assert!(kept_any || format == "xz", "{format}: nothing was kept");
    }
}

#[test]
fn standard_output_gets_all_that_a_stream_gave_before_the_damage() {
    let plain = data::log_lines(3_400_000, 5);
    for (format, tool) in [("gz", "gzip"), ("zst", "zstd"), ("xz", "xz"), ("lzma", "lzma"), ("lz4", "lz4")] {
        let Some(tool) = TestProgram::find(tool) else {
            left_out(&format!("{tool} is not installed"));
            continue;
        };
        let place = Place::new();
        let mut packed = tool.run(["-c"], &plain).expect("it starts").stdout_of_success();
        let at = packed.len() * 7 / 10;
        packed[at] ^= 0x5a;
        let name = format!("damaged.{format}");
        place.write(&name, &packed);
        let theirs = tool.in_directory(place.directory()).run(["-dc", &name], b"").expect("it starts");
        let ours = place.tamp(["-dc", &name]);
        assert_eq!(ours.exit, Exit::Code(1), "{format}");
        // Blocks of the library are the least that it gives.
        let (theirs, ours) = (theirs.stdout.len(), ours.stdout.len());
        assert!(ours + (128 << 10) >= theirs, "{format}: {ours} bytes, {theirs} by the tool");
    }
}
