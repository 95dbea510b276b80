//! One lane: a connection that carries out jobs, each with a core of the budget, and one for each worker that the server may start.

use super::jobs::{IndexJob, Present};
use super::lanes::{BuildEnd, IndexLanes, TakenJob};
use crate::dump::major;
use crew::budget::{Hand, Lease};
use std::sync::Arc;
use std::time::Instant;
use wire::{Connection, Protocol, WireError};

/// Makes a connection.
pub type Connecting<'a> = dyn Fn() -> Result<Connection, WireError> + Sync + 'a;

/// The same for every session of PostgreSQL.
const SETTINGS: &str = "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0";

/// COMPAT: what the first version of PostgreSQL refuses that does not know a setting of the file.
const UNKNOWN_SETTING: &str = "42704";

/// A value that a setting does not take.
const INVALID_VALUE: &str = "22023";

/// A version of PostgreSQL with a limit for whole transactions.
const LIMITS_TRANSACTIONS_SINCE: u32 = 17;

/// A version of PostgreSQL with a limit for idle sessions.
const LIMITS_SESSIONS_SINCE: u32 = 14;

impl IndexLanes {
    /// Carries out jobs until there are no more. To be called on as many threads as there are lanes. When a run ends early it returns on all of them, and
    /// `stopped` says why.
    pub fn work(&self, connect: &Connecting<'_>, lease: &dyn Lease) {
        let mut session = None;
        while let Some(mut taken) = self.next() {
            let hands = Hands::take(lease, taken.workers);
            self.has_fewer_hands(taken.workers - hands.workers());
            taken.workers = hands.workers();
            if let Some(unfit) = session.take_if(|session: &mut LaneSession| !session.can_have(&taken.job)) {
                self.closed(&unfit.connection);
            }
            let opened = match &mut session {
                Some(session) => Ok(session),
                None => LaneSession::open(self, connect).map(|made| session.insert(made)),
            };
            let (pid, end) = match opened {
                Ok(session) => {
                    let pid = session.connection.server_pid();
                    self.begins(pid, &taken.job);
                    (Some(pid), session.carry_out(self, &taken))
                }
                Err(error) => (None, self.failure(&taken, error)),
            };
            drop(hands);
            let held = 1 + taken.workers;
            self.ends(pid, taken, held, end);
        }
    }

    fn failure(&self, taken: &TakenJob, error: WireError) -> BuildEnd {
        match (self.stopped(), taken.has_index()) {
            // It was cancelled, with all the others.
            (Some(_), has_index) => BuildEnd::NotMade { has_index },
            (None, true) => BuildEnd::OnlyIndex(error),
            (None, false) => BuildEnd::Failed(error),
        }
    }
}

/// Cores that a job holds.
struct Hands<'a> {
    lease: &'a dyn Lease,
    hands: Vec<Hand>,
}

impl<'a> Hands<'a> {
    /// Waits for one. Others are taken if they are free, so that two jobs never wait for each other's.
    fn take(lease: &'a dyn Lease, workers: usize) -> Self {
        let mut hands = vec![lease.take()];
        hands.extend(std::iter::repeat_with(|| lease.try_take()).take(workers).map_while(|hand| hand));
        Self { lease, hands }
    }

    fn workers(&self) -> usize {
        self.hands.len() - 1
    }
}

impl Drop for Hands<'_> {
    fn drop(&mut self) {
        self.hands.drain(..).for_each(|hand| self.lease.give_back(hand));
    }
}

struct LaneSession {
    connection: Connection,
    is_postgres: bool,
    base: String,
    /// Settings that the file has made in it.
    settings: Arc<[String]>,
}

impl LaneSession {
    fn open(lanes: &IndexLanes, connect: &Connecting<'_>) -> Result<Self, WireError> {
        let mut connection = connect()?;
        let is_postgres = connection.protocol() == Protocol::Postgres;
        if !lanes.opened(&connection) {
            return Err(WireError::Closed);
        }
        let base = if is_postgres { base_settings(&connection, lanes.rule().memory_bytes) } else { String::new() };
        if is_postgres {
            connection.execute(&base)?;
        }
        Ok(Self { connection, is_postgres, base, settings: Arc::new([]) })
    }

    fn carry_out(&mut self, lanes: &IndexLanes, taken: &TakenJob) -> BuildEnd {
        let begin = Instant::now();
        let workers = taken.workers;
        let outcome = self.prepare(&taken.job, workers);
        let outcome = outcome.and_then(|()| match (&taken.job.sql, &taken.job.attach) {
            (Some(sql), _) | (None, Some(sql)) => self.connection.execute(sql).map(drop),
            (None, None) => Ok(()),
        });
        match outcome {
            Ok(()) => BuildEnd::Made { took: begin.elapsed(), workers },
            Err(error) if taken.job.present == Present::PassedOver && is_there(&error) => BuildEnd::Present,
            Err(error) => lanes.failure(taken, error),
        }
    }

    /// Whether the session can be set as the file has it before a job. Jobs come in another order than their statements, and MySQL cannot take back what an
    /// earlier one has set, such as USE.
    fn can_have(&self, job: &IndexJob) -> bool {
        self.is_postgres || self.settings.is_empty() || *self.settings == *job.settings
    }

    /// Has the session as the file has it before the statement.
    fn prepare(&mut self, job: &IndexJob, workers: usize) -> Result<(), WireError> {
        if *self.settings != *job.settings {
            if self.is_postgres {
                self.connection.execute(&format!("reset all; {}", self.base))?;
            }
            for setting in job.settings.iter() {
                match self.connection.execute(setting) {
                    // A newer pg_dump than the server sets limits to none that the server does not have.
                    Err(WireError::Server(error)) if is_unknown(setting, error.sqlstate()) => {}
                    outcome => drop(outcome?),
                }
            }
            self.settings = Arc::clone(&job.settings);
        }
        if self.is_postgres && job.is_parallel {
            self.connection.execute(&format!("set max_parallel_maintenance_workers = {workers}"))?;
        }
        Ok(())
    }
}

/// COMPAT: a server on a system that does not report the end of a connection knows the setting, and refuses every value but 0.
fn is_unknown(setting: &str, sqlstate: &str) -> bool {
    const CHECKS_CONNECTION: &str = "client_connection_check_interval";
    let checks_connection = || setting.to_ascii_lowercase().contains(CHECKS_CONNECTION);
    sqlstate == UNKNOWN_SETTING || sqlstate == INVALID_VALUE && checks_connection()
}

/// Whether the server refuses something because it has one of that name.
fn is_there(error: &WireError) -> bool {
    const DUPLICATES: [&str; 2] = ["42710", "42P07"];
    matches!(error, WireError::Server(error) if DUPLICATES.contains(&error.sqlstate()))
}

fn base_settings(connection: &Connection, memory_bytes: Option<u64>) -> String {
    let version = major(connection.server_version()).unwrap_or(0);
    let mut sql = SETTINGS.to_owned();
    if version < LIMITS_SESSIONS_SINCE {
        sql = sql.replace("; set idle_session_timeout = 0", "");
    }
    if version >= LIMITS_TRANSACTIONS_SINCE {
        sql += "; set transaction_timeout = 0";
    }
    if let Some(bytes) = memory_bytes {
        sql += &format!("; set maintenance_work_mem = '{}kB'", bytes >> 10);
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_a_server_cannot_have_are_passed_over() {
        let checks = "SET client_connection_check_interval = '2s'";
        assert!(is_unknown("SET transaction_timeout = 0", UNKNOWN_SETTING) && is_unknown(checks, INVALID_VALUE));
        assert!(!is_unknown("SET work_mem = 'much'", INVALID_VALUE) && !is_unknown(checks, "42501"));
    }
}
