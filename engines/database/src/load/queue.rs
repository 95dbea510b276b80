//! Chunks between the reader and the connections, bounded by their bytes: a chunk counts until it is loaded. One that is larger than the bound passes alone.

use crate::chunks::RowChunk;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// The queue.
#[derive(Debug)]
pub struct ChunkQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<RowChunk>,
    /// Bytes of chunks that wait or are being loaded.
    held_bytes: u64,
    emptied: Vec<Vec<u8>>,
    is_over: bool,
    is_stopped: bool,
}

/// LIMIT: buffers that are kept to be used again.
const EMPTIED_MAX: usize = 8;
/// LIMIT: one that a very long row has made larger goes.
const EMPTIED_BYTES: usize = 32 << 20;

impl ChunkQueue {
    pub fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a chunk when there is room for it; false if nobody wants it any more.
    pub fn push(&self, chunk: RowChunk, held_bytes_max: u64) -> bool {
        let bytes = chunk.bytes.len() as u64;
        let mut state = self.state.lock();
        while !state.is_stopped && state.held_bytes > 0 && state.held_bytes + bytes > held_bytes_max {
            self.changed.wait(&mut state);
        }
        if state.is_stopped {
            return false;
        }
        state.held_bytes += bytes;
        state.waiting.push_back(chunk);
        self.changed.notify_all();
        true
    }

    /// The next chunk; none when all are taken, or the load has ended.
    pub fn take(&self) -> Option<RowChunk> {
        let mut state = self.state.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            if let Some(chunk) = state.waiting.pop_front() {
                return Some(chunk);
            }
            if state.is_over {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// A chunk that was taken is done with.
    pub fn give_back(&self, chunk: RowChunk) {
        let mut state = self.state.lock();
        state.held_bytes -= chunk.bytes.len() as u64;
        if state.emptied.len() < EMPTIED_MAX && chunk.bytes.capacity() <= EMPTIED_BYTES {
            state.emptied.push(chunk.bytes);
        }
        self.changed.notify_all();
    }

    /// Memory to use again.
    pub fn emptied(&self) -> Vec<u8> {
        self.state.lock().emptied.pop().unwrap_or_default()
    }

    /// No more chunks come.
    pub fn close(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Nobody takes or adds chunks any more.
    pub fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: usize) -> RowChunk {
        RowChunk { bytes: vec![0; bytes], ..RowChunk::default() }
    }

    #[test]
    fn a_large_chunk_passes_alone_and_others_wait_for_room() {
        let queue = ChunkQueue::new();
        assert!(queue.push(chunk(500), 100));
        let taken = queue.take().expect("it is there");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.push(chunk(60), 100));
            queue.give_back(taken);
            assert!(waits.join().expect("it ends"));
        });
        assert!(queue.push(chunk(40), 100));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.push(chunk(1), 100));
            queue.stop();
            assert!(!waits.join().expect("it ends"));
        });
        assert!(queue.take().is_none());
    }
}
