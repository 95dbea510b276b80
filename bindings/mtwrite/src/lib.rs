//! A library that is preloaded into an unmodified program: what the program writes into files that it has just made is queued, file by
//! file in order, and written, furnished with owner, mode and times, and closed by other threads.
//! `boundary` holds the functions that stand before libc's, `shim` is what they do, in safe Rust. Theory and hazards:
//! `bindings/mtwrite/README.md`.

pub mod boundary;
mod buffers;
mod end;
mod file;
mod identities;
mod locks;
mod numbers;
mod shim;
mod statistics;
mod workers;

#[cfg(test)]
mod shim_tests;
