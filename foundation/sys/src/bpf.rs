//! Programs of ours inside the kernel (`bpf(2)`), without clang and without a C library: [`assemble`] is the compiler,
//! [`btf`] finds the kernel's own types, the rest is the system call. [`probe`] says whether this process may, and why not.
//!
//! Knows no tool: what is measured, and when it is dear, is the caller's matter.

pub mod assemble;
pub mod btf;
mod call;
pub mod iterate;
pub mod load;
pub mod memory;
pub mod probe;
mod samples;

pub use load::{Attached, LoadError, Place, Program};
pub use memory::{KernelTable, KernelWords};
pub use samples::Samples;
