//! Compresses a little of a file in memory, to tell what the whole would take: for a plan's expectation.
//! Writes nothing and keeps nothing.

use crate::byte_buffer::ByteBuffer;
use crate::format::{EncodeOptions, Format};
use crew::pipeline::Pause;
use std::fs::File;
use std::path::Path;
use std::time::Instant;
use sys::at_offset::read_full_at;

/// What a sample showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSample {
    /// Uncompressed bytes that were tried.
    pub bytes: u64,
    /// Uncompressed bytes a second on one core.
    pub bytes_per_second: f64,
    /// Compressed size as a share of the uncompressed.
    pub compressed_share: f64,
}

/// LIMIT: the sample takes at most this much from each of three places; enough to warm up an encoder, and below a second
/// at every level but the slowest.
const PLACE_BYTES: u64 = 1 << 20;

/// Tries three places of a regular file: begin, middle, end. `None` where it cannot be read or is empty.
pub fn sample(path: &Path, format: &dyn Format, options: &EncodeOptions) -> Option<DataSample> {
    // Looked at before it is opened: opening a FIFO would wait for somebody to write.
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let mut encoder = format.encoder(options).ok()?;
    let last = metadata.len().saturating_sub(PLACE_BYTES);
    let (mut plain_bytes, mut packed_bytes, mut seconds) = (0, 0, 0.0);
    let mut places = [0, last / 2, last].to_vec();
    places.dedup();
    for place in places {
        let mut uncompressed = vec![0; usize::try_from(PLACE_BYTES.min(metadata.len())).ok()?];
        let read = read_full_at(&file, &mut uncompressed, place).ok()?;
        let mut compressed = ByteBuffer::default();
        let begin = Instant::now();
        encoder.encode(&uncompressed[..read], &mut compressed, &mut Pause::never()).ok()?;
        seconds += begin.elapsed().as_secs_f64();
        plain_bytes += read as u64;
        packed_bytes += compressed.len() as u64;
    }
    Some(DataSample {
        bytes: plain_bytes,
        bytes_per_second: plain_bytes as f64 / seconds.max(1e-9),
        compressed_share: packed_bytes as f64 / plain_bytes.max(1) as f64,
    })
}
