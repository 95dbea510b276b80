//! One directory a format, with the same questions answered in each: container, cut, encode, decode.

pub mod bzip2;
pub mod compress;
pub mod gzip;
pub mod lz4;
pub mod lzip;
pub mod lzma;
pub mod pack;
pub(crate) mod skippable;
pub mod xz;
pub mod zstd;
