//! Files of the kernel that tell of the host as a whole, one file each: text in, values out. Read nothing themselves.

pub mod cpu;
pub mod disk;
pub mod memory;
pub mod network;
pub mod waiting;
