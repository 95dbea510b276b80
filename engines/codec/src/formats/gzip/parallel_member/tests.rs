//! Members of other encoders, whole and damaged, against the same decoded in series.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use testkit::data;

/// Bytes up to where a member breaks off, where it ends or why it does not, and how many chunks were of use.
type Drained = (Vec<u8>, Result<u64, String>, u64);

/// What comes of a member, where `between` is done before each segment.
fn drained(stream: &mut dyn StreamDecoder, gz: &[u8], between: &dyn Fn()) -> Drained {
    let mut input = CompressedReader::memory(gz.to_vec());
    let (mut all, mut segment, mut chunks) = (Vec::new(), ByteBuffer::default(), 0);
    let end = loop {
        between();
        segment.clear();
        let filled = stream.fill(&mut input, &mut segment, 1 << 20, &mut CutTurn::with_a_hand());
        if let Some(rest) = stream.rest() {
            assert!(segment.is_empty(), "the rest is all of it");
            rest(&mut segment);
            chunks += 1;
        }
        all.extend_from_slice(segment.content());
        match filled {
            Ok(SegmentFill::More) => {}
            Ok(SegmentFill::Last(claim)) => {
                let compared = claim.map_or(Ok(()), |claim| claim.compare(&all));
                break compared.map(|()| input.position()).map_err(|defect| defect.to_string());
            }
            Err(CutError::Defect(defect)) => break Err(defect.to_string()),
            Err(error) => panic!("memory can be read: {error:?}"),
        }
    };
    (all, end, chunks)
}

fn in_series(gz: &[u8]) -> Drained {
    drained(&mut MemberStream::new(true), gz, &|| {})
}

fn for_hands(hands: usize, memory: u64) -> Option<ParallelMember> {
    let (input, spare) = (CompressedReader::memory(Vec::new()), SpareMemory::default());
    ParallelMember::for_hands(hands, memory, &input, 0, &spare)
}

fn member() -> ParallelMember {
    for_hands(4, u64::MAX).expect("there are enough hands")
}

/// With two threads that decode chunks when they come to it.
fn with_threads(gz: &[u8]) -> Drained {
    let mut member = member();
    let ahead = member.ahead().expect("it can be helped");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ahead.is_over() {
                    if ahead.has_work() { ahead.work() } else { std::thread::yield_now() }
                }
            });
        }
        let outcome = drained(&mut member, gz, &|| {});
        drop(member);
        outcome
    })
}

/// With all chunks decoded between two segments: the same on every machine.
fn by_chunks(gz: &[u8]) -> Drained {
    let mut member = member();
    let ahead = member.ahead().expect("it can be helped");
    drained(&mut member, gz, &|| {
        while ahead.has_work() {
            ahead.work();
        }
    })
}

fn gzipped(uncompressed: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(uncompressed).expect("to memory");
    encoder.finish().expect("to memory")
}

fn long(bytes: usize) -> Vec<u8> {
    data::mixed(bytes, 11)
}

#[test]
fn members_of_all_levels_are_decoded_by_chunks() {
    let uncompressed = long(12 << 20);
    for level in [2, 6, 9] {
        let gz = gzipped(&uncompressed, level);
        let (bytes, end, chunks) = by_chunks(&gz);
        assert!(bytes == uncompressed && end == Ok(gz.len() as u64), "level {level}");
        assert!(chunks >= 3, "level {level}: {chunks} chunks were of use");
        let (bytes, end, _) = with_threads(&gz);
        assert!(bytes == uncompressed && end == Ok(gz.len() as u64), "level {level}");
    }
}

#[test]
fn stored_blocks_are_decoded() {
    let noise = data::random(6 << 20, 5);
    for level in [0, 6] {
        let gz = gzipped(&noise, level);
        let (bytes, end, chunks) = by_chunks(&gz);
        assert!(bytes == noise && end == Ok(gz.len() as u64), "level {level}");
        assert!(chunks >= 3, "level {level}: {chunks} chunks were of use");
    }
}

#[test]
fn a_block_of_fixed_codes_without_end_is_decoded_in_series() {
    // The encoder's fastest level makes no other.
    let uncompressed = long(6 << 20);
    let gz = gzipped(&uncompressed, 1);
    let (bytes, end, chunks) = by_chunks(&gz);
    assert!(bytes == uncompressed && end == Ok(gz.len() as u64) && chunks == 0);
}

#[test]
fn what_expands_without_measure_is_decoded_in_series() {
    // Four bytes in every 1,500.
    let mut uncompressed = data::zeros(360 << 20);
    for (place, noise) in uncompressed.chunks_mut(1500).zip(data::random(1 << 20, 3).chunks(4)) {
        place[..noise.len()].copy_from_slice(noise);
    }
    let gz = gzipped(&uncompressed, 6);
    assert!(gz.len() > 3 << 19, "{}", gz.len());
    let (bytes, end, _) = by_chunks(&gz);
    assert!(bytes == uncompressed && end == Ok(gz.len() as u64));
}

#[test]
fn a_member_ends_where_it_ends_whatever_follows() {
    let uncompressed = long(8 << 20);
    let mut gz = gzipped(&uncompressed, 6);
    let bytes_of_it = gz.len() as u64;
    gz.extend(gzipped(&data::random(4 << 20, 9), 6));
    let (bytes, end, _) = by_chunks(&gz);
    assert!(bytes == uncompressed);
    assert_eq!(end, Ok(bytes_of_it));
}

#[test]
fn damage_comes_to_the_same_as_in_series() {
    let uncompressed = long(7 << 20);
    let gz = gzipped(&uncompressed, 6);
    for turn in 0..24_u64 {
        let mut damaged = gz.clone();
        let at = (turn * 7_919_993 + 13) as usize % (gz.len() - 20) + 10;
        match turn % 3 {
            0 => damaged[at] ^= 1 << (turn % 8),
            1 => damaged[at..(at + 40).min(gz.len())].fill(turn as u8),
            _ => damaged.truncate(at),
        }
        let expected = in_series(&damaged);
        for outcome in [by_chunks(&damaged), with_threads(&damaged)] {
            assert_eq!(outcome.1, expected.1, "turn {turn}, at {at}");
            assert!(outcome.0 == expected.0, "turn {turn}, at {at}: {} and {}", outcome.0.len(), expected.0.len());
        }
    }
}

#[test]
fn few_hands_and_little_memory_decode_in_series() {
    assert!(for_hands(3, u64::MAX).is_none());
    assert!(for_hands(4, 4 * CHUNK_MEMORY - 1).is_none());
    assert!(for_hands(4, 4 * CHUNK_MEMORY).is_some());
}
