//! What jobs print: kept apart in a pipe each, small outputs in memory, large ones in an unlinked temporary file, and passed on
//! whole. Neither waiting for a slow reader nor a full disk loses a byte without saying so. Decides no order.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, sendfile};
use rustix::io::{Errno, ioctl_fionread, retry_on_intr};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error_text::message;

/// What one job may keep in memory. Larger: more memory with many jobs. Smaller: more temporary files.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// The same of whole lines with their tags, which are passed on at once.
const LINES_BYTES_MAX: usize = 4 * KEPT_BYTES_MAX;

/// A pipe's size once a job has shown that it prints much: fewer wake-ups of both sides.
const LARGE_PIPE_BYTES: usize = 1 << 20;

/// Bytes moved at once from a temporary file.
const PIECE_BYTES: usize = 256 << 10;

/// What is passed on in one turn, about 0.3 ms of copying. Larger: signals, deadlines and ends of jobs wait longer. Smaller: more turns.
const PASSED_BYTES_MAX: u64 = 1 << 20;

/// One stream of one job.
#[derive(Debug)]
pub(crate) struct Capture {
    pipe: OwnedFd,
    kept: Vec<u8>,
    spill: Option<File>,
    spilled_bytes: u64,
    taken_bytes: u64,
    is_at_line_start: bool,
    /// The job's end, held so that its closing wakes nobody. Behind the pipe, so that it is closed after it.
    held_open: Option<Arc<OwnedFd>>,
    /// It is not read from until what waits for a slow reader has become less.
    pub is_held: bool,
    /// Why not everything could be kept; what came after is lost.
    fault: Option<io::Error>,
}

/// Whether more can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The pipe is empty for now.
    Open,
    /// Nobody holds its other end.
    Ended,
}

impl Capture {
    /// A capture, and the end that the job gets.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only our end: a job may be surprised by an output that does not wait.
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        let capture = Self {
            pipe: reader,
            kept: Vec::new(),
            spill: None,
            spilled_bytes: 0,
            taken_bytes: 0,
            is_at_line_start: true,
            held_open: None,
            is_held: false,
            fault: None,
        };
        Ok((capture, writer))
    }

    pub fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Holds the job's end open too, as long as the capture is there: that the job has ended is heard otherwise.
    pub fn hold_open(&mut self, writer: Arc<OwnedFd>) {
        self.held_open = Some(writer);
    }

    /// Whether the job's end is held here.
    pub fn is_held_open(&self) -> bool {
        self.held_open.is_some()
    }

    /// Takes in some of what is there, so that others have their turn. `tag` is put before each line. `directory` is where a large output goes meanwhile.
    pub fn take_in(&mut self, scratch: &mut [u8], tag: Option<&[u8]>, directory: &Path) -> Flow {
        if tag.is_none()
            && let Some(flow) = self.splice_in()
        {
            return flow;
        }
        match retry_on_intr(|| rustix::io::read(&self.pipe, &mut *scratch)) {
            Ok(0) => Flow::Ended,
            Ok(count) => {
                self.taken_bytes += count as u64;
                self.keep_tagged(&scratch[..count], tag, directory, KEPT_BYTES_MAX);
                Flow::Open
            }
            Err(Errno::AGAIN) => Flow::Open,
            Err(error) => {
                self.fault.get_or_insert(error.into());
                Flow::Ended
            }
        }
    }

    /// Has the kernel move what is there into the file; none where there is no file, or where reading and writing can do, or tell, more.
    fn splice_in(&mut self) -> Option<Flow> {
        let file = self.spill.as_ref().filter(|_| self.fault.is_none())?;
        match retry_on_intr(|| splice(&self.pipe, None, file, None, LARGE_PIPE_BYTES, SpliceFlags::NONBLOCK)) {
            Ok(0) => Some(Flow::Ended),
            Ok(count) => {
                self.taken_bytes += count as u64;
                self.spilled_bytes += count as u64;
                Some(Flow::Open)
            }
            Err(Errno::AGAIN) => Some(Flow::Open),
            Err(_) => None,
        }
    }

    /// Takes in all that is there: after the job's end. What a process that it left behind prints later is not waited for.
    pub fn drain(&mut self, scratch: &mut [u8], tag: Option<&[u8]>, directory: &Path) {
        let all = self.taken_bytes + ioctl_fionread(&self.pipe).unwrap_or(u64::MAX / 2);
        while self.taken_bytes < all {
            let before = self.taken_bytes;
            if self.take_in(scratch, tag, directory) == Flow::Ended || self.taken_bytes == before {
                return;
            }
        }
    }

    /// At most `most` bytes in memory.
    fn keep_tagged(&mut self, bytes: &[u8], tag: Option<&[u8]>, directory: &Path, most: usize) {
        let Some(tag) = tag else { return self.keep(bytes, directory, most) };
        // Put together first: a write for each short line costs more than all else.
        let mut tagged = Vec::with_capacity(bytes.len() + tag.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.is_at_line_start {
                tagged.extend_from_slice(tag);
            }
            tagged.extend_from_slice(line);
            self.is_at_line_start = line.ends_with(b"\n");
            if tagged.len() > KEPT_BYTES_MAX {
                self.keep(&tagged, directory, most);
                tagged.clear();
            }
        }
        self.keep(&tagged, directory, most);
    }

    fn keep(&mut self, bytes: &[u8], directory: &Path, most: usize) {
        if self.fault.is_some() {
            return;
        }
        if self.spill.is_none() && self.kept.len() + bytes.len() <= most {
            self.kept.extend_from_slice(bytes);
        } else if let Err(error) = self.put_into_file(bytes, directory) {
            self.fault = Some(error);
        }
    }

    fn put_into_file(&mut self, bytes: &[u8], directory: &Path) -> io::Result<()> {
        if self.spill.is_none() {
            // A refusal (the user's pipe limit) costs speed only.
            let _stays_small = fcntl_setpipe_size(&self.pipe, LARGE_PIPE_BYTES);
            let in_directory = |cause: io::Error| {
                let why = format!("in '{}': {}", directory.display(), message(&cause));
                io::Error::new(cause.kind(), why)
            };
            let mut file = nameless_file(directory).map_err(in_directory)?;
            file.write_all(&self.kept)?;
            self.spilled_bytes = self.kept.len() as u64;
            self.kept = Vec::new();
            self.spill = Some(file);
        }
        if let Some(file) = &mut self.spill {
            file.write_all(bytes)?;
            self.spilled_bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Takes in one reading, and out the lines that are complete with it. The rest of a line waits for its end, in a file if it
    /// is long.
    pub fn take_lines(&mut self, scratch: &mut [u8], tag: Option<&[u8]>, directory: &Path) -> (Flow, Vec<Part>) {
        // What fits behind the rest: no file is needed for lines that are short.
        let room = KEPT_BYTES_MAX.saturating_sub(self.kept.len()).max(PAGE_BYTES).min(scratch.len());
        match retry_on_intr(|| rustix::io::read(&self.pipe, &mut scratch[..room])) {
            Ok(0) => (Flow::Ended, Vec::new()),
            Ok(count) => {
                self.taken_bytes += count as u64;
                let end = scratch[..count].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                let (lines, rest) = scratch[..count].split_at(end);
                self.keep_tagged(lines, tag, directory, LINES_BYTES_MAX);
                let parts = if lines.is_empty() { Vec::new() } else { self.take_out() };
                self.keep_tagged(rest, tag, directory, KEPT_BYTES_MAX);
                (Flow::Open, parts)
            }
            Err(Errno::AGAIN) => (Flow::Open, Vec::new()),
            Err(error) => {
                self.fault.get_or_insert(error.into());
                (Flow::Ended, Vec::new())
            }
        }
    }

    /// What is kept so far, as parts to pass on.
    pub fn take_out(&mut self) -> Vec<Part> {
        let file = self.spill.take().map(|file| Part::File { file, from: 0, to: self.spilled_bytes });
        let kept = Some(std::mem::take(&mut self.kept)).filter(|kept| !kept.is_empty()).map(Part::bytes);
        file.into_iter().chain(kept).collect()
    }

    /// What was kept, as parts to pass on; how many bytes the job printed; and what was lost.
    pub fn finish(mut self) -> (Vec<Part>, u64, Option<io::Error>) {
        (self.take_out(), self.taken_bytes, self.fault)
    }
}

/// A file without a name, so that nothing is left behind however this process ends.
fn nameless_file(directory: &Path) -> io::Result<File> {
    match rustix::fs::open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => named_and_unlinked(directory),
        Err(error) => Err(error.into()),
    }
}

fn named_and_unlinked(directory: &Path) -> io::Result<File> {
    let number = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    let path: PathBuf = directory.join(format!(".mh-{}-{number}.tmp", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Part {
    Bytes {
        bytes: Vec<u8>,
        from: usize,
    },
    /// No job's, but the run's own.
    Message {
        bytes: Vec<u8>,
        from: usize,
    },
    File {
        file: File,
        from: u64,
        to: u64,
    },
}

impl Part {
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bytes { bytes: bytes.into(), from: 0 }
    }

    pub fn message(bytes: Vec<u8>) -> Self {
        Self::Message { bytes, from: 0 }
    }

    /// What it takes for as long as any of it waits.
    pub fn weight(&self) -> OutputWeight {
        match self {
            Self::Bytes { bytes, .. } | Self::Message { bytes, .. } => {
                OutputWeight { bytes: bytes.len() as u64, files: 0 }
            }
            Self::File { .. } => OutputWeight { bytes: 0, files: 1 },
        }
    }

    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes { bytes, from } | Self::Message { bytes, from } => (bytes.len() - from) as u64,
            Self::File { from, to, .. } => to - from,
        }
    }
}

/// What something that waits takes: memory and descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputWeight {
    pub bytes: u64,
    pub files: usize,
}

impl OutputWeight {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, files: self.files + other.files }
    }

    /// What is left when a part of it has gone.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        Self { bytes: self.bytes - part.bytes, files: self.files - part.files }
    }
}

/// Where outputs go: this process's standard output or error.
#[derive(Debug)]
pub(crate) struct Outlet {
    descriptor: OwnedFd,
    waiting: Waiting,
    parts: VecDeque<Part>,
    weight: OutputWeight,
    /// Parts that have been put in, and that have been written, since the beginning.
    pushed: u64,
    passed: u64,
    /// Why nothing is written any more.
    fault: Option<io::Error>,
    scratch: Vec<u8>,
}

/// How a reader that is slow shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Not at all: a file.
    Never,
    /// A write that would wait fails instead: a pipe that we opened anew for ourselves.
    Refuses,
    /// Only poll(2) tells, for a page at a time: terminals, sockets, pipes of others.
    Polled,
}

/// How far passing on has come.
#[derive(Debug)]
pub(crate) enum PassedOn {
    /// All is written.
    All,
    /// The reader is slow; it is worth trying again when poll says so.
    WouldWait,
    /// It was enough for one turn; with a file it goes on at once.
    Enough,
    /// Nobody reads any more.
    ReaderGone,
    /// It cannot be written: a full disk.
    Failed(io::Error),
}

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What a pipe takes without waiting when poll says that it takes anything (pipe(7)).
const PAGE_BYTES: usize = 4096;

impl Outlet {
    /// An outlet to a stream of this process.
    pub fn new(stream: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(stream)?.st_mode);
        if kind == FileType::Fifo {
            // A description of our own: switching the shared one would surprise whoever else writes there.
            let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
            if let Ok(own) = rustix::fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            {
                return Ok(Self::on(own, Waiting::Refuses));
            }
        }
        let is_file = matches!(kind, FileType::RegularFile | FileType::BlockDevice);
        let never_waits = is_file || (kind == FileType::CharacterDevice && !rustix::termios::isatty(stream));
        let waiting = if never_waits { Waiting::Never } else { Waiting::Polled };
        Ok(Self::on(rustix::io::fcntl_dupfd_cloexec(stream, 3)?, waiting))
    }

    fn on(descriptor: OwnedFd, waiting: Waiting) -> Self {
        Self {
            descriptor,
            waiting,
            parts: VecDeque::new(),
            weight: OutputWeight::default(),
            pushed: 0,
            passed: 0,
            fault: None,
            scratch: Vec::new(),
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Puts something in; it is dropped where nothing is written any more.
    pub fn push(&mut self, part: Part) {
        if part.len() == 0 {
            return;
        }
        self.pushed += 1;
        if self.fault.is_none() {
            self.weight = self.weight.with(part.weight());
            self.parts.push_back(part);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Parts that have been put in since the beginning.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// How many of them have been written.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// What the parts that wait take.
    pub fn weight(&self) -> OutputWeight {
        self.weight
    }

    /// Why nothing is written any more, if that is so.
    pub fn fault(&self) -> Option<&io::Error> {
        self.fault.as_ref()
    }

    /// Drops all that waits, as if it had been written: nobody wants it.
    pub fn clear(&mut self) {
        self.parts.clear();
        (self.passed, self.weight) = (self.pushed, OutputWeight::default());
    }

    /// Writes nothing any more: what waits and what comes is lost.
    pub fn give_up(&mut self, fault: io::Error) {
        self.parts.clear();
        (self.fault, self.weight) = (Some(fault), OutputWeight::default());
    }

    /// Whether it goes to a file, where no reader makes it wait.
    pub fn never_waits(&self) -> bool {
        self.waiting == Waiting::Never
    }

    /// Whether nobody reads it any more: a pipe without a reader.
    pub fn reader_has_left(&self) -> bool {
        let mut watched = [PollFd::new(&self.descriptor, PollFlags::empty())];
        poll(&mut watched, Some(&AT_ONCE)).is_ok() && watched[0].revents().contains(PollFlags::ERR)
    }

    /// Writes what can be written without waiting, so much at most that others have their turn.
    pub fn pass_on(&mut self) -> PassedOn {
        let mut passed = 0;
        while let Some(part) = self.parts.front_mut() {
            let written = match part {
                Part::Bytes { bytes, from } | Part::Message { bytes, from } => {
                    write_some(&self.descriptor, self.waiting, &bytes[*from..]).inspect(|count| *from += count)
                }
                Part::File { file, from, to } => {
                    let room = usize::try_from(*to - *from).unwrap_or(usize::MAX).min(PIECE_BYTES);
                    // Into a file at a place that others share, sendfile(2) would not wait for theirs, nor they for it.
                    let is_our_pipe = self.waiting == Waiting::Refuses;
                    let sent = if is_our_pipe { send(&self.descriptor, file, *from, room) } else { None };
                    sent.unwrap_or_else(|| copy(&self.descriptor, self.waiting, file, *from, &mut self.scratch, room))
                        .inspect(|&count| *from += count as u64)
                }
            };
            match written {
                Ok(count) => {
                    passed += count as u64;
                    if part.len() == 0 {
                        self.drop_first();
                    }
                    if passed >= PASSED_BYTES_MAX && !self.parts.is_empty() {
                        return PassedOn::Enough;
                    }
                }
                Err(Refusal::WouldWait) => return PassedOn::WouldWait,
                // A place for messages that takes none is nobody's failure: there is no better one to say so.
                Err(_) if matches!(part, Part::Message { .. }) => self.drop_first(),
                Err(Refusal::ReaderGone) => return PassedOn::ReaderGone,
                Err(Refusal::Failed(error)) => return PassedOn::Failed(error),
            }
        }
        PassedOn::All
    }

    /// The first part has been written, or need not be.
    fn drop_first(&mut self) {
        if let Some(part) = self.parts.pop_front() {
            self.weight = self.weight.without(part.weight());
            self.passed += 1;
        }
    }
}

enum Refusal {
    WouldWait,
    ReaderGone,
    Failed(io::Error),
}

/// Has the kernel move bytes from a file into a pipe; none where it cannot, or where reading and writing tell more of what is wrong.
fn send(to: &OwnedFd, file: &File, mut from: u64, room: usize) -> Option<Result<usize, Refusal>> {
    match sendfile(to, file, Some(&mut from), room) {
        Err(Errno::AGAIN) => Some(Err(Refusal::WouldWait)),
        Err(Errno::PIPE) => Some(Err(Refusal::ReaderGone)),
        Ok(count) if count > 0 => Some(Ok(count)),
        _ => None,
    }
}

fn copy(
    to: &OwnedFd,
    waiting: Waiting,
    file: &File,
    from: u64,
    scratch: &mut Vec<u8>,
    room: usize,
) -> Result<usize, Refusal> {
    scratch.resize(PIECE_BYTES, 0);
    match file.read_at(&mut scratch[..room], from) {
        Ok(0) => Err(Refusal::Failed(io::ErrorKind::UnexpectedEof.into())),
        Ok(count) => write_some(to, waiting, &scratch[..count]),
        Err(error) => Err(Refusal::Failed(error)),
    }
}

fn write_some(descriptor: &OwnedFd, waiting: Waiting, bytes: &[u8]) -> Result<usize, Refusal> {
    let mut room = bytes.len();
    if waiting == Waiting::Polled {
        let mut watched = [PollFd::new(descriptor, PollFlags::OUT)];
        match poll(&mut watched, Some(&AT_ONCE)) {
            Ok(0) | Err(Errno::INTR) => return Err(Refusal::WouldWait),
            _ => room = room.min(PAGE_BYTES),
        }
    }
    loop {
        match rustix::io::write(descriptor, &bytes[..room]) {
            Ok(count) => return Ok(count),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(Refusal::WouldWait),
            Err(Errno::PIPE) => return Err(Refusal::ReaderGone),
            Err(error) => return Err(Refusal::Failed(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn filled(bytes: &[u8], tag: Option<&[u8]>) -> (Vec<Part>, u64, Option<io::Error>) {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut capture, writer) = Capture::new().expect("a pipe");
        let mut scratch = vec![0; 8192];
        for piece in bytes.chunks(8192) {
            rustix::io::write(&writer, piece).expect("it fits");
            assert_eq!(capture.take_in(&mut scratch, tag, directory.path()), Flow::Open);
        }
        drop(writer);
        assert_eq!(capture.take_in(&mut scratch, tag, directory.path()), Flow::Ended);
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0, "no name is left");
        capture.finish()
    }

    fn through_a_pipe(parts: Vec<Part>) -> Vec<u8> {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut outlet = Outlet::new(writer.as_fd()).expect("fstat");
        parts.into_iter().for_each(|part| outlet.push(part));
        let mut read = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        while let PassedOn::WouldWait = outlet.pass_on() {
            let count = reader.read(&mut buffer).expect("readable");
            read.extend_from_slice(&buffer[..count]);
        }
        drop((outlet, writer));
        reader.read_to_end(&mut read).expect("readable");
        read
    }

    #[test]
    fn small_and_large_outputs_come_back_whole() {
        for length in [0, 1, 4096, KEPT_BYTES_MAX, KEPT_BYTES_MAX + 1, 300_000] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let (parts, printed, fault) = filled(&bytes, None);
            assert_eq!((printed, fault.is_none()), (length as u64, true));
            assert!(through_a_pipe(parts) == bytes, "{length} bytes");
        }
    }

    #[test]
    fn tags_stand_before_each_line() {
        let (parts, ..) = filled(b"one\ntwo\n\nthree", Some(b"x\t"));
        assert_eq!(through_a_pipe(parts), b"x\tone\nx\ttwo\nx\t\nx\tthree");
    }

    #[test]
    fn a_directory_that_takes_nothing_is_a_fault_and_no_silence() {
        let (mut capture, writer) = Capture::new().expect("a pipe");
        let mut scratch = vec![0; 4096];
        for _ in 0..20 {
            rustix::io::write(&writer, &[b'x'; 4096]).expect("it fits");
            capture.take_in(&mut scratch, None, Path::new("/nowhere"));
        }
        let (parts, printed, fault) = capture.finish();
        assert_eq!((printed, fault.map(|error| error.kind())), (81_920, Some(io::ErrorKind::NotFound)));
        assert_eq!(through_a_pipe(parts).len(), KEPT_BYTES_MAX, "what was kept is passed on");
    }

    #[test]
    fn a_turn_takes_in_one_reading_and_passes_on_a_mebibyte() {
        let (mut capture, writer) = Capture::new().expect("a pipe");
        rustix::io::write(&writer, &[b'\n'; 32 << 10]).expect("it fits");
        capture.take_in(&mut [0; 4096], Some(b"tag"), Path::new("/nowhere"));
        assert_eq!(capture.finish().1, 4096);

        let (kept, written) = (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        let length = 3 * PASSED_BYTES_MAX + 1;
        kept.set_len(length).expect("room");
        let mut outlet = Outlet::new(written.as_fd()).expect("fstat");
        outlet.push(Part::File { file: kept, from: 0, to: length });
        for turn in 1..=3 {
            assert!(matches!(outlet.pass_on(), PassedOn::Enough));
            assert_eq!(written.metadata().expect("it is open").len(), turn * PASSED_BYTES_MAX);
        }
        assert!(matches!(outlet.pass_on(), PassedOn::All));
        assert!(outlet.never_waits(), "the loop goes on at once");
    }

    #[test]
    fn readers_that_left_and_full_disks_are_told() {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let mut gone = Outlet::new(writer.as_fd()).expect("fstat");
        gone.push(Part::bytes("x"));
        assert!(matches!(gone.pass_on(), PassedOn::ReaderGone));
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let mut full = Outlet::new(full.as_fd()).expect("fstat");
        full.push(Part::bytes("x"));
        assert!(matches!(full.pass_on(), PassedOn::Failed(error) if error.kind() == io::ErrorKind::StorageFull));
    }
}
