//! A run over any number of items, window by window: small files one worker each, then large ones and streams through the pipeline, results in the
//! order of the items. Decides no width and no order of items; its caller does.

use crate::algorithm::Algorithm;
use crate::divided::Divided;
use crate::emitter::{Done, Emitter, Sink};
use crate::tally::DigestTally;
use crate::value::DigestValue;
use crate::whole::{BATCH_FILES, LeftItem, Whole, WholeTask};
use crew::budget::Lease;
use crew::clocks::Clocks;
use crew::measures::{Access, Measures, Slots};
use crew::pipeline::{self, Executor, Staffing};
use crew::scatter::{self, Scattered, ThreadWidth};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// LIMIT: items that are held at a time, with their results. Memory for names; fewer would let workers wait for each other more often.
const WINDOW_ITEMS: usize = 4096;

/// LIMIT: bytes of the names of a window, but for its last one: a hostile manifest has long ones.
const WINDOW_NAME_BYTES: usize = 2 << 20;

/// LIMIT: bytes that all slots may hold together, and half as much again that chains may hold back.
const SLOT_BYTES_MAX: usize = 32 << 20;

/// Bytes of a piece: more keeps longer what chains have not read, less costs locks.
const PIECE_BYTES: usize = 1 << 20;
/// LIMIT: BLAKE3 has a tree over 1 KiB; below this the locks cost more than the hashing.
const PIECE_BYTES_MIN: usize = 64 << 10;

/// Files from here on are cut into pieces.
const LARGE_BYTES: u64 = 2 << 20;

/// Where an item's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestSource {
    /// In the file of its name.
    Path,
    /// On standard input.
    Stdin,
}

/// Something to be digested.
#[derive(Clone, Debug)]
pub struct DigestItem {
    /// Its name: the path, unless it is standard input.
    pub name: Vec<u8>,
    /// Where its bytes are.
    pub source: DigestSource,
    /// What is computed.
    pub algorithms: Arc<[Algorithm]>,
    /// What the caller expects; the engine does not look at it.
    pub expected: Option<DigestValue>,
}

impl DigestItem {
    /// A file.
    pub fn path(name: Vec<u8>, algorithms: Arc<[Algorithm]>) -> Self {
        Self { name, source: DigestSource::Path, algorithms, expected: None }
    }
}

/// What came of an item.
#[derive(Clone, Debug, Default)]
pub struct Digested {
    /// The values, in the order of the item's algorithms.
    pub values: Vec<DigestValue>,
    /// Bytes that were read.
    pub bytes: u64,
}

/// How a run is done.
pub struct Digesting<'a> {
    /// The most workers.
    pub width: usize,
    /// How much they may hold.
    pub room: DigestRoom,
    /// What is done so far.
    pub tally: &'a DigestTally,
}

/// Room for pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestRoom {
    /// Bytes of a piece.
    pub piece_bytes: usize,
    /// Slots, and how many the hands could have used.
    pub slots: Slots,
}

impl DigestRoom {
    /// For `width` hands under a cap of `memory_bytes`: pieces get smaller first, then slots fewer.
    pub fn new(width: usize, memory_bytes: u64) -> Self {
        let most = usize::try_from(memory_bytes / 2).unwrap_or(usize::MAX).min(SLOT_BYTES_MAX);
        let wanted = 2 * width.max(1) + 2;
        let mut piece_bytes = PIECE_BYTES;
        while piece_bytes > PIECE_BYTES_MIN && piece_bytes * wanted > most {
            piece_bytes /= 2;
        }
        let given = (most / piece_bytes).clamp(1, wanted);
        Self { piece_bytes, slots: Slots { given, wanted, hands_wanted: width } }
    }

    /// What all slots hold at most.
    pub fn bytes(self) -> u64 {
        (self.piece_bytes * self.slots.given) as u64
    }
}

/// Finds the next item; none at the end.
type Source<'a> = dyn FnMut() -> Option<DigestItem> + Send + 'a;

/// Digests all items that `next` finds and hands the results to `sink`, in the same order. Measures what was done.
pub fn digest_all(how: &Digesting<'_>, next: &mut Source<'_>, sink: &mut Sink<'_>, lease: &dyn Lease) -> Measures {
    let begin = Instant::now();
    let mut measures = nothing_measured(how);
    let windows = Mutex::new(Windows { next, held: None, is_over: false });
    let mut items = windows.lock().next();
    while !items.is_empty() {
        let following = Mutex::new(None);
        let look_ahead = || *following.lock() = Some(windows.lock().next());
        let emitter = Emitter::new(&items, sink);
        let done = |number: usize, result| emitter.done(number, result);
        let is_last = windows.lock().is_over;
        let whole = Whole {
            items: &items,
            done: &done,
            tally: how.tally,
            large_bytes: LARGE_BYTES,
            left: Mutex::default(),
            look_ahead: &look_ahead,
        };
        let mut tasks = batches(items.len(), how.width);
        if !is_last {
            tasks.insert(0, WholeTask::LookAhead);
        }
        let scattered = scatter::run(&whole, tasks, ThreadWidth { workers: how.width }, lease);
        add_scattered(&mut measures, &scattered, how.tally.take_reading_share());
        let mut lanes = whole.left.into_inner();
        lanes.sort_unstable_by_key(|left| left.number);
        if !lanes.is_empty() {
            let divided = divide(how, &items, &lanes, &done, lease);
            add_piped(&mut measures, &divided, how.tally.take_reading_share());
        }
        items = following.into_inner().unwrap_or_default();
    }
    measures.bytes_in = how.tally.bytes();
    measures.wall_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    measures
}

/// Items, window by window.
struct Windows<'a, 'b> {
    next: &'a mut Source<'b>,
    /// An item of the window after the last one.
    held: Option<DigestItem>,
    /// There is no other window.
    is_over: bool,
}

impl Windows<'_, '_> {
    /// The next items, as many as a window holds. Standard input is in it once: whoever reads it next gets what is left, as from the old tools.
    fn next(&mut self) -> Vec<DigestItem> {
        let (mut items, mut name_bytes, mut has_stdin) = (Vec::new(), 0, false);
        while items.len() < WINDOW_ITEMS && name_bytes < WINDOW_NAME_BYTES && !self.is_over {
            let Some(item) = self.held.take().or_else(|| (self.next)()) else {
                self.is_over = true;
                break;
            };
            let is_stdin = item.source == DigestSource::Stdin;
            if is_stdin && has_stdin {
                self.held = Some(item);
                break;
            }
            has_stdin |= is_stdin;
            name_bytes += item.name.len();
            items.push(item);
        }
        items
    }
}

/// Tasks of a window: batches, but single files where there are few.
fn batches(items: usize, width: usize) -> Vec<WholeTask> {
    let files = (items / (4 * width.max(1))).clamp(1, BATCH_FILES);
    (0..items).step_by(files).map(|from| WholeTask::Batch(from..(from + files).min(items))).collect()
}

fn divide(
    how: &Digesting<'_>,
    items: &[DigestItem],
    lanes: &[LeftItem],
    done: &Done<'_>,
    lease: &dyn Lease,
) -> Measures {
    let DigestRoom { piece_bytes, slots } = how.room;
    let divided = Divided { items, lanes, done, tally: how.tally, piece_bytes };
    // A stream has a thread of its own, so that it is read while it is hashed.
    let is_lone = how.width == 1 && lanes.iter().all(|left| items[left.number].source == DigestSource::Path);
    let mode = if is_lone { Executor::SingleCore } else { Executor::Threaded };
    let staffing = Staffing { width: how.width, slots, lanes_at_once: how.width + 1, mode };
    pipeline::run(&divided, &staffing, lease, &how.tally.streams)
}

fn nothing_measured(how: &Digesting<'_>) -> Measures {
    Measures {
        wall_ns: 0,
        reading: Access::AtOffsets,
        writing: Access::AtOffsets,
        stage_names: ["read", "hash", "hash in order"],
        width: how.width,
        workers: 1,
        slots: how.room.slots,
        chunks: 0,
        lanes: 0,
        bytes_in: 0,
        bytes_out: 0,
        clocks: Clocks::default(),
        process_cpu_ns: 0,
        divided_turns: None,
    }
}

/// A worker's time in tasks that read and hash is divided by the share that reading had. What it was off the CPU in them it waited for the storage.
fn add_scattered(measures: &mut Measures, scattered: &Scattered, reading: f64) {
    let mut clock = scattered.clock;
    let read = &mut measures.clocks.read;
    read.starved_ns += std::mem::take(&mut clock.blocked_ns);
    clock.asleep_ns = 0;
    let read_ns = (clock.busy_ns as f64 * reading) as u64;
    read.busy_ns += read_ns;
    clock.busy_ns -= read_ns;
    measures.clocks.work.add(&clock);
    measures.workers = measures.workers.max(scattered.workers);
    measures.chunks += scattered.tasks;
    measures.lanes += 1;
    measures.process_cpu_ns += scattered.process_cpu_ns;
}

fn add_piped(measures: &mut Measures, piped: &Measures, reading: f64) {
    let mut clocks = piped.clocks;
    let read_ns = (clocks.work.busy_ns as f64 * reading) as u64;
    clocks.work.busy_ns -= read_ns;
    clocks.read.busy_ns += read_ns;
    // What slept in the middle of such work waited for the storage.
    let asleep_ns = std::mem::take(&mut clocks.work.asleep_ns).min(clocks.work.blocked_ns);
    clocks.work.blocked_ns -= asleep_ns;
    clocks.read.starved_ns += asleep_ns;
    measures.clocks.add(&clocks);
    (measures.reading, measures.writing) = (piped.reading, piped.writing);
    measures.workers = measures.workers.max(piped.workers);
    measures.chunks += piped.chunks;
    measures.lanes += piped.lanes;
    measures.process_cpu_ns += piped.process_cpu_ns;
}

#[cfg(test)]
mod tests;
