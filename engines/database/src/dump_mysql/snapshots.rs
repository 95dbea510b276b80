//! All connections that read a database of MariaDB or MySQL: they begin their snapshots under one lock, and see one moment.

use super::catalogue::{self, MySqlCatalogue, MySqlTable};
use super::fault::MySqlDumpFault;
use super::session::{self, DumpLockKind, HeldDumpLock, MySqlPosition, MySqlServer};
use crate::dump::DumpError;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wire::Connection;

/// All connections, which see one moment.
pub struct Snapshots {
    /// Holds on to tables, and is asked where to divide them.
    pub keeper: Connection,
    /// Read rows.
    pub readers: Vec<Connection>,
    /// The server.
    pub server: MySqlServer,
    leader: Connection,
    lock: DumpLockKind,
    held: Option<HeldDumpLock>,
    since: Instant,
}

impl Snapshots {
    /// Opens so many readers, and a leader that has the lock.
    pub fn new(
        keeper: Connection,
        server: MySqlServer,
        lock: DumpLockKind,
        readers: usize,
        open: impl Fn() -> Result<Connection, DumpError>,
    ) -> Result<Self, DumpError> {
        let readers = (0..readers).map(|_| open()).collect::<Result<_, _>>()?;
        Ok(Self { keeper, readers, server, leader: open()?, lock, held: None, since: Instant::now() })
    }

    /// Takes the lock, begins all snapshots, and holds on to tables.
    pub fn begin(&mut self, tables: &[&MySqlTable]) -> Result<(), DumpError> {
        self.since = Instant::now();
        self.held = Some(self.lock.take(&mut self.leader, &self.server)?);
        for connection in self.readers.iter_mut().chain([&mut self.keeper]) {
            session::begin_snapshot(connection)?;
        }
        std::thread::scope(|scope| {
            let all = self.readers.iter_mut().chain([&mut self.keeper]);
            let touching: Vec<_> = all.map(|connection| scope.spawn(|| session::touch(connection, tables))).collect();
            touching.into_iter().try_for_each(|touched| touched.join().expect("it does not panic"))
        })
    }

    /// The place of the moment in the binary log, or why it is not known. It is that of the lock, and comes before its release.
    pub fn position(&mut self) -> Result<(Option<MySqlPosition>, Option<String>), DumpError> {
        match self.lock {
            DumpLockKind::Nothing => Ok((None, None)),
            DumpLockKind::BackupStage | DumpLockKind::Flush => {
                session::position(&mut self.leader, &mut self.keeper, &self.server)
            }
        }
    }

    /// A table that was made between the first look and the lock would be absent.
    pub fn check_names(&mut self, database: &str, is_new: impl Fn(&str) -> bool) -> Result<(), DumpError> {
        let names = catalogue::names(&mut self.leader, database)?;
        let new = names.into_iter().find(|name| is_new(name));
        new.map_or(Ok(()), |name| Err(MySqlDumpFault::Changed(name).into()))
    }

    /// Releases the lock; how long it was held. Tables are now held by transactions, so that what is seen of them stays.
    pub fn release(&mut self, tables: &[&MySqlTable], database: &str) -> Result<Duration, DumpError> {
        if let Some(held) = self.held.take() {
            held.release(&mut self.leader)?;
        }
        let held = if self.lock == DumpLockKind::Nothing { Duration::ZERO } else { self.since.elapsed() };
        // Between the first look and the lock, somebody may have altered a table.
        let now = MySqlCatalogue::read(&mut self.leader, database)?;
        let now: HashMap<&str, &MySqlTable> = now.tables.iter().map(|table| (table.name.as_str(), table)).collect();
        let is_same = |table: &MySqlTable| now.get(table.name.as_str()).is_some_and(|other| table.reads_like(other));
        match tables.iter().find(|table| !is_same(table)) {
            Some(table) => Err(MySqlDumpFault::Changed(table.name.clone()).into()),
            None => Ok(held),
        }
    }
}
