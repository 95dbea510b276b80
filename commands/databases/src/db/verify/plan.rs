//! What a comparison will read, over how many connections, and what it costs. Changes nothing.

use crew::plan::Plan;
use mh_kit::report::counted;
use std::cmp::Reverse;

/// LIMIT: connections to a server unless -j says more, and the cores are more.
const CONNECTIONS_USUAL_MAX: usize = 16;

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
    /// What it calls itself.
    pub version: String,
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
}

/// Decides.
pub fn plan(asked: Option<usize>, hands_allowed: usize, sides: &[SideFacts; 2], encoding: Option<&str>) -> VerifyPlan {
    let mut plan = Plan::new(format!("compare {} with {}", sides[0].name, sides[1].name));
    let mut connections = [0; 2];
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
        plan.choose("server", format!("PostgreSQL {}", server.version), place);
        let (count, reason) = of_server(asked, hands_allowed, server);
        *connections = count;
        plan.choose("connections", count.to_string(), reason);
        let cost = format!("{} of {}", terminal::bytes(server.stored), counted(side.tables, "table"));
        plan.choose("read", cost, "all rows, as COPY has them: about two thirds of what a dump takes");
    }
    if sides.iter().any(|side| side.server.is_some()) {
        plan.choose("locks", "ACCESS SHARE on each table", "while it is read");
    }
    if let Some(encoding) = encoding {
        plan.choose("encoding", encoding, "that of the first side: digests are of bytes");
    }
    if let Some(server) = sides.iter().find_map(|side| side.server.as_ref()) {
        list_tables(&mut plan, server);
    }
    mh_kit::sharing::explain(&mut plan);
    VerifyPlan { plan, connections }
}

fn of_server(asked: Option<usize>, hands_allowed: usize, server: &ReadServerFacts) -> (usize, &'static str) {
    let (wanted, reason) = match asked.filter(|count| *count > 0) {
        Some(count) => (count, "asked for"),
        None if server.is_here => (hands_allowed.min(CONNECTIONS_USUAL_MAX), "a connection for each core"),
        None => (hands_allowed.clamp(2, CONNECTIONS_USUAL_MAX), "the server is elsewhere: -j says more"),
    };
    let useful = usize::try_from(server.parts.max(1)).unwrap_or(usize::MAX);
    if useful < wanted { (useful, "there is no more to divide") } else { (wanted, reason) }
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

    #[test]
    fn a_plan_has_the_cost_of_each_server_and_none_of_an_archive() {
        let server = ReadServerFacts {
            version: "15.1".to_owned(),
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
}
