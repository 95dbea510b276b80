//! Which members may be placed at once, and which must wait for their turn: archive order for each path, whatever the number
//! of hands. Knows paths and ticket numbers, and nothing of files. Theory: `engines/archive/README.md`, "Order".

use super::way::Way;
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
    Directory,
    NoDirectory,
    InTurn,
}

/// LIMIT: paths that are remembered; what is on the disk already is forgotten then. Less than 2 MiB; what is under way at a time is a tenth of it.
const SEEN_MAX: usize = 1 << 15;

/// LIMIT: links that are remembered besides, for good: 50 MB. Behind more of them everything goes in turn.
const LINKS_MAX: usize = 1 << 20;

/// The ticket of what is never done: a way through a link leads elsewhere for good.
const FOR_EVER: u64 = u64::MAX;

/// Asked of a path on the disk, links on the way to it followed.
pub type Ask<'a> = Box<dyn Fn(&[u8]) -> bool + Send + 'a>;

/// What stands on the disk that decides about order.
#[derive(Default)]
pub struct There<'a> {
    /// Whether a link does: asked of each directory that is gone into. None where no links were there before.
    pub is_link: Option<Ask<'a>>,
    /// Whether a file with other names does: asked of files that are written over in place. None where none are.
    pub has_names: Option<Ask<'a>>,
}

/// The paths of members that may be under way.
pub struct Order<'a> {
    there: There<'a>,
    seen: HashMap<u64, Seen, BuildNothing>,
    /// How many of them are looked through for what can be forgotten.
    seen_enough: usize,
    links: Links,
    /// Hashes that nobody can choose names for.
    keys: RandomState,
    /// The directories on the way to the member before, by hash. They are used by what is under way as long as they are here.
    way: Way<u64>,
    /// The chunk that used them last.
    way_ticket: u64,
    /// How many of them, from the top, nothing is known of that would make members wait.
    sure: usize,
}

impl<'a> Order<'a> {
    /// Of nothing yet.
    pub fn new(there: There<'a>) -> Self {
        let (seen, keys) = (HashMap::default(), RandomState::new());
        Self {
            there,
            seen,
            seen_enough: SEEN_MAX,
            links: Links::default(),
            keys,
            way: Way::default(),
            way_ticket: 0,
            sure: 0,
        }
    }

    /// Whatever comes waits for its turn.
    pub fn all_in_turn(mut self) -> Self {
        self.links.led_astray = Some(FOR_EVER);
        self
    }

    /// When `member`, of chunk `ticket`, is placed. Everything below ticket `done` is on the disk.
    pub fn when(&mut self, member: &Member, ticket: u64, done: u64) -> When {
        if self.seen.len() > self.seen_enough {
            self.seen.retain(|_, seen| seen.ticket >= done);
            self.seen_enough = SEEN_MAX.max(2 * self.seen.len());
        }
        let what = if member.kind == Kind::Directory { What::Directory } else { What::NoDirectory };
        let path = self.go_to(&member.path);
        let own = self.under_way(path, done).is_some_and(|seen| seen.max(what) > What::Directory);
        let way = self.way_is_unsure(done);
        let source = member.kind == Kind::HardLink && self.is_to_be_waited_for(&member.link, done);
        if way {
            self.links.lead_astray(ticket);
        }
        let shared = member.kind == Kind::Regular && self.there.has_names.as_ref().is_some_and(|ask| ask(&member.path));
        let in_turn = own || way || source || shared || self.links.led_astray.is_some_and(|ticket| ticket >= done);
        let when = if in_turn { When::InTurn } else { When::AtOnce };
        self.is_in(member, ticket, when);
        when
    }

    /// Notes that chunk `ticket` has to do with `member`: for each chunk that does.
    pub fn is_in(&mut self, member: &Member, ticket: u64, when: When) {
        let what = match (when, member.kind) {
            (When::InTurn, _) => What::InTurn,
            (When::AtOnce, Kind::Directory) => What::Directory,
            (When::AtOnce, _) => What::NoDirectory,
        };
        let path = self.go_to(&member.path);
        self.way_ticket = self.way_ticket.max(ticket);
        let till = if member.kind == Kind::Symlink { self.links.one_more(ticket) } else { ticket };
        note(&mut self.seen, path, till, what);
        if member.kind == Kind::HardLink {
            // Whoever changes what it leads to, or the way to that, must wait for it.
            let mut hashes = way_to(&self.keys, &member.link).peekable();
            while let Some(hash) = hashes.next() {
                let what = if hashes.peek().is_none() { What::NoDirectory } else { What::Directory };
                note(&mut self.seen, hash, ticket, what);
            }
            // It may lead to a directory on the way.
            self.sure = 0;
        }
    }

    /// Goes to `path` and returns its hash. Directories that are left were used up to the chunk that used the way last.
    fn go_to(&mut self, path: &[u8]) -> u64 {
        let Self { seen, way, way_ticket, keys, sure, there, links, .. } = self;
        let ahead = way.leave_for(path, |directory| note(seen, directory, *way_ticket, What::Directory));
        *sure = way.depth().min(*sure);
        let mut hash = way.last().copied().unwrap_or_default();
        let mut end = path.len() - ahead.len();
        let mut names = ahead.split(|&byte| byte == b'/').peekable();
        while let Some(name) = names.next() {
            hash = keys.hash_one((hash, name));
            end += name.len();
            if names.peek().is_some() {
                if there.is_link.as_ref().is_some_and(|is_link| is_link(&path[..end])) {
                    note(seen, hash, links.one_more(*way_ticket), What::NoDirectory);
                }
                way.enter(name, hash);
                end += 1;
            }
        }
        hash
    }

    fn under_way(&self, path: u64, done: u64) -> Option<What> {
        self.seen.get(&path).filter(|seen| seen.ticket >= done).map(|seen| seen.what)
    }

    /// Whether a directory on the way may not be one yet, or no longer. Those above the first such directory need not be looked at again: whatever is
    /// noted later is noted of another path, or makes all of them be looked at again.
    fn way_is_unsure(&mut self, done: u64) -> bool {
        let is_unsure = |&directory: &u64| self.under_way(directory, done).is_some_and(|what| what > What::Directory);
        let sure = self.way.levels(self.sure).take_while(|directory| !is_unsure(directory)).count();
        self.sure += sure;
        self.sure < self.way.depth()
    }

    /// Whether a hard link to `link` must wait for it, or for a directory on the way to it.
    fn is_to_be_waited_for(&self, link: &[u8], done: u64) -> bool {
        let mut hashes = way_to(&self.keys, link).peekable();
        while let Some(hash) = hashes.next() {
            let is_last = hashes.peek().is_none();
            if self.under_way(hash, done).is_some_and(|what| is_last || what > What::Directory) {
                return true;
            }
        }
        self.way.is_through(link)
    }
}

/// What links do to the order.
#[derive(Default)]
struct Links {
    /// How many are remembered.
    count: usize,
    /// The last chunk with a member whose way is not what its name says: while it is under way nobody knows which paths are the same as others.
    led_astray: Option<u64>,
}

impl Links {
    /// Until when one is remembered that chunk `ticket` has met.
    fn one_more(&mut self, ticket: u64) -> u64 {
        self.count += 1;
        if self.count <= LINKS_MAX {
            return FOR_EVER;
        }
        self.lead_astray(FOR_EVER);
        ticket
    }

    fn lead_astray(&mut self, ticket: u64) {
        self.led_astray = self.led_astray.max(Some(ticket));
    }
}

/// Hashes of the directories on the way to `path`, the furthest first, and its own.
fn way_to(keys: &RandomState, path: &[u8]) -> impl Iterator<Item = u64> {
    path.split(|&byte| byte == b'/').scan(0, |above, name| {
        *above = keys.hash_one((*above, name));
        Some(*above)
    })
}

fn note(seen: &mut HashMap<u64, Seen, BuildNothing>, path: u64, ticket: u64, what: What) {
    let seen = seen.entry(path).or_insert(Seen { ticket, what });
    *seen = Seen { ticket: seen.ticket.max(ticket), what: seen.what.max(what) };
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
    fn a_name_of_any_depth_costs_its_length() {
        let mut order = Order::new(There::default());
        let path = "d/".repeat(500_000);
        let deep = member(&format!("{path}x"), Kind::Regular);
        let ways = [b"a/b".as_slice(), b"a"].map(|path| way_to(&order.keys, path).collect::<Vec<_>>());
        assert_eq!(ways[0][..1], ways[1]);
        // A square of this length would not be done today.
        for number in 0..20 {
            assert_eq!(order.when(&deep, number, number), When::AtOnce);
        }
        assert_eq!(order.when(&member("d/d", Kind::Symlink), 20, 19), When::InTurn, "it is on the way");
    }

    /// What must wait by the plainest rules: whatever has its path, a directory on its way or what it leads to in common with something under way,
    /// unless both need directories there and nothing else.
    fn must_wait(under_way: &[(Member, u64)], member: &Member, done: u64) -> bool {
        fn uses(member: &Member) -> Vec<(String, bool)> {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let mut uses = vec![(text(&member.path), member.kind == Kind::Directory)];
            for path in [&member.path, &member.link] {
                uses.extend(text(path).match_indices('/').map(|(end, _)| (text(&path[..end]), true)));
            }
            if member.kind == Kind::HardLink {
                uses.push((text(&member.link), false));
            }
            uses
        }
        under_way.iter().filter(|(_, ticket)| *ticket >= done).any(|(other, _)| {
            uses(other).iter().any(|(path, is_directory)| {
                uses(member).iter().any(|(own, own_is_directory)| own == path && !(*is_directory && *own_is_directory))
            })
        })
    }

    #[test]
    fn whatever_depends_on_something_under_way_waits() {
        let mut numbers = testkit::random::Random::seeded(5);
        let (mut waited, mut at_once) = (0, 0);
        for _ in 0..300 {
            let (mut order, mut under_way, mut done) = (Order::new(There::default()), Vec::new(), 0);
            for ticket in 0..30_u64 {
                let mut path = || {
                    let depth = 1 + numbers.below(3);
                    (0..depth).map(|_| ["a", "b"][numbers.below(2)]).collect::<Vec<_>>().join("/")
                };
                let (path, link) = (path(), path());
                let kind = [Kind::Directory, Kind::Regular, Kind::Symlink, Kind::HardLink][numbers.below(4)];
                let link = if kind == Kind::HardLink { link.into() } else { Vec::new() };
                let member = Member { link, ..member(&path, kind) };
                done = done.max(ticket.saturating_sub(numbers.below(7) as u64));
                let when = order.when(&member, ticket, done);
                if must_wait(&under_way, &member, done) {
                    assert_eq!(when, When::InTurn, "{member:?} while {under_way:?} from {done}");
                }
                match when {
                    When::InTurn => waited += 1,
                    When::AtOnce => at_once += 1,
                }
                under_way.push((member, ticket));
            }
        }
        assert!(waited > 1000 && at_once > 1000, "{waited} waited, {at_once} did not");
    }

    #[test]
    fn members_that_have_nothing_to_do_with_each_other_go_at_once() {
        let mut order = Order::new(There::default());
        for (path, kind) in
            [("d", Kind::Directory), ("d/a", Kind::Regular), ("d/b", Kind::Symlink), ("e/f/g", Kind::Regular)]
        {
            assert_eq!(order.when(&member(path, kind), 1, 0), When::AtOnce, "{path}");
        }
        assert_eq!(order.when(&member("d", Kind::Directory), 2, 0), When::AtOnce, "a directory twice");
        assert_eq!(order.when(&member("e/f", Kind::Directory), 2, 0), When::AtOnce, "a directory behind its content");
    }

    #[test]
    fn the_same_path_twice_and_ways_through_what_is_no_directory_wait() {
        for (first, then) in [
            (member("a", Kind::Regular), member("a", Kind::Regular)),
            (member("a", Kind::Regular), member("a", Kind::Directory)),
            (member("a", Kind::Directory), member("a", Kind::Symlink)),
            (member("a", Kind::Symlink), member("a/b/c", Kind::Regular)),
            (member("a/b/c", Kind::Regular), member("a", Kind::Symlink)),
        ] {
            let mut order = Order::new(There::default());
            assert_eq!(order.when(&first, 1, 0), When::AtOnce);
            assert_eq!(order.when(&then, 2, 0), When::InTurn, "{first:?} {then:?}");
            let mut order = Order::new(There::default());
            assert_eq!(order.when(&first, 1, 0), When::AtOnce);
            let when = if first.kind == Kind::Symlink { When::InTurn } else { When::AtOnce };
            assert_eq!(
                order.when(&then, 3, 2),
                when,
                "what is on the disk need not be waited for, but links lead elsewhere for good"
            );
        }
    }

    #[test]
    fn what_goes_in_turn_makes_what_depends_on_it_go_in_turn() {
        let mut order = Order::new(There::default());
        order.when(&member("d", Kind::Regular), 1, 0);
        assert_eq!(order.when(&member("d", Kind::Directory), 2, 0), When::InTurn);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 3, 0), When::InTurn);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 9, 4), When::AtOnce);
    }

    #[test]
    fn a_hard_link_waits_for_what_it_leads_to_and_is_waited_for() {
        let mut order = Order::new(There::default());
        let link = Member { link: b"a".to_vec(), ..member("b", Kind::HardLink) };
        order.when(&member("a", Kind::Regular), 1, 0);
        assert_eq!(order.when(&link, 1, 0), When::InTurn);
        let mut order = Order::new(There::default());
        assert_eq!(order.when(&link, 1, 0), When::AtOnce, "it is on the disk, or will never be");
        assert_eq!(order.when(&member("a", Kind::Regular), 2, 0), When::InTurn);
    }

    #[test]
    fn nobody_overtakes_what_goes_through_a_link() {
        let mut order = Order::new(There { is_link: Some(Box::new(|path| path == b"there/before")), has_names: None });
        order.when(&member("link", Kind::Symlink), 1, 0);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 2, 0), When::AtOnce);
        // Long after it was made.
        assert_eq!(order.when(&member("link/x", Kind::Regular), 9, 8), When::InTurn);
        assert_eq!(order.when(&member("d/x", Kind::Regular), 10, 9), When::InTurn, "it may be the same");
        assert_eq!(order.when(&member("d/y", Kind::Regular), 11, 10), When::AtOnce, "what is the same is there");
        assert_eq!(order.when(&member("there/before/x", Kind::Regular), 12, 11), When::InTurn);
        assert_eq!(order.when(&member("e", Kind::Regular), 12, 11), When::InTurn);
    }

    #[test]
    fn more_links_than_are_remembered_make_everything_wait_and_take_no_more_room() {
        let mut order = Order::new(There::default());
        for number in 0..LINKS_MAX as u64 + 1000 {
            order.is_in(&member(&number.to_string(), Kind::Symlink), number, When::AtOnce);
        }
        let done = LINKS_MAX as u64 + 2000;
        assert_eq!(order.when(&member("d/x", Kind::Regular), done, done), When::InTurn);
        assert!(order.seen.len() < LINKS_MAX + 10, "{}", order.seen.len());
    }
}
