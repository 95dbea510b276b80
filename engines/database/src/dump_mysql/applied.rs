//! The GTIDs that a replica of MariaDB has applied, as a snapshot shows them: each transaction of the primary writes its own into a table of the replica.
//! `@@gtid_slave_pos` is set after the commit, so that it may lack transactions that the snapshot has.

use super::catalogue::text;
use crate::dump::DumpError;
use crate::target::quoted;
use std::collections::BTreeMap;
use wire::{Connection, WireError};

/// One for each engine that the replica writes to.
const TABLES: &str = "select table_name from information_schema.tables where table_schema = 'mysql' and table_name like 'gtid\\_slave\\_pos%'";

/// The last GTID of each domain, as `@@gtid_slave_pos` has them; none if the user may not read them.
pub(super) fn gtids(snapshot: &mut Connection) -> Result<Option<String>, DumpError> {
    let failed = || DumpError::server("read GTIDs of the snapshot");
    let names = snapshot.query(TABLES).map_err(failed())?;
    let select = |name: &str| format!("select domain_id, sub_id, server_id, seq_no from mysql.{}", quoted(name, '`'));
    let all: Vec<String> = names.iter().map(|row| select(&text(row, 0))).collect();
    if all.is_empty() {
        return Ok(None);
    }
    let rows = match snapshot.query(&all.join(" union all ")) {
        Err(WireError::Server(error)) if !error.is_fatal => return Ok(None),
        outcome => outcome.map_err(failed())?,
    };
    let number = |row: &[Option<Vec<u8>>], column| text(row, column).parse().unwrap_or(0);
    let rows = rows.iter().map(|row| [0, 1, 2, 3].map(|column| number(row, column)));
    Ok(Some(last_of_each(rows)).filter(|gtids| !gtids.is_empty()))
}

/// Of rows of domain, place in the order of commits, server and number.
fn last_of_each(rows: impl Iterator<Item = [u64; 4]>) -> String {
    let mut last: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    for [domain, place, server, number] in rows {
        let known = last.entry(domain).or_default();
        *known = [place, server, number].max(*known);
    }
    let gtids: Vec<String> =
        last.iter().map(|(domain, [_, server, number])| format!("{domain}-{server}-{number}")).collect();
    gtids.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commit_of_a_domain_counts_and_not_the_highest_number() {
        let rows = [[3, 7, 1, 90], [1, 5, 2, 8], [1, 6, 1, 4], [3, 2, 9, 100]];
        assert_eq!(last_of_each(rows.into_iter()), "1-1-4,3-1-90");
        assert_eq!(last_of_each(std::iter::empty()), "");
    }
}
