//! `-M`, `-L`, `-F`: archives over several volumes. The archive itself is one stream, written and read by the pipeline; a thread beside it divides
//! the stream into volumes, or joins it of them. Forms of headers: `archive::volumes`.

mod change;

use super::{TarArgs, usage};
use archive::member::padded;
use archive::read::{ReadError, Reader, Rules, Step};
use archive::source::Source;
use archive::volumes::{self, Rest, has_data, read_begin};
use archive::write::Style;
use change::VolumeChange;
use mh_kit::failure::{Failure, with_causes};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread::JoinHandle;

/// COMPAT: volumes are whole records.
const RECORD_BYTES: u64 = super::totals::RECORD_BYTES;

/// Refuses what volumes cannot have. COMPAT: GNU tar's words.
pub fn refuse(args: &TarArgs) -> Result<(), Failure> {
    if !args.volumes.are_several() {
        if args.file.len() > 1 {
            return Err(usage("multiple archive files require '-M' option".to_owned()));
        }
        return Ok(());
    }
    let operation = &args.operation;
    if args.packing.use_compress_program.is_some() || super::archive::said(args).is_some() || args.packing.auto_compress
    {
        return Err(usage("Cannot use multi-volume compressed archives".to_owned()));
    }
    if !(operation.create || operation.extract || operation.list || operation.diff) {
        return Err(usage("-M goes with -c, -x, -t and -d".to_owned()));
    }
    if args.writing.verify || args.writing.label.is_some() && !operation.create {
        return Err(usage("-M does not go with -W, and with -V only to make an archive".to_owned()));
    }
    Ok(())
}

/// Bytes of a volume; none: as many as there is room for.
fn volume_bytes(args: &TarArgs) -> Result<Option<u64>, Failure> {
    let Some(text) = &args.volumes.tape_length else { return Ok(None) };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit: Option<u64> = match &text[digits..] {
        "" | "k" | "K" => Some(1 << 10),
        "c" => Some(1),
        "w" => Some(2),
        "b" => Some(512),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1 << 40),
        _ => None,
    };
    let bytes = text[..digits].parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    let bytes = bytes.filter(|&bytes| bytes > 0).ok_or_else(|| usage(format!("{text}: invalid tape length")))?;
    Ok(Some(bytes.next_multiple_of(RECORD_BYTES)))
}

/// An archive that is divided.
pub struct DividedArchive {
    input: File,
    thread: JoinHandle<io::Result<()>>,
}

impl DividedArchive {
    /// Begins.
    pub fn start(args: &TarArgs, style: &Style, label: Option<Vec<u8>>) -> Result<Self, Failure> {
        if !volumes::can_continue(style.format) {
            return Err(usage("GNU features wanted on incompatible archive format".to_owned()));
        }
        let change = VolumeChange::new(args)?;
        let told = |error: io::Error| super::could_not("create", change.name().as_os_str(), &error);
        let file = File::create(change.path()).map_err(told)?;
        let (reader, writer) = io::pipe().map_err(told)?;
        let volume = VolumeWriter {
            change,
            file,
            most: volume_bytes(args)?.unwrap_or(u64::MAX),
            written: 0,
            style: style.clone(),
            label,
            rest: None,
        };
        let thread = std::thread::spawn(move || divide(reader, volume));
        Ok(Self { input: File::from(OwnedFd::from(writer)), thread })
    }

    /// Where the stream goes.
    pub fn input(&self) -> &File {
        &self.input
    }

    /// The stream is complete.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { input, thread } = self;
        drop(input);
        ended(thread).map_err(|error| Failure::Environment {
            command: super::NAME,
            message: format!("write a volume: {}", with_causes(&error)),
        })
    }
}

fn ended(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that does it panicked")))
}

/// The volume at hand.
struct VolumeWriter {
    change: VolumeChange,
    file: File,
    most: u64,
    written: u64,
    style: Style,
    label: Option<Vec<u8>>,
    /// The member whose data are written: its name, its bytes, and how many of them are out.
    rest: Option<Rest>,
}

impl VolumeWriter {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.written == self.most {
                self.advance()?;
            }
            let room = usize::try_from(self.most - self.written).unwrap_or(usize::MAX).min(bytes.len());
            self.file.write_all(&bytes[..room])?;
            self.written += room as u64;
            if let Some(rest) = &mut self.rest {
                let data = rest.left.min(room as u64);
                (rest.left, rest.offset) = (rest.left - data, rest.offset + data);
            }
            bytes = &bytes[room..];
        }
        Ok(())
    }

    fn advance(&mut self) -> io::Result<()> {
        sys::at_offset::report_late_errors(&self.file)?;
        self.change.advance()?;
        self.file = File::create(self.change.path())?;
        let mut begin = Vec::new();
        let rest = self.rest.as_ref().filter(|rest| rest.left > 0);
        volumes::begin(self.change.number, self.label.as_deref(), rest, &self.style, &mut begin);
        self.file.write_all(&begin)?;
        self.written = begin.len() as u64;
        Ok(())
    }

    /// Fills the last record up.
    fn finish(mut self) -> io::Result<()> {
        let missing = self.written.next_multiple_of(RECORD_BYTES) - self.written;
        self.rest = None;
        self.put(&vec![0; missing as usize])?;
        sys::at_offset::report_late_errors(&self.file)
    }
}

/// A stream whose bytes are handed on as they are read.
struct Passing<Stream, Sink> {
    stream: Stream,
    sink: Sink,
    position: u64,
    /// Why they could not be.
    failed: Option<io::Error>,
}

/// Where bytes of an archive go.
trait Take {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Take for VolumeWriter {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes)
    }
}

impl Take for PipeWriter {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }
}

impl<Stream: Read, Sink: Take> Source for Passing<Stream, Sink> {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < target.len() {
            match self.stream.read(&mut target[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail(error)),
            }
        }
        self.position += read as u64;
        match self.sink.take(&target[..read]) {
            Ok(()) => Ok(read),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut buffer = vec![0; bytes.min(256 << 10) as usize];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(buffer.len() as u64) as usize;
            let read = self.read(&mut buffer[..count])?;
            left -= read as u64;
            if read < count {
                break;
            }
        }
        Ok(bytes - left)
    }
}

impl<Stream: Read, Sink: Take> Passing<Stream, Sink> {
    fn new(stream: Stream, sink: Sink) -> Self {
        Self { stream, sink, position: 0, failed: None }
    }

    /// Keeps an error, which is reported in place of the one that the reader of the archive makes of it.
    fn fail(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        self.failed = Some(error);
        io::Error::from(kind)
    }

    /// Goes through the archive; `each` learns of what the next bytes are the data of.
    fn pass(&mut self, mut each: impl FnMut(&mut Self, Option<Rest>)) -> io::Result<()> {
        let mut reader = Reader::new(Rules::default(), self);
        loop {
            match reader.next(self) {
                Ok(Step::Member(member)) if has_data(member.kind) => {
                    each(self, Some(Rest { name: member.path.clone(), left: member.stored_bytes, offset: 0 }));
                    let end = self.skip(padded(member.stored_bytes));
                    each(self, None);
                    end.map_err(|error| self.failed.take().unwrap_or(error))?;
                }
                Ok(Step::Member(_) | Step::Note(_)) => {}
                Ok(Step::End) => return Ok(()),
                Err(error) => return Err(self.failed.take().unwrap_or_else(|| other(error))),
            }
        }
    }
}

fn other(error: ReadError) -> io::Error {
    io::Error::other(error)
}

fn divide(stream: PipeReader, volume: VolumeWriter) -> io::Result<()> {
    let mut passing = Passing::new(stream, volume);
    passing.pass(|passing, rest| passing.sink.rest = rest)?;
    let Passing { mut stream, sink, .. } = passing;
    sink.finish()?;
    // What fills up the stream's own last record is no part of the volume's.
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

/// Where a volume is read. COMPAT: `-` is standard input.
fn place_of(change: &VolumeChange) -> PathBuf {
    if change.name().as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { change.path() }
}

/// An archive that is joined of its volumes.
pub struct JoinedArchive {
    thread: JoinHandle<io::Result<()>>,
}

impl JoinedArchive {
    /// Begins. What comes out of it stands in the file that is returned with it.
    pub fn start(args: &TarArgs) -> Result<(Self, File), Failure> {
        let change = VolumeChange::new(args)?;
        let told = |error: io::Error| super::could_not("open", change.name().as_os_str(), &error);
        let file = File::open(place_of(&change)).map_err(told)?;
        let (reader, writer) = io::pipe().map_err(told)?;
        let volumes = VolumeReader { change, file, ahead: Vec::new(), rest: None };
        let thread = std::thread::spawn(move || join(volumes, writer));
        Ok((Self { thread }, File::from(OwnedFd::from(reader))))
    }

    /// Whether all volumes could be read. That nobody wanted the rest is no failure.
    pub fn finish(self) -> io::Result<()> {
        match ended(self.thread) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }
}

fn join(volumes: VolumeReader, stream: PipeWriter) -> io::Result<()> {
    let mut passing = Passing::new(volumes, stream);
    passing.pass(|passing, rest| passing.stream.rest = rest)
}

/// Volumes as one stream.
struct VolumeReader {
    change: VolumeChange,
    file: File,
    /// What was read of the volume at hand to find out what it begins with.
    ahead: Vec<u8>,
    /// The member whose data are read.
    rest: Option<Rest>,
}

impl Read for VolumeReader {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = if self.ahead.is_empty() {
                self.file.read(target)?
            } else {
                let count = self.ahead.len().min(target.len());
                target[..count].copy_from_slice(&self.ahead[..count]);
                self.ahead.drain(..count);
                count
            };
            if read > 0 || target.is_empty() {
                if let Some(rest) = &mut self.rest {
                    let data = rest.left.min(read as u64);
                    (rest.left, rest.offset) = (rest.left - data, rest.offset + data);
                }
                return Ok(read);
            }
            self.change.advance()?;
            self.open()?;
        }
    }
}

impl VolumeReader {
    fn open(&mut self) -> io::Result<()> {
        let name = self.change.name();
        let named = |error: &io::Error| {
            io::Error::new(error.kind(), format!("{}: {}", terminal::quote(name), with_causes(error)))
        };
        self.file = File::open(place_of(&self.change)).map_err(|error| named(&error))?;
        let begin = read_begin(&mut self.file).map_err(|error| named(&error))?;
        let wanted = self.rest.as_ref().filter(|rest| rest.left > 0);
        let is_next = match (wanted, &begin.rest) {
            (Some(wanted), Some(found)) => wanted.left == found.left && wanted.offset == found.offset,
            (None, None) => true,
            _ => false,
        };
        if !is_next {
            return Err(io::Error::other(format!("{}: this volume is out of sequence", terminal::quote(name))));
        }
        self.ahead = begin.ahead;
        Ok(())
    }
}

/// The label of the first volume.
pub fn first_label(label: &[u8]) -> Vec<u8> {
    volumes::label_of(label, 1)
}
