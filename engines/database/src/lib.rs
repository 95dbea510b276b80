//! Databases dumped by many connections, in formats that the vendors' own tools read. Reads no environment and shows nothing; the protocols are
//! the engine `wire`.

pub mod dump;
