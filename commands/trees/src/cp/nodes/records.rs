//! What the jobs of a divided copy leave each other in the plan's directory, as JSON lines: `plan.json`; `shard/N`, what is to be copied;
//! `part/N`, what was, with its digest; `verified/N`; and for the finish `directories`, `links`, `large` and `finished.json`.

use super::super::NAME;
use cluster::text::ByteText;
use files::{Follow, Moment, Status};
use mh_kit::failure::Failure;
use mh_kit::nodes::{PlanDirectory, environment};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

/// A plan, written when all else of it is there.
#[derive(Debug, Serialize, Deserialize)]
pub struct CopyPlan {
    /// The version of these records.
    pub format: u32,
    /// The command line.
    pub words: Vec<ByteText>,
    /// The same without what may differ when it goes on.
    pub asked: String,
    /// Where it was typed.
    pub directory: ByteText,
    pub umask: u32,
    pub shards: u32,
    /// What there is to copy.
    pub counts: PlanCounts,
}

/// What a walk has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCounts {
    /// Entries of shards; a large file is one.
    pub entries: u64,
    pub bytes: u64,
    pub directories: u64,
    /// Other names of files among those.
    pub links: u64,
    /// Entries that stay as they are.
    pub left: u64,
    /// What was found wrong, and has been reported.
    pub failed: u64,
}

/// Of a file, what must be the same until it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Likeness {
    pub bytes: u64,
    /// Seconds and nanoseconds of the last change of its bytes.
    pub changed: (i64, u32),
}

impl Likeness {
    pub fn of(status: &Status) -> Self {
        let Moment { seconds, nanoseconds } = status.changed_at();
        Self { bytes: status.bytes(), changed: (seconds, nanoseconds) }
    }
}

/// A range of a large file, and the file that all ranges are put together in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRange {
    pub hidden: ByteText,
    /// The mode that it is made with, by whoever is first.
    pub mode: u32,
    pub from: u64,
    pub to: u64,
}

/// A line of a shard: something to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    pub source: ByteText,
    pub target: ByteText,
    /// Whether a link's target is meant.
    pub follows: bool,
    /// Whether it was typed: then a link that is there is followed.
    pub is_typed: bool,
    /// Whether it is a regular file: what else there is has no bytes to look at.
    pub is_file: bool,
    pub likeness: Likeness,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<PlannedRange>,
}

impl ShardEntry {
    pub fn follow(&self) -> Follow {
        if self.follows { Follow::Yes } else { Follow::No }
    }

    /// Where its bytes begin and end.
    pub fn span(&self) -> (u64, u64) {
        self.range.as_ref().map_or((0, self.likeness.bytes), |range| (range.from, range.to))
    }
}

/// The first line of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartHead {
    pub shard: String,
    /// Who has copied it.
    pub node: String,
    /// Entries that were not copied.
    pub failed: u64,
}

/// A line of a part: what became of the entry in the same line of the shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartLine {
    pub path: ByteText,
    pub is_done: bool,
    /// Where the range begins in the file.
    pub from: u64,
    /// Bytes that were copied.
    pub bytes: u64,
    /// What the source was, before and after.
    pub source: Likeness,
    /// BLAKE3 of the source's bytes, unless nothing is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
}

/// A file whose ranges are copied by several jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LargeFile {
    pub source: ByteText,
    pub target: ByteText,
    pub hidden: ByteText,
    pub follows: bool,
    pub likeness: Likeness,
    /// The mode that a copy is made from, before the mask.
    pub mode: u32,
}

/// Another name of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OtherName {
    /// The copy that gets it.
    pub first: ByteText,
    pub source: ByteText,
    pub target: ByteText,
}

/// A directory that others fill.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedDirectory {
    pub source: ByteText,
    pub target: ByteText,
    pub is_new: bool,
    pub made_mode: u32,
    pub inherits: bool,
}

/// How the finish has ended.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CopyFinished {
    /// Entries that are not there.
    pub missing: u64,
    /// Names, renamings and metadata that have failed.
    pub failed: u64,
}

/// How reading back a shard has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verified {
    pub node: String,
    /// Whether another node has written it.
    pub is_by_other: bool,
    pub files: u64,
    /// Files that do not hold what was read from their sources.
    pub bad: u64,
}

/// The version of these records.
pub const FORMAT: u32 = 1;

pub const PLAN: &str = "plan.json";
pub const FINISHED: &str = "finished.json";
pub const DIRECTORIES: &str = "directories";
pub const LINKS: &str = "links";
pub const LARGE: &str = "large";

impl CopyPlan {
    /// The one in a directory; none where there is none, or none yet.
    pub fn read(place: &PlanDirectory) -> Result<Option<Self>, Failure> {
        let plan: Option<Self> = read_one(place, PLAN)?;
        match plan {
            Some(plan) if plan.format != FORMAT => {
                let message = format!("read {}: another version wrote it", terminal::quote(place.path(PLAN)));
                Err(Failure::Environment { command: NAME, message })
            }
            plan => Ok(plan),
        }
    }
}

/// The name of a shard.
pub fn shard_name(number: u32) -> String {
    format!("{number:06}")
}

/// A record that is a file of its own.
pub fn read_one<T: DeserializeOwned>(place: &PlanDirectory, name: &str) -> Result<Option<T>, Failure> {
    let path = place.path(name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(environment(NAME, "read", &path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| environment(NAME, "read", &path, &error.into()))
}

/// Writes a record that is a file of its own.
pub fn put_one<T: Serialize>(place: &PlanDirectory, name: &str, record: &T) -> Result<(), Failure> {
    let mut bytes = line(record);
    bytes.push(b'\n');
    place.put(name, &bytes).map_err(|error| environment(NAME, "write", &place.path(name), &error))
}

/// A record without the end of its line.
pub fn line<T: Serialize>(record: &T) -> Vec<u8> {
    serde_json::to_vec(record).expect("records are numbers, text and lists")
}

/// The lines of a file, one record each.
pub struct RecordLines {
    lines: BufReader<File>,
    path: std::path::PathBuf,
    text: Vec<u8>,
}

impl RecordLines {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|error| environment(NAME, "open", path, &error))?;
        Ok(Self { lines: BufReader::new(file), path: path.to_owned(), text: Vec::new() })
    }

    /// The next record; none at the end.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        self.text.clear();
        let read = self.lines.read_until(b'\n', &mut self.text);
        let record = read.and_then(|bytes| match bytes {
            0 => Ok(None),
            _ => serde_json::from_slice(&self.text).map(Some).map_err(io::Error::from),
        });
        record.map_err(|error| environment(NAME, "read", &self.path, &error))
    }

    /// All that follow.
    pub fn rest<T: DeserializeOwned>(mut self) -> Result<Vec<T>, Failure> {
        let mut records = Vec::new();
        while let Some(record) = self.next()? {
            records.push(record);
        }
        Ok(records)
    }
}

/// The part of a shard; none where it has not been copied yet.
pub fn part(place: &PlanDirectory, shard: &str) -> Result<Option<(PartHead, Vec<PartLine>)>, Failure> {
    let path = place.path(format!("part/{shard}"));
    if !path.exists() {
        return Ok(None);
    }
    let mut records = RecordLines::open(&path)?;
    match records.next()? {
        Some(head) => Ok(Some((head, records.rest()?))),
        None => Ok(None),
    }
}

/// The first line of a part alone.
pub fn part_head(place: &PlanDirectory, shard: &str) -> Result<Option<PartHead>, Failure> {
    let path = place.path(format!("part/{shard}"));
    if path.exists() { RecordLines::open(&path)?.next() } else { Ok(None) }
}
