//! Which members are taken and what they are called: names, patterns, renaming, owners of this machine, and what `--untrusted`
//! refuses.

mod wanted;

use super::transform::{self, TransformRule, renamed_by};
use super::{TarArgs, create, totals};
use archive::create::{LeavesAttribute, Renamed};
use archive::extract::{Choice, Chooser, Event};
use archive::member::{AttributeName, Kind, Member, Time};
use archive::pattern::{Pattern, PatternGroups, trimmed};
use archive::place::MAY_LEAD_OUTSIDE;
use archive::select::{Absolute, Named, Naming, may_lead_outside};
use mh_kit::failure::Failure;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wanted::{Meant, OF_ATTRIBUTES};
pub use wanted::{Wanted, excluded, not_found};

/// Chooses members.
pub struct Chosen {
    /// Empty: all. Behind a lock, since the run keeps the chooser and the command asks in the end what was not found.
    pub wanted: Arc<Mutex<Wanted>>,
    excluded: PatternGroups,
    /// Nothing is named and nothing left out: then nobody needs the lock.
    means_all: bool,
    /// What was changed before is left out, directories too.
    since: Option<Time>,
    renames: Vec<TransformRule>,
    naming: Naming,
    owners: Owners,
    quotas: Option<Quotas>,
    leaves_attribute: Option<Box<LeavesAttribute>>,
    removed_was_told: bool,
    /// Bytes in front of the last path that was chosen: the directory of its name.
    target_bytes: usize,
    /// Where the last member that was looked at ends; the run keeps the chooser, and the command asks in the end.
    pub end: Arc<AtomicU64>,
}

impl Chosen {
    /// From the options and the names that were given.
    pub fn new(args: &TarArgs, top_level: Option<Vec<u8>>) -> Result<Self, Failure> {
        let (wanted, excluded) = (Wanted::new(args), excluded(args));
        let since = args.choice.newer.as_ref().or(args.choice.newer_mtime.as_ref());
        Ok(Self {
            means_all: wanted.names.is_empty() && excluded.is_empty() && args.starting_file.is_none(),
            wanted: Arc::new(Mutex::new(wanted)),
            excluded,
            since: since.map(|since| create::time(since)).transpose()?,
            renames: transform::rules(&args.transform)?,
            naming: Naming {
                strip_components: args.strip_components,
                top_level,
                absolute: if args.absolute_names { Absolute::Kept } else { Absolute::MadeRelative },
            },
            owners: Owners { numeric: args.metadata.numeric_owner, ..Owners::default() },
            // What is compared makes nothing.
            quotas: (args.untrusted && !args.operation.diff).then(Quotas::default),
            leaves_attribute: leaves_attribute(args),
            removed_was_told: false,
            target_bytes: 0,
            end: Arc::default(),
        })
    }

    /// Takes all members, under the names that they have.
    pub fn of_all(args: &TarArgs) -> Self {
        Self {
            wanted: Arc::default(),
            means_all: true,
            excluded: PatternGroups::default(),
            since: None,
            renames: Vec::new(),
            naming: Naming { strip_components: 0, top_level: None, absolute: Absolute::Kept },
            owners: Owners { numeric: args.metadata.numeric_owner, ..Owners::default() },
            quotas: None,
            leaves_attribute: leaves_attribute(args),
            removed_was_told: false,
            target_bytes: 0,
            end: Arc::default(),
        }
    }

    /// Whether a member is meant, by its name in the archive.
    pub fn means(&mut self, name: &[u8]) -> bool {
        self.meant_as(name) != Meant::No
    }

    /// As which of the names that were given.
    fn meant_as(&mut self, name: &[u8]) -> Meant {
        if self.means_all {
            return Meant::Any;
        }
        // COMPAT: what is left out was found.
        let meant = self.wanted.lock().find(name);
        if meant != Meant::No && self.excluded.matches(name) { Meant::No } else { meant }
    }

    /// Whether a member is meant, by its name and its time. COMPAT: one that is too old was found all the same.
    pub fn takes(&mut self, member: &Member) -> bool {
        self.taken_as(member) != Meant::No
    }

    fn taken_as(&mut self, member: &Member) -> Meant {
        if !self.means_all && !self.wanted.lock().has_begun(&member.path) {
            return Meant::No;
        }
        match self.meant_as(&member.path) {
            meant if self.since.is_none_or(|since| member.mtime >= since) => meant,
            _ => Meant::No,
        }
    }

    /// Whether no member behind the last one can be meant.
    pub fn is_over(&self) -> bool {
        !self.means_all && self.wanted.lock().is_over()
    }

    /// As [`Chosen::means`], but does not count as having been found.
    pub fn would_mean(&self, name: &[u8]) -> bool {
        let wanted = self.wanted.lock();
        (wanted.patterns.is_empty() || wanted.patterns.matches(name)) && !self.excluded.matches(name)
    }

    /// The names that were given, where they are names and not patterns, and few; none where all members are meant.
    pub fn few_plain_names(&self) -> Option<Vec<Vec<u8>>> {
        let wanted = self.wanted.lock();
        let are_few = (1..=FEW_NAMES).contains(&wanted.names.len());
        (wanted.are_names() && are_few).then(|| wanted.names.iter().map(|name| trimmed(name).to_vec()).collect())
    }

    /// A member with the names that it would be extracted under. `./` in front of them is shown.
    pub fn shown(&self, member: &Member) -> Member {
        let mut shown = member.clone();
        self.transform(&mut shown);
        let is_cut = self.naming.strip_components > 0 || self.naming.top_level.is_some();
        let placed = |name: &[u8]| match self.naming.place(name) {
            Named::Path { path, .. } if is_cut => path,
            Named::Path { removed, .. } => name[removed.len()..].to_vec(),
            Named::CutOff => Vec::new(),
            Named::LeadsUp => name.to_vec(),
        };
        shown.path = placed(&shown.path);
        if shown.kind == Kind::HardLink {
            shown.link = placed(&shown.link);
        }
        shown
    }

    /// Puts the directory in front of its path that `-C` says for its name.
    fn go_to_target(&mut self, member: &mut Member, meant: Meant) {
        self.target_bytes = 0;
        if self.means_all {
            return;
        }
        let wanted = self.wanted.lock();
        let target = wanted.target(meant);
        if target.is_empty() {
            return;
        }
        self.target_bytes = if member.path.is_empty() { 0 } else { target.len() + 1 };
        member.path = beneath(target, &member.path);
        if member.kind == Kind::HardLink {
            member.link = beneath(target, &member.link);
        }
    }

    /// The place of the member that was chosen last, as its directory has it.
    pub fn told_place<'m>(&self, member: &'m Member) -> &'m [u8] {
        &member.path[self.target_bytes..]
    }

    /// Gives a member the names that `--transform` makes of its own.
    fn transform(&self, member: &mut Member) {
        if self.renames.is_empty() {
            return;
        }
        member.path = self.renamed(&member.path);
        match member.kind {
            Kind::HardLink => member.link = renamed_by(&self.renames, &member.link, Renamed::HardLink),
            Kind::Symlink => member.link = renamed_by(&self.renames, &member.link, Renamed::SymbolicLink),
            _ => {}
        }
    }

    /// The name that messages about a member have: as it is in the archive, but for what options make of it.
    pub fn told(&self, name: &[u8], member: &Member) -> Vec<u8> {
        match self.naming.strip_components {
            0 => self.renamed(name),
            _ => member.path.clone(),
        }
    }

    /// The name that a member gets, before it is made to stay inside.
    pub fn renamed(&self, name: &[u8]) -> Vec<u8> {
        renamed_by(&self.renames, name, Renamed::Member)
    }
}

fn beneath(directory: &[u8], path: &[u8]) -> Vec<u8> {
    if path.is_empty() { directory.to_vec() } else { [directory, path].join(&b'/') }
}

/// Whether extended attributes are kept at all.
pub fn wants_attributes(args: &TarArgs) -> bool {
    args.extended.xattrs || !(args.extended.xattrs_include.is_empty() && args.extended.xattrs_exclude.is_empty())
}

/// Which of them are left out; none where all are kept.
pub fn leaves_attribute(args: &TarArgs) -> Option<Box<LeavesAttribute>> {
    if args.extended.xattrs_include.is_empty() && args.extended.xattrs_exclude.is_empty() {
        return None;
    }
    let patterns = |texts: &[OsString]| -> Vec<Pattern> {
        texts.iter().map(|text| Pattern::new(text.as_bytes(), OF_ATTRIBUTES)).collect()
    };
    let (taken, left) = (patterns(&args.extended.xattrs_include), patterns(&args.extended.xattrs_exclude));
    Some(Box::new(move |name| {
        let is_taken = taken.is_empty() || taken.iter().any(|pattern| pattern.matches(name));
        !is_taken || left.iter().any(|pattern| pattern.matches(name))
    }))
}

impl Chooser for Chosen {
    fn choose(&mut self, member: &mut Member, tell: &mut dyn FnMut(Event)) -> Choice {
        // ORDER: a count that is read when all threads are home.
        self.end.store(totals::end_of(member), Ordering::Relaxed);
        if matches!(member.kind, Kind::VolumeLabel | Kind::Continuation) {
            if member.kind == Kind::VolumeLabel {
                tell(Event::Label(Arc::new(member.clone())));
            }
            return Choice::PassOver;
        }
        if self.is_over() {
            return Choice::Stop;
        }
        let meant = self.taken_as(member);
        if meant == Meant::No {
            return Choice::PassOver;
        }
        let name = member.path.clone();
        let mut refuse = |why: &str| {
            tell(Event::Refused { name: name.clone(), why: why.to_owned() });
            Choice::PassOver
        };
        self.transform(member);
        if let Some(leaves) = &self.leaves_attribute {
            member.attributes.retain(|attribute| match &attribute.name {
                AttributeName::Extended(name) => !leaves(name),
                _ => true,
            });
        }
        if let Some(quotas) = &mut self.quotas {
            if let Some(why) = quotas.refuses(member) {
                return refuse(why);
            }
            if !quotas.have_room_for(member) {
                // Told once: a bomb has a million more of them.
                refuse("the archive holds more than is allowed, and is read no further (--untrusted)");
                return Choice::Stop;
            }
        }
        match self.naming.rename(member) {
            Named::CutOff => return Choice::PassOver,
            Named::LeadsUp => return refuse("its name has '..' in it"),
            Named::Path { removed, .. } if !removed.is_empty() && !self.removed_was_told => {
                self.removed_was_told = true;
                tell(Event::MadeRelative { removed });
            }
            Named::Path { .. } => {}
        }
        let why = match member.kind {
            Kind::Directory => None,
            _ if member.path.is_empty() => Some("its name is empty"),
            Kind::HardLink if member.link.is_empty() => Some("nothing is left of the name that it is a link to"),
            // By the name that it gets: that says where it leads.
            Kind::Symlink if self.quotas.is_some() && may_lead_outside(&member.path, &member.link) => {
                Some(MAY_LEAD_OUTSIDE)
            }
            _ => None,
        };
        if let Some(why) = why {
            tell(Event::Refused { name, why: why.to_owned() });
            return Choice::PassOver;
        }
        self.go_to_target(member, meant);
        self.owners.translate(member);
        Choice::Take
    }
}

/// Names of owners as numbers of this machine.
#[derive(Default)]
struct Owners {
    numeric: bool,
    users: HashMap<Vec<u8>, Option<u32>>,
    groups: HashMap<Vec<u8>, Option<u32>>,
}

/// LIMIT: names that are looked for one by one in an archive's index; where there are more, all of it is read.
const FEW_NAMES: usize = 4096;

/// LIMIT: names that are remembered; an archive may have any number.
const NAMES_MAX: usize = 4096;

impl Owners {
    fn translate(&mut self, member: &mut Member) {
        if self.numeric {
            return;
        }
        fn number(
            known: &mut HashMap<Vec<u8>, Option<u32>>,
            name: &[u8],
            ask: fn(&[u8]) -> Option<u32>,
        ) -> Option<u32> {
            if name.is_empty() {
                return None;
            }
            if let Some(number) = known.get(name) {
                return *number;
            }
            if known.len() >= NAMES_MAX {
                known.clear();
            }
            *known.entry(name.to_vec()).or_insert_with(|| ask(name))
        }
        if let Some(uid) = number(&mut self.users, &member.owner, sys::names::user_number) {
            member.uid = uid.into();
        }
        if let Some(gid) = number(&mut self.groups, &member.group, sys::names::group_number) {
            member.gid = gid.into();
        }
    }
}

/// What untrusted archives may hold.
struct Quotas {
    bytes_left: u64,
    members_left: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        // LIMIT: what an honest archive of a whole system has; beyond it somebody wants to fill the disk.
        Self { bytes_left: 1 << 40, members_left: 10_000_000 }
    }
}

/// LIMIT: directories inside one another; the Linux tree has 11.
const DEPTH_MAX: usize = 256;
/// LIMIT: a sparse file's size for each stored byte.
const HOLES_RATIO_MAX: u64 = 1 << 20;

impl Quotas {
    /// Why this member is refused, whatever else the archive holds.
    fn refuses(&self, member: &Member) -> Option<&'static str> {
        if member.kind.is_special() {
            return Some("it is a device or a named pipe (--untrusted)");
        }
        // Set-id bits are not restored: the plan leaves them out.
        if member.path.iter().filter(|&&byte| byte == b'/').count() > DEPTH_MAX {
            return Some("it lies too deep (--untrusted)");
        }
        if member.sparse.is_some() && member.size / HOLES_RATIO_MAX > member.stored_bytes {
            return Some("it is nearly all hole (--untrusted)");
        }
        None
    }

    /// Counts a member, unless it is one too many, or too large.
    fn have_room_for(&mut self, member: &Member) -> bool {
        let (Some(members), Some(bytes)) = (self.members_left.checked_sub(1), self.bytes_left.checked_sub(member.size))
        else {
            return false;
        };
        (self.members_left, self.bytes_left) = (members, bytes);
        true
    }
}

/// Renames as `--transform` says; none where it is not given.
pub fn renamer(args: &TarArgs) -> Result<Option<Box<archive::create::Rename>>, Failure> {
    let rules = transform::rules(&args.transform)?;
    let rename = move |name: &[u8], what: Renamed| renamed_by(&rules, name, what);
    Ok(if args.transform.is_empty() { None } else { Some(Box::new(rename)) })
}
