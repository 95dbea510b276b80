//! `zstd -b`: how fast each level compresses and decompresses files in memory, in zstd's lines. It measures what this program does:
//! frames that are independent of one another, on as many cores as the run is granted (`-T` bounds them); what comes back is compared.

use super::super::Wish;
use super::{DEFAULT_LEVEL, on_hands, say, shown_name};
use crate::tamp::plan::{self, Direction};
use codec::byte_buffer::ByteBuffer;
use codec::compressed_reader::CompressedReader;
use codec::error::CodecError;
use codec::format::{DecodeLimits, EncodeOptions, Format, NextUnit, UncompressedSize, UnitLayout};
use crew::pipeline::Pause;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use terminal::Verbosity;

/// zstd's highest level.
const LEVEL_MAX: i32 = 22;

/// LIMIT: the share of the memory at hand that files may have; what they become takes as much, twice.
const MEMORY_SHARE: u64 = 8;

/// Seconds for each direction of a level.
const SECONDS: u32 = 3;

/// Files in memory, and how they are called together.
struct Subject {
    name: String,
    files: Vec<Vec<u8>>,
}

/// The figures of a level.
struct Measured {
    compressed_bytes: u64,
    compress: Duration,
    decompress: Duration,
}

/// Measures all levels that were asked for.
pub(super) fn run(wish: &mut Wish, context: &mut Context) -> Result<Outcome, Failure> {
    let wrong = |wish: &mut Wish, words: &str| {
        say(wish, Verbosity::Quiet, words);
        Ok(Outcome::Code(1))
    };
    if wish.args.format.as_deref() != Some("zst") {
        return wrong(wish, "benchmark mode is only compatible with zstd format ");
    }
    if wish.zstd.is_real_time {
        say(wish, Verbosity::Normal, "Note : switching to real-time priority ");
        // COMPAT: a refusal is no reason not to measure.
        let _as_before = rustix::process::setpriority_process(None, -20);
    }
    let files = std::mem::take(&mut wish.args.files);
    let at_hand = wish.args.shared.memory.unwrap_or(context.machine.memory_budget_bytes()) / MEMORY_SHARE;
    let groups: Vec<&[PathBuf]> = if wish.zstd.is_each_alone { files.chunks(1).collect() } else { vec![&files] };
    for group in groups {
        let subject = match group {
            [] => Ok(sample()),
            _ => load(wish, group, at_hand),
        };
        let subject = match subject {
            Ok(subject) => subject,
            Err(words) => return wrong(wish, words),
        };
        let measured = match wish.zstd.only_decodes {
            true => decoding_of(wish, context, &subject, at_hand)?,
            false => levels_of(wish, context, &subject)?,
        };
        if let Err(words) = measured {
            return wrong(wish, &words);
        }
    }
    Ok(Outcome::Done)
}

/// The data to measure if no file is named: words of a made-up language, always the same.
fn sample() -> Subject {
    const BYTES: usize = 10_000_000;
    let syllables = [
        "lo", "rem", "ip", "sum", "do", "lor", "sit", "a", "met", "con", "sec", "te", "tur", "a", "di", "pis", "cing",
        "e", "lit", "sed", "ve", "ni", "am", "quis", "nos", "trud", "ex", "er", "ci", "ta", "tion", "ul",
    ];
    let (mut text, mut state) = (Vec::with_capacity(BYTES + 64), 1_u64);
    let mut next = |choices: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % choices
    };
    while text.len() < BYTES {
        // Few words are frequent, many are rare.
        let word = next(40) * next(40);
        for place in 0..1 + word % 4 {
            text.extend_from_slice(syllables[((word >> (3 * place)) % 32) as usize].as_bytes());
        }
        text.extend_from_slice(if next(12) == 0 { b". " } else { b" " });
    }
    text.truncate(BYTES);
    Subject { name: "made-up words".to_owned(), files: vec![text] }
}

fn load(wish: &mut Wish, group: &[PathBuf], at_hand: u64) -> Result<Subject, &'static str> {
    let is_file = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let (mut files, mut left) = (Vec::new(), at_hand);
    for path in group {
        if !is_file(path) {
            return Err("Error 9 : Error loading files ");
        }
        let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if bytes > left {
            let words = format!("Not enough memory; testing {} MB only...", (at_hand - left) >> 20);
            say(wish, Verbosity::Quiet, &words);
            break;
        }
        left -= bytes;
        files.push(std::fs::read(path).ok().ok_or("Error 9 : Error loading files ")?);
    }
    if files.iter().all(Vec::is_empty) {
        return Err("Error 12 : not enough memory ");
    }
    let name = match group {
        [path] => path.file_name().map_or_else(String::new, shown_name),
        _ => format!(" {} files", group.len()),
    };
    Ok(Subject { name, files })
}

/// From the first level to the last, a line each. The inner error is in zstd's words.
fn levels_of(wish: &mut Wish, context: &Context, subject: &Subject) -> Result<Result<(), String>, Failure> {
    let first = wish.level.unwrap_or(DEFAULT_LEVEL).min(LEVEL_MAX);
    let last = wish.zstd.last_level.map_or(first, |last| last.min(LEVEL_MAX)).max(first);
    let duration = Duration::from_secs(u64::from(wish.zstd.seconds.unwrap_or(SECONDS)));
    let all_bytes: usize = subject.files.iter().map(Vec::len).sum();
    for level in (first..=last).filter(|&level| level != 0) {
        (wish.args.level, wish.args.fast) = if level < 0 { (None, Some(-level)) } else { (Some(level), None) };
        (wish.args.ultra, wish.args.files) = (true, Vec::new());
        let Direction::Compress { format, options, .. } = plan::encode_direction(&wish.args)? else {
            unreachable!("a compression was asked for");
        };
        let unit_bytes = wish.args.zst.job_bytes as usize;
        let measured = on_hands(wish, context, "tamp: measure levels", |hands| {
            measure(subject, format, options, unit_bytes, hands as usize, duration)
        });
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => return Ok(Err(format!("Error 30 : {error} "))),
        };
        print(&heading(wish, all_bytes as u64))?;
        print(&line(level, wish.args.quiet, &subject.name, all_bytes as u64, &measured))?;
    }
    Ok(Ok(()))
}

/// The text before each level of a quiet benchmark.
fn heading(wish: &Wish, all_bytes: u64) -> String {
    if wish.args.quiet != 1 {
        return String::new();
    }
    let (seconds, kibibytes) = (wish.zstd.seconds.unwrap_or(SECONDS), wish.args.zst.job_bytes >> 10);
    format!("bench 1.5.7 : input {all_bytes} bytes, {seconds} seconds, {kibibytes} KB blocks\n")
}

/// `-b -d`: files that are compressed already.
fn decoding_of(
    wish: &mut Wish,
    context: &Context,
    subject: &Subject,
    at_hand: u64,
) -> Result<Result<(), String>, Failure> {
    let limits = limits_of(&EncodeOptions::new(DEFAULT_LEVEL, UnitLayout::ParallelUnits));
    let Some(format) = codec::registry::by_name("zst") else { unreachable!("zst is registered") };
    let mut frames = Vec::new();
    for file in &subject.files {
        match frames_of(file, format, &limits) {
            // A decoder makes room for the size that a frame claims.
            Some(found) if found.iter().all(|(_, bytes)| *bytes <= at_hand) => frames.extend(found),
            _ => return Ok(Err("Error 32 : Impossible to determine original size ".to_owned())),
        }
    }
    let duration = Duration::from_secs(u64::from(wish.zstd.seconds.unwrap_or(SECONDS)));
    let content_bytes = frames.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let decompress = on_hands(wish, context, "tamp: measure decompression", |hands| {
        best_of(duration, hands as usize, frames.len(), &|| Ok(format.decoder(&limits)), &|decoder, number| {
            let ((frame, bytes), mut back) = (frames[number], ByteBuffer::default());
            let unit = number as u64 + 1;
            let damaged = |defect| CodecError::Damaged { unit_name: "frame", unit, offset: 0, defect };
            decoder.decode(frame, 0, bytes, &mut back, &mut Pause::never()).map_err(damaged)
        })
    });
    let decompress = match decompress {
        Ok(decompress) => decompress,
        Err(error) => return Ok(Err(format!("Error 30 : {error} "))),
    };
    let compressed_bytes = subject.files.iter().map(|file| file.len() as u64).sum();
    let measured = Measured { compressed_bytes, compress: Duration::MAX, decompress };
    print(&heading(wish, content_bytes))?;
    print(&line(0, wish.args.quiet, &subject.name, content_bytes, &measured))?;
    Ok(Ok(()))
}

/// The frames of a file, each with the size of its content. None where it has others, or one that does not state its size.
fn frames_of<'a>(file: &'a [u8], format: &'static dyn Format, limits: &DecodeLimits) -> Option<Vec<(&'a [u8], u64)>> {
    let mut cutter = format.cutter(limits);
    let mut reader = CompressedReader::memory(file.to_vec());
    let (mut frames, mut at) = (Vec::new(), 0_usize);
    loop {
        let bytes = match cutter.next(&mut reader).ok()? {
            NextUnit::Unit(place) => {
                let UncompressedSize::Known(content_bytes) = place.uncompressed else { return None };
                let bytes = usize::try_from(place.packed_bytes).ok()?;
                frames.push((file.get(at..at.checked_add(bytes)?)?, content_bytes));
                place.packed_bytes
            }
            NextUnit::Padding { bytes } => bytes,
            NextUnit::End => return Some(frames),
            _ => return None,
        };
        reader.skip(bytes).ok()?;
        at += usize::try_from(bytes).ok()?;
    }
}

fn line(level: i32, quiet: u8, name: &str, all_bytes: u64, measured: &Measured) -> String {
    let speed = |time: Duration| all_bytes as f64 / time.as_secs_f64().max(1e-9) / 1e6;
    let (compress, decompress) = (speed(measured.compress), speed(measured.decompress));
    let compressed = measured.compressed_bytes;
    let ratio = all_bytes as f64 / compressed.max(1) as f64;
    match quiet {
        0 => {
            let (ratio_digits, speed_digits) = (if ratio < 10.0 { 3 } else { 2 }, if compress < 10.0 { 2 } else { 1 });
            let name: String = name.chars().take(17).collect();
            format!(
                "{level:2}#{name:<17} :{all_bytes:>10} ->{compressed:>10} (x{ratio:5.ratio_digits$}), \
                 {compress:6.speed_digits$} MB/s, {decompress:6.1} MB/s\n"
            )
        }
        1 => format!("-{level:<3}{compressed:>11} ({ratio:5.3}) {compress:6.2} MB/s {decompress:6.1} MB/s  {name}\n"),
        _ => String::new(),
    }
}

fn measure(
    subject: &Subject,
    format: &'static dyn Format,
    options: EncodeOptions,
    asked_bytes: usize,
    hands: usize,
    duration: Duration,
) -> Result<Measured, CodecError> {
    let is_one_frame = options.zst.needs_one_frame();
    let options = EncodeOptions { library_threads: hands as u32, ..options };
    let unit_bytes = match (asked_bytes, is_one_frame) {
        (0, true) => usize::MAX,
        (0, false) => format.chunk_bytes(&options),
        (asked, _) => asked,
    };
    let units: Vec<&[u8]> = subject.files.iter().flat_map(|file| file.chunks(unit_bytes)).collect();
    // The library's own threads take what one frame leaves to them.
    let hands = if is_one_frame { 1 } else { hands };
    let compressed: Vec<Mutex<ByteBuffer>> = units.iter().map(|_| Mutex::new(ByteBuffer::default())).collect();
    let compress = best_of(duration, hands, units.len(), &|| encoder_of(format, &options), &|encoder, number| {
        let mut buffer = compressed[number].lock();
        buffer.clear();
        encoder(units[number], &mut buffer)
    })?;
    let limits = limits_of(&options);
    let decompress = best_of(duration, hands, units.len(), &|| Ok(format.decoder(&limits)), &|decoder, number| {
        let (mut back, unit) = (ByteBuffer::default(), units[number]);
        let damaged = |defect| CodecError::Damaged { unit_name: "frame", unit: number as u64 + 1, offset: 0, defect };
        let content = compressed[number].lock();
        decoder.decode(content.content(), 0, unit.len() as u64, &mut back, &mut Pause::never()).map_err(damaged)?;
        let is_same = back.content() == unit;
        if is_same {
            Ok(())
        } else {
            Err(CodecError::Library { library: "zstd", message: "other bytes came back".to_owned() })
        }
    })?;
    let compressed_bytes = compressed.iter().map(|buffer| buffer.lock().len() as u64).sum();
    Ok(Measured { compressed_bytes, compress, decompress })
}

type EncodeUnit = Box<dyn FnMut(&[u8], &mut ByteBuffer) -> Result<(), CodecError> + Send>;

/// The maker of units: an encoder that is kept, or for one frame a fresh one each.
fn encoder_of(format: &'static dyn Format, options: &EncodeOptions) -> Result<EncodeUnit, CodecError> {
    let options = *options;
    if !options.zst.needs_one_frame() {
        let mut encoder = format.encoder(&options)?;
        return Ok(Box::new(move |unit, buffer| encoder.encode(unit, buffer, &mut Pause::never())));
    }
    Ok(Box::new(move |unit, buffer| match format.stream_encoder(&options)? {
        Some(mut encoder) => encoder.encode(unit, true, buffer, &mut Pause::never()),
        None => Ok(()),
    }))
}

fn limits_of(options: &EncodeOptions) -> DecodeLimits {
    DecodeLimits {
        unit_uncompressed_bytes: u64::MAX,
        unit_held_bytes: u64::MAX,
        window_bytes: u64::MAX,
        dictionary: options.dictionary,
        prefix: options.zst.prefix,
        stream_bytes: u64::MAX,
        ahead_bytes: 0,
        streams_lone_unit: false,
    }
}

/// The shortest of as many passes over all units as there is time for, at least one.
fn best_of<Worker: Send>(
    duration: Duration,
    hands: usize,
    units: usize,
    make: &dyn Fn() -> Result<Worker, CodecError>,
    work: &(dyn Fn(&mut Worker, usize) -> Result<(), CodecError> + Sync),
) -> Result<Duration, CodecError> {
    let mut workers: Vec<Worker> = (0..hands.min(units).max(1)).map(|_| make()).collect::<Result<_, _>>()?;
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    loop {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let turn = |worker: &mut Worker| loop {
            // ORDER: a counter alone; what is worked on stands there from the beginning.
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= units {
                return;
            }
            if let Err(error) = work(worker, number) {
                failure.lock().get_or_insert(error);
                return;
            }
        };
        let pass = Instant::now();
        std::thread::scope(|scope| {
            let (first, others) = workers.split_at_mut(1);
            for worker in others {
                scope.spawn(|| turn(worker));
            }
            turn(&mut first[0]);
        });
        best = best.min(pass.elapsed());
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        if begin.elapsed() >= duration {
            return Ok(best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codec::registry::by_name;

    #[test]
    fn a_level_is_measured_on_any_number_of_hands() {
        let files = vec![testkit::data::text(700_000, 1), testkit::data::text(3000, 2), Vec::new()];
        let subject = Subject { name: "files".to_owned(), files };
        let format = by_name("zst").expect("registered");
        let options = EncodeOptions::new(1, UnitLayout::ParallelUnits);
        let sizes = [1, 3].map(|hands| {
            let measured = measure(&subject, format, options, 1 << 16, hands, Duration::ZERO).expect("measured");
            measured.compressed_bytes
        });
        assert!(sizes[0] == sizes[1] && sizes[0] < 703_000, "{sizes:?}");
    }

    #[test]
    fn lines_are_as_zstd_prints_them() {
        let second = Duration::from_secs(1);
        let measured = Measured { compressed_bytes: 50_367, compress: second, decompress: second / 2 };
        let shown = " 3#w                 :    348894 ->     50367 (x6.927),   0.35 MB/s,    0.7 MB/s\n";
        assert_eq!(line(3, 0, "w", 348_894, &measured), shown);
        let shown = "-3        50367 (6.927)   0.35 MB/s    0.7 MB/s  w\n";
        assert_eq!(line(3, 1, "w", 348_894, &measured), shown);
    }
}
