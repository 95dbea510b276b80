//! The facts that `zstd -l` prints of a file: its frames, those to skip, sizes, windows and checks, by hopping over the blocks of every frame.
//! Other than `crate::list` it decodes nothing and knows no other format; a size that no header states stays unknown.

use super::container::{BLOCK_HEADER_BYTES, HEADER_BYTES_MAX, MAGIC, parse_block_header, parse_frame_header};
use crate::formats::skippable;
use std::fs::File;
use std::io;
use sys::at_offset::read_full_at;

/// The facts in the headers of a zst file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZstdSurvey {
    /// Frames.
    pub frames: u64,
    /// Skippable frames beside those.
    pub skipped: u64,
    /// Size of the file.
    pub compressed_bytes: u64,
    /// Size of the content, as far as headers state it.
    pub content_bytes: u64,
    /// Whether a header does not.
    pub is_size_missing: bool,
    /// Window of the last frame.
    pub window_bytes: u64,
    /// The dictionary that frames need; 0 if no header names one, or they name several.
    pub dictionary: u32,
    /// Whether frames need several.
    pub has_several_dictionaries: bool,
    /// The last checksum, where there is one.
    pub checksum: Option<[u8; 4]>,
    /// The reason why it ended too early.
    pub flaw: Option<ZstdFlaw>,
}

/// Why a survey ended before the file did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZstdFlaw {
    /// The bytes there are no frame.
    NotZstd,
    /// The file ends inside a frame's header.
    IncompleteFrame,
    /// A frame's header means nothing.
    Header,
    /// The file ends where a block is to begin.
    BlockHeader,
    /// A block is of no type.
    BlockType,
    /// The checksum is missing.
    Checksum,
    /// A block, or a frame to skip, goes on behind the end of the file.
    BeyondTheEnd {
        /// Where it ends.
        end: u64,
    },
}

/// The shortest frame header.
const HEADER_BYTES_MIN: usize = 6;

/// Surveys a file.
///
/// # Errors
///
/// Those of reading.
pub fn survey(file: &File) -> io::Result<ZstdSurvey> {
    let mut survey = ZstdSurvey { compressed_bytes: file.metadata()?.len(), ..ZstdSurvey::default() };
    let mut at = 0;
    loop {
        let mut head = [0; HEADER_BYTES_MAX];
        let read = read_full_at(file, &mut head, at)?;
        if read == 0 && survey.compressed_bytes > 0 {
            let is_beyond = at > survey.compressed_bytes;
            survey.flaw = is_beyond.then_some(ZstdFlaw::BeyondTheEnd { end: at });
            return Ok(survey);
        }
        let found = match skippable::length(&head[..read]) {
            _ if read < HEADER_BYTES_MIN => Err(ZstdFlaw::IncompleteFrame),
            Some(bytes) => {
                survey.skipped += 1;
                bytes.ok_or(ZstdFlaw::IncompleteFrame)
            }
            None if head.starts_with(&MAGIC) => frame(file, at, &head[..read], &mut survey)?,
            None => Err(ZstdFlaw::NotZstd),
        };
        match found {
            Ok(bytes) => at += bytes,
            Err(flaw) => {
                survey.flaw = Some(flaw);
                return Ok(survey);
            }
        }
    }
}

/// Adds the frame at `at` and returns its length.
fn frame(file: &File, at: u64, head: &[u8], survey: &mut ZstdSurvey) -> io::Result<Result<u64, ZstdFlaw>> {
    let Ok(Some(header)) = parse_frame_header(head) else { return Ok(Err(ZstdFlaw::Header)) };
    match header.content_bytes {
        Some(bytes) => survey.content_bytes = survey.content_bytes.saturating_add(bytes),
        None => survey.is_size_missing = true,
    }
    let differs = survey.dictionary != 0 && survey.dictionary != header.dictionary;
    survey.has_several_dictionaries |= differs;
    survey.dictionary = if differs { 0 } else { header.dictionary };
    survey.window_bytes = header.window_bytes;
    let mut length = header.bytes as u64;
    loop {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        if read_full_at(file, &mut bytes, at + length)? < bytes.len() {
            return Ok(Err(ZstdFlaw::BlockHeader));
        }
        let Ok(block) = parse_block_header(bytes) else { return Ok(Err(ZstdFlaw::BlockType)) };
        length += BLOCK_HEADER_BYTES as u64 + block.packed_bytes;
        if block.is_last {
            break;
        }
    }
    if header.has_checksum {
        let mut stored = [0; 4];
        if read_full_at(file, &mut stored, at + length)? < stored.len() {
            survey.checksum = Some(stored);
            return Ok(Err(ZstdFlaw::Checksum));
        }
        survey.checksum = Some(stored);
        length += stored.len() as u64;
    }
    survey.frames += 1;
    Ok(Ok(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn surveyed(bytes: &[u8]) -> ZstdSurvey {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        survey(&file).expect("it can be read")
    }

    fn packed() -> Vec<u8> {
        let mut frame = vec![0; 9000];
        let bytes = zstd_safe::compress(frame.as_mut_slice(), &testkit::data::text(8000, 1), 3).expect("packed");
        frame.truncate(bytes);
        frame
    }

    #[test]
    fn frames_and_frames_to_skip_are_counted() {
        let one = packed();
        let skip = [&[0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0][..], b"a"].concat();
        let found = surveyed(&[&skip[..], &one, &one, &skip].concat());
        assert_eq!((found.frames, found.skipped, found.content_bytes), (2, 2, 16_000));
        assert_eq!((found.flaw, found.checksum, found.is_size_missing), (None, None, false));
    }

    #[test]
    fn every_cut_is_a_flaw() {
        let one = packed();
        for cut in 1..one.len() {
            assert!(surveyed(&one[..cut]).flaw.is_some(), "{cut}");
        }
        assert_eq!(surveyed(b"").flaw, Some(ZstdFlaw::IncompleteFrame));
        assert_eq!(surveyed(b"plain text").flaw, Some(ZstdFlaw::NotZstd));
        assert_eq!(surveyed(&[&one[..], b"plain text"].concat()).flaw, Some(ZstdFlaw::NotZstd));
    }
}
