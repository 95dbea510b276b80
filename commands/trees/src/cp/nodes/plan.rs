//! Planning a divided copy: the engine walks the sources as it does for a copy and makes the directories; what else it finds is spilled to a
//! file and then cut into shards, so that no more than the names of files with several names is held in memory.

use super::super::words::Told;
use super::super::{CpArgs, NAME};
use super::records::{
    CopyPlan, DIRECTORIES, FORMAT, LARGE, LINKS, LargeFile, Likeness, OtherName, PLAN, PlanCounts, PlannedDirectory,
    PlannedRange, RecordLines, ShardEntry, line, put_one, shard_name,
};
use crate::trees::Words;
use cluster::text::ByteText;
use crew::budget::Request;
use files::{Directory, FileType, Follow, Identity, Status};
use mh_kit::context::Context;
use mh_kit::descriptors::directory_descriptors;
use mh_kit::failure::Failure;
use mh_kit::nodes::shards::{ShardCutter, cost};
use mh_kit::nodes::{PlanDirectory, environment};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use transfer::copy::{Copying, Existing, FoundEntry, HalfDone, Job, Listener, MadeDirectory, Make, Manner, Reflink};
use transfer::finding::{Finding, joined};
use transfer::operand::directory_of;
use transfer::tally::Tally;

/// LIMIT: longer files are copied in ranges. Shorter ones leave less for several machines to do than it takes to put them together.
const RANGE_BYTES: u64 = 256 << 20;

/// LIMIT: ranges begin where blocks of every file system do.
const RANGE_UNIT: u64 = 1 << 20;

/// Where entries lie until they are cut into shards.
const SPILL: &str = "found";

/// The shard of those that one worker has to copy, until it has its number.
const OF_ONE_WORKER: &str = "of-one-worker";

/// What is to be planned.
pub struct ToPlan<'a> {
    pub context: &'a Context,
    pub args: &'a CpArgs,
    pub words: &'a Words,
    pub manner: &'a Manner,
    pub jobs: &'a [Job],
    pub place: &'a PlanDirectory,
    /// By what the same command is known.
    pub asked: String,
}

/// An entry that was found, before it is known which shard it is in.
#[derive(Serialize, Deserialize)]
struct Spilled {
    entry: ShardEntry,
    /// The mode that a copy is made from, of a file that is to be divided.
    divided: Option<u32>,
    /// It is written over a file with other names, any of which may be another entry's: one worker writes them all.
    shares_target: bool,
}

/// What the walk has found so far.
struct Found {
    entries: BufWriter<File>,
    directories: BufWriter<File>,
    links: BufWriter<File>,
    /// The first copy of each file that has several names.
    firsts: HashMap<Identity, Vec<u8>>,
    counts: PlanCounts,
    cost: u64,
    /// Why nothing more is written down.
    failure: Option<io::Error>,
}

/// Writes down what the walk finds.
struct Collector<'a> {
    told: Told<'a>,
    manner: &'a Manner,
    range_bytes: u64,
    found: Mutex<Found>,
}

impl Listener for Collector<'_> {
    fn agrees(&self, target: &[u8]) -> bool {
        self.told.agrees(target)
    }

    fn copied(&self, source: &[u8], target: &[u8], backup: Option<&[u8]>, way: Option<&str>) {
        self.told.copied(source, target, backup, way);
    }

    fn removed(&self, target: &[u8]) {
        self.told.removed(target);
    }

    fn complain(&self, findings: Vec<Finding<transfer::copy::Complaint>>) {
        self.found.lock().counts.failed += findings.len() as u64;
        self.told.complain(findings);
    }

    fn opened(&self, directory: MadeDirectory) {
        let MadeDirectory { source, target, is_new, made_mode, inherits } = directory;
        let record =
            PlannedDirectory { source: ByteText(source), target: ByteText(target), is_new, made_mode, inherits };
        let mut found = self.found.lock();
        found.counts.directories += 1;
        let written = put(&mut found.directories, &record);
        found.note(written);
    }

    fn found(&self, entry: FoundEntry) {
        let mut found = self.found.lock();
        if let Some(first) = found.first_name(&entry, self.manner) {
            let FoundEntry { source, target, .. } = entry;
            let record = OtherName { first: ByteText(first), source: ByteText(source), target: ByteText(target) };
            found.counts.links += 1;
            let written = put(&mut found.links, &record);
            return found.note(written);
        }
        if entry.stays {
            found.counts.left += 1;
            return;
        }
        let is_file = entry.status.file_type() == FileType::Regular;
        let bytes = if is_file && self.manner.make == Make::Copies { entry.status.bytes() } else { 0 };
        // An existing file is written over as a whole, with all that it means to other names of it and to links.
        let may_be_divided = self.manner.make == Make::Copies && self.manner.reflink != Reflink::Always;
        let is_divided = may_be_divided && entry.there.is_none() && bytes > self.range_bytes;
        found.counts.entries += 1;
        found.counts.bytes += bytes;
        found.cost += cost(1, bytes);
        let shares_target = entry.there.as_ref().is_some_and(|there| there.links() > 1 && is_file);
        let spilled = Spilled {
            shares_target,
            divided: is_divided.then(|| self.manner.keep.mode_of(&entry.status)),
            entry: ShardEntry {
                source: ByteText(entry.source),
                target: ByteText(entry.target),
                follows: entry.follow == Follow::Yes,
                is_typed: entry.is_typed,
                is_file,
                likeness: Likeness::of(&entry.status),
                range: None,
            },
        };
        let written = put(&mut found.entries, &spilled);
        found.note(written);
    }
}

impl Found {
    fn begin(place: &PlanDirectory) -> Result<Self, Failure> {
        let create =
            |name| create(&place.path(name)).map_err(|error| environment(NAME, "write", &place.path(name), &error));
        Ok(Self {
            entries: create(SPILL)?,
            directories: create(DIRECTORIES)?,
            links: create(LINKS)?,
            firsts: HashMap::new(),
            counts: PlanCounts::default(),
            cost: 0,
            failure: None,
        })
    }

    /// The copy of the same file under another name, if names of one file stay so and it has one.
    fn first_name(&mut self, entry: &FoundEntry, manner: &Manner) -> Option<Vec<u8>> {
        // COMPAT: what stays under `-n` does not stand for the copy, what stays since it is newer does.
        let stands_for_nothing = entry.stays && manner.existing == Existing::Stays;
        if !manner.keep.links || entry.status.links() < 2 || stands_for_nothing {
            return None;
        }
        match self.firsts.entry(entry.status.identity()) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(place) => {
                place.insert(entry.target.clone());
                None
            }
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Brings it all to the disk.
    fn end(self) -> io::Result<(PlanCounts, u64)> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        for file in [self.entries, self.directories, self.links] {
            file.into_inner()?.sync_all()?;
        }
        Ok((self.counts, self.cost))
    }
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path).map(BufWriter::new)
}

fn put<T: Serialize>(file: &mut BufWriter<File>, record: &T) -> io::Result<()> {
    file.write_all(&line(record))?;
    file.write_all(b"\n")
}

/// Makes the plan, and the directories of the copy.
pub fn make(wanted: &ToPlan<'_>) -> Result<CopyPlan, Failure> {
    let ToPlan { context, args, words, manner, place, .. } = *wanted;
    let failed = |error: io::Error| environment(NAME, "write the plan in", place.root(), &error);
    for directory in ["shard", "part", "verified"] {
        place.make_below(directory).map_err(failed)?;
    }
    let umask = files::set_umask(0);
    files::set_umask(umask);
    let told = Told { words, pretends: false, digests: &[] };
    let range_bytes = args.division.range.unwrap_or(RANGE_BYTES).max(RANGE_UNIT).next_multiple_of(RANGE_UNIT);
    let collector = Collector { told, manner, range_bytes, found: Mutex::new(Found::begin(place)?) };
    walk(wanted, &collector, umask);
    let (counts, cost) = collector.found.into_inner().end().map_err(failed)?;
    let mut cutting = Cutting {
        wanted,
        range_bytes,
        cutter: ShardCutter::new(cost, args.division.on.workers()),
        shard: None,
        shards: 0,
        directory: Vec::new(),
        large: create(&place.path(LARGE)).map_err(failed)?,
        larges: 0,
    };
    cutting.cut()?;
    cutting.large.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    std::fs::remove_file(place.path(SPILL)).map_err(failed)?;
    let directory = std::env::current_dir().map_err(failed)?;
    let plan = CopyPlan {
        format: FORMAT,
        words: context.words.iter().map(|word| ByteText::from(word.as_bytes())).collect(),
        asked: wanted.asked.clone(),
        directory: ByteText(directory.into_os_string().into_vec()),
        umask,
        shards: cutting.shards,
        counts,
    };
    put_one(place, PLAN, &plan)?;
    Ok(plan)
}

/// Makes the directories and finds all else.
fn walk(wanted: &ToPlan<'_>, collector: &Collector<'_>, umask: u32) {
    let ToPlan { context, args, manner, jobs, place, .. } = *wanted;
    let made = Manner { make: Make::Directories, backup: manner.backup.clone(), keeps_roots: false, ..*manner };
    let (tally, half_done) = (Tally::default(), HalfDone::default());
    if manner.keep.mode {
        files::set_umask(0);
    }
    let copying = Copying {
        jobs,
        manner: &made,
        umask,
        listener: collector,
        tally: &tally,
        descriptors: (directory_descriptors() / 2).max(1),
        half_done: &half_done,
        left_out: Directory::here()
            .status(place.root().as_os_str().as_bytes(), Follow::Yes)
            .ok()
            .map(|root| root.identity()),
    };
    let width = args.shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed());
    let (priority, weight) = (args.shared.priority().class(), args.shared.weight());
    let budget = mh_kit::sharing::budget(context, width, priority);
    let what = "cp: the plan of a divided copy".to_owned();
    let lease = budget.budget.lease(Request { priority, weight, useful_width: width, what });
    transfer::copy::copy(&copying, width, lease.as_ref());
    files::set_umask(umask);
}

/// Entries on their way into shards.
struct Cutting<'a> {
    wanted: &'a ToPlan<'a>,
    range_bytes: u64,
    cutter: ShardCutter,
    shard: Option<BufWriter<File>>,
    shards: u32,
    /// Where the last entry goes.
    directory: Vec<u8>,
    large: BufWriter<File>,
    larges: u32,
}

impl Cutting<'_> {
    fn cut(&mut self) -> Result<(), Failure> {
        let place = self.wanted.place;
        let mut found = RecordLines::open(&place.path(SPILL))?;
        let failed = |error: io::Error| environment(NAME, "write the plan in", place.root(), &error);
        let mut of_one_worker: Option<BufWriter<File>> = None;
        while let Some(Spilled { entry, divided, shares_target }) = found.next()? {
            let added = match divided {
                Some(mode) => self.divide(&entry, mode),
                None if shares_target => self.add_to(&mut of_one_worker, &entry),
                None => self.add(&entry),
            };
            added.map_err(failed)?;
        }
        self.end_shard().map_err(failed)?;
        let Some(shard) = of_one_worker else { return Ok(()) };
        let ended = shard.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
        let last = place.path(format!("shard/{}", shard_name(self.shards)));
        ended.and_then(|()| std::fs::rename(place.path(OF_ONE_WORKER), last)).map_err(failed)?;
        self.shards += 1;
        Ok(())
    }

    fn add_to(&self, shard: &mut Option<BufWriter<File>>, entry: &ShardEntry) -> io::Result<()> {
        let shard = match shard {
            Some(shard) => shard,
            none => none.insert(create(&self.wanted.place.path(OF_ONE_WORKER))?),
        };
        put(shard, entry)
    }

    fn add(&mut self, entry: &ShardEntry) -> io::Result<()> {
        let (from, to) = entry.span();
        let directory = directory_of(&entry.target.0);
        let is_together = directory == self.directory.as_slice();
        if !is_together {
            self.directory = directory.to_vec();
        }
        if self.cutter.ends_before(cost(1, to - from), is_together) {
            self.end_shard()?;
        }
        let shard = match &mut self.shard {
            Some(shard) => shard,
            none => none.insert(create(&self.wanted.place.path(format!("shard/{}", shard_name(self.shards))))?),
        };
        put(shard, entry)
    }

    fn end_shard(&mut self) -> io::Result<()> {
        if let Some(shard) = self.shard.take() {
            shard.into_inner()?.sync_all()?;
            self.shards += 1;
        }
        Ok(())
    }

    /// Ranges of a file, which go to one that has a name of its own until all of them are there.
    fn divide(&mut self, entry: &ShardEntry, mode: u32) -> io::Result<()> {
        let root = self.wanted.place.root();
        let id = root
            .as_os_str()
            .as_bytes()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        let name = format!(".mh-cp-{id:016x}-{}", self.larges);
        self.larges += 1;
        let hidden = ByteText(joined(directory_of(&entry.target.0), name.as_bytes()));
        let keep = &self.wanted.manner.keep;
        // Before it has its owner nobody else may open it; its owner is to write to it until then.
        let first_mode = if keep.mode || keep.owner { mode & 0o700 } else { mode & 0o777 } | 0o600;
        let large = LargeFile {
            source: entry.source.clone(),
            target: entry.target.clone(),
            hidden: hidden.clone(),
            follows: entry.follows,
            likeness: entry.likeness,
            mode,
        };
        put(&mut self.large, &large)?;
        for from in (0..entry.likeness.bytes).step_by(usize::try_from(self.range_bytes).unwrap_or(usize::MAX)) {
            let to = (from + self.range_bytes).min(entry.likeness.bytes);
            let range = PlannedRange { hidden: hidden.clone(), mode: first_mode, from, to };
            self.add(&ShardEntry { range: Some(range), ..entry.clone() })?;
        }
        Ok(())
    }
}

/// Whether `status` is what was planned.
pub fn is_as_planned(entry: &ShardEntry, status: &Status) -> bool {
    let now = Likeness::of(status);
    let is_file = status.file_type() == FileType::Regular;
    is_file == entry.is_file && (!is_file || now.changed == entry.likeness.changed && now.bytes == entry.likeness.bytes)
}
