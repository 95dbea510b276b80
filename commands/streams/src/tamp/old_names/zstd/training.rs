//! `zstd --train` and its relatives: samples from files, a dictionary by the library, and zstd's words about both.
//! Each file is a sample, or with `-B` each piece of one. How the algorithms work is the library's affair (`codec::zstd_training`).

use super::super::{Wish, path};
use super::tuning::leading_number32;
use super::{Mode, incorrect, on_hands, say, shown_name};
use codec::zstd_training::{DictionaryAim, SegmentSearch, TrainingWay, train};
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use terminal::Verbosity;

/// zstd's own choice.
const USUAL: SegmentSearch =
    SegmentSearch { k: 0, d: 8, steps: 4, split_percent: 75, shrinks_within_percent: None, f: 20, accel: 1 };

const SELECTIVITY: u32 = 9;
const DICTIONARY_BYTES: u32 = 110 << 10;

/// LIMIT: as zstd has it: of each sample no more is looked at, and of all samples no more.
const SAMPLE_BYTES_MAX: u64 = 128 << 10;
const SAMPLES_BYTES_MAX: u64 = 2 << 30;

/// Fewer samples make no dictionary.
const SAMPLES_MIN: usize = 5;

/// Memory of each algorithm beside the samples: the share of the memory at hand that samples may have.
fn memory_times(way: &TrainingWay) -> u64 {
    match way {
        TrainingWay::Cover(_) => 9,
        TrainingWay::FastCover(_) => 1,
        TrainingWay::Legacy { .. } => 11,
    }
}

/// `--train`.
pub(super) fn usual(wish: &mut Wish) {
    begin(wish, TrainingWay::FastCover(USUAL));
}

fn begin(wish: &mut Wish, way: TrainingWay) {
    wish.zstd.mode = Mode::Train(way);
    if wish.args.output.is_none() {
        wish.args.output = Some(PathBuf::from("dictionary"));
    }
}

/// `--train-cover`.
pub(super) fn cover(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let search = search(value, false).ok_or_else(|| incorrect("--train-cover", value))??;
    begin(wish, TrainingWay::Cover(search));
    Ok(())
}

/// `--train-fastcover`.
pub(super) fn fast_cover(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let search = search(value, true).ok_or_else(|| incorrect("--train-fastcover", value))??;
    begin(wish, TrainingWay::FastCover(search));
    Ok(())
}

/// `--train-legacy`.
pub(super) fn legacy(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    if !value.is_empty() {
        let wrong = || incorrect("--train-legacy", value);
        let text = value.to_str().ok_or_else(wrong)?;
        let number = text.strip_prefix("selectivity=").or(text.strip_prefix("s=")).ok_or_else(wrong)?;
        let (number, rest) = leading_number32(number)?;
        if !rest.is_empty() {
            return Err(wrong());
        }
        wish.zstd.selectivity = Some(number);
    }
    begin(wish, TrainingWay::Legacy { selectivity: SELECTIVITY });
    Ok(())
}

/// `k=48,d=8,shrink=2`. None where it means nothing; an error where a number is too large.
fn search(value: &OsStr, is_fast: bool) -> Option<Result<SegmentSearch, String>> {
    let mut search = SegmentSearch::default();
    if value.is_empty() {
        return Some(Ok(search));
    }
    for part in value.to_str()?.split(',') {
        let (name, number) = part.split_once('=').unwrap_or((part, ""));
        if name == "shrink" && !part.contains('=') {
            search.shrinks_within_percent = Some(1);
            continue;
        }
        let (number, rest) = match leading_number32(number) {
            Ok(number) => number,
            Err(why) => return Some(Err(why)),
        };
        if !rest.is_empty() || !part.contains('=') {
            return None;
        }
        match name {
            "k" => search.k = number,
            "d" => search.d = number,
            "steps" => search.steps = number,
            "split" => search.split_percent = number,
            "shrink" => search.shrinks_within_percent = Some(number),
            "f" if is_fast => search.f = number,
            "accel" if is_fast => search.accel = number,
            _ => return None,
        }
    }
    Some(Ok(search))
}

/// Number and bytes of the samples.
struct SampleSum {
    samples: usize,
    bytes: u64,
    any_is_large: bool,
}

/// Trains a dictionary of all files that were named.
pub(super) fn run(wish: &mut Wish, context: &mut Context) -> Result<Outcome, Failure> {
    let Mode::Train(mut way) = wish.zstd.mode else { unreachable!("training was asked for") };
    if let (TrainingWay::Legacy { selectivity }, Some(asked)) = (&mut way, wish.zstd.selectivity) {
        *selectivity = asked;
    }
    let piece_bytes = u64::from(wish.args.zst.job_bytes).min(SAMPLE_BYTES_MAX);
    let room = wish.zstd.dictionary_bytes.unwrap_or(DICTIONARY_BYTES);
    let mut inputs = std::mem::take(&mut wish.args.files);
    shuffle(&mut inputs);
    let sum = sum_of(wish, &inputs, piece_bytes);
    let allowed = allowed_bytes(wish, context, &way);
    let to_load = sum.bytes.min(allowed);
    if let Err(code) = judge(wish, &sum, room, to_load) {
        return Ok(Outcome::Code(code));
    }
    let (samples, sizes) = match load(&inputs, piece_bytes, to_load) {
        Ok(loaded) => loaded,
        Err(words) => {
            say(wish, Verbosity::Quiet, &words);
            return Ok(Outcome::Code(11));
        }
    };
    let level = wish.level.filter(|&level| level != 0).unwrap_or(super::DEFAULT_LEVEL);
    let (bytes, dictionary_id) = (room as usize, wish.zstd.dictionary_id);
    let was_complete =
        matches!(&way, TrainingWay::Cover(search) | TrainingWay::FastCover(search) if search.is_complete());
    let trained = on_hands(wish, context, "tamp: train a dictionary", |threads| {
        train(&samples, &sizes, &mut way, &DictionaryAim { bytes, level, dictionary_id, threads })
    });
    let dictionary = match trained {
        Ok(dictionary) => dictionary,
        Err(error) => {
            let words = match error {
                codec::error::CodecError::Library { message, .. } => message,
                other => other.to_string(),
            };
            say(wish, Verbosity::Quiet, &format!("dictionary training failed : {words} "));
            return Ok(Outcome::Code(1));
        }
    };
    if !was_complete {
        tell_what_was_found(wish, &way);
    }
    save(wish, context, &dictionary)
}

/// Files in an order that has nothing to do with their names: where not all fit into memory, those that do are of all kinds.
fn shuffle(inputs: &mut [PathBuf]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for at in (1..inputs.len()).rev() {
        // Knuth's multiplier; the high bits are the good ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        inputs.swap(at, ((state >> 33) % (at as u64 + 1)) as usize);
    }
}

fn sum_of(wish: &mut Wish, inputs: &[PathBuf], piece_bytes: u64) -> SampleSum {
    let mut sum = SampleSum { samples: 0, bytes: 0, any_is_large: false };
    for input in inputs {
        let bytes = match std::fs::metadata(input) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => 0,
            Err(error) => {
                let words = format!("zstd: can't stat {} : {} -- ignored ", shown_name(input), with_causes(&error));
                say(wish, Verbosity::Quiet, &words);
                0
            }
        };
        if bytes == 0 {
            continue;
        }
        sum.samples += if piece_bytes > 0 { bytes.div_ceil(piece_bytes) as usize } else { 1 };
        sum.any_is_large |= piece_bytes == 0 && bytes > 2 * SAMPLE_BYTES_MAX;
        sum.bytes += if piece_bytes > 0 { bytes } else { bytes.min(SAMPLE_BYTES_MAX) };
    }
    sum
}

fn allowed_bytes(wish: &mut Wish, context: &Context, way: &TrainingWay) -> u64 {
    // Half of what is at hand, for samples and algorithm together.
    let at_hand = wish.args.shared.memory.unwrap_or(context.machine.memory_budget_bytes() / 2);
    let allowed = (at_hand / (memory_times(way) + 1)).min(SAMPLES_BYTES_MAX);
    let Some(asked) = wish.zstd.memory else { return allowed };
    let megabytes = asked >> 20;
    let words = format!("!  Warning : setting manual memory limit for dictionary training data at {megabytes} MB ");
    say(wish, Verbosity::Normal, &words);
    allowed.min(u64::from(asked))
}

/// Warns of samples that make no good dictionary; an exit code where they make none.
fn judge(wish: &mut Wish, sum: &SampleSum, room: u32, to_load: u64) -> Result<(), u8> {
    if sum.any_is_large {
        let words = format!(
            "!  Warning : some sample(s) are very large \n\
             !  Note that dictionary is only useful for small samples. \n\
             !  As a consequence, only the first {SAMPLE_BYTES_MAX} bytes of each sample are loaded "
        );
        say(wish, Verbosity::Normal, &words);
    }
    if sum.samples < SAMPLES_MIN {
        let words = "!  Warning : nb of samples too low for proper processing ! \n\
                     !  Please provide _one file per sample_. \n\
                     !  Alternatively, split files into fixed-size blocks representative of samples, with -B# ";
        say(wish, Verbosity::Normal, words);
        say(wish, Verbosity::Quiet, "Error 14 : nb of samples too low");
        return Err(14);
    }
    if sum.bytes < u64::from(room) * 8 {
        let words = "!  Warning : data size of samples too small for target dictionary size \n\
                     !  Samples should be about 100x larger than target dictionary size ";
        say(wish, Verbosity::Normal, words);
    }
    if to_load < sum.bytes {
        let (all, some) = (sum.bytes >> 20, to_load >> 20);
        let words = format!("Training samples set too large ({all} MB); training on {some} MB only...");
        say(wish, Verbosity::Quiet, &words);
    }
    Ok(())
}

/// The samples, one behind another, and the size of each.
fn load(inputs: &[PathBuf], piece_bytes: u64, to_load: u64) -> Result<(Vec<u8>, Vec<usize>), String> {
    let mut samples = Vec::with_capacity(usize::try_from(to_load).unwrap_or(usize::MAX));
    let mut sizes = Vec::new();
    for input in inputs.iter().filter(|input| std::fs::metadata(input).is_ok_and(|metadata| metadata.is_file())) {
        let failed = |error: std::io::Error| {
            format!("Error 10 : zstd: dictBuilder: {} {} ", shown_name(input), with_causes(&error))
        };
        let file = File::open(input).map_err(failed)?;
        let most = if piece_bytes > 0 { u64::MAX } else { SAMPLE_BYTES_MAX };
        let mut rest = file.take(most.min(to_load - samples.len() as u64));
        let begin = samples.len();
        rest.read_to_end(&mut samples).map_err(failed)?;
        let read = samples.len() - begin;
        let piece = if piece_bytes > 0 { piece_bytes as usize } else { read.max(1) };
        sizes.extend(samples[begin..].chunks(piece).map(<[u8]>::len));
    }
    Ok((samples, sizes))
}

fn tell_what_was_found(wish: &mut Wish, way: &TrainingWay) {
    let (search, is_fast) = match way {
        TrainingWay::Cover(search) => (search, false),
        TrainingWay::FastCover(search) => (search, true),
        TrainingWay::Legacy { .. } => return,
    };
    let SegmentSearch { k, d, steps, split_percent, f, accel, .. } = search;
    let words = match is_fast {
        true => format!("k={k}\nd={d}\nf={f}\nsteps={steps}\nsplit={split_percent}\naccel={accel}"),
        false => format!("k={k}\nd={d}\nsteps={steps}\nsplit={split_percent}"),
    };
    say(wish, Verbosity::Normal, &words);
}

fn save(wish: &mut Wish, context: &Context, dictionary: &[u8]) -> Result<Outcome, Failure> {
    let output = wish.args.output.clone().unwrap_or_else(|| path(OsStr::new("dictionary")));
    let name = shown_name(&output);
    let words = format!("Save dictionary of size {} into file {name} ", dictionary.len());
    say(wish, Verbosity::Normal, &words);
    if let Err(error) = write(context, &output, dictionary) {
        let words = format!("Error 3 : cannot open {name} : {} ", with_causes(&error));
        say(wish, Verbosity::Quiet, &words);
        return Ok(Outcome::Code(3));
    }
    Ok(Outcome::Done)
}

fn write(context: &Context, output: &Path, dictionary: &[u8]) -> std::io::Result<()> {
    if crate::tamp::names::is_special(output) {
        return File::options().write(true).open(output)?.write_all(dictionary);
    }
    let staged = StagedFile::create(output, Readers::AsOfAnyFile, &context.unfinished)?;
    staged.file().write_all(dictionary)?;
    staged.commit(Replace::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_algorithms_are_read() {
        let read = |text: &str, is_fast| search(OsStr::new(text), is_fast);
        let found = read("k=48,d=8,steps=32,split=80,shrink", false).expect("known").expect("small");
        assert_eq!((found.k, found.d, found.steps, found.split_percent), (48, 8, 32, 80));
        assert_eq!(found.shrinks_within_percent, Some(1));
        assert!(read("f=20,accel=2", false).is_none() && read("f=20,accel=2", true).is_some());
        assert!(read("k", true).is_none() && read("k=2x", true).is_none() && read("z=2", true).is_none());
        assert!(read("k=4294967296", true).is_some_and(|read| read.is_err()));
        assert_eq!(read("", true), Some(Ok(SegmentSearch::default())));
    }

    #[test]
    fn shuffling_keeps_all_files() {
        let names: Vec<PathBuf> = (0..50).map(|number| PathBuf::from(number.to_string())).collect();
        let mut shuffled = names.clone();
        shuffle(&mut shuffled);
        assert_ne!(shuffled, names);
        shuffled.sort();
        let mut sorted = names;
        sorted.sort();
        assert_eq!(shuffled, sorted);
    }
}
