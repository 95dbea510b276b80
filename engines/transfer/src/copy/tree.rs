//! The tree of a copy: directories begun, listed, and finished with their metadata when all below them is done.
//! One entry is `item`'s part.

use super::data::{Buffer, WayCounts, Ways};
use super::existing::PutBack;
use super::half::Slot;
use super::item::{Dealt, Item};
use super::large::{Divide, Large};
use super::links::Links;
use super::metadata::AttributeBuffers;
use super::plain::Plain;
use super::turns::{Late, Turns};
use super::{Complaint, Copied, Copying, FollowLinks, MakeWhat};
use crate::directory::{descriptor, make_room};
use crate::finding::{Finding, number};
use crate::operand::{Operand, Parent};
use crate::tally::Counts;
use crew::scatter::{Begun, Branch, Expanded, Scattered, Tree, TreeNode};
use files::{
    DescriptorBudget, Directory, FileReference, FileType, Follow, HandedFd, Identity, KeptDirectory, ListBuffer,
    OwnTable, Status, WorkerTables, how, list_buffer, list_some, tidy,
};
use parking_lot::{Mutex, RwLock};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// LIMIT: files of fewer bytes are shown at the end of their step: a thousand of them are copied in a fraction of a second.
const PASSED_BYTES: u64 = 256 << 10;

/// A run of `copy`.
pub struct Run<'a> {
    pub copying: &'a Copying<'a>,
    pub ways: Ways,
    pub links: Links,
    pub turns: Turns,
    pub sources: DescriptorBudget,
    pub targets: DescriptorBudget,
    /// The topmost directories that are written to: none of them may be copied into itself.
    pub tops: RwLock<HashSet<Identity>>,
    /// The directory that each job's copy is, or, where that is a file, stands in.
    pub directories: Vec<OnceLock<Parent>>,
    incomplete: Vec<AtomicBool>,
    roots: Mutex<Vec<OwnedFd>>,
    tables: WorkerTables,
}

/// A task.
pub enum Seed {
    /// A job, by its number.
    Job(usize),
    /// A directory in the directory above.
    Directory(CString),
    /// A file in the directory above that is large enough to be divided.
    Large(CString),
    /// Entries of the directory above that are no directories, each ended by a zero byte.
    Entries(Vec<u8>),
    /// A piece of the large file above, by its number.
    Piece(u64),
    /// Entries that are written one after the other.
    InOrder(Vec<Late>),
}

/// What has parts.
pub enum Node {
    /// A directory.
    Directory(Box<DirectoryNode>),
    /// A large file.
    Large(Box<Large>),
}

/// A directory that is being copied.
pub struct DirectoryNode {
    pub source: KeptDirectory,
    /// None where the run only pretends.
    pub target: Option<KeptDirectory>,
    pub job: usize,
    pub status: Status,
    /// The device of the target.
    pub target_device: u64,
    /// Owner and group that it was made with, if it was made.
    pub made: Option<(u32, u32)>,
    /// The mode that it was made with, or has had.
    pub made_mode: u32,
    /// Owner and group that new files in it get.
    pub newborn: OnceLock<(u32, u32)>,
    /// Whether new files in it get access lists.
    pub inherits: bool,
}

pub type ANode = Arc<TreeNode<Node>>;

/// Where growth is.
pub enum Growth {
    /// In a directory's list.
    List { source: Arc<HandedFd>, target: Option<Arc<HandedFd>> },
    /// At this piece.
    Pieces(u64),
    /// Nowhere: what stands in the directory is not copied.
    Nothing,
}

/// What a worker keeps between tasks.
pub struct Scratch {
    list: ListBuffer,
    pub buffer: Buffer,
    pub attributes: AttributeBuffers,
    pub slot: Arc<Slot>,
    /// The backup that was made of what had the entry's name.
    pub backup: Option<PutBack>,
    /// Whether entries that have waited for their turn are copied.
    pub is_late: bool,
    pub counts: Counts,
    /// Bytes among them that a progress line knows of already.
    pub passed_bytes: u64,
    pub ways: WayCounts,
    /// Where it has one: the first worker keeps the one that all others of the process share.
    _own_table: Option<OwnTable>,
}

impl Node {
    pub fn directory(&self) -> &DirectoryNode {
        match self {
            Self::Directory(directory) => directory,
            Self::Large(_) => unreachable!("only directories have entries"),
        }
    }
}

pub fn source_of(node: &Node) -> &KeptDirectory {
    &node.directory().source
}

pub fn target_of(node: &Node) -> &KeptDirectory {
    node.directory().target.as_ref().expect("whoever pretends asks for no target")
}

/// Where an entry stands: the two sides it is copied between.
pub enum Place<'a> {
    /// A job itself.
    Top(usize),
    /// Below a directory.
    In(&'a ANode),
    /// Below a job's directory that has been left: in the directory that has this path there.
    Late(usize, &'a [u8]),
}

impl Tree for Run<'_> {
    type Task = Seed;
    type Node = Node;
    type Expansion = Growth;
    type Scratch = Scratch;
    type Report = Finding<Complaint>;

    fn scratch(&self, worker: usize) -> Scratch {
        let own_table = self.tables.begin(worker);
        Scratch {
            list: list_buffer(),
            buffer: Buffer::default(),
            attributes: AttributeBuffers::default(),
            slot: self.copying.half_done.slot(),
            backup: None,
            is_late: false,
            counts: Counts::default(),
            passed_bytes: 0,
            ways: WayCounts::default(),
            _own_table: own_table,
        }
    }

    fn begin(&self, seed: Seed, above: Option<&ANode>, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        let begun = match (seed, above) {
            (Seed::Job(number), _) => self.begin_job(number, branch),
            (Seed::InOrder(late), _) => {
                branch.scratch.is_late = true;
                self.deal_in_order(&late, branch);
                branch.scratch.is_late = false;
                Begun::Done
            }
            (Seed::Piece(number), Some(above)) => {
                if let Node::Large(large) = &above.node {
                    large.copy_piece(number, self, branch);
                }
                Begun::Done
            }
            (seed, Some(above)) => match self.sides(above) {
                Ok((source, target)) => self.begin_below(seed, above, &source, target.as_ref(), branch),
                Err(error) => {
                    self.complain(&Place::In(above), c"", Complaint::Open(error), branch);
                    Begun::Done
                }
            },
            (_, None) => unreachable!("only jobs begin a run"),
        };
        self.end_step(&mut branch.scratch);
        begun
    }

    fn expand(&self, node: &ANode, growth: &mut Growth, branch: &mut Branch<'_, Self>) -> Expanded {
        match growth {
            Growth::List { source, target } => self.expand_directory(node, source, target.as_ref(), branch),
            Growth::Nothing => Expanded::Done,
            Growth::Pieces(next) => match &node.node {
                Node::Large(large) => large.spawn_pieces(next, branch),
                Node::Directory(_) => unreachable!("directories have no pieces"),
            },
        }
    }

    fn leave(&self, node: &TreeNode<Node>, above: Option<&ANode>, branch: &mut Branch<'_, Self>) {
        match &node.node {
            Node::Large(large) => large.finish(self, branch),
            Node::Directory(directory) => {
                self.finish_directory(directory, node, above, branch);
                directory.source.close(&self.sources);
                directory.target.as_ref().inspect(|target| target.close(&self.targets));
            }
        }
        self.end_step(&mut branch.scratch);
    }

    fn next_turn(&self) -> Vec<Seed> {
        self.turns.next()
    }

    fn tell(&self, reports: Vec<Finding<Complaint>>) {
        self.copying.listener.complain(reports);
    }
}

impl<'a> Run<'a> {
    pub fn new(copying: &'a Copying<'a>, workers: usize) -> Self {
        let manner = copying.manner;
        let is_wide = manner.recursive && workers > 1 && copying.descriptors >= OWN_TABLES_DESCRIPTORS;
        // A root that is kept is to outlive the thread that opened it.
        let has_own_tables = is_wide && !manner.keeps_roots;
        let run = Self {
            copying,
            ways: Ways::default(),
            links: Links::new(),
            turns: Turns::new(copying.jobs, manner),
            sources: DescriptorBudget::new(copying.descriptors),
            targets: DescriptorBudget::new(copying.descriptors),
            tops: RwLock::default(),
            directories: copying.jobs.iter().map(|_| OnceLock::new()).collect(),
            incomplete: copying.jobs.iter().map(|_| AtomicBool::new(false)).collect(),
            roots: Mutex::default(),
            tables: WorkerTables::new(has_own_tables),
        };
        if copying.jobs.len() > 1 {
            run.tables.prepare();
        }
        run
    }

    /// Leaves `seed` to whoever has time.
    fn spawn(&self, seed: Seed, branch: &mut Branch<'_, Self>) {
        self.tables.prepare();
        branch.spawn(seed);
    }

    pub fn finished(self, measured: Scattered) -> Copied {
        tidy();
        let roots = self.roots.into_inner();
        let is_complete = self.incomplete.iter().map(|incomplete| !incomplete.load(Ordering::Acquire)).collect();
        Copied { measured, ways: self.ways.lines(), roots, is_complete }
    }

    /// Shows the bytes of a file before its step is over, if they are worth it.
    pub fn pass(&self, bytes: u64, scratch: &mut Scratch) {
        if bytes >= PASSED_BYTES {
            self.copying.tally.pass(bytes);
            scratch.passed_bytes += bytes;
        }
    }

    /// Tells all what a worker counted in one step, and closes what others let go of meanwhile.
    fn end_step(&self, scratch: &mut Scratch) {
        self.copying.tally.end_step(std::mem::take(&mut scratch.passed_bytes));
        self.copying.tally.add(std::mem::take(&mut scratch.counts));
        self.ways.add(&mut scratch.ways);
        tidy();
    }

    fn sides(&self, node: &ANode) -> io::Result<(Arc<HandedFd>, Option<Arc<HandedFd>>)> {
        let source = descriptor(node, source_of, &self.sources)?;
        let target = match self.copying.manner.pretends {
            true => None,
            false => Some(descriptor(node, target_of, &self.targets)?),
        };
        // Where another worker opened them this one needs copies, and says why there are none.
        source.reach()?;
        target.as_ref().map_or(Ok(0), |target| target.reach())?;
        Ok((source, target))
    }

    fn begin_job(&self, number: usize, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        let job = &self.copying.jobs[number];
        let place = Place::Top(number);
        let source = match Operand::open(&job.source) {
            Ok(source) => source,
            Err(error) => return self.refuse(&place, Complaint::Stat(error), branch),
        };
        let follows = self.copying.manner.follow != FollowLinks::Never || source.has_slash;
        let follow = if follows { Follow::Yes } else { Follow::No };
        let status = match source.parent.directory().status(&source.name, follow) {
            Ok(status) => status,
            Err(error) => return self.refuse(&place, Complaint::Stat(error), branch),
        };
        let is_directory = status.file_type() == FileType::Directory;
        if is_directory && !self.copying.manner.recursive {
            return self.refuse(&place, Complaint::IsDirectory, branch);
        }
        if !is_directory && source.has_slash {
            return self.refuse(&place, Complaint::Stat(Errno::NOTDIR.into()), branch);
        }
        let target = match Operand::open(&job.target) {
            Ok(target) => target,
            Err(error) if self.copying.is_to_have_parents(&error) => Operand { parent: Parent::Here, ..source.clone() },
            Err(error) => {
                let what = if is_directory { MakeWhat::Directory } else { MakeWhat::File };
                return self.refuse(&place, Complaint::Make(what, job.target.clone(), error), branch);
            }
        };
        if !is_directory && target.has_slash {
            let (path, error) = (job.target.clone(), Errno::NOTDIR.into());
            let complaint = match target.parent.directory().status(&target.name, Follow::Yes) {
                Ok(_) => Complaint::StatTarget(path, error),
                Err(_) => Complaint::Make(MakeWhat::File, path, error),
            };
            return self.refuse(&place, complaint, branch);
        }
        let item = Item {
            source: source.parent.directory(),
            name: &source.name,
            target: &target.parent,
            target_name: &target.name,
            place: &place,
            follow,
            listed: None,
            divide: Divide::Now,
        };
        if is_directory {
            return self.begin_directory(&item, branch);
        }
        self.note_root(&target.parent);
        self.begin_item(&item, branch)
    }

    pub fn note_root(&self, parent: &Parent) {
        self.note_to_sync(|| parent.directory().open(c".", OFlags::RDONLY | OFlags::DIRECTORY, 0));
    }

    /// Notes where a file lies that a link led to, to be brought to its disk. Whether it is a regular file, not a pipe or device.
    pub fn note_written_through(&self, file: BorrowedFd<'_>) -> bool {
        let is_file = Status::of(file).is_ok_and(|status| status.file_type() == FileType::Regular);
        if is_file {
            self.note_to_sync(|| file.try_clone_to_owned());
        }
        is_file
    }

    fn note_to_sync(&self, open: impl FnOnce() -> io::Result<OwnedFd>) {
        if !self.copying.manner.keeps_roots {
            return;
        }
        let mut roots = self.roots.lock();
        // LIMIT: more places than this are not asked for one by one; what is on the same disk is brought there with them.
        if self.copying.manner.keeps_roots
            && roots.len() < 64
            && let Ok(root) = open()
        {
            roots.push(root);
        }
    }

    fn begin_below(
        &self,
        seed: Seed,
        above: &ANode,
        source: &Arc<HandedFd>,
        target: Option<&Arc<HandedFd>>,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Node, Growth> {
        let place = Place::In(above);
        let target = target.map_or(Parent::Here, |target| Parent::Directory(Arc::clone(target)));
        let follow = self.follow_below();
        let item = |name| Item {
            source: Directory::of(source),
            name,
            target: &target,
            target_name: name,
            place: &place,
            follow,
            listed: None,
            divide: Divide::Now,
        };
        match seed {
            Seed::Directory(name) => self.begin_directory(&item(&name), branch),
            Seed::Large(name) => self.begin_item(&item(&name), branch),
            Seed::Entries(names) => {
                let mut may_be_plain = self.may_be_plain();
                for name in names.split_inclusive(|&byte| byte == 0) {
                    let name = CStr::from_bytes_with_nul(name).expect("names were put together with their ends");
                    let item = Item { listed: Some(FileType::Regular), divide: Divide::Never, ..item(name) };
                    // What has become a directory since it was listed is left to the next run.
                    let plain = if may_be_plain { self.copy_plain(&item, branch) } else { Plain::No };
                    may_be_plain &= plain != Plain::NorOthers;
                    if plain != Plain::Copied {
                        self.deal(&item, branch);
                    }
                }
                Begun::Done
            }
            Seed::Job(_) | Seed::Piece(_) | Seed::InOrder(_) => unreachable!("they are begun elsewhere"),
        }
    }

    fn begin_item(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        match self.deal(item, branch) {
            Dealt::Done | Dealt::IsLarge => Begun::Done,
            Dealt::IsDirectory => self.begin_directory(item, branch),
            Dealt::Node(large) => Begun::Node(Node::Large(large), Growth::Pieces(0)),
        }
    }

    /// Opens a directory, makes its copy, and gets ready to list it.
    fn begin_directory(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        let flags = how::through_links(how::DIRECTORY) | item.follow.open_flag();
        let opened =
            item.source.open(item.name, flags, 0).and_then(|list| Status::of(&list).map(|status| (list, status)));
        let mut is_shut = false;
        let (list, status) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let closed = if number(&error) == Errno::ACCESS.raw_os_error() { self.look_at(item) } else { None };
                self.complain(item.place, item.name, Complaint::List(error), branch);
                let Some(closed) = closed else { return Begun::Done };
                is_shut = true;
                closed
            }
        };
        let job = item.place.job();
        let mut is_mounted = false;
        if let Place::In(above) = item.place {
            is_mounted = above.node.directory().status.identity().device != status.identity().device;
            if item.follow == Follow::Yes && is_above(above, status.identity()) {
                return self.refuse_named(item, Complaint::Cycle, branch);
            }
        }
        if self.copying.left_out == Some(status.identity()) {
            return Begun::Done;
        }
        let is_own = self.tops.read().contains(&status.identity());
        if is_own {
            // COMPAT: it is told of the whole copy, not of the directory in which it was found.
            return self.refuse(&Place::Top(job), Complaint::IntoItself(self.copying.jobs[job].target.clone()), branch);
        }
        let identity = status.identity();
        let mut node = DirectoryNode {
            source: KeptDirectory::known(item.name.to_owned(), list, identity, &self.sources),
            target: None,
            job,
            status,
            target_device: 0,
            made: None,
            made_mode: 0,
            newborn: OnceLock::new(),
            inherits: false,
        };
        if !self.copying.manner.pretends
            && let Err(complaint) = self.make_directory(item, &mut node)
        {
            node.source.close(&self.sources);
            return self.refuse_named(item, complaint, branch);
        }
        // COMPAT: a directory that was there already is not told of.
        if node.made.is_some() || self.copying.manner.pretends {
            self.tell(item, None);
        }
        let source = node.source.open().expect("it was just opened");
        let target = node.target.as_ref().and_then(KeptDirectory::open);
        // COMPAT: where another file system is mounted its directory is made, so that it can be mounted in the copy.
        let stops = is_mounted && self.copying.manner.one_file_system;
        let growth = if stops || is_shut { Growth::Nothing } else { Growth::List { source, target } };
        Begun::Node(Node::Directory(Box::new(node)), growth)
    }

    fn expand_directory(
        &self,
        node: &ANode,
        source: &Arc<HandedFd>,
        target: Option<&Arc<HandedFd>>,
        branch: &mut Branch<'_, Self>,
    ) -> Expanded {
        make_room(node, source_of, &self.sources);
        if target.is_some() {
            make_room(node, target_of, &self.targets);
        }
        let place = Place::In(node);
        let target = target.map_or(Parent::Here, |target| Parent::Directory(Arc::clone(target)));
        let follow = self.follow_below();
        let mut list = std::mem::take(&mut branch.scratch.list);
        let divide = if self.writes_in_order() { Divide::Never } else { Divide::Later };
        let hands_over = branch.has_takers() && divide == Divide::Later;
        let (mut handed_over, mut met) = (Vec::new(), 0_usize);
        let mut may_be_plain = self.may_be_plain();
        let listed = list_some(Directory::of(source), &mut list, |name, listed| {
            met += 1;
            // The first entries are worked on here: most directories have one buffer full.
            if hands_over && met > KEPT_ENTRIES && listed == Some(FileType::Regular) {
                handed_over.extend_from_slice(name.to_bytes_with_nul());
                return;
            }
            let (source, target) = (Directory::of(source), &target);
            let item = Item { source, name, target, target_name: name, place: &place, follow, listed, divide };
            if may_be_plain && listed == Some(FileType::Regular) {
                let plain = self.copy_plain(&item, branch);
                may_be_plain = plain != Plain::NorOthers;
                if plain == Plain::Copied {
                    return;
                }
            }
            match if listed == Some(FileType::Directory) { Dealt::IsDirectory } else { self.deal(&item, branch) } {
                Dealt::IsDirectory => self.spawn(Seed::Directory(name.to_owned()), branch),
                Dealt::IsLarge => self.spawn(Seed::Large(name.to_owned()), branch),
                Dealt::Done => {}
                Dealt::Node(_) => unreachable!("a large file in a list is a task of its own"),
            }
        });
        branch.scratch.list = list;
        if !handed_over.is_empty() {
            self.spawn(Seed::Entries(handed_over), branch);
        }
        self.end_step(&mut branch.scratch);
        match listed {
            Ok(true) => Expanded::Done,
            Ok(false) => {
                self.tables.prepare();
                Expanded::More
            }
            Err(error) => {
                self.complain(&place, c"", Complaint::List(error), branch);
                Expanded::Done
            }
        }
    }

    fn refuse(&self, place: &Place<'_>, complaint: Complaint, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        self.complain(place, c"", complaint, branch);
        Begun::Done
    }

    fn refuse_named(
        &self,
        item: &Item<'_>,
        complaint: Complaint,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Node, Growth> {
        self.complain(item.place, item.name, complaint, branch);
        Begun::Done
    }

    pub fn complain(&self, place: &Place<'_>, name: &CStr, complaint: Complaint, branch: &mut Branch<'_, Self>) {
        let finding = Finding { operand: place.job(), path: self.source_path(place, name), complaint };
        self.keep_finding(finding, branch);
    }

    pub fn keep_finding(&self, finding: Finding<Complaint>, branch: &mut Branch<'_, Self>) {
        self.incomplete[finding.operand].store(true, Ordering::Release);
        branch.scratch.counts.failed += 1;
        branch.report(finding);
    }
}

/// LIMIT: directories that may be open on each side where workers have tables of descriptors of their own: with fewer, copies of what others opened could be those that are too many.
const OWN_TABLES_DESCRIPTORS: usize = 256;

/// LIMIT: entries of one buffer full of a list that its own worker copies before it hands the rest over: a directory of fewer is not worth dividing.
const KEPT_ENTRIES: usize = 64;

impl Place<'_> {
    pub fn job(&self) -> usize {
        match self {
            Self::Top(job) | Self::Late(job, _) => *job,
            Self::In(node) => node.node.directory().job,
        }
    }

    pub fn directory(&self) -> Option<&DirectoryNode> {
        match self {
            Self::Top(_) | Self::Late(..) => None,
            Self::In(node) => Some(node.node.directory()),
        }
    }
}

/// Whether a directory is one of those above, which only followed links can bring about.
fn is_above(node: &ANode, identity: Identity) -> bool {
    let mut level = Some(Arc::clone(node));
    while let Some(node) = level {
        if node.node.directory().status.identity() == identity {
            return true;
        }
        level = node.above();
    }
    false
}

/// The directory of a borrowed descriptor, as `sys` wants it.
pub fn named<'a>(directory: &'a Parent, name: &'a CStr) -> FileReference<'a> {
    FileReference::Named(directory.directory(), name)
}

/// The same for a source.
pub fn named_in<'a>(directory: Directory<'a>, name: &'a CStr) -> FileReference<'a> {
    FileReference::Named(directory, name)
}
