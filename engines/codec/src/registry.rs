//! The formats there are, by name, by file name suffix and by content.

use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, Unrecognised};
use crate::format::{Format, FormatFacts};
use crate::formats::bzip2::Bzip2;
use crate::formats::compress::Compress;
use crate::formats::gzip::Gzip;
use crate::formats::lz4::Lz4;
use crate::formats::lzip::Lzip;
use crate::formats::lzma::Lzma;
use crate::formats::pack::Pack;
use crate::formats::raw::Raw;
use crate::formats::skippable;
use crate::formats::xz::Xz;
use crate::formats::zip::Zip;
use crate::formats::zlib::Zlib;
use crate::formats::zstd::Zstd;

/// All formats; the first is the default.
pub fn formats() -> &'static [&'static dyn Format] {
    // .lzma has no magic: everything else is asked first.
    &[&Zstd, &Gzip, &Bzip2, &Lz4, &Xz, &Lzip, &Compress, &Pack, &Lzma]
}

/// Formats of which two bytes tell, or which are archives: known to whoever asks for them by name.
const FORMATS_BY_NAME: &[&dyn Format] = &[&Zlib, &Zip];

/// The format called `name`, or named after the tool of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    let all = formats().iter().chain(FORMATS_BY_NAME).copied();
    all.into_iter().find(|format| format.facts().name == name || format.facts().tool == name)
}

/// Raw streams of filters, which nothing recognises and which are asked for by name nowhere.
pub fn raw() -> &'static dyn Format {
    &Raw
}

/// The format whose files begin like `head`. Content decides; names lie.
fn by_content(head: &[u8], names: &[&str]) -> Option<&'static dyn Format> {
    let asked_for = FORMATS_BY_NAME.iter().filter(|format| names.contains(&format.facts().name));
    formats().iter().chain(asked_for).copied().find(|format| format.recognises(head))
}

/// Whether `format` is one of those called `names`; of none called means of all.
pub(crate) fn is_among(format: &dyn Format, names: &[&str]) -> bool {
    names.is_empty() || names.contains(&format.facts().name)
}

/// The format of what `reader` gives. Two formats may begin with skippable frames: what stands behind those decides.
pub fn recognise(reader: &mut CompressedReader) -> Result<&'static dyn Format, CodecError> {
    recognise_among(reader, &[])
}

/// The same, where a file of skippable frames alone is in one of the formats called `names`, if it can be.
pub(crate) fn recognise_among(
    reader: &mut CompressedReader,
    names: &[&str],
) -> Result<&'static dyn Format, CodecError> {
    let skips = || formats().iter().copied().find(|format| format.skips_frames() && is_among(*format, names));
    let mut distance = 0;
    let mut head = [0; HEAD_BYTES];
    loop {
        let read = reader.peek_at(distance, &mut head);
        let read = read.map_err(|cause| CodecError::Read { offset: reader.position() + distance, cause })?;
        let head = &head[..read];
        if distance == 0 && head.is_empty() {
            return Err(CodecError::NotRecognised(Unrecognised::Empty));
        }
        match skippable::length(head) {
            Some(Some(bytes)) if distance + bytes <= SKIPPED_BYTES || reader.regular_file().is_some() => {
                distance += bytes;
            }
            // Nothing but skippable frames, or too many of them in a pipe.
            Some(_) => return Ok(skips().unwrap_or(formats()[0])),
            None if distance > 0 && head.is_empty() => return Ok(skips().unwrap_or(formats()[0])),
            None if distance > 0 => return Ok(by_content(head, names).or_else(skips).unwrap_or(formats()[0])),
            None => return by_content(head, names).ok_or(CodecError::NotRecognised(Unrecognised::Foreign)),
        }
    }
}

/// What a decoder of units holds beside them, in any format.
pub fn decoder_bytes(unit_uncompressed_bytes: u64) -> u64 {
    formats().iter().map(|format| format.decoder_bytes(unit_uncompressed_bytes)).max().unwrap_or(0)
}

/// LIMIT: skippable frames of a pipe that are kept in memory until what follows them is seen.
const SKIPPED_BYTES: u64 = 16 << 20;

/// LIMIT: the longest magic is bzip2's, a stream's header and its first mark: ten bytes.
const HEAD_BYTES: usize = 18;

/// The name without its suffix, where the suffix is one of ours: `a.tgz` gives `a.tar`.
pub fn uncompressed_name(name: &str) -> Option<String> {
    let endings = formats().iter().flat_map(|format| format.facts().suffixes);
    endings
        .filter_map(|(ending, replacement)| Some(format!("{}{replacement}", name.strip_suffix(ending)?)))
        .find(|uncompressed| !uncompressed.is_empty() && *uncompressed != ".tar")
}

/// Whether `name` already ends as a compressed file of this format does.
pub fn is_compressed_name(facts: &FormatFacts, name: &str) -> bool {
    facts.suffixes.iter().any(|(ending, _)| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_buffer::ByteBuffer;
    use crate::format::{DecodeLimits, EncodeOptions, NextUnit, UnitLayout};
    use crew::pipeline::Pause;

    #[test]
    fn endings_go_and_short_forms_become_tar() {
        assert_eq!(uncompressed_name("db.export.gz").as_deref(), Some("db.export"));
        assert_eq!(uncompressed_name("linux.tgz").as_deref(), Some("linux.tar"));
        assert_eq!(uncompressed_name("linux.tar.zst").as_deref(), Some("linux.tar"));
        assert_eq!(uncompressed_name("plain"), None);
        assert_eq!(uncompressed_name(".gz"), None);
    }

    #[test]
    fn content_decides() {
        let name = |head: &[u8]| {
            let recognised = recognise(&mut CompressedReader::memory(head.to_vec()));
            recognised.ok().map(|format| format.facts().name)
        };
        assert_eq!(name(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), Some("gz"));
        assert_eq!(name(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0]), Some("zst"));
        assert_eq!(name(&[4, 0x22, 0x4d, 0x18, 0x60]), Some("lz4"));
        let skippable = [0x5e, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, b'x'];
        assert_eq!(name(&skippable), Some("zst"));
        assert_eq!(name(&[&skippable[..], &[4, 0x22, 0x4d, 0x18, 0x60]].concat()), Some("lz4"));
        assert_eq!(name(b"BZh91AY&SY.........."), Some("bz2"));
        assert_eq!(name(b"BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0"), Some("bz2"));
        assert_eq!(name(b"BZh9 is how a letter may begin"), None);
        assert_eq!(name(b"#!/bin/sh"), None);
        assert_eq!(name(b""), None);
    }

    #[test]
    fn segments_become_what_the_whole_becomes() {
        let uncompressed = testkit::data::mixed(3_500_000, 5);
        for format in formats().iter().filter(|format| format.can_encode()) {
            let options =
                EncodeOptions { reach_bytes: Some(1 << 18), ..EncodeOptions::new(2, UnitLayout::ParallelUnits) };
            let Ok(mut encoder) = format.unit_encoder(&options, uncompressed.len()) else {
                assert!(!format.takes_segments(), "{}", format.facts().name);
                continue;
            };
            assert!(format.takes_segments(), "{}", format.facts().name);
            let (mut whole, mut segmented) = (ByteBuffer::default(), ByteBuffer::default());
            let mut at_once = format.encoder(&options).expect("an encoder");
            at_once.encode(&uncompressed, &mut whole, &mut Pause::never()).expect("encode");
            let mut segments = uncompressed.chunks(70_001).peekable();
            while let Some(segment) = segments.next() {
                encoder
                    .encode(segment, segments.peek().is_none(), &mut segmented, &mut Pause::never())
                    .expect("encode");
            }
            assert!(segmented.content() == whole.content(), "{}", format.facts().name);
        }
    }

    /// How often work comes to a yield point.
    fn points(work: impl FnOnce(&mut Pause<'_>)) -> usize {
        let mut points = 0;
        let mut look = || {
            points += 1;
            false
        };
        work(&mut Pause::at_each(&mut look));
        points
    }

    #[test]
    fn slow_encoders_and_decoders_come_to_yield_points_within_a_chunk() {
        let uncompressed = testkit::data::mixed(2_600_000, 6);
        // At least so many yield points: steps of 16 KiB, blocks of 128 KiB, four phases of a block of 900 kB, members of 64 KiB.
        let encoders = [
            ("xz", 1, UnitLayout::ParallelUnits, uncompressed.len() >> 14),
            ("zst", 13, UnitLayout::ParallelUnits, 19),
        ];
        let more =
            [("bz2", 9, UnitLayout::ParallelUnits, 4 * 2), ("gz", 1, UnitLayout::Bgzf, uncompressed.len() / 0xff00)];
        for (name, level, layout, least) in encoders.into_iter().chain(more) {
            let mut encoder =
                by_name(name).expect("registered").encoder(&EncodeOptions::new(level, layout)).expect("memory");
            let (mut compressed, mut at_once) = (ByteBuffer::default(), ByteBuffer::default());
            let points = points(|pause| encoder.encode(&uncompressed, &mut compressed, pause).expect("encode"));
            assert!(points >= least, "{name} -{level}: {points} yield points");
            encoder.encode(&uncompressed, &mut at_once, &mut Pause::never()).expect("encode");
            assert!(compressed.content() == at_once.content(), "{name} -{level}: yield points change nothing");
        }
    }

    /// A unit of `uncompressed` as its format's cutter finds it: its bytes and what its decoder must know.
    fn unit(
        format: &dyn Format,
        options: &EncodeOptions,
        uncompressed: &[u8],
        limits: &DecodeLimits,
    ) -> (Vec<u8>, u64) {
        let mut compressed = ByteBuffer::default();
        let mut encoder = format.encoder(options).expect("memory");
        encoder.encode(uncompressed, &mut compressed, &mut Pause::never()).expect("encode");
        let mut tail = format.tail(options);
        tail.unit(compressed.content(), uncompressed.len() as u64);
        let mut reader =
            CompressedReader::memory([&format.head(options)[..], compressed.content(), &tail.finish()].concat());
        let mut cutter = format.cutter(limits);
        loop {
            match cutter.next(&mut reader).expect("sound") {
                NextUnit::Unit(place) => return (compressed.content().to_vec(), place.parameters),
                NextUnit::Padding { bytes } | NextUnit::Check { bytes, .. } => reader.consume(bytes as usize),
                NextUnit::Stream(_) | NextUnit::Zeros { .. } | NextUnit::End => panic!("a unit is there"),
            }
        }
    }

    #[test]
    fn decoders_of_large_units_come_to_yield_points_within_them() {
        let limits = DecodeLimits {
            unit_uncompressed_bytes: 1 << 30,
            unit_held_bytes: 1 << 30,
            window_bytes: 1 << 30,
            dictionary: None,
            prefix: None,
            stream_bytes: 1 << 30,
            ahead_bytes: 0,
            streams_lone_unit: false,
        };
        // A block of xz: chunks of at most 2 MiB, and its check by the mebibyte. A frame of zst that is too long for one call.
        for (name, plain_bytes, least) in [("xz", 2_600_000, 3 + 2), ("zst", 33 << 20, 10)] {
            let (format, options) =
                (by_name(name).expect("registered"), EncodeOptions::new(1, UnitLayout::ParallelUnits));
            let uncompressed = testkit::data::mixed(plain_bytes, 6);
            let (compressed, parameters) = unit(format, &options, &uncompressed, &limits);
            let (mut decoder, mut back) = (format.decoder(&limits), ByteBuffer::default());
            let points = points(|pause| {
                decoder
                    .decode(&compressed, parameters, limits.unit_uncompressed_bytes, &mut back, pause)
                    .expect("sound");
            });
            assert!(back.content() == uncompressed && points >= least, "{name}: {points} yield points");
            for broken in [&compressed[..compressed.len() - 1], &[&compressed[..compressed.len() - 1], b"?"].concat()] {
                let decoded = decoder.decode(broken, parameters, 1 << 30, &mut back, &mut Pause::never());
                assert!(decoded.is_err() && back.content() == uncompressed, "{name}: its check is compared");
            }
        }
    }
}
