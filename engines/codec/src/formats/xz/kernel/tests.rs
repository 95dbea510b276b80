//! The kernel against liblzma: what it packs, and what is left of that when it is broken; by both loops.

use super::{Lzma2Error, LzmaDecoded, LzmaDecoder, decode};
use liblzma::stream::{Action, Filters, LzmaOptions, Mode, Status, Stream};
use testkit::data::random;
use testkit::random::Random;

fn bytes(noise: &mut Random, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    noise.fill(&mut bytes);
    bytes
}

/// Packs as one raw LZMA2 stream.
fn pack(uncompressed: &[u8], options: &LzmaOptions) -> Vec<u8> {
    let mut filters = Filters::new();
    filters.lzma2(options);
    let mut stream = Stream::new_raw_encoder(&filters).expect("valid");
    let mut compressed = Vec::with_capacity(uncompressed.len() * 2 + 1000);
    assert_eq!(stream.process_vec(uncompressed, &mut compressed, Action::Finish).expect("packs"), Status::StreamEnd);
    compressed
}

fn options(preset: u32) -> LzmaOptions {
    LzmaOptions::new_preset(preset).expect("a preset")
}

fn dictionary_size(code: u8) -> u64 {
    (2 | u64::from(code & 1)) << (code / 2 + 11)
}

/// What liblzma says: bytes used and uncompressed bytes, or nothing.
fn reference(compressed: &[u8], code: u8, room: usize) -> Option<(usize, Vec<u8>)> {
    let mut filters = Filters::new();
    filters.lzma2_properties(&[code]).expect("valid");
    let mut stream = Stream::new_raw_decoder(&filters).expect("valid");
    let mut uncompressed = vec![0; room + 1];
    let status = stream.process(compressed, &mut uncompressed, Action::Finish).ok()?;
    let produced = stream.total_out() as usize;
    if status != Status::StreamEnd || produced > room {
        return None;
    }
    uncompressed.truncate(produced);
    Some((stream.total_in() as usize, uncompressed))
}

/// A decoder with the hot loop and one without, both used again and again.
struct Both([Box<LzmaDecoder>; 2]);

impl Both {
    fn new() -> Self {
        Self([LzmaDecoder::boxed(), LzmaDecoder::careful()])
    }

    /// Holds both against liblzma, and says whether it is a stream.
    fn compare(&mut self, compressed: &[u8], code: u8, room: usize, what: &str) -> bool {
        let expected = reference(compressed, code, room);
        let mut buffer = vec![0x5a; room + 600];
        for (index, decoder) in self.0.iter_mut().enumerate() {
            let (uncompressed, behind) = buffer.split_at_mut(room);
            behind.fill(0x5a);
            let decoded = decoder.decode(compressed, dictionary_size(code), uncompressed, |_| ());
            assert!(behind.iter().all(|&byte| byte == 0x5a), "{what}: written behind the output");
            match (&expected, decoded) {
                (Some((used, bytes)), Ok(LzmaDecoded { consumed, produced })) => {
                    assert_eq!((consumed, produced), (*used, bytes.len()), "{what}, loop {index}");
                    assert!(uncompressed[..produced] == bytes[..], "{what}, loop {index}: other bytes");
                }
                (None, Err(_)) => {}
                (expected, decoded) => {
                    let expected = expected.as_ref().map(|(used, bytes)| (used, bytes.len()));
                    panic!("{what}, loop {index}: liblzma {expected:?}, here {decoded:?}");
                }
            }
        }
        expected.is_some()
    }
}

/// Data of many kinds.
fn samples(length: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut noise = Random::seeded(0x9e37_79b9);
    let words: Vec<Vec<u8>> = (0..400)
        .map(|_| {
            let length = 1 + noise.below(9);
            bytes(&mut noise, length).iter().map(|byte| b'a' + byte % 26).collect()
        })
        .collect();
    let mut text = Vec::new();
    while text.len() < length {
        text.extend_from_slice(&words[noise.below(20).min(noise.below(400))]);
        text.push(if noise.below(12) == 0 { b'\n' } else { b' ' });
    }
    let mut binary = Vec::new();
    while binary.len() < length {
        binary.extend_from_slice(&(noise.below(4096) as u32 * 16).to_le_bytes());
        binary.extend_from_slice(&[0xe8, 0, noise.below(3) as u8]);
        if !binary.is_empty() && noise.below(5) == 0 {
            let from = noise.below(binary.len());
            let end = binary.len().min(from + 1 + noise.below(300));
            binary.extend_from_within(from..end);
        }
    }
    let mut periods = Vec::new();
    while periods.len() < length {
        let pattern_length = 1 + noise.below(40);
        let pattern = bytes(&mut noise, pattern_length);
        let repeats = 1 + noise.below(60);
        periods.extend(pattern.repeat(repeats));
    }
    let mut mixed = bytes(&mut noise, length / 4);
    mixed.extend_from_slice(&text[..length / 4]);
    mixed.extend(vec![0; length / 4]);
    mixed.extend_from_slice(&binary[..length / 4]);
    vec![
        ("text", text),
        ("binary", binary),
        ("periods", periods),
        ("mixed", mixed),
        ("zeros", vec![0; length]),
        ("noise", bytes(&mut noise, length)),
        ("empty", Vec::new()),
        ("one byte", vec![b'x']),
        ("two bytes", vec![b'x', b'x']),
    ]
}

#[test]
fn presets_come_back() {
    let mut both = Both::new();
    for (name, uncompressed) in samples(300_000) {
        for preset in (0..10).chain([6 | 1 << 31, 9 | 1 << 31]) {
            let mut options = options(preset);
            options.dict_size(1 << 22);
            let mut compressed = pack(&uncompressed, &options);
            let what = format!("{name} at preset {preset:#x}");
            assert!(both.compare(&compressed, 20, uncompressed.len(), &what), "{what}");
            if !uncompressed.is_empty() {
                assert!(!both.compare(&compressed, 20, uncompressed.len() - 1, &what), "{what}: no room");
            }
            compressed.extend_from_slice(&[0, 1, 2, 0xff, 0xff, 0xff, 0, 0]);
            assert!(both.compare(&compressed, 20, uncompressed.len() + 1000, &what), "{what} with more behind it");
        }
    }
}

#[test]
fn properties_come_back() {
    let mut both = Both::new();
    for (name, uncompressed) in samples(40_000) {
        for properties in 0..75 {
            let (context, position, state) = (properties % 5, properties / 5 % 5, properties / 25 * 2);
            if context + position > 4 {
                continue;
            }
            let mut options = options(5);
            options.literal_context_bits(context).literal_position_bits(position).position_bits(state);
            options.mode(if properties % 2 == 0 { Mode::Normal } else { Mode::Fast });
            let compressed = pack(&uncompressed, &options);
            assert!(both.compare(
                &compressed,
                24,
                uncompressed.len(),
                &format!("{name} with {context} {position} {state}")
            ));
        }
    }
}

#[test]
fn dictionaries_come_back_and_small_ones_refuse() {
    let mut both = Both::new();
    let mut refused = 0;
    for (name, uncompressed) in samples(150_000) {
        for compressed_with in [4096, 5000, 8192, 40_000, 1 << 20] {
            let mut options = options(6);
            options.dict_size(compressed_with);
            let compressed = pack(&uncompressed, &options);
            for code in 0..12 {
                let is_stream =
                    both.compare(&compressed, code, uncompressed.len(), &format!("{name} {compressed_with} {code}"));
                assert!(is_stream || dictionary_size(code) < u64::from(compressed_with));
                refused += u32::from(!is_stream);
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn large_data_come_back() {
    let mut both = Both::new();
    for (name, uncompressed) in samples(5_000_000) {
        let compressed = pack(&uncompressed, &options(1));
        assert!(both.compare(&compressed, 16, uncompressed.len(), name));
    }
}

#[test]
fn distances_of_more_than_64_mib_come_back() {
    let front = random(4096, 3);
    let uncompressed = [&front[..], &vec![0; 70 << 20], &front].concat();
    let mut options = options(0);
    options.dict_size(96 << 20);
    let compressed = pack(&uncompressed, &options);
    assert!(compressed.len() < 4096 + 4096 + 20_000, "the end refers to the front");
    // 96 MiB.
    assert!(Both::new().compare(&compressed, 29, uncompressed.len(), "far"));
}

#[test]
fn streams_one_after_another_come_back() {
    let mut both = Both::new();
    let mut compressed = Vec::new();
    let mut length = 0;
    for (index, (_, uncompressed)) in samples(20_000).into_iter().enumerate() {
        // Each begins with a reset of the dictionary; only the last end marker stays.
        let mut options = options(4);
        options.literal_context_bits(index as u32 % 5).position_bits(index as u32 % 4);
        let part = pack(&uncompressed, &options);
        compressed.extend_from_slice(&part[..part.len() - 1]);
        length += uncompressed.len();
    }
    compressed.push(0);
    assert!(both.compare(&compressed, 10, length, "joined"));
}

/// One change of a kind that real damage and ill will are made of.
fn damage(compressed: &mut Vec<u8>, noise: &mut Random) {
    let at = if noise.below(3) == 0 { noise.below(compressed.len().min(16)) } else { noise.below(compressed.len()) };
    match noise.below(7) {
        0 => compressed[at] ^= 1 << noise.below(8),
        1 => compressed[at] = noise.below(256) as u8,
        2 => compressed.truncate(at),
        3 => drop(compressed.remove(at)),
        4 => compressed.insert(at, noise.below(256) as u8),
        5 => {
            let end = compressed.len().min(at + 1 + noise.below(20));
            let value = [0, 0xff, noise.below(256) as u8][noise.below(3)];
            compressed[at..end].fill(value);
        }
        _ => {
            let from = noise.below(compressed.len());
            let length = noise.below(40).min(compressed.len() - from.max(at));
            compressed.copy_within(from..from + length, at);
        }
    }
}

fn damaged_streams(rounds: usize, seed: u64) -> (usize, usize) {
    let mut both = Both::new();
    let mut noise = Random::seeded(seed);
    let mut sources = Vec::new();
    for length in [40, 1_000, 6_000] {
        for (name, uncompressed) in samples(length) {
            for preset in [0, 3, 6] {
                let mut options = options(preset);
                options.dict_size(4096 + 4096 * noise.below(3) as u32);
                options.literal_context_bits(noise.below(4) as u32).literal_position_bits(noise.below(2) as u32);
                sources.push((name, pack(&uncompressed, &options), uncompressed.len()));
            }
        }
    }
    let (mut streams, mut others) = (0, 0);
    for round in 0..rounds {
        let (name, compressed, length) = &sources[noise.below(sources.len())];
        let mut compressed = compressed.clone();
        if noise.below(8) == 0 {
            let (_, second, _) = &sources[noise.below(sources.len())];
            compressed.pop();
            compressed.extend_from_slice(second);
        }
        for _ in 0..=noise.below(3) {
            if !compressed.is_empty() {
                damage(&mut compressed, &mut noise);
            }
        }
        let room = [length + 400, 2 * length + 20_000, *length][noise.below(3)];
        let is_stream = both.compare(&compressed, noise.below(3) as u8, room, &format!("{name}, round {round}"));
        if is_stream { streams += 1 } else { others += 1 }
    }
    (streams, others)
}

#[test]
fn damage_is_seen_as_liblzma_sees_it() {
    let rounds = std::env::var("LZMA2_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let (streams, others) = damaged_streams(rounds, 0x1234_5678_9abc);
    assert!(streams > rounds / 50 && others > rounds / 3, "{streams} {others}");
}

/// Noise in a valid chunk header: the range decoder runs through anything, broken invariants included.
#[test]
fn noise_is_seen_as_liblzma_sees_it() {
    let mut both = Both::new();
    let mut noise = Random::seeded(77);
    for round in 0..6_000 {
        let length = 6 + noise.below(400);
        let mut body = bytes(&mut noise, length);
        body[0] = 0;
        if round % 3 == 0 {
            body[1..5].fill(0xff);
        }
        if round % 2 == 0 {
            // Ends with zeros, so that the code may come to be zero.
            body[length / 2..].fill(0);
        }
        let properties = [93, 0, 31][round % 3];
        let plain_bytes = noise.below(3000);
        let mut compressed = vec![0xe0, (plain_bytes >> 8) as u8, plain_bytes as u8];
        compressed.extend_from_slice(&((length - 1) as u16).to_be_bytes());
        compressed.push(properties);
        compressed.extend_from_slice(&body);
        compressed.push(0);
        both.compare(&compressed, 0, 4000, &format!("round {round}"));
    }
}

#[test]
fn every_truncation_is_refused() {
    let mut both = Both::new();
    let uncompressed = &samples(9_000)[3].1;
    let compressed = pack(uncompressed, &options(6));
    for length in 0..compressed.len() {
        assert!(!both.compare(&compressed[..length], 12, uncompressed.len(), &format!("{length} bytes")));
    }
}

#[test]
fn errors_tell_what_is_wrong() {
    let mut uncompressed = [0; 100];
    let mut error = |compressed: &[u8]| decode(compressed, 1 << 20, &mut uncompressed).expect_err("broken");
    assert_eq!(error(&[]), Lzma2Error::Truncated);
    assert_eq!(error(&[1, 0, 3, 7]), Lzma2Error::Truncated);
    assert_eq!(error(&[1, 0, 100]), Lzma2Error::Truncated);
    assert_eq!(error(&[2, 0, 0, 7, 0]), Lzma2Error::NoDictionaryReset);
    assert_eq!(error(&[1, 0, 0, 7, 3]), Lzma2Error::Control { control: 3 });
    assert_eq!(error(&[1, 0, 0, 7, 0x80, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]), Lzma2Error::NoProperties);
    assert_eq!(error(&[0xe0, 0, 0, 0, 4, 225, 0, 0, 0, 0, 0, 0]), Lzma2Error::Properties { byte: 225 });
    assert_eq!(error(&[0xe0, 0, 0, 0, 4, 93, 1, 0, 0, 0, 0, 0]), Lzma2Error::FirstByte);
    assert_eq!(error(&[0xe0, 0, 0, 0, 3, 93, 0, 0, 0, 0, 0, 0]), Lzma2Error::ChunkEnd);
    assert_eq!(error(&[[1, 0, 100].as_slice(), &[0; 102]].concat()), Lzma2Error::TooLong { room: 100 });
    let far = error(&[0xe0, 0, 9, 0, 9, 93, 0, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0, 0, 0]);
    assert_eq!(far, Lzma2Error::DistanceTooFar { distance: 1, available: 0 });
}
