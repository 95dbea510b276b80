//! The longest CPU time between two yield points, of every format's encoder at its levels and of its decoder: what `engines/codec/README.md` says of
//! them. Run by hand: `cargo test --release -p manyhands-codec --test lanes -- --ignored --nocapture yield_points`.
#![expect(clippy::print_stdout, reason = "it measures for people")]

use codec::byte_buffer::ByteBuffer;
use codec::compressed_reader::CompressedReader;
use codec::format::{Cutter, DecodeLimits, EncodeOptions, Format, NextUnit, UnitLayout, UnitPlace};
use codec::registry::formats;
use crew::pipeline::Pause;
use sys::cpu_clock::thread_cpu_ns;

const LIMITS: DecodeLimits = DecodeLimits {
    unit_uncompressed_bytes: 1 << 30,
    unit_held_bytes: 2 << 30,
    window_bytes: 1 << 30,
    dictionary: None,
    prefix: None,
    stream_bytes: 1 << 30,
    ahead_bytes: 0,
    streams_lone_unit: false,
};

/// Where formats change what they do.
const LEVELS: [i32; 8] = [1, 5, 6, 9, 12, 13, 16, 19];

/// LIMIT: chunks of the highest levels of xz are longer, and no different.
const CHUNK_BYTES_MAX: usize = 24 << 20;

/// The longest time between two yield points of `work`, and its whole time, in nanoseconds on the CPU.
fn longest(work: impl FnOnce(&mut Pause<'_>)) -> (u64, u64) {
    let begin = thread_cpu_ns();
    let (mut since, mut longest) = (begin, 0);
    let mut look = || {
        longest = longest.max(thread_cpu_ns() - since);
        since = thread_cpu_ns();
        false
    };
    work(&mut Pause::at_each(&mut look));
    (longest.max(thread_cpu_ns() - since), thread_cpu_ns() - begin)
}

fn show(what: &str, bytes: usize, (longest_ns, whole_ns): (u64, u64)) {
    println!("figure {what}: {} ms of {} ms for {} KiB", longest_ns / 1_000_000, whole_ns / 1_000_000, bytes >> 10);
}

/// The first unit of a file and what its decoder must know.
fn first_unit(cutter: &mut dyn Cutter, file: &[u8]) -> Option<(Vec<u8>, UnitPlace)> {
    let mut reader = CompressedReader::memory(file.to_vec());
    loop {
        match cutter.next(&mut reader).ok()? {
            NextUnit::Unit(place) => {
                let mut unit = Vec::new();
                reader.take_into(place.packed_bytes as usize + place.shared_bytes, &mut unit).ok()?;
                return Some((unit, place));
            }
            NextUnit::Padding { bytes } | NextUnit::Check { bytes, .. } => reader.consume(bytes as usize),
            NextUnit::Stream(_) | NextUnit::Zeros { .. } | NextUnit::End => return None,
        }
    }
}

fn measure(format: &dyn Format, level: i32, uncompressed: &[u8]) {
    let (options, name) = (EncodeOptions::new(level, UnitLayout::ParallelUnits), format.facts().name);
    let uncompressed = &uncompressed[..format.chunk_bytes(&options).min(uncompressed.len())];
    let mut compressed = ByteBuffer::default();
    if let Some(mut encoder) = format.stream_encoder(&options).expect("memory") {
        let whole = longest(|pause| encoder.encode(uncompressed, false, &mut compressed, pause).expect("encode"));
        return show(&format!("{name} -{level} chunk"), uncompressed.len(), whole);
    }
    let mut encoder = format.encoder(&options).expect("memory");
    show(
        &format!("{name} -{level}"),
        uncompressed.len(),
        longest(|pause| encoder.encode(uncompressed, &mut compressed, pause).expect("encode")),
    );
    let mut tail = format.tail(&options);
    tail.unit(compressed.content(), uncompressed.len() as u64);
    let file = [&format.head(&options)[..], compressed.content(), &tail.finish()].concat();
    let Some((unit, place)) = first_unit(format.cutter(&LIMITS).as_mut(), &file) else { return };
    let (mut decoder, mut back) = (format.decoder(&LIMITS), ByteBuffer::default());
    let decoded = longest(|pause| {
        decoder.decode(&unit, place.parameters, LIMITS.unit_uncompressed_bytes, &mut back, pause).expect("sound");
    });
    show(&format!("{name} -{level} -d"), uncompressed.len(), decoded);
}

#[test]
#[ignore = "a measurement"]
fn the_longest_time_between_two_yield_points() {
    let uncompressed = testkit::data::text(CHUNK_BYTES_MAX, 1);
    for format in formats().iter().filter(|format| format.can_encode()) {
        let levels = LEVELS.into_iter().filter(|level| format.facts().levels.contains(level));
        levels.for_each(|level| measure(*format, level, &uncompressed));
    }
}
