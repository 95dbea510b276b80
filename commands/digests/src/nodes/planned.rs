//! Planning: names are found as a run on one machine finds them, or read from manifests, and cut into shards in that order. A shard is a file of
//! names, each ended by a zero byte; of a check `ALGORITHM VALUE NAME`, and no shard has lines of two manifests.

use super::{FORMAT, PLAN, SumPlan, put_record, shard_name};
use crate::print::NameSource;
use crate::request::{Judging, SumRequest};
use crate::words::{NAME, SumWords};
use cluster::text::ByteText;
use digests::manifest::{ManifestEntry, ManifestLine, ManifestLines, ManifestRead, ManifestReader};
use files::{Directory, Follow};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::nodes::shards::{ShardCutter, cost};
use mh_kit::nodes::{OnArgs, PlanDirectory, environment};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// Where names lie, each with its cost, until they are cut into shards.
const SPILL: &str = "found";

/// Finds all names and cuts them.
pub fn make(
    context: &Context,
    request: &SumRequest,
    on: &OnArgs,
    place: &PlanDirectory,
    asked: String,
) -> Result<SumPlan, Failure> {
    let failed = |error: io::Error| environment(NAME, "write the plan in", place.root(), &error);
    for directory in ["shard", "part", "out"] {
        place.make_below(directory).map_err(failed)?;
    }
    let words = SumWords::new(context, request);
    let mut spill = Spill::begin(place).map_err(failed)?;
    match &request.judging {
        Some(judging) => list(request, judging, &mut spill),
        None => find(request, &words, &mut spill),
    }
    .map_err(failed)?;
    let found = spill.end().map_err(failed)?;
    words.finish()?;
    let (shards, manifests) = cut(&found, on.workers(), place).map_err(failed)?;
    let directory = std::env::current_dir().map_err(failed)?;
    let plan = SumPlan {
        format: FORMAT,
        words: context.words.iter().map(|word| ByteText::from(word.as_bytes())).collect(),
        asked,
        directory: ByteText(directory.into_os_string().into_vec()),
        shards,
        manifests,
        files: found.files,
        unlisted: found.unlisted,
        others: found.others,
    };
    put_record(place, PLAN, &plan)?;
    std::fs::remove_file(place.path(SPILL)).map_err(failed)?;
    Ok(plan)
}

/// What was found.
#[derive(Default)]
struct Found {
    files: u64,
    unlisted: u64,
    others: u64,
    cost: u64,
    /// How many files there were when each manifest ended.
    ends: Vec<u64>,
}

/// Writes down what is found.
struct Spill {
    file: BufWriter<File>,
    found: Found,
}

impl Spill {
    fn begin(place: &PlanDirectory) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(place.path(SPILL))?), found: Found::default() })
    }

    /// Adds a file, with what stands before its name in the shard.
    fn add(&mut self, before: &str, name: &[u8]) -> io::Result<()> {
        // What cannot be looked at, the shard reports.
        let bytes = Directory::here().status(name, Follow::Yes).map_or(0, |status| status.bytes());
        let cost = cost(1, bytes);
        self.found.files += 1;
        self.found.cost += cost;
        write!(self.file, "{cost} {before}")?;
        self.file.write_all(name)?;
        self.file.write_all(b"\0")
    }

    fn end(mut self) -> io::Result<Found> {
        self.file.flush()?;
        Ok(self.found)
    }
}

/// Names as they were typed, and below directories.
fn find(request: &SumRequest, words: &SumWords, spill: &mut Spill) -> io::Result<()> {
    let (mut names, unlisted) = (NameSource::new(request), AtomicU64::new(0));
    while let Some(name) = names.next(words, &unlisted) {
        spill.add("", &name)?;
    }
    (spill.found.others, spill.found.unlisted) = (names.others, unlisted.into_inner());
    Ok(())
}

/// Names in manifests. Faults of a manifest are reported at the end, when it is read once more.
fn list(request: &SumRequest, judging: &Judging, spill: &mut Spill) -> io::Result<()> {
    for manifest in &request.files {
        if let Ok(file) = File::open(Path::new(OsStr::from_bytes(manifest))) {
            let mut lines = ManifestLines::new(file, judging.line_end);
            let mut reader = ManifestReader::new(judging.rules).only(&request.algorithms);
            while let Ok(end) = lines.end() {
                reader.lines_end_with(end);
                let Ok(Some(line)) = lines.read() else { break };
                if let ManifestLine::Whole(line) = line
                    && let ManifestRead::Entry(ManifestEntry { name, algorithm, value, .. }) = reader.read(line)
                {
                    spill.add(&format!("{} {} ", algorithm.name(), value.hex()), &name)?;
                }
            }
        }
        spill.found.ends.push(spill.found.files);
    }
    Ok(())
}

/// Cuts what was found into shards; how many, and how many when each manifest has ended.
fn cut(found: &Found, workers: u32, place: &PlanDirectory) -> io::Result<(u32, Vec<u32>)> {
    let mut spill = BufReader::new(File::open(place.path(SPILL))?);
    let mut cutter = ShardCutter::new(found.cost, workers);
    let (mut shard, mut shards, mut line): (Option<BufWriter<File>>, u32, Vec<u8>) = (None, 0, Vec::new());
    let (mut files, mut manifests) = (0_u64, Vec::new());
    loop {
        line.clear();
        let is_over = spill.read_until(0, &mut line)? == 0;
        let blank = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
        let cost = std::str::from_utf8(&line[..blank]).ok().and_then(|cost| cost.parse().ok()).unwrap_or(0);
        let ends_manifest = found.ends.get(manifests.len()) == Some(&files);
        if (cutter.ends_before(cost, false) || is_over || ends_manifest)
            && let Some(ended) = shard.take()
        {
            ended.into_inner()?.sync_all()?;
            shards += 1;
        }
        while found.ends.get(manifests.len()) == Some(&files) {
            manifests.push(shards);
        }
        if is_over {
            return Ok((shards, manifests));
        }
        let shard = match &mut shard {
            Some(shard) => shard,
            none => none.insert(BufWriter::new(File::create(place.path(format!("shard/{}", shard_name(shards))))?)),
        };
        shard.write_all(&line[blank + 1..])?;
        files += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_all_names_in_order() {
        let root = tempfile::tempdir().expect("a directory");
        let place = PlanDirectory::at(root.path());
        place.make_below("shard").expect("made");
        let names: Vec<String> = (0..1000).map(|number| format!("name {number}\nof two lines")).collect();
        let spilled: String = names.iter().map(|name| format!("{} {name}\0", cost(1, 10))).collect();
        std::fs::write(place.path(SPILL), spilled).expect("written");
        let found = Found { files: 1000, cost: 1000 * cost(1, 10), ends: vec![0, 3, 3, 1000], ..Found::default() };
        let (shards, manifests) = cut(&found, 2, &place).expect("cut");
        assert_eq!(manifests, [0, 1, 1, shards], "no shard has lines of two manifests");
        assert!((14..=18).contains(&shards), "{shards}");
        let read = |number| std::fs::read(place.path(format!("shard/{}", shard_name(number)))).expect("there");
        let all: Vec<u8> = (0..shards).flat_map(read).collect();
        let expected: String = names.iter().map(|name| format!("{name}\0")).collect();
        assert!(all == expected.as_bytes());
    }

    #[test]
    fn nothing_makes_no_shard() {
        let root = tempfile::tempdir().expect("a directory");
        let place = PlanDirectory::at(root.path());
        std::fs::write(place.path(SPILL), b"").expect("written");
        assert_eq!(cut(&Found::default(), 2, &place).expect("cut"), (0, vec![]));
    }
}
