//! What a compression format is to this engine: facts, how its input is cut, how a unit is encoded and decoded.
//!
//! A *unit* is what the format calls member or frame: a part of the packed file that is decoded by itself. A new format
//! implements [`Format`] and gets a line in `registry`; nothing else knows it by name.

use crate::byte_buffer::ByteBuffer;
use crate::error::{CodecError, Defect};
use crate::packed_reader::PackedReader;
use crew::pipeline::Turn;
use std::io;
use std::ops::RangeInclusive;

/// What is fixed about a format.
#[derive(Debug)]
pub struct Facts {
    /// Short name: the value of `--format`.
    pub name: &'static str,
    /// File name endings, ours first, each with what replaces it when decompressing (`.tgz` becomes `.tar`).
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
    /// Effort, inside [`Facts::levels`].
    pub level: i32,
    /// How the output is divided into units.
    pub layout: Layout,
    /// Binary logarithm of the match window, where the format has a choice and it was asked for.
    pub window_log: Option<u32>,
    /// Threads that a library may start by itself, where one unit is all there is ([`Layout::SingleUnit`]).
    pub library_threads: u32,
}

/// How packed output is divided into units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Units that can be found and decoded in parallel: gz members with their length, zst frames with a seek table.
    #[default]
    ParallelUnits,
    /// BGZF: gz members of at most 64 KiB, as genome tools want them.
    Bgzf,
    /// One unit for the whole input.
    SingleUnit,
}

/// What may be held in memory for one unit while decoding; larger units are decoded as a stream instead.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// Largest plain size of a unit that one worker decodes as a whole.
    pub unit_plain_bytes: u64,
    /// Largest window that a stream may ask for.
    pub window_bytes: u64,
}

/// A format.
pub trait Format: Send + Sync {
    /// What is fixed about it.
    fn facts(&self) -> &'static Facts;
    /// Whether a file that begins with `head` is in this format.
    fn recognises(&self, head: &[u8]) -> bool;
    /// Plain bytes in one unit, depending on nothing but the options: output never depends on the number of cores.
    fn chunk_bytes(&self, options: &EncodeOptions) -> usize;
    /// Largest packed size of a unit of `plain_bytes`.
    fn packed_bound(&self, plain_bytes: usize) -> usize;
    /// An encoder of whole units, one for each worker.
    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError>;
    /// An encoder of one endless unit, for [`Layout::SingleUnit`]; `None` where the format has no such layout here.
    fn stream_encoder(&self, options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError>;
    /// What follows the last unit.
    fn tail(&self, options: &EncodeOptions) -> Box<dyn Tail>;
    /// A cutter for one packed input.
    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter>;
    /// A decoder of whole units, one for each worker.
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Encodes whole units.
pub trait Encoder: Send {
    /// Encodes `plain` as one unit into `packed`, which is overwritten.
    fn encode(&mut self, plain: &[u8], packed: &mut ByteBuffer) -> Result<(), CodecError>;

    /// Goes on at another level, where that is cheaper than a new encoder; false where a new one is needed.
    fn set_level(&mut self, _level: i32) -> Result<bool, CodecError> {
        Ok(false)
    }
}

/// Encodes one unit piece by piece.
pub trait StreamEncoder: Send {
    /// Takes `plain` in and appends what came out to `packed`; `ends` finishes the unit.
    fn encode(&mut self, plain: &[u8], ends: bool, packed: &mut ByteBuffer) -> Result<(), CodecError>;
}

/// Learns the sizes of all units in order and writes what follows the last one.
pub trait Tail: Send {
    /// A unit was put in its place.
    fn unit(&mut self, packed_bytes: u64, plain_bytes: u64);
    /// The bytes after the last unit.
    fn finish(&mut self) -> Vec<u8>;
}

/// Finds the units of a packed input.
pub trait Cutter: Send {
    /// Looks at what stands at the reader's position, without moving past a unit.
    fn next(&mut self, input: &mut PackedReader) -> Result<Next, CutError>;
}

/// What stands at the reader's position.
pub enum Next {
    /// A unit that a worker can decode by itself.
    Unit(UnitPlace),
    /// A unit that only decoding will find the end of, with its decoder.
    Stream(Box<dyn StreamDecoder>),
    /// Bytes that carry no data: skippable frames, padding.
    Padding {
        /// How many.
        bytes: u64,
    },
    /// The end of the input.
    End,
}

/// A unit whose extent is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitPlace {
    /// Its packed size, header and check included.
    pub packed_bytes: u64,
    /// Its plain size where the header tells; a claim until it is decoded.
    pub plain_bytes: Option<u64>,
}

/// Why cutting or stream decoding stopped.
#[derive(Debug)]
pub enum CutError {
    /// Reading failed.
    Read(io::Error),
    /// The unit at the reader's position is damaged.
    Defect(Defect),
    /// What follows the last unit is no unit.
    Garbage,
}

impl From<io::Error> for CutError {
    fn from(cause: io::Error) -> Self {
        Self::Read(cause)
    }
}

impl From<Defect> for CutError {
    fn from(defect: Defect) -> Self {
        Self::Defect(defect)
    }
}

/// Decodes whole units.
pub trait Decoder: Send {
    /// Decodes the unit `packed` and adds it to `plain`; checks its checksum and both lengths. `plain_limit` bounds what
    /// it may add, whatever the unit claims.
    fn decode(&mut self, packed: &[u8], plain_limit: u64, plain: &mut ByteBuffer) -> Result<(), Defect>;
}

/// Decodes one unit piece by piece, in order.
pub trait StreamDecoder: Send {
    /// Fills `plain` (which is empty) with about `piece_bytes` of the unit, reading as it needs. A pipe that has nothing
    /// more at hand ends the piece early, so that what has arrived is passed on.
    fn fill(
        &mut self,
        input: &mut PackedReader,
        plain: &mut ByteBuffer,
        piece_bytes: usize,
        turn: &mut Turn<'_>,
    ) -> Result<Filled, CutError>;
}

/// What a piece was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// More pieces of this unit follow.
    More,
    /// The unit's last piece. What its trailer claims, where the check is left to be computed beside the decoding.
    Last(Option<Claim>),
}

/// A trailer's claim about a unit's plain data, to be compared with the combined checks of its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// CRC-32 (ISO-HDLC, RFC 1952).
    pub crc32: u32,
    /// Plain length modulo 2^32 (RFC 1952, ISIZE).
    pub length_modulo: u32,
}
