//! Decodes xz blocks: whole ones for a worker, others as a stream. The kernel and liblzma decode; container and checks are
//! compared here.

use super::check::{Check, CheckKind};
use super::container::{BLOCK_HEADER_BYTES_MAX, XzBlockHeader, block_header_bytes, padding, parse_block_header};
use super::index::{XzIndexRecords, record};
#[cfg(feature = "lzma2-kernel")]
use super::kernel::{self, Lzma2Error};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crew::pipeline::{CutTurn, Pause};
use liblzma::stream::{Action, Status, Stream};
use parking_lot::Mutex;
use std::sync::Arc;

/// Compressed bytes given to the library at a time.
const INPUT_BYTES: usize = 64 << 10;

/// Uncompressed bytes of a whole block between two yield points.
const STEP_BYTES: usize = 1 << 20;

/// What a block's decoder must know beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockUnit {
    pub check: CheckKind,
    /// Whether it is compared.
    pub is_checked: bool,
    pub uncompressed_bytes: u64,
    /// Of the padding behind the data: what the Index tells without it must be exact.
    pub padding_bytes: u64,
}

impl BlockUnit {
    /// The size has 32 bits where a worker takes the block; four tell the check, two the padding, one whether to check.
    pub fn parameters(self) -> u64 {
        self.uncompressed_bytes << 7
            | u64::from(self.is_checked) << 6
            | self.padding_bytes << 4
            | u64::from(self.check.id())
    }

    fn of(parameters: u64) -> Self {
        // Four bits.
        let check = CheckKind::from_id((parameters & 0xf) as u8);
        Self {
            check,
            is_checked: parameters >> 6 & 1 == 1,
            uncompressed_bytes: parameters >> 7,
            padding_bytes: parameters >> 4 & 3,
        }
    }
}

/// How far a block's data were decoded: bytes of the input and of the output.
struct Decoded {
    consumed: usize,
    produced: usize,
}

/// Decodes blocks whose sizes are known.
pub(super) struct XzBlockDecoder {
    #[cfg(feature = "lzma2-kernel")]
    kernel: Box<kernel::LzmaDecoder>,
}

impl XzBlockDecoder {
    pub fn new() -> Self {
        Self {
            #[cfg(feature = "lzma2-kernel")]
            kernel: kernel::LzmaDecoder::boxed(),
        }
    }

    /// Decodes the data of a block into `room`, which is one byte more than they claim to be: enough to catch a claim that is too small.
    fn data(
        &mut self,
        header: &XzBlockHeader,
        body: &[u8],
        room: &mut [u8],
        pause: &mut Pause<'_>,
    ) -> Result<Decoded, UnitDefect> {
        // For other processors the kernel has no hot loop.
        #[cfg(feature = "lzma2-kernel")]
        if cfg!(target_arch = "x86_64") && header.has_no_filter() {
            return self.data_by_kernel(header, body, room, pause);
        }
        let mut stream = Stream::new_raw_decoder(&header.filters(room.len() as u64 - 1)?).map_err(UnitDefect::Lzma)?;
        loop {
            // Both are offsets into slices.
            let (consumed, produced) = (stream.total_in() as usize, stream.total_out() as usize);
            let step_end = room.len().min(produced + STEP_BYTES);
            let step = stream.process(&body[consumed..], &mut room[produced..step_end], Action::Finish);
            let is_ended = step.map_err(UnitDefect::Lzma)? == Status::StreamEnd;
            let decoded = Decoded { consumed: stream.total_in() as usize, produced: stream.total_out() as usize };
            if is_ended || decoded.produced == room.len() {
                return Ok(decoded);
            }
            if decoded.produced < step_end {
                return Err(UnitDefect::Truncated);
            }
            pause.gone_through(decoded.consumed - consumed);
            pause.point();
        }
    }

    #[cfg(feature = "lzma2-kernel")]
    fn data_by_kernel(
        &mut self,
        header: &XzBlockHeader,
        body: &[u8],
        room: &mut [u8],
        pause: &mut Pause<'_>,
    ) -> Result<Decoded, UnitDefect> {
        let between = |packed_bytes| {
            pause.gone_through(packed_bytes);
            pause.point();
        };
        match self.kernel.decode(body, header.dictionary_bytes(), room, between) {
            Ok(kernel::LzmaDecoded { consumed, produced }) => Ok(Decoded { consumed, produced }),
            Err(Lzma2Error::TooLong { room }) => {
                Err(UnitDefect::Length { stored: room as u64 - 1, actual: room as u64 })
            }
            Err(Lzma2Error::Truncated) => Err(UnitDefect::Truncated),
            Err(error) => Err(UnitDefect::Lzma2(error)),
        }
    }
}

impl Decoder for XzBlockDecoder {
    fn decode(
        &mut self,
        compressed: &[u8],
        parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let unit = BlockUnit::of(parameters);
        let header_bytes = block_header_bytes(*compressed.first().ok_or(UnitDefect::Truncated)?);
        let (head, body) = compressed.split_at_checked(header_bytes).ok_or(UnitDefect::Truncated)?;
        let header = parse_block_header(head)?;
        let stored_bytes = header.uncompressed_bytes.unwrap_or(unit.uncompressed_bytes);
        if stored_bytes != unit.uncompressed_bytes || stored_bytes > uncompressed_limit {
            return Err(UnitDefect::Length { stored: stored_bytes, actual: unit.uncompressed_bytes });
        }
        let wanted = usize::try_from(stored_bytes).expect("bounded by the limit");
        let room = uncompressed.room(wanted + 1);
        let Decoded { consumed: data_end, produced } = self.data(&header, body, room, pause)?;
        if produced != wanted {
            return Err(UnitDefect::Length { stored: stored_bytes, actual: produced as u64 });
        }
        let consumed = data_end as u64;
        check_compressed_bytes(&header, consumed)?;
        let (stored, rest) = check_field(&body[data_end..], consumed, unit.check)?;
        if !rest.is_empty() || padding(consumed) != unit.padding_bytes {
            let stored = compressed.len() as u64 - unit.padding_bytes;
            let actual = (compressed.len() - rest.len()) as u64 - padding(consumed);
            return Err(UnitDefect::CompressedLength { stored, actual });
        }
        let mut check = Check::begin_if(unit.is_checked, unit.check);
        for step in room[..wanted].chunks(STEP_BYTES) {
            check.add(step);
            pause.point();
        }
        check.compare(stored)?;
        uncompressed.grow(wanted);
        Ok(())
    }
}

fn check_compressed_bytes(header: &XzBlockHeader, consumed: u64) -> Result<(), UnitDefect> {
    match header.compressed_bytes {
        Some(stored) if stored != consumed => Err(UnitDefect::CompressedLength { stored, actual: consumed }),
        _ => Ok(()),
    }
}

/// The check behind the padding that follows `compressed_bytes` of data, and what is left behind it.
fn check_field(behind: &[u8], compressed_bytes: u64, kind: CheckKind) -> Result<(&[u8], &[u8]), UnitDefect> {
    let (zeros, behind) = behind.split_at_checked(padding(compressed_bytes) as usize).ok_or(UnitDefect::Truncated)?;
    if zeros.iter().any(|&byte| byte != 0) {
        return Err(UnitDefect::Header("its padding is not zero"));
    }
    behind.split_at_checked(kind.bytes()).ok_or(UnitDefect::Truncated)
}

/// Decodes one block segment by segment, and adds its record when it has ended.
pub(super) struct BlockStream {
    kind: CheckKind,
    is_checked: bool,
    records: Arc<Mutex<XzIndexRecords>>,
    begun: Option<Begun>,
}

struct Begun {
    header: XzBlockHeader,
    stream: Stream,
    check: Check,
}

impl BlockStream {
    pub fn new(kind: CheckKind, is_checked: bool, records: Arc<Mutex<XzIndexRecords>>) -> Self {
        Self { kind, is_checked, records, begun: None }
    }

    fn begin(&mut self, input: &mut CompressedReader) -> Result<(), CutError> {
        let (head, _) = input.ahead(1, BLOCK_HEADER_BYTES_MAX)?;
        let header_bytes = block_header_bytes(*head.first().ok_or(UnitDefect::Truncated)?);
        let (head, _) = input.ahead(header_bytes, header_bytes)?;
        let header = parse_block_header(head.get(..header_bytes).ok_or(UnitDefect::Truncated)?)?;
        let uncompressed_bytes_max = header.uncompressed_bytes.unwrap_or(u64::MAX);
        let stream = Stream::new_raw_decoder(&header.filters(uncompressed_bytes_max)?).map_err(UnitDefect::Lzma)?;
        input.consume(header_bytes);
        self.begun = Some(Begun { header, stream, check: Check::begin_if(self.is_checked, self.kind) });
        Ok(())
    }

    /// The data have ended: what follows them, and what the header told of them.
    fn end(&mut self, input: &mut CompressedReader) -> Result<SegmentFill, CutError> {
        let Begun { header, stream, check } = self.begun.take().expect("begun");
        let (consumed, produced) = (stream.total_in(), stream.total_out());
        check_compressed_bytes(&header, consumed)?;
        if let Some(stored) = header.uncompressed_bytes.filter(|&stored| stored != produced) {
            return Err(UnitDefect::Length { stored, actual: produced }.into());
        }
        let field_bytes = padding(consumed) as usize + self.kind.bytes();
        let (behind, _) = input.ahead(field_bytes, field_bytes)?;
        let (stored, _) = check_field(behind, consumed, self.kind)?;
        check.compare(stored)?;
        input.consume(field_bytes);
        let record = record(header.bytes, consumed, self.kind, produced);
        self.records.lock().add(record);
        Ok(SegmentFill::Last(None))
    }
}

impl StreamDecoder for BlockStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        if self.begun.is_none() {
            self.begin(input)?;
        }
        loop {
            let Begun { stream, check, .. } = self.begun.as_mut().expect("begun");
            let (compressed, at_end) = input.ahead(1, INPUT_BYTES)?;
            let (consumed_before, produced_before) = (stream.total_in(), stream.total_out());
            let room = uncompressed.room(segment_bytes - uncompressed.len());
            let status = turn.with_hand(|| {
                let status = stream.process(compressed, room, Action::Run);
                check.add(&room[..(stream.total_out() - produced_before) as usize]);
                status
            });
            let consumed = (stream.total_in() - consumed_before) as usize;
            let produced = (stream.total_out() - produced_before) as usize;
            let compressed_is_empty = compressed.is_empty();
            uncompressed.grow(produced);
            input.consume(consumed);
            match status {
                Ok(Status::StreamEnd) => return self.end(input),
                Ok(_) if consumed == 0 && produced == 0 && compressed_is_empty && at_end => {
                    return Err(UnitDefect::Truncated.into());
                }
                Ok(_) => {}
                Err(error) => return Err(UnitDefect::Lzma(error).into()),
            }
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
        }
    }
}
