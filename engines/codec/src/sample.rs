//! Compresses a little of a file in memory, to tell what the whole would take: for a plan's expectation.
//! Writes nothing and keeps nothing. The size is a range: what lies between the places that were tried is not known.

use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{EncodeOptions, Encoder, Format, UnitLayout};
use crew::pipeline::Pause;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use sys::at_offset::read_full_at;
use sys::cpu_clock::thread_cpu_ns;

/// What a sample showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSample {
    /// Uncompressed bytes that were tried.
    pub bytes: u64,
    /// Places that they are from.
    pub places: usize,
    /// Whether that was all of the file.
    pub is_whole: bool,
    /// Uncompressed bytes a second on one core.
    pub bytes_per_second: f64,
    /// The least that the compressed file may have.
    pub compressed_least: u64,
    /// The most.
    pub compressed_most: u64,
}

/// LIMIT: units up to this length are tried whole; of longer ones as much.
const PLACE_BYTES: u64 = 4 << 20;
/// LIMIT: of units that are longer than [`PLACE_BYTES`], which belong to slow levels.
const PLACE_OF_LONG_UNIT_BYTES: u64 = 1 << 20;

/// LIMIT: places that are tried. More would take longer and make the range little smaller: it shrinks with their square root.
const PLACES_MAX: u64 = 24;

/// LIMIT: places that are tried however slow the level is: both ends, the middle, and what lies between those. From fewer no range can be made.
const PLACES_MIN: usize = 7;

/// LIMIT: when so much CPU time is used no more places are tried.
const CPU_TIME_MAX: Duration = Duration::from_millis(1200);

/// How far the mean of the places may be from that of the file, in standard errors. Three hold for 99.7 % of what is normally distributed, and data
/// are not.
const ERRORS_WIDE: f64 = 4.0;

/// The margin on either side: units differ a little even in data that are alike throughout.
const SHARE_AT_LEAST: f64 = 0.015;

/// A gain above this is none: the data do not repeat themselves.
const GAIN_OF_NOTHING: f64 = 0.995;

/// The factor by which longer units may compress better, each time that they are four times as long.
const MORE_REPEATS: f64 = 0.95;

/// One place.
#[derive(Clone, Copy, Debug)]
struct Tried {
    /// Where it stands in the order of the file.
    number: u64,
    uncompressed_bytes: u64,
    compressed_bytes: u64,
    time: Duration,
}

impl Tried {
    fn share(&self) -> f64 {
        self.compressed_bytes as f64 / self.uncompressed_bytes.max(1) as f64
    }
}

/// Tries some places of a regular file, all over it. `None` where it cannot be read or is empty.
pub fn sample(path: &Path, format: &dyn Format, options: &EncodeOptions) -> Option<DataSample> {
    // Looked at before it is opened: opening a FIFO would wait for somebody to write.
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut trial = Trial { file, length, encoder: format.encoder(options).ok()?, compressed: ByteBuffer::default() };
    let unit_bytes = format.chunk_bytes(options) as u64;
    let place_bytes = match unit_bytes.min(length) {
        longer if longer > PLACE_BYTES => PLACE_OF_LONG_UNIT_BYTES,
        whole => whole.max(1),
    };
    let places = length.div_ceil(place_bytes);
    // A short rest at the end says little, unless all is tried.
    let whole_places = if places > PLACES_MAX { length / place_bytes } else { places };
    let mut tried: Vec<Tried> = Vec::new();
    for number in scattered(whole_places) {
        let used: Duration = tried.iter().map(|place| place.time).sum();
        if tried.len() >= PLACES_MIN && used >= CPU_TIME_MAX {
            break;
        }
        tried.push(trial.at(number, place_bytes).ok()?);
    }
    tried.sort_by_key(|place| place.number);
    let whole = tried.len() as u64 == places && (unit_bytes <= place_bytes || places == 1);
    let around = around(format, options, length.div_ceil(unit_bytes.max(1)), &trial.compressed);
    let gain = if whole { 1.0 } else { trial.gain(&tried, place_bytes).ok()? };
    let long_bytes = unit_bytes.min(length).min(LONG_BYTES_MAX);
    let repeats = if long_bytes > place_bytes { repeats(&trial, long_bytes, place_bytes)? } else { 1.0 };
    let longer = Longer { times: (unit_bytes.min(length) as f64 / place_bytes as f64).max(1.0), gain, repeats };
    let (least, most) = if whole { exact(&tried) } else { range(&tried, places, longer) };
    let bytes: u64 = tried.iter().map(|place| place.uncompressed_bytes).sum();
    let time: Duration = tried.iter().map(|place| place.time).sum();
    (length > 0).then(|| DataSample {
        bytes,
        places: tried.len(),
        is_whole: whole,
        bytes_per_second: bytes as f64 / time.as_secs_f64().max(1e-9),
        compressed_least: (length as f64 * least) as u64 + around,
        compressed_most: (length as f64 * most).ceil() as u64 + around,
    })
}

/// What stands before and behind the units of a file.
fn around(format: &dyn Format, options: &EncodeOptions, units: u64, unit: &ByteBuffer) -> u64 {
    // LIMIT: a tail grows with the units in even steps: that of a few tells that of many.
    const COUNTED: u64 = 64;
    let tail_of = |count: u64| {
        let mut tail = format.tail(options);
        (0..count).for_each(|_| tail.unit(unit.content(), 1));
        tail.finish().len() as u64
    };
    let (none, few) = (tail_of(0), tail_of(units.min(COUNTED)));
    let tail = none + (few - none.min(few)) * units / units.clamp(1, COUNTED);
    format.head(options).len() as u64 + tail
}

/// A file that is tried.
struct Trial {
    file: File,
    length: u64,
    encoder: Box<dyn Encoder>,
    compressed: ByteBuffer,
}

impl Trial {
    fn at(&mut self, number: u64, place_bytes: u64) -> Result<Tried, CodecError> {
        let uncompressed = self.read(number, place_bytes)?;
        // Time that other programs had the core is no property of the data.
        let begin = thread_cpu_ns();
        let compressed_bytes = self.encode(&uncompressed)?;
        let time = Duration::from_nanos(thread_cpu_ns() - begin);
        Ok(Tried { number, uncompressed_bytes: uncompressed.len() as u64, compressed_bytes, time })
    }

    fn read(&self, number: u64, place_bytes: u64) -> Result<Vec<u8>, CodecError> {
        self.read_at(number * place_bytes, place_bytes)
    }

    fn read_at(&self, offset: u64, place_bytes: u64) -> Result<Vec<u8>, CodecError> {
        let mut uncompressed = vec![0; place_bytes.min(self.length - offset.min(self.length)) as usize];
        let read =
            read_full_at(&self.file, &mut uncompressed, offset).map_err(|cause| CodecError::Read { offset, cause })?;
        uncompressed.truncate(read);
        Ok(uncompressed)
    }

    fn encode(&mut self, uncompressed: &[u8]) -> Result<u64, CodecError> {
        self.encoder.encode(uncompressed, &mut self.compressed, &mut Pause::never())?;
        Ok(self.compressed.len() as u64)
    }

    /// By what factor a place comes out smaller in one unit than in four: what longer units than can be tried will gain.
    fn gain(&mut self, tried: &[Tried], place_bytes: u64) -> Result<f64, CodecError> {
        // Of places of all kinds one of those that come out small: what is random gains nothing.
        let mut by_share: Vec<&Tried> = tried.iter().collect();
        by_share.sort_by(|one, other| one.share().total_cmp(&other.share()));
        let Some(place) = by_share.get(tried.len() / 4) else { return Ok(1.0) };
        let uncompressed = self.read(place.number, place_bytes)?;
        let mut in_four = 0;
        for part in uncompressed.chunks(uncompressed.len().div_ceil(4).max(1)) {
            in_four += self.encode(part)?;
        }
        Ok((place.compressed_bytes as f64 / in_four.max(1) as f64).min(1.0))
    }
}

/// LIMIT: how far apart repetitions are looked for.
const LONG_BYTES_MAX: u64 = 64 << 20;

/// By what factor the middle of the file comes out smaller in one long unit than in many of `place_bytes`, as a fast encoder that knows long
/// distances finds out: what repeats itself far apart.
fn repeats(trial: &Trial, long_bytes: u64, place_bytes: u64) -> Option<f64> {
    let format = crate::registry::by_name("zst")?;
    let options =
        EncodeOptions { window_log: Some(LONG_BYTES_MAX.ilog2()), ..EncodeOptions::new(1, UnitLayout::SingleUnit) };
    let mut encoder = format.encoder(&options).ok()?;
    let uncompressed = trial.read_at((trial.length - long_bytes) / 2, long_bytes).ok()?;
    let mut compressed = ByteBuffer::default();
    let mut size_of = |part: &[u8]| {
        encoder.encode(part, &mut compressed, &mut Pause::never()).ok()?;
        Some(compressed.len() as f64)
    };
    let whole = size_of(&uncompressed)?;
    let parts: Option<f64> = uncompressed.chunks(place_bytes as usize).map(size_of).sum();
    Some((whole / parts?.max(1.0)).min(1.0))
}

/// The facts about units that are longer than the samples.
#[derive(Clone, Copy, Debug)]
struct Longer {
    /// By this factor.
    times: f64,
    /// By this factor a unit comes out smaller for each time that its length is four times as much.
    gain: f64,
    /// By this factor it does for what repeats itself far apart.
    repeats: f64,
}

/// Numbers of places, at most [`PLACES_MAX`], in even distances; the first few of them are as far apart as can be.
fn scattered(places: u64) -> Vec<u64> {
    let count = places.min(PLACES_MAX);
    let evenly = |index: u64| if count <= 1 { 0 } else { index * (places - 1) / (count - 1) };
    let mut order: Vec<u64> = (0..count).collect();
    // The ends first, then middles of middles: by the reversed bits of what lies between.
    order.sort_by_key(|&index| match index {
        0 => (0, 0),
        _ if index == count - 1 => (0, 1),
        _ => (1, (index * 64 / count).reverse_bits() >> 58),
    });
    order.into_iter().map(evenly).collect()
}

/// The shares of a file that was tried whole: one.
fn exact(tried: &[Tried]) -> (f64, f64) {
    let compressed: u64 = tried.iter().map(|place| place.compressed_bytes).sum();
    let uncompressed: u64 = tried.iter().map(|place| place.uncompressed_bytes).sum();
    let share = compressed as f64 / uncompressed.max(1) as f64;
    (share, share)
}

/// Between what shares of its size the compressed file will be, of whose `places` some were tried.
fn range(tried: &[Tried], places: u64, longer: Longer) -> (f64, f64) {
    let count = tried.len() as f64;
    let mean = exact(tried).0;
    // Neighbours differ by what is not known of the data between them; that the file changes from its begin to its end is known.
    // A rest at the end is no neighbour of the others' kind.
    let longest = tried.iter().map(|place| place.uncompressed_bytes).max().unwrap_or(0);
    let alike: Vec<&Tried> = tried.iter().filter(|place| place.uncompressed_bytes * 2 >= longest).collect();
    let differences: f64 = alike.windows(2).map(|pair| (pair[1].share() - pair[0].share()).powi(2)).sum();
    let unseen = (1.0 - count / places as f64).max(0.0);
    let error = (differences / (2.0 * (count - 1.0).max(1.0)) / count * unseen).sqrt();
    let margin = ERRORS_WIDE * error + SHARE_AT_LEAST * mean;
    // Other kinds of data than were met are not expected.
    let shares = alike.iter().map(|place| place.share());
    let (smallest, largest) = shares.fold((mean, mean), |(least, most), share| (share.min(least), share.max(most)));
    let least = (mean - margin).max(smallest * (1.0 - SHARE_AT_LEAST));
    let most = (mean + margin).min(largest * (1.0 + SHARE_AT_LEAST));
    let quadruplings = libm::log2(longer.times) / 2.0;
    // Data that repeat themselves do so far apart too, how much is seen by a better encoder than the fast one.
    let more = if longer.gain < GAIN_OF_NOTHING { MORE_REPEATS } else { 1.0 };
    let shrinks = longer.repeats * libm::pow(longer.gain * more, quadruplings);
    (least * shrinks, most * longer.repeats.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(shares: &[f64]) -> Vec<Tried> {
        let bytes = |share: &f64| (share * 1e6) as u64;
        let place = |(number, share): (usize, &f64)| Tried {
            number: number as u64,
            uncompressed_bytes: 1_000_000,
            compressed_bytes: bytes(share),
            time: Duration::from_millis(1),
        };
        shares.iter().enumerate().map(place).collect()
    }

    const ALIKE: Longer = Longer { times: 1.0, gain: 1.0, repeats: 1.0 };

    #[test]
    fn places_are_all_over_the_file_from_the_first_few_on() {
        assert_eq!(scattered(1), [0]);
        assert_eq!(scattered(2), [0, 1]);
        let places = scattered(1000);
        assert_eq!((places.len(), places[0], places[1]), (24, 0, 999));
        assert!((400..600).contains(&places[2]), "{places:?}");
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| (40..=45).contains(&(pair[1] - pair[0]))), "{sorted:?}");
    }

    #[test]
    fn a_file_that_changes_in_the_middle_is_inside_the_range_and_a_mixed_one_has_a_wide_one() {
        let halves: Vec<f64> = (0..24).map(|at| if at < 12 { 0.1 } else { 1.0 }).collect();
        let (least, most) = range(&tried(&halves), 1000, ALIKE);
        // The border may be anywhere between two places.
        assert!(least < 0.55 - 0.9 / 48.0 && most > 0.55 + 0.9 / 48.0, "{least} {most}");
        let mixed: Vec<f64> = (0..24).map(|at| if at % 2 == 0 { 0.1 } else { 1.0 }).collect();
        let (wide_least, wide_most) = range(&tried(&mixed), 1000, ALIKE);
        assert!(wide_most - wide_least > 2.0 * (most - least));
        let even = [0.3; 24];
        let (least, most) = range(&tried(&even), 1000, ALIKE);
        assert!(least < 0.3 && most > 0.3 && most - least < 0.01, "{least} {most}");
    }

    #[test]
    fn longer_units_than_were_tried_may_come_out_much_smaller() {
        let even = tried(&[0.3; 8]);
        let (least, most) = range(&even, 1000, Longer { times: 64.0, gain: 0.9, repeats: 0.8 });
        assert!(least < 0.3 * 0.8 * 0.9_f64.powi(3) && most < 0.3, "{least} {most}");
    }

    #[test]
    fn a_short_file_is_tried_whole_and_its_size_is_no_range() {
        let format = crate::registry::formats()[0];
        let options = EncodeOptions::new(3, UnitLayout::ParallelUnits);
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("short");
        std::fs::write(&path, b"to be or not to be; ".repeat(1000)).expect("a file");
        let found = sample(&path, format, &options).expect("it can be read");
        assert_eq!((found.is_whole, found.bytes, found.places), (true, 20_000, 1));
        assert!(found.compressed_most - found.compressed_least <= 1, "{found:?}");
        std::fs::write(&path, b"").expect("a file");
        assert_eq!(sample(&path, format, &options), None);
    }
}
