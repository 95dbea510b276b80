//! Compression as pipeline stages: cut a lane into chunks, encode each as a unit, put the units in order.
//! Knows no format's bytes ([`crate::format`] does) and opens nothing itself (`ends` does).

use crate::block_borders::BlockBorders;
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::read_stream;
use crate::content_borders::first_part;
use crate::encoders::Encoders;
use crate::ends::{InputEnd, OutputEnd, OutputSpot, ReadExtent, check_not_the_same, leave_stdin_at};
use crate::error::CodecError;
use crate::filter_chain::FilterChain;
use crate::format::{BlockOptions, EncodeOptions, Format, Remark, StreamEncoder, Tail};
use crate::keep_up::{Arrival, ChunkDone, KeptUp, LevelController, LevelDecision, chunk_bytes};
use crate::lane::{Lane, LaneInput, LaneOutcome, SourceFate, Totals};
use crate::origin::{Origin, Tells};
use crate::passing::{PassingBytes, pass};
use crew::budget::Lease;
use crew::measures::Measures;
use crew::pipeline::{By, Cut, CutTurn, Fill, OpenLane, Pause, Staffing, Stages, run};
use crew::tally::Tally;
use files::staged_file::Unfinished;
use parking_lot::Mutex;
use std::fs::File;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::at_offset::read_full_at;

/// What to do.
pub struct Compression<'a> {
    /// The lanes.
    pub lanes: &'a [Lane],
    /// Whether all lanes go to standard output, one after another.
    pub one_output: bool,
    /// The format.
    pub format: &'static dyn Format,
    /// How to encode.
    pub options: EncodeOptions,
    /// Of each input, which is a file, these bytes alone; [`crate::joining`] puts such parts together.
    pub part: Option<Range<u64>>,
    /// What each compressed file tells of the uncompressed one, where its format has room for it.
    pub tells_origin: Tells,
    /// Chooses each chunk's level instead of `options`, so that a producer need not wait.
    pub keep_up: Option<&'a KeepUp>,
    /// Sees the uncompressed bytes.
    pub passing: Option<&'a PassingBytes<'a>>,
    /// Where temporary names are noted.
    pub unfinished: &'a Unfinished,
    /// Told of each lane as it ends, from any thread.
    pub on_close: &'a (dyn Fn(usize, LaneOutcome) + Sync),
}

/// The controller of a run's levels, shared by its workers, and the clock that it goes by.
pub struct KeepUp {
    controller: Mutex<LevelController>,
    begin: Instant,
}

/// Steps of niceness for workers under keep-up. More: a producer that needs the cores gets still more of them, but other programs leave
/// ours too little to keep up with anybody. Chosen in docs/journal/0002-keep-up.md.
const GIVES_WAY_BY: u8 = 5;

impl KeepUp {
    /// For the given levels, uncompressed bytes in a chunk, and staffing.
    pub fn new(levels: RangeInclusive<i32>, chunk_bytes: usize, staffing: &Staffing) -> Self {
        let controller = LevelController::new(levels, chunk_bytes, staffing.width, staffing.slots.given);
        Self { controller: Mutex::new(controller), begin: Instant::now() }
    }

    /// What came of it.
    pub fn kept(&self) -> KeptUp {
        self.with(|controller, _| controller.kept())
    }

    fn with<T>(&self, tell: impl FnOnce(&mut LevelController, u64) -> T) -> T {
        let now_ns = nanoseconds(self.begin.elapsed());
        tell(&mut self.controller.lock(), now_ns)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    // LIMIT: u64 nanoseconds hold 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Compresses all lanes.
pub fn compress(what: &Compression<'_>, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    run(what, staffing, lease, tally)
}

/// Bytes that one slot may hold at most: uncompressed and compressed side by side.
pub fn slot_bytes(format: &dyn Format, chunk_bytes: usize) -> u64 {
    (chunk_bytes + format.compressed_bound(chunk_bytes)) as u64
}

/// Front end of a lane.
pub struct CompressSource {
    file: Arc<File>,
    /// Where it began: not at 0 where standard input is a file that was read before.
    began: u64,
    /// Bytes behind its end are not read.
    is_part: bool,
    reading: Reading,
    wake: Arc<sys::wake::Wake>,
    any_chunk: bool,
    ended: bool,
    /// Set where a chunk was shorter than the file's size promised: nothing behind it is read.
    ends_early: Arc<AtomicBool>,
    /// It held less than its size promised, as far as the cut has read it itself.
    is_short: bool,
    /// Its last unit ended because nothing came for a while.
    is_flushed: bool,
    /// Read from a stream, and to come again.
    given_back: Vec<u8>,
    /// The sizes of its units.
    borders: BlockBorders,
    /// A unit of a pipe ends when nothing has come for so long.
    flush_after: Option<Duration>,
    /// Encodes the whole lane as one unit, in order.
    one_unit: Option<Box<dyn StreamEncoder>>,
    /// When the chunk before was complete: from then on we could have read on.
    read_until: Option<Instant>,
}

enum Reading {
    /// The next offset, and where the file ended when it was opened.
    AtOffsets(ReadExtent),
    Stream {
        position: u64,
    },
}

/// Far end of a lane.
pub struct CompressSink {
    lane: usize,
    output: OutputEnd,
    input: Arc<File>,
    wake: Arc<sys::wake::Wake>,
    ends_early: Arc<AtomicBool>,
    fold: Mutex<Fold>,
}

/// What is known of a lane's output up to the chunk placed last.
struct Fold {
    offset: u64,
    totals: Totals,
    tail: Box<dyn Tail>,
    /// What the first unit tells besides its data.
    origin: Option<Origin>,
    remark: Option<Remark>,
}

/// LIMIT: chunks up to this size and this level, or the format's usual one, take 0.1 s at most.
const BRIEF_CHUNK_BYTES: usize = 4 << 20;
const BRIEF_LEVEL: i32 = 6;

/// A chunk and its unit.
#[derive(Default)]
pub struct CompressChunk {
    /// Where the uncompressed bytes are to be fetched from, when `cut` only noted it.
    to_fetch: Option<(Arc<File>, u64, usize)>,
    uncompressed: ByteBuffer,
    plain_bytes: u64,
    /// Bytes that the file's size promised for this chunk and that were not there.
    missing_bytes: u64,
    compressed: ByteBuffer,
    /// Encoded already, as part of one unit.
    is_encoded: bool,
    /// What stands before the first unit of the lane; empty for all others.
    head: Vec<u8>,
    /// Its filters, if they are its own.
    chain: Option<FilterChain>,
    /// The level to encode it at, where levels are chosen chunk by chunk.
    decision: Option<LevelDecision>,
    spot: OutputSpot,
}

impl Stages for Compression<'_> {
    type Source = CompressSource;
    type Sink = CompressSink;
    type Chunk = CompressChunk;
    type Scratch = Encoders;
    type Error = CodecError;

    fn new_chunk(&self) -> CompressChunk {
        CompressChunk::default()
    }

    fn new_scratch(&self) -> Self::Scratch {
        Encoders::default()
    }

    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn lanes_share_one_sink(&self) -> bool {
        self.one_output
    }

    fn tasks_are_brief(&self) -> bool {
        let level = self.format.facts().default_level.max(BRIEF_LEVEL);
        self.chunk_bytes() <= BRIEF_CHUNK_BYTES && self.options.level <= level
    }

    fn open(&self, number: usize) -> Result<OpenLane<Self>, CodecError> {
        let lane = &self.lanes[number];
        let input = InputEnd::open(&lane.input)?;
        check_not_the_same(&input, &lane.output)?;
        let output = OutputEnd::open(lane, &input, self.unfinished)?;
        let one_unit = self.format.stream_encoder(&options_of(&self.options, lane, &input))?;
        let extent = match (&self.part, input.extent) {
            (Some(part), Some(_)) => Some(ReadExtent { from: part.start, end: part.end }),
            (Some(_), None) => return Err(CodecError::NotAFile),
            (None, extent) => extent,
        };
        let (reading, by) = match extent {
            Some(extent) => (Reading::AtOffsets(extent), By::Workers),
            None => (Reading::Stream { position: 0 }, By::OwnThread),
        };
        let (origin, remark) = Origin::of(&lane.input, &input.file, self.tells_origin);
        let fold = Fold { offset: 0, totals: Totals::default(), tail: self.format.tail(&self.options), origin, remark };
        let ends_early = Arc::new(AtomicBool::new(false));
        Ok(OpenLane {
            writing: output.writing,
            reading: by,
            sink: CompressSink {
                lane: number,
                output,
                input: Arc::clone(&input.file),
                wake: Arc::clone(&input.wake),
                ends_early: Arc::clone(&ends_early),
                fold: Mutex::new(fold),
            },
            source: CompressSource {
                is_short: false,
                is_flushed: false,
                file: input.file,
                began: extent.map_or(0, |extent| extent.from),
                is_part: self.part.is_some(),
                reading,
                wake: input.wake,
                any_chunk: false,
                ended: false,
                ends_early,
                given_back: Vec::new(),
                borders: BlockBorders::new(&self.options.blocks, self.chunk_bytes() as u64),
                flush_after: self.options.blocks.flush_after,
                one_unit,
                read_until: None,
            },
        })
    }

    fn cut(
        &self,
        source: &mut CompressSource,
        chunk: &mut CompressChunk,
        turn: &mut CutTurn<'_>,
    ) -> Result<Cut, CodecError> {
        // ORDER: nothing is published by it; a chunk cut in spite of it is dropped when it gets its place.
        if source.ended || source.ends_early.load(Ordering::Relaxed) {
            return Ok(Cut::End);
        }
        let chunk_bytes = self.next_chunk_bytes(source, chunk);
        let begin = Instant::now();
        (chunk.to_fetch, chunk.missing_bytes) = (None, 0);
        chunk.is_encoded = source.one_unit.is_some();
        chunk.uncompressed.clear();
        let mut count = source.next(chunk, chunk_bytes)?;
        // An empty input is one empty unit, so that it decompresses to an empty file again.
        if count == 0 && source.any_chunk && source.one_unit.is_none() {
            return Ok(Cut::End);
        }
        source.any_chunk = true;
        source.ended = count < chunk_bytes && chunk.to_fetch.is_none() && !source.is_flushed;
        if self.options.is_rsyncable && source.one_unit.is_none() {
            fetch(chunk)?;
            source.go_back(std::mem::take(&mut chunk.missing_bytes));
            count = turn.with_hand(|| first_part(chunk.uncompressed.content(), chunk_bytes));
            source.ended &= count == chunk.uncompressed.len();
            source.give_back(chunk, count);
        }
        chunk.plain_bytes = count as u64;
        self.tell_arrival(source, begin, chunk.plain_bytes);
        if source.one_unit.is_some() {
            fetch(chunk)?;
            source.go_back(std::mem::take(&mut chunk.missing_bytes));
            source.ended |= count == 0 && !source.is_flushed;
            chunk.compressed.clear();
            turn.with_hand(|| source.encode(chunk))?;
        }
        Ok(if chunk.to_fetch.is_some() { Cut::Noted(count as u64) } else { Cut::Taken(count as u64) })
    }

    fn fetch(&self, chunk: &mut CompressChunk) -> Result<(), CodecError> {
        fetch(chunk)
    }

    fn about_to_work(&self, chunk: &mut CompressChunk, fill: &Fill) {
        chunk.decision = self.keep_up.map(|keep_up| keep_up.with(|controller, now_ns| controller.decide(now_ns, fill)));
    }

    fn work(
        &self,
        encoders: &mut Encoders,
        chunk: &mut CompressChunk,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        if chunk.is_encoded {
            return Ok(());
        }
        let (Some(keep_up), Some(decision)) = (self.keep_up, chunk.decision.take()) else {
            let blocks = BlockOptions { chain: chunk.chain.or(self.options.blocks.chain), ..self.options.blocks };
            return encoders.at(self.format, &EncodeOptions { blocks, ..self.options })?.encode(
                chunk.uncompressed.content(),
                &mut chunk.compressed,
                pause,
            );
        };
        encoders.give_way(GIVES_WAY_BY);
        let cpu_before = sys::cpu_clock::thread_cpu_ns();
        let options = EncodeOptions { level: decision.level, ..self.options };
        encoders.at(self.format, &options)?.encode(chunk.uncompressed.content(), &mut chunk.compressed, pause)?;
        let done = ChunkDone {
            plain_bytes: chunk.plain_bytes,
            packed_bytes: chunk.compressed.len() as u64,
            cpu_ns: sys::cpu_clock::thread_cpu_ns() - cpu_before,
        };
        keep_up.with(|controller, now_ns| controller.done(now_ns, &decision, done));
        Ok(())
    }

    fn place(&self, sink: &CompressSink, chunk: &mut CompressChunk) -> Result<(), CodecError> {
        let mut fold = sink.fold.lock();
        let origin = fold.origin.take();
        if let Some(origin) = &origin {
            self.format.tell_origin(origin, &mut chunk.compressed);
        }
        // ORDER: places are given out in order, under the lock of the fold.
        if sink.ends_early.load(Ordering::Relaxed)
            || chunk.missing_bytes > 0 && chunk.plain_bytes == 0 && fold.offset > 0
        {
            return self.drop_chunk(sink, &fold, chunk);
        }
        sink.ends_early.store(chunk.missing_bytes > 0, Ordering::Relaxed);
        chunk.head = Vec::new();
        if fold.offset == 0 {
            chunk.head = self.format.head_of(&self.options, origin.as_ref());
            fold.tail.head(&chunk.head);
        }
        fold.totals.bytes_in += chunk.plain_bytes;
        if !chunk.is_encoded {
            fold.totals.units += 1;
            fold.tail.unit(chunk.compressed.content(), chunk.plain_bytes);
            chunk.compressed.truncate(chunk.compressed.len().saturating_sub(self.format.note_bytes()));
        }
        chunk.spot = sink.output.place(fold.offset, chunk.head.len() + chunk.compressed.len())?;
        fold.offset += (chunk.head.len() + chunk.compressed.len()) as u64;
        Ok(())
    }

    fn write(&self, sink: &CompressSink, chunk: &mut CompressChunk) -> Result<u64, CodecError> {
        pass(self.passing, sink.lane, chunk.uncompressed.content());
        let head_bytes = chunk.head.len() as u64;
        if head_bytes > 0 {
            sink.output.write(&chunk.head, chunk.spot)?;
        }
        sink.output.write(chunk.compressed.content(), chunk.spot.behind(head_bytes))?;
        Ok(head_bytes + chunk.compressed.len() as u64)
    }

    fn interrupt(&self, sink: &CompressSink) {
        sink.wake.ring();
    }

    fn close(&self, lane: usize, ends: Option<(CompressSource, CompressSink)>, outcome: Result<(), CodecError>) {
        let mut closed = LaneOutcome::new(outcome);
        if let Some((source, sink)) = ends {
            let fold = sink.fold.into_inner();
            closed.totals = fold.totals;
            // ORDER: all chunks have their places, behind the pipeline's lock.
            let ends_early = sink.ends_early.load(Ordering::Relaxed);
            let is_short = ends_early || source.is_short;
            closed.remark = fold.remark.or(is_short.then_some(Remark::EndsEarly));
            closed.totals.units += u64::from(source.one_unit.is_some());
            let position = if ends_early { source.began + closed.totals.bytes_in } else { source.position() };
            leave_stdin_at(&self.lanes[lane], &sink.input, position);
            let finished = match closed.outcome {
                // Who removes the source has to have all of it; what its size promised may be there yet (a stale size of a network file system).
                Ok(()) if is_short => {
                    let kept = Lane { source: SourceFate::Keep, ..self.lanes[lane].clone() };
                    finish(&kept, sink.output, &sink.input, fold, &mut closed.totals)
                }
                Ok(()) => finish(&self.lanes[lane], sink.output, &sink.input, fold, &mut closed.totals),
                Err(error) => {
                    closed.totals.bytes_out = sink.output.written();
                    sink.output.abandon(error)
                }
            };
            closed.outcome = finished.map(|not_carried| closed.not_carried = not_carried);
        }
        (self.on_close)(lane, closed);
    }

    fn stage_names(&self) -> [&'static str; 3] {
        ["read", "compress", "write"]
    }
}

impl Compression<'_> {
    fn chunk_bytes(&self) -> usize {
        match self.keep_up {
            Some(_) => chunk_bytes(self.format, &self.options),
            None => self.format.chunk_bytes(&self.options),
        }
    }

    /// The size of the next chunk if that much comes; its filters are noted.
    fn next_chunk_bytes(&self, source: &mut CompressSource, chunk: &mut CompressChunk) -> usize {
        if source.one_unit.is_some() {
            return self.chunk_bytes();
        }
        let (bytes, chain) = source.borders.next();
        chunk.chain = chain;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// What was read behind the place where the file turned out to end belongs to no output.
    fn drop_chunk(&self, sink: &CompressSink, fold: &Fold, chunk: &mut CompressChunk) -> Result<(), CodecError> {
        sink.ends_early.store(true, Ordering::Relaxed);
        chunk.uncompressed.clear();
        chunk.compressed.clear();
        chunk.head = Vec::new();
        chunk.spot = sink.output.place(fold.offset, 0)?;
        Ok(())
    }

    /// Tells the controller how long the producer took, and how long it was not read.
    fn tell_arrival(&self, source: &mut CompressSource, begin: Instant, bytes: u64) {
        let Some(keep_up) = self.keep_up.filter(|_| bytes > 0) else { return };
        let waited_ns = source.read_until.map_or(0, |until| nanoseconds(begin - until));
        let arrival = Arrival { bytes, reading_ns: nanoseconds(begin.elapsed()), waited_ns };
        source.read_until = Some(Instant::now());
        keep_up.with(|controller, now_ns| controller.arrived(now_ns, arrival));
    }
}

/// Writes what follows the last unit and commits.
fn finish(
    lane: &Lane,
    output: OutputEnd,
    input: &File,
    mut fold: Fold,
    totals: &mut Totals,
) -> Result<Vec<files::carry::NotCarried>, CodecError> {
    let tail = fold.tail.finish();
    let written = output.place(fold.offset, tail.len()).and_then(|spot| output.write(&tail, spot));
    totals.bytes_out = output.written();
    match written {
        Ok(()) => output.commit(lane, input),
        Err(error) => output.abandon(error),
    }
}

/// Those of a lane: one unit may state the size of its file, or what was said about standard input. Files that do not know their size say that it is 0.
fn options_of(options: &EncodeOptions, lane: &Lane, input: &InputEnd) -> EncodeOptions {
    let mut options = *options;
    let said = options.zst.stream_bytes.filter(|_| lane.input == LaneInput::Stdin);
    let extent = input.extent.as_ref().filter(|_| options.zst.states_file_size);
    let bytes = extent.map(|extent| extent.end - extent.from).filter(|bytes| *bytes > 0);
    options.zst.stream_bytes = said.or(bytes);
    options
}

/// Reads what `cut` noted.
fn fetch(chunk: &mut CompressChunk) -> Result<(), CodecError> {
    let Some((file, offset, bytes)) = chunk.to_fetch.take() else { return Ok(()) };
    let room = chunk.uncompressed.room(bytes);
    let read = read_full_at(&file, room, offset).map_err(|cause| CodecError::Read { offset, cause })?;
    chunk.uncompressed.grow(read);
    chunk.missing_bytes = (bytes - read) as u64;
    chunk.plain_bytes = read as u64;
    if chunk.missing_bytes > 0 && was_cut(&file, offset + bytes as u64) {
        return Err(CodecError::shrank(&file, offset + bytes as u64));
    }
    Ok(())
}

/// Whether a file that ended before `expected` is shorter now than it was.
/// LIE: files of sysfs tell a page as their size and hold less. They do not become shorter by being read; a log that is cut does.
fn was_cut(file: &File, expected: u64) -> bool {
    file.metadata().map_or(true, |metadata| metadata.len() < expected)
}

impl CompressSource {
    /// How far it has been read.
    fn position(&self) -> u64 {
        match &self.reading {
            Reading::AtOffsets(extent) => extent.from,
            Reading::Stream { position } => *position,
        }
    }

    /// The file ends so many bytes before where it has been read.
    fn go_back(&mut self, missing_bytes: u64) {
        self.is_short |= missing_bytes > 0;
        if let Reading::AtOffsets(extent) = &mut self.reading {
            extent.from -= missing_bytes;
            extent.end = if missing_bytes > 0 { extent.from } else { extent.end };
        }
    }

    /// What stands behind the first `count` bytes belongs to the next chunk.
    fn give_back(&mut self, chunk: &mut CompressChunk, count: usize) {
        let rest = &chunk.uncompressed.content()[count..];
        match &mut self.reading {
            Reading::AtOffsets(extent) => extent.from -= rest.len() as u64,
            Reading::Stream { .. } => self.given_back.extend_from_slice(rest),
        }
        chunk.uncompressed.truncate(count);
    }

    /// Encodes a chunk as part of the one unit. In order, so the sink waits for it: its hand goes to others between the chunks.
    fn encode(&mut self, chunk: &mut CompressChunk) -> Result<(), CodecError> {
        let Some(encoder) = &mut self.one_unit else { return Ok(()) };
        encoder.encode(chunk.uncompressed.content(), self.ended, &mut chunk.compressed, &mut Pause::never())?;
        if self.is_flushed { encoder.flush(&mut chunk.compressed) } else { Ok(()) }
    }

    /// Notes or reads the next chunk; returns its uncompressed size, 0 at the end.
    fn next(&mut self, chunk: &mut CompressChunk, chunk_bytes: usize) -> Result<usize, CodecError> {
        match &mut self.reading {
            Reading::AtOffsets(extent) if extent.from < extent.end => {
                let left = extent.end - extent.from;
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(chunk_bytes);
                chunk.to_fetch = Some((Arc::clone(&self.file), extent.from, count));
                extent.from += count as u64;
                Ok(count)
            }
            Reading::AtOffsets(_) if self.is_part => Ok(0),
            // The file is read to the end that it had. It may have grown (a log), or it never told its size (/proc).
            Reading::AtOffsets(extent) => {
                let offset = extent.from;
                // Nearly always there is nothing: room for a whole chunk is not made for that.
                let any = read_full_at(&self.file, &mut [0; 1], offset);
                if any.map_err(|cause| CodecError::Read { offset, cause })? == 0 {
                    return Ok(0);
                }
                let read = read_full_at(&self.file, chunk.uncompressed.room(chunk_bytes), offset)
                    .map_err(|cause| CodecError::Read { offset, cause })?;
                chunk.uncompressed.grow(read);
                extent.from += read as u64;
                Ok(read)
            }
            Reading::Stream { position } => {
                // One unit may hold back what came with the chunks before.
                let is_open = !std::mem::take(&mut self.is_flushed) && self.any_chunk && self.one_unit.is_some();
                chunk.uncompressed.append(&std::mem::take(&mut self.given_back));
                while chunk.uncompressed.len() < chunk_bytes {
                    let read_error = |cause| CodecError::Read { offset: *position, cause };
                    if let Some(limit) = self.flush_after.filter(|_| is_open || !chunk.uncompressed.is_empty())
                        && self.wake.readable_within(&self.file, limit).map_err(read_error)?.is_none()
                    {
                        self.is_flushed = true;
                        break;
                    }
                    let room = chunk.uncompressed.room(chunk_bytes - chunk.uncompressed.len());
                    let read = read_stream(&self.file, &self.wake, room).map_err(read_error)?;
                    if read == 0 {
                        break;
                    }
                    chunk.uncompressed.grow(read);
                    *position += read as u64;
                }
                Ok(chunk.uncompressed.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::UnitLayout;
    use crate::lane::{LaneOutput, OutputCare};
    use crate::registry;

    /// Several hands may have read behind the place where one of them found the file to end.
    #[test]
    fn nothing_behind_an_early_end_gets_a_place() {
        let directory = tempfile::tempdir().expect("a directory");
        let (uncompressed, compressed) = (directory.path().join("plain"), directory.path().join("packed"));
        std::fs::write(&uncompressed, b"plain").expect("write");
        let output = LaneOutput::Path { path: compressed, replace: true };
        let lanes = [Lane {
            input: LaneInput::Path(uncompressed),
            output,
            source: SourceFate::Keep,
            care: OutputCare::default(),
        }];
        let unfinished = Unfinished::default();
        let stages = Compression {
            lanes: &lanes,
            one_output: false,
            format: registry::formats()[0],
            options: EncodeOptions::new(1, UnitLayout::ParallelUnits),
            part: None,
            tells_origin: Tells::default(),
            keep_up: None,
            passing: None,
            unfinished: &unfinished,
            on_close: &|_, _| {},
        };
        let placed = |chunks: &[(u64, u64)]| {
            let OpenLane { sink, .. } = stages.open(0).expect("open");
            for &(plain_bytes, missing_bytes) in chunks {
                let mut chunk = CompressChunk { plain_bytes, missing_bytes, ..CompressChunk::default() };
                chunk.compressed.append(b"unit");
                stages.place(&sink, &mut chunk).expect("a place");
            }
            let fold = sink.fold.into_inner();
            (fold.offset, fold.totals.bytes_in, sink.ends_early.load(Ordering::Relaxed))
        };
        assert_eq!(placed(&[(9, 0), (9, 0)]), (8, 18, false));
        assert_eq!(placed(&[(9, 0), (5, 4), (9, 0), (0, 9)]), (8, 14, true));
        assert_eq!(placed(&[(9, 0), (0, 9), (9, 0)]), (4, 9, true));
        assert_eq!(placed(&[(0, 9), (9, 0)]), (4, 0, true), "an empty file is one empty unit");
    }
}
