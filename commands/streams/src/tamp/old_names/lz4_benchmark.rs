//! `lz4 -b`: how fast levels compress and decompress files in memory, on one core, in lz4's own form.

use super::lz4::INCORRECT;
use super::options::number;
use super::{Wish, name_of};
use codec::byte_buffer::ByteBuffer;
use codec::error::CodecError;
use codec::format::{DecodeLimits, EncodeOptions, Format, UnitLayout};
use crew::pipeline::Pause;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

/// Levels and time of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    first: i32,
    last: i32,
    seconds: u64,
}

impl Default for Benchmark {
    fn default() -> Self {
        Self { first: 1, last: 1, seconds: 3 }
    }
}

/// `-b#`.
pub(super) fn first(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    wish.rare.benchmark.first = level(value)?;
    wish.shows = Some(super::Shows::Benchmark);
    Ok(())
}

/// `-e#`.
pub(super) fn last(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    wish.rare.benchmark.last = level(value)?;
    Ok(())
}

/// `-i#`.
pub(super) fn seconds(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    wish.rare.benchmark.seconds = if value.is_empty() { 0 } else { number(value).ok_or(INCORRECT)? };
    Ok(())
}

/// LIMIT: the highest level there is.
const LEVEL_MAX: u64 = 12;

fn level(value: &OsStr) -> Result<i32, String> {
    let level = if value.is_empty() { 1 } else { number(value).ok_or(INCORRECT)? };
    // 12 at most.
    Ok(level.min(LEVEL_MAX) as i32)
}

/// LIMIT: the part of the memory at hand that files may take.
const MEMORY_SHARE: u64 = 8;

/// Measures and prints a line a level.
pub(super) fn run(wish: &Wish, context: &Context) -> Result<Outcome, Failure> {
    // All of it, its compressed form and what that becomes again are held.
    let at_hand = wish.args.shared.memory.unwrap_or(context.machine.memory_budget_bytes()) / MEMORY_SHARE;
    let mut all = Vec::new();
    for file in &wish.args.files {
        let left = at_hand.saturating_sub(all.len() as u64);
        let read = File::open(file).and_then(|file| file.take(left + 1).read_to_end(&mut all));
        let refusal = |_unreadable| refused(format!("Error 10 : impossible to open file {} ", name_of(file)), 10);
        read.map_err(refusal)?;
        if all.len() as u64 > at_hand {
            return Err(refused(format!("Error 12 : not enough memory for {} ", name_of(file)), 12));
        }
    }
    let name = match &wish.args.files[..] {
        [] => return Err(refused("a benchmark needs files".to_owned(), 1)),
        [file] => file.file_name().map_or_else(|| name_of(file), |name| name_of(name.as_ref())),
        files => format!(" {} files", files.len()),
    };
    let Benchmark { first, last, seconds } = wish.rare.benchmark;
    for level in first..=last.max(first) {
        let measured = measure(&all, level, Duration::from_secs(seconds));
        let measured = measured.map_err(|error| refused(mh_kit::failure::with_causes(&error), 1))?;
        print(&line(level, &name, &measured))?;
    }
    Ok(Outcome::Done)
}

fn refused(text: String, code: u8) -> Failure {
    Failure::InWordsOfOthers { text, code }
}

#[derive(Debug)]
struct Measured {
    plain_bytes: u64,
    packed_bytes: u64,
    compressed_in: Duration,
    decompressed_in: Duration,
}

fn line(level: i32, name: &str, measured: &Measured) -> String {
    let Measured { plain_bytes, packed_bytes, .. } = *measured;
    let ratio = plain_bytes as f64 / packed_bytes.max(1) as f64;
    let rate = |time: Duration| plain_bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
    let (packs, unpacks) = (rate(measured.compressed_in), rate(measured.decompressed_in));
    format!(
        "{level:>2}#{name:<17.17} :{plain_bytes:>10} ->{packed_bytes:>10} ({ratio:5.3}),{packs:6.1} MB/s ,{unpacks:6.1} MB/s \n"
    )
}

/// The shortest of all rounds that begin within `time`, one at least, each way.
fn measure(plain: &[u8], level: i32, time: Duration) -> Result<Measured, CodecError> {
    let format = codec::registry::by_name("lz4").expect("lz4 is registered");
    let options = EncodeOptions::new(level, UnitLayout::ParallelUnits);
    let mut encoder = format.encoder(&options)?;
    let parts = || plain.chunks(format.chunk_bytes(&options));
    let mut frames: Vec<ByteBuffer> = parts().map(|_| ByteBuffer::default()).collect();
    let compressed_in = shortest(time, || {
        parts().zip(&mut frames).try_for_each(|(part, frame)| encoder.encode(part, frame, &mut Pause::never()))
    })?;
    let decompressed_in = decompress(format, plain, &frames, time)?;
    let packed_bytes = frames.iter().map(|frame| frame.len() as u64).sum();
    Ok(Measured { plain_bytes: plain.len() as u64, packed_bytes, compressed_in, decompressed_in })
}

fn decompress(
    format: &dyn Format,
    plain: &[u8],
    frames: &[ByteBuffer],
    time: Duration,
) -> Result<Duration, CodecError> {
    let limits = DecodeLimits {
        unit_uncompressed_bytes: u64::MAX,
        unit_held_bytes: u64::MAX,
        window_bytes: u64::MAX,
        dictionary: None,
        prefix: None,
        stream_bytes: u64::MAX,
        ahead_bytes: 0,
        streams_lone_unit: false,
    };
    let (mut decoder, mut back) = (format.decoder(&limits), ByteBuffer::default());
    let damaged = |defect| CodecError::Damaged { unit_name: "block", unit: 1, offset: 0, defect };
    let shortest = shortest(time, || {
        back.clear();
        frames.iter().try_for_each(|frame| {
            decoder.decode(frame.content(), 0, plain.len() as u64, &mut back, &mut Pause::never()).map_err(damaged)
        })
    })?;
    if back.content() != plain {
        return Err(CodecError::Library { library: "lz4", message: "other bytes came back".to_owned() });
    }
    Ok(shortest)
}

fn shortest(time: Duration, mut round: impl FnMut() -> Result<(), CodecError>) -> Result<Duration, CodecError> {
    let (begin, mut shortest) = (Instant::now(), Duration::MAX);
    loop {
        let round_began = Instant::now();
        round()?;
        shortest = shortest.min(round_began.elapsed());
        if begin.elapsed() >= time {
            return Ok(shortest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_lz4_has_it() {
        let (compressed_in, decompressed_in) = (Duration::from_millis(10), Duration::from_millis(1));
        let measured = Measured { plain_bytes: 1_000_000, packed_bytes: 400_000, compressed_in, decompressed_in };
        let expected = " 1#a                 :   1000000 ->    400000 (2.500), 100.0 MB/s ,1000.0 MB/s \n";
        assert_eq!(line(1, "a", &measured), expected);
    }

    #[test]
    fn what_is_measured_comes_back() {
        let plain = testkit::data::text(5_000_000, 4);
        let measured = measure(&plain, 1, Duration::ZERO).expect("sound");
        assert_eq!(measured.plain_bytes, 5_000_000);
        assert!(measured.packed_bytes < 5_000_000 && measure(b"", 1, Duration::ZERO).is_ok());
    }
}
