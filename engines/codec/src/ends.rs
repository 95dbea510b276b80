//! The two ends of a lane as open files: input by offset or as a stream, output staged, direct or discarded.
//! Knows no format; the stages in `compress` and `decompress` put bytes through.

use crate::error::CodecError;
use crate::lane::{Input, Lane, Output, Source};
use crew::pipeline::By;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use sys::at_offset::write_all_at;
use sys::metadata::{NotCarried, carry_over};
use sys::pipe_end::{Kind, appends, kind_of, widen};
use sys::staged_file::{Replace, StagedFile, Unfinished};
use sys::wake::Wake;

/// What pipes are asked to hold; the kernel's default is 64 KiB, a sixteenth of our reads.
const PIPE_BYTES: usize = 1 << 20;

/// An open input.
pub(crate) struct InputEnd {
    pub file: Arc<File>,
    /// For a regular file: where it begins and what size it had when opened.
    pub extent: Option<Extent>,
    /// Ends a wait for a producer.
    pub wake: Arc<Wake>,
}

/// The part of a regular file that there is to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub from: u64,
    pub end: u64,
}

impl InputEnd {
    /// Opens the input and finds out how it can be read.
    pub fn open(input: &Input) -> Result<Self, CodecError> {
        let (mut file, is_stdin) = match input {
            Input::Stdin => {
                let descriptor = io::stdin().as_fd().try_clone_to_owned().map_err(CodecError::Open)?;
                (File::from(descriptor), true)
            }
            Input::Path(path) => (File::open(path).map_err(CodecError::Open)?, false),
        };
        let extent = match kind_of(&file).map_err(CodecError::Open)? {
            Kind::Directory => return Err(CodecError::Directory),
            Kind::RegularFile => {
                let from = if is_stdin { file.stream_position().map_err(CodecError::Open)? } else { 0 };
                let end = file.metadata().map_err(CodecError::Open)?.len().max(from);
                advise_sequential(&file);
                Some(Extent { from, end })
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
    /// At offsets by the workers, or in order by a thread of its own.
    pub writing: By,
    /// Where the output begins in the file: known when the first byte is placed, since an earlier lane may still write.
    base: OnceLock<u64>,
}

enum Destination {
    Staged { staged: StagedFile, path: PathBuf, replace: bool },
    Direct(File),
    Discard,
}

impl OutputEnd {
    /// Opens the output.
    pub fn open(output: &Output, unfinished: &Unfinished) -> Result<Self, CodecError> {
        match output {
            Output::Discard => Ok(Self::new(Destination::Discard, By::Workers)),
            Output::Stdout => {
                let create_error = |cause| CodecError::Create { path: "standard output".into(), cause };
                let file = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(create_error)?);
                Self::direct(file).map_err(create_error)
            }
            Output::Path { path, replace } => Self::named(path, *replace, unfinished),
        }
    }

    fn new(destination: Destination, writing: By) -> Self {
        Self { destination, writing, base: OnceLock::new() }
    }

    fn direct(file: File) -> io::Result<Self> {
        let at_offsets = kind_of(&file)? == Kind::RegularFile && !appends(&file)?;
        if !at_offsets {
            widen(&file, PIPE_BYTES);
        }
        let writing = if at_offsets { By::Workers } else { By::OwnThread };
        Ok(Self::new(Destination::Direct(file), writing))
    }

    /// A name that is a FIFO or device is written directly: there is nothing to stage beside it.
    fn named(path: &Path, replace: bool, unfinished: &Unfinished) -> Result<Self, CodecError> {
        let create_error = |cause| CodecError::Create { path: path.to_owned(), cause };
        match std::fs::metadata(path) {
            Ok(there) if !there.is_file() && !there.is_dir() => {
                let file = File::options().write(true).open(path).map_err(create_error)?;
                return Self::direct(file).map_err(create_error);
            }
            Ok(there) if there.is_dir() => return Err(create_error(io::ErrorKind::IsADirectory.into())),
            _ => {}
        }
        if !replace && std::fs::symlink_metadata(path).is_ok() {
            return Err(CodecError::Exists { path: path.to_owned() });
        }
        let staged = StagedFile::create(path, unfinished).map_err(create_error)?;
        Ok(Self::new(Destination::Staged { staged, path: path.to_owned(), replace }, By::Workers))
    }

    /// Fixes where the output begins, when the first byte is placed.
    pub fn begin(&self) -> Result<(), CodecError> {
        if self.base.get().is_none() {
            let base = match &self.destination {
                Destination::Direct(file) if self.writing == By::Workers => {
                    (&*file).stream_position().map_err(|cause| CodecError::Write { offset: 0, cause })?
                }
                _ => 0,
            };
            let _set_by_the_same_thread = self.base.set(base);
        }
        Ok(())
    }

    /// Writes `bytes` that belong `offset` bytes into the output.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), CodecError> {
        let base = self.base.get().copied().unwrap_or(0);
        let outcome = match &self.destination {
            Destination::Discard => Ok(()),
            Destination::Staged { staged, .. } => write_all_at(staged.file(), bytes, offset),
            Destination::Direct(file) if self.writing == By::Workers => write_all_at(file, bytes, base + offset),
            Destination::Direct(file) => (&*file).write_all(bytes),
        };
        outcome.map_err(|cause| CodecError::Write { offset, cause })
    }

    /// Everything is written: carries the source's metadata over, gives the file its name, removes the source if asked.
    pub fn commit(self, lane: &Lane, input: &File, bytes: u64) -> Result<Vec<NotCarried>, CodecError> {
        let mut not_carried = Vec::new();
        match self.destination {
            Destination::Discard => {}
            Destination::Direct(mut file) => {
                // Whoever writes after us through the same descriptor goes on behind our bytes.
                if let (By::Workers, Some(base)) = (self.writing, self.base.get()) {
                    let end = SeekFrom::Start(base + bytes);
                    file.seek(end).map_err(|cause| CodecError::Write { offset: bytes, cause })?;
                }
            }
            Destination::Staged { staged, path, replace } => {
                let commit_error = |cause: io::Error| match cause.kind() {
                    io::ErrorKind::AlreadyExists => CodecError::Exists { path: path.clone() },
                    _ => CodecError::Commit { path: path.clone(), cause },
                };
                if matches!(lane.input, Input::Path(_)) && kind_of(input).is_ok_and(|kind| kind == Kind::RegularFile) {
                    not_carried = carry_over(input, staged.file()).map_err(commit_error)?;
                } else {
                    sys::metadata::give_default_mode(staged.file()).map_err(commit_error)?;
                }
                staged.commit(if replace { Replace::Yes } else { Replace::Never }).map_err(commit_error)?;
                if let (Source::Remove, Input::Path(source)) = (lane.source, &lane.input) {
                    std::fs::remove_file(source).map_err(CodecError::RemoveSource)?;
                }
            }
        }
        Ok(not_carried)
    }
}
