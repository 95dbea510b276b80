//! Decodes zstd frames with libzstd: whole ones for a worker, long ones as a stream. The library checks the checksums.

use super::container::parse_frame_header;
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, DecodeLimits, Decoder, SegmentFill, StreamDecoder};
use crew::pipeline::{CutTurn, Pause};
use zstd_safe::{DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective, get_error_name};

/// Compressed bytes given to the library at a time.
const INPUT_BYTES: usize = 256 << 10;

/// Room given to the library at a time: the most that a block decodes to, and so the most that is lost before a defect, since a call that
/// fails does not tell what it has written.
const OUTPUT_BYTES: usize = 128 << 10;

/// Uncompressed bytes of a frame that is decoded in one call: 30 ms.
const ONE_CALL_BYTES: usize = 32 << 20;

/// The most that the library has.
const WINDOW_LOG_MAX: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };

fn defect(code: ErrorCode) -> UnitDefect {
    UnitDefect::Zstd(get_error_name(code))
}

/// Any bytes are a dictionary, history alone; but what begins as one of zstd's own making must be one.
fn context(limits: &DecodeLimits) -> Result<DCtx<'static>, ErrorCode> {
    let mut context = DCtx::create();
    if let Some(dictionary) = limits.dictionary {
        context.load_dictionary(dictionary)?;
    }
    Ok(context)
}

/// Decodes frames whose length is known.
pub(super) struct FrameDecoder {
    context: Result<DCtx<'static>, ErrorCode>,
    prefix: Option<&'static [u8]>,
}

impl FrameDecoder {
    pub fn new(limits: &DecodeLimits) -> Self {
        Self { context: context(limits), prefix: limits.prefix }
    }
}

impl Decoder for FrameDecoder {
    fn decode(
        &mut self,
        compressed: &[u8],
        _parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let header = parse_frame_header(compressed)?.ok_or(UnitDefect::Truncated)?;
        let claimed = header.content_bytes.ok_or(UnitDefect::Header("its header does not tell its size"))?;
        if claimed > uncompressed_limit {
            return Err(UnitDefect::Length { stored: claimed, actual: uncompressed_limit });
        }
        let wanted = usize::try_from(claimed).expect("bounded by the limit");
        let context = self.context.as_mut().map_err(|code| defect(*code))?;
        if let Some(prefix) = self.prefix {
            context.reset(ResetDirective::SessionOnly).map_err(defect)?;
            context.ref_prefix(prefix).map_err(defect)?;
        }
        let room = uncompressed.room(wanted);
        // Steps begin with a reset, which would forget the prefix.
        let decoded = if wanted <= ONE_CALL_BYTES || self.prefix.is_some() {
            context.decompress(room, compressed).map_err(defect)?
        } else {
            in_steps(context, compressed, room, pause)?
        };
        if decoded != wanted {
            return Err(UnitDefect::Length { stored: claimed, actual: decoded as u64 });
        }
        uncompressed.grow(decoded);
        Ok(())
    }
}

/// Decodes a frame straight into `room`, some compressed bytes at a time.
fn in_steps(
    context: &mut DCtx<'static>,
    compressed: &[u8],
    room: &mut [u8],
    pause: &mut Pause<'_>,
) -> Result<usize, UnitDefect> {
    context.reset(ResetDirective::SessionOnly).map_err(defect)?;
    // The room is the window: none is taken, however large the header says that it is.
    context.set_parameter(DParameter::StableOutBuffer(true)).map_err(defect)?;
    context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(defect)?;
    let mut output = OutBuffer::around(room);
    for step in compressed.chunks(INPUT_BYTES) {
        let mut input = InBuffer::around(step);
        while input.pos < step.len() {
            let before = input.pos;
            let left = context.decompress_stream(&mut output, &mut input).map_err(defect)?;
            if left == 0 {
                return Ok(output.pos());
            }
            if input.pos == before {
                return Err(UnitDefect::Truncated);
            }
        }
        pause.point();
    }
    Err(UnitDefect::Truncated)
}

/// Decodes one frame segment by segment.
pub(super) struct ZstdFrameStream {
    context: DCtx<'static>,
    /// What its header tells.
    content_bytes: Option<u64>,
    done: u64,
}

impl ZstdFrameStream {
    pub fn new(limits: &DecodeLimits, content_bytes: Option<u64>) -> Result<Self, UnitDefect> {
        let mut context = context(limits).map_err(defect)?;
        // The header was checked against the limit already; the library's own limit (128 MiB) must not be lower.
        let log = 63 - limits.window_bytes.max(1 << 10).leading_zeros();
        context.set_parameter(DParameter::WindowLogMax(log.min(31))).map_err(defect)?;
        if let Some(prefix) = limits.prefix {
            context.ref_prefix(prefix).map_err(defect)?;
        }
        Ok(Self { context, content_bytes, done: 0 })
    }
}

impl StreamDecoder for ZstdFrameStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        let mut at_least = 1;
        loop {
            let (compressed, at_end) = input.ahead(at_least, INPUT_BYTES)?;
            let mut source = InBuffer::around(compressed);
            let shown = compressed.len();
            let mut target =
                OutBuffer::around(uncompressed.room((segment_bytes - uncompressed.len()).min(OUTPUT_BYTES)));
            let context = &mut self.context;
            let left = turn.with_hand(|| context.decompress_stream(&mut target, &mut source)).map_err(defect)?;
            let (consumed, produced) = (source.pos, target.pos());
            uncompressed.grow(produced);
            input.consume(consumed);
            self.done += produced as u64;
            if left == 0 {
                // The library does not compare them where the last block is empty.
                return match self.content_bytes {
                    Some(stored) if stored != self.done => Err(UnitDefect::Length { stored, actual: self.done }.into()),
                    _ => Ok(SegmentFill::Last(None)),
                };
            }
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
            if consumed == 0 && produced == 0 {
                if at_end {
                    return Err(UnitDefect::Truncated.into());
                }
                at_least = shown + 1;
            } else {
                at_least = 1;
            }
        }
    }
}
