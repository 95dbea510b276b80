//! The Linux facilities the house needs, one file each, with its fallback beside it.
//!
//! This is the only crate of the foundation in which `unsafe` may stand. It knows no file format, no flag and no policy:
//! each function does one kernel thing and returns the kernel's own error.

pub mod allocator;
pub mod at_offset;
pub mod bpf;
pub mod byte_lock;
pub mod civil_time;
pub mod clock_reading;
pub mod cpu_clock;
pub mod ended_tasks;
pub mod error_text;
pub mod futex;
pub mod guard;
pub mod huge_page;
pub mod interposed;
pub mod mapped_memory;
pub mod memory_policy;
pub mod names;
pub mod null_call;
pub mod own_table;
pub mod pipe_end;
pub mod process_tree;
pub mod reap;
pub mod robust_mark;
pub mod scheduling;
pub mod session;
pub mod shared_memory;
pub mod shared_words;
pub mod signals;
pub mod spawn;
pub mod standard_streams;
pub mod start;
pub mod time_stamp;
pub mod timed_wait;
pub mod trace;
pub mod tree_calls;
pub mod wake;
