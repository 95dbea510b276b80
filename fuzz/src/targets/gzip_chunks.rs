//! A long gz member with damage that the input chooses: where several hands decode chunks of it ahead, the same bytes and the same end, or the same defect, as
//! in series.

use crate::decode::format;
use codec::byte_buffer::ByteBuffer;
use codec::compressed_reader::CompressedReader;
use codec::format::{CutError, DecodeLimits, NextUnit, SegmentFill};
use codec::reading::StreamReading;
use crew::pipeline::CutTurn;
use flate2::Compression;
use flate2::read::GzEncoder;
use std::io::Read;
use std::sync::LazyLock;

/// LIMIT: what a member may come to before it is left.
const PLAIN_BYTES: usize = 64 << 20;

const LIMITS: DecodeLimits = DecodeLimits {
    unit_uncompressed_bytes: 1 << 20,
    unit_held_bytes: u64::MAX,
    window_bytes: 8 << 20,
    dictionary: None,
    prefix: None,
    stream_bytes: 1 << 30,
    ahead_bytes: 1 << 30,
    streams_lone_unit: true,
};

/// Long enough that chunks are decoded ahead, of blocks with codes of their own, of stored ones, and of both.
static MEMBERS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    use testkit::data::{log_lines, mixed, random};
    [(mixed(5 << 20, 3), 6), (random(5 << 19, 4), 6), (log_lines(9 << 20, 5), 9), (mixed(5 << 20, 6), 2)]
        .into_iter()
        .map(|(plain, level)| {
            let mut packed = Vec::new();
            GzEncoder::new(plain.as_slice(), Compression::new(level))
                .read_to_end(&mut packed)
                .expect("memory can be read");
            packed
        })
        .collect()
});

/// Runs one input: the first byte chooses the member, each four behind it flip bits of a byte.
pub fn run(input: &[u8]) {
    let Some((choice, edits)) = input.split_first() else { return };
    let mut packed = MEMBERS[usize::from(*choice) % MEMBERS.len()].clone();
    for edit in edits.chunks_exact(4).take(64) {
        let place = u32::from_le_bytes([edit[0], edit[1], edit[2], 0]) as usize;
        // All places of a member, and often those where chunks begin.
        let at = (place * packed.len()) >> 24;
        packed[at] ^= edit[3];
    }
    if let Some(short) = edits.first().filter(|_| edits.len() % 4 == 1) {
        packed.truncate(packed.len() * usize::from(*short) / 256);
    }
    let (Some(chunks), Some(series)) = (decode(&packed, 4), decode(&packed, 1)) else { return };
    assert!(chunks.1 == series.1, "by chunks: {:?}, in series: {:?}", chunks.1, series.1);
    assert!(chunks.0 == series.0, "{} bytes by chunks, {} in series", chunks.0.len(), series.0.len());
}

/// The bytes of the first member, and where it ends or why it does not.
type Outcome = (Vec<u8>, Result<u64, String>);

/// None where it is no member whose end only decoding finds, or comes to too much.
fn decode(packed: &[u8], hands: usize) -> Option<Outcome> {
    let mut reader = CompressedReader::memory(packed.to_vec());
    let reading = StreamReading { hands, ..StreamReading::default() };
    let Ok(NextUnit::Stream(mut stream)) = format("gz").cutter_as(&LIMITS, &reading).next(&mut reader) else {
        return None;
    };
    let ahead = stream.ahead();
    assert!(ahead.is_some() == (hands > 1), "several hands work ahead");
    let (mut plain, mut segment) = (Vec::new(), ByteBuffer::default());
    while plain.len() <= PLAIN_BYTES {
        while let Some(ahead) = ahead.as_ref().filter(|ahead| ahead.has_work()) {
            ahead.work();
        }
        segment.clear();
        let filled = stream.fill(&mut reader, &mut segment, 1 << 20, &mut CutTurn::with_a_hand());
        stream.rest().into_iter().for_each(|rest| rest(&mut segment));
        plain.extend_from_slice(segment.content());
        match filled {
            Ok(SegmentFill::More) => {}
            Ok(SegmentFill::Last(claim)) => {
                let compared = claim.map_or(Ok(()), |claim| claim.compare(&plain));
                let end = compared.map(|()| reader.position()).map_err(|defect| defect.to_string());
                return Some((plain, end));
            }
            Err(CutError::Defect(defect)) => return Some((plain, Err(defect.to_string()))),
            Err(error) => panic!("memory can be read: {error:?}"),
        }
    }
    None
}
