//! The wire protocols of PostgreSQL and MySQL: one connection that either blocks or is driven by a loop over many.
//! Knows no load and no copying, has no thread, reads no environment. Theory: `engines/wire/README.md`.

mod address;
mod channel;
mod connection;
mod der;
mod error;
mod mysql;
mod postgres;
mod read_buffer;
mod reply;
mod socket;
mod statement;
mod tls;

pub use address::{AddressError, Environment, OptionDialect, Protocol, ServerAddress, TlsMode};
pub use connection::{AnswerEnd, Canceller, Connection, CopyIn, Executed, PostgresRelay, RelayedAnswer};
pub use error::{ErrorKind, ServerError, WireError};
pub use mysql::RowPart;
pub use reply::{Reply, TextRow};
pub use statement::{Statement, Value};
