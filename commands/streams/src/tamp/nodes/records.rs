//! What the jobs of divided files find in the plan's directory: `plan.json`; `file/N`, a file and how it is cut; `part/N.K`, the compressed range K
//! of it; `done/N`, when its output has its name; `changed/N`, if its source is not as planned. Records are JSON.

use super::super::NAME;
use cluster::text::ByteText;
use mh_kit::failure::Failure;
use mh_kit::nodes::{PlanDirectory, environment};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The version of these records.
pub const FORMAT: u32 = 1;

/// A copy of the dictionary, if there is one.
pub const DICTIONARY: &str = "dictionary";

/// A plan, written when all else of it is there.
#[derive(Debug, Serialize, Deserialize)]
pub struct TampPlan {
    /// The version of these records.
    pub format: u32,
    /// The command line.
    pub words: Vec<ByteText>,
    /// The same without what may differ when it goes on.
    pub asked: String,
    /// Where it was typed.
    pub directory: ByteText,
    pub files: u32,
    /// Files that were reported when the plan was made, and are not in it.
    pub refused: u64,
}

/// A file, and what must be the same until it is compressed.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlannedFile {
    pub source: ByteText,
    pub output: ByteText,
    /// Whether an output that is there is replaced.
    pub replaces: bool,
    /// Whether the source goes.
    pub removes: bool,
    pub bytes: u64,
    /// Seconds and nanoseconds of the last change of its bytes.
    pub changed: (i64, i64),
    /// Uncompressed bytes of each part but the last.
    pub part_bytes: u64,
}

/// An output that has its name.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DoneFile {
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// The name of a part; that of a file is its first part's without the number behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName {
    pub file: u32,
    pub part: u64,
}

impl PartName {
    pub fn parsed(text: &str) -> Option<Self> {
        let (file, part) = text.split_once('.').unwrap_or((text, "0"));
        Some(Self { file: file.parse().ok()?, part: part.parse().ok()? })
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:06}.{:06}", self.file, self.part)
    }
}

impl TampPlan {
    /// The one in a directory; none where there is none, or none yet.
    pub fn read(place: &PlanDirectory) -> Result<Option<Self>, Failure> {
        let plan: Option<Self> = read(place, "plan.json")?;
        match plan {
            Some(plan) if plan.format != FORMAT => {
                let message = format!("read {}: another version wrote it", terminal::quote(place.path("plan.json")));
                Err(Failure::Environment { command: NAME, message })
            }
            plan => Ok(plan),
        }
    }

    pub fn put(&self, place: &PlanDirectory) -> Result<(), Failure> {
        put(place, "plan.json", self)
    }
}

impl PlannedFile {
    pub fn read(place: &PlanDirectory, number: u32) -> Result<Option<Self>, Failure> {
        read(place, &file_name(number))
    }

    pub fn put(&self, place: &PlanDirectory, number: u32) -> Result<(), Failure> {
        put(place, &file_name(number), self)
    }

    pub fn source(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.source.0))
    }

    pub fn output(&self) -> PathBuf {
        OsStr::from_bytes(&self.output.0).into()
    }

    /// How many parts it has; an empty file has one.
    pub fn parts(&self) -> u64 {
        self.bytes.div_ceil(self.part_bytes.max(1)).max(1)
    }

    /// Where part `part` is in the file.
    pub fn range(&self, part: u64) -> Range<u64> {
        let from = (part * self.part_bytes).min(self.bytes);
        from..from.saturating_add(self.part_bytes).min(self.bytes)
    }

    /// How the source differs from the planned one.
    pub fn changed(&self) -> io::Result<Option<String>> {
        Ok(self.difference(&std::fs::metadata(self.source())?))
    }

    fn difference(&self, now: &Metadata) -> Option<String> {
        if !now.is_file() {
            return Some("it is something else now".to_owned());
        }
        if now.len() != self.bytes {
            let (before, now) = (terminal::integer(self.bytes), terminal::integer(now.len()));
            return Some(format!("it had {before} bytes, and has {now}"));
        }
        (changed_at(now) != self.changed).then(|| "its time is another".to_owned())
    }
}

/// When the bytes of a file have changed.
pub fn changed_at(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

impl DoneFile {
    pub fn read(place: &PlanDirectory, number: u32) -> Result<Option<Self>, Failure> {
        read(place, &done_name(number))
    }

    pub fn put(&self, place: &PlanDirectory, number: u32) -> Result<(), Failure> {
        put(place, &done_name(number), self)
    }
}

/// The record of a file.
pub fn file_name(number: u32) -> String {
    format!("file/{number:06}")
}

/// There if a part of the file has reported that it is not as planned.
pub fn changed_name(number: u32) -> String {
    format!("changed/{number:06}")
}

fn done_name(number: u32) -> String {
    format!("done/{number:06}")
}

/// Where a part is.
pub fn part_path(place: &PlanDirectory, file: u32, part: u64) -> PathBuf {
    place.path(format!("part/{}", PartName { file, part }))
}

fn read<T: DeserializeOwned>(place: &PlanDirectory, name: &str) -> Result<Option<T>, Failure> {
    let path = place.path(name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(environment(NAME, "read", &path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| environment(NAME, "read", &path, &error.into()))
}

fn put<T: Serialize>(place: &PlanDirectory, name: &str, record: &T) -> Result<(), Failure> {
    let bytes = mh_kit::report::json_line(record).into_bytes();
    place.put(name, &bytes).map_err(|error| environment(NAME, "write", &place.path(name), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_file_once_and_an_empty_file_has_one() {
        for (bytes, parts) in [(0, 1), (1, 1), (10, 1), (11, 2), (20, 2), (29, 3)] {
            let (source, output) = (ByteText::default(), ByteText::default());
            let (replaces, removes, changed, part_bytes) = (false, false, (0, 0), 10);
            let file = PlannedFile { source, output, replaces, removes, bytes, changed, part_bytes };
            assert_eq!(file.parts(), parts, "{bytes}");
            let mut end = 0;
            for part in 0..parts {
                let range = file.range(part);
                assert_eq!(range.start, end);
                end = range.end;
            }
            assert_eq!(end, bytes);
        }
    }

    #[test]
    fn names_of_parts_and_files_are_read_back() {
        let name = PartName { file: 12, part: 1_234_567 };
        assert_eq!(PartName::parsed(&name.to_string()), Some(name));
        assert_eq!(PartName::parsed("000012"), Some(PartName { file: 12, part: 0 }));
        assert_eq!(PartName::parsed(".mh-12-0.tmp"), None);
    }
}
