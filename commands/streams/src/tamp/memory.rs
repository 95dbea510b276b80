//! What a run may hold in memory, and how many hands and slots fit under that: slots are given up first, then hands; a
//! decoder's units get smaller before. Knows sizes only; `staffing` decides the rest.

use super::plan::{Direction, FILE_UNIT_BYTES_MAX, PIPE_UNIT_BYTES_MAX};
use super::staffing::Ends;
use codec::compress::slot_bytes;
use codec::encoders::ENCODERS_KEPT_MAX;
use codec::format::{DecodeLimits, EncodeOptions, UnitLayout};
use codec::registry;
use crew::measures::Slots;

/// The smallest unit that a memory cap may force on a decoding worker: our gz members.
const UNIT_BYTES_MIN: u64 = 1 << 20;

/// Units and windows that hands are worth giving up for: what `zstd -19` and `xz -6` write needs a window of 8 MiB, our own
/// frames of the usual levels have 2 or 4.
const UNIT_BYTES_WISHED: u64 = 4 << 20;
const WINDOW_BYTES_WISHED: u64 = 9 << 20;

/// What is promised is the cap and 16 MiB; the program itself takes less than half of those.
const SPARE_BYTES: u64 = 8 << 20;

/// What fits.
pub struct Fitting {
    pub width: usize,
    pub slots: Slots,
    pub direction: Direction,
    /// What is held at most when everything is full.
    pub held_bytes: u64,
}

/// A cap that not even one hand and one slot fit under.
pub struct TooTight {
    pub need_bytes: u64,
}

/// The cap: promised to the user, or our own choice that a run may exceed where it needs to.
#[derive(Clone, Copy)]
pub struct Cap {
    pub bytes: u64,
    pub is_promise: bool,
}

/// Fits a run for `width` hands and `lanes` lanes under the cap.
pub fn fit(direction: Direction, width: usize, lanes: usize, ends: Ends, cap: Cap) -> Result<Fitting, TooTight> {
    match direction {
        Direction::Compress { .. } => fit_encoding(&direction, width, lanes, ends, cap),
        Direction::Decompress { limits } => Ok(fit_decoding(limits, width, lanes, ends, cap)),
    }
}

fn fit_encoding(direction: &Direction, width: usize, lanes: usize, ends: Ends, cap: Cap) -> Result<Fitting, TooTight> {
    let Direction::Compress { format, options, keep_up } = direction else { unreachable!("a compression") };
    let chunk_bytes = direction.chunk_bytes();
    let slots_wanted = |hands| match keep_up {
        Some(_) => codec::keep_up::slots_wanted(hands, chunk_bytes),
        None => slots_wanted(hands, ends),
    };
    let wanted = slots_wanted(width);
    let slot = slot_bytes(*format, chunk_bytes);
    let with = |hands: usize, given: usize| {
        // One stream has one encoder, each open lane its own; the pipeline opens the next lane before the last is closed.
        let streams = lanes.clamp(1, hands + 1);
        let (encoders, library_threads) = match (options.layout, keep_up) {
            (UnitLayout::SingleUnit, _) => (streams as u64, (hands / streams).max(1)),
            (_, Some(_)) => (hands as u64 * ENCODERS_KEPT_MAX, 1),
            (_, None) => (hands as u64, 1),
        };
        let options = EncodeOptions { library_threads: library_threads as u32, ..*options };
        let held_bytes = encoders * format.encoder_bytes(&options) + given as u64 * slot;
        let direction = Direction::Compress { format: *format, options, keep_up: keep_up.clone() };
        Fitting { width: hands, slots: Slots { given, wanted, hands_wanted: width }, direction, held_bytes }
    };
    for hands in (1..=width).rev() {
        // A worker without a slot of its own and one to spare for the chunk that waits to be written is no help.
        let least = if hands == 1 { 1 } else { hands + 1 };
        let fits = |given: &usize| with(hands, *given).held_bytes <= cap.bytes;
        if let Some(given) = (least..=slots_wanted(hands)).rev().find(fits) {
            return Ok(with(hands, given));
        }
    }
    let smallest = with(1, 1);
    if cap.is_promise { Err(TooTight { need_bytes: smallest.held_bytes }) } else { Ok(smallest) }
}

fn fit_decoding(limits: DecodeLimits, width: usize, lanes: usize, ends: Ends, cap: Cap) -> Fitting {
    let wanted = slots_wanted(width, ends);
    // Half for units, half for what streams hold: a file, or a run, may bring both.
    let half = cap.bytes / 2;
    let most = if ends.from_files { FILE_UNIT_BYTES_MAX } else { PIPE_UNIT_BYTES_MAX };
    let dictionary = limits.dictionary.map_or(0, |bytes| bytes.len() as u64);
    let held = |hands: usize, given: usize, unit: u64| {
        // Compressed and uncompressed in every slot; a pipe's reader holds one more while it looks for its end.
        let units = 2 * given as u64 + if ends.from_files { 0 } else { 2 };
        dictionary + hands as u64 * (registry::decoder_bytes(unit) + dictionary) + units * unit
    };
    let with = |hands: usize, given: usize, unit: u64| {
        let streams = hands.min(lanes).max(1) as u64;
        let stream_bytes = if cap.is_promise { (half + SPARE_BYTES) / streams } else { u64::MAX };
        let limits =
            DecodeLimits { unit_uncompressed_bytes: unit, stream_bytes, ahead_bytes: half / streams, ..limits };
        Fitting {
            width: hands,
            slots: Slots { given, wanted, hands_wanted: width },
            direction: Direction::Decompress { limits },
            held_bytes: held(hands, given, unit) + stream_bytes.min(half),
        }
    };
    for hands in (1..=width).rev() {
        let given = slots_wanted(hands, ends);
        let unit = std::iter::successors(Some(most), |unit| Some(unit / 2).filter(|unit| *unit >= UNIT_BYTES_WISHED))
            .find(|&unit| held(hands, given, unit) <= half);
        if let Some(unit) = unit
            && half / hands.min(lanes).max(1) as u64 >= WINDOW_BYTES_WISHED
        {
            return with(hands, given, unit);
        }
    }
    let given = if ends.are_files() { 1 } else { 2 };
    let unit = std::iter::successors(Some(most), |unit| Some(unit / 2).filter(|unit| *unit >= UNIT_BYTES_MIN))
        .find(|&unit| held(1, given, unit) <= half);
    with(1, given, unit.unwrap_or(UNIT_BYTES_MIN))
}

/// Between files two slots more than hands are enough: chunks end almost in order. A pipe at either end is read ahead and
/// written behind, so that it and the hands do not wait for each other: twice as many, and two.
fn slots_wanted(width: usize, ends: Ends) -> usize {
    if ends.are_files() { width + 2 } else { 2 * width + 2 }
}
