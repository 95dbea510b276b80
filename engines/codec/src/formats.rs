//! One folder a format, with the same questions answered in each: container, cut, encode, decode.

pub mod bzip2;
pub mod gzip;
pub mod lz4;
pub(crate) mod skippable;
pub mod xz;
pub mod zstd;
