//! One directory a format, with the same questions answered in each: container, cut, encode, decode.

pub mod bzip2;
pub mod compress;
mod deflate_pieces;
pub mod gzip;
pub mod lz4;
pub mod lzip;
pub mod lzma;
pub mod pack;
pub mod raw;
pub(crate) mod skippable;
pub mod xz;
pub mod zip;
pub mod zlib;
pub mod zstd;
