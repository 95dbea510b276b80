//! Which members may be placed at once, and which must wait for their turn: archive order for each path, whatever the number
//! of hands. Knows paths and ticket numbers, and nothing of files. Theory: `engines/archive/README.md`, "Order".

use crate::member::{Kind, Member};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// When a member is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// By any worker, at any time.
    AtOnce,
    /// In its turn: when everything before it is there.
    InTurn,
}

/// What is known of a path that something under way has to do with.
#[derive(Clone, Copy, Debug)]
struct Seen {
    ticket: u64,
    what: What,
}

/// Greater ones need more care. Two paths with one hash share the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Folder,
    NoFolder,
    InTurn,
}

/// LIMIT: paths that are remembered; what is on the disk already is forgotten then. 4 MiB and a little more.
const SEEN_MAX: usize = 1 << 17;

/// The paths of members that may be under way.
pub struct Order {
    seen: HashMap<u64, Seen, BuildNothing>,
    /// Hashes that nobody can choose names for.
    keys: RandomState,
    /// The folder of the member before, and its ticket: its ancestors need not be noted again.
    last_folder: Option<(Vec<u8>, u64)>,
}

impl Default for Order {
    fn default() -> Self {
        Self { seen: HashMap::default(), keys: RandomState::new(), last_folder: None }
    }
}

impl Order {
    /// When `member`, of chunk `ticket`, is placed. Everything below ticket `done` is on the disk.
    pub fn when(&mut self, member: &Member, ticket: u64, done: u64) -> When {
        if self.seen.len() > SEEN_MAX {
            self.seen.retain(|_, seen| seen.ticket >= done);
            self.last_folder = None;
        }
        let what = if member.kind == Kind::Directory { What::Folder } else { What::NoFolder };
        let path = self.hash(&member.path);
        let own = self.under_way(path, done).is_some_and(|seen| seen.max(what) > What::Folder);
        let way = self.way_is_unsure(&member.path, done);
        let source = member.kind == Kind::HardLink
            && (self.under_way(self.hash(&member.link), done).is_some() || self.way_is_unsure(&member.link, done));
        let in_turn = own || way || source;
        let when = if in_turn { When::InTurn } else { When::AtOnce };
        self.is_in(member, ticket, when);
        when
    }

    /// Notes that chunk `ticket` has to do with `member`: for each chunk that does.
    pub fn is_in(&mut self, member: &Member, ticket: u64, when: When) {
        let what = match (when, member.kind) {
            (When::InTurn, _) => What::InTurn,
            (When::AtOnce, Kind::Directory) => What::Folder,
            (When::AtOnce, _) => What::NoFolder,
        };
        self.note_way(&member.path, ticket);
        let path = self.hash(&member.path);
        self.note(path, ticket, what);
        if member.kind == Kind::HardLink {
            // Whoever changes what it leads to must wait for it.
            let link = self.hash(&member.link);
            self.note(link, ticket, What::NoFolder);
        }
    }

    fn hash(&self, path: &[u8]) -> u64 {
        self.way(path).1
    }

    /// Hashes of the folders on the way to `path`, the furthest first, and its own. Each goes on from the one before, so that a name of a
    /// hundred thousand folders costs its length and not the square of it.
    fn way(&self, path: &[u8]) -> (Vec<u64>, u64) {
        let mut hasher = self.keys.build_hasher();
        let mut folders = Vec::new();
        let mut parts = path.split(|&byte| byte == b'/');
        hasher.write(parts.next().unwrap_or_default());
        for part in parts {
            folders.push(hasher.finish());
            hasher.write(b"/");
            hasher.write(part);
        }
        (folders, hasher.finish())
    }

    fn under_way(&self, path: u64, done: u64) -> Option<What> {
        self.seen.get(&path).filter(|seen| seen.ticket >= done).map(|seen| seen.what)
    }

    /// Whether a folder on the way may not be one yet, or no longer.
    fn way_is_unsure(&self, path: &[u8], done: u64) -> bool {
        let is_unsure = |folder| self.under_way(folder, done).is_some_and(|what| what > What::Folder);
        self.way(path).0.into_iter().any(is_unsure)
    }

    /// The folders on the way are used by this ticket: who would replace one must wait.
    fn note_way(&mut self, path: &[u8], ticket: u64) {
        let Some(end) = path.iter().rposition(|&byte| byte == b'/') else { return };
        let folder = &path[..end];
        if self.last_folder.as_ref().is_some_and(|(last, of)| last == folder && *of == ticket) {
            return;
        }
        for folder in self.way(path).0 {
            self.note(folder, ticket, What::Folder);
        }
        self.last_folder = Some((folder.to_vec(), ticket));
    }

    fn note(&mut self, path: u64, ticket: u64, what: What) {
        let seen = self.seen.entry(path).or_insert(Seen { ticket, what });
        *seen = Seen { ticket, what: seen.what.max(what) };
    }
}

/// The keys are hashes already.
#[derive(Clone, Copy, Default)]
struct BuildNothing;

impl BuildHasher for BuildNothing {
    type Hasher = Nothing;

    fn build_hasher(&self) -> Nothing {
        Nothing(0)
    }
}

struct Nothing(u64);

impl Hasher for Nothing {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(path: &str, kind: Kind) -> Member {
        Member { path: path.into(), kind, ..Member::default() }
    }

    #[test]
    fn the_way_to_a_name_is_made_of_what_its_folders_are() {
        let order = Order::default();
        let (folders, own) = order.way(b"a/b/c");
        assert_eq!(folders, [order.hash(b"a"), order.hash(b"a/b")]);
        assert_eq!(own, order.hash(b"a/b/c"));
        assert!(own != order.hash(b"a/bc") && order.way(b"abc").0.is_empty());
        // A square of this length would not be done today.
        assert_eq!(order.way("d/".repeat(500_000).as_bytes()).0.len(), 500_000);
    }

    #[test]
    fn members_that_have_nothing_to_do_with_each_other_go_at_once() {
        let mut order = Order::default();
        for (path, kind) in
            [("d", Kind::Directory), ("d/a", Kind::Regular), ("d/b", Kind::Symlink), ("e/f/g", Kind::Regular)]
        {
            assert_eq!(order.when(&member(path, kind), 1, 0), When::AtOnce, "{path}");
        }
        assert_eq!(order.when(&member("d", Kind::Directory), 2, 0), When::AtOnce, "a folder twice");
        assert_eq!(order.when(&member("e/f", Kind::Directory), 2, 0), When::AtOnce, "a folder behind its content");
    }

    #[test]
    fn the_same_path_twice_and_ways_through_what_is_no_folder_wait() {
        for (first, then) in [
            (member("a", Kind::Regular), member("a", Kind::Regular)),
            (member("a", Kind::Regular), member("a", Kind::Directory)),
            (member("a", Kind::Directory), member("a", Kind::Symlink)),
            (member("a", Kind::Symlink), member("a/b/c", Kind::Regular)),
            (member("a/b/c", Kind::Regular), member("a", Kind::Symlink)),
        ] {
            let mut order = Order::default();
            assert_eq!(order.when(&first, 1, 0), When::AtOnce);
            assert_eq!(order.when(&then, 2, 0), When::InTurn, "{first:?} {then:?}");
            let mut order = Order::default();
            assert_eq!(order.when(&first, 1, 0), When::AtOnce);
            assert_eq!(order.when(&then, 3, 2), When::AtOnce, "what is on the disk need not be waited for");
        }
    }

    #[test]
    fn what_goes_in_turn_makes_what_depends_on_it_go_in_turn() {
        let mut order = Order::default();
        order.when(&member("d", Kind::Regular), 1, 0);
        assert_eq!(order.when(&member("d", Kind::Directory), 2, 0), When::InTurn);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 3, 0), When::InTurn);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 9, 4), When::AtOnce);
    }

    #[test]
    fn a_hard_link_waits_for_what_it_leads_to_and_is_waited_for() {
        let mut order = Order::default();
        let link = Member { link: b"a".to_vec(), ..member("b", Kind::HardLink) };
        order.when(&member("a", Kind::Regular), 1, 0);
        assert_eq!(order.when(&link, 1, 0), When::InTurn);
        let mut order = Order::default();
        assert_eq!(order.when(&link, 1, 0), When::AtOnce, "it is on the disk, or will never be");
        assert_eq!(order.when(&member("a", Kind::Regular), 2, 0), When::InTurn);
    }
}
