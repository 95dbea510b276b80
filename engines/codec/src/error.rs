//! Everything that can go wrong between an input and its output, with offset and cause.
//! Texts are fragments that read after `could not compress 'x':`; the name and the operation are the caller's to add.

use crate::format::Remark;
use crate::formats::gzip::kernel::InflateError;
#[cfg(feature = "lzma2-kernel")]
use crate::formats::xz::kernel::Lzma2Error;
use crate::registry;
use std::fmt;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a lane failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The input could not be opened.
    #[error("cannot open it")]
    Open(#[source] io::Error),
    /// The input is a directory.
    #[error("it is a directory")]
    Directory,
    /// Reading failed.
    #[error("reading failed at byte {}", Grouped(*offset))]
    Read {
        /// Where.
        offset: u64,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// The file became shorter while it was read.
    #[error("the file shrank while it was read: it reached beyond byte {}, now it ends at {}", Grouped(*expected), Grouped(*found))]
    Shrank {
        /// A byte that it had when it was opened.
        expected: u64,
        /// Where it ends now.
        found: u64,
    },
    /// The output would replace the very file that is being read.
    #[error("input and output are the same file")]
    OutputIsInput,
    /// Only a regular file can be listed: a stream would be used up.
    #[error("it is not a regular file")]
    NotAFile,
    /// The output exists and may not be replaced.
    #[error("{} already exists", quoted(path))]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The output could not be created.
    #[error("cannot create {}", quoted(path))]
    Create {
        /// The output.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// Writing failed.
    #[error("writing {} failed at byte {}", quoted(path), Grouped(*offset))]
    Write {
        /// The output.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// The finished output could not be given its name.
    #[error("cannot give the finished file its name {}", quoted(path))]
    Commit {
        /// The output.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// The source could not be removed after its output was complete.
    #[error("the output is complete, but the source cannot be removed")]
    RemoveSource(#[source] io::Error),
    /// The input is in no format that is known.
    #[error("{0}")]
    NotRecognised(Unrecognised),
    /// The compressed input is damaged, or asks for what is not allowed.
    #[error("{unit_name} {unit} at byte {}: {defect}", Grouped(*offset))]
    Damaged {
        /// `member` or `frame`.
        unit_name: &'static str,
        /// Its number in the file, from 1.
        unit: u64,
        /// Where it begins in the compressed file.
        offset: u64,
        /// What is wrong with it.
        defect: UnitDefect,
    },
    /// Bytes follow the last unit that belong to no unit.
    #[error("what follows {unit_name} {unit} at byte {} belongs to nothing", Grouped(*offset))]
    TrailingGarbage {
        /// `member` or `frame`.
        unit_name: &'static str,
        /// The last unit.
        unit: u64,
        /// Where the garbage begins.
        offset: u64,
    },
    /// The input is an archive, and more follows its first entry than the directory.
    #[error("it has more entries than the first: they begin at byte {}", Grouped(*offset))]
    FurtherEntries {
        /// Where the first entry ends.
        offset: u64,
    },
    /// A part of the output, made before, is not there or not as it was made.
    #[error("cannot take up its part {}", quoted(path))]
    Part {
        /// The part.
        path: PathBuf,
        /// The kernel's answer, or what is wrong.
        #[source]
        cause: io::Error,
    },
    /// The codec library refused to compress.
    #[error("the {library} library failed: {message}")]
    Library {
        /// Which.
        library: &'static str,
        /// Its words.
        message: String,
    },
}

impl CodecError {
    /// A file that ended before byte `expected`, which it had when it was opened.
    pub(crate) fn shrank(file: &std::fs::File, expected: u64) -> Self {
        Self::Shrank { expected, found: file.metadata().map_or(0, |metadata| metadata.len()).min(expected) }
    }

    /// Whether the input is not what it should be, and what stood before is sound. What only needs more (a dictionary, a
    /// longer window, memory) is not damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { defect, .. } => !defect.is_a_need(),
            Self::TrailingGarbage { .. } => true,
            _ => false,
        }
    }

    /// Whether the reader of our output went away: not worth a message.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Why an input was not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unrecognised {
    /// No byte at all.
    #[error("it is empty: no compressed file is")]
    Empty,
    /// The first bytes are nobody's.
    #[error("it is in no format known here ({})", format_names())]
    Foreign,
}

fn format_names() -> String {
    let names: Vec<&str> = registry::formats().iter().map(|format| format.facts().name).collect();
    names.join(", ")
}

/// What is wrong with a unit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnitDefect {
    /// It ends too early.
    #[error("the file ends in the middle of it")]
    Truncated,
    /// Its header is not one.
    #[error("{0}")]
    Header(&'static str),
    /// It is made in a way that is not known here.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The stored checksum is another than the data's.
    #[error("checksum is {stored:08x}, data say {computed:08x}")]
    Checksum {
        /// As stored.
        stored: u32,
        /// As the data say.
        computed: u32,
    },
    /// The stored length is another than the data's.
    #[error("length is {}, data have {}", Grouped(*stored), Grouped(*actual))]
    Length {
        /// As stored.
        stored: u64,
        /// As decoded.
        actual: u64,
    },
    /// The compressed length in the header is another than that of the data.
    #[error("header says {} packed bytes, data end after {}", Grouped(*stored), Grouped(*actual))]
    CompressedLength {
        /// As stored.
        stored: u64,
        /// As found.
        actual: u64,
    },
    /// The checksum over a stream of several units is another than theirs.
    #[error("the stream that ends here has checksum {stored:08x}, its data say {computed:08x}")]
    StreamChecksum {
        /// As stored.
        stored: u32,
        /// As the units' checksums say.
        computed: u32,
    },
    /// The bzip2 data are broken.
    #[error("{0}")]
    Bzip2(&'static str),
    /// The deflate data are broken.
    #[error("{0}")]
    Deflate(#[source] InflateError),
    /// The zstd data are broken.
    #[error("{0}")]
    Zstd(&'static str),
    /// A block of a zstd frame is damaged.
    #[error("block {} at byte {} is damaged: {what}", Grouped(*number), Grouped(*offset))]
    ZstdBlock {
        /// The block, counted from 1.
        number: u64,
        /// Where it begins in the file.
        offset: u64,
        /// Its damage.
        what: &'static str,
    },
    /// The stored check is another than the data's.
    #[error("check is {}, data say {}", hexadecimal(stored), hexadecimal(computed))]
    WideChecksum {
        /// As stored.
        stored: Vec<u8>,
        /// As the data say.
        computed: Vec<u8>,
    },
    /// The LZMA2 data are broken.
    #[cfg(feature = "lzma2-kernel")]
    #[error("its LZMA data are broken: {0}")]
    Lzma2(#[source] Lzma2Error),
    /// The LZMA data are broken, or liblzma refuses them.
    #[error("its LZMA data are broken: {0}")]
    Lzma(#[source] liblzma::stream::Error),
    /// The LZ4 data are broken.
    #[error("its LZ4 data refer to what is not there, or break off")]
    Lz4,
    /// It cannot be decoded in the memory that is allowed.
    #[error("it needs a window of {} bytes, {} are allowed", Grouped(*need_bytes), Grouped(*allowed_bytes))]
    Memory {
        /// Bytes needed.
        need_bytes: u64,
        /// Bytes allowed.
        allowed_bytes: u64,
    },
    /// The frame needs a larger window than is allowed.
    #[error("it needs a window of {} MiB, {} MiB are allowed", Grouped(need_bytes >> 20), Grouped(allowed_bytes >> 20))]
    Window {
        /// Bytes needed.
        need_bytes: u64,
        /// Bytes allowed.
        allowed_bytes: u64,
        /// The binary logarithm of the need.
        log: u32,
    },
    /// The frame was made with a dictionary.
    #[error("it needs dictionary {0}")]
    Dictionary(u32),
}

impl Remark {
    /// What is wrong, in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::UnknownCheck => "its check is of a type that is not known here",
            Self::UnknownFlags(_) => "its header has flags that are not known here",
            Self::TimeOutOfRange => "its time is out of range",
            Self::EndsEarly => "it ends before its size",
        }
    }

    /// The same, where it is not put up with.
    pub(crate) fn defect(self) -> UnitDefect {
        UnitDefect::Header(self.description())
    }
}

impl UnitDefect {
    /// Whether the input is as it should be, and decoding it takes what it was not given.
    pub(crate) fn is_a_need(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Window { .. } | Self::Dictionary(_))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An integer with separators every three digits.
pub(crate) struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                formatter.write_str(",")?;
            }
            write!(formatter, "{digit}")?;
        }
        Ok(())
    }
}

fn quoted(path: &std::path::Path) -> String {
    // A name may hold anything but must not steer a terminal: the debug form escapes control characters and quotes.
    format!("'{}'", path.to_string_lossy().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_reads_as_in_the_documentation() {
        let defect = UnitDefect::Checksum { stored: 0x1c29_1ca3, computed: 0x8f0e_2b11 };
        let error = CodecError::Damaged { unit_name: "member", unit: 3, offset: 18_874_368, defect };
        assert_eq!(error.to_string(), "member 3 at byte 18,874,368: checksum is 1c291ca3, data say 8f0e2b11");
    }
}
