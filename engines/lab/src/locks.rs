//! What a lock costs here: spinning, queueing, sleeping and borrowed locks in the same situations, and what PAUSE, a hand-over between CPUs
//! and a sleep cost, from which settings for databases follow. Chooses nothing: the command says what to measure.

pub mod advice;
mod atomics;
mod borrowed;
pub mod calibration;
pub mod cell;
mod guarded;
mod kernel;
mod lock;
#[cfg(all(test, feature = "model"))]
mod model;
mod round;
pub mod row;
pub mod scenario;
mod seat;
mod sleep;
mod sleeping;
mod spinning;

pub use lock::{LOCKS, LockKind, MadeOf, WakePolicy, lock_named};
