//! Large files and streams as stages of a pipeline: pieces are read at offsets and hashed by any worker, their values joined in order; what has no
//! pieces goes through its chains in the order of the bytes. Theory: `engines/digest/README.md`.

use crate::algorithm::Algorithm;
use crate::chains::{DigestChains, SharedBlock};
use crate::combine::JoinedPieces;
use crate::emitter::Done;
use crate::error::DigestError;
use crate::pieces::{PieceHash, PieceValue};
use crate::reading::{open, read_at, read_stream};
use crate::run::{DigestItem, DigestSource, Digested};
use crate::tally::DigestTally;
use crate::whole::{LeftItem, READ_BYTES};
use crew::pipeline::{By, Cut, CutTurn, OpenLane, Pause, Stages};
use files::{FileType, Status};
use parking_lot::Mutex;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;
use std::time::Instant;

/// The capacity that a pipe is asked for.
const PIPE_BYTES: usize = 1 << 20;

/// Pieces of a file that are asked for when one has to be waited for: so many requests are under way for each worker.
const PIECES_AHEAD: u64 = 4;

/// Large files and streams of one window.
pub(crate) struct Divided<'a> {
    pub items: &'a [DigestItem],
    /// The items that are lanes.
    pub lanes: &'a [LeftItem],
    pub done: &'a Done<'a>,
    pub tally: &'a DigestTally,
    /// Bytes of a piece: a power of two.
    pub piece_bytes: usize,
}

/// What is computed of one lane; its chunks share it, so that any worker may help its chains.
pub(crate) struct LaneDigests {
    /// Those with pieces.
    divisible: Vec<Algorithm>,
    chains: DigestChains,
    fold: Mutex<Fold>,
}

/// What is known of a lane up to the piece placed last.
struct Fold {
    joined: Vec<JoinedPieces>,
    bytes: u64,
    pieces: u64,
    /// A piece was shorter than the others: nothing behind it belongs to the file.
    is_over: bool,
}

/// Front end of a lane.
pub(crate) struct DigestLaneSource {
    file: Arc<File>,
    digests: Arc<LaneDigests>,
    /// Where the first piece began: not at 0 where standard input is a file that was read before.
    began: u64,
    at: u64,
    /// Where the file ended when it was opened; none of a stream.
    end: Option<u64>,
    any: bool,
    ended: bool,
}

/// A piece and its values.
#[derive(Default)]
pub(crate) struct DigestChunk {
    digests: Option<Arc<LaneDigests>>,
    /// Where its bytes are to be fetched from, where the cut has only noted it.
    to_fetch: Option<(Arc<File>, u64)>,
    /// Bytes of the lane before it.
    offset: u64,
    buffer: SharedBlock,
    bytes: usize,
    values: Vec<PieceValue>,
    /// Whether it is a part of the file, as far as is known in its turn.
    belongs: bool,
}

impl LaneDigests {
    fn new(algorithms: &[Algorithm]) -> Self {
        let divisible: Vec<Algorithm> =
            algorithms.iter().copied().filter(|algorithm| algorithm.is_divisible()).collect();
        let joined = divisible.iter().filter_map(|algorithm| JoinedPieces::new(*algorithm)).collect();
        let fold = Mutex::new(Fold { joined, bytes: 0, pieces: 0, is_over: false });
        Self { divisible, chains: DigestChains::new(algorithms), fold }
    }

    /// The values in the order of `algorithms`.
    fn finish(&self, algorithms: &[Algorithm]) -> Digested {
        let mut fold = self.fold.lock();
        let bytes = fold.bytes;
        let joined = std::mem::take(&mut fold.joined).into_iter().map(|joined| joined.finish(bytes));
        let mut values: Vec<_> = self.divisible.iter().copied().zip(joined).collect();
        values.extend(self.chains.finish());
        let value = |algorithm: &Algorithm| values.iter().find(|(of, _)| of == algorithm).map(|(_, value)| *value);
        Digested { values: algorithms.iter().filter_map(value).collect(), bytes }
    }
}

impl Stages for Divided<'_> {
    type Source = DigestLaneSource;
    type Sink = Arc<LaneDigests>;
    type Chunk = DigestChunk;
    type Scratch = ();
    type Error = DigestError;

    fn new_chunk(&self) -> DigestChunk {
        DigestChunk::default()
    }

    fn new_scratch(&self) {}

    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn lanes_share_one_sink(&self) -> bool {
        false
    }

    fn lanes_take_turns(&self) -> bool {
        true
    }

    fn tasks_are_brief(&self) -> bool {
        true
    }

    fn open(&self, lane: usize) -> Result<OpenLane<Self>, DigestError> {
        let LeftItem { number, open: opened } = &self.lanes[lane];
        let item = &self.items[*number];
        let mut file = opened.lock().take().map_or_else(|| open(item), Ok)?;
        let status = Status::of(&file).map_err(DigestError::Open)?;
        let mut began = 0;
        let end = match status.file_type() {
            FileType::Directory => return Err(DigestError::Directory),
            FileType::Regular => {
                if item.source == DigestSource::Stdin {
                    began = file.stream_position().map_err(DigestError::Open)?;
                }
                let _without_the_hint = fadvise(&file, 0, None, Advice::Sequential);
                Some(status.bytes())
            }
            _ => {
                sys::pipe_end::widen(&file, PIPE_BYTES);
                None
            }
        };
        let digests = Arc::new(LaneDigests::new(&item.algorithms));
        let reading = if end.is_some() { By::Workers } else { By::OwnThread };
        let source = DigestLaneSource {
            file: Arc::new(file),
            digests: Arc::clone(&digests),
            began,
            at: began,
            end,
            any: false,
            ended: false,
        };
        Ok(OpenLane { source, sink: digests, reading, writing: By::Workers })
    }

    fn cut(
        &self,
        source: &mut DigestLaneSource,
        chunk: &mut DigestChunk,
        _turn: &mut CutTurn<'_>,
    ) -> Result<Cut, DigestError> {
        if source.ended || source.digests.fold.lock().is_over {
            return Ok(Cut::End);
        }
        chunk.digests = Some(Arc::clone(&source.digests));
        chunk.offset = source.at - source.began;
        chunk.to_fetch = None;
        let left = source.end.map_or(0, |end| end.saturating_sub(source.at));
        if left > 0 {
            chunk.to_fetch = Some((Arc::clone(&source.file), source.at));
            source.at += self.piece_bytes as u64;
            source.any = true;
            return Ok(Cut::Noted(left.min(self.piece_bytes as u64)));
        }
        // A file is read to the end that it has by now: it may have grown (a log), or it never had a size (/proc).
        if source.any && source.end.is_some() && read_at(&source.file, &mut [0], source.at, 0)? == 0 {
            return Ok(Cut::End);
        }
        let room = room(&mut chunk.buffer, self.piece_bytes);
        chunk.bytes = match source.end {
            Some(_) => read_at(&source.file, room, source.at, 0)?,
            None => read_stream(&source.file, room, source.at)?,
        };
        source.ended = chunk.bytes < self.piece_bytes;
        if chunk.bytes == 0 && source.any {
            return Ok(Cut::End);
        }
        source.any = true;
        source.at += chunk.bytes as u64;
        Ok(Cut::Taken(chunk.bytes as u64))
    }

    fn fetch(&self, chunk: &mut DigestChunk) -> Result<(), DigestError> {
        // Where there are no chains the work reads, in parts that stay in the cache until they are hashed.
        if chunk.digests.as_ref().is_none_or(|digests| digests.chains.is_empty()) {
            return Ok(());
        }
        if let Some((file, offset)) = chunk.to_fetch.take() {
            let room = room(&mut chunk.buffer, self.piece_bytes);
            chunk.bytes = read_at(&file, room, offset, self.ahead_bytes())?;
        }
        Ok(())
    }

    fn work(&self, (): &mut (), chunk: &mut DigestChunk, _pause: &mut Pause<'_>) -> Result<(), DigestError> {
        let Some(digests) = chunk.digests.clone() else { return Ok(()) };
        let begun = digests.divisible.iter().filter_map(|algorithm| PieceHash::new(*algorithm, chunk.offset));
        let mut hashes: Vec<PieceHash> = begun.collect();
        match chunk.to_fetch.take() {
            Some((file, offset)) => self.read_and_hash(&file, offset, chunk, &mut hashes)?,
            None => {
                let bytes = chunk.buffer.get(..chunk.bytes).unwrap_or_default();
                bytes.chunks(READ_BYTES).for_each(|part| hashes.iter_mut().for_each(|hash| hash.update(part)));
            }
        }
        chunk.values = hashes.into_iter().map(|hash| hash.finish(chunk.offset)).collect();
        digests.chains.help();
        Ok(())
    }

    fn place(&self, sink: &Arc<LaneDigests>, chunk: &mut DigestChunk) -> Result<(), DigestError> {
        let mut fold = sink.fold.lock();
        chunk.belongs = !fold.is_over && (chunk.bytes > 0 || fold.pieces == 0);
        if chunk.belongs {
            let bytes = chunk.bytes as u64;
            fold.joined.iter_mut().zip(&chunk.values).for_each(|(joined, value)| joined.add(value, bytes));
            fold.bytes += bytes;
            fold.pieces += 1;
        }
        fold.is_over |= chunk.bytes < self.piece_bytes;
        Ok(())
    }

    fn write(&self, sink: &Arc<LaneDigests>, chunk: &mut DigestChunk) -> Result<u64, DigestError> {
        if chunk.belongs && !sink.chains.is_empty() {
            if chunk.buffer.len() > chunk.bytes {
                room(&mut chunk.buffer, chunk.bytes);
            }
            sink.chains.add(&chunk.buffer);
        }
        chunk.digests = None;
        Ok(0)
    }

    fn interrupt(&self, _sink: &Arc<LaneDigests>) {}

    fn close(&self, lane: usize, ends: Option<(DigestLaneSource, Arc<LaneDigests>)>, outcome: Result<(), DigestError>) {
        let number = self.lanes[lane].number;
        self.tally.file_is_done();
        let digested = outcome.and_then(|()| {
            let (source, sink) = ends.ok_or_else(|| DigestError::Open(std::io::ErrorKind::Other.into()))?;
            let item = &self.items[number];
            let digested = sink.finish(&item.algorithms);
            if item.source == DigestSource::Stdin && source.end.is_some() {
                // Whoever reads it next begins where this has ended, as if it had been read in order.
                let behind = source.began + digested.bytes;
                (&*source.file).seek(SeekFrom::Start(behind)).map_err(DigestError::Open)?;
            }
            Ok(digested)
        });
        (self.done)(number, digested);
    }

    fn stage_names(&self) -> [&'static str; 3] {
        ["read", "hash", "hash in order"]
    }
}

impl Divided<'_> {
    fn ahead_bytes(&self) -> u64 {
        self.piece_bytes as u64 * PIECES_AHEAD
    }

    /// Reads a piece part by part and hashes each part while it is in the cache.
    fn read_and_hash(
        &self,
        file: &File,
        from: u64,
        chunk: &mut DigestChunk,
        hashes: &mut [PieceHash],
    ) -> Result<(), DigestError> {
        let part_bytes = READ_BYTES.min(self.piece_bytes);
        chunk.bytes = 0;
        while chunk.bytes < self.piece_bytes {
            let part = room(&mut chunk.buffer, part_bytes);
            let begin = Instant::now();
            let count = read_at(file, part, from + chunk.bytes as u64, self.ahead_bytes())?;
            let read = Instant::now();
            hashes.iter_mut().for_each(|hash| hash.update(&part[..count]));
            self.tally.spent(begin, read, Instant::now());
            chunk.bytes += count;
            if count < part_bytes {
                break;
            }
        }
        Ok(())
    }
}

/// `bytes` of room in a buffer; in another one, where a chain has not yet read what is in this.
fn room(buffer: &mut SharedBlock, bytes: usize) -> &mut [u8] {
    if Arc::get_mut(buffer).is_none() {
        *buffer = SharedBlock::default();
    }
    let own = Arc::get_mut(buffer).expect("nobody else has a buffer just made");
    own.resize(bytes, 0);
    own
}
