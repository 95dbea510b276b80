//! Rows of COPY's text as a chain of compressed units, each a whole number of rows, with what an index says of each.

use super::DumpError;
use super::archive::ArchiveFrame;
use codec::byte_buffer::ByteBuffer;
use codec::format::{EncodeOptions, Encoder, Format, UnitLayout};
use crew::pipeline::Pause;
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_128;

/// Uncompressed bytes after which a compressed unit ends with the row: it fits into a core's own cache, and while it is compressed, the server goes on filling the
/// socket.
const UNIT_BYTES: usize = 256 << 10;

/// Uncompressed bytes after which an entry of the index ends with the unit.
const FRAME_BYTES: u64 = 4 << 20;

/// The formats that some pg_restore reads.
const READABLE: [&str; 3] = ["zstd", "gzip", "lz4"];

/// How rows are compressed.
#[derive(Clone, Copy)]
pub struct DumpCodec {
    /// None: as they are.
    pub format: Option<&'static dyn Format>,
    /// Its level.
    pub level: i32,
}

impl DumpCodec {
    /// `zstd:1`, `gzip`, `lz4:1`, `none`; as pg_dump has it, a number alone is gzip's level, and 0 is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let level = |text: &str| text.parse::<i32>().map_err(|error| format!("level '{text}': {error}"));
        let (name, level) = match text.split_once(':') {
            _ if text.starts_with(|letter: char| letter.is_ascii_digit()) => match level(text)? {
                0 => ("none", None),
                given => ("gzip", Some(given)),
            },
            Some((name, given)) => (name, Some(level(given)?)),
            None => (text, None),
        };
        if name == "none" {
            return Ok(Self { format: None, level: 0 });
        }
        let format = Some(name).filter(|name| READABLE.contains(name)).and_then(codec::registry::by_name);
        let format = format.ok_or_else(|| format!("'{name}' is none of {}, none", READABLE.join(", ")))?;
        let facts = format.facts();
        let level = level.unwrap_or(1);
        if !facts.levels.contains(&level) {
            let (least, most) = (facts.levels.start(), facts.levels.end());
            return Err(format!("level {level} of {name} is not in {least} to {most}"));
        }
        Ok(Self { format: Some(format), level })
    }

    /// As it is parsed.
    pub fn name(&self) -> String {
        self.format.map_or("none".to_owned(), |format| format!("{}:{}", format.facts().tool, self.level))
    }

    /// What file names end with, behind `.dat`.
    pub fn suffix(&self) -> &'static str {
        self.format.and_then(|format| format.facts().suffixes.first()).map_or("", |(suffix, _)| suffix)
    }

    fn encoder(&self) -> Result<Option<Box<dyn Encoder>>, codec::error::CodecError> {
        let options = EncodeOptions::new(self.level, UnitLayout::ParallelUnits);
        self.format.map(|format| format.encoder(&options)).transpose()
    }
}

/// A part of a table as it will stand in the archive.
#[derive(Default)]
pub struct PartBytes {
    /// Compressed units, one behind the other.
    pub bytes: Vec<u8>,
    /// Their entries in the index; offsets are within these bytes.
    pub frames: Vec<ArchiveFrame>,
}

/// A frame to which units are added.
#[derive(Default)]
struct OpenFrame {
    units: Vec<u64>,
    bytes: u64,
    rows: u64,
    digest: u128,
}

/// Takes rows in slices that end anywhere.
pub struct RowFrameWriter {
    encoder: Option<Box<dyn Encoder>>,
    compressed: ByteBuffer,
    rows: Vec<u8>,
    part: PartBytes,
    frame: OpenFrame,
    /// Bytes of all whole frames so far.
    stored: u64,
}

impl RowFrameWriter {
    /// Without rows; `table` is what an error names.
    pub fn new(codec: &DumpCodec, table: &str) -> Result<Self, DumpError> {
        let failed = |cause| DumpError::Compress { table: table.to_owned(), cause };
        Ok(Self {
            encoder: codec.encoder().map_err(failed)?,
            compressed: ByteBuffer::default(),
            rows: Vec::with_capacity(UNIT_BYTES + (64 << 10)),
            part: PartBytes::default(),
            frame: OpenFrame::default(),
            stored: 0,
        })
    }

    /// Takes a slice. An error is the compressor's.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), codec::error::CodecError> {
        self.rows.extend_from_slice(bytes);
        if self.rows.len() < UNIT_BYTES {
            return Ok(());
        }
        // A row's own line ends are written as \n: a line end is a row's end.
        match memchr::memrchr(b'\n', &self.rows) {
            Some(end) => self.end_unit(end + 1),
            None => Ok(()),
        }
    }

    /// Where a row is written that `end_row` ends.
    pub fn row(&mut self) -> &mut Vec<u8> {
        &mut self.rows
    }

    /// A row is complete, with its line end. True if a unit was.
    pub fn end_row(&mut self) -> Result<bool, codec::error::CodecError> {
        let is_full = self.rows.len() >= UNIT_BYTES;
        if is_full {
            self.end_unit(self.rows.len())?;
        }
        Ok(is_full)
    }

    /// Units that are complete. What is taken is not returned by `finish`.
    pub fn units(&mut self) -> &mut Vec<u8> {
        &mut self.part.bytes
    }

    /// All rows are there; `tail` stands behind them. The next rows are those of another part.
    pub fn finish(&mut self, tail: &[u8]) -> Result<PartBytes, codec::error::CodecError> {
        if !self.rows.is_empty() {
            self.end_unit(self.rows.len())?;
        }
        self.end_frame();
        if !tail.is_empty() {
            self.rows.extend_from_slice(tail);
            self.write_unit(tail.len())?;
            self.end_frame();
        }
        self.stored = 0;
        Ok(std::mem::take(&mut self.part))
    }

    fn end_unit(&mut self, bytes: usize) -> Result<(), codec::error::CodecError> {
        let (rows, digest) = digest(&self.rows[..bytes]);
        self.frame.rows += rows;
        self.frame.digest = self.frame.digest.wrapping_add(digest);
        self.write_unit(bytes)?;
        if self.frame.bytes >= FRAME_BYTES {
            self.end_frame();
        }
        Ok(())
    }

    fn write_unit(&mut self, bytes: usize) -> Result<(), codec::error::CodecError> {
        let before = self.part.bytes.len();
        match &mut self.encoder {
            None => self.part.bytes.extend_from_slice(&self.rows[..bytes]),
            Some(encoder) => {
                encoder.encode(&self.rows[..bytes], &mut self.compressed, &mut Pause::never())?;
                self.part.bytes.extend_from_slice(self.compressed.content());
            }
        }
        self.frame.units.push((self.part.bytes.len() - before) as u64);
        self.frame.bytes += bytes as u64;
        self.rows.drain(..bytes);
        Ok(())
    }

    fn end_frame(&mut self) {
        let frame = std::mem::take(&mut self.frame);
        if frame.units.is_empty() {
            return;
        }
        let stored = frame.units.iter().sum();
        self.part.frames.push(ArchiveFrame {
            offset: self.stored,
            stored,
            bytes: frame.bytes,
            rows: frame.rows,
            digest: format!("{:032x}", frame.digest),
            units: if frame.units.len() > 1 { frame.units } else { Vec::new() },
        });
        self.stored += stored;
    }
}

/// Rows, and the sum of their hashes, which does not depend on their order.
pub fn digest(rows: &[u8]) -> (u64, u128) {
    let mut count = 0;
    let mut sum = 0_u128;
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', rows) {
        sum = sum.wrapping_add(xxh3_128(&rows[begin..end]));
        count += 1;
        begin = end + 1;
    }
    (count, sum)
}

/// Writes all of a part.
pub fn append(file: &mut impl Write, part: &PartBytes) -> io::Result<()> {
    file.write_all(&part.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_spelled_as_pg_dump_has_it() {
        let name = |text| DumpCodec::parse(text).map(|codec| codec.name());
        let good = [
            ("zstd:3", "zstd:3"),
            ("gzip", "gzip:1"),
            ("lz4", "lz4:1"),
            ("none", "none"),
            ("0", "none"),
            ("6", "gzip:6"),
        ];
        for (text, expected) in good {
            assert_eq!(name(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["xz", "zstd:999", "zstd:", "gzip:x", "", "17"] {
            assert!(name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn digests_do_not_depend_on_order_or_cuts() {
        let (rows, sum) = digest(b"a\tb\nc\td\n\n");
        assert_eq!((rows, digest(b"\nc\td\na\tb\n")), (3, (3, sum)));
        let halves = digest(b"a\tb\n").1.wrapping_add(digest(b"c\td\n\n").1);
        assert_eq!(halves, sum);
        assert_ne!(digest(b"a\tb\nc\te\n\n").1, sum);
        assert_ne!(digest(b"x\nx\n").1, 0, "doubled rows do not cancel");
    }

    #[test]
    fn units_are_whole_rows_whatever_the_slices_are() {
        let rows: Vec<u8> = (0..700_000).flat_map(|number| format!("{number}\tsome text\n").into_bytes()).collect();
        let codec = DumpCodec { format: None, level: 0 };
        let mut writer = RowFrameWriter::new(&codec, "t").expect("no compressor");
        for slice in rows.chunks(100_003) {
            writer.take(slice).expect("memory");
        }
        let part = writer.finish(b"\\.\n\n\n").expect("memory");
        assert_eq!(part.bytes, [&rows[..], b"\\.\n\n\n"].concat());
        assert!(part.frames.len() > 3 && part.frames[0].units.len() > 3);
        assert!(
            part.frames.iter().all(|frame| frame.units.is_empty() || frame.units.iter().sum::<u64>() == frame.stored)
        );
        assert_eq!(part.frames.iter().map(|frame| frame.rows).sum::<u64>(), 700_000);
        for frame in part.frames.iter().filter(|frame| frame.rows > 0) {
            let end = usize::try_from(frame.offset + frame.stored).expect("small");
            assert_eq!(part.bytes[end - 1], b'\n');
        }
    }
}
