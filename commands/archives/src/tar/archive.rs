//! Where an archive comes from: a file or a pipe, plain or packed. Content decides which decoder; names lie.

use super::volumes::JoinedArchive;
use super::{TarArgs, could_not, memory, packer};
use archive::blocks::{BlockSource, Piped};
use archive::extract::Feed;
use archive::index::entry::Spot;
use archive::index::units::{ChosenMembers, Units};
use archive::packed::{Decoding, Growth, decode_beside};
use archive::read::looks_like_archive;
use archive::source::FileSource;
use codec::compressed_reader::CompressedReader;
use codec::format::{DecodeLimits, Format, FormatFacts};
use codec::lane::LaneInput;
use codec::registry;
use crew::budget::Lease;
use crew::measures::Measures;
use crew::pipeline::{Executor, Staffing};
use crew::tally::Tally;
use mh_kit::failure::Failure;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;

/// An archive that was found.
pub struct Opened {
    /// For messages.
    pub name: String,
    /// Its bytes as they lie there, where it is a file.
    pub total_bytes: Option<u64>,
    pub way: Way,
    growth: Growth,
}

/// How it is read.
pub enum Way {
    /// Workers read it at offsets.
    AtOffsets(Arc<File>, u64),
    /// It comes in order; what was read to look at it comes first.
    InOrder(Vec<u8>, File),
    /// The same of a device, which may go on for ever behind the archive.
    Device(Vec<u8>, File),
    /// It is decoded; the file at hand, where an index may be at its end.
    Packed { input: LaneInput, facts: &'static FormatFacts, file: Option<Arc<File>> },
    /// A few members of it are.
    Chosen(Box<Units>, Vec<Spot>),
    /// As above, out of a pipe without a name; what was read of it comes first.
    PackedInOrder(Vec<u8>, File, &'static FormatFacts),
    /// Another program unpacks it.
    Program(Child, String),
    /// It is joined of its volumes.
    Volumes(File, JoinedArchive),
}

/// LIMIT: bytes that are looked at: a header, and more than any format's magic.
const HEAD_BYTES: usize = 512;

/// How files of the program lzop begin.
const LZOP_MAGIC: &[u8] = b"\x89LZO\0\r\n\x1a\n";

/// Finds out what the archive is.
pub fn open(args: &TarArgs) -> Result<Opened, Failure> {
    open_at(args, args.archive().map(Path::to_owned).filter(|path| path != Path::new("-")))
}

/// The same for another one than `-f` says; none is standard input.
pub fn open_at(args: &TarArgs, path: Option<PathBuf>) -> Result<Opened, Failure> {
    let name = path.as_ref().map_or("standard input".to_owned(), terminal::quote);
    let growth = if args.untrusted { Growth::Bounded } else { Growth::Any };
    if args.volumes.are_several() {
        let (joined, stream) = JoinedArchive::start(args)?;
        return Ok(Opened { name, total_bytes: None, way: Way::Volumes(stream, joined), growth });
    }
    let told = |error: io::Error| could_not("open", Path::new(&name).as_os_str(), &error);
    let mut file = match &path {
        Some(path) => File::open(path).map_err(|error| could_not("open", path.as_os_str(), &error))?,
        None => File::from(io::stdin().as_fd().try_clone_to_owned().map_err(told)?),
    };
    let metadata = file.metadata().map_err(told)?;
    if metadata.is_dir() {
        return Err(told(io::ErrorKind::IsADirectory.into()));
    }
    let kind = metadata.file_type();
    let total_bytes = metadata.is_file().then_some(metadata.len());
    if let Some(program) = &args.packing.use_compress_program {
        return Ok(Opened { name, total_bytes, way: with_program(program, file)?, growth });
    }
    // It may be opened once more when `-C` has been followed.
    let input = match path {
        Some(path) => LaneInput::Path(std::path::absolute(path).map_err(told)?),
        None => LaneInput::Stdin,
    };
    let from = if metadata.is_file() { file.stream_position().map_err(told)? } else { 0 };
    if total_bytes.is_none()
        && let Some(format) = said(args)
    {
        let facts = format.facts();
        return Ok(Opened { name, total_bytes, way: Way::Packed { input, facts, file: None }, growth });
    }
    let mut head = Vec::new();
    (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(told)?;
    if total_bytes.is_some() && head.starts_with(LZOP_MAGIC) {
        file.seek(io::SeekFrom::Start(from)).map_err(told)?;
        return Ok(Opened { name, total_bytes, way: with_program("lzop", file)?, growth });
    }
    let packed = match looks_like_archive(&head) {
        true => None,
        false => registry::recognise(&mut CompressedReader::memory(head.clone())).ok().map(|format| format.facts()),
    };
    let way = match (total_bytes, packed) {
        (Some(_), found) => {
            file.seek(io::SeekFrom::Start(from)).map_err(told)?;
            let file = Arc::new(file);
            match found {
                None => Way::AtOffsets(file, from),
                Some(facts) => Way::Packed { input, facts, file: (from == 0).then_some(file) },
            }
        }
        (None, None) if kind.is_fifo() || kind.is_socket() => Way::InOrder(head, file),
        (None, None) => Way::Device(head, file),
        (None, Some(facts)) => Way::PackedInOrder(head, file, facts),
    };
    Ok(Opened { name, total_bytes, way, growth })
}

/// The format that an option says. What comes through a pipe is planned for it, unseen.
pub fn said(args: &TarArgs) -> Option<&'static dyn Format> {
    let packing = &args.packing;
    let said = [
        (packing.gzip, "gz"),
        (packing.bzip2, "bz2"),
        (packing.xz, "xz"),
        (packing.zstd, "zst"),
        (packing.lz4, "lz4"),
        (packing.lzma, "lzma"),
        (packing.lzip, "lz"),
        (packing.compress, "Z"),
    ];
    said.into_iter().find(|(is_said, _)| *is_said).and_then(|(_, name)| registry::by_name(name))
}

fn with_program(program: &str, archive: File) -> Result<Way, Failure> {
    let child = packer::start(program, packer::command(program, " -d")?.stdin(archive).stdout(Stdio::piped()))?;
    Ok(Way::Program(child, program.to_owned()))
}

impl Opened {
    /// How it is read, and why so: for the plan.
    pub fn explain(&self) -> (String, String) {
        match &self.way {
            Way::AtOffsets(..) => {
                ("in each worker, at offsets".into(), "an uncompressed file: only headers are read in order".into())
            }
            Way::Volumes(..) => ("in order".into(), "volumes follow one another".into()),
            Way::InOrder(..) => ("in order".into(), "a pipe gives its bytes in one order only".into()),
            Way::Device(..) => ("in order".into(), "a device is read as far as the archive goes".into()),
            Way::Packed { facts, .. } => (format!("out of a decoder of {}", facts.name), "its content says so".into()),
            Way::Chosen(..) => ("where its index leads".into(), "few members are wanted".into()),
            Way::PackedInOrder(_, _, facts) => {
                (format!("out of a decoder of {}", facts.name), "a compressed pipe".into())
            }
            Way::Program(_, program) => (format!("out of {program}"), "-I".into()),
        }
    }

    /// What brings who lists it from one header to the next.
    pub fn how_headers_are_found(&self) -> String {
        match &self.way {
            Way::AtOffsets(..) | Way::Chosen(..) => "each has the offset of the next one".to_owned(),
            Way::InOrder(..) => "what comes through a pipe is read to its end".to_owned(),
            Way::Volumes(..) => "volumes are read one after the other".to_owned(),
            Way::Device(..) => "a device is read as far as the archive goes".to_owned(),
            Way::Packed { facts, .. } | Way::PackedInOrder(_, _, facts) => format!("{} is unpacked", facts.name),
            Way::Program(_, program) => format!("{program} unpacks it, and all of that is read"),
        }
    }

    /// What a decoder that takes a share of the memory decodes.
    pub fn packed(&self) -> Option<&'static FormatFacts> {
        match &self.way {
            Way::Packed { facts, .. } | Way::PackedInOrder(_, _, facts) => Some(facts),
            _ => None,
        }
    }

    /// Of a run's counters, that which counts the bytes of the archive as they lie there, and how many there are: its own, or its decoder's.
    pub fn counter<'a>(&self, own: &'a Arc<Tally>, decoder: &'a Arc<Tally>) -> (&'a Arc<Tally>, Option<u64>) {
        match &self.way {
            Way::AtOffsets(..) => (own, self.total_bytes),
            Way::Packed { .. } | Way::PackedInOrder(..) => (decoder, self.total_bytes),
            Way::InOrder(..) | Way::Device(..) | Way::Chosen(..) | Way::Program(..) | Way::Volumes(..) => (own, None),
        }
    }

    /// Reads it, its decoder within `room` bytes: `read` gets it plain. Says in the end what the decoder measured, if it had one of
    /// ours, and whether another program that unpacked it failed.
    pub fn with_feed<T>(
        self,
        room: u64,
        lease: &dyn Lease,
        width: usize,
        tally: &Arc<Tally>,
        read: impl FnOnce(Feed) -> T,
    ) -> Result<(T, Option<Measures>), Failure> {
        let told = |error: io::Error| could_not("read", Path::new(&self.name).as_os_str(), &error);
        let (growth, tally) = (self.growth, Arc::clone(tally));
        match self.way {
            Way::AtOffsets(file, from) => Ok((read(Feed::File(FileSource::new(file, from).map_err(told)?)), None)),
            Way::InOrder(head, file) => Ok((read(Feed::Blocks(piped(head, file))), None)),
            Way::Device(head, file) => Ok((read(Feed::Blocks(piped(head, file).endless())), None)),
            Way::Packed { input, facts, .. } => {
                Ok(decoded(Packed { input, facts, room, growth, tally }, lease, width, read))
            }
            Way::Chosen(units, spots) => {
                Ok((read(Feed::Blocks(BlockSource::new(Box::new(ChosenMembers::new(*units, spots))))), None))
            }
            Way::PackedInOrder(head, file, facts) => {
                let (ours, theirs) = io::pipe().map_err(told)?;
                let path = PathBuf::from(format!("/proc/self/fd/{}", ours.as_raw_fd()));
                Ok(std::thread::scope(|scope| {
                    scope.spawn(move || forward(&head, file, theirs));
                    let done = decoded(
                        Packed { input: LaneInput::Path(path), facts, room, growth, tally },
                        lease,
                        width,
                        read,
                    );
                    drop(ours);
                    done
                }))
            }
            Way::Volumes(stream, joined) => {
                let done = read(Feed::Blocks(piped(Vec::new(), stream)));
                joined.finish().map_err(told)?;
                Ok((done, None))
            }
            Way::Program(mut child, program) => {
                let output = child.stdout.take().expect("it was piped");
                let done = read(Feed::Blocks(piped(Vec::new(), OwnedFd::from(output).into())));
                let status = child.wait().map_err(told)?;
                if !status.success() && status.code().is_some() {
                    let message = format!("unpack {}: {program} ended with {status}", self.name);
                    return Err(packer::failed(message, &status));
                }
                Ok((done, None))
            }
        }
    }
}

/// What was looked at and what follows, into the pipe that the decoder reads. Nobody to read it: nothing more to be done.
fn forward(head: &[u8], mut file: File, mut pipe: impl Write) {
    let _reader_has_left = pipe.write_all(head).and_then(|()| io::copy(&mut file, &mut pipe));
}

fn piped(head: Vec<u8>, file: File) -> BlockSource {
    BlockSource::new(Box::new(Piped::new(head, file)))
}

/// LIMIT: windows of `zstd --long` and dictionaries of `xz -9`.
const WINDOW_BYTES_MAX: u64 = 128 << 20;

/// What a decoder may hold: in a unit, in a stream, and ahead of a stream's turn.
pub fn decode_limits(unit_uncompressed_bytes: u64, ahead_bytes: u64) -> DecodeLimits {
    DecodeLimits {
        unit_uncompressed_bytes,
        unit_held_bytes: memory::unit_held_bytes(unit_uncompressed_bytes),
        window_bytes: WINDOW_BYTES_MAX,
        dictionary: None,
        prefix: None,
        stream_bytes: WINDOW_BYTES_MAX + (16 << 20),
        ahead_bytes,
        streams_lone_unit: true,
    }
}

/// A decoder: what it reads, and what it may hold.
struct Packed {
    input: LaneInput,
    facts: &'static FormatFacts,
    room: u64,
    growth: Growth,
    tally: Arc<Tally>,
}

fn decoded<T>(what: Packed, lease: &dyn Lease, width: usize, read: impl FnOnce(Feed) -> T) -> (T, Option<Measures>) {
    let (fitting, unit_bytes) = memory::decoding(what.room, width, what.facts);
    let (limits, input, growth, tally) =
        (decode_limits(unit_bytes, memory::ahead_bytes(what.room, what.facts)), what.input, what.growth, what.tally);
    let shared_bytes_max = memory::shared_bytes(what.room, width, what.facts) as usize;
    let memory::Fitting { width, slots, .. } = fitting;
    let staffing = Staffing { width, slots, lanes_at_once: 1, mode: Executor::Threaded };
    let decoding = Decoding { input, limits, staffing, lease, growth, tally, shared_bytes_max };
    let (done, measures) = decode_beside(&decoding, |decoded| read(Feed::Blocks(BlockSource::new(Box::new(decoded)))));
    (done, Some(measures))
}
