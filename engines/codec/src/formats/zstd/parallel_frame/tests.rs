//! Frames of libzstd, whole and damaged, against libzstd.

use super::super::container::parse_frame_header;
use super::super::decode::ZstdFrameStream;
use super::*;
use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

fn decode(frame: &[u8], helpers: usize) -> Result<Vec<u8>, CutError> {
    let header = parse_frame_header(frame)?.ok_or(UnitDefect::Truncated)?;
    let mut stream = ParallelFrame::new(header).expect("there is memory");
    let ahead = stream.ahead().expect("there is work");
    let mut input = CompressedReader::memory(frame.to_vec());
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| {
                while !ahead.is_over() {
                    if ahead.has_work() { ahead.work() } else { std::thread::yield_now() }
                }
            });
        }
        let (mut all, mut segment) = (Vec::new(), ByteBuffer::default());
        let outcome = loop {
            let filled = stream.fill(&mut input, &mut segment, 300 << 10, &mut CutTurn::with_a_hand());
            all.extend_from_slice(segment.content());
            match filled {
                Ok(SegmentFill::More) => {}
                Ok(SegmentFill::Last(_)) => break Ok(all),
                Err(error) => break Err(error),
            }
        };
        drop(stream);
        outcome
    })
}

fn frame(uncompressed: &[u8], level: i32, window_log: u32, tells_size: bool) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::ChecksumFlag(true),
        CParameter::ContentSizeFlag(tells_size),
        CParameter::WindowLog(window_log),
    ] {
        context.set_parameter(parameter).expect("it is known");
    }
    let mut frame = vec![0; zstd_safe::compress_bound(uncompressed.len())];
    let size = context.compress2(frame.as_mut_slice(), uncompressed).expect("it fits");
    frame.truncate(size);
    frame
}

/// Text, zeros, noise and copies of what came before.
fn mixed(bytes: usize, seed: u64) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes + (1 << 20));
    let (mut state, mut turn) = (seed | 1, 0_u64);
    while all.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = 1 + (state >> 40) as usize % (200 << 10);
        match state >> 33 & 7 {
            0 => all.resize(all.len() + length, (state >> 20) as u8),
            1 => all.extend(testkit::data::random(length, state)),
            2 | 3 if all.len() > 1000 => {
                let from = (state >> 12) as usize % (all.len() - 500);
                let until = all.len().min(from + length);
                all.extend_from_within(from..until);
            }
            _ => all.extend(testkit::data::text(length, seed + turn)),
        }
        turn += 1;
    }
    all.truncate(bytes);
    all
}

#[test]
fn frames_of_all_levels_are_decoded() {
    for (number, level) in [-50, -5, 1, 3, 6, 9, 13, 16, 19].into_iter().enumerate() {
        let uncompressed = mixed(5 << 20, number as u64);
        for window_log in [10, 17, 20, 22] {
            let frame = frame(&uncompressed, level, window_log, number % 2 == 0);
            for helpers in [0, 2] {
                let decoded = decode(&frame, helpers).expect("it is whole");
                assert!(decoded == uncompressed, "level {level}, window {window_log}, {helpers} helpers");
            }
        }
    }
}

/// The ring goes round several times, and matches reach behind its end.
#[test]
fn frames_that_are_longer_than_their_ring_are_decoded() {
    let uncompressed = mixed(40 << 20, 77);
    for (level, window_log) in [(1, 22), (3, 21), (12, 23), (-7, 17)] {
        let frame = frame(&uncompressed, level, window_log, true);
        let decoded = decode(&frame, 1).expect("it is whole");
        assert!(decoded == uncompressed, "level {level}, window {window_log}");
    }
}

#[test]
fn small_and_odd_contents_are_decoded() {
    for bytes in [0, 1, 5, 100, 1000, 70_000, 131_072, 131_073, 300_000] {
        for data in [testkit::data::text(bytes, 1), vec![7; bytes], testkit::data::random(bytes, 3)] {
            for level in [1, 3, 19] {
                assert!(decode(&frame(&data, level, 17, true), 1).expect("it is whole") == data, "{bytes} bytes");
            }
        }
    }
}

/// By the library's stream decoder.
fn with_libzstd(frame: &[u8]) -> Result<Vec<u8>, &'static str> {
    let (mut context, mut source) = (DCtx::create(), InBuffer::around(frame));
    let (mut all, mut room) = (Vec::new(), vec![0; 128 << 10]);
    loop {
        let mut target = OutBuffer::around(room.as_mut_slice());
        let before = source.pos();
        let left = context.decompress_stream(&mut target, &mut source).map_err(zstd_safe::get_error_name)?;
        let produced = target.pos();
        all.extend_from_slice(&room[..produced]);
        if left == 0 {
            return Ok(all);
        }
        if produced == 0 && source.pos() == before {
            return Err("it breaks off");
        }
    }
}

/// Same bytes, or both an error. Only we refuse what reaches beyond the window: the library's buffer has some more.
#[test]
fn damaged_frames_are_refused_as_by_the_library() {
    let rounds: u64 = if std::env::var_os("MH_LONG").is_some() { 20_000 } else { 1_000 };
    let frames: Vec<Vec<u8>> = (0..6)
        .map(|seed| {
            let data = mixed(400 << 10, 100 + seed);
            let mut frame = frame(&data, [1, 3, 7, 19, -3, 12][seed as usize], 17 + seed as u32 % 3, true);
            // Without a checksum damage is found by nobody else.
            frame[4] &= !4;
            frame.truncate(frame.len() - 4);
            frame
        })
        .collect();
    let (mut state, mut sound) = (1_u64, 0);
    for round in 0..rounds {
        let mut frame = frames[(round % frames.len() as u64) as usize].clone();
        for _ in 0..=round % 3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = 10 + (state >> 20) as usize % (frame.len() - 10);
            // Heads of blocks are near the beginning of each; every second damage is in the first 300 bytes.
            let at = if state >> 60 & 1 == 0 { 10 + at % 300 } else { at };
            frame[at] ^= 1 << (state >> 61);
        }
        match (decode(&frame, 0), with_libzstd(&frame)) {
            (Ok(ours), Ok(theirs)) => {
                assert!(ours == theirs, "round {round}: other bytes");
                sound += 1;
            }
            (Err(_), Err(_)) => {}
            (Err(CutError::Defect(UnitDefect::ZstdBlock { what, .. })), Ok(_)) if what.contains("too far") => {}
            (Err(error), Ok(_)) => panic!("round {round}: the library decodes it: {error:?}"),
            (Ok(_), Err(refused)) => panic!("round {round}: the library refuses it: {refused}"),
        }
    }
    assert!(sound > 0, "some damage is none");
}

#[test]
fn frames_that_break_off_are_refused_and_what_came_before_is_there() {
    let uncompressed = mixed(1 << 20, 5);
    let frame = frame(&uncompressed, 3, 20, true);
    for length in [frame.len() - 1, frame.len() - 4, frame.len() - 5, frame.len() / 2, 20, 12] {
        let error = decode(&frame[..length], 1).expect_err("it breaks off");
        assert!(matches!(error, CutError::Defect(UnitDefect::Truncated)), "{length}: {error:?}");
    }
    let mut wrong = frame.clone();
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    assert!(matches!(decode(&wrong, 1), Err(CutError::Defect(UnitDefect::Checksum { .. }))));
}

#[test]
fn an_empty_last_block_does_not_excuse_a_wrong_length() {
    // A header that tells 8,453,377 bytes, and an empty last block: libzstd takes it.
    let frame = b"\x28\xb5\x2f\xfd\x80\x00\x01\xfd\x80\x00\x01\x00\x00";
    assert_eq!(with_libzstd(frame), Ok(Vec::new()));
    let header = parse_frame_header(frame).expect("it is sound").expect("it is whole");
    let limits = DecodeLimits {
        unit_uncompressed_bytes: 0,
        unit_held_bytes: 0,
        window_bytes: 1 << 20,
        dictionary: None,
        prefix: None,
        stream_bytes: 0,
        ahead_bytes: 0,
        streams_lone_unit: true,
    };
    let alone = ZstdFrameStream::new(&limits, header.content_bytes).expect("there is memory");
    let together = ParallelFrame::new(header).expect("there is memory");
    let streams: [Box<dyn StreamDecoder>; 2] = [Box::new(alone), Box::new(together)];
    for mut stream in streams {
        let mut input = CompressedReader::memory(frame.to_vec());
        let filled = stream.fill(&mut input, &mut ByteBuffer::default(), 1 << 20, &mut CutTurn::with_a_hand());
        assert!(
            matches!(filled, Err(CutError::Defect(UnitDefect::Length { stored: 8_453_377, actual: 0 }))),
            "{filled:?}"
        );
    }
}
