//! The budget of cores, and large memory set up on them, as a static library for programs that are not written in Rust: `bindings/c/include/manyhands.h`.
//! `share` and `memory_pool` are what the functions do, in safe Rust; `boundary` turns pointers and numbers into its values, and nothing else.
//! Decides nothing about hands. Why this crate may hold unsafe code: `docs/decisions/0007-a-boundary-for-c.md`.

mod boundary;
mod memory_pool;
mod share;

#[cfg(test)]
mod header_tests;
