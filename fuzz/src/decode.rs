//! Encodes and decodes in memory through the same traits as the product: cutter, decoders, pieces of streams.
//! Bounded: stops when more than a limit has come out. What the pipeline adds (files, threads, checks of pieces) is not here.

use codec::byte_buffer::ByteBuffer;
use codec::compressed_reader::CompressedReader;
use codec::format::{
    CutError, DecodeLimits, EncodeOptions, Format, NextUnit, SegmentFill, StreamDecoder, UncompressedSize, UnitLayout,
};
use codec::reading::StreamReading;
use codec::registry;
use codec::running_check::TrailerClaim;
use crew::pipeline::{CutTurn, Pause};

/// What came of it.
pub enum Decoded {
    /// Everything.
    Whole {
        /// The plain bytes.
        plain: Vec<u8>,
    },
    /// It was refused.
    Refused,
    /// More came out than [`PLAIN_BYTES`].
    TooMuch,
}

/// LIMIT: the largest unit that is held at once, small enough that mutated claims go beyond it.
const UNIT_BYTES: u64 = 1 << 20;

/// What all decoders here are given.
const LIMITS: DecodeLimits = DecodeLimits {
    unit_uncompressed_bytes: UNIT_BYTES,
    unit_held_bytes: u64::MAX,
    window_bytes: 8 << 20,
    dictionary: None,
    prefix: None,
    stream_bytes: 16 << 20,
    ahead_bytes: 0,
    streams_lone_unit: true,
};

/// LIMIT: what an input may come to before it is left.
pub const PLAIN_BYTES: usize = 8 << 20;

/// LIMIT: what a decoder may add to a piece beyond its size: one match.
const OVERSHOOT_BYTES: usize = 258;

/// A registered format.
pub fn format(name: &str) -> &'static dyn Format {
    registry::by_name(name).expect("a registered format")
}

/// Options of one core.
pub fn options(level: i32, layout: UnitLayout) -> EncodeOptions {
    EncodeOptions::new(level, layout)
}

/// Packs everything as one chunk.
pub fn encode(name: &str, plain: &[u8], level: i32, layout: UnitLayout) -> Vec<u8> {
    let mut encoder = format(name).encoder(&options(level, layout)).expect("valid options");
    let mut packed = ByteBuffer::default();
    encoder.encode(plain, &mut packed, &mut Pause::never()).expect("any bytes can be packed");
    packed.content().to_vec()
}

/// A whole file of several chunks, whose size the input chooses.
pub fn encode_in_parts(name: &str, plain: &[u8], level: i32) -> Vec<u8> {
    let options = options(level, UnitLayout::ParallelUnits);
    let mut encoder = format(name).encoder(&options).expect("valid options");
    let mut tail = format(name).tail(&options);
    let (mut file, mut packed) = (format(name).head_of(&options, None), ByteBuffer::default());
    tail.head(&file);
    for part in plain.chunks(1000 + 7 * piece_bytes(plain)) {
        encoder.encode(part, &mut packed, &mut Pause::never()).expect("any bytes can be packed");
        assert!(packed.len() <= format(name).compressed_bound(part.len()), "the bound must hold");
        tail.unit(packed.content(), part.len() as u64);
        file.extend_from_slice(&packed.content()[..packed.len() - format(name).note_bytes()]);
    }
    file.extend(tail.finish());
    file
}

/// A piece size chosen by the input itself: odd, and often tiny.
pub fn piece_bytes(input: &[u8]) -> usize {
    1 + usize::from(input.last().copied().unwrap_or(0)) * 7
}

/// The size of pieces may decide when too much is noticed, and nothing else.
///
/// # Panics
/// When it did.
pub fn assert_agreement(large: &Decoded, small: &Decoded) {
    match (large, small) {
        (Decoded::Whole { plain, .. }, Decoded::Whole { plain: again, .. }) => {
            assert!(plain == again, "the size of pieces changes the bytes");
        }
        (Decoded::Whole { .. }, Decoded::Refused) | (Decoded::Refused, Decoded::Whole { .. }) => {
            panic!("the size of pieces decides whether it is accepted");
        }
        _ => {}
    }
}

/// What was packed comes back, in large pieces and in small ones.
///
/// # Panics
/// When it does not.
pub fn assert_comes_back(name: &str, packed: &[u8], plain: &[u8]) {
    for piece in [1 << 20, piece_bytes(packed)] {
        match decode(format(name), packed, piece) {
            Decoded::Whole { plain: back, .. } => assert!(back == plain, "other bytes come back"),
            Decoded::Refused => panic!("we refuse what we wrote"),
            Decoded::TooMuch => assert!(plain.len() >= PLAIN_BYTES, "more comes back than was packed"),
        }
    }
}

/// Decodes `packed`, in pieces of `piece_bytes` where it is a stream.
pub fn decode(format: &dyn Format, packed: &[u8], piece_bytes: usize) -> Decoded {
    let limits = LIMITS;
    let mut reader = CompressedReader::memory(packed.to_vec());
    let mut cutter = format.cutter(&limits);
    let mut decoder = format.decoder(&limits);
    let (mut plain, mut checked) = (Vec::new(), 0);
    while plain.len() <= PLAIN_BYTES {
        let before = reader.position();
        match cutter.next(&mut reader) {
            Ok(NextUnit::End) => return Decoded::Whole { plain },
            Ok(NextUnit::Padding { bytes } | NextUnit::Zeros { bytes }) => {
                assert!(bytes > 0, "padding of nothing would never end");
                if reader.skip(bytes).expect("memory can be read") < bytes {
                    return Decoded::Refused;
                }
            }
            Ok(NextUnit::Check { bytes, claim }) => {
                if reader.skip(bytes).expect("memory can be read") < bytes || is_false(claim, &plain[checked..]) {
                    return Decoded::Refused;
                }
                checked = plain.len();
            }
            Ok(NextUnit::Unit(place)) => {
                let mut unit = Vec::new();
                let count = usize::try_from(place.packed_bytes).expect("bounded by the limits");
                let taken = reader.take_into(count, &mut unit).expect("memory can be read");
                assert_eq!(taken, count, "a unit that was found is whole");
                let shared = reader.peek(place.shared_bytes, place.shared_bytes).expect("memory can be read");
                unit.extend_from_slice(&shared[..shared.len().min(place.shared_bytes)]);
                let mut buffer = ByteBuffer::default();
                if decoder.decode(&unit, place.parameters, UNIT_BYTES, &mut buffer, &mut Pause::never()).is_err() {
                    return Decoded::Refused;
                }
                // What cannot be read again may come to what its format bounds.
                let most = if let UncompressedSize::AtMost(bytes) = place.uncompressed {
                    bytes.max(UNIT_BYTES)
                } else {
                    UNIT_BYTES
                };
                assert!(buffer.len() as u64 <= most, "no unit may exceed its limit");
                plain.extend_from_slice(buffer.content());
                if !place.is_checked_later {
                    checked = plain.len();
                }
            }
            Ok(NextUnit::Stream(stream)) => {
                checked = plain.len();
                match decode_stream(stream, &mut reader, &mut plain, piece_bytes) {
                    Streamed::Refused => return Decoded::Refused,
                    Streamed::TooMuch => return Decoded::TooMuch,
                    // What the pipeline compares behind the decoder.
                    Streamed::Whole(claim) if is_false(claim, &plain[checked..]) => return Decoded::Refused,
                    Streamed::Whole(_) => checked = plain.len(),
                }
            }
            Err(CutError::Read(error)) => panic!("memory can be read: {error}"),
            Err(CutError::Defect(_) | CutError::Garbage | CutError::FurtherEntries) => return Decoded::Refused,
        }
        assert!(reader.position() > before, "every step goes on");
    }
    Decoded::TooMuch
}

/// Decodes the first zst frame as one that several hands work on, here by one; none where it is no such frame. Errors are those of the user's messages.
pub fn decode_by_blocks(packed: &[u8]) -> Option<Result<Vec<u8>, String>> {
    let mut reader = CompressedReader::memory(packed.to_vec());
    let reading = StreamReading { hands: 2, ..StreamReading::default() };
    let Ok(NextUnit::Stream(mut stream)) = format("zst").cutter_as(&LIMITS, &reading).next(&mut reader) else {
        return None;
    };
    stream.ahead()?;
    let (mut plain, mut buffer) = (Vec::new(), ByteBuffer::default());
    while plain.len() <= PLAIN_BYTES {
        match stream.fill(&mut reader, &mut buffer, 1 << 20, &mut CutTurn::with_a_hand()) {
            Ok(filled) => {
                plain.extend_from_slice(buffer.content());
                if filled != SegmentFill::More {
                    return Some(Ok(plain));
                }
            }
            Err(CutError::Defect(defect)) => return Some(Err(defect.to_string())),
            Err(error) => panic!("memory can be read: {error:?}"),
        }
    }
    None
}

fn is_false(claim: Option<TrailerClaim>, plain: &[u8]) -> bool {
    claim.is_some_and(|claim| claim.compare(plain).is_err())
}

/// What came of one streamed unit.
enum Streamed {
    Whole(Option<TrailerClaim>),
    Refused,
    TooMuch,
}

fn decode_stream(
    mut stream: Box<dyn StreamDecoder>,
    reader: &mut CompressedReader,
    plain: &mut Vec<u8>,
    piece_bytes: usize,
) -> Streamed {
    let mut buffer = ByteBuffer::default();
    loop {
        let filled = match stream.fill(reader, &mut buffer, piece_bytes, &mut CutTurn::with_a_hand()) {
            Ok(filled) => filled,
            Err(CutError::Read(error)) => panic!("memory can be read: {error}"),
            Err(CutError::Defect(_) | CutError::Garbage | CutError::FurtherEntries) => return Streamed::Refused,
        };
        assert!(buffer.len() <= piece_bytes + OVERSHOOT_BYTES, "no piece may exceed what was asked for");
        plain.extend_from_slice(buffer.content());
        match filled {
            SegmentFill::Last(claim) => return Streamed::Whole(claim),
            SegmentFill::More if plain.len() > PLAIN_BYTES => return Streamed::TooMuch,
            SegmentFill::More => assert!(!buffer.is_empty(), "memory has no pauses: every piece brings something"),
        }
    }
}
