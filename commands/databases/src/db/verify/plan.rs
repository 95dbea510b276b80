//! What a comparison will read, over how many connections, and what it costs. Changes nothing.

use crate::db::mysql_lock;
use crew::plan::Plan;
use database::dump_mysql::DumpLock;
use database::verify::{MySqlMoment, ReadMoment};
use mh_kit::report::counted;
use std::cmp::Reverse;

/// LIMIT: connections to a server unless -j says more, and the cores are more.
const CONNECTIONS_USUAL_MAX: usize = 16;

/// Sessions with a MariaDB or MySQL besides those that read rows: the lock's, and the one that holds tables.
const OTHER_CONNECTIONS: u64 = 2;

/// LIMIT: tables that a plan lists.
const TABLES_LISTED_MAX: usize = 20;

/// A side that a plan is made of.
pub struct SideFacts {
    /// For people.
    pub name: String,
    /// Of a server; none: an archive, whose index is enough.
    pub server: Option<ReadServerFacts>,
    /// Tables that are compared.
    pub tables: u64,
}

/// A server whose rows are read.
pub struct ReadServerFacts {
    /// Its name and version.
    pub server: String,
    /// How its rows come to be of one moment.
    pub moment: ReadMoment,
    /// Whether it works on this host.
    pub is_here: bool,
    /// Parts that may be read at the same time.
    pub parts: u64,
    /// Bytes of its storage that are read.
    pub stored: u64,
    /// Tables with their bytes.
    pub tables: Vec<(String, u64)>,
}

/// How a comparison is made.
pub struct VerifyPlan {
    /// For people.
    pub plan: Plan,
    /// Connections to each side.
    pub connections: [usize; 2],
    /// What the user should know before.
    pub warnings: Vec<String>,
}

/// Decides.
pub fn plan(asked: Option<usize>, hands_allowed: usize, sides: &[SideFacts; 2], encoding: Option<&str>) -> VerifyPlan {
    let mut plan = Plan::new(format!("compare {} with {}", sides[0].name, sides[1].name));
    let (mut connections, mut warnings) = ([0; 2], Vec::new());
    for (side, connections) in sides.iter().zip(&mut connections) {
        let Some(server) = &side.server else {
            plan.choose(
                "archive",
                counted(side.tables, "table"),
                "rows and digests are in its index: no rows are read",
            );
            continue;
        };
        let place = if server.is_here { "it is on this host and shares its cores" } else { "it is elsewhere" };
        plan.choose("server", server.server.clone(), place);
        let (count, reason) = of_server(asked, hands_allowed, server);
        *connections = count;
        plan.choose("connections", count.to_string(), reason);
        let cost = format!("{} of {}", terminal::bytes(server.stored), counted(side.tables, "table"));
        match &server.moment {
            ReadMoment::Shared => {
                plan.choose("read", cost, "all rows, as COPY has them: about two thirds of what a dump takes");
                plan.choose("locks", "ACCESS SHARE on each table", "while it is read");
            }
            ReadMoment::Locked(moment) => {
                plan.choose("read", cost, "all rows, as a dump reads them; nothing is compressed or written");
                let (lock, locked) = (moment.lock(count), moment.locked);
                plan.choose("lock", lock.name(), mysql_lock::reason(lock, locked, count));
                plan.choose("DDL", "waits", "each connection has touched each table, and holds it until all is read");
                warnings.extend(mysql_lock::warnings(lock, locked, count));
            }
        }
    }
    if let Some(encoding) = encoding {
        plan.choose("encoding", encoding, "that of the first side: digests are of bytes");
    }
    if let Some(server) = sides.iter().find_map(|side| side.server.as_ref()) {
        list_tables(&mut plan, server);
    }
    mh_kit::sharing::explain(&mut plan);
    VerifyPlan { plan, connections, warnings }
}

fn of_server(asked: Option<usize>, hands_allowed: usize, server: &ReadServerFacts) -> (usize, &'static str) {
    let (wanted, reason) = match asked.filter(|count| *count > 0) {
        Some(count) => (count, "asked for"),
        None if server.is_here => (hands_allowed.min(CONNECTIONS_USUAL_MAX), "a connection for each core"),
        None => (hands_allowed.clamp(2, CONNECTIONS_USUAL_MAX), "the server is elsewhere: -j says more"),
    };
    let useful = usize::try_from(server.parts.max(1)).unwrap_or(usize::MAX);
    let (count, reason) = if useful < wanted { (useful, "there is no more to divide") } else { (wanted, reason) };
    match &server.moment {
        ReadMoment::Shared => (count, reason),
        ReadMoment::Locked(moment) => of_moment(asked, moment, (count, reason)),
    }
}

/// Without a lock, one connection sees one moment.
fn of_moment(
    asked: Option<usize>,
    moment: &MySqlMoment,
    (count, reason): (usize, &'static str),
) -> (usize, &'static str) {
    let is_asked = asked.is_some_and(|count| count > 0);
    match moment.asked {
        DumpLock::None if !is_asked => return (1, "without a lock, only one connection sees one moment"),
        DumpLock::Auto if !moment.may_lock => {
            return (1, "without the right RELOAD, only one connection sees one moment");
        }
        DumpLock::None | DumpLock::Auto | DumpLock::Flush => {}
    }
    let room = usize::try_from(moment.connections_left.saturating_sub(OTHER_CONNECTIONS)).unwrap_or(usize::MAX).max(1);
    if room < count { (room, "the server has no more connections left") } else { (count, reason) }
}

fn list_tables(plan: &mut Plan, server: &ReadServerFacts) {
    let mut tables: Vec<&(String, u64)> = server.tables.iter().collect();
    tables.sort_by_key(|(_, bytes)| Reverse(*bytes));
    for (name, bytes) in tables.iter().take(TABLES_LISTED_MAX) {
        plan.choose("table", name.clone(), terminal::bytes(*bytes).to_string());
    }
    if tables.len() > TABLES_LISTED_MAX {
        let others = terminal::integer((tables.len() - TABLES_LISTED_MAX) as u64);
        plan.choose("other tables", others, format!("the largest {TABLES_LISTED_MAX} are listed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::dump_mysql::DumpLockKind;

    #[test]
    fn a_plan_has_the_cost_of_each_server_and_none_of_an_archive() {
        let server = ReadServerFacts {
            server: "PostgreSQL 15.1".to_owned(),
            moment: ReadMoment::Shared,
            is_here: true,
            parts: 3,
            stored: 5_000_000,
            tables: vec![("public.small".to_owned(), 1), ("public.large".to_owned(), 4_999_999)],
        };
        let archive = SideFacts { name: "'d'".to_owned(), server: None, tables: 2 };
        let sides = [archive, SideFacts { name: "shop".to_owned(), server: Some(server), tables: 2 }];
        let made = plan(None, 8, &sides, Some("UTF8"));
        assert_eq!(made.connections, [0, 3]);
        assert_eq!(made.plan.about("read").expect("a cost").decision, "5 MB of 2 tables");
        assert_eq!(made.plan.about("table").expect("tables").decision, "public.large");
        assert_eq!(plan(Some(2), 8, &sides, None).connections, [0, 2]);
    }
    #[test]
    fn connections_without_a_lock_are_one_unless_more_are_asked_for() {
        let moment = MySqlMoment {
            asked: DumpLock::Auto,
            lock: DumpLockKind::BackupStage,
            may_lock: true,
            connections_left: 7,
            locked: (0, 0),
        };
        let count = |asked, moment| {
            let server = ReadServerFacts {
                server: "MariaDB 10.11.6".to_owned(),
                moment: ReadMoment::Locked(moment),
                is_here: true,
                parts: 30,
                stored: 1,
                tables: Vec::new(),
            };
            let side = |server| SideFacts { name: "shop".to_owned(), server, tables: 2 };
            let made = plan(asked, 8, &[side(None), side(Some(server))], None);
            let lock = made.plan.about("lock").expect("a choice").decision.clone();
            (made.connections[1], lock, made.warnings.len())
        };
        let (stage, none) = ("BACKUP STAGE BLOCK_COMMIT".to_owned(), "none".to_owned());
        assert_eq!(count(None, moment), (5, stage, 0), "two are for others");
        let without = MySqlMoment { may_lock: false, ..moment };
        assert_eq!(count(Some(4), without), (1, none.clone(), 0));
        let unlocked = MySqlMoment { asked: DumpLock::None, lock: DumpLockKind::Nothing, ..moment };
        assert_eq!(count(None, unlocked), (1, none.clone(), 0));
        assert_eq!(count(Some(3), unlocked), (3, none, 1));
    }
}
