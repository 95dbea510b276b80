//! Tasks of a stream that other threads do ahead of the one that takes their outcomes in order. The pipeline's threads do them when they have nothing else;
//! there is none of its own.

use crate::format::AheadOfStream;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};

/// A task.
pub trait AheadTask: Send + Sized {
    /// Tables and memory that a thread needs for it, kept for the next one.
    type Tools: Default + Send;
    /// What comes of it.
    type Outcome: Send;

    fn run(self, tools: &mut Self::Tools) -> Self::Outcome;

    /// What comes of one that has panicked, which ends the run.
    fn panicked() -> Self::Outcome;
}

/// The tasks of one stream.
pub struct TaskPool<T: AheadTask> {
    state: Mutex<PoolState<T>>,
    changed: Condvar,
}

struct PoolState<T: AheadTask> {
    /// In the order of their numbers.
    waiting: VecDeque<(u64, T)>,
    done: BTreeMap<u64, T::Outcome>,
    tools: Vec<T::Tools>,
    is_over: bool,
}

impl<T: AheadTask> Default for TaskPool<T> {
    fn default() -> Self {
        let state = PoolState { waiting: VecDeque::new(), done: BTreeMap::new(), tools: Vec::new(), is_over: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T: AheadTask> TaskPool<T> {
    /// Adds a task with a number above those before.
    pub fn add(&self, number: u64, task: T) {
        self.state.lock().waiting.push_back((number, task));
    }

    /// The outcome of the task of this number, done by this thread if nobody has begun it. While another is at it, this one does later ones.
    pub fn take(&self, number: u64) -> T::Outcome {
        let mut state = self.state.lock();
        loop {
            if let Some(outcome) = state.done.remove(&number) {
                return outcome;
            }
            match state.waiting.pop_front() {
                Some((number, task)) => {
                    drop(state);
                    self.run(number, task);
                    state = self.state.lock();
                }
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// As [`TaskPool::take`], but none, and the task is forgotten, if nobody has begun it.
    pub fn take_begun(&self, number: u64) -> Option<T::Outcome> {
        {
            let mut state = self.state.lock();
            if state.waiting.front().is_some_and(|(front, _)| *front == number) {
                state.waiting.pop_front();
                return None;
            }
        }
        Some(self.take(number))
    }

    /// Ends it: nothing more is done, and its memory goes.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        (state.waiting, state.done, state.tools) = Default::default();
    }

    fn run(&self, number: u64, task: T) {
        let mut promise = Promise { pool: self, number: Some(number) };
        let mut tools = self.state.lock().tools.pop().unwrap_or_default();
        let outcome = task.run(&mut tools);
        promise.number = None;
        let mut state = self.state.lock();
        if !state.is_over {
            state.tools.push(tools);
            state.done.insert(number, outcome);
        }
        drop(state);
        self.changed.notify_one();
    }
}

/// A task that a thread may wait for: if it panics, that thread goes on, and the panic ends the run.
struct Promise<'a, T: AheadTask> {
    pool: &'a TaskPool<T>,
    number: Option<u64>,
}

impl<T: AheadTask> Drop for Promise<'_, T> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        self.pool.state.lock().done.insert(number, T::panicked());
        self.pool.changed.notify_one();
    }
}

impl<T: AheadTask> AheadOfStream for TaskPool<T> {
    fn has_work(&self) -> bool {
        !self.state.lock().waiting.is_empty()
    }

    fn work(&self) {
        let task = self.state.lock().waiting.pop_front();
        task.into_iter().for_each(|(number, task)| self.run(number, task));
    }

    fn is_over(&self) -> bool {
        self.state.lock().is_over
    }
}
