//! Inputs: files, pipes and standard input, compressed or not. What they give is read in order; a compressed one is decoded beside the reader, on
//! hands of the same lease. Cuts nothing.

use crate::chunks::{ChunkCutter, ChunkRules, CutFailure};
use codec::byte_buffer::ByteBuffer;
use codec::decompress::{Decompression, decompress};
use codec::error::CodecError;
use codec::format::DecodeLimits;
use codec::lane::{Lane, LaneInput, LaneOutcome, LaneOutput, OutputCare, OutputTaker, SourceFate};
use codec::{admission::FormatAdmission, compressed_reader::CompressedReader, registry};
use crew::budget::{Budget, InProcess, Lease, LeaseShare, Priority, Request, Weight};
use crew::measures::Slots;
use crew::pipeline::{Executor, Staffing};
use crew::tally::Tally;
use files::staged_file::Unfinished;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Where rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadInput {
    /// On standard input.
    Stdin,
    /// In a file, or what a FIFO gives.
    Path(PathBuf),
}

/// What an input is, as far as it can be seen without reading it to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// Its size, if it is a regular file.
    pub bytes: Option<u64>,
    /// When it was changed, in nanoseconds, if it is a regular file.
    pub changed_ns: Option<i128>,
    /// The format that it is compressed in; none also for what cannot be looked at, such as a pipe.
    pub compression: Option<&'static str>,
}

impl LoadInput {
    /// Its name, as messages have it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Looks at it; a pipe is not opened.
    pub fn facts(&self) -> io::Result<InputFacts> {
        let Self::Path(path) = self else { return Ok(InputFacts::default()) };
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Ok(InputFacts::default());
        }
        use std::os::unix::fs::MetadataExt;
        let mut reader = CompressedReader::file(Arc::new(File::open(path)?), 0);
        let compression = registry::recognise(&mut reader).ok().map(|format| format.facts().name);
        let changed_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Ok(InputFacts { bytes: Some(metadata.len()), changed_ns: Some(changed_ns), compression })
    }

    /// Gives its uncompressed bytes to `read`. `read_bytes` counts those of the file itself.
    pub fn with_bytes<T>(&self, how: &InputReading<'_>, read: impl FnOnce(&mut dyn Read) -> T) -> io::Result<T> {
        let facts = self.facts()?;
        match (self, facts) {
            (Self::Path(path), InputFacts { bytes: Some(_), compression: None, .. }) => {
                let mut file = CountedFile { file: File::open(path)?, tally: how.tally };
                Ok(read(&mut file))
            }
            (Self::Path(path), _) => Ok(decode_beside(LaneInput::Path(path.clone()), how, read)),
            (Self::Stdin, _) => Ok(decode_beside(LaneInput::Stdin, how, read)),
        }
    }
}

/// The first row of a regular file, read apart from the load.
pub fn header_of(input: &LoadInput, rules: &ChunkRules) -> Result<Option<Vec<u8>>, CutFailure> {
    let budget = InProcess::new(1);
    let request =
        Request { priority: Priority::default(), weight: Weight::default(), useful_width: 1, what: String::new() };
    let lease = budget.lease(request);
    let tally = ReadTally::default();
    let how = InputReading { lease: lease.as_ref(), decoders: 1, tally: &tally };
    input.with_bytes(&how, |reader| ChunkCutter::new(rules, 0, reader).header())?
}

/// How inputs are read.
pub struct InputReading<'a> {
    /// Whose hands a decoder works with.
    pub lease: &'a dyn Lease,
    /// How many it may use.
    pub decoders: usize,
    /// Where bytes of inputs are counted, as they are on the disk.
    pub tally: &'a ReadTally,
}

/// How many bytes of inputs were read.
#[derive(Debug, Default)]
pub struct ReadTally {
    /// Of files that are not compressed.
    plain: std::sync::atomic::AtomicU64,
    /// Of all others.
    decoded: Tally,
}

impl ReadTally {
    /// All of them.
    pub fn bytes(&self) -> u64 {
        self.plain.load(std::sync::atomic::Ordering::Relaxed) + self.decoded.bytes_in()
    }
}

struct CountedFile<'a> {
    file: File,
    tally: &'a ReadTally,
}

impl Read for CountedFile<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(room)?;
        self.tally.plain.fetch_add(count as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(count)
    }
}

/// LIMIT: decoded blocks that wait to be read; the decoder has slots of its own.
const BLOCKS_AHEAD: usize = 2;

/// LIMIT: a unit whose uncompressed size is larger is decoded as a stream.
const UNIT_BYTES: u64 = 16 << 20;

/// LIMIT: windows of `zstd --long` and dictionaries of `xz -9`.
const WINDOW_BYTES: u64 = 128 << 20;

/// Decodes while `read` reads. What is not compressed passes as it is.
fn decode_beside<T>(input: LaneInput, how: &InputReading<'_>, read: impl FnOnce(&mut dyn Read) -> T) -> T {
    let (sender, blocks) = sync_channel::<Vec<u8>>(BLOCKS_AHEAD);
    let failed = Arc::new(Mutex::new(None));
    let mut reader = DecodedBytes { blocks, block: Vec::new(), at: 0, failed: Arc::clone(&failed) };
    std::thread::scope(|scope| {
        let decoding = scope.spawn(move || decode(input, how, sender, &failed));
        let done = read(&mut reader);
        // The decoder finds that nobody reads any more.
        drop(reader);
        decoding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done
    })
}

fn decode(input: LaneInput, how: &InputReading<'_>, sender: SyncSender<Vec<u8>>, failed: &Mutex<Option<CodecError>>) {
    let take = move |buffer: &mut ByteBuffer| {
        if buffer.is_empty() {
            return Ok(());
        }
        let block = buffer.content().to_vec();
        Ok(sender.send(block).ok().ok_or(io::ErrorKind::BrokenPipe)?)
    };
    // The lane holds the sender: the blocks end when it goes, after the error stands where it is looked for.
    let lanes = [Lane {
        input,
        output: LaneOutput::Handed(OutputTaker(Arc::new(take))),
        source: SourceFate::Keep,
        care: OutputCare::default(),
    }];
    let on_close = |_: usize, closed: LaneOutcome| *failed.lock() = closed.outcome.err();
    let limits = DecodeLimits {
        unit_uncompressed_bytes: UNIT_BYTES,
        unit_held_bytes: 2 * UNIT_BYTES,
        window_bytes: WINDOW_BYTES,
        dictionary: None,
        prefix: None,
        stream_bytes: WINDOW_BYTES + (16 << 20),
        ahead_bytes: 0,
        streams_lone_unit: true,
    };
    let unfinished = Unfinished::default();
    let admission = FormatAdmission { passes_on: true, takes_empty: true, ..FormatAdmission::default() };
    let decompression = Decompression::new(&lanes, false, limits, &unfinished, &on_close).admitting(admission);
    let slots = 2 * how.decoders + 2;
    let slots = Slots { given: slots, wanted: slots, hands_wanted: how.decoders };
    let staffing = Staffing { width: how.decoders, slots, lanes_at_once: 1, mode: Executor::Threaded };
    // The connections work with hands of the same lease.
    decompress(&decompression, &staffing, &LeaseShare::of(how.lease), &how.tally.decoded);
}

struct DecodedBytes {
    blocks: Receiver<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
    failed: Arc<Mutex<Option<CodecError>>>,
}

impl Read for DecodedBytes {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => (self.block, self.at) = (block, 0),
                Err(_ended) => return self.failed.lock().take().map_or(Ok(0), |error| Err(io::Error::other(error))),
            }
        }
        let count = room.len().min(self.block.len() - self.at);
        room[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(path: &std::path::Path) -> (io::Result<Vec<u8>>, u64) {
        let budget = InProcess::new(2);
        let request =
            Request { priority: Default::default(), weight: Default::default(), useful_width: 2, what: String::new() };
        let lease = budget.lease(request);
        let tally = ReadTally::default();
        let how = InputReading { lease: lease.as_ref(), decoders: 2, tally: &tally };
        let mut bytes = Vec::new();
        let input = LoadInput::Path(path.to_owned());
        let outcome = input.with_bytes(&how, |reader| reader.read_to_end(&mut bytes)).and_then(|read| read);
        (outcome.map(|_| bytes), tally.bytes())
    }

    #[test]
    fn files_are_read_whether_compressed_or_not() {
        let place = tempfile::tempdir().expect("a directory");
        let text = b"1,a\n2,b\n".repeat(300_000);
        let plain = place.path().join("plain");
        std::fs::write(&plain, &text).expect("written");
        let (read_back, counted) = read(&plain);
        assert!(read_back.expect("sound") == text && counted == text.len() as u64);
        let Some(gzip) = testkit::program::TestProgram::find("gzip") else { return };
        let packed = gzip.run(["-c"], &text).expect("gzip starts").stdout_of_success();
        let path = place.path().join("named as it likes");
        std::fs::write(&path, &packed).expect("written");
        assert_eq!(LoadInput::Path(path.clone()).facts().expect("it is there").compression, Some("gz"));
        let (read_back, counted) = read(&path);
        assert!(read_back.expect("sound") == text && counted == packed.len() as u64);
        std::fs::write(&path, &packed[..packed.len() - 9]).expect("written");
        assert!(read(&path).0.is_err(), "half a file is no file");
        assert!(LoadInput::Path(place.path().to_owned()).facts().is_err(), "a directory has no rows");
    }

    #[test]
    fn a_fifo_is_read_to_its_end() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("a FIFO");
        let writing = path.clone();
        let writer = std::thread::spawn(move || {
            File::options().write(true).open(writing).expect("somebody reads").write_all(b"1,a\n").expect("written");
        });
        assert_eq!(read(&path).0.expect("sound"), b"1,a\n");
        writer.join().expect("it ends");
    }
}
