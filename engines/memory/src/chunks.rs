//! How a range is cut, and who takes which chunk: pure arithmetic, and one counter for each node. No lock, and no counter that two nodes share
//! while each has chunks of its own.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one table of pages describes: two threads never work in the same one.
pub const TABLE_BYTES: usize = sys::mapped_memory::TABLE_BYTES;

/// LIMIT: a chunk takes some milliseconds, so that threads end together: three, with 4 KiB pages on a machine of 2026.
const CHUNK_BYTES_MAX: usize = 16 << 20;
/// LIMIT: fewer, and the last thread works while the others wait.
const CHUNKS_A_THREAD: usize = 4;

/// Chunks of a range. All but the last are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlan {
    bytes: usize,
    chunk_bytes: usize,
}

impl ChunkPlan {
    /// Cuts `bytes`, which begin at a multiple of what one table describes, for so many threads and pages of this size.
    pub fn new(bytes: usize, page_bytes: usize, threads: usize) -> Self {
        let unit = page_bytes.max(TABLE_BYTES);
        let fair = bytes / threads.max(1).saturating_mul(CHUNKS_A_THREAD);
        let chunk_bytes = (fair / unit * unit).min(CHUNK_BYTES_MAX / unit * unit).max(unit);
        Self { bytes, chunk_bytes }
    }

    /// Cuts `bytes` into chunks of this size.
    pub fn of_size(bytes: usize, chunk_bytes: usize) -> Self {
        Self { bytes, chunk_bytes: chunk_bytes.max(1) }
    }

    /// How large a chunk is.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.bytes.div_ceil(self.chunk_bytes)
    }

    /// Where a chunk is.
    pub fn chunk(&self, number: usize) -> Range<usize> {
        let start = number.saturating_mul(self.chunk_bytes).min(self.bytes);
        start..(start + self.chunk_bytes).min(self.bytes)
    }
}

/// A counter on a cache line of its own: threads of other nodes do not slow it down.
#[repr(align(128))]
struct Cursor {
    next: AtomicUsize,
    end: usize,
}

/// Chunks that are not taken yet, by node.
pub struct PopulateQueue {
    cursors: Vec<Cursor>,
}

impl PopulateQueue {
    /// Divides `count` chunks among nodes by how many threads each has. Neighbouring chunks go to one node.
    pub fn new(count: usize, threads_by_node: &[usize]) -> Self {
        let threads: usize = threads_by_node.iter().sum();
        let (mut threads_before, mut begin, mut cursors) = (0, 0, Vec::new());
        for &here in threads_by_node {
            threads_before += here;
            let end = if threads == 0 { count } else { proportion(count, threads_before, threads) };
            cursors.push(Cursor { next: AtomicUsize::new(begin), end });
            begin = end;
        }
        if cursors.is_empty() {
            cursors.push(Cursor { next: AtomicUsize::new(0), end: count });
        }
        Self { cursors }
    }

    /// The next chunk for a thread of node `node`: one of its own node's while there are any, then one of another's.
    pub fn take(&self, node: usize) -> Option<usize> {
        let nodes = self.cursors.len();
        (0..nodes).find_map(|step| self.cursors[(node + step) % nodes].take())
    }

    /// Whether all chunks are taken.
    pub fn is_empty(&self) -> bool {
        self.cursors.iter().all(|cursor| cursor.next.load(Ordering::Relaxed) >= cursor.end)
    }
}

impl Cursor {
    fn take(&self) -> Option<usize> {
        // ORDER: the counter hands out numbers and nothing else; what is done to a chunk is seen by way of the job's end. A look before
        // keeps those who find nothing from writing to another node's cache line.
        if self.next.load(Ordering::Relaxed) >= self.end {
            return None;
        }
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < self.end)
    }
}

fn proportion(count: usize, part: usize, whole: usize) -> usize {
    let share = count as u128 * part as u128 / whole as u128;
    usize::try_from(share).expect("no more than the count")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    #[test]
    fn chunks_cover_a_range_once_for_1_to_256_threads() {
        for bytes in [1, 4096, TABLE_BYTES, 3 * MIB, 64 * MIB + 4096, GIB, 4 * GIB + 5 * MIB, 500 * GIB] {
            for threads in 1..=256 {
                let plan = ChunkPlan::new(bytes, 4096, threads);
                let mut end = 0;
                for number in 0..plan.count() {
                    let chunk = plan.chunk(number);
                    assert_eq!((chunk.start, chunk.start % TABLE_BYTES), (end, 0), "{bytes} {threads}");
                    assert!(!chunk.is_empty() && chunk.len() <= CHUNK_BYTES_MAX);
                    end = chunk.end;
                }
                assert_eq!(end, bytes);
                assert!(plan.chunk(plan.count()).is_empty());
            }
        }
    }

    #[test]
    fn there_are_four_chunks_a_thread_where_there_is_enough_and_none_is_large() {
        for threads in 1..=256 {
            let plan = ChunkPlan::new(4 * GIB, 4096, threads);
            assert!(plan.count() >= 4 * threads, "{threads}");
            let least = if threads <= 64 { 16 * MIB } else { TABLE_BYTES };
            assert!((least..=64 * MIB).contains(&plan.chunk_bytes()), "{threads}: {}", plan.chunk_bytes());
        }
    }

    #[test]
    fn a_page_is_never_divided() {
        let plan = |bytes, page, threads| ChunkPlan::new(bytes, page, threads).chunk_bytes();
        assert_eq!(plan(64 * GIB, GIB, 16), GIB, "one page of 1 GiB");
        assert_eq!(plan(2 * GIB, GIB, 256), GIB);
        assert_eq!(plan(64 * MIB, 2 * MIB, 256), 2 * MIB);
        assert_eq!(plan(10 * GIB, 512 * MIB, 4), 512 * MIB, "arm64 with pages of 64 KiB");
    }

    #[test]
    fn each_chunk_is_taken_once_whatever_the_nodes() {
        for nodes in 1..=8_usize {
            for threads in [1, 2, 7, 64, 256_usize] {
                let by_node: Vec<usize> =
                    (0..nodes).map(|node| threads * (node + 1) / nodes - threads * node / nodes).collect();
                let (count, mut taken) = (1000, vec![0; 1000]);
                let queue = PopulateQueue::new(count, &by_node);
                let mut thread = 0;
                while let Some(number) = queue.take(thread % nodes) {
                    taken[number] += 1;
                    thread += 1;
                }
                assert!(taken.iter().all(|&times| times == 1), "{nodes} {threads}");
                assert_eq!(queue.take(0), None);
            }
        }
    }

    #[test]
    fn a_node_takes_its_own_chunks_first_and_no_node_without_threads_has_any() {
        let queue = PopulateQueue::new(12, &[2, 0, 1]);
        assert_eq!((0..9).map(|_| queue.take(0).expect("more")).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!([queue.take(2), queue.take(1), queue.take(1)], [Some(9), Some(10), Some(11)]);
        assert!(queue.is_empty() && queue.take(0).is_none());
        assert_eq!(PopulateQueue::new(3, &[]).take(5), Some(0));
        assert_eq!(PopulateQueue::new(3, &[0, 0]).take(1), Some(0));
    }

    #[test]
    fn threads_take_all_chunks_between_them() {
        let (queue, count) = (PopulateQueue::new(10_000, &[2, 2]), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for node in [0, 1, 0, 1] {
                let (queue, count) = (&queue, &count);
                scope.spawn(move || {
                    while queue.take(node).is_some() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 10_000);
    }
}
