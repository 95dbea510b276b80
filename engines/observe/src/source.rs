//! The kernel's facilities, one file each: bytes of a file in, numbers out. Nothing here keeps state between two moments.
//! Every parser takes any bytes; what is not there is none, never a guess.

pub mod accounts;
pub mod control_group;
pub mod ended;
pub mod machine_stat;
pub mod memory_map;
pub mod memory_status;
pub mod pressure;
pub mod process_stat;
pub mod process_status;
pub mod run_delay;
pub mod thread_list;
pub mod words;
