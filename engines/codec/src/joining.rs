//! Joining parts: files that were compressed each from a range of one file, by [`Compression::part`](crate::compress::Compression::part), become
//! the file that compressing the whole would have made. Ranges begin at borders of chunks, so their units are those of the whole;
//! what stands behind the units of a part, such as a seek table, is taken up into that of the whole.

use crate::ends::{InputEnd, OutputEnd, check_not_the_same, remove_source};
use crate::error::CodecError;
use crate::format::{EncodeOptions, Format};
use crate::lane::{Lane, SourceFate};
use files::carry::NotCarried;
use files::staged_file::Unfinished;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use sys::at_offset::read_full_at;

/// A part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedPart {
    /// Where it is.
    pub path: PathBuf,
    /// Uncompressed bytes of its range.
    pub uncompressed_bytes: u64,
}

/// Parts of one file, in order, as they were encoded.
#[derive(Clone, Copy)]
pub struct Joining<'a> {
    /// The format.
    pub format: &'static dyn Format,
    /// How they were encoded.
    pub options: &'a EncodeOptions,
    /// The parts.
    pub parts: &'a [JoinedPart],
}

/// What the joined file consists of.
enum Piece<'a> {
    /// The begin of a file.
    Units(&'a File, u64),
    Tail(&'a [u8]),
}

impl Joining<'_> {
    /// Writes the joined file to the lane's output, with the metadata of the lane's input, whose bytes are not read. Returns its size.
    ///
    /// # Errors
    /// When a part is missing or not as it was made, or the output cannot be written or named: then there is none.
    pub fn write(&self, lane: &Lane, unfinished: &Unfinished) -> Result<(u64, Vec<NotCarried>), CodecError> {
        let input = InputEnd::open(&lane.input)?;
        check_not_the_same(&input, &lane.output)?;
        let output = OutputEnd::open(lane, &input, unfinished)?;
        let mut offset = 0;
        let written = self.each_piece(|piece| {
            let bytes = match piece {
                Piece::Units(_, bytes) => bytes,
                Piece::Tail(tail) => tail.len() as u64,
            };
            let spot = output.place(offset, usize::try_from(bytes).unwrap_or(usize::MAX))?;
            offset += bytes;
            match piece {
                Piece::Units(part, bytes) => output.write_from(part, bytes, spot),
                Piece::Tail(tail) => output.write(tail, spot),
            }
        });
        match written {
            Ok(()) => output.commit(lane, &input.file).map(|not_carried| (offset, not_carried)),
            Err(error) => output.abandon(error),
        }
    }

    /// Whether a file holds exactly what [`Joining::write`] would write: then it was written before.
    ///
    /// # Errors
    /// When it or a part cannot be read.
    pub fn is_written(&self, path: &Path) -> Result<bool, CodecError> {
        let there = File::open(path).map_err(CodecError::Open)?;
        let read_error = |cause| CodecError::Read { offset: 0, cause };
        let (mut is_same, mut there_offset) = (true, 0);
        let mut buffers = [vec![0; 1 << 20], vec![0; 1 << 20]];
        let mut compare = |expected: &File, bytes: u64, from: u64| {
            let mut done = 0;
            while is_same && done < bytes {
                let count = usize::try_from(bytes - done).unwrap_or(usize::MAX).min(buffers[0].len());
                let [one, other] = &mut buffers;
                let counts = [
                    read_full_at(expected, &mut one[..count], done)?,
                    read_full_at(&there, &mut other[..count], from + done)?,
                ];
                is_same = counts == [count; 2] && one[..count] == other[..count];
                done += count as u64;
            }
            io::Result::Ok(())
        };
        let mut tail = Vec::new();
        self.each_piece(|piece| {
            match piece {
                Piece::Units(part, bytes) => {
                    compare(part, bytes, there_offset).map_err(read_error)?;
                    there_offset += bytes;
                }
                Piece::Tail(bytes) => tail = bytes.to_vec(),
            }
            Ok(())
        })?;
        let mut end = vec![0; tail.len() + 1];
        let read = read_full_at(&there, &mut end, there_offset).map_err(read_error)?;
        Ok(is_same && end[..read] == tail[..])
    }

    /// Visits all pieces in order.
    fn each_piece(&self, mut visit: impl FnMut(Piece<'_>) -> Result<(), CodecError>) -> Result<(), CodecError> {
        let mut tail = self.format.tail(self.options);
        let chunk_bytes = self.format.chunk_bytes(self.options).max(1) as u64;
        for JoinedPart { path, uncompressed_bytes } in self.parts {
            let part_error = |cause| CodecError::Part { path: path.clone(), cause };
            let file = File::open(path).map_err(part_error)?;
            let bytes = file.metadata().map_err(part_error)?.len();
            // An empty file is one empty unit.
            let tail_bytes = tail.bytes_behind(uncompressed_bytes.div_ceil(chunk_bytes).max(1));
            let units_bytes =
                bytes.checked_sub(tail_bytes).ok_or_else(|| part_error(ErrorKind::UnexpectedEof.into()))?;
            let mut part_tail = Vec::new();
            let mut behind = &file;
            io::Seek::seek(&mut behind, io::SeekFrom::Start(units_bytes)).map_err(part_error)?;
            behind.take(tail_bytes).read_to_end(&mut part_tail).map_err(part_error)?;
            if !tail.take_up(&part_tail, units_bytes, *uncompressed_bytes) {
                return Err(part_error(io::Error::other("it does not end as it should")));
            }
            visit(Piece::Units(&file, units_bytes))?;
        }
        visit(Piece::Tail(&tail.finish()))
    }
}

/// Removes a lane's source if asked, now that its output is there.
///
/// # Errors
/// When it cannot be removed, or its name means another file than the one that `input` is.
pub fn remove_joined_source(lane: &Lane, input: &File) -> Result<(), CodecError> {
    if lane.source == SourceFate::Keep { Ok(()) } else { remove_source(lane, input) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_buffer::ByteBuffer;
    use crate::format::UnitLayout;
    use crate::lane::{LaneInput, LaneOutput, OutputCare};
    use crate::registry::{by_name, formats};
    use crew::pipeline::Pause;
    use std::fs;

    /// What the engine makes of so many bytes, one unit behind another.
    fn file_of(format: &dyn Format, options: &EncodeOptions, uncompressed: &[u8]) -> Vec<u8> {
        let (mut encoder, mut tail) = (format.encoder(options).expect("memory"), format.tail(options));
        let (mut file, mut unit) = (Vec::new(), ByteBuffer::default());
        let mut chunks: Vec<&[u8]> = uncompressed.chunks(format.chunk_bytes(options)).collect();
        chunks.resize(chunks.len().max(1), b"");
        for chunk in chunks {
            encoder.encode(chunk, &mut unit, &mut Pause::never()).expect("any bytes can be encoded");
            tail.unit(unit.content(), chunk.len() as u64);
            file.extend(unit.content());
        }
        file.extend(tail.finish());
        file
    }

    #[test]
    fn parts_become_the_file_that_the_whole_is_made_into() {
        let names = formats().iter().filter(|format| format.joins_parts()).map(|format| format.facts().name);
        assert_eq!(names.collect::<Vec<_>>(), ["zst", "gz", "bz2", "lz4"]);
        let layouts =
            [("zst", 1, UnitLayout::ParallelUnits), ("gz", 1, UnitLayout::Bgzf), ("gz", 1, UnitLayout::ParallelUnits)];
        for (name, level, layout) in layouts {
            let (format, options) = (by_name(name).expect("registered"), EncodeOptions::new(level, layout));
            let chunk = format.chunk_bytes(&options);
            let uncompressed = testkit::data::mixed(3 * chunk + 1, 9);
            let whole = file_of(format, &options, &uncompressed);
            let directory = tempfile::tempdir().expect("a directory");
            let path = |name: &str| directory.path().join(name);
            fs::write(path("source"), &uncompressed).expect("written");
            let parts: Vec<JoinedPart> = [0..chunk, chunk..3 * chunk, 3 * chunk..3 * chunk + 1]
                .into_iter()
                .map(|range| {
                    let part =
                        JoinedPart { path: path(&range.start.to_string()), uncompressed_bytes: range.len() as u64 };
                    fs::write(&part.path, file_of(format, &options, &uncompressed[range])).expect("written");
                    part
                })
                .collect();
            let joining = Joining { format, options: &options, parts: &parts };
            let output = LaneOutput::Path { path: path("joined"), replace: false };
            let input = LaneInput::Path(path("source"));
            let lane = Lane { input, output, source: SourceFate::Keep, care: OutputCare::default() };
            let (bytes, _) = joining.write(&lane, &Unfinished::default()).expect("sound");
            assert!(fs::read(path("joined")).expect("there") == whole && bytes == whole.len() as u64, "{name}");
            assert!(joining.is_written(&path("joined")).expect("read"), "{name}");
            let again = joining.write(&lane, &Unfinished::default());
            assert!(matches!(again, Err(CodecError::Exists { .. })), "{name}: {again:?}");
            for other in [&whole[..whole.len() - 1], &[&whole[..], b"?"].concat(), &[b"?", &whole[1..]].concat()] {
                fs::write(path("joined"), other).expect("written");
                assert!(!joining.is_written(&path("joined")).expect("read"), "{name}");
            }
            fs::remove_file(path("joined")).expect("there");
            fs::write(&parts[1].path, b"short").expect("written");
            let short = joining.write(&lane, &Unfinished::default());
            assert!(
                layout == UnitLayout::ParallelUnits && name == "gz" || matches!(short, Err(CodecError::Part { .. })),
                "{name}: {short:?}"
            );
        }
    }
}
