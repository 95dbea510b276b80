//! Which members are taken and what they are called: names, patterns, renaming, owners of this machine, and what `--untrusted`
//! refuses.

use super::{TarArgs, totals};
use crate::failure::Failure;
use archive::create::{LeavesAttribute, Renamed};
use archive::extract::{Choice, Chooser, Event};
use archive::member::{AttributeName, Kind, Member};
use archive::pattern::{Manner, Pattern};
use archive::select::{Absolute, Named, Naming};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A name that was given, and whether any member had it.
pub struct Wanted {
    pattern: Pattern,
    found: bool,
}

/// Chooses members.
pub struct Chosen {
    /// Empty: all. Behind a lock, since the run keeps the chooser and the command asks in the end what was not found.
    pub wanted: Arc<Mutex<Vec<Wanted>>>,
    excluded: Vec<Pattern>,
    renames: Vec<Rename>,
    naming: Naming,
    owners: Owners,
    quotas: Option<Quotas>,
    leaves_attribute: Option<Box<LeavesAttribute>>,
    removed_was_told: bool,
    /// Where the last member that was looked at ends; the run keeps the chooser, and the command asks in the end.
    pub end: Arc<AtomicU64>,
}

/// Folders of version control, as GNU tar knows them.
const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
];

impl Chosen {
    /// From the options and the names that were given.
    pub fn new(args: &TarArgs, names: &[Vec<u8>], top_level: Option<Vec<u8>>) -> Result<Self, Failure> {
        let manner = manner(args, Manner::MEMBERS);
        let wanted = names.iter().map(|name| Wanted { pattern: Pattern::new(name, manner), found: false }).collect();
        Ok(Self {
            wanted: Arc::new(Mutex::new(wanted)),
            excluded: excluded(args)?,
            renames: renames(args)?,
            naming: Naming {
                strip_components: args.strip_components,
                top_level,
                absolute: if args.absolute_names { Absolute::Kept } else { Absolute::MadeRelative },
            },
            owners: Owners { numeric: args.metadata.numeric_owner, ..Owners::default() },
            quotas: args.untrusted.then(Quotas::default),
            leaves_attribute: leaves_attribute(args),
            removed_was_told: false,
            end: Arc::default(),
        })
    }

    /// Whether a member is meant, by its name in the archive.
    pub fn means(&mut self, name: &[u8]) -> bool {
        if self.excluded.iter().any(|pattern| pattern.matches(name)) {
            return false;
        }
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut any = wanted.is_empty();
        for wanted in wanted.iter_mut().filter(|wanted| wanted.pattern.matches(name)) {
            wanted.found = true;
            any = true;
        }
        any
    }

    /// As [`Chosen::means`], but does not count as having been found.
    pub fn would_mean(&self, name: &[u8]) -> bool {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        !self.excluded.iter().any(|pattern| pattern.matches(name))
            && wanted.iter().any(|wanted| wanted.pattern.matches(name))
    }

    /// The names that were given, where they are names and not patterns; none where all members are meant.
    pub fn plain_names(&self) -> Option<Vec<Vec<u8>>> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let are_plain = !wanted.is_empty() && wanted.iter().all(|wanted| wanted.pattern.is_plain());
        are_plain.then(|| wanted.iter().map(|wanted| wanted.pattern.text().to_vec()).collect())
    }

    /// The name that a member would be extracted under.
    pub fn shown(&self, name: &[u8]) -> Vec<u8> {
        let renamed = self.renamed(name);
        match self.naming.place(&renamed) {
            Named::Path { path, .. } => path,
            Named::CutOff | Named::LeadsUp => Vec::new(),
        }
    }

    /// The name that a member gets, before it is made to stay inside.
    pub fn renamed(&self, name: &[u8]) -> Vec<u8> {
        renamed_by(&self.renames, name, Renamed::Member)
    }
}

/// A name after all rules that are for it, which do not see the slash behind a folder's. What would be left without a name keeps its own.
fn renamed_by(rules: &[Rename], name: &[u8], what: Renamed) -> Vec<u8> {
    let rules = rules.iter().filter(|rule| rule.is_for(what));
    let plain = name.strip_suffix(b"/").filter(|plain| !plain.is_empty()).unwrap_or(name);
    let mut renamed = rules.fold(plain.to_vec(), |name, rule| rule.apply(&name));
    if renamed.is_empty() {
        return name.to_vec();
    }
    renamed.extend_from_slice(&name[plain.len()..]);
    renamed
}

/// A line of a list of files to archive.
pub enum Listed<'a> {
    /// A name.
    Name(&'a [u8]),
    /// What follows is in this folder.
    Folder(PathBuf),
}

/// COMPAT: of the options that GNU tar takes in such lists, `-C` and `--add-file`; all else is a name.
pub fn listed<'a>(args: &TarArgs, line: &'a [u8]) -> Listed<'a> {
    if args.choice.null || args.choice.verbatim_files_from {
        return Listed::Name(line);
    }
    if let Some(name) = line.strip_prefix(b"--add-file=") {
        return Listed::Name(name);
    }
    match line.strip_prefix(b"--directory=").or_else(|| line.strip_prefix(b"-C")) {
        Some(folder) if !folder.trim_ascii().is_empty() => {
            Listed::Folder(PathBuf::from(OsStr::from_bytes(folder.trim_ascii_start())))
        }
        _ => Listed::Name(line),
    }
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
    let manner = Manner { anchored: true, ..Manner::EXCLUDED };
    let patterns = |texts: &[OsString]| -> Vec<Pattern> {
        texts.iter().map(|text| Pattern::new(text.as_bytes(), manner)).collect()
    };
    let (taken, left) = (patterns(&args.extended.xattrs_include), patterns(&args.extended.xattrs_exclude));
    Some(Box::new(move |name| {
        let is_taken = taken.is_empty() || taken.iter().any(|pattern| pattern.matches(name));
        !is_taken || left.iter().any(|pattern| pattern.matches(name))
    }))
}

/// Names that no member had.
pub fn not_found(wanted: &Mutex<Vec<Wanted>>) -> Vec<Vec<u8>> {
    let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
    wanted.iter().filter(|wanted| !wanted.found).map(|wanted| wanted.pattern.text().to_vec()).collect()
}

fn manner(args: &TarArgs, usual: Manner) -> Manner {
    Manner {
        wildcards: (usual.wildcards || args.matching.wildcards) && !args.matching.no_wildcards,
        anchored: (usual.anchored || args.matching.anchored) && !args.matching.no_anchored,
        match_slash: !args.matching.no_wildcards_match_slash,
        ignore_case: args.matching.ignore_case,
    }
}

/// What is left out.
pub fn excluded(args: &TarArgs) -> Result<Vec<Pattern>, Failure> {
    let manner = Manner {
        ignore_case: args.matching.ignore_case,
        match_slash: !args.matching.no_wildcards_match_slash,
        ..Manner::EXCLUDED
    };
    let manner = Manner { anchored: args.matching.anchored, wildcards: !args.matching.no_wildcards, ..manner };
    let mut texts: Vec<OsString> = args.choice.exclude.clone();
    for path in &args.choice.exclude_from {
        let bytes = std::fs::read(path).map_err(|error| super::could_not("read", path.as_os_str(), &error))?;
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        texts.extend(lines.map(|line| OsStr::from_bytes(line).to_owned()));
    }
    if args.choice.exclude_vcs {
        texts.extend(VERSION_CONTROL.iter().map(OsString::from));
    }
    Ok(texts.iter().map(|text| Pattern::new(text.as_bytes(), manner)).collect())
}

impl Chooser for Chosen {
    fn choose(&mut self, member: &mut Member, tell: &mut dyn FnMut(Event)) -> Choice {
        // ORDER: a count that is read when all threads are home.
        self.end.store(totals::end_of(member), Ordering::Relaxed);
        if matches!(member.kind, Kind::VolumeLabel | Kind::Continuation) || !self.means(&member.path) {
            return Choice::PassOver;
        }
        let name = member.path.clone();
        let mut refuse = |why: &str| {
            tell(Event::Refused { name: name.clone(), why: why.to_owned() });
            Choice::PassOver
        };
        if !self.renames.is_empty() {
            member.path = self.renamed(&member.path);
            match member.kind {
                Kind::HardLink => member.link = renamed_by(&self.renames, &member.link, Renamed::HardLink),
                Kind::Symlink => member.link = renamed_by(&self.renames, &member.link, Renamed::SymbolicLink),
                _ => {}
            }
        }
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
        if member.path.is_empty() && member.kind != Kind::Directory {
            tell(Event::Refused { name, why: "its name is empty".to_owned() });
            return Choice::PassOver;
        }
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

/// What strangers' archives may hold.
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

/// LIMIT: folders inside one another; the Linux tree has 11.
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
        if member.kind == Kind::Symlink && (member.link.starts_with(b"/") || leads_up(&member.path, &member.link)) {
            return Some("it is a link that leads outside (--untrusted)");
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

/// Whether a relative link, read from where it stands, leads above the root.
fn leads_up(path: &[u8], link: &[u8]) -> bool {
    let mut depth =
        path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".").count() as i64 - 1;
    for name in link.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// Renames as `--transform` says; none where it is not given.
pub fn renamer(args: &TarArgs) -> Result<Option<Box<archive::create::Rename>>, Failure> {
    let rules = renames(args)?;
    let rename = move |name: &[u8], what: Renamed| renamed_by(&rules, name, what);
    Ok(if args.transform.is_empty() { None } else { Some(Box::new(rename)) })
}

/// `s/FROM/TO/`: text, perhaps at the front or at the end only.
struct Rename {
    from: Vec<u8>,
    to: Vec<u8>,
    at_front: bool,
    at_end: bool,
    all: bool,
    /// Not for these.
    leaves: Vec<Renamed>,
}

impl Rename {
    fn is_for(&self, what: Renamed) -> bool {
        !self.leaves.contains(&what)
    }

    fn apply(&self, name: &[u8]) -> Vec<u8> {
        let mut renamed = Vec::with_capacity(name.len() + self.to.len());
        let mut at = 0;
        while at <= name.len() {
            let here = &name[at..];
            let fits = here.starts_with(&self.from)
                && (!self.at_front || at == 0)
                && (!self.at_end || here.len() == self.from.len());
            if fits {
                renamed.extend_from_slice(&self.to);
                at += self.from.len();
                if !self.all || self.from.is_empty() {
                    renamed.extend_from_slice(&name[at..]);
                    return renamed;
                }
            } else {
                renamed.extend(here.first());
                at += 1;
            }
        }
        renamed
    }
}

/// The rules of `--transform`.
fn renames(args: &TarArgs) -> Result<Vec<Rename>, Failure> {
    args.transform.iter().map(|rule| rename(rule)).collect()
}

fn rename(rule: &str) -> Result<Rename, Failure> {
    let refused = || super::usage(format!("--transform takes s/TEXT/TEXT/ with ^ and $ here, not '{rule}'"));
    let mut letters = rule.chars();
    let (Some('s'), Some(border)) = (letters.next(), letters.next()) else { return Err(refused()) };
    let parts: Vec<&str> = letters.as_str().split(border).collect();
    let [from, to, flags] = parts[..] else { return Err(refused()) };
    let at_front = from.starts_with('^');
    let at_end = from.ends_with('$');
    let text = from.trim_start_matches('^').trim_end_matches('$');
    let has_expressions = text.contains(['*', '[', '\\', '.', '+', '?', '(']) && !is_escaped(text);
    if has_expressions || to.contains(['\\', '&']) {
        return Err(refused());
    }
    // COMPAT: without a word all names are changed, also where links lead.
    let (mut all, mut leaves) = (false, Vec::new());
    for flag in flags.chars() {
        match flag {
            'g' => all = true,
            'R' => leaves.push(Renamed::Member),
            'H' => leaves.push(Renamed::HardLink),
            'S' => leaves.push(Renamed::SymbolicLink),
            'r' => leaves.retain(|left| *left != Renamed::Member),
            'h' => leaves.retain(|left| *left != Renamed::HardLink),
            's' => leaves.retain(|left| *left != Renamed::SymbolicLink),
            _ => return Err(refused()),
        }
    }
    let from = text.replace('\\', "").into_bytes();
    Ok(Rename { from, to: to.as_bytes().to_vec(), at_front, at_end, all, leaves })
}

/// Whether each letter that means something stands behind a backslash, and nothing else does.
fn is_escaped(text: &str) -> bool {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let is_special = |letter: char| matches!(letter, '*' | '[' | '.' | '+' | '?' | '(');
        match letter {
            '\\' if letters.next().is_some_and(|next| is_special(next) || next == '\\') => {}
            '\\' => return false,
            letter if is_special(letter) => return false,
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rewritten_by_text() {
        let renamed = |rule: &str, name: &str| {
            rename(rule).ok().map(|rule| String::from_utf8_lossy(&rule.apply(name.as_bytes())).into_owned())
        };
        assert_eq!(renamed("s/^old/new/", "old/old").as_deref(), Some("new/old"));
        assert_eq!(renamed("s,a,b,g", "banana").as_deref(), Some("bbnbnb"));
        assert_eq!(renamed("s/a/b/", "banana").as_deref(), Some("bbnana"));
        assert_eq!(renamed("s/$/.bak/", "x").as_deref(), Some("x.bak"));
        assert_eq!(renamed("s|^|top/|", "x").as_deref(), Some("top/x"));
        assert_eq!(renamed("s/\\.c$/.o/", "a.c").as_deref(), Some("a.o"));
        let for_all = |rule: &str| {
            let rule = rename(rule).expect("a rule");
            [Renamed::Member, Renamed::HardLink, Renamed::SymbolicLink].map(|what| rule.is_for(what))
        };
        assert_eq!(for_all("s/a/b/"), [true, true, true]);
        assert_eq!(for_all("s/a/b/gS"), [true, true, false]);
        assert_eq!(for_all("s/a/b/RHSs"), [false, false, true]);
        for rule in ["s/a*/b/", "s/a/\\1/", "y/a/b/", "s/a/b", "s/a/b/x"] {
            assert!(rename(rule).is_err(), "{rule}");
        }
    }

    #[test]
    fn links_that_lead_up_are_seen() {
        assert!(leads_up(b"a/b", b"../../x") && leads_up(b"a", b".."));
        assert!(!leads_up(b"a/b", b"../x") && !leads_up(b"a", b"b/../c"));
    }
}
