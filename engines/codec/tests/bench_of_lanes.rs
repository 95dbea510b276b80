//! A directory with one input, and ways to send bytes through the engine there. For the tests of lanes.

use codec::compress::{Compression, compress};
use codec::decompress::{Decompression, decompress};
use codec::error::CodecError;
use codec::format::{DecodeLimits, EncodeOptions, UnitLayout};
use codec::lane::{Lane, LaneInput, LaneOutcome, LaneOutput, OutputCare, SourceFate};
use codec::origin::Tells;
use codec::registry;
use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::measures::Slots;
use crew::pipeline::{Executor, Staffing};
use crew::tally::Tally;
use files::staged_file::Unfinished;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub format: &'static str,
    pub level: i32,
    pub layout: UnitLayout,
}

pub struct Bench {
    directory: tempfile::TempDir,
}

/// As gzip writes it: one member, no length.
pub fn foreign_gzip(uncompressed: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(uncompressed).expect("to memory");
    encoder.finish().expect("to memory")
}

/// As `zstd < file` writes it: one frame without a size.
pub fn foreign_zstd(uncompressed: &[u8]) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).expect("a parameter");
    context.set_parameter(zstd_safe::CParameter::ChecksumFlag(true)).expect("a parameter");
    let mut compressed = vec![0; zstd_safe::compress_bound(uncompressed.len())];
    let size = context.compress2(compressed.as_mut_slice(), uncompressed).expect("compress");
    compressed.truncate(size);
    compressed
}

impl Bench {
    pub fn new(uncompressed: &[u8]) -> Self {
        let bench = Self { directory: tempfile::tempdir().expect("a directory") };
        std::fs::write(bench.path("plain"), uncompressed).expect("write");
        bench
    }

    pub fn compress(&self, way: Way, hands: usize) -> Result<Vec<u8>, CodecError> {
        self.compress_file("plain", way, hands)
    }

    /// A file of the directory's, or one with a whole path.
    pub fn compress_file(&self, name: &str, way: Way, hands: usize) -> Result<Vec<u8>, CodecError> {
        run_compress(&[self.lane(name, "packed")], way, hands)?;
        Ok(std::fs::read(self.path("packed")).expect("the output is there"))
    }

    pub fn decompress(&self, compressed: &[u8], hands: usize) -> Result<Vec<u8>, CodecError> {
        std::fs::write(self.path("packed"), compressed).expect("write");
        let _none_yet = std::fs::remove_file(self.path("back"));
        run_decompress(&[self.lane("packed", "back")], false, hands)?;
        Ok(std::fs::read(self.path("back")).expect("the output is there"))
    }

    /// Neither an output nor a temporary file.
    pub fn assert_nothing_left(&self) {
        let entries = std::fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        assert_eq!(names, ["packed", "plain"]);
    }

    /// Packs each of `uncompressed`, unpacks all of them into one FIFO in order, and returns what came out.
    pub fn through_one_output(uncompressed: &[Vec<u8>], way: Way, hands: usize) -> Vec<u8> {
        let bench = Self::new(b"");
        let mut lanes = Vec::new();
        let fifo = bench.path("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        for (number, uncompressed) in uncompressed.iter().enumerate() {
            std::fs::write(bench.path("plain"), uncompressed).expect("write");
            let compressed = bench.compress(way, 1).expect("compress");
            let path = bench.path(&format!("packed-{number}"));
            std::fs::write(&path, compressed).expect("write");
            let output = LaneOutput::Path { path: fifo.clone(), replace: true };
            lanes.push(Lane {
                input: LaneInput::Path(path),
                output,
                source: SourceFate::Keep,
                care: OutputCare::default(),
            });
        }
        std::thread::scope(|scope| {
            // Held open for writing, so that the reader does not see an end between two lanes.
            let reader = scope.spawn(|| std::fs::read(&fifo).expect("read"));
            let held = std::fs::File::options().write(true).open(&fifo).expect("open");
            run_decompress(&lanes, true, hands).expect("decompress");
            drop(held);
            reader.join().expect("no panic")
        })
    }

    fn lane(&self, from: &str, to: &str) -> Lane {
        let output = LaneOutput::Path { path: self.path(to), replace: true };
        Lane { input: LaneInput::Path(self.path(from)), output, source: SourceFate::Keep, care: OutputCare::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn staffing(hands: usize) -> Staffing {
    let slots = 2 * hands + 2;
    let mode = if hands == 1 { Executor::SingleCore } else { Executor::Threaded };
    Staffing {
        width: hands,
        slots: Slots { given: slots, wanted: slots, hands_wanted: hands },
        lanes_at_once: 64,
        mode,
    }
}

fn request(hands: usize) -> Request {
    Request { priority: Priority::Normal, weight: Weight::default(), useful_width: hands, what: "a test".to_owned() }
}

fn run_compress(lanes: &[Lane], way: Way, hands: usize) -> Result<(), CodecError> {
    let first_error = Mutex::new(None);
    let on_close = |_: usize, closed: LaneOutcome| note(&first_error, closed);
    let unfinished = Unfinished::default();
    let what = Compression {
        lanes,
        one_output: false,
        format: registry::by_name(way.format).expect("a format"),
        keep_up: None,
        passing: None,
        options: EncodeOptions { library_threads: hands as u32, ..EncodeOptions::new(way.level, way.layout) },
        part: None,
        tells_origin: Tells::default(),
        unfinished: &unfinished,
        on_close: &on_close,
    };
    let budget = InProcess::new(hands);
    compress(&what, &staffing(hands), budget.lease(request(hands)).as_ref(), &Tally::default());
    first_error.into_inner().expect("no panic").map_or(Ok(()), Err)
}

fn run_decompress(lanes: &[Lane], one_output: bool, hands: usize) -> Result<(), CodecError> {
    let first_error = Mutex::new(None);
    let on_close = |_: usize, closed: LaneOutcome| note(&first_error, closed);
    let unfinished = Unfinished::default();
    let limits = DecodeLimits {
        unit_uncompressed_bytes: 8 << 20,
        unit_held_bytes: u64::MAX,
        window_bytes: 1 << 27,
        dictionary: None,
        prefix: None,
        stream_bytes: u64::MAX,
        ahead_bytes: 0,
        streams_lone_unit: true,
    };
    let what = Decompression::new(lanes, one_output, limits, &unfinished, &on_close);
    let budget = InProcess::new(hands);
    decompress(&what, &staffing(hands), budget.lease(request(hands)).as_ref(), &Tally::default());
    first_error.into_inner().expect("no panic").map_or(Ok(()), Err)
}

fn note(first_error: &Mutex<Option<CodecError>>, closed: LaneOutcome) {
    if let Err(error) = closed.outcome {
        first_error.lock().expect("no panic").get_or_insert(error);
    }
}
