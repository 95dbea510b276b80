//! Four times a second: what the server does for each of our connections, as it says itself; and whether two of them wait for each other without the server
//! being able to know. Asks on a connection of its own.

use super::control::LoadControl;
use super::{Commit, TableLoad};
use crate::error::LoadFailure;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::{Connection, Protocol};

/// How often it is asked.
const EVERY: Duration = Duration::from_millis(250);

/// What a connection of ours was seen at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerWait {
    /// On a CPU, or ready for one.
    Working,
    /// The server waited for rows of ours.
    Client,
    /// Something of the server, in its words: `IO: DataFileExtend`, `LWLock: WALInsert`.
    Of(String),
    /// Another transaction's lock.
    Lock,
}

/// How often connections were seen at what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitTally {
    /// By what it was.
    pub seen: BTreeMap<ServerWait, u64>,
    /// PostgreSQL: checkpoints that the load's WAL forced before their time.
    pub forced_checkpoints: Option<u64>,
    /// PostgreSQL: max_wal_size as it shows it.
    pub max_wal_size: Option<String>,
}

impl WaitTally {
    /// Of all looks.
    pub fn looks(&self) -> u64 {
        self.seen.values().sum()
    }

    /// The share of looks at which a connection was seen at `what`.
    pub fn share(&self, what: &ServerWait) -> f64 {
        self.seen.get(what).copied().unwrap_or(0) as f64 / self.looks().max(1) as f64
    }
}

/// Looks until the load is over.
pub fn watch(connection: Option<Connection>, load: &TableLoad<'_>, control: &LoadControl) -> WaitTally {
    let mut tally = WaitTally::default();
    let Some(mut connection) = connection else { return tally };
    let is_postgres = load.target.protocol() == Some(Protocol::Postgres);
    let before = if is_postgres { forced_checkpoints(&mut connection) } else { None };
    let mut blocked = BTreeMap::new();
    while !control.watch_waits(EVERY) {
        let numbers = control.numbers();
        if numbers.is_empty() {
            continue;
        }
        let looked = match is_postgres {
            true => look_at_postgres(&mut connection, &numbers, &mut tally)
                .map(|seen| end_if_stuck(&mut blocked, &seen, load, control)),
            false => look_at_mysql(&mut connection, &numbers, &mut tally),
        };
        if looked.is_none() {
            // The server does not answer, or not to this user: the load does not need it.
            return tally;
        }
    }
    if is_postgres {
        note_checkpoints(&mut connection, before, &mut tally);
    }
    tally
}

/// Looks at what PostgreSQL does for processes that change, until `waits` says that all is over.
pub(crate) fn watch_postgres(
    connection: &mut Connection,
    numbers: impl Fn() -> Vec<u32>,
    waits: impl Fn(Duration) -> bool,
) -> WaitTally {
    let mut tally = WaitTally::default();
    let before = forced_checkpoints(connection);
    while !waits(EVERY) {
        let numbers = numbers();
        if !numbers.is_empty() && look_at_postgres(connection, &numbers, &mut tally).is_none() {
            return tally;
        }
    }
    note_checkpoints(connection, before, &mut tally);
    tally
}

fn note_checkpoints(connection: &mut Connection, before: Option<u64>, tally: &mut WaitTally) {
    let after = forced_checkpoints(connection);
    tally.forced_checkpoints = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    tally.max_wal_size = ask(connection, "show max_wal_size").and_then(|mut rows| rows.pop()?.pop());
}

fn ask(connection: &mut Connection, sql: &str) -> Option<Vec<Vec<String>>> {
    let rows = connection.query(sql).ok()?;
    let text = |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    Some(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

/// PostgreSQL 17 has them in another view. To ask for one that is not there would leave an error in the server's log.
fn forced_checkpoints(connection: &mut Connection) -> Option<u64> {
    let sql = match crate::dump::major(connection.server_version())? {
        17.. => "select num_requested from pg_stat_checkpointer",
        _ => "select checkpoints_req from pg_stat_bgwriter",
    };
    ask(connection, sql)?.first()?.first()?.parse().ok()
}

/// A connection of ours that waits for another one's transaction.
type BlockedBy = (String, String);

fn look_at_postgres(connection: &mut Connection, numbers: &[u32], tally: &mut WaitTally) -> Option<Vec<BlockedBy>> {
    let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let list = list.join(", ");
    let rows = ask(
        connection,
        &format!(
            "select pid, wait_event_type, wait_event, case when wait_event_type = 'Lock' then \
             coalesce((select min(b) from unnest(pg_blocking_pids(pid)) b where b in ({list})), 0) else 0 end \
             from pg_stat_activity where pid in ({list}) and state = 'active'"
        ),
    )?;
    let mut blocked = Vec::new();
    for row in rows {
        let [pid, kind, event, blocker] = <[String; 4]>::try_from(row).ok()?;
        *tally.seen.entry(postgres_wait(&kind, &event)).or_default() += 1;
        // Other locks, that for extending the table say, are not held to the end of a transaction.
        if blocker != "0" && matches!(event.as_str(), "transactionid" | "tuple") {
            blocked.push((pid, blocker));
        }
    }
    Some(blocked)
}

/// LIMIT: looks in a row at which a connection waits before it is taken to wait for ever.
const STUCK_AFTER: u32 = 4;

/// Ends a load of which one connection waits for another's transaction, which ends when all are done.
fn end_if_stuck(blocked: &mut BTreeMap<String, u32>, seen: &[BlockedBy], load: &TableLoad<'_>, control: &LoadControl) {
    blocked.retain(|pid, _| seen.iter().any(|(one, _)| one == pid));
    for (pid, blocker) in seen {
        let looks = blocked.entry(pid.clone()).or_default();
        *looks += 1;
        if *looks >= STUCK_AFTER && load.commit == Commit::AtTheEnd {
            let message =
                format!("connection {pid} waits for a lock that connection {blocker} holds until all rows are in");
            control.fail(LoadFailure::OwnLock(message), None);
        }
    }
}

/// What PostgreSQL says that a backend waits for.
pub(crate) fn postgres_wait(kind: &str, event: &str) -> ServerWait {
    match kind {
        "" => ServerWait::Working,
        "Client" => ServerWait::Client,
        // Waiting for another backend to extend the table is no transaction's lock.
        "Lock" if event == "extend" => ServerWait::Of("Lock: extend".to_owned()),
        "Lock" => ServerWait::Lock,
        kind => ServerWait::Of(format!("{kind}: {event}")),
    }
}

fn look_at_mysql(connection: &mut Connection, numbers: &[u32], tally: &mut WaitTally) -> Option<()> {
    let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let rows = ask(
        connection,
        &format!(
            "select state, command from information_schema.processlist where id in ({}) and command <> 'Sleep'",
            list.join(", ")
        ),
    )?;
    for row in rows {
        let [state, _command] = <[String; 2]>::try_from(row).ok()?;
        *tally.seen.entry(mysql_wait(&state)).or_default() += 1;
    }
    Some(())
}

fn mysql_wait(state: &str) -> ServerWait {
    match state {
        "Reading from net" | "Receiving from client" => ServerWait::Client,
        "Waiting for table metadata lock" | "Waiting for row lock" => ServerWait::Lock,
        "Commit" | "Waiting for handler commit" | "waiting for handler commit" => ServerWait::Of("commit".to_owned()),
        _ => ServerWait::Working,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_apart() {
        assert_eq!(postgres_wait("", ""), ServerWait::Working);
        assert_eq!(postgres_wait("Lock", "transactionid"), ServerWait::Lock);
        assert_eq!(postgres_wait("Lock", "extend"), ServerWait::Of("Lock: extend".to_owned()));
        assert_eq!(mysql_wait("Reading file"), ServerWait::Working);
        let mut tally = WaitTally::default();
        tally.seen.insert(ServerWait::Working, 3);
        tally.seen.insert(ServerWait::Client, 1);
        assert!((tally.share(&ServerWait::Working) - 0.75).abs() < 1e-9 && tally.share(&ServerWait::Lock) == 0.0);
    }
}
