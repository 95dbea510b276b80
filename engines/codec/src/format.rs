//! What a compression format is to this engine: facts, how its input is cut, how a unit is encoded and decoded.
//!
//! A *unit* is what the format calls member or frame: a part of the compressed file that is decoded by itself. A new format
//! implements [`Format`] and gets a line in `registry`; nothing else knows it by name.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::filter_chain::FilterChain;
use crate::origin::Origin;
use crate::reading::StreamReading;
use crate::running_check::{RunningCheck, TrailerClaim};
use crate::zstd_tuning::ZstdTuning;
use crew::measures::DividedTurns;
use crew::pipeline::{CutTurn, Pause};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// What is fixed about a format.
#[derive(Debug)]
pub struct FormatFacts {
    /// Short name: the value of `--format`.
    pub name: &'static str,
    /// Name of the tool that made it known, as a second name of the format.
    pub tool: &'static str,
    /// File name suffixes, ours first, each with what replaces it when decompressing (`.tgz` becomes `.tar`).
    pub suffixes: &'static [(&'static str, &'static str)],
    /// `member` or `frame`.
    pub unit_name: &'static str,
    /// Levels that may be asked for.
    pub levels: RangeInclusive<i32>,
    /// Levels beyond this one need `--ultra`.
    pub level_before_ultra: i32,
    /// Level when none is given.
    pub default_level: i32,
    /// Level of `--best`.
    pub best_level: i32,
    /// Name of the check that every unit carries.
    pub check: &'static str,
}

/// How a lane is to be encoded.
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// Effort, inside [`FormatFacts::levels`].
    pub level: i32,
    /// Search longer for a little less, where the format has such a mode (xz).
    pub is_extreme: bool,
    /// The check that units carry, where the format has a choice (xz) and it was asked for.
    pub check: Option<CheckName>,
    /// How the output is divided into units.
    pub layout: UnitLayout,
    /// End units where the content says so, not at fixed lengths: see `content_borders`.
    pub is_rsyncable: bool,
    /// Bytes before the data that they may refer to: the same must be given when decoding (zst, lz4).
    pub dictionary: Option<&'static [u8]>,
    /// Binary logarithm of the match window, where the format has a choice and it was asked for.
    pub window_log: Option<u32>,
    /// The farthest that matches may reach, where the format has a choice of any (xz): less than the level's own takes less memory.
    pub reach_bytes: Option<u32>,
    /// Whether units leave out which dictionary they need (zst).
    pub hides_dictionary: bool,
    /// How frames are made beyond their level (zst).
    pub zst: ZstdTuning,
    /// Threads that a library may start by itself, where one unit is all there is ([`UnitLayout::SingleUnit`]).
    pub library_threads: u32,
    /// Filters and blocks of formats that have them (xz, lzma, raw).
    pub blocks: BlockOptions,
}

/// Filters, and where blocks end, where the format's own choice is not wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockOptions {
    /// Instead of the level's filter.
    pub chain: Option<FilterChain>,
    /// Uncompressed bytes of a block at most.
    pub most_bytes: Option<u64>,
    /// The first blocks; the last of them is repeated.
    pub list: Option<&'static [ListedBlock]>,
    /// A block of a pipe ends when nothing has come for so long.
    pub flush_after: Option<Duration>,
}

impl BlockOptions {
    /// All chains in use, each with its place in the list. `usual` is that of blocks without one of their own, if there are any.
    pub fn chains(&self, usual: FilterChain) -> impl Iterator<Item = (Option<usize>, FilterChain)> {
        let list = self.list.unwrap_or(&[]);
        let is_usual_used = list.is_empty() || list.iter().any(|block| block.chain.is_none());
        let listed = list.iter().enumerate().filter_map(|(at, block)| block.chain.map(|chain| (Some(at), chain)));
        is_usual_used.then_some((None, usual)).into_iter().chain(listed)
    }
}

/// A block that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedBlock {
    /// Uncompressed bytes: more than the format's blocks have become several.
    pub bytes: u64,
    /// Its filters, if they are its own.
    pub chain: Option<FilterChain>,
}

impl EncodeOptions {
    /// Of a level and a layout, everything else as the format does it by itself, on one core a unit.
    pub fn new(level: i32, layout: UnitLayout) -> Self {
        Self {
            level,
            is_extreme: false,
            check: None,
            layout,
            is_rsyncable: false,
            dictionary: None,
            window_log: None,
            reach_bytes: None,
            hides_dictionary: false,
            zst: ZstdTuning::default(),
            library_threads: 1,
            blocks: BlockOptions::default(),
        }
    }
}

/// A check that a format may offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckName {
    /// None at all.
    None,
    /// 32 bits: what small decoders (kernels, boot loaders) know.
    Crc32,
    /// 64 bits.
    Crc64,
    /// A hash.
    Sha256,
}

/// How compressed output is divided into units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitLayout {
    /// Units that can be found and decoded in parallel: gz members with their length, zst frames with a seek table.
    #[default]
    ParallelUnits,
    /// BGZF: gz members of at most 64 KiB, as genome tools want them.
    Bgzf,
    /// One unit for the whole input.
    SingleUnit,
    /// lz4's format before frames: blocks of 8 MiB without a check.
    LegacyBlocks,
}

/// What may be held in memory for one unit while decoding; larger units are decoded as a stream instead.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// Largest uncompressed size of a unit that one worker decodes as a whole.
    pub unit_uncompressed_bytes: u64,
    /// The most that a worker may hold of such a unit in all: compressed, uncompressed, and what its decoder refers to. Asked where one unit may differ much from
    /// another in that (xz).
    pub unit_held_bytes: u64,
    /// Largest window that a stream may ask for.
    pub window_bytes: u64,
    /// The dictionary that frames may refer to (zst, lz4).
    pub dictionary: Option<&'static [u8]>,
    /// Bytes that each frame may refer to as if they stood right before its content: patches (zst).
    pub prefix: Option<&'static [u8]>,
    /// What a decoder of a stream may hold.
    pub stream_bytes: u64,
    /// What may be held of what is decoded ahead of a stream's turn, where that is large (gz).
    pub ahead_bytes: u64,
    /// Whether a long unit that is the only one of a file is decoded as a stream, so that it is written meanwhile.
    pub streams_lone_unit: bool,
}

/// A format.
pub trait Format: Send + Sync {
    /// What is fixed about it.
    fn facts(&self) -> &'static FormatFacts;
    /// Whether a file that begins with `head` is in this format.
    fn recognises(&self, head: &[u8]) -> bool;
    /// Whether a unit as we write it begins anywhere in these bytes. Files of many units need the question: one whose first
    /// bytes are damaged looks like garbage behind the last, but for the units that follow it.
    fn begins_in(&self, _bytes: &[u8]) -> bool {
        false
    }
    /// Whether frames for somebody else may stand between its units.
    fn skips_frames(&self) -> bool {
        false
    }
    /// Whether it is written here, or only read.
    fn can_encode(&self) -> bool {
        true
    }
    /// Uncompressed bytes in one unit, depending on nothing but the options: output never depends on the number of cores.
    fn chunk_bytes(&self, options: &EncodeOptions) -> usize;
    /// Largest compressed size of a unit of `plain_bytes`.
    fn compressed_bound(&self, plain_bytes: usize) -> usize;
    /// What an encoder holds beside its chunk.
    fn encoder_bytes(&self, options: &EncodeOptions) -> u64;
    /// What a decoder of whole units holds beside its unit, of at most `unit_uncompressed_bytes`.
    fn decoder_bytes(&self, unit_uncompressed_bytes: u64) -> u64;
    /// An encoder of whole units, one for each worker.
    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError>;
    /// Whether units may be encoded segment by segment, by [`Format::unit_encoder`], which keeps what it refers to: the uncompressed bytes need not be held.
    fn takes_segments(&self) -> bool {
        false
    }
    /// An encoder of one unit of `plain_bytes`, more than none, that makes of its segments what [`Format::encoder`] makes of the whole.
    fn unit_encoder(
        &self,
        _options: &EncodeOptions,
        _uncompressed_bytes: usize,
    ) -> Result<Box<dyn StreamEncoder>, CodecError> {
        Err(CodecError::Library { library: self.facts().name, message: "its units are taken whole".to_owned() })
    }
    /// An encoder of one endless unit, for [`UnitLayout::SingleUnit`]; `None` where the format has no such layout here.
    fn stream_encoder(&self, _options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError> {
        Ok(None)
    }
    /// Whether units that were written one behind another into several files are, without those files' tails, the units of one file.
    fn joins_parts(&self) -> bool {
        false
    }
    /// What follows the last unit.
    fn tail(&self, options: &EncodeOptions) -> Box<dyn Tail>;
    /// Bytes at the end of each encoded unit that its [`Tail`] alone needs: they are not written.
    fn note_bytes(&self) -> usize {
        0
    }
    /// The bytes before the first unit of a file of which something is known.
    fn head_of(&self, options: &EncodeOptions, _origin: Option<&Origin>) -> Vec<u8> {
        self.head(options)
    }
    /// What stands before the first unit; nothing in most formats.
    fn head(&self, _options: &EncodeOptions) -> Vec<u8> {
        Vec::new()
    }
    /// Makes the file's first unit tell of the uncompressed file; does nothing where the format has no room for it.
    fn tell_origin(&self, _origin: &Origin, _first_unit: &mut ByteBuffer) {}
    /// Bytes for somebody else, wrapped so that every decoder of the format steps over them; `None` where it has no such place.
    fn aside(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
    /// What [`Format::aside`] has wrapped; `None` where `compressed` is not wholly that.
    fn open_aside(&self, _compressed: &[u8]) -> Option<Vec<u8>> {
        None
    }
    /// Bytes of what follows the last unit and everything aside, as the file's last bytes tell them.
    fn tail_bytes(&self, _end: &[u8]) -> u64 {
        0
    }
    /// A cutter for one compressed input.
    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter>;
    /// The same, where more is asked for.
    fn cutter_as(&self, limits: &DecodeLimits, _reading: &StreamReading) -> Box<dyn Cutter> {
        self.cutter(limits)
    }
    /// A decoder of whole units, one for each worker.
    fn decoder(&self, limits: &DecodeLimits) -> Box<dyn Decoder>;

    /// A decoder of everything from the unit with these parameters on, for a file in which cutting was misled: by data
    /// that look like a border. `is_handed_on` says that the unit's own bytes are out already. `None` where cutting
    /// cannot be misled.
    fn in_series(&self, _parameters: u64, _is_handed_on: bool) -> Option<Box<dyn StreamDecoder>> {
        None
    }
}

/// Encodes whole units.
pub trait Encoder: Send {
    /// Encodes `uncompressed` as one unit into `compressed`, which is overwritten. Comes to a yield point every 50 ms or sooner, as far as the format's library
    /// can be left in the middle of a unit: `engines/codec/README.md` says where it cannot.
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError>;

    /// Goes on at another level, where that is cheaper than a new encoder; false where a new one is needed.
    fn set_level(&mut self, _level: i32) -> Result<bool, CodecError> {
        Ok(false)
    }
}

/// Encodes one unit segment by segment.
pub trait StreamEncoder: Send {
    /// Takes `uncompressed` in and appends what came out to `compressed`, which is empty when the unit begins; `ends` finishes it. Comes to yield points as
    /// [`Encoder::encode`] does.
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError>;

    /// Appends what a reader needs to decode all bytes so far. Only formats with a flush timeout are asked.
    fn flush(&mut self, _compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        Ok(())
    }
}

/// Learns the sizes of all units in order and writes what follows the last one.
pub trait Tail: Send {
    /// The bytes before the first unit were put in their place.
    fn head(&mut self, _head: &[u8]) {}
    /// A unit was put in its place, with the note behind it where the format has one.
    fn unit(&mut self, compressed: &[u8], plain_bytes: u64);
    /// The bytes after the last unit.
    fn finish(&mut self) -> Vec<u8>;
    /// The length of a tail behind so many units.
    fn bytes_behind(&self, _units: u64) -> u64 {
        0
    }
    /// All units of another file were put in their place, without `tail`, which stood behind them; false if it is none of theirs. Only formats whose
    /// parts can be joined are asked.
    fn take_up(&mut self, tail: &[u8], _compressed_bytes: u64, _uncompressed_bytes: u64) -> bool {
        tail.is_empty()
    }
}

/// A tail that is the same whatever the units are.
#[derive(Debug, Default)]
pub struct FixedTail(pub Vec<u8>);

impl Tail for FixedTail {
    fn unit(&mut self, _compressed: &[u8], _uncompressed_bytes: u64) {}

    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    fn bytes_behind(&self, _units: u64) -> u64 {
        self.0.len() as u64
    }

    fn take_up(&mut self, tail: &[u8], _compressed_bytes: u64, _uncompressed_bytes: u64) -> bool {
        tail == self.0
    }
}

/// Finds the units of a compressed input.
pub trait Cutter: Send {
    /// Looks at what stands at the reader's position, without moving past a unit.
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError>;
    /// Name of the check that the units so far carry, where files of the format differ; `none` where not all have one.
    fn check(&self) -> Option<&'static str> {
        None
    }
    /// Skippable frames so far.
    fn skipped(&self) -> u64 {
        0
    }
    /// What is odd about what was met so far, where it can be decoded all the same.
    fn remark(&self) -> Option<Remark> {
        None
    }
    /// What the headers of the unit before tell, for lists.
    fn detail(&self) -> Detail {
        Detail::default()
    }
}

/// Something odd about a file that can be worked on all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Its units carry a check that is not known here, and so are not verified.
    UnknownCheck,
    /// Its header has flags that are not known here.
    UnknownFlags(u8),
    /// Its time has no place in the compressed file.
    TimeOutOfRange,
    /// It ended before the size that it tells.
    EndsEarly,
}

/// What the headers of a unit tell besides lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// How far back its data may refer.
    pub window_bytes: u64,
    /// The dictionary that it needs; 0 where none is told.
    pub dictionary: u32,
    /// The check behind it, as it is stored.
    pub checksum: Option<[u8; 4]>,
}

/// What stands at the reader's position.
pub enum NextUnit {
    /// A unit that a worker can decode by itself.
    Unit(UnitPlace),
    /// A unit that only decoding will find the end of, with its decoder.
    Stream(Box<dyn StreamDecoder>),
    /// Bytes that carry no data: skippable frames, padding.
    Padding {
        /// How many.
        bytes: u64,
    },
    /// Zero bytes up to the end of the input, as tapes have them.
    Zeros {
        /// How many.
        bytes: u64,
    },
    /// The end of a check over the units before it.
    Check {
        /// Its compressed size.
        bytes: u64,
        /// What it claims of the units' uncompressed data.
        claim: Option<TrailerClaim>,
    },
    /// The end of the input.
    End,
}

/// A unit whose extent is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitPlace {
    /// Its compressed size, header and check included: the next one begins there.
    pub packed_bytes: u64,
    /// Bytes behind those that it needs too: 1 where it ends inside a byte that the next one begins in.
    pub shared_bytes: usize,
    /// Its uncompressed size, as headers claim.
    pub uncompressed: UncompressedSize,
    /// What its decoder must know of bytes that stand before it; each format packs its own.
    pub parameters: u64,
    /// Whether its uncompressed bytes belong to a check that runs over several units, up to [`NextUnit::Check`].
    pub is_checked_later: bool,
}

impl UnitPlace {
    /// A unit that holds all that its decoder needs.
    pub fn whole(packed_bytes: u64, uncompressed: UncompressedSize) -> Self {
        Self { packed_bytes, shared_bytes: 0, uncompressed, parameters: 0, is_checked_later: false }
    }
}

/// What is known of a unit's uncompressed size before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncompressedSize {
    /// A header tells it.
    Known(u64),
    /// The format bounds it.
    AtMost(u64),
    /// Only decoding tells.
    Unknown,
}

impl UncompressedSize {
    /// The most that it can be, where anything bounds it.
    pub fn bound(self) -> Option<u64> {
        match self {
            Self::Known(bytes) | Self::AtMost(bytes) => Some(bytes),
            Self::Unknown => None,
        }
    }
}

/// Whether the decoder of a stream may hold `need_bytes`.
pub fn check_stream_bytes(need_bytes: u64, limits: &DecodeLimits) -> Result<(), UnitDefect> {
    let allowed_bytes = limits.stream_bytes;
    if need_bytes > allowed_bytes { Err(UnitDefect::Memory { need_bytes, allowed_bytes }) } else { Ok(()) }
}

/// Why cutting or stream decoding stopped.
#[derive(Debug)]
pub enum CutError {
    /// Reading failed.
    Read(io::Error),
    /// The unit at the reader's position is damaged.
    Defect(UnitDefect),
    /// What follows the last unit is no unit.
    Garbage,
    /// Further entries of an archive follow the one that is read.
    FurtherEntries,
}

impl From<io::Error> for CutError {
    fn from(cause: io::Error) -> Self {
        Self::Read(cause)
    }
}

impl From<UnitDefect> for CutError {
    fn from(defect: UnitDefect) -> Self {
        Self::Defect(defect)
    }
}

/// Decodes whole units.
pub trait Decoder: Send {
    /// Decodes the unit `compressed` and adds it to `uncompressed`; checks its checksum and both lengths. `uncompressed_limit` bounds what
    /// it may add, whatever the unit claims; `parameters` are those of its [`UnitPlace`]. Comes to yield points as [`Encoder::encode`] does.
    fn decode(
        &mut self,
        compressed: &[u8],
        parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect>;
}

/// Work that is left to do to a segment: it puts the content into the buffer.
pub type SegmentRest = Box<dyn FnOnce(&mut ByteBuffer) + Send>;

/// Work on a unit that is decoded as a stream, for threads that have nothing more urgent to do.
pub trait AheadOfStream: Send + Sync {
    /// Whether there is some now: quick.
    fn has_work(&self) -> bool;
    /// Does a piece of it, of some milliseconds at most.
    fn work(&self);
    /// Whether the stream has ended.
    fn is_over(&self) -> bool;
}

/// Decodes one unit segment by segment, in order.
pub trait StreamDecoder: Send {
    /// The check to be computed beside the decoding, for the claim in [`SegmentFill::Last`].
    fn running_check(&self) -> RunningCheck {
        RunningCheck::None
    }

    /// What other threads may do ahead of it, where there is something.
    fn ahead(&self) -> Option<Arc<dyn AheadOfStream>> {
        None
    }

    /// How its turns would be divided among more hands, where it is long enough for that.
    fn divided_turns(&self) -> Option<DividedTurns> {
        None
    }

    /// Units that it has gone through, where it goes through several: for messages.
    fn units_behind(&self) -> u64 {
        0
    }

    /// What any thread may do to complete the segment that was made just now, where something is left. The segment is empty before it.
    fn rest(&mut self) -> Option<SegmentRest> {
        None
    }

    /// Fills `uncompressed` (which is empty) with about `segment_bytes` of the unit, reading as it needs. A pipe that has nothing
    /// more at hand ends the segment early, so that what has arrived is passed on.
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError>;
}

/// What a segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentFill {
    /// More segments of this unit follow.
    More,
    /// The unit's last segment. What its trailer claims, where the check is left to be computed beside the decoding.
    Last(Option<TrailerClaim>),
}
