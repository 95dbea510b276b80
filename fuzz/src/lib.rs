//! Fuzz targets as plain functions of bytes, and what a driver needs besides: seeds and mutations.
//! A target must not panic on any input; where another decoder exists, it compares with that.

pub mod decode;
pub mod job_seeds;
pub mod mutate;
pub mod seeds;
pub mod server_talk;
pub mod targets;
