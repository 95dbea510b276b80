//! The bytes of a file, by the cheapest way that its two file systems allow: shared blocks, the kernel's own copying, or reading and
//! writing. Holes stay holes. Which way was taken, and why, is counted for the report.

use super::{Reflink, Sparse};
use files::Status;
use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek, sendfile};
use rustix::io::{Errno, pread, pwrite, read, write};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// A way to copy bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Blocks are shared until one of the files changes.
    Shared = 0,
    /// `copy_file_range`: the kernel copies within one kind of file system.
    InKernel = 1,
    /// `sendfile`: the kernel copies between two file systems.
    Spliced = 2,
    /// Read and written, since the file is small.
    Small = 3,
    /// Read and written, since the kernel does it in no other way.
    Plain = 4,
    /// Data and holes one after the other.
    Sparse = 5,
    /// In ranges by several hands.
    Ranges = 6,
    /// `sendfile`, since `copy_file_range` would share blocks.
    Unshared = 7,
    /// Read and written, since somebody sees the bytes.
    Watched = 8,
}

impl Way {
    /// What it is called, and why it was taken.
    pub fn name(self) -> &'static str {
        WAYS[self as usize]
    }
}

/// What each way is called in the report.
const WAYS: [&str; 9] = [
    "shared blocks (reflink)",
    "copy_file_range: one file system, its blocks cannot be shared",
    "sendfile: two file systems",
    "read and write: empty files, and small ones between two file systems",
    "read and write: the kernel refused other ways",
    "data and holes one by one: the file has holes, or zeros are to become some",
    "in ranges: large files",
    "sendfile: blocks are not to be shared",
    "read and write: digests need every byte",
];

/// LIMIT: between two file systems, one read and one write are cheaper than a pipe in the kernel up to this length.
const SMALL_BYTES: u64 = 64 << 10;

/// LIMIT: bytes between two yield points, and what a signal waits for.
pub const STEP_BYTES: usize = 8 << 20;

/// LIMIT: the buffer of a worker: fits into a core's second-level cache.
const BUFFER_BYTES: usize = 128 << 10;

/// What a worker reads into. Made when it is first asked for: most files are copied in the kernel, and a small run would take longer to
/// clear it than for a file.
#[derive(Debug, Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// Its bytes, whatever they are.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.0.resize(BUFFER_BYTES, 0);
        &mut self.0
    }
}

/// LIMIT: what `--sparse=always` looks at at once: a page.
const HOLE_BYTES: usize = 4096;

/// Which side failed.
#[derive(Debug)]
pub enum Failed {
    /// Reading the source.
    Reading(io::Error),
    /// Writing the target.
    Writing(io::Error),
    /// Sharing blocks, where nothing else would do.
    Sharing(io::Error),
}

/// How often a worker took each way. Its own until a task is done: a counter that all workers write at each file, beside what they read
/// at each file, would go from core to core all the time.
#[derive(Debug, Default)]
pub struct WayCounts([u64; WAYS.len()]);

impl WayCounts {
    /// Counts a file.
    pub fn count(&mut self, way: Way) {
        self.0[way as usize] += 1;
    }
}

/// A file whose bytes have been copied.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// How.
    pub way: Way,
    /// How many.
    pub bytes: u64,
}

/// What was learnt about pairs of file systems, and how often each way was taken.
#[derive(Debug, Default)]
pub struct Ways {
    counts: [AtomicU64; WAYS.len()],
    /// The pair of devices whose blocks were last refused to be shared. LIMIT: one pair: where there are several each change asks once more.
    unshared: AtomicU64,
    /// The same for `copy_file_range`.
    apart: AtomicU64,
}

/// A file to copy.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    /// From where.
    pub source: BorrowedFd<'a>,
    /// Where to.
    pub target: BorrowedFd<'a>,
    /// What the source was when it was opened.
    pub status: &'a Status,
    /// The target's device.
    pub target_device: u64,
    /// Whether the target is a regular file: nothing else has holes, or places to write at.
    pub is_file: bool,
    /// How holes are dealt with.
    pub sparse: Sparse,
    /// Whether blocks are shared.
    pub reflink: Reflink,
}

impl Bytes<'_> {
    fn pair(&self) -> u64 {
        pair(self.status, self.target_device)
    }

    fn has_holes(&self) -> bool {
        self.sparse != Sparse::Never && has_holes(self.status)
    }
}

/// Two devices as one number. Never 0, which stands for no pair.
fn pair(source: &Status, target_device: u64) -> u64 {
    source.identity().device.rotate_left(32) ^ target_device | 1 << 63
}

fn has_holes(status: &Status) -> bool {
    status.allocated_bytes() < status.bytes()
}

impl Ways {
    /// Lines for the report.
    pub fn lines(&self) -> Vec<(String, u64)> {
        let counts = WAYS.iter().zip(&self.counts);
        let counted = counts.map(|(way, count)| ((*way).to_owned(), count.load(Ordering::Relaxed)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds what a worker counted in one step.
    pub fn add(&self, counted: &mut WayCounts) {
        let counted = std::mem::take(counted);
        for (counter, count) in self.counts.iter().zip(counted.0).filter(|(_, count)| *count > 0) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Whether all bytes of a file come by `copy_file_range`, as far as is known: blocks cannot be shared between its pair of file systems.
    pub fn is_in_kernel(&self, source: &Status, target_device: u64) -> bool {
        let pair = pair(source, target_device);
        let (unshared, apart) = (self.unshared.load(Ordering::Relaxed), self.apart.load(Ordering::Relaxed));
        unshared == pair && apart != pair && !has_holes(source)
    }

    /// Shares all blocks if that can be done. Whether it was.
    pub fn share(&self, bytes: &Bytes<'_>) -> Result<bool, Failed> {
        let pair = bytes.pair();
        let is_known_to_fail = self.unshared.load(Ordering::Relaxed) == pair;
        if bytes.reflink == Reflink::Never || (is_known_to_fail && bytes.reflink == Reflink::Auto) {
            return Ok(false);
        }
        match ioctl_ficlone(bytes.target, bytes.source) {
            Ok(()) => Ok(true),
            Err(error) if bytes.reflink == Reflink::Always => Err(Failed::Sharing(error.into())),
            Err(_) => {
                self.unshared.store(pair, Ordering::Relaxed);
                Ok(false)
            }
        }
    }

    /// Copies a whole file from its beginning; `pause` is called between steps, with the bytes of the one before.
    pub fn copy(&self, bytes: &Bytes<'_>, buffer: &mut Buffer, mut pause: impl FnMut(u64)) -> Result<Filled, Failed> {
        if self.share(bytes)? {
            return Ok(Filled { way: Way::Shared, bytes: bytes.status.bytes() });
        }
        let length = bytes.status.bytes();
        if bytes.is_file && (bytes.has_holes() || bytes.sparse == Sparse::Always) {
            // COMPAT: what comes through a pipe may have holes as well.
            let copied = match seek(bytes.source, SeekFrom::Current(0)) {
                Ok(_) => self.copy_range(bytes, buffer.bytes(), 0, u64::MAX, &mut pause)?,
                Err(_) => with_holes(bytes, buffer.bytes(), &mut pause)?,
            };
            ftruncate(bytes.target, copied).map_err(writing)?;
            return Ok(Filled { way: Way::Sparse, bytes: copied });
        }
        let is_apart = self.apart.load(Ordering::Relaxed) == bytes.pair();
        if length > if is_apart { SMALL_BYTES } else { 0 } {
            return self.copy_in_kernel(bytes, buffer, pause);
        }
        // LIE: files of `/proc` and of some devices call themselves empty.
        plain(bytes, buffer.bytes(), length, pause).map(|bytes| Filled { way: Way::Small, bytes })
    }

    fn copy_in_kernel(
        &self,
        bytes: &Bytes<'_>,
        buffer: &mut Buffer,
        mut pause: impl FnMut(u64),
    ) -> Result<Filled, Failed> {
        let pair = bytes.pair();
        let mut way = match bytes.reflink {
            _ if self.apart.load(Ordering::Relaxed) == pair => Way::Spliced,
            // LIE: `copy_file_range` shares blocks where it can.
            Reflink::Never => Way::Unshared,
            _ => Way::InKernel,
        };
        let (mut copied, mut told) = (0, 0);
        loop {
            let step = match way {
                Way::InKernel => copy_file_range(bytes.source, None, bytes.target, None, STEP_BYTES),
                _ => sendfile(bytes.target, bytes.source, None, STEP_BYTES),
            };
            match step {
                Ok(0) if copied > 0 => break,
                Ok(step) if step > 0 => {
                    copied += step as u64;
                    // What is put behind its end meanwhile is not waited for: one call less a file.
                    if copied >= bytes.status.bytes() {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM)
                    if way == Way::InKernel =>
                {
                    self.apart.store(pair, Ordering::Relaxed);
                    way = Way::Spliced;
                }
                // What is wrong shows itself, with its side, when it is read and written.
                _ => {
                    let bytes = copied + plain(bytes, buffer.bytes(), 0, pause)?;
                    return Ok(Filled { way: Way::Plain, bytes });
                }
            }
            pause(copied - told);
            told = copied;
        }
        Ok(Filled { way, bytes: copied })
    }

    /// Copies the data of a range and leaves its holes. Where the copied part ends.
    pub fn copy_range(
        &self,
        bytes: &Bytes<'_>,
        buffer: &mut [u8],
        from: u64,
        to: u64,
        mut pause: impl FnMut(u64),
    ) -> Result<u64, Failed> {
        let mut at = from;
        while at < to {
            let (data, hole) = match source_stretch(bytes, at) {
                SourceStretch::Data { from, to: end } => (from, end.min(to)),
                // The rest is a hole, unless somebody has cut it off meanwhile.
                SourceStretch::Nothing => return Ok(length_of(bytes.source)?.max(at).min(to)),
                SourceStretch::Unknown => (at, to),
            };
            at = data;
            let mut step = 0;
            while at < hole {
                let wanted = usize::try_from(hole - at).unwrap_or(usize::MAX).min(buffer.len());
                let found = retried(|| pread(bytes.source, &mut buffer[..wanted], at)).map_err(reading)?;
                if found == 0 {
                    return Ok(at);
                }
                put(bytes, &buffer[..found], at)?;
                at += found as u64;
                step += found;
                if step >= STEP_BYTES {
                    pause(step as u64);
                    step = 0;
                }
            }
        }
        Ok(at)
    }
}

pub fn length_of(source: BorrowedFd<'_>) -> Result<u64, Failed> {
    Status::of(source).map(|status| status.bytes()).map_err(Failed::Reading)
}

/// The next part of a file.
pub enum SourceStretch {
    Data {
        from: u64,
        to: u64,
    },
    /// Only a hole until the end.
    Nothing,
    /// The file system does not tell.
    Unknown,
}

/// What stands at a place of the source, and behind it.
pub fn source_stretch(bytes: &Bytes<'_>, at: u64) -> SourceStretch {
    // LIE: where a file without holes ends its data is no cheap question: tmpfs looks at every page up to there, for each piece anew.
    if !bytes.has_holes() {
        return SourceStretch::Unknown;
    }
    match seek(bytes.source, SeekFrom::Data(at)) {
        Ok(from) => match seek(bytes.source, SeekFrom::Hole(from)) {
            Ok(to) if to > from => SourceStretch::Data { from, to },
            _ => SourceStretch::Unknown,
        },
        Err(Errno::NXIO) => SourceStretch::Nothing,
        Err(_) => SourceStretch::Unknown,
    }
}

/// Writes at an offset; zeros become holes where that is wanted.
pub fn put(bytes: &Bytes<'_>, data: &[u8], at: u64) -> Result<(), Failed> {
    if bytes.sparse != Sparse::Always {
        return put_all(bytes.target, data, at);
    }
    let mut offset = at;
    for piece in data.chunks(HOLE_BYTES) {
        if piece.iter().any(|&byte| byte != 0) {
            put_all(bytes.target, piece, offset)?;
        }
        offset += piece.len() as u64;
    }
    Ok(())
}

fn put_all(target: BorrowedFd<'_>, mut data: &[u8], mut at: u64) -> Result<(), Failed> {
    while !data.is_empty() {
        let written = retried(|| pwrite(target, data, at)).map_err(writing)?;
        if written == 0 {
            return Err(Failed::Writing(io::ErrorKind::WriteZero.into()));
        }
        data = &data[written..];
        at += written as u64;
    }
    Ok(())
}

/// Reads from where the source stands and writes at offsets; zeros become holes. How many bytes there were.
fn with_holes(bytes: &Bytes<'_>, buffer: &mut [u8], mut pause: impl FnMut(u64)) -> Result<u64, Failed> {
    let mut copied = 0;
    loop {
        let found = retried(|| read(bytes.source, &mut *buffer)).map_err(reading)?;
        if found == 0 {
            return Ok(copied);
        }
        put(bytes, &buffer[..found], copied)?;
        copied += found as u64;
        pause(found as u64);
    }
}

/// Reads and writes from where both stand, until the end. `expected` bytes are known to be enough to see it.
fn plain(bytes: &Bytes<'_>, buffer: &mut [u8], expected: u64, mut pause: impl FnMut(u64)) -> Result<u64, Failed> {
    let (mut copied, mut step) = (0_u64, 0);
    loop {
        let found = retried(|| read(bytes.source, &mut *buffer)).map_err(reading)?;
        if found == 0 {
            return Ok(copied);
        }
        write_all(bytes.target, &buffer[..found])?;
        copied += found as u64;
        // A short read at the length that was told is the end: one call less a file.
        if copied == expected && found < buffer.len() {
            return Ok(copied);
        }
        step += found;
        if step >= STEP_BYTES {
            pause(step as u64);
            step = 0;
        }
    }
}

/// Writes from where the target stands.
pub fn write_all(target: BorrowedFd<'_>, mut data: &[u8]) -> Result<(), Failed> {
    while !data.is_empty() {
        let written = retried(|| write(target, data)).map_err(writing)?;
        if written == 0 {
            return Err(Failed::Writing(io::ErrorKind::WriteZero.into()));
        }
        data = &data[written..];
    }
    Ok(())
}

pub fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

pub fn reading(error: Errno) -> Failed {
    Failed::Reading(error.into())
}

pub fn writing(error: Errno) -> Failed {
    Failed::Writing(error.into())
}
