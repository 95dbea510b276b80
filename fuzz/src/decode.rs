//! Decodes a packed file in memory through the same traits as the product: cutter, decoders, checks of streamed pieces.
//! Bounded: stops when more than a limit has come out.

use codec::byte_buffer::ByteBuffer;
use codec::format::{CutError, DecodeLimits, Filled, Format, Next};
use codec::packed_reader::PackedReader;
use crew::pipeline::Turn;

/// What came of it.
pub enum Decoded {
    /// Everything, with the claims of streamed units' trailers and where in the plain bytes those units begin and end.
    Whole { plain: Vec<u8>, claims: Vec<(std::ops::Range<usize>, u32, u32)> },
    /// It was refused.
    Refused,
    /// More came out than the limit.
    TooMuch,
}

const UNIT_BYTES: u64 = 1 << 20;
const PLAIN_BYTES: usize = 8 << 20;

/// Decodes `packed`, in pieces of `piece_bytes` where it is a stream.
pub fn decode(format: &dyn Format, packed: &[u8], piece_bytes: usize) -> Decoded {
    let limits = DecodeLimits { unit_plain_bytes: UNIT_BYTES, window_bytes: 8 << 20 };
    let mut reader = PackedReader::memory(packed.to_vec());
    let mut cutter = format.cutter(&limits);
    let mut decoder = format.decoder();
    let (mut plain, mut claims) = (Vec::new(), Vec::new());
    while plain.len() < PLAIN_BYTES {
        let mut buffer = ByteBuffer::default();
        match cutter.next(&mut reader) {
            Ok(Next::End) => return Decoded::Whole { plain, claims },
            Ok(Next::Padding { bytes }) => {
                if reader.skip(bytes).expect("memory can be read") < bytes {
                    return Decoded::Refused;
                }
            }
            Ok(Next::Unit(place)) => {
                let mut unit = Vec::new();
                let count = usize::try_from(place.packed_bytes).expect("bounded by the limits");
                let taken = reader.take_into(count, &mut unit).expect("memory can be read");
                assert_eq!(taken, count, "a unit that was found is whole");
                if decoder.decode(&unit, UNIT_BYTES, &mut buffer).is_err() {
                    return Decoded::Refused;
                }
                assert!(buffer.len() as u64 <= UNIT_BYTES, "no unit may exceed its limit");
                plain.extend_from_slice(buffer.content());
            }
            Ok(Next::Stream(mut stream)) => {
                let from = plain.len();
                loop {
                    match stream.fill(&mut reader, &mut buffer, piece_bytes, &mut Turn::with_a_hand()) {
                        Err(_) => return Decoded::Refused,
                        Ok(filled) => {
                            plain.extend_from_slice(buffer.content());
                            match filled {
                                Filled::More if plain.len() > PLAIN_BYTES => return Decoded::TooMuch,
                                Filled::More => {}
                                Filled::Last(claim) => {
                                    claims.extend(
                                        claim.map(|claim| (from..plain.len(), claim.crc32, claim.length_modulo)),
                                    );
                                    break;
                                }
                            }
                        }
                    }
                }
            }
            Err(CutError::Read(error)) => panic!("memory can be read: {error}"),
            Err(CutError::Defect(_) | CutError::Garbage) => return Decoded::Refused,
        }
    }
    Decoded::TooMuch
}
