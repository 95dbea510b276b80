//! Rows of files into tables, and databases into archives, over many connections. README.md is the theory.
//! Reads no environment and shows nothing; the protocols are the engine `wire`, compressed inputs the engine `codec`.

pub mod chunks;
pub mod dump;
pub mod dump_mysql;
pub mod error;
pub mod indexes;
pub mod inputs;
pub mod load;
pub mod restore;
pub mod restore_mysql;
pub mod rows;
pub mod target;
pub mod verify;
