//! Decompression as pipeline stages: units of known length go to the workers whole; a unit whose end only decoding finds is
//! decoded in the source's turn, and the workers check and write its pieces.
//! Knows no format's bytes ([`crate::format`] does) and opens nothing itself (`ends` does).

mod ahead;
mod fold;
mod group;
mod number;

use crate::admission::{AMONG_UNITS, AsItIs, BehindTheEnd, FormatAdmission, Oddities, is_among_units};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::ends::{InputEnd, OutputEnd, OutputSpot, check_not_the_same, leave_stdin_at};
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    AheadOfStream, CutError, Cutter, DecodeLimits, Decoder, Format, FormatFacts, NextUnit, Remark, SegmentFill,
    SegmentRest, StreamDecoder, UnitPlace,
};
use crate::in_series::{SeriesStart, decode_on};
use crate::lane::{Lane, LaneOutcome, SourceFate, Totals};
use crate::passing::{PassingBytes, pass};
use crate::reading::StreamReading;
use crate::registry;
use crate::running_check::{SegmentCheck, TrailerClaim};
use ahead::AheadOfStreams;
use crew::budget::Lease;
use crew::measures::{DividedTurns, Measures};
use crew::pipeline::{By, Cut, CutTurn, Executor, OpenLane, Pause, Staffing, Stages, run};
use crew::tally::Tally;
use files::staged_file::Unfinished;
use fold::{Fold, sound_bytes};
use group::UnitGroup;
use number::UnitNumber;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::at_offset::read_full_at;

/// What to do.
pub struct Decompression<'a> {
    /// The lanes.
    pub lanes: &'a [Lane],
    /// Whether all lanes go to standard output, one after another.
    pub one_output: bool,
    /// What one unit may hold.
    pub limits: DecodeLimits,
    /// What is taken for compressed data, and what is done with the rest.
    pub admission: FormatAdmission,
    /// The way streams are read.
    pub reading: StreamReading,
    /// Sees the uncompressed bytes.
    pub passing: Option<&'a PassingBytes<'a>>,
    /// Where temporary names are noted.
    pub unfinished: &'a Unfinished,
    /// Told of each lane as it ends, from any thread.
    pub on_close: &'a (dyn Fn(usize, LaneOutcome) + Sync),
    /// Uncompressed bytes that came from streams and from whole units: what the stages are called depends on it.
    pub(crate) plain_bytes: UncompressedBytes,
    /// Streams that several threads work on.
    pub(crate) ahead: AheadOfStreams,
}

#[derive(Default)]
pub(crate) struct UncompressedBytes {
    streamed: AtomicU64,
    in_units: AtomicU64,
}

impl UncompressedBytes {
    /// Most of them.
    fn are_streamed(&self) -> bool {
        self.streamed.load(Ordering::Relaxed) > self.in_units.load(Ordering::Relaxed)
    }
}

impl<'a> Decompression<'a> {
    /// Puts together what to do.
    pub fn new(
        lanes: &'a [Lane],
        one_output: bool,
        limits: DecodeLimits,
        unfinished: &'a Unfinished,
        on_close: &'a (dyn Fn(usize, LaneOutcome) + Sync),
    ) -> Self {
        let (admission, plain_bytes) = (FormatAdmission::default(), UncompressedBytes::default());
        let reading = StreamReading::default();
        let ahead = AheadOfStreams::default();
        Self { lanes, one_output, limits, admission, reading, passing: None, unfinished, on_close, plain_bytes, ahead }
    }

    /// The same with another idea of what is compressed.
    #[must_use]
    pub fn admitting(self, admission: FormatAdmission) -> Self {
        Self { admission, ..self }
    }
}

/// Decompresses all lanes.
pub fn decompress(what: &Decompression<'_>, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    let hands = if staffing.mode == Executor::Threaded { staffing.width } else { 1 };
    what.ahead.set_hands(hands);
    run(what, staffing, lease, tally)
}

/// Uncompressed bytes of a streamed unit that go through the pipeline at a time. Smaller costs hand-overs (256 KiB: 8 % on gz), larger
/// leaves the second-level cache before it is written. Chosen in docs/journal/0001-tamp-first-slice.md.
pub const SEGMENT_BYTES: usize = 1 << 20;

/// Front end of a lane.
pub struct DecompressSource {
    reader: CompressedReader,
    /// Where it began: not at 0 where standard input is a file that was read before.
    from: u64,
    found: Option<Found>,
    /// What stands at the reader's position, seen when it could not join the chunk before.
    seen: Option<NextUnit>,
    streaming: Option<(Box<dyn StreamDecoder>, UnitNumber)>,
    units: u64,
    ended: bool,
    /// Found while there was still sound data to pass on: told at the next cut.
    failed: Option<CodecError>,
    admission: FormatAdmission,
    reading: StreamReading,
    /// Of a stream that has just begun.
    ahead: Option<Arc<dyn AheadOfStream>>,
    /// Of a stream that more hands would divide.
    divided: Option<DividedTurns>,
    /// Bytes behind the last unit, which the lane ends without.
    left_unread: Option<CodecError>,
    remark: Option<Remark>,
}

/// The format that the content told, and its cutter.
struct Found {
    facts: &'static FormatFacts,
    format: &'static dyn Format,
    cutter: Box<dyn Cutter>,
}

impl Found {
    fn new(format: &'static dyn Format, limits: &DecodeLimits, reading: &StreamReading) -> Self {
        Self { facts: format.facts(), format, cutter: format.cutter_as(limits, reading) }
    }
}

/// Far end of a lane.
pub struct DecompressSink {
    lane: usize,
    output: OutputEnd,
    input: Arc<File>,
    wake: Arc<sys::wake::Wake>,
    fold: Mutex<Fold>,
}

/// A chunk: whole units to be decoded, or a segment of a stream that is decoded already.
#[derive(Default)]
pub struct DecompressChunk {
    content: Content,
    compressed: Vec<u8>,
    uncompressed: ByteBuffer,
    spot: OutputSpot,
    failure: Option<Failure>,
}

/// A defect behind the data in a chunk: told once those are written.
struct Failure {
    cause: CodecError,
    /// Uncompressed bytes of the chunk that are sound; the rest came out of a stream whose check does not fit.
    sound_bytes: usize,
    /// Where decoding may go on in series.
    series: Option<SeriesStart>,
}

#[derive(Default)]
enum Content {
    #[default]
    Nothing,
    Units {
        format: Option<&'static dyn Format>,
        /// Where the compressed bytes are to be fetched from, when `cut` only noted it.
        to_fetch: Option<(Arc<File>, u64)>,
        units: Vec<GroupedUnit>,
    },
    Segment {
        unit: UnitNumber,
        filled: SegmentFill,
        check: SegmentCheck,
        rest: Option<SegmentRest>,
    },
    /// The end of a check over the units before.
    Check {
        unit: UnitNumber,
        claim: Option<TrailerClaim>,
    },
}

/// A unit in a chunk: its compressed bytes follow those of the one before.
struct GroupedUnit {
    number: UnitNumber,
    packed_bytes: usize,
    shared_bytes: usize,
    parameters: u64,
    is_checked_later: bool,
}

/// A worker's decoder, made for the format it met first.
#[derive(Default)]
pub struct DecoderSlot {
    made: Option<(&'static str, Box<dyn Decoder>)>,
}

impl Stages for Decompression<'_> {
    type Source = DecompressSource;
    type Sink = DecompressSink;
    type Chunk = DecompressChunk;
    type Scratch = DecoderSlot;
    type Error = CodecError;

    fn new_chunk(&self) -> DecompressChunk {
        DecompressChunk::default()
    }

    fn new_scratch(&self) -> DecoderSlot {
        DecoderSlot::default()
    }

    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn lanes_share_one_sink(&self) -> bool {
        self.one_output
    }

    fn open(&self, number: usize) -> Result<OpenLane<Self>, CodecError> {
        let lane = &self.lanes[number];
        let input = InputEnd::open(&lane.input)?;
        check_not_the_same(&input, &lane.output)?;
        let output = OutputEnd::open(lane, &input, self.unfinished)?;
        let (reader, reading) = match input.extent {
            Some(extent) => (CompressedReader::file(Arc::clone(&input.file), extent.from), By::Workers),
            None => (CompressedReader::stream(Arc::clone(&input.file), Arc::clone(&input.wake)), By::OwnThread),
        };
        Ok(OpenLane {
            reading,
            writing: output.writing,
            source: DecompressSource {
                from: reader.position(),
                reader,
                found: None,
                seen: None,
                streaming: None,
                units: 0,
                ended: false,
                failed: None,
                admission: self.admission,
                reading: StreamReading { hands: self.ahead.hands(), ..self.reading },
                ahead: None,
                divided: None,
                left_unread: None,
                remark: None,
            },
            sink: DecompressSink { lane: number, output, input: input.file, wake: input.wake, fold: Mutex::default() },
        })
    }

    fn cut(
        &self,
        source: &mut DecompressSource,
        chunk: &mut DecompressChunk,
        turn: &mut CutTurn<'_>,
    ) -> Result<Cut, CodecError> {
        let from = source.reader.position();
        chunk.uncompressed.clear();
        // A slot that was freed unwritten still carries the failure of the lane that had it.
        chunk.failure = None;
        let any = source.next(&self.limits, chunk, turn)?;
        source.ahead.take().into_iter().for_each(|stream| self.ahead.begin(stream));
        source.divided.take().into_iter().for_each(|divided| self.ahead.note_divided(divided));
        let bytes = source.reader.position() - from;
        Ok(match (any, &chunk.content) {
            (false, _) => Cut::End,
            (true, Content::Units { to_fetch: Some(_), .. }) => Cut::Noted(bytes),
            (true, _) => Cut::Taken(bytes),
        })
    }

    fn can_look_ahead(&self) -> bool {
        self.ahead.has_work()
    }

    fn look_ahead(&self) {
        self.ahead.work();
    }

    fn fetch(&self, chunk: &mut DecompressChunk) -> Result<(), CodecError> {
        let Content::Units { to_fetch, units, .. } = &mut chunk.content else { return Ok(()) };
        let Some((file, offset)) = to_fetch.take() else { return Ok(()) };
        let shared_bytes = units.last().map_or(0, |unit| unit.shared_bytes);
        let bytes = units.iter().map(|unit| unit.packed_bytes).sum::<usize>() + shared_bytes;
        if chunk.compressed.len() < bytes {
            chunk.compressed.resize(bytes, 0);
        }
        let read = read_full_at(&file, &mut chunk.compressed[..bytes], offset)
            .map_err(|cause| CodecError::Read { offset, cause })?;
        if read < bytes {
            return Err(CodecError::shrank(&file, offset + bytes as u64));
        }
        Ok(())
    }

    fn work(
        &self,
        decoder: &mut DecoderSlot,
        chunk: &mut DecompressChunk,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        match &mut chunk.content {
            Content::Nothing | Content::Check { .. } => {}
            Content::Segment { check, rest, .. } => {
                rest.take().into_iter().for_each(|rest| rest(&mut chunk.uncompressed));
                check.compute(chunk.uncompressed.content());
                self.plain_bytes.streamed.fetch_add(chunk.uncompressed.len() as u64, Ordering::Relaxed);
            }
            Content::Units { format, units, .. } => {
                let format = format.expect("units have a format");
                let decoder = decoder.for_format(format, &self.limits);
                let mut at = 0;
                for unit in units {
                    let compressed = &chunk.compressed[at..at + unit.packed_bytes + unit.shared_bytes];
                    let limit = self.limits.unit_uncompressed_bytes;
                    let before = chunk.uncompressed.len();
                    let decoded = decoder.decode(compressed, unit.parameters, limit, &mut chunk.uncompressed, pause);
                    if let Err(defect) = decoded {
                        let number = unit.number;
                        let series = SeriesStart {
                            format,
                            unit: number.unit,
                            parameters: unit.parameters,
                            offset: number.offset,
                            is_handed_on: chunk.uncompressed.len() > before,
                            uncompressed_offset: chunk.uncompressed.len() as u64,
                        };
                        let (cause, series) = (number.damaged(defect), Some(series));
                        chunk.failure = Some(Failure { cause, sound_bytes: chunk.uncompressed.len(), series });
                        break;
                    }
                    at += unit.packed_bytes;
                    pause.point();
                }
                self.plain_bytes.in_units.fetch_add(chunk.uncompressed.len() as u64, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn place(&self, sink: &DecompressSink, chunk: &mut DecompressChunk) -> Result<(), CodecError> {
        let mut fold = sink.fold.lock();
        if let Some(unit) = fold.broken_in {
            // Never shown: the chunk before, which is about to be written, fails with the true cause.
            return Err(unit.damaged(UnitDefect::Truncated));
        }
        let is_confirmed = fold.check(chunk);
        let mut sound_bytes = chunk.uncompressed.len();
        if let Some(failure) = &mut chunk.failure {
            sound_bytes = failure.sound_bytes;
            if !sink.output.is_direct() {
                chunk.uncompressed.truncate(sound_bytes);
            }
            fold.broken_in = Some(UnitNumber { unit_name: "unit", unit: fold.totals.units, offset: 0 });
            let in_chunk = failure.series.take();
            fold.series = in_chunk
                .map(|start| SeriesStart { uncompressed_offset: fold.offset + start.uncompressed_offset, ..start });
        }
        chunk.spot = sink.output.place(fold.offset, chunk.uncompressed.len())?;
        if is_confirmed {
            fold.confirmed = fold.offset + sound_bytes as u64;
        }
        fold.offset += chunk.uncompressed.len() as u64;
        Ok(())
    }

    fn write(&self, sink: &DecompressSink, chunk: &mut DecompressChunk) -> Result<u64, CodecError> {
        let plain_bytes = chunk.uncompressed.len() as u64;
        pass(self.passing, sink.lane, chunk.uncompressed.content());
        sink.output.hand_on(&mut chunk.uncompressed, chunk.spot)?;
        chunk.failure.take().map_or(Ok(plain_bytes), |failure| Err(failure.cause))
    }

    fn interrupt(&self, sink: &DecompressSink) {
        sink.wake.ring();
    }

    fn close(&self, lane: usize, ends: Option<(DecompressSource, DecompressSink)>, outcome: Result<(), CodecError>) {
        let mut closed = LaneOutcome::new(outcome);
        if let Some((source, sink)) = ends {
            let mut fold = sink.fold.into_inner();
            let mut position = source.reader.position();
            if let (Err(CodecError::Damaged { .. }), Some(start), Some(file)) =
                (&closed.outcome, fold.series.take(), source.reader.regular_file())
                && let Some(outcome) = decode_on(&start, file, &sink.output, &|bytes| pass(self.passing, lane, bytes))
            {
                closed.outcome = outcome.map(|end| position = end);
                fold.totals.streamed_units += 1;
                // A series compares each block's checksum before it hands on a byte.
                fold.confirmed = sink.output.written();
            }
            let bytes_in = position - source.from;
            (closed.left_unread, closed.remark) = (source.left_unread, source.remark);
            if self.admission.behind_the_end == BehindTheEnd::Told
                && let Err(garbage @ CodecError::TrailingGarbage { .. }) = closed.outcome
            {
                (closed.left_unread, closed.outcome) = (Some(garbage), Ok(()));
            }
            closed.totals = Totals { bytes_in, bytes_out: sink.output.written(), ..fold.totals };
            leave_stdin_at(&self.lanes[lane], &sink.input, position);
            let finished = match closed.outcome {
                Ok(()) => {
                    let mut committed = self.lanes[lane].clone();
                    // The archive is the only copy of its further entries.
                    if matches!(closed.left_unread, Some(CodecError::FurtherEntries { .. })) {
                        committed.source = SourceFate::Keep;
                    }
                    sink.output.commit(&committed, &sink.input)
                }
                Err(error) if self.lanes[lane].care.keeps_good && sound_bytes(&error, &fold, &sink.output) > 0 => {
                    let bytes = sound_bytes(&error, &fold, &sink.output);
                    let kept = sink.output.commit_sound_part(&self.lanes[lane], &sink.input, bytes);
                    closed.kept_bytes = kept.is_ok().then_some(bytes);
                    kept.and(Err(error))
                }
                Err(error) => sink.output.abandon(error),
            };
            closed.outcome = finished.map(|not_carried| closed.not_carried = not_carried);
        }
        (self.on_close)(lane, closed);
    }

    fn stage_names(&self) -> [&'static str; 3] {
        if self.plain_bytes.are_streamed() { ["decompress", "check", "write"] } else { ["read", "decompress", "write"] }
    }

    fn divided_turns(&self) -> Option<DividedTurns> {
        self.ahead.divided().filter(|_| self.plain_bytes.are_streamed())
    }
}

impl DecoderSlot {
    fn for_format(&mut self, format: &'static dyn Format, limits: &DecodeLimits) -> &mut Box<dyn Decoder> {
        let name = format.facts().name;
        if self.made.as_ref().is_none_or(|(made_for, _)| *made_for != name) {
            self.made = None;
        }
        &mut self.made.get_or_insert_with(|| (name, format.decoder(limits))).1
    }
}

impl DecompressSource {
    /// Fills `chunk` with what comes next. Returns whether there was anything.
    fn next(
        &mut self,
        limits: &DecodeLimits,
        chunk: &mut DecompressChunk,
        turn: &mut CutTurn<'_>,
    ) -> Result<bool, CodecError> {
        chunk.content = Content::Nothing;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut group = UnitGroup::begin(self.reader.position());
        while !self.ended && self.streaming.is_none() && group.has_room(&self.reader) {
            let next = match self.look(limits) {
                Ok(next) => next,
                Err(error) if group.units.is_empty() => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            };
            match next {
                NextUnit::Unit(place) => {
                    let format = self.found.as_ref().map(|found| found.format);
                    if !group.takes(&place, format, limits) {
                        self.seen = Some(next);
                        break;
                    }
                    group.format = format;
                    self.take_unit(&place, limits, chunk, &mut group)?;
                }
                NextUnit::Check { bytes, claim } if group.units.is_empty() => {
                    chunk.content = Content::Check { unit: self.number(), claim };
                    self.skip(bytes)?;
                    return Ok(true);
                }
                NextUnit::Stream(decoder) => {
                    self.ahead = decoder.ahead();
                    self.streaming = Some((decoder, self.number()));
                }
                // Padding between units would tear a group's bytes apart: what is gathered goes first.
                NextUnit::Padding { bytes } | NextUnit::Zeros { bytes } if group.units.is_empty() => {
                    self.skip(bytes)?;
                    group.from = self.reader.position();
                }
                NextUnit::Padding { .. } | NextUnit::Zeros { .. } | NextUnit::Check { .. } => {
                    self.seen = Some(next);
                    break;
                }
                NextUnit::End => self.ended = true,
            }
        }
        if !group.units.is_empty() {
            let to_fetch = self.reader.regular_file().map(|file| (Arc::clone(file), group.from));
            chunk.content = Content::Units { format: group.format, to_fetch, units: group.units };
            return Ok(true);
        }
        self.segment(chunk, turn)
    }

    /// Looks at what comes next, finding out the format first.
    fn look(&mut self, limits: &DecodeLimits) -> Result<NextUnit, CodecError> {
        if let Some(next) = self.seen.take() {
            return Ok(next);
        }
        if self.found.is_none() {
            let format = match self.reading.raw {
                Some(_) => Some(registry::raw()),
                None => self.admission.format(&mut self.reader)?,
            };
            let Some(format) = format else { return self.rest_as_it_is() };
            self.found = Some(Found::new(format, limits, &self.reading));
        }
        let passes_on = self.admission.behind_the_end == BehindTheEnd::PassedOn;
        if passes_on && self.units > 0 && self.is_one_byte_left()? {
            return self.rest_as_it_is();
        }
        let mut outcome = self.look_in_format();
        if matches!(outcome, Err(CutError::Garbage))
            && let Some(format) = self.admission.next_format(&mut self.reader)
        {
            self.found = Some(Found::new(format, limits, &self.reading));
            outcome = self.look_in_format();
        }
        match outcome {
            Ok(NextUnit::Zeros { .. }) | Err(CutError::Garbage) if passes_on => self.rest_as_it_is(),
            Err(CutError::Garbage) => self.behind_the_end(),
            Err(CutError::FurtherEntries) if self.admission.behind_the_end != BehindTheEnd::Refused => {
                self.left_unread = Some(CodecError::FurtherEntries { offset: self.reader.position() });
                Ok(NextUnit::End)
            }
            other => other.map_err(|error| self.number().at(error, &self.reader)),
        }
    }

    /// Asks the cutter of the format found.
    fn look_in_format(&mut self) -> Result<NextUnit, CutError> {
        let found = self.found.as_mut().expect("a format is found before its cutter is asked");
        let outcome = found.cutter.next(&mut self.reader);
        if matches!(outcome, Ok(NextUnit::Unit(_) | NextUnit::Stream(_)) | Err(CutError::Defect(_))) {
            self.units += 1;
        }
        match (found.cutter.remark(), self.admission.oddities) {
            (Some(remark), Oddities::Refused) => {
                self.units += u64::from(!matches!(
                    outcome,
                    Ok(NextUnit::Unit(_) | NextUnit::Stream(_)) | Err(CutError::Defect(_))
                ));
                return Err(remark.defect().into());
            }
            (Some(remark), Oddities::Told) => self.remark = Some(remark),
            (_, Oddities::Ignored) | (None, _) => {}
        }
        outcome
    }

    /// COMPAT: one byte is no format's beginning, whatever it is.
    fn is_one_byte_left(&mut self) -> Result<bool, CodecError> {
        let offset = self.reader.position();
        let left = self.reader.peek_at(0, &mut [0; 2]).map_err(|cause| CodecError::Read { offset, cause })?;
        Ok(left == 1)
    }

    /// All that is left is no compressed data, and is wanted.
    fn rest_as_it_is(&mut self) -> Result<NextUnit, CodecError> {
        let offset = self.reader.position();
        let is_over = self.reader.is_at_end().map_err(|cause| CodecError::Read { offset, cause })?;
        self.units += u64::from(!is_over);
        Ok(if is_over { NextUnit::End } else { NextUnit::Stream(Box::new(AsItIs)) })
    }

    /// Something that is no unit stands behind the last one.
    fn behind_the_end(&mut self) -> Result<NextUnit, CodecError> {
        let found = self.found.as_ref().expect("the units before have a format");
        let FormatFacts { name, unit_name, .. } = *found.facts;
        match self.admission.behind_the_end {
            BehindTheEnd::Told if self.units > 0 => {
                if is_among_units(found.format, &mut self.reader)? {
                    self.units += 1;
                    return Err(self.number().at(CutError::Defect(AMONG_UNITS), &self.reader));
                }
                self.left_unread = Some(self.garbage(unit_name));
                Ok(NextUnit::End)
            }
            BehindTheEnd::LeftBehind(format) if format == name && self.units > 0 => Ok(NextUnit::End),
            _ => Err(self.garbage(unit_name)),
        }
    }

    fn garbage(&self, unit_name: &'static str) -> CodecError {
        CodecError::TrailingGarbage { unit_name, unit: self.units, offset: self.reader.position() }
    }

    fn number(&self) -> UnitNumber {
        let unit_name = self.found.as_ref().map_or("unit", |found| found.facts.unit_name);
        UnitNumber { unit_name, unit: self.units, offset: self.reader.position() }
    }

    fn take_unit(
        &mut self,
        place: &UnitPlace,
        limits: &DecodeLimits,
        chunk: &mut DecompressChunk,
        group: &mut UnitGroup,
    ) -> Result<(), CodecError> {
        let number = self.number();
        let packed_bytes = usize::try_from(place.packed_bytes).expect("bounded by the limits");
        let offset = self.reader.position();
        let read_error = |cause| CodecError::Read { offset, cause };
        if self.reader.regular_file().is_some() {
            self.reader.skip(place.packed_bytes).map_err(read_error)?;
        } else {
            if group.units.is_empty() {
                chunk.compressed.clear();
            }
            // The byte that the unit before needed too stands there already.
            chunk.compressed.truncate(usize::try_from(group.packed_bytes).expect("bounded by the limits"));
            let taken = self.reader.take_into(packed_bytes, &mut chunk.compressed).map_err(read_error)?;
            if taken < packed_bytes {
                return Err(number.damaged(UnitDefect::Truncated));
            }
            let shared = self.reader.peek(place.shared_bytes, place.shared_bytes).map_err(read_error)?;
            chunk.compressed.extend_from_slice(&shared[..shared.len().min(place.shared_bytes)]);
        }
        group.add(number, place, packed_bytes, limits);
        Ok(())
    }

    fn skip(&mut self, bytes: u64) -> Result<(), CodecError> {
        let unit = self.number();
        let skipped = self.reader.skip(bytes).map_err(|cause| CodecError::Read { offset: unit.offset, cause })?;
        if skipped < bytes {
            return Err(UnitNumber { unit: unit.unit + 1, ..unit }.damaged(UnitDefect::Truncated));
        }
        Ok(())
    }

    /// The next segment of the unit that is being streamed.
    fn segment(&mut self, chunk: &mut DecompressChunk, turn: &mut CutTurn<'_>) -> Result<bool, CodecError> {
        let Some((decoder, unit)) = &mut self.streaming else { return Ok(false) };
        let unit = *unit;
        // A long unit that was here before would stay in memory beside the stream's window.
        if chunk.uncompressed.capacity() > 4 * SEGMENT_BYTES || chunk.compressed.capacity() > 4 * SEGMENT_BYTES {
            (chunk.uncompressed, chunk.compressed) = (ByteBuffer::default(), Vec::new());
        }
        let check = SegmentCheck::begin(decoder.running_check());
        let filled = match decoder.fill(&mut self.reader, &mut chunk.uncompressed, SEGMENT_BYTES, turn) {
            Ok(filled) => filled,
            Err(error) => {
                // Where it went through several, the one it is in.
                let behind = decoder.units_behind();
                let offset = if behind == 0 { unit.offset } else { self.reader.position() };
                let unit = UnitNumber { unit: unit.unit + behind, offset, ..unit };
                self.failed = Some(unit.at(error, &self.reader));
                SegmentFill::More
            }
        };
        let rest = decoder.rest();
        self.divided = decoder.divided_turns();
        if matches!(filled, SegmentFill::Last(_)) {
            self.streaming = None;
        }
        chunk.content = Content::Segment { unit, filled, check, rest };
        Ok(true)
    }
}
