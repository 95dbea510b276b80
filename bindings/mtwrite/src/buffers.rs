//! The memory that waits to be written: buffers of two sizes, all of them together within one budget, used again while they are warm.

use crate::locks::held;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// What a small file is copied into. Larger wastes more of the budget on smaller files, smaller takes two buffers for most files.
pub const SMALL_BYTES: usize = 16 << 10;
/// What goes to the kernel in one call of a large file. Larger falls out of the cache between the two threads, smaller costs calls.
pub const LARGE_BYTES: usize = 256 << 10;

/// LIMIT: less than some large buffers, and nothing would be left to be ahead with.
pub const MEMORY_MIN_BYTES: usize = 1 << 20;
/// What is used where nothing is said. More makes a program be ahead for longer and leaves the CPU's cache: 1 to 8 MiB were equally fast, 32
/// and 64 MiB slower (`docs/journal/0012-mtwrite.md`).
pub const MEMORY_BYTES: usize = 8 << 20;

/// Longer than what is worked on takes, where somebody works.
const WAIT: Duration = Duration::from_millis(100);

/// All buffers.
pub struct Buffers {
    stock: Mutex<Stock>,
    returned: Condvar,
}

/// Free buffers, and how much there is in all.
pub struct Stock {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    /// In use and free together.
    held_bytes: usize,
    budget_bytes: usize,
    /// Threads that wait for one to come back: waking nobody costs a call, too.
    waiters: usize,
}

impl Buffers {
    /// None yet.
    pub const fn new() -> Self {
        let stock =
            Stock { small: Vec::new(), large: Vec::new(), held_bytes: 0, budget_bytes: MEMORY_BYTES, waiters: 0 };
        Self { stock: Mutex::new(stock), returned: Condvar::new() }
    }

    /// The stock, for a change of the budget, and for a fork.
    pub fn lock(&self) -> MutexGuard<'_, Stock> {
        held(self.stock.lock())
    }

    /// An empty buffer for `bytes` of a file that has `queued_bytes` waiting already; none where the budget is used up.
    pub fn take(&self, bytes: usize, queued_bytes: usize) -> Option<Vec<u8>> {
        self.lock().take(size_for(bytes, queued_bytes))
    }

    /// Gives one back.
    pub fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut stock = self.lock();
        if buffer.capacity() == LARGE_BYTES {
            stock.large.push(buffer)
        } else {
            stock.small.push(buffer)
        }
        if stock.waiters > 0 && !stock.is_used_up() {
            self.returned.notify_one();
        }
    }

    /// Waits until one of any size can be had, but not for ever: who works may end with less, and leave the rest to whoever waits.
    pub fn wait(&self) {
        let mut stock = self.lock();
        stock.waiters += 1;
        let waited = self.returned.wait_timeout_while(stock, WAIT, |stock| stock.is_used_up());
        held(waited).0.waiters -= 1;
    }
}

/// The first bytes of a file go into a small buffer, as most files are small; what follows shows a large one.
fn size_for(bytes: usize, queued_bytes: usize) -> usize {
    if bytes <= SMALL_BYTES && queued_bytes == 0 { SMALL_BYTES } else { LARGE_BYTES }
}

impl Stock {
    /// Sets the budget.
    pub fn limit_to(&mut self, budget_bytes: usize) {
        self.budget_bytes = budget_bytes.max(MEMORY_MIN_BYTES);
    }

    fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let of_size = if size == LARGE_BYTES { &mut self.large } else { &mut self.small };
        if let Some(buffer) = of_size.pop() {
            return Some(buffer);
        }
        let others = if size == LARGE_BYTES { &mut self.small } else { &mut self.large };
        while self.held_bytes + size > self.budget_bytes {
            self.held_bytes -= others.pop()?.capacity();
        }
        self.held_bytes += size;
        Some(Vec::with_capacity(size))
    }

    /// Who waits goes on when an eighth of the budget is free, and one large buffer at least: woken for each, a program would do little
    /// else than fall asleep again.
    fn is_used_up(&self) -> bool {
        let free_bytes = self.small.len() * SMALL_BYTES + self.large.len() * LARGE_BYTES;
        self.held_bytes - free_bytes + LARGE_BYTES.max(self.budget_bytes / 8) > self.budget_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_the_budget_and_all_of_it() {
        let buffers = Buffers::new();
        buffers.lock().limit_to(MEMORY_MIN_BYTES);
        let large: Vec<_> = std::iter::from_fn(|| buffers.take(LARGE_BYTES, 0)).collect();
        assert_eq!(large.len(), MEMORY_MIN_BYTES / LARGE_BYTES);
        assert!(buffers.take(1, 0).is_none());
        large.into_iter().for_each(|buffer| buffers.give_back(buffer));
        let small: Vec<_> = std::iter::from_fn(|| buffers.take(1, 0)).collect();
        assert_eq!(small.len(), MEMORY_MIN_BYTES / SMALL_BYTES, "free buffers of the other size make room");
        assert!(buffers.take(LARGE_BYTES, 0).is_none());
    }

    #[test]
    fn a_file_that_goes_on_gets_large_buffers() {
        assert_eq!(size_for(100, 0), SMALL_BYTES);
        assert_eq!(size_for(100, SMALL_BYTES), LARGE_BYTES);
        assert_eq!(size_for(SMALL_BYTES + 1, 0), LARGE_BYTES);
    }

    #[test]
    fn who_waits_is_woken_by_a_buffer_that_comes_back() {
        let buffers = Buffers::new();
        buffers.lock().limit_to(MEMORY_MIN_BYTES);
        let mut lent: Vec<_> = std::iter::from_fn(|| buffers.take(LARGE_BYTES, 0)).collect();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                buffers.wait();
                buffers.take(LARGE_BYTES, 0).is_some()
            });
            buffers.give_back(lent.pop().expect("four were lent"));
            assert!(waiting.join().expect("it does not panic"));
        });
    }
}
