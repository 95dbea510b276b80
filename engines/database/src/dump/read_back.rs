//! `--verify` of a dump: every frame of a new archive is read back, decompressed and compared with the hashes of the rows that came, before the archive
//! gets its name.

use super::DumpError;
use super::archive::ArchiveFrame;
use crate::restore::RestoreError;
use crate::restore::work::RowFrameReader;
use crew::budget::Lease;
use parking_lot::Mutex;
use std::path::Path;

/// Frames that a hand reads at a time.
const FRAMES_AT_A_TIME: usize = 8;

/// A file of an archive that has rows.
pub struct RowsFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is made of.
    pub frames: &'a [ArchiveFrame],
}

/// How an archive is read back.
pub struct ReadingBack<'a> {
    /// Where it is.
    pub directory: &'a Path,
    /// At most so many hands.
    pub width: usize,
    /// Where they come from.
    pub lease: &'a dyn Lease,
    /// Whether somebody has ended the dump.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

impl ReadingBack<'_> {
    /// Reads all files; the first difference is the error.
    pub fn read(&self, files: &[RowsFile<'_>]) -> Result<(), DumpError> {
        let pieces =
            files.iter().flat_map(|file| file.frames.chunks(FRAMES_AT_A_TIME).map(|frames| (file.name, frames)));
        let (pieces, fault) = (Mutex::new(pieces), Mutex::new(None));
        std::thread::scope(|scope| {
            for _ in 0..self.width.max(1) {
                scope.spawn(|| {
                    while !(self.is_over)() && fault.lock().is_none() {
                        let Some((name, frames)) = pieces.lock().next() else { return };
                        let hand = self.lease.take();
                        let read = self.piece(name, frames);
                        self.lease.give_back(hand);
                        if let Err(error) = read {
                            fault.lock().get_or_insert(error);
                        }
                    }
                });
            }
        });
        match fault.into_inner() {
            Some(error) => Err(DumpError::ReadBack(Box::new(error))),
            None if (self.is_over)() => Err(DumpError::Interrupted),
            None => Ok(()),
        }
    }

    fn piece(&self, name: &str, frames: &[ArchiveFrame]) -> Result<(), RestoreError> {
        let mut reader = RowFrameReader::open(&self.directory.join(name))?;
        frames.iter().try_for_each(|frame| match frame.rows {
            0 => reader.check_end(frame),
            _ => reader.read(frame).map(drop),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::frames::{DumpCodec, RowFrameWriter};
    use crate::dump::work::END_OF_ROWS;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};

    fn read(directory: &Path, name: &str, frames: &[ArchiveFrame], is_over: bool) -> Result<(), DumpError> {
        let request = Request {
            priority: Priority::Normal,
            weight: Weight::default(),
            useful_width: 3,
            what: "reading back".to_owned(),
        };
        let lease = InProcess::new(3).lease(request);
        let reading = ReadingBack { directory, width: 3, lease: lease.as_ref(), is_over: &|| is_over };
        reading.read(&[RowsFile { name: "empty.dat", frames: &[] }, RowsFile { name, frames }])
    }

    #[test]
    fn a_byte_that_is_not_what_was_written_is_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let rows: Vec<u8> = (0..2_000_000).flat_map(|number| format!("{number}\tsome text\n").into_bytes()).collect();
        for (codec, name) in [("none", "1.dat"), ("gzip:1", "1.dat.gz"), ("zstd:1", "1.dat.zst")] {
            let mut writer = RowFrameWriter::new(&DumpCodec::parse(codec).expect("one"), "t").expect("a compressor");
            rows.chunks(99_999).for_each(|slice| writer.take(slice).expect("memory"));
            let part = writer.finish(END_OF_ROWS).expect("memory");
            let path = directory.path().join(name);
            let put = |bytes: &[u8]| std::fs::write(&path, bytes).expect("ours");
            put(&part.bytes);
            assert!(part.frames.len() > 6, "{codec}");
            read(directory.path(), name, &part.frames, false).expect("all is there");
            assert!(matches!(read(directory.path(), name, &part.frames, true), Err(DumpError::Interrupted)));
            for at in [part.bytes.len() / 2, part.bytes.len() - 2] {
                let mut bytes = part.bytes.clone();
                bytes[at] ^= 4;
                put(&bytes);
                let found = read(directory.path(), name, &part.frames, false);
                assert!(matches!(found, Err(DumpError::ReadBack(_))), "{codec}: {found:?}");
            }
            put(&part.bytes);
            for (offset, stored) in [(0, 1 << 60), (u64::MAX, 2)] {
                let frame = ArchiveFrame { offset, stored, units: Vec::new(), ..part.frames[0].clone() };
                assert!(read(directory.path(), name, &[frame], false).is_err(), "{codec}: behind the end");
            }
            put(&part.bytes[..part.bytes.len() - 1]);
            assert!(read(directory.path(), name, &part.frames, false).is_err(), "{codec}: cut off");
        }
    }
}
