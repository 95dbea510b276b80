//! Compression formats, and how each of them becomes parallel: many files and many chunks on the same hands.
//!
//! [`compress`](compress::compress) and [`decompress`](decompress::decompress) turn lanes (one input, one output each) into the stages of `crew`'s
//! pipeline. What a format is (magic, units, checks, levels) stands behind the [`Format`](format::Format) trait.
//! Theory: `engines/codec/README.md`.

pub mod admission;
mod block_borders;
pub mod byte_buffer;
pub mod compress;
pub mod compressed_reader;
mod content_borders;
pub mod decompress;
pub mod encoders;
mod ends;
pub mod error;
pub mod filter_chain;
pub mod format;
pub mod formats;
mod holes;
mod in_series;
pub mod joining;
pub mod keep_up;
pub mod lane;
pub mod list;
pub mod origin;
pub mod passing;
pub mod reading;
pub mod registry;
pub mod running_check;
pub mod sample;
mod task_pool;
pub mod zstd_training;
pub mod zstd_tuning;
