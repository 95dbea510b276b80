//! Encodes zstd frames: independent ones with content size and checksum, or one long frame, by libzstd; chunks of level 3 are
//! handed to `own_frames`.

use super::container::{SEEK_FOOTER_MAGIC, SEEK_TABLE_MAGIC};
use super::kernel::is_library_known;
use super::own_frames::{self, OwnEncoder};
use super::parameters::{context, library_error, set_jobs, set_parameters};
use super::stepped_frames::{self, SteppedEncoder};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{EncodeOptions, Encoder, StreamEncoder, Tail, UnitLayout};
use crate::formats::skippable;
use crate::zstd_tuning::ZstdTuning;
use crew::pipeline::Pause;
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

/// Uncompressed bytes in one independent frame, a power of two.
///
/// Each frame starts without history, which costs ratio; but a window as long as the frame (libzstd would choose a quarter of
/// that) wins back more than it costs, in the same time: 2 to 3 % smaller than one frame by `zstd -T2`. Larger frames would be
/// smaller still, but take memory and leave hands idle on small files. Chosen in docs/journal/0001-tamp-first-slice.md.
pub(super) fn frame_bytes(level: i32) -> usize {
    let mebibytes = match level {
        ..=2 => 2,
        3..=8 => 4,
        _ => 16,
    };
    mebibytes << 20
}

/// What a context holds, in MiB: as libzstd 1.5.7 told after a frame, by level.
const CONTEXT_MEBIBYTES: [u64; 23] =
    [2, 1, 1, 2, 3, 4, 4, 6, 6, 11, 21, 21, 41, 33, 49, 65, 33, 49, 50, 82, 162, 194, 258];

pub(super) fn context_bytes(options: &EncodeOptions) -> u64 {
    let level = usize::try_from(options.level).unwrap_or(0).min(CONTEXT_MEBIBYTES.len() - 1);
    // A dictionary is copied, and its tables are copied into the context's.
    let dictionary = options.dictionary.map_or(0, |bytes| 2 * bytes.len() as u64);
    let own = if has_own_frames(options) { own_frames::ENCODER_BYTES } else { 0 };
    // Both, where they are: a short chunk, the last of most files, goes to the library.
    let tables = (CONTEXT_MEBIBYTES[level] << 20).max(table_bytes(&options.zst)) + dictionary + own;
    if options.layout != UnitLayout::SingleUnit {
        return tables;
    }
    // The library's threads take segments of four windows, one being read and one a thread, and all that is compressed may wait for
    // the last to be done; LIMIT: by default the window is
    // 8 MiB, from -20 on 128 MiB.
    let usual_log = match options.window_log {
        // The library chooses it for far-away matches.
        Some(0) => 27,
        Some(log) => log,
        None if options.level > 19 => 27,
        None => 23,
    };
    let asked_log = options.zst.search.window_log;
    let window = 1_u64 << if asked_log > 0 { asked_log } else { usual_log };
    let threads = u64::from(options.library_threads.max(1));
    threads * (tables + 2 * window) + 2 * (threads + 1) * 4 * window
}

/// Memory of tables whose sizes were asked for: the library's have four bytes an entry, those of far-away matches eight.
fn table_bytes(tuning: &ZstdTuning) -> u64 {
    let entries = |log: u32| if log > 0 { 1_u64 << log.min(32) } else { 0 };
    4 * (entries(tuning.search.hash_log) + entries(tuning.search.chain_log)) + 8 * entries(tuning.long.hash_log)
}

/// Whether chunks of usual lengths are compressed by our own match finder: in less than the library's time, and
/// smaller (docs/journal/0003-five-formats.md). It knows no dictionaries, and one level.
fn has_own_frames(options: &EncodeOptions) -> bool {
    options.level == own_frames::LEVEL
        && is_library_known()
        && options.layout == UnitLayout::ParallelUnits
        && options.dictionary.is_none()
        && options.window_log.is_none()
        && options.zst.is_usual()
        && !options.zst.leaves_out_checksum
}

/// One frame a chunk.
pub(super) struct ZstdFrameEncoder {
    /// The library's; it takes memory for a level when a chunk comes that it is to pack.
    context: CCtx<'static>,
    /// Our own, made for the first chunk.
    own: Option<OwnEncoder>,
    /// The library's for slow levels, which can be left between two blocks; made for the first chunk. No memory is taken for one that the other has taken.
    stepped: Option<SteppedEncoder>,
    options: EncodeOptions,
}

impl ZstdFrameEncoder {
    pub fn new(options: &EncodeOptions) -> Result<Self, CodecError> {
        Ok(Self { context: context(options)?, own: None, stepped: None, options: *options })
    }
}

impl Encoder for ZstdFrameEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        if stepped_frames::are_for(&self.options) {
            let stepped = match &mut self.stepped {
                Some(stepped) => stepped,
                None => self.stepped.insert(SteppedEncoder::new(&self.options)?),
            };
            return stepped.encode(uncompressed, compressed, pause);
        }
        let room = compressed.room(zstd_safe::compress_bound(uncompressed.len()));
        if has_own_frames(&self.options) && own_frames::LENGTHS.contains(&uncompressed.len()) {
            let own = match &mut self.own {
                Some(own) => own,
                None => self.own.insert(OwnEncoder::new()?),
            };
            return own.encode(uncompressed, compressed);
        }
        let size = self.context.compress2(room, uncompressed).map_err(library_error)?;
        compressed.grow(size);
        Ok(())
    }

    /// One context with its tables serves all levels: they take what the dearest has needed, not the sum. Level 3 has tables
    /// of its own beside it, less than what a second encoder would take, which is what is planned for.
    fn set_level(&mut self, level: i32) -> Result<bool, CodecError> {
        self.options.level = level;
        if stepped_frames::are_for(&self.options) {
            self.context = context(&self.options)?;
        }
        self.stepped = None;
        set_parameters(&mut self.context, &self.options)?;
        Ok(true)
    }
}

/// One frame for the whole input; the library divides it among threads of its own.
pub(super) struct FrameStreamEncoder {
    context: CCtx<'static>,
    /// The size that the header states, and how much of it there was.
    stated_bytes: Option<u64>,
    taken_bytes: u64,
}

impl FrameStreamEncoder {
    pub fn new(options: &EncodeOptions) -> Result<Self, CodecError> {
        let mut context = context(options)?;
        // Never none: without workers the library divides the input differently, and the output would depend on the cores.
        let workers = options.library_threads.max(1);
        context.set_parameter(CParameter::NbWorkers(workers)).map_err(library_error)?;
        context.set_parameter(CParameter::RSyncable(options.is_rsyncable)).map_err(library_error)?;
        set_jobs(&mut context, &options.zst)?;
        context.set_pledged_src_size(options.zst.stream_bytes).map_err(library_error)?;
        if let Some(prefix) = options.zst.prefix {
            context.ref_prefix(prefix).map_err(library_error)?;
        }
        Ok(Self { context, stated_bytes: options.zst.stream_bytes, taken_bytes: 0 })
    }
}

impl StreamEncoder for FrameStreamEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        self.taken_bytes += uncompressed.len() as u64;
        // The library does not see it where all comes in one call.
        if ends && self.stated_bytes.is_some_and(|stated| stated != self.taken_bytes) {
            return Err(CodecError::Library { library: "zstd", message: "Src size is incorrect".to_owned() });
        }
        let mut input = InBuffer::around(uncompressed);
        let directive = if ends { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_continue };
        loop {
            let mut output = OutBuffer::around(compressed.room(CCtx::out_size()));
            let left = self.context.compress_stream2(&mut output, &mut input, directive).map_err(library_error)?;
            let written = output.pos();
            compressed.grow(written);
            let is_done = if ends { left == 0 } else { input.pos == uncompressed.len() };
            if is_done {
                return Ok(());
            }
            pause.point();
        }
    }
}

/// Number of frames, descriptor, magic.
const SEEK_FOOTER_BYTES: usize = 9;

/// Bytes of the seek table that a file ends in, told by its last bytes; 0 where they are none of ours.
pub(super) fn seek_table_bytes(end: &[u8]) -> u64 {
    let Some([a, b, c, d, descriptor, magic @ ..]) = end.last_chunk::<SEEK_FOOTER_BYTES>() else { return 0 };
    if *descriptor != 0 || *magic != SEEK_FOOTER_MAGIC.to_le_bytes() {
        return 0;
    }
    seek_table_of(u64::from(u32::from_le_bytes([*a, *b, *c, *d])))
}

fn seek_table_of(frames: u64) -> u64 {
    (skippable::HEADER_BYTES + SEEK_FOOTER_BYTES) as u64 + 8 * frames
}

/// Collects the sizes of all frames and writes them as the seek table of the zstd seekable format, version 0.1.0
/// (contrib/seekable_format in the zstd sources): a skippable frame that every decoder steps over.
#[derive(Default)]
pub(super) struct SeekTable {
    frames: Vec<(u32, u32)>,
    /// A frame too large for the table's 32-bit fields: then there is no table.
    overflows: bool,
}

/// LIMIT: the format's own bound on the number of frames.
const FRAMES_MAX: usize = 0x0800_0000;

impl Tail for SeekTable {
    fn unit(&mut self, compressed: &[u8], plain_bytes: u64) {
        self.add(compressed.len() as u64, plain_bytes);
    }

    /// A table for a single frame would tell nothing that the frame does not tell itself.
    fn finish(&mut self) -> Vec<u8> {
        if self.frames.len() < 2 || self.overflows {
            return Vec::new();
        }
        let content_bytes = self.frames.len() * 8 + SEEK_FOOTER_BYTES;
        let count = u32::try_from(self.frames.len()).expect("bounded by FRAMES_MAX");
        let mut table = Vec::with_capacity(content_bytes + 8);
        table.extend(SEEK_TABLE_MAGIC.to_le_bytes());
        table.extend(u32::try_from(content_bytes).expect("bounded by FRAMES_MAX").to_le_bytes());
        for (compressed, uncompressed) in &self.frames {
            table.extend(compressed.to_le_bytes());
            table.extend(uncompressed.to_le_bytes());
        }
        table.extend(count.to_le_bytes());
        // Descriptor: no checksums in the table; each frame carries its own.
        table.push(0);
        table.extend(SEEK_FOOTER_MAGIC.to_le_bytes());
        table
    }

    fn bytes_behind(&self, units: u64) -> u64 {
        if units < 2 { 0 } else { seek_table_of(units) }
    }

    fn take_up(&mut self, tail: &[u8], compressed_bytes: u64, uncompressed_bytes: u64) -> bool {
        if tail.is_empty() {
            self.add(compressed_bytes, uncompressed_bytes);
            return true;
        }
        if seek_table_bytes(tail) != tail.len() as u64 {
            return false;
        }
        let (frames, _) = tail[skippable::HEADER_BYTES..tail.len() - SEEK_FOOTER_BYTES].as_chunks::<8>();
        let (mut compressed_end, mut uncompressed_end) = (0, 0);
        for [a, b, c, d, e, f, g, h] in frames {
            let sizes = [[*a, *b, *c, *d], [*e, *f, *g, *h]].map(|bytes| u64::from(u32::from_le_bytes(bytes)));
            self.add(sizes[0], sizes[1]);
            compressed_end += sizes[0];
            uncompressed_end += sizes[1];
        }
        (compressed_end, uncompressed_end) == (compressed_bytes, uncompressed_bytes)
    }
}

impl SeekTable {
    fn add(&mut self, compressed_bytes: u64, uncompressed_bytes: u64) {
        match (u32::try_from(compressed_bytes), u32::try_from(uncompressed_bytes)) {
            (Ok(compressed), Ok(uncompressed)) if self.frames.len() < FRAMES_MAX => {
                self.frames.push((compressed, uncompressed))
            }
            _ => self.overflows = true,
        }
    }
}

/// What the library makes of a chunk in one call.
#[cfg(test)]
pub(super) fn in_one_call(uncompressed: &[u8], options: &EncodeOptions) -> Vec<u8> {
    let mut compressed = vec![0; zstd_safe::compress_bound(uncompressed.len())];
    let packed_bytes = context(options)
        .and_then(|mut context| context.compress2(&mut compressed[..], uncompressed).map_err(library_error));
    compressed.truncate(packed_bytes.expect("any bytes can be packed"));
    compressed
}

#[cfg(all(test, feature = "zstd-finder"))]
mod tests {
    use super::*;

    fn encode(encoder: &mut ZstdFrameEncoder, uncompressed: &[u8]) -> Vec<u8> {
        let mut compressed = ByteBuffer::default();
        encoder.encode(uncompressed, &mut compressed, &mut Pause::never()).expect("any bytes can be packed");
        compressed.content().to_vec()
    }

    #[test]
    fn level_3_has_frames_of_our_own_where_they_fit() {
        let uncompressed = testkit::data::mixed(600_000, 1);
        let mut own = ByteBuffer::default();
        OwnEncoder::new().expect("memory").encode(&uncompressed, &mut own).expect("there is memory");
        let options = EncodeOptions::new(3, UnitLayout::ParallelUnits);
        let mut encoder = ZstdFrameEncoder::new(&options).expect("valid options");
        assert!(encode(&mut encoder, &uncompressed) == own.content());
        assert!(encode(&mut encoder, &uncompressed[..9000]).len() < 9000);
        for level in [2, 3, 4, 3] {
            assert!(encoder.set_level(level).expect("valid level"));
            assert_eq!(encode(&mut encoder, &uncompressed) == own.content(), level == 3);
        }
        for other in [
            EncodeOptions { dictionary: Some(b"words that are in no chunk"), ..options },
            EncodeOptions { window_log: Some(22), ..options },
        ] {
            let mut encoder = ZstdFrameEncoder::new(&other).expect("valid options");
            assert!(encode(&mut encoder, &uncompressed) != own.content());
            assert!(context_bytes(&other) < context_bytes(&options));
        }
    }
}
