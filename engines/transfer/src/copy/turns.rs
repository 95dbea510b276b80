//! Whatever leads two writers to one place, they write in the order of one hand. Jobs that bear on each other are begun in turns, one behind the other.
//! Files that are written over and have several names wait until a turn's other entries are done: those that are one file are written one
//! after the other, in the order of a walk.

use super::item::{Item, open_beneath};
use super::large::Divide;
use super::tree::{Place, Run, Seed};
use super::{Complaint, Existing, FollowLinks, Job, Make, Manner};
use crate::operand::{Operand, Parent, last_part};
use crate::overlap::{EVERYWHERE, Footprint, Resolver, Touched, resolved};
use crew::scatter::Branch;
use files::{Directory, FileType, Follow, Identity, Status, how};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What waits for its turn.
pub struct Turns {
    waiting: Mutex<Waiting>,
    /// Whether a job may write where one before it did.
    pub are_several: bool,
}

struct Waiting {
    turns: VecDeque<Range<usize>>,
    late: Vec<Late>,
}

/// LIMIT: entries that wait at a time, some 150 bytes each. Those beyond are copied when they are found, so where they are names of one file
/// the order of a walk is not kept.
const LATE_MAX: usize = 1 << 20;

/// An entry whose copy is written over a file with several names.
pub struct Late {
    job: usize,
    /// Its directory, relative to the job's.
    directory: Arc<[u8]>,
    name: CString,
    /// COMPAT: cp lists a directory in the order of inodes. Those of the directories on the way.
    walk: Arc<[u64]>,
    /// And its own.
    inode: u64,
    /// The file that is written over, and the source, which may be another one's target.
    files: [Identity; 2],
}

impl Late {
    /// Which of two cp's walk would come to first: in one directory by inode, to what is deeper by that of the directory there.
    fn in_walk(&self, other: &Self) -> Ordering {
        let way = self.walk.iter().chain([&self.inode]);
        let ways = || way.cmp(other.walk.iter().chain([&other.inode]));
        self.job.cmp(&other.job).then_with(ways).then_with(|| self.name.cmp(&other.name))
    }
}

impl Turns {
    /// Jobs one after the other where they bear on each other.
    pub fn new(jobs: &[Job], manner: &Manner) -> Self {
        let turns = divided(jobs, manner);
        let are_several = turns.len() > 1;
        Self { waiting: Mutex::new(Waiting { turns, late: Vec::new() }), are_several }
    }

    /// What comes next, once all before it is done.
    pub fn next(&self) -> Vec<Seed> {
        let mut waiting = self.waiting.lock();
        if !waiting.late.is_empty() {
            return in_order(std::mem::take(&mut waiting.late)).into_iter().map(Seed::InOrder).collect();
        }
        waiting.turns.pop_front().into_iter().flatten().map(Seed::Job).collect()
    }

    fn wait(&self, mut late: Late) {
        let mut waiting = self.waiting.lock();
        // Those of one directory mostly come one after the other, and share its names.
        if let Some(last) =
            waiting.late.last().filter(|last| last.directory == late.directory && last.walk == late.walk)
        {
            (late.directory, late.walk) = (Arc::clone(&last.directory), Arc::clone(&last.walk));
        }
        waiting.late.push(late);
    }

    fn are_full(&self) -> bool {
        self.waiting.lock().late.len() >= LATE_MAX
    }
}

/// Jobs in turns: within one none bears on another.
fn divided(jobs: &[Job], manner: &Manner) -> VecDeque<Range<usize>> {
    let (mut turns, mut begin, mut touched) = (VecDeque::new(), 0, Touched::default());
    if jobs.len() > 1 && !manner.pretends {
        let mut resolvers = [Resolver::default(), Resolver::default()];
        for (number, job) in jobs.iter().enumerate() {
            let footprint = footprint(job, manner, &mut resolvers);
            if touched.bears_on(&footprint) {
                turns.push_back(begin..number);
                (begin, touched) = (number, Touched::default());
            }
            touched.add(footprint);
        }
    }
    turns.push_back(begin..jobs.len());
    turns
}

/// What a job reads and writes.
fn footprint(job: &Job, manner: &Manner, [sources, targets]: &mut [Resolver; 2]) -> Footprint {
    let follows = manner.follow != FollowLinks::Never;
    let is_link = |path| status_of(path).is_some_and(|status| status.file_type() == FileType::SymbolicLink);
    let reads = if follows && is_link(&job.source) { resolved(&job.source) } else { sources.name(&job.source) };
    let there = status_of(&job.target);
    let is_into_directory = job.target.ends_with(b"/") || [b".".as_slice(), b".."].contains(&last_part(&job.source));
    let writes = match there.map(|there| there.file_type()) {
        // A backup's name may be another job's.
        _ if manner.backup.is_some() => None,
        Some(FileType::SymbolicLink) if is_into_directory => resolved(&job.target),
        // Where it leads to may be another job's target, or only come to be.
        Some(FileType::SymbolicLink) => None,
        // So may another name of it.
        Some(FileType::Regular) if there.is_some_and(|there| there.links() > 1) => None,
        _ => targets.name(&job.target),
    };
    let [reads, writes] = [reads, writes].map(|path| vec![path.unwrap_or_else(|| EVERYWHERE.to_vec())]);
    Footprint { reads, writes }
}

fn status_of(path: &[u8]) -> Option<Status> {
    Directory::here().status(path, Follow::No).ok()
}

/// Groups of entries that are written one after the other: those that share a file, at both ends.
fn in_order(mut late: Vec<Late>) -> Vec<Vec<Late>> {
    late.sort_by(Late::in_walk);
    let mut groups = Groups::default();
    for late in &late {
        groups.join(late.files);
    }
    let (mut found, mut places) = (Vec::<Vec<Late>>::new(), HashMap::new());
    for late in late {
        let place = *places.entry(groups.of(late.files[0])).or_insert_with(|| {
            found.push(Vec::new());
            found.len() - 1
        });
        found[place].push(late);
    }
    found
}

/// Which files belong together.
#[derive(Default)]
struct Groups(HashMap<Identity, Identity>);

impl Groups {
    fn of(&mut self, file: Identity) -> Identity {
        let mut at = file;
        while let Some(&next) = self.0.get(&at)
            && next != at
        {
            at = next;
        }
        // The next look is a short one.
        self.0.insert(file, at);
        at
    }

    fn join(&mut self, [one, other]: [Identity; 2]) {
        let (one, other) = (self.of(one), self.of(other));
        self.0.insert(one, other);
    }
}

impl Run<'_> {
    /// Whether an entry's copy is written over a file that has other names, any of which may be another entry's: then it waits.
    pub fn has_to_wait(&self, item: &Item<'_>, status: &Status, branch: &mut Branch<'_, Self>) -> bool {
        let manner = self.copying.manner;
        // Where links are kept, the first name of a file is made once, for all its names.
        let is_made_once = manner.keep.links && status.links() > 1;
        let has_bytes = match manner.make {
            Make::Copies => !manner.keep.links,
            Make::Attributes => !is_made_once,
            Make::HardLinks | Make::SymbolicLinks | Make::Directories => false,
        };
        let writes_over =
            has_bytes && manner.existing == Existing::Replace && manner.backup.is_none() && !manner.remove_first;
        let Place::In(node) = item.place else { return false };
        if !writes_over || branch.scratch.is_late {
            return false;
        }
        let Ok(there) = item.target.directory().status(item.target_name, Follow::No) else { return false };
        if there.file_type() != FileType::Regular || there.links() < 2 || self.turns.are_full() {
            return false;
        }
        let mut walk = Vec::new();
        let mut level = Some(Arc::clone(node));
        while let Some(node) = level {
            walk.push(node.node.directory().status.identity().inode);
            level = node.above();
        }
        walk.reverse();
        let (walk, directory) = (walk.into(), Self::target_below_copy(item.place).unwrap_or_default().into());
        let inode = status.identity().inode;
        let files = [there.identity(), status.identity()];
        // It is counted when it is copied.
        branch.scratch.counts.entries -= 1;
        self.turns.wait(Late { job: item.place.job(), directory, name: item.name.to_owned(), walk, inode, files });
        true
    }

    /// Copies entries that have waited, one after the other.
    pub fn deal_in_order(&self, late: &[Late], branch: &mut Branch<'_, Self>) {
        for Late { job, directory, name, .. } in late {
            let place = Place::Late(*job, directory);
            match self.sides_of_late(*job, directory) {
                Ok((source, target)) => {
                    let (source, listed, divide) = (Directory::of(&source), None, Divide::Never);
                    let follow = self.follow_below();
                    let (target, target_name) = (&Parent::Directory(Arc::new(target.into())), name.as_c_str());
                    let place = &place;
                    // What has become a directory meanwhile is left to the next run.
                    self.deal(&Item { source, name, target, target_name, place, follow, listed, divide }, branch);
                }
                Err(error) => self.complain(&place, name, Complaint::Open(error), branch),
            }
        }
    }

    /// Opens an entry's directories on both sides again, below what was typed.
    fn sides_of_late(&self, job: usize, directory: &[u8]) -> io::Result<(OwnedFd, OwnedFd)> {
        let source = Operand::open(&self.copying.jobs[job].source)?;
        let follows = self.copying.manner.follow != FollowLinks::Never || source.has_slash;
        let follow = if follows { Follow::Yes } else { Follow::No };
        let top = source.parent.directory().open(&source.name, how::PLACE | follow.open_flag(), 0)?;
        let source = open_beneath(Directory::of(&top), directory, self.follow_below())?;
        let top = self.directories[job].get().expect("a job below which something waits has its directory");
        Ok((source, open_beneath(top.directory(), directory, Follow::No)?))
    }

    /// Whether the entries of a directory are copied one after the other: for questions, and since the name of a backup may be another entry's.
    pub fn writes_in_order(&self) -> bool {
        self.copying.manner.existing == Existing::Ask || self.copying.manner.backup.is_some()
    }

    /// Whether links below a job are followed.
    pub fn follow_below(&self) -> Follow {
        if self.copying.manner.follow == FollowLinks::Always { Follow::Yes } else { Follow::No }
    }
}
