//! Frames of the slow levels, compressed by libzstd block by block, with a yield point behind each; byte for byte what it makes of a frame in one call.
//! For that the blocks must end where the library ends them (`ZSTD_optimalBlockSize` and `ZSTD_splitBlock` of libzstd 1.5.7), which is found here once more.
//! Costs 0.1 ms for a block that takes 10 ms and more.

use super::container::{BLOCK_BYTES_MAX, parse_frame_header};
use super::kernel::{SteppedFrames, Stepper, is_library_known, library_parameters};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{EncodeOptions, UnitLayout};
use crew::pipeline::Pause;

/// LIMIT: levels below have frames that take less than a second, and the borders would cost more than a hundredth.
const LEVEL_MIN: i32 = 13;

/// The library ends no block inside less.
const BLOCK_BYTES: usize = BLOCK_BYTES_MAX as usize;

/// Whether chunks are compressed so.
pub(super) fn are_for(options: &EncodeOptions) -> bool {
    options.level >= LEVEL_MIN
        && is_library_known()
        && options.layout == UnitLayout::ParallelUnits
        && options.dictionary.is_none()
        && options.zst.is_usual()
        // Smaller windows have smaller blocks.
        && options.window_log.is_none_or(|log| 1_usize << log.min(31) >= BLOCK_BYTES)
}

/// Packs frames.
pub(super) struct SteppedEncoder {
    stepper: Stepper,
    level: i32,
}

impl SteppedEncoder {
    pub fn new(options: &EncodeOptions) -> Result<Self, CodecError> {
        let usual = super::encode::frame_bytes(options.level).ilog2();
        let frames = SteppedFrames {
            level: options.level,
            window_log: options.window_log.unwrap_or(usual),
            has_long_matches: options.window_log.is_some(),
            has_checksum: !options.zst.leaves_out_checksum,
        };
        Ok(Self { stepper: Stepper::new(&frames)?, level: options.level })
    }

    pub fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        let mut borders = Borders::new(strategy(self.level, uncompressed.len()));
        let room = compressed.room(zstd_safe::compress_bound(uncompressed.len()));
        let size = self.stepper.frame(uncompressed, room, |at, compressed| {
            if at > 0 {
                pause.point();
            }
            // What the frame's header takes does not count.
            let header_bytes = parse_frame_header(compressed).ok().flatten().map_or(0, |header| header.bytes);
            borders
                .next(&uncompressed[at..], at as i64 - (compressed.len() - header_bytes.min(compressed.len())) as i64)
        })?;
        compressed.grow(size);
        Ok(())
    }
}

/// How thoroughly the library searches frames of `plain_bytes` at `level`: its `ZSTD_strategy`, 1 to 9.
fn strategy(level: i32, plain_bytes: usize) -> u32 {
    library_parameters(level, Some(plain_bytes as u64), 0).strategy as u32
}

/// Bytes whose pairs are counted together.
const PART_BYTES: usize = 8 << 10;

const HASH_LOG: u32 = 10;

/// Pairs of bytes, counted by their hash.
struct Fingerprint {
    counts: [u32; 1 << HASH_LOG],
    all: u64,
}

impl Fingerprint {
    fn new() -> Self {
        Self { counts: [0; 1 << HASH_LOG], all: 0 }
    }

    /// Of a part, of which every `rate`th pair is looked at.
    fn record(&mut self, part: &[u8], rate: usize) {
        self.counts.fill(0);
        for pair in part.windows(2).step_by(rate) {
            let pair = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
            self.counts[(pair.wrapping_mul(0x9e37_79b9) >> (u32::BITS - HASH_LOG)) as usize] += 1;
        }
        self.all = ((part.len() - 1) / rate) as u64;
    }

    fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
        self.all += other.all;
    }

    /// Whether `other` is so far from this that it belongs into a block of its own. Each part that was alike makes the next one easier to part from.
    fn is_far_from(&self, other: &Self, penalty: u64) -> bool {
        let distance =
            |(mine, theirs): (&u32, &u32)| (u64::from(*mine) * other.all).abs_diff(u64::from(*theirs) * self.all);
        let deviation: u64 = self.counts.iter().zip(&other.counts).map(distance).sum();
        deviation >= self.all * other.all * (14 + penalty) / 16
    }
}

/// Where blocks end.
struct Borders {
    /// Of how many pairs one is looked at.
    rate: usize,
    past: Fingerprint,
    new: Fingerprint,
}

impl Borders {
    fn new(strategy: u32) -> Self {
        // `splitLevels` and `records_fs`; those below 5 are no strategies of these levels.
        let rate = if strategy >= 7 { 1 } else { 5 };
        Self { rate, past: Fingerprint::new(), new: Fingerprint::new() }
    }

    /// Length of the block that `rest` begins with, where what came before has become shorter by `savings`.
    fn next(&mut self, rest: &[u8], savings: i64) -> usize {
        if rest.len() < BLOCK_BYTES || savings < 3 {
            return rest.len().min(BLOCK_BYTES);
        }
        let mut parts = rest[..BLOCK_BYTES].chunks(PART_BYTES).enumerate();
        if let Some((_, first)) = parts.next() {
            self.past.record(first, self.rate);
        }
        for (number, part) in parts {
            self.new.record(part, self.rate);
            if self.past.is_far_from(&self.new, 4_u64.saturating_sub(number as u64)) {
                return number * PART_BYTES;
            }
            self.past.merge(&self.new);
        }
        BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::zstd::encode::in_one_call;
    use crate::zstd_tuning::ZstdTuning;

    /// Bytes whose kind changes at places that are no borders of blocks.
    fn of_many_kinds(bytes: usize) -> Vec<u8> {
        let mut uncompressed = Vec::with_capacity(bytes);
        for (seed, length) in [70_000, 300_001, 9000, 20_000, 131_072, 50_000, 1, 8192].into_iter().cycle().enumerate()
        {
            uncompressed.extend(match seed % 4 {
                0 => testkit::data::text(length, seed as u64),
                1 => testkit::data::mixed(length, seed as u64),
                2 => testkit::data::random(length, seed as u64),
                _ => vec![seed as u8; length],
            });
            if uncompressed.len() >= bytes {
                uncompressed.truncate(bytes);
                break;
            }
        }
        uncompressed
    }

    /// Packs both ways; a level's context is made once each.
    fn check(level: i32, window_log: Option<u32>, chunks: &[&[u8]]) {
        let options = EncodeOptions { window_log, ..EncodeOptions::new(level, UnitLayout::ParallelUnits) };
        assert!(are_for(&options));
        let mut stepped = SteppedEncoder::new(&options).expect("memory");
        for uncompressed in chunks {
            let (mut compressed, mut points) = (ByteBuffer::default(), 0);
            let mut count = || {
                points += 1;
                false
            };
            stepped
                .encode(uncompressed, &mut compressed, &mut Pause::at_each(&mut count))
                .expect("any bytes can be packed");
            let bytes = uncompressed.len();
            assert!(
                compressed.content() == in_one_call(uncompressed, &options),
                "{bytes} bytes, -{level} {window_log:?}"
            );
            assert!(points >= bytes.saturating_sub(1) / BLOCK_BYTES, "{points} yield points in {bytes} bytes");
        }
    }

    #[test]
    fn a_frame_in_steps_is_the_frame_of_one_call() {
        let uncompressed = of_many_kinds(800_000);
        let random = testkit::data::random(300_000, 3);
        let half = [&testkit::data::random(200_000, 4)[..], &uncompressed[..200_000]].concat();
        let cut =
            [0, 1, 5000, 131_071, 131_072, 131_073, 262_144, uncompressed.len()].map(|bytes| &uncompressed[..bytes]);
        check(13, None, &[&cut[..], &[&random, &half]].concat());
        check(13, Some(17), &[&uncompressed]);
        check(16, Some(24), &[&uncompressed[..400_000]]);
        check(19, None, &[&uncompressed[..500_000], &uncompressed[100_000..]]);
        check(22, None, &[&uncompressed[..300_000]]);
    }

    #[test]
    fn other_frames_are_compressed_in_one_call() {
        let options = EncodeOptions::new(19, UnitLayout::ParallelUnits);
        assert!(!are_for(&EncodeOptions { level: 12, ..options }));
        assert!(!are_for(&EncodeOptions { dictionary: Some(b"words that are in no chunk"), ..options }));
        assert!(!are_for(&EncodeOptions { window_log: Some(16), ..options }));
        let rows = ZstdTuning { searches_rows: Some(false), ..ZstdTuning::default() };
        assert!(!are_for(&EncodeOptions { zst: rows, ..options }));
        assert!(!are_for(&EncodeOptions { layout: UnitLayout::SingleUnit, ..options }));
    }
}
