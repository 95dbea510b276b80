//! Ending what a connection is waiting for, from outside: PostgreSQL's CancelRequest, MySQL's KILL QUERY, on a connection of their own.

use super::Connection;
use crate::address::ServerAddress;
use crate::error::WireError;
use crate::postgres;
use std::time::{Duration, Instant};

/// What ends the statement that a connection runs; it may be used from another thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    pub(super) address: ServerAddress,
    pub(super) target: CancelTarget,
}

/// What the server knows a connection by.
#[derive(Clone, Copy, Debug)]
pub(super) enum CancelTarget {
    Postgres { pid: i32, secret: i32 },
    MySql { id: u32 },
}

impl Canceller {
    /// Asks the server to end the statement. That it does shows in the statement's reply; one that has just ended is left alone.
    pub fn cancel(&self, timeout: Duration) -> Result<(), WireError> {
        match self.target {
            CancelTarget::Postgres { pid, secret } => {
                postgres::cancel(&self.address, pid, secret, Instant::now() + timeout)
            }
            CancelTarget::MySql { id } => {
                let mut other = Connection::connect(&self.address, timeout)?;
                other.set_deadline(Some(Instant::now() + timeout));
                other.execute(&format!("KILL QUERY {id}")).map(drop)
            }
        }
    }
}
