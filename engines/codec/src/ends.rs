//! The two ends of a lane as open files: input by offset or as a stream, output staged, direct or discarded.
//! Knows no format; the stages in `compress` and `decompress` put bytes through.

use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::holes::write_around_zeros;
use crate::lane::{Holes, Lane, LaneInput, LaneOutput, OutputCare, OutputTaker, SourceFate};
use crew::pipeline::By;
use files::carry::{NotCarried, carry_over, default_list};
use files::staged_file::{Readers, Replace, StagedFile, Unfinished};
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use sys::at_offset::{read_full_at, report_late_errors, write_all_at};
use sys::pipe_end::{Kind, appends, kind_of, widen, write_all};
use sys::standard_streams::input_was_closed;
use sys::wake::Wake;

/// What pipes are asked to hold; the kernel's default is 64 KiB, a sixteenth of our reads.
const PIPE_BYTES: usize = 1 << 20;

/// LIMIT: what a step of copying within the kernel moves: a signal waits for it.
const IN_KERNEL_BYTES: usize = 64 << 20;

/// LIMIT: what is read at once where the kernel cannot copy.
const BUFFER_BYTES: usize = 1 << 20;

/// An open input.
pub(crate) struct InputEnd {
    pub file: Arc<File>,
    /// For a regular file: where it begins and what size it had when opened.
    pub extent: Option<ReadExtent>,
    /// Ends a wait for a producer.
    pub wake: Arc<Wake>,
}

/// The part of a regular file that there is to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadExtent {
    pub from: u64,
    pub end: u64,
}

impl InputEnd {
    /// Opens the input and finds out how it can be read.
    pub fn open(input: &LaneInput) -> Result<Self, CodecError> {
        let (mut file, is_stdin) = match input {
            LaneInput::Stdin => {
                let descriptor = io::stdin().as_fd().try_clone_to_owned().map_err(CodecError::Open)?;
                let file = File::from(descriptor);
                if input_was_closed() {
                    return Err(CodecError::Open(io::Error::other("it is closed")));
                }
                (file, true)
            }
            // Opening a FIFO would sleep until somebody writes to it; reading waits for that instead, and can be interrupted.
            LaneInput::Path(path) => {
                let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
                let file = File::options().read(true).custom_flags(flags).open(path).map_err(CodecError::Open)?;
                (file, false)
            }
        };
        let extent = match kind_of(&file).map_err(CodecError::Open)? {
            Kind::Directory => return Err(CodecError::Directory),
            Kind::RegularFile => {
                let from = if is_stdin { file.stream_position().map_err(CodecError::Open)? } else { 0 };
                let end = file.metadata().map_err(CodecError::Open)?.len().max(from);
                advise_sequential(&file);
                Some(ReadExtent { from, end })
            }
            Kind::Stream => {
                widen(&file, PIPE_BYTES);
                None
            }
        };
        Ok(Self { file: Arc::new(file), extent, wake: Arc::new(Wake::new().map_err(CodecError::Open)?) })
    }
}

/// A hint only: without it the kernel reads ahead more cautiously.
fn advise_sequential(file: &File) {
    let _without_the_hint = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

/// An open output.
pub(crate) struct OutputEnd {
    destination: Destination,
    /// For messages.
    name: PathBuf,
    /// At offsets by the workers, or in order by a thread of its own.
    pub writing: By,
    /// Bytes of output up to the end of what was written so far.
    written: AtomicU64,
    /// The same in the file, and where the last place given out ends there.
    written_to: AtomicU64,
    placed_to: AtomicU64,
    care: OutputCare,
    /// Whether zeros become holes: known when the first byte is placed, since an earlier lane may still write.
    has_holes: OnceLock<bool>,
}

/// Where some bytes belong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputSpot {
    /// Bytes of output before them.
    pub offset: u64,
    /// Where that is in the file.
    at: u64,
}

impl OutputSpot {
    /// So many bytes on.
    pub fn behind(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, at: self.at + bytes }
    }
}

/// Whose rights an output gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    /// The source's, a file of the same directory.
    Source,
    /// The source's, a file of another directory, as far as the default access control list of its own grants them.
    SourceElsewhere,
    /// Those of any new file: it stands for no other.
    NewFile,
}

fn rights_of(lane: &Lane, output: &Path, input: &InputEnd) -> Rights {
    let LaneInput::Path(source) = &lane.input else { return Rights::NewFile };
    if input.extent.is_none() {
        return Rights::NewFile;
    }
    match [source, output].map(|path| std::fs::metadata(directory_of(path))) {
        [Ok(one), Ok(other)] if is_same_file(&one, &other) => Rights::Source,
        _ => Rights::SourceElsewhere,
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

enum Destination {
    Staged { staged: StagedFile, path: PathBuf, replace: bool, rights: Rights },
    Direct(File),
    Discard,
    Handed(OutputTaker),
}

impl OutputEnd {
    /// Opens the output.
    pub fn open(lane: &Lane, input: &InputEnd, unfinished: &Unfinished) -> Result<Self, CodecError> {
        let mut end = Self::open_plainly(lane, input, unfinished)?;
        end.care = lane.care;
        Ok(end)
    }

    fn open_plainly(lane: &Lane, input: &InputEnd, unfinished: &Unfinished) -> Result<Self, CodecError> {
        match &lane.output {
            LaneOutput::Handed(taker) => {
                Ok(Self::new(Destination::Handed(taker.clone()), Path::new("the program"), By::OwnThread))
            }
            LaneOutput::Discard => Ok(Self::new(Destination::Discard, Path::new("nowhere"), By::Workers)),
            LaneOutput::Stdout => {
                let create_error = |cause| CodecError::Create { path: "standard output".into(), cause };
                let file = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(create_error)?);
                Self::direct(file, Path::new("standard output")).map_err(create_error)
            }
            LaneOutput::Open(file) => {
                let name = Path::new("the common output");
                let create_error = |cause| CodecError::Create { path: name.into(), cause };
                let file = file.try_clone().map_err(create_error)?;
                Self::direct(file, name).map_err(create_error)
            }
            LaneOutput::Path { path, replace } => Self::named(path, *replace, rights_of(lane, path, input), unfinished),
        }
    }

    fn new(destination: Destination, name: &Path, writing: By) -> Self {
        let (name, care, has_holes) = (name.to_owned(), OutputCare::default(), OnceLock::new());
        let (written, written_to, placed_to) = Default::default();
        Self { destination, name, writing, written, written_to, placed_to, care, has_holes }
    }

    fn direct(file: File, name: &Path) -> io::Result<Self> {
        let at_offsets = kind_of(&file)? == Kind::RegularFile && !appends(&file)?;
        if !at_offsets {
            widen(&file, PIPE_BYTES);
        }
        let writing = if at_offsets { By::Workers } else { By::OwnThread };
        Ok(Self::new(Destination::Direct(file), name, writing))
    }

    /// A name that is a FIFO or device, and meant to be, is written directly: there is nothing to stage beside it.
    fn named(path: &Path, replace: bool, rights: Rights, unfinished: &Unfinished) -> Result<Self, CodecError> {
        let create_error = |cause| CodecError::Create { path: path.to_owned(), cause };
        match std::fs::metadata(path) {
            Ok(there) if replace && !there.is_file() && !there.is_dir() => {
                let file = File::options().write(true).open(path).map_err(create_error)?;
                return Self::direct(file, path).map_err(create_error);
            }
            Ok(there) if there.is_dir() => return Err(create_error(io::ErrorKind::IsADirectory.into())),
            _ => {}
        }
        if !replace && std::fs::symlink_metadata(path).is_ok() {
            return Err(CodecError::Exists { path: path.to_owned() });
        }
        let readers = if rights == Rights::NewFile { Readers::AsOfAnyFile } else { Readers::OwnerAlone };
        let staged = StagedFile::create(path, readers, unfinished).map_err(create_error)?;
        let destination = Destination::Staged { staged, path: path.to_owned(), replace, rights };
        Ok(Self::new(destination, path, By::Workers))
    }

    /// Whether its bytes go to standard output or a device: what stands there is gone, and may be more than is sound.
    pub fn is_direct(&self) -> bool {
        matches!(self.destination, Destination::Direct(_))
    }

    /// Finds the place of the next bytes, which follow the first `offset`. In a file that others may write to through the same
    /// descriptor (`(a & b) > out`, `> out 2>&1`) it is taken by moving the offset that all of them share, so no one else gets it.
    pub fn place(&self, offset: u64, bytes: usize) -> Result<OutputSpot, CodecError> {
        let at = match &self.destination {
            Destination::Direct(file) if self.writing == By::Workers => {
                let end =
                    (&*file).seek(SeekFrom::Current(bytes as i64)).map_err(|cause| self.write_error(offset, cause))?;
                end - bytes as u64
            }
            _ => offset,
        };
        self.has_holes.get_or_init(|| match (&self.destination, self.care.holes) {
            (Destination::Staged { .. }, holes) => holes != Holes::Never,
            // What stands there already would show through a hole.
            (Destination::Direct(file), Holes::Everywhere) if self.writing == By::Workers => {
                file.metadata().is_ok_and(|metadata| metadata.len() <= at)
            }
            _ => false,
        });
        // ORDER: places are given out in order and looked at when the lane is closed, behind the pipeline's lock.
        self.placed_to.store(at + bytes as u64, Ordering::Relaxed);
        Ok(OutputSpot { offset, at })
    }

    /// Writes what is in `buffer` to its place. Whoever it is handed to may keep it and leave another one.
    pub fn hand_on(&self, buffer: &mut ByteBuffer, spot: OutputSpot) -> Result<(), CodecError> {
        let Destination::Handed(taker) = &self.destination else { return self.write(buffer.content(), spot) };
        let bytes = buffer.len() as u64;
        (taker.0)(buffer).map_err(|cause| self.write_error(spot.offset, cause))?;
        self.note_written(spot.behind(bytes));
        Ok(())
    }

    /// Writes `bytes` to their place.
    pub fn write(&self, bytes: &[u8], spot: OutputSpot) -> Result<(), CodecError> {
        let write_at = if self.has_holes() { write_around_zeros } else { write_all_at };
        let outcome = match &self.destination {
            Destination::Discard => Ok(()),
            Destination::Handed(taker) => {
                let mut copy = ByteBuffer::default();
                copy.append(bytes);
                (taker.0)(&mut copy)
            }
            Destination::Staged { staged, .. } => write_at(staged.file(), bytes, spot.at),
            Destination::Direct(file) if self.writing == By::Workers => write_at(file, bytes, spot.at),
            Destination::Direct(file) => write_all(file, bytes),
        };
        outcome.map_err(|cause| self.write_error(spot.offset, cause))?;
        self.note_written(spot.behind(bytes.len() as u64));
        Ok(())
    }

    /// Writes the next `bytes` of a file to their place: within the kernel, if it can.
    pub fn write_from(&self, source: &File, bytes: u64, spot: OutputSpot) -> Result<(), CodecError> {
        let mut from = 0;
        if let Destination::Staged { staged, .. } = &self.destination {
            let mut at = spot.at;
            while from < bytes {
                let count = usize::try_from(bytes - from).unwrap_or(usize::MAX).min(IN_KERNEL_BYTES);
                match rustix::fs::copy_file_range(source, Some(&mut from), staged.file(), Some(&mut at), count) {
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(copied) if copied > 0 => {}
                    // Not for this pair of file systems; reading and writing reports a real error.
                    _ => break,
                }
            }
            self.note_written(spot.behind(from));
        }
        let mut buffer = vec![0; usize::try_from(bytes - from).unwrap_or(usize::MAX).min(BUFFER_BYTES)];
        while from < bytes {
            let room = usize::try_from(bytes - from).unwrap_or(usize::MAX).min(buffer.len());
            let read = read_full_at(source, &mut buffer[..room], from);
            let read_error = |cause| CodecError::Read { offset: from, cause };
            match read.map_err(read_error)? {
                0 => return Err(read_error(io::ErrorKind::UnexpectedEof.into())),
                read => self.write(&buffer[..read], spot.behind(from)).map(|()| from += read as u64)?,
            }
        }
        Ok(())
    }

    fn note_written(&self, end: OutputSpot) {
        // ORDER: plain maxima; whoever reads them has closed the lane, behind the pipeline's lock.
        self.written.fetch_max(end.offset, Ordering::Relaxed);
        self.written_to.fetch_max(end.at, Ordering::Relaxed);
    }

    fn has_holes(&self) -> bool {
        self.has_holes.get().is_some_and(|&has_holes| has_holes)
    }

    fn write_error(&self, offset: u64, cause: io::Error) -> CodecError {
        CodecError::Write { path: self.name.clone(), offset, cause }
    }

    /// Bytes of output so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// A hole at the end has no last byte. Of a file that is ours alone the length is set; in one that others may write to, a zero is written.
    fn end_in_its_length(&self) -> Result<(), CodecError> {
        let end = self.written_to.load(Ordering::Relaxed);
        let set = match &self.destination {
            Destination::Staged { staged, .. } if self.has_holes() => staged.file().set_len(end),
            Destination::Direct(file) if self.has_holes() => file
                .metadata()
                .and_then(|metadata| if metadata.len() < end { write_all_at(file, &[0], end - 1) } else { Ok(()) }),
            _ => Ok(()),
        };
        set.map_err(|cause| self.write_error(self.written(), cause))
    }

    /// Takes back what is not sound. What went to standard output is gone.
    fn shorten_to(&self, bytes: u64) -> Result<(), CodecError> {
        match &self.destination {
            Destination::Staged { staged, .. } if bytes < self.written() => {
                staged.file().set_len(bytes).map_err(|cause| self.write_error(bytes, cause))
            }
            _ => Ok(()),
        }
    }

    /// The lane failed: nothing is committed, and whoever writes next through the same descriptor goes on behind our bytes.
    pub fn abandon<T>(self, error: CodecError) -> Result<T, CodecError> {
        // The lane's own error is the one to tell. A staged file goes; what stands on standard output stays, zeros too.
        if let Destination::Direct(_) = self.destination {
            let _told_already = self.end_in_its_length();
        }
        self.give_back_places();
        Err(error)
    }

    /// Places that were given out and not written to are left to whoever writes next, if nobody else has taken one behind them.
    fn give_back_places(&self) {
        if let (Destination::Direct(file), By::Workers) = (&self.destination, self.writing) {
            let (placed_to, written_to) = (&self.placed_to, &self.written_to);
            let (end, written) = (placed_to.load(Ordering::Relaxed), written_to.load(Ordering::Relaxed));
            let mut file = file;
            if written < end && file.stream_position().is_ok_and(|now| now == end) {
                // The lane's own error is told; a gap of zeros stays where this fails.
                let _stays_behind_the_gap = file.seek(SeekFrom::Start(written));
            }
        }
    }

    /// Everything is written: carries the source's metadata over, gives the file its name, removes the source if asked.
    pub fn commit(self, lane: &Lane, input: &File) -> Result<Vec<NotCarried>, CodecError> {
        let is_named = matches!(self.destination, Destination::Staged { .. });
        let written = self.written();
        let not_carried = self.commit_sound_part(lane, input, written)?;
        if is_named {
            remove_source(lane, input)?;
        }
        Ok(not_carried)
    }

    /// The first `bytes` of what is written are sound: they get their name, and the source stays.
    pub fn commit_sound_part(self, lane: &Lane, input: &File, bytes: u64) -> Result<Vec<NotCarried>, CodecError> {
        self.end_in_its_length()?;
        self.shorten_to(bytes)?;
        let (written, name) = (self.written(), self.name.clone());
        let flush_error = |cause| CodecError::Write { path: name.clone(), offset: written, cause };
        match self.destination {
            Destination::Discard | Destination::Handed(_) => Ok(Vec::new()),
            Destination::Direct(file) => {
                report_late_errors(&file).map_err(flush_error)?;
                if self.care.syncs && kind_of(&file).is_ok_and(|kind| kind == Kind::RegularFile) {
                    file.sync_all().map_err(flush_error)?;
                }
                Ok(Vec::new())
            }
            Destination::Staged { staged, path, replace, rights } => {
                report_late_errors(staged.file()).map_err(flush_error)?;
                let commit_error = |cause: io::Error| match cause.kind() {
                    io::ErrorKind::AlreadyExists => CodecError::Exists { path: path.clone() },
                    _ => CodecError::Commit { path: path.clone(), cause },
                };
                let carried = match rights {
                    Rights::NewFile => Ok(Vec::new()),
                    Rights::Source => carry_over(input, staged.file(), None),
                    Rights::SourceElsewhere => {
                        carry_over(input, staged.file(), default_list(directory_of(&path)).as_deref())
                    }
                };
                let not_carried = carried.map_err(commit_error)?;
                let syncs = lane.source == SourceFate::Remove || self.care.syncs;
                if syncs {
                    // Where the last copy of the bytes goes, the new one must be on the disk before.
                    staged.file().sync_all().map_err(flush_error)?;
                }
                staged.commit(if replace { Replace::Yes } else { Replace::Never }).map_err(commit_error)?;
                if syncs {
                    sync_name(&path).map_err(flush_error)?;
                }
                Ok(not_carried)
            }
        }
    }
}

/// The name is on the disk when the directory is; where that may not be read, when everything on its disk is.
fn sync_name(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path)) {
        Ok(directory) => match directory.sync_all() {
            // There are file systems that cannot sync a directory.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(rustix::fs::syncfs(File::open(path)?)?),
        Err(error) => Err(error),
    }
}

/// Removes the source if asked, and if its name still means the file that was read.
pub(crate) fn remove_source(lane: &Lane, input: &File) -> Result<(), CodecError> {
    let (SourceFate::Remove, LaneInput::Path(source)) = (lane.source, &lane.input) else { return Ok(()) };
    let named = std::fs::symlink_metadata(source).map_err(CodecError::RemoveSource)?;
    if !named.is_file() && !named.is_symlink() {
        return Err(CodecError::RemoveSource(io::Error::other("it is not a regular file")));
    }
    // A link stands for the file behind it: the link goes, the file stays.
    let named = if named.is_symlink() { std::fs::metadata(source).map_err(CodecError::RemoveSource)? } else { named };
    let read = input.metadata().map_err(CodecError::RemoveSource)?;
    if !is_same_file(&named, &read) {
        return Err(CodecError::RemoveSource(io::Error::other("its name now means another file")));
    }
    std::fs::remove_file(source).map_err(CodecError::RemoveSource)
}

fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Refuses to write a file over the one that is being read.
pub(crate) fn check_not_the_same(input: &InputEnd, output: &LaneOutput) -> Result<(), CodecError> {
    let there = match output {
        LaneOutput::Path { path, .. } => std::fs::metadata(path),
        // What is read and only read does no harm: writing will tell.
        LaneOutput::Stdout if !can_be_written(io::stdout()) => return Ok(()),
        LaneOutput::Stdout => {
            io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| File::from(stdout).metadata())
        }
        LaneOutput::Open(file) => file.metadata(),
        LaneOutput::Discard | LaneOutput::Handed(_) => return Ok(()),
    };
    let (Ok(there), Ok(read)) = (there, input.file.metadata()) else { return Ok(()) };
    if there.is_file() && is_same_file(&there, &read) { Err(CodecError::OutputIsInput) } else { Ok(()) }
}

fn can_be_written(descriptor: impl AsFd) -> bool {
    use rustix::fs::OFlags;
    rustix::fs::fcntl_getfl(descriptor).is_ok_and(|flags| flags & OFlags::ACCMODE != OFlags::RDONLY)
}

/// Whoever reads on from the same descriptor begins where we ended: our reads at offsets have not moved it.
pub(crate) fn leave_stdin_at(lane: &Lane, input: &File, position: u64) {
    if lane.input == LaneInput::Stdin && kind_of(input).is_ok_and(|kind| kind == Kind::RegularFile) {
        let mut input = input;
        // Only a convenience to the next reader; what we read is read.
        let _stays_where_it_was = input.seek(SeekFrom::Start(position));
    }
}
